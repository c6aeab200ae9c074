"""Make the book's PDF, _build/book.pdf: a cover, the contents with page numbers, the lessons and the reference pages.

Chromium prints one document, twice: the first print tells on which page each heading is.
"""

import io
import logging
import re
import sys
from html import escape
from pathlib import Path

from pypdf import PdfReader
from pypdf.generic import DictionaryObject, NameObject, TextStringObject
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


def write_entry(target, title, numbers, inner=""):
    """A line of the contents, with its page's number where that is known."""
    number = f"<span class='number'>{numbers.get(target, '')}</span>"
    return f"<li><a href='#{target}'><span>{escape(title)}</span>{number}</a>{inner}</li>"


def write_list(contents, numbers):
    """The contents, lessons with their sections."""
    html = "<nav class='contents'><h1>Contents</h1>"
    for caption, pages in contents:
        entries = ""
        for stem, title, sections in pages:
            inner = "".join(write_entry(*section, numbers) for section in sections)
            entries += write_entry(stem, title, numbers, f"<ol>{inner}</ol>" if inner else "")
        html += (f"<h2>{escape(caption)}</h2>" if caption else "") + f"<ol>{entries}</ol>"
    return html + "</nav>"


def write_document(site, articles, numbers):
    """The whole book as one page of HTML."""
    return DOCUMENT.format(
        title=escape(edition()["title"]),
        style=style(site, "book.css", "print.css"),
        cover=write_cover(),
        contents=write_list(write_contents(articles), numbers),
        chapters="".join(map(str, articles.values())),
    )


def number_pages(printed):
    """{id: number of its page} of all places that links of a print lead to."""
    reader = PdfReader(io.BytesIO(printed))
    places = reader.named_destinations.items()
    return {name.removeprefix("/"): reader.get_destination_page_number(place) + 1 for name, place in places}


def print_document(site, document, **options):
    """A print, and the document's headings. Each print opens it anew: Chromium breaks a page that it prints a second
    time into other pages.
    """
    with open_document(site, document) as page:
        page.emulate_media(media="print", color_scheme="light")
        too_wide = page.evaluate((FORMS / "fit.js").read_text("utf8"))
        if too_wide:
            sys.exit("These do not fit the page:\n" + "\n".join(too_wide))
        printed = page.pdf(prefer_css_page_size=True, print_background=True, **options)
        return printed, page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(head => head.innerText)")


def mend_outline(entry, titles):
    """Give an outline's titles the blank back that Chromium drops where a heading breaks into lines; yields (reference,
    entry) of each that changes.
    """
    while entry:
        here = entry.get_object()
        title = here.get("/Title", "")
        if (mended := titles.get("".join(title.split()), title)) != title:
            here[NameObject("/Title")] = TextStringObject(mended)
            yield entry, here
        yield from mend_outline(here.get("/First") and here.raw_get("/First"), titles)
        entry = here.get("/Next") and here.raw_get("/Next")


def date_print(printed, headings):
    """The print with title, author and the release's date; Chromium would write the time of the print. What changes is
    written below it, as the format has it: to read and write all that a book has would take pypdf half a minute.
    """
    book = edition()
    when = f"{book['date']:D:%Y%m%d}000000+00'00'"
    printed = printed.replace(b"%PDF-1.4", b"%PDF-1.7", 1)  # 1.4 knows neither tags nor transparency
    printed = re.sub(rb"\(D:\d{14}\+00'00'\)", f"({when})".encode(), printed)  # as long as before
    reader = PdfReader(io.BytesIO(printed))
    info, root = reader.trailer.raw_get("/Info"), reader.trailer.raw_get("/Root")
    told = {"/Title": book["title"], "/Author": book["author"], "/CreationDate": when, "/ModDate": when}
    told = DictionaryObject({NameObject(key): TextStringObject(value) for key, value in told.items()})
    titles = {"".join(text.split()): text for text in headings}
    outline = reader.root_object["/Outlines"].raw_get("/First")
    finished, table = io.BytesIO(), b"xref\n"
    finished.write(printed)
    for reference, value in sorted([(info, told), *mend_outline(outline, titles)], key=lambda each: each[0].idnum):
        table += f"{reference.idnum} 1\n{finished.tell():010} {reference.generation:05} n \n".encode()
        finished.write(f"{reference.idnum} {reference.generation} obj\n".encode())
        value.write_to_stream(finished)
        finished.write(b"\nendobj\n")
    before, size = printed.rpartition(b"startxref")[2].split()[0].decode(), reader.trailer["/Size"]
    trailer = f"trailer\n<</Size {size}\n/Root {root.idnum} 0 R\n/Info {info.idnum} 0 R\n/Prev {before}>>\n"
    return finished.getvalue() + table + f"{trailer}startxref\n{finished.tell()}\n%%EOF\n".encode()


def make(site, target):
    """Print the site's pages into one file."""
    articles = chapters(site)
    numbers = number_pages(print_document(site, write_document(site, articles, {}))[0])
    printed, headings = print_document(site, write_document(site, articles, numbers), tagged=True, outline=True)
    if number_pages(printed) != numbers:
        sys.exit("The pages that the contents name are not those that were printed.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(date_print(printed, headings))


if __name__ == "__main__":
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # Chromium counts its objects one short
    make(Path(sys.argv[1]) if sys.argv[1:] else build_site(), TARGET)
    print(f"made {TARGET}")
