"""Many small cases in one test: as tests of their own, pytest would take longer over them than they do."""

import functools
import inspect
from itertools import repeat

import pytest
from lessons import LESSONS

ROW = type(pytest.param())


def cases(names, rows, ids=str):
    """As pytest.mark.parametrize, but one test tries all rows, or one for each lesson whose name their ids begin with.
    It stops at none, and says of each that fails which and why.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    groups = {}
    for row, told in zip(rows, repeat(ids) if callable(ids) else ids):
        held = row if isinstance(row, ROW) else pytest.param(*(row if len(names) > 1 else [row]))
        assert not held.marks, "the marks of a test are those of all its cases"
        told = held.id or ("-".join(map(told, held.values)) if callable(told) else told)
        lesson = told.partition("-")[0]
        groups.setdefault(lesson if lesson in LESSONS else "all", []).append((told, dict(zip(names, held.values))))
    return lambda test: one_test(test, names, groups)


def one_test(test, names, groups):
    """A test that tries the cases of its group."""
    argument = f"cases_of_{names[0]}"  # two such decorators may stand on one test

    @functools.wraps(test)
    def try_all(**given):
        failed, listed = [], given.pop(argument)
        for told, values in listed:
            try:
                test(**values, **given)
            except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # a row to skip is none
                error.add_note(f"in the case {told}")
                failed.append((told, error))
        if failed:
            said = f"{len(failed)} of {len(listed)} cases: {', '.join(told for told, _ in failed)}"
            raise BaseExceptionGroup(said, [error for _, error in failed])

    left = [value for name, value in inspect.signature(test).parameters.items() if name not in names]
    added = inspect.Parameter(argument, inspect.Parameter.KEYWORD_ONLY)
    try_all.__signature__ = inspect.Signature([*left, added])
    return pytest.mark.parametrize(argument, [pytest.param(rows, id=group) for group, rows in groups.items()])(try_all)
