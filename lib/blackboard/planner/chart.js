// The frontier as a picture: speed of one user against throughput of one chip, both on logarithmic axes.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 72, right: 20, top: 10, bottom: 44 };

function svgElement(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// 1, 2, 5, 10, 20, ... between two numbers.
function ticksBetween(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const digit of [1, 2, 5]) if (digit * 10 ** power >= low && digit * 10 ** power <= high) found.push(digit * 10 ** power);
  }
  return found;
}

function scaleOf(values, from, to) {
  const low = Math.log(Math.min(...values)), high = Math.max(Math.log(Math.max(...values)), low + 0.7);
  const pad = 0.03 * (high - low), span = high - low + 2 * pad;
  const place = (value) => from + ((Math.log(value) - low + pad) / span) * (to - from);
  return { place, ticks: ticksBetween(Math.exp(low - pad), Math.exp(high + pad)) };
}

// Draws front, band, chosen point and published runs; `choose` is called with the point of the front that is clicked.
function drawFrontier(svg, { front, chosen, runs, error, name, width, height }, choose) {
  const points = [...front, ...runs, chosen].filter(Boolean);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", name);
  if (!points.length) return;
  const widened = (key) => points.flatMap((point) => [point[key] / (1 + error), point[key] / (1 - error)]);
  const x = scaleOf(widened("user"), MARGIN.left, width - MARGIN.right), y = scaleOf(widened("chip"), height - MARGIN.bottom, MARGIN.top);
  const at = (point, factor = 1) => `${x.place(point.user * factor).toFixed(1)},${y.place(point.chip * factor).toFixed(1)}`;
  drawAxes(svg, x, y, width, height);
  const corners = (path) => path.map((point) => point.split(",").map(Number));
  const [line, fast, slow] = [1, 1 / (1 - error), 1 / (1 + error)].map((factor) => corners(front.map((point) => at(point, factor))));
  const band = [...fast, ...slow.reverse()];
  if (front.length) {
    svg.append(svgElement("path", { class: "planner-band", d: `M${fast[0]}${smooth(fast)}L${slow[0]}${smooth(slow)}Z` }));
    svg.append(svgElement("path", { class: "planner-front", d: `M${line[0]}${smooth(line)}` }));
  }
  const mark = (point, attributes, text) => {
    const [cx, cy] = at(point).split(",");
    svg.append(svgElement("circle", { cx, cy, ...attributes }, svgElement("title", {}, text)));
    return svg.lastChild;
  };
  for (const point of front) mark(point, { class: "planner-dot", r: 4 }, described(point)).addEventListener("click", () => choose(point));
  const dot = chosen && mark(chosen, { class: "planner-chosen", r: 8 }, `Your configuration: ${described(chosen)}`);
  for (const run of runs) mark(run, { class: "planner-run", r: 4 }, `Measured: ${described(run)}`);
  const ground = { right: width - MARGIN.right, bottom: height - MARGIN.bottom };
  if (dot) nameChosen(svg, dot, chosen, [...between(band), ...corners(runs.map((run) => at(run)))], ground);
}

// The rest of a path from the first of its points through the others: without corners, and without a bump between two
// points (Steffen's monotone cubic).
function smooth(points) {
  const steps = points.slice(1).map(([x, y], n) => [x - points[n][0], y - points[n][1]]), slopes = steps.map(([x, y]) => (x ? y / x : 0));
  const tangents = points.map((_, n) => {
    if (!n || n === steps.length) return slopes[n ? n - 1 : 0];
    const [one, other] = [slopes[n - 1], slopes[n]], [left, right] = [steps[n - 1][0], steps[n][0]];
    if (one * other <= 0) return 0;
    return Math.sign(one) * Math.min(2 * Math.abs(one), 2 * Math.abs(other), Math.abs((one * right + other * left) / (left + right)));
  });
  const told = (...numbers) => numbers.map((each) => each.toFixed(1)).join(",");
  return steps.map(([across], n) => {
    const [[x, y], [endX, endY]] = [points[n], points[n + 1]], third = across / 3;
    return `C${told(x + third, y + third * tangents[n], endX - third, endY - third * tangents[n + 1], endX, endY)}`;
  }).join("");
}

// Points along a path, close enough for none of its parts to pass a name unseen.
const between = (path) => path.slice(1).flatMap(([x, y], n) => Array.from({ length: 9 }, (_, part) => [0, 1].map((axis) => path[n][axis] + (part / 8) * ([x, y][axis] - path[n][axis]))));

// Right at the dot, on a side or a corner of it, inside the axes: where the fewest points of the band and of runs are. It
// says of what its numbers are where there is free room for that.
function nameChosen(svg, dot, { user, chip }, points, ground) {
  const x = Number(dot.getAttribute("cx")), y = Number(dot.getAttribute("cy"));
  const names = [`you: ${written(user)} per user, ${written(chip)} per chip`, `you: ${written(user)} / ${written(chip)}`];
  const places = names.map((name) => ({ name, ...placeOf(name, x, y, points, ground) }));
  const { name, way: [, down, anchor, right] } = places.find(({ free }) => free) ?? places.at(-1);
  svg.append(svgElement("text", { class: "planner-you", x: x + right, y: y + down, "text-anchor": anchor }, name));
}

function placeOf(name, x, y, points, ground) {
  const width = 7.7 * name.length; // measuring it would lay out the page
  const ways = [["end", -9, 19], ["start", 9, -10], ["end", -13, 5], ["start", 13, 5], ["end", -9, -10], ["start", 9, 19], ["middle", 0, -15], ["middle", 0, 25]]
    .map(([anchor, right, down]) => [right - { start: 0, middle: width / 2, end: width }[anchor], down, anchor, right]);
  const hits = ([left, down]) => points.filter(([a, b]) => a > x + left - 4 && a < x + left + width + 4 && b > y + down - 14 && b < y + down + 5).length;
  const fits = ([left, down]) => x + left > MARGIN.left && x + left + width < ground.right && y + down - 12 > MARGIN.top && y + down < ground.bottom - 4;
  const best = ways.filter(fits).sort((a, b) => hits(a) - hits(b))[0];
  return { way: best ?? ways[0], free: best !== undefined && !hits(best) };
}

const described = ({ user, chip, users, tensor, expert }) =>
  `${written(user)} tokens/s per user, ${written(chip)} per chip; ${users === undefined ? "" : `${several(users, "user")}, `}${cutting(tensor, expert)}`;

const cutting = (tensor, expert) => `TP ${tensor}${expert > 1 ? `, EP ${expert}` : ""}`;

function drawAxes(svg, x, y, width, height) {
  const bottom = height - MARGIN.bottom, text = (attributes, words) => svg.append(svgElement("text", attributes, words));
  const few = (ticks, room, all) => (ticks.length * room > all ? ticks.filter((tick) => /^1/.test(String(tick)) || ticks.length < 4) : ticks);
  for (const tick of few(x.ticks, 44, width)) {
    const place = x.place(tick);
    svg.append(svgElement("line", { class: "planner-grid", x1: place, x2: place, y1: MARGIN.top, y2: bottom }));
    text({ x: place, y: bottom + 17, "text-anchor": "middle" }, written(tick));
  }
  for (const tick of few(y.ticks, 22, height)) {
    const place = y.place(tick);
    svg.append(svgElement("line", { class: "planner-grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: place, y2: place }));
    text({ x: MARGIN.left - 6, y: place + 5, "text-anchor": "end" }, written(tick));
  }
  text({ x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, "output tokens/s per user");
  text({ x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)` }, "output tokens/s per chip");
}
