"""The sentences of every lesson say what the formulas say, at the precision printed."""

import json
import re

import pytest
from html_fixes import keep_heads, keep_quantities, keep_values, mend_bibliography
from lessons import LESSONS, ROOT, interactive_charts, page, room, told, values
from matplotlib.text import Text
from pictures import drawings, picture

from blackboard.page.practice import problems
from blackboard.text import merge

every = pytest.mark.parametrize("lesson", LESSONS)


def text(lesson):
    """The whole page, as written."""
    return page(lesson).read_text("utf8")


def prose(lesson):
    """The page without its head and its code."""
    return re.sub(r"```\{code-cell\}.*?```", "", text(lesson).split("---", 2)[2], flags=re.S)


def typed_numbers(text: str) -> set[str]:
    """Digits that a person typed: no code, roles, links, mathematics, timestamps or names such as FP8 and H200."""
    for cut in (
        r"\{[\w:]+\}`[^`]*`",
        r"\$[^$]*\$",
        r"\]\([^)]*\)",
        r"\b\d:\d\d(:\d\d)?\b",
        r"\b[A-Za-z]+-?[A-Za-z]*\d+\w*",
        r"^\(\w+\)=$",
        r"^:.*$",
    ):
        text = re.sub(cut, " ", text, flags=re.M)
    return set(re.findall(r"½|\d[\d,.]*\d|\d", text))


@every
def test_no_number_is_typed_into_prose(lesson):
    typed = typed_numbers(prose(lesson)) - set(told(lesson, "QUOTED"))
    assert typed == set(), "compute it in numbers.py and glue it, or say in tests/NAME_page.py where it is quoted from"


def filled(lesson):
    """The page with its values put in, each between marks of where it begins and ends."""
    printed = values(lesson)
    return re.sub(r"\{glue:(?:text)?\}`(\w+)`", lambda found: f"\x02{printed[found[1]]}\x03", prose(lesson))


@every
def test_no_two_numbers_run_into_each_other(lesson):
    """ "With 64 585 GB": a value begins right after a number, or a number right after a value."""
    beside = re.findall(r".{30}\d\x03?[ \u202f]\x02\d.{12}|.{30}\d\x03[ \u202f]\d.{12}", filled(lesson))
    assert beside == [], "put a word between them"


@every
def test_no_number_is_printed_with_an_exponent(lesson):
    assert re.findall(r".{20}\de[+-]?\d+", filled(lesson)) == [], "say it with a unit, or as a power of ten"


@every
def test_nothing_is_listed_that_no_sentence_quotes(lesson):
    assert set(told(lesson, "QUOTED")) <= typed_numbers(prose(lesson)), "take it out of tests/NAME_page.py"


@every
def test_prose_and_numbers_use_the_same_names(lesson):
    used = set(re.findall(r"\{glue:(?:text)?\}`(\w+)`", text(lesson)))
    assert used == set(values(lesson)), "a number that no sentence uses, or a sentence without its number"


@every
def test_no_quantity_has_two_limits_at_one_place(lesson):
    """Rows of a table of limits: what goes where, and of which quantity."""
    formulas = vars(room(lesson, "equations"))
    tables = re.findall(r"^limits\(\[(.*?)^\]\)", text(lesson), re.S | re.M)
    rows = re.findall(r"\(eq\.(\w+), (.+?), (\S+), \"", "".join(tables))
    places = [(formulas[name].symbol, variable, to) for name, variable, to in rows]
    assert bool(rows) == bool(tables) and len(set(places)) == len(places)


def boxes(lesson):
    """The ids of the problems that the page shows one by one."""
    return re.findall(r'"([\w-]+)"', " ".join(re.findall(r"^p(?:\[|\.on_page\().*$", text(lesson), re.M)))


@every
def test_every_problem_is_on_the_page_once(lesson):
    """One by one in the text, or all others in the practice at its end."""
    shown, known = boxes(lesson), {view.problem.id for view in problems(lesson)}
    assert len(set(shown)) == len(shown) and set(shown) <= known
    assert set(shown) == known or text(lesson).count("\np.practice()\n") == 1


@every
def test_objectives_are_met_by_problems(lesson):
    """Each thing that the page promises has a problem, and no problem stands apart from all promises."""
    promised = {v.problem.objective for v in problems(lesson)}
    assert promised and all(promised)


# --- one way to write things ------------------------------------------------------------------------------------------

UNITS = r"(?:[kMGTP]?B|[kMGTP]?FLOPs?|[mµn]?s|W|kW|GB/s|TB/s|million|billion|trillion)"
UNUSUAL = {  # what a reader would see in two ways, and how it is written
    r"\d[ \u00a0\u202f]%": "a percent sign follows its number",
    rf"(?<![\w.-])\d[\d.,]*{UNITS}\b": "a space stands between a number and its unit",
    r"\w\*\*\d|\b(?:s|FLOP|byte)\*\w": "units have dots and powers: s·chip, m²",
}
NAMES = r"\b(?:[ABHVL]\w*\d\w*(?: SXM\d?)?|LLäMmlein|GBert|DeepSeek|Qwen\S*|Llama \S+) \d+[GTM]?B\b|\b\d+[.\d]*B\b"


CODE = re.compile(r"`[^`]*`|\$[^$]*\$|\\\(.*?\\\)", re.S)  # and mathematics
TYPED = r"\b(?:[A-Za-z]_\w+|kappa|alpha|beta|gamma|\w+_\w+)\b"


def unusual(text):
    """Places where a text is not written as all others are; names of products are as their makers write them."""
    text = re.sub(NAMES, "", text)
    return [
        (found[0], way) for pattern, way in UNUSUAL.items() for found in re.finditer(rf".{{0,20}}(?:{pattern})", text)
    ]


@pytest.mark.parametrize("text", ["43 % of it", "83.9GB", "takes 20ms", "s*chip", "kg/meter**2"])
def test_another_way_to_write_would_be_found(text):
    assert unusual(text)


@every
def test_prose_is_written_in_one_way(lesson):
    assert unusual(re.sub(r"\x02|\x03|`[^`]*`|\$[^$]*\$", "", filled(lesson))) == []


@every
def test_heads_of_tables_begin_with_a_capital(lesson):
    """As in the tables that Python makes; a name keeps its letters."""
    heads = re.findall(r"^\|(.+)\|\n\|[-: |]+\|$", (ROOT / "book" / f"{lesson}.md").read_text("utf8"), re.M)
    told = [cell.strip() for head in heads for cell in head.split("|")]
    assert [each for each in told if re.match(r"[a-z](?!LLM)", each)] == []


@every
def test_problems_are_written_in_one_way(lesson):
    """Statements and solutions; and names that are to be typed, such as N_act, are in the font of code."""
    found = []
    for view in problems(lesson):
        said = [CODE.sub("", text) for text in (view.statement, *view.problem.lines(view.problem.values()))]
        found += [(view.problem.id, each) for text in said for each in unusual(text)]
        found += [(view.problem.id, name) for name in re.findall(TYPED, said[0])]
    assert found == []


@every
def test_pictures_are_written_in_one_way(lesson):
    """Texts of figures and captions, and what interactive charts say."""
    for figures, name, args in drawings(lesson):
        figure = picture(figures, name, args)
        said = [figure.caption, figure.alt, *(text.get_text() for text in figure.findobj(Text))]
        assert [found for text in said for found in unusual(text)] == [], name
        assert not [text for text in said[2:] if "'" in text or '"' in text], name
    for name in interactive_charts(lesson):
        chart = getattr(room(lesson, "charts"), name)()
        assert unusual(chart.caption) + unusual(chart.alt) + unusual(json.dumps(chart.spec["title"])) == [], name


@pytest.mark.parametrize("place", ["exercises", "exercises/solutions"])
@every
def test_notebooks_are_written_in_one_way(lesson, place):
    cells = json.loads((ROOT / place / f"{lesson}.ipynb").read_text("utf8"))["cells"]
    said = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert [found for text in said for found in unusual(CODE.sub("", text))] == []


def test_the_bibliography_shows_no_keys():
    """Citations have authors and years, so an entry needs no key."""
    entry = (
        '<div class="citation" id="id3" role="doc-biblioentry">\n<span class="label"><span class="fn-bracket">[</span>'
        'PP26<span class="fn-bracket">]</span></span>\n<p>Reiner Pope.</p>\n</div>'
    )
    expected = '<div class="citation" id="id3" role="listitem">\n<p>Reiner Pope.</p>\n</div>'
    assert mend_bibliography(entry) == expected


def test_authors_who_are_not_named_are_called_by_one_word():
    """References say "et al.", entries that name the first alone "and others"."""
    assert mend_bibliography("<a>Sardana <em>et al.</em>, 2024</a>") == "<a>Sardana and others, 2024</a>"


def test_a_name_that_two_parts_give_is_an_error():
    assert merge({"a": "1"}, {"b": "2"}) == {"a": "1", "b": "2"}
    with pytest.raises(ValueError, match="given twice: b"):
        merge({"a": "1", "b": "2"}, {"b": "2"})


def test_no_line_parts_a_letter_from_its_value():
    math = "<math><mi>g</mi></math>"
    assert keep_values(f"at {math} = 2.5, and") == f'at <span class="date">{math}\u00a0=\u00a02.5,</span> and'
    marked = '<span class="pasted-text">2 ms</span>'
    number = "<math><mn>39.9</mn></math>"
    assert keep_values(f"in {number} ms, for") == f'in <span class="date">{number}\u00a0ms,</span> for'
    assert keep_values(f"of {number} steps") == f"of {number} steps"
    assert keep_values(f"{math} = {marked}.") == f'<span class="date">{math}\u00a0=\u00a0{marked}</span>.'
    assert keep_values(f"{math} is large") == f"{math} is large"


def test_no_line_parts_a_number_from_what_stands_before_it():
    """A line may break before a sign that is not one of equality; what follows the sign may be in a tag of its own."""
    assert keep_quantities("3.2 × 442 / 416 = 3.4") == "3.2 ×\u00a0442 /\u00a0416\u00a0=\u00a03.4"
    assert keep_quantities(" / ") == " /\u00a0"
    assert keep_quantities("A 0.5, from 0 to 1, in 6 ms") == "A\u00a00.5, from 0 to\u00a01, in 6\u00a0ms"
    assert keep_quantities("one / two, to 1, and 2 of them") == "one / two, to 1, and 2 of them"
    head = '<thead><th title="DeepSeek-V3">DeepSeek-V3</th></thead><th>DeepSeek-V3</th>'
    assert keep_heads(head) == head.replace(
        ">DeepSeek-V3</th></thead>", '><span class="date">DeepSeek-V3</span></th></thead>'
    )
