"""Interactive charts: what the browser is given is valid, whole and right, judged without a browser."""

import functools
import json
import math
import random
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.request import urlopen
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from chart_checks import chart_checks
from lessons import LESSONS, interactive_charts, room
from test_formula import point
from vegalite import breaches

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import controls, page_chart, stills
from blackboard.charts.interactive import MIME, VEGALITE, InteractiveChart, derived, inside, menu, slider
from blackboard.charts.names import place_names
from blackboard.lessons.batching import equations as eq
from blackboard.units import significant

ALL = [(lesson, name) for lesson in LESSONS for name in interactive_charts(lesson)]
CASES = [
    (lesson, name, field)
    for lesson in LESSONS
    for name, chart in chart_checks(lesson).items()
    for field in chart.curves
]


@functools.cache
def drawn(lesson, name):
    """An interactive chart by the name of its function."""
    return getattr(room(lesson, "charts"), name)()


@pytest.fixture(scope="module", params=ALL, ids="-".join)
def shown(request):
    """Each interactive chart."""
    return drawn(*request.param)


def test_every_chart_is_held_to_formulas():
    """Each chart stands in the tests/NAME_page.py of its lesson, with its curves."""
    assert [(lesson, name) for lesson in LESSONS for name in chart_checks(lesson)] == ALL


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


@functools.cache
def page_of(chart):
    """What a page has of a chart."""
    return chart.html()


def walk(value):
    """Every dictionary inside a spec."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def test_spec_is_valid(shown):
    """Vega-Lite's grammar takes it, and it fills whatever holds it."""
    assert breaches(shown.spec) == []
    assert shown.spec["width"] == "container" and shown.spec["autosize"]["type"] == "fit-x"
    assert json.loads(json.dumps(shown.spec, allow_nan=False)) == shown.spec


def test_the_grammar_refuses_what_is_no_chart():
    """Another name of a mark, a channel that there is none of, or no layer at all."""
    chart = {"data": {"values": [{"a": 1}]}, "mark": "line", "encoding": {"x": {"field": "a", "type": "quantitative"}}}
    assert breaches(chart) == []
    for wrong in ({"mark": "lin"}, {"encoding": {"z": {"field": "a"}}}, {"data": 1}, {"height": "tall"}, {"marks": []}):
        assert breaches(chart | wrong), wrong


def test_spec_loads_nothing(shown):
    """No address of any kind, and no data but what stands in it."""
    assert "://" not in json.dumps(shown.spec)
    assert not [
        part for part in walk(shown.spec) if "url" in part or "format" in part and isinstance(part["format"], dict)
    ]


def test_letters_are_readable(shown):
    sizes = [value for part in walk(shown.spec) for key, value in part.items() if key.lower().endswith("fontsize")]
    assert sizes and min(sizes) >= 11


def test_controls_start_within_their_range(shown):
    bound = [param for param in shown.spec["params"] if "bind" in param]
    assert bound
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


@pytest.mark.slow
def test_still_is_small_and_whole(shown):
    """The picture is plain SVG of at most 12 kB, with the words of the chart and no number gone wrong."""
    root = ElementTree.fromstring(shown.still)
    assert len(shown.still.encode()) <= 12_000
    assert "NaN" not in shown.still and "Infinity" not in shown.still
    said = " ".join(text for text in root.itertext())
    starts = {param["name"]: param["value"] for param in shown.spec["params"] if "bind" in param}
    if {"system", "precision"} <= set(starts):
        assert controls.plain(catalogue.system(starts["system"]).name) in said and starts["precision"].upper() in said
    if "model" in starts and "sparsity" in said:
        net = catalogue.model(starts["model"])
        assert f"sparsity {significant(net.n_total / net.n_active, 3)}" in said
    assert len(said.split()) > 20


def test_notebook_bundle(shown, monkeypatch):
    monkeypatch.delenv("BLACKBOARD_PAGE", raising=False)
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {MIME, "text/plain"} and bundle["text/plain"] == shown.alt
    assert bundle[MIME]["layer"] == shown.spec["layer"]


def test_a_cell_of_a_page_shows_the_page_s_figure(monkeypatch):
    monkeypatch.setenv("BLACKBOARD_PAGE", "1")
    chart = InteractiveChart({"data": {"values": [{"a": 1}]}, "mark": "point"}, "title", "alt", "")
    assert chart._repr_mimebundle_() == {"text/html": chart.html(), "text/plain": "alt"}


def test_page_figure(shown):
    """On the page: stills with alt text, controls, and a spec in a script that no content can end early."""
    page = page_of(shown)
    tags = Tags.of(page)
    assert tags[0] == ("figure", {"class": "interactive-chart", "aria-label": shown.title})
    assert [attributes["alt"] for name, attributes in tags if name == "img"] == [shown.alt]
    bound = [param for param in shown.spec["params"] if "bind" in param]
    named = [attributes["name"] for _, attributes in tags if "name" in attributes]
    assert sorted(named) == sorted(param["name"] for param in bound) and " = 10^" not in page
    starts = {attributes["name"]: attributes["value"] for name, attributes in tags if name == "input"}
    assert {name: float(value) for name, value in starts.items()} == {
        param["name"]: param["value"] for param in bound if param["bind"]["input"] == "range"
    }
    script = re.search(r'class="chart-spec">(.*?)</script>', page, re.S)[1]
    assert "</" not in script
    vega = json.loads(script)
    assert {param["name"] for param in bound} <= {signal["name"] for signal in vega["signals"]}
    assert not [part for part in walk(vega) if "bind" in part or "url" in part]


def test_the_result_is_a_short_line(shown):
    """It fits one line on a desktop, and two on a phone; at most two facts stand below it, and names of controls fit
    beside their values.
    """
    [said] = re.findall(r'<p class="chart-result" role="status">(.*?)</p>', page_of(shown))
    assert 10 < len(unescape(said)) <= 60
    [facts] = re.findall(r'<p class="chart-facts">(.*?)</p>', page_of(shown))
    assert facts.count("<span>") <= 2
    names = [unescape(name) for name in re.findall(r'<span class="chart-name">(.*?)</span>', page_of(shown))]
    assert [name for name in names if len(name) > 20] == []


def test_a_slider_stops_at_round_values():
    """32,000, not 31,623; whole where it counts; and as given where it starts."""
    for digits, expected in ((2, [1.3, 14.7911, 32_000]), (0, [1, 15, 32_000])):
        _, follows = slider("x", 0, 5, 0.1, 1.17, "x", base=10, digits=digits)
        found = [
            vega_says([{"row": 0}], ["x", "1"], [{"name": "x_exponent", "value": at}, follows])[0][0]
            for at in (0.1, 1.17, 4.5)
        ]
        assert found == pytest.approx(expected)


@pytest.mark.slow
def test_pictures_of_the_page_are_small_and_whole(shown):
    """For both widths: at most 12 kB, as high as each other, no number gone wrong, no name outside or on another."""
    tags = Tags.of(page_of(shown))
    addresses = [
        attributes.get("srcset") or attributes["src"] for name, attributes in tags if name in ("source", "img")
    ]
    drawn = [urlopen(address).read().decode() for address in addresses]
    roots = [ElementTree.fromstring(each) for each in drawn]
    assert [root.get("width") for root in roots] == [str(page_chart.WIDE), str(page_chart.NARROW)]
    assert roots[0].get("height") == roots[1].get("height")
    for text, root in zip(drawn, roots):
        assert len(text.encode()) <= 12_000 and not re.search("NaN|Infinity|currentColor", text)
        assert "".join(root.itertext()).strip()


def test_a_plot_is_as_wide_with_a_dot_at_its_edge():
    """Else ticks and curves would twitch while the dot is dragged there."""
    (batch,) = (param for param in drawn("batching", "roofline_chart").spec["params"] if "bind" in param)
    spec, widths = page_chart.page_spec(drawn("batching", "roofline_chart")), []
    for end in ("min", "max"):
        params = [
            each | {"value": batch["bind"][end]} if each["name"] == batch["name"] else each for each in spec["params"]
        ]
        picture = stills.draw_still(spec | {"params": params}, page_chart.NARROW)
        widths.append(re.search(r'd="M0,0h([\d.]+)', picture)[1])
    assert widths[0] == widths[1]


def test_a_still_shines_through_as_its_chart_does():
    bands = {"mark": {"type": "rect", "opacity": 0.15}, "encoding": {"x": {"field": "x", "type": "quantitative"}}}
    spec = {"data": {"values": [{"x": 1}]}, **bands, "config": {}}
    assert ' opacity="0.15"' in stills.draw_still(spec, page_chart.NARROW)


def test_result_and_facts_are_the_lines_of_the_title():
    lines = ["64 chips, FP8", "", "two users,", "share one", "10 ms"]
    assert page_chart.say_lines(lines, [-1]) == ("10 ms", ["64 chips, FP8", "two users, share one"])
    assert page_chart.say_lines(lines, [2, -1, 9]) == ("two users, 10 ms", ["64 chips, FP8", "share one"])


def test_names_in_a_picture_stay_inside_and_apart():
    """One that leaves the plot comes back with its dot; of two at one place one moves."""
    text = '<text transform="translate({},{})" text-anchor="{}" font-size="12px">{}</text>'
    group = '<g class="mark-text role-mark" clip-path="url(#c)">{}</g>'
    dot = '<g class="mark-symbol"><path transform="translate(12,50)"/></g>'
    names = dot + group.format(text.format(8, 52, "end", "compute"))
    names += group.format(text.format(60, 30, "start", "one")) + group.format(text.format(62, 33, "start", "two"))
    clip = '<clipPath id="c"><rect x="0" y="0" width="100" height="100"/></clipPath>'
    root = ElementTree.fromstring(place_names(f'<svg xmlns="http://www.w3.org/2000/svg">{clip}{names}</svg>'))
    placed = {node.text: node.get("transform") for node in root.iter() if node.tag.endswith(("text", "path"))}
    place = {name: [float(part) for part in re.findall(r"[-\d.]+", moved)] for name, moved in placed.items()}
    assert place["compute"][0] == pytest.approx(2 + 46, abs=3) and place["compute"][1] == 52
    assert place[None][0] - 12 == pytest.approx(place["compute"][0] - 8)
    assert place["one"] == [60, 30] and abs(place["two"][1] - 30) >= 12


def test_a_name_goes_where_no_line_runs_through_it():
    """It moves as little as it can; a name beside the line stays."""
    text = '<text transform="translate(60,{})" text-anchor="start" font-size="12px">name</text>'
    line = '<g class="mark-line role-mark"><path d="M0,{0}L200,{0}"/></g>'
    group = '<g class="mark-text role-mark" clip-path="url(#c)">{}</g>'
    clip = '<clipPath id="c"><rect x="0" y="0" width="200" height="200"/></clipPath>'
    for height, moves in ((96, True), (130, False)):
        drawn = f"{clip}{line.format(height)}{group.format(text.format(100))}"
        root = ElementTree.fromstring(place_names(f'<svg xmlns="http://www.w3.org/2000/svg">{drawn}</svg>'))
        (found,) = (node.get("transform") for node in root.iter() if node.tag.endswith("text"))
        x, y = map(float, re.findall(r"[-\d.]+", found))
        assert x == 60 and (4 <= abs(y - 100) <= 12 if moves else y == 100)


def test_a_line_s_steps_lead_to_its_places():
    """To a tenth of a pixel, however many there are."""
    places = [(n * 1.37, 90 - n**1.5 / 3) for n in range(60)]
    line = "L".join(f"{x:.3f},{y:.3f}" for x, y in places)
    (x, y), *steps = [
        tuple(map(float, step.split(",")))
        for step in re.findall(r"[Ml]([-\d.]+,[-\d.]+)", stills._slim(f'<path d="M{line}"/>'))
    ]
    assert len(steps) == 59
    walked = np.cumsum([(x, y), *steps], axis=0)
    np.testing.assert_allclose(walked, places, atol=0.06)
    assert stills._slim('<path d="M0,0C1,2,3,4,5,6"/>') == '<path d="M0,0C1,2,3,4,5,6"/>'


def test_values_beside_sliders():
    """As Intl.NumberFormat has them; the pages are held to it in the browser."""
    told = {
        1: "1",
        0.123456: "0.1235",
        1999.862: "2,000",
        100.2: "100",
        9999.4: "9,999",
        31622.8: "31,623",
        3.17e15: "3,170T",
        999_999: "999,999",
        2.5e9: "2.5B",
    }
    assert {value: page_chart.pretty(value) for value in told} == told
    assert page_chart.pretty(-2.5) == "-2.5" and page_chart.pretty(0) == "0" and page_chart.pretty(4e15) == "4,000T"


def test_times_of_a_slider_have_the_unit_that_suits_them():
    told = {0.1: "100 ms", 20: "20 s", 300: "5 min", 3_600: "1 h", 10_800: "3 h", 8.64e6: "100 days", 1e8: "3.2 years"}
    assert {value: page_chart.duration(value) for value in told} == told


def test_hostile_text_is_escaped(monkeypatch):
    chart = {"data": {"values": [{"a": "</script><b>"}]}, "mark": "point"}
    page = InteractiveChart(chart, '"<t>"', '"<alt>"', "a < b").html()
    assert "</script><b>" not in page and "&lt;alt&gt;" in page and "&quot;&lt;t&gt;" in page and "a &lt; b" in page


def test_nothing_heavy_is_imported_before_drawing():
    code = (
        "import blackboard.charts.interactive, sys; print([m for m in ('altair', 'vl_convert', 'matplotlib') if m in"
        " sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_a_chart_keeps_its_own_settings_and_gets_the_frames():
    chart = {"data": {"values": [{"a": 1}]}, "mark": "point", "height": 99, "config": {"font": "serif"}}
    shown = InteractiveChart(chart, "title", "alt", "")
    assert (shown.spec["height"], shown.spec["width"]) == (99, "container")
    assert shown.spec["config"]["font"] == "serif" and shown.spec["config"]["axis"]["labelFontSize"] == 11


def test_two_or_three_controls_come_first(shown):
    bound = [param["name"].removesuffix("_exponent") for param in shown.spec["params"] if "bind" in param]
    first = shown.spec["usermeta"]["primary"]
    assert set(first) <= set(bound) and min(len(bound), 2) <= len(first) <= 3


def test_bad_controls_are_refused():
    with pytest.raises(ValueError, match="no control moves y"):
        InteractiveChart({"params": slider("x", 0, 1, 0.1, 0, "x")}, "title", "alt", "", primary=("y",))
    with pytest.raises(ValueError, match="not between"):
        slider("x", 0, 1, 0.1, 2, "x")
    with pytest.raises(ValueError, match="none of"):
        menu("x", {"a": "A"}, "b", "x")
    with pytest.raises(units.UnitError, match="expected s"):
        inside(eq.step_time, "GB")
    with pytest.raises(ValueError, match="alt"):
        InteractiveChart({}, "title", " ", "")


# --- the browser's expressions ----------------------------------------------------------------------------------------


KNOWN = {
    "max": max,
    "min": min,
    "abs": abs,
    "pow": pow,
    **{name: getattr(math, name) for name in ("sqrt", "log", "exp", "ceil", "floor")},
}


@functools.cache
def compiled(expression):
    """A formula's browser expression as Python's: only numbers, names, + - * / ( ) and the functions that Python has
    too.
    """
    assert set(re.findall(r"[A-Za-z_]\w*(?=\()", expression)) <= set(KNOWN)
    return compile(expression, "<expression>", "eval")


def evaluate(expression, **names):
    """The value of a formula's browser expression by Python."""
    return eval(compiled(expression), {"__builtins__": {}, **KNOWN}, names)


@pytest.mark.parametrize(("lesson", "name", "field"), CASES, ids=map("-".join, CASES))
def test_curves_are_the_formulas(lesson, name, field):
    """Each line's expression, as it stands in the spec, equals the NumPy function at 60 random points."""
    chart, rng = chart_checks(lesson)[name], random.Random(7)
    formula = chart.curves[field]
    (expression,) = {
        part["calculate"] for part in walk(drawn(lesson, name).spec) if part.get("as") == field and "calculate" in part
    }
    points = [point(formula, rng) for _ in range(60)]
    found = [evaluate(expression, datum=SimpleNamespace(**at), **at) for at in points]
    expected = formula(**{key: np.array([at[key] for at in points]) for key in formula.free}) / chart.scale
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def vega_says(values, expressions, params=()):
    """What Vega itself, in vl-convert, computes: rows × expressions, read back from the texts of a picture."""
    text = " + '|' + ".join(f"format({expression}, '.14e')" for expression in expressions)
    spec = {
        "data": {"values": values},
        "params": list(params),
        "mark": {"type": "text", "text": {"expr": text}},
        "encoding": {"x": {"field": "row", "type": "quantitative"}},
    }
    svg = ElementTree.fromstring(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=VEGALITE))
    said = [node.text for node in svg.iter() if node.tag.endswith("text") and "|" in (node.text or "")]
    return np.array([[float(number.replace("−", "-")) for number in text.split("|")] for text in said])


# --- the catalogue's menus --------------------------------------------------------------------------------------------


def signals(params, *names):
    """What Vega makes of params: the values of some of their signals."""
    (found,) = vega_says([{"row": 0}], names, json.loads(json.dumps(params)))
    return dict(zip(names, found))


def test_menus_bind_the_case():
    """Where the menus start, the signals are the case's symbols; what the lesson adds follows from them."""
    names = ("flops", "bandwidth", "chips", "domain", "n_active", "bytes_per_param")
    params = controls.given(
        RUNNING,
        [RUNNING.system],
        [RUNNING.model],
        ("bandwidth", "chips", "domain"),
        ("n_active",),
        twice="2 * n_active",
    )
    expected = {name: RUNNING.symbols()[name] for name in names} | {"twice": 2 * RUNNING.symbols()["n_active"]}
    assert signals(params, *names, "twice") == pytest.approx(expected, rel=1e-12)


def test_menus_may_lack_a_model_or_a_system():
    bound = lambda params: [param["name"] for param in params if "bind" in param]
    systems, models = controls.given(RUNNING, systems=[RUNNING.system]), controls.given(RUNNING, models=[RUNNING.model])
    assert bound(systems) == ["system", "precision"] and bound(models) == ["model", "precision"]
    for params, names in ((systems, ("flops", "bytes_per_param")), (models, ("n_total", "bytes_per_param"))):
        assert signals(params, *names) == pytest.approx({name: RUNNING.symbols()[name] for name in names}, rel=1e-12)


def test_menus_refuse_what_the_catalogue_lacks():
    with pytest.raises(catalogue.UnknownId, match="has no n_active; it has: bandwidth"):
        controls.machine(RUNNING.system, ("bandwidth", "n_active"))
    with pytest.raises(ValueError, match="none of h100-8"):
        controls.given(RUNNING, ["h100-8"], [RUNNING.model])


def test_sliders_alone_are_controls_enough():
    """A chart of integer sliders: the signal is the slider's own, and what follows from it."""
    params = [*slider("stages", 1, 16, 1, 4, "stages"), *derived("bubble", "(stages - 1) / stages")]
    assert signals(params, "stages", "bubble") == {"stages": 4, "bubble": 0.75}
