"""Practice problems of the sparsity lesson: the batch that experts need, what it makes, what experts are worth, what
they touch.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import comb, log, log10
from typing import Any

from sympy import Eq, solve

from blackboard.catalogue import chip, measurement, model, system
from blackboard.formula import Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching import equations as roofline
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity.results import fit, saturated
from blackboard.problem import Choice, Guess, Ordering, Quantity, Step, Values, right, v, wrong

ABOUT_300 = 300.0  # tokens: the board's hardware constant, 0:18:25
BOARD_SPARSITY = 8.0  # the board's 256 experts over 32, 0:19:16
MONTH = 30 * 24 * 60 * 60.0  # s, of 30 days

BATCH, CHIP = "compute the batch that pays for the experts", "compute the hardware constant of a chip"
EXPERT, TRAFFIC = "see the batch as an expert sees it", "turn a batch into tokens per second and a share of traffic"
WORTH, TOUCH, FREE = (
    "estimate what experts are worth",
    "predict what a small batch touches",
    "say when sparsity stops being free",
)


def served(values: Values) -> Values:
    """What a drawn model, and a drawn system if there is one, stand for in FP8, in the notation's names."""
    net = model(values["net"])
    bound = net.symbols("fp8") | {"net_name": net.name}
    if "machine" not in values:
        return bound
    machine = system(values["machine"])
    return bound | machine.symbols("fp8") | {"machine_name": machine.name}


def fits(values: Values) -> bool:
    """Whether the server holds the model."""
    return values["n_total"] * values["bytes_per_param"] < values["hbm"]


RACKS = {
    "machine": ("gb200-nvl72", "h200-8", "b200-64", "h100-8", "mi300x-8", "b300-8"),
    "net": ("deepseek-v3", "qwen3-235b-a22b", "kimi-k2", "glm-4.5", "mistral-large-3", "qwen3-30b-a3b", "mixtral-8x22b"),
}
SHARED = ("deepseek-v3", "kimi-k2", "mistral-large-3", "glm-4.5")  # models with one shared expert

# --- what experts are worth: the published fit -----------------------------------------------------------------------

[FIT] = measurement("routed_scaling_law").records(router="S-BASE")
LAW = fit("S-BASE")  # the same constants in natural logarithms, by notation name
LAW_TEXT = (
    rf"$\log_{{10}} \mathcal{{L}} = {FIT['a']} \log_{{10}} N - {-FIT['b']} \log_{{10}} \hat{{n}} "
    rf"+ {FIT['c']} \log_{{10}} N \cdot \log_{{10}} \hat{{n}} + {FIT['d']}$, "
    rf"where $1/\hat{{n}} = 1/(n - 1 + n_0) + 1/n_\infty$ for $n$ experts, $n_0 = {LAW['experts_offset']:.4g}$ and"
    rf" $n_\infty = {LAW['experts_most']:.4g}$"
)


def fitted(values: Values) -> Values:
    """The law's constants, and what it counts for the drawn experts and for one."""
    return LAW | {"experts_saturated": saturated(values["experts"], LAW), "experts_one": saturated(1, LAW)}


def as_good(base_size: float, experts: int) -> float:
    """Parameters of the dense model with the same loss, from the fit as published, in logarithms to base 10."""
    counts = lambda n: log10(1 / (1 / (n - 1 + 1 / (1 / FIT["E_start"] - 1 / FIT["E_max"])) + 1 / FIT["E_max"]))
    size, many, one = log10(base_size), counts(experts), counts(1)
    return 10 ** ((FIT["a"] * size + FIT["b"] * (many - one) + FIT["c"] * size * many) / (FIT["a"] + FIT["c"] * one))


TEAM_OF = {"batch": 300, "context": 2_000, "kv": 61 * (512 + 64) * 2}  # of the opening question: sequences, tokens, bytes


def shorter(times: float) -> str:
    """The option that says which step is shorter on eight H200s, DeepSeek-V3's or that of a dense model `times` its active size."""
    load = lambda stored: (stored + TEAM_OF["batch"] * TEAM_OF["context"] * TEAM_OF["kv"]) / (8 * 4.8e12)
    compute = lambda active: 2 * TEAM_OF["batch"] * active / (8 * 1.979e15)
    sparse, dense = max(load(671e9), compute(37.55e9)), max(load(times * 37.55e9), compute(times * 37.55e9))
    return "b" if sparse > 1.5 * dense else "a" if dense > 1.5 * sparse else "d"


opening = Choice(
    "Which step is shorter?",
    level="easy",
    objective=FREE,
    statement="A step makes one token for each of 300 sequences, on eight H200s. Which model has the shorter step: DeepSeek-V3, which stores 671 billion parameters and computes with 37.6 billion for a token, or a dense model of 94 billion?",
    independent_check=lambda v: shorter(2.5),
    options=[
        wrong("DeepSeek-V3, which computes less than half as much", "It does compute less. But 300 tokens visit nearly all experts, so the step loads all 671 billion parameters. It waits for memory and takes about five times as long."),
        right("the dense model", "It computes 2.5 times as much, but has a seventh of the parameters to load. Its step is about five times shorter. Yet DeepSeek-V3 reads prompts in less than half the time, so the team's decision is still open."),
        wrong("DeepSeek-V3, whose experts are spread over all eight GPUs", "So is the dense model, and it has a seventh of the parameters to load. The 300 tokens visit nearly all experts, so nearly all of them are loaded."),
        wrong("about the same, because both compute while they load", "They do. But a step takes the longer of its two times. The 300 tokens visit nearly all experts, and loading them takes about five times as long as the whole step of the dense model."),
    ],
    hints=(
        "How much does DeepSeek-V3 load if 300 tokens each choose 8 of 256 experts?",
        "Compare the bytes that the two models load, and then their compute.",
    ),
    solution=(
        "At 2,000 tokens of context, DeepSeek-V3 loads nearly all of its 671 GB of weights and 42 GB of KV caches at 38.4 TB/s, in 18.6 ms. It computes for only 1.4 ms.",
        "The dense model computes 300 tokens with 94 billion parameters each, 2 FLOP for each parameter, at 15.83 PFLOP/s: 3.6 ms. Meanwhile it loads 94 GB of weights and as much of KV caches as DeepSeek-V3, in 3.5 ms.",
    ),
)

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=WORTH,
    unit="1",
    within=1.5,
    statement="Take a dense language model of {base_size}. Replace some of its feed-forward blocks by {experts} experts each, and let every token use one of them. A token then costs as much compute as before. How many times as large must a dense model be to reach the same loss? Guess; within a factor of 1.5 counts.",
    parameters={"base_size": (37e7, 55e6, 8e7, 13e7, 2e8, 25e7, 5e8), "experts": (64, 32, 48, 96, 128, 256, 512)},
    derived=lambda v: {"worth": round(as_good(v["base_size"], v["experts"]) / v["base_size"], 1)} | fitted(v),
    answer=eq.quality_gain.at(n_effective=eq.n_effective),
    independent_check=lambda v: as_good(v["base_size"], v["experts"]) / v["base_size"],
    misconceptions={
        v.experts: "That would make every expert worth a whole model. A token still sees only one of them in each layer.",
        1.0: "Then experts would be useless. The compute stays the same, but each token gets weights that suit it better.",
    },
    explanation="By a published fit it is {worth} times. It looks like a poor trade. Makers of models accept it all the same, because weights that a token does not use cost little in a large batch.",
    hints=(
        "More than nothing, far less than the number of experts.",
        "Nearer to the logarithm of the number of experts than to the number itself.",
    ),
    solution=(
        Step("By a published fit of the loss, which the lesson shows, the dense model that is as good has", eq.n_effective, "parameter"),
        f"Divided by the {{base_size}} of the model it started from, ${eq.quality_gain.latex}$ =",
    ),
)

# --- the critical batch ----------------------------------------------------------------------------------------------


def spec(values: Values) -> Values:
    """A drawn chip's rates in FP4, or made-up ones, in the notation's names."""
    if not isinstance(values["kind"], str):
        return {"bytes_per_param": 0.5, "chip_name": "A chip"} | dict(zip(("flops", "bandwidth"), values["kind"]))
    row = chip(values["kind"])
    return row.symbols("fp4") | {"bytes_per_param": 0.5, "chip_name": row.name}


KINDS: tuple[Any, ...] = ("b200", "gb200-nvl72", "mi355x", "b300", "gb300-nvl72", "vr200-nvl72")
KINDS += tuple((flops, bandwidth) for flops in (6e15, 8e15, 10e15, 12e15, 15e15, 20e15, 25e15, 30e15) for bandwidth in (5e12, 6e12, 8e12, 10e12, 12e12, 16e12, 20e12, 25e12) if 200 < flops / bandwidth / 4 < 600)

constant = Quantity(
    "A chip's constant",
    level="medium",
    objective=CHIP,
    unit="token",
    statement="{chip_name} computes at {flops} in FP4, dense, where a multiply and an add count as two. Its memory bandwidth is {bandwidth}, and a parameter in FP4 is half a byte. How many tokens must share a weight before computing with it takes as long as loading it?",
    parameters={"kind": KINDS},
    derived=spec,
    answer=eq.hardware_constant,
    independent_check=v.bytes_per_param / v.bandwidth / (2 / v.flops),
    misconceptions={
        eq.hardware_constant.at(flops=2 * v.flops): "Twice too large. Either a multiply-add was taken for one FLOP, or half a byte for a whole one, or the rate with 2:4 sparsity for the dense one.",
        eq.hardware_constant.at(flops=2 * v.flops, bytes_per_param=1.0): "That is FLOPs per byte. Each parameter needs two FLOPs per token and takes half a byte. Both are missing.",
        eq.hardware_constant.at(bytes_per_param=4.0): "Bits for bytes: a parameter in FP4 is 4 bits, not 4 bytes.",
        eq.hardware_constant.at(bandwidth=8 * v.bandwidth): "Bits for bytes: the bandwidth is in bytes per second already.",
    },
    explanation="This is the chip's C in FP4. On many chips C is the same in FP8, because the rate halves when the byte doubles. Not on all.",
    hints=(
        "Two times: to load one parameter, and to compute with it for one token.",
        "Loading: bytes per parameter / bandwidth. Computing: 2 FLOP / rate.",
    ),
    solution=(
        Step("Loading one parameter, in seconds:", lambda v: f"{v['bytes_per_param'] / v['bandwidth']:.4g}"),
        Step("Computing with it for one token, in seconds:", lambda v: f"{2 / v['flops']:.4g}"),
        f"Their ratio, ${eq.hardware_constant.latex}$ =",
    ),
)


def of_constant(values: Values) -> Values:
    """A machine whose hardware constant is the drawn `intensity`, and a drawn `routing` by name."""
    experts, top_k = values["routing"]
    return {
        "flops": 2 * values["intensity"],
        "bandwidth": 1.0,
        "bytes_per_param": 1.0,
        "experts": experts,
        "top_k": top_k,
    }


board = Quantity(
    "The batch by a rule of thumb",
    level="easy",
    objective=BATCH,
    unit="sequence",
    statement="A rule of thumb says: the critical batch is {intensity} times the sparsity, counted in experts. A model has {experts} experts in a layer and sends each token to {top_k} of them. What is its critical batch by this rule?",
    parameters={"routing": ((256, 32), *product((64, 128, 160, 192, 256, 320, 384, 512), (4, 6, 8, 16))), "intensity": (ABOUT_300,)},
    derived=of_constant,
    answer=eq.expert_batch,
    independent_check=lambda v: next(b for b in range(1, 10**6) if b * v["top_k"] >= ABOUT_300 * v["experts"]),
    misconceptions={
        v.intensity * v.top_k / v.experts: "Sparsity is upside down, as on one of the lecture's flashcards. Experts that are rarely used need more tokens, not fewer.",
        v.intensity: "That is the constant alone, which is right for a dense model. Here each token uses only some of the weights that are loaded.",
        v.intensity * v.experts: "That would hold if each token went to one expert. It goes to several, so the experts fill sooner.",
    },
    explanation="The rule of thumb: constant times sparsity, and sparsity is a number above one.",
    hints=(
        "Of all weights that are loaded, a token uses only a part. Which part?",
        "Batch = hardware constant × experts stored / experts used.",
    ),
    solution=(
        Step(f"Sparsity, ${eq.expert_sparsity.latex}$ =", eq.expert_sparsity, "1"),
        "times the constant:",
    ),
)

critical = Expression(
    "The critical batch",
    level="medium",
    objective=BATCH,
    statement="From which batch on does computing take as long as loading all weights? Use the datasheet's rate F (a multiply and an add count as two), the bandwidth W, the bytes per weight b_w, N_tot and N_act. Leave out the KV cache.",
    formula=eq.critical_batch,
    independent_check=lambda v: solve(Eq(2 * eq.batch * eq.n_active / eq.flops, eq.n_total * eq.bytes_per_param / eq.bandwidth), eq.batch)[0],
    misconceptions={
        eq.hardware_constant.expr * eq.n_active / eq.n_total: "Sparsity is upside down. The more is stored for each active parameter, the larger the batch that pays for loading it.",
        2 * eq.critical_batch.expr: "Twice too large. A datasheet's $F$ counts multiply and add, so each active parameter costs 2 FLOP.",
        eq.critical_batch.expr / 2: "The 2 counts twice here. A multiply-add is two FLOPs, once.",
        eq.critical_batch.expr / eq.bytes_per_param: "The bytes per weight are missing: FLOP/s over byte/s is not yet tokens.",
        eq.hardware_constant.expr: "That is the hardware constant. In a sparse model more weights are loaded than each token uses.",
        roofline.crossing.expr: "That includes the KV cache. It is the fuller answer, but not to this question.",
    },
    explanation="Hardware on one side, the model on the other: C times sparsity.",
    hints=(
        "Set two times equal: computing with the active parameters for $B$ tokens, and loading all parameters once.",
        "2 B N_act / F on one side, N_tot b_w / W on the other; solve for B.",
    ),
    solution=(
        f"Computing: ${roofline.compute_time.latex}$. Loading: ${roofline.weight_time.latex}$.",
        Step(f"Equal at ${eq.critical_batch.latex}$, typed as", "F * b_w * N_tot / (2 * W * N_act)"),
    ),
)

independent = Choice(
    "Twice the model",
    level="easy",
    objective=BATCH,
    statement="A model is made twice as large, in stored and in active parameters. The chip and the number format stay the same. What happens to the critical batch, without KV?",
    independent_check=lambda v: {2.0: "a", 1.0: "b", 4.0: "c", 0.5: "d"}[2 * 671 / 4.0 / (2 * 37.5 / 5.0) / (671 / 4.0 / (37.5 / 5.0))],
    options=[
        wrong("it doubles", "Loading does take twice as long. But each token also needs twice the compute, and pays for it."),
        right("it stays as it is", "Only the ratio of stored to active parameters is in it, so a small and a large model of the same sparsity need the same batch."),
        wrong("it quadruples", "The two changes do not multiply. One makes loading longer, the other makes computing longer, and the batch is where these two meet."),
        wrong("it halves", "Each token needs twice the compute, which alone would halve it. But there is also twice as much to load."),
    ],
    hints=("What happens to the time to load the weights? And to the compute time of one token?",),
    solution=(f"${eq.critical_batch.latex}$: doubling both parameter counts does not change their ratio.",),
)

per_replica = Choice(
    "In all or on each",
    level="easy",
    objective=BATCH,
    statement="A model's weights are spread across {chips}, which work as one replica. For this chip and this model, $C\\,s$ is {batch_critical}. How many sequences does the replica need to be compute-bound?",
    parameters={"chips": (64, 72, 32), "batch_critical": (2400, 5600)},
    derived={"each": v.batch_critical / v.chips, "all": v.batch_critical * v.chips},
    units={"each": "sequence", "all": "sequence"},
    independent_check=lambda v: {v["all"]: "a", v["each"]: "b", v["batch_critical"]: "c"}[round(v["batch_critical"] / v["chips"] / (1 / v["chips"]))],
    options=[
        wrong("{batch_critical} on each chip, {all} in all", "That would be right if every chip held a whole model. Here each chip loads only its part of the weights, and computes only with that part."),
        wrong("{each} in all: many chips load the weights sooner", "They load sooner, but they also compute sooner, by the same factor."),
        right("{batch_critical} in all, {each} for each chip", "The number of chips cancels: together they load and compute faster by the same factor."),
        wrong("{batch_critical} in all if each chip holds all weights, {all} if they are spread", "The other way round: chips that each hold all weights are replicas of their own, and each needs a batch of its own. Spread weights are loaded once for all."),
    ],
    hints=(
        "Which rates grow with the number of chips, and where are they in the formula?",
        "$F$ and $W$ of the replica are both sums over its chips.",
    ),
    solution=(f"${eq.critical_batch.latex}$: with {{chips}}, both $F$ and $W$ grow by the same factor, so their ratio stays the same.",),
)

real_model = Quantity(
    "A real model's batch",
    level="medium",
    objective=BATCH,
    unit="sequence",
    statement="A server, {machine_name}, computes at {flops} in FP8 (dense, a multiply and an add count as two) and has a memory bandwidth of {bandwidth}. {net_name} stores {n_total}, one byte each, and uses {n_active} per token. A layer sends the token to {top_k} of {experts} experts. From which batch on does a step's compute take as long as loading all weights? Leave out the KV cache.",
    parameters=RACKS,
    derived=served,
    condition=fits,
    answer=eq.critical_batch,
    independent_check=v.n_total / v.bandwidth / (2 * v.n_active / v.flops),
    misconceptions={
        eq.expert_batch: "You counted experts. Attention, embeddings and shared experts serve every token, so counting parameters gives a smaller ratio.",
        BOARD_SPARSITY * eq.hardware_constant: "That is the lecture's sparsity, from 32 of 256 experts. This model routes and stores differently.",
        eq.hardware_constant: "That is the hardware constant. In a sparse model more weights are loaded than each token uses.",
        eq.hardware_constant * v.n_active / v.n_total: "Sparsity is upside down. It is stored divided by active.",
        2 * eq.critical_batch: "Twice too large: a datasheet's FLOP/s counts the multiply and the add, so a parameter takes two.",
    },
    explanation="By parameters the model is less sparse than by experts, because attention, embeddings and shared experts serve every token.",
    hints=(
        "Sparsity can be counted in experts or in parameters. Which do the two times contain?",
        "First the hardware constant, from FLOP/s, byte/s and one byte per weight. Then stored divided by active parameters.",
    ),
    solution=(
        Step(f"${eq.hardware_constant.latex}$ =", eq.hardware_constant, "token"),
        Step(f"${eq.sparsity.latex}$ =", eq.sparsity, "1"),
        "Their product, with one token per sequence:",
    ),
)

# --- as an expert sees it --------------------------------------------------------------------------------------------


def dealt(values: Values) -> float:
    """Mean tokens of an expert when every token of the batch is dealt to the next `top_k` experts in turn."""
    experts, top_k = int(values["experts"]), int(values["top_k"])
    loads = [0] * experts
    for place in range(values["batch"] * top_k):
        loads[place % experts] += 1
    return sum(loads) / experts


expert_view = Quantity(
    "What an expert sees",
    level="easy",
    objective=EXPERT,
    unit="token",
    statement="{net_name} sends each token to {top_k} of {experts} routed experts, and to one shared expert that every token uses. A decode step has a batch of {batch}, and the routing is even. How many tokens does a routed expert get on average?",
    parameters={"net": SHARED, "batch": (2400, 5600, 1024, 4000, 1600, 3000, 4800, 8000)},
    derived=served,
    answer=eq.tokens_per_expert,
    independent_check=dealt,
    misconceptions={
        v.batch / v.experts: "That is as if each token went to one expert. Each goes to several.",
        v.batch: "The whole batch passes through attention and the shared expert. A routed expert gets only the tokens that were routed to it.",
        v.batch / v.top_k: "The choices are spread over all routed experts, not only over as many as one token uses.",
        v.batch * (v.top_k + 1) / v.experts: "The shared expert is not one of the routed ones. It gets every token, and takes none from them.",
    },
    explanation="Compare it with the chip's constant. An expert is a small dense network, and it waits for memory until it gets that many tokens.",
    hints=(
        "How many times is an expert chosen in this step, over all tokens?",
        "Choices in all: batch × experts per token. They spread over all routed experts.",
    ),
    solution=(f"${eq.tokens_per_expert.latex}$ =",),
)

expert_batch = Quantity(
    "Until experts are busy",
    level="medium",
    objective=EXPERT,
    unit="sequence",
    statement="A server, {machine_name}, computes at {flops} in FP8 (dense, a multiply and an add count as two) and has a memory bandwidth of {bandwidth}. A weight is one byte. {net_name} stores {n_total}, of which a token uses {n_active}, and sends each token to {top_k} of {experts} experts, evenly. From which batch on does computing with an average routed expert take as long as loading it? Leave out the KV cache.",
    parameters=RACKS,
    derived=served,
    condition=fits,
    answer=eq.expert_batch,
    independent_check=lambda v: v["flops"] / v["bandwidth"] / 2 / sum(1 / v["experts"] for _ in range(int(v["top_k"]))),
    misconceptions={
        eq.critical_batch: "That is the critical batch of the whole model. The experts by themselves still wait for memory there, because only the parts that serve every token see the whole batch.",
        eq.hardware_constant: "So many tokens must reach each expert. A batch spreads over all of them.",
        eq.hardware_constant * v.experts: "Each token goes to several experts, not to one, so they fill sooner.",
        eq.expert_batch * 2: "Twice too large: a multiply-add is two FLOPs on a datasheet.",
    },
    explanation="It is larger than the critical batch of the whole model, whose attention and shared parts reach this point far sooner.",
    hints=(
        "An expert is a small dense network. How many tokens does a dense network need on this chip?",
        "Hardware constant first; then the batch of which an expert's share is that many tokens.",
    ),
    solution=(
        Step(f"Each expert needs ${eq.hardware_constant.latex}$ =", eq.hardware_constant, "token"),
        f"It gets ${eq.tokens_per_expert.latex}$, so the batch is ${eq.expert_batch.latex}$ =",
    ),
)

# --- with the KV cache -----------------------------------------------------------------------------------------------


def at_share(values: Values) -> Values:
    """A drawn rack, model and context as a share of the balanced one, with both critical quantities."""
    known = served(values)
    balanced = roofline.balanced_context(known)
    return known | {
        "context_balanced": balanced,
        "context": values["share"] * balanced,
        "batch_critical": eq.critical_batch(known),
    }


def meets(values: Values) -> float:
    """The batch at which multiplying takes as long as reading weights and KV, found by halving an interval."""
    low, high = 1.0, 1e9
    for _ in range(100):
        batch = (low + high) / 2
        reading = (values["n_total"] + batch * values["context"] * values["kv_bytes_per_token"]) / values["bandwidth"]
        low, high = (batch, high) if 2 * batch * values["n_active"] / values["flops"] < reading else (low, batch)
    return low


with_kv = Quantity(
    "Count the KV cache",
    level="hard",
    objective=BATCH,
    unit="sequence",
    statement="Without KV, {net_name} on {machine_name} in FP8 has a critical batch of {batch_critical}. Its balanced context is {context_balanced}. All sequences have {context} of context. From which batch on does computing take as long as loading weights and KV caches together?",
    parameters=RACKS | {"net": RACKS["net"][:5], "share": (0.5, 0.75, 0.25, 0.8)},
    derived=at_share,
    condition=lambda v: meets(v) <= (v["hbm"] - v["n_total"] * v["bytes_per_param"]) / (v["context"] * v["kv_bytes_per_token"]),
    units={"context": "token", "context_balanced": "token"},
    answer=roofline.crossing,
    independent_check=meets,
    misconceptions={
        eq.critical_batch: "The KV cache is missing. Every sequence loads its own, so it takes more of them.",
        eq.critical_batch * (1 - v.share): "The wrong way round: with more to load, compute catches up later. Divide where you multiplied.",
        eq.critical_batch * (1 + v.share): "You added the KV of the old critical batch once. The sequences that pay for it bring KV of their own, and so on.",
    },
    explanation="The KV cache makes the memory line steeper. The closer the context comes to the balanced one, the faster this batch grows.",
    hints=(
        "How much of a sequence's compute time is left when it has paid for loading its own KV cache?",
        "The share context / balanced context is gone. What is left of $B$ sequences must pay for the weights.",
    ),
    solution=(
        Step("The share of its compute time with which a sequence pays for its own KV cache:", v.share, "1"),
        Step("Left for the weights:", 1 - v.share, "1"),
        f"The batch without KV, divided by that; in full ${roofline.crossing.latex}$:",
    ),
)


def paid(times: float) -> str:
    """Whether any batch multiplies as long as it reads, when a sequence's KV takes `times` its multiplying: the option
    that says so.
    """
    weights = 1000.0  # time to read them, that of multiplying one sequence being 1
    return "a" if any(batch >= weights + batch * times for batch in (2.0**n for n in range(60))) else "c"


never = Choice(
    "Past the balanced context",
    level="medium",
    objective=BATCH,
    statement="The sequences of a service have {times} times the balanced context. From which batch on does a step wait for compute?",
    parameters={"times": (1.5, 2.0, 3.0)},
    units={"times": "1"},
    independent_check=lambda v: paid(v["times"]),
    options=[
        wrong("from the critical batch without KV on", "That batch would pay for the weights alone. The KV caches of all these sequences are loaded as well."),
        wrong("from {times} times the critical batch without KV on", "Memory time grows with the batch too. However far you go, each sequence adds more memory time than compute time."),
        right("from no batch on, however large", "Each sequence adds more memory time than compute time. A larger batch shares the weights, but compute never becomes the slower job."),
        wrong("from a smaller batch than without KV on", "KV caches must be loaded, which makes compute wait longer. A smaller batch cannot be enough."),
    ],
    hints=(
        "Add one more sequence. What does it add to compute time, and what to memory time?",
        "Below the balanced context the batch is the one without KV, divided by 1 − $L/L^*$. What happens to that as $L$ grows?",
    ),
    solution=(f"Compute and memory time meet at ${roofline.crossing.latex}$. From $L^*$ on the difference in the denominator is not positive, so they never meet.",),
)

# --- throughput ------------------------------------------------------------------------------------------------------

OTHER = {1 / 64: 0.020, 0.020: 1 / 64, 0.015: 0.020}  # s: the interval with which one is easily confused

tokens = Quantity(
    "What a rack makes",
    level="easy",
    objective=TRAFFIC,
    unit="token/s",
    statement="A full batch of {batch} leaves a rack of {chips} every {interval}; each sequence gets one new token. How many tokens per second does the rack make?",
    parameters={"batch": (2000, 2400, 5600, 1200, 1600, 3000, 3200, 4000), "interval": tuple(OTHER), "chips": (64, 72)},
    derived={"other": lambda v: OTHER[v["interval"]]},
    units={"other": "s"},
    answer=eq.throughput,
    independent_check=lambda v: v["batch"] * round(600 / v["interval"]) / 600,
    misconceptions={
        eq.throughput.at(interval=v.other): "That is with a batch every {other}.",
        eq.chip_rate: "That is the rate of one chip, not of the rack.",
        v.batch * v.interval: "Departures per second are one divided by the interval.",
        1 / v.interval: "That is what one user gets. The whole batch gets a token each.",
    },
    explanation="Three intervals are in use: 20 ms, 15 ms and a sixty-fourth of a second. Always say which one you mean.",
    hints=("How many departures fit into a second?",),
    solution=(
        Step("Departures per second:", 1 / v.interval, "1"),
        f"${eq.throughput.latex}$ =",
    ),
)

world = Quantity(
    "How many racks",
    level="medium",
    objective=TRAFFIC,
    unit="1",
    statement="A company says that its products process {monthly} a month, of 30 days. A rack starts a batch of {batch} every {interval}. Suppose that every token costs what a generated one does, and that traffic is even. How many racks would be busy?",
    parameters={
        "monthly": tuple(row["tokens"] for row in measurement("world_tokens").records(per="month")),
        "batch": (2000, 2400, 3000, 4000),
        "interval": (1 / 64, 0.02, 0.015),
    },
    derived={"world_rate": v.monthly / MONTH},
    units={"monthly": "token"},
    answer=eq.racks_needed,
    independent_check=lambda v: v["monthly"] / (v["batch"] * round(30 * 24 * 3600 / v["interval"])),
    misconceptions={
        eq.racks_needed.at(world_rate=30 * v.world_rate): "Off by 30: that takes the month's tokens for a day's.",
        eq.racks_needed.at(world_rate=v.world_rate * 30 / 365): "Off by 12: that spreads the month's tokens over a year.",
        eq.racks_needed.at(world_rate=60 * v.world_rate): "Off by 60: tokens per minute, divided by tokens per second.",
        1 / eq.racks_needed: "Upside down: that is the share of the traffic that one rack carries.",
    },
    explanation="This is an upper figure. Most of these tokens are input, and a token of input costs less than one that is generated.",
    hints=(
        "Bring both to tokens per second.",
        "30 days are 30 × 86,400 seconds; a rack makes its batch once in every interval.",
    ),
    solution=(
        Step("The service, per second:", v.world_rate, "token/s"),
        Step(f"A rack, ${eq.throughput.latex}$ =", eq.throughput, "token/s"),
        f"${eq.racks_needed.latex}$ =",
    ),
)

# --- the trade -------------------------------------------------------------------------------------------------------

STORED = sum([1 / 3] * 64) + 2 / 3  # of a model of size 1 of which a third is routed
GROWN = {"a": 1.0, "b": STORED, "c": sum([1] * 64), "d": STORED}  # times, of what each option names

worst = Choice(
    "64 times what?",
    level="medium",
    objective=WORTH,
    statement="Some of the feed-forward blocks of a dense model get 64 experts each, and every token uses one of them. The result is about as good as a dense model four times the size: “64 times for 4 times”. What grew 64 times?",
    independent_check=lambda v: next((key for key, times in GROWN.items() if times == 64)),
    options=[
        wrong("the parameters that a token uses", "Each token uses one expert, as large as the block it replaces. The compute stays as it was."),
        wrong("all parameters that are stored", "Only some layers are routed. Attention, embeddings and the other blocks are stored once, so the total grows by less."),
        right("the number of experts in each routed layer", "Only the routed blocks are repeated. The model as a whole grew less, and what a token uses did not grow at all."),
        wrong("the bytes that a step with a large batch loads", "A large batch touches all experts and loads all that is stored. That grows as the stored parameters do, which is less than 64 times, because only some layers are routed."),
    ],
    hints=("Which parts of the model are stored 64 times, and which once?",),
    solution=(f"Stored: ${eq.stored_growth.latex}$ times as much, with $f$ the routed share, below 64. Active: once. Experts: 64 instead of one.",),
)

READINGS = {
    "a": (2, 2),
    "b": (2, 8),
    "c": (8, 2),
    "d": (8, 4),
}  # so many times the experts for so many times the effective size

slip = Choice(
    "A rule for experts",
    level="medium",
    objective=WORTH,
    statement="64 times the experts make a model as good as a dense one 4 times its size. Which rule of thumb gives 4 for 64?",
    independent_check=lambda v: next((key for key, (more, better) in READINGS.items() if round(better ** (log(64) / log(more))) == 4)),
    options=[
        wrong("every doubling of the experts doubles the effective size", "64 is six doublings, so this rule would give 64 for 64, and not 4."),
        wrong("every doubling of the experts multiplies the effective size by 8", "Six doublings with a factor of 8 each: the rule has its two numbers swapped, and sparsity would be far too good."),
        right("every 8 times the experts double the effective size", "64 is 8², and 4 is 2². (The lecture once says “for every doubling”, a slip.) The rule is a way to remember one point of a figure, and no law: with hundreds of experts the gain is smaller."),
        wrong("every 8 times the experts multiply the effective size by 4", "64 is 8 times 8, so this rule is applied twice, and 4 times 4 is too much."),
    ],
    hints=(
        "How many times does the rule have to be applied to get from 1 to 64 experts?",
        "Apply its other factor as often. Do you get 4?",
    ),
    solution=("64 = 8 × 8: two steps of 8 times. Two steps of 2 times give 4.",),
)

effective = Quantity(
    "As good as a dense model",
    level="hard",
    objective=WORTH,
    unit="parameter",
    display_unit="Gparam",
    statement=f"A published fit gives the loss of models in which each token uses one expert: {LAW_TEXT}. A dense model has $n = 1$. A model of {{base_size}} gets {{experts}} experts. How large is the dense model with the same loss? Answer in billions of parameters (Gparam).",
    parameters={"base_size": (37e7, 13e7, 13e8, 2e8, 25e7, 5e8, 7e8, 1e9), "experts": (64, 128, 32, 256, 512)},
    derived=fitted,
    answer=eq.n_effective,
    independent_check=lambda v: as_good(v["base_size"], v["experts"]),
    misconceptions={
        v.experts * v.base_size: "That is size times experts. By the fit an expert is worth far less than a model.",
        eq.n_effective.at(experts_saturated=v.experts, experts_one=1.0): "You used the plain number of experts where the fit has $\\hat{n}$, which saturates.",
        eq.n_effective.at(experts_one=1.0): "The dense model's $\\hat{n}$ is not 1: put $n = 1$ into the fit as well.",
        v.base_size * (v.experts_saturated / v.experts_one) ** (v.law_experts / v.law_size): "The product of the two logarithms is missing. Because of it experts help a larger model less.",
    },
    explanation="The product term of the fit says that experts add less to a larger model.",
    hints=(
        "Two values of $\\hat{n}$ are needed: for the routed model, and for the dense one.",
        "Set the two losses equal. The constant drops out, and what is left is linear in the logarithm of the dense model's size.",
    ),
    solution=(
        Step(f"${eq.experts_saturated.latex}$ =", v.experts_saturated, "1"),
        Step("and for one expert", v.experts_one, "1"),
        f"Equal losses, with $a_N = {-FIT['a']}$, $a_E = {-FIT['b']}$ and, as the logarithms here are natural, $a_{{NE}} = {FIT['c']}/\\log 10$:",
        f"${eq.n_effective.latex}$ =",
    ),
)

# --- what a small batch touches --------------------------------------------------------------------------------------


def occupied(values: Values) -> float:
    """Share of the experts that a batch touches, token by token: each new one finds its share of those still
    untouched.
    """
    touched = 0.0
    for _ in range(values["batch"]):
        touched += values["top_k"] * (values["experts"] - touched) / values["experts"]
    return touched / values["experts"]


EVENLY = "Tokens choose independently of each other, and all experts are equally likely; a token's own choices are different experts. "

coverage = Quantity(
    "A small batch",
    level="medium",
    objective=TOUCH,
    unit="1",
    display_unit="%",
    statement="In {net_name} a token goes to {top_k} of {experts} routed experts in each layer. " + EVENLY + "Which share of a layer's routed experts does a decode step with a batch of {batch} touch on average, in percent?",
    parameters={"net": ("deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "glm-4.5", "mistral-large-3"), "batch": (16, 12, 24, 40, 8, 20, 32, 48)},
    derived=served,
    answer=eq.coverage,
    independent_check=occupied,
    misconceptions={
        v.batch * v.top_k / v.experts: "That counts an expert again each time it is chosen. Tokens often choose the same.",
        1 - eq.coverage: "That is the share that nobody chose.",
        eq.coverage / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
        eq.coverage.at(top_k=1): "Each token goes to several experts, not to one.",
    },
    explanation="It grows fast with the batch, and a large batch touches all experts. That is why the roofline loads all weights.",
    hints=(
        "Take one expert. How likely is it that a given token leaves it alone?",
        "The whole batch leaves it alone if every token does. What remains is the share that is touched.",
    ),
    solution=(
        Step("One token leaves an expert alone with probability", 1 - v.top_k / v.experts, "1"),
        Step("all of {batch} do so with", 1 - eq.coverage, "1"),
        f"so ${eq.coverage.latex}$, in percent:",
    ),
)


def counted_bytes(values: Values) -> float:
    """Bytes that a step reads: all that is not routed, and each expert unless every token chose others, by counting
    choices.
    """
    experts, top_k = int(values["experts"]), int(values["top_k"])
    routed = (values["n_total"] - values["n_active"]) * experts / (experts - top_k)  # what a token leaves out are experts − top_k of them
    alone = comb(experts - 1, top_k) / comb(experts, top_k)
    return values["bytes_per_param"] * (values["n_total"] - routed * alone ** values["batch"])


touched = Quantity(
    "What a small batch loads",
    level="hard",
    objective=TOUCH,
    unit="byte",
    display_unit="GB",
    tolerance=0.01,
    statement="{net_name} stores {n_total}, one byte each, and uses {n_active} per token. A token goes to {top_k} of {experts} experts in every routed layer, and everything else serves every token. "
    + EVENLY
    + "Only experts that some token chose are loaded. How many GB of weights does a step with a batch of {batch} load on average?",
    parameters={"net": ("deepseek-v3", "glm-4.5", "kimi-k2", "qwen3-235b-a22b", "mistral-large-3", "qwen3-30b-a3b"), "batch": (16, 12, 20, 8, 10, 14, 18, 24)},
    derived=served,
    answer=eq.bytes_touched,
    independent_check=counted_bytes,
    misconceptions={
        v.n_total * v.bytes_per_param: "Those are all weights, which a large batch loads. This one leaves some experts alone.",
        v.n_active * v.bytes_per_param: "That is what one token needs. The other tokens choose other experts.",
        v.batch * v.n_active * v.bytes_per_param: "What serves every token is loaded once for all. An expert that several tokens chose is loaded once too.",
        v.bytes_per_param * (v.n_active + (v.batch - 1) * (v.n_total - v.n_active) * v.top_k / (v.experts - v.top_k)): "You counted an expert again each time it is chosen. It is loaded once.",
        v.bytes_per_param * (v.n_active + (v.n_total - v.n_active) * eq.coverage): "The first token counts twice: its experts are in the active parameters already. One token fewer adds to them.",
        v.bytes_per_param * eq.routed_params * eq.coverage: "Those are the routed experts alone. What serves every token is loaded as well.",
    },
    explanation="The first tokens add the most. Later ones find many of their experts already loaded.",
    hints=(
        "The first token loads the active parameters. What do the others add?",
        "Of what the first token left out, each further token leaves out the share 1 − chosen / experts.",
        "Loaded = active + (stored − active) × (1 − that share to the power of the number of further tokens).",
    ),
    solution=(
        Step("What the first token leaves out:", (v.n_total - v.n_active) * v.bytes_per_param, "byte"),
        Step("The share of it that the others leave out as well:", (1 - v.top_k / v.experts) ** (v.batch - 1), "1"),
        f"${eq.bytes_touched.latex}$ =",
    ),
)


class Routed(Function):
    """A function that is tried on whole batches and on routings that exist, where the formula holds."""

    @cached_property
    def points(self) -> list[Values]:
        drawn = [{"batch": batch, "experts": experts, "top_k": k} for batch in (1, 3, 20) for experts, k in ((8, 2), (64, 1), (384, 8))]
        return drawn * 2  # counts have no other units to try them in, and are whole, so that an answer may loop over them


missed = 1 - eq.top_k / eq.experts
touches = Routed(
    "Write the coverage",
    level="medium",
    objective=TOUCH,
    statement="Write a Python function of batch, experts and top_k that returns the share (0 to 1) of a layer's routed experts that a step touches on average. Each sequence has one new token, which goes to top_k different experts of the layer. Tokens choose independently of each other, and all experts are equally likely. It is called by name, with whole numbers.",
    formula=eq.coverage,
    independent_check=missed * (1 - missed ** (eq.batch - 1)) + eq.top_k / eq.experts,
    misconceptions={
        eq.batch * eq.top_k / eq.experts: "That passes 1 for a large batch: an expert that several tokens chose is counted again for each.",
        Min(1, eq.batch * eq.top_k / eq.experts): "Cutting it off at 1 does not help: tokens choose the same experts long before all are taken.",
        missed**eq.batch: "That is the share that nobody chose.",
        1 - (1 - 1 / eq.experts) ** eq.batch: "Each token goes to top_k experts, not to one.",
        eq.top_k / eq.experts: "That is what one token touches. The batch has more of them.",
        1 - (1 - 1 / eq.experts) ** (eq.batch * eq.top_k): "That lets a token choose an expert twice. Its choices are different experts.",
        100 * eq.coverage.expr: "That is in percent. Return the share, from 0 to 1.",
        eq.experts * eq.coverage.expr: "That is the number of experts touched. Divide it by all of them.",
    },
    explanation="The same one line gives birthdays and hash collisions: what all miss is the product of what each misses.",
    hints=(
        "How likely is it that one token leaves a given expert alone?",
        "def touches(batch, experts, top_k): ...  # 1 − (what one token misses) to the power of the batch",
    ),
    solution=(
        f"${eq.coverage.latex}$",
        Step("As code:", "1 - (1 - top_k / experts) ** batch"),
    ),
)

# --- when it stops being free ----------------------------------------------------------------------------------------


def machine_only(values: Values) -> Values:
    """A drawn system in FP8, in the notation's names."""
    machine = system(values["machine"])
    return machine.symbols("fp8") | {"bytes_per_param": 1.0, "machine_name": machine.name}


free = Quantity(
    "How sparse is free",
    level="medium",
    objective=FREE,
    unit="1",
    statement="A service decodes {batch} at a time on {machine_name}. Its {chips} together compute at {flops} in FP8 (dense, a multiply and an add count as two) and have a memory bandwidth of {bandwidth}. A weight is one byte. Up to which ratio of stored to active parameters does loading all weights take no longer than computing? Leave out the KV cache.",
    parameters={"machine": ("gb200-nvl72", "h200-8", "tpu7x-64", "mi355x-8"), "batch": (2000, 5000, 900, 1200, 1500, 2500, 3000, 4000, 6000)},
    derived=machine_only,
    answer=eq.free_sparsity,
    independent_check=v.batch * 2 / v.flops / (1 / v.bandwidth),
    misconceptions={
        1 / eq.free_sparsity: "Upside down: more users pay for more sparsity.",
        eq.free_sparsity / 2: "Half of it: a datasheet's FLOP/s counts the multiply and the add, so fewer tokens keep the chip busy.",
        eq.free_sparsity * 2: "Twice too large. The 2 of the multiply-add counts once.",
        eq.free_sparsity / v.chips: "The batch is that of the whole replica. All chips load and compute for it together, so their number cancels.",
    },
    explanation="Up to here more experts cost no time. Beyond it every step gets longer, unless more users come.",
    hints=(
        "How many tokens does a dense model need on this machine?",
        "Divide the batch by the hardware constant.",
    ),
    solution=(
        Step(f"${eq.hardware_constant.latex}$ =", eq.hardware_constant, "token"),
        f"${eq.free_sparsity.latex}$ =",
    ),
)


def filled(values: Values) -> float:
    """The size whose weights and whose critical batch's KV fill the memory, found by halving an interval."""
    sequence = values["context"] * values["kv_bytes_per_token"]
    to_spare = 2 * values["n_active"] / values["flops"] - sequence / values["bandwidth"]  # of a sequence's time, for weights
    low, high = 0.0, values["hbm"]
    for _ in range(100):
        size = (low + high) / 2
        low, high = (size, high) if size + size / values["bandwidth"] / to_spare * sequence < values["hbm"] else (low, size)
    return low


largest = Quantity(
    "The largest model that fits",
    level="hard",
    objective=FREE,
    unit="parameter",
    display_unit="Gparam",
    statement="A rack, {machine_name}, has {hbm} of memory. A model keeps its weights in FP8, one byte each, and its balanced context on this rack is {context_balanced}. All sequences have {context} of context. Now add experts: the stored parameters grow, while active parameters and KV stay the same. The batch grows with them, so that computing always takes as long as loading weights and KV caches together. How many parameters can be stored until weights and KV caches fill the memory? Answer in billions of parameters (Gparam).",
    parameters={
        "machine": ("gb200-nvl72", "gb300-nvl72", "tpu7x-64"),
        "net": ("deepseek-v3", "kimi-k2", "mistral-large-3"),
        "share": (0.4, 0.25, 0.75, 0.3, 0.6),
    },
    derived=at_share,
    units={"context": "token", "context_balanced": "token"},
    answer=eq.largest_model,
    independent_check=filled,
    misconceptions={
        v.hbm / v.bytes_per_param: "That leaves no room for KV caches. The batch that pays for the weights brings its own.",
        v.hbm * v.share: "That is what the KV caches take. The question is about the weights.",
        v.hbm / (1 + v.share): "Your batch is the one without KV. With KV counted it is larger, and so is its cache.",
    },
    explanation="Everything in memory is loaded once per step. So the KV caches' share of the time is their share of the memory.",
    hints=(
        "At the critical batch, loading everything takes as long as computing. Which share of that time does a sequence spend on its own KV cache?",
        "A sequence spends the share context / balanced context on its KV cache, and the rest on weights. Memory is divided in the same way.",
    ),
    solution=(
        Step("Of a sequence's compute time, loading its KV cache takes the share", v.share, "1"),
        Step("and its part of the weights takes the rest:", 1 - v.share, "1"),
        f"All bytes are loaded at one rate, so memory is divided in the same way: ${eq.largest_model.latex}$ =",
    ),
)

# --- many chips ------------------------------------------------------------------------------------------------------

LINE_UP = {key: chip(id) for key, id in zip("abcde", ("gb200-nvl72", "a100-80gb", "tpu-v6e", "h200", "h100-sxm"))}


def by(measure) -> str:
    """The chips' keys in rising order of a measure."""
    return "".join(sorted(LINE_UP, key=lambda key: measure(LINE_UP[key])))


def bf16_constant(row) -> float:
    """A chip's hardware constant in BF16, in tokens."""
    return eq.hardware_constant(row.symbols("bf16"), bytes_per_param=2.0)


chips_in_order = Ordering(
    "Not one constant",
    level="medium",
    objective=CHIP,
    statement="Here are chips with their dense rate in BF16, where a multiply and an add count as two, and their memory bandwidth. A weight is two bytes. Put them in order of their hardware constant, the smallest first.",
    items=[
        f"{LINE_UP['a'].name}: {LINE_UP['a'].flops('bf16') / 1000000000000.0:,.0f} TFLOP/s, {LINE_UP['a'].bandwidth / 1000000000000.0:.2f} TB/s",
        f"{LINE_UP['b'].name}: {LINE_UP['b'].flops('bf16') / 1000000000000.0:,.0f} TFLOP/s, {LINE_UP['b'].bandwidth / 1000000000000.0:.2f} TB/s",
        f"{LINE_UP['c'].name}: {LINE_UP['c'].flops('bf16') / 1000000000000.0:,.0f} TFLOP/s, {LINE_UP['c'].bandwidth / 1000000000000.0:.2f} TB/s",
        f"{LINE_UP['d'].name}: {LINE_UP['d'].flops('bf16') / 1000000000000.0:,.0f} TFLOP/s, {LINE_UP['d'].bandwidth / 1000000000000.0:.2f} TB/s",
        f"{LINE_UP['e'].name}: {LINE_UP['e'].flops('bf16') / 1000000000000.0:,.0f} TFLOP/s, {LINE_UP['e'].bandwidth / 1000000000000.0:.2f} TB/s",
    ],
    answer=by(bf16_constant),
    independent_check=lambda v: by(lambda row: row.flops("bf16") // 10**9 / (row.bandwidth // 10**9)),
    misconceptions={
        by(lambda row: -bf16_constant(row)): "That is from the largest to the smallest.",
        by(lambda row: row.bandwidth): "That is by bandwidth alone, by which the rate is divided.",
        **{by(lambda row, sign=sign: (row.flops("bf16"), sign * row.bandwidth)): "That is by FLOP/s alone. The constant also depends on the memory." for sign in (1, -1)},
        by(lambda row: row.release): "That is the order of their announcement. The constant does not simply grow. A chip that got faster memory has a smaller one.",
    },
    explanation="They are more than a factor of three apart, so 300 is a fair rule for some and a poor one for others.",
    hints=(
        "Divide FLOP/s by byte/s. The factor from FLOPs to multiply-adds and the bytes per weight are the same for all.",
        "Two of them have the same FLOP/s. Which of the two has the faster memory?",
    ),
    solution=(f"${eq.hardware_constant.latex}$, in tokens: " + ", ".join(f"{key} {bf16_constant(LINE_UP[key]):.0f}" for key in sorted(LINE_UP)) + ".",),
)
