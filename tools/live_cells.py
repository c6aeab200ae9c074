"""Which cells of a lesson can be edited and run in its page: those that run where there is no NumPy. Each is tried.

The results go to _build/work/live, a file for each lesson, which tools/cells.py reads.
"""

import json
import os
import re
import subprocess
import sys

from cells import choose_tags
from notebooks import ROOT, WORK, files_under, hash_of

LIVE = WORK / "live"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.M | re.S)
SHOWN = ([], ["hide-input"])  # the tags of cells whose source a page shows
ABSENT = ("numpy", "scipy", "matplotlib", "vl_convert", "PIL", "blackboard.validation", "blackboard.reference")
TRY = f"""
import contextlib, io, json, sys
for name in {ABSENT}:
    sys.modules[name] = None
from blackboard.page.live_cells import run_cell, show_value

def find_fault(cells, number):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            show_value(run_cell(cells[:number], cells[number]))
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"

asked = json.load(sys.stdin)
found = {{lesson: {{n: find_fault(cells, n) for n in numbers}} for lesson, (cells, numbers) in asked.items()}}
json.dump(found, sys.stdout)
"""


def lesson_names():
    """The lessons, which have cells to run."""
    found = (ROOT / "lib" / "blackboard" / "lessons").glob("*")
    return sorted(path.name for path in found if (ROOT / "book" / f"{path.name}.md").exists())


def read_cells(lesson):
    """The sources of a lesson's cells."""
    return [cell.strip() for cell in CELL.findall((ROOT / "book" / f"{lesson}.md").read_text("utf8"))]


def shown_cells(cells):
    """The numbers of those that the page shows."""
    return [number for number, cell in enumerate(cells) if choose_tags(cell) in SHOWN]


def state_of(lesson):
    """Hash of what a lesson's cells may use: of other lessons, their equations alone."""
    other = re.compile(rf"lib/blackboard/lessons/(?!{lesson}/)\w+/(?!equations\.py)")
    used = [path for path in files_under("lib") if not other.match(path.relative_to(ROOT).as_posix())]
    return hash_of([*used, ROOT / "book" / f"{lesson}.md", ROOT / "tools" / "live_cells.py"])


def find_faults(lessons):
    """{lesson: {number: what keeps a shown cell from running, or nothing}}, found by running them."""
    cells = {lesson: read_cells(lesson) for lesson in lessons}
    asked = json.dumps({lesson: (found, shown_cells(found)) for lesson, found in cells.items()})
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib"), "BLACKBOARD_PAGE": ""}
    ran = subprocess.run(
        [sys.executable, "-c", TRY], input=asked, capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(ran.stdout)


def renew(lessons):
    """Try the cells of lessons that have changed since they were tried."""
    LIVE.mkdir(parents=True, exist_ok=True)
    keys = LIVE / "keys"
    known = json.loads(keys.read_text("utf8")) if keys.exists() else {}
    now = {lesson: state_of(lesson) for lesson in lessons}
    stale = [lesson for lesson in lessons if known.get(lesson) != now[lesson]]
    for lesson, faults in (find_faults(stale) if stale else {}).items():
        cells, file = read_cells(lesson), LIVE / f"{lesson}.json"
        live = json.dumps({cells[int(number)]: int(number) for number, fault in faults.items() if not fault})
        if not file.exists() or file.read_text("utf8") != live:  # a page depends on it
            file.write_text(live, "utf8")
    keys.write_text(json.dumps(known | now), "utf8")
