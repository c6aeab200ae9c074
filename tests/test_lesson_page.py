"""Every lesson in the browser: sliders move curves that agree with NumPy, and every problem is worked wrong and
right.
"""

import html
import random
import re
from functools import cache, cached_property

import numpy as np
import pytest
import sympy
from chart_checks import chart_checks
from conftest import SETTLED
from lessons import LESSONS, interactive_charts, page
from page_evidence import OPEN
from test_formula import point, slack

from blackboard import notation
from blackboard.catalogue import model, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import formulas
from blackboard.page.practice import problems

# For each interactive chart a list of settings of its controls, every one tried from where the controls start.
MOVE = """async (asked) => {
  const numbers = (row) =>
    Object.fromEntries(Object.entries(row.datum ?? row).filter(([, value]) => typeof value === "number"));
  const figures = [...document.querySelectorAll("figure.interactive-chart")], found = [];
  for (const [index, tries, wanted] of asked) {
    const figure = figures[index]; await figure.ready;
    const set = async (settings) => {
      for (const [name, value] of Object.entries(settings)) {
        const input = figure.querySelector(`[name="${name}"]`);
        input.value = value;
        input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
      }
      await settle();
    };
    const drawn = () => [...figure.querySelectorAll("svg path")]
      .map((path) => path.getAttribute("d") + path.getAttribute("transform")) // a point that came back comes last
      .sort().join("|");
    const settle = async () => { // an axis that grows lays the chart out anew, a frame later
      for (let frame = 0, before; frame < 50 && before !== drawn(); frame++) {
        before = drawn();
        await figure.vegaView.runAsync();
        await new Promise(requestAnimationFrame);
      }
    };
    const controls = [...figure.querySelectorAll(".chart-controls [name]")];
    const start = Object.fromEntries(controls.map((control) => [control.name, control.value]));
    await settle();
    const first = drawn();
    for (const moves of tries) {
      await set(moves);
      const signals = Object.fromEntries(wanted.map((name) => [name, figure.vegaView.signal(name)]));
      const data = figure.vegaView.getState({ data: () => true, signals: () => false }).data;
      const tables = Object.values(data).filter((rows) => Array.isArray(rows) && rows.length > 1);
      const values = tables.map((rows) => rows.map(numbers)); // now: the rows themselves go on with the controls
      const redrawn = drawn() !== first;
      await set(Object.fromEntries(Object.keys(moves).map((name) => [name, start[name]])));
      found.push([signals, values, redrawn, drawn() === first]);
    }
  }
  return found; }"""


def shown(lesson):
    """Names of the interactive charts on a lesson's page, in order."""
    return re.findall(r"^charts\.(\w+)\(\)", page(lesson).read_text("utf8"), re.M)


ROWS = [
    pytest.param(lesson, index, number, id=f"{lesson}-{name}-{moves}")
    for lesson in LESSONS
    for index, name in enumerate(shown(lesson))
    for number, moves in enumerate(({}, *chart_checks(lesson)[name].moves))
]


class LessonPage:
    """A lesson's page, opened once: what its charts and its boxes gave when all of them were tried in one go."""

    def __init__(self, page, address, lesson):
        self.page, self.address, self.lesson, self.tried = page, address, lesson, set()
        page.goto(address)

    def evaluate(self, *code):
        """Run code in the page."""
        return self.page.evaluate(*code)

    def untried(self, part):
        """See that nobody has tried this part of the page, its charts or its boxes, since it was opened."""
        if part in self.tried:
            self.evaluate("localStorage.clear()")
            self.page.goto(self.address)  # without what the charts have put into the address
            self.tried.clear()
        self.tried.add(part)
        assert self.evaluate(SETTLED)

    @cached_property
    def moved(self):
        """By interactive chart and setting: signals, tables, whether it was redrawn, and whether it then came back."""
        charts = [chart_checks(self.lesson)[name] for name in shown(self.lesson)]
        tries = [[{}, *chart.moves] for chart in charts]
        self.untried("charts")
        told = iter(self.evaluate(MOVE, [[n, tried, wanted(charts[n])] for n, tried in enumerate(tries)]))
        return [[next(told) for _ in tried] for tried in tries]

    @cached_property
    def worked(self):
        """By problem: the verdicts on a wrong and a right answer, the hints, the steps and words of the solution."""
        own = [view.problem for view in problems(self.lesson)]
        self.untried("boxes")
        told = self.evaluate(WORK, [[each.id, answers_typed(each), len(each.hints)] for each in own])
        return {problem.id: each for problem, each in zip(own, told, strict=True)}

    @cached_property
    def fresh(self):
        """By problem: what is offered, and how many marks are set, each time that numbers are asked anew."""
        own = [problem for lesson, problem in LISTED if lesson == self.lesson]
        self.untried("boxes")
        told = self.evaluate(FRESH, [[each.id, len(each.page()["draws"])] for each in own])
        return {problem.id: each for problem, each in zip(own, told, strict=True)}


def wanted(chart):
    """The signals that the formulas of a chart take, beside what runs along its axis."""
    return sorted({name for formula in chart.curves.values() for name in formula.free} - {chart.swept})


@pytest.fixture(scope="module")
def opened():
    """Lessons' pages that are open, by lesson."""
    pages = {}
    yield pages
    for each in pages.values():
        each.page.close()


@pytest.fixture
def lesson(browser, server, opened, request):
    """The page of the lesson that the test names."""
    name = request.param
    if name not in opened:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        opened[name] = LessonPage(page, f"{server}/book/{name}.html", name)
    return opened[name]


batching = pytest.mark.parametrize("lesson", ["batching"], indirect=True)


@cache
def on_arrays(condition):
    """A condition between symbols, for arrays: the names that it takes, and a function of them."""
    names = sorted(symbol.name for symbol in condition.free_symbols)
    return names, sympy.lambdify([notation.symbol(name) for name in names], condition, "numpy")


def where_it_holds(formula, known):
    """Of each row, whether a formula's conditions are met."""
    met = np.full_like(known[formula.free[0]], True, bool)
    for names, test in map(on_arrays, formula.conditions):
        met &= test(*(known[name] for name in names))
    return met


def compare(chart, signals, tables):
    """Fields of the chart whose values were held against NumPy; all must agree."""
    seen = set()
    for rows in tables:
        x = np.array([row.get(chart.swept, np.nan) for row in rows])
        for name, formula in chart.curves.items():
            if name in rows[0] and len(rows) >= 10:
                known = {n: x if n == chart.swept else np.full(len(x), signals[n], float) for n in formula.free}
                holds = where_it_holds(formula, known)
                told = np.array([row.get(name, np.nan) for row in rows])[holds] * chart.scale
                expected = formula(**{n: values[holds] for n, values in known.items()})
                assert len(told) >= 10 and np.allclose(told, expected, rtol=1e-9), name
                seen.add(name)
    return seen


@pytest.mark.parametrize(("lesson", "index", "number"), ROWS, indirect=["lesson"])
def test_curves_agree_with_numpy(lesson, index, number):
    """With the controls anywhere, the values behind each curve are the formula's, and what moves redraws; back at the
    start of its controls, the picture is the first.
    """
    chart = chart_checks(lesson.lesson)[shown(lesson.lesson)[index]]
    signals, tables, redrawn, returned = lesson.moved[index][number]
    assert compare(chart, signals, tables) == set(chart.curves)
    assert redrawn == (number > 0) and returned


@pytest.mark.parametrize("name", LESSONS)
def test_every_chart_of_a_page_is_moved(name):
    assert bool(shown(name)) == bool(interactive_charts(name))
    assert all(chart_checks(name)[chart].moves for chart in shown(name)), "say in tests/NAME_page.py what moves it"


@batching
def test_menus_bind_the_catalogue(lesson):
    names = ["flops", "bandwidth", "n_active", "n_total", "bytes_per_param"]
    places = [(RUNNING.system, RUNNING.model, RUNNING.precision), ("h100-8", "qwen3-235b-a22b", "bf16")]
    settings = [{"system": id, "model": net, "precision": precision} for id, net, precision in places]
    lesson.untried("charts")
    for (id, net, precision), (signals, *_) in zip(places, lesson.evaluate(MOVE, [[0, settings, names]]), strict=True):
        expected = model(net).symbols(precision) | system(id).symbols(precision)
        assert signals == pytest.approx({name: expected[name] for name in names}, rel=1e-12)


SLIDER = """async ([name, values]) => {
  const figure = document.querySelector(`figure.interactive-chart:has([name="${name}"])`), told = [];
  const input = figure.querySelector(`[name="${name}"]`);
  for (const value of [...values, input.value]) {
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await figure.vegaView.runAsync();
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    told.push([input.nextElementSibling.textContent, input.getAttribute("aria-valuetext")]);
  }
  return told.slice(0, -1); }"""


@batching
def test_a_slider_of_a_logarithm_tells_the_value_and_not_its_exponent(lesson):
    """In the text beside it and to who listens, in two digits: 10 to the 2.5 is 316, and 320 is shown."""
    lesson.untried("charts")
    told = lesson.evaluate(SLIDER, ["context_exponent", [2.5, 4.5]])
    assert told == [[each, each] for each in ("320", "32,000")]


LETTERS = """() => [...document.querySelectorAll(".summary-card")].map((card) => {
  const box = card.querySelector(".read-letters"), tip = box.querySelector(".letter-meaning"), told = new Set();
  const press = (key) => box.dispatchEvent(new KeyboardEvent("keydown", { key }));
  const read = () => box.querySelector(".read");
  for (let before; before === undefined || read() !== before; told.add(tip.innerHTML)) {
    before = read();
    press("ArrowRight");
  }
  const shown = !tip.hidden;
  press("Escape");
  const letters = [...card.querySelectorAll(".card-letters li:has(math > :only-child)")].map((line) => line.innerHTML);
  return [letters.filter((letter) => !told.has(letter)), shown, tip.hidden]; })"""


def test_a_card_s_formula_is_copied_and_the_contents_mark_what_is_read(visit, server):
    page = visit(f"{server}/book/batching.html", permissions=["clipboard-read", "clipboard-write"]).page
    card = page.locator(".summary-card").first
    card.locator(".card-letters > summary").click()
    for language in ("LaTeX", "Python"):
        card.get_by_role("button", name=f"Copy {language}").click()
        page.wait_for_function(
            "button => button.innerText === 'Copied'",
            arg=card.locator(".copy-formula").nth(int(language == "Python")).element_handle(),
        )
        assert page.evaluate("navigator.clipboard.readText()") == card.get_attribute(f"data-{language.lower()}")
    link = page.locator(".bd-toc-nav a").nth(3)
    link.click()
    page.wait_for_function("link => link.classList.contains('active')", arg=link.element_handle())


@pytest.mark.parametrize("lesson", LESSONS, indirect=True)
def test_arrow_keys_read_the_letters_of_a_card(lesson):
    """Each letter of its list, but for the name of a ratio; Escape hides what is told."""
    told = lesson.evaluate(LETTERS)
    assert told and all(each == [[], True, True] for each in told)


@batching
def test_a_letter_under_the_pointer_says_what_it_means(visit, server, lesson):
    """At a touch too; on focus the one that was read last does."""
    card = visit(f"{server}/book/batching.html").page.locator(".read-letters").first
    for way in ("hover", "click"):
        getattr(card.locator(".formula mi", has_text="κ"), way)()
        assert "KV cache of one token" in card.locator(".letter-meaning").inner_text()
    card.page.mouse.move(0, 0)
    assert not card.locator(".letter-meaning").is_visible()
    card.page.keyboard.press("Shift")  # the keyboard is in use
    card.focus()
    assert "KV cache of one token" in card.locator(".letter-meaning").inner_text()


@batching
def test_a_letter_of_a_formula_in_the_text_says_what_it_means(visit, server, lesson):
    """Under the pointer or at a touch, for each letter of a card; none is a tab stop, and Escape hides what is told."""
    page = visit(f"{server}/book/batching.html").page
    formula, tip = (
        page.locator("#memory-time math[display=block]").first,
        page.locator("article > .letter-meaning[role=status]"),
    )
    for way in ("hover", "click"):
        getattr(formula.locator("msub", has_text="tot"), way)()
        assert "parameters stored" in tip.inner_text()
        page.keyboard.press("Escape")
        assert not tip.is_visible()
    formula.get_by_text("W", exact=True).first.hover()
    assert "memory bandwidth" in tip.inner_text()
    page.locator("article h1").hover()
    assert not tip.is_visible() and formula.evaluate("each => each.closest('[tabindex]')") is None


FORMULAS = """async ([values, codes]) => {
  const transform = codes.map((expr, n) => ({ type: "formula", expr, as: `out${n}` }));
  const view = await new vega.View(vega.parse({ data: [{ name: "rows", values, transform }] })).runAsync();
  const out = view.data("rows").map((row) => codes.map((_, n) => row[`out${n}`]));
  view.finalize(); return out; }"""


@batching
def test_every_formula_prints_to_the_browser(lesson):
    """Vega's own expression language gives NumPy's values for every formula of the course at 100 random points."""
    rng, every = random.Random(7), list(formulas.values())
    points = [[point(formula, rng) for _ in range(100)] for formula in every]
    rows = [
        {f"f{n}_{key}": value for n, of in enumerate(points) for key, value in of[row].items()} for row in range(100)
    ]
    codes = [formula.vega(**{key: f"datum.f{n}_{key}" for key in formula.free}) for n, formula in enumerate(every)]
    assert lesson.evaluate(SETTLED)
    found = lesson.evaluate(FORMULAS, [[{"row": n, **row} for n, row in enumerate(rows)], codes])
    for column, formula, of in zip(np.array(found, dtype=float).T, every, points, strict=True):
        expected = formula(**{key: np.array([at[key] for at in of]) for key in formula.free})
        np.testing.assert_allclose(column, expected, rtol=1e-12, atol=slack(formula), err_msg=formula.name)


@batching
def test_answer_boxes_on_the_page(lesson):
    """Typing into a box: blank, wrong, a named mistake, right; hint, solution, fresh numbers; kept after a reload."""
    lesson.untried("boxes")
    page = lesson.page
    page.evaluate(OPEN)
    problem = problems("batching")["fast"].problem
    right, mistaken = typed(problem, True), typed(problem, False)
    box = page.locator("practice-box[data-problem=fast]")
    field, told = box.locator("input[type=text]"), box.locator(".feedback")
    for words, kind in [
        ("", "unanswered"),
        ("twelve", "type"),
        ("3 ms", "unit"),
        (mistaken, "misconception"),
        (right, "right"),
    ]:
        field.fill(words)
        field.press("Enter")
        assert kind in told.get_attribute("class").split(), (words, told.inner_text())
    page.reload()
    page.evaluate(OPEN)
    assert field.input_value() == right and "right" in told.get_attribute("class")
    box.get_by_role("button", name="Hint").click()
    assert "Hint 1 of 2" in box.locator(".practice-more").inner_text()
    box.get_by_role("button", name="Solution").click()
    assert box.locator(".practice-solution li").count() >= 1 and box.locator("math").count() >= 1
    before = box.locator(".practice-ask").inner_text()
    box.get_by_role("button", name="Fresh numbers").click()
    assert box.locator(".practice-ask").inner_text() != before and field.input_value() == ""
    choice = page.locator("practice-box[data-problem=money]")
    choice.locator(f"input[value={typed(problems('batching')['money'].problem, False)}]").check()
    choice.get_by_role("button", name="Check").click()
    assert "misconception" in choice.locator(".feedback").get_attribute("class")


def typed(problem, right: bool) -> str:
    """A right answer to what the page asks first, or one with the first misconception, as one would type it."""
    values = problem.draws(problem.on_page)[0]
    if problem.kind in ("quantity", "estimate"):
        return (
            f"{(problem.expected(values) if right else next(iter(problem.wrong_answers(values)))) / problem.scale:.6g}"
        )
    if problem.kind == "expression":
        return (
            str(problem.formula.expr if right else next(iter(problem.misconceptions)))
            .replace("Max", "max")
            .replace("Min", "min")
        )
    if right:
        return problem.expected(values)
    if problem.kind == "choice":
        return next(letter for letter, option in problem.lettered.items() if not option.is_right)
    return next(iter(problem.misconceptions))


def answers_typed(problem):
    """What is typed into a problem's box: a mistake, then a right answer; nothing where a function is asked for."""
    return [] if problem.kind == "function" else [typed(problem, False), typed(problem, True)]


# All boxes of a page in one go: pointing at each button of a long page takes seconds; `test_answer_boxes_on_the_page`
# does point.
WORK = """async (asked) => {
  for (const item of document.querySelectorAll(".practice-item")) item.open = true;
  return asked.map(([id, texts, hints]) => {
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
    const solution = box.querySelector(".practice-solution");
    return { verdicts, hinted, steps: solution.querySelectorAll("li").length, solution: solution.innerText };
  }); }"""


PROBLEMS = [(lesson, view.problem) for lesson in LESSONS for view in problems(lesson)]


@pytest.mark.parametrize(
    ("lesson", "problem"), PROBLEMS, indirect=["lesson"], ids=[f"{lesson}-{problem.id}" for lesson, problem in PROBLEMS]
)
def test_every_problem_is_worked_wrong_and_right(lesson, problem):
    told, texts = lesson.worked[problem.id], answers_typed(problem)
    assert told["verdicts"] == ["misconception", "right"][: len(texts)]
    assert "That was the last" in told["hinted"]
    assert told["steps"] == len(problem.steps(problem.draws(problem.on_page)[0]))
    assert "\\" not in told["solution"], "mathematics is left unset"


LISTED = [
    (lesson, problem)
    for lesson, problem in PROBLEMS
    if problem.kind in ("choice", "ordering") and len(problem.draws(problem.on_page)) > 1
]
FRESH = """(asked) => asked.map(([id, draws]) => {
  const box = document.querySelector(`practice-box[data-problem="${id}"]`);
  const press = (name) => [...box.querySelectorAll("button")].find((b) => b.textContent.trim() === name).click();
  return Array.from({ length: draws }, () => {
    const mark = box.querySelector("input[type=radio]"); if (mark) mark.click();
    press("Fresh numbers");
    const offered = [...box.querySelectorAll(".practice-radio span, .practice-options > li")];
    return [offered.map((n) => n.textContent), box.querySelectorAll("input:checked").length];
  });
})"""


@pytest.mark.parametrize(
    ("lesson", "problem"), LISTED, indirect=["lesson"], ids=[f"{lesson}-{problem.id}" for lesson, problem in LISTED]
)
def test_fresh_numbers_write_options_and_items_anew(lesson, problem):
    """What is offered changes with the question: else a wrong option would be called right."""
    page = problem.page()
    draws = [{**page, **own} for own in page["draws"]]
    plain = lambda text: re.sub(r"<[^>]+>", "", html.unescape(text))
    for draw, (shown, checked) in zip([*draws[1:], draws[0]], lesson.fresh[problem.id], strict=True):
        key = "options" if problem.kind == "choice" else "items"
        shown = [text.replace("\u00a0", " ") for text in shown]  # quantities keep to a line
        assert checked == 0 and shown == [f"{letter}) {plain(text)}" for letter, text in draw[key].items()]
