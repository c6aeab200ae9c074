// The form: what is asked stands in its fields and in the address, and every change is answered at once.

const VERSION = "1"; // of the address
const DEFAULTS = {
  model: "llama-3.1-70b", chip: "h200", chips: 4, engine: "vllm", weights: "fp8", kv: "", tensor: "", expert: 1,
  prompt: 1024, output: 1024, by: "users", load: 64, rent: "", config: "", user: 50, first: 2, scope: "users", rents: "demand",
};
const NUMBERS = ["chips", "expert", "prompt", "output", "load", "user", "first"];
const FORMATS = { bf16: "BF16", fp8: "FP8", int8: "INT8", fp4: "FP4", mxfp4: "MXFP4", nvfp4: "NVFP4" };
const PASTED = "config";
const SCOPES = { newest: ["full", "demand"], contract: ["full", "contract"] }; // of older addresses

const root = globalThis.document?.getElementById("plan"); // none where a test runs the script alone
const field = (name) => root.querySelector(`[name=${name}]`);
const part = (name) => root.querySelector(`.planner-${name}`);

// --- numbers in words ---

// As Intl.NumberFormat writes them in English, whose start alone takes longer than an answer.
function digitsOf(value, most, least = 1) {
  const [digits, power] = value.toExponential(most - 1).split("e");
  const text = Number(`${digits}e${power}`).toFixed(Math.max(0, most - 1 - power));
  return thousands(least < most && text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

const thousands = (text) => text.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
const written = (value) => digitsOf(value, value >= 1000 ? 4 : 3);
const counted = (value) => (value >= 100 ? thousands(Math.round(value).toFixed(0)) : written(value));
const several = (value, thing, said = written(value)) => `${said} ${thing}${said === "1" ? "" : "s"}`;
const average = (value) => (value >= 10 ? counted(Math.round(value)) : written(value));
const speedWritten = (value) => (value < 100 ? value.toFixed(1) : written(value)); // in a column
const percent = (share) => `${Math.round(100 * share)}%`;
const gigabytes = (bytes) => (bytes && bytes < 1e8 ? `${digitsOf(bytes / 1e6, 3)} MB` : `${digitsOf(bytes / 1e9, 3)} GB`);

function duration(seconds) {
  if (seconds >= 7200) return `${digitsOf(seconds / 3600, 3)} hours`;
  if (seconds >= 120) return `${digitsOf(seconds / 60, 3)} minutes`;
  const [scale, unit] = seconds >= 1 ? [1, "s"] : seconds >= 1e-4 ? [1e3, "ms"] : [1e6, "µs"];
  return `${digitsOf(seconds * scale, 3, 3)} ${unit}`;
}

function dollars(value) {
  if (value >= 1000) return `$${thousands(value.toFixed(0))}`;
  return value >= 0.1 ? `$${value.toFixed(2)}` : `$${digitsOf(value, 2)}`;
}

// --- what is asked ---

let state = { ...DEFAULTS };
const models = new Map(), chipRows = new Map(data.chips.map((chip) => [chip.id, chip]));

function modelOf(id) {
  if (!models.has(id)) models.set(id, completeModel(data.models.find((model) => model.id === id)));
  return models.get(id);
}

// The pasted model and what was noted about it; Refused where there is none.
function pastedModel(text) {
  if (!text.trim()) throw refused("config", "Paste the text of a config.json into the box.");
  const { not_understood: notes, ...found } = readConfigText(text);
  return { ...completeModel({ ...found, id: found.name }), notes };
}

// What a field refuses is marked there as well.
const refused = (name, why) => Object.assign(new Refused(why), { field: name });

const LABELS = { chips: "Chips", prompt: "Longest prompt", output: "Longest output", rent: "Rent" };
const labelOf = (name) => LABELS[name] ?? (state.by === "rate" ? "Requests per second" : "Users at once");

function numberIn(name) {
  const value = Number(state[name]), label = labelOf(name);
  if (state[name] === "") throw refused(name, `${label}: enter a number.`);
  if (!(value > 0 && Number.isFinite(value))) throw refused(name, `${label} must be more than 0.`);
  return value;
}

// The rent of a chip where none is entered: of the kind that is chosen, or else the newest; null where none is known.
const usualRent = ({ rents }) => rents[state.rents] ?? rents.newest;

// The state as predictServing takes it.
function question() {
  const model = state.model === PASTED ? pastedModel(state.config) : modelOf(state.model);
  const chips = numberIn("chips"), chip = chipRows.get(state.chip), byRate = state.by === "rate";
  if (!wholeNumber(chips) || chips > 1024) throw refused("chips", "Chips must be a whole number from 1 to 1,024.");
  const load = numberIn("load");
  const rent = state.rent === "" ? (usualRent(chip)?.usd ?? null) : numberIn("rent");
  return {
    model, chip, chips, rent, engine: state.engine, weights: state.weights || model.weights, kv: state.kv || null,
    tensor: state.tensor === "" ? chips : Number(state.tensor), expert: Number(state.expert),
    prompt: numberIn("prompt"), output: numberIn("output"), spread: data.spread,
    rate: byRate ? load : null, concurrency: byRate ? null : load, requests: byRate ? data.steady : data.requests,
  };
}

// --- the address ---

function addressOf(values) {
  const changed = Object.entries(values).filter(([name, value]) => String(value) !== String(DEFAULTS[name]) && (name !== "config" || values.model === PASTED));
  const query = new URLSearchParams([["plan", VERSION], ...changed.map(([name, value]) => [name, name === "config" ? shortened(value) : value])]);
  return `${location.pathname}${changed.length ? `?${query}` : ""}`;
}

// JSON without its spaces; what is no JSON stays as it is.
function shortened(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function readAddress(query) {
  const given = new URLSearchParams(query), found = { ...DEFAULTS };
  if (given.get("plan") !== VERSION) return found;
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) found[name] = given.get(name);
  if (found.scope in SCOPES) [found.scope, found.rents] = SCOPES[found.scope];
  for (const name of NUMBERS) if (found[name] !== "") found[name] = Number(found[name]);
  for (const [name, known] of [["model", (id) => id === PASTED || data.models.some((m) => m.id === id)], ["chip", (id) => chipRows.has(id)], ["engine", (id) => id in data.engines], ["scope", (scope) => scope in COMPARED], ["rents", (kind) => kind === "demand" || kind === "contract"]]) {
    if (!known(found[name])) found[name] = DEFAULTS[name];
  }
  return found;
}

function keepAddress() {
  try {
    history.replaceState(null, "", addressOf(state) + location.hash);
  } catch {
    // a page from the disk may not change its address
  }
}

// --- the fields ---

const option = (value, text) => Object.assign(document.createElement("option"), { value, textContent: text });
const fill = (name, rows) => field(name).replaceChildren(...rows.map(([value, text]) => option(value, text)));

function fillMenus() {
  fill("model", [[PASTED, "Your own config.json"], ...data.models.map((model) => [model.id, model.name])]);
  field("chip").replaceChildren(...groupedChips());
  fill("engine", Object.entries(data.engines));
}

// Chips below the name of their maker, which would take half the menu's room.
function groupedChips() {
  const groups = new Map();
  for (const { id, name } of data.chips) {
    const [maker, ...rest] = name.split(" ");
    if (!groups.has(maker)) groups.set(maker, Object.assign(document.createElement("optgroup"), { label: maker }));
    groups.get(maker).append(option(id, rest.join(" ").replace(/, one (GPU|package)/, "")));
  }
  return groups.values();
}

// Menus and hints that depend on the other fields.
function showFields() {
  const chips = Number(state.chips), some = wholeNumber(chips) && chips <= 1024;
  let model = null;
  try {
    model = state.model === PASTED ? pastedModel(state.config) : modelOf(state.model);
  } catch { /* question() will say why */ }
  const ways = some ? divisors(chips) : [1], chip = chipRows.get(state.chip);
  const experts = model?.moe ? ways.filter((way) => model.moes.every((g) => way <= g.experts)) : [1];
  if (state.tensor !== "" && !ways.includes(Number(state.tensor))) state.tensor = "";
  if (!experts.includes(Number(state.expert))) state.expert = 1;
  fill("tensor", [["", some ? `${chips} (all)` : "all"], ...ways.filter((way) => way !== chips).map((way) => [way, way])]);
  fill("expert", experts.map((way) => [way, way === 1 ? "1 (none)" : way]));
  fill("weights", [["", model ? `${FORMATS[model.weights] ?? model.weights} (as is)` : "as released"], ...Object.entries(FORMATS)]);
  const own = model ? defaultCache(state.engine, chip, model, state.weights || model.weights) : "";
  fill("kv", [["", own ? `${FORMATS[own]} (usual)` : "usual"], ["bf16", FORMATS.bf16], ["fp8", FORMATS.fp8]]);
  for (const name of Object.keys(DEFAULTS)) if (field(name) && document.activeElement !== field(name)) field(name).value = state[name];
  field("rent").placeholder = usualRent(chip) ? `${usualRent(chip).usd} (${usualRent(chip).said})` : "none known";
  part("more").querySelector("summary").textContent = `More: ${data.engines[state.engine]}, ${formatSaid(model)}, prompts of ${several(state.prompt, "token", lengthSaid(state.prompt))}, answers of ${lengthSaid(state.output)}`;
  part("load-name").textContent = labelOf("load");
  part("paste").hidden = state.model !== PASTED;
  part("notes").replaceChildren(...(model?.notes ? [sizeSaid(model), ...model.notes] : []).map(listItem));
}

const sizeSaid = ({ total, layers, weights }) => `${total >= 1e9 ? `${digitsOf(total / 1e9, 3)} billion` : `${digitsOf(total / 1e6, 3)} million`} parameters in ${several(layers, "layer")}, released as ${FORMATS[weights] ?? weights}.`;
const lengthSaid = (tokens) => (tokens > 0 ? counted(Number(tokens)) : "–");
const formatSaid = (model) => FORMATS[state.weights || model?.weights] ?? "weights as released";

const listItem = (text) => Object.assign(document.createElement("li"), { textContent: text });

// --- the answer ---

function change(values) {
  Object.assign(state, values);
  showFields();
  part("copied").textContent = "";
  clearTimeout(keeping);
  keeping = setTimeout(keepAddress); // after the answer is shown
  answer();
}

let keeping;

function answer() {
  let asked, found;
  forgive();
  try {
    asked = question();
    found = predictServing(asked);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    showRefusal(error);
    return;
  }
  showAnswer(asked, found);
  clearTimeout(later);
  later = setTimeout(() => showBest(asked), 120);
}

let later;

const ANSWER = ".planner-answer, .planner-chart, .planner-numbers, .planner-trust, .planner-warnings, .planner-best, .planner-points, .planner-code";

function setStale(stale) {
  root.classList.toggle("planner-refused", stale);
  for (const each of root.querySelectorAll(ANSWER)) each.inert = stale;
}

function forgive() {
  root.querySelector(".planner-error")?.remove();
  for (const each of root.querySelectorAll("[aria-invalid]")) for (const name of ["aria-invalid", "aria-describedby"]) each.removeAttribute(name);
}

const COUNTED = ["chips", "load", "prompt", "output"]; // of which there must be some

const MILLION = "per million tokens, prompts included";
const NO_ANSWER = [["Does it fit?", "–", "in a chip’s memory"], ["Speed", "–", "per output token"], ["Price", "–", MILLION]];

// The answer is none; what was drawn and counted last stays below it, dimmed. What is wrong is said at the field.
function showRefusal({ message, field: name }) {
  clearTimeout(later);
  setStale(true);
  part("answer").replaceChildren(...NO_ANSWER.map(tile));
  const answered = part("prediction").querySelector("td") ? "The numbers below are those of the last answer." : "";
  part("result").textContent = name ? answered : `${message} ${answered}`.trim();
  if (!name) return;
  const asks = name === PASTED && !state.config.trim(); // what has not been pasted yet is no error
  const others = COUNTED.filter((each) => each !== name && !(state[each] > 0)), wrong = [...(asks ? [] : [name]), ...others];
  for (const each of wrong) field(each).setAttribute("aria-invalid", "true");
  if ([name, ...others].some((each) => field(each).closest("details"))) part("more").open = true;
  const label = field(name).closest("label"), inRow = [...label.parentElement.children].filter((each) => each.offsetTop === label.offsetTop);
  const told = Object.assign(document.createElement("p"), { id: "planner-error", className: asks ? "planner-error planner-asks" : "planner-error", role: "alert", textContent: [message, ...others.map(whyNot)].join(" ") });
  told.style.setProperty("--left", `${label.offsetLeft - inRow[0].offsetLeft}px`);
  inRow.at(-1).after(told); // on a line below its row
  for (const each of [name, ...others]) field(each).setAttribute("aria-describedby", "planner-error");
}

// What is wrong with the number of a field; one message tells it of all.
function whyNot(name) {
  try {
    numberIn(name);
  } catch ({ message }) {
    return message;
  }
}

// Whether memory holds some of the users, but not all at once.
const isCrowded = ({ fits, users }) => fits >= 1 && users > fits;

function showAnswer(asked, found) {
  const fitting = found.fits >= 1, crowded = isCrowded(found), uneven = fitting && unevenSaid(asked);
  setStale(false);
  root.classList.toggle("planner-crowded", crowded);
  root.classList.toggle("planner-uneven", Boolean(uneven));
  root.classList.toggle("planner-unfit", !fitting);
  showTiles(found, fitting, crowded, uneven);
  part("result").replaceChildren(!fitting ? unfit(asked, found) : uneven ? refusal(asked) : crowded ? waiting(found) : "");
  if (fitting && !uneven) part("result").append(betterSaid(asked, found));
  if (fitting) part("result").append(Object.assign(document.createElement("span"), { className: "planner-said", textContent: sentence(found) }));
  showNumbers(found, fitting, crowded);
  showMemory(found, fitting);
  showParts(found, fitting);
  showFrontier(asked, found, fitting);
  part("warnings").replaceChildren(...warnings(asked, found).map(listItem));
  part("trust").textContent = trust(asked, found.constants);
  part("code").querySelector("pre").textContent = pythonCall();
}

// The three answers that are asked for most, large.
function showTiles(found, fitting, crowded, uneven) {
  const { errors } = found.constants;
  const users = `${counted(Math.floor(found.fits))} of ${several(found.users, "user", counted(found.users))}`;
  const price = found.usd_per_mtok === null ? ["–", "no rent known"] : [dollars(found.usd_per_mtok), MILLION];
  const tiles = [
    [uneven ? "Does it run?" : "Does it fit?", !fitting || uneven ? "No" : crowded ? "In part" : "Yes", uneven ? uneven : crowded ? users : `${filledSaid(found)} a chip`],
    ["Speed", fitting ? duration(found.output_token) : "–", fitting ? `per output token, ± ${percent(errors.output_token)}` : "per output token"],
    ["Price", fitting ? price[0] : "–", price[1]],
  ];
  part("answer").replaceChildren(...tiles.map(tile));
}

function tile([name, value, more]) {
  const box = document.createElement("div");
  box.classList.toggle("planner-long", value.length > 7);
  box.append(...[["dt", name], ["dd", value], ["dd", more]].map(([tag, textContent]) => Object.assign(document.createElement(tag), { textContent })));
  return box;
}

// All of it for a screen reader, which is told of no change of tiles and tables.
function sentence(found) {
  return ` Each user gets ${written(found.tokens_per_s_per_user)} tokens/s after ${duration(found.first_token)}. Each chip generates ${written(found.tokens_per_s_per_chip)} tokens/s. The largest part of a token’s time is ${BINDS[found.binds]}.`;
}

const BINDS = {
  weights: "loading the weights", experts: "loading the experts", cache: "loading the KV cache", compute: "compute", links: "communication between chips",
  "kernel gaps": "the gaps between kernels", launching: "launching the kernels of prefill", answers: "sampling and handing out tokens",
};

const waiting = ({ fits, users }) => `Memory holds ${counted(Math.floor(fits))} of ${counted(users)} users at once. The others wait, which is counted in the time to first token.`;

// What an engine says to heads that it cannot deal out evenly.
function refusal({ model, chips }) {
  const most = Math.max(...shardings(model, chips).map(({ tensor }) => tensor));
  return `An engine deals out attention heads evenly, so it refuses this; try tensor parallel ${most}. The numbers are computed as if it ran.`;
}

// Where this sharding breaks the promise: one of the same chips that keeps it, and what it gives.
function betterSaid(asked, found) {
  const promise = promised(), { tokens_per_s_per_user: user, first_token: first, queued } = found;
  if (!queued && isKept({ user, first }, promise)) return "";
  const better = lastOf(findCarrying(asked, asked.chips, promise));
  if (!better) return "";
  const asks = promiseSaid(promise), told = `tensor parallel ${better.tensor}${asked.model.moe ? `, expert parallel ${better.expert}` : ""}`;
  return ` This sharding ${asks ? `misses the promise below, ${asks}` : "lets some requests wait"}. Try ${told}, which gives ${written(better.user)} tokens/s, the first after ${duration(better.first)}.`;
}

function lastOf(search) {
  for (let step; ; ) if ((step = search.next()).done) return step.value;
}

const promiseSaid = ({ user, first }) => [user && `at least ${written(user)} tokens/s each`, first < Infinity && `the first token within ${written(first)} s`].filter(Boolean).join(" and ");

function unfit(asked, { server, fits, memory_per_chip: { cache } }) {
  const { memory } = server.layout.chip, size = sum(Object.values(server.weightsPerChip));
  const more = fits ? ` and the KV cache of one user ${gigabytes(cache)}` : "";
  return `This does not fit: the weights take ${gigabytes(size)} per chip${more}, and the engine may fill ${percent(shareFilled(server))} of ${gigabytes(memory)}. ${wayOut(asked, fewestChips(asked))}`;
}

const shareFilled = ({ settings, weightsPerChip, layout }) => filledShare(settings, sum(Object.values(weightsPerChip)) / layout.chip.memory);

function wayOut({ chips, chip }, fewest) {
  if (fewest === chips) return "Another sharding of these chips holds it.";
  return fewest ? `It takes ${fewest}\u00a0×\u00a0${chip.name}, or a narrower format.` : "No number of these chips holds it; a narrower format may.";
}

function row(...cells) {
  const line = document.createElement("tr");
  line.append(...cells.map((text, n) => {
    const cell = document.createElement(n ? "td" : "th");
    if (!n) cell.scope = "row";
    cell.append(text);
    return cell;
  }));
  return line;
}

function showNumbers(found, fitting, crowded) {
  const { errors } = found.constants, or = (text) => (fitting ? text : "–");
  const known = found.usd_per_mtok !== null;
  part("prediction").tBodies[0].replaceChildren(
    row("Tokens/s per user", or(written(found.tokens_per_s_per_user))),
    row("Tokens/s per chip", or(written(found.tokens_per_s_per_chip))),
    row("Time to first token", or(`${duration(found.first_token)} ± ${percent(errors.first_token)}`)),
    row("$ per million in, out", known ? or(`${dollars(found.usd_per_mtok_in)}, ${dollars(found.usd_per_mtok_out)}`) : "–"),
    row("Requests/s", or(`${written(found.requests_per_s)} of ${written(found.most_rate)} at most`)),
    row("Users in flight, mean", or(`${average(crowded ? Math.floor(found.fits) : found.running)} of ${counted(found.users)}`)),
    row("Users that fit", or(counted(Math.floor(found.fits)))),
  );
}

// A bar for each part, {name: size}, with its name and its size as `say` writes it; the largest fills the width.
function showBars(box, title, parts, say) {
  const shown = Object.entries(parts).filter(([, size]) => size > 0), most = Math.max(...Object.values(parts));
  const table = document.createElement("table");
  table.createCaption().textContent = title;
  table.createTBody().append(...shown.map(([name, size]) => {
    const bar = document.createElement("i");
    bar.style.width = `${(100 * size) / most}%`;
    bar.dataset.part = name;
    return row(name === "weights" && parts.experts ? "other weights" : name, bar, say(size));
  }));
  box.replaceChildren(table);
}

// What an engine fills of a chip's memory at most.
const roomOf = ({ server }) => server.layout.chip.memory * shareFilled(server);
const usedOf = ({ memory_per_chip: parts }) => sum(Object.values(parts));
const filledSaid = (found) => `${digitsOf(usedOf(found) / 1e9, 3)} of ${gigabytes(roomOf(found))}`;

const MEMORY = { "attention and dense": "weights", experts: "experts", embeddings: "embeddings", cache: "KV cache" };

function showMemory(found, fitting) {
  const parts = Object.fromEntries(Object.entries(found.memory_per_chip).map(([name, size]) => [MEMORY[name], size]));
  const free = roomOf(found) - usedOf(found);
  showBars(part("memory"), `Memory of one chip: ${filledSaid(found)} usable`, { ...parts, ...(fitting ? { free } : { "too much": -free }) }, gigabytes);
}

const PARTS = { cache: "KV cache", launching: "prefill launches", answers: "sampling" };

function showParts(found, fitting) {
  part("parts").hidden = !fitting;
  // Parts shorter than a nanosecond are left out, as `NOTHING` in prediction/serving.py does.
  const parts = Object.fromEntries(Object.entries(found.parts).filter(([, size]) => size >= 1e-9).sort((a, b) => b[1] - a[1]).map(([name, size]) => [PARTS[name] ?? name, size]));
  showBars(part("parts"), `Time of one output token: ${duration(found.output_token)}`, parts, duration);
}

let chartSize = null; // as it was laid out last, because asking for it lays out the page again
let drawn = null; // what the chart is of

function showFrontier(asked, found, fitting) {
  drawn = [asked, found, fitting];
  nameFrontier(asked, found);
  if (chartSize) drawFront(frontier(asked, asked.chips)); // else when it is known, after the page was shown first
}

function drawFront(front) {
  const [asked, found, fitting] = drawn, { chips, tensor, expert } = asked;
  const chosen = fitting ? { user: found.tokens_per_s_per_user, chip: found.tokens_per_s_per_chip, users: Math.round(found.users), tensor, expert } : null;
  const runs = publishedRuns(asked, chips);
  const name = front.length ? `The frontier, from ${described(front[0])} to ${described(front.at(-1))}. The table below lists its points.` : "No batch fits.";
  const choose = (point) => change(pointState(point));
  root.classList.toggle("planner-chartless", !front.length);
  drawFrontier(part("chart").querySelector("svg"), { front, chosen, runs, error: found.constants.errors.output_token, name, ...chartSize }, choose);
  points = front;
  showPoints();
}

// At once, for the chart's names take room.
function nameFrontier(asked, found) {
  const { chips } = asked, runs = publishedRuns(asked, chips).length;
  const keys = [["line", `best batch sizes and shardings, ± ${percent(found.constants.errors.output_token)}`], ["you", `yours${offLine(asked, found)}`]];
  if (runs) keys.push(["run", several(runs, "published run")]);
  const title = strong(`What ${several(chips, "chip", counted(chips))} can do: the speed of a user against the throughput of a chip`);
  part("chart").querySelector("figcaption").replaceChildren(title, ...keys.map(keyOf));
}

function keyOf([key, textContent]) {
  const entry = Object.assign(document.createElement("span"), { textContent });
  entry.dataset.key = key;
  return entry;
}

// In two pieces, so that typing is not held up; a newer answer has drawn its own.
function drawLater() {
  if (!drawn) return;
  const [asked] = drawn, front = frontier(asked, asked.chips);
  setTimeout(() => drawn[0] === asked && drawFront(front));
}

// Why no engine would take a sharding; undefined where it would.
function unevenSaid({ model, tensor }) {
  const uneven = model.attention.map(({ heads }) => heads).find((heads) => heads % tensor);
  return uneven && `${uneven} heads cannot be divided over ${counted(tensor)} chips`;
}
const isUnevenExperts = ({ model, expert }) => expert > 1 && model.moe.experts % expert !== 0;

// Why a configuration is not among those of the line. One whose requests wait may be drawn at its end: what memory holds
// of them is a batch like others.
function offLine(asked, found) {
  const uneven = unevenSaid(asked) ? "heads" : isUnevenExperts(asked) && "experts";
  if (uneven) return `, not on the line: its ${uneven} cannot be divided evenly`;
  return isCrowded(found) || found.queued ? ": some requests wait" : "";
}

function warnings({ model, tensor, expert, chip }, found) {
  const { server } = found, told = [];
  if (found.fits >= 1 && found.queued && !isCrowded(found)) told.push(`A step takes in at most ${written(stepTokens(server))} prompt tokens. Prompts come faster than that, so they wait.`);
  if (server.prompt + server.output > model.context_tokens) told.push(`${model.name} is made for ${counted(model.context_tokens)} tokens of context.`);
  if (tensor > chip.domain) told.push(`Tensor parallelism over ${counted(tensor)} chips leaves the fast links, which join ${chip.domain}.`);
  const kvHeads = new Set(model.attention.map((group) => group.kv_heads).filter(Boolean));
  for (const count of kvHeads) if (tensor > count) told.push(`${several(count, "KV head")} on ${counted(tensor)} chips: each chip holds a whole head, so part of the cache is stored several times.`);
  if (tensor > 1 && model.attention.some((group) => group.kind !== "heads")) told.push(`The latent KV cache has no heads: each of the ${counted(tensor)} tensor-parallel chips stores all of it.`);
  if (isUnevenExperts({ model, expert })) told.push(`${model.moe.experts} experts cannot be divided evenly over ${expert} chips.`);
  return told;
}

// Where the price comes from.
function rentSaid(chip) {
  const rent = usualRent(chip);
  if (state.rent !== "") return "Prices use the rent that you entered.";
  return rent ? `Prices use a rent of $${rent.usd} per chip-hour: ${rent.kind}, ${rent.date}.` : `The catalogue has no confirmed rent of ${chip.name}: enter yours to see prices.`;
}

function trust({ engine, model, chip }, { near, kind, errors }) {
  const name = data.engines[engine], what = kind === "experts" ? "mixtures of experts" : "dense models";
  const fitted = {
    chip: `fitted on public runs of ${name} on this chip with ${what}`,
    generation: `fitted on public runs of ${name} on another chip of this generation with ${what}`,
    engine: `fitted on public runs of ${name} on other chips with ${what}; bandwidth, compute and links are from this chip’s datasheet`,
    kind: `fitted on other engines with ${what}, because there are no public runs of ${name} with them`,
  }[near];
  const other = data.fitted.includes(model.id) ? "" : ` ${model.name} was not among the models.`;
  return `${rentSaid(chip)} Expect an error of about ${percent(errors.output_token)} in the time per output token and ${percent(errors.first_token)} in the time to first token. The constants were ${fitted}.${other}`;
}

// --- tables ---

const useButton = (what, press) => Object.assign(document.createElement("button"), { type: "button", className: "quiet-button", textContent: "Load", ariaLabel: `Load ${what}`, onclick: press });

// The fields stand far above the button: they come into view, and the answer says what was loaded.
function use(what, values) {
  change(values);
  root.scrollIntoView();
  part("result").prepend(strong(`Loaded: ${what}.`), " ");
  part("result").focus({ preventScroll: true });
}

function showTable(box, heads, rows, empty) {
  const table = document.createElement("table"), top = table.createTHead().insertRow();
  top.append(...heads.map((text) => Object.assign(document.createElement("th"), { scope: "col", textContent: text })));
  table.createTBody().append(...rows.map((cells) => row(...cells)));
  for (const line of table.tBodies[0].rows) {
    [...line.cells].forEach((cell, n) => { cell.dataset.head = heads[n]; }); // for a phone
    if (line.querySelector("strong")) line.className = "planner-cheapest";
  }
  box.replaceChildren(rows.length ? table : Object.assign(document.createElement("p"), { textContent: empty }));
  requestAnimationFrame(() => globalThis.markBoxes?.([box])); // the page's: a box that is cut fades there
}

let points = []; // of the frontier

// Only where the fold is open: nobody sees it elsewhere, and it takes as long as the chart.
function showPoints() {
  if (!part("points").open) return;
  const button = (point) => {
    const named = `${several(point.users, "user")}, ${cutting(point.tensor, point.expert)}`;
    return useButton(named, () => use(named, pointState(point)));
  };
  const rows = points.map((point) => [cutting(point.tensor, point.expert), written(point.users), speedWritten(point.user), duration(point.first), written(point.chip), button(point)]);
  showTable(part("points").querySelector(".planner-table"), ["Sharding", "Users", "Tokens/s per user", "First token", "Tokens/s per chip", "Load"], rows, "No batch fits.");
}

const COUNTS = [1, 2, 4, 8, 16, 32];
const promised = () => ({ user: Number(state.user) || 0, first: Number(state.first) || Infinity });

// The rows of each comparison, found piece by piece: undefined where nothing is found yet, `point: null` of a chip that
// does not keep the promise.
const COMPARED = {
  *users(asked, promise) {
    for (const chip of data.chips) yield { chip, point: yield* findFewest({ ...asked, chip }, promise) };
  },
  *full(asked, promise) {
    for (const chip of data.chips) {
      let best = null;
      for (const count of COUNTS.slice(0, 4)) {
        const [point] = bestShardings({ ...asked, chip }, [count], promise);
        if (point && !(best?.chip >= point.chip)) best = point;
        yield;
      }
      yield { chip, point: best };
    }
  },
  *chip(asked, promise) {
    for (const count of [...new Set([...COUNTS, asked.chips])].sort((a, b) => a - b)) {
      const [point] = bestShardings(asked, [count], promise);
      yield point && { chip: asked.chip, point };
    }
  },
};

// What a comparison of chips takes as a chip's rent: one of the chosen kind, or the reader's own of the chosen chip.
function comparedRent(asked, chip) {
  if (state.rent !== "" && chip === asked.chip) return { usd: asked.rent, said: "yours" };
  return chip.rents[state.rents];
}

// Typing is never held up, and a newer question ends the search.
async function showBest(asked) {
  const mine = later, { scope } = state, promise = promised(), found = [];
  const box = part("best").querySelector(".planner-table");
  let began = performance.now();
  box.ariaBusy = "true";
  for (const one of COMPARED[scope](asked, promise)) {
    if (one) found.push(one);
    if (performance.now() - began < 10) continue;
    await new Promise((next) => setTimeout(next));
    if (mine !== later) return;
    began = performance.now();
  }
  box.ariaBusy = "false";
  showCompared(box, asked, promise, found);
}

function showCompared(box, asked, promise, found) {
  const { scope } = state, kept = found.filter(({ point }) => point).map(({ chip, point }) => {
    const rent = scope === "chip" ? asked.rent && { usd: asked.rent } : comparedRent(asked, chip);
    return { device: chip, ...point, rent, prices: pricesOf(point.speed, rent?.usd ?? null), hourly: rent && rent.usd * point.chips };
  });
  const rows = scope === "chip" ? kept : kept.filter(({ rent }) => rent);
  const cost = { users: ({ hourly }) => hourly, full: ({ prices }) => prices.all }[scope];
  if (cost) rows.sort((a, b) => cost(a) - cost(b));
  const least = Math.min(...rows.map(({ prices }) => prices?.all ?? Infinity));
  const isBest = (row) => (scope === "users" ? row === rows[0] : row.prices?.all === least);
  showTable(box, HEADS[scope], rows.map((each) => bestRow(each, isBest(each))), EMPTY[scope]);
  const told = scope === "chip" ? [] : leftOut(asked, promise, kept.filter(({ rent }) => !rent), found.filter(({ point }) => !point));
  box.append(...told.map((textContent) => Object.assign(document.createElement("p"), { textContent })));
  root.dataset.best = rows.length;
}

const [FIRST, LAST] = [["Chips", "Sharding"], ["$\u00a0per million in, out", "Load"]], REACHED = ["Tokens/s per\u00a0user", "First token"];
const HEADS = {
  users: [...FIRST, ...REACHED, "$ per chip-hour", "$ per hour in all", ...LAST],
  full: [...FIRST, "Users", ...REACHED, "$ per chip-hour", ...LAST],
  chip: [...FIRST, "Users", ...REACHED, "Tokens/s per\u00a0chip", ...LAST],
};
const EMPTY = {
  users: "No chip with such a rent carries this load at this speed.",
  full: "No chip with such a rent keeps this promise, even for one user.",
  chip: "No number of chips keeps this promise, even for one user.",
};

const strong = (textContent) => Object.assign(document.createElement("strong"), { textContent });

// The cells of a sharding, the cheapest one's price in bold.
function bestRow({ device, chips, tensor, expert, users, user, first, chip, rent, prices, hourly }, best) {
  const { scope } = state, way = cutting(tensor, expert), said = (text) => (best ? strong(text) : text);
  const both = prices ? `${dollars(prices.in)}, ${dollars(prices.out)}` : "–";
  const rented = rentCell(rent);
  const reached = [speedWritten(user), duration(first)];
  const cells = {
    users: [...reached, rented, said(hourly && dollars(hourly)), both],
    full: [written(users), ...reached, rented, said(both)],
    chip: [written(users), ...reached, written(chip), said(both)],
  }[scope];
  // A rent that was entered is of the chosen chip, and goes with no other.
  const own = { ...pointState({ chips, tensor, expert, users }), chip: device.id, chips, rent: device.id === state.chip ? state.rent : "" };
  const { by, load, ...kept } = own, named = `${chips} × ${device.name}, ${way}`;
  const press = () => (scope === "users" ? use(named, kept) : use(`${named}, ${several(users, "user")}`, own));
  return [scope === "chip" ? several(chips, "chip", counted(chips)) : `${chips} × ${device.name}`, way, ...cells, useButton(named, press)];
}

// A rent above its kind.
function rentCell(rent) {
  if (!rent?.said) return "";
  const cell = document.createElement("span"), kind = Object.assign(document.createElement("span"), { className: "planner-kind", textContent: rent.said });
  cell.append(`$${rent.usd.toFixed(2)} `, kind);
  return cell;
}

// What a comparison counts, and the chips that have no row.
function leftOut(asked, promise, unpriced, failed) {
  const { scope, rents } = state, names = (rows, say) => `${rows.map(say).join("; ")}.`;
  const load = asked.rate === null ? several(asked.concurrency, "user", counted(asked.concurrency)) : several(asked.rate, "request", written(asked.rate)) + " per second";
  const told = scope === "users"
    ? `The fewest of each chip that give ${load} ${promiseSaid(promise) || "an answer"}: 1, 2, 3, 4, 6, 8, 12, 16 and so on are tried. The least rent in all comes first.`
    : "The best of 1, 2, 4 and 8 of each chip, with as many users as it can serve at this speed. The cheapest comes first, by the price of all tokens, prompts included.";
  const kind = rents === "contract" ? "three-year contract" : "on-demand rent";
  return [
    told,
    unpriced.length && `Not listed, because no ${kind} is known: ${names(unpriced, ({ chips, device }) => `${chips} × ${device.name}`)}`,
    failed.length && `Not listed, because ${scope === "users" ? "no number of them carries this load at this speed" : "they are too slow or too small"}: ${names(failed, ({ chip }) => chip.name)}`,
  ].filter(Boolean);
}

// What the fields say where a point of the frontier is chosen.
const pointState = ({ chips, tensor, expert, users }) => ({ by: "users", load: users, tensor: tensor === chips ? "" : tensor, expert });

// --- the same call in Python ---

function pythonCall() {
  const asked = question(), imports = [], values = [];
  const add = (name, value, usual) => value !== usual && values.push(`${name}=${typeof value === "string" ? `"${value}"` : value}`);
  let model = `"${asked.model.id}"`;
  if (state.model === PASTED) [model] = ['Model.from_config("config.json")', imports.push("Model")];
  add("chip", asked.chip.id);
  add("chips", asked.chips, 1);
  add("prompt", asked.prompt, 1024);
  add("output", asked.output, 1024);
  add(asked.rate === null ? "concurrency" : "rate", asked.rate ?? asked.concurrency);
  add("weights", asked.weights, asked.model.weights);
  add("kv", asked.kv, null);
  add("engine", asked.engine, "vllm");
  add("tensor", asked.tensor, asked.chips);
  add("expert", asked.expert, 1);
  if (state.rent !== "") values.push(`rent=Rent(${asked.rent}, "${new Date().toISOString().slice(0, 10)}", "my own", None, True)`) && imports.push("Rent");
  else add("rent", usualRent(asked.chip)?.kind, asked.chip.rents.newest?.kind); // the newest whose kind has these words
  const lines = imports.length ? [`from blackboard.catalogue import ${imports.join(", ")}`] : [];
  return [...lines, "from blackboard.prediction import predict_serving", "", `predict_serving(${[model, ...values].join(", ")})`].join("\n");
}

async function copy(what) {
  const text = what === "python" ? pythonCall() : new URL(addressOf(state) + "#plan", location.href).href;
  try {
    await navigator.clipboard.writeText(text);
    part("copied").textContent = "Copied.";
    part("copied").classList.remove("planner-copied-code");
  } catch {
    part("copied").textContent = text; // where the clipboard is not allowed it can be selected
    part("copied").classList.toggle("planner-copied-code", what === "python");
  }
}

// --- start ---

function listen() {
  const read = ({ target }) => target.name && change({ [target.name]: target.type === "number" && target.value !== "" ? Number(target.value) : target.value, ...(target.name === "model" ? { weights: "" } : {}) });
  root.addEventListener("input", read);
  part("form").addEventListener("submit", (event) => event.preventDefault());
  root.addEventListener("focusout", () => setTimeout(showFields));
  part("points").addEventListener("toggle", showPoints);
  part("reset").addEventListener("click", () => { state = { ...DEFAULTS }; change({}); });
  for (const each of root.querySelectorAll("[data-copy]")) each.addEventListener("click", () => copy(each.dataset.copy));
  for (const link of document.querySelectorAll("a.planner-example")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      state = readAddress(new URL(link.href).search);
      change({});
      root.scrollIntoView();
      field("model").focus({ preventScroll: true });
    });
  }
  // What follows the tiles is out of sight while they are stuck to the end of a phone's screen.
  new IntersectionObserver(([{ isIntersecting }]) => part("answer").classList.toggle("planner-stuck", !isIntersecting)).observe(part("result"));
  new ResizeObserver(([{ contentRect: { width, height } }]) => {
    if (!width || (width === chartSize?.width && height === chartSize.height)) return;
    chartSize = { width, height };
    setTimeout(drawLater);
  }).observe(part("chart").querySelector("svg"));
}

if (root) {
  state = readAddress(location.search);
  fillMenus();
  showFields();
  setTimeout(() => { // one piece of work after the other
    root.hidden = false;
    answer();
    listen();
  });
}
