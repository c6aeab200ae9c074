"""The book as one document: what the PDF prints and the ePub is packed from.

Takes the pages of the built site, leaves out what only a screen can use, and turns links between pages into links
inside the document: section `memory` of the page `racks` becomes `#racks--memory`.
"""

import contextlib
import datetime
import os
import posixpath
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from browser import FLAGS, NO_CHROMIUM, find_chromium
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
FORMS = ROOT / "tools" / "forms"  # style sheets and scripts
PREFACE = "About this book"
FOR_SCREENS = (  # folds of code, sliders, buttons, links to a heading itself; hints and solutions; the planner's form
    "link, button, a.headerlink, a.claim-id, details.hide, .toctree-wrapper, "
    ".chart-result, .chart-facts, .chart-live, .chart-controls, "
    "a.planner-example, .practice-item > summary, .card-letters > :is(summary, ul), "
    ".on-screen, .card-head, .flashcards > summary, .flashcard-letters > summary, "
    ".lab-plain, .lab-hint, .lab-solution, .live-cell, .cell-note, .planner, p:has(> a.sd-btn)"
)
ON_PAPER = {  # what a page says to somebody before a screen, and what a book says instead
    "before you open the rubric": "before you read the rubric",
    "before opening the rubric": "before reading the rubric",
    "Answer first, then open the card.": "Answer first, then read on.",
    "Download the Anki deck": "On the site there is an Anki deck",
    "The page computes what ": "The planner computes what ",
    "configurations. The button ": "configurations. On the site, ",
    " does the same in your browser.": " on the site does the same.",
    "a dotted line under a word leads": "a word links",
    "here from its first use on the page": "here where a chapter first uses it",
    "Open a claim to read what": "Under each claim stands what",
    "A row opens: below it": "Below it",
    "his page": "his chapter",
    "The page of ": "The chapter of ",
    "The page on ": "The chapter on ",
}
SAID_TO_SCREENS = re.compile("|".join(map(re.escape, ON_PAPER)))
NOT_TEXT = r"<(script|style|svg|noscript)\b.*?</\1>"
SCREEN_ATTRIBUTES = {"tabindex", "loading", "width", "height"}  # sizes are for pictures that are still to come
ABOUT_THE_SITE = "#eleven-lessons, #how-to-read-it-and-run-it"  # of the first page; a book has a contents page
HOW_IT_READS = (
    "This edition is made from the book's site and holds its lessons and reference pages. Charts that have sliders on "
    "the site appear here at their first setting. The practice boxes give their questions alone: the site and the "
    "exercise notebooks check answers and tell you which mistake you made. Labs give their steps and the code to begin "
    "from: write it on the site, which checks it, or in the exercise notebooks. The planner is on the site alone; its "
    "worked answers are here. A fold with the code of a derivation is left out. The text is under CC BY 4.0, the code "
    "under the MIT License."
)


LEFT_OUT = re.compile("exercises/|book/progress$")  # a book knows of no progress


def parts():
    """[(caption, names of its pages)] as _toc.yml has them, the front page first, without those left out."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
    read = [(part["caption"], [chapter["file"] for chapter in part["chapters"]]) for part in toc["parts"]]
    kept = [(caption, [name for name in names if not LEFT_OUT.match(name)]) for caption, names in read]
    return [("", [toc["root"]]), *((caption, names) for caption, names in kept if names)]


def edition():
    """Title, author, version and date; the date is the release's, so that the same commit makes the same bytes."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    date = citation["date-released"]
    assert isinstance(date, datetime.date)
    return {"title": settings["title"], "author": settings["author"], "version": citation["version"], "date": date}


# --- One page ------------------------------------------------------------------------------------------------------


def anchor(stem, fragment=""):
    """Name of a place in the one document."""
    return f"{stem}--{fragment}" if fragment else stem


def read_article(site, name):
    """What one reads of a page, as a section of the one document."""
    page = (site / f"{name}.html").read_text("utf8")
    written = re.sub(NOT_TEXT, "", page[page.index("<article") : page.rindex("</article>")], flags=re.DOTALL)
    article = BeautifulSoup(written, "html.parser").article  # a parser that reads all of the page takes twice as long
    article.name, article.attrs = "section", {"class": "chapter", "id": Path(name).stem}
    for dropped in article.select(FOR_SCREENS):
        dropped.decompose()
    reword_for_paper(article)
    open_folds(article)
    for still in article.select("picture"):
        still.img["src"] = still.source["srcset"]
        still.replace_with(still.img)
    for tag in article.select("practice-box, practice-set, lab-box"):
        tag.name = "div"
    for title in article.select(".sidebar-title"):
        if not title.get_text(strip=True):
            title.decompose()
    for tag in article.find_all(True):  # no script will ask for these
        tag.attrs = {
            key: value
            for key, value in tag.attrs.items()
            if not key.startswith("data-") and key not in SCREEN_ATTRIBUTES
        }
    return article


def reword_for_paper(article):
    """What the text asks of a mouse: a chart on paper is read along, a lab has no button, and a page is a chapter."""
    for text in article.find_all(string=SAID_TO_SCREENS):
        if not text.find_parent(["pre", "math"]):
            text.replace_with(SAID_TO_SCREENS.sub(lambda found: ON_PAPER[found[0]], text))


def open_folds(article):
    """Paper has no folds: what they hold stays, under what they are called."""
    for fold in article.find_all("details"):
        fold.name = "div"
        fold.attrs.pop("open", None)
    for summary in article.find_all("summary"):
        summary.name = "div" if summary.find(["h2", "h3", "h4"]) else "p"  # which would end before a heading
        summary["class"] = ["fold-title"]
        for block in summary.find_all(["p", "div"]):
            block.name = "span"


def target_of(href, name, stems):
    """Where a link of a page leads: an address elsewhere, a place in the document, or None for what it leaves out."""
    split = urlsplit(href)
    if split.scheme:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), split.path)) if split.path else f"{name}.html"
    inside = stems.get(path.removesuffix(".html"))
    return f"#{anchor(inside, split.fragment)}" if inside else None


def lead_inside(article, name, stems):
    """Make ids those of the one document, and links lead there; a link to what is left out becomes its text."""
    stem = stems[name]
    for tag in article.find_all(id=True):
        tag["id"] = anchor(stem, tag["id"])
    for link in article.find_all("a", href=True):
        target = target_of(link["href"], name, stems)
        if target is None:
            link.unwrap()
        else:
            link["href"] = target


def drop_empty_links(article, ids):
    """A link into a part that was dropped (a list of pages, say) becomes its text as well."""
    for link in article.find_all("a", href=re.compile("^#")):
        if link["href"][1:] not in ids:
            link.unwrap()


def write_preface(article):
    """The site's front page as a preface, without what it says of the site."""
    for section in article.select(ABOUT_THE_SITE):
        section.decompose()
    article.h1.string = PREFACE
    told = f"<h2>This edition</h2><p>{escape(HOW_IT_READS, quote=False)}</p>"
    note = BeautifulSoup(told, "html.parser")
    article.section.append(note)


# --- All pages -----------------------------------------------------------------------------------------------------


def chapters(site):
    """{stem: article} of the whole book, in order, linked with each other."""
    names = [name for _, names in parts() for name in names]
    stems = {name: Path(name).stem for name in names}
    articles = {stems[name]: read_article(site, name) for name in names}
    write_preface(articles[stems[names[0]]])
    for name in names:
        lead_inside(articles[stems[name]], name, stems)
        rebase_images(articles[stems[name]], name)
    ids = set(stems.values()) | {tag["id"] for article in articles.values() for tag in article.find_all(id=True)}
    for article in articles.values():
        drop_empty_links(article, ids)
    return articles


def rebase_images(article, name):
    """Pictures by their place in the site, as a path from its top."""
    for image in article.find_all("img"):
        if not image["src"].startswith("data:"):
            image["src"] = posixpath.normpath(posixpath.join(posixpath.dirname(name), image["src"]))


def sections(article):
    """[(id, title)] of a chapter's sections of the second level."""
    heads = [head for head in article.find_all("h2") if head.find_parent("section", id=True) is not article]
    return [(head.find_parent("section", id=True)["id"], head.get_text(" ", strip=True)) for head in heads]


def write_contents(articles):
    """[(caption, [(stem, title, sections)])], sections for the lessons alone: other pages have tables' names."""
    of = lambda caption, stem: [] if caption in ("", "Reference") else sections(articles[stem])
    stems = [(caption, [Path(name).stem for name in names]) for caption, names in parts()]
    return [
        (caption, [(stem, articles[stem].h1.get_text(" ", strip=True), of(caption, stem)) for stem in names])
        for caption, names in stems
    ]


def style(site, *names):
    """Style sheets one after the other: the site's colours of code, then our own."""
    return "\n".join(
        [(site / "_static" / "pygments.css").read_text("utf8")] + [(FORMS / n).read_text("utf8") for n in names]
    )


@contextlib.contextmanager
def open_document(site, html):
    """A browser's page that shows a document as if it lay at the top of the site."""
    from playwright.sync_api import sync_playwright

    address = "http://book.invalid/"  # the browser asks us, no network
    with sync_playwright() as playwright:
        path = find_chromium() or playwright.chromium.executable_path
        if not Path(path).exists():
            sys.exit(NO_CHROMIUM)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 666, "height": 1000})
        page.set_default_timeout(300_000)
        page.route("**/*", lambda route: answer(route, address, site, html))
        page.goto(address)
        page.evaluate("document.fonts.ready.then(() => null)")
        yield page
        browser.close()


def answer(route, address, site, html):
    """Give the browser the document, or a file of the site."""
    wanted = urlsplit(route.request.url)
    file = site / wanted.path.lstrip("/")
    if not route.request.url.startswith(address):
        route.abort()
    elif wanted.path == "/":
        route.fulfill(body=html, content_type="text/html; charset=utf-8")
    elif file.is_file():
        route.fulfill(path=file)
    else:
        route.fulfill(status=404)


def build_site():
    """Build the book, seconds where nothing changed, and return its directory."""
    if subprocess.call([sys.executable, str(ROOT / "tools" / "build.py")], env=os.environ):
        sys.exit(1)
    return BUILD / "html"
