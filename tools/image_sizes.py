"""A page leaves room for its pictures before they are loaded, so that none moves what is below it; only the first is
loaded at once.
"""

import re
from functools import cache
from itertools import count

IMAGE = re.compile(r"<img\b[^>]*>")
FILE = re.compile(r' src="(?!data:)([^"?]+\.svg)"')
POINTS = re.compile(r'<svg\b[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS = 4 / 3  # of a point


def make_room(site):
    """Write sizes into all pages of a site."""
    for path in site.rglob("*.html"):
        if "_static" not in path.parts:
            text, number = path.read_text("utf8"), count()
            path.write_text(IMAGE.sub(lambda found: size_image(found[0], path.parent, next(number)), text), "utf8")


def size_image(tag, folder, number):
    """An image's tag with the size of its picture; `number` is its place among those of the page."""
    file = FILE.search(tag)
    size = read_size((folder / file[1]).resolve()) if file else ""
    later = ' loading="lazy"' if size and number and " loading=" not in tag else ""
    return tag.replace("<img", f"<img{size}{later}", 1)


@cache
def read_size(path):
    """The attributes that say how large a picture is, if it says so itself."""
    found = POINTS.search(path.read_text("utf8")) if path.exists() else None
    return ' width="{:.0f}" height="{:.0f}"'.format(*(PIXELS * float(each) for each in found.groups())) if found else ""
