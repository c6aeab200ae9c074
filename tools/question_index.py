"""A Sphinx extension: the search finds the page that answers a reader's question.

The questions are in book/questions.yaml, by page. Each becomes an entry of the site's index, which the search looks up
before it looks for words. So does each term of the glossary, for the section that explains it, each symbol, for its
lesson's part of the notation, and each chip, system, model and price card, for its table in the catalogue.
"""

import hashlib
import re
import unicodedata
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.index_entries import split_index_msg

QUESTIONS = Path(__file__).resolve().parent.parent / "book" / "questions.yaml"


def questions(page):
    """What readers ask that this page answers, as they type it."""
    listed = yaml.safe_load(QUESTIONS.read_text("utf8")) if QUESTIONS.exists() else {}
    return [each.rstrip("?") for each in listed.get(page.rpartition("/")[2], [])] if page.startswith("book/") else []


class EnterQuestions(SphinxTransform):
    """Enter a page's questions into the index, as main entries."""

    default_priority = 500  # before the index is collected

    def apply(self, **_options):
        """Put them at the top of the page, where they show nothing."""
        if asked := questions(self.env.docname):
            entries = [("single", question, "", "main", None) for question in asked]
            self.document.insert(0, addnodes.index(entries=entries))


def explained(env):
    """(page, term, section) of each term of the glossary: what explains it is found by its name too."""
    for glossary, entries in getattr(env, "glossed", {}).items():
        for entry in entries:
            for lesson in entry["lessons"]:
                name, _, anchor = lesson.partition("#")
                if (page := f"{glossary.rpartition('/')[0]}/{name}".lstrip("/")) in env.found_docs:
                    yield page, entry["name"], anchor


NOTATION, CATALOGUE = "book/notation", "book/catalogue"
BY_LESSON = "formulas-and-symbols-by-lesson"  # a section for each group of symbols
GREEK = re.compile(r"\\([a-z]+)")


def type_symbol(latex):
    """A symbol as a reader types it, κ or N_tot; None where TeX says more than that."""
    typed = re.sub(r"\\mathrm|[{}]", "", latex)
    try:
        typed = GREEK.sub(lambda found: unicodedata.lookup(f"GREEK SMALL LETTER {found[1]}"), typed)
    except KeyError:  # no letter
        return None
    return typed if re.fullmatch(r"[^\W\d]\w*", typed) else None


def looked_up(env):
    """(page, name, section) of what the notation and the catalogue have."""
    if NOTATION in env.found_docs:
        from blackboard.page.notation_tables import ORDER, symbols_of

        parts = next(each for each in env.get_doctree(NOTATION).findall(nodes.section) if BY_LESSON in each["ids"])
        sections = [each["ids"][0] for each in parts if isinstance(each, nodes.section)]
        for group, section in zip(ORDER, sections, strict=True):
            for symbol in symbols_of(group):
                if typed := type_symbol(symbol.latex):
                    yield NOTATION, typed, section
    if CATALOGUE in env.found_docs:
        from blackboard.catalogue import chips, models, prices, systems

        for section, rows in {"chips": chips, "systems": systems, "models": models, "price-cards": prices}.items():
            for row in rows():
                yield CATALOGUE, row.id, section
                yield CATALOGUE, row.id.replace("-", " "), section


def keep_entries(app):
    """Give the search the entries of all pages, in their order: it forgets those of pages that are not written anew."""
    known = app.builder.indexer._index_entries
    for page, entries in app.env.get_domain("index").entries.items():
        known[page] = sorted(
            {
                (part, target or "", main)
                for kind, text, target, main, _ in entries
                for part in split_index_msg(kind, text)
            }
        )
    for page, term, anchor in dict.fromkeys([*explained(app.env), *looked_up(app.env)]):
        known[page].append((term, anchor, "main"))
    in_order = sorted(known.items())
    known.clear()
    known.update(in_order)
    return []


def setup(app):
    """Read every page again when the questions change."""
    stamp = hashlib.sha256(QUESTIONS.read_bytes()).hexdigest() if QUESTIONS.exists() else ""
    app.add_config_value("questions_stamp", stamp, "env", str)
    app.add_transform(EnterQuestions)
    app.connect("html-collect-pages", keep_entries)  # after all pages, before the index is written
    return {"parallel_read_safe": True, "parallel_write_safe": True}
