"""Explorables: what the browser is given is valid, whole and right, judged without a browser."""

import base64
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import altair
import numpy as np
import pytest
import vl_convert

from blackboard import catalogue, units
from blackboard.batching import equations as eq
from blackboard.batching import explorables
from blackboard.batching.figures import LECTURE_RENT, RUNNING
from blackboard.explorable import MIME, VEGALITE, Explorable, inside, menu, slider

NAMES = ("latency_explorer", "cost_explorer", "context_explorer")
TERMS = ("compute", "KV", "weights")
LINES = {  # each explorable's unit, and the formulas of its curves
    "latency_explorer": ("ms", {"step": eq.step_time, **{name: eq.STEP_TERMS[name] for name in TERMS}}),
    "cost_explorer": ("USD/megatoken", {"cost": eq.cost_per_token, **{name: eq.COST_TERMS[name] for name in TERMS}}),
    "context_explorer": ("percent", {"limit": eq.mfu_limit, "here": eq.mfu}),
}
CASES = [(name, field) for name, (_, fields) in LINES.items() for field in fields]


@pytest.fixture(scope="module", params=NAMES)
def shown(request):
    """Each explorable."""
    return getattr(explorables, request.param)()


class Tags(HTMLParser):
    """The start tags of a page, each with its attributes."""

    @classmethod
    def of(cls, page):
        parser = cls()
        parser.found = []
        parser.feed(page)
        return parser.found

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def walk(value):
    """Every dictionary inside a spec."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def test_spec_is_valid(shown):
    """Altair's schema takes it, and it fills whatever holds it."""
    altair.Chart.from_dict(shown.spec)
    assert shown.spec["width"] == "container" and shown.spec["autosize"]["type"] == "fit-x"
    assert json.loads(json.dumps(shown.spec, allow_nan=False)) == shown.spec


def test_spec_loads_nothing(shown):
    """No address of any kind, and no data but what stands in it."""
    assert "://" not in json.dumps(shown.spec)
    assert not [part for part in walk(shown.spec) if "url" in part or "format" in part and isinstance(part["format"], dict)]


def test_letters_are_readable(shown):
    sizes = [value for part in walk(shown.spec) for key, value in part.items() if key.lower().endswith("fontsize")]
    assert sizes and min(sizes) >= 11


def test_controls_start_within_their_range(shown):
    bound = [param for param in shown.spec["params"] if "bind" in param]
    assert len(bound) >= 5
    for param in bound:
        bind = param["bind"]
        assert bind["name"].strip()
        if bind["input"] == "select":
            assert param["value"] in bind["options"] and len(bind["labels"]) == len(bind["options"])
        else:
            steps = (param["value"] - bind["min"]) / bind["step"]
            assert bind["min"] <= param["value"] <= bind["max"] and steps == pytest.approx(round(steps), abs=1e-9)


def test_alt_says_something(shown):
    assert shown.spec["description"] == shown.alt
    assert len(shown.alt) > 100 and re.search(r"\d", shown.alt) and shown.title and shown.caption


def test_still_is_small_and_whole(shown):
    """The picture is plain SVG of at most 12 kB, with the words of the chart and no number gone wrong."""
    root = ElementTree.fromstring(shown.still)
    assert len(shown.still.encode()) <= 12_000
    assert "NaN" not in shown.still and "Infinity" not in shown.still
    said = " ".join(text for text in root.itertext())
    assert catalogue.system(RUNNING.system).name in said and RUNNING.precision.upper() in said


def test_notebook_bundle(shown, monkeypatch):
    monkeypatch.delenv("BLACKBOARD_PAGE", raising=False)
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {MIME, "text/plain"} and bundle["text/plain"] == shown.alt
    assert bundle[MIME]["layer"] == shown.spec["layer"]


def test_page_bundle(shown, monkeypatch):
    """On the page: a still with alt text, and the spec in a script that no content can end early."""
    monkeypatch.setenv("BLACKBOARD_PAGE", "1")
    bundle = shown._repr_mimebundle_()
    tags = Tags.of(bundle["text/html"])
    assert [name for name, _ in tags] == ["figure", "div", "img", "div", "script", "figcaption"]
    assert tags[0][1] == {"class": "explorable", "aria-label": shown.title}
    assert tags[2][1]["alt"] == shown.alt
    assert base64.b64decode(tags[2][1]["src"].removeprefix("data:image/svg+xml;base64,")).decode() == shown.still
    assert tags[3][1] == {"class": "explorable-live", "hidden": None}
    script = re.search(r'class="explorable-spec">(.*?)</script>', bundle["text/html"], re.S)[1]
    assert "</" not in script and " = 10^" in json.dumps(shown.spec) and " = 10^" not in script
    named = re.sub(r' = \d+\^"', '"', json.dumps(shown.spec))  # the page shows a slider's value, a notebook its exponent
    assert json.loads(script) == json.loads(named)


def test_hostile_text_is_escaped(monkeypatch):
    chart = {"data": {"values": [{"a": "</script><b>"}]}, "mark": "point"}
    page = Explorable(chart, '"<t>"', '"<alt>"', "a < b").html()
    assert "</script><b>" not in page and "&lt;alt&gt;" in page and "&quot;&lt;t&gt;" in page and "a &lt; b" in page


def test_nothing_heavy_is_imported_before_drawing():
    code = "import blackboard.explorable, sys; print([m for m in ('altair', 'vl_convert', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_altair_charts_are_taken():
    """An Altair chart keeps its own settings and gets the frame's."""
    chart = altair.Chart(altair.InlineData([{"a": 1, "b": 2}])).mark_line().encode(x="a:Q", y="b:Q").properties(height=99)
    shown = Explorable(chart, "title", "alt", "")
    assert shown.spec["height"] == 99 and shown.spec["width"] == "container"
    assert shown.spec["config"]["axis"]["labelFontSize"] == 11 and "<path" in shown.still


def test_bad_controls_are_refused():
    with pytest.raises(ValueError, match="not between"):
        slider("x", 0, 1, 0.1, 2, "x")
    with pytest.raises(ValueError, match="none of"):
        menu("x", {"a": "A"}, "b", "x")
    with pytest.raises(units.UnitError, match="expected s"):
        inside(eq.step_time, "GB")
    with pytest.raises(ValueError, match="alt"):
        Explorable({}, "title", " ", "")


# --- the browser's expressions -----------------------------------------------------------------------------------------


def evaluate(expression, **names):
    """A formula's browser expression by Python: only numbers, names, + - * / ( ), max, min and pow."""
    assert set(re.findall(r"[A-Za-z_]\w*(?=\()", expression)) <= {"max", "min", "pow"}
    return eval(expression, {"__builtins__": {}, "max": max, "min": min, "pow": pow}, names)


def draw(rng, names):
    """Random positive values of the notation's symbols, over the decades that they live in."""
    decades = {"flops": (14, 18), "bandwidth": (12, 15), "n_active": (9, 12), "n_total": (9, 13), "batch": (0, 5), "context": (0, 6),
               "kv_bytes_per_token": (2, 6), "bytes_per_param": (-1, 1), "rent": (-5, -2), "chips": (0, 3)}  # fmt: skip
    return {name: float(10 ** rng.uniform(*decades[name])) for name in names}


def unit_factor(unit):
    return 0.01 if unit == "percent" else units.factor(unit)


@pytest.mark.parametrize(("name", "field"), CASES)
def test_curves_are_the_formulas(name, field):
    """Each line's expression, as it stands in the spec, equals the NumPy function at 300 random points."""
    unit, fields = LINES[name]
    formula, rng = fields[field], np.random.default_rng(7)
    (expression,) = [step["calculate"] for step in getattr(explorables, name)().spec["transform"] if step["as"] == field]
    points = [draw(rng, formula.free) for _ in range(300)]
    found = [evaluate(expression, datum=SimpleNamespace(**point), **point) for point in points]
    expected = formula(**{key: np.array([point[key] for point in points]) for key in formula.free}) / unit_factor(unit)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def vega_says(values, expressions, params=()):
    """What Vega itself, in vl-convert, computes: rows × expressions, read back from the texts of a picture."""
    text = " + '|' + ".join(f"format({expression}, '.14e')" for expression in expressions)
    spec = {"data": {"values": values}, "params": list(params), "mark": {"type": "text", "text": {"expr": text}},
            "encoding": {"x": {"field": "row", "type": "quantitative"}}}  # fmt: skip
    svg = ElementTree.fromstring(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=VEGALITE))
    said = [node.text for node in svg.iter() if node.tag.endswith("text") and "|" in (node.text or "")]
    return np.array([[float(number.replace("−", "-")) for number in text.split("|")] for text in said])


def test_vega_agrees_with_numpy():
    """Vega's own evaluation of every formula of the lesson's charts at 300 random points."""
    formulas = [eq.latency_floor, eq.cost_floor, eq.slow_mode_limit, eq.balanced_context]
    formulas += [formula for _, fields in LINES.values() for formula in fields.values()]
    rng, names = np.random.default_rng(11), sorted({name for formula in formulas for name in formula.free})
    rows = [{"row": row, **draw(rng, names)} for row in range(300)]
    found = vega_says(rows, [formula.vega(**{name: f"datum.{name}" for name in formula.free}) for formula in formulas])
    for column, formula in zip(found.T, formulas, strict=True):
        expected = formula(**{name: np.array([row[name] for row in rows]) for name in formula.free})
        np.testing.assert_allclose(column, expected, rtol=1e-12, err_msg=formula.name)


SIGNALS = ("flops", "bandwidth", "chips", "n_active", "n_total", "kv_bytes_per_token", "bytes_per_param", "context", "balanced", "kink")


@pytest.mark.parametrize("system", explorables.SYSTEMS)
@pytest.mark.parametrize("precision", explorables.PRECISIONS)
def test_controls_reach_the_formulas(system, precision):
    """With the controls anywhere, Vega's signals are the catalogue's values, and its kink is the formula's."""
    params = json.loads(json.dumps(explorables.latency_explorer().spec["params"]))
    machine = catalogue.system(system)
    for model in explorables.MODELS[::3]:
        setting = {"system": system, "precision": precision, "model": model, "context_exponent": 3.3, "stored_exponent": -0.5}
        moved = [{**param, "value": setting.get(param["name"], param.get("value"))} if "value" in param else param for param in params]
        (found,) = vega_says([{"row": 0}], SIGNALS, moved)
        got, served = dict(zip(SIGNALS, found)), serves(machine, precision)
        expected = {**machine.symbols(served), **catalogue.model(model).symbols(served), "context": 10**3.3}
        expected["n_total"] = max(expected["n_active"], expected["n_total"] * 2**-0.5)
        assert got["balanced"] == pytest.approx(eq.balanced_context(**{n: expected[n] for n in eq.balanced_context.free}), rel=1e-12)
        compute_bound = got["context"] < got["balanced"]
        assert got["kink"] == pytest.approx(eq.crossing(**{n: expected[n] for n in eq.crossing.free}) if compute_bound else 0, rel=1e-11)
        assert all(got[name] == pytest.approx(expected[name], rel=1e-12) for name in SIGNALS[:-2])


def serves(machine, precision):
    """The precision itself, or the next wider one that the machine has."""
    wider = list(explorables.PRECISIONS)[list(explorables.PRECISIONS).index(precision) :]
    for name in wider:
        try:
            machine.flops(name)
        except catalogue.UnknownId:
            continue
        return name


def test_still_says_what_the_formulas_say():
    """The numbers in the pictures' titles are those of the worked case."""
    said = " ".join(ElementTree.fromstring(explorables.latency_explorer().still).itertext())
    assert f"floor {RUNNING(eq.latency_floor) * 1e3:.3g} ms" in said and f"kink at B = {RUNNING(eq.crossing):,.0f}" in said
    assert f"L* = {RUNNING(eq.balanced_context):,.0f}" in said
    said = " ".join(ElementTree.fromstring(explorables.cost_explorer().still).itertext())
    floor = RUNNING(eq.cost_floor, rent=LECTURE_RENT / 3600) * 1e6
    assert f"floor ${floor:.3g} per Mtok" in said and f"costs {RUNNING(eq.slow_mode_limit, batch=1):,.0f} times" in said
