"""A Sphinx extension: formulas are set while the book is built, as MathML, which browsers, readers of ePub and screen
readers take as it is.
"""

import html
import re
from functools import cache
from xml.etree import ElementTree

from docutils import nodes
from math_core import LatexError, LatexToMathML
from quotes import change_texts
from sphinx.util import logging

CONVERTER = LatexToMathML(fancy_error=False)
TYPED = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.S)  # TeX in HTML, as cells and problems write it
UNTOUCHED = re.compile(r"(<pre\b.*?</pre>|<code\b.*?</code>|<script\b.*?</script>|<[^>]+>)", re.S)  # code and tags
ENTITY = re.compile(r"&(?!(?:lt|gt|amp);)\w+;")  # names that XML does not know
TALL = {"mfrac", "mtable", "munderover", "munder", "msqrt"}
BRACKETS = set("()[]{}|")
STAR = "∗"
HEADING = re.compile(r"(<th\b[^>]*>(?:<p>)?)<math>((?:(?!</math>).)*</math>(?:</p>)?</th>)", re.S)
MARKED = re.compile(r"([(\[“‘]*)(<math>(?:(?!</math>).)*</math>)([,.;:!?)\]’”]*)", re.S)

# Numbers and signs that the face of the text has, and nothing else: they look like the numbers around them.
PLAIN = re.compile(r"<math>(?=(?:</?(?:mrow|mn|mo|mspace)\b[^>]*>|[\d\s.,+−×÷=/%()·])+</math>)")


def set_formula(tex, displayed):
    """The MathML of a formula in TeX; ValueError with the formula if it cannot be read."""
    return _set(" ".join(tex.split()), displayed)


@cache
def _set(tex, displayed):
    tree = read_formula(tex, displayed)
    keep_low_brackets(tree)
    space_signs(tree)
    if displayed:
        tint_letters(tree, letter_classes())
    return ElementTree.tostring(tree, encoding="unicode")


def read_formula(tex, displayed):
    """A formula as a tree."""
    try:
        found = CONVERTER.convert_with_local_state(tex, displaystyle=displayed)
    except LatexError as error:
        raise ValueError(f"a formula cannot be set: {tex} ({error})") from error
    tree = ElementTree.fromstring(ENTITY.sub(lambda name: html.unescape(name[0]), found))
    unwrap_indices(tree)
    return tree


@cache
def letter_classes():
    """The class of each letter that is of a quantity, by the elements that print it; custom.css has their colors."""
    from blackboard.charts.letters import tinted  # tools that only measure pages do without the library

    return {ElementTree.tostring(*read_formula(tex, False)): f"of-{name}" for tex, name in tinted().items()}


def tint_letters(part, classes):
    """Give each letter of a quantity its class. What has an index, an accent or a star is a letter of its own."""
    kind, found = part.tag, classes.get(ElementTree.tostring(part))
    if found:
        for letter in part.iter("mi"):
            letter.set("class", found)
    elif kind == "msubsup" and part[2].text != STAR:
        whole = ElementTree.Element("msub")
        whole.extend(part[:2])
        tint_letters(whole, classes)
        tint_letters(part[2], classes)
    elif not (kind in ("msub", "msubsup") or part.get("accent") or (kind == "msup" and part[1].text == STAR)):
        for each in part:
            tint_letters(each, classes)


def keep_low_brackets(tree):
    """Brackets around a line of letters keep their size, as TeX has it; browsers stretch them for any index."""
    for row in tree.iter("mrow"):
        ends = [end for end in (row[:1] + row[-1:]) if end.tag == "mo" and end.text in BRACKETS]
        if len(ends) == 2 and not TALL & {part.tag for part in row.iter()}:
            for end in ends:
                end.set("stretchy", "false")


def unwrap_indices(tree):
    """A word beside others needs an empty space before it, or Firefox parts them; an index has nothing beside it."""
    for script in [part for part in tree.iter() if part.tag in ("msub", "msup", "msubsup")]:
        for place, index in enumerate(script):
            if place and [part.tag for part in index] == ["mspace", "mi"] and not index[0].attrib:
                script[place] = index[1]


def space_signs(tree):
    """A sign at the start of a further line adds to the line above; browsers take it for a sign of what follows."""
    for cell in tree.iter("mtd"):
        words = [part for part in cell if part.tag != "mspace" and (part.text or len(part))]
        if words and words[0].tag == "mo":
            words[0].set("form", "infix")


def set_formulas(text):
    r"""HTML with all \(…\) and \[…\] set, those aside that stand in code."""
    if r"\(" not in text and r"\[" not in text:
        return text
    parts = UNTOUCHED.split(text)  # words, what stays as it is, and so on
    parts[::2] = [TYPED.sub(_set_typed, words) for words in parts[::2]]
    return "".join(parts)


def _set_typed(found):
    displayed = found[1] is None
    formula = set_formula(html.unescape(found[1] or found[2]), displayed)
    return f'<span class="formula">{formula}</span>' if displayed else formula  # which scrolls where it is too wide


def set_strings(data):
    """Data as JSON has it, with the formulas in its texts set."""
    return change_texts(data, set_formulas)


# --- In the pages --------------------------------------------------------------------------------------------------


def visit_inline(translator, node):
    """A formula in the text."""
    _write(translator, node, displayed=False)


def visit_displayed(translator, node):
    """A formula of its own line."""
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    _write(translator, node, displayed=True, after="</div>\n")


def _write(translator, node, displayed, after=""):
    tex = node.astext()
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        translator.body.append(set_formula(tex, displayed) + after)
    except ValueError as error:
        logging.getLogger(__name__).warning("%s", error, location=node)
    raise nodes.SkipNode


def mend_page(_app, _page, _template, context, _doctree):
    """What a formula needs of its surroundings."""
    if "body" in context:
        body = HEADING.sub(name_symbol, keep_punctuation(context["body"]))
        context["body"] = PLAIN.sub('<math class="plain">', body)


def keep_punctuation(body):
    """A line does not break between a formula and the comma after it, or the bracket before it."""
    return MARKED.sub(lambda it: f'<span class="unbroken">{it[0]}</span>' if it[1] or it[3] else it[0], body)


def name_symbol(heading):
    """A table's heading that is one symbol has it as its name: not every checker looks into formulas for it."""
    name = " ".join(filter(str.strip, re.split(r"<[^>]+>", heading[2])))
    return f'{heading[1]}<math role="math" aria-label="{name}">{heading[2]}'


def set_outputs(_app, doctree, page):
    """Set the formulas in what cells put out."""
    for node in doctree.findall(nodes.raw):
        if "html" in node.get("format", "").split():
            try:
                node[:] = [nodes.Text(set_formulas(node.astext()))]
            except ValueError as error:
                logging.getLogger(__name__).warning("%s", error, location=page)


def setup(app):
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    app.connect("doctree-resolved", set_outputs)
    app.connect("html-page-context", mend_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
