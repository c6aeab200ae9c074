"""Reality's pictures: every row is in one of them, once; they say what they show; and the sliders' arithmetic is the
prediction's.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections import Counter
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from lessons import functions
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.text import Text
from pictures import contrast, drawn_texts, picture
from test_colors import inverted
from test_interactive import evaluate, signals, vega_says
from vegalite import breaches

from blackboard.catalogue.datafile import UnknownId
from blackboard.charts.interactive import VEGALITE
from blackboard.charts.style import COLOURS, INKS
from blackboard.formula import IDEAL, Calibration
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import calibration_by_id
from blackboard.prediction.rows import BOUND, CALIBRATED, CONSISTENCY, mape
from blackboard.validation import charts, figures, time_breakdown
from blackboard.validation import serving as runs
from blackboard.validation.report import share, whole

NAMES = [name for name in functions(figures) if getattr(figures, name).__annotations__.get("return") == "Drawing"]


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_there_are_as_many_pictures_as_asked():
    assert NAMES == [
        "consistency",
        "bounds",
        "calibrated_serving",
        "calibrated_kernels",
        "calibrated_training",
        "where",
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_pictures_can_be_read(name):
    """Alt text, colours of the palette, no text on another or outside, no letter below 9 pixels on a phone."""
    figure = picture(figures, name)
    assert (
        100 < len(figure.alt) < 800 and figure.alt.endswith(".") and "nan" not in figure.alt and "\n" not in figure.alt
    )
    known, inks = ({to_hex(colour) for colour in palette.values()} for palette in (COLOURS, INKS["light"]))
    assert {to_hex(line.get_color()) for axes in figure.axes for line in axes.get_lines()} <= known
    assert {to_hex(text.get_color()) for text in figure.findobj(Text) if text.get_text()} <= inks | {"#000000"}
    texts = drawn_texts(figures, name)
    for (one, a), (two, b) in itertools.combinations(texts, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) <= 1 or min(a.y1, b.y1) - max(a.y0, b.y0) <= 1, (
            f"{one!r} and {two!r} overlap"
        )
    assert all(
        box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        for _, box in texts
    )
    assert (
        min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text())
        * 330
        / (figure.get_figwidth() * 72)
        >= 9
    )


def shown(figure):
    """All points of a picture's markers, by marker."""
    found = Counter()
    for axes in figure.axes:
        for line in axes.get_lines():
            found[line.get_marker()] += len(line.get_xdata()) if line.get_marker() != "None" else 0
    return found


def test_every_closure_is_counted_once():
    rows = whole().of(CONSISTENCY).rows
    counts = figures.count_rows(rows)
    assert sum(counts.values()) == len(rows) and counts["beyond"] == len(whole().wide)
    assert counts["exact"] == sum(abs(row.published - row.computed) <= 1e-9 * row.computed for row in rows)


def test_closures_beyond_have_names_and_all_names_are_used():
    wide = {(row.data, row.what) for row in whole().wide}
    assert wide == set(figures.WIDE)


def test_every_floor_is_drawn_once():
    rows = whole().of(BOUND).rows
    groups = figures.grouped(rows)
    assert sum(len(line.rows) for lines in groups.values() for line in lines) == len(rows)
    assert {name for lines in groups.values() for name in (line.name for line in lines)} == {
        name for lines in figures.BOUNDS.values() for name in lines
    }
    assert all(lines == sorted(lines, key=lambda line: line.median) for lines in groups.values())
    marks = shown(picture(figures, "bounds"))
    beyond = [sum(row.slow >= figures.MOST for row in line.rows) for lines in groups.values() for line in lines]
    assert marks["X"] == len(whole().exceptions) == sum(row.slow < 1 for row in rows)
    assert marks["o"] == len(rows) - marks["X"] - sum(beyond) and marks[">"] == sum(map(bool, beyond))


def test_the_picture_says_what_its_triangles_stand_for():
    far = [row.slow for row in whole().of(BOUND).rows if row.slow >= figures.MOST]
    assert (
        f"The triangles at the edge stand for {len(far)} short messages, up to {max(far):,.0f} times"
        in picture(figures, "bounds").caption
    )


def test_single_dots_are_seen_in_both_themes():
    """A dot, as much of the ground as shines through it, has three times the ground's contrast."""
    for name in ("bounds", *(f"calibrated_{part}" for part in figures.SECTIONS)):
        dots = [line for line in picture(figures, name).findobj(Line2D) if line.get_marker() in ("o", ">", "<")]
        assert dots and {to_hex(line.get_color()) for line in dots} == {to_hex(COLOURS["first"])}
        for opacity in {1.0 if line.get_alpha() is None else line.get_alpha() for line in dots}:
            seen = opacity * np.array(to_rgb(COLOURS["first"])) + 1 - opacity
            assert contrast(seen, (1, 1, 1)) >= 3 and contrast(inverted(seen), inverted("white")) >= 3, name


def test_words_are_dark_and_the_key_has_a_square_for_each_colour():
    """Pale colours of the palette are for squares and dots, none for words. Groups are told apart by headings alone."""
    for figure in (picture(figures, name) for name in ("bounds", "calibrated_serving", "where")):
        texts = [
            (text.get_text(), to_hex(text.get_color())) for text in figure.findobj(Text) if text.get_text().strip()
        ]
        assert {colour for text, colour in texts if text not in "■◆"} <= {"#000000", to_hex(COLOURS["bound"])}
        squares = {to_hex(line.get_color()) for line in figure.findobj(Line2D) if line.get_marker() == "s"}
        assert len(squares) == (len(figures.PARTS) if figure.name == "fig-reality-where" else 0)


def test_the_key_of_where_time_goes_has_the_colours_of_the_bars():
    figure = picture(figures, "where")
    key = {to_hex(line.get_color(), keep_alpha=True) for line in figure.findobj(Line2D) if line.get_marker() == "s"}
    bars = {to_hex(bar.get_facecolor(), keep_alpha=True) for bar in figure.axes[0].patches}
    assert key == bars and len(bars) == len(figures.PARTS)


def test_a_row_without_a_line_is_said():
    with pytest.raises(KeyError, match="chen2023.*0 lines"):
        figures.grouped(whole().of(CONSISTENCY, "chen2023").rows)


def test_every_calibrated_row_is_drawn_once():
    rows = whole().of(CALIBRATED).rows
    specs = [spec for sections in figures.SECTIONS.values() for specs in sections.values() for spec in specs]
    for row in rows:
        assert sum(figures.match(row, spec) for spec in specs) == 1, f"{row.data}, {row.part}"
    drawn = sum(shown(picture(figures, f"calibrated_{part}"))[mark] for part in figures.SECTIONS for mark in "o<>")
    assert drawn == len(rows)


@pytest.mark.parametrize("part", figures.SECTIONS)
def test_errors_at_the_edge_are_those_of_the_table(part):
    """A line's number is the error that the report gives for that slice: of the tested rows, weighted where slices
    share a name.
    """
    sums = whole().of(CALIBRATED).sums
    for lines in figures.sliced(part).values():
        for line in lines:
            parts = {(row.data, row.part) for row in line.rows}
            mine = [each for each in sums if (each.data, each.part) in parts]
            mine = [each for each in mine if not each.fitted] or mine
            error = sum(each.count * each.mape for each in mine) / sum(each.count for each in mine)
            assert figures._error(line.rows).strip("()") == f"{100 * error:.0f}", line.name
            assert figures._error(line.rows).startswith("(") == all(row.fitted for row in line.rows)


def test_slices_of_one_name_are_meant_to_be_one():
    """Shorter names join slices only where a list says so."""
    lines = [line for part in figures.SECTIONS for found in figures.sliced(part).values() for line in found]
    joined = {line.name: parts for line in lines if len(parts := {row.part for row in line.rows}) > 1}
    assert set(joined) == {"simulated, unfitted"} and all(
        ", simulated" in part for part in joined["simulated, unfitted"]
    )
    assert (
        figures.short("Qwen3-235B-A22B, 8 H200") == "Qwen3 235B, 8 H200"
        and figures.short("GPT-4-turbo") == "GPT-4-turbo"
    )


# --- where the time goes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slice", time_breakdown.SLICES)
def test_losses_add_up_to_the_measured_time(slice):
    """Bound and time_breakdown make the median of measured over ideal, which the bounds' rows have found in"
    " their own way."""
    found = time_breakdown.time_breakdown(slice)
    rows = [row.slow for row in whole().of(BOUND).rows if row.part == slice]
    assert sum(found.values()) == pytest.approx(statistics.median(rows), rel=1e-12)
    assert found["bound"] == 1 and all(value >= -1e-12 for name, value in found.items() if name != "unexplained")


@pytest.mark.parametrize("case", serving.trtllm()[::7], ids=lambda case: case.what)
def test_a_path_ends_where_the_prediction_does(case):
    """With all constants in, the time is the calibrated row's; no step makes a run faster; one chip loses nothing to
    links.
    """
    path = time_breakdown.path(case)
    (row,) = [
        row
        for row in runs.rows()
        if row.kind == CALIBRATED and row.what == case.what and row.why == runs.recipe_of(case).id
    ]
    assert path["unexplained"] / path["layers"] == pytest.approx(row.slow, rel=1e-12)
    steps = list(path.values())[:-1]
    assert all(after >= before * (1 - 1e-12) for before, after in itertools.pairwise(steps)) and (
        case.layout.chips > 1 or path["links"] == path["memory"]
    )


def test_fitted_slices_are_marked():
    (axes,) = picture(figures, "where").axes
    starred = [label.get_text().endswith("*") for label in axes.get_yticklabels()]
    assert starred == [
        slice
        in (
            "Llama-3.3-70B, 1 H200",
            "Llama-3.3-70B, 1 B200",
            "Qwen3-235B-A22B, 8 H200",
            "Qwen3-235B-A22B, 8 B200",
        )
        for slice in time_breakdown.SLICES
    ]


def test_an_unknown_slice_is_said():
    with pytest.raises(UnknownId, match="near: Llama-3.3-70B, 1 H200"):
        time_breakdown.time_breakdown("Llama-3.3-70B, 1 H20")


# --- the interactive chart --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live():
    return charts.fit_chart()


@pytest.mark.parametrize("family", charts.FAMILIES)
@pytest.mark.slow
def test_the_browsers_expression_is_the_prediction(family):
    """For every row: ideal, with the fitted constants, and between, where only a part is hidden."""
    between = {
        "compute_efficiency": 0.7,
        "memory_efficiency": 0.4,
        "serial_share": 0.3,
        "link_efficiency": 0.5,
        "link_latency": 2e-5,
    }
    settings = [
        (charts.START, IDEAL),
        (charts.constants(family), calibration_by_id(charts.FAMILIES[family])),
        (between, Calibration("between", "", between)),
    ]
    cases = charts.cases(family)
    data = [row for row in charts.rows() if row["family"] == family]
    for (signals_, calibration), (case, row) in itertools.product(settings, zip(cases, data, strict=True)):
        found = evaluate(charts.predicted(), datum=SimpleNamespace(**row), **signals_)
        assert row["what"] == case.what and found == pytest.approx(runs.seconds(case, calibration), rel=1e-5)


@pytest.mark.parametrize("family", charts.FAMILIES)
def test_the_result_is_the_mean_error(live, family):
    """Of the ideal machine, where the sliders start, to the four digits of each run's seconds."""
    ideal = mape(error for _, error in charts.errors(family, IDEAL))
    assert evaluate(charts.mean_error(family), **charts.START) == pytest.approx(ideal, rel=1e-3)
    assert f"mean error {100 * ideal:.0f}% on {family}" in words(moved(live, family=family))


def test_vega_itself_computes_the_same():
    """All rows of a family through Vega, at the fitted constants."""
    data = [row | {"row": n} for n, row in enumerate(charts.rows()) if row["family"] == "Hopper"]
    params = [{"name": name, "value": value} for name, value in charts.constants("Hopper").items()]
    found = vega_says(data, [charts.predicted(), "datum.measured"], params)[:, 0]
    assert list(found) == pytest.approx(
        [runs.seconds(case, calibration_by_id("trtllm-h200")) for case in charts.cases("Hopper")], rel=1e-5
    )


def moved(live, **to):
    """The spec with its controls elsewhere."""
    params = [{**param, "value": to[param["name"]]} if param["name"] in to else param for param in live.spec["params"]]
    assert set(to) <= {param["name"] for param in params}
    return {**live.spec, "params": params, "width": 600}


def words(spec):
    """What a picture of the spec says."""
    return " ".join(
        ElementTree.fromstring(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=VEGALITE)).itertext()
    )


def settings(values):
    """Constants as the sliders are set."""
    return {f"my_{name}": value for name, value in values.items() if name != "link_latency"} | {
        "latency_us": values["link_latency"] / 1e-6
    }


def reported(family, ideal=False):
    """(slice, fitted, error) of the report's rows of a family."""
    found = [row for row in runs.rows() if row.kind == CALIBRATED and row.why == charts.FAMILIES[family]]
    return [(row.part, row.fitted, 1 / row.ideal_slow - 1 if ideal else row.error) for row in found]


def head(family, found):
    """What stands above the plot of a family's errors."""
    on, other = (share(mape(error for _, fitted, error in found if fitted is way)) for way in (True, False))
    return f"{on} on rows with *, {other} elsewhere"


@pytest.mark.parametrize("family", charts.FAMILIES)
@pytest.mark.parametrize("ideal", [True, False], ids=["ideal", "fitted"])
def test_the_chart_says_the_errors_of_the_report(live, family, ideal):
    """At the right of each line, and above for fitted and other rows, stands what the rows of the report have; menu
    and sliders agree.
    """
    found = reported(family, ideal)
    menu = words(moved(live, family=family, constants="ideal" if ideal else family))
    sliders = words(moved(live, family=family, **settings(charts.START if ideal else charts.constants(family))))
    for said in (menu, sliders):
        assert all(
            share(mape(error for part, _, error in found if part == mine)) in said
            for mine in {part for part, _, _ in found}
        )
        assert head(family, found) in said
    assert menu == sliders and len(found) == sum(row["family"] == family for row in charts.rows())


def test_the_caption_counts_the_dots_in_the_band(live):
    """Those of a family's own constants as the report has them; those of the other's as the browser computes them."""
    told = re.findall(r"fitted on (\w+) bring (\d+) of its (\d+) dots .*? (\d+|none) of (\w+)’s (\d+)", live.caption)
    near = lambda errors: str(sum(abs(error) <= figures.NEAR for error in errors))
    assert [family for family, *_ in told] == list(charts.FAMILIES)
    for family, own, count, others, other, of in told:
        mine = [error for _, _, error in reported(family)]
        rows = [row for row in charts.rows() if row["family"] == other]
        seconds = [
            evaluate(charts.predicted(), datum=SimpleNamespace(**row), **charts.constants(family)) for row in rows
        ]
        assert (own, count, of) == (near(mine), str(len(mine)), str(len(rows)))
        assert others.replace("none", "0") == near(found / row["measured"] - 1 for found, row in zip(seconds, rows))


@pytest.mark.parametrize("family", charts.FAMILIES)
def test_what_the_title_prints_gives_the_errors_of_the_report(live, family):
    """A reader who sets the sliders to the digits of the fitted constants reads the same errors above the plot."""
    title = words(moved(live, family=family, constants=family))
    told = re.search(r"compute (\S+), memory (\S+), σ 1, links", title)
    rate, micro = re.search(r"links (\S+) and (\S+) µs", title).groups()
    typed = {
        "my_compute_efficiency": float(told[1]),
        "my_memory_efficiency": float(told[2]),
        "my_serial_share": 1,
        "my_link_efficiency": float(rate),
        "latency_us": float(micro),
    }
    said = words(moved(live, family=family, **typed))
    assert head(family, reported(family)) in said


@pytest.mark.parametrize("chosen", charts.FAMILIES)
def test_one_setting_is_judged_on_both_families(live, chosen):
    """Whichever family is shown, the errors of both stand above: small where the constants come from, large for the
    other.
    """
    values = calibration_by_id(charts.FAMILIES[chosen])
    errors = {family: mape(error for _, error in charts.errors(family, values)) for family in charts.FAMILIES}
    for family, other in (list(errors), list(errors)[::-1]):
        told = f"mean error {share(errors[family])} on {family}, {share(errors[other])} on {other}"
        assert told in words(moved(live, family=family, constants=chosen))
    assert min(errors, key=errors.get) == chosen and max(errors.values()) > 3 * min(errors.values())


def test_the_title_says_which_constants_count(live):
    assert "TensorRT-LLM on H100 and H200, FP8 compute 1, memory 1, σ 0, links 1 and 0 µs" in words(moved(live))
    values = charts.constants("Hopper")
    rates = ", ".join(f"{name} {values[f'{name}_efficiency']:.3g}" for name in ("compute", "memory"))
    assert f"{rates}, σ 1, links {values['link_efficiency']:.3g} and {values['link_latency'] / 1e-6:.1f} µs" in words(
        moved(live, constants="Hopper")
    )
    mine = moved(live, family="Blackwell", my_compute_efficiency=0.5, my_serial_share=0.25, latency_us=12.5)
    assert "TensorRT-LLM on B200 and GB200, FP4 compute 0.5, memory 1, σ 0.25, links 1 and 12.5 µs" in words(mine)


def test_sliders_start_at_the_ideal_machine(live):
    assert signals(live.spec["params"], *charts.START) == charts.START
    bound = {param["name"]: param for param in live.spec["params"] if "bind" in param}
    assert [param["bind"]["input"] for param in bound.values()] == ["select"] * 2 + ["range"] * 5
    for family in charts.FAMILIES:  # the fitted constants can be set, to the digits of the title
        for name, value in settings(charts.constants(family)).items():
            assert bound[name]["bind"]["min"] <= value <= bound[name]["bind"]["max"]
    assert [param["bind"]["step"] for param in bound.values() if param["bind"]["input"] == "range"] == [
        0.001,
        0.001,
        0.01,
        0.01,
        0.1,
    ]


@pytest.mark.parametrize("family", charts.FAMILIES)
def test_no_setting_brings_a_row_out_of_the_plot(live, family):
    """A step is shortest with every slider at the ideal and longest with every slider at its other end."""
    binds = {
        param["name"].removeprefix("my_"): param["bind"]
        for param in live.spec["params"]
        if param.get("bind", {}).get("input") == "range"
    }
    slowest = {name: bind["min"] for name, bind in binds.items() if name.endswith("efficiency")} | {
        "serial_share": binds["serial_share"]["max"]
    }
    slowest["link_latency"] = binds["latency_us"]["max"] * 1e-6
    slows = [
        case.measured / runs.seconds(case, calibration)
        for case in charts.cases(family)
        for calibration in (IDEAL, Calibration("slowest", "", slowest))
    ]
    low, high = live.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < min(slows) and max(slows) < 0.6 * high  # the right end is for the errors


def test_sending_is_never_the_longest_unless_links_are_made_slow():
    """What the hint says of σ = 0: with ideal links and with those of the fit, other constants ideal."""
    links = {name: value for name, value in charts.constants("Hopper").items() if name.startswith("link")}
    longest = lambda row, values: (
        row["links"] / values["link_efficiency"] + row["starts"] * values["link_latency"]
        > max(row["compute"], row["memory"])
    )
    assert not [row for row in charts.rows() for values in (charts.START, links) if longest(row, values)]
    assert [row for row in charts.rows() if longest(row, {"link_efficiency": 0.2, "link_latency": 5e-5})]


def test_who_listens_hears_runs_and_nothing_else(live):
    """Of all marks only the points of the runs speak, and they say which run and how far off."""
    speaking = [layer for layer in live.spec["layer"] if layer["mark"].get("aria", True)]
    assert len(speaking) == 1
    svg = vl_convert.vegalite_to_svg(json.dumps(moved(live)), vl_version=VEGALITE)
    said = [
        label
        for label in re.findall(r'aria-label="([^"]*)"', svg)
        if "axis" not in label and label not in (live.alt, live.spec["description"])
    ]
    runs_said = [label for label in said if label.endswith(" times the predicted time")]
    assert len(runs_said) == len(charts.cases("Hopper")) and not [
        label for label in said if re.search(r"\d\.\d{4}", label)
    ]


def test_the_chart_is_valid_small_and_loads_nothing(live):
    assert breaches(live.spec) == []
    assert "://" not in json.dumps(live.spec) and len(live.still.encode()) <= 12_000
    assert "NaN" not in live.still and len(live.alt) > 100
    sizes = [int(size) for size in re.findall(r'font-size="(\d+)px"', live.still)]
    assert min(sizes) >= 11


def test_hovering_says_what_a_row_is(live):
    tips = [tip["field"] for layer in live.spec["layer"] for tip in layer.get("encoding", {}).get("tooltip", [])]
    assert tips == ["what", "measured", "predicted", "slow"]
    assert len({row["what"] for row in charts.rows()}) == len(charts.rows())
