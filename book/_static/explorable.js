// Explorables: charts with sliders whose curves are the lesson's own formulas.
// A page without one loads nothing. Contract: figure.explorable holds .explorable-still (a picture),
// .explorable-live (empty) and script.explorable-spec (Vega-Lite). When drawn, figure.vegaView is the Vega view.

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
const NO_LOADS = { load: () => Promise.reject(new Error("an explorable loads nothing")) };

// The values that the reader has set survive a change of theme.
function settings(figure) {
  if (!figure.vegaView) return {};
  const inputs = [...figure.querySelectorAll(".vega-bind [name]")].map((input) => input.name);
  return Object.fromEntries(inputs.map((name) => [name, figure.vegaView.signal(name)]));
}

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

// --- Words that fit ---

const ruler = document.createElement("canvas").getContext("2d");

// Lines of a title, broken where they are wider than the figure. It never gets fewer lines again at one width, so that
// a slider below does not move under the hand.
const most = new WeakMap();
function wrapped(lines, _, width) {
  ruler.font = "12px sans-serif"; // as the frame of explorable.py has it
  const found = [];
  for (const line of lines.filter((each) => each !== "")) {
    let now = "";
    for (const word of line.split(" ")) {
      const longer = now ? `${now} ${word}` : word;
      if (now && ruler.measureText(longer).width > width - 12) found.push(now);
      now = now && ruler.measureText(longer).width > width - 12 ? word : longer;
    }
    found.push(now);
  }
  const view = this.context.dataflow, before = most.get(view) ?? {};
  most.set(view, { width, count: Math.max(found.length, before.width === width ? before.count : 0) });
  return found.concat(Array(most.get(view).count - found.length).fill(""));
}

// A name that leaves the plot comes back into it, and one that runs into another goes above or below it.
function placeNames(figure) {
  const placed = [];
  const apart = (box, by) => placed.every((other) => box.right <= other.left || other.right <= box.left
    || box.bottom + by <= other.top || other.bottom <= box.top + by);
  for (const group of figure.querySelectorAll(".explorable-live .mark-text.role-mark[clip-path]")) {
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
  again.observe(figure.querySelector(".explorable-live svg"), changes);
  placeNames(figure);
}

// --- The chart ---

// The title of a spec breaks its lines; texts are in the colours that can be read in the dark.
function dressed(spec) {
  if (spec.title?.text?.expr) spec.title.text.expr = `wrapped(${spec.title.text.expr}, width, containerSize()[0])`;
  for (const { mark } of isDark() ? (spec.layer ?? []) : []) {
    if (mark?.type === "text" && mark.color) mark.color = spec.usermeta.inks[mark.color] ?? mark.color;
  }
  return spec;
}

async function draw(figure) {
  const embed = await loadVega();
  const spec = dressed(JSON.parse(figure.querySelector(".explorable-spec").textContent));
  delete spec.$schema; // Altair names an older version; what it writes is the same
  spec.background = "transparent";
  spec.config = merged(spec.config ?? {}, colours());
  const live = figure.querySelector(".explorable-live");
  const still = figure.querySelector(".explorable-still");
  const kept = settings(figure);
  live.hidden = false; // a hidden box has no width for the chart to fill
  live.querySelector(".explorable-error")?.remove();
  figure.vegaResult?.finalize();
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: false, loader: NO_LOADS, expressionFunctions: { wrapped }, tooltip: { theme: isDark() ? "dark" : "light" } };
  figure.vegaResult = await embed(live, spec, options);
  figure.vegaView = figure.vegaResult.view;
  for (const [name, value] of Object.entries(kept)) figure.vegaView.signal(name, value);
  await figure.vegaView.runAsync();
  showValues(figure);
  keepNames(figure);
  still.hidden = true;
}

// Where drawing fails the still picture stays.
function drawOrKeepStill(figure) {
  figure.ready = draw(figure).catch((error) => {
    figure.querySelector(".explorable-live").hidden = true;
    figure.querySelector(".explorable-still").hidden = false;
    console.error(error);
  });
}

function start() {
  const figures = [...document.querySelectorAll("figure.explorable")];
  if (!figures.length) return;
  figures.forEach(drawOrKeepStill);
  // Vega fits a chart when the window changes, but its column may change later, as when the sidebar comes or goes.
  const fit = (live) => live.clientWidth && live.parentElement.vegaView?.width(live.clientWidth).runAsync();
  const watch = new ResizeObserver((changed) => changed.forEach(({ target }) => fit(target)));
  figures.forEach((figure) => watch.observe(figure.querySelector(".explorable-live")));
  let dark = isDark();
  new MutationObserver(() => {
    if (dark === isDark()) return;
    dark = isDark();
    figures.forEach(drawOrKeepStill);
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

start();
