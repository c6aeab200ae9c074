"""Which cells of a lesson show their source, fold it or hide it, and that the pages leave this to the one rule."""

import json
import re
import sys

import pytest
from lessons import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from cell_pages import fold_problems
from cells import choose_exercise_tags, choose_tags

PAGES = sorted((ROOT / "book").glob("*.md"))


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        ("figures.latency()", ["remove-input"]),
        ('p["guess"]', ["remove-input"]),
        ('p.on_page("guess", "floor")', ["remove-input"]),
        ("import sympy\ncards(eq.mfu)", ["remove-input"]),
        ("(Derivation(t, n * rent)\n    .gives(eq.cost))", ["hide-input"]),
        ('table("Prices", heads, rows)', ["hide-input"]),
        ("from blackboard import tables", ["remove-cell"]),
        ("eq.step_time", ["remove-input"]),
        ("model.n_active", []),
        ('p = problems("paging")\nglue_values(numbers.all())', ["remove-cell"]),
        ("p = predict('llama')\np", []),
        ("costs.sent", []),
        ("allocator.compare(batch=64)", []),
        ("print(figures.latency().alt)", []),
        ("for size in (1, 2):\n    print(size)", []),
        ("figures = 1", []),
        ("# a remark", []),
        ("%pip install course", []),
    ],
)
def test_the_last_statement_decides_about_the_source(source, tags):
    assert choose_tags(source) == tags


@pytest.mark.parametrize(
    ("folder", "source", "tags"),
    [
        ("exercises", 'p["guess"]', ["remove-input"]),
        ("exercises/solutions", 'p["guess"]', ["remove-input"]),
        ("exercises", 'p["guess"].check(...)', ["remove-cell"]),
        ("exercises", 'def held(hbm):\n    ...\n\n\np["held"].check(held)', ["remove-cell"]),
        ("exercises/solutions", 'p["guess"].check(3 * 5)', []),
        ("exercises", 'p["guess"].again()', []),
        ("exercises", "play(racks=2)", []),
        ("exercises", 'lab["step"].check(step_time)', []),
    ],
)
def test_a_page_of_exercises_shows_boxes_and_not_what_a_notebook_needs(folder, source, tags):
    assert choose_exercise_tags(f"{folder}/paging.ipynb", source) == tags


def test_a_problem_of_a_page_of_exercises_is_a_numbered_fold():
    from types import SimpleNamespace

    from docutils import nodes
    from docutils.utils import new_document

    def section(name, title, *inside):
        return nodes.section("", nodes.title(title, title), *inside, ids=[name])

    box = '<practice-box class="practice"><p><span class="practice-level hard">hard</span></p></practice-box>'
    problem = section("first", "What <leaves>", nodes.container("", nodes.raw("", box, format="html")))
    page = new_document("page")
    problem.insert(1, nodes.system_message("", nodes.paragraph("", "Duplicate implicit target name."), level=1))
    page += section("page", "Page", nodes.paragraph("", "Words."), section("group", "Group", problem))
    fold_problems(SimpleNamespace(env=SimpleNamespace(docname="exercises/page")), page)
    assert [each["ids"] for each in page.findall(nodes.section)] == [["page"], ["group"]]
    note, bar, fold, statement, end = (raw.astext() for raw in page.findall(nodes.raw))
    assert (
        "run in JupyterLab" in note
        and "../book/page.html" in note
        and bar.startswith("<practice-set ")
        and statement == box
        and end == "</details>"
    )
    assert fold.startswith('<details class="practice-item" id="first" data-level="hard">')
    assert "<summary>1. What &lt;leaves&gt;&ensp;<span" in fold


NOTEBOOKS = sorted((ROOT / "exercises").rglob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_heading_names_the_box_below_it(path):
    from blackboard.page.practice import problems

    known, heading = problems(path.stem), ""
    for cell in json.loads(path.read_text("utf8"))["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            heading = source.splitlines()[-1]
        elif found := re.fullmatch(r'p\["([\w-]+)"\]', source):
            assert heading.lstrip("# ") == known[found[1]].problem.title


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_cell_has_a_head(page):
    """Tags, captions and alt texts are nobody's to type."""
    assert re.findall(r"^```\{code-cell\}(?:.+|\n(?:---|:).*)", page.read_text("utf8"), re.M) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_cell_is_lost_in_a_fold(page):
    """What is read of a page drops a cell between colons without a word."""
    folds = re.findall(r"^(:{3,})\{(.*?)^\1$", page.read_text("utf8"), re.M | re.S)
    assert [text for _, text in folds if "```{code-cell}" in text] == []
