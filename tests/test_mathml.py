"""Formulas as the build sets them."""

import json
import re
import sys
from xml.etree import ElementTree

import pytest
from conftest import ROOT, toc_pages

sys.path.insert(0, str(ROOT / "tools"))
import mathml

MATH = re.compile(r"<math.*?</math>", re.S)
ITALIC = {"h": "\u210e", "ϕ": "\U0001d719", "ϵ": "\U0001d716", "ϱ": "\U0001d71a", "ϑ": "\U0001d717", "ϖ": "\U0001d71b"}


def italic(letter):
    """What a browser draws for a letter that stands alone."""
    for first, last, target in ("A", "Z", 0x1D434), ("a", "z", 0x1D44E), ("Α", "Ω", 0x1D6E2), ("α", "ω", 0x1D6FC):
        if first <= letter <= last:
            return ITALIC.get(letter) or chr(target + ord(letter) - ord(first))
    return ITALIC.get(letter, letter)


def letters(formula):
    """The characters that the font must have for a formula."""
    tree = ElementTree.fromstring(formula)
    for part in tree.iter():
        upright = part.tag != "mi" or part.get("mathvariant") == "normal" or len(part.text or "") != 1
        yield from (part.text or "") if upright else italic(part.text)


@pytest.fixture(scope="module")
def formulas(site):
    """Every formula of the site: of its pages, and of the problems that its answer boxes draw."""
    found = [each for name in toc_pages() for each in MATH.findall((site / f"{name}.html").read_text("utf8"))]
    for path in (site / "_static" / "problems").glob("*.js"):
        found += MATH.findall(path.read_text("utf8").replace("<\\/", "</").replace('\\"', '"'))
    return found


def test_formulas_in_html_are_set_and_code_is_left():
    text = r'<p title="\(x\)">\(a &lt; b\) and <code>\(x\)</code></p> \[\frac{1}{2}\] <pre><b>\[y\]</b></pre>'
    done = mathml.set_formulas(text)
    assert done.count("<math") == 2 and "<mo>&lt;</mo>" in done and "<mfrac>" in done
    assert all(kept in done for kept in (r'title="\(x\)"', r"<code>\(x\)</code>", r"<b>\[y\]</b>"))
    assert re.findall(r'<span class="formula"><math display="block">', done)


def test_texts_of_problems_are_set_whatever_holds_them():
    data = {"ask": r"Find \(B\).", "draws": [{"hints": [r"\(x\)", "none"], "points": [1.5, {"n": 2}]}]}
    done = mathml.set_strings(data)
    assert "<math" in done["ask"] and "<math" in done["draws"][0]["hints"][0]
    assert done["draws"][0]["points"] == [1.5, {"n": 2}] and done["draws"][0]["hints"][1] == "none"


def test_brackets_grow_with_fractions_alone():
    grow = lambda tex: 'stretchy="false"' not in mathml.set_formula(tex, True)
    assert grow(r"\left(\frac{a}{b}\right)") and not grow(r"\left(N_\mathrm{tot} - N_\mathrm{act}\right)")


def test_a_sign_that_begins_a_line_has_room():
    tex = r"\begin{aligned} a &= b \\ &+ c \\ & \quad {} - d \end{aligned}"
    assert len(re.findall('<mo form="infix">[+−]</mo>', mathml.set_formula(tex, True))) == 2


def test_punctuation_stays_with_its_formula():
    body = mathml.keep_punctuation(mathml.set_formulas(r"<p>Let \(a\), and \(b\) be (\(c\) at most).</p>"))
    assert re.findall(r'<span class="unbroken">(.?)<math>.*?</math>(.?)</span>', body) == [("", ","), ("(", "")]


def test_numbers_alone_are_as_in_the_text():
    context = {"body": mathml.set_formulas(r"<p>\(300\), \(671 \div 16\), \(10^3\), \(2 x\), \(x\), \[5\]</p>")}
    mathml.mend_page(None, None, None, context, None)
    assert re.findall(r'<math class="plain">.*?</math>', context["body"]) == [
        '<math class="plain"><mn>300</mn></math>',
        '<math class="plain"><mn>671</mn><mo>÷</mo><mn>16</mn></math>',
    ]


def test_a_heading_that_is_a_symbol_has_a_name():
    context = {"body": mathml.set_formulas(r'<th scope="row">\(N_\mathrm{act}\)</th><th>\(a\) of all</th>')}
    mathml.mend_page(None, None, None, context, None)
    assert re.findall("<math.*?>", context["body"]) == ['<math role="math" aria-label="N act">', "<math>"]


def test_a_formula_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"\\nonsense"):
        mathml.set_formula(r"a + \nonsense", False)


def test_every_formula_of_the_site_is_xml_and_holds_no_tex(formulas):
    assert len(formulas) > 4000
    for formula in set(formulas):
        assert "\\" not in "".join(ElementTree.fromstring(formula).itertext()), formula


def test_the_font_has_every_letter(formulas):
    """If it lacks one, enter it in tools/fonts.py and run that."""
    from fontTools.ttLib import TTFont

    known = set(map(chr, TTFont(ROOT / "book" / "_static" / "math.woff2").getBestCmap()))
    drawn = {letter for formula in set(formulas) for letter in letters(formula) if not letter.isspace()}
    assert drawn - known - {"\u2061", "\u2062", "\ufe00"} == set()  # which are invisible


def test_the_problems_of_the_site_hold_no_tex(site):
    scripts = [path.read_text("utf8") for path in (site / "_static" / "problems").glob("*.js")]
    assert scripts and not [script[:60] for script in scripts if re.search(r"\\\\[(\[]", script)]
    assert json.dumps(r"\(")[1:-1] == r"\\("  # so it would read
