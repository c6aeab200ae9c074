"""Make the book's ePub, _build/book.epub: a cover, the lessons and the reference pages, formulas as MathML.

Chromium turns the pages into XHTML; the rest is a zip with lists of what it holds. Names are sorted and every date is
the release's, so that the same commit makes the same bytes.
"""

import hashlib
import re
import sys
import zipfile
from html import escape
from pathlib import Path
from urllib.request import urlopen
from uuid import NAMESPACE_URL, uuid5

from whole_book import (
    BUILD,
    FORMS,
    build_site,
    chapters,
    edition,
    open_document,
    style,
    write_contents,
)

TARGET = BUILD / "book.epub"
TYPES = {
    ".xhtml": "application/xhtml+xml",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="book.css"/></head>
<body>{body}</body></html>
"""
CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{identifier}</dc:identifier>
<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator><dc:language>en</dc:language><dc:date>{date}</dc:date>
<meta property="dcterms:modified">{date}T00:00:00Z</meta>
<meta property="schema:accessMode">textual</meta><meta property="schema:accessMode">visual</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""
COVER = """<?xml version="1.0" encoding="utf-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 800" width="600" height="800">
<rect width="600" height="800" fill="#fff"/><rect width="600" height="14" fill="#1453a3"/>
<g font-family="Helvetica, Arial, sans-serif" fill="#1d2430">{lines}
<text x="48" y="740" font-size="20" fill="#4d5867">{author}</text></g></svg>
"""


# --- The pages -----------------------------------------------------------------------------------------------------


def write_document(site, articles):
    """All chapters as one page of HTML, for the browser to turn into XHTML."""
    return f"<!DOCTYPE html><html><body>{''.join(map(str, articles.values()))}</body></html>"


def read_chapters(site, articles):
    """{stem: its XHTML}."""
    script = (FORMS / "xhtml.js").read_text("utf8")
    with open_document(site, write_document(site, articles)) as page:
        return {stem: page.evaluate(script, stem) for stem in articles}


def lead_to_files(body):
    """Links inside the one document become links between the files."""
    return re.sub(
        r'href="#([^"]*?)(--[^"]*)?"', lambda found: f'href="{found[1]}.xhtml#{found[1]}{found[2] or ""}"', body
    )


def mend_drawing(data):
    """A drawing as ePub allows it: without the line that names an old standard, what that one does not know as a style,
    and a path of a blank has none.
    """
    data = re.sub(rb"<!DOCTYPE.*?>\s*", b"", data, flags=re.DOTALL)
    data = data.replace(b' paint-order="stroke"', b' style="paint-order: stroke"')
    return re.sub(rb"<path (?![^>]*\bd=)", b'<path d="" ', data)


def take_image(source, site, files):
    """Enter a picture among the files and return its name there; those written into a page get a file as well."""
    if source.startswith("data:"):
        data, end = urlopen(source).read(), ".svg"
    else:
        data, end = (site / source).read_bytes(), Path(source).suffix
    if end == ".svg":
        data = mend_drawing(data)
    name = f"{hashlib.sha256(data).hexdigest()[:20]}{end}"
    files[name] = data
    return name


def write_pages(site, articles):
    """{name: bytes} of the chapters and their pictures."""
    files = {}
    for stem, body in read_chapters(site, articles).items():
        body = re.sub(r'(<img [^>]*?src=")([^"]+)', lambda found: found[1] + take_image(found[2], site, files), body)
        title = escape(articles[stem].h1.get_text(" ", strip=True))
        files[f"{stem}.xhtml"] = PAGE.format(title=title, body=lead_to_files(body)).encode()
    return files


# --- Cover, contents, lists ----------------------------------------------------------------------------------------


def break_lines(title, width=18):
    """A title in lines that fit the cover."""
    lines = [""]
    for word in title.split():
        lines[-1:] = [f"{lines[-1]} {word}".strip()] if len(lines[-1] + word) < width else [lines[-1], word]
    return lines


def write_cover():
    """The cover as a picture."""
    book = edition()
    lines = enumerate(break_lines(book["title"]))
    text = [
        f'<text x="48" y="{220 + 64 * row}" font-size="52" font-weight="700">{escape(line)}</text>'
        for row, line in lines
    ]
    return COVER.format(lines="\n".join(text), author=escape(book["author"]))


def write_navigation(contents):
    """The contents, as readers of ePub show them: parts, chapters, sections of the lessons."""
    item = lambda file, title, inner="": f'<li><a href="{file}">{escape(title)}</a>{inner}</li>'
    html = ""
    for caption, pages in contents:
        entries = ""
        for stem, title, sections in pages:
            inner = "".join(item(f"{stem}.xhtml#{id}", name) for id, name in sections)
            entries += item(f"{stem}.xhtml", title, f"<ol>{inner}</ol>" if inner else "")
        html += f"<li><span>{escape(caption)}</span><ol>{entries}</ol></li>" if caption else entries
    body = f'<nav epub:type="toc" id="toc"><h1>Contents</h1><ol>{html}</ol></nav>'
    return PAGE.format(title="Contents", body=body)


def describe(name, data):
    """A line of the manifest."""
    properties = {"nav.xhtml": "nav", "cover.svg": "cover-image"}.get(name, "mathml" if b"<math" in data else "")
    more = f' properties="{properties}"' if properties else ""
    return f'<item id="f-{name.replace(".", "-")}" href="{name}" media-type="{TYPES[Path(name).suffix]}"{more}/>'


def write_package(files, stems):
    """What the book is, what files it has and in which order they are read."""
    book = edition()
    return PACKAGE.format(
        identifier=uuid5(NAMESPACE_URL, f"{book['title']} {book['version']}"),
        title=escape(book["title"]),
        author=escape(book["author"]),
        date=book["date"],
        manifest="\n".join(describe(name, files[name]) for name in sorted(files)),
        spine="\n".join(f'<itemref idref="f-{stem}-xhtml"/>' for stem in ["cover", "nav", *stems]),
    )


def pack(files, target):
    """The zip: its first file tells what it is, uncompressed; all have the release's date."""
    date = (*edition()["date"].timetuple()[:3], 0, 0, 0)
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def make(site, target):
    """Pack the site's pages into one file."""
    articles = chapters(site)
    files = write_pages(site, articles)
    title = escape(edition()["title"])
    files["book.css"] = style(site, "book.css", "epub.css").encode()
    files["math.woff2"] = (site / "_static" / "math.woff2").read_bytes()
    files["cover.svg"] = write_cover().encode()
    files["cover.xhtml"] = PAGE.format(title=title, body=f'<p><img src="cover.svg" alt="{title}"/></p>').encode()
    files["nav.xhtml"] = write_navigation(write_contents(articles)).encode()
    package = write_package(files, articles).encode()
    inside = {"META-INF/container.xml": CONTAINER.encode(), "book/book.opf": package}
    inside |= {f"book/{name}": files[name] for name in sorted(files)}
    pack({"mimetype": b"application/epub+zip"} | inside, target)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if sys.argv[1:] else build_site(), TARGET)
    print(f"made {TARGET}")
