"""The contract every practice problem keeps, over many draws; and checkers that nothing a reader passes can break."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import re
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blackboard import answers, notation, units
from blackboard.feedback import HEADS
from blackboard.formula_problem import Expression, Function
from blackboard.page.practice import View, lessons, problems
from blackboard.page.problem_panel import card
from blackboard.problem import Choice, Ordering, Quantity, evaluate

SEEDS = range(50)


def key(values):
    """A draw as one text."""
    return repr(sorted(values.items(), key=str))


def once(function):
    """A function of a draw that computes each draw once for all tests."""
    known = {}

    def compute(values):
        drawn = key(values)
        if drawn not in known:
            known[drawn] = function(values)
        return known[drawn]

    return compute


def remembering(problem):
    """The same problem, its answer, its mistakes' and its solution computed once for each draw: judging asks for them
    again with every answer.
    """
    if isinstance(problem, Expression):
        return problem
    told = {"solution": once(problem.solution)} if callable(problem.solution) else {}
    if problem.answer is not None:
        told["answer"] = once(functools.partial(evaluate, problem.answer))
    if isinstance(problem, Quantity):
        rules = problem.misconceptions.items()
        told["misconceptions"] = {once(functools.partial(evaluate, rule)): description for rule, description in rules}
    return dataclasses.replace(problem, **told)


ALL = [
    pytest.param(remembering(view.problem), id=f"{lesson}-{view.problem.id}")
    for lesson in lessons()
    for view in problems(lesson)
]
DRAWN = {}


def draw(problem, seed):
    """The draw of a seed, drawn once for all tests; nothing may change it."""
    if (id(problem), seed) not in DRAWN:
        DRAWN[id(problem), seed] = problem.values(seed)
    return DRAWN[id(problem), seed]


def draws(problem):
    """The draws of 50 seeds, each different one once."""
    return list({key(values): values for values in (draw(problem, seed) for seed in SEEDS)}.values())


def reference(problem, values):
    """An answer that must pass."""
    if isinstance(problem, Function):
        return problem.formula
    if isinstance(problem, Expression):
        return str(problem.formula.expr)
    right = problem.expected(values)
    return right / problem.scale if isinstance(problem, Quantity) else right


@cases("problem", ALL)
def test_reference_passes_and_blank_is_not_attempted(problem):
    for values in draws(problem):
        assert problem.check(reference(problem, values), values).kind == "right"
        for blank in (None, "", "   ", ...):
            assert problem.check(blank, values).kind == "unanswered"


CHECKED = [each for each in ALL if each.values[0].independent_check is not None]


@cases("problem", CHECKED)
def test_the_independent_check_agrees(problem):
    for values in draws(problem):
        check = problem.independent_check
        if isinstance(problem, Expression):
            made = isinstance(check, types.FunctionType) and "v" in inspect.signature(check).parameters
            second = check(values) if made else check  # an expression, or a function of the symbols
            assert answers.same(problem.at_points(second), problem.at_points(problem.formula.expr))
        elif isinstance(problem, Quantity):
            assert math.isclose(evaluate(check, values), problem.expected(values), rel_tol=1e-3)
        else:
            assert evaluate(check, values) == problem.expected(values)


@cases("problem", ALL)
def test_each_misconception_is_named(problem):
    for values in draws(problem):
        named = misconceptions(problem, values)
        assert named, "a problem without a misconception corrects nobody"
        for mistake, feedback in named.items():
            told = problem.check(wrong_answer(problem, mistake, values), values)
            assert (told.kind, told.message) == ("misconception", problem.fill(feedback, values)), (values, told)


def misconceptions(problem, values):
    """What misconceptions yield, and what is said of them."""
    if isinstance(problem, Choice):
        return {letter: option.feedback for letter, option in problem.lettered.items() if not option.is_right}
    return problem.misconceptions if isinstance(problem, Expression) else problem.wrong_answers(values)


def wrong_answer(problem, mistake, values):
    """What somebody with the misconception would type."""
    if isinstance(problem, Function):
        from sympy import lambdify, symbols

        return lambdify([symbols(n, positive=True) for n in problem.names], mistake, "math")
    if isinstance(problem, Expression):
        return str(mistake)
    return mistake / problem.scale if isinstance(problem, Quantity) else mistake


@cases("problem", [p for p in ALL if isinstance(p.values[0], Quantity)])
def test_misconceptions_stay_apart(problem):
    for values in draws(problem):
        right = float(problem.expected(values))
        wrong = problem.wrong_answers(values)
        assert len(wrong) == len(problem.misconceptions)
        for i, a in enumerate(wrong):
            assert abs(math.log(a / right)) > 2 * problem.tolerance, (values, wrong[a])
            for b in list(wrong)[:i]:
                assert abs(math.log(a / b)) > 2 * problem.tolerance, (values, wrong[a])


@cases("problem", ALL)
def test_messages_never_give_the_answer(problem):
    for values in draws(problem)[:8]:
        said = [*misconceptions(problem, values).values(), *problem.hints, problem.statement]
        texts = [problem.fill(text, values) for text in said] + [problem.wants]
        for text in texts:
            if isinstance(problem, Quantity):
                digits = units.significant(problem.expected(values) / problem.scale)
                assert not re.search(rf"(?<![\d.,]){re.escape(digits)}(?![\d]|[.,]\d)", text) or len(digits) < 3, text
            elif isinstance(problem, (Choice, Ordering)) and text is not texts[-1]:
                assert not re.search(rf"\b{problem.expected(values)}\)", text)


@cases("problem", ALL)
def test_solution_runs_and_its_last_value_passes(problem):
    for values in draws(problem):
        last = problem.steps(values)[-1]
        assert problem.lines(values)
        if isinstance(problem, Function):
            from blackboard.answers import expression

            compute = expression(last.value, {n: [n] for n in problem.names})
            assert problem.verdict([compute(p) for p in problem.points]).ok
        elif isinstance(problem, Quantity):
            bare = last.value if problem.label in ("$/Mtok", "%") else last.value / problem.scale
            assert problem.check(bare, values).ok, (last, values)
        else:
            assert problem.check(last.value, values).ok


@cases("problem", ALL)
def test_texts_are_filled(problem):
    for values in draws(problem)[:5]:
        shown = [
            problem.fill(problem.statement, values),
            problem.fill(problem.explanation, values),
            *problem.lines(values),
        ]
        left = {name for text in shown for name in re.findall(r"(?<![\\a-z])\{(\w+)\}", text)}
        assert not left & {*values, *notation.table()} and not any(re.search(r"\bnan\b|None", text) for text in shown)
    assert problem.level in ("easy", "medium", "hard") and problem.objective and len(problem.hints) >= 1


@cases("problem", [p for p in ALL if isinstance(p.values[0], Quantity) and p.values[0].kind == "quantity"])
def test_prefixes_units_and_closeness(problem):
    values = problem.values()
    right = problem.expected(values) / problem.scale
    assert problem.check(right * 1000, values).kind in ("prefix", "misconception")
    assert problem.check(f"{right} furlong", values).kind == "unit"
    assert problem.check(units.Quantity(1, "watt"), values).kind == "unit"
    assert problem.check(right * 1.06, values).kind in ("close", "misconception", "prefix")
    assert problem.check(right * 37.7, values).kind in ("wrong", "misconception")
    assert problem.check(-right, values).kind == "wrong"
    assert (
        problem.check([1, 2], values).kind
        == problem.check({}, values).kind
        == problem.check(True, values).kind
        == "type"
    )


@cases(
    "problem",
    [p for p in ALL if p.values[0].kind == "quantity" and units.dimension(p.values[0].unit).get("information")],
)
def test_bits_taken_for_bytes_are_named_both_ways(problem):
    values = problem.values()
    right = problem.expected(values) / problem.scale
    for slip in (8, 1 / 8):
        told = problem.check(right * slip, values)
        assert told.kind == "misconception" or told.kind == "prefix" and "exactly 8" in told.message, told


def test_a_choice_may_be_answered_in_words_that_only_one_option_has():
    options = {"a": "Weights are read once.", "b": "Caches are read once.", "c": "Nothing is read."}
    assert answers.option("weights are READ", options) == "a" and answers.option("Nothing", options) == "c"
    for several_or_none in ("read once", "interest"):
        with pytest.raises(answers.Unreadable):
            answers.option(several_or_none, options)


@cases("problem", ALL)
def test_page_draws_differ_and_end_with_the_one_of_notebooks(problem):
    listed = [problem.fill(problem.statement, values) for values in problem.draws(4)]
    assert listed[-1] == problem.fill(problem.statement, problem.values()) == View(problem).statement
    assert len(set(listed)) == len(listed) >= (2 if problem.parameters else 1)


def test_units_as_people_type_them():
    for text, value in [
        ("26 ms", 0.026),
        ("0.026", 0.026e-3),
        ("26,000 µs", 0.026),
        ("26000us", 0.026),
        ("26000 μs", 0.026),
        ("2.6e-2 s", 0.026),
        ("2.6 x10^-2 s", 0.026),
        (" 26ms. ", 0.026),
    ]:
        assert math.isclose(answers.quantity(text, "s", "ms", 1e-3), value), text
    for text in ("6.8¢", "6.8 cents", "$0.068"):
        assert math.isclose(answers.quantity(text, "USD", "USD", 1), 0.068), text
    for text in ("0,068", "0,0138", "12,5"):
        with pytest.raises(answers.Unreadable, match="Use a point"):
            answers.quantity(text, "USD", "USD", 1)
    for text in (
        "128 000",
        "128'000",
        "128,000 tokens/s",
        "128 ktoken/s",
        "128k tokens/s",
        "0.128 million tokens per s",
    ):
        assert math.isclose(answers.quantity(text, "token/s", "tokens/s", 1), 128_000), text
    for text in ("$2.5/Mtoken", "$2.50/Mtok", "2.5 USD per million tokens"):
        assert math.isclose(answers.quantity(text, "USD/token", "$/Mtok", 1e-6), 2.5e-6), text
    for text, value in [("4/3", 4 / 3), ("671 / 576 ms", 0.671 / 576), ("1.5/2 s", 0.75)]:
        assert math.isclose(answers.quantity(text, *(("1", "", 1) if text == "4/3" else ("s", "ms", 1e-3))), value), (
            text
        )
    for text, value in [
        ("$168,000,000", 1.68e8),
        ("$168 million", 1.68e8),
        ("168", 1.68e8),
        ("1.68·10² MUSD", 1.68e8),
        ("$168M", 1.68e8),
    ]:
        assert math.isclose(answers.quantity(text, "USD", "MUSD", 1e6), value), text
    for text, unit, label, value in [
        ("1.7 kB", "byte/token", "bytes/token", 1700),
        ("2.2 cents", "USD/token", "$/Mtok", 2.2e-8),
        ("85 layers", "1", "", 85),
        ("98k", "token/sequence", "token", 98e3),
    ]:
        assert math.isclose(answers.quantity(text, unit, label, 1e-6 if label == "$/Mtok" else 1), value), text
    for text in ("671/576/3", "1/0", "1.165.0", "15:1", "10^3"):
        with pytest.raises(answers.Unreadable, match="one number"):
            answers.quantity(text, "s", "ms", 1e-3)
    assert math.isclose(answers.quantity("$2.50 per Mtok", "USD/token", "$/Mtok", 1e-6), 2.5e-6)
    assert math.isclose(answers.quantity("2.5 $/Mtok", "USD/token", "$/Mtok", 1e-6), 2.5e-6)
    assert math.isclose(answers.quantity("$2.50", "USD/token", "$/Mtok", 1e-6), 2.5e-6)
    assert math.isclose(answers.quantity("50%", "1", "%", 0.01), 0.5) and math.isclose(
        answers.quantity("50", "1", "%", 0.01), 0.5
    )
    for text, unit, label, value in [
        ("2.167 steps", "1", "", 2.167),
        ("4 guesses", "1", "", 4),
        ("1 guess", "1", "", 1),
        ("80 users", "sequence", "sequence", 80),
        ("2.773 tokens/round", "token/sequence", "token", 2.773),
        ("2.773 tokens per pass", "token/sequence", "token", 2.773),
    ]:
        assert answers.quantity(text, unit, label, 1) == value, text
    assert (
        answers.quantity("2,400 sequences", "sequence", "sequence", 1)
        == answers.quantity("2400", "sequence", "sequence", 1)
        == 2400
    )


def test_a_bare_greek_letter_names_the_only_symbol_that_begins_with_it():
    """alpha_acc may be typed α or alpha; where a problem has alpha_N and alpha_D, neither may."""
    right = "(1 - {a}^({g} + 1)) / (1 - {a})"
    for a, g in (("α", "γ"), ("alpha", "gamma"), ("α_acc", "gamma")):
        assert problems("speculation")["letters"].check(right.format(a=a, g=g)).ok, (a, g)
    law = problems("corpus")["percent-letters"]
    assert law.check("α").kind == law.check("alpha").kind == "type" and law.check("α_N").kind != "type"
    assert answers.alphabet(["size_power", "data_power"]) == {
        name: answers.letters(name) for name in ("size_power", "data_power")
    }


class Hostile:
    """Every method that a careless checker might call raises."""

    def _no(self, *_):
        raise RuntimeError("hostile")

    __eq__ = __ne__ = __lt__ = __gt__ = __float__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = __hash__ = (
        __array__
    ) = __index__ = _no

    @property
    def __class__(self):
        raise RuntimeError("hostile")


@functools.cache
def silly():
    """Answers that nobody should give."""
    return list(_silly())


def _silly():
    import decimal
    import fractions

    import numpy as np
    import sympy

    yield from (
        "x" * 1_000_000,
        "9" * 1_000_000,
        "(" * 100_000,
        "1" + "^9" * 140,
        "9^9^9^9^9^9",
        "__import__('os').system('true')",
        "\0",
        "1e999",
        "-0",
        "١٢",
        "½",
    )
    yield from (
        float("nan"),
        float("inf"),
        -float("inf"),
        10**100_000,
        0,
        -1,
        1e-320,
        1 + 2j,
        True,
        b"12",
        [],
        {},
        (),
        set(),
        object(),
        Hostile(),
        Hostile,
        print,
        int,
    )
    yield from (
        np.arange(3),
        np.array("x"),
        np.array(None),
        np.float64(3),
        np.int8(3),
        np.float32("nan"),
        np.zeros((1000, 1000)),
        np.str_("12"),
    )
    yield from (
        decimal.Decimal("sNaN"),
        fractions.Fraction(1, 3),
        sympy.oo,
        sympy.nan,
        sympy.Symbol("B"),
        sympy.I,
        sympy.Eq(sympy.Symbol("B"), 1),
        lambda: 1,
        lambda **k: k,
    )
    yield from (units.Quantity(3, "s"), units.Quantity(np.arange(3), "s"), units.Quantity(1, "byte"))


def doubled(times: int):
    """A SymPy expression of a few parts, each of which occurs twice in the next: 2 ** times in all."""
    import sympy

    out = sympy.Symbol("B")
    for _ in range(times):
        out = sympy.Mul(out + 1, out + 2, evaluate=False)
    return out


@cases("problem", [view.problem for view in problems("batching")], ids=lambda p: p.id)
def test_of_a_sympy_expression_no_more_is_read_than_an_answer_may_have(problem):
    """Read to its end, the first would take longer than the universe is old; the second has a billion members."""
    import sympy

    for answer in (doubled(100), sympy.Range(10**9), sympy.Float("1.5", 50_000) * sympy.Symbol("B")):
        assert problem.check(answer, problem.values()).kind == "type"


def test_a_short_sympy_expression_is_still_read():
    problem = next(view.problem for view in problems("batching") if view.problem.kind == "expression")
    right = problem.formula.expr
    assert problem.check(right, {}).ok and problem.check(right + sum(right.free_symbols), {}).kind == "unit"


# --- the work that a pattern does ------------------------------------------------------------------------------------


def ends(items, text: str, at: int, count: list[int]):
    """Where matches of a parsed pattern end, in the order in which a backtracking matcher tries them; steps counted."""
    if not items:
        yield at
        return
    (op, argument), rest = items[0], items[1:]
    count[0] += 1
    for end in _item(str(op), argument, text, at, count):
        yield from ends(rest, text, end, count)


def _item(op: str, argument, text: str, at: int, count: list[int]):
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        yield from _repeated(*argument, op == "MAX_REPEAT", text, at, count)
    elif op == "SUBPATTERN":
        yield from ends(list(argument[-1]), text, at, count)
    elif op == "BRANCH":
        for each in argument[1]:
            yield from ends(list(each), text, at, count)
    elif op == "ASSERT_NOT":
        yield from [] if any(True for _ in ends(list(argument[1]), text, at, count)) else [at]
    elif op == "AT":
        yield from [at] if at == (0 if "BEGIN" in str(argument) else len(text)) else []
    elif at < len(text) and _holds(op, argument, text[at]):
        yield at + 1


def _repeated(low, high, inner, greedy: bool, text: str, at: int, count: list[int]):
    more = (
        end
        for middle in (ends(list(inner), text, at, count) if high else ())
        if middle > at
        for end in _repeated(max(0, low - 1), high - 1, inner, greedy, text, middle, count)
    )
    if greedy:
        yield from more
    if not low:
        yield at
    if not greedy:
        yield from more


def _holds(op: str, argument, character: str) -> bool:
    if op == "ANY":
        return True
    if op == "LITERAL":
        return character.lower() == chr(argument).lower()
    if op == "RANGE":
        return argument[0] <= ord(character) <= argument[1]
    if op == "CATEGORY":
        named = {"CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_DIGIT": r"\d"}
        return bool(re.match(named[str(argument)], character))
    assert op == "IN", op
    return any(_holds(str(one), more, character) for one, more in argument)


def steps(pattern: str, text: str) -> int:
    """Steps in which a backtracking matcher finds whether a pattern matches a text from end to end."""
    count = [0]
    any(end == len(text) for end in ends(list(re._parser.parse(pattern, re.I | re.S)), text, 0, count))
    return count[0]


PAGE = (Path(__file__).resolve().parent.parent / "book" / "_static" / "practice.js").read_text(encoding="utf8")
PATTERNS = {"library": answers._NUMBER.pattern, "page": re.search(r"const NUMBER = /(.*)/i;", PAGE)[1]}


@pytest.mark.parametrize("where", PATTERNS)
@pytest.mark.parametrize(
    "text", ["{}x", "{}~{}x", "{}${}x", "1{}", "1{}x", "1{}/{}x", "1{}e{}x", "{}~{}${}1{}e{}1{}/{}1{}x"]
)
def test_blanks_before_a_number_are_read_one_way(where, text):
    """With twice the blanks a pattern takes at most four times the steps, as one loop in another would."""
    pattern = PATTERNS[where].replace("[^]", r"[\s\S]")
    few, many = (steps(pattern, text.replace("{}", " " * blanks)) for blanks in (10, 20))
    assert few < many < 5 * few


@cases("problem", ALL)
def test_nothing_a_reader_passes_raises(problem):
    values = problem.values()
    for answer in silly():
        told = problem.check(answer, values)
        assert told.kind in HEADS and told.message and len(told.message) < 600
        assert str(told) and told._repr_html_() and told._repr_markdown_()


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=400),
        st.binary(max_size=50),
        st.complex_numbers(),
        st.decimals(),
        st.fractions(),
        st.text("0123456789.,eE+-*/^() BLNWFabckmsµ$%_", max_size=60),
        st.dates(),
        st.uuids(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(given=ANYTHING, seed=st.integers(0, 49))
@pytest.mark.slow
def test_fuzzed_answers_get_feedback(given, seed):
    for problem in (each.values[0] for each in ALL):
        told = problem.check(given, draw(problem, seed))
        assert told.kind in HEADS and told.message and isinstance(told.ok, bool)


def test_a_function_without_a_body_is_not_attempted_and_a_return_that_is_no_number_is_named():
    def written_nothing_in(batch):
        """All that the starter has."""

    given = problems("batching")["step"]
    assert given.check(written_nothing_in).kind == "unanswered"
    assert given.check(lambda **_: 0).kind == "wrong"
    assert "returns nothing" in given.check(lambda **point: point.clear()).message
    assert "returned a list" in given.check(lambda **_: [1.0]).message


def test_names_of_a_function_are_code_where_it_is_asked_for():
    asked = problems("paging")["held"].statement
    assert "function of `hbm`, `n_total`, `bytes_per_param`, `kv_bytes_per_token`, `context` and" in asked


def test_a_function_that_hangs_or_exits_does_not_take_the_kernel_with_it(capsys):
    problem = problems("batching")["step"].problem

    def hangs(**_):
        print("still here")
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    def interrupted(**_):
        raise KeyboardInterrupt

    with pytest.raises(answers.Unreadable, match="took too long"):
        answers.calls(hangs, [{}], seconds=0.2)
    assert "SystemExit" in problem.check(lambda **_: sys.exit(1), {}).message
    with pytest.raises(KeyboardInterrupt):
        problem.check(interrupted, {})
    assert capsys.readouterr() == ("", "")


def test_outside_the_main_thread_a_function_is_called_without_a_limit():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(answers.calls, lambda batch: 2 * batch, [{"batch": 3}]).result() == [6]


@pytest.mark.parametrize("lesson", lessons())
def test_a_box_is_printed_with_the_numbers_that_it_wakes_with(lesson):
    """Where no script runs, the question stands beside hints and a solution of the first draw."""
    for view in problems(lesson):
        data = view.problem.page()
        asked = (data | data["draws"][0])["ask"]
        assert f'<div class="practice-ask">{asked}</div>' in card(view, live=True), view.problem.id


def test_views_keep_their_place():
    view = View(problems("batching")["floor"].problem)
    first = view.statement
    assert "Hint 1 of" in view.hint() and "last" in view.hint()
    assert view.check().kind == "unanswered" and view.solution()
    assert any(view.again().statement != first for _ in range(6))
    assert "Hint 1 of" in view.hint()
    with pytest.raises(KeyError, match="floor"):
        problems("batching")["flor"]
    with pytest.raises(KeyError, match="batching"):
        problems("nothing")
