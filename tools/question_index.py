"""A Sphinx extension: the search finds the page that answers a reader's question.

The questions are in book/questions.yaml, by page. Each becomes an entry of the site's index, which the search looks up
before it looks for words. So does each term of the glossary, for the section that explains it.
"""

import hashlib
from pathlib import Path

import yaml
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
    for page, term, anchor in explained(app.env):
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
