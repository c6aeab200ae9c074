"""One color per quantity: figures and charts ask the table in charts/style.py by name, each quantity has its one color
everywhere, no category can be taken for a quantity, and all of them are seen in both themes.
"""

import ast
import importlib
import itertools
import json
import re
import sys
from collections import Counter, defaultdict
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import ROOT
from lessons import LESSONS, LIB, functions, interactive_charts
from matplotlib.collections import PathCollection
from matplotlib.colors import BASE_COLORS, CSS4_COLORS, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from pictures import LEAST, contrast, drawings, picture

sys.path.insert(0, str(ROOT / "tools"))
from mathml import set_formulas

from blackboard import notation
from blackboard.charts import letters, marks
from blackboard.charts.style import CATEGORIES, COLOURS, GROUNDS, INKS, QUANTITIES
from blackboard.formula import formulas
from blackboard.page import summary
from blackboard.planner.page import style

NEUTRAL = {"total", "measured", "predicted", "claimed"}  # ink or grey: told apart by their marks
CARDS = ("#F3F4F5", "#29313D")  # the shade behind a card, by theme
HUED = [name for name in QUANTITIES if name not in NEUTRAL]
OTHERS = (
    "validation.figures",
    "validation.serving_figures",
    "validation.gpu_figures",
    "reference.cost_charts",
)
DRAWN = [
    *LIB.glob("lessons/*/figures.py"),
    *LIB.glob("lessons/*/charts.py"),
    *LIB.glob("charts/*.py"),
    *(LIB / f"{name.replace('.', '/')}.py" for name in (*OTHERS, "validation.charts")),
]

# What a name beside a curve, a bar or a mark says, and the quantity whose color it must have
WORDS = {
    "weights": r"(the )?weights|(the )?weights alone|weights: .* ms",
    "kv": r"KV|KV caches?|(the )?KV cache|KV caches:.*|huge batch:\nonly KV counts",
    "compute": r"compute|compute again",
    "memory": r"memory|memory traffic|load from memory|memory of the GPU|KV cache and weights",
    "network": r"links|network|sending|scale-up.*",
    "scale_out": r"scale-out.*|change rack",
    "launch": r"launching|launches.*|gaps|layers, fixed",
    "cost": r"price|price:.*|cost floor.*",
    "measured": r"[●◆◇○]? ?measured( .*|\n.*)?",
}
PLAIN = {"#000000", "currentColor", *(ink for ink in INKS["light"].values() if INKS["light"]["bound"] == ink)}


# --- the table --------------------------------------------------------------------------------------------------------


def oklab(color):
    """A color in a space where distances are as the eye has them (Ottosson 2020)."""
    parts = np.array([part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)])
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]])
    mixed = np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
    return mixed @ np.cbrt(cones @ parts)


@pytest.mark.parametrize("tints", [COLOURS, INKS["dark"]], ids=GROUNDS)
def test_no_two_colors_are_mistaken(tints):
    """Quantities and categories are apart from each other by several just noticeable differences (0.02), and two
    categories by more.
    """
    apart = lambda pair: np.linalg.norm(oklab(tints[pair[0]]) - oklab(tints[pair[1]]))
    assert min(map(apart, itertools.combinations([*HUED, *CATEGORIES, "bound", "muted"], 2))) > 0.06
    assert min(map(apart, itertools.combinations(CATEGORIES, 2))) > 0.09


def test_categories_are_quieter_than_quantities():
    """So that a reader sees which of the two a color is."""
    chroma = lambda color: np.hypot(*oklab(color)[1:])
    assert max(map(chroma, CATEGORIES.values())) < min(chroma(QUANTITIES[name]) for name in HUED)


@pytest.mark.parametrize("name", COLOURS)
def test_lines_are_seen_in_both_themes(name):
    """At least 3 to 1 (WCAG 2.2, 1.4.11); in the dark charts draw lines in the ink of texts."""
    assert contrast(to_rgb(COLOURS[name]), to_rgb(GROUNDS["light"])) >= 3
    assert contrast(to_rgb(INKS["dark"][name]), to_rgb(GROUNDS["dark"])) >= 4.5


def inverted(color):
    """What the page's filter makes of a figure's color in the dark: invert(0.93), then hue-rotate(180deg)."""
    turn = np.array([[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]])
    return np.clip(turn @ (0.93 + np.array(to_rgb(color)) * (1 - 2 * 0.93)), 0, 1)


@pytest.mark.parametrize("name", COLOURS)
def test_figures_are_seen_in_the_dark(name):
    ground = inverted("white")
    assert contrast(inverted(COLOURS[name]), ground) >= 3
    assert contrast(inverted(INKS["light"][name]), ground) >= 4.5


def test_the_planner_has_the_same_colors():
    """Its style sheet takes all colors from the table."""
    sheet = style()
    light, dark = (dict(re.findall(r"--(\w+): (#\w+)", line)) for line in sheet.splitlines()[:2])
    assert light == {name: COLOURS[name] for name in light} and set(light) > set(HUED)
    assert dark == {name: INKS["dark"][name] for name in light}
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", "\n".join(sheet.splitlines()[2:]))
    own = {"part", "experts", "embeddings", "launching", "free", "tint", "alarm", "left"}
    assert set(re.findall(r"var\(--(\w+)\)", sheet)) - own <= set(light)


# --- letters of formulas ----------------------------------------------------------------------------------------------

NO_INDEX = r"(?<![A-Za-z\\_])(?<!_\{)(?<!mathrm\{)"
TINTS = re.compile(r"\.of-(\w+) \{ color: light-dark\((#\w+), (#\w+)\); \}")
LETTERS = {  # of the cards whose formula is known to everybody: which letters of it have a color
    "batching.memory_time": {"memory": {"tmemory", "W"}, "weights": {"bw", "Ntot"}, "kv": {"κ"}},
    "batching.compute_time": {"compute": {"tcompute", "F"}},
    "batching.critical_batch": {"compute": {"F"}, "memory": {"W"}, "weights": {"bw", "Ntot"}},
    "batching.cost_floor": {"cost": {"cmin", "pchip"}, "compute": {"F"}, "memory": {"W"}, "kv": {"κ"}},
}


def tinted_letters(formula):
    """The letters of a card's formula, as the build sets it, by the quantity whose class they have."""
    shown = set_formulas(summary.card(formula)).partition("<details")[0]
    found = defaultdict(set)
    for part in ElementTree.fromstring(re.search(r"<math.*?</math>", shown, re.S)[0]).iter():
        own = {letter.get("class", "") for letter in part.iter("mi")}
        if part.tag in ("mi", "msub") and len(own) == 1:
            (name,) = own
            text = "".join(part.itertext())
            found[name.removeprefix("of-")].add(text)
    return found


def test_no_symbol_with_a_color_is_unknown():
    assert {name for name in letters._QUANTITIES if not notation.is_declared(name)} == set()
    assert set(letters._SYMBOLS) | {"cost"} <= set(HUED)


@pytest.mark.parametrize("name", LETTERS)
def test_letters_of_a_card_have_the_class_of_their_quantity(name):
    found = tinted_letters(formulas[name])
    assert {quantity for quantity in found if quantity} == set(LETTERS[name])
    for quantity, said in LETTERS[name].items():
        assert said <= found[quantity], quantity


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_letter_of_each_card_has_the_class_of_its_quantity(lesson):
    """As often as the formula prints it, by its LaTeX; what shares a letter with something else has none."""
    for formula in [each for name, each in formulas.items() if name.startswith(f"{lesson}.")]:
        expected = Counter()
        for latex, quantity in letters.tinted().items():
            alone = re.escape(latex) + r"(?![A-Za-z_]|\^\{\*\})"
            expected[quantity] += len(re.findall(NO_INDEX + alone, formula.latex)) * letters_of(latex)
        shown = set_formulas(summary.card(formula)).partition("<details")[0]
        assert Counter(re.findall(r'<mi class="of-(\w+)"', shown)) == +expected, formula.name


def letters_of(latex):
    """How many elements of MathML print a letter: N_tot has two."""
    return len(re.findall("<mi", set_formulas(rf"\({latex}\)")))


def test_letters_have_the_colors_of_figures():
    """One rule each, on a screen alone; read on the page and on the shade of a card."""
    sheet = (ROOT / "book" / "_static" / "custom.css").read_text("utf8")
    screen = re.search(r"@media screen \{\n(  \.of-.*?)\n\}", sheet, re.S)[1]
    found = TINTS.findall(screen)
    assert sheet.count(".of-") == len(found) == len({name for name, _, _ in found})
    assert {name for name, _, _ in found} == set(letters.tinted().values())
    for name, *shown in found:
        for theme, color, ground in zip(GROUNDS, shown, CARDS):
            assert color == INKS[theme][name]
            assert contrast(to_rgb(color), to_rgb(GROUNDS[theme])) >= LEAST <= contrast(to_rgb(color), to_rgb(ground))


LOOKS = """() => ["mi.of-kv", "mi.of-compute", ".summary-card"].map((each) => {
  const { color, backgroundColor } = getComputedStyle(document.querySelector(each));
  return each === ".summary-card" ? [backgroundColor, color] : color;
})"""


@pytest.mark.parametrize("theme", GROUNDS)
def test_letters_are_colored_on_a_screen_and_black_on_paper(visit, server, theme):
    page = visit(f"{server}/book/batching.html", mode=theme).page
    rgb = lambda color: "rgb({}, {}, {})".format(*(int(color[at : at + 2], 16) for at in (1, 3, 5)))
    kv, compute, (ground, _) = page.evaluate(LOOKS)
    assert (kv, compute) == (rgb(INKS[theme]["kv"]), rgb(INKS[theme]["compute"]))
    assert ground == rgb(CARDS[list(GROUNDS).index(theme)])
    page.emulate_media(media="print")
    kv, compute, (_, text) = page.evaluate(LOOKS)
    assert kv == compute == text


# --- the sources ------------------------------------------------------------------------------------------------------

PAINTED = {"color", "c", "colors", "fc", "ec", "facecolor", "edgecolor", "mfc", "mec", "fill", "stroke", "labelcolor"}
CYCLE = {f"C{n}" for n in range(10)}  # matplotlib's own
FREE = {"white", "black", "none", "face"}
TABLES = {"COLOURS", "QUANTITIES", "CATEGORIES", "PAINTS", "INKS"}


def strings(node):
    """The texts that a node may become."""
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def looked_up(node):
    """What of a node is not inside a look-up in the table: COLOURS[...] is a name's color."""
    if (
        isinstance(node, ast.Subscript)
        and (getattr(node.value, "id", None) or getattr(node.value, "attr", "")) in TABLES
    ):
        return []
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.IfExp):
        return looked_up(node.body) + looked_up(node.orelse)
    return []


def raw(tree):
    """Colors in a module that are not asked for by name: literals, and places in a list of colors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and re.fullmatch(r"#([0-9a-fA-F]{3}){1,2}|tab:\w+", str(node.value)):
            yield node.lineno, node.value
        placed = isinstance(node, ast.Subscript) and isinstance(getattr(node.slice, "value", None), int)
        if placed and TABLES & set(re.findall(r"\w+", ast.unparse(node.value))):
            yield node.lineno, ast.unparse(node)
        pairs = []
        if isinstance(node, ast.Call):
            pairs = [(word.arg, word.value) for word in node.keywords]
        elif isinstance(node, ast.Dict):
            pairs = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values)]
        for key, value in pairs:
            if key in PAINTED:
                named = set(looked_up(value)) & (set(CSS4_COLORS) | set(BASE_COLORS) | CYCLE) - FREE
                yield from ((value.lineno, name) for name in named)


def misnamed(tree):
    """Pairs of a quantity's own word with another color's name, as ("compute", "third") or {"KV": "second"}."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = [(key, value) for key, value in zip(node.keys, node.values) if key is not None]
        elif isinstance(node, (ast.Tuple, ast.List)):
            names = all(meant(word) or word in QUANTITIES for word in strings(node))  # nothing but a list of quantities
            pairs = [] if names else list(itertools.pairwise(node.elts))
        else:
            pairs = list(itertools.pairwise(getattr(node, "args", []) if isinstance(node, ast.Call) else []))
        for one, other in pairs:
            word = one.value.strip("'") if isinstance(one, ast.Constant) and isinstance(one.value, str) else ""
            color = strings(other)[0] if strings(other) else ""
            if color in COLOURS and color not in (word, *NEUTRAL, "muted", "bound"):
                yield from ((one.lineno, word, color) for name in meant(word) if name != color)


def meant(words):
    """The quantity that words beside a curve name, if they name one."""
    return [name for name, pattern in WORDS.items() if re.fullmatch(pattern, words, re.S)]


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: "-".join(path.relative_to(LIB).with_suffix("").parts[-2:]))
def test_colors_are_asked_for_by_name(path):
    """No raw color, no place in the palette, and no quantity under another's name."""
    if path.name == "style.py":
        pytest.skip("the table itself")
    tree = ast.parse(path.read_text("utf8"))
    assert [*raw(tree), *misnamed(tree)] == []


@pytest.mark.parametrize(
    "line",
    [
        'plot(x, color="#D55E00")',
        'plot(x, color="tab:blue")',
        'plot(x, color="C0")',
        'mark = {"type": "line", "color": "orange"}',
        "plot(x, color=list(COLOURS.values())[2])",
        "plot(x, color=COLOURS[NAMES[0]] if a else 'red')",
        'name_ends(axes, [(1, "compute", "third")])',
        'parts = {"KV": "second"}',
        'marks.line("weights", "kv", encoding)',
    ],
)
def test_a_raw_color_would_be_found(line):
    tree = ast.parse(line)
    assert [*raw(tree), *misnamed(tree)]


# --- what is drawn ----------------------------------------------------------------------------------------------------


def figures(place):
    """(name, figure) of all that matplotlib draws for a lesson, or in another module."""
    if place in LESSONS:
        return [(f"{place}.{name}", picture(module, name, args)) for module, name, args in drawings(place)]
    module = importlib.import_module(f"blackboard.{place}")
    found = [(f"{place}.{name}", picture(module, name)) for name in functions(module)]
    return [(name, figure) for name, figure in found if isinstance(figure, Figure)]


def charts():
    """(name, spec) of all interactive charts."""
    drawn = {lesson: interactive_charts(lesson) for lesson in LESSONS}
    modules = [(f"lessons.{lesson}.charts", names) for lesson, names in drawn.items() if names]
    modules += [("validation.charts", None), ("reference.cost_charts", None)]
    for module, names in modules:
        found = importlib.import_module(f"blackboard.{module}")
        for name in names if names is not None else [n for n in functions(found) if n.endswith("_chart")]:
            yield f"{module}.{name}", getattr(found, name)().spec


def quoted(spec):
    """(words, color) of each text of a chart whose words stand in its spec, and (field, color) of each line."""
    for layer in spec["layer"]:
        mark = layer["mark"]
        if mark["type"] == "text" and "color" in mark:
            yield from ((words, mark["color"]) for words in re.findall(r"'([^']+)'", str(mark["text"].get("expr", ""))))
        if mark["type"] == "line":
            yield layer["encoding"]["y"]["field"], mark["color"]


def wrong(found):
    """Names of quantities that do not have their color, nor are plain."""
    for where, words, color in found:
        for name in meant(words):
            right = {to_hex(COLOURS[name]).upper(), INKS["light"][name].upper(), marks.PAINTS[name]}
            if color not in right and color not in PLAIN:
                yield where, words, name, color


@pytest.mark.parametrize("place", [*LESSONS, *OTHERS])
def test_each_quantity_has_its_color_in_every_figure(place):
    """By the words beside what is drawn."""
    found = [
        (where, text.get_text(), to_hex(text.get_color()).upper())
        for where, figure in figures(place)
        for text in figure.findobj(Text)
        if text.get_text()
    ]
    assert found and list(wrong(found)) == []


def test_each_quantity_is_named_in_a_figure():
    """No pattern looks for words that nobody uses."""
    trees = [ast.parse(path.read_text("utf8")) for path in DRAWN]
    said = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {name for words in said if isinstance(words, str) for name in meant(words)} >= set(WORDS)


def test_each_quantity_has_its_color_in_every_chart():
    """By the words beside what is drawn, and by the fields of lines."""
    found = [(where, words, color) for where, spec in charts() for words, color in quoted(spec)]
    assert list(wrong(found)) == []
    assert {"kv", "compute", "weights", "memory"} <= {name for _, words, _ in found for name in meant(words)}


def test_charts_have_colors_of_the_table():
    known = {*(color.upper() for color in COLOURS.values()), *(ink.upper() for ink in INKS["light"].values())}
    for where, spec in charts():
        colors = set(re.findall(r'"(#[0-9A-Fa-f]{3,8})"', json.dumps(spec["layer"])))
        assert {color.upper() for color in colors} <= known, where


@pytest.mark.parametrize("place", [*LESSONS, *OTHERS])
def test_marks_have_colors_of_the_table(place):
    """Lines and points of figures, bars and areas too, but for what is white, black or shaded."""
    known = {to_hex(color) for color in COLOURS.values()} | {"#ffffff", "#000000"}
    strange = defaultdict(set)
    for where, figure in figures(place):
        for axes in figure.axes:
            looks = [to_hex(line.get_color()) for line in axes.get_lines()]
            looks += [to_hex(patch.get_facecolor()) for patch in axes.patches if patch.get_fill()]
            looks += [
                to_hex(tint)
                for each in axes.collections
                if isinstance(each, PathCollection)
                for tint in each.get_facecolor()
            ]
            strange[where] |= {look for look in looks if look not in known}
    assert {where for where, looks in strange.items() if looks} == {each for each in MIXED if each in strange}


MIXED = {"paging.copy_on_write"}  # fills mixed with white
