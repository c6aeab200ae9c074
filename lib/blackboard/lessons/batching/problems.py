"""Practice problems of the batching lesson: the lecture's cards 1.1-1.6 and 1.9, and what people get wrong."""

from __future__ import annotations

from sympy import Max

from blackboard.catalogue import chip, model, system
from blackboard.lessons.batching import equations as eq
from blackboard.problem import Choice, Estimate, Expression, Function, Ordering, Quantity, Step, Values, right, v, wrong

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
    "A guess before you read",
    level="easy",
    objective="say what batching is worth",
    unit="1",
    statement="A server, {machine_name}, runs {net_name} with FP8 weights. A token generated all alone, for which all weights are read, costs the rent of the whole machine for that step. Served in a batch as large as one likes, with short contexts, by which factor does it get cheaper? Guess: within a factor of three counts.",
    parameters=RACKS,
    derived=rack,
    units=PLAIN,
    answer=eq.batching_gain,
    independent_check=v.n_total * v.bytes_per_param / v.bandwidth / (2 * v.n_active / v.flops),
    misconceptions={
        eq.fast_mode_batch_ratio.at(price_ratio=6, speed_ratio=2.5): "That is what a fast mode gives up, or how sparse the model is. The range from a batch of one to a full one is far wider.",
        eq.hardware_constant: "You let the lone token read only the experts it is routed to, and then that is the factor. The lecture lets it read all weights; the lesson's last part says which holds when.",
    },
    explanation="Thousands. All weights are read once per step here, and a token alone pays for all of that reading.",
    hints=(
        "A token alone pays for reading all weights; in a huge batch it pays only for its own multiplications.",
        "Compare the time to read {n_total} from memory with the time to multiply one token by the {n_active} that are active.",
    ),
    solution=(
        Step(f"Reading all weights once: ${eq.weight_time.latex}$ =", eq.weight_time, "s"),
        Step(f"Multiplying one token: ${eq.compute_time.latex}$ with $B = 1$:", eq.compute_time.at(batch=1), "s"),
        "Their ratio, which is what batching is worth, is",
    ),
)

roofline = Choice(
    "The time of one pass",
    level="easy",
    objective="write the roofline of a decode step",
    statement="In one forward pass the machine multiplies for $t_\\mathrm{compute}$ and reads memory for $t_\\mathrm{memory}$, and it does both at once. How long does the pass take at least?",
    options=[
        wrong("their sum", "The sum holds only if reading and multiplying take turns. Hardware overlaps them, so the sum is an upper bound."),
        right("their maximum", "The slower of the two is the floor; the other hides behind it."),
        wrong("their minimum", "The faster part does not set the pace: the pass is done when both are done."),
        wrong("their average", "Nothing averages here: the pass ends when the slower of the two ends."),
    ],
    hints=("Two workers carry on at the same time. When is the job done?",),
    solution=(f"Both go on at once, so the pass ends with the slower: ${eq.step_time.latex}$.",),
)

compute = Expression(
    "Time to multiply",
    level="easy",
    objective="write the roofline of a decode step",
    statement="Write the time to multiply for one decode step, from the batch B, the active parameters N_act and the datasheet rate F, which counts a multiply and an add as two FLOPs. Leave attention's own FLOPs out.",
    formula=eq.compute_time,
    independent_check=2 * eq.batch * eq.n_active / eq.flops,
    misconceptions={
        eq.batch * eq.n_active / eq.flops: "That is the board's form, where F counts one multiply-add as one. A datasheet's F counts two.",
        2 * eq.batch * eq.n_total / eq.flops: "A token is multiplied by the parameters it is routed to, not by all of them.",
        2 * eq.batch * eq.context * eq.n_active / eq.flops: "Decoding multiplies only the one new token of each sequence. The old ones are in the KV cache.",
        2 * eq.n_active / eq.flops: "That is one sequence. A batch multiplies B tokens.",
        eq.flops / (2 * eq.batch * eq.n_active): "Upside down: more work takes longer.",
    },
    explanation="Every new token meets every active parameter once: one multiply and one add.",
    hints=(
        "How many multiply-adds does one token need? One per active parameter.",
        "Work over rate is time; each multiply-add is 2 FLOP.",
    ),
    solution=(
        "One multiply-add per active parameter and sequence, two FLOPs each, over the rate:",
        Step(f"${eq.compute_time.latex}$, typed as", "2 * B * N_act / F"),
    ),
)

memory = Expression(
    "Time to read",
    level="easy",
    objective="write the roofline of a decode step",
    statement="Write the time to read memory in one decode step, from B, the context L, N_tot, the bytes per weight b_w, the KV bytes per token kappa and the bandwidth W.",
    formula=eq.memory_time,
    independent_check=(eq.n_total * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth,
    misconceptions={
        (eq.n_active * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth: "A batch of any size touches nearly every expert, so all weights are read. The lecture's own flashcard had this error until 22 July 2026.",
        (eq.n_total + eq.batch * eq.context * eq.kv) / eq.bandwidth: "That is the board's form, in which a parameter is one byte. Weights take b_w bytes each.",
        eq.batch * (eq.n_total * eq.bytes_per_param + eq.context * eq.kv) / eq.bandwidth: "The weights are read once per step and shared by the whole batch. That sharing is what batching is.",
        (eq.n_total * eq.bytes_per_param + eq.batch * eq.kv) / eq.bandwidth: "A new token attends to the whole context, so each sequence reads L tokens of KV, not one.",
        Max(eq.n_total * eq.bytes_per_param, eq.batch * eq.context * eq.kv) / eq.bandwidth: "Weights and KV come over one bus, one after the other: their times add.",
        eq.n_total * eq.bytes_per_param / eq.bandwidth: "The KV cache is missing: each sequence reads its own.",
    },
    explanation="Weights once per step for everybody, KV once per sequence.",
    hints=(
        "Two things are read: the weights, and every sequence's KV cache.",
        "Which of the two grows with the batch?",
    ),
    solution=(
        "The weights once, and for each of B sequences L tokens of KV, over the bandwidth:",
        Step(f"${eq.memory_time.latex}$, typed as", "(N_tot * b_w + B * L * kappa) / W"),
    ),
)

batch_of = Choice(
    "A batch of two thousand",
    level="easy",
    objective="write the roofline of a decode step",
    statement="The lecture speaks of a batch of about 2,000. Two thousand what?",
    options=[
        wrong("tokens of context", "This was asked at the board too (0:20:19). 2,000 tokens would be less than one long conversation."),
        right("sequences, each getting one new token", "A decode step makes one new token for each of them."),
        wrong("prompts per second", "A batch has no rate in it. Prompts per second follow from how often a batch leaves."),
        wrong("users who have a window open", "Most of them are reading or typing. Only sequences that are being generated right now ride along."),
    ],
    hints=("What does one forward pass of decoding produce?",),
    solution=("One pass gives every sequence of the batch one new token.",),
)

floor_why = Choice(
    "Where the floor comes from",
    level="easy",
    objective="find the latency floor",
    statement="As the batch shrinks, the step time of the model stops falling. What sets that floor?",
    options=[
        wrong("reading the active weights", "One token is routed to the active ones only, but the batch as a whole touches nearly all. This was the published flashcard's own error until 22 July 2026."),
        right("reading all the weights", "All weights cross the memory bus once per step, because together the sequences of a batch touch nearly every expert."),
        wrong("reading the KV cache", "KV is read per sequence, so that time goes to nothing with the batch."),
        wrong("multiplying by the weights", "Multiplying is per sequence as well: half the batch, half the time."),
    ],
    hints=("Which of the three times does not fall when the batch falls?",),
    solution=(f"Only the weight time has no $B$ in it: ${eq.latency_floor.latex}$.",),
)

floor = Quantity(
    "The latency floor",
    level="medium",
    objective="find the latency floor",
    unit="s",
    display_unit="ms",
    statement="{net_name} stores {n_total} and activates {n_active} for each token. A weight takes {bytes_per_param}. The server, {machine_name}, reads {bandwidth} in all. How long does a step take at least, if its batch touches every expert?",
    parameters=RACKS | {"bytes_per_param": (FP8, BF16)},
    derived=rack,
    units=PLAIN,
    answer=eq.latency_floor,
    independent_check=lambda v: sum([v["n_total"] / 1000 * v["bytes_per_param"] / v["bandwidth"]] * 1000),
    misconceptions={
        eq.first_floor: "You read only the active parameters. A batch touches nearly every expert, so all weights are read.",
        eq.latency_floor.at(bandwidth=v.chip_bandwidth): "That is one chip's bandwidth. The weights are spread over all chips, which read at the same time.",
        eq.latency_floor * 8: "Off by 8: bits where bytes are meant.",
    },
    explanation="No amount of money makes this model answer faster on this machine: the floor is a property of the two.",
    hints=(
        "The floor is the time to read all weights once.",
        "Bytes to read: parameters × bytes per parameter.",
    ),
    solution=(f"${eq.latency_floor.latex}$ with {{n_total}}, {{bytes_per_param}}, {{bandwidth}}:",),
)

curve = Ordering(
    "Walk along the latency curve",
    level="medium",
    objective="draw latency and cost against batch",
    statement="Draw step time against batch, with a context shorter than the balanced one, and walk along it from the smallest batch to the largest. In which order do you meet these?",
    items=[
        "a kink where multiplying takes over",
        "a steep straight line that passes through the origin if drawn on",
        "the time to read the weights, where the curve starts",
        "a gentle rise as KV caches add up",
    ],
    answer="cdab",
    misconceptions={
        "badc": "That is the walk from right to left: a small batch is at the left.",
        "bacd": "At a small batch the machine waits for weights, not for multipliers: the steep line comes last.",
    },
    explanation="Floor, gentle slope, kink, steep slope: that is the whole picture.",
    hints=(
        "What does the step cost when the batch is almost nothing?",
        "The KV slope is gentler than the compute slope when the context is short.",
    ),
    solution=("It starts at the weight time, rises with the KV caches, bends where multiplying overtakes, and follows the compute line:",),
)

hyperbola = Choice(
    "The shape of sharing",
    level="easy",
    objective="draw latency and cost against batch",
    statement="On the picture of cost per token against batch, which curve is the weights' share?",
    options=[
        wrong("a parabola", "The word was said at the board, and corrected: a constant over B is no parabola."),
        right("a hyperbola", "A constant divided by B. Doubling the batch halves each token's share."),
        wrong("a falling straight line", "A straight line would reach zero. The share halves with every doubling and never gets there."),
        wrong("a horizontal line", "Horizontal are the costs that are paid per sequence: multiplying and KV."),
    ],
    hints=("A fixed cost shared by B.",),
    solution=("The weight time has no $B$; per token it is divided by $B$, a hyperbola.",),
)

amortise = Choice(
    "What a batch cannot share",
    level="easy",
    objective="find the cost floor",
    statement="Which costs per token stay, however large the batch becomes?",
    options=[
        wrong("reading the weights", "The weights are the one thing that the whole batch shares."),
        wrong("multiplying only", "Multiplying stays, but every sequence also reads a KV cache of its own."),
        right("multiplying and reading the KV cache", "Both are done anew for each sequence, and the larger of the two is the cost floor."),
        wrong("none: everything is shared", "Only the weights are shared. If everything were, waiting long enough would make tokens free."),
    ],
    hints=("Divide the three times by B. Which still contain no 1/B?",),
    solution=(f"Divided by $B$, the weights fall as $1/B$ and the other two stay: ${eq.cost_floor.latex}$.",),
)

step = Function(
    "Write the roofline",
    level="medium",
    objective="write the roofline of a decode step",
    statement="Write a Python function of the eight symbols that returns the time of one decode step in seconds. It is called by name, with numbers.",
    formula=eq.step_time,
    independent_check=Max(2 * eq.batch * eq.n_active / eq.flops, (eq.n_total * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth),
    misconceptions={
        eq.compute_time.expr + eq.memory_time.expr: "You added the two times. They overlap, so the slower one counts.",
        Max(eq.batch * eq.n_active / eq.flops, eq.memory_time.expr): "A datasheet counts the multiply and the add: each active parameter costs 2 FLOP per token.",
        Max(eq.compute_time.expr, (eq.n_active * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth): "You read only the active parameters; a batch touches nearly all.",
        Max(eq.compute_time.expr, eq.weight_time.expr, eq.kv_time.expr): "Weights and KV come over one bus, one after the other: add them before taking the maximum.",
        eq.memory_time.expr: "That is the memory half. At a large batch the multipliers are the slower part.",
    },
    explanation="That one line carries the whole lesson: every other number here follows from it.",
    hints=(
        "Two times, and the larger of them.",
        "def step(batch, context, n_active, n_total, bytes_per_param, kv_bytes_per_token, flops, bandwidth): ...",
    ),
    solution=(
        f"${eq.step_time.latex}$",
        Step(
            "As code:",
            "max(2 * batch * n_active / flops, (n_total * bytes_per_param + batch * context * kv_bytes_per_token) / bandwidth)",
        ),
    ),
)


def priced(values: Values) -> Values:
    """A rack with its rent per chip and hour turned into the notation's unit."""
    return rack(values) | {"rent": values["hourly"] / HOUR}


cost = Quantity(
    "What a million tokens cost",
    level="medium",
    objective="price a token",
    unit="USD/token",
    display_unit="$/Mtok",
    statement="A server, {machine_name} ({chips}, {flops} in FP8, {bandwidth}), runs {net_name} ({n_total}, of which {n_active} are active, FP8 weights, {kv_bytes_per_token} of KV) in batches of {batch} with {context} of context each. A GPU rents for {hourly} an hour. What does one million generated tokens cost in rent?",
    parameters=RACKS | {"batch": (256, 512, 1024), "context": (4096, 8192), "hourly": (2.0, 3.0, 4.0)},
    derived=priced,
    units=PLAIN | {"hourly": "USD", "context": "token"},
    answer=eq.cost_per_token,
    independent_check=v.rent * v.chips * Max(2 * v.n_active / v.flops, v.n_total / v.bandwidth / v.batch + v.context * v.kv_bytes_per_token / v.bandwidth),
    misconceptions={
        eq.cost_per_token.at(chips=1): "That is the rent of one GPU. The whole machine works on the step.",
        eq.cost_per_token.at(batch=1): "That is a token served alone: divide the weights over the batch.",
        eq.cost_per_token.at(kv_bytes_per_token=0): "The KV cache is missing: every sequence reads its own in every step.",
        eq.cost_floor: "That is the floor for an unlimited batch. This batch still pays for its share of the weights.",
        eq.cost_per_token * HOUR: "Off by 3,600: the rent is per hour, the step is in seconds.",
    },
    explanation="This is rent at the roofline: a floor, before margins, idle time and everything that is slower than ideal.",
    hints=(
        "Rent per second of the whole machine × step time ÷ tokens in the step.",
        "First the step time: the larger of multiplying and reading.",
    ),
    solution=(
        Step(f"${eq.step_time.latex}$ =", eq.step_time, "s"),
        Step("Rent of the machine for that long, in dollars:", v.rent * v.chips * eq.step_time, "USD"),
        Step("Divided by {batch}, one token each; times a million, $/Mtok", eq.cost_per_token * 1e6, "USD"),
    ),
)

critical = Quantity(
    "The batch where the wait changes sides",
    level="medium",
    objective="find the batch at which compute takes over",
    unit="sequence",
    statement="A chip multiplies {flops} in {precision} and reads {bandwidth}. A model has {n_total}, of which {n_active} are active, at {bytes_per_param}. From which batch on does multiplying take as long as reading the weights? Leave KV out.",
    parameters={
        "kind": ("h100-sxm", "h200", "b200", "tpu7x"),
        "net": ("deepseek-v3", "qwen3-235b-a22b", "kimi-k2"),
        "precision": ("fp8", "bf16"),
    },
    derived=lambda v: model(v["net"]).symbols(v["precision"]) | chip(v["kind"]).symbols(v["precision"]),
    answer=eq.critical_batch,
    independent_check=v.n_total * v.bytes_per_param / v.bandwidth / (2 * v.n_active / v.flops),
    misconceptions={
        eq.critical_batch * 2: "Twice too large: a datasheet's FLOP/s counts multiply and add, so a multiply-add takes two.",
        eq.hardware_constant: "That is the constant of the hardware, right for a dense model. Here more parameters are read than multiplied.",
        eq.hardware_constant * v.n_active / v.n_total: "Sparsity is upside down: a sparser model needs a larger batch.",
        eq.critical_batch.at(bytes_per_param=v.bytes_per_param * 4): "Bytes per parameter are off.",
    },
    explanation="The number of chips cancels: it is a batch per replica, not per GPU.",
    hints=(
        "Set time to multiply equal to time to read the weights.",
        "Solve for B: hardware on one side, total over active parameters on the other.",
    ),
    solution=(
        Step(f"${eq.hardware_constant.latex}$ =", eq.hardware_constant, "token"),
        f"times total over active parameters: ${eq.critical_batch.latex}$ =",
    ),
)

balanced = Quantity(
    "The balanced context",
    level="hard",
    objective="find the balanced context",
    unit="token/sequence",
    display_unit="token",
    statement="A server, {machine_name}, multiplies {flops} (FP8) and reads {bandwidth}. A model with {n_active} active for each token keeps {kv_bytes_per_token} of KV. At which context does one more sequence cost as much reading as multiplying?",
    parameters={
        "machine": RACKS["machine"],
        "n_active": (37e9, 22e9, 1e11),
        "kv_bytes_per_token": (70272.0, 35136.0, 2000.0),
    },
    derived=lambda v: system(v["machine"]).symbols("fp8") | {"machine_name": system(v["machine"]).name},
    units=PLAIN,
    answer=eq.balanced_context,
    independent_check=2 * v.n_active / v.flops / (v.kv_bytes_per_token / v.bandwidth),
    misconceptions={
        eq.balanced_context / 2: "Half: each multiply-add is two FLOPs on a datasheet.",
        v.n_active / v.kv_bytes_per_token: "The machine is missing: bytes and FLOPs do not take the same time.",
        v.flops / v.bandwidth: "That is the machine alone; the model's multiplications and KV bytes come in too.",
    },
    explanation="Past it a larger batch no longer fills the multipliers: every sequence brings more reading than work.",
    hints=(
        "Per sequence: time to multiply, and time to read its KV.",
        "Set them equal and solve for L; the batch cancels.",
    ),
    solution=(
        Step("Multiplying, per sequence:", eq.compute_time.at(batch=1), "s"),
        Step(f"${eq.balanced_context.latex}$ =", eq.balanced_context, "token"),
    ),
)

mfu = Quantity(
    "Twice the balanced context",
    level="medium",
    objective="find the balanced context",
    unit="1",
    display_unit="%",
    statement="A serving system is balanced at {context_balanced}. Its users now send {context}. Which share of its peak FLOPs can it use at best, in percent, with dense attention?",
    parameters={"context_balanced": (1e5, 32000.0, 5e4), "times": (2.0, 4.0, 2.5, 5.0)},
    derived={"context": v.times * v.context_balanced},
    units={"context_balanced": "token", "context": "token"},
    answer=eq.mfu_limit.at(n_active=1.0, bandwidth=1.0, flops=2.0, kv_bytes_per_token=1 / v.context_balanced, context=v.context),
    independent_check=v.context_balanced / v.context,
    misconceptions={
        v.context_balanced / v.context / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
        1.0: "Only up to the balanced context. Past it the multipliers wait for KV.",
        (v.context_balanced / v.context) ** 2: "A decode step reads each past token once: reading grows in proportion to the context, not with its square.",
    },
    explanation="Reading takes that much longer than multiplying, so the multipliers idle for the rest.",
    hints=(
        "At the balanced context reading and multiplying take equally long.",
        "Reading grows with the context, multiplying does not.",
    ),
    solution=(f"${eq.mfu_limit.latex}$, so the balanced context over the context, in percent:",),
)

fast = Quantity(
    "What fast mode gives away",
    level="medium",
    objective="read a batch out of a price",
    unit="1",
    statement="A provider offers the same model {speed_ratio} times as fast at {price_ratio} times the price per token. If prices follow cost and the chips are the same, how many times smaller is the batch?",
    parameters={"price_ratio": (6.0, 2.0, 4.0), "speed_ratio": (2.5, 3.0)},
    answer=eq.fast_mode_batch_ratio,
    independent_check=1.0 / 1.0 / (1.0 / v.speed_ratio / v.price_ratio),
    misconceptions={
        v.price_ratio / v.speed_ratio: "The step got shorter as well: that makes tokens cheaper, so the batch shrank by more.",
        1 / (v.price_ratio * v.speed_ratio): "Upside down: fast mode runs a smaller batch, not a larger one.",
        v.price_ratio + v.speed_ratio: "Ratios multiply.",
    },
    explanation="Cost per token is rent times step time over batch, so price and speed together give the batch away.",
    hints=(
        "Cost per token is rent × step time ÷ batch.",
        "Write it for both modes and divide.",
    ),
    solution=("From $c = n p \\, t/B$ for both modes, $B_0/B_1 = (c_1/c_0)(t_0/t_1)$, price times speed:",),
)

money = Choice(
    "A hundred times the money",
    level="easy",
    objective="find the latency floor",
    statement="Somebody pays a hundred times the price for a model in fast mode. What is the most that buys on the same machine?",
    options=[
        wrong("a hundred times the speed", "Speed stops at the floor: reading the weights takes as long for one reader as for many."),
        wrong("any speed: it is a matter of price", "Not on this machine. More bandwidth per weight would help: another machine, or fewer bytes."),
        right("the latency floor, with the machine to oneself", "Once the batch no longer matters, the weights still have to be read once per token."),
        wrong("a larger batch", "A larger batch makes tokens cheaper and slower. Paying for speed means a smaller one."),
    ],
    hints=("What remains of the step time when the batch is one?",),
    solution=(f"A smaller batch moves left on the curve until it meets ${eq.latency_floor.latex}$.",),
)

slow = Quantity(
    "How cheap slow mode can be",
    level="hard",
    objective="find the cost floor",
    unit="1",
    statement="A server, {machine_name}, runs {net_name} (FP8, {n_total}, of which {n_active} are active; KV {kv_bytes_per_token}) in batches of {batch} with {context} of context each. It multiplies {flops} and reads {bandwidth}. A reader is willing to wait as long as it takes. By which factor can a token get cheaper at the most?",
    parameters={
        "machine": ("gb200-nvl72", "b200-64", "h200-8"),
        "net": ("deepseek-v3", "kimi-k2"),
        "batch": (512, 384, 256),
        "context": (2048, 4096),
    },
    derived=rack,
    units=PLAIN | {"context": "token"},
    answer=eq.slow_mode_limit,
    independent_check=eq.cost_per_token.at(rent=1, chips=1) / eq.cost_per_token.at(rent=1, chips=1, batch=1e12),
    misconceptions={
        eq.batching_gain: "That is from a batch of one, and without KV. This batch already shares most of the weights.",
        eq.step_time / eq.compute_time: "You compared with multiplying alone, but at this context reading one sequence's KV takes longer: that is the floor.",
        1 / eq.slow_mode_limit: "Upside down: the floor is below today's cost, so the factor is above one.",
        eq.weight_time / eq.compute_time: "KV is missing: each sequence reads its own cache, which no batch shares.",
    },
    explanation="What every sequence pays for itself, its multiplications or its KV reads, no waiting can share.",
    hints=(
        "Cost now: step time over batch. Cost at best: what is left when B grows without bound.",
        "The floor per token is the larger of multiplying and reading one sequence's KV.",
    ),
    solution=(
        Step("Step time over batch now:", eq.step_time / v.batch, "s"),
        Step("Per sequence at best, multiplying:", eq.compute_time.at(batch=1), "s"),
        Step("Per sequence at best, reading KV:", eq.kv_time.at(batch=1), "s"),
        "Now over the larger of the two:",
    ),
)

train = Quantity(
    "Just missed it",
    level="medium",
    objective="explain the 20 ms train",
    unit="s",
    display_unit="ms",
    statement="A chip holds {hbm} and reads {bandwidth}. A step reads the whole memory once, and a batch leaves whenever the last step is done. How long may a request that has just arrived wait for its first step to end, at worst?",
    parameters={"kind": ("vr200-nvl72", "h100-sxm", "h200", "gb300-nvl72", "mi300x")},
    derived=lambda v: chip(v["kind"]).symbols(),
    answer=eq.worst_latency.at(interval=eq.drain_time),
    independent_check=v.hbm / v.bandwidth + v.hbm / v.bandwidth,
    misconceptions={
        eq.drain_time: "That is the ride alone. Who just missed the departure waits an interval first.",
        eq.mean_latency.at(interval=eq.drain_time): "That is the mean over arrivals spread evenly; the question is the worst.",
        3 * eq.drain_time: "There is a seat on the next train: one wait and one ride.",
    },
    explanation="One interval on the platform, one on the train.",
    hints=(
        "First the interval: capacity over bandwidth.",
        "Worst case: the request arrives just after a departure.",
    ),
    solution=(
        Step(f"${eq.drain_time.latex}$ =", eq.drain_time, "s"),
        "Twice that:",
    ),
)

train_why = Choice(
    "Why every 20 ms",
    level="medium",
    objective="explain the 20 ms train",
    statement="Why does a batch leave about every 20 ms, rather than every 5 or every 100, when weights and KV fill the memory?",
    options=[
        wrong("Networks add about that much latency.", "The network is not in this number: it is capacity over bandwidth of the memory."),
        right("In 20 ms the whole memory is read once; sooner is impossible while every byte is needed, and later leaves the memory bus idle.", "It is capacity over bandwidth. If the memory is not full, a shorter interval is possible; the lesson says by how much."),
        wrong("Readers cannot read faster.", "Fifty tokens a second is faster than anyone reads. The number comes from the memory."),
        wrong("The multipliers need 20 ms for one token.", "One token needs well under a microsecond of the rack's multipliers."),
    ],
    hints=("Divide the capacity of an HBM stack by its bandwidth.",),
    solution=(f"${eq.drain_time.latex}$ is 13 to 39 ms on the chips of the catalogue.",),
)

tokens = Quantity(
    "Tokens per second of a rack",
    level="easy",
    objective="explain the 20 ms train",
    unit="token/s",
    statement="A rack sends off a batch of {batch} every {interval}. How many tokens per second is that?",
    parameters={"batch": (2000, 2400, 5000), "interval": (1 / 64, 0.02, 0.015)},
    answer=eq.throughput,
    independent_check=lambda v: sum(v["batch"] for _ in range(3000)) / (3000 * v["interval"]),
    misconceptions={
        1 / v.interval: "That is one reader's rate. The whole batch gets a token each.",
        v.batch * v.interval: "Departures per second is one over the interval.",
        v.batch / (2 * v.interval): "A request may wait two intervals, but a batch still leaves every one.",
    },
    explanation="Divide it by what one reader gets and the batch comes back.",
    hints=("How many departures fit in a second?",),
    solution=(
        Step("Departures per second:", 1 / v.interval, "1"),
        f"${eq.throughput.latex}$ =",
    ),
)
