"""A Sphinx extension: mends what Sphinx and the theme write wrongly into a page, and writes what pages load: problems,
the deck of flashcards.
"""

import re
from functools import cache

from docutils import nodes

DECK = 'href="../_static/flashcards/'
BOX = re.compile(r'<practice-box [^>]*data-lesson="([^"]+)"')
BLOCK = re.compile(r"</(?:p|d[dlt]|h[1-6]|li|t[hdr]|caption|summary|details|div|article)>(?=<)")


def mend_roles(body):
    """Entries of a bibliography are items of its list; the role they are given is deprecated."""
    return body.replace('role="doc-biblioentry"', 'role="listitem"')


def mend_folds(body):
    """A fold is called what it says: MyST-NB gives every one the same other name."""
    return body.replace(' aria-label="Toggle hidden content"', "")


def part_blocks(_app, doctree, _page):
    """Put a line's end between the blocks of what a cell printed: the search strips tags and would glue the last word
    of one to the next.
    """
    for node in doctree.findall(nodes.raw):
        if "html" in node.get("format", "").split():
            node[:] = [nodes.Text(BLOCK.sub("\\g<0>\n", node.astext()))]


def note_math(app, page, body):
    """Sphinx looks for mathematics in the text alone; a table that a cell printed may have some too."""
    if r"\(" in body or r"\[" in body:
        app.env.get_domain("math").data["has_equations"][page] = True


@cache
def write_problems(static, lesson):
    """Write a lesson's problems as a script, once in a build; its path below the folder of static files."""
    from sphinx.errors import ExtensionError

    from blackboard.panel import script
    from blackboard.practice import problems

    try:
        text = script(problems(lesson))
    except Exception as error:  # whatever a problem may raise
        which = f"to see which: pytest tests/test_practice.py -k {lesson}"
        raise ExtensionError(f"a problem of {lesson} cannot be put on a page: {error!r} ({which})") from error
    name = f"problems/{lesson}.js"
    (static / "problems").mkdir(exist_ok=True)
    (static / name).write_text(text, "utf8")
    return name


def load_problems(app, body):
    """A page loads the problems of the lessons whose answer boxes it shows, and no others."""
    for lesson in sorted(set(BOX.findall(body))):
        app.add_js_file(write_problems(app.outdir / "_static", lesson), loading_method="defer")


@cache
def write_deck(static):
    """Write the flashcards as an Anki deck, and the figures that their page shows too, once in a build."""
    from blackboard.reference import flashcards

    flashcards.write(static / "flashcards")


def mend_page(app, page, _template, context, _doctree):
    """Mend a page's body before it is put into the template."""
    if "body" in context:
        note_math(app, page, context["body"])
        load_problems(app, context["body"])
        if DECK in context["body"]:
            write_deck(app.outdir / "_static")
        context["body"] = mend_folds(mend_roles(context["body"]))


def setup(app):
    """Called by Sphinx; earlier than its own MathJax, which asks whether a page has mathematics."""
    app.connect("doctree-resolved", part_blocks)
    app.connect("html-page-context", mend_page, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # pages share the files of problems
