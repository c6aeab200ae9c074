"""Practice problems of the batching lesson: the lecture's cards 1.1-1.6 and 1.9, and what people get wrong."""

from __future__ import annotations

from sympy import Max

from blackboard.batching import equations as eq
from blackboard.catalogue import chip, model, system
from blackboard.practice import Choice, Estimate, Expression, Function, Mistake, Ordering, Quantity, Step, Values

HOUR = 3600.0
FP4, FP8, BF16 = 0.5, 1.0, 2.0


def rack(values: Values) -> Values:
    """What a drawn system and model stand for, in the notation's names."""
    machine, net = system(values["machine"]), model(values["net"])
    bytes_per_param = values.get("bytes_per_param", FP8)
    precision = {FP4: "fp4", FP8: "fp8", BF16: "bf16"}[bytes_per_param]
    bound = net.symbols(precision) | machine.symbols(precision)
    return bound | {
        "bytes_per_param": bytes_per_param,
        "machine_name": machine.name,
        "net_name": net.name,
        "chip_bandwidth": machine.chip.hbm_bytes_per_s,
    }


RACKS = {
    "machine": ("gb200-nvl72", "gb300-nvl72", "h200-8", "b200-64"),
    "net": ("deepseek-v3", "qwen3-235b-a22b", "kimi-k2", "glm-4.5"),
}
PLAIN = {"machine_name": "", "net_name": "", "chip_bandwidth": "byte/s"}

guess = Estimate(
    id="guess",
    title="A guess before you read",
    level="easy",
    ask=(
        "A server, {machine_name}, runs {net_name} with FP8 weights. A token generated all alone, for which all weights"
        " are read, costs the rent of the whole machine for that step. Served in a batch as large as one likes, with"
        " short contexts, by which factor does it get cheaper? Guess: within a factor of three counts."
    ),
    draw=RACKS,
    derive=rack,
    units=PLAIN,
    unit="1",
    objective="say what batching is worth",
    answer=lambda v: eq.batching_gain(v),
    second=lambda v: (v["n_total"] * v["bytes_per_param"] / v["bandwidth"]) / (2 * v["n_active"] / v["flops"]),
    means=("Thousands. All weights are read once per step here, and a token alone pays for all of that reading."),
    mistakes=(
        Mistake(
            lambda v: eq.fast_mode_batch_ratio(v, price_ratio=6, speed_ratio=2.5),
            "That is what a fast mode gives up, or how sparse the model is. The range from a batch of one to a full one"
            " is far wider.",
        ),
        Mistake(
            lambda v: eq.hardware_constant(v),
            "You let the lone token read only the experts it is routed to, and then that is the factor. The lecture"
            " lets it read all weights; the lesson's last part says which holds when.",
        ),
    ),
    hints=(
        "A token alone pays for reading all weights; in a huge batch it pays only for its own multiplications.",
        (
            "Compare the time to read {n_total} from memory with the time to multiply one token by the {n_active} that"
            " are active."
        ),
    ),
    solution=lambda v: [
        Step(f"Reading all weights once: ${eq.weight_time.latex}$ =", eq.weight_time(v), "s"),
        Step(f"Multiplying one token: ${eq.compute_time.latex}$ with $B = 1$:", eq.compute_time(v, batch=1), "s"),
        Step("Their ratio, which is what batching is worth, is", eq.batching_gain(v), "1"),
    ],
)

roofline = Choice(
    id="roofline",
    title="The time of one pass",
    level="easy",
    ask=(
        "In one forward pass the machine multiplies for $t_\\mathrm{compute}$ and reads memory for"
        " $t_\\mathrm{memory}$, and it does both at once. How long does the pass take at least?"
    ),
    options={"a": "their sum", "b": "their maximum", "c": "their minimum", "d": "their average"},
    answer="b",
    second=lambda v: "b",
    objective="write the roofline of a decode step",
    means="The slower of the two is the floor; the other hides behind it.",
    mistakes=(
        Mistake(
            "a",
            "The sum holds only if reading and multiplying take turns. Hardware overlaps them, so the sum is an upper"
            " bound.",
        ),
        Mistake("c", "The faster part does not set the pace: the pass is done when both are done."),
        Mistake("d", "Nothing averages here: the pass ends when the slower of the two ends."),
    ),
    hints=("Two workers carry on at the same time. When is the job done?",),
    solution=lambda v: [
        Step(f"Both go on at once, so the pass ends with the slower: ${eq.step_time.latex}$."),
        Step("So the answer is", "b"),
    ],
)

compute = Expression(
    id="compute",
    title="Time to multiply",
    level="easy",
    ask=(
        "Write the time to multiply for one decode step, from the batch B, the active parameters N_act and the"
        " datasheet rate F, which counts a multiply and an add as two FLOPs. Leave attention's own FLOPs out."
    ),
    formula=eq.compute_time,
    answer=None,
    second=lambda v: 2 * eq.batch * eq.n_active / eq.flops,
    objective="write the roofline of a decode step",
    means="Every new token meets every active parameter once: one multiply and one add.",
    mistakes=(
        Mistake(
            eq.batch * eq.n_active / eq.flops,
            "That is the board's form, where F counts one multiply-add as one. A datasheet's F counts two.",
        ),
        Mistake(
            2 * eq.batch * eq.n_total / eq.flops,
            "A token is multiplied by the parameters it is routed to, not by all of them.",
        ),
        Mistake(
            2 * eq.batch * eq.context * eq.n_active / eq.flops,
            "Decoding multiplies only the one new token of each sequence. The old ones are in the KV cache.",
        ),
        Mistake(2 * eq.n_active / eq.flops, "That is one sequence. A batch multiplies B tokens."),
        Mistake(eq.flops / (2 * eq.batch * eq.n_active), "Upside down: more work takes longer."),
    ),
    hints=(
        "How many multiply-adds does one token need? One per active parameter.",
        "Work over rate is time; each multiply-add is 2 FLOP.",
    ),
    solution=lambda v: [
        Step("One multiply-add per active parameter and sequence, two FLOPs each, over the rate:"),
        Step(f"${eq.compute_time.latex}$, typed as", "2 * B * N_act / F"),
    ],
)

memory = Expression(
    id="memory",
    title="Time to read",
    level="easy",
    ask=(
        "Write the time to read memory in one decode step, from B, the context L, N_tot, the bytes per weight b_w, the"
        " KV bytes per token kappa and the bandwidth W."
    ),
    formula=eq.memory_time,
    answer=None,
    second=lambda v: (eq.n_total * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth,
    objective="write the roofline of a decode step",
    means="Weights once per step for everybody, KV once per sequence.",
    mistakes=(
        Mistake(
            (eq.n_active * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth,
            "A batch of any size touches nearly every expert, so all weights are read. The lecture's own flashcard had"
            " this error until 22 July 2026.",
        ),
        Mistake(
            (eq.n_total + eq.batch * eq.context * eq.kv) / eq.bandwidth,
            "That is the board's form, in which a parameter is one byte. Weights take b_w bytes each.",
        ),
        Mistake(
            eq.batch * (eq.n_total * eq.bytes_per_param + eq.context * eq.kv) / eq.bandwidth,
            "The weights are read once per step and shared by the whole batch. That sharing is what batching is.",
        ),
        Mistake(
            (eq.n_total * eq.bytes_per_param + eq.batch * eq.kv) / eq.bandwidth,
            "A new token attends to the whole context, so each sequence reads L tokens of KV, not one.",
        ),
        Mistake(
            Max(eq.n_total * eq.bytes_per_param, eq.batch * eq.context * eq.kv) / eq.bandwidth,
            "Weights and KV come over one bus, one after the other: their times add.",
        ),
        Mistake(
            eq.n_total * eq.bytes_per_param / eq.bandwidth, "The KV cache is missing: each sequence reads its own."
        ),
    ),
    hints=(
        "Two things are read: the weights, and every sequence's KV cache.",
        "Which of the two grows with the batch?",
    ),
    solution=lambda v: [
        Step("The weights once, and for each of B sequences L tokens of KV, over the bandwidth:"),
        Step(f"${eq.memory_time.latex}$, typed as", "(N_tot * b_w + B * L * kappa) / W"),
    ],
)

floor_why = Choice(
    id="floor-why",
    title="Where the floor comes from",
    level="easy",
    ask="As the batch shrinks, the step time of the model stops falling. What sets that floor?",
    options={
        "a": "reading the active weights",
        "b": "reading all the weights",
        "c": "reading the KV cache",
        "d": "multiplying by the weights",
    },
    answer="b",
    second=lambda v: "b",
    objective="find the latency floor",
    means=(
        "All weights cross the memory bus once per step, because together the sequences of a batch touch nearly every"
        " expert."
    ),
    mistakes=(
        Mistake(
            "a",
            "One token is routed to the active ones only, but the batch as a whole touches nearly all. This was the"
            " published flashcard's own error until 22 July 2026.",
        ),
        Mistake("c", "KV is read per sequence, so that time goes to nothing with the batch."),
        Mistake("d", "Multiplying is per sequence as well: half the batch, half the time."),
    ),
    hints=("Which of the three times does not fall when the batch falls?",),
    solution=lambda v: [
        Step(f"Only the weight time has no $B$ in it: ${eq.latency_floor.latex}$."),
        Step("So the answer is", "b"),
    ],
)

floor = Quantity(
    id="floor",
    title="The latency floor",
    level="medium",
    ask=(
        "{net_name} stores {n_total} and activates {n_active} for each token. A weight takes {bytes_per_param}. The"
        " server, {machine_name}, reads {bandwidth} in all. How long does a step take at least, if its batch"
        " touches every expert?"
    ),
    draw=RACKS | {"bytes_per_param": (FP8, BF16)},
    derive=rack,
    units=PLAIN,
    unit="s",
    asked="ms",
    objective="find the latency floor",
    answer=lambda v: eq.latency_floor(v),
    second=lambda v: sum([v["n_total"] / 1000 * v["bytes_per_param"] / v["bandwidth"]] * 1000),
    means="No amount of money makes this model answer faster on this machine: the floor is a property of the two.",
    mistakes=(
        Mistake(
            lambda v: eq.first_floor(v),
            "You read only the active parameters. A batch touches nearly every expert, so all weights are read.",
        ),
        Mistake(
            lambda v: eq.latency_floor(v, bandwidth=v["chip_bandwidth"]),
            "That is one chip's bandwidth. The weights are spread over all chips, which read at the same time.",
        ),
        Mistake(lambda v: eq.latency_floor(v) * 8, "Off by 8: bits where bytes are meant."),
    ),
    hints=("The floor is the time to read all weights once.", "Bytes to read: parameters × bytes per parameter."),
    solution=lambda v: [
        Step(
            f"${eq.latency_floor.latex}$ with {{n_total}}, {{bytes_per_param}}, {{bandwidth}}:",
            eq.latency_floor(v),
            "s",
        )
    ],
)

curve = Ordering(
    id="curve",
    title="Walk along the latency curve",
    level="medium",
    ask=(
        "Draw step time against batch, with a context shorter than the balanced one, and walk along it from the"
        " smallest batch to the largest. In which order do you meet these?"
    ),
    items={
        "a": "a kink where multiplying takes over",
        "b": "a steep straight line that passes through the origin if drawn on",
        "c": "the time to read the weights, where the curve starts",
        "d": "a gentle rise as KV caches add up",
    },
    answer="cdab",
    second=lambda v: "cdab",
    objective="draw latency and cost against batch",
    means="Floor, gentle slope, kink, steep slope: that is the whole picture.",
    mistakes=(
        Mistake("badc", "That is the walk from right to left: a small batch is at the left."),
        Mistake(
            "bacd", "At a small batch the machine waits for weights, not for multipliers: the steep line comes last."
        ),
    ),
    hints=(
        "What does the step cost when the batch is almost nothing?",
        "The KV slope is gentler than the compute slope when the context is short.",
    ),
    solution=lambda v: [
        Step(
            "It starts at the weight time, rises with the KV caches, bends where multiplying overtakes, and follows the"
            " compute line:"
        ),
        Step("in letters", "cdab"),
    ],
)

amortise = Choice(
    id="amortise",
    title="What a batch cannot share",
    level="easy",
    ask="Which costs per token stay, however large the batch becomes?",
    options={
        "a": "reading the weights",
        "b": "multiplying only",
        "c": "multiplying and reading the KV cache",
        "d": "none: everything is shared",
    },
    answer="c",
    second=lambda v: "c",
    objective="find the cost floor",
    means="Both are done anew for each sequence, and the larger of the two is the cost floor.",
    mistakes=(
        Mistake("a", "The weights are the one thing that the whole batch shares."),
        Mistake("b", "Multiplying stays, but every sequence also reads a KV cache of its own."),
        Mistake("d", "Only the weights are shared. If everything were, waiting long enough would make tokens free."),
    ),
    hints=("Divide the three times by B. Which still contain no 1/B?",),
    solution=lambda v: [
        Step(f"Divided by $B$, the weights fall as $1/B$ and the other two stay: ${eq.cost_floor.latex}$."),
        Step("So the answer is", "c"),
    ],
)

hyperbola = Choice(
    id="hyperbola",
    title="The shape of sharing",
    level="easy",
    ask="On the picture of cost per token against batch, which curve is the weights' share?",
    options={"a": "a parabola", "b": "a hyperbola", "c": "a falling straight line", "d": "a horizontal line"},
    answer="b",
    second=lambda v: "b",
    objective="draw latency and cost against batch",
    means="A constant divided by B. Doubling the batch halves each token's share.",
    mistakes=(
        Mistake("a", "The word was said at the board, and corrected: a constant over B is no parabola."),
        Mistake("c", "A straight line would reach zero. The share halves with every doubling and never gets there."),
        Mistake("d", "Horizontal are the costs that are paid per sequence: multiplying and KV."),
    ),
    hints=("A fixed cost shared by B.",),
    solution=lambda v: [
        Step("The weight time has no $B$; per token it is divided by $B$, a hyperbola."),
        Step("So the answer is", "b"),
    ],
)

batch_of = Choice(
    id="batch-of",
    title="A batch of two thousand",
    level="easy",
    ask="The lecture speaks of a batch of about 2,000. Two thousand what?",
    options={
        "a": "tokens of context",
        "b": "sequences, each getting one new token",
        "c": "prompts per second",
        "d": "users who have a window open",
    },
    answer="b",
    second=lambda v: "b",
    objective="write the roofline of a decode step",
    means="A decode step makes one new token for each of them.",
    mistakes=(
        Mistake(
            "a", "This was asked at the board too (0:20:19). 2,000 tokens would be less than one long conversation."
        ),
        Mistake("c", "A batch has no rate in it. Prompts per second follow from how often a batch leaves."),
        Mistake(
            "d", "Most of them are reading or typing. Only sequences that are being generated right now ride along."
        ),
    ),
    hints=("What does one forward pass of decoding produce?",),
    solution=lambda v: [
        Step("One pass gives every sequence of the batch one new token."),
        Step("So the answer is", "b"),
    ],
)

step = Function(
    id="step",
    title="Write the roofline",
    level="medium",
    ask=(
        "Write a Python function of the eight symbols that returns the time of one decode step in seconds. It is called"
        " by name, with numbers."
    ),
    formula=eq.step_time,
    answer=None,
    second=lambda v: Max(
        2 * eq.batch * eq.n_active / eq.flops,
        (eq.n_total * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth,
    ),
    objective="write the roofline of a decode step",
    means="That one line carries the whole lesson: every other number here follows from it.",
    mistakes=(
        Mistake(
            eq.compute_time.expr + eq.memory_time.expr,
            "You added the two times. They overlap, so the slower one counts.",
        ),
        Mistake(
            Max(eq.batch * eq.n_active / eq.flops, eq.memory_time.expr),
            "A datasheet counts the multiply and the add: each active parameter costs 2 FLOP per token.",
        ),
        Mistake(
            Max(
                eq.compute_time.expr, (eq.n_active * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth
            ),
            "You read only the active parameters; a batch touches nearly all.",
        ),
        Mistake(
            Max(eq.compute_time.expr, eq.weight_time.expr, eq.kv_time.expr),
            "Weights and KV come over one bus, one after the other: add them before taking the maximum.",
        ),
        Mistake(eq.memory_time.expr, "That is the memory half. At a large batch the multipliers are the slower part."),
    ),
    hints=(
        "Two times, and the larger of them.",
        "def step(batch, context, n_active, n_total, bytes_per_param, kv_bytes_per_token, flops, bandwidth): ...",
    ),
    solution=lambda v: [
        Step(f"${eq.step_time.latex}$"),
        Step(
            "As code:",
            "max(2 * batch * n_active / flops, (n_total * bytes_per_param + batch * context * kv_bytes_per_token) /"
            " bandwidth)",
        ),
    ],
)


def priced(values: Values) -> Values:
    """A rack with its rent per chip and hour turned into the notation's unit."""
    return rack(values) | {"rent": values["hourly"] / HOUR}


cost = Quantity(
    id="cost",
    title="What a million tokens cost",
    level="medium",
    ask=(
        "A server, {machine_name} ({chips}, {flops} in FP8, {bandwidth}), runs {net_name} ({n_total}, of which"
        " {n_active} are active, FP8 weights, {kv_bytes_per_token} of KV) in batches of {batch} with {context} of"
        " context each. A GPU rents for {hourly} an hour. What does one million generated tokens cost in rent?"
    ),
    draw=RACKS | {"batch": (256, 512, 1024), "context": (4096, 8192), "hourly": (2.0, 3.0, 4.0)},
    derive=priced,
    units=PLAIN | {"hourly": "USD", "context": "token"},
    unit="USD/token",
    asked="$/Mtok",
    objective="price a token",
    answer=lambda v: eq.cost_per_token(v),
    second=lambda v: (
        v["rent"]
        * v["chips"]
        * max(
            2 * v["n_active"] / v["flops"],
            v["n_total"] / v["bandwidth"] / v["batch"] + v["context"] * v["kv_bytes_per_token"] / v["bandwidth"],
        )
    ),
    means="This is rent at the roofline: a floor, before margins, idle time and everything that is slower than ideal.",
    mistakes=(
        Mistake(
            lambda v: eq.cost_per_token(v, chips=1),
            "That is the rent of one GPU. The whole machine works on the step.",
        ),
        Mistake(
            lambda v: eq.cost_per_token(v, batch=1),
            "That is a token served alone: divide the weights over the batch.",
        ),
        Mistake(
            lambda v: eq.cost_per_token(v, kv_bytes_per_token=0),
            "The KV cache is missing: every sequence reads its own in every step.",
        ),
        Mistake(
            lambda v: eq.cost_floor(v),
            "That is the floor for an unlimited batch. This batch still pays for its share of the weights.",
        ),
        Mistake(lambda v: eq.cost_per_token(v) * HOUR, "Off by 3,600: the rent is per hour, the step is in seconds."),
    ),
    hints=(
        "Rent per second of the whole machine × step time ÷ tokens in the step.",
        "First the step time: the larger of multiplying and reading.",
    ),
    solution=lambda v: [
        Step(f"${eq.step_time.latex}$ =", eq.step_time(v), "s"),
        Step("Rent of the machine for that long, in dollars:", v["rent"] * v["chips"] * eq.step_time(v), "USD"),
        Step("Divided by {batch}, one token each; times a million, $/Mtok", eq.cost_per_token(v) * 1e6, "USD"),
    ],
)

critical = Quantity(
    id="critical",
    title="The batch where the wait changes sides",
    level="medium",
    ask=(
        "A chip multiplies {flops} in {precision} and reads {bandwidth}. A model has {n_total}, of which {n_active} are"
        " active, at {bytes_per_param}. From which batch on does multiplying take as long as reading the weights? Leave"
        " KV out."
    ),
    draw={
        "kind": ("h100-sxm", "h200", "b200", "tpu7x"),
        "net": ("deepseek-v3", "qwen3-235b-a22b", "kimi-k2"),
        "precision": ("fp8", "bf16"),
    },
    derive=lambda v: model(v["net"]).symbols(v["precision"]) | chip(v["kind"]).symbols(v["precision"]),
    unit="sequence",
    objective="find the batch at which compute takes over",
    answer=lambda v: eq.critical_batch(v),
    second=lambda v: v["n_total"] * v["bytes_per_param"] / v["bandwidth"] / (2 * v["n_active"] / v["flops"]),
    means="The number of chips cancels: it is a batch per replica, not per GPU.",
    mistakes=(
        Mistake(
            lambda v: eq.critical_batch(v) * 2,
            "Twice too large: a datasheet's FLOP/s counts multiply and add, so a multiply-add takes two.",
        ),
        Mistake(
            lambda v: eq.hardware_constant(v),
            "That is the constant of the hardware, right for a dense model. Here more parameters are read than"
            " multiplied.",
        ),
        Mistake(
            lambda v: eq.hardware_constant(v) * v["n_active"] / v["n_total"],
            "Sparsity is upside down: a sparser model needs a larger batch.",
        ),
        Mistake(
            lambda v: eq.critical_batch(v, bytes_per_param=v["bytes_per_param"] * 4),
            "Bytes per parameter are off.",
        ),
    ),
    hints=(
        "Set time to multiply equal to time to read the weights.",
        "Solve for B: hardware on one side, total over active parameters on the other.",
    ),
    solution=lambda v: [
        Step(f"${eq.hardware_constant.latex}$ =", eq.hardware_constant(v), "token"),
        Step(f"times total over active parameters: ${eq.critical_batch.latex}$ =", eq.critical_batch(v), "sequence"),
    ],
)

balanced = Quantity(
    id="balanced",
    title="The balanced context",
    level="hard",
    ask=(
        "A server, {machine_name}, multiplies {flops} (FP8) and reads {bandwidth}. A model with {n_active} active for"
        " each token keeps {kv_bytes_per_token} of KV. At which context does one more sequence cost as much reading as"
        " multiplying?"
    ),
    draw={
        "machine": RACKS["machine"],
        "n_active": (37e9, 22e9, 100e9),
        "kv_bytes_per_token": (70_272.0, 35_136.0, 2_000.0),
    },
    derive=lambda v: system(v["machine"]).symbols("fp8") | {"machine_name": system(v["machine"]).name},
    units=PLAIN,
    unit="token/sequence",
    asked="token",
    objective="find the balanced context",
    answer=lambda v: eq.balanced_context(v),
    second=lambda v: (2 * v["n_active"] / v["flops"]) / (v["kv_bytes_per_token"] / v["bandwidth"]),
    means="Past it a larger batch no longer fills the multipliers: every sequence brings more reading than work.",
    mistakes=(
        Mistake(lambda v: eq.balanced_context(v) / 2, "Half: each multiply-add is two FLOPs on a datasheet."),
        Mistake(
            lambda v: v["n_active"] / v["kv_bytes_per_token"],
            "The machine is missing: bytes and FLOPs do not take the same time.",
        ),
        Mistake(
            lambda v: v["flops"] / v["bandwidth"],
            "That is the machine alone; the model's multiplications and KV bytes come in too.",
        ),
    ),
    hints=(
        "Per sequence: time to multiply, and time to read its KV.",
        "Set them equal and solve for L; the batch cancels.",
    ),
    solution=lambda v: [
        Step("Multiplying, per sequence:", eq.compute_time(v, batch=1), "s"),
        Step(f"${eq.balanced_context.latex}$ =", eq.balanced_context(v), "token"),
    ],
)

mfu = Quantity(
    id="mfu",
    title="Twice the balanced context",
    level="medium",
    ask=(
        "A serving system is balanced at {context_balanced}. Its users now send {context}. Which share of its peak"
        " FLOPs can it use at best, in percent, with dense attention?"
    ),
    draw={"context_balanced": (100_000.0, 32_000.0, 50_000.0), "times": (2.0, 4.0, 2.5, 5.0)},
    derive=lambda v: {"context": v["times"] * v["context_balanced"]},
    units={"context_balanced": "token", "context": "token"},
    unit="1",
    asked="%",
    objective="find the balanced context",
    answer=lambda v: eq.mfu_limit(
        n_active=1.0, bandwidth=1.0, flops=2.0, kv_bytes_per_token=1 / v["context_balanced"], context=v["context"]
    ),
    second=lambda v: v["context_balanced"] / v["context"],
    means="Reading takes that much longer than multiplying, so the multipliers idle for the rest.",
    mistakes=(
        Mistake(
            lambda v: v["context_balanced"] / v["context"] / 100,
            "That is the fraction; percent is a hundred times it. Type the percentage.",
        ),
        Mistake(lambda v: 1.0, "Only up to the balanced context. Past it the multipliers wait for KV."),
        Mistake(
            lambda v: (v["context_balanced"] / v["context"]) ** 2,
            "A decode step reads each past token once: reading grows in proportion to the context, not with its"
            " square.",
        ),
    ),
    hints=(
        "At the balanced context reading and multiplying take equally long.",
        "Reading grows with the context, multiplying does not.",
    ),
    solution=lambda v: [
        Step(
            f"${eq.mfu_limit.latex}$, so the balanced context over the context, in percent:",
            100 * v["context_balanced"] / v["context"],
            "%",
        )
    ],
)

fast = Quantity(
    id="fast",
    title="What fast mode gives away",
    level="medium",
    ask=(
        "A provider offers the same model {speed_ratio} times as fast at {price_ratio} times the price per token. If"
        " prices follow cost and the chips are the same, how many times smaller is the batch?"
    ),
    draw={"price_ratio": (6.0, 2.0, 4.0), "speed_ratio": (2.5, 3.0)},
    unit="1",
    objective="read a batch out of a price",
    answer=lambda v: eq.fast_mode_batch_ratio(v),
    second=lambda v: (1.0 / 1.0) / ((1.0 / v["speed_ratio"]) / v["price_ratio"]),
    means="Cost per token is rent times step time over batch, so price and speed together give the batch away.",
    mistakes=(
        Mistake(
            lambda v: v["price_ratio"] / v["speed_ratio"],
            "The step got shorter as well: that makes tokens cheaper, so the batch shrank by more.",
        ),
        Mistake(
            lambda v: 1 / (v["price_ratio"] * v["speed_ratio"]),
            "Upside down: fast mode runs a smaller batch, not a larger one.",
        ),
        Mistake(lambda v: v["price_ratio"] + v["speed_ratio"], "Ratios multiply."),
    ),
    hints=("Cost per token is rent × step time ÷ batch.", "Write it for both modes and divide."),
    solution=lambda v: [
        Step(
            "From $c = n p \\, t/B$ for both modes, $B_0/B_1 = (c_1/c_0)(t_0/t_1)$, price times speed:",
            eq.fast_mode_batch_ratio(v),
            "1",
        )
    ],
)

money = Choice(
    id="money",
    title="A hundred times the money",
    level="easy",
    ask=(
        "Somebody pays a hundred times the price for a model in fast mode. What is the most that buys on the same"
        " machine?"
    ),
    options={
        "a": "a hundred times the speed",
        "b": "any speed: it is a matter of price",
        "c": "the latency floor, with the machine to oneself",
        "d": "a larger batch",
    },
    answer="c",
    second=lambda v: "c",
    objective="find the latency floor",
    means="Once the batch no longer matters, the weights still have to be read once per token.",
    mistakes=(
        Mistake("a", "Speed stops at the floor: reading the weights takes as long for one reader as for many."),
        Mistake("b", "Not on this machine. More bandwidth per weight would help: another machine, or fewer bytes."),
        Mistake("d", "A larger batch makes tokens cheaper and slower. Paying for speed means a smaller one."),
    ),
    hints=("What remains of the step time when the batch is one?",),
    solution=lambda v: [
        Step(f"A smaller batch moves left on the curve until it meets ${eq.latency_floor.latex}$."),
        Step("So the answer is", "c"),
    ],
)

slow = Quantity(
    id="slow",
    title="How cheap slow mode can be",
    level="hard",
    ask=(
        "A server, {machine_name}, runs {net_name} (FP8, {n_total}, of which {n_active} are active; KV"
        " {kv_bytes_per_token}) in batches of {batch} with {context} of context each. It multiplies {flops} and reads"
        " {bandwidth}. A reader is willing to wait as long as it takes. By which factor can a token get cheaper at the"
        " most?"
    ),
    draw={
        "machine": ("gb200-nvl72", "b200-64", "h200-8"),
        "net": ("deepseek-v3", "kimi-k2"),
        "batch": (512, 384, 256),
        "context": (2048, 4096),
    },
    derive=rack,
    units=PLAIN | {"context": "token"},
    unit="1",
    objective="find the cost floor",
    answer=lambda v: eq.slow_mode_limit(v),
    second=lambda v: eq.cost_per_token(v, rent=1, chips=1) / eq.cost_per_token(v, rent=1, chips=1, batch=1e12),
    means="What every sequence pays for itself, its multiplications or its KV reads, no waiting can share.",
    mistakes=(
        Mistake(
            lambda v: eq.batching_gain(v),
            "That is from a batch of one, and without KV. This batch already shares most of the weights.",
        ),
        Mistake(
            lambda v: eq.step_time(v) / eq.compute_time(v),
            "You compared with multiplying alone, but at this context reading one sequence's KV takes longer: that is"
            " the floor.",
        ),
        Mistake(
            lambda v: 1 / eq.slow_mode_limit(v),
            "Upside down: the floor is below today's cost, so the factor is above one.",
        ),
        Mistake(
            lambda v: eq.weight_time(v) / eq.compute_time(v),
            "KV is missing: each sequence reads its own cache, which no batch shares.",
        ),
    ),
    hints=(
        "Cost now: step time over batch. Cost at best: what is left when B grows without bound.",
        "The floor per token is the larger of multiplying and reading one sequence's KV.",
    ),
    solution=lambda v: [
        Step("Step time over batch now:", eq.step_time(v) / v["batch"], "s"),
        Step("Per sequence at best, multiplying:", eq.compute_time(v, batch=1), "s"),
        Step("Per sequence at best, reading KV:", eq.kv_time(v, batch=1), "s"),
        Step("Now over the larger of the two:", eq.slow_mode_limit(v), "1"),
    ],
)

train = Quantity(
    id="train",
    title="Just missed it",
    level="medium",
    ask=(
        "A chip holds {hbm} and reads {bandwidth}. A step reads the whole memory once, and a batch leaves whenever the"
        " last step is done. How long may a request that has just arrived wait for its first step to end, at worst?"
    ),
    draw={"kind": ("vr200-nvl72", "h100-sxm", "h200", "gb300-nvl72", "mi300x")},
    derive=lambda v: chip(v["kind"]).symbols(),
    unit="s",
    asked="ms",
    objective="explain the 20 ms train",
    answer=lambda v: eq.worst_latency(interval=eq.drain_time(v)),
    second=lambda v: v["hbm"] / v["bandwidth"] + v["hbm"] / v["bandwidth"],
    means="One interval on the platform, one on the train.",
    mistakes=(
        Mistake(
            lambda v: eq.drain_time(v),
            "That is the ride alone. Who just missed the departure waits an interval first.",
        ),
        Mistake(
            lambda v: eq.mean_latency(interval=eq.drain_time(v)),
            "That is the mean over arrivals spread evenly; the question is the worst.",
        ),
        Mistake(lambda v: 3 * eq.drain_time(v), "There is a seat on the next train: one wait and one ride."),
    ),
    hints=("First the interval: capacity over bandwidth.", "Worst case: the request arrives just after a departure."),
    solution=lambda v: [
        Step(f"${eq.drain_time.latex}$ =", eq.drain_time(v), "s"),
        Step("Twice that:", eq.worst_latency(interval=eq.drain_time(v)), "s"),
    ],
)

train_why = Choice(
    id="train-why",
    title="Why every 20 ms",
    level="medium",
    ask=(
        "Why does a batch leave about every 20 ms, rather than every 5 or every 100, when weights and KV fill the"
        " memory?"
    ),
    options={
        "a": "Networks add about that much latency.",
        "b": (
            "In 20 ms the whole memory is read once; sooner is impossible while every byte is needed, and later leaves"
            " the memory bus idle."
        ),
        "c": "Readers cannot read faster.",
        "d": "The multipliers need 20 ms for one token.",
    },
    answer="b",
    second=lambda v: "b",
    objective="explain the 20 ms train",
    means=(
        "It is capacity over bandwidth. If the memory is not full, a shorter interval is possible; the lesson says by"
        " how much."
    ),
    mistakes=(
        Mistake("a", "The network is not in this number: it is capacity over bandwidth of the memory."),
        Mistake("c", "Fifty tokens a second is faster than anyone reads. The number comes from the memory."),
        Mistake("d", "One token needs well under a microsecond of the rack's multipliers."),
    ),
    hints=("Divide the capacity of an HBM stack by its bandwidth.",),
    solution=lambda v: [
        Step(f"${eq.drain_time.latex}$ is 13 to 39 ms on the chips of the catalogue."),
        Step("So the answer is", "b"),
    ],
)

tokens = Quantity(
    id="tokens",
    title="Tokens per second of a rack",
    level="easy",
    ask="A rack sends off a batch of {batch} every {interval}. How many tokens per second is that?",
    draw={"batch": (2000, 2400, 5000), "interval": (1 / 64, 0.020, 0.015)},
    unit="token/s",
    objective="explain the 20 ms train",
    answer=lambda v: eq.throughput(v),
    second=lambda v: sum(v["batch"] for _ in range(3000)) / (3000 * v["interval"]),
    means="Divide it by what one reader gets and the batch comes back.",
    mistakes=(
        Mistake(lambda v: 1 / v["interval"], "That is one reader's rate. The whole batch gets a token each."),
        Mistake(lambda v: v["batch"] * v["interval"], "Departures per second is one over the interval."),
        Mistake(
            lambda v: v["batch"] / (2 * v["interval"]),
            "A request may wait two intervals, but a batch still leaves every one.",
        ),
    ),
    hints=("How many departures fit in a second?",),
    solution=lambda v: [
        Step("Departures per second:", 1 / v["interval"], "1"),
        Step(f"${eq.throughput.latex}$ =", eq.throughput(v), "token/s"),
    ],
)

PROBLEMS = (
    guess,
    roofline,
    compute,
    memory,
    batch_of,
    floor_why,
    floor,
    curve,
    hyperbola,
    amortise,
    step,
    cost,
    critical,
    balanced,
    mfu,
    fast,
    money,
    slow,
    train,
    train_why,
    tokens,
)
