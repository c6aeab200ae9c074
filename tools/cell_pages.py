"""A Sphinx extension: puts the cells of lessons and exercises on their pages as cells.py says, each shown source with
its editor, and each problem of a page of exercises into a fold.
"""

import json
import re
from pathlib import Path

from cells import choose_exercise_tags, choose_tags, is_unanswered
from docutils import nodes
from myst_nb import sphinx_ as myst_nb
from notebooks import WORK

LIVE_CELL = '<live-cell class="live-cell" data-lesson="{}" data-cell="{}"></live-cell>'
NOT_HERE = '<p class="cell-note">This cell needs NumPy, so it runs in a notebook and not in the page.</p>'


def live_markup(lesson, number):
    """What stands below a source: what makes an editor of it (book/_labs/cells.js), or why it has none."""
    return NOT_HERE if number is None else LIVE_CELL.format(lesson, number)


class Renderer(myst_nb.SphinxNbRenderer):
    """MyST-NB's own, which takes the same from the head of a cell and from nowhere else."""

    def render_nb_cell_code(self, token):
        """Put a cell of code on the page."""
        metadata = token.meta["metadata"]
        file = self.document["source"]
        chosen = choose_tags(token.content) if file.endswith(".md") else choose_exercise_tags(file, token.content)
        metadata.setdefault("tags", chosen)
        for output in self.nb_client.code_cell_outputs(token.meta["index"])[1]:
            metadata |= myst_nb.nb_node_to_dict(output.get("metadata", {}))
        if is_unanswered(file, token.content):
            metadata["tags"] = [*metadata.get("tags", []), "remove-output"]
        if "remove-cell" not in metadata.get("tags", []):
            super().render_nb_cell_code(token)
            self.make_live(token.content.strip())

    def make_live(self, source):
        """Let a reader run the source that was just put on the page, if it is a lesson's that was tried."""
        tried = WORK / "live" / f"{Path(self.document['source']).stem}.json"
        shown = [node for node in self.current_node[-1].children if "cell_input" in node.get("classes", [])]
        if shown and self.document["source"].endswith(".md") and tried.exists():
            self.sphinx_env.note_dependency(str(tried))
            number = json.loads(tried.read_text("utf8")).get(source)
            shown[0].append(nodes.raw("", live_markup(tried.stem, number), format="html"))
            shown[0]["classes"] += [] if number is None else ["runs-here"]


WHERE = (
    '<p class="table-note on-screen">The boxes check your answers right here. Cells of code run in JupyterLab: the'
    ' arrow at the top saves their notebook. The lab also runs in <a href="../book/{}.html">the lesson’s page</a>.</p>'
)
LEVEL = re.compile(r'<practice-box .*?<span class="practice-level (\w+)"', re.S)


def find_level(section):
    """How hard the problem is whose box stands right below the heading of a section; None where there is none."""
    body = [node for node in section[1:] if not isinstance(node, nodes.system_message)]  # as that of a name used twice
    if not body or isinstance(body[0], nodes.section):
        return None
    texts = [raw.astext() for raw in body[0].findall(nodes.raw)]
    found = [level for level in map(LEVEL.match, texts) if level]
    return found[0][1] if found else None


def fold_problems(app, doctree):
    """A page of exercises lists its problems as a lesson's last section does: each in a fold that has the heading's
    words and a number, below a filter for all of them.
    """
    if "exercises" not in Path(app.env.docname).parts:
        return
    found = [(section, level) for section in doctree.findall(nodes.section) if (level := find_level(section))]
    if not found:
        return

    from blackboard.page.problem_panel import open_fold, practice_set  # a build says first which library it takes

    for number, (section, level) in enumerate(found, 1):
        start = open_fold(f"{number}. {section[0].astext()}", level, section["ids"][0])
        fold = [nodes.raw("", start, format="html"), *section[1:], nodes.raw("", "</details>", format="html")]
        section.parent.replace(section, fold)
    page = next(doctree.findall(nodes.section))
    first = next(n for n, node in enumerate(page) if isinstance(node, nodes.section | nodes.raw))
    page.insert(first, nodes.raw("", practice_set(()), format="html"))
    if "solutions" not in Path(app.env.docname).parts:
        page.insert(first, nodes.raw("", WHERE.format(Path(app.env.docname).name), format="html"))


def setup(app):
    """Called by Sphinx; MyST-NB has a setting for what draws an output, but none for what reads a cell."""
    myst_nb.SphinxNbRenderer = Renderer
    app.connect("doctree-read", fold_problems, priority=400)  # before a page's headings are listed
    return {"parallel_read_safe": True, "parallel_write_safe": True}
