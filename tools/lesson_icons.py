"""What a lesson is about, as a picture of 96 by 64 units and one stroke: drawn beside it on the front page.

A color is a quantity's, as in figures. A lesson that has none here shows its first figure instead.
"""

STROKE = 'fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'


def box(x, y, width, height):
    """A rectangle's outline."""
    return f"M{x} {y}h{width}v{height}h-{width}z"


def dot(x, y, r=4):
    """A circle."""
    return f"M{x - r} {y}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0-{2 * r} 0z"


def arrow(x, y, length):
    """To the right, or to the left where its length is below zero."""
    back = -4 if length > 0 else 4
    return f"M{x} {y}h{length}m{back}-4l{-back} 4l{back} 4"


def line(path, quantity=""):
    """A path that is drawn in a quantity's color, or the text's."""
    return f'<path class="of-{quantity}" d="{path}"/>' if quantity else f'<path d="{path}"/>'


def filled(path, quantity=""):
    """The same with its inside."""
    return line(path, quantity).replace("/>", ' fill="currentColor"/>')


EXPERTS = [box(8 + 17 * column, 9 + 17 * row, 12, 12) for row in range(3) for column in range(5)]
LIT = 3, 5, 12
STAGES = [[box(7 + 17 * (stage + batch), 8 + 18 * stage, 13, 12) for stage in range(3)] for batch in range(3)]
GUESSES = [box(7 + 17 * n, 36, 13, 16) for n in range(5)]
BLOCKS = [box(58, 8 + 13 * n, 30, 9) for n in range(4)]
ICONS = {
    "batching": line("M56 44H88", "memory")
    + line("M20 58L34 50", "compute")
    + line("M8 44H44L88 10")
    + filled(dot(44, 44)),
    "sparsity": "".join((filled if n in LIT else line)(each, "weights") for n, each in enumerate(EXPERTS)),
    "racks": line(box(9, 8, 26, 48) + "M9 24h26m-26 16h26" + box(61, 8, 26, 48) + "M61 24h26m-26 16h26")
    + line(arrow(41, 25, 14) + arrow(55, 39, -14), "network"),
    "pipelining": filled("".join(STAGES[0]), "compute") + line("".join(STAGES[1] + STAGES[2]), "compute"),
    "overtraining": line("M10 8C16 40 34 50 88 54")
    + line(dot(31, 41))
    + filled(dot(80, 53))
    + line(arrow(44, 31, 34), "compute"),
    "pricing": line("M8 32L26 9H88V55H26Z" + dot(28, 32))
    + filled(box(45, 37, 6, 7) + box(58, 30, 6, 14) + box(71, 20, 6, 24), "cost"),
    "reversibility": line("M8 16H34L58 48H88M8 48H34L58 16H88") + line(dot(20, 48, 8) + "M20 16V56", "memory"),
    "speculation": line(box(7, 10, 81, 14))
    + filled("".join(GUESSES[:3]), "compute")
    + line("".join(GUESSES[3:]) + "M62 41l5 6m0-6l-5 6"),
    "paging": line(
        box(8, 10, 22, 9) + box(8, 27, 22, 9) + box(8, 44, 22, 9) + "M34 15L53 37M34 32L53 13M34 49L53 51" + BLOCKS[1]
    )
    + filled(BLOCKS[0] + BLOCKS[2] + BLOCKS[3], "kv"),
    "overheads": filled(box(8, 12, 48, 12) + "".join(box(8 + 22 * n, 40, 12, 12) for n in range(4)), "compute")
    + line("M24 46h2m20 0h2m20 0h2"),
    "corpus": line("M10 8H36L46 18V56H10ZM19 28H37M19 37H37M19 46H30")
    + line("M83 27A14 14 0 1 0 84 35M84 16V27H73", "weights"),
}


def icon(lesson):
    """A lesson's picture as SVG; nothing where none is drawn."""
    return f'<svg viewBox="0 0 96 64" {STROKE} aria-hidden="true">{ICONS[lesson]}</svg>' if lesson in ICONS else ""
