"""Every lab: what is left unwritten is not right, the course's solution is, and each mistake meets its own check."""

import functools
import json
import pickle
import random
import re
import subprocess
import sys
import types
from dataclasses import replace

import pytest
import vl_convert
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from lessons import LESSONS, LIB, room

from blackboard.charts.lab_chart import wrap_title
from blackboard.lab_values import is_rounded, same, shown
from blackboard.page.lab_view import WIDTH, narrow, page_html, write_example
from blackboard.page.lab_worker import answer
from blackboard.reader_code import run_text
from blackboard.text import markup

WITH_LAB = [name for name in LESSONS if (LIB / "lessons" / name / "lab.py").exists()]
DRAWN_AS = "5.20"


@functools.cache
def lab(lesson):
    """A lesson's lab."""
    return room(lesson, "lab").LAB


STEPS = [(lesson, step) for lesson in WITH_LAB for step in lab(lesson).steps]
NAMED = [f"{lesson}-{step.name}" for lesson, step in STEPS]
each_step = cases(("lesson", "step"), STEPS, ids=NAMED)
each_lab = pytest.mark.parametrize("lesson", WITH_LAB)


def trivial(step, body):
    """A step's text with one line in place of every body."""
    return step.starter.replace("...", body)


@each_lab
def test_a_lab_has_steps_of_different_names(lesson):
    names = [step.name for step in lab(lesson).steps]
    assert 3 <= len(names) <= 6 and len(set(names)) == len(names)


@each_step
def test_a_step_says_what_to_write(lesson, step):
    assert step.title and step.hints and step.task.endswith((".", "?")) or "\n\n" in step.task
    assert lab(lesson).example_result(step) != "None"


@each_step
def test_a_step_says_what_is_built_and_why(lesson, step):
    assert step.intent.endswith(".") and len(step.intent) < 200
    assert markup(step.intent) in page_html(lab(lesson), lesson)


@each_step
def test_the_example_is_a_case(lesson, step):
    """Of a step that is tried in another way than by a call, or with functions, `also` holds it."""
    assert step._of_example() or step.also
    assert all(any(same(args, trial.args) for trial in step.fresh()) for args in step._of_example())


@each_step
def test_a_long_example_is_broken_into_lines(lesson, step):
    written = write_example(step)
    assert max(map(len, written.split("\n"))) <= WIDTH
    assert "".join(written.split()).replace(",)", ")") == "".join(step.example.replace("; ", "\n").split())


@each_step
def test_the_starter_is_not_attempted(lesson, step):
    assert lab(lesson).grade(step.name, step.starter).kind == "unattempted"


@each_step
def test_the_starter_fits_a_page_and_stays_a_starter(lesson, step):
    assert lab(lesson).grade(step.name, narrow(step.starter)).kind == "unattempted"
    words = [" ".join(text.split()) for text in (step.starter, narrow(step.starter))]
    assert words[0] == words[1]


@each_step
def test_docstrings_fit_a_page(lesson, step):
    for code in (narrow(step.starter), narrow(step.source)):
        for docstring in re.findall(r'"""(.*?)"""', code, re.S):
            assert max(map(len, docstring.split("\n"))) <= WIDTH
    assert " ".join(narrow(step.source).split()) == " ".join(step.source.split())


@each_step
def test_the_solution_is_right(lesson, step):
    assert str(lab(lesson).grade(step.name, step.source)).startswith("Right.")


@each_step
def test_the_solution_works_on_a_readers_own_earlier_steps(lesson, step):
    sources = {each.name: each.source for each in lab(lesson).steps}
    assert lab(lesson).grade(step.name, step.source, sources).ok


@each_step
@pytest.mark.slow
def test_every_mistake_meets_its_own_check(lesson, step):
    assert len(step.mistakes) >= 4
    for mistake, check in step.mistakes.items():
        verdict = step.check(mistake, lab(lesson).space(), seconds=60)  # all of its module is timed
        caught = mistake if isinstance(check, str) else check
        assert (verdict.kind, verdict.check) == ("wrong", caught.__name__), f"{mistake.__name__}: {verdict}"
        assert verdict.message.count("Expected") <= 1, verdict
        assert not isinstance(check, str) or verdict.message.startswith(check)


@each_step
@cases("body", ["pass", "return None", "return 0", "return []", "return ''", "raise ValueError"])
def test_a_trivial_answer_is_not_right(lesson, step, body):
    assert not lab(lesson).grade(step.name, trivial(step, body)).ok


@each_step
def test_what_a_step_may_raise_is_no_answer(lesson, step):
    for allowed in step.raises:
        name = allowed.__name__
        space = lab(lesson).space() | {name: allowed}
        run_text(trivial(step, f"raise {name}"), space)
        assert not step.check(space[step.name], space).ok


@each_step
def test_an_endless_loop_ends(lesson, step):
    step_text = trivial(step, "while True: pass")
    space = lab(lesson).space()
    run_text(step_text, space)
    assert step.check(space[step.name], space, seconds=0.1).kind == "slow"


@each_lab
@pytest.mark.slow
def test_the_last_chart_is_drawn(lesson):
    sources = {step.name: step.source for step in lab(lesson).steps}
    course, own = lab(lesson).finished(), lab(lesson).finished(sources)
    assert json.dumps(course, sort_keys=True) == json.dumps(own, sort_keys=True)
    svg = vl_convert.vegalite_to_svg(json.dumps({**own, "width": 360}), vl_version=DRAWN_AS)
    assert svg.count("<path") > 5
    assert lab(lesson).ending


def recorded(name, made, called):
    """A function or class that notes that it was used."""
    if isinstance(made, type):

        class Recorded(made):
            def __init__(self, *args):
                called.add(name)
                super().__init__(*args)

        return Recorded

    @functools.wraps(made)
    def use(*args):
        called.add(name)
        return made(*args)

    return use


@each_lab
@pytest.mark.slow
def test_the_last_chart_uses_every_step(lesson):
    sources, called = {step.name: step.source for step in lab(lesson).steps}, set()
    space = lab(lesson).space(sources)
    space.update({name: recorded(name, space[name], called) for name in sources})  # steps find each other there
    lab(lesson).finish(types.SimpleNamespace(**{name: space[name] for name in sources}))
    assert called == set(sources)


def drawn_with(lesson, step, mistake):
    """The last chart with a wrong version in place of one step; that it breaks is a difference too."""
    sources = {each.name: each.source for each in lab(lesson).steps}
    space = lab(lesson).space(sources)
    space[step.name] = mistake
    try:
        return json.dumps(lab(lesson).finish(types.SimpleNamespace(**{name: space[name] for name in sources})))
    except Exception as error:
        return repr(error)


@each_step
@pytest.mark.slow
def test_a_wrong_step_shows_in_the_last_chart(lesson, step):
    right = json.dumps(lab(lesson).finished())
    assert any(drawn_with(lesson, step, mistake) != right for mistake in step.mistakes)


@each_lab
@pytest.mark.slow
def test_the_last_chart_has_the_course_and_a_measurement_beside_the_readers_own(lesson):
    layers = lab(lesson).finished()["layer"]
    series = {row["name"] for layer in layers for row in layer["data"]["values"] if "name" in row}
    for said in (r"\byours?\b", r"\b(lesson|course)'s\b", r"\b(measured|published|paper)\b"):
        assert any(re.search(said, name) for name in series), (said, series)


@each_lab
@pytest.mark.slow
def test_a_line_of_the_title_fits_a_narrow_screen(lesson):
    assert max(map(len, wrap_title(lab(lesson).finished())["title"]["text"])) <= 48


def words_of(spec):
    """Title, names and labels of a chart."""
    rows = [row for layer in spec["layer"] for row in layer["data"]["values"]]
    return " ".join([*spec["title"]["text"], *(str(row.get("name", row.get("label"))) for row in rows)])


@each_lab
@pytest.mark.slow
def test_the_last_chart_writes_no_number_as_a_program_does(lesson):
    assert not re.search(r"\de[+-]?\d", words_of(lab(lesson).finished()))


def test_labs_need_no_numpy():
    """A web page has none; nor SciPy, matplotlib, nor what draws charts."""
    absent = "; ".join(f"sys.modules[{name!r}] = None" for name in ("numpy", "scipy", "matplotlib", "vl_convert"))
    labs = "; ".join(f"from blackboard.lessons.{name}.lab import LAB; LAB.finished()" for name in WITH_LAB)
    ran = subprocess.run([sys.executable, "-c", f"import sys; {absent}; {labs}"], capture_output=True, text=True)
    assert not ran.returncode, ran.stderr


# --- what a verdict shows ---------------------------------------------------------------------------------------------

FUSE = lab("overheads")["fuse"]
ROUTER = lab("sparsity")
NAME = "choose_experts"
BREAKS = {  # what a version does from so many kernels on, with the kind of verdict
    "wrong": "return [[name] for name in kernels] + [[]]",
    "crash": "return [] [1]",
    "slow": "while True: pass",
}


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize("least", range(1, 4))
def test_the_shortest_case_that_fails_is_shown(kind, least):
    body = f"    if len(kernels) >= {least}:\n        {BREAKS[kind]}\n    return right(kernels)"
    space = lab("overheads").space() | {"right": FUSE.solution}
    run_text(f"def fuse(kernels):\n{body}", space)
    verdict = FUSE.check(space["fuse"], space, seconds=0.2)
    lengths = {len(repr(args)) for [args] in (trial.args for trial in FUSE.fresh()) if len(args) >= least}
    shown = re.match(r"fuse\((\[.*?\])\)", verdict.call)[1]
    assert verdict.kind == kind and shown.count("'") == 2 * least and len(shown) == min(lengths)


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize("also", [0, 1], ids=["only the extreme case fails", "others fail too"])
def test_an_extreme_case_is_shown_only_where_no_other_fails(kind, also):
    text = f"def fuse(kernels):\n    if len(kernels) <= {also}:\n        {BREAKS[kind]}\n    return right(kernels)"
    space = lab("overheads").space() | {"right": FUSE.solution}
    run_text(text, space)
    verdict = FUSE.check(space["fuse"], space, seconds=0.2)
    assert verdict.kind == kind and verdict.call.startswith("fuse(['" if also else "fuse([])")


@each_step
@pytest.mark.slow
def test_a_verdict_names_the_right_result_where_there_is_one(lesson, step):
    for mistake in [] if step.many else step.mistakes:
        verdict = step.check(mistake, lab(lesson).space(), seconds=60)
        trial = next(each for each in step.trials(mistake) if step._call(each) == verdict.call)
        named = shown(trial.want) in verdict.message
        assert named or same(trial.got, trial.want), f"{mistake.__name__}: {verdict}"


@each_step
def test_no_case_is_tried_twice_and_the_course_only_once(lesson, step):
    played = []
    counting = replace(step, play=lambda made, *args: played.append(made) or step.play(made, *args))
    cases = len({pickle.dumps(trial.args) for trial in counting.fresh()})
    assert cases == len(counting.fresh()) == len(played) <= step.count + len(step.also) + 1
    assert counting.check(step.solution) and counting.check(step.solution) and len(played) == 3 * cases


def test_a_shorter_case_that_is_wrong_is_shown_before_a_crash():
    """The missing bracket that a reader had: a share of -6.6 for one token, and too large a number for many."""
    text = "def touched_share(batch, experts, k):\n    return 1 - (experts - k / experts) ** batch"
    verdict = ROUTER.grade("touched_share", text)
    assert verdict.kind == "wrong" and verdict.message.startswith("A share lies between 0 and 1.")


@pytest.mark.parametrize("ends", ["return 1 / 0", "while True: pass"])
def test_right_cases_before_a_crash_or_an_endless_loop_do_not_hide_it(ends):
    text = f"def expert_batch(hardware_constant, experts, k):\n    if experts == 384:\n        {ends}\n"
    space: dict = {}
    run_text(f"{text}    return hardware_constant * experts / k", space)
    assert ROUTER["expert_batch"].check(space["expert_batch"], space, seconds=0.5).kind in ("crash", "slow")


@pytest.mark.parametrize(
    "end", ["// k", "/ k // 1", "/ k + 0.5"], ids=["whole numbers", "rounded down", "a number beside it"]
)
def test_a_rounded_result_is_told_so(end):
    text = f"def expert_batch(hardware_constant, experts, k):\n    return hardware_constant * experts {end}"
    verdict = ROUTER.grade("expert_batch", text)
    assert ("do not round" in verdict.message) == ("//" in end), verdict


@pytest.mark.parametrize(
    ("got", "want", "rounded"),
    [
        (787, 786.667, True),
        (786.67, 786.6666, True),
        (0.638, 0.63792, True),
        (0.64, 0.63792, False),  # two digits may be another number
        (5e-10, 5.01e-10, False),
        (1, 0.9, False),
        (785, 786.667, False),
        (3, 3, False),
        (3, 3.0, False),
        ((1.33, 2.0), (1.333333, 2.0), True),
        ((1.33, 4.0), (1.333333, 2.0), False),
        (float("inf"), 2.5, False),
        ("787", 786.667, False),
    ],
)
def test_what_counts_as_rounded(got, want, rounded):
    assert is_rounded(got, want) is rounded


def test_a_lab_without_numpy_says_what_to_use(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    said = ROUTER.grade(NAME, "import numpy as np").message
    assert "line 1" in said and said.endswith(
        "A lab is plain Python: lists, loops and the standard library are enough."
    )


def test_run_names_the_line_of_an_endless_loop(monkeypatch):
    monkeypatch.setattr("blackboard.page.lab_worker.SECONDS", 0.2)
    text = f"def {NAME}(scores, k):\n    while True:\n        k += 1\n"
    told = json.loads(
        answer(json.dumps({"ask": "run", "lesson": "sparsity", "step": NAME, "text": text, "earlier": {}}))
    )
    assert told["kind"] == "slow" and re.search(r"Line [23] is", told["message"])


@each_lab
def test_what_a_lab_gives_stands_once_at_a_step_that_uses_it(lesson):
    steps = page_html(lab(lesson), lesson).split('<section class="lab-step"')
    for name in lab(lesson).given:
        [at] = [n for n, text in enumerate(steps) if f"<li><code>{name}</code>" in text]
        assert at and name in lab(lesson).steps[at - 1].source + lab(lesson).steps[at - 1].example


SLOW = """
def count_touched(tokens, k):
    seen = set()
    while True:
        seen |= set(choose_experts(tokens[0], k))
"""
RIGHT_AFTER_ALL = "    return len({expert for scores in tokens for expert in choose_experts(scores, k)})\n"


def test_a_stop_names_the_function_that_loops_and_not_what_it_calls():
    space = ROUTER.space({NAME: ROUTER[NAME].source})
    run_text(SLOW, space)
    said = ROUTER["count_touched"].check(space["count_touched"], space, seconds=0.4).message
    assert "(count_touched, line " in said and NAME not in said.split(". Either")[0]


def test_many_slow_cases_are_told_apart_from_one_without_an_end():
    text = SLOW.replace("while True:", "for _ in range(3_000):") + RIGHT_AFTER_ALL
    space = ROUTER.space({NAME: ROUTER[NAME].source})
    run_text(text, space)
    said = ROUTER["count_touched"].check(space["count_touched"], space, seconds=0.8).message
    assert "of 201" in said and "too slow" in said


@pytest.mark.parametrize(
    ("factor", "said"),
    [("* 1000", "1,000 times too large"), ("/ 3600", "3,600 times too small"), ("* 1e6 / 3600", "1,000,000 times")],
)
def test_a_wrong_unit_is_named(factor, said):
    text = lab("batching")["step_time"].source.replace("max(compute, memory)", f"max(compute, memory) {factor}")
    verdict = lab("batching").grade("step_time", text)
    assert verdict.kind == "wrong" and said in verdict.message and "Check the units" in verdict.message


def test_what_an_earlier_step_prints_begins_with_its_name():
    earlier = lab("batching")["step_time"].source.replace("    return", "    print(batch)\n    return")
    text = lab("batching")["largest_batch"].source.replace("<=", "<").replace("batch = 0", "batch = 0\n    print('on')")
    verdict = lab("batching").grade("largest_batch", text, {"step_time": earlier})
    assert verdict.printed.startswith("on\n(your step_time) 1\n")


def test_a_float_in_place_of_a_whole_number_shows_as_one():
    text = "def largest_batch(target, server):\n    return 2.0\n"
    assert lab("batching").grade("largest_batch", text).call.endswith("returned 2.0")


def test_none_that_is_a_legal_answer_is_explained():
    text = "def append_token(blocks, table, tokens, page_tokens):\n    block = blocks.take()\n    return block\n"
    assert "returns nothing" not in lab("paging").grade("append_token", text).message


# --- the lab of speculation -------------------------------------------------------------------------------------------


def test_the_proof_says_what_it_has_proved():
    step = lab("speculation")["round_outcome"]
    said = lab("speculation").grade(step.name, step.source).message
    pairs, changed, others = map(int, re.search(r"(\d+) pairs .* below 10⁻¹[⁵⁶⁷⁸⁹], .* (\d+) of (\d+)", said).groups())
    assert pairs + others == len(step.fresh()) and 0 < changed <= others


def test_a_draw_in_place_of_a_chance_is_told_so():
    draw = "import random\ndef keep_chance(guess, draft, target):\n    return random.random() < target[guess]"
    verdict = lab("speculation").grade("keep_chance", draw)
    assert verdict.kind == "wrong" and "Return the chance itself" in verdict.message


def test_a_formula_that_divides_by_zero_at_acceptance_1_is_told_so():
    closed = (
        "def tokens_per_round(acceptance, drafted):\n    return (1 - acceptance ** (drafted + 1)) / (1 - acceptance)"
    )
    verdict = lab("speculation").grade("tokens_per_round", closed)
    assert verdict.kind == "wrong" and "divides by 1 - acceptance" in verdict.message


def test_the_best_number_of_guesses_is_nowhere_below_another():
    """Between the points as at them: lines are straight, and both have the same points."""
    layers = lab("speculation").finished()["layer"]
    best, three = ([row["y"] for row in layer["data"]["values"]] for layer in layers[:2])
    assert all(mine >= other for mine, other in zip(best, three, strict=True))
    assert not any("interpolate" in layer["mark"] for layer in layers)


def test_a_ratio_turned_round_meets_a_check():
    turned = "def keep_chance(guess, draft, target):\n    return min(1, draft[guess] / target[guess])"
    verdict = lab("speculation").grade("keep_chance", turned)
    assert verdict.kind == "wrong" and "always keep it" in verdict.message


def test_the_chart_labels_how_many_guesses_are_best():
    step = lab("speculation")["best_drafted"]
    course, few = lab("speculation").finished(), f"def {step.name}(*_):\n    return 1"
    labels = [row["label"] for layer in course["layer"] for row in layer["data"]["values"] if "label" in row]
    assert len(labels) == 10 and labels == sorted(labels, reverse=True) and labels[0] > labels[-1]
    assert " 1 1 1 " in words_of(lab("speculation").finished({step.name: few}))


def test_the_chart_says_whether_the_rules_are_exact():
    always = {"keep_chance": "def keep_chance(*_):\n    return 1"}
    assert "keep the text's distribution" in words_of(lab("speculation").finished())
    assert "change the text's chances by up to 0.2" in words_of(lab("speculation").finished(always))


# --- what readers may write -------------------------------------------------------------------------------------------

HOSTILE = {
    "": "unattempted",
    " \n": "unattempted",
    "\0": "crash",
    "\ud800": "crash",
    "(" * 5000: "syntax",
    "def choose_experts(": "syntax",
    "raise SystemExit": "crash",
    "import sys; sys.exit(3)": "crash",
    "raise type('Own', (BaseException,), {})": "crash",
    "choose_experts = 3": "missing",
    "class choose_experts: pass": "missing",
    "choose_experts = max": "crash",
    "choose_experts = lambda scores: []": "signature",
    "def choose_experts(scores, k): return choose_experts(scores, k)": "crash",
    "def choose_experts(scores, k): raise SystemExit": "crash",
    "def choose_experts(scores, k): return 10 ** 5000": "wrong",
    "def choose_experts(scores, k): scores.clear(); return []": "wrong",
    "def choose_experts(scores, k): yield 1": "wrong",
    "async def choose_experts(scores, k): return 1": "wrong",
    "class Odd:\n    __repr__ = __eq__ = __len__ = None\ndef choose_experts(scores, k): return Odd()": "wrong",
    "class Odd(Exception):\n    def __str__(self): 1 / 0\ndef choose_experts(scores, k): raise Odd": "crash",
    "def choose_experts(scores, k): raise MemoryError": "slow",
    "def choose_experts(scores, k): return list(range(k)) * 10 ** 18": "slow",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a coroutine that nobody waits for
@pytest.mark.parametrize("text", HOSTILE, ids=[f"{n}" for n in range(len(HOSTILE))])
def test_hostile_code_gets_a_verdict(text):
    verdict = ROUTER.grade(NAME, text)
    assert verdict.kind == HOSTILE[text] and len(str(verdict)) < 1000, verdict


def test_ctrl_c_ends_a_check():
    with pytest.raises(KeyboardInterrupt):
        ROUTER.grade(NAME, "raise KeyboardInterrupt")


def test_a_broken_earlier_step_is_the_courses():
    step = ROUTER["count_touched"]
    for text in ("def choose_experts(", "1 / 0", "raise SystemExit"):
        assert ROUTER.grade(step.name, step.source, {NAME: text, "unknown": "1 / 0"}).ok


def test_a_step_stands_on_the_readers_earlier_ones():
    step, all_of_them = ROUTER["count_touched"], "def choose_experts(scores, k): return range(len(scores))"
    verdict = ROUTER.grade(step.name, step.source, {NAME: all_of_them})
    assert verdict.kind == "wrong"


def test_code_that_stops_in_an_earlier_step_is_told_by_name():
    step = ROUTER["count_touched"]
    crash = ROUTER.grade(step.name, step.source, {NAME: "def choose_experts(scores, k):\n    return 1 / 0"})
    assert "in line 2 of your `choose_experts` with ZeroDivisionError" in crash.message
    text = "def choose_experts(scores, k):\n    while True:\n        pass"
    space = ROUTER.space({NAME: text})
    run_text(step.source, space)
    slow = step.check(space[step.name], space, seconds=0.1)
    assert slow.kind == "slow" and "of your `choose_experts`" in slow.message


def test_a_message_quotes_the_line():
    crash = ROUTER.grade(NAME, "def choose_experts(scores, k):\n    return 1 / 0")
    assert crash.message.endswith("Line 2 is `return 1 / 0`.")
    assert (
        "Line 1 is `def choose_experts(scores, k)`." in ROUTER.grade(NAME, "def choose_experts(scores, k)\n 1").message
    )
    early = "def count_touched(*_):\n    return [][1]"
    quoted = ROUTER.grade("count_touched", early, {NAME: "def choose_experts(scores, k):\n    return 1 / 0"}).message
    assert "`return [][1]`" in quoted


def test_a_return_that_is_not_always_reached_is_told():
    inside = "def encrypt(left, right, keys):\n    for key in keys:\n        return right, left ^ mix(right, key)"
    verdict = lab("reversibility").grade("encrypt", inside)
    assert verdict.kind == "nothing" and "inside a loop" in verdict.message and verdict.call.endswith("[])")


def test_input_in_a_page_says_that_nobody_can_type():
    text = f"def {NAME}(scores, k):\n    return input('?')"
    question = {"ask": "check", "lesson": "sparsity", "step": NAME, "text": text, "earlier": {}}
    assert "nobody can type" in json.loads(answer(json.dumps(question)))["message"]


def test_arguments_must_stay_as_they_were():
    emptied = (
        "def block_names(tokens, page_tokens):\n    made = tuple(tokens)\n    tokens.clear()\n    return list(made)"
    )
    step = replace(lab("paging")["block_names"], checks=())
    space: dict = {}
    run_text(emptied, space)
    verdict = step.check(space[step.name], space)
    assert verdict.check == "unchanged" and "to []: work on a copy" in verdict.message


def test_only_the_case_that_is_shown_prints():
    printing = (
        f"{ROUTER[NAME].source}\nright = {NAME}\ndef {NAME}(scores, k):\n    print(k)\n    return right(scores, k)"
    )
    assert ROUTER.grade(NAME, printing).printed.count("\n") == 1
    crash = ROUTER.grade(NAME, f"{printing} / 0")
    assert crash.kind == "crash" and crash.printed.count("\n") == 1 and crash.printed.rstrip() in str(crash)


def test_the_calls_that_are_shown_are_python():
    """Those of a right version too: what is shown runs, and is what was tried."""
    for step in (lab("paging")["Blocks"], lab("paging")["PrefixCache"]):
        for trial in step.trials(step.solution):
            exec(step.calls(*trial.args), lab("paging").space())


def test_a_result_of_another_kind_is_told_what_to_return():
    verdict = lab("paging").grade("block_names", "def block_names(tokens, page_tokens): return 7")
    assert verdict.message == "Return a list with a name for each full block."


@cases(
    ("got", "name"),
    [
        ("{0: 0, 1: 0}", "a dict"),
        ("{0, 1}", "a set"),
        ("'01'", "a str"),
        ("2", "an int"),
        ("iter([0])", "list_iterator"),
    ],
)
def test_another_kind_of_result_is_named_with_the_one_that_is_asked_for(got, name):
    message = lab("racks").grade("place_experts", f"def place_experts(experts, gpus): return {got}").message
    assert name in message and "list" in message and "GPU for each expert" in message and "is on GPU" not in message


@cases(
    ("method", "body"),
    [
        ("take", "return self.free.pop() if self.free else None"),
        ("share", "pass"),
        ("release", "self.free.append(block)"),
    ],
)
def test_a_wrong_number_of_holders_names_the_method_that_makes_it(method, body):
    step = lab("paging")["Blocks"]
    text = re.sub(rf"(def {method}\(.*?\):\n).*?(?=\n    def|\Z)", rf"\1        {body}\n", step.source, flags=re.S)
    verdict = lab("paging").grade("Blocks", text)
    assert verdict.kind == "wrong" and f"Look at `{method}`" in verdict.message
    assert ". Trace: [" in verdict.call and "returned" not in verdict.call


def test_a_class_of_another_signature_is_told_its_method():
    message = lab("paging").grade("Blocks", "class Blocks:\n    x = 1").message
    assert message == "`Blocks.__init__` must take (count); yours takes ()."


@settings(max_examples=300)
@given(st.text(max_size=300))
def test_any_text_gets_a_verdict(text):
    assert ROUTER.grade(NAME, text).kind != "right"


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.slow
def test_garbled_solutions_get_a_verdict():
    """Two thousand texts near a solution: pieces left out, doubled, turned round, or exchanged for other words."""
    rng, kinds = random.Random(0), set()
    head, _, body = ROUTER[NAME].source.split('"""')
    for _ in range(2000):
        kinds.add(ROUTER.grade(NAME, garble(rng, head + body)).kind)
    assert kinds >= {"right", "wrong", "syntax", "crash"}


def garble(rng, text):
    """A text with a few random changes."""
    words = ["0", "1", "not ", "None", "-", *re.findall(r"\w+", text)]
    if rng.random() < 0.5:
        return re.sub(r"\w+", lambda word: rng.choice(words) if rng.random() < 0.05 else word[0], text)
    for _ in range(rng.randint(1, 3)):
        a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + rng.randint(1, 12))
        text = text[:a] + rng.choice(["", text[a:b] * 2, text[a:b][::-1], rng.choice("0()[]:=\n -")]) + text[b:]
    return text
