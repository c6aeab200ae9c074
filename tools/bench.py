"""The benchmark: what the course costs in time and bytes on this machine. It prints; it judges nothing.

Run through `python tools/course.py bench`. Machines are shared and noisy: medians of several runs, and ratios taken in
one run, are worth more than any single figure.
"""

from __future__ import annotations

import gzip
import io
import itertools
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import course
from mutate import copy_tracked, link_page_python

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "lib/blackboard/lessons/paging/figures.py"  # edited to see what runs again
EDIT = "\n\n# edited\n"  # as ruff would have it
sys.path.insert(0, str(ROOT / "tests"))  # the browser and the server that the tests use


def say(what: str, value: float | str, unit: str = "", aim: str = "") -> None:
    """One line of the report."""
    shown = value if isinstance(value, str) else f"{value:,.3g}"
    print(f"{what:<58} {shown:>12} {unit:<12} {aim}", flush=True)


def median(run, repeats: int = 5) -> float:
    """Median seconds of a call that times itself."""
    return statistics.median(run() for _ in range(repeats))


def per_call(function, number: int) -> float:
    """Median microseconds of a call."""
    return median(lambda: timeit.timeit(function, number=number) / number) * 1e6


def formulas() -> None:
    """Grid throughput and scalar calls of the full step time."""
    import numpy as np

    from blackboard.catalogue import model, system
    from blackboard.lessons.batching.equations import step_time

    net, rack = model("deepseek-v3").symbols("fp8"), system("gb200-nvl72").symbols("fp8")
    known = net | {n: rack[n] for n in ("flops", "bandwidth")} | dict(batch=256, context=1000)
    at = step_time.bind(model("deepseek-v3"), system("gb200-nvl72"))
    batch, context = np.geomspace(1, 1e5, 500)[:, None], np.geomspace(1, 1e6, 500)[None, :]
    seconds = median(lambda: timeit.timeit(lambda: at(batch=batch, context=context), number=40) / 40)
    say("full step time over a grid, specialised", batch.size * context.size / seconds, "configs/s", "aim ≥ 1e8")
    needed = {name: known[name] for name in step_time.free}
    say(f"one scalar call, its {len(needed)} symbols", per_call(lambda: step_time(**needed), 20_000), "µs", "aim ≤ 5")
    say(f"the same among {len(known)} symbols", per_call(lambda: step_time(**known), 20_000), "µs")
    say("one scalar call after given", per_call(lambda: at(batch=256, context=1000), 20_000), "µs", "aim ≤ 1")


def imports() -> None:
    """Seconds of fresh interpreters that import, less an empty one."""

    def fresh(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
        return time.perf_counter() - start

    empty = median(lambda: fresh("pass"), 5)
    say("import blackboard", median(lambda: fresh("import blackboard"), 5) - empty, "s", "aim ≤ 0.6")
    everything = "import blackboard.lessons.batching.equations, blackboard.page.practice, blackboard.catalogue"
    say(
        "import equations, practice and catalogue (with SymPy, pint)", median(lambda: fresh(everything), 5) - empty, "s"
    )
    say("of which SymPy and pint alone", median(lambda: fresh("import sympy, pint"), 5) - empty, "s")


def checks() -> None:
    """Milliseconds of a check, by kind of problem."""
    from blackboard.page.practice import lessons, problems

    typed = {"quantity": "12.5 ms", "estimate": "3000", "choice": "b", "ordering": "cdab", "expression": "2*B*N_act/F"}
    for lesson in lessons():
        for kind in (*typed, "function"):
            views = [v for v in problems(lesson) if v.problem.kind == kind]
            answer = typed.get(kind) or (lambda **known: 1.0)
            ms = [per_call(lambda: v.check(answer), 5) / 1e3 for v in views]
            if ms:
                say(f"{lesson}: check, {kind} (slowest of {len(ms)})", max(ms), "ms", "aim ≤ 5")


@contextmanager
def clean_copy() -> Iterator[Path]:
    """A copy of the project without anything made, but with the Python for its pages, where that has been fetched."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch).resolve()
        copy_tracked(ROOT, project)
        link_page_python(ROOT, project)
        for command in (["init", "--quiet"], ["add", "--all"]):  # make check asks git which files there are
            subprocess.run(["git", *command], cwd=project, check=True)
        yield project


def run_command(project: Path, name: str) -> tuple[float, str, bool]:
    """Seconds of one of the course's commands in a copy of the project, what it printed, and whether it went well."""
    command = [sys.executable, *course.COMMANDS[name][1][1:]]
    environment = course.with_bytecode() | {"PYTHONPATH": str(project / "lib")}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout + done.stderr, not done.returncode


def build_copy(project: Path) -> tuple[float, str]:
    """Seconds of one build of a copy of the project, and what it printed."""
    seconds, told, good = run_command(project, "book")
    if not good:
        sys.exit(f"the book does not build:\n{told}")
    return seconds, told


def edit(file: Path, more: str) -> None:
    """Add something at the end of a file."""
    file.write_text(file.read_text("utf8") + more, "utf8")


def books() -> None:
    """The build: from an empty cache with each notebook's seconds, then after an edit of prose and one of a lesson."""
    with clean_copy() as project:
        seconds, told = build_copy(project)
        has = "with" if (project / "_build/html/vendor/labs/python").exists() else "without"
        say(f"make book from an empty cache, {has} Python for pages", seconds, "s", "aim ≤ 90")
        for name, count, ran in re.findall(r"^(\S+) +cell (\d+)/\2  ([\d.]+) s$", told, re.M):
            say(f"of which {name}, {count} cells", float(ran), "s")
        edits = {"prose": ("book/batching.md", "\nOne more sentence.\n"), "a lesson's package": (PACKAGE, EDIT)}
        for what, (name, more) in edits.items():
            edit(project / name, more)
            seconds, told = build_copy(project)
            ran = re.search(r"(\d+) notebooks run", told)[1]
            say(f"after an edit of {what}, {ran} notebooks run", seconds, "s", "aim ≤ 5" if what == "prose" else "")


def say_suite(project: Path, name: str, what: str, aim: str) -> None:
    """The line of one of the commands that check, with its own last line."""
    seconds, told, _ = run_command(project, name)
    say(what, seconds, "s", f"{aim}: {' '.join(told.strip().splitlines()[-1:]).strip('= ')}")


def suites() -> None:
    """The two commands that check, each in a clean copy: without browser and notebooks, first and again after an edit
    of a lesson; and all of it with the book's build.
    """
    with clean_copy() as project:
        say_suite(project, "check", "make check, the first time", "aim ≤ 60")
        edit(project / PACKAGE, EDIT)
        say_suite(project, "check", "make check after an edit of a lesson's package", "aim ≤ 60")
    with clean_copy() as project:
        say_suite(project, "test", "make test, the book's build included", "aim ≤ 600")


def weights(browser, server: str, site: Path) -> None:
    """Gzipped bytes of a first load with theme and Vega, and of each page's HTML."""
    page, asked = browser.new_page(), set()
    page.on("response", lambda response: asked.add(response.url))
    page.goto(f"{server}/book/batching.html", wait_until="networkidle")
    page.evaluate("document.querySelector('figure.interactive-chart').ready")  # which asks for Vega
    page.wait_for_timeout(1500)
    files = {site / url.removeprefix(f"{server}/").split("?")[0] for url in asked if url.startswith(server)}
    size = lambda chosen: sum(len(gzip.compress(f.read_bytes())) for f in chosen if f.is_file()) / 1e6
    say("first load of a lesson, all of it, gzipped", size(files), "MB", "aim ≤ 0.9")
    say("of which pictures", size({f for f in files if "_images" in f.parts}), "MB")
    for html in sorted(site.glob("book/*.html")) + sorted(site.glob("exercises/**/*.html")):
        say(
            f"HTML of {html.relative_to(site)}, gzipped",
            len(gzip.compress(html.read_bytes())) / 1e3,
            "kB",
            "aim ≤ 60" if "batching" in html.name else "",
        )


REDRAW = """async () => {
  const figure = document.querySelector("figure.interactive-chart"); await figure.ready;
  const input = figure.querySelector("input[type=range]"), times = [];
  for (let i = 0; i < 31; i++) {
    const start = performance.now();
    input.value = Number(input.min) + (Number(input.max) - Number(input.min)) * (i % 10) / 10;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await figure.vegaView.runAsync(); times.push(performance.now() - start);
  }
  return times.slice(1).sort((a, b) => a - b)[15]; }"""

WIDGET = """
import io, ipywidgets, matplotlib; matplotlib.use("agg")
from blackboard.lessons.batching import figures
slider, out = ipywidgets.IntSlider(), ipywidgets.Image()
def redraw(change):
    picture = io.BytesIO(); figures.latency().savefig(picture, format="png"); out.value = picture.getvalue()
slider.observe(redraw, "value")
slider.value = 50
"""


def open_page(browser, server: str, name: str):
    """A page of the book with its scripts, which come once it is drawn."""
    page = browser.new_page()
    page.goto(f"{server}/book/{name}.html", wait_until="load")
    page.evaluate("window.begun")
    return page


def sliders(browser, server: str) -> None:
    """From moving a slider to the new picture: in the page, and through a kernel with ipywidgets."""
    from jupyter_client.manager import start_new_kernel

    page = open_page(browser, server, "batching")
    live = page.evaluate(REDRAW)
    manager, client = start_new_kernel(kernel_name="python3")
    client.execute_interactive(WIDGET, timeout=120)

    places = itertools.count(1)

    def trip() -> float:
        start = time.perf_counter()
        client.execute_interactive(f"slider.value = {next(places)}", timeout=60)
        return time.perf_counter() - start

    kernel = median(trip, 9) * 1e3
    manager.shutdown_kernel(now=True)
    say("slider to redraw in the page (Vega, median of 30)", live, "ms")
    say("slider to redraw through a kernel (ipywidgets, matplotlib)", kernel, "ms")
    say("ratio, kernel over page", kernel / live, "×")


# Milliseconds from a change of a field of the planner to its answer and chart: the median of each field, changed
# there and back four times.
REDRAWN = """(given) => {
  const form = document.querySelector("#plan"), field = (name) => form.querySelector(`[name=${name}]`);
  const set = (name, value) => {
    const started = performance.now();
    field(name).value = value;
    field(name).dispatchEvent(new Event("input", { bubbles: true }));
    document.body.getBoundingClientRect();
    return performance.now() - started;
  };
  for (const fold of form.querySelectorAll("details")) fold.open = true;
  for (const [name, value] of Object.entries(given)) set(name, value);
  const moved = ({ options, value }) => options
    ? [...options].find((each) => ![value, "config"].includes(each.value))?.value : 2 * (value || 1);
  return [...form.querySelectorAll(":is(select, input)[name]")].map((each) => {
    const start = each.value, other = moved(each) ?? start, times = [];
    for (let n = 0; n < 8; n++) times.push(set(each.name, n % 2 ? start : other));
    for (const [name, value] of Object.entries(given)) set(name, value);
    times.sort((a, b) => a - b);
    return (times[3] + times[4]) / 2;
  });
}"""
PLANS = (
    {"model": "llama-3.1-70b", "chip": "h100-sxm", "chips": 8},
    {"model": "deepseek-v3", "chip": "h200", "chips": 8, "engine": "sglang"},
    {"model": "gpt-oss-120b", "chip": "b200", "chips": 8},
)


def planner(browser, server: str) -> None:
    """From a change of a field of the planner to its answer and its chart, with all folds open."""
    times = []
    for given in PLANS:
        page = open_page(browser, server, "planner")
        page.wait_for_selector(".planner-chart path")
        times += page.evaluate(REDRAWN, given)
        page.close()
    say(f"a change of the planner to its chart (median of {len(times)} fields)", statistics.median(times), "ms")
    say("the slowest of them", max(times), "ms", "aim ≤ 50")


# Seconds of a check of each step of a page's lab with the course's own answer, the first of which starts Python.
CHECKS = """async (answers) => {
  await course.load("lab.js");
  const seconds = [];
  for (const step of document.querySelector("lab-box").steps) {
    step.editor.value = answers[step.name];
    const start = performance.now();
    await step.check();
    seconds.push((performance.now() - start) / 1000);
    if (!step.out.textContent.startsWith("Right.")) throw new Error(step.name + ": " + step.out.textContent);
  }
  return seconds;
}"""


def code_in_pages(browser, server: str, built: Path) -> None:
    """Python in a page: from the press of a button to its answer, the first time and then."""
    from blackboard.page.lab_worker import list_steps
    from blackboard.page.practice import lessons

    if not (built / "vendor" / "labs" / "python").exists():
        print("the book was built without Python for its pages: its speed there is not measured")
        return
    first, later = [], []
    for lesson in filter(list_steps, lessons()):
        page = open_page(browser, server, lesson)
        seconds = page.evaluate(CHECKS, {step.name: step.source for step in list_steps(lesson)})
        page.close()
        first.append(seconds[0])
        later += seconds[1:]
    say(
        f"first check in a page, with Python's start (median of {len(first)})",
        statistics.median(first),
        "s",
        "aim ≤ 10",
    )
    say(f"each later check (median of {len(later)})", 1e3 * statistics.median(later), "ms", "aim ≤ 100")
    say("the slowest of them", 1e3 * max(later), "ms", "aim ≤ 100")


def site() -> None:
    """All that needs the built site and a browser."""
    import conftest

    path = conftest.find_chromium()
    if path is None:
        print("no Chromium: page weights and sliders are not measured")
        return
    from contextlib import ExitStack

    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=path, args=conftest.FLAGS)
        built = conftest.build_site()
        server = stack.enter_context(conftest.serve(built))
        weights(browser, server, built)
        sliders(browser, server)
        planner(browser, server)
        code_in_pages(browser, server, built)


def hub() -> None:
    """A class on a JupyterHub, where its programs are found."""
    import hub_trial

    from blackboard.reference.hub_trials import list_measurements

    if missing := hub_trial.find_hub():
        print(f"no {', '.join(missing)}, so no class is tried; to install: {' && '.join(hub_trial.INSTALL)}")
        return
    with redirect_stdout(io.StringIO()):  # its progress
        trial, failures = hub_trial.try_class()
    say("students at once on a JupyterHub", str(trial.students))
    for what, value in list_measurements(trial).items():
        say(what, value)
    print(*failures, sep="\n", end="\n" if failures else "")


PARTS = (
    formulas,
    imports,
    checks,
    books,
    site,
    suites,
    hub,  # puts programs on the PATH, so it is the last
)


def main() -> None:
    """Everything, in this order."""
    print(
        f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}, {os.cpu_count()}"
        " cores"
    )
    for part in PARTS:
        part()


if __name__ == "__main__":
    main()
