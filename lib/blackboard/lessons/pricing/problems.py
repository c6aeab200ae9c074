"""Practice problems of the pricing lesson: the lecture's cards 6.1-6.5, what prices say, and what they do not."""

from __future__ import annotations

from itertools import product
from typing import Any

from sympy import diff, solve
from sympy import sqrt as root_of

from blackboard.catalogue import Heads, PriceCard, chip, model, price, system, tier
from blackboard.catalogue.prices import Above, TokenPrices
from blackboard.formula import Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching import equations as roofline
from blackboard.lessons.pricing import equations as eq
from blackboard.problem import Choice, Guess, Ordering, Quantity, Step, Values, right, v, wrong
from blackboard.search import find_root
from blackboard.units import factor

COST = "Estimate what a token of input or output costs on a given machine."
STEP = "Judge what a price step reveals about the machine, and what it does not."
BILL = "Compute the bill of a call, and tell which part the cache saves."
WRITE = "Decide when a cache write pays, and for how long to buy it."
TIERS = "Find the memory in which a cache is cheapest to keep."

MILLION, BILLION, GB, HOUR, YEAR = 1e6, 1e9, factor("GB"), factor("h"), 365 * factor("day")
FP8, BF16 = 1.0, 2.0
GEMINI, CLAUDE = "gemini-3.1-pro-preview@2026-02-19", "claude-opus-4.6@2026-03-13"  # on the day of the lecture
STEPPED = (GEMINI, "gpt-5.4@2026-03-05", "claude-opus-4.6@2026-02-05")
SPELT = {"gpt": "GPT", "deepseek": "DeepSeek"}
KEPT = {300.0: "5 minutes", HOUR: "an hour", 24 * HOUR: "a day"}
BYTES = "bytes/token"

# Made-up price lists: USD for a million tokens of input and of output, and then a hit, or a context step and by how much input and output rise.
RATIOS = ((1.2, 5.4), (0.8, 2.8), (3.0, 21.0), (0.4, 2.6), (2.0, 15.0), (0.9, 2.25), (1.6, 5.2), (2.4, 13.2), (0.6, 5.1), (1.0, 9.0), (0.5, 4.6), (4.0, 38.0), (0.3, 1.3), (0.7, 3.22), (1.5, 5.7), (2.0, 11.2), (0.2, 1.36), (2.5, 17.5))
HITS = ((1.0, 5.0, 0.25), (0.8, 4.0, 0.2), (2.0, 10.0, 0.4), (1.2, 6.0, 0.36))
STEPS = tuple((*usd, tokens, 2.0, more) for usd, tokens, more in product(((1.5, 6.0), (4.0, 20.0), (2.0, 12.0)), (100_000, 160_000, 240_000), (1.25, 1.5, 1.75)))


def card_of(sheet: Any) -> PriceCard:
    """A card of the catalogue by its id, or a made-up one of numbers."""
    if isinstance(sheet, str):
        return price(sheet)
    usd, out, *more = sheet
    hit = more[0] if len(more) == 1 else None
    asked = TokenPrices(usd, out, hit, 1.25 * usd, 2 * usd)
    step = Above(*more) if len(more) == 3 else None
    return PriceCard(id="", confirmed=True, sources=(), provider="", model="", tier="", usd_per_Mtok=asked, above=step, valid_from="a provider")


def named(card) -> str:
    """A card's model as one says it: gpt-5.4 is GPT-5.4."""
    words = [SPELT.get(word, word[:1].upper() + word[1:]) for word in card.model.split("-")]
    return " ".join(words).replace("GPT ", "GPT-").replace("DeepSeek ", "DeepSeek-")


def priced(values: Values) -> Values:
    """What a drawn card asks: USD per million tokens for the text, USD per token for formulas, and its context step."""
    card = card_of(values["sheet"])
    p, step = card.usd_per_Mtok, card.above
    by_day = " by day" if card.tier.startswith("day") else ""
    bound = {"card_name": named(card) + by_day if card.id else "a model", "date": card.valid_from, "in_usd": p.input, "out_usd": p.output}
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


def bare(values: Values) -> Values:
    """A card's price of input, and what a drawn public model would cost on the text's GPU."""
    case = values | {"sheet": "claude-opus-4.6@2026-02-05", "gpu": "gb200-nvl72"}
    found = case | priced(case) | served(case) | rented(case)
    cost = eq.remat_cost(found)
    return found | {"cost_usd": cost * MILLION, "over": found["input_price"] / cost}


guess = Guess(
    "A guess before you read",
    level="easy",
    objective=COST,
    unit="USD/token",
    display_unit="$/Mtok",
    statement="On the price list of {date}, the price of {card_name} is {in_usd} per million tokens of input. Its size is not public. Suppose that it were as large as {net_name}, which stores {n_total} and activates {n_active} per token. It runs on {gpu_name} GPUs that rent at {hourly} per hour, and each does {flops} in FP8 (a multiply-add counts as two FLOPs), all the time. How many dollars of rent do a million tokens of short prompts take? A guess within a factor of three counts.",
    parameters={"net": ("deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "glm-4.5", "mistral-large-3"), "hourly": (3.3, 2.2, 2.6, 3.0, 3.6, 4.0, 4.5, 5.0)},
    derived=bare,
    units=TEXT | {"cost_usd": "USD", "over": "1"},
    answer=eq.remat_cost,
    independent_check=lambda v: v["hourly"] / (v["flops"] * 3600 / sum([v["n_active"]] * 2)),
    misconceptions={
        v.in_usd / MILLION: "Then the provider would have nothing left for idle hours, research and profit. Count the FLOPs.",
        eq.remat_cost.at(n_active=v.n_total): "You used all stored parameters. A token uses only the active ones.",
        eq.remat_cost.at(rent=v.hourly): "The rent is per hour, and FLOP/s are per second: seconds for hours.",
    },
    explanation="It is {cost_usd}, and the price is {over} times as much. No server runs at its peak all the time, and long prompts cost more. But the gap is wide.",
    hints=(
        "How many tokens does a GPU compute in an hour?",
        "2 × active parameters ÷ FLOP/s is the time of one token. Multiply by the rent per second.",
    ),
    solution=(
        Step("A million tokens keep a GPU busy for", 2 * v.n_active * MILLION / v.flops, "s"),
        f"At the rent of a GPU, ${eq.remat_cost.latex}$ =",
    ),
)


def off(values: Values) -> Values:
    """A card's price step, a public model on drawn GPUs, and by how much a cache read out of the step is off."""
    found = priced(values) | served(values)
    return found | {"implied": eq.kv_implied(found), "off": found["kv_bytes_per_token"] / eq.kv_implied(found)}


implied = Quantity(
    "By how much a step misleads",
    level="medium",
    objective=STEP,
    unit="1",
    statement="On the price list of {date}, {card_name} has higher prices for requests longer than {step_context}. Somebody concludes: there, loading one sequence's KV cache takes as long as the compute of its new token, in a batch so large that the weights do not count. Test this on a model whose cache is known. {net_name} activates {n_active} per token and keeps {kv_bytes_per_token} of KV cache over all layers. It runs on {machine_name}: {flops} in FP8 (a multiply-add counts as two FLOPs) and {bandwidth} of memory bandwidth. Attention's own FLOPs are left out. How many times the cache that the step would imply does the model keep?",
    parameters={
        "sheet": ("gpt-5.4@2026-03-05", GEMINI, "claude-opus-4.6@2026-02-05"),
        "machine": ("h200-8", "b200-8", "h100-8"),
        "net": ("kimi-k2", "llama-3.1-405b", "glm-4.5", "qwen3-235b-a22b", "mixtral-8x22b"),
    },
    derived=off,
    units=TEXT | {"kv_bytes_per_token": "byte/token", "implied": "byte/token", "off": "1"},
    answer=v.kv_bytes_per_token / eq.kv_implied,
    independent_check=lambda v: v["step_context"] / roofline.balanced_context(v),
    misconceptions={
        v.kv_bytes_per_token / eq.kv_implied.at(n_active=v.n_total): "You used all stored parameters. A token uses only the active ones.",
        2 * v.kv_bytes_per_token / eq.kv_implied: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        eq.kv_implied / v.kv_bytes_per_token: "Upside down: that is the implied cache divided by the one that it keeps.",
        v.kv_bytes_per_token / (eq.kv_implied * v.step_context): "You divided by the cache of the whole sequence. The question is about one token.",
    },
    explanation="Far off: in this model, loading overtakes compute after a few hundred or thousand tokens. A step at 200,000 or more says nothing about its cache, so it would say nothing about that of a model that you do not know.",
    hints=(
        "Write both times for one sequence: 2 × active parameters ÷ FLOP/s, and context × bytes ÷ bandwidth.",
        "Set them equal at the step and solve for the bytes of a token. Divide the known cache by them.",
    ),
    solution=(
        Step("The compute of one new token takes", 2 * v.n_active / v.flops, "s"),
        Step("In that time the machine loads", 2 * v.n_active / v.flops * v.bandwidth, "byte"),
        Step(f"Divided among {{step_context}}, ${eq.kv_implied.latex}$ =", eq.kv_implied, "byte/token"),
        "The known cache divided by this:",
    ),
)

# --- a KV cache from an architecture ---------------------------------------------------------------------------------


MODELS = ("qwen3-32b", "qwen3-14b", "qwen3-8b", "qwen2.5-72b", "llama-3.1-8b", "llama-3.1-405b", "mixtral-8x22b")
MADE_UP = tuple((*size, *heads) for size, heads in product(((20e9, 40), (30e9, 50), (40e9, 60), (60e9, 72)), ((64, 8, 128), (96, 16, 128), (48, 6, 128), (80, 8, 64), (40, 8, 96))))


def shape_of(net: Any) -> tuple[str, float, Heads]:
    """Name, active parameters and attention of a model whose layers are all alike, by its id or made up of numbers."""
    if not isinstance(net, str):
        return "A model", net[0], Heads(*net[1:])
    [group] = model(net).attention
    assert isinstance(group, Heads)
    return model(net).name, model(net).n_active, group


def grouped(values: Values) -> Values:
    """Layers and heads of a drawn model whose layers all see the whole context."""
    name, n_active, group = shape_of(values["net"])
    sizes = {
        "kv_layers": group.layers,
        "kv_heads": group.kv_heads,
        "query_heads": group.heads,
        "head_dim": group.head_dim,
    }
    return sizes | {
        "origin": name,
        "kv_value_bytes": BF16,
        "layers": group.layers,
        "n_active": n_active,
        "net_name": name,
    }


heads = Quantity(
    "From heads to bytes",
    level="easy",
    objective=STEP,
    unit="byte/token",
    display_unit=BYTES,
    statement="{origin}: {kv_layers} layers keep a KV cache of their own. In each of them attention has {query_heads} query heads and {kv_heads} KV heads of {head_dim} numbers. Cached numbers are in BF16, two bytes each. How many bytes does one token add to the cache, over all layers?",
    parameters={"net": ("llama-3.1-70b", "glm-4.5", "mistral-large-2", *MODELS, *MADE_UP)},
    derived=grouped,
    units={"origin": "", "kv_layers": "1"},
    answer=eq.kv_of_heads,
    independent_check=lambda v: sum(v["head_dim"] * 2 for _ in product(range(v["kv_layers"]), range(v["kv_heads"]), ("key", "value"))),
    misconceptions={
        eq.kv_of_heads / 2: "A factor of two is missing. Each head keeps a key *and* a value, and in BF16 each of their numbers takes two bytes.",
        eq.kv_of_heads / 4: "Two factors of two are missing: a head keeps a key and a value, and each of their numbers takes two bytes.",
        eq.kv_of_heads / v.kv_heads: "That is one KV head. Each of them keeps its own key and value.",
        eq.kv_of_heads / v.kv_layers: "That is per layer. Every layer keeps its own cache.",
        eq.kv_of_heads.at(kv_heads=v.query_heads): "You counted query heads. Queries belong to the token that attends and are not kept; only KV heads are.",
    },
    explanation="Tens or hundreds of kilobytes, because published models have dozens of layers with a cache of their own.",
    hints=(
        "Which heads are needed again when a later token attends?",
        "Layers × KV heads × (key and value) × values × bytes.",
    ),
    solution=(
        Step("Numbers per token: layers × 2 × KV heads × head size =", lambda v: f"{2 * v['kv_layers'] * v['kv_heads'] * v['head_dim']:,}"),
        f"At two bytes each, ${eq.kv_of_heads.latex}$ =",
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
    objective=STEP,
    statement="Order these models by the bytes of KV cache that one token takes over all layers, the fewest first. All cached numbers are in BF16. A KV head keeps a key and a value for each token. A latent serves as both and is kept once. Every layer listed keeps its own cache.",
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
        "daebc": "That is the reverse: from the most bytes to the fewest.",
        "ecdab": "That is the order of their parameters. Look at layers and KV heads instead.",
        "ceabd": "You gave each of the many heads a cache of its own. A latent is shared by all of them.",
    },
    explanation="From tens of kilobytes to megabytes, and almost independent of the parameters: caches shrank while models grew.",
    hints=(
        "Values of one layer: 2 × KV heads × head size, or the latent and its key. Then times layers.",
        "How many KV heads has the oldest of these models?",
    ),
    solution=lambda v: [Step(f"{model(id).name}:", model(id).kv_bytes_per_token(), "byte/token") for id in SIZES.values()],
)

# --- output against input --------------------------------------------------------------------------------------------

waits = Choice(
    "What is wrong with a fifth?",
    level="medium",
    objective=STEP,
    statement="A colleague reads on a price list that the price of output is five times that of input. She argues: input costs its compute, output costs its memory traffic, and both tokens need the same compute. So decode keeps the compute units busy for a fifth of the time. Take DeepSeek-V3 after a long prompt, at full speed, as in this lesson. Where does her argument fail?",
    options=[
        wrong("Output does not wait for memory: its compute takes longer than its loading.", "After a long prompt loading takes longer, as she says. At short contexts the two are about equal."),
        wrong("Decode loads the weights once for each token, and the ratio leaves them out.", "All sequences of the batch share the weights, and the memory traffic that she speaks of includes their share."),
        wrong("Input waits for memory, too, because its prompt is long.", "A pass of prefill shares what it loads among thousands of tokens. Compute takes much longer."),
        right("The two tokens do not need the same compute: attention takes several times as many FLOPs in decode.", "Decode works on the cached latent, which is wider than the keys and values that prefill expands. Even if prices were costs, the ratio of two times would not be the share of one."),
    ],
    hints=("Check her three assumptions one by one against the table of GPU times in the fold “Where do these times come from, and what does packing do?”",),
    solution=("Her first two assumptions hold after a long prompt. The third does not: prefill works on expanded keys and values, decode on the wider latent. So compute fills far more than a fifth of the time of output.",),
)

# --- long contexts ---------------------------------------------------------------------------------------------------


def attending(values: Values) -> Values:
    """A drawn model's heads, and the FLOPs with which a token attends to each earlier one."""
    found = grouped(values)
    return found | {"attention_flop": eq.attention_of_heads(found)}


attention = Quantity(
    "When attention takes as much compute as the weights",
    level="hard",
    objective=COST,
    unit="token/sequence",
    display_unit="token",
    statement="{net_name} activates {n_active}, and each takes a multiply-add for a new token. In each of its {layers} layers there are {query_heads} query heads and {kv_heads} KV heads of {head_dim} numbers. To attend to one earlier token, a query head multiplies its {head_dim} numbers with those of a key and sums them up. Then it adds that token's value, also {head_dim} numbers, times a weight to its result. A multiply-add is two FLOPs. At which context does a new token take as many FLOPs for attention as for the weights?",
    parameters={"net": ("llama-3.1-70b", "qwen3-235b-a22b", "glm-4.5", "mistral-large-2", *MODELS, *MADE_UP)},
    derived=attending,
    units={"net_name": "", "layers": "1"},
    answer=eq.context_flop,
    independent_check=lambda v: find_root(lambda L: shape_of(v["net"])[2].attends(L) - 2 * v["n_active"], 1.0, 1e9),
    misconceptions={
        eq.context_flop * v.query_heads / v.kv_heads: "You counted KV heads, which determine what is stored. Every query head computes its own scores.",
        2 * eq.context_flop: "Half is missing: attention multiplies queries with keys and then weights with values.",
        eq.context_flop / 2: "Each active parameter is two FLOPs: a multiply and an add.",
        eq.context_flop * v.layers: "That is attention in one layer. Every layer attends.",
    },
    explanation="Well below a million tokens. The lecture expects attention's compute to matter at millions of tokens, but in public models it matters sooner.",
    hints=(
        "FLOPs of one earlier token in one layer: query heads × values × two products × two FLOPs.",
        "Times layers, that is the cost per earlier token. Divide the weights' FLOPs by it.",
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
    """Bytes of DeepSeek-V3.2's cache in one layer, in a drawn layout; or those of a made-up cache."""
    layout = values["layout"]
    entry, key = (DSA.entry(layout), DSA.key(layout)) if isinstance(layout, str) else layout
    return {"entry_bytes": entry, "index_bytes": key, "selected": values.get("top_k", DSA.top_k)}


LAYOUT = {"layout": "", "entry_bytes": "byte", "index_bytes": "byte", "selected": "token", "context": "token"}

sparse = Quantity(
    "What an index saves",
    level="medium",
    objective=COST,
    unit="1",
    statement="DeepSeek-V3.2 uses sparse attention. For each new token every layer loads an index key of {index_bytes} for every token of the context. It then loads full cache entries of {entry_bytes} each for the {selected} that score best. Dense attention would load the entries of all tokens. At a context of {context}, how many times as many bytes would dense attention load?",
    parameters={"context": (65536, 32768, 131072, *range(40_000, 200_000, 5_000)), "layout": (VLLM,)},
    derived=indexed,
    units=LAYOUT,
    answer=eq.sparse_saving,
    independent_check=lambda v: sum(v["entry_bytes"] for _ in range(v["context"])) / sum(v["index_bytes"] + (v["entry_bytes"] if token < v["selected"] else 0) for token in range(v["context"])),
    misconceptions={
        v.context / v.selected: "The index is missing. To find the best entries, a key of every token is loaded.",
        1 / eq.sparse_saving: "Upside down: that is the share that is still loaded.",
        v.entry_bytes / v.index_bytes: "The selected entries are missing: they are loaded on top of the index.",
        v.context / v.selected * v.entry_bytes / (v.entry_bytes + v.index_bytes): "Index keys are loaded for all tokens of the context, not only for those that are selected.",
    },
    explanation="A few times, not orders of magnitude. At long contexts the selected entries hardly count: most of the traffic is the index.",
    hints=(
        "Sparse: an index key for every token, and an entry for every selected one.",
        "Dense: an entry for every token. Divide.",
    ),
    solution=(
        Step("Dense attention loads in a layer", v.context * v.entry_bytes, "byte"),
        Step(f"Sparse attention, ${eq.sparse_read.latex}$ =", eq.sparse_read, "byte"),
        f"${eq.sparse_saving.latex}$ =",
    ),
)


def token_by_token(context: int, selected: int, entry_bytes: float, index_bytes: float) -> float:
    """What one token's attention loads, counted in a cache of which it selects the first entries."""
    return sum(index_bytes + (entry_bytes if token < selected else 0) for token in range(context))


loads = Function(
    "Short contexts and long ones",
    level="medium",
    objective=COST,
    statement="Sparse attention loads an index key for every token of the context, and full entries only of the tokens that it selects. Write a Python function of context (tokens), selected (how many tokens it may select at most), entry_bytes and index_bytes (the bytes of one entry and of one key). Return the bytes that a layer loads for one new token of one sequence, for any context, short or long.",
    formula=eq.sparse_read,
    test_points=(
        {"context": 131072, "selected": 2048, "entry_bytes": 656, "index_bytes": 132},
        {"context": 1000, "selected": 2048, "entry_bytes": 1152, "index_bytes": 256},
        {"context": 2048, "selected": 2048, "entry_bytes": 576, "index_bytes": 128},
        {"context": 2049, "selected": 2048, "entry_bytes": 512, "index_bytes": 96},
        {"context": 60, "selected": 64, "entry_bytes": 100, "index_bytes": 30},
    ),
    independent_check=token_by_token,
    misconceptions={
        eq.context * eq.index_bytes + eq.selected * eq.entry_bytes: "Right for long contexts. A context that is shorter than the selection has fewer entries to load.",
        Min(eq.selected, eq.context) * eq.entry_bytes: "The index is missing. To find the best entries, a key of every token is loaded.",
        Min(eq.selected, eq.context) * (eq.entry_bytes + eq.index_bytes): "Index keys are loaded for all tokens of the context, not only for those that are selected.",
        eq.context * (eq.entry_bytes + eq.index_bytes): "That loads every entry, as dense attention does, and the index on top.",
        eq.context * eq.entry_bytes: "That is dense attention: every entry, and no index.",
        Min(eq.context * eq.entry_bytes, eq.context * eq.index_bytes + eq.selected * eq.entry_bytes): "For short contexts you leave the index out. The rule does not: its keys are loaded at every context.",
    },
    explanation="Up to the size of the selection, sparse attention loads more than dense attention: every entry, and the index on top. It saves only beyond that.",
    hints=(
        "Two parts: keys of all tokens, and entries of the selected ones.",
        "It cannot select more tokens than there are: min(selected, context).",
    ),
    solution=(
        f"${eq.sparse_read.latex}$, as code",
        Step("", "context * index_bytes + min(selected, context) * entry_bytes"),
    ),
)

block = Expression(
    "The best block",
    level="hard",
    objective=COST,
    statement="Attention selects in two stages. The context of L tokens is divided into blocks of equal length. For a new token one summary is loaded for each block, then all entries of the k_block best blocks. A summary is as large as an entry. Write the block length, in tokens, with the least memory traffic.",
    formula=eq.block_best,
    independent_check=lambda v: solve(diff(eq.block_read.expr, eq.block), eq.block)[0],
    misconceptions={
        eq.context / eq.blocks_read: "Then the selected blocks would be the whole context. Write down the traffic and find where it is least.",
        root_of(eq.context): "The number of selected blocks is missing. The more are selected, the shorter they should be.",
        root_of(eq.context * eq.blocks_read): "That is the number of blocks. The question is about the length of one.",
        2 * root_of(eq.context * eq.blocks_read): "That is the traffic. The question is about the length of a block.",
        root_of(eq.blocks_read / eq.context): "Upside down: a longer context calls for longer blocks.",
    },
    explanation="With this length the traffic grows with the square root of the context, as the lecture says of sparse attention. DeepSeek-V3.2 selects in one stage and has no root.",
    hints=(
        "With blocks of m tokens there are L / m summaries, and k_block × m entries are loaded.",
        "One falls with $m$, the other rises. The sum is least where both are equal.",
    ),
    solution=(
        f"The traffic is ${eq.block_read.latex}$, smallest where its derivative is zero:",
        Step(f"${eq.block_best.latex}$, typed as", "sqrt(L / k_block)"),
    ),
)

# --- where a KV cache lies -------------------------------------------------------------------------------------------

GPUS = ("gb200-nvl72", "b200", "h200")


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


even = Quantity(
    "Keep or compute again",
    level="medium",
    objective=TIERS,
    unit="s",
    statement="{net_name} stores {n_total}, activates {n_active} per token and keeps {kv_bytes_per_token} of KV cache over all layers. It runs on {gpu_name} GPUs with {hbm} of memory and {flops} in FP8 each (a multiply-add counts as two FLOPs). A GPU rents at {hourly} per hour. Holding a share of the memory costs that share of the rent. Computing a token again costs the rent for the time it takes at the full rate, attention's own FLOPs left out. For how many seconds can a token's cache be held before computing it again would be cheaper?",
    parameters={"net": ("qwen3-235b-a22b", "glm-4.5", "llama-3.1-405b", "kimi-k2", "mistral-large-3", "mixtral-8x22b"), "gpu": ("b200", "h200", "gb200-nvl72"), "hourly": (2.0, 3.0, 4.0)},
    derived=held,
    units=TEXT | {"kv_bytes_per_token": "byte/token"},
    answer=eq.hbm_even,
    independent_check=lambda v: find_root(lambda T: eq.hbm_hold(v, hold_time=T) - eq.remat_cost(v), 1e-6, 1e12),
    misconceptions={
        eq.hbm_even / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        v.hbm / v.bandwidth: "That is the drain time of the HBM. It compares holding with loading back, not with computing again.",
        eq.hbm_even / 60: "That is in minutes. The question asks for seconds.",
        eq.hbm_even * v.hourly: "The rent is paid in both cases. It cancels.",
    },
    explanation="The rent has canceled. A small cache may stay in HBM for an hour, a large one for less than a minute. Then a cheaper memory has to take it.",
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
    "hbm-b200": "HBM",
    "ddr5-3tb": "the main memory of a server",
    "ssd-9650-7t": "a fast SSD",
    "ssd-9650-30t": "a fast SSD",
}


def on_device(values: Values) -> Values:
    """A drawn device: its size and rate, its name, and where one is needed its newest confirmed price; or the size and
    rate of a made-up one.
    """
    if not isinstance(values["shelf"], str):
        return {"device": "a large SSD"} | dict(zip(("tier_capacity", "tier_bandwidth"), values["shelf"]))
    row = tier(values["shelf"])
    found = {"device": WORDS[row.id], "tier_capacity": row.capacity_bytes, "tier_bandwidth": row.read_bytes_per_s}
    paid = max((p for p in row.prices if p.confirmed), key=lambda p: p.date, default=None)
    return found | ({"gb_usd": paid.usd_per_GB, "byte_price": paid.usd_per_GB / GB, "bought": paid.date} if paid else {})


DEVICE = {"tier_capacity": "byte", "tier_bandwidth": "byte/s", "gb_usd": "USD", "bought": ""}


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
    "Keeping it, and loading it back",
    level="hard",
    objective=TIERS,
    unit="USD",
    statement="{net_name} keeps {kv_bytes_per_token} of KV cache over all layers. The cache is held for {kept_for} on {device} and then loaded back once. The device holds {tier_capacity} and reads {tier_bandwidth}. It cost {gb_usd} per GB ({bought}) and is paid off evenly over {years} years of 365 days; power and servers are left out. Holding takes a share of the device. Loading takes the whole device for the time of the transfer. A billion tokens may take several such devices: count shares of them. How many dollars do holding and loading cost together, for a billion tokens?",
    parameters={
        "shelf": ("ssd-9650-7t", "ssd-9650-30t", "hdd-exos30"),
        "net": ("deepseek-v3", "llama-3.1-405b", "glm-4.5", "qwen3-235b-a22b"),
        "hold_time": (300.0, HOUR, 24 * HOUR),
        "years": (5, 4, 3),
    },
    derived=stored,
    units=TEXT | DEVICE | {"kv_bytes_per_token": "byte/token"},
    answer=eq.tier_cost * BILLION,
    independent_check=v.gb_usd * v.kv_bytes_per_token * (v.hold_time + v.tier_capacity / v.tier_bandwidth) / (v.years * 365 * 86400),
    misconceptions={
        eq.tier_hold * BILLION: "That is holding alone. The device is also busy during the transfer.",
        eq.tier_retrieve * BILLION: "That is loading alone. The space is taken for as long as the cache is held.",
        v.byte_price * v.kv_bytes_per_token * BILLION: "That buys the space for the device's whole life. It is needed for a small part of that.",
    },
    explanation="A tiny part of what providers charge for a cache. Loading back costs as much as holding for one more drain time.",
    hints=(
        "The rent of the device per second: its price divided by its life in seconds.",
        "Holding: rent × share of the capacity × time. Loading: rent × bytes ÷ bandwidth.",
    ),
    solution=(
        Step("The device cost", v.gb_usd * v.tier_capacity / GB, "USD"),
        Step(f"Holding, ${eq.tier_hold.latex}$, for a billion tokens:", eq.tier_hold * BILLION, "USD"),
        Step(f"Loading back, ${eq.tier_retrieve.latex}$:", eq.tier_retrieve * BILLION, "USD"),
        "Together:",
    ),
)

hits = Choice(
    "Are hits free?",
    level="easy",
    objective=BILL,
    statement="A request finds the KV cache of its prompt in the provider's flash memory. What do these cached tokens still cost the provider, from the hit to the end of the answer?",
    options=[
        wrong("nothing: their work was done and paid for when the cache was written", "Only the compute was paid for. The cache must still be loaded, and then it takes memory and bandwidth like any other context."),
        wrong("moving them from HBM to the compute units, and nothing else", "They must first be brought from flash into HBM. The way from there is part of every decode step, cached or not."),
        right("bringing them into HBM, memory there while the answer is generated, and loading them in each decode step", "Only prefill is saved. So a hit has a cost, though a low one, and output after a cached prompt costs as much as ever."),
        wrong("as much as a miss: the saving is in time only", "A miss computes all the tokens again. A hit only moves bytes, which is far cheaper."),
    ],
    hints=("Follow the bytes: where are they now, where must they be to be attended to, and for how long?",),
    solution=("A hit saves prefill. It needs the transfer into HBM, and from then on the tokens are context like any other.",),
)

# --- cache prices ----------------------------------------------------------------------------------------------------


def cached(values: Values) -> Values:
    """What a drawn card asks for writing into a cache that keeps for a drawn time, and for a hit."""
    found, p = priced(values), card_of(values["sheet"]).usd_per_Mtok
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

one_bill = Quantity(
    "One call, one bill",
    level="easy",
    objective=BILL,
    unit="USD",
    statement="An agent calls {card_name} at the prices of {date}. Of its prompt, {hit_tokens} are found in the cache at {hit_usd} per million. The other {new_tokens} are written to the cache for {kept_for}, at {write_usd} per million; the price of ordinary input is {in_usd}. The answer has {answer_tokens} at {out_usd} per million. How many dollars does the agent pay for the call?",
    parameters={"sheet": WRITES, "hold_time": (HOUR, 300.0), "hit_tokens": (120_000, 30_000, 80_000), "new_tokens": (8_000, 2_000, 20_000), "answer_tokens": (600, 2_500)},
    derived=cached,
    units=TEXT | {"hit_tokens": "token", "new_tokens": "token", "answer_tokens": "token"},
    answer=(v.hit_tokens * v.hit_usd + v.new_tokens * v.write_usd + v.answer_tokens * v.out_usd) / MILLION,
    independent_check=lambda v: sum([v["hit_tokens"] * v["read_ratio"] * v["input_price"], v["new_tokens"] * v["write_ratio"] * v["input_price"], v["answer_tokens"] * v["output_price"]]),
    misconceptions={
        (v.hit_tokens * v.hit_usd + v.new_tokens * (v.write_usd + v.in_usd) + v.answer_tokens * v.out_usd) / MILLION: "You paid input and write for the new tokens. The write price replaces the input price.",
        ((v.hit_tokens + v.new_tokens) * v.in_usd + v.answer_tokens * v.out_usd) / MILLION: "That is the bill without a cache.",
        v.hit_tokens * v.hit_usd + v.new_tokens * v.write_usd + v.answer_tokens * v.out_usd: "Prices are per million tokens: divide by a million.",
        (v.hit_tokens * v.hit_usd + v.new_tokens * v.in_usd + v.answer_tokens * v.out_usd) / MILLION: "You charged the new tokens as ordinary input. They are written to the cache, at the write price.",
    },
    explanation="A hit is charged a small part of the price of input. A long history can still be most of the bill.",
    hints=("Each token is billed once, at the price of its kind.", "Three products, then divide by a million."),
    solution=(
        Step("Hits:", v.hit_tokens * v.hit_usd / MILLION, "USD"),
        Step("Writes:", v.new_tokens * v.write_usd / MILLION, "USD"),
        Step("Output:", v.answer_tokens * v.out_usd / MILLION, "USD"),
        "Together:",
    ),
)

break_even = Quantity(
    "What caching saves",
    level="medium",
    objective=WRITE,
    unit="1",
    display_unit="%",
    statement="On the price list of {date}, the price of {card_name} is {in_usd} per million tokens of input, {write_usd} for writing them into a cache that keeps them for {kept_for} after each use, and {hit_usd} for a hit. Each hit renews the cache at no charge. The same prompt is used {times} times, the first use included, always in time. What share of the price of all these prompts does the cache save, in percent?",
    parameters={"sheet": (*WRITES, "claude-sonnet-4.5@2025-09-29", "claude-fable-5@2026-06-09", "claude-opus-5@2026-07-24", "claude-sonnet-5.5@2026-09-29", *HITS), "hold_time": (HOUR, 300.0), "times": (4, 10, 25, 3, 5, 6, 8)},
    derived=cached,
    units=TEXT | {"times": "1"},
    answer=1 - (v.write_ratio + v.read_ratio * (v.times - 1)) / v.times,
    independent_check=lambda v: 1 - sum(v["write_usd"] if use == 0 else v["hit_usd"] for use in range(v["times"])) / sum(v["in_usd"] for _ in range(v["times"])),
    misconceptions={
        (v.write_ratio + v.read_ratio * (v.times - 1)) / v.times: "That is the share that is still paid.",
        1 - (v.write_ratio + v.read_ratio * v.times) / v.times: "The use that writes is the first one. Only the others are hits.",
        1 - v.read_ratio: "That is the saving of a hit. The first use is a write, at more than the price of input.",
        (1 - (v.write_ratio + v.read_ratio * (v.times - 1)) / v.times) / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="The write is soon forgotten: with more uses the saving approaches one minus the price of a hit.",
    hints=("One write and hits for all other uses.", "Divide by the price of all uses as ordinary input."),
    solution=(
        Step("With the cache, in units of one use as input:", v.write_ratio + v.read_ratio * (v.times - 1), "1"),
        Step("Without it:", v.times, "1"),
        "The share saved, in percent:",
    ),
)


CHARGES = tuple((usd, round(usd * write, 2), round(usd * hit, 2)) for usd, write, hit in product((2.0, 4.0, 0.8, 5.0, 10.0), (1.5, 1.25, 1.75), (0.25, 0.2, 0.4)))  # made-up prices of input, a write and a hit


def charged(values: Values) -> Values:
    """Made-up prices per million tokens, and the ratios that they give."""
    usd, write, hit = values["charges"]
    return {"in_usd": usd, "write_usd": write, "hit_usd": hit, "write_ratio": write / usd, "read_ratio": hit / usd}


come_back = Quantity(
    "How many must come back?",
    level="easy",
    objective=WRITE,
    unit="1",
    display_unit="%",
    statement="A provider charges {in_usd} for a million tokens of plain input, {write_usd} for tokens that are written to its cache, and {hit_usd} for hits. Of the tokens that you send, some are hits, and all others are written. Which share must be hits, in percent, for you to pay as much as for sending everything as plain input?",
    parameters={"charges": CHARGES},
    derived=charged,
    units=TEXT,
    answer=eq.hit_rate_even,
    independent_check=lambda v: find_root(lambda h: v["in_usd"] - h * v["hit_usd"] - (1 - h) * v["write_usd"], 1e-6, 1.0),
    misconceptions={
        (v.write_ratio - 1) / (1 - v.read_ratio): "Those are hits for each write. The question is about their share of all tokens.",
        (v.write_ratio - 1) / v.write_ratio: "A hit is not free. Subtract its price from what it saves.",
        (1 - v.read_ratio) / (v.write_ratio - v.read_ratio): "That is the share that may be written. The rest must be hits.",
    },
    explanation="A small share. A hit saves much more than a write adds, so a cache pays unless most prompts are sent only once.",
    hints=(
        "A write is charged more than plain input, a hit less. How much is each difference?",
        "With a share of hits, what is the mean price of a token? Set it equal to that of plain input.",
    ),
    solution=(
        Step("A write adds, in units of plain input:", v.write_ratio - 1, "1"),
        Step("A hit is cheaper than a write by", v.write_ratio - v.read_ratio, "1"),
        f"${eq.hit_rate_even.latex}$ =",
    ),
)


def kept_longer(values: Values) -> Values:
    """What a drawn card asks for both times of keeping, and the share that hits with the shorter."""
    found = cached(values | {"hold_time": 300})
    hour = card_of(values["sheet"]).usd_per_Mtok.cache_write_1h
    return found | {"hour_usd": hour, "hour_ratio": hour / found["in_usd"], "short_hits": values["short_percent"] / 100}


PER_MISS = (v.write_ratio - v.read_ratio) / (v.hour_ratio - v.read_ratio)  # what a miss adds to a hit: five minutes' over the hour's

returns = Quantity(
    "Five minutes or an hour",
    level="medium",
    objective=WRITE,
    unit="1",
    display_unit="%",
    statement="On the price list of {date}, the price of {card_name} is {in_usd} per million tokens of input. For tokens written into a cache that keeps them for five minutes it is {write_usd}, for an hour {hour_usd}, and for hits {hit_usd}. Each hit renews the cache at no charge. With the cache of five minutes, {short_percent} percent of the tokens that you send are hits, and all others are written. From which share of hits on, in percent, would the cache of an hour be cheaper?",
    parameters={"sheet": (*HITS, *WRITES, "claude-sonnet-4.5@2025-09-29", "claude-opus-5@2026-07-24"), "short_percent": (40, 60, 70, 50, 80, 30, 20)},
    derived=kept_longer,
    units=TEXT | {"short_percent": "1", "hour_usd": "USD"},
    answer=1 - (1 - v.short_hits) * PER_MISS,
    independent_check=lambda v: find_root(lambda h: v["short_hits"] * v["hit_usd"] + (1 - v["short_hits"]) * v["write_usd"] - h * v["hit_usd"] - (1 - h) * v["hour_usd"], 1e-6, 1.0),
    misconceptions={
        v.short_hits: "With as many hits you would pay the same only if the price of a miss were the same. Writing for an hour is dearer.",
        (1 - v.short_hits) * PER_MISS: "Those are the misses that the hour may have. The question is about hits.",
        (v.hour_ratio - 1) / (v.hour_ratio - v.read_ratio): "There the hour is no cheaper than no cache. Compare it with five minutes.",
    },
    explanation="Whatever the share was, the hour must turn the same part of the misses into hits. For writes at 1.25 and 2 times input and hits at a tenth, it is 39.5 percent.",
    hints=(
        "What is the mean price of a token with the five minutes? Hits at the price of a hit, the rest at the price of a write.",
        "Write the same for the hour with an unknown share, and set both equal.",
    ),
    solution=(
        Step("Misses with five minutes:", 1 - v.short_hits, "1"),
        Step("What a miss adds to a hit, five minutes' divided by the hour's:", PER_MISS, "1"),
        "So the hour may have that part of the misses. Its hits, in percent:",
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
    "Renting the memory",
    level="hard",
    objective=WRITE,
    unit="s",
    display_unit="h",
    statement="On the price list of {date}, {card_name} charges {storage_usd} for storing a million cached tokens for an hour. Its cache size is not public: take that of {net_name}, {kv_bytes_per_token} over all layers, stored once. Suppose that the cache is in {device}, which cost {gb_usd} per GB ({bought}). After how many hours of storage has a customer paid for the memory under the tokens?",
    parameters={
        "sheet": (GEMINI, "gemini-2.5-pro@2025-09"),
        "net": ("deepseek-v3", "llama-3.1-405b", "qwen3-235b-a22b", "glm-4.5", "llama-3.1-70b", "mixtral-8x22b"),
        "shelf": ("hbm-b200", "ddr5-3tb", "ssd-9650-7t"),
    },
    derived=bought,
    units=TEXT | DEVICE | {"storage_usd": "USD", "kv_bytes_per_token": "byte/token"},
    answer=v.byte_price / eq.byte_rent,
    independent_check=3600 * v.gb_usd * (v.kv_bytes_per_token * MILLION / 1e9) / v.storage_usd,
    misconceptions={
        3600 * v.gb_usd / v.storage_usd: "You took a million tokens for a gigabyte. How many bytes do they take?",
        v.byte_price / eq.byte_rent / 24: "That is in days.",
        v.byte_price / eq.byte_rent / 8: "You took bits for bytes: the memory is priced per gigabyte.",
        v.byte_price / eq.byte_rent * 3600: "That is in seconds.",
    },
    explanation="Hours to months, for memory that serves for years. The price does not reveal the tier: all of them are cheap beside it.",
    hints=(
        "What does the memory for a million tokens cost to buy?",
        "Divide by what the customer pays in an hour.",
    ),
    solution=(
        Step("A million tokens take", v.kv_bytes_per_token * MILLION, "byte"),
        Step("That much memory costs", v.gb_usd * v.kv_bytes_per_token * MILLION / GB, "USD"),
        Step(f"The price of a byte divided by its rent, ${eq.byte_rent.latex}$, in hours", v.byte_price / eq.byte_rent / HOUR, "h"),
        "which is, in seconds,",
    ),
)

# --- how far to trust a price ----------------------------------------------------------------------------------------

SOLD = {  # a card, the public model behind it or one to stand for it, and a GPU to reckon with
    CLAUDE: ("deepseek-v3", "gb200-nvl72"),
    "deepseek-v3@2025-02-08": ("deepseek-v3", "h800"),
    "kimi-k2-0905@2026-06-12": ("kimi-k2", "h200"),
    "mistral-large-3@2025-12-02": ("mistral-large-3", "h200"),
}


def sold(values: Values) -> Values:
    """A drawn card against the GPU that its model might run on; where no size is published, DeepSeek-V3's."""
    id, gpu = SOLD[values["sheet"]]
    words = "Its size is not published; suppose that it is that of DeepSeek-V3:" if values["sheet"] == CLAUDE else "Its size is published:"
    return priced(values) | served({"net": id}) | rented(values | {"gpu": gpu}) | {"size_words": words}


margin = Quantity(
    "Price over cost",
    level="medium",
    objective=STEP,
    unit="1",
    statement="On the price list of {date}, the price of {card_name} is {in_usd} per million tokens of input and {out_usd} of output. {size_words} {n_total} stored, {n_active} active. GPUs ({gpu_name}) rent at {hourly} per hour, and each does {flops} in FP8 (a multiply-add counts as two FLOPs). Let prefill compute all the time at that rate, attention's own FLOPs left out. How many times the rent of its prefill does a customer pay for a token of input?",
    parameters={"sheet": tuple(SOLD), "hourly": (2.0, 3.0, 4.0, 2.2, 2.4, 2.5, 2.8, 3.2, 3.5, 3.6)},
    derived=sold,
    units=TEXT | {"size_words": ""},
    answer=eq.input_margin,
    independent_check=v.flops * 3600 / (2 * v.n_active) * v.input_price / v.hourly,
    misconceptions={
        eq.input_margin * 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
        eq.input_margin.at(input_price=v.output_price): "You took the output price. Prefill processes input.",
        eq.input_margin.at(rent=v.hourly): "The rent is per hour, and FLOP/s are per second.",
        eq.input_margin.at(n_active=v.n_total): "You used all stored parameters. A token uses only the active ones.",
        1 / eq.input_margin: "Upside down: that is cost divided by price.",
    },
    explanation="From six times to six hundred, by model and rent, and for a closed model only if the supposed size holds. Prices can be close to costs only as ratios, if at all.",
    hints=(
        "How many tokens of input does a GPU compute in an hour?",
        "Divide their price by an hour's rent.",
    ),
    solution=(
        Step("A GPU computes in an hour", v.flops * HOUR / (2 * v.n_active), "token"),
        Step(f"The rent of a token, ${eq.remat_cost.latex}$, for a million:", eq.remat_cost * MILLION, "USD"),
        f"${eq.input_margin.latex}$ =",
    ),
)

BEFORE, AFTER = price("claude-opus-4.6@2026-02-05"), price(CLAUDE)

no_step = Choice(
    "The step that went away",
    level="medium",
    objective=STEP,
    statement=f"On {BEFORE.valid_from} {named(BEFORE)} charged {BEFORE.above.input_multiplier:g} times as much for input and {BEFORE.above.output_multiplier:g} times as much for output in requests longer than {BEFORE.above.tokens:,} tokens. On {AFTER.valid_from} the same model at the same prices had no such step, up to a million tokens. What can be concluded?",
    independent_check=lambda v: "b" if AFTER.above is None and BEFORE.usd_per_Mtok == AFTER.usd_per_Mtok else "a",
    options=[
        wrong("A token's KV cache had become five times smaller.", "That would be one explanation, but nothing confirms it, and the model kept its name and its prices."),
        right("A step is also a pricing decision, not a measurement of where KV loading overtakes compute.", "Other price lists kept their steps, on similar hardware."),
        wrong("A token at a million tokens of context costs the provider no more to generate than one at 200,000.", "With dense attention such a token loads five times the cache. Selling it at the same price is a decision, not a cost."),
        wrong("Contexts beyond 200,000 tokens are not sold.", "They are: both price lists have prices for them."),
    ],
    hints=("What changed between the two price lists, and what did not?",),
    solution=("The model and its prices stayed the same, and the step went away. If it had marked the balanced context, the machine would have had to change on that day.",),
)
