"""Names in a still picture: one that leaves the plot comes back into it, and one that runs into another, or that a line
strikes, goes where there is room, as book/_static/interactive.js moves them in a live chart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG = "{http://www.w3.org/2000/svg}"
ASCENT, DESCENT = 0.9, 0.22  # of a letter, in heights of the type
LEADING = 2  # pixels between lines, as Vega sets them
_WIDTHS = {  # of letters in a sans-serif type, in its heights; the others' is 0.56
    **dict.fromkeys("ijl'|", 0.22),
    **dict.fromkeys("ftrI .,:;!/()[]-", 0.3),
    **dict.fromkeys("cksvxyzJ", 0.5),
    **dict.fromkeys("ABEKPSVXYRDHNUC&", 0.69),
    **dict.fromkeys("GOQmMw%W–", 0.82),
}
CORNER = re.compile(r"(-?[\d.]+),(-?[\d.]+)")
STRUCK = 80  # pixels that a name goes rather than have a line run through it
KEY = 5  # pixels of a key on each side of its middle
STEPS = [(float(across), float(down)) for across in range(-72, 73, 6) for down in range(-36, 37, 4)]
ElementTree.register_namespace("", SVG[1:-1])
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


class Line(NamedTuple):
    """The corners of a curve or a rule, and how far a name keeps from them."""

    corners: list[tuple[float, float]]
    reach: float


@dataclass(frozen=True)
class Box:
    """A rectangle, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def moved(self, right: float, down: float) -> Box:
        """It, elsewhere."""
        return Box(self.left + right, self.top + down, self.right + right, self.bottom + down)

    def meets(self, other: Box) -> bool:
        """Whether they have an area in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def joined(self, other: Box | None) -> Box:
        """The least rectangle around it and another."""
        if other is None:
            return self
        left, top = min(self.left, other.left), min(self.top, other.top)
        return Box(left, top, max(self.right, other.right), max(self.bottom, other.bottom))

    def is_struck(self, line: Line) -> bool:
        """Whether a line comes within its reach, two pixels below its top and above its bottom."""
        pairs = zip(line.corners, line.corners[1:])
        return any(self._is_crossed(min(ends), max(ends), line.reach) for ends in pairs)

    def _is_crossed(self, one: tuple[float, float], other: tuple[float, float], reach: float) -> bool:
        (x, y), (across, up) = one, other
        if x > self.right or across < self.left:
            return False
        slope = (up - y) / (across - x) if across > x else 0.0
        ends = [y + slope * (max(self.left, x) - x), y + slope * (min(self.right, across) - x) if across > x else up]
        return min(ends) - reach < self.bottom - 2 and max(ends) + reach > self.top + 2


def place_names(svg: str) -> str:
    """A picture by Vega with its names moved to where they can be read."""
    root = ElementTree.fromstring(svg)
    plots = {clip.get("id"): clip[0] for clip in root.iter(f"{SVG}clipPath")}
    placed: list[Box] = []
    lines = list(_lines(root))
    for before, group in _named(root):
        plot = plots[re.search(r"#([^)]+)", group.get("clip-path", ""))[1]]  # type: ignore[index]
        inside = Box(2, 0, float(plot.get("width", 0)) - 2, float(plot.get("height", 0)))
        for text in filter(_said, group):
            box = _box(text)
            key = _key(before, box)
            box = box.joined(_key_box(key))
            right, down = _way(box, inside, placed, lines)
            placed.append(box.moved(right, down))
            for mark in (text, key):
                _shift(mark, right, down)
    return ElementTree.tostring(root, encoding="unicode")


def _named(root: Element) -> Iterator[tuple[Element | None, Element]]:
    """Each group of names that a plot clips, after the group before it."""
    for parent in root.iter():
        for before, group in zip([None, *parent], parent):
            if "mark-text role-mark" in group.get("class", "") and group.get("clip-path"):
                yield before, group


def _lines(root: Element) -> Iterator[Line]:
    """The corners of each curve and each rule."""
    for group in root.iter():
        if "mark-line role-mark" in group.get("class", ""):
            for path in group:
                yield Line([(float(x), float(y)) for x, y in CORNER.findall(path.get("d", ""))], _reach(path))
        if "mark-rule role-mark" in group.get("class", ""):
            for rule in group:
                x, y = _place(rule)
                yield Line([(x, y), (x + float(rule.get("x2", 0)), y + float(rule.get("y2", 0)))], _reach(rule))


def _reach(mark: Element) -> float:
    """A bold line's width; the letters of a name may be close to a thin one."""
    return max(0.0, float(mark.get("stroke-width", 2)) - 2)


def _said(text: Element) -> bool:
    return bool("".join(text.itertext()).strip())


def _place(mark: Element) -> tuple[float, float]:
    """Where a mark stands."""
    x, y = re.search(r"translate\(([^,]+),([^)]+)\)", mark.get("transform", "translate(0,0)")).groups()  # type: ignore[union-attr]
    return float(x), float(y)


def _box(text: Element) -> Box:
    (x, y), size = _place(text), float(text.get("font-size", "12px").removesuffix("px"))
    lines = ["".join(line.itertext()) for line in text] or [text.text or ""]
    width = size * max(sum(_WIDTHS.get(letter, 0.56) for letter in line) for line in lines)
    left = x - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor", "start")]
    return Box(left, y - ASCENT * size, left + width, y + DESCENT * size + (len(lines) - 1) * (size + LEADING))


def _way(box: Box, inside: Box, placed: list[Box], lines: list[Line]) -> tuple[float, float]:
    """How far a name goes to the right and down: as little as it can, but a line through it counts as STRUCK pixels."""
    right = max(inside.left - box.left, 0) or min(inside.right - box.right, 0)
    down = max(inside.top - box.top, 0) or min(inside.bottom - box.bottom, 0)
    there = box.moved(right, down)
    ways = [*STEPS, *((0, way) for each in placed for way in (each.top - there.bottom, each.bottom - there.top))]
    best, least = (0.0, 0.0), float("inf")
    for across, up in sorted(ways, key=_far):
        at, far = there.moved(across, up), _far((across, up))
        if far >= least:
            break
        whole = inside.left <= at.left and at.right <= inside.right
        whole &= inside.top - 1 <= at.top and at.bottom <= inside.bottom + 1
        if whole and not any(map(at.meets, placed)):
            cost = far + STRUCK * sum(at.is_struck(line) for line in lines)
            if cost < least:
                best, least = (across, up), cost
    return right + best[0], down + best[1]


def _far(way: tuple[float, float]) -> float:
    return abs(way[0]) + abs(way[1])


def _key(before: Element | None, box: Box) -> Element | None:
    """The stroke or dot of a line's color beside its name: the mark before it, at the same height."""
    if before is None or "mark-symbol" not in before.get("class", "") or len(before) != 1:
        return None
    x, y = _place(before[0])
    return before[0] if box.left - 14 < x < box.right + 14 and box.top < y < box.bottom else None


def _key_box(key: Element | None) -> Box | None:
    """What a key covers, whose height no name exceeds."""
    if key is None:
        return None
    x, y = _place(key)
    return Box(x - KEY, y, x + KEY, y)


def _shift(mark: Element | None, right: float, down: float) -> None:
    if mark is not None and (right or down):
        x, y = _place(mark)
        mark.set("transform", f"translate({x + right},{y + down})")
