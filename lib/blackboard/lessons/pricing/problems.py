"""Practice problems of the pricing lesson: the lecture's cards 6.1-6.5, what prices say, and what they do not."""

from __future__ import annotations

from itertools import count, product

from sympy import Max, diff, solve
from sympy import sqrt as root_of

from blackboard.catalogue import chip, measurement, model, price, system, tier
from blackboard.lessons.batching import equations as roofline
from blackboard.lessons.pricing import equations as eq
from blackboard.notation import symbol
from blackboard.problem import (
    Choice,
    Estimate,
    Expression,
    Function,
    Ordering,
    Quantity,
    Step,
    Values,
    right,
    root,
    v,
    wrong,
)
from blackboard.units import factor, pretty

STEP = "Read a KV cache off the context step of a price card, with its range."
HEADS = "Count a KV cache from an architecture."
RATIO = "Say from the price of output over input what decoding waits for."
LONG = "Say what a long context costs in FLOPs and in bytes, and what sparse attention saves."
TIERS = "Choose where a KV cache should lie, by how long it is kept."
CARDS = "Read cache prices: break-even uses, and what a byte is charged."
TRUST = "Say how far a price can be trusted."

ABOUT_300 = 300.0  # multiply-adds that the board's machine does while it reads a byte, 0:18:25
MILLION, BILLION, GB, HOUR, YEAR = 1e6, 1e9, factor("GB"), factor("h"), 365 * factor("day")
FP8, BF16 = 1.0, 2.0
GEMINI, CLAUDE = "gemini-3.1-pro-preview@2026-02-19", "claude-opus-4.6@2026-03-13"  # on the day of the lecture
STEPPED = (GEMINI, "gpt-5.4@2026-03-05", "claude-opus-4.6@2026-02-05")
SPELT = {"gpt": "GPT", "deepseek": "DeepSeek"}
KEPT = {300.0: "5 minutes", HOUR: "an hour", 24 * HOUR: "a day"}
BYTES = "bytes/token"


def named(card) -> str:
    """A card's model as one says it: gpt-5.4 is GPT-5.4."""
    words = [SPELT.get(word, word[:1].upper() + word[1:]) for word in card.model.split("-")]
    return " ".join(words).replace("GPT ", "GPT-").replace("DeepSeek ", "DeepSeek-")


def priced(values: Values) -> Values:
    """What a drawn card asks: USD per million tokens for the text, USD per token for formulas, and its context step."""
    card = price(values["sheet"])
    p, step = card.usd_per_Mtok, card.above
    by_day = " by day" if card.tier.startswith("day") else ""
    bound = {"card_name": named(card) + by_day, "date": card.valid_from, "in_usd": p.input, "out_usd": p.output}
    bound |= {"input_price": p.input / MILLION, "output_price": p.output / MILLION, "ratio": p.output / p.input}
    if step:
        long = card.rates(step.tokens + 1)
        bound |= {
            "step_context": step.tokens,
            "step_ratio": step.output_multiplier,
            "input_ratio": step.input_multiplier,
            "long_in": long.input,
            "long_out": long.output,
        }
    return bound


def served(values: Values) -> Values:
    """What a drawn model and system stand for in FP8 with a BF16 cache, in the notation's names; either may be
    missing.
    """
    bound: Values = {}
    if "net" in values:
        net = model(values["net"])
        bound |= net.symbols("fp8") | {"net_name": net.name}
    if "machine" in values:
        machine = system(values["machine"])
        bound |= machine.symbols("fp8") | {"machine_name": machine.name}
    return bound


def rented(values: Values) -> Values:
    """One drawn GPU at a drawn rent, multiplying in FP8."""
    gpu = chip(values["gpu"])
    lecture = {"lecture_usd": price(CLAUDE).usd_per_Mtok.input}
    return gpu.symbols("fp8") | {"gpu_name": values["gpu"].split("-")[0].upper(), "rent": values["hourly"] / HOUR} | lecture


CARD = {
    "card_name": "",
    "date": "",
    "in_usd": "USD",
    "out_usd": "USD",
    "long_in": "USD",
    "long_out": "USD",
    "write_usd": "USD",
    "hit_usd": "USD",
    "lecture_usd": "USD",
    "step_context": "token",
    "ratio": "1",
}
PLAIN = {
    "net_name": "",
    "machine_name": "",
    "gpu_name": "",
    "hourly": "USD",
    "context": "token",
    "kept_for": "",
    "device": "",
}
TEXT = CARD | PLAIN

# --- from the context step to the KV cache ---------------------------------------------------------------------------


def guessed(values: Values) -> Values:
    """A card, and the board's machine: 300 multiply-adds for each byte."""
    return priced(values) | {"bandwidth": 1e12, "flops": 2 * ABOUT_300 * 1e12}


guess = Estimate(
    "A guess before you read",
    level="easy",
    objective=STEP,
    unit="byte/token",
    display_unit=BYTES,
    statement="On the card of {date} {card_name} is dearer for requests of more than {step_context}. Suppose that the price steps where reading the KV cache begins to take longer than multiplying. Suppose, too, that {n_active} are active, which nobody outside knows, and that the machine does 300 multiply-adds in the time in which it reads a byte. How many bytes of KV cache does each token take, over all layers? Guess: within a factor of three counts.",
    parameters={"sheet": STEPPED, "n_active": (1e11, 2e11, 15e10)},
    derived=guessed,
    units=TEXT,
    answer=eq.kv_implied,
    independent_check=v.n_active / ABOUT_300 / v.step_context,
    misconceptions={
        lambda v: model("deepseek-v3").kv_bytes_per_token(): "So much is what models take whose architecture is public. With such a cache reading would be the slower part long before the step.",
        v.n_active / v.step_context: "That shares out the multiply-adds, not the bytes. In the time of many of them one byte is read.",
        v.n_active * ABOUT_300 / v.step_context: "The machine multiplies more than it reads, so bytes are fewer than multiply-adds.",
    },
    explanation="A kilobyte or three. Most models whose architecture is public keep tens to hundreds of them, so either this one is unusual or the step stands somewhere else.",
    hints=(
        "A new token takes one multiply-add for each active parameter. How many bytes are read in that time?",
        "These bytes are the whole context's cache. Share them out among its tokens.",
    ),
    solution=(
        Step("Bytes read while one token is multiplied:", v.n_active / ABOUT_300, "byte"),
        f"Shared out among {{step_context}}, ${eq.kv_implied.latex}$ =",
    ),
)

implied = Quantity(
    "What the step implies",
    level="medium",
    objective=STEP,
    unit="byte/token",
    display_unit="kB/token",
    statement="On the card of {date} {card_name} is dearer for requests of more than {step_context}. Let the step stand where decoding reads a sequence's KV cache for as long as it multiplies for its new token, in a batch so large that reading the weights does not count. Guess a model that stores {n_total} and activates {n_active} for a token. It runs on {machine_name}: {flops} in FP8, where a multiply-add counts as two, and {bandwidth} from memory. Attention is dense, and its own FLOPs are left out. How many kB of KV cache does a token take, over all layers?",
    parameters={
        "sheet": STEPPED,
        "machine": ("gb200-nvl72", "h200-8", "b200-8"),
        "n_active": (1e11, 4e10, 2e11),
        "n_total": (7e11, 1e12),
    },
    derived=lambda v: priced(v) | served(v) | {"known": model("deepseek-v3").kv_bytes_per_token()},
    units=TEXT | {"known": "byte"},
    answer=eq.kv_implied,
    independent_check=lambda v: root(lambda kv: v["step_context"] - roofline.balanced_context(v, kv_bytes_per_token=kv), 1.0, 1e9),
    misconceptions={
        eq.kv_implied.at(n_active=v.n_total): "You multiplied by all parameters. A token is multiplied by the active ones only.",
        eq.kv_implied / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        eq.kv_implied * v.step_context: "That is the cache of the whole sequence. Asked is one token's.",
        eq.kv_implied * v.step_context**2: "You multiplied by the context. The longer the context at the crossing, the less each token may take; the same slip was made at the board.",
        v.n_active / v.step_context: "The machine is missing: how many bytes does it read while it does one multiply-add?",
    },
    explanation="So little that the lecturer himself finds it a bit small. DeepSeek-V3, which is known for a small cache, keeps {known} in BF16.",
    hints=(
        "Write both times for one sequence: 2 × active parameters over FLOP/s, and context × bytes over bandwidth.",
        "Set them equal and solve for the bytes. The batch has cancelled.",
    ),
    solution=(
        Step("Multiplying one new token takes", 2 * v.n_active / v.flops, "s"),
        Step("In that time the machine reads", 2 * v.n_active / v.flops * v.bandwidth, "byte"),
        f"Shared out among {{step_context}}, ${eq.kv_implied.latex}$ =",
    ),
)

letters = Expression(
    "The step in letters",
    level="medium",
    objective=STEP,
    statement="Decoding in a very large batch, with dense attention: at the context L_step reading a sequence's KV cache takes as long as multiplying for its new token. Write the KV bytes of one token, over all layers, from N_act, the rate F, which counts a multiply-add as two FLOPs, the bandwidth W and L_step. Attention's own FLOPs are left out.",
    formula=eq.kv_implied,
    independent_check=lambda v: solve(roofline.balanced_context.expr - eq.step_context, eq.kv)[0],
    misconceptions={
        2 * roofline.n_total * eq.bandwidth / (eq.flops * eq.step_context): "Which parameters is one token multiplied by? Not by all that are stored.",
        eq.n_active * eq.bandwidth / (eq.flops * eq.step_context): "That is the board's form, where F counts multiply-adds. This F counts twice as many.",
        2 * eq.n_active * eq.bandwidth * eq.step_context / eq.flops: "The context has gone to the top, as it first did at the board. Check the units.",
        2 * eq.n_active * eq.flops / (eq.bandwidth * eq.step_context): "F and W have changed places. A machine that multiplies faster leaves less time to read.",
        2 * eq.n_active * eq.bandwidth / eq.flops: "That is the cache of the whole sequence.",
    },
    explanation="What is known is the step alone. Active parameters are a guess, and F is another until the number format is known.",
    hints=(
        "Equate 2 N_act / F and L_step kappa / W.",
        "Solve for kappa.",
    ),
    solution=(
        f"From ${roofline.balanced_context.latex}$, solved for the bytes:",
        Step(f"${eq.kv_implied.latex}$, typed as", "2 * N_act * W / (F * L_step)"),
    ),
)

OLD_STEP = price("gemini-1.5-pro@2024-10-01")
FORMATS = {"a": ("bf16", 200_000), "b": ("fp4", 200_000), "c": ("fp8", 200_000), "d": ("fp8", OLD_STEP.above.tokens)}


def by_format(values: Values) -> str:
    """The keys of FORMATS by the cache that they imply, the smallest first, from the lesson's formula."""
    rack = system("gb200-nvl72")
    implies = lambda key: eq.kv_implied(n_active=100e9, step_context=FORMATS[key][1], flops=rack.flops(FORMATS[key][0]), bandwidth=rack.bandwidth)
    return "".join(sorted(FORMATS, key=implies))


precision = Ordering(
    "The format that nobody told us",
    level="medium",
    objective=STEP,
    statement="The lecture reads 1.7 kB off a step at 200,000 tokens, for 100 billion active parameters and about 300 multiply-adds in the time of a byte. That is a machine which multiplies in FP8. In FP4 it multiplies twice as fast, in BF16 half as fast; its memory stays the same. Order these readings by the KV bytes of a token that they imply, the fewest first. All have 100 billion active parameters.",
    items=[
        "BF16, a step at 200,000 tokens",
        "FP4, a step at 200,000 tokens",
        "FP8, a step at 200,000 tokens",
        f"FP8, a step at {OLD_STEP.above.tokens:,} tokens, as on the card of {named(OLD_STEP)} of {OLD_STEP.valid_from}",
    ],
    answer=by_format,
    independent_check=lambda v: "".join(sorted(FORMATS, key=lambda k: {"fp4": 1 / 600, "fp8": 1 / 300, "bf16": 1 / 150}[FORMATS[k][0]] / FORMATS[k][1])),
    misconceptions={
        "adcb": "That is from the most to the fewest.",
        "acdb": "You let the wide format imply the smallest cache. In BF16 multiplying takes longer, so that more bytes can be read meanwhile.",
        "bdca": "With the formats you are right. But a step at a shorter context means that each token takes more, not less.",
    },
    explanation="From 0.8 kB to 3.3 kB for the formats alone, and as wide again for a guess at the active parameters. That is the range of the 1.7 kB.",
    hints=(
        "The cache follows from the bytes that are read while a token is multiplied. Which format gives reading the most time?",
        "A shorter context shares the same bytes among fewer tokens.",
    ),
    solution=(f"In ${eq.kv_implied.latex}$ the rate stands below: half the rate, twice the bytes. So does the context.",),
)

covered = Quantity(
    "How far a dearer tier reaches",
    level="easy",
    objective=STEP,
    unit="token/sequence",
    display_unit="token",
    statement="On the card of {date} {card_name} asks {out_usd} for a million tokens of output, and {long_out} in requests of more than {step_context}; input rises from {in_usd} to {long_in}. Suppose that the lower price just covers the cost of a generated token at the step, and that from there on the cost grows in proportion to the context, as reading the KV cache does. Up to which context does the price of output beyond the step cover the cost?",
    parameters={"sheet": STEPPED},
    derived=priced,
    units=TEXT,
    answer=eq.context_covered,
    independent_check=lambda v: max(L for L in range(v["step_context"], 6 * v["step_context"], 1000) if eq.context_ratio(v, context=L, context_balanced=v["step_context"]) <= v["long_out"] / v["out_usd"]),
    misconceptions={
        v.step_context * v.input_ratio: "That is the surcharge on input. A generated token is what reads the cache.",
        v.step_context * (1 + v.step_ratio): "You put the covered length on top of the step. The cost is proportional to the whole context.",
        v.step_context * (v.step_ratio - 1): "That is how far beyond the step it reaches. Count the context from its beginning.",
    },
    explanation="Not far: at a million tokens the cost has long left the price behind. Two prices cannot follow a line that keeps rising.",
    hints=(
        "By which factor does the price of output rise?",
        "The cost may rise by the same factor, and it rises as the context does.",
    ),
    solution=(
        Step("Output rises by the factor", v.step_ratio, "1"),
        Step(f"${eq.context_covered.latex}$ =", eq.context_covered, "token"),
    ),
)

surcharge = Choice(
    "Fifty percent, of what?",
    level="medium",
    objective=STEP,
    statement="The lecture says that long requests cost 50 % more. On the card of {date} {card_name} asks {in_usd} for a million tokens of input and {out_usd} for output; in requests of more than {step_context} it is {long_in} and {long_out}. Think of a machine on which decoding reads a growing KV cache while prefill multiplies, attention's own FLOPs left out. What in this card does that picture leave unexplained?",
    parameters={"sheet": STEPPED},
    derived=priced,
    units=TEXT,
    independent_check=lambda v: {True: "b", False: "d"}[v["long_in"] / v["in_usd"] > v["long_out"] / v["out_usd"]],
    options=[
        wrong("that output rises by half", "That is the part which the picture explains: a generated token reads the whole cache, and the longer it is the longer that takes."),
        right("that input doubles", "The 50 % are the output's. In the picture a token of input costs the same at every context. Attention's FLOPs, which it leaves out, would raise input; the card does not say whether they do."),
        wrong("that output stays dearer than input", "Decoding waits for memory at short contexts already, and more so at long ones. The picture wants output to be dearer."),
        wrong("nothing: both rise by half, as the cost of decoding does", "Look at input again. It does not rise by half."),
    ],
    hints=(
        "Divide each price beyond the step by the one before it.",
        "Which of the two does reading a long cache make slower: prefill or decoding?",
    ),
    solution=(
        Step("Output rises by the factor", v.long_out / v.out_usd, "1"),
        Step("Input rises by the factor", v.long_in / v.in_usd, "1"),
        "Reading the cache explains only the first.",
    ),
)

balanced = Quantity(
    "Where a real model crosses",
    level="medium",
    objective=STEP,
    unit="token/sequence",
    display_unit="token",
    statement="{net_name} stores {n_total}, activates {n_active} for a token and keeps {kv_bytes_per_token} of KV cache over all layers in BF16. It runs on {machine_name}: {flops} in FP8, where a multiply-add counts as two, and {bandwidth} from memory. In a batch so large that reading the weights does not count, at which context does decoding read a sequence's cache for as long as it multiplies for its new token? Attention is dense, its own FLOPs are left out.",
    parameters={
        "net": ("deepseek-v3", "qwen3-235b-a22b", "kimi-k2", "glm-4.5"),
        "machine": ("gb200-nvl72", "h100-8", "h200-8"),
    },
    derived=served,
    units=TEXT | {"kv_bytes_per_token": "byte/token"},
    answer=roofline.balanced_context,
    independent_check=lambda v: root(lambda L: roofline.kv_time(v, batch=1, context=L) - roofline.compute_time(v, batch=1), 1.0, 1e9),
    misconceptions={
        roofline.balanced_context.at(n_active=v.n_total): "A token is multiplied by the active parameters only.",
        roofline.balanced_context / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        v.n_active / v.kv_bytes_per_token: "The machine is missing: how much longer does reading a byte take than a multiply-add?",
        roofline.critical_batch: "That is the batch at which the weights take as long to read as to multiply. Asked is a context.",
    },
    explanation="Nowhere near 200,000 tokens. If such a model were priced by its crossing, the step would stand within the first pages of a prompt.",
    hints=(
        "Time to multiply for one token: 2 × active parameters over FLOP/s.",
        "How many bytes are read in that time? Divide by the bytes of one token.",
    ),
    solution=(
        Step("Multiplying one new token takes", roofline.compute_time.at(batch=1), "s"),
        Step("One token of context is read in", v.kv_bytes_per_token / v.bandwidth, "s"),
        Step(f"${roofline.balanced_context.latex}$ =", roofline.balanced_context, "token"),
    ),
)

# --- a KV cache from an architecture ---------------------------------------------------------------------------------


def grouped(values: Values) -> Values:
    """Layers and heads of a drawn model whose layers all see everything; "board" is the lecture's example."""
    if values["net"] == "board":
        return {
            "origin": "As in the example at the board",
            "kv_layers": 1,
            "kv_heads": 8,
            "query_heads": 48,
            "head_dim": 128,
            "kv_value_bytes": BF16,
        }
    net = model(values["net"])
    [group] = net.attention
    sizes = {
        "kv_layers": group.layers,
        "kv_heads": group.kv_heads,
        "query_heads": group.heads,
        "head_dim": group.head_dim,
    }
    return sizes | {
        "origin": net.name,
        "kv_value_bytes": BF16,
        "layers": group.layers,
        "n_active": net.n_active,
        "net_name": net.name,
    }


heads = Quantity(
    "From heads to bytes",
    level="easy",
    objective=HEADS,
    unit="byte/token",
    display_unit=BYTES,
    statement="{origin}. Layers that keep a KV cache of their own: {kv_layers}. In each, attention has {query_heads} query heads and {kv_heads} KV heads of {head_dim} values. Values are cached in BF16, two bytes each. How many bytes does one token leave in the cache?",
    parameters={"net": ("board", "llama-3.1-405b", "qwen3-235b-a22b", "glm-4.5", "mistral-large-2")},
    derived=grouped,
    units={"origin": "", "kv_layers": "1"},
    answer=eq.kv_of_heads,
    independent_check=lambda v: sum(v["head_dim"] * 2 for _ in product(range(v["kv_layers"]), range(v["kv_heads"]), ("key", "value"))),
    misconceptions={
        eq.kv_of_heads / 2: "Half of it is missing. Each head keeps a key and a value, and in BF16 each of their numbers takes two bytes. The lecture leaves the bytes out.",
        eq.kv_of_heads / 4: "A head keeps a key and a value, and each of their numbers takes two bytes. You have neither factor.",
        eq.kv_of_heads / v.kv_heads: "That is one KV head. Each of them keeps its own key and value.",
        eq.kv_of_heads.at(kv_heads=v.query_heads): "Query heads belong to the token that attends. Kept for later are only the KV heads.",
    },
    explanation="The board's one layer with 8 heads of 128 gave 2,048, close to what the step implies. That counts values, and they are bytes only in FP8. And one layer with a cache of its own is rare: published models have dozens.",
    hints=(
        "Which heads are needed again when a later token attends?",
        "Layers × KV heads × (key and value) × values × bytes.",
    ),
    solution=(
        Step("Values of a token: layers × 2 × KV heads × head size =", lambda v: f"{2 * v['kv_layers'] * v['kv_heads'] * v['head_dim']:,}"),
        f"At two bytes each, ${eq.kv_of_heads.latex}$ =",
    ),
)


def compressed(values: Values) -> Values:
    """The latent attention of a drawn model, at a drawn width of its cached values."""
    net = model(values["net"])
    [group] = net.attention
    sizes = {
        "net_name": net.name,
        "layers": group.layers,
        "latent": group.kv_rank,
        "position": group.rope_dim,
        "query_heads": group.heads,
    }
    return sizes | {"stored_as": "bf16" if values["kv_value_bytes"] == BF16 else "fp8"}


latent = Quantity(
    "A cache without heads",
    level="medium",
    objective=HEADS,
    unit="byte/token",
    display_unit=BYTES,
    statement="{net_name} uses multi-head latent attention. In each of its {layers} layers a token leaves one latent of {latent} values, from which keys and values of all {query_heads} heads are made again, and one key of {position} values for the position, shared by all heads. A cached value takes {kv_value_bytes}. How many bytes does one token leave in the cache, over all layers?",
    parameters={"net": ("deepseek-v3", "kimi-k2", "mistral-large-3"), "kv_value_bytes": (BF16, FP8)},
    derived=compressed,
    units={"net_name": "", "layers": "1", "kv_value_bytes": "byte"},
    answer=lambda v: model(v["net"]).kv_bytes_per_token(v["stored_as"]),
    independent_check=lambda v: sum((v["latent"] + v["position"]) * v["kv_value_bytes"] for _ in range(v["layers"])),
    misconceptions={
        lambda v: 2 * model(v["net"]).kv_bytes_per_token(v["stored_as"]): "The latent serves as key and as value: it is kept once.",
        lambda v: v["query_heads"] * model(v["net"]).kv_bytes_per_token(v["stored_as"]): "All heads share one latent and one key for the position.",
        v.layers * v.latent * v.kv_value_bytes: "The key for the position is kept too.",
        lambda v: model(v["net"]).kv_bytes_per_token(v["stored_as"]) / v["layers"]: "That is one layer. Every layer keeps its own.",
    },
    explanation="Small for its size, and still dozens of times what the context step of a price card implies.",
    hints=(
        "How many values does a token leave in one layer?",
        "Latent and position together, times bytes, times layers.",
    ),
    solution=(
        Step("Values in one layer:", v.latent + v.position),
        Step("Bytes in one layer:", lambda v: f"{(v['latent'] + v['position']) * v['kv_value_bytes']:,.0f}"),
        "Over all layers:",
    ),
)

SIZES = {"a": "llama-3.1-405b", "b": "deepseek-v3", "c": "gpt-oss-120b", "d": "gpt-3-175b", "e": "llama-3.1-8b"}


def sized(key: str) -> str:
    """A model of SIZES with what its cache is counted from."""
    net = model(SIZES[key])
    full = next(group for group in net.attention if not getattr(group, "window", None))
    if full.kind == "latent":
        sizes = f"one latent of {full.kv_rank} values and one key of {full.rope_dim}"
        return f"{net.name}: {full.layers} layers, in each {sizes}, for all {full.heads} heads"
    windows = sum(group.layers for group in net.attention) - full.layers
    rest = f" ({windows} more see the last few tokens only: leave them out)" if windows else ""
    return f"{net.name}: {full.layers} layers with {full.kv_heads} KV heads of {full.head_dim} values{rest}"


sizes = Ordering(
    "Large model, small cache",
    level="medium",
    objective=HEADS,
    statement="Order these models by the bytes of KV cache that one token takes over all layers, the fewest first. All cached values are in BF16. A KV head keeps a key and a value for each token; a latent serves as both and is kept once. Layers that share nothing keep a cache each.",
    items=[
        sized("a"),
        sized("b"),
        sized("c"),
        sized("d"),
        sized("e"),
    ],
    answer=lambda v: "".join(sorted(SIZES, key=lambda key: model(SIZES[key]).kv_bytes_per_token())),
    independent_check=lambda v: "".join(
        sorted(
            "abcde",
            key={
                "a": 126 * 2 * 8 * 128,
                "b": 61 * 576,
                "c": 18 * 2 * 8 * 64,
                "d": 96 * 2 * 96 * 128,
                "e": 32 * 2 * 8 * 128,
            }.get,
        )
    ),
    misconceptions={
        "daebc": "That is from the most to the fewest.",
        "ecdab": "That is the order of their parameters. Look at layers and KV heads instead.",
        "ceabd": "You gave each of the many heads a cache of its own. A latent is shared by all of them.",
    },
    explanation="From tens of kilobytes to megabytes, and hardly any relation to parameters: caches have shrunk as models have grown. All are far above what a step at 200,000 tokens implies.",
    hints=(
        "Values of one layer: 2 × KV heads × head size, or the latent and its key. Then times layers.",
        "How many KV heads has the oldest of these models?",
    ),
    solution=lambda v: [Step(f"{model(id).name}:", model(id).kv_bytes_per_token(), "byte/token") for id in SIZES.values()],
)

# --- output against input --------------------------------------------------------------------------------------------

waits = Choice(
    "Five times as dear",
    level="easy",
    objective=RATIO,
    statement="A card asks five times as much for a token of output as for one of input. Prices follow costs, and prefill keeps the multipliers busy all the time. What does the five say of decoding?",
    options=[
        wrong("A generated token takes five times as many multiplications as one that is read.", "The multiplications are the same: every token meets every active parameter once. What differs is how much is read for it."),
        wrong("Decoding uses five times as many parameters.", "It is the same model. Prefill and decoding differ in how many tokens of a sequence share one pass."),
        wrong("Input is sold at a fifth of its cost, to win customers.", "That may be so on a real card. But prices were said to follow costs, so look for a difference in cost."),
        right("In decoding, reading memory takes five times as long as multiplying.", "Both kinds of token are multiplied equally often. A pass that decodes reads weights and cache for a single token of each sequence, one that prefills for many."),
    ],
    hints=("What is the same in both: multiplying per token, or reading per token?",),
    solution=(f"A pass costs ${eq.pass_ratio.latex}$ for each token. For long passes that is 1, for one token it is $r$.",),
)

mfu = Quantity(
    "How idle decoding is",
    level="easy",
    objective=RATIO,
    unit="1",
    display_unit="%",
    statement="On the card of {date} {card_name} asks {in_usd} for a million tokens of input and {out_usd} for output. Suppose that prices follow costs by one factor, and that prefill keeps the multipliers busy all the time. Which share of its peak FLOP/s does decoding use, in percent?",
    parameters={"sheet": (CLAUDE, GEMINI, "gpt-4o@2024-10-01", "deepseek-v3@2025-02-08")},
    derived=priced,
    units=TEXT,
    answer=eq.decode_mfu,
    independent_check=1 / (v.out_usd / v.in_usd),
    misconceptions={
        1 / eq.decode_mfu: "Upside down: no machine uses more than its peak.",
        1 - eq.decode_mfu: "That is the share which is left idle.",
        v.in_usd / (v.in_usd + v.out_usd): "Prefill and decoding are not parts of one whole here. Compare a token of one with a token of the other.",
        eq.decode_mfu / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="For the rest of the time the multipliers wait for memory, if the price is to be believed. Margins, speculation and separate machines for prefill also move the ratio.",
    hints=(
        "The same multiplications, but how many times the machine time?",
        "As many times as long, so as much smaller a share of the peak.",
    ),
    solution=(
        Step("A token of output costs as many times one of input:", v.ratio, "1"),
        f"${eq.decode_mfu.latex}$, in percent",
    ),
)

PASS_OF = eq.pass_ratio.solve("pass_tokens")

crossing = Quantity(
    "How long a pass must be",
    level="easy",
    objective=RATIO,
    unit="token/sequence",
    display_unit="token",
    statement="On the card of {date} {card_name} asks {ratio} times as much for output as for input. Take that for how much longer reading takes than multiplying in a decode step, which makes one new token per sequence. A pass over more tokens of each sequence reads weights and KV cache once for all of them. From how many tokens per sequence on does a pass keep the multipliers busy all the time? Batch and context stay the same.",
    parameters={"sheet": (CLAUDE, GEMINI, "gpt-4o@2024-10-01", "gemini-2.5-pro@2025-09", "deepseek-v3.1@2025-09-05")},
    derived=lambda v: priced(v) | {"memory_ratio": priced(v)["ratio"], "pass_ratio": 1},
    units=TEXT,
    answer=PASS_OF,
    independent_check=lambda v: next(n for n in count(1) if n * 1.0 >= v["out_usd"] / v["in_usd"] - 1e-9),
    misconceptions={
        1 / v.ratio: "That is how busy the multipliers are in a decode step. Asked are tokens.",
        v.ratio - 1: "So many come on top of the one that decoding makes anyway. Count that one too.",
        2 * v.ratio: "Two FLOPs for a multiply-add are in the ratio already: it compares times.",
    },
    explanation="A handful. That is why prefill, with hundreds or thousands of tokens in a pass, is safely bound by compute, and why checking a few drafted tokens at once is nearly free.",
    hints=(
        "With more tokens in the pass, which of the two times grows and which stays?",
        "Multiplying grows with the tokens. When has it caught up?",
    ),
    solution=(
        f"${eq.pass_ratio.latex}$ reaches its floor where both are equal, at as many tokens as the ratio:",
        Step("Tokens of each sequence:", PASS_OF, "token"),
    ),
)

passes = Expression(
    "What a token of a pass costs",
    level="medium",
    objective=RATIO,
    statement="In a pass of one token per sequence reading takes r times as long as multiplying. A pass of ell_pass tokens per sequence reads as much, and multiplies for each of its tokens; reading and multiplying overlap. Write its time for each token, as a multiple of what a token takes in a very long pass.",
    formula=eq.pass_ratio,
    independent_check=Max(eq.memory_ratio, eq.pass_tokens) / eq.pass_tokens,
    misconceptions={
        eq.memory_ratio / eq.pass_tokens: "That falls to nothing. A long pass still has to multiply for every token.",
        1 + eq.memory_ratio / eq.pass_tokens: "You added reading and multiplying. They overlap, so the slower one counts.",
        Max(1, eq.memory_ratio * eq.pass_tokens): "Weights and cache are read once for all tokens of a pass, not once for each.",
        Max(eq.pass_tokens, eq.memory_ratio): "That is the whole pass. Share it out among its tokens.",
        eq.memory_ratio: "That is a pass of one token. More of them share the reading.",
    },
    explanation="A hyperbola that meets a level line: the lecture's picture. At one token it is r, the ratio of the prices.",
    hints=(
        "With multiplying for one token as the unit: how long does the whole pass read, how long does it multiply?",
        "Take the larger one and divide by the tokens.",
    ),
    solution=(
        "Reading takes r, multiplying ell_pass; the larger of the two, over ell_pass:",
        Step(f"${eq.pass_ratio.latex}$, typed as", "max(1, r / ell_pass)"),
    ),
)

OPEN = {  # cards of models whose architecture is public and whose attention is dense
    "deepseek-v3@2025-02-08": "deepseek-v3",
    "deepseek-r1@2025-01-20": "deepseek-r1",
    "kimi-k2-0905@2026-06-12": "kimi-k2",
    "mistral-large-3@2025-12-02": "mistral-large-3",
}


def opened(values: Values) -> Values:
    """A card of a public model, that model on drawn GPUs, and a batch that is so many times the critical one."""
    found = priced(values) | served({"net": OPEN[values["sheet"]]}) | rented(values | {"hourly": 0.0})
    critical = roofline.critical_batch(found)
    [day] = measurement("deepseek_day6_production").column("context_tokens")
    batches = {"measured": day, "batch_critical": critical, "batch": values["times"] * critical}
    return found | batches | {"context_balanced": roofline.balanced_context(found)}


decoding = Quantity(
    "The context behind a ratio",
    level="hard",
    objective=RATIO,
    unit="token/sequence",
    display_unit="token",
    statement="On the card of {date} {card_name} asks {in_usd} for a million tokens of input and {out_usd} for output. Its model activates {n_active} and keeps {kv_bytes_per_token} of KV cache over all layers. Let it run on many GPUs ({gpu_name}), of which each does {flops} in FP8, a multiply-add counted as two, and reads {bandwidth}; all of them share the work and the reading. The batch is {times} times as large as one with which reading the weights alone takes as long as multiplying. Input is priced by multiplying, output by reading, with the same factor over cost. Attention is dense, its own FLOPs are left out. At which context are tokens generated, on average?",
    parameters={"sheet": tuple(OPEN), "gpu": ("h800", "h200"), "times": (4, 2, 3)},
    derived=opened,
    units=TEXT | {"kv_bytes_per_token": "byte/token", "times": "1", "measured": "1"},
    answer=eq.context_implied,
    independent_check=lambda v: root(lambda L: eq.memory_ratio_of(v, context=L) - v["out_usd"] / v["in_usd"], 1.0, 1e9),
    misconceptions={
        v.context_balanced * v.ratio: "You let all the reading be KV cache. A part of it is weights.",
        v.context_balanced: "At this context reading the cache takes as long as multiplying, once. The prices say how many times as long.",
        v.context_balanced * (v.ratio + 1 / v.times): "The weights' share is part of the reading that output pays for. Take it off.",
        eq.context_implied / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
    },
    explanation="Not absurd: DeepSeek reported a mean of {measured} tokens for its own service on a day of February 2025, over V3 and R1 together. But one factor over cost for both kinds of token is a bold assumption.",
    hints=(
        "In units of multiplying: all the reading is the ratio of the prices. How much of it is weights?",
        "What is left is KV cache. Multiply it by the context at which the cache takes as long as multiplying.",
    ),
    solution=(
        Step("Reading over multiplying, by the prices:", v.ratio, "1"),
        Step("of which weights:", 1 / v.times, "1"),
        Step(f"The balanced context, ${roofline.balanced_context.latex}$ =", v.context_balanced, "token"),
        Step(f"${eq.context_implied.latex}$ =", eq.context_implied, "token"),
    ),
)

# --- long contexts ---------------------------------------------------------------------------------------------------


def attending(values: Values) -> Values:
    """A drawn model's heads, and the FLOPs with which a token attends to each earlier one."""
    found = grouped(values)
    return found | {"attention_flop": eq.attention_of_heads(found)}


attention = Quantity(
    "When attention multiplies as much",
    level="hard",
    objective=LONG,
    unit="token/sequence",
    display_unit="token",
    statement="{net_name} activates {n_active}, each worth a multiply and an add for a new token. In each of its {layers} layers there are {query_heads} query heads of {head_dim} values and {kv_heads} KV heads. To attend to one earlier token, a query head multiplies its {head_dim} values by a key's and adds them up; then it adds that token's value, {head_dim} numbers, times a weight, to its result. A multiply and an add are two FLOPs. At which context does a new token take as many FLOPs for attention as for the weights?",
    parameters={"net": ("llama-3.1-405b", "llama-3.1-70b", "qwen3-235b-a22b", "glm-4.5", "mistral-large-2")},
    derived=attending,
    units={"net_name": "", "layers": "1"},
    answer=eq.context_flop,
    independent_check=lambda v: root(lambda L: model(v["net"]).attention_flop(L) - 2 * model(v["net"]).n_active, 1.0, 1e9),
    misconceptions={
        eq.context_flop * v.query_heads / v.kv_heads: "You counted KV heads. They say what is stored; each query head computes its own scores.",
        2 * eq.context_flop: "Attention multiplies twice: queries by keys, then weights by values.",
        eq.context_flop / 2: "Each active parameter is two FLOPs: a multiply and an add.",
        eq.context_flop * v.layers: "That is attention in one layer. Every layer attends.",
    },
    explanation="Well below a million tokens. The lecture calls the slope shallow and puts the trouble at millions; for models that are public it comes sooner.",
    hints=(
        "FLOPs of one earlier token in one layer: query heads × values × two products × two FLOPs.",
        "Times layers, that is the slope. Divide the weights' FLOPs by it.",
    ),
    solution=(
        Step("The weights take", 2 * v.n_active, "FLOP"),
        Step(f"For each earlier token, ${eq.attention_of_heads.latex}$ =", v.attention_flop, "FLOP"),
        Step(f"${eq.context_flop.latex}$ =", eq.context_flop, "token"),
    ),
)

[DSA] = model("deepseek-v3.2").attention
VLLM = "fp8_ds_mla"  # vLLM's layout of this cache: FP8 with its scales, the part for the position in BF16


def indexed(values: Values) -> Values:
    """Bytes of DeepSeek-V3.2's cache in one layer, in a drawn layout."""
    return {"entry_bytes": DSA.entry(values["layout"]), "index_bytes": DSA.key(values["layout"]), "selected": DSA.top_k}


LAYOUT = {"layout": "", "entry_bytes": "byte", "index_bytes": "byte", "selected": "token", "context": "token"}

sparse = Quantity(
    "What an index saves",
    level="medium",
    objective=LONG,
    unit="1",
    statement="DeepSeek-V3.2 attends sparsely. In each layer a new token reads an index key of {index_bytes} of every token of the context, and then the cache entries, {entry_bytes} each, of the {selected} that it picks. Dense attention would read the entries of all. At a context of {context}, how many times as many bytes would dense attention read?",
    parameters={"context": (131072, 65536, 100000, 32768), "layout": (VLLM,)},
    derived=indexed,
    units=LAYOUT,
    answer=eq.sparse_saving,
    independent_check=lambda v: sum(v["entry_bytes"] for _ in range(v["context"])) / sum(v["index_bytes"] + (v["entry_bytes"] if token < v["selected"] else 0) for token in range(v["context"])),
    misconceptions={
        v.context / v.selected: "The index is missing. To find out which entries to read, a key of every token is read.",
        1 / eq.sparse_saving: "Upside down: that is the share which is still read.",
        v.entry_bytes / v.index_bytes: "The entries that are picked are missing: they are read on top of the index.",
        v.context / v.selected * v.entry_bytes / (v.entry_bytes + v.index_bytes): "Index keys are read for all tokens of the context, not just for those that are picked.",
    },
    explanation="A few times, not by orders of magnitude. At long contexts the entries that are picked hardly count: most of what is read is the index.",
    hints=(
        "Sparse: an index key for every token, and an entry for every picked one.",
        "Dense: an entry for every token. Divide.",
    ),
    solution=(
        Step("Dense attention reads in a layer", v.context * v.entry_bytes, "byte"),
        Step(f"Sparse attention, ${eq.sparse_read.latex}$ =", eq.sparse_read, "byte"),
        f"${eq.sparse_saving.latex}$ =",
    ),
)

ENDLESS = 1e12  # tokens: far beyond any context, so that what is picked no longer counts

ceiling = Quantity(
    "However long the context",
    level="medium",
    objective=LONG,
    unit="1",
    statement="In each layer sparse attention reads an index key of {index_bytes} of every token of the context, and cache entries of {entry_bytes} of the {selected} that it picks. Dense attention reads the entries of all tokens. However long the context, by which factor can the bytes read shrink at most?",
    parameters={"layout": (VLLM, "bf16")},
    derived=indexed,
    units=LAYOUT,
    answer=eq.sparse_saving.at(context=ENDLESS),
    independent_check=v.entry_bytes / v.index_bytes,
    misconceptions={
        1 + v.entry_bytes / v.index_bytes: "You compared an entry and its key with the key. Dense attention needs no index.",
        v.index_bytes / v.entry_bytes: "Upside down: that is the share which is still read.",
        eq.sparse_saving.at(context=8 * v.selected): "That is at a context of a few times the number that is picked. Let it grow further.",
    },
    explanation="An index that looks at every token still grows with the context, only with a gentler slope. There is no square root in it.",
    hints=(
        "As the context grows, which of the two parts stays and which grows?",
        "In the end only index keys count. Compare one token's entry with its key.",
    ),
    solution=(
        f"In ${eq.sparse_saving.latex}$ the picked entries stay as they are while the context grows.",
        "What is left is entry over index key:",
    ),
)

block = Expression(
    "The best block",
    level="hard",
    objective=LONG,
    statement="Attention picks in two stages. The context of L tokens is cut into blocks of equal length. A new token reads one summary for each block, then all entries of k_block blocks that it picks. A summary is as large as an entry. Write the length of a block, in tokens, with which the fewest entries and summaries are read.",
    formula=eq.block_best,
    independent_check=lambda v: solve(diff(eq.block_read.expr, eq.block), eq.block)[0],
    misconceptions={
        eq.context / eq.blocks_read: "That is a context of just the picked blocks. Write down what is read and find where it is least.",
        root_of(eq.context): "The number of picked blocks is missing: the more are picked, the shorter they had better be.",
        root_of(eq.context * eq.blocks_read): "That is how many blocks there are then. Asked is the length of one.",
        2 * root_of(eq.context * eq.blocks_read): "That is how much is read then. Asked is the length of a block.",
        root_of(eq.blocks_read / eq.context): "Upside down: a longer context calls for longer blocks.",
    },
    explanation="With it the tokens read grow with the root of the context: a root such as the lecture speaks of. DeepSeek-V3.2, to which the transcript links, picks in one stage and has none.",
    hints=(
        "With blocks of m tokens there are L / m summaries, and k_block × m entries are read.",
        "One falls with m, the other rises. The sum is least where both are equal.",
    ),
    solution=(
        f"What is read is ${eq.block_read.latex}$, least where its derivative is zero:",
        Step(f"${eq.block_best.latex}$, typed as", "sqrt(L / k_block)"),
    ),
)

# --- where a KV cache lies -------------------------------------------------------------------------------------------

GPUS = ("gb200-nvl72", "b200", "h200")

remat = Quantity(
    "Computing it again",
    level="medium",
    objective=TIERS,
    unit="USD/token",
    display_unit="$/Mtok",
    statement="A token's KV cache was not kept, so the token goes through prefill again. The model stores {n_total} and activates {n_active} for a token. Its {gpu_name} GPUs rent at {hourly} an hour each, and each does {flops} in FP8, a multiply-add counted as two. They multiply all the time at that rate; attention's own FLOPs are left out. How many dollars does a million such tokens cost?",
    parameters={"gpu": GPUS, "hourly": (2.0, 3.0, 4.0), "n_active": (1e11, 37e9, 2e11), "n_total": (7e11, 1e12)},
    derived=rented,
    units=TEXT,
    answer=eq.remat_cost,
    independent_check=lambda v: v["hourly"] / (v["flops"] * 3600 / sum([v["n_active"]] * 2)),
    misconceptions={
        eq.remat_cost / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        eq.remat_cost.at(rent=v.hourly): "The rent is for an hour, and FLOP/s are for a second.",
        eq.remat_cost.at(n_active=v.n_total): "A token is multiplied by the active parameters only.",
    },
    explanation="Cents. The lecture's card asks {lecture_usd} for a million tokens of input. Even at half of the peak rate there is a wide gap between this cost and a price.",
    hints=(
        "How many tokens does a GPU multiply in an hour?",
        "2 × active parameters over FLOP/s is the time of one token; times the rent of a second.",
    ),
    solution=(
        Step("A million tokens keep a GPU busy for", 2 * v.n_active * MILLION / v.flops, "s"),
        Step(f"${eq.remat_cost.latex}$, for a million tokens", eq.remat_cost * MILLION, "USD"),
    ),
)


def held(values: Values) -> Values:
    """A drawn GPU at a rent, a time to hold, and the cache of a drawn model; "board" is the lecture's with its 2 kB
    and 100 billion active.
    """
    if values["net"] == "board":
        net = {
            "n_active": 100e9,
            "n_total": 700e9,
            "kv_bytes_per_token": 2_000.0,
            "net_name": "A model like the lecture's",
        }
    else:
        net = served(values)
    return net | rented(values) | {"kept_for": KEPT.get(values.get("hold_time"), "")}


hold = Quantity(
    "Keeping it in HBM",
    level="medium",
    objective=TIERS,
    unit="USD/token",
    display_unit="$/Mtok",
    statement="{net_name} keeps {kv_bytes_per_token} of KV cache over all layers. Between two requests the cache of a conversation stays in the memory of the {gpu_name} GPUs for {kept_for}. A GPU has {hbm} of memory and rents at {hourly} an hour. Memory is what limits how many can be served, so a share of the memory costs that share of the rent. How many dollars does holding a million tokens cost?",
    parameters={
        "gpu": GPUS,
        "hourly": (2.0, 3.0, 4.0),
        "net": ("board", "deepseek-v3", "llama-3.1-405b"),
        "hold_time": (300.0, HOUR),
    },
    derived=held,
    units=TEXT | {"kv_bytes_per_token": "byte/token"},
    answer=eq.hbm_hold,
    independent_check=v.kv_bytes_per_token * MILLION / v.hbm * v.hourly * (v.hold_time / 3600) / MILLION,
    misconceptions={
        eq.hbm_hold.at(rent=v.hourly): "The rent is for an hour. Bring it and the time of holding to the same unit.",
        eq.hbm_hold * 60: "You took minutes for hours. Bring the times to one unit.",
        eq.hbm_hold / 60: "You took minutes for seconds. Bring the times to one unit.",
        eq.hbm_hold.at(hold_time=1): "That is one second. The cache is held for longer.",
    },
    explanation="It grows with every second, whereas computing the cache again costs the same whenever that is done.",
    hints=(
        "Which share of a GPU's memory do a million tokens take? It may be more than one.",
        "That share, times the rent, times the time.",
    ),
    solution=(
        Step("A million tokens take", v.kv_bytes_per_token * MILLION, "byte"),
        Step("which is so many times a GPU's memory:", v.kv_bytes_per_token * MILLION / v.hbm, "1"),
        Step(f"${eq.hbm_hold.latex}$, for a million tokens", eq.hbm_hold * MILLION, "USD"),
    ),
)

even = Quantity(
    "Keep or compute again",
    level="medium",
    objective=TIERS,
    unit="s",
    statement="{net_name} stores {n_total}, activates {n_active} for a token and keeps {kv_bytes_per_token} of KV cache over all layers. It runs on {gpu_name} GPUs, which have {hbm} of memory each and do {flops} in FP8, a multiply-add counted as two. A GPU rents at {hourly} an hour. Holding a share of the memory costs that share of the rent; computing again costs the rent of the time that it takes at the full rate, attention's own FLOPs left out. For how many seconds may a token's cache be held before computing it again would have been cheaper?",
    parameters={"net": ("board", "deepseek-v3", "qwen3-235b-a22b", "glm-4.5"), "gpu": GPUS, "hourly": (2.0, 3.0, 4.0)},
    derived=held,
    units=TEXT | {"kv_bytes_per_token": "byte/token"},
    answer=eq.hbm_even,
    independent_check=lambda v: root(lambda T: eq.hbm_hold(v, hold_time=T) - eq.remat_cost(v), 1e-6, 1e12),
    misconceptions={
        eq.hbm_even / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        eq.hbm_even.at(n_active=v.n_total): "A token is multiplied by the active parameters only.",
        v.hbm / v.bandwidth: "That is the time to read the memory once. It decides between holding and bringing back, not between holding and computing.",
        eq.hbm_even / 60: "That is in minutes. Asked are seconds.",
        eq.hbm_even * v.hourly: "The rent is paid in both cases. It cancels.",
    },
    explanation="The rent has cancelled. A small cache may stay in HBM for an hour, a large one for less than a minute; then a cheaper memory has to take it.",
    hints=(
        "For how long does computing one token take a whole GPU?",
        "Which share of a GPU does holding it take? Divide the time by the share.",
    ),
    solution=(
        Step("Computing a token takes a GPU for", 2 * v.n_active / v.flops, "s"),
        Step("Holding it takes the share", v.kv_bytes_per_token / v.hbm),
        f"${eq.hbm_even.latex}$ =",
    ),
)

WORDS = {  # devices of the catalogue in everyday words
    "hdd-exos30": "a hard disk",
    "hbm-gb200-nvl72": "the HBM of one GB200 GPU",
    "hbm-b200": "HBM",
    "ddr5-3tb": "the main memory of a server",
    "ssd-9650-7t": "a fast SSD",
    "ssd-9650-30t": "a fast SSD",
    "ssd-6550-61t": "a large SSD",
    "ssd-p5336-123t": "a large SSD",
    "ssd-6600-246t": "a large SSD",
}
DEVICES = {"a": "hdd-exos30", "b": "hbm-gb200-nvl72", "c": "ddr5-3tb", "d": "ssd-9650-7t", "e": "ssd-6550-61t"}


def device(key: str) -> str:
    """A device of DEVICES with its size and rate."""
    row = tier(DEVICES[key])
    return f"{WORDS[row.id]}: {pretty(row.capacity_bytes, 'byte', exact=True)}, reads {pretty(row.read_bytes_per_s, 'byte/s', exact=True)}"


def drains(key: str) -> float:
    """Seconds in which a device of DEVICES is read once, by the lesson's formula."""
    row = tier(DEVICES[key])
    return eq.tier_drain(tier_capacity=row.capacity_bytes, tier_bandwidth=row.read_bytes_per_s)


def in_pieces(key: str) -> float:
    """The same, read in a thousand equal pieces, one after the other."""
    row = tier(DEVICES[key])
    return sum(row.capacity_bytes / 1000 / row.read_bytes_per_s for _ in range(1000))


def timed(keys) -> list[Step]:
    """A line for each of these devices: how long reading it once takes."""
    words = (WORDS[DEVICES[key]] for key in keys)
    return [Step(f"{said[0].upper()}{said[1:]}:", drains(key), "s") for key, said in zip(keys, words)]


ladder = Ordering(
    "The ladder of drain times",
    level="easy",
    objective=TIERS,
    statement="Order these devices by the time in which each can be read once from end to end, the shortest first.",
    items=[
        device("a"),
        device("b"),
        device("c"),
        device("d"),
        device("e"),
    ],
    answer=lambda v: "".join(sorted(DEVICES, key=drains)),
    independent_check=lambda v: "".join(sorted(DEVICES, key=in_pieces)),
    misconceptions={
        "aedcb": "That is from the longest to the shortest.",
        "bcdae": "That is by what they hold. How fast each is read counts as well.",
    },
    explanation="From milliseconds to more than a day. A cache that is held for about a device's drain time costs as much to hold there as to bring back.",
    hints=(
        "Capacity over rate, in seconds.",
        "The largest device is not the slowest to read.",
    ),
    solution=lambda v: timed(DEVICES),
)

AT_FIVE = {"a": "b", "b": "c", "c": "d", "d": "a"}  # options of five_minutes, by keys of DEVICES

five_minutes = Choice(
    "Where five minutes lie",
    level="medium",
    objective=TIERS,
    statement="The lecture's rule: a device suits a cache that is held for about as long as the device takes to be read once, because then holding it costs as much as bringing it back. A card sells caches of five minutes. Which device suits them best?",
    independent_check=lambda v: min(AT_FIVE, key=lambda key: abs(in_pieces(AT_FIVE[key]) - 300)),
    options=[
        wrong(device(AT_FIVE["a"]), "It is read within milliseconds. A cache that sits there for minutes pays for bandwidth that it does not use."),
        wrong(device(AT_FIVE["b"]), "It is read within seconds. For minutes there is a cheaper device whose rate still suffices."),
        right(device(AT_FIVE["c"]), "Flash, as the lecture says. By the same rule an hour belongs in a larger SSD, not on a disk; disks of today are for days. The rule does not say where a vendor really keeps them."),
        wrong(device(AT_FIVE["d"]), "It takes more than a day to be read once. Bringing a cache back would cost far more than holding it for minutes."),
    ],
    hints=("Capacity over rate for each. Which is nearest to five minutes?",),
    solution=lambda v: timed(list(AT_FIVE.values())),
)


def on_device(values: Values) -> Values:
    """A drawn device: its size and rate, its name, and where one is needed its newest confirmed price."""
    row = tier(values["shelf"])
    found = {"device": WORDS[row.id], "tier_capacity": row.capacity_bytes, "tier_bandwidth": row.read_bytes_per_s}
    paid = max((p for p in row.prices if p.confirmed), key=lambda p: p.date, default=None)
    return found | ({"gb_usd": paid.usd_per_GB, "byte_price": paid.usd_per_GB / GB, "bought": paid.date} if paid else {})


DEVICE = {"tier_capacity": "byte", "tier_bandwidth": "byte/s", "gb_usd": "USD", "bought": ""}

disk = Quantity(
    "How long a disk takes",
    level="easy",
    objective=TIERS,
    unit="s",
    display_unit="h",
    statement="The device is {device}: it holds {tier_capacity} and reads {tier_bandwidth}. In how many hours is it read once from end to end?",
    parameters={"shelf": ("hdd-exos30", "ssd-6550-61t", "ssd-p5336-123t", "ssd-6600-246t")},
    derived=on_device,
    units=TEXT | DEVICE,
    answer=eq.tier_drain,
    independent_check=lambda v: sum(v["tier_capacity"] / 1000 / v["tier_bandwidth"] for _ in range(1000)),
    misconceptions={
        eq.tier_drain * 60: "That is in minutes.",
        eq.tier_drain * 3600: "That is in seconds.",
        eq.tier_drain / 60: "You divided by sixty once too often.",
    },
    explanation="The lecture guesses an hour for a hard disk and a minute for flash. Real devices hold more for their rate: a disk takes about thirty hours, large SSDs take hours.",
    hints=(
        "Capacity over rate gives seconds.",
        "An hour has 3,600 of them.",
    ),
    solution=(
        Step(f"${eq.tier_drain.latex}$, in hours", eq.tier_drain / HOUR, "h"),
        "which is, in seconds,",
    ),
)


def stored(values: Values) -> Values:
    """A drawn model's cache on a drawn device that was bought at its dated price and is paid off over its life."""
    found = (
        served(values)
        | on_device(values)
        | {
            "kept_for": KEPT[values["hold_time"]],
            "service_life": values["years"] * YEAR,
        }
    )
    return found | {"tier_rent": eq.rent_of_price(found)}


kept = Quantity(
    "Keeping it, and bringing it back",
    level="hard",
    objective=TIERS,
    unit="USD",
    statement="{net_name} keeps {kv_bytes_per_token} of KV cache over all layers. It is held for {kept_for} on {device} and then brought back once. The device holds {tier_capacity}, reads {tier_bandwidth}, cost {gb_usd} per GB at the price of {bought}, and is paid off evenly over {years} years of 365 days; power and servers are left out. Holding takes a share of the device; bringing back takes the whole device for the time of the transfer. A billion tokens may take several such devices: count shares of them. How many dollars do the two cost together for a billion tokens?",
    parameters={
        "shelf": ("ssd-9650-7t", "ssd-9650-30t", "hdd-exos30"),
        "net": ("deepseek-v3", "llama-3.1-405b", "glm-4.5"),
        "hold_time": (300.0, HOUR, 24 * HOUR),
        "years": (5, 4),
    },
    derived=stored,
    units=TEXT | DEVICE | {"kv_bytes_per_token": "byte/token"},
    answer=eq.tier_cost * BILLION,
    independent_check=v.gb_usd * v.kv_bytes_per_token * (v.hold_time + v.tier_capacity / v.tier_bandwidth) / (v.years * 365 * 86400),
    misconceptions={
        eq.tier_hold * BILLION: "That is holding alone. The device is also busy while it reads.",
        eq.tier_retrieve * BILLION: "That is bringing back alone. The space is taken for as long as the cache is held.",
        v.byte_price * v.kv_bytes_per_token * BILLION: "That buys the space for the device's whole life. It is needed for a small part of that.",
    },
    explanation="A tiny part of what cards charge for a cache. And it is as if the token had been held for one drain time longer: that is what bringing back costs.",
    hints=(
        "The rent of the device for a second: what it cost, over its life in seconds.",
        "Holding: rent × share of the capacity × time. Bringing back: rent × bytes over the rate.",
    ),
    solution=(
        Step("The device cost", v.gb_usd * v.tier_capacity / GB, "USD"),
        Step(f"Holding, ${eq.tier_hold.latex}$, for a billion tokens:", eq.tier_hold * BILLION, "USD"),
        Step(f"Bringing back, ${eq.tier_retrieve.latex}$:", eq.tier_retrieve * BILLION, "USD"),
        "Together:",
    ),
)

hits = Choice(
    "Are hits free?",
    level="easy",
    objective=CARDS,
    statement="A request finds the KV cache of its prompt in the provider's flash memory. What do the cached tokens still cost the provider, from the hit to the end of the answer?",
    options=[
        wrong("nothing: their work was done and paid for when the cache was written", "What was paid is computing. The cache is still to be fetched, and then it takes up memory and bandwidth as any other."),
        wrong("moving them from HBM to the multipliers; that is what retrieving means", "In the lecture's terms retrieving ends in HBM. The way from there to the multipliers is part of every decode step, cached or not."),
        right("bringing them into HBM, room there while the answer is made, and reading them in each decode step", "Only prefill is saved. That is why a hit has a price, though a low one, and why output after a cached prompt costs what it always costs."),
        wrong("as much as a miss: the saving is in time only", "A miss computes all the tokens again. A hit only moves bytes, and that is far cheaper."),
    ],
    hints=("Follow the bytes: where are they now, where must they be to be attended to, and for how long?",),
    solution=("A hit saves prefill. It pays for the transfer into HBM, and from then on the tokens are context like any other.",),
)

# --- cache prices ----------------------------------------------------------------------------------------------------


def cached(values: Values) -> Values:
    """What a drawn card asks for writing into a cache that keeps for a drawn time, and for a hit."""
    found, p = priced(values), price(values["sheet"]).usd_per_Mtok
    write = p.cache_write_5min if values["hold_time"] == 300 else p.cache_write_1h
    ratios = {
        "write_ratio": write / p.input,
        "read_ratio": p.cached_read / p.input,
        "premium": (write - p.input) / MILLION,
    }
    return (
        found
        | ratios
        | {
            "write_usd": write,
            "hit_usd": p.cached_read,
            "premium_usd": write - p.input,
            "kept_for": KEPT[values["hold_time"]],
        }
    )


WRITES = (CLAUDE, "claude-fable-5.1@2026-09-01", "claude-opus-5.5@2026-09-22", "claude-sonnet-4.6@2026-03-13")

break_even = Quantity(
    "How often is often enough",
    level="medium",
    objective=CARDS,
    unit="1",
    statement="On the card of {date} {card_name} asks {in_usd} for a million tokens of input, {write_usd} for writing them into a cache that keeps them for {kept_for} after each use, and {hit_usd} for a hit. Each hit renews the cache at no charge. The same prompt is used again and again, always in time. From how many uses on, the first one counted, is it cheaper to cache than to read afresh each time?",
    parameters={"sheet": WRITES, "hold_time": (300.0, HOUR)},
    derived=cached,
    units=TEXT,
    answer=lambda v: float(int(eq.uses_even(v)) + 1),
    independent_check=lambda v: next(n for n in count(1) if v["write_usd"] + v["hit_usd"] * (n - 1) < v["in_usd"] * n),
    misconceptions={
        lambda v: float(int(eq.uses_even(v))): "That many hits it takes. The use that writes comes before them and counts as well.",
        eq.uses_even: "At that many both cost the same, but uses come whole. From which whole number on is the cache cheaper?",
        v.write_ratio / v.read_ratio: "You compared a write with hits. Compare both bills: caching, and reading afresh each time.",
    },
    explanation="Very few, though a write costs more than reading. It pays as soon as a prompt comes back once or twice in time.",
    hints=(
        "With n uses: one write and n - 1 hits, against n times input.",
        "Try n = 1, 2, 3 and add up both bills.",
    ),
    solution=(
        Step(f"In units of input, both bills are equal at ${eq.uses_even.latex}$ =", eq.uses_even, "1"),
        "The next whole number is",
    ),
)

OMEGA, RHO = eq.write_ratio, eq.read_ratio
USES = symbol("uses_even")

uses = Function(
    "Write the break-even",
    level="medium",
    objective=CARDS,
    statement="Write a Python function of write_ratio and read_ratio, the prices of a cache write and of a hit as multiples of input. It returns the number of uses at which writing once and hitting ever after costs as much as reading afresh each time; the use that writes counts as the first. Do not round: from the next whole number on the cache is cheaper. It is called by name, with numbers.",
    formula=eq.uses_even,
    independent_check=lambda v: solve(OMEGA + RHO * (USES - 1) - USES, USES)[0],
    misconceptions={
        (OMEGA - 1) / (1 - RHO): "That many hits make up for the write. The use that writes counts as well.",
        OMEGA / (1 - RHO): "You charge the first use for a write and for a hit. It only writes.",
        (1 - RHO) / (OMEGA - RHO): "Upside down.",
        OMEGA / RHO: "So many hits cost as much as one write. But what would all the uses have cost without a cache?",
    },
    explanation="Call it with the multiples of any card. For 1.25 and 0.1, and for 2 and 0.1, the next whole numbers are two and three.",
    hints=(
        "Write both bills for n uses, in units of input.",
        "def uses(write_ratio, read_ratio): ...",
    ),
    solution=(
        "One write and n - 1 hits against n reads: ω + ϱ(n − 1) = n, so",
        Step(f"${eq.uses_even.latex}$, as code:", "(write_ratio - read_ratio) / (1 - read_ratio)"),
    ),
)


def charged(values: Values) -> Values:
    """What a drawn card asks for holding, with the cache of a drawn public model in place of the unknown one."""
    paid = next(p for p in tier("hbm-b200").prices if p.confirmed)
    return served(values) | cached(values) | {"hbm_usd": paid.usd_per_GB, "hbm_date": paid.date}


gb_hour = Quantity(
    "What a gigabyte is charged",
    level="hard",
    objective=CARDS,
    unit="USD",
    statement="On the card of {date} {card_name} asks {in_usd} for a million tokens of input and {write_usd} for writing them into a cache that keeps them for {kept_for}. Its cache is not public: take that of {net_name}, {kv_bytes_per_token} over all layers. Let all that a write costs more than input be for holding, once and for just that time. How many dollars does a buyer pay for one GB held for one hour?",
    parameters={
        "sheet": WRITES,
        "hold_time": (300.0, HOUR),
        "net": ("deepseek-v3", "llama-3.1-405b", "qwen3-235b-a22b"),
    },
    derived=charged,
    units=TEXT | {"kv_bytes_per_token": "byte/token", "hbm_usd": "USD", "hbm_date": ""},
    answer=eq.byte_rent * GB * HOUR,
    independent_check=(v.write_usd - v.in_usd) / (v.kv_bytes_per_token * MILLION / 1e9) / (v.hold_time / 3600),
    misconceptions={
        eq.byte_rent.at(premium=v.write_usd / MILLION) * GB * HOUR: "You took the whole price of writing. The tokens are also read, and that costs what input costs.",
        eq.byte_rent * GB: "That is for a second. Asked is an hour.",
        eq.byte_rent * GB * 60: "That is for a minute. Asked is an hour.",
        eq.byte_rent * GB * HOUR * 8: "A gigabyte is eight gigabits, and you counted those.",
    },
    explanation="A gigabyte of HBM cost {hbm_usd} to buy by a price of {hbm_date}, and serves for years. Either the price is far from the cost of holding, or the cache is larger than supposed.",
    hints=(
        "How many GB does a million tokens take, and what is paid for holding them?",
        "Divide by the GB, then by the time in hours.",
    ),
    solution=(
        Step("For holding a million tokens the card asks", v.premium_usd, "USD"),
        Step("They take", v.kv_bytes_per_token * MILLION, "byte"),
        Step("and are held for so many hours:", v.hold_time / HOUR, "1"),
        f"${eq.byte_rent.latex}$, for a GB and an hour",
    ),
)


def bought(values: Values) -> Values:
    """A drawn card's price of storage, a drawn public model's cache, and a drawn device at its dated price."""
    asked = price(values["sheet"]).cache_storage_usd_per_Mtok_hour
    return (
        priced(values)
        | served(values)
        | on_device(values)
        | {
            "storage_usd": asked,
            "premium": asked / MILLION,
            "hold_time": HOUR,
        }
    )


pay_off = Quantity(
    "Renting the memory it lies in",
    level="hard",
    objective=CARDS,
    unit="s",
    display_unit="h",
    statement="On the card of {date} {card_name} asks {storage_usd} for storing a million cached tokens for an hour. Its cache is not public: take that of {net_name}, {kv_bytes_per_token} over all layers, stored once. Suppose that it lies in {device}, which cost {gb_usd} per GB at the price of {bought}. After how many hours of storage has a customer paid what the memory under the tokens costs to buy?",
    parameters={
        "sheet": (GEMINI, "gemini-2.5-pro@2025-09"),
        "net": ("deepseek-v3", "llama-3.1-405b", "qwen3-235b-a22b"),
        "shelf": ("hbm-b200", "ddr5-3tb", "ssd-9650-7t"),
    },
    derived=bought,
    units=TEXT | DEVICE | {"storage_usd": "USD", "kv_bytes_per_token": "byte/token"},
    answer=v.byte_price / eq.byte_rent,
    independent_check=3600 * v.gb_usd * (v.kv_bytes_per_token * MILLION / 1e9) / v.storage_usd,
    misconceptions={
        3600 * v.gb_usd / v.storage_usd: "You took a million tokens for a gigabyte. How many bytes do they take?",
        v.byte_price / eq.byte_rent / 24: "That is in days.",
        v.byte_price / eq.byte_rent / 8: "Bits and bytes are mixed: the memory is priced by the gigabyte.",
        v.byte_price / eq.byte_rent * 3600: "That is in seconds.",
    },
    explanation="Hours to months, for memory that serves for years. The price does not tell in which tier the tokens lie: all are cheap beside it.",
    hints=(
        "What does the memory for a million tokens cost to buy?",
        "Divide by what the customer pays in an hour.",
    ),
    solution=(
        Step("A million tokens take", v.kv_bytes_per_token * MILLION, "byte"),
        Step("That much memory costs", v.gb_usd * v.kv_bytes_per_token * MILLION / GB, "USD"),
        Step(f"A byte's price over its rent, ${eq.byte_rent.latex}$, in hours", v.byte_price / eq.byte_rent / HOUR, "h"),
        "which is, in seconds,",
    ),
)

# --- how far to trust a price ----------------------------------------------------------------------------------------

SOLD = {CLAUDE: ("", "gb200-nvl72")} | {  # a card, the public model behind it if there is one, and a GPU to reckon with
    "deepseek-v3@2025-02-08": ("deepseek-v3", "h800"),
    "kimi-k2-0905@2026-06-12": ("kimi-k2", "h200"),
    "mistral-large-3@2025-12-02": ("mistral-large-3", "h200"),
}


def sold(values: Values) -> Values:
    """A drawn card against the GPU that its model might run on; where no size is published, the lecture's guess."""
    id, gpu = SOLD[values["sheet"]]
    net = served({"net": id}) if id else {"n_active": 100e9, "n_total": 700e9}
    words = "Its size is published:" if id else "Its size is not published; guess"
    return priced(values) | net | rented(values | {"gpu": gpu}) | {"size_words": words}


margin = Quantity(
    "Price over cost",
    level="medium",
    objective=TRUST,
    unit="1",
    statement="On the card of {date} {card_name} asks {in_usd} for a million tokens of input and {out_usd} for output. {size_words} {n_total} stored, {n_active} active. GPUs ({gpu_name}) rent at {hourly} an hour each, and each does {flops} in FP8, a multiply-add counted as two. Let prefill multiply all the time at that rate, attention's own FLOPs left out. How many times the rent of its prefill does a token of input cost the buyer?",
    parameters={"sheet": tuple(SOLD), "hourly": (2.0, 3.0, 4.0)},
    derived=sold,
    units=TEXT | {"size_words": ""},
    answer=eq.input_margin,
    independent_check=v.flops * 3600 / (2 * v.n_active) * v.input_price / v.hourly,
    misconceptions={
        eq.input_margin * 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        eq.input_margin.at(input_price=v.output_price): "You took the price of output. Prefill makes input.",
        eq.input_margin.at(rent=v.hourly): "The rent is for an hour, and FLOP/s are for a second.",
        eq.input_margin.at(n_active=v.n_total): "A token is multiplied by the active parameters only.",
        1 / eq.input_margin: "Upside down: that is cost over price.",
    },
    explanation="From six times to a few hundred, by model and rent, and for a closed model only if the guess holds. That prices stay close to costs can hold for ratios of prices at best.",
    hints=(
        "How many tokens of input does a GPU multiply in an hour?",
        "Their price, over an hour's rent.",
    ),
    solution=(
        Step("A GPU multiplies in an hour", v.flops * HOUR / (2 * v.n_active), "token"),
        Step(f"The rent of a token, ${eq.remat_cost.latex}$, for a million:", eq.remat_cost * MILLION, "USD"),
        f"${eq.input_margin.latex}$ =",
    ),
)

vendors = Choice(
    "What the vendors say",
    level="medium",
    objective=TRUST,
    statement="From drain times the lecture guesses that Anthropic's caches of five minutes lie in flash and those of an hour on spinning disks. What do vendors' own documents of 2026 say?",
    options=[
        wrong("They confirm it: minutes in flash, an hour on disks.", "No such statement is known. It is the lecture's guess, and articles repeat it as likely."),
        wrong("They say nothing about where caches lie, so a guess from prices is all there is.", "Several do say it, in their pages on prompt caching and data retention."),
        wrong("All of them keep caches on disks, whatever the time.", "One of them does. Others keep theirs in memory, at least for the first minutes."),
        right(
            "Anthropic says that its caches are held in memory only; OpenAI and DeepSeek name storage and disks for theirs.",
            "The one vendor whose prices were read says memory for both times. OpenAI offloads caches kept for up to 24 hours to storage beside the GPUs, and DeepSeek caches on disk. A rule for what would be cheapest is no evidence of what is done.",
        ),
    ],
    hints=("Customers ask whether their data is stored at rest, so vendors write it down.",),
    solution=("Anthropic: KV caches are held in memory only, for five minutes and for an hour. OpenAI: in memory for minutes, longer in GPU-local storage. DeepSeek: on disk by default.",),
)

BEFORE, AFTER = price("claude-opus-4.6@2026-02-05"), price(CLAUDE)

no_step = Choice(
    "The step that went away",
    level="medium",
    objective=TRUST,
    statement=f"On the card of {BEFORE.valid_from} {named(BEFORE)} cost {BEFORE.above.input_multiplier:g} times as much for input and {BEFORE.above.output_multiplier:g} times as much for output in requests of more than {BEFORE.above.tokens:,} tokens. On that of {AFTER.valid_from} the same model at the same prices had no such step, up to a million tokens. What can be concluded?",
    independent_check=lambda v: "b" if AFTER.above is None and BEFORE.usd_per_Mtok == AFTER.usd_per_Mtok else "a",
    options=[
        wrong("A token's KV cache had become five times smaller.", "That would be one explanation, but the card does not say so, and the model kept its name and its prices. Too much is read off here."),
        right("A step is also a decision about prices, and no measurement of where reading overtakes multiplying.", "Other cards kept their steps. The lecture takes the 200,000 tokens for a limit that costs have set; contexts of a million were on sale when it was given."),
        wrong("A token at a million tokens of context costs the provider no more to generate than one at 200,000.", "With dense attention such a token reads five times the cache. That it is sold at the same price is a decision, not a cost."),
        wrong("Contexts beyond 200,000 tokens are not sold.", "They are: the first card has prices for them, and so has the second."),
    ],
    hints=("What changed between the two cards, and what did not?",),
    solution=("Model and prices stayed, the step went. If it had marked the machine's crossing, something of the machine must have changed on that day; nothing says so.",),
)

long_ratio = Quantity(
    "The ratio beyond the step",
    level="easy",
    objective=TRUST,
    unit="1",
    statement="On the card of {date} {card_name} asks {in_usd} for a million tokens of input and {out_usd} for output. In requests of more than {step_context} input costs {input_ratio} times as much and output {step_ratio} times. How many times as much as input does output cost in such a request?",
    parameters={"sheet": (GEMINI, "claude-opus-4.6@2026-02-05", "gemini-2.5-pro@2025-09")},
    derived=priced,
    units=TEXT | {"input_ratio": "1", "step_ratio": "1"},
    answer=v.long_out / v.long_in,
    independent_check=v.ratio * v.step_ratio / v.input_ratio,
    misconceptions={
        v.ratio: "That is before the step. The two prices do not rise by the same factor.",
        v.ratio * v.step_ratio: "You raised output only. Input rises too, and by more.",
        v.ratio * v.input_ratio / v.step_ratio: "The factors have changed places.",
    },
    explanation="Less than before the step. Read as the lecture reads it, long contexts would wait less for memory than short ones. So the two readings of one card, of its step and of its ratio, do not agree.",
    hints=("Work out both prices beyond the step first.",),
    solution=(
        Step("Output beyond the step, for a million tokens:", v.long_out, "USD"),
        Step("Input:", v.long_in, "USD"),
        "Their ratio:",
    ),
)
