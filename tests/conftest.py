"""What the tests stand on: the built site, a server for it and a browser; who runs which tests; what is printed."""

import contextlib
import functools
import gc
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in the build: a worker to a core
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import hypothesis
import pytest
import yaml
from browser import FLAGS, NO_CHROMIUM, find_chromium
from lessons import LESSONS
from unchanged import Unchanged

sys.modules["rfc3987_syntax"] = None  # seconds of grammars, by which jsonschema would check international addresses

ROOT = Path(__file__).resolve().parent.parent


def toc_pages():
    """The pages of the book, in order, as the table of contents names them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    below = [[chapter["file"], *(each["file"] for each in chapter.get("sections", []))] for chapter in chapters]
    return [toc["root"], *(file for files in below for file in files)]


def build_site():
    """Build the book (seconds where nothing changed) and return its directory."""
    built = subprocess.run([sys.executable, ROOT / "tools" / "build.py"], capture_output=True, text=True)
    if built.returncode:
        pytest.fail(f"the book does not build:\n{built.stdout}\n{built.stderr}", pytrace=False)
    return ROOT / "_build" / "html"


def build_once(shared):
    """Build the book, or wait until another process of this run has; `shared` is a folder that all of them have."""
    told = shared / "built.json"
    try:
        os.close(os.open(shared / "building", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        while not told.exists():
            time.sleep(0.2)
        directory = json.loads(told.read_text("utf8"))
        return Path(directory) if directory else pytest.fail("the book does not build: see the first failure")
    directory = ""
    try:
        directory = build_site()
    finally:
        (shared / "built.new").write_text(json.dumps(str(directory)), "utf8")
        (shared / "built.new").replace(told)
    return directory


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The directory of the built site."""
    own = tmp_path_factory.getbasetemp()
    return build_once(own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own)


@pytest.fixture(scope="session")
def with_python(site):
    """The site, if Python could be had when it was built."""
    if not (site / "vendor" / "labs" / "python").exists():
        missing = "the site was built without Python for its pages: npm or Node.js is missing"
        (pytest.fail if os.environ.get("EVERY_BROWSER") else pytest.skip)(missing)
    return site


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A file handler that keeps its log to itself."""

    def log_message(self, *_):
        """Say nothing."""


class QuietServer(http.server.ThreadingHTTPServer):
    """A server that says nothing of a browser that left before a file was sent."""

    def handle_error(self, request, client_address):
        """Say nothing: a page that lacks something fails its test."""


@contextlib.contextmanager
def serve(directory):
    """Serve a directory on this machine; yields the address."""
    handler = functools.partial(QuietHandler, directory=str(directory))
    with QuietServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture(scope="session")
def server(site):
    """Address of a server of the built site."""
    with serve(site) as address:
        yield address


LEADS_ON = 100  # times that a page may be asked while it is led on


def with_scripts(move):
    """A way to a page of the site that ends when its scripts have come, too, which wait until it is drawn."""
    from playwright.sync_api import Error

    @functools.wraps(move)
    def moved(page, *args, **options):
        answer = move(page, *args, **options)
        for rest in reversed(range(LEADS_ON)):
            try:
                page.evaluate("window.begun")
                break
            except Error:  # the page leads on to another, which may not have come when it is asked next
                if not rest:
                    raise
                page.wait_for_timeout(50)
                page.wait_for_load_state()
        return answer

    return moved


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; without one these tests are skipped, which is said once, and in CI they fail."""
    from playwright.sync_api import Page, sync_playwright

    with sync_playwright() as playwright:
        path = find_chromium() or playwright.chromium.executable_path
        if not Path(path).exists():
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(NO_CHROMIUM)
        Page.goto, Page.reload = with_scripts(Page.goto), with_scripts(Page.reload)
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """A page that was opened, what it asked for and what it complained of."""

    page: object
    responses: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    complaints: list = field(default_factory=list)
    first: object = None  # what was asked before any chart was


# A phone waits for a sign of its reader; nothing that is here listens to a wheel that does not turn.
LAID_OUT = "dispatchEvent(new Event('wheel')); await window.laidOut;"
SETTLED = f"""async () => {{ {LAID_OUT}
  const live = [...document.querySelectorAll('figure.interactive-chart')].map(figure => figure.ready);
  const drawn = Promise.all([document.fonts.ready, ...live]).then(() => true);
  return Promise.race([drawn, new Promise(done => setTimeout(() => done(false), 30000))]);
}}"""


@contextlib.contextmanager
def open_page(browser, url, width=1280, height=900, mode=None, first=None, **options):
    """Open an address, as a new visitor or in a mode once chosen, and wait until fonts and charts are drawn; close
    it at the end. `first` is evaluated before charts are drawn.
    """
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
    try:
        if mode:
            context.add_init_script(f"localStorage.setItem('mode', '{mode}'); localStorage.setItem('theme', '{mode}')")
        seen = Visit(context.new_page())
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("response", lambda response: seen.responses.append(response))
        seen.page.on("requestfailed", lambda request: seen.complaints.append(f"failed: {request.url}"))
        seen.page.on("pageerror", lambda error: seen.complaints.append(f"script error: {error}"))
        seen.page.on("console", lambda line: line.type in ("error", "warning") and seen.complaints.append(line.text))
        seen.page.goto(url, wait_until="load")
        seen.first = first and seen.page.evaluate(f"async () => {{ {LAID_OUT} return ({first})(); }}")
        if options.get("java_script_enabled", True) and not seen.page.evaluate(SETTLED):
            seen.complaints.append("fonts or interactive charts were not drawn within 30 s")
        yield seen
    finally:
        context.close()


@pytest.fixture
def visit(browser):
    """Open an address; the page is closed when the test ends."""
    with contextlib.ExitStack() as opened:
        yield lambda url, **options: opened.enter_context(open_page(browser, url, **options))


# --- Who runs which tests ----------------------------------------------------------------------------------

# Nearly everything that a test makes stays to the end: to look for garbage as often as Python does costs a tenth.
gc.set_threshold(100_000, 20, 100)

# One profile for all: no deadline, since a busy machine is no fault of a test; in CI the same examples each time.
hypothesis.settings.register_profile("course", deadline=None, derandomize=os.environ.get("CI") == "true")
hypothesis.settings.load_profile("course")

RUNS_NOTEBOOKS = ("test_notebooks.py", "test_build.py", "test_lesson_cells.py")
INSTALLS = {
    "test_readme.py": "clean",
    "test_launching.py": "project",
    "test_glossary.py": "small",
    "test_scaffold.py": "scaffolded",
}  # by these fixtures
# Tests of these files run readers' code, and some that never ends, in other processes or in the pages' own Python.
OTHER_PROCESSES = ("test_live_cells.py", "test_classroom.py", "test_hub.py", "test_limits.py", "test_hostile.py")
# Tests of these files go to the workers page by page, lesson by lesson or notebook by notebook, of others by file.
PIECES = {
    "test_site.py": r"\[(?:[^\]]*-)?((?:book|exercises)/[\w/]+|search)\b",
    "test_lesson_page.py": r"\[([a-z]+)",
    "test_notebooks.py": r"\[([\w/]+)(?:\.ipynb)?\]",
}
# These go with the tests of a lesson's own files: one process draws its figures and runs its simulations once for all.
OVER_LESSONS = (
    "test_figures.py",
    "test_colors.py",
    "test_prose.py",
    "test_practice.py",
    "test_interactive.py",
    "test_lesson_cells.py",
)
SAYS_THE_SAME = "test_the_ledger_says_what_the_lesson_says"  # asks for a lesson's numbers
# So does all that reads the same rows or draws the same pictures, whichever file it is in.
TOGETHER = {
    "serving": r"/test_serving_\w+\.py|\[validation\.serving_figures\]",
    "reality": r"/test_(?:validation_\w+|consistency|commands|prediction_kernels)\.py|\[validation\.figures\]",
    "gpu": r"/test_gpu_lab\.py|\[validation\.gpu_figures\]",
    "costs": r"/test_costs\.py|\[reference\.cost_charts\]",
    "claims": r"/test_claims\.py|\[reference\.claims\]",
}
# The files that take longest, so that no worker is left with one at the end.
FIRST = (
    "test_build.py",
    "test_practice.py",
    "test_prose.py",
    "test_figures.py",
    "test_interactive.py",
    "test_validation_figures.py",
    "test_costs.py",
    "test_flashcards.py",
    "test_prediction.py",
    "test_claims.py",
)


def piece(nodeid):
    """The tests that one worker runs in one go."""
    file, _, test = nodeid.partition("::")
    name = Path(file).name
    if found := re.search(PIECES.get(name, "$^"), test):
        return f"{file} {found[1]}"
    if found := re.match(rf"{SAYS_THE_SAME}\[[\w.]+-\d+-({'|'.join(LESSONS)})-", test):
        return f"lesson {found[1]}"
    for together, pattern in TOGETHER.items():
        if re.search(pattern, nodeid):
            return together
    lesson = test.partition("[")[2] if name in OVER_LESSONS else name.removeprefix("test_")
    found = re.match(rf"({'|'.join(LESSONS)})[-_\]]", lesson)
    return f"lesson {found[1]}" if found else file


def place(item):
    """Where a test stands in the order: first what needs the site but no page, so that it is built at once; what can
    be shared out in small pieces last.
    """
    name = item.path.name
    if name in PIECES:
        return (0,) if name == "test_site.py" and piece(item.nodeid) == item.nodeid.partition("::")[0] else (3,)
    return (1, FIRST.index(name)) if name in FIRST else (2,)


def pytest_collection_modifyitems(items):
    """Mark what needs the site or a kernel, or is slow, which `make check` leaves out; and put the tests in order."""
    for item in items:
        if {"site", "browser"} & set(item.fixturenames):
            item.add_marker("site")
        if item.path.name in RUNS_NOTEBOOKS:
            item.add_marker("notebook")
        if INSTALLS.get(item.path.name) in item.fixturenames or item.path.name in OTHER_PROCESSES:
            item.add_marker("slow")
    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores where any test may run, since many wait for a browser or for a time limit."""
    return min(4, (os.cpu_count() or 1) + (config.option.numprocesses == "auto"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Pieces go to the workers in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    class ByPiece(LoadScopeScheduling):
        """Pieces as `piece` has them."""

        def _split_scope(self, nodeid):
            return piece(nodeid)

    config.option.loadscopereorder = False
    return ByPiece(config, log)


def pytest_unconfigure():
    """pytest looks for garbage five times before it ends; what is there now is no garbage that anyone waits for."""
    gc.freeze()


# --- What is printed ---------------------------------------------------------------------------------------

SLOW = 5  # seconds from which on a test is named


class Progress:
    """A line for each file when its last test has run: how many, in which seconds, and the slowest if it is slow."""

    def __init__(self, terminal):
        self.terminal = terminal
        terminal.showfspath = False
        self.left, self.ran, self.seconds, self.slowest = Counter(), {}, Counter(), {}

    def pytest_collection_finish(self, session):
        """Count the tests of each file."""
        self.left = self.left or Counter(item.nodeid.partition("::")[0] for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        """The same, where workers collect."""
        self.left = self.left or Counter(id.partition("::")[0] for id in ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self):
        """No letter for each test; the summary at the end keeps its words."""
        category, _, word = yield
        return category, "", "" if category in ("", "passed") else word

    def pytest_runtest_logreport(self, report):
        """Add up; name what failed at once."""
        file, _, test = report.nodeid.partition("::")
        self.seconds[file] += report.duration
        self.slowest[file] = max(self.slowest.get(file, (0, "")), (report.duration, test))
        self.ran.setdefault(file, Counter())[report.outcome] += report.when == "call" or not report.passed
        if report.failed:
            self.terminal.write_line(f"FAILED {report.nodeid}", red=True)
        if report.when == "teardown":
            self.left[file] -= 1
            if not self.left[file]:
                self.print_line(file)

    def print_line(self, file):
        """The line of a file."""
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in self.ran[file].items() if count)
        took, test = self.slowest[file]
        slow = f"  slowest {took:.0f} s: {test[:60]}" if took >= SLOW else ""
        self.terminal.write_line(f"{file:<40} {counts:<24} {self.seconds[file]:6.1f} s{slow}")


def pytest_addoption(parser):
    """What `make check` asks for."""
    parser.addoption(
        "--unchanged", choices=("run", "skip"), default="run", help="skip tests that passed with the same files"
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Lines instead of letters, unless a person asks for more or for less."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if config.getoption("--unchanged") == "skip":
        kept = ROOT / ".pytest_cache" / "passed.json"
        config.pluginmanager.register(Unchanged(kept, piece, LESSONS, SAYS_THE_SAME))
    if terminal and config.get_verbosity() == 0 and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(terminal))


def pytest_terminal_summary(terminalreporter):
    """Say once what was not tested for want of a browser."""
    skipped = [each for each in terminalreporter.stats.get("skipped", []) if NO_CHROMIUM in str(each.longrepr)]
    if skipped:
        terminalreporter.section(f"{len(skipped):,} tests of the pages were skipped")
        terminalreporter.write_line(NO_CHROMIUM)
