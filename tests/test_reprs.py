"""What the library's objects show of themselves: one line in Python, a table or a typeset formula in a notebook."""

import pytest
from IPython.lib.pretty import pretty
from lessons import LESSONS

from blackboard.catalogue import model, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching.equations import step_time
from blackboard.page.practice import problems
from blackboard.prediction import predict, predict_serving
from blackboard.text import markup

AT = step_time.bind(model("deepseek-v3"), system("gb200-nvl72"))
STEP = predict("llama-3.1-70b", chip="h100-sxm", chips=8, tensor=8, batch=64, context=4096, weights="fp8")
SERVED = predict_serving("llama-3.1-70b", chip="h200", chips=4, prompt=1024, output=1024, concurrency=64, weights="fp8")
FLOOR = problems("batching")["floor"].problem


@pytest.mark.parametrize(
    "shown", [STEP, SERVED, FLOOR, problems("batching"), RUNNING, AT], ids=lambda it: type(it).__name__
)
def test_it_is_one_line(shown):
    assert "\n" not in repr(shown) and len(repr(shown)) < 320


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_problem_is_named_and_stated(lesson):
    for problem in (view.problem for view in problems(lesson)):
        assert repr(problem) == f"<{problem.kind} {problem.id}: {problem.title} ({problem.level})>"
        assert markup(problem.fill(problem.statement, problem.values())) in problem._repr_html_()


@pytest.mark.parametrize(
    "written, set_as",
    [
        (r"with $1/\hat{n} = 2$ so", r"with \(1/\hat{n} = 2\) so"),
        ("with $x$ so", r"with \(x\) so"),
        ("from $3 to $4", "from $3 to $4"),
    ],
)
def test_what_has_tex_is_math_and_a_sum_of_money_is_none(written, set_as):
    assert markup(written) == set_as


def test_predictions_say_time_and_what_binds_and_print_in_full():
    assert repr(STEP) == "<llama-3.1-70b on 8 × h100-sxm, decode: 5.80 ms a step, cache binds>"
    assert repr(SERVED).startswith("<llama-3.1-70b served on 4 × h200 to 64 users: first token ")
    for each in (STEP, SERVED):
        assert len(str(each).splitlines()) > 9 and each._repr_html_().count("<tr>") == len(each._lines())


def test_a_lessons_problems_are_counted_and_where_they_are_printed_or_shown_in_a_notebook_listed():
    own = problems("batching")
    assert repr(own) == f"<{len(own)} problems of batching; print them for a list>"
    assert str(own) == pretty(own) and len(str(own).splitlines()) == len(own)
    assert "of ann" in repr(own.of("ann"))


def test_a_bound_formula_is_typeset_with_what_is_bound():
    shown = AT._repr_html_()
    assert f"\\[{step_time.latex}\\]" in shown and shown.count("<tr>") == 6, "efficiencies of 1 say nothing"
    assert "576 TB/s" in shown and shown.endswith("<p>To be given: \\(B\\), \\(L\\).</p>")
    assert "given" not in AT.formula.bind(AT.bound | {"batch": 1, "context": 1})._repr_html_()


def test_a_case_is_a_table_of_names():
    assert all(name in RUNNING._repr_html_() for name in ("DeepSeek-V3", "GB200 NVL72", "FP8", "1,000 tokens"))
