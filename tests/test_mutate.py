"""The list of mutations follows the code."""

import ast

import mutate
import pytest
from cases import cases
from conftest import ROOT


def test_each_line_to_be_spoiled_stands_once_in_its_file():
    assert mutate.find_lost(ROOT) == []


def test_no_mutation_is_there_twice_and_each_changes_its_line():
    lines = [(name, before) for name, before, _ in mutate.MUTATIONS]
    assert len(set(lines)) == len(lines) >= 81
    assert all(before != after for _, before, after in mutate.MUTATIONS)


@cases("name", sorted({name for name, *_ in mutate.MUTATIONS if name.endswith(".py")}))
def test_what_is_spoiled_is_still_python(name):
    text = (ROOT / name).read_text("utf8")
    for _, before, after in (each for each in mutate.MUTATIONS if each[0] == name):
        ast.parse(text.replace(before, after))


@pytest.mark.parametrize("line", mutate.NAMED)
def test_the_test_that_is_named_for_a_line_exists(line):
    assert line in [before for _, before, _ in mutate.MUTATIONS] and mutate.named_test(ROOT, line)


def test_an_older_checkout_may_lack_it(tmp_path):
    assert mutate.named_test(tmp_path, next(iter(mutate.NAMED))) == []
