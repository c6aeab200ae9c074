// The glue of predict_serving: which settings, formats, constants and chips enter the formulas. The formulas themselves
// are printed from SymPy into `eq`, those of groups of layers into `groupOf`, and all tables into `data`. Every function
// here bears the name of its Python original in blackboard.prediction; tests/test_planner.py compares all numbers.

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const scaled = (values, factor) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value * factor]));

// --- formats ---

const standardFormat = (format) => data.aliases[format] ?? format;
const bytesOf = (format) => data.bytes[standardFormat(format)];
const storedBytes = (format) => bytesOf(format) * (data.scales[format] ?? 1);
const sharedFormat = (model, weights) => (model.moe && standardFormat(weights) === "fp4" ? "bf16" : weights);

// The format in which a chip multiplies what is stored in this one.
function multipliedFormat(chip, format) {
  const name = standardFormat(format);
  return chip.flops[name] ? name : "bf16";
}

function chipFormat(chip, format) {
  const own = multipliedFormat(chip, format);
  const known = Object.keys(chip.flops).filter((name) => chip.flops[name]);
  return known.includes(own) ? own : known.reduce((a, b) => (chip.flops[b] < chip.flops[a] ? b : a));
}

const chipRate = (chip, format) => chip.flops[chipFormat(chip, format)];

function productRate(chip, model, format) {
  const own = multipliedFormat(chip, format);
  if (model.moe) return chipRate(chip, data.wider[own]);
  return chipRate(chip, own) * (own === "fp4" ? data.fp4Share : 1);
}

// --- models and layouts ---

// A model with what its groups of layers add up to; `held`, `read`, `attends` and `prefills` are of one group.
function completeModel(entry) {
  const moe = entry.ffn.find((group) => group.kind === "experts") ?? null;
  const embedding = entry.vocab * entry.d_model;
  const stored = embedding * (entry.tied_embeddings ? 1 : 2);
  const params = (group) => groupOf[group.kind].params({ ...group, d_model: entry.d_model });
  const total = stored + sum([...entry.attention, ...entry.ffn].map(params));
  const moes = entry.ffn.filter((group) => group.kind === "experts");
  const routed = sum(moes.map((g) => g.layers * g.experts * g.matrices * g.d_ff)) * entry.d_model;
  const indexers = sum(entry.attention.map((g) => groupOf[g.kind].index_params?.({ ...g, d_model: entry.d_model }) ?? 0));
  return {
    ...entry, moe, moes, embedding, stored, total, routed,
    common: total + indexers - routed - stored, routedLayers: sum(moes.map((g) => g.layers)),
    kernels: countKernels(entry),
  };
}

function countKernels(model) {
  const { attention, experts, shared, dense, others } = data.kernels;
  const feedForward = (g) => (g.kind === "experts" ? experts + (g.shared ? shared : 0) : dense);
  return sum(model.attention.map((g) => attention[g.kind] * g.layers)) + sum(model.ffn.map((g) => feedForward(g) * g.layers)) + others;
}

const held = (group, context, format) => bytesOf(format) * groupOf[group.kind].held({ ...group, context });
const read = (group, context, format) => bytesOf(format) * groupOf[group.kind].read({ ...group, context });

class Refused extends Error {}

const wholeNumber = (value) => Number.isInteger(value) && value >= 1;

function buildLayout(model, chip, chips, tensor, expert) {
  for (const [name, value] of Object.entries({ Chips: chips, "Tensor parallelism": tensor, "Expert parallelism": expert })) {
    if (!wholeNumber(value)) throw new Refused(`${name} must be a whole number, 1 or more.`);
  }
  if (chips % tensor) throw new Refused(`${chips} chips are not a multiple of tensor parallelism ${tensor}.`);
  if (chips % expert) throw new Refused(`${chips} chips are not a multiple of expert parallelism ${expert}.`);
  if (expert > 1 && !model.moe) throw new Refused(`${model.name} has no experts: set expert parallelism to 1.`);
  const experts = Math.min(...model.moes.map((g) => g.experts));
  if (expert > 1 && experts < expert) throw new Refused(`${model.name} has ${experts} experts in a layer, fewer than expert parallelism ${expert}.`);
  return { model, chip, chips, tensor, expert, ranks: chips / tensor, expertGroup: expert > 1 ? expert : tensor };
}

const cacheShards = (layout, group) => (group.kind === "heads" ? Math.min(layout.tensor, group.kv_heads) : 1);

function cachePerChip(layout, batch, context, format) {
  const each = sum(layout.model.attention.map((g) => held(g, context, format) / cacheShards(layout, g)));
  return (batch / Math.min(layout.ranks, Math.max(1, batch))) * each;
}

// --- settings and constants ---

function defaultSettings(engine, layout, weights, prompt, output, users) {
  const { chip, model, chips, ranks } = layout;
  const blackwell = data.blackwell.includes(chip.id), narrow = standardFormat(weights) === "fp4";
  if (engine === "vllm") {
    const recorded = model.weights === "mxfp4" ? 2048 : 0;
    return { stepTokens: 8192, mixes: true, held: 0, waits: 0, room: 0.9, free: false, recorded };
  }
  if (engine === "sglang") {
    const steps = blackwell ? (users >= 16 ? 30 : 10) : 0;
    return { stepTokens: narrow ? 16384 : 32768, mixes: false, held: steps, waits: steps / 2, room: narrow ? 0.85 : 0.82, free: false };
  }
  if (model.moe) {
    const steps = ranks > 1 ? 60 : 0, all = { mixes: true, held: steps, waits: steps, free: true };
    if (model.weights === "mxfp4") return { ...all, stepTokens: Math.max(20000, prompt), room: 0.85 };
    const own = prompt + users + 64;
    return { ...all, stepTokens: narrow ? Math.max(own, 8192) : own, room: blackwell ? 0.8 : 0.75 };
  }
  const steps = prompt === output && chips < 8 ? 20 : 0;
  return { stepTokens: prompt + output + 200, mixes: true, held: steps, waits: steps, room: 0.9, free: true };
}

function defaultCache(engine, chip, model, weights) {
  const wide = model.weights === "mxfp4" || engine === "sglang";
  const hopper = !data.blackwell.includes(chip.id);
  return standardFormat(weights) === "bf16" || (wide && hopper) ? "bf16" : "fp8";
}

// The fitted constants, how near the fitted runs are, and the expected errors.
function nearestConstants(engine, chip, model) {
  const kind = model.moe ? "experts" : "dense";
  const near = nearest(engine, chip.id, kind);
  const group = data.fitted.includes(model.id) ? kind : `${kind}, other models`;
  return { near, kind, values: { ...data.links, ...constantsOf(factorsOf(engine, chip.id, model, kind)) }, errors: data.expected[group][near] };
}

// Names of the factors that a server's constants are products of.
function factorsOf(engine, chip, model, kind) {
  const groups = [kind, like(model), data.generations[chip] ?? chip];
  return [data.all, engine, ...groups, ...groups.map((each) => `${engine} ${each}`)];
}

// Id of the fitted model of the same shape, whatever its name; its own where none was fitted.
function like(model) {
  const shape = (each) => [each.layers, each.d_model, each.vocab].join();
  return data.fitted.find((id) => shape(data.models.find((each) => each.id === id)) === shape(model)) ?? model.id;
}

function constantsOf(names) {
  const known = names.map((name) => data.factors[name]).filter(Boolean);
  const product = (constant) => known.reduce((value, each) => value * (each[constant] ?? 1), 1);
  return Object.fromEntries(Object.entries(data.bounds).map(([name, [least, most]]) => [name, Math.min(Math.max(product(name), least), most)]));
}

function nearest(engine, chip, kind) {
  const measured = (other) => data.measured.includes(`${engine} ${other} ${kind}`);
  if (measured(chip)) return "chip";
  const alike = Object.keys(data.generations).filter((each) => data.generations[each] === data.generations[chip]);
  if (alike.some(measured)) return "generation";
  return data.chips.some((each) => measured(each.id)) ? "engine" : "kind";
}

// --- one step ---

// What all steps of a server have in common: seconds for each token, decode or answer, on one chip.
function unitWork({ layout, weights, cache, prompt, lengths }) {
  const { model, chip } = layout, context = eq.mean_context(lengths), rate = chipRate(chip, "bf16");
  const shared = sharedFormat(model, weights);
  const bytes = storedBytes(shared) * model.common + bytesOf(data.head) * model.embedding;
  const total = (answer) => sum(model.attention.map((g) => answer(groupOf[g.kind], g)));
  const cached = sum(model.attention.map((g) => read(g, context, cache) / cacheShards(layout, g)));
  return {
    read: bytes / layout.tensor / chip.bandwidth,
    multiply: (2 * model.common) / productRate(chip, model, shared),
    heads: (2 * model.embedding) / chipRate(chip, data.head),
    cached: cached / chip.bandwidth,
    attended: total((group, g) => group.attends({ ...g, context })) / rate,
    prefilled: total((group, g) => group.prefills({ ...g, tokens: prompt })) / prompt / rate,
  };
}

function step(server, decodes, prompts, tokens = 0) {
  const { layout, unit } = server, { model } = layout;
  const all = decodes + tokens, busy = Math.min(layout.ranks, Math.max(1, decodes + prompts));
  const sharing = layout.tensor * busy;
  return {
    shared_read: unit.read,
    shared_multiply: (unit.multiply * all + unit.heads * (decodes + prompts)) / sharing,
    ...expertWork(server, all),
    cache_read: (unit.cached * decodes) / busy,
    cache_multiply: (unit.attended * decodes) / sharing,
    prompt_attend: (unit.prefilled * tokens) / sharing,
    ...linkWork(server, all, decodes + prompts),
    captured: model.kernels,
    launched: tokens ? (all <= (server.settings.recorded ?? 0) ? 2 * model.layers : model.kernels) : 0,
    answers: (decodes + prompts) / busy,
  };
}

function expertWork({ layout, weights }, tokens) {
  const { model, chip } = layout, { moe } = model;
  if (!moe) return { expert_read: 0, expert_multiply: 0 };
  const seen = Math.max(1, (tokens * layout.expertGroup) / layout.chips);
  const touched = eq.coverage({ batch: seen, experts: moe.experts, top_k: moe.active });
  const rows = eq.padded_rows({ routed_tokens: seen, top_k: moe.active, experts: moe.experts, touched, tile: data.tile });
  const own = model.routed / layout.expertGroup;
  const [most, longest] = layout.expert > 1 ? busiest(layout, seen, touched) : [1, 1];
  return {
    expert_read: (most * own * touched * storedBytes(weights)) / chip.bandwidth,
    expert_multiply: (longest * 2 * own * rows) / moe.experts / productRate(chip, model, weights),
  };
}

// The busiest chip's experts to read and rows to multiply, divided by the mean.
function busiest(layout, tokens, touched) {
  const { moe } = layout.model, places = layout.expert;
  const mean = (moe.experts / places) * touched, rows = (tokens * moe.active) / places;
  const factor = (mean_load, spread_load) => Math.min(places, eq.busiest({ places, mean_load, spread_load }));
  const most = Math.min(factor(mean, mean * (1 - touched)), 1 / touched);
  return [Math.max(1, most), Math.max(1, factor(rows, rows * (1 - 1 / places)))];
}

// Seconds of messages, and how many follow one another.
function linkWork({ layout, weights }, tokens, sequences) {
  const { model } = layout;
  const apart = layout.ranks > 1 && layout.expert > 1;
  const expert = apart ? layout.expert : 1;
  const reduces = layout.tensor > 1 ? 2 * model.layers - (apart ? model.routedLayers : 0) : 0;
  const values = linkValues({ ...layout, expert }, tokens, sequences, weights);
  const within = layout.tensor <= layout.chip.domain;
  const reduce = within ? eq.reduce_time : (known) => eq.domains_reduce({ ...known, ...domainValues(layout, known) });
  return {
    link_busy: (reduces && reduces * reduce(values)) + (apart && model.routedLayers * eq.route_time(values)),
    collectives: reduces + (apart ? 2 * model.routedLayers : 0),
  };
}

function linkValues({ model, chip, chips, tensor, expert, ...layout }, tokens, sequences, weights) {
  const own = tokens / Math.min(layout.ranks, Math.max(1, sequences));
  const far_rate = chip.scaleOut ?? chip.scaleUp;
  const racks = Math.max(1, expert / chip.domain);
  const apart = expert > 1 ? { top_k: model.moe.active, expert_parallel: expert, racks, ...openDomains(model, racks) } : null;
  return {
    chips: tensor, scale_up: chip.scaleUp, message: own * model.d_model * data.vectorBytes,
    tokens_per_chip: own / tensor, width: model.d_model,
    dispatch_bytes: data.sent[standardFormat(weights)] ?? data.vectorBytes, combine_bytes: data.vectorBytes,
    scale_out: chips <= chip.domain ? chip.scaleUp : far_rate, far_rate, start_time: 0,
    visited_domains: apart ? eq.domains_reached(apart) : 0, visited_chips: apart ? eq.chips_visited(apart) : 0,
  };
}

// Scale-up domains in which a token's experts can be, and those that have one: its router may take few groups of experts.
function openDomains({ moe: { groups = 1, limit = 1 } }, domains) {
  let open = domains;
  if (limit < groups && domains >= groups) open = (domains * limit) / groups;
  else if (limit < groups) {
    let missed = 1;
    for (let n = 0; n < limit; n++) missed *= Math.max(0, groups - groups / domains - n) / (groups - n);
    open = domains * (1 - missed);
  }
  return { open_domains: open, sure_domains: Math.min(open, limit) };
}

const domainValues = ({ chip, tensor }, { far_rate }) => (
  { chips: chip.domain, racks: tensor / chip.domain, start_time: 0, scale_up: chip.scaleUp, scale_out: far_rate });

// --- the server ---

function buildServer(layout, { engine, weights, kv, prompt, output, users, requests, spread }) {
  const mean = (tokens) => Math.max(1, eq.mean_length({ nominal_length: tokens, least_share: spread }));
  const { model, chip } = layout;
  const server = {
    layout, engine, weights, users, requests, spread, prompt: mean(prompt), output: mean(output),
    cache: kv ?? defaultCache(engine, chip, model, weights),
    settings: defaultSettings(engine, layout, weights, prompt, output, users),
  };
  server.lengths = { prompt_length: server.prompt, output_length: server.output };
  server.weightsPerChip = weightsPerChip(server);
  server.fits = fits(server);
  server.unit = unitWork(server);
  return server;
}

function weightsPerChip({ layout, weights }) {
  const { model } = layout;
  return {
    "attention and dense": (storedBytes(sharedFormat(model, weights)) * model.common) / layout.tensor,
    experts: (storedBytes(weights) * model.routed) / layout.expertGroup,
    embeddings: (bytesOf(data.head) * model.stored) / layout.tensor,
  };
}

function fits({ layout, settings, weightsPerChip, lengths, cache }) {
  const weight_bytes = sum(Object.values(weightsPerChip)), memory_bytes = layout.chip.memory;
  if (weight_bytes >= mostWeights(settings, layout.chip)) return 0;
  const sequence_cache = cachePerChip(layout, layout.ranks, eq.mean_context(lengths), cache) / layout.ranks;
  return eq.held_sequences({ room_share: filledShare(settings, weight_bytes / memory_bytes), memory_bytes, weight_bytes, sequence_cache });
}

// The share of a chip's memory that an engine fills, of which the weights take a share.
const filledShare = ({ room, free }, weights) => (free ? room + (1 - room) * Math.min(1, weights) : room);

// Bytes that weights may take on a chip.
const mostWeights = ({ room, free }, chip) => (free ? 1 : room) * chip.memory;

// Tokens of a step: each group of chips fills its own.
const stepTokens = ({ settings, layout }) => settings.stepTokens * layout.ranks;

function running(server) {
  const { users, fits, prompt, output } = server;
  return Math.min(users, Math.max(1, fits), Math.max(1, (stepTokens(server) * output) / prompt));
}

function plan(server) {
  const { settings, prompt, output, requests, spread, lengths } = server;
  const users = running(server), budget = settings.stepTokens;
  const coming = eq.prompts_per_step({ concurrency: users, ...lengths });
  const parts = Math.ceil(prompt / budget);
  const atOnce = Math.max(1, Math.floor(budget / prompt)) * (parts === 1 ? server.layout.ranks : 1);
  const clumping = eq.clumping({ least_share: Math.min(spread, 0.999), requests_per_user: requests });
  const together = eq.taken_together({ coming: Math.min(users, clumping * coming * (1 + settings.held)) });
  const taken = Math.max(parts > 1 ? 1 / parts : Math.min(together, atOnce, Math.max(1, users)), coming);
  const burst = parts === 1 ? Math.min(atOnce, users) : 1 / parts;
  const others = eq.others_prompts({ concurrency: Math.max(1, users), output_length: output, requests_per_user: requests });
  return {
    values: {
      concurrency: users, ...lengths, prompts_taken: taken, prompt_share: Math.min(1, others / taken),
      requests_per_user: requests, held_steps: Math.min(settings.waits, (data.full * stepTokens(server)) / prompt / coming), burst_groups: Math.ceil(users / burst),
    },
    others, clumping, atOnce, parts, mixes: settings.mixes,
    decode: step(server, users, 0),
    prompt: step(server, settings.mixes ? users : 0, taken, taken * prompt),
    burst: step(server, settings.mixes ? users / 2 : 0, burst, burst * prompt),
  };
}

function loopTimes(plan, constants) {
  const at = (name) => eq.mixed_time({ ...plan[name], ...constants });
  const values = { ...plan.values, decode_step: at("decode"), prompt_step: at("prompt"), alone_step: at("prompt"), burst_step: at("burst"), captured: plan.decode.captured };
  const output = plan.mixes ? eq.mixed_token(values) : eq.stalled_token(values);
  const alone = plan.mixes ? values.prompt_step - values.decode_step : values.prompt_step;
  const rate = plan.others / values.prompts_taken;
  const busy = Math.min(0.9, Math.max(0, (rate * alone) / output));
  const running_step = eq.mixed_token({ ...values, prompt_share: Math.min(1, plan.clumping * rate) });
  const first = eq.first_token_time({
    ...values, ...constants, running_step, output_token: output, prompt_busy: busy / plan.atOnce, prompt_step: values.prompt_step * plan.parts,
  });
  return { output, first, alone };
}

// --- what a token's time is made of ---

function partsOf(plan, constants) {
  const { prompt_share, prompts_taken } = plan.values, found = {};
  const weights = plan.mixes ? [1 - prompt_share, prompt_share] : [1, plan.others / prompts_taken];
  ["decode", "prompt"].forEach((name, n) => {
    for (const [part, value] of Object.entries(stepParts(plan[name], constants))) found[part] = (found[part] ?? 0) + weights[n] * value;
  });
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value));
}

function stepParts(step, constants) {
  const none = { ...scaled(step, 0), ...constants };
  const alone = (name) => eq.device_time({ ...none, [name]: step[name] });
  const device = Object.fromEntries(Object.keys(step).map((name) => [name, alone(name)]));
  for (const kind of ["shared", "expert", "cache"]) {
    device[device[`${kind}_read`] > device[`${kind}_multiply`] ? `${kind}_multiply` : `${kind}_read`] = 0;
  }
  device.answers = device.launched = 0;
  const sent = eq.mixed_time({ ...none, answers: step.answers });
  const launched = Math.max(0, eq.mixed_time({ ...step, ...constants }) - sent - sum(Object.values(device)));
  Object.assign(device, { answers: sent, launched });
  return Object.fromEntries(Object.entries(data.parts).map(([part, names]) => [part, sum(names.map((name) => device[name]))]));
}

// --- the prediction ---

// As predict_serving takes it, with completed rows for model and chip; `rent` in USD per chip and hour, or null.
function predictServing(asked) {
  const { model, chip, engine = "vllm", chips = 1, tensor = chips, expert = 1, prompt = 1024, output = 1024, spread = 0.8, rate = null, rent = null } = asked;
  for (const [name, value] of Object.entries({ "Prompt length": prompt, "Output length": output, [rate === null ? "Concurrency" : "Requests per second"]: rate ?? asked.concurrency ?? 1 })) {
    if (!(value > 0 && Number.isFinite(value))) throw new Refused(`${name} must be a positive number.`);
  }
  const layout = buildLayout(model, chip, chips, tensor, expert);
  const weights = asked.weights ?? model.weights;
  const requests = rate !== null || asked.requests === null ? data.steady : (asked.requests ?? 10);
  const server = buildServer(layout, { engine, weights, kv: asked.kv, prompt, output, users: asked.concurrency ?? 1, requests, spread });
  const constants = nearestConstants(engine, chip, model);
  const found = predict(server, constants, rent);
  return rate === null ? found : atRate(server, constants, rent, rate, found.most_rate);
}

function predict(server, constants, rent) {
  const speed = speeds(server, constants);
  const { layout } = server, prices = pricesOf(speed, rent);
  const parts = partsOf(speed.plan, constants.values);
  const cache = cachePerChip(layout, speed.running, eq.mean_context(server.lengths), server.cache);
  const memory = { ...server.weightsPerChip, cache };
  const { plan, busy, ...numbers } = speed;
  return {
    ...numbers, server, constants, parts, fits: server.fits, users: server.users,
    most_rate: speeds({ ...server, users: mostUsers(server) }, constants).requests_per_s,
    usd_per_mtok: prices && prices.all, usd_per_mtok_in: prices && prices.in, usd_per_mtok_out: prices && prices.out,
    binds: Object.keys(parts).reduce((a, b) => (parts[b] > parts[a] ? b : a)),
    memory_per_chip: Object.fromEntries(Object.entries(memory).filter(([, size]) => size)),
  };
}

// Dollars per million tokens: of all together, of prompts, and of output; null where there is no rent.
function pricesOf({ plan, busy, tokens_per_s_per_chip }, rent) {
  if (rent === null) return null;
  const { prompt_length, output_length } = plan.values, requests = (tokens_per_s_per_chip / output_length) * 3600; // of a chip, per hour
  const price = (share, tokens) => ((share * rent) / (requests * tokens)) * 1e6;
  return { all: price(1, prompt_length + output_length), in: price(busy, prompt_length), out: price(1 - busy, output_length) };
}

// Times and rates of a server: all that a point of the frontier needs.
function speeds(server, constants) {
  const made = plan(server), times = loopTimes(made, constants.values);
  const { users, output, layout } = server, here = made.values.concurrency;
  const requests_per_s = eq.request_rate({ concurrency: here, output_length: output, first_token: times.first, output_token: times.output });
  const waiting = users - here > 1e-9 * users ? users - here : 0;
  const first_token = waiting ? users / requests_per_s - (output - 1) * times.output : times.first;
  return {
    plan: made, busy: Math.min(1, (requests_per_s * times.alone) / made.values.prompts_taken), running: here, queued: waiting, requests_per_s, first_token, output_token: times.output,
    response: first_token + (output - 1) * times.output,
    tokens_per_s_per_user: 1 / times.output, tokens_per_s_per_chip: (requests_per_s * output) / layout.chips,
  };
}

const mostUsers = (server) => Math.min(data.mostUsers, Math.max(1, server.fits));

// The loop whose throughput is this rate; refused where it is beyond the stable range.
function atRate(server, constants, rent, rate, most) {
  if (rate >= most) throw new Refused(`The queue would grow without end: this server answers fewer than ${most.toPrecision(3)} requests per second.`);
  const rateOf = (users) => speeds({ ...server, users }, constants).requests_per_s;
  let low = 1, high = mostUsers(server);
  if (rate <= rateOf(1)) high = 1;
  else for (let n = 0; n < 60; n++) {
    const middle = Math.sqrt(low * high);
    if (rateOf(middle) < rate) low = middle;
    else high = middle;
  }
  return predict({ ...server, users: high }, constants, rent);
}
