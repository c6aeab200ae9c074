"""Make the book's PDF, _build/book.pdf: a cover, the contents with page numbers, the lessons and the reference pages.

Chromium prints one document, twice: the first print tells on which page each heading is.
"""

import datetime
import io
import logging
import sys
from html import escape
from pathlib import Path

from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject
from whole_book import BUILD, FORMS, build_site, chapters, edition, open_document, style, write_contents

TARGET = BUILD / "book.pdf"
DOCUMENT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>{style}</style></head>
<body>{cover}{contents}{chapters}</body></html>
"""


def write_cover():
    """The title page."""
    book = edition()
    date = f"{book['date']:%B} {book['date'].day}, {book['date'].year}"
    return (
        f"<section class='cover'><p class='title'>{escape(book['title'])}</p><p>{escape(book['author'])}</p>"
        f"<p class='edition'>Version {book['version']}, {date}</p></section>"
    )


def write_entry(target, title, inner=""):
    """A line of the contents; its page number is entered after the first print."""
    return f"<li><a href='#{target}'><span>{escape(title)}</span><span class='number'></span></a>{inner}</li>"


def write_list(contents):
    """The contents, lessons with their sections."""
    html = "<nav class='contents'><h1>Contents</h1>"
    for caption, pages in contents:
        entries = ""
        for stem, title, sections in pages:
            inner = "".join(write_entry(*section) for section in sections)
            entries += write_entry(stem, title, f"<ol>{inner}</ol>" if inner else "")
        html += (f"<h2>{escape(caption)}</h2>" if caption else "") + f"<ol>{entries}</ol>"
    return html + "</nav>"


def write_document(site):
    """The whole book as one page of HTML."""
    articles = chapters(site)
    return DOCUMENT.format(
        title=escape(edition()["title"]),
        style=style(site, "book.css", "print.css"),
        cover=write_cover(),
        contents=write_list(write_contents(articles)),
        chapters="".join(map(str, articles.values())),
    )


def number_pages(printed):
    """{id: number of its page} of all places that links of a print lead to."""
    reader = PdfReader(io.BytesIO(printed))
    places = reader.named_destinations.items()
    return {name.removeprefix("/"): reader.get_destination_page_number(place) + 1 for name, place in places}


def print_document(page):
    """The print, with the page numbers of a first one in the contents."""
    page.emulate_media(media="print", color_scheme="light")
    too_wide = page.evaluate((FORMS / "fit.js").read_text("utf8"))
    if too_wide:
        sys.exit("These do not fit the page:\n" + "\n".join(too_wide))
    draw = lambda: page.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
    page.evaluate(
        """numbers => document.querySelectorAll(".contents a").forEach(link => {
            link.querySelector(".number").textContent = numbers[decodeURIComponent(link.hash.slice(1))];
        })""",
        number_pages(draw()),
    )
    return draw()


def mend_outline(entry, titles):
    """Give an outline's titles the blank back that Chromium drops where a heading breaks into lines."""
    while entry:
        here = entry.get_object()
        title = here.get("/Title", "")
        here[NameObject("/Title")] = TextStringObject(titles.get("".join(title.split()), title))
        mend_outline(here.get("/First"), titles)
        entry = here.get("/Next")


def date_print(printed, headings):
    """The print with title, author and the release's date; Chromium would write the time of the print."""
    book, writer = edition(), PdfWriter(clone_from=io.BytesIO(printed))
    when = datetime.datetime.combine(book["date"], datetime.time(), datetime.UTC).strftime("D:%Y%m%d%H%M%SZ")
    writer.metadata = {"/Title": book["title"], "/Author": book["author"], "/CreationDate": when, "/ModDate": when}
    mend_outline(writer.root_object["/Outlines"]["/First"], {"".join(text.split()): text for text in headings})
    finished = io.BytesIO()
    writer.write(finished)
    return finished.getvalue()


def make(site, target):
    """Print the site's pages into one file."""
    with open_document(site, write_document(site)) as page:
        printed = print_document(page)
        headings = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(head => head.innerText)")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(date_print(printed, headings))


if __name__ == "__main__":
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # Chromium counts its objects one short
    make(Path(sys.argv[1]) if sys.argv[1:] else build_site(), TARGET)
    print(f"made {TARGET}")
