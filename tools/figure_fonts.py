"""Figures bring their letters. matplotlib placed words by their widths; what a system has in Arial's stead may be
wider, so that words would run into bars and into each other.
"""

import base64
import io
import logging
import re
from pathlib import Path
from urllib.parse import quote, unquote

FACES = Path(__file__).resolve().parent.parent / "lib" / "blackboard" / "charts" / "fonts"
FAMILY = "font-family: Arial"  # the first that a figure names
STYLES = {  # and what tells of each; where more than one does, the last
    "regular": FAMILY,
    "bold": "font-weight: 700",
    "italic": "font-style: italic",
    "math": "font-family: STIX Two Math",
    "math-italic": "font-family: STIX Two Text",
}
RULES = {  # what a face is for
    "regular": FAMILY,
    "bold": f"{FAMILY}; {STYLES['bold']}",
    "italic": f"{FAMILY}; {STYLES['italic']}",
    "math": STYLES["math"],
    "math-italic": f"{STYLES['math-italic']}; {STYLES['italic']}",
}
STYLED = re.compile(r'style="([^"]*font-[^"]*)"')
FOLDERS = "_images", "_static/flashcards"
TEXT = re.compile(r">([^<>]+)<")
STILL = re.compile(r'<picture class="chart-still".*?</picture>', re.S)  # a chart that nobody has touched yet
PICTURE = re.compile(r'(?<="data:image/svg\+xml,)[^"]+')


def cut_face(style, letters):
    """The rule of CSS that brings the letters in a style, 10 kB."""
    from fontTools import subset

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells what it cuts
    options = subset.Options(flavor="woff", layout_features=[], name_IDs=[], notdef_outline=True)
    font, chosen, cut = subset.load_font(FACES / f"{style}.ttf", options), subset.Subsetter(options), io.BytesIO()
    chosen.populate(text=letters)
    chosen.subset(font)
    subset.save_font(font, cut, options)
    data = base64.b64encode(cut.getvalue()).decode()
    return f"@font-face {{ {RULES[style]}; src: url(data:font/woff;base64,{data}) format('woff') }}"


def bring_letters(site):
    """Write the letters of all figures of a site into each, in the styles that it has; a chart's into its stills."""
    found = [path for folder in FOLDERS for path in sorted(site.glob(f"{folder}/*.svg"))]
    read = {path: path.read_text("utf8") for path in found}
    figures = {path: text for path, text in read.items() if FAMILY in text}
    letters = letters_of(figures.values())
    used = {path: {style_of(told) for told in STYLED.findall(text)} for path, text in figures.items()}
    faces = {style: cut_face(style, letters) for style in STYLES if any(style in those for those in used.values())}
    for path, text in figures.items():
        rules = "".join(face for style, face in faces.items() if style in used[path])
        path.write_text(with_rules(text, rules), "utf8")
    for path in sorted(site.rglob("*.html")):
        text = path.read_text("utf8")
        if STILL.search(text):
            dressed = STILL.sub(lambda still: PICTURE.sub(lambda it: dress(it[0]), still[0]), text)
            path.write_text(dressed, "utf8")


def style_of(told):
    """The style that a text's own style, or a rule for a face, tells of."""
    return next((style for style, mark in reversed(STYLES.items()) if mark in told), "regular")


def letters_of(figures):
    """Each letter that they show, once."""
    return "".join(sorted({letter for text in figures for said in TEXT.findall(text) for letter in said}))


def with_rules(svg, rules):
    """A picture that begins with rules of CSS."""
    return re.sub(r"<svg\b[^>]*>", lambda tag: f"{tag[0]}<style>{rules}</style>", svg, count=1)


def dress(picture):
    """A picture of a still, as its address has it, with the letters that it shows."""
    svg = unquote(picture)
    return quote(with_rules(svg, cut_face("regular", letters_of([svg]))), safe="/:;=,()+@")
