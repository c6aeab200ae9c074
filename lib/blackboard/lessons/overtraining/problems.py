"""Practice problems of the overtraining lesson: the lecture's cards 5.1-5.6, its own slips, and what people get
wrong.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

from sympy import Abs, Eq, Rational, solve
from sympy import Function as Symbolic

from blackboard.catalogue import LETTERS, chip, measurement, model
from blackboard.catalogue.running_case import plain
from blackboard.formula import DERIVED, Formula, Max, Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching import equations as roofline
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import simulation
from blackboard.lessons.overtraining.equations import PRESCRIBED
from blackboard.lessons.overtraining.numbers import GENEROUS, RUMOUR
from blackboard.lessons.overtraining.results import BOARD, FITS, OTHERS, law
from blackboard.notation import symbols
from blackboard.problem import Choice, Guess, Ordering, Quantity, Step, Values, right, v, wrong
from blackboard.search import find_minimum, find_root
from blackboard.text import superscript
from blackboard.units import dimension, factor, pretty, significant

COUNT = "Estimate what any training run takes, in FLOPs, hours and dollars."
LIFE = "Add up what a model costs over its life: pre-training, RL, and serving with its KV cache."
BALANCE = "Find where a rising and a falling cost add up to the least, and judge when making them equal is good enough."
TOKENS = "Turn a service's traffic into a number of training tokens, and compare it with Chinchilla's rule."
FIT = "Find the cheapest model for a given quality and traffic from a published scaling law."

DAY, HOUR = factor("day"), factor("hour")
ROUNDED = 200e12  # tokens: the lecture's traffic over a model's life as it rounds it, 1:30:46
ETA = BOARD["decode_efficiency"]


def tens(flop: float) -> str:
    """FLOPs with a power of ten, for numbers that no prefix suits."""
    digits, power = f"{flop:.3e}".split("e+")
    return f"{digits}·10{superscript(power)} FLOP"


# --- a guess ---------------------------------------------------------------------------------------------------------


def as_good(values: Values) -> Values:
    """A drawn model, a made-up one being its parameters and tokens; the constants of the page's fit by notation name,
    and the loss that it gives the model.
    """
    known, net = law(FITS["besiroglu"]), values["net"]
    if isinstance(net, str):
        found = model(net)
        name, size, tokens = found.name, float(found.n_active), found.training_tokens
    else:
        name, (size, tokens) = "A model", net
    seen = {"n_active": size, "pretrain_tokens": tokens}
    known |= seen | {"loss": eq.law_loss(known, **seen)}
    larger = sizes(known)[1]
    told = {"net_name": name, "larger": pretty(larger, "parameter", 2), "saved": f"{1 - size / larger:.0%}"}
    return known | told


def sizes(known: Values) -> tuple[float, float]:
    """The size below which no data reaches the loss, and the one that reaches it with the least training, in
    parameters.
    """
    smallest = (known["loss_size"] / (known["loss"] - known["loss_floor"])) ** (1 / known["size_power"])
    spare = lambda n: eq.best_tokens(known, n_active=n) - eq.tokens_for_loss(known, n_active=n)
    return smallest, find_root(spare, smallest * (1 + 1e-9), smallest * 1e6)


guess = Guess(
    "A guess before you read",
    level="easy",
    objective=FIT,
    unit="parameter",
    display_unit="billion parameters",
    within=1.4,
    statement="{net_name} has {n_active} and was trained on {pretrain_tokens}. A larger model that reads only about 20 tokens for each parameter, as Chinchilla's rule says, can predict text just as well. How many billions of parameters does this larger model have? (The answer comes from a published formula, which the lesson explains.) A guess within a factor of 1.4 counts.",
    parameters={"net": ("llama-3.1-8b", *product((1e9, 1.5e9, 2e9, 2.5e9, 3e9, 4e9, 5e9, 6e9, 7e9), (5e12, 8e12, 10e12, 12e12, 18e12, 20e12, 25e12)))},
    derived=as_good,
    units=dict.fromkeys((*LETTERS, "loss"), "1") | {"net_name": ""},
    answer=lambda v: sizes(v)[1],
    independent_check=lambda v: simulation.best(v["loss"], 0, v).n_active,
    misconceptions={
        v.pretrain_tokens / PRESCRIBED: "That is the size for which the rule gives so many tokens. Such a model would be far better.",
        (v.n_active * v.pretrain_tokens / PRESCRIBED) ** 0.5: "That is near the size that the same compute trains by the rule. Such a model would be better, because the rule gives the best model for a given compute.",
    },
    explanation="About {larger}, by the formula that the lesson explains. So the long training makes up for {saved} of the parameters. (Two other formulas, made from the same training runs, give larger models.)",
    hints=(
        "It is larger than {n_active}. Is it as large as the model for which {pretrain_tokens} would be the rule's 20 each?",
        "A fit says how much of the loss size removes, and how much data removes. Many more tokens make up for a few times fewer parameters, not for a hundred times fewer.",
    ),
    solution=(
        Step("By the fit, the loss of the long-trained model is", v.loss, "1"),
        "Among models that are best for their training, the one with this loss has",
    ),
)

# --- 6ND -------------------------------------------------------------------------------------------------------------

rows, inner, columns = symbols("rows weight_rows weight_columns")
ENTRIES = rows * inner * columns * eq.one_entry
PRODUCTS = Formula(
    "overtraining.three_products",
    "c_pretrain",
    eq.flop_trained * ENTRIES,
    "FLOP",
    "a matrix's product with its tokens, and the two products of its backward pass",
    (),
    DERIVED,
    register=False,
)


class Multiplied(Symbolic):
    """The same FLOPs, counted one multiply-add at a time, once the sizes are numbers."""

    @classmethod
    def eval(cls, m, k, q):
        if m.is_number and k.is_number and q.is_number:
            shapes = (m, k, q), (m, q, k), (k, m, q)  # X W; the gradient of Y times Wᵀ; Xᵀ times the gradient of Y
            return sum(2 for shape in shapes for _ in product(*(range(int(size)) for size in shape)))


SIZES = (1, 1, 1), (2, 3, 5), (6, 1, 4), (3, 8, 2)  # at which multiply-adds can be counted

six = Expression(
    "Three products",
    level="medium",
    objective=COUNT,
    statement="A layer computes Y = X W. X is m_rows × d_in, with a row for each token, and W is d_in × d_out. Training computes Y. Going backward, it then computes the gradient of X and the gradient of W from the gradient of Y, with one matrix product each. Write the FLOPs of all three products together.",
    formula=PRODUCTS,
    test_points=tuple(dict(zip(("rows", "weight_rows", "weight_columns"), each)) for each in SIZES),
    independent_check=Multiplied(rows, inner, columns),
    misconceptions={
        2 * ENTRIES / eq.one_entry: "That is the forward pass alone. Going backward takes two more products.",
        4 * ENTRIES / eq.one_entry: "That is two products, or the backward pass alone. There is one forward, and two gradients.",
        3 * ENTRIES / eq.one_entry: "You counted multiply-adds. Each is two FLOPs, one to multiply and one to add.",
        8 * ENTRIES / eq.one_entry: "That runs the forward pass twice, as training does where it computes activations again. Here nothing is computed twice.",
        6 * inner * columns: "That is for one token. X has m_rows of them.",
        2 * (rows * inner + inner * columns + rows * columns): "You counted the entries of the matrices. Each entry of a product is a sum over all of the dimension that vanishes.",
    },
    explanation="Six for each entry of W and each token: the 6 of 6ND. It holds for every matrix that multiplies tokens, so for the whole network.",
    hints=(
        "The product of an $a \\times b$ and a $b \\times c$ matrix has $a c$ entries, and each is a sum of $b$ products.",
        "Shapes: (m_rows × d_in)(d_in × d_out); back to X: (m_rows × d_out)(d_out × d_in); for W: (d_in × m_rows)(m_rows × d_out). What do all three have in common?",
    ),
    solution=(
        "Each of the three products makes m_rows × d_in × d_out multiply-adds, summed in three different orders.",
        Step("Two FLOPs each, typed as", "3 * 2 * m_rows * d_in * d_out"),
    ),
)

backward = Choice(
    "Why backward costs twice",
    level="easy",
    objective=COUNT,
    statement="For each parameter and token the forward pass takes two FLOPs, the backward pass four. Why twice as many?",
    independent_check=lambda v: "d" if simulation.counted()[1] == dict.fromkeys(simulation.PASSES, 2.0) else "",
    options=[
        wrong("the optimizer's update of the weights is counted in", "The update touches each weight once for a whole batch. Divided among the batch's tokens it is next to nothing."),
        wrong("gradients need twice the precision", "Precision changes how fast a chip multiplies, not how many multiplications there are."),
        wrong("the forward pass is run once more, because its activations were not kept", "That happens in some training runs, and comes on top: it makes 8 of the 6."),
        right("each matrix needs two gradients: of its inputs, which are passed on, and of its weights, which are kept", "Two products of the same size as the forward one. The first matrix of a network gets along without the gradient of its inputs, if nothing below it learns."),
    ],
    hints=("What does a layer have to hand back to the layer below it? And what does it need for itself?",),
    solution=("Both gradients are products with the forward product's three dimensions, two FLOPs for each parameter and token.",),
)


def released(values: Values) -> Values:
    """The drawn model's counts and tokens of training, in the notation's names; a made-up one is just these."""
    if isinstance(values["net"], tuple):
        counts = dict(zip(("n_total", "n_active", "pretrain_tokens"), values["net"]))
        return counts | {"prescribed": PRESCRIBED, "net_name": MIXTURE}
    net = model(values["net"])
    sizes = {"n_active": float(net.n_active), "n_total": float(net.n_total)}
    return sizes | {"pretrain_tokens": net.training_tokens, "prescribed": PRESCRIBED, "net_name": net.name}


EXPERTS = (
    "qwen3-235b-a22b",
    "deepseek-v3",
    "kimi-k2",
    "glm-4.5",
    "llama-4-maverick",
)  # mixtures of experts with published tokens
MIXTURE = "A mixture of experts"
MIXTURES = tuple(  # made-up ones: stored, active, tokens
    (*counts, tokens) for counts in ((12e10, 6e9), (2e11, 15e9), (3e11, 12e9), (5e11, 25e9), (8e11, 3e10), (1e12, 4e10), (15e11, 5e10)) for tokens in (12e12, 16e12, 2e13, 3e13)
)
NAMED = {
    "net_name": "",
    "cluster": "",
    "reported": "hours",
    "hours": "hours",
    "chip_name": "",
    "run": "",
    "chip_flops": "FLOP/s",
}

experts = Quantity(
    "6ND of a mixture of experts",
    level="easy",
    objective=COUNT,
    unit="FLOP",
    statement="{net_name} stores {n_total} and uses {n_active} for each token. It was pre-trained on {pretrain_tokens}. How many FLOPs did that take? A multiply-add is two FLOPs; leave attention's own products out, and let nothing be computed twice.",
    parameters={"net": ("deepseek-v3", *EXPERTS, *MIXTURES)},
    derived=released,
    units=NAMED,
    answer=eq.pretrain_compute,
    independent_check=lambda v: sum(2 * v["n_active"] * v["pretrain_tokens"] for _ in simulation.PASSES),
    misconceptions={
        eq.pretrain_compute.at(n_active=v.n_total): "You multiplied every token by all that is stored. It meets only the parameters that it is routed to.",
        eq.pretrain_compute / 3: "That is the forward pass alone. Training goes backward too, which costs twice as much.",
        eq.pretrain_compute * 2 / 3: "That is the backward pass alone. The forward pass comes first.",
        eq.pretrain_compute / 2: "You counted multiply-adds. Each is two FLOPs.",
        eq.pretrain_compute * 4 / 3: "Eight FLOPs run the forward pass twice. Here nothing is computed twice.",
    },
    explanation="The experts that a token is not routed to cost it nothing. That is what makes a mixture of experts cheap to train.",
    hints=(
        "Which of the two counts of parameters meets a token?",
        "6 FLOPs for each such parameter and each token.",
    ),
    solution=lambda v: [Step(f"${eq.pretrain_compute.latex}$ = {tens(eq.pretrain_compute(v))}, typed as", eq.pretrain_compute(v))],
)

CARDS = {"H800": "h800", "H100": "h100-sxm"}  # chips as the makers name them, and their ids
CLUSTERS = {
    "DeepSeek-V3": 2_048,
    "Llama 3.1 405B": 16_384,
}  # GPUs: deepseek_v3_training; llama3_405b_parallelism, its largest


def run(values: Values) -> Values:
    """A published training run, or a made-up one, in the notation's names, with its GPU hours."""
    made_up = isinstance(values["run"], tuple)
    columns = ("n_total", "n_active", "pretraining_tokens", "training_GPU_hours", "chip")
    [row] = [dict(zip(columns, values["run"]))] if made_up else measurement("training_gpu_hours").records(model=values["run"])
    made = chip(CARDS[row["chip"]])
    known = {
        "n_active": row["n_active"],
        "n_total": row["n_total"],
        "pretrain_tokens": row["pretraining_tokens"],
        "hours": row["training_GPU_hours"],
    }
    gpus = CLUSTERS.get(values["run"], 1)
    shown = {"name": MIXTURE if made_up else values["run"], "chip_name": plain(made.name), "cluster": f"{gpus:,}", "reported": row["training_GPU_hours"] / gpus}
    return known | shown | {"chip_flops": made.flops("bf16"), "gpus": gpus}


hours = Quantity(
    "How long a training run takes",
    level="medium",
    objective=COUNT,
    unit="s",
    display_unit="hours",
    statement="{run} uses {n_active} for each token, by its makers' count, and was pre-trained on {pretrain_tokens}. The peak of {chip_name} is {chip_flops} (dense, BF16). Suppose that {cluster} of these GPUs work on it all the time at an MFU of {percent}, counted at 6 FLOPs per active parameter and token. How many hours does the run take?",
    parameters={"run": tuple(CLUSTERS), "percent": (40.0, 45.0, 30.0, 25.0, 26.0, 27.0, 28.0, 29.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 41.0, 42.0, 43.0, 44.0, 46.0, 48.0, 50.0)},
    derived=lambda v: run(v) | {"train_mfu": v["percent"] / 100},
    units=NAMED | {"percent": "%"},
    answer=eq.training_time / v.gpus,
    independent_check=v.pretrain_tokens / (v.gpus * v.chip_flops * v.train_mfu / (2 * v.n_active + 4 * v.n_active)),
    misconceptions={
        eq.training_time.at(train_mfu=1) / v.gpus: "That is at the full rate. A run reaches only a part of it, so it takes longer.",
        eq.training_time.at(train_mfu=1) * v.train_mfu / v.gpus: "You multiplied by the MFU. A lower rate makes the run longer, not shorter.",
        eq.training_time / v.gpus / 3: "That is forward passes alone. Training takes 6 FLOPs, not 2.",
        eq.training_time: "That is on one GPU: GPU hours. Here many share the work.",
        eq.training_time / v.gpus * HOUR: "That many seconds. Hours are asked for.",
    },
    explanation="The GPU-hours that the makers report come to {reported} on as many GPUs. From the ratio you can work out the MFU that they reached.",
    hints=(
        "Work over rate is time.",
        "The rate of all GPUs is their number × the rate of one × the MFU. Then go from seconds to hours.",
    ),
    solution=(
        Step(f"${eq.pretrain_compute.latex}$ =", lambda v: tens(eq.pretrain_compute(v))),
        Step("In GPU hours, at the rate that is reached:", eq.training_time / HOUR, "hours"),
        Step("Shared by {cluster} GPUs:", eq.training_time / v.gpus / HOUR, "hours"),
        "The same in seconds:",
    ),
)

MFU_OF = eq.training_time.solve("train_mfu")

RUNS = tuple(  # made-up ones, with hours of H100 as at an MFU between a quarter and two fifths
    (*net, float(f"{eq.training_time(n_active=net[1], pretrain_tokens=net[2], chip_flops=1e15, train_mfu=share) / HOUR:.1e}"), "H100") for net in MIXTURES for share in (0.25, 0.4)
)

reached = Quantity(
    "The MFU of a published run",
    level="medium",
    objective=COUNT,
    unit="1",
    display_unit="%",
    statement="{name} stores {n_total} and uses {n_active} for each token, by its makers' count. They report that pre-training on {pretrain_tokens} took {hours} of GPU time on {chip_name}. What MFU did the run reach, in percent of the dense BF16 peak of {chip_flops}? (Much of the run was in FP8, but BF16 is the usual yardstick.) Take 6 FLOPs per active parameter and token.",
    parameters={"run": ("DeepSeek-V3", "Llama 4 Scout", "Llama 4 Maverick", *RUNS)},
    derived=run,
    units=NAMED | {"name": ""},
    answer=MFU_OF.at(training_time=v.hours * HOUR),
    independent_check=lambda v: v["pretrain_tokens"] / v["hours"] / 3600 * sum([2 * v["n_active"]] * 3) / v["chip_flops"],
    misconceptions={
        MFU_OF.at(training_time=v.hours * HOUR, n_active=v.n_total): "That is more than the GPUs can do. You let each token meet all parameters that are stored.",
        MFU_OF.at(training_time=v.hours * HOUR) / 3: "That is forward passes alone. Training takes 6 FLOPs, not 2.",
        MFU_OF.at(training_time=v.hours * HOUR) / 2: "That counts multiply-adds once, or takes the FP8 rate, which is twice that of BF16.",
        MFU_OF.at(training_time=v.hours * HOUR) / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="A published MFU may be higher, because it counts attention's own products too.",
    hints=(
        "How many FLOPs did the run need, and how many could its GPUs have done in that time?",
        "6 × active parameters × tokens, over GPU hours × 3,600 × the rate of one GPU.",
    ),
    solution=(
        Step(f"${eq.pretrain_compute.latex}$ =", lambda v: tens(eq.pretrain_compute(v))),
        Step("What the GPUs could have done:", lambda v: tens(v["hours"] * HOUR * v["chip_flops"])),
        "The share, in percent:",
    ),
)

bill = Quantity(
    "The bill for a frontier model",
    level="medium",
    objective=COUNT,
    unit="USD",
    display_unit="million dollars",
    statement="A model uses {n_active} for each token and is pre-trained on {pretrain_tokens}. A GPU has a peak of {chip_flops} (dense, BF16), reaches an MFU of {percent} and costs {rent} an hour. What does the run cost, in millions of dollars? Take 6 FLOPs for each active parameter and token.",
    parameters={
        "kind": ("h100-sxm", "b200"),
        "percent": (40.0, 30.0, 25.0),
        "n_active": (BOARD["n_active"], 6e10, 15e10),
        "pretrain_tokens": (ROUNDED, RUMOUR),
        "rent": (2.0,),
    },
    derived={"train_mfu": v.percent / 100, "chip_flops": lambda v: chip(v["kind"]).flops("bf16")},
    units={"percent": "%", "rent": "USD", "chip_flops": "FLOP/s"},
    answer=eq.training_time / HOUR * v.rent,
    independent_check=lambda v: v["pretrain_tokens"] * (v["rent"] / 3600) / (v["percent"] / 100 * v["chip_flops"] / sum([2 * v["n_active"]] * 3)),
    misconceptions={
        eq.training_time.at(train_mfu=1) / HOUR * v.rent: "That is at the full rate. The chips do less, so they are rented for longer.",
        eq.training_time.at(train_mfu=1) * v.train_mfu / HOUR * v.rent: "You multiplied by the MFU. A lower rate makes the run longer and dearer.",
        eq.training_time * v.rent: "You paid the hourly rent for every second: divide seconds by 3,600.",
        eq.training_time / HOUR * v.rent / 3: "That is forward passes alone: 2 FLOPs instead of 6.",
        eq.training_time / HOUR * v.rent * v.n_active * PRESCRIBED / v.pretrain_tokens: "That is training on 20 tokens for each parameter. This model is trained on more.",
    },
    explanation="By the lecture's rule RL and serving cost as much again, each of them. Research and failed runs are not in it.",
    hints=(
        "First all FLOPs, then the GPU time that they take at the rate that is reached.",
        "FLOPs ÷ (rate × MFU) are seconds of one GPU; divide by 3,600 and multiply by the rent.",
    ),
    solution=(
        Step(f"${eq.pretrain_compute.latex}$ =", lambda v: tens(eq.pretrain_compute(v))),
        Step("Hours of one GPU:", eq.training_time / HOUR, "hours"),
        "At {rent} each:",
    ),
)

# --- over a model's life ---------------------------------------------------------------------------------------------

PRE, RL, SERVE = eq.pretrain_compute.expr, eq.rl_compute.expr, eq.inference_compute.expr
BARE = eq.decode_efficiency  # what cancels the division by it
FLAT = eq.rl_flop * eq.n_active * eq.rl_tokens  # RL as if its generating were as fast as training
RL_UP = FLAT + 2 * eq.n_active * eq.rl_tokens * (BARE - 1)  # with its generating multiplied by the efficiency
STORED = "A token meets the active parameters, not all that are stored."

life = Expression(
    "What a model costs over its life",
    level="medium",
    objective=LIFE,
    statement="A model with N_act active parameters is pre-trained on D_pre tokens, goes through RL on D_RL tokens at c_RL FLOPs per parameter and token, two of which generate the token, and generates D_inf tokens for its users. Generating runs at eta times the MFU of pre-training, with eta below one. Training on the answers of RL runs as well as pre-training. Write the compute of the model's whole life, counted in FLOPs at the rate of pre-training, so that a FLOP of generating counts for more than one.",
    formula=eq.total_compute,
    independent_check=eq.n_active * ((2 + 4) * eq.pretrain_tokens + (eq.rl_flop - 2) * eq.rl_tokens) + 2 * eq.n_active / BARE * (eq.inference_tokens + eq.rl_tokens),
    misconceptions={
        PRE + FLAT / BARE + SERVE: "You divided all of RL by the efficiency. Only generating its tokens is slow; training on them runs as well as any training.",
        PRE + FLAT * BARE + SERVE * BARE**2: "You multiplied by the efficiency. Chips that are used badly cost more for the same work, not less.",
        PRE + RL_UP + SERVE * BARE**2: "You multiplied by the efficiency. Chips that are used badly cost more for the same work, not less.",
        PRE + RL + SERVE * BARE: "Serving generates too, so it uses the chips as badly as RL does when it generates.",
        PRE + FLAT + SERVE * BARE: "The efficiency is missing: generating keeps the chips busy for longer than its FLOPs say.",
        PRE + FLAT + SERVE: "The efficiency is missing at RL, which generates its tokens as slowly as serving does.",
        PRE + RL_UP + SERVE: "You multiplied RL's generating by the efficiency. Chips that are used badly cost more for the same work, not less.",
        PRE + RL + 2 * eq.n_active * eq.rl_tokens + SERVE: "The two FLOPs that generate a token are among the c_RL already.",
        PRE + RL + 3 * SERVE: "Six is forward and backward. Serving only runs forward.",
        PRE / BARE + RL + SERVE: "Training runs at the rate that the others are measured by. The efficiency is one there.",
        (PRE + RL + SERVE).subs(eq.n_active, roofline.n_total): STORED,
        **{PRE + RL + SERVE + term.subs(eq.n_active, roofline.n_total) - term: STORED for term in (PRE, RL, SERVE)},
        PRE / 3 + RL + SERVE: "Two is the forward pass alone. Pre-training also goes backward.",
    },
    explanation="Every term has N_act, so it cancels when the terms are compared. What is left is about tokens.",
    hints=(
        "Three terms, each FLOPs per parameter and token × parameters × tokens.",
        "6 for pre-training, 2/eta for a token that is generated, and c_RL − 2 more for a token of RL.",
    ),
    solution=(Step(f"${eq.total_compute.latex}$, typed as", "6 * N_act * D_pre + (2 / eta + c_RL - 2) * N_act * D_RL + 2 * N_act * D_inf / eta"),),
)


def matched(size: float) -> float:
    """Trillions of tokens whose training costs as much as serving 200 trillion, for a size, by search."""
    return find_root(lambda tokens: 6 * size * tokens - 2 * size * 200 / ETA, 1, 1e6)


cancels = Choice(
    "A model twice as large",
    level="easy",
    objective=LIFE,
    statement="You choose the tokens of pre-training so that pre-training costs as much compute as serving. Now you decide to make the model twice as large, with the same traffic and the same efficiency. How many tokens does your rule give it?",
    independent_check=lambda v: {2: "a", 1: "b", 0.5: "c", 4: "d"}[round(matched(2e11) / matched(1e11), 6)],
    options=[
        wrong("twice as many", "That is Chinchilla's rule, which counts tokens by parameters. Here two costs are set equal, and both of them grow."),
        right("as many as before", "The size stands on both sides and cancels. How far past Chinchilla that is does depend on the size, because Chinchilla's rule counts by parameters."),
        wrong("half as many", "Each token of training costs twice as much. But so does each token that is served."),
        wrong("four times as many", "The compute of training would grow that much by Chinchilla's rule: size times tokens. Here tokens are set by the traffic."),
    ],
    hints=("Write both costs. Where does the size stand in each?",),
    solution=("$\\,6 N D_\\mathrm{pre} = 2 N D_\\mathrm{inf} / \\eta$ has the size on both sides.",),
)


def parts(values: Values) -> dict[str, float]:
    """FLOPs for each parameter, at training's rate, added up token by token in trillions."""
    worse = 1 / values["decode_efficiency"]
    each = {"pretrain": 2 + 4, "rl": 2 * worse + (values["rl_flop"] - 2), "inference": 2 * worse}
    return {kind: sum(flop for _ in range(round(values[f"{kind}_tokens"] / 1e12))) for kind, flop in each.items()}


SERVING = eq.SHARES["inference"]
SERVED_PART = 2 * v.inference_tokens / v.decode_efficiency  # FLOPs for each parameter, at training's rate

share = Quantity(
    "The share of serving",
    level="medium",
    objective=LIFE,
    unit="1",
    display_unit="%",
    statement="A model is pre-trained on {pretrain_tokens}, goes through RL on {rl_tokens} at {flop} FLOPs for each parameter and token, 2 of them to generate it, and generates {inference_tokens} for its users. Pre-training takes 6 FLOPs for each parameter and token. All generating takes 2 and runs at {decode_efficiency} of training's MFU; training on RL's tokens runs as well as pre-training. Counted in FLOPs at the rate of pre-training, what share of its lifetime compute is serving, in percent?",
    parameters={
        "decode_efficiency": (0.15, 0.2, 0.1),
        "inference_tokens": (5e13, 1e14, 25e12),
        "rl_tokens": (3e13, 15e12),
        "pretrain_tokens": (15e13, 2e14),
        "flop": (3, 4),
    },
    derived={"rl_flop": v.flop, "n_active": BOARD["n_active"]},
    units={"flop": "1"},
    answer=SERVING,
    independent_check=lambda v: parts(v)["inference"] / sum(parts(v).values()),
    misconceptions={
        SERVING.at(decode_efficiency=1): "The efficiency is missing: generating keeps the chips busy for longer than its FLOPs say.",
        SERVED_PART / (6 * v.pretrain_tokens + v.flop * v.rl_tokens + SERVED_PART): "The efficiency is missing at RL, which generates too and so uses the chips as badly as serving does.",
        SERVED_PART / (6 * v.pretrain_tokens + v.flop * v.rl_tokens / v.decode_efficiency + SERVED_PART): "You divided all of RL by the efficiency. Only its generating is slow, two FLOPs of each token.",
        SERVING.at(inference_tokens=v.inference_tokens * v.decode_efficiency): "The efficiency is missing at serving. All of it runs at that part of training's MFU.",
        v.inference_tokens / (v.inference_tokens + v.rl_tokens + v.pretrain_tokens): "That is its share of the tokens. They do not all cost the same.",
        SERVING.at(inference_tokens=3 * v.inference_tokens): "You served with 6 FLOPs. There is no backward pass in serving.",
        1 / (1 + ((2 + (v.flop - 2) / v.decode_efficiency) * v.rl_tokens + 6 * v.pretrain_tokens / v.decode_efficiency) / (2 * v.inference_tokens)): "You multiplied by the efficiency. Bad use of the chips makes the work more expensive, so divide.",
        SERVING / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="Where the chips are used badly, few tokens can be a large part of the bill.",
    hints=(
        "The size cancels: work out FLOPs for one parameter.",
        "6 D_pre, (2 ÷ η + c_RL − 2) D_RL and 2 D_inf ÷ η; then the last divided by the sum.",
    ),
    solution=(
        Step("For one parameter, pre-training:", eq.pretrain_compute.at(n_active=1), "FLOP"),
        Step("RL:", eq.rl_compute.at(n_active=1), "FLOP"),
        Step("serving:", eq.inference_compute.at(n_active=1), "FLOP"),
        "Its share of the sum, in percent:",
    ),
)

rl_tokens = Quantity(
    "A token of RL",
    level="easy",
    objective=LIFE,
    unit="1",
    statement="RL takes {flop} FLOPs per parameter and token: 2 to generate it, at {decode_efficiency} of the MFU of pre-training, and the rest to train on some of the tokens, as fast as pre-training does. Pre-training takes 6 FLOPs per parameter and token. How many tokens of pre-training cost as much as one token of RL?",
    parameters={"flop": (3, 4, 5, 2.5, 3.5, 4.5, 7), "decode_efficiency": (ETA, 0.25, 0.2, 0.4, 0.1, 0.12, 0.15, 0.35)},
    derived={"rl_flop": v.flop},
    condition=lambda v: eq.rl_coefficient(v) > 1.05 and abs(eq.rl_coefficient(v) / (v["flop"] / 6) - 1) > 0.1,
    units={"flop": "1"},
    answer=eq.rl_coefficient,
    independent_check=lambda v: find_root(lambda d: 6 * d - (v["flop"] - 2) - 2 / v["decode_efficiency"], 0.001, 1000.0),
    misconceptions={
        v.flop / 6 / v.decode_efficiency: "You divided all of RL by the efficiency, as the lecture does. Only generating is slow: two of its FLOPs.",
        v.flop / 6 * v.decode_efficiency: "You multiplied by the efficiency. Bad use of the chips makes a token more expensive, so divide; and only generating is slow.",
        (2 * v.decode_efficiency + v.flop - 2) / 6: "You multiplied by the efficiency. Bad use of the chips makes a token more expensive, so divide.",
        eq.rl_coefficient.at(decode_efficiency=1): "The efficiency is missing: the chips are busy for longer than the FLOPs say.",
        1 / eq.rl_coefficient: "Upside down: that is how many tokens of RL cost as much as one of pre-training.",
        eq.rl_coefficient.at(rl_flop=8): "That trains on every token that was generated. Here some are only generated.",
        eq.rl_coefficient.at(rl_flop=2): "That only generates. Here some tokens are trained on as well.",
    },
    explanation="So where both cost the same there are fewer tokens of RL than of pre-training. The lecture takes about 1.5, from an RL of 3 FLOPs at an efficiency of a third, all of which it divides by the efficiency.",
    hints=(
        "Write what one token of each costs, for one parameter and at the rate of training.",
        "2 ÷ efficiency to generate, plus the FLOPs beyond 2 to train; then divide by the 6 of pre-training.",
    ),
    solution=(f"${eq.rl_coefficient.latex}$ =",),
)

served_token = Quantity(
    "A token served",
    level="medium",
    objective=LIFE,
    unit="1",
    statement="Pre-training reaches an MFU of {train_percent}, generating only {decode_percent}. Training takes 6 FLOPs for each parameter and token, generating 2. Pre-training and serving should cost the same. How many tokens of pre-training is that for each token served?",
    parameters={"train_percent": (40.0, 50.0, 45.0, 35.0, 36.0, 42.0, 48.0), "decode_percent": (12.0, 8.0, 10.0, 6.0, 5.0, 9.0, 15.0)},
    derived={"decode_efficiency": v.decode_percent / v.train_percent},
    units={"train_percent": "%", "decode_percent": "%"},
    answer=eq.inference_coefficient,
    independent_check=lambda v: find_root(lambda d: 6 * d / v["train_percent"] - 2 / v["decode_percent"], 0.001, 1000.0),
    misconceptions={
        2 / 6 * v.decode_efficiency: "You multiplied by the efficiency, as the lecture did at first. Chips that are used badly cost more for the same tokens.",
        eq.inference_coefficient.at(decode_efficiency=v.decode_percent / 100): "Pre-training does not run at the full rate either. What counts is the ratio of the two MFUs.",
        eq.inference_coefficient.at(decode_efficiency=1): "The MFUs are missing: a FLOP of generating keeps the chips busy for longer.",
        3 * eq.inference_coefficient: "You served with 6 FLOPs. There is no backward pass in serving.",
        1 / eq.inference_coefficient: "Upside down: that is how many tokens are served for each one of pre-training.",
    },
    explanation="In the lecture, with a ratio of 30 percent, it is about one. So a model should write about as many tokens as it has read.",
    hints=(
        "How much longer do the chips work for a FLOP of generating than for one of training?",
        "2 ÷ (6 × ratio of the MFUs).",
    ),
    solution=(
        "Generating uses the chips {decode_efficiency} times as well as training.",
        f"${eq.inference_coefficient.latex}$ =",
    ),
)


def corrected(efficiency: float) -> str:
    """The option that names by how much pre-training grows, with both rules solved by search for a hundred tokens
    served.
    """
    right, wrong = (find_root(lambda d: 6 * d - 2 * worse * 100, 1e-3, 1e6) for worse in (1 / efficiency, efficiency))
    times = {"a": efficiency**2, "b": 1 / efficiency, "c": efficiency**-2, "d": 1.0}
    return next(key for key, each in times.items() if abs(right / wrong / each - 1) < 1e-6)


slip = Choice(
    "Which way the billions flow",
    level="medium",
    objective=LIFE,
    statement="Pre-training should cost as much as serving, and the traffic is given. A colleague multiplies by the efficiency: a token served is worth 2/6 × {decode_efficiency} tokens of pre-training. Then she notices that poor use of the chips makes tokens more expensive, and divides instead. What does the correction do to the tokens of pre-training?",
    parameters={"decode_efficiency": (ETA, 0.25, 0.2)},
    derived={
        "twice": lambda v: significant(1 / v["decode_efficiency"] ** 2, 2),
        "once": lambda v: significant(1 / v["decode_efficiency"], 2),
    },
    independent_check=lambda v: corrected(v["decode_efficiency"]),
    options=[
        wrong("about {twice} times fewer tokens", "The wrong way round. The traffic is given; if serving turns out dearer, the pre-training that costs as much is larger."),
        wrong("about {once} times as many tokens", "The right way, but only half of it. The factor was not left out at first, it stood on the wrong side of the fraction line."),
        right("about {twice} times as many tokens", "From a factor to its inverse, so the efficiency counts twice. Serving costs more than thought, and pre-training is to cost as much."),
        wrong("nothing: the efficiency cancels", "It is relative to training, whose own use of the chips is the measure. So it stands on one side only. What cancels is the size."),
    ],
    hints=("Work out tokens of pre-training for each token served, before and after.",),
    solution=(
        Step("Multiplied, a token served weighs", 2 / 6 * v.decode_efficiency, "1"),
        Step(f"divided, ${eq.inference_coefficient.latex}$ =", eq.inference_coefficient, "1"),
    ),
)

# --- where costs balance ---------------------------------------------------------------------------------------------

split = Quantity(
    "Thirds or halves",
    level="medium",
    objective=BALANCE,
    unit="token",
    display_unit="trillion tokens",
    statement="{inference_tokens} will be served. Training takes 6 FLOPs for each parameter and token, generating 2, at {decode_efficiency} of training's MFU. One rule lets pre-training, RL and serving cost a third each. Another gives serving a half, and pre-training and RL a quarter each. By the second rule, how many trillions of tokens is the model pre-trained on?",
    parameters={"inference_tokens": (ROUNDED, 26e13, 5e13, 2e13, 8e13, 1e14, 12e13, 15e13, 3e14), "decode_efficiency": (ETA, 0.25, 0.2, 0.4, 0.1, 0.15)},
    answer=eq.inference_coefficient * v.inference_tokens / 2,
    independent_check=lambda v: find_root(lambda d: 6 * d / (6 * d + 6 * d + 2 / v["decode_efficiency"] * v["inference_tokens"]) - 0.25, 1e9, 1e18),
    misconceptions={
        eq.inference_coefficient * v.inference_tokens: "That is the rule of thirds, by which pre-training costs as much as serving.",
        eq.inference_coefficient * v.inference_tokens * 3 / 4: "A quarter for a third: that holds if the whole budget is given. Here the traffic is given, and the budget follows from it.",
        v.inference_tokens * v.decode_efficiency / 6: "You multiplied by the efficiency. Chips that are used badly make serving dearer.",
        v.inference_tokens / 2: "That is half of the tokens that are served. Half is meant of the costs, and the two kinds of token do not cost the same.",
        v.inference_tokens / 6: "The efficiency is missing: serving keeps the chips busy for longer than its FLOPs say.",
    },
    explanation="Thirds would give twice as many. As shares of a given budget 33 and 25 percent are close. With the traffic given, they are a factor of two apart.",
    hints=(
        "What does serving cost? What does pre-training cost, compared with it?",
        "Pre-training costs half of what serving does: 6 D_pre = ½ × 2 D_inf ÷ η.",
    ),
    solution=(
        Step("At equal cost there would be", eq.inference_coefficient * v.inference_tokens, "token"),
        "The second rule gives pre-training a quarter where serving gets a half, so half as many:",
    ),
)


def evenly(rise: float, fall: float, rise_level: float = 1.0) -> bool:
    """Whether a·x^p and 1/x^q are equal where their sum is least, by search."""
    best = find_minimum(lambda x: rise_level * x**rise + x**-fall, 1e-3, 1e3)
    return abs(rise_level * best**rise * best**fall - 1) < 1e-4


equal = Choice(
    "When equal is best",
    level="medium",
    objective=BALANCE,
    statement="One cost rises as $a x^p$, the other falls as $b/x^q$; all of these are above zero. In which cases is their sum least exactly where they are equal?",
    independent_check=lambda v: {(True, False): "b", (False, True): "c", (False, False): "d", (True, True): "a"}[evenly(2, 2, 5.0), evenly(2, 1)],
    options=[
        wrong("always: that is where the curves cross", "The crossing says that the costs are equal, not that a small step changes them equally. Try $x^2$ and 1/$x$."),
        right("only if $p = q$, whatever $a$ and $b$ are", "At the least sum $p$ times the rising cost is $q$ times the falling one. The lecture's examples, $x$ and 1/$x$, $e^x$ and $e^{-x}$, are as steep on one side as on the other. Where both costs rise there is nothing to balance."),
        wrong("only if $a = b$, whatever $p$ and $q$ are", "Levels move the best $x$, and with it both costs. Which part each has of the sum does not change. Try $x$ and 5/$x$, then $x^2$ and 1/$x$."),
        wrong("only if $p = q$ and $a = b$", "One condition too many. Try $x$ and 5/$x$."),
    ],
    hints=(
        "Make $x$ larger by one percent. By how many percent does each cost change?",
        "At the least sum the rise of the one just makes up for the fall of the other.",
    ),
    solution=(
        "A percent more of $x$ adds $p$ percent of the rising cost and takes off $q$ percent of the other.",
        f"At the least sum the two cancel: ${eq.rising_share.latex}$, without $a$ and $b$.",
    ),
)

rise, fall = eq.rise_power, eq.fall_power

best_share = Expression(
    "The share where the sum is least",
    level="medium",
    objective=BALANCE,
    statement="One cost rises as $a x^p$, the other falls as $b/x^q$; all of these are above zero. Write which share of their sum the rising cost is, at the $x$ where the sum is least.",
    formula=eq.rising_share,
    independent_check=lambda v: (lambda y: solve(Eq(rise * y, fall * (1 - y)), y)[0])(eq.scale),
    misconceptions={
        rise / (rise + fall): "The other way round: the steeper a cost is, the less of it is left at the minimum.",
        Rational(1, 2): "That holds only if the powers are equal.",
        fall / rise: "That is the rising cost over the falling one. What is its share of both?",
        eq.rise_level / (eq.rise_level + eq.fall_level): "That is the share at $x$ = 1. The best $x$ moves with the levels, until the shares are right.",
    },
    explanation="Levels do not matter. The steeper cost is the smaller one.",
    hints=(
        "Set the derivative of the sum to zero and multiply by $x$.",
        "$p$ × rising = $q$ × falling. Turn the ratio into a share.",
    ),
    solution=(Step("At the least sum $p$ times the rising cost equals $q$ times the falling one. Typed:", "q / (p + q)"),),
)

POWER = dict(enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")) | {1: ""}
PAIRS = tuple(pair for pair in product(range(1, 10), repeat=2) if pair[0] != pair[1])


def powers(values: Values) -> Values:
    """The drawn pair of powers by notation name, and the two costs as one writes them."""
    up, down = values["pair"]
    return {"rise_power": up, "fall_power": down, "rising_text": f"x{POWER[up]}", "falling_text": f"1/x{POWER[down]}"}


def cheapest_sum(values: Values) -> tuple[float, float]:
    """The two costs where their sum is least, by search."""
    up, down = values["pair"]
    best = find_minimum(lambda x: x**up + x**-down, 1e-3, 1e3)
    return best**up, best**-down


brute = Quantity(
    "Not half and half",
    level="medium",
    objective=BALANCE,
    unit="1",
    display_unit="%",
    statement="One cost is {rising_text}, the other {falling_text}, for any $x$ above zero. At the $x$ where their sum is least, which share of the sum is {rising_text}, in percent?",
    parameters={"pair": ((2, 1), *(pair for pair in PAIRS if max(pair) < 8))},
    derived=powers,
    answer=eq.rising_share,
    independent_check=lambda v: cheapest_sum(v)[0] / sum(cheapest_sum(v)),
    misconceptions={
        0.5: "You set the two costs equal. That is best only if one rises as steeply as the other falls.",
        1 - eq.rising_share: "That is the share of the other cost. The steeper one is the smaller one.",
        eq.rising_share / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="The lecture's rule of thumb would give half. That is right for x and 1/x, its own example.",
    hints=(
        "Where is the derivative of the sum zero? Or try values of $x$ on a computer.",
        "Power × rising cost = power × falling cost, each with its own power.",
    ),
    solution=(
        Step("The least sum is at $x$ =", eq.scale_best.at(rise_level=1, fall_level=1), "1"),
        Step("where {rising_text} is", eq.scale_best.at(rise_level=1, fall_level=1) ** v.rise_power, "1"),
        f"As a share, ${eq.rising_share.latex}$, in percent",
    ),
)

penalty = Quantity(
    "The price of a rule of thumb",
    level="hard",
    objective=BALANCE,
    unit="1",
    display_unit="%",
    statement="One cost is {rising_text}, the other {falling_text}. Somebody picks the $x$ where the two are equal, instead of the $x$ where their sum is least. By how many percent does that cost more?",
    parameters={"pair": ((2, 1), *(pair for pair in PAIRS if max(pair) >= 2 * min(pair)))},
    derived=powers,
    answer=eq.equal_penalty - 1,
    independent_check=lambda v: 2 / sum(cheapest_sum(v)) - 1,
    misconceptions={
        eq.equal_penalty: "That is the cost divided by the least cost. How much more is it?",
        eq.equal_penalty / 100: "That is the cost divided by the least cost, as a factor. How much more is it, in percent?",
        1 - 1 / eq.equal_penalty: "That is the difference over the dearer sum: what one would save. The question is how much more it costs than the least.",
        Abs(eq.rising_share - 0.5): "That is by how much the shares differ from half. Near its least value a sum hardly changes.",
        (eq.equal_penalty - 1) / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="The rule of thumb is not exact where powers are unequal, but it never costs twice the least, as long as one cost rises and the other falls.",
    hints=(
        "Where are the two equal, and what is the sum there?",
        "They are equal at $x$ = 1. Find the least sum from the derivative, or on a computer, and compare.",
    ),
    solution=lambda v: [
        Step("Equal at $x$ = 1, with a sum of", 2.0, "1"),
        Step(
            "At the least sum $p\\,x^p = q\\,x^{-q}$, so $x = (q/p)^{1/(p+q)}$ = " + significant(eq.scale_best(v, rise_level=1, fall_level=1), 4) + ". The sum there:",
            2 / eq.equal_penalty(v),
            "1",
        ),
        Step("2 divided by that, less one, in percent:", 100 * (eq.equal_penalty(v) - 1), "%"),
    ],
)


def worst_penalty() -> float:
    """The largest cost at the crossing over the least cost, among many pairs of powers, by search."""
    pairs = [{"pair": pair} for pair in product((0.01, 0.1, 1, 5, 20), repeat=2)]
    return max(2 / sum(cheapest_sum(pair)) for pair in pairs)


never_twice = Choice(
    "Never twice as dear",
    level="hard",
    objective=BALANCE,
    statement="One cost rises with $x$, the other falls, and both stay above zero. Somebody picks the $x$ where they are equal. However the curves look, that costs less than twice the least sum. Why?",
    independent_check=lambda v: "c" if 1.5 < worst_penalty() < 2 else "",
    options=[
        wrong("because near its least value a sum changes only with the square of the distance", "True close to the best $x$. The crossing may lie far from it, and then this says nothing."),
        wrong("because both curves are convex, so their sum is as well", "Not all rising or falling costs are convex, and it would not give a bound: very steep convex curves come close to twice."),
        right(
            "because at any other $x$ one of the two costs is higher than it is at the crossing",
            "At the crossing the sum is twice one of the costs. To its right the rising cost is higher, to its left the falling one; so everywhere more than half of that sum is left. One has to rise and the other to fall: at a given loss a model's training falls with its size only up to the size that is best for training alone. So leave the lecture's rule where it asks for fewer tokens than training alone would.",
        ),
        wrong("because the powers of real costs are below two", "It holds for any powers, and for curves that are no powers at all."),
    ],
    hints=("Let both costs be $h$ at the crossing. What can you say of the two to its right? And to its left?",),
    solution=("At the crossing the sum is $h + h$. Anywhere else one of the two is above $h$, and the other above zero, so the sum is above $h$.",),
)

# --- tokens ----------------------------------------------------------------------------------------------------------

traffic = Quantity(
    "Tokens of a lifetime",
    level="easy",
    objective=TOKENS,
    unit="token",
    display_unit="trillion tokens",
    statement="A service generates {world_rate}. It is shared evenly by the {family} models of a family, and each is served for {days} days. How many trillions of tokens does one model generate?",
    parameters={"world_rate": (GENEROUS, 4e8, 1e9, 2e8, 6e8, 8e8), "family": (10, 5, 4, 8), "days": (60, 90, 180, 45, 120)},
    derived={"lifetime": v.days * DAY},
    units={"family": "1", "days": "1"},
    answer=eq.tokens_served,
    independent_check=lambda v: sum(v["world_rate"] / v["family"] * 24 * 60 * 60 for _ in range(v["days"])),
    misconceptions={
        eq.tokens_served.at(family=1): "That is the traffic of the whole service, which is too generous for one model. It is one of several.",
        eq.tokens_served.at(lifetime=30 * DAY): "That is one month: 2.6 million seconds.",
        eq.tokens_served / 60: "Off by 60: seconds, minutes and hours got mixed up. A day has 86,400 seconds.",
        eq.tokens_served / 24: "That lets a day have 3,600 seconds, which is an hour.",
    },
    explanation="The lecture takes 500 million a second over two months, finds that generous for one model, divides by ten and rounds the result to 200 trillion.",
    hints=(
        "How many seconds is the model served for?",
        "Tokens per second × seconds ÷ models.",
    ),
    solution=(
        Step("Seconds of its life:", lambda v: f"{v['lifetime']:,.0f}"),
        Step("Tokens per second of one model:", v.world_rate / v.family, "token/s"),
        "Together:",
    ),
)

rule = Quantity(
    "Chinchilla's tokens",
    level="easy",
    objective=TOKENS,
    unit="token",
    display_unit="trillion tokens",
    statement="A mixture of experts stores {n_total} and uses {n_active} for each token. Counted by active parameters, Chinchilla's rule gives each of them 20 tokens. How many trillions of tokens is that?",
    parameters={"n_active": (BOARD["n_active"], 6e10, 37e9, 15e9, 2e10, 3e10, 5e10, 8e10), "n_total": (1e12, 2e12, 671e9, 5e11, 8e11, 15e11)},
    derived={"prescribed": PRESCRIBED},
    answer=eq.chinchilla_tokens,
    independent_check=lambda v: sum(v["n_active"] for _ in range(20)),
    misconceptions={
        eq.chinchilla_tokens.at(n_active=v.n_total): "That counts all that is stored. The compute of training goes by what is active, and so does the lecture's rule.",
        v.n_active: "That is one token for each parameter. Parameters and tokens are different things; the rule says how many of the one go with one of the other.",
        v.n_active / PRESCRIBED: "Upside down: 20 tokens for each parameter, not 20 parameters for each token.",
    },
    explanation="The rule was found for dense models, where active and stored is the same. Taking the active ones is the lecture's choice.",
    hints=("Tokens = tokens per parameter × parameters. Which parameters?",),
    solution=(f"${eq.chinchilla_tokens.latex}$ =",),
)

far = Quantity(
    "How far past the rule",
    level="easy",
    objective=TOKENS,
    unit="1",
    statement="{net_name} stores {n_total}, uses {n_active} for each token, and was pre-trained on {pretrain_tokens}. Chinchilla's rule gives each active parameter 20 tokens. How many times as many tokens was it trained on?",
    parameters={"net": (*EXPERTS, *MIXTURES)},
    derived=released,
    units=NAMED,
    answer=eq.overtraining,
    independent_check=lambda v: v["pretrain_tokens"] / sum(v["n_active"] for _ in range(20)),
    misconceptions={
        eq.overtraining.at(n_active=v.n_total): "You counted all parameters that are stored. The rule, as the lecture uses it, goes by those that are active.",
        v.pretrain_tokens / v.n_active: "That is tokens for each parameter. Compare it with the rule's.",
        1 / eq.overtraining: "Upside down: a model that is over-trained has a factor above one.",
    },
    explanation="Open models are far past the rule, too.",
    hints=(
        "How many tokens does the rule give this model?",
        "Tokens ÷ (20 × active parameters).",
    ),
    solution=(
        Step(f"${eq.chinchilla_tokens.latex}$ =", eq.chinchilla_tokens, "token"),
        "Its tokens over these:",
    ),
)


def corners(values: Values) -> list[float]:
    """How far past the rule the model would be, at every pair of ends of the two ranges."""
    return [tokens / (20 * size) for tokens, size in product((values["fewest"], values["most"]), (values["small"], values["large"]))]


def ends(values: Values) -> tuple[float, float]:
    """The lowest and the highest over-training, from the lesson's formula."""
    low = eq.overtraining(values, pretrain_tokens=values["fewest"], n_active=values["large"])
    return low, eq.overtraining(values, pretrain_tokens=values["most"], n_active=values["small"])


reach = Quantity(
    "How wide a guess is",
    level="medium",
    objective=TOKENS,
    unit="1",
    statement="A frontier model was trained on between {fewest} and {most} and uses between {small} and {large} for each token: nobody outside knows. Over-training is tokens over those of Chinchilla's rule, which gives every active parameter the same number. The highest possible over-training is how many times the lowest?",
    parameters={
        "fewest": (RUMOUR, 1e14, 5e13, 8e13),
        "most": (26e13, 4e14, 3e14),
        "small": (BOARD["n_active"], 5e10, 8e10),
        "large": (2e11, 3e11, 25e10),
    },
    derived={"prescribed": PRESCRIBED},
    units={"fewest": "token", "most": "token", "small": "parameter", "large": "parameter"},
    answer=lambda v: ends(v)[1] / ends(v)[0],
    independent_check=lambda v: max(corners(v)) / min(corners(v)),
    misconceptions={
        v.most / v.fewest: "That is the range of the tokens. The parameters are not known either.",
        v.large / v.small: "That is the range of the parameters. The tokens are not known either.",
        v.most / v.fewest / (v.large / v.small): "You paired many tokens with many parameters. The ratio is highest with many tokens and few parameters.",
        lambda v: ends(v)[1]: "That is the highest over-training itself. How many times the lowest is it?",
    },
    explanation="Ranges of factors multiply. Two guesses leave the result open by more than either of them, and the rule's 20 tokens have no part in it.",
    hints=(
        "Which ends give the highest factor? Which the lowest?",
        "The two ranges, each as a ratio, multiply.",
    ),
    solution=(
        Step(f"${eq.overtraining.latex}$, with 20 tokens for each parameter, at its highest:", lambda v: ends(v)[1], "1"),
        Step("at its lowest:", lambda v: ends(v)[0], "1"),
        "The ratio; the 20 cancels:",
    ),
)


def derated(values: Values) -> float:
    """Tokens of pre-training that cost what serving costs on average over a hundred equally likely futures."""
    gone = round(100 * values["failure"])
    served = [0.0 if future < gone else values["world_rate"] * values["days"] * 24 * 3600 for future in range(100)]
    return find_root(lambda d: 6 * d - 2 / values["decode_efficiency"] * sum(served) / 100, 1e9, 1e18)


derate = Quantity(
    "A model that may fail",
    level="medium",
    objective=TOKENS,
    unit="token",
    display_unit="trillion tokens",
    statement="If all goes well, a model will generate {world_rate} for {days} days. With a probability of {chance} it will turn out to be no frontier model and will never be served. Pre-training takes 6 FLOPs for each parameter and token, generating takes 2, at {decode_efficiency} of training's MFU. Pre-training should cost as much as serving is expected to. On how many trillions of tokens should the model be trained?",
    parameters={
        "world_rate": (BOARD["world_rate"], 8e7, 2e7, 4e7),
        "days": (60, 90, 45),
        "chance": (25.0, 40.0, 20.0, 10.0, 30.0),
        "decode_efficiency": (ETA, 0.2, 0.4),
    },
    derived={"lifetime": v.days * DAY, "failure": v.chance / 100, "family": 1},
    units={"days": "1", "chance": "%"},
    answer=eq.balanced_tokens.at(world_rate=v.world_rate * (1 - v.failure)),
    independent_check=derated,
    misconceptions={
        eq.balanced_tokens: "That is if all goes well. Expected are fewer tokens.",
        eq.tokens_served.at(world_rate=v.world_rate * (1 - v.failure)): "That is what it is expected to serve. A token served does not cost what a token of training does.",
        eq.balanced_tokens.at(world_rate=v.world_rate / (1 - v.failure)): "The wrong way: the chance of failing makes the tokens to expect fewer, not more.",
        eq.balanced_tokens.at(world_rate=v.world_rate * v.failure): "That is the probability that it fails. It is served if it does not.",
        eq.tokens_served.at(world_rate=v.world_rate * (1 - v.failure)) / 3 * v.decode_efficiency: "You multiplied by the efficiency. Chips that are used badly make serving dearer.",
    },
    explanation="Pre-training is paid for in advance, serving only if there is somebody to serve. Whoever doubts that a model will succeed trains it less.",
    hints=(
        "How many tokens will it serve on average over success and failure?",
        "Expected tokens × 2 ÷ (6 × efficiency).",
    ),
    solution=(
        Step("Tokens to expect:", eq.tokens_served.at(world_rate=v.world_rate * (1 - v.failure)), "token"),
        Step(f"times ${eq.inference_coefficient.latex}$ =", eq.inference_coefficient, "1"),
        "So it is trained on",
    ),
)

MEANT = {"a": "parameter", "b": "parameter", "c": "FLOP/token", "d": "token"}  # the units of what the options name

ratio_of = Choice(
    "A hundred trillion what?",
    level="easy",
    objective=TOKENS,
    statement="A report calls a model with a hundred billion active parameters fifty times over-trained: “a hundred trillion parameters over the Chinchilla optimal of two trillion”. The factor is right, but one word is wrong. What must the hundred trillion be?",
    independent_check=lambda v: "".join((key for key, unit in MEANT.items() if dimension(unit) == dimension(eq.chinchilla_tokens.unit))),
    options=[
        wrong("active parameters of the model", "It was taken to have a hundred billion of these, a thousand times fewer. And parameters over tokens is no pure factor."),
        wrong("stored parameters of the model", "No known model stores nearly as many, and parameters over tokens is no pure factor."),
        wrong("FLOPs for each token", "FLOPs for each token over tokens is no pure factor. Two FLOPs for each active parameter are less than a trillion, too."),
        right("tokens that the model is trained on", "Two trillion are tokens, so a pure factor needs tokens above the line as well. The model has a hundred billion active parameters."),
    ],
    hints=("What does Chinchilla's rule give: parameters or tokens? What can be compared with that?",),
    solution=(f"${eq.overtraining.latex}$ compares tokens with tokens.",),
)


def of(tokens: float) -> str:
    """How far past the rule the lecture's model is with so many tokens, in words."""
    return f"{eq.overtraining(BOARD, pretrain_tokens=tokens):.0f}"


def far_apart() -> tuple[float, float]:
    """Of nine draws in ten where inputs may be half or twice as large: the highest over the lowest factor, and the
    highest.
    """
    low, high = (simulation.spread().quantile(share) for share in (0.05, 0.95))
    return high / low, high


precise = Choice(
    "What kind of number is 100?",
    level="medium",
    objective=TOKENS,
    statement=f"The lecture ends with “a factor of a hundred over-trained”. With a rumoured 150 trillion tokens the same reckoning gives {of(RUMOUR)}, with traffic that is not rounded {of(eq.tokens_served(BOARD))}. What kind of number is the hundred?",
    independent_check=lambda v: "b" if far_apart()[1] > 100 and far_apart()[0] > 4 else "",
    options=[
        wrong("an upper bound, because traffic and lifetime were taken generously", "The traffic was divided by ten for being generous, but the other inputs err either way. A summary of the lecture says “up to”; the lecture says “about”."),
        right("a rough guess: it is a product of several guesses, so a few times less or more would be no surprise", "Active parameters, the family, the efficiency, the 20 and equal costs are all guessed, and nothing measured goes in. That models are over-trained many times is safe to say."),
        wrong(
            f"good to about a third, as {of(RUMOUR)} and {of(eq.tokens_served(BOARD))} show",
            "These differ only in the tokens. They share the guesses of parameters, of efficiency, and of the rule itself, and those could be off in all of them.",
        ),
        wrong("confirmed, because the rumour and the traffic come from different people and agree", "“Not well-cited”, says the lecture of the rumour. And one agreement within a factor of two, among many guesses, confirms little."),
    ],
    hints=("List what goes into the hundred. Which of these was measured?",),
    solution=("Errors of factors multiply, and most factors were guessed.",),
)

LINE_UP = {"a": "Chinchilla 70B", "b": "Llama 3 8B", "c": "DeepSeek-V3", "d": "GPT-3 175B", "e": "Llama 3.1 405B"}
TRAINED = {row["model"]: row for table in ("training_gpu_hours", "training_tokens") for row in measurement(table).records()}


def sized(row: dict) -> str:
    """A model's parameters and tokens as the item shows them, in billions and trillions."""
    total, active, tokens = (significant(x, 3, exact=True) for x in (row["n_total"] / 1e9, row["n_active"] / 1e9, row["pretraining_tokens"] / 1e12))
    size = f"{total} billion parameters" if total == active else f"{active} of {total} billion parameters active"
    return f"{row['model']}: {size}, {tokens} trillion tokens"


def by(measure) -> str:
    """The models' keys in rising order of a measure of their rows."""
    return "".join(sorted(LINE_UP, key=lambda key: measure(TRAINED[LINE_UP[key]])))


EACH = {key: TRAINED[name]["pretraining_tokens"] / TRAINED[name]["n_active"] for key, name in LINE_UP.items()}

in_order = Ordering(
    "Tokens for each parameter",
    level="medium",
    objective=TOKENS,
    statement="Here are models with their parameters and the tokens they were pre-trained on. Put them in order of how far they are trained past Chinchilla's rule, which counts active parameters: the least first.",
    items=[
        sized(TRAINED[LINE_UP["a"]]),
        sized(TRAINED[LINE_UP["b"]]),
        sized(TRAINED[LINE_UP["c"]]),
        sized(TRAINED[LINE_UP["d"]]),
        sized(TRAINED[LINE_UP["e"]]),
    ],
    answer=by(lambda row: eq.overtraining(row, pretrain_tokens=row["pretraining_tokens"], prescribed=PRESCRIBED)),
    independent_check=lambda v: by(lambda row: row["pretraining_tokens"] // (row["n_active"] // 1000)),
    misconceptions={
        by(lambda row: -row["pretraining_tokens"] / row["n_active"]): "That is from the farthest past the rule to the least.",
        by(lambda row: row["pretraining_tokens"] / row["n_total"]): "You counted stored parameters. A mixture of experts uses far fewer for each token.",
        by(lambda row: row["pretraining_tokens"]): "That is by tokens alone. A small model needs fewer of them.",
        by(lambda row: row["n_active"]): "That is by active parameters alone. The rule compares tokens with them.",
    },
    explanation="The model that gave the rule its name is where the rule is. In a few years the small ones went a hundred times past it.",
    hints=(
        "Tokens for each active parameter is what counts. The 20 is the same for all.",
        "Three of them have about as many tokens. Which of these uses the fewest parameters for each?",
    ),
    solution=("Tokens for each active parameter: " + ", ".join(f"{key} {significant(EACH[key], 2)}" for key in sorted(EACH)) + ".",),
)

# --- the best size at a loss -----------------------------------------------------------------------------------------


def fitted(values: Values) -> Values:
    """The drawn fit's constants by notation name, and its text."""
    known = law(values["fit"])
    return known | {"law_text": eq.law_text(known)}


def learnt(loss: float, n_active: float, known: Values) -> float:
    """Tokens with which a size reaches a loss, by halving an interval of the law itself."""
    return find_root(lambda tokens: loss - simulation.loss_of(n_active, tokens, known), 1e3, 1e40)


PUBLISHED: dict[str, Any] = {"fit": OTHERS}
FITTED = {"fit": "", "law_text": "", "loss": "1"}


@lru_cache
def prescribed_by_search(n_active: float, fit: str) -> float:
    """Tokens for each parameter at the compute whose best size, found by trying sizes, is this one."""
    known = law(fit)
    best = lambda compute: find_minimum(lambda n: simulation.loss_of(n, compute / 6 / n, known), 1e6, 1e15)
    compute = find_root(lambda c: best(c) - n_active, 1e18, 1e32)
    return compute / 6 / n_active**2


own_rule = Quantity(
    "The rule that a fit prescribes",
    level="medium",
    objective=FIT,
    unit="token/parameter",
    display_unit="tokens/parameter",
    tolerance=0.04,
    statement="A published fit of the loss is {law_text}. Training takes 6 FLOPs for each parameter and token. For some compute of training the lowest loss is reached by a dense model of {n_active}. How many tokens for each parameter is it trained on?",
    parameters=PUBLISHED | {"n_active": (BOARD["n_active"], 35e9, 4e11, *(count * 1e9 for count in (1, 2, 4, 7, 13, 20, 25, 30, 50, 60, 70, 80, 150, 200, 250, 300, 500)))},
    derived=fitted,
    units=FITTED,
    answer=eq.best_tokens / v.n_active,
    independent_check=lambda v: prescribed_by_search(v["n_active"], v["fit"]),
    misconceptions={
        PRESCRIBED: "That is the rule of thumb. This fit says something else: set the derivative along a line of equal compute to zero.",
        (v.loss_data / v.loss_size) ** (1 / v.data_power) * v.n_active ** (v.size_power / v.data_power - 1): "You made the two parts of the loss equal. At the best size they are so only if their exponents are equal.",
        1 / (eq.best_tokens / v.n_active): "Upside down: that is parameters for each token.",
    },
    explanation="The fit of the same paper does not give 20 at this size, and its ratio grows with the model. Exponents that differ in the third digit change it, too.",
    hints=(
        "Take a percent more parameters and, for the same compute, a percent fewer tokens. How does each part of the loss change?",
        "At the best size {size_power} × the term with $N$ = {data_power} × the term with $D$. Solve for $D$ and divide by $N$.",
    ),
    solution=(
        "There a percent more parameters gains what a percent fewer tokens loses: exponent × term is the same for both.",
        Step("The tokens that follow:", eq.best_tokens, "token"),
        "For each parameter:",
    ),
)


LEARNERS: dict[str, Any] = {"n_active": (BOARD["n_active"], 35e9, 70e9, 50e9, 40e9, 60e9, 30e9, 20e9), "loss": (1.85, 1.88, 1.9, 1.86, 1.87, 1.92, 1.95)}

needs = Quantity(
    "A smaller model needs more data",
    level="medium",
    objective=FIT,
    unit="token",
    display_unit="trillion tokens",
    tolerance=0.04,
    statement="A published fit of the loss is {law_text}. A dense model of {n_active} is to reach a loss of {loss}. On how many trillions of tokens must it be trained? Keep all digits on the way.",
    parameters=PUBLISHED | LEARNERS,
    derived=fitted,
    condition=lambda v: v["n_active"] < sizes(v)[1],  # smaller than the model that is cheapest to train
    units=FITTED,
    answer=eq.tokens_for_loss,
    independent_check=lambda v: learnt(v["loss"], v["n_active"], v),
    misconceptions={
        PRESCRIBED * v.n_active: "That is the rule of thumb, which does not ask for a loss.",
        (v.loss_data / (v.loss - v.loss_floor)) ** (1 / v.data_power): "The part of the size is missing: data has to bring down only what the size leaves.",
        (v.loss_data / (v.loss - v.loss_size / v.n_active**v.size_power)) ** (1 / v.data_power): "The constant of the fit is missing. No data lowers that part.",
        (v.loss_data / (v.loss - v.loss_floor - v.loss_size / v.n_active**v.size_power)) ** v.data_power: "You raised to the power; $D$ stands under it. Take the inverse power.",
        eq.best_tokens: "Those tokens make this size the best one for its training. Then it has another loss.",
    },
    explanation="Below some size no amount of data reaches this loss. Above it data can stand in for size, at a price that rises steeply as the model shrinks.",
    hints=(
        "How much of the loss is left for the tokens, once the constant and the size have had their part?",
        "The term with $D$ = loss − constant − the term with $N$. So {loss_data} over that is $D$ to the power {data_power}. Solve for $D$.",
    ),
    solution=(
        Step("The part of the size:", v.loss_size / v.n_active**v.size_power, "1"),
        Step("left for the data:", v.loss - v.loss_floor - v.loss_size / v.n_active**v.size_power, "1"),
        f"${eq.tokens_for_loss.latex}$ =",
    ),
)


class Halved(Symbolic):
    """Tokens for a loss, by halving an interval of the law, once its arguments are numbers; they come in the order of
    `names`.
    """

    names = "loss", "n_active", *LETTERS

    @classmethod
    def eval(cls, *given):
        if all(each.is_number for each in given):
            loss, size, *constants = map(float, given)
            return learnt(loss, size, dict(zip(LETTERS, constants)))


REACHED = (
    (FITS["hoffmann"], 35e9, 1.85),
    (FITS["hoffmann"], 8e9, 2.0),
    (FITS["besiroglu"], 100e9, 1.95),
    ("Sardana", 13e9, 1.95),
)  # fit, size, loss
PART_OF_SIZE, EXPONENT = eq.loss_size * eq.n_active**-eq.size_power, 1 / eq.data_power
LEFT = eq.loss - eq.loss_floor - PART_OF_SIZE  # for the data to bring down

learn = Function(
    "Write the tokens for a loss",
    level="medium",
    objective=FIT,
    statement="A fit says that a dense model of n_active parameters, trained on D tokens, has the loss `loss_floor + loss_size / n_active**size_power + loss_data / D**data_power`. Write a Python function of n_active, loss and the five constants that returns D. Solve by hand, or let it search, to six digits at least. It is called by name, with numbers.",
    formula=eq.tokens_for_loss,
    test_points=tuple((law(fit) | {"n_active": size, "loss": loss} for fit, size, loss in REACHED)),
    independent_check=Halved(*symbols(" ".join(Halved.names))),
    misconceptions={
        (eq.loss_data / (eq.loss - eq.loss_floor)) ** EXPONENT: "The part of the size is missing: data has to bring down only what the size leaves.",
        (eq.loss_data / (eq.loss - PART_OF_SIZE)) ** EXPONENT: "loss_floor is missing. No data lowers that part.",
        (eq.loss_data / LEFT) ** eq.data_power: "You raised to the power; $D$ stands under it. Take the inverse power.",
        (LEFT / eq.loss_data) ** EXPONENT: "Upside down: the less loss is left for the data, the more of it is needed.",
        6 * eq.n_active * (eq.loss_data / LEFT) ** EXPONENT: "That is the compute of training. The question is about tokens.",
        20 * eq.n_active: "That is the rule of thumb, which does not ask for a loss.",
    },
    explanation="With this function and 6ND you have the cost of every model at a loss, and can look for the cheapest.",
    hints=(
        "What is left of the loss when the floor and the size have had their part?",
        "That rest is `loss_data / D**data_power`. Solve for $D$.",
    ),
    solution=(
        f"${eq.tokens_for_loss.latex}$, as code",
        Step("", "(loss_data / (loss - loss_floor - loss_size / n_active ** size_power)) ** (1 / data_power)"),
    ),
)


def steepness(values: Values) -> float:
    """Serving over training at the least total, from how fast tokens must grow as the model shrinks at a constant
    loss, by differences.
    """
    size, tokens, step = values["n_active"], values["pretrain_tokens"], 1e-4
    loss = simulation.loss_of(size, tokens, values)
    change = learnt(loss, size * (1 + step), values) - learnt(loss, size / (1 + step), values)
    return -change / tokens / (2 * step) - 1  # of 6ND plus a cost proportional to N, at its least value


condition = Quantity(
    "Serving over training at the optimum",
    level="hard",
    objective=FIT,
    unit="1",
    tolerance=0.03,
    statement="A published fit of the loss is {law_text}. Of all models with the same loss, one of {n_active}, trained on {pretrain_tokens}, has the least cost of training and serving together, for the traffic it gets. Training costs in proportion to $N D$, serving in proportion to $N$. How many times as much as training does serving cost for this model?",
    parameters={"fit": PUBLISHED["fit"][:1], "n_active": (3e10, 2e10, 22e9, 24e9, 25e9, 28e9, 32e9, 35e9, 4e10), "pretrain_tokens": (55e12, 4e13, 45e12, 5e13, 6e13, 65e12, 7e13, 8e13, 9e13, 1e14)},
    derived=fitted,
    condition=lambda v: 0.7 < eq.inference_over_training(v) < 1.8,
    units=FITTED,
    answer=eq.inference_over_training,
    independent_check=steepness,
    misconceptions={
        eq.inference_over_training + 1: "One too many: a smaller model also takes fewer FLOPs for each token of its training, so training does not get dearer by all that tokens are added.",
        1 / eq.inference_over_training: "Upside down: that is training over serving.",
        (eq.inference_over_training + 1) * (v.data_power / v.size_power) ** 2 - 1: "The exponents are upside down: each stands with its own part of the loss.",
        (eq.inference_over_training + 1) * v.data_power / v.size_power - 1: "The exponents are forgotten. How fast a term changes with a percent is the term times its exponent.",
    },
    explanation="Not far from one, as the lecture's rule has it, by this fit and for this model. The traffic is not needed: it follows.",
    hints=(
        "Make the model a percent smaller. By how many percent must the tokens grow to keep the loss?",
        "They grow by $r$ percent, where $r$ = ({size_power} × the term with $N$) ÷ ({data_power} × the term with $D$). Training then costs $r$ − 1 percent more, serving one percent less, and at the least sum the two cancel.",
    ),
    solution=(
        Step("Exponent × term with $N$:", v.size_power * v.loss_size / v.n_active**v.size_power, "1"),
        Step("exponent × term with $D$:", v.data_power * v.loss_data / v.pretrain_tokens**v.data_power, "1"),
        "The ratio, less one:",
    ),
)


def strength() -> float:
    """Times that a percent of size does what a percent of tokens does, where the least cost has equal parts, by
    search.
    """

    def short(times: float) -> float:
        best = find_minimum(lambda n: n * n**-times + n, 1e-6, 1e6)  # at a given loss tokens go as n^-times; training costs n × tokens, serving n
        return 1 - best**-times  # serving less training, for each parameter

    return find_root(short, 1.01, 10)


twice_as_strongly = Choice(
    "When equal costs are right",
    level="medium",
    objective=FIT,
    statement="Training costs in proportion to size × tokens, serving in proportion to size. Suppose that at the least cost of the two together, at a given loss, serving costs exactly what training costs. How much does a percent more size lower the loss there, against a percent more tokens?",
    independent_check=lambda v: {1.0: "a", 2.0: "b", 0.5: "c"}[round(strength(), 3)],
    options=[
        wrong("as much", "Then a percent off the size takes a percent more tokens, and training costs what it did, while serving is cheaper: shrink on. That is the best size for training alone, not for both."),
        right("twice as much", "Nothing in a loss makes it just two. Where the ratio is larger, more should be spent on serving than on training, and less where it is smaller."),
        wrong("half as much", "Then size would do less than tokens, and a smaller model would be cheaper to train as well as to serve. Shrink on."),
        wrong("the loss has no part in it: equal costs are always the least", "Equal costs are best where one rises as steeply as the other falls. The loss says how steeply training rises as the model shrinks."),
    ],
    hints=(
        "Shrink the model by a percent. What does serving save? So what may training cost more, if both cost the same?",
        "Training is size × tokens. If it may rise by one percent while the size falls by one, by how many percent do the tokens rise?",
    ),
    solution=(
        "A percent less size saves a percent of serving, so training rises by a percent, though its size falls by one.",
        "So tokens rise by two percent: a percent of size does what two percent of tokens do.",
    ),
)


def cheapest(known: Values, **changed: float) -> float:
    """The size with the least lifetime cost at a loss: where serving over training is what the first-order condition
    asks.
    """
    known = {**known, **changed}
    smallest, largest = sizes(known)

    def short(n: float) -> float:
        tokens = eq.tokens_for_loss(known, n_active=n)
        training = eq.pretrain_compute(known, n_active=n, pretrain_tokens=tokens)
        return eq.inference_compute(known, n_active=n) / training - eq.inference_over_training(known, n_active=n, pretrain_tokens=tokens)

    return find_root(short, smallest * (1 + 1e-6), largest / (1 + 1e-6))


def tried(known: Values) -> str:
    """What training and serving cost together, in words, at the cheapest size and at some around it."""
    middle = float(f"{cheapest(known):.1e}")

    def total(n: float) -> float:
        training = eq.pretrain_compute(known, n_active=n, pretrain_tokens=eq.tokens_for_loss(known, n_active=n))
        return training + eq.inference_compute(known, n_active=n)

    return ", ".join(f"{tens(total(n))} at {pretty(n, 'parameter')}" for n in (0.7 * middle, middle, 1.5 * middle, 3 * middle))


best_size = Quantity(
    "The cheapest model at a loss",
    level="hard",
    objective=FIT,
    unit="parameter",
    display_unit="billion parameters",
    tolerance=0.04,
    statement="A published fit of the loss is {law_text}. A dense model is to reach a loss of {loss} and will generate {inference_tokens}. Training takes 6 FLOPs for each parameter and token, generating 2, at {decode_efficiency} of training's MFU. With how many billions of parameters does it cost the least to train and serve? Use a computer.",
    parameters={
        "fit": PUBLISHED["fit"][:1],
        "loss": (1.85, 1.86, 1.87, 1.88),
        "inference_tokens": (ROUNDED, 5e13, 2e13, 3e13, 1e14, 15e13),
        "decode_efficiency": (ETA, 0.2, 0.4),
    },
    derived=fitted,
    units=FITTED,
    answer=cheapest,
    independent_check=lambda v: simulation.best(v["loss"], v["inference_tokens"], v, v["decode_efficiency"]).n_active,
    misconceptions={
        lambda v: sizes(v)[1]: "That size reaches the loss with the least training. Serving wants it smaller.",
        lambda v: sizes(v)[0]: "A model of that size would need endless data. Somewhat larger ones are cheaper to train by far.",
        lambda v: cheapest(v, decode_efficiency=1): "The efficiency is missing: generating keeps the chips busy for longer than its FLOPs say, so serving weighs more.",
        lambda v: cheapest(v, inference_tokens=3 * v["inference_tokens"]): "You served with 6 FLOPs. There is no backward pass in serving.",
    },
    explanation="Compare it with the size that is best for training alone: the traffic makes the model a good deal smaller and its training longer.",
    hints=(
        "For a size, find the tokens that reach the loss; then 6 $N D$ plus what serving costs. Try sizes.",
        "Or use the condition: at the least cost, serving over training is ({size_power} × the term with $N$) ÷ ({data_power} × the term with $D$) − 1.",
    ),
    solution=lambda v: [
        Step("Try sizes, each with the tokens that bring it to the loss. Training alone costs least at", sizes(v)[1], "parameter"),
        Step("Training and serving together: " + tried(v) + "."),
        Step("Finer steps end at a model that is trained on", eq.tokens_for_loss(v, n_active=cheapest(v)), "token"),
        Step("and has", cheapest(v), "parameter"),
    ],
)

# --- with the KV cache -----------------------------------------------------------------------------------------------

READ = eq.context * eq.kv * eq.flops / eq.bandwidth
MULTIPLY = 2 * eq.n_active
INTENSITY = chip("h100-sxm").flops("fp8") / chip("h100-sxm").bandwidth  # FLOP/byte


def cached(values: Values) -> Values:
    """A drawn dense model and GPU in FP8, in the notation's names, and the heads that its cache is made of."""
    net, card = model(values["net"]), chip(values["kind"])
    [heads] = net.attention
    own = {
        "layer_count": net.layers,
        "kv_heads": heads.kv_heads,
        "query_heads": heads.heads,
        "head_dim": heads.head_dim,
    }
    known = card.symbols("fp8") | net.symbols("fp8", kv="fp8") | own
    return known | {"pretrain_tokens": net.training_tokens, "net_name": net.name, "chip_name": plain(card.name)}


CACHED = NAMED | {"layer_count": "1", "kv_heads": "1", "query_heads": "1", "head_dim": "1", "context": "token"}
SERVER = "{net_name} uses {n_active} for each token. Each of its {layer_count} layers keeps a key and a value for {kv_heads} KV heads, each of {head_dim} numbers of one byte; it has {query_heads} query heads. {chip_name} has a peak of {flops} (dense, FP8) and a bandwidth of {bandwidth}. "


def read_times(values: Values) -> float:
    """Seconds to read a batch's cache over seconds to multiply its tokens, the cache counted from the heads."""
    net = model(values["net"])
    [heads] = net.attention
    vectors = [len(("key", "value")) * heads.kv_heads * heads.head_dim for _ in range(net.layers)]
    cache = sum(vectors) * values["context"]
    return (values["batch"] * cache / values["bandwidth"]) / (values["batch"] * 2 * net.n_active / values["flops"])


kv_times = Quantity(
    "The KV cache against the compute",
    level="medium",
    objective=LIFE,
    unit="1",
    statement=SERVER + "It serves {batch}, each with {context} of context. As many of these chips as it takes share weights and cache evenly. Leave out loading the weights, and attention's own compute. With both at their peaks, how many times as long does a decode step take to load the KV cache as to compute?",
    parameters={
        "net": ("llama-3.1-8b", "llama-3.1-405b", "qwen3-8b", "llama-3.1-70b"),
        "kind": ("h100-sxm", "b200"),
        "context": (8192, 16384, 32768),
        "batch": (128, 64),
    },
    derived=cached,
    units=CACHED,
    answer=eq.decode_flop / eq.decode_flop.at(context=0),
    independent_check=read_times,
    misconceptions={
        eq.decode_flop / eq.decode_flop.at(context=0) * v.batch: "Each sequence loads its own cache and computes its own token. The batch cancels.",
        eq.decode_flop / eq.decode_flop.at(context=0) / 2: "Half of it: a key and a value are kept, not one of the two.",
        eq.decode_flop / eq.decode_flop.at(context=0) * 2: "Twice as much: each parameter takes two FLOPs for a token, and $F$ counts both.",
        eq.decode_flop / eq.decode_flop.at(context=0) * v.query_heads / v.kv_heads: "You kept keys and values for every query head. Several of these share one KV head.",
        eq.decode_flop / eq.decode_flop.at(context=0) / v.layer_count: "That is the cache of one layer. Every layer keeps its own.",
        eq.decode_flop / eq.decode_flop.at(context=0) / v.context: "That is the cache of one token. All of the context is loaded.",
    },
    explanation="So a generated token costs that many times its two FLOPs per parameter. A large model suffers far less, because its weights grow faster than its cache.",
    hints=(
        "First the bytes of one token's cache: layers × 2 × KV heads × numbers.",
        "Loading: context × those bytes ÷ bandwidth. Compute: 2 × parameters ÷ peak.",
    ),
    solution=(
        Step("Cache of a token:", v.kv_bytes_per_token, "byte"),
        Step("Loading a sequence's cache takes", v.context * v.kv_bytes_per_token / v.bandwidth, "s"),
        Step("the compute of its token", 2 * v.n_active / v.flops, "s"),
        "The ratio:",
    ),
)

kv_letters = Expression(
    "A served token with its cache",
    level="medium",
    objective=LIFE,
    statement="A dense model with N_act parameters generates with L tokens of context, whose KV cache takes kappa bytes each, on a machine with a peak of F FLOPs and a bandwidth of W. Compute and memory traffic overlap, and the batch is so large that loading the weights costs next to nothing. How many FLOPs could the machine have done in the time that it spends on one token of one sequence?",
    formula=eq.decode_flop,
    independent_check=eq.flops * Max(2 * eq.n_active / eq.flops, eq.context * eq.kv / eq.bandwidth),
    misconceptions={
        MULTIPLY + READ: "Compute and memory traffic overlap. The longer one counts, not the sum.",
        Min(MULTIPLY, READ): "The token is done when both are done: the longer one counts.",
        MULTIPLY: "That is the two FLOPs for each parameter. While the cache is read the machine is not free for others.",
        READ: "That is for long contexts. With a short one, multiplying takes longer.",
        Max(MULTIPLY, READ / 2): "That lets a multiply-add count once in $F$ but twice at the parameters. Here it counts as two in both.",
        Max(eq.n_active, READ): "A parameter takes a multiply-add for each token, and that is two FLOPs.",
        Max(6 * eq.n_active, READ): "Six is training. Generating only runs forward.",
        Max(MULTIPLY, roofline.batch * READ): "Each sequence reads its own cache, and pays for its own.",
    },
    explanation=f"F/W is the price of a byte in FLOPs: {INTENSITY:.0f} on an H100 in FP8. MatX counts what a model costs over its life with this.",
    hints=(
        "How long does the compute take for this token, and how long the loading of its cache?",
        "The longer of the two times, multiplied by $F$.",
    ),
    solution=(Step("The longer of $\\,2 N / F$ and $L \\kappa / W$, times $F$. Typed:", "max(2 * N_act, L * kappa * F / W)"),),
)


def caught_up(values: Values) -> float:
    """Tokens after which the chips have worked as long on serving as on training, in seconds of one chip, by search."""
    each = max(2 * values["n_active"] / values["flops"], values["context"] * values["kv_bytes_per_token"] / values["bandwidth"])
    training = values["pretrain_tokens"] * sum([2 * values["n_active"] / values["flops"]] * 3)
    return find_root(lambda served: served * each - training, 1e6, 1e20)


even = Quantity(
    "When serving has cost as much as training",
    level="hard",
    objective=LIFE,
    unit="token",
    display_unit="trillion tokens",
    statement=SERVER
    + "It was pre-trained on {pretrain_tokens} at 6 FLOPs for each parameter and token, and it generates with {context} of context, in batches so large that loading the weights costs next to nothing. Compute and memory traffic overlap, and both run at their peaks. After how many trillions of generated tokens have the chips worked as long on serving as on training?",
    parameters={
        "net": ("llama-3.1-8b", "qwen3-8b", "llama-3.1-70b", "qwen3-4b", "qwen3-14b", "qwen3-32b"),
        "kind": ("h100-sxm", "b200", "h200"),
        "context": (2048, 4096, 1024, 3072, 8192),
    },
    derived=cached,
    units=CACHED,
    answer=eq.pretrain_compute / eq.decode_flop,
    independent_check=caught_up,
    misconceptions={
        eq.pretrain_compute / eq.decode_flop.at(context=0): "The KV cache is left out. Loading it takes longer than the compute here.",
        eq.pretrain_compute / (eq.decode_flop + eq.decode_flop.at(context=0)): "Compute and memory traffic overlap. The longer one counts, not the sum.",
        eq.pretrain_compute / 3 / eq.decode_flop: "You trained with 2 FLOPs. Training goes backward, too.",
        v.pretrain_tokens: "That many tokens would cost as much at 6 FLOPs for each parameter. Work out what one generated token costs here.",
    },
    explanation="Without the cache a model could serve three times its tokens of training until then. Loading the cache is one reason why generating makes poor use of the chips.",
    hints=(
        "What does a generated token cost, in FLOPs that the chip could have done meanwhile?",
        "Training's 6 $N D$ over the larger of 2 $N$ and context × bytes × rate ÷ bandwidth.",
    ),
    solution=(
        Step(f"${eq.pretrain_compute.latex}$ =", lambda v: tens(eq.pretrain_compute(v))),
        Step("A token multiplies", eq.decode_flop.at(context=0), "FLOP"),
        Step("and while its cache is read the chip could do", eq.decode_flop, "FLOP"),
        "So serving has caught up after",
    ),
)
