"""The lesson in the browser: sliders move curves that agree with NumPy, and every problem is worked wrong and right."""

from __future__ import annotations

import numpy as np
import pytest

from blackboard.batching import equations as eq
from blackboard.batching.explorables import DEFAULT
from blackboard.catalogue import model, system
from blackboard.formula import formulas
from blackboard.practice import problems

MOVE = """async ([index, moves]) => {
  const figure = document.querySelectorAll("figure.explorable")[index]; await figure.ready;
  for (const [name, value] of Object.entries(moves)) {
    const input = figure.querySelector(`[name="${name}"]`);
    input.value = value; input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  }
  await figure.vegaView.runAsync();
  const signals = {}, wanted = ["flops", "bandwidth", "chips", "n_active", "n_total", "kv_bytes_per_token", "bytes_per_param", "context", "rent"];
  for (const name of wanted) try { signals[name] = figure.vegaView.signal(name); } catch { /* not in this chart */ }
  const data = figure.vegaView.getState({ data: () => true, signals: () => false }).data;
  const paths = [...figure.querySelectorAll("svg path")].map((path) => path.getAttribute("d")).join("|");
  const numbers = (row) => Object.fromEntries(Object.entries(row.datum ?? row).filter(([, value]) => typeof value === "number"));
  return [signals, Object.values(data).filter((rows) => Array.isArray(rows) && rows.length > 20).map((rows) => rows.map(numbers)), paths]; }"""
FIELDS = [
    ("step", 1e-3, {"step": eq.step_time, "compute": eq.compute_time, "KV": eq.kv_time, "weights": eq.weight_time}),
    ("cost", 1e-6, {"cost": eq.cost_per_token, **{name: eq.COST_TERMS[name] for name in ("compute", "KV", "weights")}}),
]  # fmt: skip


@pytest.fixture(scope="module")
def lesson(browser, server):
    """The lesson's page."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{server}/book/batching.html")
    yield page
    page.close()


def compare(signals, tables, scale, fields):
    """How many values of the chart were held against NumPy; all must agree."""
    seen = 0
    for rows in tables:
        for name, formula in fields.items():
            if not rows or name not in rows[0]:
                continue
            x = np.array([row["batch"] for row in rows])
            known = {n: signals[n] for n in formula.free if n != "batch"} | ({"batch": x} if "batch" in formula.free else {})
            shown = np.array([row[name] for row in rows])
            assert np.allclose(shown * scale, formula(**known), rtol=1e-9), name
            seen += len(rows)
    return seen


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("moves", [{}, {"context_exponent": 4.5}, {"stored_exponent": -2}, {"system": "h200-8", "precision": "bf16"}, {"model": "llama-3.1-70b", "context_exponent": 2.5}, {"system": "a100-80gb-8", "precision": "fp4"}])
def test_curves_agree_with_numpy(lesson, index, moves):
    lesson.reload()
    _, _, before = lesson.evaluate(MOVE, [index, {}])
    signals, tables, after = lesson.evaluate(MOVE, [index, moves])
    _, scale, fields = FIELDS[index]
    assert compare(signals, tables, scale, fields) > 100
    assert (after != before) == bool(moves)


def test_menus_bind_the_catalogue(lesson):
    lesson.reload()
    for id, net, precision in [(DEFAULT.system, DEFAULT.model, DEFAULT.precision), ("h100-8", "qwen3-235b-a22b", "bf16")]:
        signals, *_ = lesson.evaluate(MOVE, [0, {"system": id, "model": net, "precision": precision}])
        expected = model(net).symbols(precision) | system(id).symbols(precision)
        assert {n: signals[n] for n in ("flops", "bandwidth", "n_active", "n_total", "bytes_per_param")} == pytest.approx({n: expected[n] for n in ("flops", "bandwidth", "n_active", "n_total", "bytes_per_param")}, rel=1e-12)


def test_every_formula_prints_to_the_browser(lesson):
    """Vega's own expression language gives NumPy's values for every formula of the course at hundreds of random points."""
    rng = np.random.default_rng(7)
    code = """async ([charts]) => { const holder = document.createElement("div"); document.body.append(holder); const out = [];
      for (const [code, points] of charts) {
        const spec = { data: { values: points }, transform: [{ calculate: code, as: "out" }], mark: "point", encoding: { x: { field: "out", type: "quantitative" } } };
        const { view } = await vegaEmbed(holder, spec, { actions: false, ast: false });
        const rows = Object.values(view.getState({ data: () => true, signals: () => false }).data).find((d) => Array.isArray(d) && d.length && "out" in (d[0].datum ?? {}));
        out.push(rows.map((row) => row.datum.out)); view.finalize(); }
      holder.remove(); return out; }"""
    lesson.evaluate(MOVE, [0, {}])
    asked, expected = [], []
    for formula in formulas.values():
        points = {n: 10 ** rng.uniform(-2, 3, 300) for n in formula.free}
        rows = [dict(zip(points, map(float, values))) for values in zip(*points.values())]
        asked.append([formula.vega(**{n: f"datum.{n}" for n in formula.free}), rows])
        expected.append(formula(**points))
    for formula, shown, wanted in zip(formulas.values(), lesson.evaluate(code, [asked]), expected, strict=True):
        assert np.allclose(shown, wanted, rtol=1e-10), formula.name


def test_answer_boxes_on_the_page(lesson):
    """Typing into a box: blank, wrong, a named mistake, right; hint, solution, fresh numbers; kept after a reload."""
    lesson.evaluate("localStorage.clear()")
    lesson.reload()
    box = lesson.locator("practice-box", has_text="What fast mode gives away")
    field, told = box.locator("input[type=text]"), box.locator(".feedback")
    for typed, kind in [("", "unanswered"), ("twelve", "type"), ("3 ms", "unit"), ("2.4", "misconception"), ("15.1", "right"), ("15", "right")]:
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
        return str(problem.formula.expr if right else mistake).replace("Max", "max")
    return problem.expected(values) if right else mistake


def answer(box, problem, text: str) -> str:
    """Give an answer in its box and return the verdict that the box shows."""
    if problem.kind == "choice":
        box.locator(f"input[type=radio][value={text}]").check()
    else:
        box.locator("input[type=text]").fill(text)
    box.get_by_role("button", name="Check").click()
    return box.get_attribute("data-verdict")


@pytest.mark.parametrize("problem", [view.problem for view in problems("batching")], ids=lambda p: p.id)
def test_every_problem_is_worked_wrong_and_right(lesson, problem):
    box = lesson.locator("practice-box", has_text=f". {problem.title}")
    if problem.kind == "function":
        assert "exercise notebook" in box.inner_text()
    else:
        assert answer(box, problem, typed(problem, False)) == "misconception"
        assert answer(box, problem, typed(problem, True)) == "right"
    for _ in problem.hints:
        box.get_by_role("button", name="Hint").click()
    assert "That was the last" in box.inner_text()
    box.get_by_role("button", name="Solution").click()
    assert box.locator(".practice-solution li").count() == len(problem.solution(problem.values()))
    assert "\\" not in box.locator(".practice-solution").inner_text(), "mathematics is left unset"
