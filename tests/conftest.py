"""What the site tests stand on: the built site, a server for it and a browser."""

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def toc_pages():
    """The pages of the book, in order, as the table of contents names them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


def find_chromium():
    """Path of a Chromium: the variable CHROMIUM, else what the PATH has; None where there is none."""
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def build_site():
    """Build the book (seconds where nothing changed) and return its directory."""
    built = subprocess.run([sys.executable, ROOT / "tools" / "build.py"], capture_output=True, text=True)
    if built.returncode:
        pytest.fail(f"the book does not build:\n{built.stdout}\n{built.stderr}", pytrace=False)
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def site():
    """The directory of the built site."""
    return build_site()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A file handler that keeps its log to itself."""

    def log_message(self, *_):
        """Say nothing."""


@contextlib.contextmanager
def serve(directory):
    """Serve a directory on this machine; yields the address."""
    handler = functools.partial(QuietHandler, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture(scope="session")
def server(site):
    """Address of a server of the built site."""
    with serve(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; without one these tests are skipped by name, and in CI they fail."""
    path = find_chromium()
    if path is None:
        reason = "no Chromium found: install it, or name it in the environment variable CHROMIUM"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
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


SETTLED = """async () => {
  const live = [...document.querySelectorAll('figure.explorable')].map(figure => figure.ready);
  const drawn = Promise.all([window.MathJax?.startup?.promise, ...live]).then(() => true);
  return Promise.race([drawn, new Promise(done => setTimeout(() => done(false), 30000))]);
}"""


@pytest.fixture
def visit(browser):
    """Open an address, as a new visitor or in a mode once chosen, and wait until formulas and explorables are drawn."""
    contexts = []

    def go(url, width=1280, height=900, mode=None):
        context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        contexts.append(context)
        if mode:
            context.add_init_script(f"localStorage.setItem('mode', '{mode}'); localStorage.setItem('theme', '{mode}')")
        seen = Visit(context.new_page())
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("response", lambda response: seen.responses.append(response))
        seen.page.on("requestfailed", lambda request: seen.complaints.append(f"failed: {request.url}"))
        seen.page.on("pageerror", lambda error: seen.complaints.append(f"script error: {error}"))
        seen.page.on("console", lambda line: line.type in ("error", "warning") and seen.complaints.append(line.text))
        seen.page.goto(url, wait_until="load")
        if not seen.page.evaluate(SETTLED):
            seen.complaints.append("formulas or explorables were not drawn within 30 s")
        return seen

    yield go
    for context in contexts:
        context.close()
