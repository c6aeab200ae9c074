// Many predictions at once: all batch sizes and shardings of some chips, and the best of them for a promised speed.

const divisors = (number) => Array.from({ length: number }, (_, n) => n + 1).filter((each) => number % each === 0);

// Ways to cut a model over chips: heads evenly, as engines ask for it; experts dealt out over all chips or not at all.
function shardings(model, chips) {
  const experts = model.moe && chips > 1 && model.moes.every((g) => chips <= g.experts) ? [1, chips] : [1];
  const tensors = divisors(chips).filter((tensor) => model.attention.every((g) => g.heads % tensor === 0));
  return tensors.flatMap((tensor) => experts.map((expert) => ({ chips, tensor, expert })));
}

// A function of the users in flight: what one sharding then gives each of them and all; null where some would wait. Its
// `most` is how many memory holds.
function speedOf(asked, sharding) {
  const layout = buildLayout(asked.model, asked.chip, sharding.chips, sharding.tensor, sharding.expert);
  const constants = nearestConstants(asked.engine, asked.chip, asked.model);
  const weights = asked.weights ?? asked.model.weights;
  const serve = (users) => buildServer(layout, { ...asked, weights, users });
  const most = Math.min(data.mostUsers, Math.floor(serve(1).fits));
  const speed = (users) => (users <= most ? pointOf(sharding, serve(users), constants) : null);
  return Object.assign(speed, { most });
}

// What a server gives its users; null where some would wait.
function pointOf(sharding, server, constants) {
  const { users, fits } = server, found = users <= fits && speeds(server, constants);
  if (!found || found.queued) return null;
  return { ...sharding, users, user: found.tokens_per_s_per_user, chip: found.tokens_per_s_per_chip, first: found.first_token, speed: found };
}

// All points of a sharding, from one user to as many as fit, in steps of a factor √2.
function curveOf(asked, sharding) {
  const speed = speedOf(asked, sharding), counts = new Set();
  for (let users = 1; users < speed.most; users *= Math.SQRT2) counts.add(Math.round(users));
  if (speed.most) counts.add(speed.most);
  return [...counts].map(speed).filter(Boolean);
}

// Points that no other beats in both speed to a user and throughput of a chip, from slow to fast.
function frontOf(points) {
  const front = [];
  for (const point of [...points].sort((a, b) => b.user - a.user)) {
    if (!front.length || point.chip > front.at(-1).chip) front.push(point);
  }
  return front.reverse();
}

function frontier(asked, chips) {
  const curves = shardings(asked.model, chips).map((sharding) => curveOf(asked, sharding));
  return frontOf(curves.flat());
}

const isKept = (point, { user, first }) => point.user >= user && point.first <= first;

// The most users that a sharding serves as promised: each with so many tokens per second, the first after so many
// seconds. Both get worse with every user.
function mostPromised(asked, sharding, { user, first }) {
  const speed = speedOf(asked, sharding);
  const kept = (users) => {
    const point = speed(users);
    return point && isKept(point, { user, first }) ? point : null;
  };
  let best = kept(1), low = 1, high = 2;
  if (!best) return null;
  for (let point; high <= data.mostUsers && (point = kept(high)); high *= 2) [best, low] = [point, high];
  while (high - low > Math.max(1, low / 64)) {
    const middle = Math.floor((low + high) / 2), point = kept(middle);
    if (point) [best, low] = [point, middle];
    else high = middle;
  }
  return best;
}

// The fewest of a chip, among the powers of two, that hold the model with one user, as many as are asked for or more;
// undefined where a thousand do not.
function fewestChips(asked) {
  const counts = [asked.chips, ...Array.from({ length: 11 }, (_, n) => 2 ** n).filter((count) => count > asked.chips)];
  return counts.find((chips) => shardings(asked.model, chips).some((sharding) => speedOf(asked, sharding).most > 0));
}

// For each number of chips the sharding with the highest throughput that keeps the promise.
function bestShardings(asked, counts, promise) {
  const best = (chips) => shardings(asked.model, chips).map((sharding) => mostPromised(asked, sharding, promise))
    .filter(Boolean).reduce((a, b) => (a && a.chip >= b.chip ? a : b), null);
  return counts.map(best).filter(Boolean);
}

// What a sharding gives the users, or the requests per second, that are asked for, as promised; null where it does not.
function carried(asked, sharding, promise) {
  const { engine, chip, model } = asked, given = { ...asked, ...sharding, weights: asked.weights ?? model.weights };
  const server = (asked.rate ?? null) === null
    ? buildServer(buildLayout(model, chip, sharding.chips, sharding.tensor, sharding.expert), { ...given, users: asked.concurrency })
    : serverAt(given, sharding, promise);
  const point = server && pointOf(sharding, server, nearestConstants(engine, chip, model));
  return point && isKept(point, promise) ? point : null;
}

// The server of a rate. It takes long to find, so that one user is tried first.
function serverAt(asked, sharding, promise) {
  const alone = speedOf(asked, sharding)(1);
  if (!alone || !isKept(alone, promise)) return null;
  try {
    return predictServing(asked).server;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return null; // more than it can answer
  }
}

// The sharding of some chips that carries the load as promised with the highest throughput; null where none does. It
// stops after each, for whoever has other work to do.
function* findCarrying(asked, chips, promise) {
  let best = null;
  for (const sharding of shardings(asked.model, chips)) {
    const point = carried(asked, sharding, promise);
    if (point && !(best?.chip >= point.chip)) best = point;
    yield;
  }
  return best;
}

const TRIED = Array.from({ length: 10 }, (_, n) => [2 ** n, 3 * 2 ** (n - 1)]).flat().filter(wholeNumber).concat(1024);

// The fewest chips that do so.
function* findFewest(asked, promise) {
  for (const chips of TRIED) {
    const found = yield* findCarrying(asked, chips, promise);
    if (found) return found;
  }
  return null;
}

// Published runs of the same model, chips, engine, format and lengths.
function publishedRuns({ model, chip, engine, prompt, output, weights }, chips) {
  const same = (run) => run.model === model.id && run.chip === chip.id && run.engine === engine && run.chips === chips
    && run.weights === (weights ?? model.weights) && run.prompt === prompt && run.output === output;
  return data.runs.filter(same).map((run) => {
    const length = eq.mean_length({ nominal_length: output, least_share: data.spread });
    const rate = eq.request_rate({ concurrency: run.users, output_length: length, first_token: run.first, output_token: run.token });
    return { ...run, user: 1 / run.token, chip: (rate * length) / chips };
  });
}
