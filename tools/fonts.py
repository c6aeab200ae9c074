"""Cut the book's fonts from packages of npm: `python tools/fonts.py`.

Text has Source Serif 4, formulas STIX Two Math. Figures have Arimo, whose letters are as wide as Arial's: matplotlib
places texts by it, and pages have it where a system has no Arial. Formulas in figures have the letters of the page's.
Needed only when a formula has a letter that LETTERS lack, which tests/test_mathml.py then names; a letter that TEXT
lacks is set in what the system has.
"""

import copy
import itertools
import tarfile
import tempfile
from pathlib import Path

from fontTools import merge, subset
from page_python import find, run

ROOT = Path(__file__).resolve().parent.parent
STATIC, FIGURES = ROOT / "book" / "_static", ROOT / "lib" / "blackboard" / "charts" / "fonts"
FORMULAS = STATIC / "math.woff2"
STIX, SLANTED, ARIMO, SERIF = "stix-two-math", "stix-two-text", "arimo", "source-serif-4"
VERSIONS = {STIX: "5.3.0", SLANTED: "5.3.0", ARIMO: "5.3.0", SERIF: "5.3.1"}
STYLES = {"regular": "400-normal", "italic": "400-italic", "bold": "700-normal"}
TEXTS = STYLES | {"bold": "600-normal"}
TEXT = [*range(0x20, 0x7F), *map(ord, "\u00a0¢±²³µ·¹½ÊÍ×äéíñ÷üαβγηκλμστφ–—‘’“”…−")]
SIGNS = [ord(letter) for letter in "\u2002χ↑↓"]  # in controls and charts
ROOT_STEP = 120  # thousandths of an em between sizes of √: taller by more, the sign would hang below its line
LETTERS = [
    range(0x20, 0x7F),
    range(0x391, 0x3CA),  # Greek upright, and italic below
    [ord(letter) for letter in "ϕϱϵϑϖ"],
    range(0x1D434, 0x1D468),  # Latin italic, but for h, which is older
    [0x210E],
    range(0x1D6E2, 0x1D71C),
    [ord(letter) for letter in "ℒℓ→⇒←↔∑∏∫√∞∂∈−±×÷·⋅∗⊕⊗≈≠≤≥≪≫∝⌈⌉⌊⌋′|∣∥¯ˆ̂~…⋯⏟⏞"],
]


def fetch(name, folder):
    """The folder with a font's files and its license, from npm."""
    run(find("npm"), "pack", f"@fontsource/{name}@{VERSIONS[name]}", "--silent", cwd=folder)
    with tarfile.open(next(folder.glob(f"*{name}-*.tgz"))) as archive:
        archive.extractall(folder / name, filter="data")
    return folder / name / "package"


def cut(font, letters, options, target):
    """Write a font's letters, all or those that are named."""
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=letters or font.getBestCmap())
    chosen.subset(font)
    subset.save_font(font, target, options)


def cut_faces(package, name, styles, options, target, letters=None):
    """Latin and Greek letters in one file for each style, all or those that are named."""
    for style, file in styles.items():
        font = merge.Merger().merge([package / "files" / f"{name}-{part}-{file}.woff" for part in ("latin", "greek")])
        cut(font, letters, options, target(style))


def cut_text(package):
    """Letters, figures and signs of running text, 12 kB a style."""
    names = [0, 13, 14]  # license, not name, which Adobe keeps for whole fonts
    options = subset.Options(flavor="woff2", layout_features=["kern", "liga"], name_IDs=names, hinting=False)
    cut_faces(package, SERIF, TEXTS, options, lambda style: STATIC / f"text-{style}.woff2", TEXT)


def cut_math(package):
    """The letters alone, with all the sizes that they come in; letters are 30 kB of 370."""
    options = subset.Options(flavor="woff2", layout_features=[], name_IDs=[0, 1, 2, 4, 5, 13, 14], hinting=False)
    font = subset.load_font(package / "files" / "stix-two-math-latin-400-normal.woff", options)
    font["MATH"].table.MathConstants.SubscriptBaselineDropMin.Value = -200  # or those of p and β would hang lower
    size_roots(font)
    cut(font, [letter for part in LETTERS for letter in part], options, FORMULAS)


def size_roots(font):
    """Signs of roots between those that the font has, which are half a line apart, with a stub of a bar that ends where
    the stroke does: browsers round the bar beside it to whole pixels, and the two would meet in a step.
    """
    glyphs, table = font["glyf"], font["MATH"].table.MathVariants
    signs = table.VertGlyphConstruction[table.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord("√")])]
    records, found = signs.MathGlyphVariantRecord, []
    for record, after in itertools.zip_longest(records, records[1:]):
        end_stub(font, record.VariantGlyph)
        found.append(record)
        most = after.AdvanceMeasurement if after else 0
        for height in range(record.AdvanceMeasurement + ROOT_STEP, most - ROOT_STEP // 2, ROOT_STEP):
            made, name = copy.deepcopy(record), f"root{height}"
            made.VariantGlyph, made.AdvanceMeasurement = name, height
            glyphs[name] = raised(glyphs[record.VariantGlyph], height - record.AdvanceMeasurement, glyphs)
            font["hmtx"][name] = font["hmtx"][record.VariantGlyph]
            found.append(made)
    signs.MathGlyphVariantRecord, signs.VariantCount = found, len(found)


def end_stub(font, name):
    """Cut the bar of a sign of a root to what its stroke needs."""
    glyph = font["glyf"][name]
    corner = max(x for x, y in glyph.coordinates if y < glyph.yMax - 1 and x < glyph.xMax)  # of stroke and bar
    for n, (x, y) in enumerate(glyph.coordinates):
        if x == glyph.xMax:
            glyph.coordinates[n] = corner, y
    glyph.recalcBounds(font["glyf"])
    font["hmtx"][name] = corner - 20, glyph.xMin  # the bar begins in the stroke


def raised(glyph, more, glyphs):
    """A sign of a root whose bar is higher by so much; its hook stays."""
    glyph = copy.deepcopy(glyph)
    for n, (x, y) in enumerate(glyph.coordinates):
        if y > glyph.yMax - 100:
            glyph.coordinates[n] = x, y + more
    glyph.recalcBounds(glyphs)
    return glyph


def cut_drawn_math(math, slanted):
    """Letters of formulas in figures, upright and italic, which matplotlib looks for in the common alphabets."""
    options = subset.Options(layout_features=[], hinting=False, notdef_outline=True)
    drawn = [letter for part in (LETTERS[0], LETTERS[1], LETTERS[-1]) for letter in part]
    upright = subset.load_font(math / "files" / f"{STIX}-latin-400-normal.woff", options)
    del upright["MATH"]
    cut(upright, drawn, options, FIGURES / "math.ttf")
    cut_faces(slanted, SLANTED, {"math-italic": "400-italic"}, options, lambda style: FIGURES / f"{style}.ttf", drawn)
    (FIGURES / "math.LICENSE.txt").write_bytes((STATIC / "math.LICENSE.txt").read_bytes())


def cut_figures(package):
    """All letters for matplotlib, without what only a screen needs, and those that pages have for a browser."""
    FIGURES.mkdir(exist_ok=True)
    options = subset.Options(layout_features=[], hinting=False, notdef_outline=True)
    cut_faces(package, ARIMO, STYLES, options, lambda style: FIGURES / f"{style}.ttf")
    packed = subset.Options(flavor="woff2", layout_features=[], hinting=False, notdef_outline=True)
    for style in ("regular", "bold"):
        font = subset.load_font(FIGURES / f"{style}.ttf", packed)
        cut(font, TEXT + SIGNS, packed, STATIC / f"sans-{style}.woff2")
    (FIGURES / "LICENSE.txt").write_bytes((package / "LICENSE").read_bytes())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        cut_text(fetch(SERIF, Path(scratch)))
        math = fetch(STIX, Path(scratch))
        cut_math(math)
        cut_drawn_math(math, fetch(SLANTED, Path(scratch)))
        cut_figures(fetch(ARIMO, Path(scratch)))
    for made in (*sorted(STATIC.glob("*.woff2")), *sorted(FIGURES.iterdir())):
        print(f"made {made}, {made.stat().st_size:,} bytes")
