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

async function draw(figure) {
  const embed = await loadVega();
  const spec = JSON.parse(figure.querySelector(".explorable-spec").textContent);
  delete spec.$schema; // Altair names an older version; what it writes is the same
  spec.background = "transparent";
  spec.config = merged(spec.config ?? {}, colours());
  const live = figure.querySelector(".explorable-live");
  const still = figure.querySelector(".explorable-still");
  const kept = settings(figure);
  live.hidden = false; // a hidden box has no width for the chart to fill
  live.querySelector(".explorable-error")?.remove();
  figure.vegaResult?.finalize();
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: false, loader: NO_LOADS, tooltip: { theme: isDark() ? "dark" : "light" } };
  figure.vegaResult = await embed(live, spec, options);
  figure.vegaView = figure.vegaResult.view;
  for (const [name, value] of Object.entries(kept)) figure.vegaView.signal(name, value);
  await figure.vegaView.runAsync();
  showValues(figure);
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
