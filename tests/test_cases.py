"""A test of many cases tries them all, and says of each that fails which and why."""

import pytest
from cases import cases


def test_all_cases_are_tried_and_those_that_fail_are_named():
    tried = []

    @cases("one, two", [(1, 2), (3, 3), (4, 5), pytest.param(6, 7, id="racks-six")])
    def same(one, two):
        tried.append(one)
        assert one == two, f"{one} is not {two}"

    [mark] = same.pytestmark
    groups = {row.id: row.values[0] for row in mark.args[1]}
    assert {name: len(rows) for name, rows in groups.items()} == {"all": 3, "racks": 1}
    with pytest.raises(ExceptionGroup, match="2 of 3 cases: 1-2, 4-5") as caught:
        same(cases_of_one=groups["all"])
    assert tried == [1, 3, 4] and "1 is not 2" in str(caught.value.exceptions[0])
    assert caught.value.exceptions[1].__notes__ == ["in the case 4-5"]


def test_a_case_that_fails_or_skips_by_name_fails_the_test():
    """None is left out unseen."""

    @cases("leave", [pytest.fail, pytest.skip])
    def gone(leave):
        leave("no")

    with pytest.raises(BaseExceptionGroup, match="2 of 2 cases"):
        gone(cases_of_leave=gone.pytestmark[0].args[1][0].values[0])
