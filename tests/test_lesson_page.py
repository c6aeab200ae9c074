"""Every lesson in the browser: sliders move curves that agree with NumPy, and every problem is worked wrong and
right.
"""

import html
import random
import re

import numpy as np
import pytest
from explored import EXPLORED
from lessons import LESSONS, page
from test_formula import point

from blackboard.case import RUNNING
from blackboard.catalogue import model, system
from blackboard.formula import formulas
from blackboard.practice import problems

MOVE = """async ([index, moves, wanted]) => {
  const figure = document.querySelectorAll("figure.explorable")[index]; await figure.ready;
  for (const [name, value] of Object.entries(moves)) {
    const input = figure.querySelector(`[name="${name}"]`);
    input.value = value;
    input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  }
  await figure.vegaView.runAsync();
  const signals = Object.fromEntries(wanted.map((name) => [name, figure.vegaView.signal(name)]));
  const data = figure.vegaView.getState({ data: () => true, signals: () => false }).data;
  const paths = [...figure.querySelectorAll("svg path")]
    .map((path) => path.getAttribute("d") + path.getAttribute("transform")).join("|");
  const numbers = (row) =>
    Object.fromEntries(Object.entries(row.datum ?? row).filter(([, value]) => typeof value === "number"));
  const tables = Object.values(data).filter((rows) => Array.isArray(rows) && rows.length > 1);
  return [signals, tables.map((rows) => rows.map(numbers)), paths]; }"""


def shown(lesson):
    """Names of the explorables on a lesson's page, in order."""
    return re.findall(r"^explorables\.(\w+)\(\)", page(lesson).read_text("utf8"), re.M)


ROWS = [
    (lesson, index, name, moves)
    for lesson in LESSONS
    for index, name in enumerate(shown(lesson))
    for moves in ({}, *EXPLORED[lesson][name].moves)
]


@pytest.fixture(scope="module")
def opened():
    """Pages that are open, by lesson: pytest sets a parametrized fixture up anew for every test, and a page takes
    seconds.
    """
    pages = {}
    yield pages
    for each in pages.values():
        each.close()


@pytest.fixture
def lesson(browser, server, opened, request):
    """The page of the lesson that the test names."""
    if request.param not in opened:
        opened[request.param] = browser.new_page(viewport={"width": 1280, "height": 900})
        opened[request.param].goto(f"{server}/book/{request.param}.html")
    return opened[request.param]


batching = pytest.mark.parametrize("lesson", ["batching"], indirect=True)


def compare(chart, signals, tables):
    """Fields of the chart whose values were held against NumPy; all must agree."""
    seen = set()
    for rows in tables:
        x = np.array([row.get(chart.swept, np.nan) for row in rows])
        for name, formula in chart.curves.items():
            if name in rows[0] and len(rows) >= 10:
                at = [{n: value if n == chart.swept else signals[n] for n in formula.free} for value in x]
                told = [
                    (row[name] * chart.scale, formula(**known))
                    for row, known in zip(rows, at)
                    if formula.holds(**known)
                ]
                assert len(told) >= 10 and np.allclose(*np.array(told).T, rtol=1e-9), name
                seen.add(name)
    return seen


@pytest.mark.parametrize(
    ("lesson", "index", "chart", "moves"),
    [(page, n, EXPLORED[page][name], moves) for page, n, name, moves in ROWS],
    indirect=["lesson"],
    ids=[f"{page}-{name}-{moves}" for page, _, name, moves in ROWS],
)
def test_curves_agree_with_numpy(lesson, index, chart, moves):
    """With the controls anywhere, the values behind each curve are the formula's, and what moves redraws."""
    wanted = sorted({name for formula in chart.curves.values() for name in formula.free} - {chart.swept})
    lesson.reload()
    *_, before = lesson.evaluate(MOVE, [index, {}, []])
    signals, tables, after = lesson.evaluate(MOVE, [index, moves, wanted])
    assert compare(chart, signals, tables) == set(chart.curves)
    assert (after != before) == bool(moves)


@pytest.mark.parametrize("name", LESSONS)
def test_every_explorable_of_a_page_is_moved(name):
    assert shown(name) and all(EXPLORED[name][chart].moves for chart in shown(name)), "say in explored.py what moves it"


@batching
def test_menus_bind_the_catalogue(lesson):
    names = ["flops", "bandwidth", "n_active", "n_total", "bytes_per_param"]
    lesson.reload()
    for id, net, precision in [
        (RUNNING.system, RUNNING.model, RUNNING.precision),
        ("h100-8", "qwen3-235b-a22b", "bf16"),
    ]:
        signals, *_ = lesson.evaluate(MOVE, [0, {"system": id, "model": net, "precision": precision}, names])
        expected = model(net).symbols(precision) | system(id).symbols(precision)
        assert signals == pytest.approx({name: expected[name] for name in names}, rel=1e-12)


@batching
def test_every_formula_prints_to_the_browser(lesson):
    """Vega's own expression language gives NumPy's values for every formula of the course at 100 random points."""
    rng = random.Random(7)
    code = """async ([charts]) => {
      const holder = document.createElement("div"), out = [];
      document.body.append(holder);
      for (const [code, points] of charts) {
        const encoding = { x: { field: "out", type: "quantitative" } }, transform = [{ calculate: code, as: "out" }];
        const spec = { data: { values: points }, transform, mark: "point", encoding };
        const { view } = await vegaEmbed(holder, spec, { actions: false, ast: false });
        const tables = Object.values(view.getState({ data: () => true, signals: () => false }).data);
        const rows = tables.find((d) => Array.isArray(d) && d.length && "out" in (d[0].datum ?? {}));
        out.push(rows.map((row) => row.datum.out)); view.finalize(); }
      holder.remove(); return out; }"""
    lesson.evaluate(MOVE, [0, {}, []])
    asked, expected = [], []
    for formula in formulas.values():
        rows = [point(formula, rng) for _ in range(100)]
        asked.append([formula.vega(**{n: f"datum.{n}" for n in formula.free}), rows])
        expected.append(formula(**{n: np.array([row[n] for row in rows]) for n in formula.free}))
    for formula, shown, wanted in zip(formulas.values(), lesson.evaluate(code, [asked]), expected, strict=True):
        assert np.allclose(shown, wanted, rtol=1e-10), formula.name


@batching
def test_answer_boxes_on_the_page(lesson):
    """Typing into a box: blank, wrong, a named mistake, right; hint, solution, fresh numbers; kept after a reload."""
    lesson.evaluate("localStorage.clear()")
    lesson.reload()
    box = lesson.locator("practice-box", has_text="What fast mode gives away")
    field, told = box.locator("input[type=text]"), box.locator(".feedback")
    for typed, kind in [
        ("", "unanswered"),
        ("twelve", "type"),
        ("3 ms", "unit"),
        ("2.4", "misconception"),
        ("15.1", "right"),
        ("15", "right"),
    ]:
        field.fill(typed)
        field.press("Enter")
        assert kind in told.get_attribute("class").split(), (typed, told.inner_text())
    lesson.reload()
    assert field.input_value() == "15" and "right" in told.get_attribute("class")
    box.get_by_role("button", name="Hint").click()
    assert "Hint 1 of 2" in box.locator(".practice-more").inner_text()
    box.get_by_role("button", name="Solution").click()
    assert box.locator(".practice-solution li").count() >= 1 and box.locator("mjx-container").count() >= 1
    before = box.locator(".practice-ask").inner_text()
    box.get_by_role("button", name="Fresh numbers").click()
    assert box.locator(".practice-ask").inner_text() != before and field.input_value() == ""
    choice = lesson.locator("practice-box", has_text="A hundred times the money")
    choice.get_by_label("a larger batch").check()
    choice.get_by_role("button", name="Check").click()
    assert "misconception" in choice.locator(".feedback").get_attribute("class")
    lesson.evaluate("localStorage.clear()")
    lesson.reload()


def typed(problem, right: bool) -> str:
    """A right answer, or one with the first misconception, as one would type it."""
    values, mistake = problem.values(), problem.mistakes[0].wrong
    if problem.kind in ("quantity", "estimate"):
        return f"{(problem.expected(values) if right else mistake(values)) / problem.scale:.6g}"
    if problem.kind == "expression":
        return str(problem.formula.expr if right else mistake).replace("Max", "max").replace("Min", "min")
    return problem.expected(values) if right else mistake


# All of a box in one go: pointing at each button of a long page takes seconds; `test_answer_boxes_on_the_page` does
# point.
WORK = """async ([id, texts, hints]) => {
  const box = document.querySelector(`practice-box[data-problem="${id}"]`);
  const field = box.querySelector("input[type=text]");
  const buttons = [...box.querySelectorAll("button")];
  const press = (name) => buttons.find((button) => button.textContent.trim() === name).click();
  const verdicts = texts.map((text) => {
    if (field) field.value = text; else box.querySelector(`input[type=radio][value="${text}"]`).click();
    press("Check");
    return box.dataset.verdict;
  });
  for (let n = 0; n < hints; n++) press("Hint");
  const hinted = box.innerText;
  press("Solution");
  const solution = box.querySelector(".practice-solution"), steps = solution.querySelectorAll("li").length;
  for (let n = 0; n < 50 && solution.innerText.includes("\\\\"); n++)
    await new Promise((done) => setTimeout(done, 100));
  return { verdicts, hinted, steps, solution: solution.innerText }; }"""


PROBLEMS = [(lesson, view.problem) for lesson in LESSONS for view in problems(lesson)]


@pytest.mark.parametrize(
    ("lesson", "problem"), PROBLEMS, indirect=["lesson"], ids=[f"{lesson}-{problem.id}" for lesson, problem in PROBLEMS]
)
def test_every_problem_is_worked_wrong_and_right(lesson, problem):
    texts = [] if problem.kind == "function" else [typed(problem, False), typed(problem, True)]
    told = lesson.evaluate(WORK, [problem.id, texts, len(problem.hints)])
    assert told["verdicts"] == ["misconception", "right"][: len(texts)]
    assert "That was the last" in told["hinted"] and (texts or "exercise notebook" in told["hinted"])
    assert told["steps"] == len(problem.solution(problem.values()))
    assert "\\" not in told["solution"], "mathematics is left unset"


LISTED = [
    (lesson, problem)
    for lesson, problem in PROBLEMS
    if problem.kind in ("choice", "ordering") and len(problem.page()["draws"]) > 1
]
FRESH = """([id]) => {
  const box = document.querySelector(`practice-box[data-problem="${id}"]`);
  const press = (name) => [...box.querySelectorAll("button")].find((b) => b.textContent.trim() === name).click();
  const mark = box.querySelector("input[type=radio]"); if (mark) mark.click();
  press("Fresh numbers");
  const offered = [...box.querySelectorAll(".practice-radio span, .practice-options > li")];
  return [offered.map((n) => n.textContent), box.querySelectorAll("input:checked").length]; }"""


@pytest.mark.parametrize(
    ("lesson", "problem"), LISTED, indirect=["lesson"], ids=[f"{lesson}-{problem.id}" for lesson, problem in LISTED]
)
def test_fresh_numbers_write_options_and_items_anew(lesson, problem):
    """What is offered changes with the question: else a wrong option would be called right."""
    page = problem.page()
    draws = [{**page, **own} for own in page["draws"]]
    plain = lambda text: re.sub(r"<[^>]+>", "", html.unescape(text))
    lesson.evaluate("localStorage.clear()")
    lesson.reload()
    for draw in [*draws[1:], draws[0]]:
        shown, checked = lesson.evaluate(FRESH, [problem.id])
        key = "options" if problem.kind == "choice" else "items"
        heads = "" if problem.kind == "choice" else "{}) "
        assert checked == 0 and shown == [heads.format(k) + plain(text) for k, text in draw[key].items()]
