"""The glossary has the terms that the lessons define, and the first use of each on a page leads to it."""

import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from cases import cases
from conftest import ROOT, toc_pages

from blackboard import notation

GLOSSARY = ROOT / "book" / "glossary.md"
WRITTEN = [page for page in toc_pages() if (ROOT / f"{page}.md").exists() and page != "book/glossary"]
EMPHASIS = {  # bold that defines no term, and why
    "Left out": "heads a paragraph",
    "You need": "heads a paragraph",
    "The source": "heads a paragraph",
    "Two conventions": "heads a paragraph",
}


# --- As written --------------------------------------------------------------------------------------------


def entries():
    """{term: the text of its entry}, in order."""
    body = "\n".join(re.findall(r"```\{glossary\}\n(.*?)```", GLOSSARY.read_text("utf8"), re.S))
    return dict(re.findall(r"^(\S[^\n]*)\n((?:[ ]{2}[^\n]*\n|\n)+)", body + "\n", re.M))


ENTRIES = entries()


@functools.cache
def claimed(term, page=""):
    """The phrases that mean a term on a page, as its comments have them."""
    rules = re.findall(r"^  % (also|only|on [\w-]+):(.*)$", ENTRIES[term], re.M)
    kinds = [kind for kind, _ in rules]
    listed = [p.strip() for kind, found in rules if kind in ("also", "only", f"on {page}") for p in found.split(",")]
    return {*filter(None, listed), *([] if "only" in kinds else [term, f"{term}s"])}


def definition(term):
    """What an entry says, without comments, letters and links."""
    text = re.sub(r"^  %.*$|\{(?:symbol|lesson)\}`[^`]*`", "", ENTRIES[term], flags=re.M)
    return re.sub(r"\{term\}`([^`<]*?)\s*(?:<[^>]*>)?`", r"\1", text).strip()


def test_terms_stand_in_alphabetical_order_under_their_letters():
    names = list(ENTRIES)
    assert len(names) > 80 and names == sorted(names, key=str.lower)
    for letter, body in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", GLOSSARY.read_text("utf8"), re.M | re.S):
        under = [name for name in names if f"\n{name}\n  " in body]
        assert under and all(name[0].upper() == letter or (letter == "0–9" and name[0].isdigit()) for name in under), (
            letter
        )


@cases("term", ENTRIES)
def test_an_entry_is_a_sentence_a_place_and_known_symbols(term):
    description = definition(term)
    first = re.match(r".*?\.(?=\s|$)", description, re.S)
    assert first and 4 <= len(first[0].split()) <= 40, "the first sentence is shown beside the link"
    assert "$" not in description and "`" not in first[0], "letters come from the notation, by {symbol}"
    assert len(re.findall(r"\{lesson\}`", ENTRIES[term])) == 1
    for name in re.findall(r"\{symbol\}`([^`]*)`", ENTRIES[term]):
        assert name in notation.table()


@cases("term", ENTRIES)
def test_no_number_is_typed_into_an_entry(term):
    from test_prose import typed_numbers

    assert typed_numbers(definition(term).replace("2:4 sparsity", "")) == set()


@cases("term", ENTRIES)
def test_an_entry_explains_and_points_to_other_entries_only(term):
    named = [target or text for text, target in re.findall(r"\{term\}`([^`<]*?)\s*(?:<([^>]*)>)?`", ENTRIES[term])]
    assert set(named) <= set(ENTRIES) - {term}
    assert not re.match(r"(see|compare)\b", definition(term), re.I), "an entry that only sends elsewhere"


def prose(page):
    """A page as written, without its head and its code."""
    text = re.sub(r"\A---.*?\n---\n", "", (ROOT / f"{page}.md").read_text("utf8"), flags=re.S)
    return re.sub(r"```.*?```", "", text, flags=re.S)


def bold(page):
    """What stands in bold, other than sentences, which are long or end like one; a genitive as its word."""
    found = re.findall(r"\*\*([^*]+)\*\*", prose(page))
    return {
        each.removesuffix("'s") for each in found if not each.rstrip().endswith((".", "?")) and len(each.split()) < 4
    }


@pytest.mark.parametrize("page", WRITTEN)
def test_every_term_defined_in_bold_is_in_the_glossary(page):
    here = page.rpartition("/")[2]
    known = set().union(*(claimed(term, here) for term in ENTRIES))
    missing = {each for each in bold(page) - set(EMPHASIS) if not {each, each[0].lower() + each[1:]} & known}
    assert missing == set(), (
        "give it an entry of book/glossary.md, or a phrase of one; if it is emphasis, say so in EMPHASIS"
    )


def test_nothing_is_excused_that_no_page_has():
    assert set(EMPHASIS) <= set().union(*(bold(f"book/{path.stem}") for path in GLOSSARY.parent.glob("*.md")))


# --- As built ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(site):
    """{page: its parsed article}, the glossary aside."""
    if not (site / "book" / "glossary.html").exists():
        pytest.skip("the glossary is not in the table of contents")
    read = lambda page: BeautifulSoup((site / f"{page}.html").read_text("utf8"), "html.parser").article
    return {page: read(page) for page in toc_pages() if page != "book/glossary"}


@pytest.fixture(scope="module")
def anchors(site, pages):
    """{anchor: term} of the built glossary."""
    glossary = BeautifulSoup((site / "book" / "glossary.html").read_text("utf8"), "html.parser")
    return {dt["id"]: next(dt.stripped_strings) for dt in glossary.select("dl.glossary dt[id]")}


def target(link):
    """The anchor that a link leads to."""
    return link["href"].partition("#")[2]


def test_every_link_leads_to_its_entry_and_says_it(pages, anchors):
    assert list(anchors.values()) == list(ENTRIES)
    for page, article in pages.items():
        for link in article.select("a.glossed"):
            term = anchors[target(link)]
            words = " ".join(link.text.split()).replace("’", "'")
            assert {words, words[0].lower() + words[1:]} & claimed(term, page.rpartition("/")[2]), (page, words)
            assert definition(term).startswith(link["title"].replace("’", "'")) and link["title"].endswith("."), (
                page,
                words,
            )


def test_a_term_is_linked_once_on_a_page_and_in_prose_only(pages):
    for page, article in pages.items():
        links = article.select("a.glossed")
        assert len({target(link) for link in links}) == len(links), page
        assert article.select(f"{OBJECTIVES} a.glossed") == []
        assert (
            article.select(":is(h1, h2, h3, h4, code, pre, table, figure, figcaption, .cell, math, a) a.glossed") == []
        ), page
        assert all(link.find_parent("p") for link in links), page


def test_the_glossary_has_no_such_links(site, pages):
    page = BeautifulSoup((site / "book" / "glossary.html").read_text("utf8"), "html.parser")
    assert page.select(".glossed") == []


def test_every_entry_is_used(pages, anchors):
    """By a link, or by the sentence that explains it; save those whose lesson is not in the book."""
    used = {anchors[target(link)] for article in pages.values() for link in article.select("a.glossed")}
    for here, each in ((page.rpartition("/")[2], each) for page in WRITTEN for each in bold(page)):
        used |= {term for term in ENTRIES if {each, each[0].lower() + each[1:]} & claimed(term, here)}
    lesson = {term: re.search(r"\{lesson\}`([^`#]*)", text)[1] for term, text in ENTRIES.items()}
    assert [term for term in ENTRIES if term not in used and f"book/{lesson[term]}" in pages] == []


OBJECTIVES = "section#what-you-will-be-able-to-do > ul"
SILENT = (
    f"{OBJECTIVES}, h1, h2, h3, h4, code, pre, table, figure, figcaption, .cell, math, .pasted-text, .citation-list,"
    " a:not(.glossed), script, noscript, .sd-summary-title, .admonition-title, .lesson-cards"
)


def marked(article):
    """The prose of a page as text, each link as ⟦anchor words⟧, bold as ⟪words⟫."""
    text = re.sub(r"<(math|pre|script|noscript)\b.*?</\1>", " \x00 ", str(article), flags=re.S)  # most of a page
    article = BeautifulSoup(text, "html.parser")
    for silent in article.select(SILENT):
        silent.replace_with(" \x00 ")
    for link in article.select("a.glossed"):
        link.replace_with(f"⟦{target(link)} {' '.join(link.text.split())}⟧")
    for strong in article.select("strong"):
        strong.insert(0, "⟪")
        strong.append("⟫")
    return "\x00".join(" ".join(p.get_text().split()) for p in article.select("p")).replace("’", "'")


def explains(text, use, phrases):
    """Whether the sentence around a use has one of the phrases, and nothing else, in bold."""
    ends = [0, *(m.end() for m in re.finditer(r"[.?!]⟫?(?=\s|$|\x00)|\x00", text)), len(text)]
    sentence = next(text[start:end] for start, end in zip(ends, ends[1:]) if start <= use < end)
    return any(
        words in phrases or words[:1].lower() + words[1:] in phrases for words in re.findall(r"⟪([^⟫]*)⟫", sentence)
    )


@functools.cache
def spelt(phrase):
    """A phrase as whole words, perhaps at the start of a sentence."""
    start = f"[{phrase[0]}{phrase[0].upper()}]" if phrase.islower() else re.escape(phrase[0])
    return re.compile(rf"(?<![\w/-]){start}{re.escape(phrase[1:])}(?![\w/-])")


def test_it_is_the_first_use_that_is_linked(pages, anchors):
    """No phrase stands in a page's prose before the link of its term, or without one. Found phrase by phrase, the
    longest first.
    """
    for page, article in pages.items():
        here, text = page.rpartition("/")[2], marked(article)
        whole = text
        at = {anchors[anchor]: place for place, anchor in ((m.start(), m[1]) for m in re.finditer(r"⟦(\S+) ", text))}
        text = re.sub(r"⟦[^⟧]*⟧", lambda m: " " * len(m[0]), text)
        owner = {
            p.strip(): None
            for body in ENTRIES.values()
            for found in re.findall(r"% not:(.*)", body)
            for p in found.split(",")
        }
        for where in ("", here):  # what holds on this page alone goes before what holds on any
            owner |= {
                phrase: term
                for term in ENTRIES
                for phrase in claimed(term, where) - (claimed(term) if where else set())
            }
        for phrase in sorted(owner, key=len, reverse=True):
            if phrase[1:] not in text:
                continue
            for use in spelt(phrase).finditer(text):
                explained = owner[phrase] and explains(whole, use.start(), claimed(owner[phrase], here))
                assert owner[phrase] is None or explained or at.get(owner[phrase], len(text)) < use.start(), (
                    page,
                    phrase,
                    text[use.start() - 40 : use.end() + 40],
                )
            text = spelt(phrase).sub(lambda m: " " * len(m[0]), text)


def test_a_link_is_told_from_text_and_seen_by_the_keyboard(visit, site, pages):
    """A dotted line in the text's own colour; an outline when it has the focus; nothing on paper."""
    page = visit(f"{site.as_uri()}/book/batching.html").page
    link = page.locator("a.glossed").first
    style = "(a, name) => getComputedStyle(a)[name]"
    assert (
        link.evaluate(style, "textDecorationStyle") == "dotted"
        and link.evaluate(style, "textDecorationLine") == "underline"
    )
    assert link.evaluate("a => getComputedStyle(a).color === getComputedStyle(a.parentElement).color")
    page.keyboard.press("Tab")
    link.focus()
    assert link.evaluate(style, "outlineStyle") == "solid"
    page.emulate_media(media="print")
    assert link.evaluate(style, "textDecorationLine") == "none"


# --- On a small book ---------------------------------------------------------------------------------------

CONF = """extensions = ['glossary_links', 'question_index', 'myst_parser']
myst_enable_extensions = ['attrs_inline', 'dollarmath']
"""
SMALL = """# Glossary

```{{glossary}}
batch
  {description} And more.

  % also: batches
  % not: batch job

critical batch
  The one that pays.

  {{lesson}}`one#a-part` {{lesson}}`nowhere`

hit
  What was found.

  % only:
  % on two: hit

MoE
  Many experts.
```
"""
ONE = """# A batch

A `batch` and $batch$ in [a batch](two.md), a batch job and a micro-batch are none, nor is a
[batch]{.pasted-text} that a cell made. The critical
batch is one. **Batches** are, and a batch again; a hit is not. MoEs and no moe. This batch is the next
use, and this batch one more.

## A part
"""
TWO = """# Two

## What you will be able to do

- A batch.

A *batch* after the list.

## A critical batch

| hit |
|-----|
| hit |

```
hit
```

% hit

A hit.
"""


@pytest.fixture
def small(tmp_path):
    """A book of a few pages; a function builds it and gives the links of a page."""
    many = "\n".join(f"p{n}" for n in range(8))
    files = {
        "conf.py": CONF,
        "glossary.md": SMALL.format(description="Many at once."),
        "one.md": ONE,
        "two.md": TWO,
        "index.md": f"# Index\n\n```{{toctree}}\nglossary\none\ntwo\n{many}\n```\n",
    }
    files |= {f"p{n}.md": f"# P{n}\n\nA batch.\n" for n in range(8)}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf8")
    for name in ("glossary_links.py", "question_index.py"):
        shutil.copy(ROOT / "tools" / name, tmp_path)

    def build(out="html", *options):
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", *options, tmp_path, tmp_path / out]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(tmp_path), "PATH": "", "HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / out

    return tmp_path, build


def links(out, page):
    """(words, title) of the links of a page."""
    return [
        (" ".join(a.text.split()), a["title"])
        for a in BeautifulSoup((out / f"{page}.html").read_text("utf8"), "html.parser").select("a.glossed")
    ]


def test_what_counts_as_a_use(small):
    """Whole words, the longest phrase, listed plurals, no code, mathematics, links, headings, tables or computed words;
    a phrase of one page on that page.
    """
    _, build = small
    out = build()
    assert links(out, "one") == [
        ("critical batch", "The one that pays."),
        ("MoEs", "Many experts."),
        ("batch", "Many at once."),
    ]
    assert links(out, "two") == [("batch", "Many at once."), ("hit", "What was found.")]
    one, two = ((out / f"{page}.html").read_text("utf8") for page in ("one", "two"))
    assert "<strong>Batches</strong> are, and a batch again" in one and re.search(
        r"This <a [^>]*>.*?</a> is the next\s+use, and this batch one more", one
    )
    assert "<p>A batch.</p>" in two and re.search(r"<em><a [^>]*>.*?</a></em> after the list", two)
    assert '<p>A <a class="glossed' in (out / "two.html").read_text("utf8")
    entry = (out / "glossary.html").read_text("utf8")
    assert "One, “A part”" in entry.replace("A batch, ", "One, ") and "Nowhere" in entry and "also:" not in entry


def test_a_changed_entry_renews_every_page(small):
    """Also those that have not changed themselves; and a glossary that is gone takes its links along."""
    root, build = small
    assert links(build(), "p3") == [("batch", "Many at once.")]
    (root / "glossary.md").write_text(SMALL.format(description="Together."), "utf8")
    assert links(build(), "p3") == [("batch", "Together.")]
    (root / "glossary.md").write_text("# Glossary\n", "utf8")
    assert links(build(), "p3") == []


def test_read_and_written_in_parallel_it_is_the_same(small):
    _, build = small
    one, two = build("serial"), build("parallel", "-j", "2")
    assert links(two, "p7") == [("batch", "Many at once.")]
    assert all(links(one, path.stem) == links(two, path.stem) for path in one.glob("*.html"))


def test_the_search_knows_which_section_explains_a_term(small):
    """Also in a build that reads one page anew, and in parallel."""
    root, build = small

    def places(out):
        index = json.loads(
            (out / "searchindex.js").read_text("utf8").removeprefix("Search.setIndex(").removesuffix(")")
        )
        return sorted([index["docnames"][file], *rest] for file, *rest in index["indexentries"]["critical batch"])

    explained = [["glossary", "term-critical-batch", True], ["one", "a-part", True]]
    assert places(build()) == explained
    (root / "two.md").write_text(TWO + "\nMore.\n", "utf8")
    assert places(build()) == explained == places(build("parallel", "-j", "2"))


@pytest.mark.parametrize(
    ("slip", "complaint"),
    [
        ("  % otherwise: lots\n", "not a rule of an entry"),
        ("  % also: MoE\n", "two entries of the glossary claim"),
        ("  {symbol}`bach`\n", "no symbol 'bach'"),
        ("  {lesson}`one#no-part`\n", "lesson"),
    ],
)
def test_slips_in_the_glossary_stop_the_build(small, slip, complaint):
    root, build = small
    text = SMALL.format(description="Many at once.").replace("  % also: batches\n", slip)
    (root / "glossary.md").write_text(text, "utf8")
    (root / "blackboard").symlink_to(Path(ROOT / "lib" / "blackboard"))
    with pytest.raises(AssertionError, match=complaint):
        build()
