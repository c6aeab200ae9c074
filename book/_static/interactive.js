// Interactive charts: charts with sliders whose curves are the lesson's own formulas.
// Contract: figure.interactive-chart holds .chart-box (result, facts, a still picture, controls) and script.chart-spec
// (Vega). Vega is loaded when a reader first points at the chart, touches it or moves a control, or when a script asks
// for figure.ready; from then on figure.vegaView is the Vega view.

const STATIC = document.currentScript.src.replace(/_static\/[^/]*$/, "");

const isDark = () => document.documentElement.dataset.theme === "dark";

const scripts = {};
function loadScript(name) {
  scripts[name] ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${STATIC}vendor/${name}`;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${name} could not be loaded`));
    document.head.append(script);
  });
  return scripts[name];
}

// Nothing in a spec may fetch: the data are in the page.
const NO_LOADS = { load: () => Promise.reject(new Error("an interactive chart loads nothing")) };

// --- Light and dark ---

const specText = (figure) => figure.querySelector(".chart-spec").textContent;

// A text with the colors that are seen in the dark.
function lit(text, dark) {
  return text.replace(/(#|%23)([0-9a-f]{6})\b/gi, (color, mark, digits) => {
    const found = dark[`#${digits.toUpperCase()}`];
    return found ? mark + found.slice(1) : color;
  });
}

const specOf = (figure) => {
  const spec = JSON.parse(specText(figure));
  return isDark() ? { ...JSON.parse(lit(specText(figure), spec.usermeta.dark)), usermeta: spec.usermeta } : spec;
};

// In the dark a second still picture stands for the first, which paper shows.
function lightStill(figure) {
  const still = figure.querySelector(".chart-still");
  if (!isDark() || !still || figure.querySelector(".chart-dark-still")) return;
  const { dark } = JSON.parse(specText(figure)).usermeta, copy = still.cloneNode(true);
  copy.classList.replace("chart-still", "chart-dark-still");
  for (const [name, part] of [["srcset", copy.querySelector("source")], ["src", copy.querySelector("img")]]) part[name] = lit(part[name], dark);
  still.after(copy);
  still.classList.add("chart-light-still");
}

// --- Controls ---

const LOOKS = {
  number: { maximumSignificantDigits: 4 },
  count: { maximumFractionDigits: 0 },
  compact: { maximumSignificantDigits: 3, notation: "compact", useGrouping: true },
};
const formats = {}; // made when a number is first shown: the first one takes a browser longer than the rest of this file
const pretty = (value) => {
  const size = Math.abs(value), look = size < 100 ? "number" : size < 1e6 ? "count" : "compact";
  formats[look] ??= new Intl.NumberFormat("en", LOOKS[look]);
  return formats[look].format(value);
};

// A time in the unit that suits it, from so many seconds on (charts/page_chart.py does the same).
const TIMES = [[4.7304e7, 31536000, "years"], [129600, 86400, "days"], [3596, 3600, "h"], [90, 60, "min"], [1, 1, "s"], [0, 1e-3, "ms"]];
function duration(seconds) {
  const [, size, unit] = TIMES.find(([least]) => seconds >= least), value = seconds / size;
  return `${value >= 10 ? value.toFixed(0) : Number(value.toPrecision(2))} ${unit}`;
}

const controlsOf = (figure) => [...figure.querySelectorAll(".chart-controls [name]")];
const valueOf = (control) => (control.tagName === "SELECT" ? control.value : Number(control.value));
const startOf = (control) => (control.tagName === "SELECT" ? control.querySelector("[selected]").value : Number(control.defaultValue));
const settings = (figure) => Object.fromEntries(controlsOf(figure).map((control) => [control.name, valueOf(control)]));

// Beside each slider stands the value it gives. A power is rounded as in the chart (charts/interactive.py): 0 digits are
// a whole number of two, and where the slider starts it is as it was given.
function showValue(control) {
  const { base, digits } = control.dataset;
  if (control.type !== "range") return;
  const exact = base ? base ** control.value : Number(control.value), starts = valueOf(control) === startOf(control);
  const short = digits && !starts ? Number(exact.toPrecision(Number(digits) || 2)) : exact, value = digits === "0" ? Math.round(short) : short;
  const text = "time" in control.dataset ? duration(value) : pretty(value);
  control.setAttribute("aria-valuetext", text);
  control.nextElementSibling.textContent = text;
}

function setControl(control, value) {
  if (String(value) !== control.value) control.value = value;
  showValue(control);
}

function setSignals(view, values) {
  for (const [name, value] of Object.entries(values)) view.signal(name, value);
  return view.runAsync();
}

// A chart that is not drawn yet takes what its controls say once it is.
function wakeControls(figure) {
  const changed = () => {
    if (figure.vegaView) setSignals(figure.vegaView, settings(figure));
    else figure.ready;
    keepInAddress(figure);
  };
  for (const control of controlsOf(figure)) {
    for (const kind of ["input", "change"]) control.addEventListener(kind, () => { showValue(control); changed(); });
  }
  figure.querySelector(".chart-reset")?.addEventListener("click", () => {
    for (const control of controlsOf(figure)) setControl(control, startOf(control));
    changed();
  });
}

// What moves a signal otherwise moves its control.
function followSignals(figure) {
  for (const control of controlsOf(figure)) {
    figure.vegaView.addSignalListener(control.name, (name, value) => setControl(control, value));
  }
}

// --- Names that fit ---

// A name that leaves the plot comes back into it, and one that runs into another, or that a line strikes, goes where
// there is room: as little as it can, but a line through it counts as STRUCK pixels (charts/names.py does the same).
const STRUCK = 80, STEPS = [];
for (let right = -72; right <= 72; right += 6) for (let down = -36; down <= 36; down += 4) STEPS.push([right, down]);
const farOf = ([right, down]) => Math.abs(right) + Math.abs(down);

function placeNames(figure) {
  const placed = [], lines = linesOf(figure);
  const apart = (box) => placed.every((other) => box.right <= other.left || other.right <= box.left
    || box.bottom <= other.top || other.bottom <= box.top);
  for (const group of figure.querySelectorAll(".chart-live .mark-text.role-mark[clip-path]")) {
    const plot = clipBox(group);
    for (const text of group.querySelectorAll("text")) {
      text.style.translate = "";
      if (!text.textContent.trim()) continue;
      const word = text.getBoundingClientRect(), key = strokeOf(group, word);
      const box = joined(word, key?.getBoundingClientRect());
      const back = (low, high, from, to) => Math.max(from - low, 0) || Math.min(to - high, 0);
      const right = back(box.left, box.right, plot.left + 2, plot.right - 2);
      const down = back(box.top, box.bottom, plot.top, plot.bottom);
      const there = movedBox(box, [right, down]);
      const fits = (at) => at.left >= plot.left + 1 && at.right <= plot.right - 1 && at.top >= plot.top - 1 && at.bottom <= plot.bottom + 1 && apart(at);
      const ways = [...STEPS, ...placed.flatMap((other) => [[0, other.top - there.bottom], [0, other.bottom - there.top]])];
      let best = [0, 0], least = Infinity;
      for (const way of ways.sort((a, b) => farOf(a) - farOf(b))) {
        if (farOf(way) >= least) break;
        const at = movedBox(there, way);
        if (!fits(at)) continue;
        const cost = farOf(way) + STRUCK * lines.filter((line) => isStruck(at, line)).length;
        if (cost < least) [best, least] = [way, cost];
      }
      placed.push(movedBox(there, best));
      const [x, y] = [right + best[0], down + best[1]];
      shift(text, x, y);
      shift(key, x, y);
    }
  }
}

const shift = (mark, right, down) => mark && (mark.style.translate = right || down ? `${right}px ${down}px` : "");
const joined = (box, other = box) => ({
  left: Math.min(box.left, other.left), right: Math.max(box.right, other.right), top: Math.min(box.top, other.top), bottom: Math.max(box.bottom, other.bottom),
});
const movedBox = ({ left, right, top, bottom }, [x, y]) => ({ left: left + x, right: right + x, top: top + y, bottom: bottom + y });

// The corners of each curve and each rule, in pixels of the screen, and how far a name keeps from them: a bold line's
// width, while the letters of a name may be close to a thin one.
function linesOf(figure) {
  return [...figure.querySelectorAll(".chart-live :is(.mark-line path, .mark-rule line)")].filter((mark) => mark.closest(".role-mark")).map((mark) => {
    const { a, d, e, f } = mark.getScreenCTM(), ends = ["x2", "y2"].map((name) => mark.getAttribute(name) ?? 0);
    const corners = mark.localName === "line" ? ["0,0", ends.join()] : mark.getAttribute("d")?.match(/-?[\d.]+,-?[\d.]+/g) ?? [];
    const reach = Math.max(0, (mark.getAttribute("stroke-width") ?? 2) - 2);
    return { reach, corners: corners.map((corner) => corner.split(",").map(Number)).map(([x, y]) => [a * x + e, d * y + f]) };
  });
}

// Whether a line comes within its reach of a box, whose top and bottom two pixels are room above and below the letters.
function isStruck({ left, right, top, bottom }, { corners, reach }) {
  return corners.slice(1).some((end, n) => {
    const [[x, y], [across, up]] = [corners[n], end].sort((one, other) => one[0] - other[0]);
    if (x > right || across < left) return false;
    const slope = across > x ? (up - y) / (across - x) : 0;
    const ends = [y + slope * (Math.max(left, x) - x), across > x ? y + slope * (Math.min(right, across) - x) : up];
    return Math.min(...ends) - reach < bottom - 2 && Math.max(...ends) + reach > top + 2;
  });
}

// What a group of marks is clipped to, in pixels of the screen.
function clipBox(group) {
  const id = group.getAttribute("clip-path").match(/#([^)"]+)/)[1];
  const { x, y, width, height } = document.getElementById(id).firstElementChild.getBBox();
  const { a, d, e, f } = group.getScreenCTM();
  return { left: a * x + e, right: a * (x + width) + e, top: d * y + f, bottom: d * (y + height) + f };
}

// The stroke of a line's colour beside its name: the mark before it, at the same height.
function strokeOf(group, box) {
  const before = group.previousElementSibling;
  const key = before?.matches(".mark-symbol") && before.childElementCount === 1 ? before.firstElementChild : null;
  if (!key) return null;
  key.style.translate = "";
  const { left, right, top, bottom } = key.getBoundingClientRect();
  const near = left < box.right + 12 && right > box.left - 12 && top >= box.top - 2 && bottom <= box.bottom + 2;
  return near ? key : null;
}

function keepNames(figure) {
  const again = new MutationObserver(() => placeNames(figure));
  const changes = { subtree: true, childList: true, characterData: true, attributeFilter: ["transform", "d", "width", "opacity"] };
  again.observe(figure.querySelector(".chart-live svg"), changes);
  placeNames(figure);
}

// --- What the chart says ---

// The result is large; the facts are the other lines.
function tellLines(figure, { result: chosen = [-1] }) {
  const view = figure.vegaView, [large, facts] = figure.querySelectorAll(".chart-result, .chart-facts");
  const tell = () => {
    const lines = view.signal("title_lines"), told = chosen.map((at) => lines.at(at));
    write(large, keepTogether(told.map(whole).filter(Boolean).join(", ")));
    write(facts, keepTogether(lines.filter((line) => line && !told.includes(line)).join("\n").replace(/([,:])\n/g, "$1 ")));
  };
  view.addSignalListener("title_lines", tell);
  tell();
}

// A line does not end beside a sign, nor between a number and its unit (charts/page_chart.py and tools/html_fixes.py do the same).
const keepTogether = (text) => text.replace(/ ([=×÷]) (?=[\d$])/g, "\u00a0$1\u00a0").replace(/(\d) (?=[mµn]?s\b|[GTPkM]?B\b|[×%])/g, "$1\u00a0");

const whole = (text) => text.replace(/[,:]$/, "");

// A text never gets fewer lines again at one width, so that a slider below it does not move under the hand.
function write(box, text) {
  const told = whole(text), parts = told.split("\n");
  if (box.textContent === parts.join(" ")) return;
  if (box.dataset.width !== String(box.clientWidth)) box.style.minHeight = "";
  box.style.minHeight = `${box.offsetHeight}px`;
  if (box.matches(".chart-facts")) box.replaceChildren(...parts.flatMap((part, n) => [n ? " " : "", Object.assign(document.createElement("span"), { textContent: part })]));
  else box.textContent = told;
  box.dataset.width = box.clientWidth;
  box.style.minHeight = `${box.offsetHeight}px`;
}

// --- The view in the page's address ---

const plain = (name) => name.replace(/_exponent$/, "");
const slug = (figure) => figure.ariaLabel.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const keyOf = (figure, control) => `${slug(figure)}.${plain(control.name)}`;

// Sets the controls that the address names, as far as they go there; whether there are any.
function readAddress(figure) {
  const asked = new URLSearchParams(location.search);
  const named = controlsOf(figure).filter((control) => asked.has(keyOf(figure, control)));
  const set = named.filter((control) => {
    const text = asked.get(keyOf(figure, control)), options = [...(control.options ?? [])].map(({ value }) => value);
    const reaches = text !== "" && Number(text) >= Number(control.min) && Number(text) <= Number(control.max);
    const taken = control.tagName === "SELECT" ? options.includes(text) : reaches;
    if (taken) setControl(control, text);
    return taken;
  });
  return set.length > 0;
}

// The address names what differs from the start, so that a view can be shared.
function keepInAddress(figure) {
  const write = () => {
    const asked = new URLSearchParams(location.search);
    for (const control of controlsOf(figure)) {
      if (valueOf(control) === startOf(control)) asked.delete(keyOf(figure, control));
      else asked.set(keyOf(figure, control), control.value);
    }
    const query = String(asked);
    history.replaceState(history.state, "", (query ? `?${query}` : location.pathname) + location.hash);
  };
  clearTimeout(figure.writesAddress);
  figure.writesAddress = setTimeout(write, 300);
}

// --- The crosshair: values under the pointer, or by the arrow keys ---

const CROSS = `<div class="chart-cross" hidden></div><p class="chart-readout" role="status" hidden></p>`;

// Points that nobody sees carry the values; from left to right.
function readPoints(plot) {
  const paths = [...plot.querySelectorAll(".mark-symbol path")].filter((path) => path.__data__?.tooltip);
  return paths.map((path) => ({ ...centre(path), values: path.__data__.tooltip })).sort((a, b) => a.x - b.x);
}

function centre(path) {
  const box = path.getBoundingClientRect();
  return { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
}

function addCrosshair(figure) {
  const plot = figure.querySelector(".chart-plot");
  plot.querySelectorAll(".chart-cross, .chart-readout").forEach((part) => part.remove());
  if (!readPoints(plot).length) return;
  plot.insertAdjacentHTML("beforeend", CROSS);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `${figure.ariaLabel}: arrow keys read the values`);
  let at = null;
  const show = (points, index) => { at = index; showCross(plot, points[index]); };
  const middle = () => { const points = readPoints(plot); show(points, at ?? Math.floor(points.length / 2)); };
  plot.onpointermove = (event) => {
    if (figure.isDragged) return;
    const points = readPoints(plot), far = (point) => Math.hypot(point.x - event.clientX, (point.y - event.clientY) / 50);
    show(points, points.reduce((best, point, index) => (far(point) < far(points[best]) ? index : best), 0));
  };
  plot.onpointerleave = plot.onblur = () => hideCross(plot);
  plot.onfocus = () => plot.matches(":focus-visible") && middle();
  plot.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") hideCross(plot);
    if (!step || event.target !== plot) return;
    event.preventDefault();
    const points = readPoints(plot), from = at ?? Math.floor(points.length / 2);
    show(points, Math.min(points.length - 1, Math.max(0, from + step)));
  };
}

function hideCross(plot) {
  for (const part of plot.querySelectorAll(".chart-cross, .chart-readout")) part.hidden = true;
}

// A line through the point, and the values beside it, on the side that has room.
function showCross(plot, { x, values }) {
  const [cross, readout] = plot.querySelectorAll(".chart-cross, .chart-readout");
  const box = plot.getBoundingClientRect(), ground = plot.querySelector("svg .background").getBoundingClientRect();
  const left = x - box.left, top = ground.top - box.top;
  Object.assign(cross.style, { left: `${left}px`, top: `${top}px`, height: `${ground.height}px` });
  const there = Object.entries(values).filter(([, value]) => value !== "NaN"); // where a line has ended
  readout.replaceChildren(...there.map(([name, value]) => line(name, value)));
  const right = left < box.width / 2;
  Object.assign(readout.style, { top: `${top}px`, left: right ? `${left + 8}px` : "", right: right ? "" : `${box.width - left + 8}px` });
  cross.hidden = readout.hidden = false;
}

function line(name, value) {
  const span = document.createElement("span"), strong = document.createElement("strong");
  strong.textContent = value;
  span.append(`${name} `, strong);
  return span;
}

// --- Dragging: the slider that moves a mark along the x axis follows a pointer that is pressed in the plot ---

// From the start: a press on the still picture moves the chart once it is drawn. The headline tells what is dragged, so
// the values under the pointer stay away until it comes back.
function letDrag(figure) {
  const name = specText(figure).match(/"drags":"(\w+)"/)?.[1], plot = figure.querySelector(".chart-plot");
  if (!name) return;
  const control = figure.querySelector(`[name="${name}"]`), { base } = control.dataset;
  let last = null;
  const follow = (event) => {
    last = event;
    const view = figure.vegaView;
    if (!view) return figure.ready.then(() => figure.vegaView && event === last && follow(event));
    const left = plot.querySelector("svg").getBoundingClientRect().left + view.padding().left + view.origin()[0];
    const value = view.scale("x").invert(event.clientX - left);
    control.value = base ? Math.log(value) / Math.log(base) : value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  plot.classList.add("chart-drags");
  plot.addEventListener("pointerdown", (event) => {
    plot.setPointerCapture(event.pointerId);
    figure.isDragged = true;
    hideCross(plot);
    follow(event);
  });
  plot.addEventListener("pointermove", (event) => { if (plot.hasPointerCapture(event.pointerId)) follow(event); });
  plot.addEventListener("pointerleave", () => { figure.isDragged = false; });
}

// --- The chart ---

// A browser lays a hidden box out too, but not the page around it: the chart takes the still picture's place when done.
async function draw(figure) {
  await loadScript("vega.js");
  const { parse, View } = window.vega, spec = specOf(figure);
  figure.vegaView?.finalize();
  const view = new View(parse(spec), { renderer: "svg", loader: NO_LOADS, tooltip: () => {} });
  view.initialize(figure.querySelector(".chart-live"));
  await setSignals(view, settings(figure));
  figure.vegaView = view;
  await setSignals(view, settings(figure)); // what was moved in the meantime
  figure.classList.add("chart-drawn");
  followSignals(figure);
  tellLines(figure, spec.usermeta);
  keepNames(figure);
  addCrosshair(figure);
}

// Where drawing fails the still picture stays.
const drawings = new WeakMap();
function drawOrKeepStill(figure) {
  drawings.set(figure, draw(figure).catch((error) => {
    figure.classList.remove("chart-drawn");
    console.error(error);
  }));
  return drawings.get(figure);
}

const FRAME = `<div class="chart-box"><p class="chart-result" role="status"></p><p class="chart-facts"></p>
<div class="chart-plot"><div class="chart-live"></div></div></div><script type="application/json" class="chart-spec"></script>`;

// A figure that a page makes itself, from Vega-Lite, as a lab does.
async function makeFigure(spec) { // eslint-disable-line no-unused-vars
  await loadScript("vega-lite.js");
  const figure = Object.assign(document.createElement("figure"), { className: "interactive-chart", innerHTML: FRAME });
  figure.setAttribute("aria-label", spec.description);
  figure.querySelector(".chart-spec").textContent = JSON.stringify(window.vegaLite.compile(spec).spec);
  return figure;
}

// Vega comes at the first sign that a reader wants the chart.
const SIGNS = ["pointerenter", "pointerdown", "focusin"];

function wake(figure) {
  Object.defineProperty(figure, "ready", { get: () => drawings.get(figure) ?? drawOrKeepStill(figure) });
  for (const sign of SIGNS) figure.addEventListener(sign, () => figure.ready, { once: true });
  lightStill(figure);
  wakeControls(figure);
  letDrag(figure);
  if (readAddress(figure)) figure.ready;
}

function start() {
  const figures = [...document.querySelectorAll("figure.interactive-chart")];
  if (!figures.length) return;
  figures.forEach((figure) => setTimeout(() => wake(figure))); // one at a time, so that nobody waits for all
  // Vega fits a chart when the window changes, but its column may change later, as when the sidebar comes or goes.
  const fit = (plot) => plot.clientWidth && plot.closest("figure").vegaView?.width(plot.clientWidth).runAsync();
  const watch = new ResizeObserver((changed) => changed.forEach(({ target }) => fit(target)));
  figures.forEach((figure) => watch.observe(figure.querySelector(".chart-plot")));
  let dark = isDark();
  new MutationObserver(() => {
    if (dark === isDark()) return;
    dark = isDark();
    figures.forEach(lightStill);
    figures.filter((figure) => drawings.has(figure)).forEach(drawOrKeepStill);
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

start();
