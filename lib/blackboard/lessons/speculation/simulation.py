"""The speculation lesson by other means: coins that are tossed, text that is really written in rounds, servers that
run pass by pass.

No formula of the lesson is used in what stands above the rows by batch. Counts and times are in base SI units; a
speed-up is tokens per second with speculation over those without.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from blackboard.catalogue import chip, measurement, model
from blackboard.lessons.batching.equations import critical_batch
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation.distributions import draw, ngrams, overlap, speculate

# --- tokens of a round ------------------------------------------------------------------------------------------------


class Mean(NamedTuple):
    """The mean of a sample and its standard error."""

    value: float
    error: float

    def __repr__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


def mean(sample: Sequence[float]) -> Mean:
    """Of at least two numbers."""
    middle = math.fsum(sample) / len(sample)
    spread = math.fsum((value - middle) ** 2 for value in sample) / (len(sample) - 1)
    return Mean(middle, math.sqrt(spread / len(sample)))


def passed(rng: random.Random, acceptance: float, drafted: int) -> int:
    """How many of the drafted tokens are accepted before the first is refused, each with the same chance."""
    for place in range(drafted):
        if rng.random() >= acceptance:
            return place
    return drafted


@cache
def rounds(acceptance: float, drafted: int, count: int = 10_000, seed: int = 0) -> Mean:
    """Tokens of a round, with one of the target's own, over so many rounds."""
    rng = random.Random(seed)
    return mean([passed(rng, acceptance, drafted) + 1 for _ in range(count)])


# --- rounds on real text ----------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """Rounds in which one model of the sonnets drafted for another: by place in the draft, how many were judged and
    how many passed.
    """

    text: str
    judged: tuple[int, ...]
    passed: tuple[int, ...]

    @property
    def rounds(self) -> int:
        return self.judged[0]

    @property
    def tokens_per_round(self) -> float:
        """With the target's own."""
        return 1 + sum(self.passed) / self.rounds

    @property
    def by_place(self) -> tuple[float, ...]:
        """The share accepted of those judged at each place: the chance, given that all before it were."""
        return tuple(passed / judged for passed, judged in zip(self.passed, self.judged))

    @property
    def acceptance(self) -> float:
        """The share accepted of all that were judged."""
        return sum(self.passed) / sum(self.judged)

    def __repr__(self) -> str:
        return (
            f"<{self.rounds:,} rounds, {self.tokens_per_round:.2f} tokens each, {100 * self.acceptance:.0f}% of judged"
            " tokens passed>"
        )


@cache
def written(
    draft_order: int = 2, target_order: int = 4, drafted: int = 7, count: int = 3_000, seed: int = 0
) -> Written:
    """So many rounds one after the other, from the start of a sonnet; the orders are those of the two models."""
    rng, draft, target = random.Random(seed), ngrams(draft_order), ngrams(target_order)
    text, judged, kept = "\n\n", [0] * drafted, [0] * drafted
    for _ in range(count):
        done = speculate(rng, draft, target, text[-max(draft_order, target_order) :], drafted)
        text += done.text
        for place in range(min(done.passed + 1, drafted)):
            judged[place] += 1
            kept[place] += place < done.passed
    return Written(text, tuple(judged), tuple(kept))


@cache
def overlaps(draft_order: int = 2, target_order: int = 4, count: int = 3_000, seed: int = 0) -> tuple[float, ...]:
    """The overlap of the two models at every character of a text that the target writes: the acceptance there."""
    rng, draft, target = random.Random(seed), ngrams(draft_order), ngrams(target_order)
    text, found = "\n\n", []
    for _ in range(count):
        before = text[-max(draft_order, target_order) :]
        found.append(overlap(target(before), draft(before)))
        text += draw(rng, target(before))
    return tuple(found)


# --- the best draft length --------------------------------------------------------------------------------------------


class Best(NamedTuple):
    """The number of drafted tokens that gains most, and the gain."""

    drafted: int
    speedup: float


def gain(acceptance: float, drafted: int, draft_ratio: float, memory_ratio: float = math.inf) -> float:
    """Speed-up of a round, its tokens added up place by place; verifying is free where reading takes endlessly longer
    than multiplying.
    """
    tokens, chance = 1.0, 1.0
    for _ in range(drafted):
        chance *= acceptance
        tokens += chance
    verify = 1.0 if memory_ratio == math.inf else max(drafted + 1, memory_ratio) / max(1, memory_ratio)
    return tokens / (drafted * draft_ratio + verify)


def best_drafted(acceptance: float, draft_ratio: float, memory_ratio: float = math.inf, most: int = 64) -> Best:
    """The best number of drafted tokens, by trying all from none to `most`; the smallest of equals."""
    found = max(range(most + 1), key=lambda drafted: (gain(acceptance, drafted, draft_ratio, memory_ratio), -drafted))
    return Best(found, gain(acceptance, found, draft_ratio, memory_ratio))


# --- a server ---------------------------------------------------------------------------------------------------------


class Server(NamedTuple):
    """A machine with a target model: FLOP/s, bytes/s, parameters, and bytes of weights and of each sequence's cache,
    read once a pass.
    """

    flops: float
    bandwidth: float
    n_active: float
    weight_bytes: float
    cache_bytes: float

    def seconds(self, sequences: int, tokens: int) -> float:
        """One pass of so many tokens for each sequence: the slower of multiplying and reading."""
        multiplied = sum(2 * self.n_active for _ in range(sequences * tokens))
        read = self.weight_bytes + sum(self.cache_bytes for _ in range(sequences))
        return max(multiplied / self.flops, read / self.bandwidth)


def server(known: dict[str, float]) -> Server:
    """A server by the notation's names, as a case's `symbols` has them."""
    cache_bytes = known["context"] * known["kv_bytes_per_token"]
    return Server(
        known["flops"], known["bandwidth"], known["n_active"], known["n_total"] * known["bytes_per_param"], cache_bytes
    )


class Served(NamedTuple):
    """What a run did: tokens that count, seconds, rounds, and tokens that were drafted for nothing."""

    tokens: int
    seconds: float
    rounds: int
    wasted: int

    @property
    def rate(self) -> float:
        """Tokens per second, of all sequences together."""
        return self.tokens / self.seconds


def serve(
    machine: Server,
    batch: int,
    drafted: int,
    acceptance: float | Sequence[float],
    draft_ratio: float,
    count: int = 100,
    seed: int = 0,
) -> Served:
    """So many rounds of a batch that is always full; an acceptance for all sequences, or one for each."""
    rng, each = random.Random(seed), [acceptance] * batch if isinstance(acceptance, (int, float)) else list(acceptance)
    tokens = wasted = 0
    seconds = 0.0
    for _ in range(count):
        seconds += drafted * draft_ratio * machine.seconds(batch, 1) + machine.seconds(batch, drafted + 1)
        for chance in each:
            kept = passed(rng, chance, drafted)
            tokens, wasted = tokens + kept + 1, wasted + drafted - kept
    return Served(tokens, seconds, count, wasted)


def speedup(
    machine: Server,
    batch: int,
    drafted: int,
    acceptance: float | Sequence[float],
    draft_ratio: float,
    count: int = 100,
    seed: int = 0,
) -> float:
    """Tokens per second in rounds over those of plain decode steps, at the same batch."""
    rounds_ = serve(machine, batch, drafted, acceptance, draft_ratio, count, seed)
    return rounds_.rate / serve(machine, batch, 0, 0.0, 0.0, count, seed).rate


# --- measured rows by batch -------------------------------------------------------------------------------------------

TARGET = "llama-3.1-8b"  # in BF16, of all rows
HEADS = {"EAGLE": None, "EAGLE-3": 32_000}  # tokens that the draft can guess; None: all of the target's vocabulary
RTX_3090 = {
    "flops": 71e12,
    "bandwidth": 936e9,
}  # dense FP16 with FP32 sums, GA102 whitepaper; not a chip of the catalogue
GPUS = {"SGLang": ("H100",), "vLLM": ("RTX 3090", "A100")}  # the sources of vLLM's rows do not agree on the GPU


class Rows(NamedTuple):
    """Speed-ups of one engine with one draft, by batch."""

    engine: str
    draft: str
    drafted: int
    batches: tuple[int, ...]
    measured: tuple[float, ...]


def measured(engine: str, draft: str) -> Rows:
    """The rows of "SGLang" or "vLLM" with "EAGLE" or "EAGLE-3"."""
    found = measurement("speculation_by_batch").records(engine=engine, draft=draft)
    return Rows(
        engine,
        draft,
        found[0]["drafted_tokens"],
        tuple(row["batch"] for row in found),
        tuple(row["speedup"] for row in found),
    )


@cache
def drafting(draft: str) -> float:
    """Parameters of the draft, one layer and its head, over those of the target: what one step of it reads."""
    net = model(TARGET)
    head = net.vocab * net.d_model
    layer = (net.n_total - 2 * head) / net.layers
    return (layer + (HEADS[draft] or net.vocab) * net.d_model) / net.n_total


@cache
def critical(gpu: str) -> float:
    """Sequences at which multiplying takes as long as reading the target's weights, at the peak of both."""
    rates = {"H100": "h100-sxm", "A100": "a100-80gb"}
    known = RTX_3090 if gpu == "RTX 3090" else chip(rates[gpu]).symbols("bf16")
    return critical_batch(model(TARGET).symbols("bf16") | known)


def _slower(batch: float, rows: Rows, gpu: str, share: float) -> float:
    """A step takes the slower of the two, multipliers reach a share of their peak."""
    return eq.speedup(
        acceptance=0, drafted=rows.drafted, draft_ratio=drafting(rows.draft), memory_ratio=share * critical(gpu) / batch
    )


def _added(batch: float, rows: Rows, gpu: str, share: float) -> float:
    """A step takes both together, multipliers reach a share of their peak."""
    return eq.speedup_added(
        acceptance=0, drafted=rows.drafted, draft_ratio=drafting(rows.draft), memory_ratio=share * critical(gpu) / batch
    )


def _host(batch: float, rows: Rows, gpu: str, share: float) -> float:
    """Each round, but no plain step, also waits for the host: so much of a step for each sequence."""
    return 1 / (1 / _slower(batch, rows, gpu, 1) + share * batch)


LAWS = {"slower": _slower, "added": _added, "host": _host}  # each with one constant; relative to a round of one token


class Curve(NamedTuple):
    """What a law says of rows when it meets the first of them: the tokens of a round that this takes, a value for each
    batch, and the errors.
    """

    rows: Rows
    gpu: str
    tokens: float
    values: tuple[float, ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """Predicted over measured, less 1, of every row but the first, which is met."""
        return tuple(value / true - 1 for value, true in zip(self.values, self.rows.measured))[1:]

    @property
    def error(self) -> float:
        """The mean size of an error."""
        return math.fsum(map(abs, self.errors)) / len(self.errors)

    @property
    def worst(self) -> float:
        return max(self.errors, key=abs)

    def __repr__(self) -> str:
        said = f"error {100 * self.error:.0f}%, at worst {100 * self.worst:+.0f}%, {self.tokens:.2f} tokens a round"
        return f"<{self.rows.engine}, {self.rows.draft}, {self.gpu}: {said}>"


def predicted(law: str, share: float, rows: Rows, gpu: str, batches: Sequence[float] = ()) -> Curve:
    """A law of LAWS at the rows' batches, or at others, scaled to meet the first row."""
    gains = lambda batch: LAWS[law](batch, rows, gpu, share)
    tokens = rows.measured[0] / gains(rows.batches[0])
    return Curve(rows, gpu, tokens, tuple(tokens * gains(batch) for batch in batches or rows.batches))


@cache
def fitted(law: str = "added") -> float:
    """The constant of a law with the least squared errors on EAGLE-3 in SGLang, where no more tokens than possible are
    implied.
    """
    rows = measured("SGLang", "EAGLE-3")

    def squares(exponent: float) -> float:
        curve = predicted(law, math.exp(exponent), rows, "H100")
        return math.fsum(error**2 for error in curve.errors) if curve.tokens <= rows.drafted + 1 else math.inf

    best = min((n / 4 for n in range(-28, 1)), key=squares)
    for pitch in (0.05, 0.01, 0.002):
        best = min((best + pitch * n for n in range(-5, 6)), key=squares)
    return math.exp(best)


@cache
def tested(law: str = "added") -> tuple[Curve, ...]:
    """The law with its fitted constant on every set of rows and each GPU that it may be: the first is what it was
    fitted on.
    """
    share = fitted(law)
    sets = [(engine, draft, gpu) for engine in GPUS for gpu in GPUS[engine] for draft in ("EAGLE-3", "EAGLE")]
    return tuple(predicted(law, share, measured(engine, draft), gpu) for engine, draft, gpu in sets)


# --- what else stands in published tables -----------------------------------------------------------------------------


def acceptance_from(tokens: float, drafted: int) -> float:
    """The constant acceptance that yields so many tokens a round, by halving: tokens added up place by place."""
    low, high = 0.0, 1.0
    if not 1 <= tokens <= drafted + 1:
        raise ValueError(f"a round of {drafted} drafted tokens yields 1 to {drafted + 1} tokens, not {tokens:g}")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle, drafted, 0.0) < tokens else (low, middle)
    return (low + high) / 2


class Longer(NamedTuple):
    """Rounds with more drafted tokens than those that the acceptance was taken from: what they imply, and their
    tokens, measured and predicted.
    """

    draft: str
    task: str
    acceptance: float
    after: float
    measured: float
    predicted: float


def longer(few: int = 3, many: int = 7) -> tuple[Longer, ...]:
    """P-EAGLE's rows: an acceptance from rounds of `few` drafted tokens, and what it says of rounds of `many`."""
    table, found = measurement("p_eagle_acceptance"), []
    for row in table.records(drafted_tokens=few):
        (far,) = table.records(draft=row["draft"], task=row["task"], drafted_tokens=many)
        chance, tokens = acceptance_from(row["tokens_per_pass"], few), far["tokens_per_pass"]
        found.append(
            Longer(row["draft"], row["task"], chance, acceptance_from(tokens, many), tokens, gain(chance, many, 0.0))
        )
    return tuple(found)


class Leviathan(NamedTuple):
    """A row of Leviathan's Table 2: drafted tokens, acceptance and draft ratio as printed, measured and predicted
    speed-up, tokens of a round.
    """

    name: str
    drafted: int
    acceptance: float
    draft_ratio: float
    measured: float
    predicted: float
    tokens: float

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1


def leviathan() -> tuple[Leviathan, ...]:
    """All rows, predicted by what the paper's formula says."""
    found = []
    for row in measurement("leviathan_table2").records():
        at = {"acceptance": row["alpha"], "drafted": row["gamma"]}
        description = eq.speedup_free(draft_ratio=row["cost_ratio"], **at)
        name = f"{row['task']}, {row['draft']}, {'sampled' if row['temperature'] else 'greedy'}"
        found.append(
            Leviathan(
                name,
                row["gamma"],
                row["alpha"],
                row["cost_ratio"],
                row["speedup"],
                description,
                eq.tokens_per_round(**at),
            )
        )
    return tuple(found)


# --- experts ----------------------------------------------------------------------------------------------------------


@cache
def touched(experts: int, top_k: int, tokens: int, count: int = 400, seed: int = 0) -> Mean:
    """Different experts of a layer that so many tokens are routed to, each to `top_k` of them at random."""
    rng = random.Random(seed)
    return mean([len({one for _ in range(tokens) for one in rng.sample(range(experts), top_k)}) for _ in range(count)])
