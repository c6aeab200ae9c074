"""Which cells of a lesson show their source, fold it or hide it, and that the pages leave this to the one rule."""

import re
import sys

import pytest
from lessons import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from cells import choose_tags

PAGES = sorted((ROOT / "book").glob("*.md"))


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        ("figures.latency()", ["remove-input"]),
        ('p["guess"]', ["remove-input"]),
        ('p.on_page("guess", "floor")', ["remove-input"]),
        ("import sympy\ncards(eq.mfu)", ["remove-input"]),
        ("(Derivation(t, n * rent)\n    .gives(eq.cost))", ["hide-input"]),
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_cell_has_a_head(page):
    """Tags, captions and alt texts are nobody's to type."""
    assert re.findall(r"^```\{code-cell\}(?:.+|\n(?:---|:).*)", page.read_text("utf8"), re.M) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_cell_is_lost_in_a_fold(page):
    """What is read of a page drops a cell between colons without a word."""
    folds = re.findall(r"^(:{3,})\{(.*?)^\1$", page.read_text("utf8"), re.M | re.S)
    assert [text for _, text in folds if "```{code-cell}" in text] == []
