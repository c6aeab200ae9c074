"""Cut book/_static/math.woff, the font of formulas, from STIX Two Math: `python tools/math_font.py`, with npm.

Needed only when a formula has a letter that LETTERS lack, which tests/test_mathml.py then names.
"""

import tarfile
import tempfile
from pathlib import Path

from fontTools import subset
from page_python import find, run

TARGET = Path(__file__).resolve().parent.parent / "book" / "_static" / "math.woff"
SOURCE, FILE = "@fontsource/stix-two-math@5.3.0", "package/files/stix-two-math-latin-400-normal.woff"
LETTERS = [
    range(0x20, 0x7F),
    range(0x391, 0x3CA),  # Greek upright, and italic below
    [ord(letter) for letter in "ϕϱϵϑϖ"],
    range(0x1D434, 0x1D468),  # Latin italic, but for h, which is older
    [0x210E],
    range(0x1D6E2, 0x1D71C),
    [ord(letter) for letter in "ℒℓ→⇒←↔∑∏∫√∞∂∈−±×÷·⋅∗⊕⊗≈≠≤≥≪≫∝⌈⌉⌊⌋′|∣∥¯ˆ̂~…⋯⏟⏞"],
]


def fetch(folder):
    """The whole font, from npm."""
    run(find("npm"), "pack", SOURCE, "--silent", cwd=folder)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / FILE


def cut(source, target):
    """The letters alone, with all the sizes that they come in; letters are 40 kB of 370."""
    options = subset.Options(flavor="woff", layout_features=[], name_IDs=[0, 1, 2, 4, 5, 13, 14], hinting=False)
    font = subset.load_font(source, options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=[letter for part in LETTERS for letter in part])
    chosen.subset(font)
    subset.save_font(font, target, options)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        cut(fetch(Path(scratch)), TARGET)
    print(f"made {TARGET}, {TARGET.stat().st_size:,} bytes")
