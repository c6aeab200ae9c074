// Interactive charts: charts with sliders whose curves are the lesson's own formulas.
// A page without one loads nothing. Contract: figure.interactive-chart holds .chart-still (a picture),
// .chart-live (empty) and script.chart-spec (Vega-Lite). When drawn, figure.vegaView is the Vega view.

const STATIC = document.currentScript.src.replace(/_static\/[^/]*$/, "");

const isDark = () => document.documentElement.dataset.theme === "dark";

// Only colours: everything else belongs to the spec.
function colours() {
  const text = isDark() ? "#e6e6e6" : "#222832";
  const line = isDark() ? "#8a8f98" : "#6b7280";
  const grid = isDark() ? "#3d434d" : "#dfe3e8";
  const axis = { labelColor: text, titleColor: text, domainColor: line, tickColor: line, gridColor: grid };
  return {
    background: "transparent",
    axis,
    legend: { labelColor: text, titleColor: text },
    title: { color: text, subtitleColor: text },
    header: { labelColor: text, titleColor: text },
    text: { color: text },
    rule: { color: line },
    view: { stroke: line },
  };
}

// Axes of a spec may name their own colours; the page's come first.
function merged(base, extra) {
  const result = { ...base };
  for (const [key, value] of Object.entries(extra)) {
    const both = value && typeof value === "object" && result[key] && typeof result[key] === "object";
    result[key] = both ? merged(result[key], value) : value;
  }
  return result;
}

let bundle;
function loadVega() {
  bundle ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = STATIC + "vendor/vega.js";
    script.onload = () => resolve(window.vegaEmbed);
    script.onerror = () => reject(new Error("Vega could not be loaded"));
    document.head.append(script);
  });
  return bundle;
}

// Nothing in a spec may fetch: the data are in the page.
const NO_LOADS = { load: () => Promise.reject(new Error("an interactive chart loads nothing")) };

const NUMBER = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const COMPACT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const pretty = (value) => (Math.abs(value) < 1e4 ? NUMBER : COMPACT).format(value);

// Beside each slider stands the value it gives. A slider `name_exponent` moves the logarithm of the signal `name`.
function showValues(figure) {
  const view = figure.vegaView;
  for (const input of figure.querySelectorAll(".vega-bind input[type=range]")) {
    const name = input.name.replace(/_exponent$/, "");
    const tell = () => {
      const text = pretty(view.signal(name));
      input.setAttribute("aria-valuetext", text);
      input.nextElementSibling.textContent = text;
    };
    // Vega writes its own text first, so ours waits for the next frame.
    view.addSignalListener(name, () => requestAnimationFrame(tell));
    input.addEventListener("change", () => requestAnimationFrame(tell)); // and once more when the slider is let go
    tell();
  }
}

// --- Names that fit ---

// A name that leaves the plot comes back into it, and one that runs into another goes above or below it.
function placeNames(figure) {
  const placed = [];
  const apart = (box, by) => placed.every((other) => box.right <= other.left || other.right <= box.left
    || box.bottom + by <= other.top || other.bottom <= box.top + by);
  for (const group of figure.querySelectorAll(".chart-live .mark-text.role-mark[clip-path]")) {
    const plot = clipBox(group);
    for (const text of group.querySelectorAll("text")) {
      text.style.translate = "";
      if (!text.textContent.trim()) continue;
      const box = text.getBoundingClientRect();
      const back = (low, high, from, to) => Math.max(from - low, 0) || Math.min(to - high, 0);
      const right = back(box.left, box.right, plot.left + 2, plot.right - 2);
      const down = back(box.top, box.bottom, plot.top, plot.bottom);
      const there = { left: box.left + right, right: box.right + right, top: box.top + down, bottom: box.bottom + down };
      const ways = [0, ...placed.flatMap((other) => [other.top - there.bottom, other.bottom - there.top])];
      const fits = (by) => there.top + by >= plot.top - 1 && there.bottom + by <= plot.bottom + 1 && apart(there, by);
      const by = ways.sort((a, b) => Math.abs(a) - Math.abs(b)).find(fits) ?? 0;
      placed.push({ ...there, top: there.top + by, bottom: there.bottom + by });
      shift(text, right, down + by);
      shift(dotOf(group, box), right, down + by);
    }
  }
}

const shift = (mark, right, down) => mark && (mark.style.translate = right || down ? `${right}px ${down}px` : "");

// What a group of marks is clipped to, in pixels of the screen.
function clipBox(group) {
  const id = group.getAttribute("clip-path").match(/#([^)"]+)/)[1];
  const { x, y, width, height } = document.getElementById(id).firstElementChild.getBBox();
  const { a, d, e, f } = group.getScreenCTM();
  return { left: a * x + e, right: a * (x + width) + e, top: d * y + f, bottom: d * (y + height) + f };
}

// The dot of a line's colour beside its name: the mark before it, at the same height.
function dotOf(group, box) {
  const before = group.previousElementSibling;
  const dot = before?.matches(".mark-symbol") && before.childElementCount === 1 ? before.firstElementChild : null;
  if (!dot) return null;
  dot.style.translate = "";
  const { left, right, top, bottom } = dot.getBoundingClientRect();
  const near = left < box.right + 12 && right > box.left - 12 && top >= box.top - 2 && bottom <= box.bottom + 2;
  return near ? dot : null;
}

function keepNames(figure) {
  const again = new MutationObserver(() => placeNames(figure));
  const changes = { subtree: true, childList: true, characterData: true, attributeFilter: ["transform", "d", "width", "opacity"] };
  again.observe(figure.querySelector(".chart-live svg"), changes);
  placeNames(figure);
}

// --- What the chart says, and its controls ---

const FRAME = `<p class="chart-result" role="status"></p><p class="chart-facts"></p>
<div class="chart-plot"></div><div class="chart-controls"></div>`;

// The parts of the live chart, made once: a change of theme draws it anew.
function partsOf(figure) {
  const live = figure.querySelector(".chart-live");
  if (!live.querySelector(".chart-plot")) live.innerHTML = FRAME;
  return Object.fromEntries(["result", "facts", "plot", "controls"].map((name) => [name, live.querySelector(`.chart-${name}`)]));
}

// The lines of the still picture's title become text of the page, in which the result is large.
function tellLines(figure, { result = [-1] }) {
  const { result: large, facts } = partsOf(figure), view = figure.vegaView;
  const tell = () => {
    const lines = view.signal("title_lines"), chosen = result.map((at) => lines.at(at));
    write(large, chosen.filter(Boolean).join(", "));
    write(facts, lines.filter((line) => line && !chosen.includes(line)).join(" · ").replace(/([,:]) · /g, "$1 "));
  };
  view.addSignalListener("title_lines", tell);
  tell();
}

// A text never gets fewer lines again at one width, so that a slider below it does not move under the hand.
function write(box, text) {
  const told = text.replace(/[,:]$/, "");
  if (box.textContent === told) return;
  if (box.dataset.width !== String(box.clientWidth)) box.style.minHeight = "";
  box.textContent = told;
  box.dataset.width = box.clientWidth;
  box.style.minHeight = `${box.offsetHeight}px`;
}

const plain = (name) => name.replace(/_exponent$/, "");
const boundParams = (spec) => (spec.params ?? []).filter((param) => param.bind); // a lab's chart has none

// The two or three controls that matter most are seen, the others are under "More"; a button sets all back.
function arrangeControls(figure, spec) {
  if (!boundParams(spec).length) return;
  const box = partsOf(figure).controls, { primary = boundParams(spec).slice(0, 3).map(({ name }) => plain(name)) } = spec.usermeta;
  const rows = new Map([...box.querySelectorAll(".vega-bind")].map((row) => [plain(row.querySelector("[name]").name), row]));
  const first = primary.map((name) => rows.get(name)), rest = [...rows.values()].filter((row) => !first.includes(row));
  const reset = Object.assign(document.createElement("button"), { type: "button", className: "chart-reset", textContent: "Reset" });
  reset.addEventListener("click", () => setSignals(figure.vegaView, Object.fromEntries(boundParams(spec).map(({ name, value }) => [name, value]))));
  box.append(...first, ...(rest.length ? [foldOf(rest, figure.moreIsOpen)] : []), reset);
  box.querySelector("details")?.addEventListener("toggle", (event) => { figure.moreIsOpen = event.target.open; });
}

function foldOf(rows, open) {
  const fold = Object.assign(document.createElement("details"), { className: "chart-more", open: Boolean(open) });
  fold.append(Object.assign(document.createElement("summary"), { textContent: "More controls" }), ...rows);
  return fold;
}

function setSignals(view, values) {
  for (const [name, value] of Object.entries(values)) view.signal(name, value);
  return view.runAsync();
}

// --- The view in the page's address ---

const slug = (figure) => figure.ariaLabel.toLowerCase().replace(/[^a-z0-9]+/g, "-");

// What the address sets of this chart, as far as its controls go there.
function settingsOfAddress(figure, spec) {
  const asked = new URLSearchParams(location.search), found = {};
  for (const { name, bind } of boundParams(spec)) {
    const text = asked.get(`${slug(figure)}.${plain(name)}`);
    if (text === null) continue;
    if (bind.options?.includes(text)) found[name] = text;
    if (!bind.options && Number(text) >= bind.min && Number(text) <= bind.max) found[name] = Number(text);
  }
  return found;
}

// The address names what differs from the start, so that a view can be shared.
function keepInAddress(figure, spec) {
  const view = figure.vegaView;
  let waiting;
  const write = () => {
    const asked = new URLSearchParams(location.search);
    for (const { name, value } of boundParams(spec)) {
      const key = `${slug(figure)}.${plain(name)}`, now = view.signal(name);
      if (String(now) === String(value)) asked.delete(key);
      else asked.set(key, now);
    }
    const query = String(asked);
    history.replaceState(history.state, "", (query ? `?${query}` : location.pathname) + location.hash);
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(write, 300); };
  for (const { name } of boundParams(spec)) view.addSignalListener(name, soon);
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
  const { plot } = partsOf(figure);
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
  readout.replaceChildren(...Object.entries(values).map(([name, value]) => line(name, value)));
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

// --- The chart ---

// The title is shown by the page, and in the dark everything has the colors that are seen there.
function dressed(spec) {
  spec.params = [...(spec.params ?? []), { name: "title_lines", expr: spec.title?.text?.expr ?? JSON.stringify([spec.title?.text ?? []].flat()) }];
  delete spec.title;
  delete spec.$schema; // Altair names an older version; what it writes is the same
  if (isDark() && spec.layer) {
    const lit = (quoted, color) => `"${spec.usermeta.inks[color] ?? color}"`;
    spec.layer = JSON.parse(JSON.stringify(spec.layer).replace(/"(#[0-9A-F]{6})"/g, lit));
  }
  return { ...spec, background: "transparent", config: merged(spec.config ?? {}, colours()) };
}

const specOf = (figure) => JSON.parse(figure.querySelector(".chart-spec").textContent);

// Where the controls stand: as the reader left them, else as the address has them.
function settings(figure, spec) {
  const names = boundParams(spec).map(({ name }) => name), view = figure.vegaView;
  return view ? Object.fromEntries(names.map((name) => [name, view.signal(name)])) : settingsOfAddress(figure, spec);
}

async function draw(figure) {
  const embed = await loadVega(), spec = specOf(figure), kept = settings(figure, spec);
  const live = figure.querySelector(".chart-live"), { plot, controls } = partsOf(figure);
  live.hidden = false; // a hidden box has no width for the chart to fill
  figure.vegaResult?.finalize();
  controls.replaceChildren();
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: false, loader: NO_LOADS, tooltip: false, bind: controls };
  figure.vegaResult = await embed(plot, dressed(spec), options);
  figure.vegaView = figure.vegaResult.view;
  await setSignals(figure.vegaView, kept);
  showValues(figure);
  tellLines(figure, spec.usermeta);
  arrangeControls(figure, spec);
  keepInAddress(figure, spec);
  keepNames(figure);
  addCrosshair(figure);
  figure.querySelector(".chart-still").hidden = true;
}

// Where drawing fails the still picture stays.
const drawings = new WeakMap();
function drawOrKeepStill(figure) {
  drawings.set(figure, draw(figure).catch((error) => {
    figure.querySelector(".chart-live").hidden = true;
    figure.querySelector(".chart-still").hidden = false;
    console.error(error);
  }));
  return drawings.get(figure);
}

// A chart is drawn when it comes near the window, or when a script asks whether it is ready.
function drawWhenNear(figure) {
  Object.defineProperty(figure, "ready", { get: () => drawings.get(figure) ?? drawOrKeepStill(figure) });
  const near = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    near.disconnect();
    figure.ready;
  }, { rootMargin: "300px" });
  near.observe(figure);
}

function start() {
  const figures = [...document.querySelectorAll("figure.interactive-chart")];
  if (!figures.length) return;
  figures.forEach(drawWhenNear);
  // Vega fits a chart when the window changes, but its column may change later, as when the sidebar comes or goes.
  const fit = (plot) => plot.clientWidth && plot.closest("figure").vegaView?.width(plot.clientWidth).runAsync();
  const watch = new ResizeObserver((changed) => changed.forEach(({ target }) => fit(target)));
  figures.forEach((figure) => watch.observe(partsOf(figure).plot));
  let dark = isDark();
  new MutationObserver(() => {
    if (dark === isDark()) return;
    dark = isDark();
    figures.filter((figure) => drawings.has(figure)).forEach(drawOrKeepStill);
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

start();
