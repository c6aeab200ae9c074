"""What each page of the site showed: every page is opened once for each mode, and all tests share what was seen.

The parts of a visit come in one order, whichever tests are run: none depends on another test. What is tried on a wide
screen in light, as most first see a page, is tried from the disk on a phone in the dark.
"""

import functools
import gzip
from dataclasses import dataclass, field
from pathlib import Path

from conftest import SETTLED, open_page

AXE = Path(__file__).resolve().parent / "vendor" / "axe.min.js"
PHONE = {"width": 360, "height": 740}
A4 = {"width": 718, "height": 1000}  # less its margins
LOADED = ("document", "script", "stylesheet", "font", "image")  # kinds of what counts as the first load


@dataclass
class Served:
    """A page from a server: as loaded, examined in light and dark, moved, on a phone and on paper."""

    requests: list = field(default_factory=list)
    complaints: list = field(default_factory=list)
    weights: dict = field(default_factory=dict)  # bytes of the first load, by address
    before: list = field(default_factory=list)  # as SHOWN has it, before any chart is drawn
    after: list = field(default_factory=list)
    content: dict = field(default_factory=dict)  # as CONTENT has it
    violations: dict = field(default_factory=dict)  # by theme: (rule, elements)
    theme: str = ""  # after the switch to dark
    moved: list = field(default_factory=list)  # as MOVED has it
    colours: dict = field(default_factory=dict)  # by theme: as COLOURS has it
    extremes: list = field(default_factory=list)  # as EXTREMES has it
    cells: dict = field(default_factory=dict)  # on a screen, a phone and paper: as CELLS has it
    phone_width: int = 0  # of what scrolls sideways, at 360 pixels
    paper: list = field(
        default_factory=list
    )  # for each interactive chart: whether the still picture and what it says are seen; what only a screen shows


@dataclass
class FromDisk:
    """A page opened as a file, on a phone, by someone who has chosen the dark."""

    requests: list
    complaints: list
    before: list
    after: list
    content: dict
    colours: dict  # of the dark
    extremes: list
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
    const node = walk.currentNode, code = node.parentElement.closest("pre, code, script, noscript, template");
    if (/\\[(\[]/.test(node.data) && !code) typed.push(node.data.trim());
  }
  return {
    ids: all("[id]").map((each) => each.id),
    typed,
    boxes: all("practice-box").length,
    awake: all("practice-box .practice-buttons").length,
    data: all("practice-box script").length,
    charts: all("figure.interactive-chart").map((figure) => ({
      live: seen(figure.querySelector(".chart-live svg")),
      still: seen(figure.querySelector(".chart-still")),
      height: figure.querySelector(".chart-box").offsetHeight,
      result: figure.querySelector(".chart-result")?.innerText ?? "",
      first: all(".chart-controls > .chart-control", figure).length,
      sliders: all("input[type=range]", figure).map(({ labels }) => [...labels].map((each) => each.textContent.trim())),
    })),
  };
}"""
)

# What a chart shows and where: before it is drawn and after.
SHOWN = """() => [...document.querySelectorAll("figure.interactive-chart")].map((figure) => {
  const parts = (...classes) => classes.map((each) => figure.querySelector(each));
  const texts = parts(".chart-result", ".chart-facts", ".chart-controls")
    .map(({ innerText }) => innerText.replaceAll("\u00a0", " ")); // which keeps a printed unit with its number
  const boxes = parts(".chart-box", ".chart-plot", ".chart-controls", "figcaption");
  const places = boxes.map((box) => box.getBoundingClientRect()).map(({ top, height }) => [top + scrollY, height]);
  const loaded = performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/vega.js"));
  return { texts, places, loaded, drawn: figure.classList.contains("chart-drawn") };
})"""

# A lab's script comes when a reader comes near.
WOKEN = "() => document.querySelector('lab-box') && course.load('lab.js')"

OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"

# What folds hid has been measured, and the keyboard reaches what scrolls.
MARKED = "async () => { await new Promise((next) => setTimeout(next, 50)); await window.laidOut; }"

# axe would keep the source of every element that it examines; only those that are told are of interest.
EXAMINE = """
const examine = async (within, options) => {
  axe.configure({ noHtml: true });
  const { violations } = await axe.run(within, { ...options, resultTypes: ["violations"], elementRef: true });
  return violations.map(({ id, nodes }) => [id, nodes.map(({ element }) => element.outerHTML.slice(0, 200))]);
};
"""
# What stands in formulas and code has no rule but contrast: where none is to be examined, a space as wide, or the bare
# text, stands for it, since axe's time goes with the number of elements.
AXE_RUN = (
    """async () => {"""
    + EXAMINE
    + """
  const plain = (element) => !element.querySelector("[data-look], [id], [tabindex], a, button");
  const bare = [...document.querySelectorAll("math, pre")].filter(plain)
    .map((element) => [element, [...element.childNodes], element.getBoundingClientRect().width]);
  for (const [element, , width] of bare) {
    const space = document.createElementNS(element.namespaceURI, "mspace");
    space.setAttribute("width", `${width}px`);
    element.replaceChildren(element.localName === "math" ? space : element.textContent);
  }
  try {
    return await examine(document, {});
  } finally {
    for (const [element, nodes] of bare) element.replaceChildren(...nodes);
  }
}"""
)
AXE_WITHIN = f"(selector) => {{ {EXAMINE} return examine(document.querySelector(selector), {{}}); }}"
OF_COLORS = {"color-contrast": "[data-look]", "link-in-text-block": "a[href][data-look]"}  # by rule: what it examines
AIMED = "(rules) => axe.configure({ rules: Object.entries(rules).map(([id, selector]) => ({ id, selector })) })"

# What the colors of a theme decide. axe needs most of its time for contrast, and of thousands of letters nearly all
# look like others: three of each look (color, large or not, what lies behind, how a link stands out) speak for all, and
# looks that another page has shown to be right need no second trial. Marks the elements and gives their looks.
LOOKS = """(known) => {
  const looks = new Map(), grounds = new Map();
  const ground = (element) => {
    if (!element) return "";
    if (!grounds.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(element);
      const own = `${backgroundColor} ${backgroundImage} ${opacity} ${position.replace("relative", "static")}; `;
      grounds.set(element, (own === "rgba(0, 0, 0, 0) none 1 static; " ? "" : own) + ground(element.parentElement));
    }
    return grounds.get(element);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !element.checkVisibility()) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element), link = element.closest("a[href]");
    const apart = link && [getComputedStyle(link).textDecorationLine, getComputedStyle(link.parentElement).color];
    const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24); // in CSS pixels, as axe has it
    const look = [color, large, textShadow, ground(element), apart].join();
    const alike = looks.get(look) ?? [];
    if (alike.length < 3 && !alike.includes(link ?? element)) looks.set(look, [...alike, link ?? element]);
  }
  for (const look of known) looks.delete(look);
  for (const marked of document.querySelectorAll("[data-look]")) marked.removeAttribute("data-look");
  for (const element of [...looks.values()].flat()) element.setAttribute("data-look", "");
  return [...looks.keys()];
}"""

# Whatever holds no marked element is out of axe's way for as long as it takes; what scripts drive stays.
CONTRAST = (
    """async (rules) => {"""
    + EXAMINE
    + """
  const stays = (element) => element.matches("[data-look], script, figure.interactive-chart")
    || element.localName.includes("-");
  const kept = new Set([null]), aside = [];
  for (let each of [...document.querySelectorAll("*")].filter(stays))
    for (kept.add(each); !kept.has(each.parentElement); each = each.parentElement) kept.add(each.parentElement);
  const clear = (element) => {
    if (stays(element)) return;
    for (const child of [...element.children]) {
      if (kept.has(child)) clear(child);
      else aside.push([child, child.cloneNode()]), child.replaceWith(aside.at(-1)[1]);
    }
  };
  clear(document.body);
  try {
    return await examine(document, { runOnly: rules });
  } finally {
    for (const [child, empty] of aside.reverse()) empty.replaceWith(child);
  }
}"""
)

# The theme's own button: automatic, then light, then dark.
DARKEN = """() => {
  const root = document.documentElement, button = document.querySelector(".theme-switch-button");
  for (let n = 0; n < 3 && root.dataset.theme !== "dark"; n++) button.click();
  return root.dataset.theme;
}"""

# Each slider goes to its other end; its picture has two seconds to change.
MOVED = """async () => {
  const found = [];
  for (const figure of document.querySelectorAll("figure.interactive-chart"))
    for (const input of figure.querySelectorAll("input[type=range]")) {
      const parts = ["svg", ".chart-result", ".chart-facts"].map((each) => figure.querySelector(each));
      const picture = () => parts.map((each) => each.outerHTML).join("");
      const before = picture(), middle = (Number(input.min) + Number(input.max)) / 2, late = Date.now() + 2000;
      input.value = Number(input.value) > middle ? input.min : input.max;
      input.dispatchEvent(new Event("input"));
      do await figure.vegaView.runAsync(); while (picture() === before && Date.now() < late);
      found.push([input.labels[0]?.textContent, picture() !== before]);
    }
  return found;
}"""

# Colours of the page and of all texts of its charts.
COLOURS = r"""() => {
  const colour = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  const texts = [...document.querySelectorAll(".chart-live svg text")]
    .filter((text) => text.textContent.trim() && text.checkVisibility());
  const dark = document.documentElement.dataset.theme === "dark";
  const hex = (text) => text.match(/[0-9A-Fa-f]{2}/g).map((digits) => parseInt(digits, 16));
  const still = (figure) => {
    const { src } = figure.querySelector(dark ? ".chart-dark-still img" : ".chart-still img");
    const drawn = new DOMParser().parseFromString(decodeURIComponent(src.slice(src.indexOf(",") + 1)), "image/svg+xml");
    return [...drawn.querySelectorAll("text")].map((text) => [text.textContent, hex(text.getAttribute("fill"))]);
  };
  const figures = [...document.querySelectorAll("figure.interactive-chart")];
  return {
    ground: colour(getComputedStyle(document.body).backgroundColor),
    texts: texts.map((text) => [text.textContent, colour(getComputedStyle(text).fill)]),
    stills: figures.flatMap(still),
  };
}"""

# Every text of a chart must be whole: inside the figure, inside what clips it, and on no other text. Two pixels of a
# line's height are free above and below its letters.
WHOLE = r"""
const clip = (text) => {
  const group = text.closest("[clip-path]");
  if (!group) return null;
  const path = document.getElementById(group.getAttribute("clip-path").match(/#([^)"]+)/)[1]).firstElementChild;
  const box = path.getBBox(), { a, d, e, f } = group.getScreenCTM();
  const [x, y] = [[box.x, box.x + box.width], [box.y, box.y + box.height]];
  return { left: a * x[0] + e, right: a * x[1] + e, top: d * y[0] + f, bottom: d * y[1] + f };
};
const outside = (box, frame, free) => box.left < frame.left - 1 || box.right > frame.right + 1
  || box.top < frame.top - 1 - free || box.bottom > frame.bottom + 1 + free;
const lookAt = (svg, tell) => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")]
    .filter((text) => text.textContent.trim() && text.checkVisibility({ opacityProperty: true }));
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect(), clip(text)]);
  boxes.forEach(([said, box, clipped], number) => {
    if (outside(box, frame, 0)) tell("leaves the figure", said);
    if (clipped && outside(box, clipped, 2)) tell("is cut off", said);
    for (const [other, there] of boxes.slice(number + 1)) {
      const across = Math.min(box.right, there.right) - Math.max(box.left, there.left);
      const down = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
      if (across > 1 && down > 1) tell("overlap", said, other);
    }
  });
};
"""

# Each control of each chart alone at each end (a menu at each of its choices), and all of them together at either.
EXTREMES = (
    """async () => {"""
    + WHOLE
    + r"""
  const look = (figure, tell) => {
    const box = figure.querySelector(".chart-box");
    if (box.scrollWidth > box.clientWidth + 1) tell("wider than its box");
    lookAt(figure.querySelector(".chart-live svg"), tell);
  };
  const tried = [];
  for (const figure of document.querySelectorAll("figure.interactive-chart")) {
    const bound = [...figure.querySelectorAll(".chart-controls [name]")].map((control) => control.tagName === "SELECT"
      ? { name: control.name, value: control.value, ends: [...control.options].map(({ value }) => value) }
      : { name: control.name, value: Number(control.value), ends: [Number(control.min), Number(control.max)] });
    const alone = bound.flatMap((each) => each.ends.map((value) => ({ [each.name]: value })));
    const together = [0, -1].map((end) => Object.fromEntries(bound.map((each) => [each.name, each.ends.at(end)])));
    const view = figure.vegaView, found = [];
    view.logLevel(2); // warnings too, such as of an axis without an end
    const set = async (state) => {
      for (const each of bound) view.signal(each.name, state[each.name] ?? each.value);
      await view.runAsync();
      await new Promise(requestAnimationFrame);
    };
    const states = [{}, ...alone, ...together];
    for (const state of states) {
      await set(state);
      look(figure, (...what) => found.push([JSON.stringify(state), ...what]));
    }
    const texts = figure.querySelectorAll("svg text").length;
    tried.push({ chart: figure.ariaLabel, states: states.length, texts, found });
    await set({});
  }
  return tried;
}"""
)

# Where the letters of a cell end, and where those of the next begin.
CELLS = r"""() => {
  const found = [], range = document.createRange();
  const letters = (cell) => {
    const boxes = [...cell.querySelectorAll("math")].map(each => each.getBoundingClientRect());
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      if (!walk.currentNode.data.trim() || walk.currentNode.parentElement.closest("math")) continue;
      range.selectNodeContents(walk.currentNode);
      boxes.push(...range.getClientRects());
    }
    const seen = boxes.filter(box => box.width > 1);
    const ends = (side) => seen.map(box => box[side]);
    const [first, last] = [Math.min, Math.max];
    if (!seen.length) return null;
    const [left, top] = ["left", "top"].map((side) => first(...ends(side)));
    const [right, bottom] = ["right", "bottom"].map((side) => last(...ends(side)));
    return { left, right, top, bottom };
  };
  for (const row of document.querySelectorAll("article tr")) {
    if (!row.checkVisibility()) continue;
    const cells = [...row.cells], boxes = cells.map(letters);
    cells.forEach((cell, number) => {
      const box = boxes[number], next = boxes[number + 1], own = cell.getBoundingClientRect();
      const tell = (what) => found.push([what, cell.innerText]);
      if (box && (box.right > own.right + 1 || box.left < own.left - 1)) tell("leaves its cell");
      const apart = next && box && (next.top >= box.bottom - 1 || next.bottom <= box.top + 1); // where a row is a card
      const flows = getComputedStyle(cell).display === "inline"; // where a row is a line of text
      if (box && next && !apart && !flows && box.right > next.left + 1) tell("overlaps the next");
    });
  }
  return found;
}"""

# What is drawn anew at another width has five seconds to fit.
WIDTH = """async () => {
  const late = Date.now() + 5000, figures = [...document.querySelectorAll("figure.interactive-chart")];
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
  return [...document.querySelectorAll("figure.interactive-chart")].map((figure) =>
    [".chart-still img", ".chart-start", ".chart-dark-still img", ".chart-live", ".chart-controls"]
      .map((part) => seen(figure.querySelector(part))));
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


def examine(page, right, examination, rules=None):
    """Violations in a page; `right` holds the looks of text that have none, and takes up new ones. Nothing is examined
    for contrast alone where no look is new.
    """
    looks = page.evaluate(LOOKS, sorted(right))
    if examination == CONTRAST and not looks:
        return []
    violations = page.evaluate(examination, rules)
    if not {rule for rule, _ in violations} & {*OF_COLORS}:
        right.update(looks)
    return violations


def served(browser, address, weighed, right):
    """The evidence of a page that a server sends; `weighed` keeps weights of what pages share, `right` their looks."""
    with open_page(browser, address, first=SHOWN) as visit:
        page, evidence = visit.page, Served(visit.requests, visit.complaints)
        for response in [each for each in visit.responses if each.request.resource_type in LOADED]:
            if response.url not in weighed:
                weighed[response.url] = weight(response)
            evidence.weights[response.url] = weighed[response.url]
        evidence.before, evidence.after = visit.first, page.evaluate(SHOWN)
        evidence.content = page.evaluate(CONTENT)
        evidence.colours["light"] = page.evaluate(COLOURS)
        evidence.extremes = page.evaluate(EXTREMES)
        page.evaluate(WOKEN)
        page.evaluate(OPEN)
        page.evaluate(MARKED)
        evidence.cells["screen"] = page.evaluate(CELLS)
        page.evaluate(axe())
        page.evaluate(AIMED, OF_COLORS)
        evidence.violations["light"] = examine(page, right, AXE_RUN)
        evidence.theme = page.evaluate(DARKEN)
        page.evaluate(SETTLED)
        evidence.violations["dark"] = examine(page, right, CONTRAST, [*OF_COLORS])
        evidence.colours["dark"] = page.evaluate(COLOURS)
        evidence.moved = page.evaluate(MOVED)
        page.set_viewport_size(PHONE)
        evidence.phone_width = page.evaluate(WIDTH)
        evidence.cells["phone"] = page.evaluate(CELLS)
        page.emulate_media(media="print")
        page.set_viewport_size(A4)
        evidence.paper = page.evaluate(PAPER)
        evidence.cells["paper"] = page.evaluate(CELLS)
        return evidence


def from_disk(browser, address):
    """The evidence of a page opened as a file, on a phone, in the dark."""
    with open_page(browser, address, mode="dark", first=SHOWN, **PHONE) as visit:
        seen = [visit.first, *(visit.page.evaluate(each) for each in (SHOWN, CONTENT, COLOURS, EXTREMES, MOVED))]
        return FromDisk(visit.requests, visit.complaints, *seen)


def without_scripts(page, address):
    """For each problem of a page where no script runs: whether its question is seen once unfolded, and the question."""
    page.goto(address, wait_until="load")
    page.evaluate(OPEN)  # as a reader would; a fold needs no script
    return page.evaluate(ASKED)


class Pages:
    """The evidence of every page that a test asked for; a visit that failed fails for every test that needs it."""

    def __init__(self, browser, site, server):
        self.browser, self.site, self.server = browser, site, server
        self.kept, self.weighed, self.right = {}, {}, set()

    @functools.cached_property
    def silent(self):
        """A tab of a browser that runs no script: without one, a page leaves nothing for the next."""
        return self.browser.new_page(java_script_enabled=False)

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
        return self.keep(("served", name), lambda: served(self.browser, address, self.weighed, self.right))

    def from_disk(self, name):
        """A page from the disk."""
        address = f"{self.site.as_uri()}/{name}.html"
        return self.keep(("disk", name), lambda: from_disk(self.browser, address))

    def without_scripts(self, name):
        """A page in a browser that runs no script."""
        address = f"{self.server}/{name}.html"
        return self.keep(("silent", name), lambda: without_scripts(self.silent, address))
