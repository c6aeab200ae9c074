"""What each page of the site showed: every page is opened once for each mode, and all tests share what was seen.

The parts of a visit come in one order, whichever tests are run: none depends on another test.
"""

import functools
import gzip
from dataclasses import dataclass, field
from pathlib import Path

from conftest import SETTLED, open_page

AXE = Path(__file__).resolve().parent / "vendor" / "axe.min.js"
PHONE = {"width": 360, "height": 740}
LOADED = ("document", "script", "stylesheet", "font", "image")  # kinds of what counts as the first load


@dataclass
class Served:
    """A page from a server: as loaded, examined in light and dark, moved, on a phone and on paper."""

    requests: list = field(default_factory=list)
    complaints: list = field(default_factory=list)
    weights: dict = field(default_factory=dict)  # bytes of the first load, by address
    content: dict = field(default_factory=dict)  # as CONTENT has it
    violations: dict = field(default_factory=dict)  # by theme: (rule, elements)
    theme: str = ""  # after the switch to dark
    moved: list = field(default_factory=list)  # as MOVED has it
    phone_width: int = 0  # of what scrolls sideways, at 360 pixels
    paper: list = field(default_factory=list)  # for each explorable: whether the still and the live picture are seen


@dataclass
class FromDisk:
    """A page opened as a file."""

    requests: list
    complaints: list
    content: dict
    moved: list


# --- What is read in the page ------------------------------------------------------------------------------

SEEN = """
const seen = (node) => {
  const box = node?.getBoundingClientRect();
  return Boolean(node?.checkVisibility({ visibilityProperty: true }) && box.width > 0 && box.height > 0);
};
"""

CONTENT = (
    r"""() => {"""
    + SEEN
    + r"""
  const all = (selector, scope = document) => [...scope.querySelectorAll(selector)];
  const typed = [], article = document.querySelector("article");
  const walk = article && document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walk?.nextNode()) {
    const node = walk.currentNode, code = node.parentElement.closest("pre, code, script, template");
    if (/\\[(\[]/.test(node.data) && !code) typed.push(node.data.trim());
  }
  return {
    ids: all("[id]").map((each) => each.id),
    refused: all("mjx-merror").map((each) => each.getAttribute("title")),
    typed,
    boxes: all("practice-box").length,
    awake: all("practice-box .practice-buttons").length,
    data: all("practice-box script").length,
    explorables: all("figure.explorable").map((figure) => ({
      live: seen(figure.querySelector(".explorable-live svg")),
      still: seen(figure.querySelector(".explorable-still")),
      sliders: all("input[type=range]", figure).map(({ labels }) => [...labels].map((each) => each.innerText.trim())),
    })),
  };
}"""
)

OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"

AXE_RUN = """async (options) => {
  const { violations } = await axe.run({ ...options, resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]);
}"""

# The theme's own button: automatic, then light, then dark.
DARKEN = """() => {
  const root = document.documentElement, button = document.querySelector(".theme-switch-button");
  for (let n = 0; n < 3 && root.dataset.theme !== "dark"; n++) button.click();
  return root.dataset.theme;
}"""

# Each slider goes to its other end; its picture has two seconds to change.
MOVED = """async () => {
  const found = [];
  for (const figure of document.querySelectorAll("figure.explorable"))
    for (const input of figure.querySelectorAll("input[type=range]")) {
      const picture = () => figure.querySelector(".explorable-live svg").outerHTML;
      const before = picture(), middle = (Number(input.min) + Number(input.max)) / 2, late = Date.now() + 2000;
      input.value = Number(input.value) > middle ? input.min : input.max;
      input.dispatchEvent(new Event("input"));
      do await figure.vegaView.runAsync(); while (picture() === before && Date.now() < late);
      found.push([input.labels[0]?.innerText, picture() !== before]);
    }
  return found;
}"""

# What is drawn anew at another width has five seconds to fit.
WIDTH = """async () => {
  const late = Date.now() + 5000, figures = [...document.querySelectorAll("figure.explorable")];
  const width = () => document.documentElement.scrollWidth;
  do {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await Promise.all(figures.map((figure) => figure.vegaView?.runAsync()));
  } while (width() > innerWidth && Date.now() < late);
  return width();
}"""

PAPER = (
    """() => {"""
    + SEEN
    + """
  return [...document.querySelectorAll("figure.explorable")].map((figure) =>
    [".explorable-still img", ".explorable-live"].map((part) => seen(figure.querySelector(part))));
}"""
)

ASKED = (
    """() => {"""
    + SEEN
    + """
  const asked = [...document.querySelectorAll("practice-box .practice-ask")];
  return asked.map((each) => [seen(each), each.innerText.trim()]);
}"""
)


# --- The visits --------------------------------------------------------------------------------------------


@functools.cache
def axe():
    """The source of axe-core."""
    return AXE.read_text("utf8")


def weight(response):
    """Bytes of a response as a server would send them: text compressed, fonts as they are."""
    body = response.body()
    packed = response.url.rpartition(".")[2].startswith(("woff", "png", "jpg"))
    return len(body) if packed else len(gzip.compress(body))


def served(browser, address, weighed):
    """The evidence of a page that a server sends; `weighed` keeps the weights of what pages share."""
    with open_page(browser, address) as visit:
        page, evidence = visit.page, Served(visit.requests, visit.complaints)
        for response in [each for each in visit.responses if each.request.resource_type in LOADED]:
            if response.url not in weighed:
                weighed[response.url] = weight(response)
            evidence.weights[response.url] = weighed[response.url]
        evidence.content = page.evaluate(CONTENT)
        page.evaluate(OPEN)
        page.evaluate(axe())
        evidence.violations["light"] = page.evaluate(AXE_RUN, {})
        evidence.theme = page.evaluate(DARKEN)
        page.evaluate(SETTLED)
        evidence.violations["dark"] = page.evaluate(AXE_RUN, {"runOnly": ["color-contrast"]})
        evidence.moved = page.evaluate(MOVED)
        wide = page.viewport_size
        page.set_viewport_size(PHONE)
        evidence.phone_width = page.evaluate(WIDTH)
        page.set_viewport_size(wide)
        page.emulate_media(media="print")
        evidence.paper = page.evaluate(PAPER)
        return evidence


def from_disk(browser, address):
    """The evidence of a page opened as a file."""
    with open_page(browser, address) as visit:
        return FromDisk(visit.requests, visit.complaints, visit.page.evaluate(CONTENT), visit.page.evaluate(MOVED))


def without_scripts(browser, address):
    """For each problem of a page where no script runs: whether its question is seen, and the question."""
    with open_page(browser, address, java_script_enabled=False) as visit:
        return visit.page.evaluate(ASKED)


class Pages:
    """The evidence of every page that a test asked for; a visit that failed fails for every test that needs it."""

    def __init__(self, browser, site, server):
        self.browser, self.site, self.server = browser, site, server
        self.kept, self.weighed = {}, {}

    def keep(self, key, look):
        """What `look` saw, or the error that it ended with."""
        if key not in self.kept:
            try:
                self.kept[key] = look()
            except Exception as error:
                self.kept[key] = error
        if isinstance(self.kept[key], Exception):
            raise self.kept[key]
        return self.kept[key]

    def served(self, name):
        """A page from the server."""
        address = f"{self.server}/{name}.html"
        return self.keep(("served", name), lambda: served(self.browser, address, self.weighed))

    def from_disk(self, name):
        """A page from the disk."""
        address = f"{self.site.as_uri()}/{name}.html"
        return self.keep(("disk", name), lambda: from_disk(self.browser, address))

    def without_scripts(self, name):
        """A page in a browser that runs no script."""
        address = f"{self.server}/{name}.html"
        return self.keep(("silent", name), lambda: without_scripts(self.browser, address))
