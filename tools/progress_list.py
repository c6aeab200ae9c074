"""A Sphinx extension: the directive `progress-list`, all problems and steps of labs, lesson by lesson.

The page's script (book/_scripts/progress.js) says of each whether this browser has seen it solved.
"""

from html import escape

from docutils import nodes
from lesson_cards import facts
from sphinx.util.docutils import SphinxDirective


class progress_list(nodes.General, nodes.Element):
    """Stands for the list until all pages have been read."""


class ProgressList(SphinxDirective):
    """The list."""

    def run(self):
        """Put the mark there."""
        return [progress_list("")]


def lessons_in_order(env, root):
    """The pages that have problems of their own, as the contents list them."""
    listed = [page for page in env.toctree_includes.get(root, []) if facts(env).get(page, {}).get("problems")]
    return [page for page in listed if facts(env)[page]["lesson"] == page.rpartition("/")[2]]


def draw_item(lesson, kind, name, title):
    """A problem or step, with the way to it."""
    place = f"{lesson}.html#{'practice' if kind == 'problem' else kind}-{name}"
    state = '<span class="progress-state">not tried</span>'
    return f'<li data-{kind}="{name}">{state} <a href="{place}">{title}</a></li>'


def draw_lesson(env, number, page):
    """A lesson's problems and steps, folded."""
    found, lesson = facts(env)[page], page.rpartition("/")[2]
    name = f"{number}. {escape(env.titles[page].astext().partition(':')[0])}"
    groups = [("problem", "Problems", found["problems"].items()), ("step", "Lab", found["steps"].items())]
    lists = "".join(
        f"<p>{head}</p><ul>{''.join(draw_item(lesson, kind, *item) for item in items)}</ul>"
        for kind, head, items in groups
        if items
    )
    return (
        f'<details class="progress-lesson" data-lesson="{lesson}"><summary>{name} <span class="progress-count"></span>'
        f"</summary>{lists}</details>"
    )


def draw_list(app, doctree, page):
    """Put the list in its place."""
    for node in list(doctree.findall(progress_list)):
        pages = lessons_in_order(app.env, app.config.root_doc)
        drawn = "".join(draw_lesson(app.env, number, each) for number, each in enumerate(pages, 1))
        node.replace_self(nodes.raw("", f'<progress-list class="progress-list">{drawn}</progress-list>', format="html"))


def setup(app):
    """After the cards, which note what each page has."""
    app.setup_extension("lesson_cards")
    app.add_node(progress_list)
    app.add_directive("progress-list", ProgressList)
    app.connect("doctree-resolved", draw_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
