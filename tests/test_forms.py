"""The book as a PDF and as an ePub, made from the built site."""

import io
import re
import shutil
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from conftest import ROOT
from lessons import LESSONS

sys.path.insert(0, str(ROOT / "tools"))
import whole_book

pytestmark = [pytest.mark.site, pytest.mark.slow]
XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
MILLIMETRE = 72 / 25.4


@pytest.fixture(scope="module")
def articles(site):
    return whole_book.chapters(site)


@pytest.fixture(scope="module")
def printed(site, browser, tmp_path_factory):
    """The PDF; `browser` skips where there is none."""
    from pypdf import PdfReader

    target = tmp_path_factory.mktemp("pdf") / "book.pdf"
    make_apart("pdf", site, target)
    return PdfReader(io.BytesIO(target.read_bytes()))


@pytest.fixture(scope="module")
def epub(site, browser, tmp_path_factory):
    """The ePub; `browser` skips where there is none."""
    target = tmp_path_factory.mktemp("epub") / "book.epub"
    make_apart("epub", site, target)
    return target


@pytest.fixture(scope="module")
def packed(epub):
    """The ePub's files."""
    with zipfile.ZipFile(epub) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def make_apart(form, site, target):
    """Make a form in a process of its own: Playwright, which the tests hold, starts once in each."""
    code = f"import sys; from pathlib import Path; import {form}; {form}.make(*map(Path, sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", code, str(site), str(target)], cwd=ROOT / "tools", check=True, timeout=900)


# --- What both are made from -----------------------------------------------------------------------------------------


def test_every_page_but_exercises_and_progress_is_in_the_book(articles):
    pages = {path.stem for path in (ROOT / "book").glob("*.md")} - {"progress"}
    assert set(articles) == pages and set(LESSONS) < set(articles)


def test_links_between_pages_lead_inside_and_resolve(articles):
    ids = [tag["id"] for article in articles.values() for tag in article.find_all(id=True)] + list(articles)
    assert len(set(ids)) >= len(ids) - len(articles), "an id twice"
    for stem, article in articles.items():
        for link in article.find_all("a", href=True):
            inside = link["href"].startswith("#")
            assert link["href"][1:] in ids if inside else urlsplit(link["href"]).scheme in ("http", "https"), (
                stem,
                link,
            )


def test_nothing_for_screens_is_left(articles):
    for article in articles.values():
        assert not article.select(
            "script, noscript, button, input, textarea, select, form, details, practice-box, lab-box, progress-list,"
            " .chart-live"
        )
        assert not re.search("press Check|Drag the|Start with lesson", article.get_text())
        assert "p[" not in "".join(tag.get_text() for tag in article.select(".practice-head"))


def test_no_paragraph_holds_what_would_end_it(articles):
    """What comes after a heading in a paragraph would stand outside its box."""
    for article in articles.values():
        assert article.select(":is(p, span) :is(h2, h3, h4, p, div, ul, table)") == []


def test_the_text_speaks_of_no_screen(articles):
    screen = (
        r"sliders?\b|before opening|before you open|open the card|"
        r"[Oo]pen “|[Tt]his page|in your browser|dotted line|The button|Load this"
    )
    for stem, article in articles.items():
        text = article.get_text().replace(whole_book.HOW_IT_READS, "")
        assert not (found := re.search(f".{{0,60}}({screen}).{{0,60}}", text)), (stem, found[0])


def test_every_rewording_finds_its_text(site):
    names = [name for _, names in whole_book.parts() for name in names]
    pages = "".join((site / f"{name}.html").read_text("utf8") for name in names)
    assert [said for said in whole_book.ON_PAPER if said not in pages] == []


def test_labs_keep_their_code_to_begin_from_and_the_planner_its_answers(articles):
    for lesson in LESSONS:
        steps = articles[lesson].select(".lab-step")
        assert steps and all(step.h3 and step.select_one(".lab-starter") for step in steps), lesson
        assert not articles[lesson].select(".lab-hint, .lab-solution")
    assert articles["planner"].find("table") and not articles["planner"].select(".planner")


# --- The PDF ---------------------------------------------------------------------------------------------------------


def test_the_outline_has_every_chapter(printed, articles):
    heads = [entry.title for entry in printed.outline if not isinstance(entry, list)]
    titles = [article.h1.get_text(" ", strip=True) for article in articles.values()]
    assert heads == ["Contents", *titles]


def links(printed):
    """Every link of the PDF."""
    marks = [mark.get_object() for page in printed.pages for mark in page.get("/Annots", [])]
    return [mark for mark in marks if mark["/Subtype"] == "/Link"]


def test_no_link_leads_to_this_machine(printed):
    addresses = {str(mark["/A"]["/URI"]) for mark in links(printed) if "/URI" in mark.get("/A", {})}
    assert addresses and {urlsplit(address).scheme for address in addresses} <= {"http", "https"}
    hosts = {urlsplit(address).hostname for address in addresses}
    assert not hosts & {"localhost", "127.0.0.1", "book.invalid"}


def test_links_inside_resolve(printed):
    names = {mark["/Dest"] for mark in links(printed) if "/Dest" in mark}
    assert len(names) > 500 and names <= set(printed.named_destinations)


def read_print(page):
    """A printed page's text on one line; a font may draw "fi" as one character."""
    return " ".join(unicodedata.normalize("NFKC", page.extract_text()).split())


def test_the_contents_number_the_pages(printed, articles):
    preface = printed.get_destination_page_number(printed.named_destinations["/index"])
    text = " ".join(read_print(printed.pages[number]) for number in range(1, preface))
    for stem, article in articles.items():
        page = printed.get_destination_page_number(printed.named_destinations[f"/{stem}"]) + 1
        title = article.h1.get_text(strip=True)
        assert re.search(rf"{re.escape(title)}\W*{page}\b", text), stem
        assert title[:30] in read_print(printed.pages[page - 1]), stem


def test_text_has_its_size_and_lies_on_its_page(printed):
    """Chromium prints everything smaller where one thing is too wide; pdf.py stops where fit.js finds such a thing."""
    sizes = set()
    note = lambda text, _cm, tm, _font, size: sizes.add(round(abs(tm[0]) * size)) if text.strip() else None
    printed.pages[0].extract_text(visitor_text=note)
    assert len(printed.pages) > 200 and sizes
    for page in printed.pages:
        width, height = float(page.mediabox.width), float(page.mediabox.height)
        assert {round(width / MILLIMETRE), round(height / MILLIMETRE)} == {210, 297}
        for mark in page.get("/Annots", []):
            left, bottom, right, top = map(float, mark.get_object()["/Rect"])
            assert 40 < left < right < width - 40 and 40 < bottom < top < height - 40


def draw_pages(printed):
    """A small picture of each page as (width, rows of grey), by pdftoppm."""
    program = shutil.which("pdftoppm")
    if not program:
        pytest.skip("pdftoppm is not installed")
    data = subprocess.run(
        [program, "-r", "24", "-gray"], input=printed.stream.getvalue(), capture_output=True, check=True
    ).stdout
    while data:
        head = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", data)
        width, height = int(head[1]), int(head[2])
        data, picture = data[head.end() + width * height :], data[head.end() : head.end() + width * height]
        yield width, [picture[row * width : (row + 1) * width] for row in range(height)]


def filled(rows, inch=24):
    """Down to which share of the room between its margins a page has ink."""
    top, bottom = int(18 / 25.4 * inch), len(rows) - int(20 / 25.4 * inch)
    ink = [row for row in range(top, bottom) if min(rows[row]) < 200]
    return (ink[-1] + 1 - top) / (bottom - top) if ink else 0


def test_few_pages_are_half_empty_and_those_end_a_chapter(printed):
    heads = [entry for entry in printed.outline if not isinstance(entry, list)]
    ends = {printed.get_destination_page_number(head) - 1 for head in heads} | {len(printed.pages) - 1}
    shares = [filled(rows) for _, rows in draw_pages(printed)]
    empty = [page + 1 for page, share in enumerate(shares) if share < 0.5 and page not in ends]
    assert len(shares) == len(printed.pages) and len(empty) <= 6, empty


def test_the_catalogue_is_turned_once(printed, articles):
    """Each turn from upright to sideways and back would leave the rest of a page empty."""
    place = lambda stem: printed.get_destination_page_number(printed.named_destinations[f"/{stem}"])
    stems = list(articles)
    pages = printed.pages[place("catalogue") : place(stems[stems.index("catalogue") + 1])]
    sideways = "".join("-" if page.mediabox.width > page.mediabox.height else "|" for page in pages)
    assert re.fullmatch(r"\|+-+\|+", sideways), sideways


def test_the_pdf_says_what_it_is(printed):
    book = whole_book.edition()
    assert (printed.metadata.title, printed.metadata.author) == (book["title"], book["author"])
    assert printed.metadata.creation_date.date() == book["date"]
    assert printed.root_object["/MarkInfo"]["/Marked"] and printed.root_object["/Lang"] == "en"


def test_the_same_pages_print_the_same_bytes(site, browser):
    """Printed twice, each by a browser of its own, a second apart."""
    code = """
import sys
from pathlib import Path
import pdf
document = "<title>A book</title><h1 id=a>One</h1><p>Of <a href='#b'>two</a>.</p><h2 id=b>Two</h2>"
printed = pdf.print_document(Path(sys.argv[1]), document, tagged=True, outline=True)
sys.stdout.buffer.write(pdf.date_print(*printed))
"""
    command = [sys.executable, "-c", code, str(site)]
    one, two = (subprocess.run(command, cwd=ROOT / "tools", check=True, capture_output=True).stdout for _ in range(2))
    assert one.startswith(b"%PDF") and one == two


# --- The ePub --------------------------------------------------------------------------------------------------------


def test_the_manifest_lists_the_files_that_there_are(packed):
    package = ElementTree.fromstring(packed["book/book.opf"])
    items = {item.get("id"): item for item in package.iter(f"{OPF}item")}
    files = {f"book/{item.get('href')}" for item in items.values()}
    assert files | {"mimetype", "META-INF/container.xml", "book/book.opf"} == set(packed)
    assert next(iter(packed)) == "mimetype" and packed["mimetype"] == b"application/epub+zip"
    spine = [items[ref.get("idref")].get("href") for ref in package.iter(f"{OPF}itemref")]
    assert spine[:3] == ["cover.xhtml", "nav.xhtml", "index.xhtml"] and {f"{x}.xhtml" for x in LESSONS} < set(spine)


def test_epubcheck_finds_nothing(epub):
    """Where it is installed; Debian has the jar under the program's name."""
    program = shutil.which("epubcheck")
    if not program:
        pytest.skip("epubcheck is not installed")
    jar = Path(program).read_bytes()[:2] == b"PK"
    ran = subprocess.run([*(["java", "-jar"] if jar else []), program, str(epub)], capture_output=True, text=True)
    assert ran.returncode == 0 and "0 errors / 0 warnings" in ran.stdout, ran.stdout + ran.stderr


def test_formulas_have_no_role(packed):
    pages = [data.decode() for name, data in packed.items() if name.endswith(".xhtml")]
    assert sum(page.count("<math") for page in pages) > 2000
    assert not [page[:300] for page in pages if re.search(r"<math[^>]* role=", page)]


def test_pages_and_drawings_parse_and_their_links_resolve(packed):
    trees = {
        name: ElementTree.fromstring(data) for name, data in packed.items() if Path(name).suffix in (".xhtml", ".svg")
    }
    ids = {f"{name}#{tag.get('id')}" for name, tree in trees.items() for tag in tree.iter() if tag.get("id")}
    for name, tree in trees.items():
        for link in tree.iter(f"{XHTML}a"):
            href = link.get("href")
            if not urlsplit(href).scheme:
                assert (f"book/{href}" in ids) if "#" in href else f"book/{href}" in packed, (name, href)
        assert all(f"book/{image.get('src')}" in packed and image.get("alt") for image in tree.iter(f"{XHTML}img")), (
            name
        )


def test_rows_of_wide_tables_are_cards(packed):
    """A reader of ePub that does not scroll sideways would cut them."""
    pages = [ElementTree.fromstring(data) for name, data in packed.items() if name.endswith(".xhtml")]
    tables = [table for page in pages for table in page.iter(f"{XHTML}table")]
    cards = [table for table in tables if "cards" in table.get("class", "").split()]
    assert len(cards) > 3
    for table in tables:
        assert table in cards or all(len(row.findall(f"{XHTML}td")) < 9 for row in table.iter(f"{XHTML}tr"))
    assert all(cell.get("data-label") for table in cards for cell in table.iter(f"{XHTML}td"))


def test_formulas_are_mathml_and_none_is_left_as_tex(packed):
    pages = [data.decode() for name, data in packed.items() if name.endswith(".xhtml")]
    assert sum(page.count("<math ") for page in pages) > 2000
    assert not any(re.search(r"\\[(\[]", re.sub(r"<(pre|code).*?</\1>", "", page, flags=re.S)) for page in pages)
    assert not any("<merror" in page for page in pages)


def test_the_same_site_makes_the_same_bytes(site, packed, tmp_path):
    make_apart("epub", site, tmp_path / "book.epub")
    with zipfile.ZipFile(tmp_path / "book.epub") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == packed
        assert {entry.date_time[:3] for entry in archive.infolist()} == {whole_book.edition()["date"].timetuple()[:3]}
