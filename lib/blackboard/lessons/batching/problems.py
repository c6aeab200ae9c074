"""Practice problems of the batching lesson, and the mistakes that people make in them."""

from __future__ import annotations

from sympy import floor as floor_of

from blackboard.catalogue import chip, model, system
from blackboard.formula import Max, Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching import equations as eq
from blackboard.problem import Choice, Guess, Ordering, Quantity, Step, Values, right, v, wrong

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


STEP, LIMITS, COSTS = "predict the time of a decode step", "find the latency floor and the critical batch", "price a token"
CONTEXT, PRICES, TRAIN = "find the balanced context", "read a batch out of a price", "work with a departure schedule"


def fits(values: Values) -> bool:
    """Whether the drawn system holds the weights, and the KV caches of the batch if one is drawn."""
    caches = values.get("batch", 0) * values.get("context", 0) * values["kv_bytes_per_token"]
    return values["n_total"] * values["bytes_per_param"] + caches <= values["hbm"]


RACKS = {
    "machine": ("gb200-nvl72", "gb300-nvl72", "h200-8", "b200-64", "h100-8", "b200-8", "mi355x-8", "vr200-nvl72"),
    "net": ("deepseek-v3", "qwen3-235b-a22b", "kimi-k2", "glm-4.5", "mistral-large-3", "mixtral-8x22b"),
}
PLAIN = {"machine_name": "", "net_name": "", "chip_bandwidth": "byte/s"}

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=PRICES,
    unit="1",
    within=1.5,
    statement="A fast mode costs {price_ratio} times as much per token and is {speed_ratio} times as fast. Suppose that model and chips are the same, and that prices follow cost. How many times fewer users share the machine with you in fast mode? Guess; within a factor of 1.5 counts.",
    parameters={"price_ratio": (6.0, 5.0, 7.0, 8.0, 9.0, 10.0, 12.0), "speed_ratio": (2.5, 3.0, 3.5, 4.0, 4.5)},
    derived={"shrunk": eq.fast_mode_batch_ratio},
    answer=eq.fast_mode_batch_ratio,
    independent_check=1.0 / 1.0 / (1.0 / v.speed_ratio / v.price_ratio),
    misconceptions={
        v.price_ratio: "A step with fewer users is also shorter, so that each step costs less rent. The batch must shrink further to reach that price.",
        1 / eq.fast_mode_batch_ratio: "The other way round: how many times fewer, a number above one.",
    },
    explanation="The rent of one step is divided among the users. The step got {speed_ratio} times shorter, and still each user pays {price_ratio} times as much. So there are {speed_ratio} × {price_ratio} = {shrunk} times fewer of them.",
    hints=(
        "Each step costs rent for as long as it takes, and its users share that rent.",
        "The step is {speed_ratio} times shorter, so its rent is {speed_ratio} times lower. Yet each user pays {price_ratio} times as much.",
    ),
    solution=("Cost per token = rent × step time / batch. So batch = rent × step time / cost. The rent is the same. Fast mode divides the step time by the speed and multiplies the cost by the price:",),
)

roofline = Choice(
    "Two jobs at once",
    level="easy",
    objective=STEP,
    statement="In one step the chips compute for $t_\\mathrm{compute}$ and load data from memory for $t_\\mathrm{memory}$. They do both at the same time. How long does the step take at least?",
    options=[
        wrong("the sum of both", "The sum holds only if the two take turns. Chips load the next weights while they compute with the last ones, so the sum is an upper bound."),
        right("the longer of the two", "The slower job sets the pace, and the other one hides behind it."),
        wrong("the shorter of the two", "The step is over when both jobs are done, so the faster one cannot set the pace."),
        wrong("their average", "Nothing averages here. The step ends when the slower job ends."),
    ],
    hints=("Two people work side by side. When are both done?",),
    solution=(f"Both jobs run at the same time, so the step ends with the slower one: ${eq.step_time.latex}$.",),
)

compute = Expression(
    "Compute time",
    level="easy",
    objective=STEP,
    statement="Write the compute time of one decode step. Use the batch B, the active parameters N_act, and the datasheet's rate F, which counts a multiply and an add as two FLOPs. Leave out attention's own FLOPs.",
    formula=eq.compute_time,
    independent_check=2 * eq.batch * eq.n_active / eq.flops,
    misconceptions={
        eq.batch * eq.n_active / eq.flops: "The 2 is missing. A datasheet's $F$ counts the multiply and the add separately. (The lecture counts the pair as one.)",
        2 * eq.batch * eq.n_total / eq.flops: "A token is computed with the parameters it is routed to, not with all of them.",
        2 * eq.batch * eq.context * eq.n_active / eq.flops: "A decode step computes only the one new token of each sequence. The earlier tokens are in the KV cache.",
        2 * eq.n_active / eq.flops: "That is the time for one sequence. The batch has $B$ of them.",
        eq.flops / (2 * eq.batch * eq.n_active): "Upside down: more work takes longer.",
    },
    explanation="Each new token needs one multiply and one add per active parameter.",
    hints=(
        "How many multiply-adds does one token need? One per active parameter.",
        "Time is work divided by rate, and each multiply-add is 2 FLOPs.",
    ),
    solution=(
        "One multiply-add per active parameter and sequence, 2 FLOPs each, divided by the rate:",
        Step(f"${eq.compute_time.latex}$, typed as", "2 * B * N_act / F"),
    ),
)

memory = Expression(
    "Memory time",
    level="easy",
    objective=STEP,
    statement="Write the memory time of one decode step whose batch touches every expert. Use B, the context L, N_tot, the bytes per weight b_w, the KV bytes per token kappa, and the bandwidth W.",
    formula=eq.memory_time,
    independent_check=(eq.n_total * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth,
    misconceptions={
        (eq.n_active * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth: "One token needs only the active parameters. But each token of the batch chooses experts of its own, and together they touch nearly all.",
        (eq.n_total + eq.batch * eq.context * eq.kv) / eq.bandwidth: "Parameters are not bytes: each weight takes b_w bytes. (The lecture takes a parameter for a byte, which is right in FP8.)",
        eq.batch * (eq.n_total * eq.bytes_per_param + eq.context * eq.kv) / eq.bandwidth: "The weights are loaded once per step and shared by the whole batch. That sharing is the point of batching.",
        (eq.n_total * eq.bytes_per_param + eq.batch * eq.kv) / eq.bandwidth: "A new token attends to the whole context, so each sequence loads $L$ tokens of KV, not one.",
        Max(eq.n_total * eq.bytes_per_param, eq.batch * eq.context * eq.kv) / eq.bandwidth: "Weights and KV caches come from the same memory, one after the other. Their times add.",
        eq.n_total * eq.bytes_per_param / eq.bandwidth: "The KV cache is missing. Each sequence loads its own.",
    },
    explanation="The weights once per step for everybody, the KV cache once per sequence.",
    hints=(
        "A step loads two things: the weights, and the KV cache of every sequence.",
        "Which of the two grows with the batch?",
    ),
    solution=(
        "The weights once, and for each of $B$ sequences $L$ tokens of KV, divided by the bandwidth:",
        Step(f"${eq.memory_time.latex}$, typed as", "(N_tot * b_w + B * L * kappa) / W"),
    ),
)

batch_of = Choice(
    "A batch of two thousand",
    level="easy",
    objective=STEP,
    statement="A server decodes with a batch of 2,000. Two thousand what?",
    options=[
        wrong("tokens of context", "That would be less than one long conversation. (The question came up in the lecture too, at 0:20:19.)"),
        right("sequences, each getting one new token", "One decode step makes one new token for each of them."),
        wrong("requests per second", "A batch is a number, not a rate. Requests per second follow from how often a step runs."),
        wrong("people with a window open", "Most of them are reading or typing. Only sequences that are being generated right now are in the batch."),
    ],
    hints=("What does one step of decoding produce?",),
    solution=("One step gives every sequence in the batch one new token.",),
)

floor_why = Choice(
    "What is left at a small batch",
    level="easy",
    objective=LIMITS,
    statement="A mixture of experts serves fewer and fewer users: 4,000, then 1,000, then 250. The step time falls at first and then hardly moves. What sets the time at which it stops?",
    options=[
        wrong("loading the active weights", "One token needs only those. But 250 sequences together still touch nearly every expert, so nearly all weights are loaded."),
        right("loading all the weights", "They are loaded once per step, however many sequences share them."),
        wrong("loading the KV caches", "Each sequence has its own, so this time shrinks with the batch."),
        wrong("computing with the weights", "Compute is per sequence as well: half the batch, half the time."),
    ],
    hints=("Which of the three times does not shrink with the batch?",),
    solution=(f"Only the time to load the weights has no $B$ in it: ${eq.latency_floor.latex}$.",),
)

floor = Quantity(
    "The latency floor",
    level="medium",
    objective=LIMITS,
    unit="s",
    display_unit="ms",
    statement="{net_name} stores {n_total} and uses {n_active} of them for each token. A weight takes {bytes_per_param}. The server, {machine_name}, has a memory bandwidth of {bandwidth} in all. Its batch is large enough to touch every expert. What is the least time that a step can take?",
    parameters=RACKS | {"bytes_per_param": (FP8, BF16)},
    derived=rack,
    condition=fits,
    units=PLAIN,
    answer=eq.latency_floor,
    independent_check=lambda v: sum([v["n_total"] / 1000 * v["bytes_per_param"] / v["bandwidth"]] * 1000),
    misconceptions={
        eq.first_floor: "You loaded only the active parameters. A batch that touches every expert loads all of them.",
        eq.latency_floor.at(bandwidth=v.chip_bandwidth): "That is one chip's bandwidth. The weights are spread across all chips, which load at the same time.",
        eq.latency_floor * 8: "Off by 8: bits where bytes are meant.",
        eq.latency_floor / 1000: "The digits are right, but that is in seconds. A millisecond is a thousandth of one.",
    },
    explanation="While every expert is in use, no price makes a step of this model shorter on this machine.",
    hints=(
        "The floor is the time to load all weights once.",
        "Bytes to load: parameters × bytes per parameter.",
    ),
    solution=(f"${eq.latency_floor.latex}$ with {{n_total}}, {{bytes_per_param}} and {{bandwidth}}:",),
)

curve = Ordering(
    "Walk along the latency curve",
    level="medium",
    objective=STEP,
    statement="Draw step time against batch, for a context shorter than the balanced one. Walk along the curve from the smallest batch to the largest. In which order do you meet these?",
    items=[
        "a kink, where compute becomes the slower job",
        "a steep straight line that points back to the origin",
        "the time to load the weights",
        "a gentle rise, as KV caches add up",
    ],
    answer="cdab",
    misconceptions={
        "badc": "That is the walk from right to left. Small batches are on the left.",
        "bacd": "At a small batch the chips wait for weights, not for compute. The steep line comes last.",
    },
    explanation="Floor, gentle slope, kink, steep slope: that is the whole picture.",
    hints=(
        "How long does a step take when the batch is almost empty?",
        "When the context is short, the KV line is less steep than the compute line.",
    ),
    solution=("The curve starts at the time to load the weights, rises as KV caches add up, bends where compute becomes slower, and then follows the compute line:",),
)

hyperbola = Choice(
    "The shape of sharing",
    level="easy",
    objective=COSTS,
    statement="Draw the cost of a token against the batch. Which of its parts is a hyperbola?",
    options=[
        wrong("compute", "Each token needs its own compute, so its cost does not depend on the batch: a level line."),
        right("loading the weights", "A fixed cost divided by $B$: every doubling of the batch halves each token's share."),
        wrong("loading the KV cache", "Each sequence loads its own cache, so this cost per token does not depend on the batch: a level line."),
        wrong("all three", "Only what the batch shares is divided by $B$. Two of the three are not shared."),
    ],
    hints=("Divide each of the three times by $B$. Which one still has a $B$ in it?",),
    solution=("The time to load the weights has no $B$ in it. Divided by $B$ it is a hyperbola; the other two become constants.",),
)

amortise = Choice(
    "What a batch cannot share",
    level="easy",
    objective=COSTS,
    statement="A provider doubles its batch, again and again. Which part of the cost of a token does not shrink?",
    options=[
        wrong("loading the weights", "The weights are the one thing that the whole batch shares, so this part halves each time."),
        wrong("compute alone", "Compute stays, but so does loading the KV cache, which each sequence has to itself."),
        right("compute and loading the KV cache", "Both are done separately for each sequence. The larger of the two is the cost floor."),
        wrong("none: the batch shares everything", "If it did, enough waiting would make tokens free. Only the weights are shared."),
    ],
    hints=("Which of the three times grow with the batch? Per token, those stay.",),
    solution=(f"Divided by $B$, the weights' part falls as $1/B$ and the other two stay: ${eq.cost_floor.latex}$.",),
)

step = Function(
    "Write the roofline",
    level="medium",
    objective=STEP,
    statement="Write a Python function of the eight symbols that returns the time of one decode step in seconds. It will be called with numbers, by name.",
    formula=eq.step_time,
    independent_check=Max(2 * eq.batch * eq.n_active / eq.flops, (eq.n_total * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth),
    misconceptions={
        eq.compute_time.expr + eq.memory_time.expr: "You added the two times. They overlap, so only the longer one counts.",
        Max(eq.batch * eq.n_active / eq.flops, eq.memory_time.expr): "The 2 is missing. A datasheet counts the multiply and the add, so each active parameter costs 2 FLOPs per token.",
        Max(eq.compute_time.expr, (eq.n_active * eq.bytes_per_param + eq.batch * eq.context * eq.kv) / eq.bandwidth): "You loaded only the active parameters. A batch touches nearly all of them.",
        Max(eq.compute_time.expr, eq.weight_time.expr, eq.kv_time.expr): "Weights and KV caches come from the same memory, one after the other. Add their times before you take the maximum.",
        eq.memory_time.expr: "That is the memory time alone. At a large batch, compute takes longer.",
    },
    explanation="Every other number in this lesson follows from this one line.",
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


def printed(values: Values) -> Values:
    """A rack with the model's numbers as a statement prints them, so that they lead to the answer digit by digit."""
    bound = rack(values)
    return bound | {name: float(f"{bound[name]:.4g}") for name in ("n_total", "n_active", "kv_bytes_per_token")}


def priced(values: Values) -> Values:
    """Such a rack with its rent per chip and hour turned into the notation's unit."""
    return printed(values) | {"rent": values["hourly"] / HOUR}


def promised(values: Values) -> Values:
    """Such a rack, and the longest step that keeps a promise of tokens per second."""
    return printed(values) | {"deadline": 1 / values["speed"]}


def feasible(values: Values) -> bool:
    """Whether the weights leave time for KV caches, and whatever is loaded before the deadline fits in memory."""
    loaded = values["deadline"] * values["bandwidth"]
    return 1.05 * values["n_total"] < loaded < values["hbm"]


def search_largest(values: Values) -> float:
    """The largest batch whose step keeps the deadline, by halving an interval."""
    low, high = 1.0, 1e9
    while high / low > 1 + 1e-9:  # then down to a whole one
        middle = (low * high) ** 0.5
        compute = middle * 2 * values["n_active"] / values["flops"]
        load = (values["n_total"] + middle * values["context"] * values["kv_bytes_per_token"]) / values["bandwidth"]
        low, high = (middle, high) if max(compute, load) <= values["deadline"] else (low, middle)
    return int(high)


cost = Quantity(
    "What a million tokens cost",
    level="medium",
    objective=COSTS,
    unit="USD/token",
    display_unit="$/Mtok",
    statement="A server, {machine_name} ({chips}, together {flops} in FP8 and {bandwidth}), runs {net_name}: {n_total}, of which {n_active} are active, in FP8, with {kv_bytes_per_token} of KV cache. It decodes {batch} at a time, each with {context} of context. A GPU rents for {hourly} an hour. What is the rent for one million generated tokens?",
    parameters=RACKS | {"batch": (256, 512, 1024), "context": (4096, 8192), "hourly": (2.0, 3.0, 4.0)},
    derived=priced,
    condition=fits,
    units=PLAIN | {"hourly": "USD", "context": "token"},
    answer=eq.cost_per_token,
    independent_check=v.rent * v.chips * Max(2 * v.n_active / v.flops, v.n_total / v.bandwidth / v.batch + v.context * v.kv_bytes_per_token / v.bandwidth),
    misconceptions={
        eq.cost_per_token.at(chips=1): "That is the rent of one GPU. The whole machine works on the step.",
        eq.cost_per_token.at(batch=1): "That is a token served alone. The users of a batch share the weights.",
        eq.cost_per_token.at(kv_bytes_per_token=0): "The KV cache is missing: every sequence loads its own in every step.",
        eq.cost_floor: "That is the floor for an unlimited batch. This batch still pays for its share of the weights.",
        eq.cost_per_token * HOUR: "Off by 3,600: the rent is per hour, the step is in seconds.",
        eq.cost_per_token / 1e6: "That is dollars for one token. The question is about a million.",
    },
    explanation="This is rent at the roofline, a lower bound: no margin, no idle time, nothing slower than ideal.",
    hints=(
        "Rent of the whole machine per second × step time / tokens made in the step.",
        "First the step time: the longer of compute and memory.",
    ),
    solution=(
        Step("The step takes", eq.step_time, "s"),
        Step("Rent of the machine for that long, in dollars:", v.rent * v.chips * eq.step_time, "USD"),
        Step("Divided by {batch}, one token each, and times a million, in $/Mtok:", eq.cost_per_token * 1e6, "USD"),
    ),
)

critical = Quantity(
    "The critical batch",
    level="medium",
    objective=LIMITS,
    unit="sequence",
    statement="A chip computes at {flops} in {format} and has a memory bandwidth of {bandwidth}. A model stores {n_total} at {bytes_per_param} and uses {n_active} of them per token. It is spread across many such chips. From which batch on, for all chips together, does computing take as long as loading the weights? Leave out the KV cache.",
    parameters={
        "kind": ("h100-sxm", "h200", "b200", "tpu7x", "mi300x", "mi355x", "gb300-nvl72"),
        "net": RACKS["net"],
        "precision": ("fp8", "bf16"),
    },
    derived=lambda v: model(v["net"]).symbols(v["precision"]) | chip(v["kind"]).symbols(v["precision"]) | {"format": v["precision"].upper()},
    answer=eq.critical_batch,
    independent_check=v.n_total * v.bytes_per_param / v.bandwidth / (2 * v.n_active / v.flops),
    misconceptions={
        eq.critical_batch * 2: "Twice too large: a datasheet's FLOP/s counts the multiply and the add, so a multiply-add takes two.",
        eq.hardware_constant: "That is the hardware's part, right for a dense model. Here more parameters are loaded than each token uses.",
        eq.hardware_constant * v.n_active / v.n_total: "Sparsity is upside down: a sparser model needs a larger batch.",
        eq.critical_batch.at(bytes_per_param=v.bytes_per_param * 4): "Check the bytes per parameter: two in BF16, one in FP8.",
        eq.critical_batch * 64: "The number of chips cancels, because it raises compute and bandwidth by the same factor.",
    },
    explanation="You did not need the number of chips. More chips raise compute and bandwidth alike.",
    hints=(
        "Set the compute time equal to the time to load the weights.",
        "Solve for $B$: hardware on one side, stored divided by active parameters on the other.",
    ),
    solution=(
        Step("The hardware's part:", eq.hardware_constant, "token"),
        f"times stored divided by active parameters: ${eq.critical_batch.latex}$ =",
    ),
)

balanced = Quantity(
    "The balanced context",
    level="hard",
    objective=CONTEXT,
    unit="token/sequence",
    display_unit="token",
    statement="A server, {machine_name}, computes at {flops} (FP8) and has a memory bandwidth of {bandwidth}. A model uses {n_active} per token and keeps {kv_bytes_per_token} of KV cache. At which context does one more sequence add as much memory time as compute time? Leave out attention's own FLOPs.",
    parameters={
        "machine": RACKS["machine"],
        "n_active": (37e9, 22e9, 1e11, 33e9, 17e9),
        "kv_bytes_per_token": (70272.0, 35136.0, 2000.0, 49152.0, 98304.0),
    },
    derived=lambda v: system(v["machine"]).symbols("fp8") | {"machine_name": system(v["machine"]).name},
    units=PLAIN,
    answer=eq.balanced_context,
    independent_check=2 * v.n_active / v.flops / (v.kv_bytes_per_token / v.bandwidth),
    misconceptions={
        eq.balanced_context / 2: "Half of it: each multiply-add is two FLOPs on a datasheet.",
        v.n_active / v.kv_bytes_per_token: "The machine is missing: loading a byte and computing a FLOP do not take the same time.",
        v.flops / v.bandwidth: "That is the machine alone. The model's compute and its KV bytes matter too.",
    },
    explanation="Past this context a larger batch no longer fills the arithmetic units: every sequence adds more memory time than compute time.",
    hints=(
        "Per sequence: the time to compute one token, and the time to load its KV cache.",
        "Set them equal and solve for $L$. The batch cancels.",
    ),
    solution=(
        Step("Compute time per sequence:", eq.compute_time.at(batch=1), "s"),
        Step(f"${eq.balanced_context.latex}$ =", eq.balanced_context, "token"),
    ),
)

mfu = Quantity(
    "Longer than balanced",
    level="medium",
    objective=CONTEXT,
    unit="1",
    display_unit="%",
    statement="A server's balanced context is {context_balanced}. Its users now send {context} each, to a model with dense attention. What is its MFU at best, in percent? (MFU is the parameters' compute time divided by the step time; attention's own FLOPs do not count.)",
    parameters={"context_balanced": (1e5, 32000.0, 5e4, 16000.0, 2e4, 4e4, 64000.0, 8e4), "times": (2.0, 2.5, 4.0, 5.0, 8.0, 1.25, 1.6, 10.0)},
    derived={"context": v.times * v.context_balanced},
    units={"context_balanced": "token", "context": "token"},
    answer=eq.mfu_limit.at(n_active=1.0, bandwidth=1.0, flops=2.0, kv_bytes_per_token=1 / v.context_balanced, context=v.context),
    independent_check=v.context_balanced / v.context,
    misconceptions={
        v.context_balanced / v.context / 100: "That is the fraction. The percentage is a hundred times as large.",
        1.0: "Only up to the balanced context. Past it the arithmetic units wait for KV caches.",
        (v.context_balanced / v.context) ** 2: "A decode step loads each earlier token once, so memory time grows in proportion to the context, not with its square.",
    },
    explanation="Loading takes that much longer than computing, and the arithmetic units idle for the rest of the step.",
    hints=(
        "At the balanced context, loading and computing take equally long.",
        "Memory time grows with the context. Compute time does not.",
    ),
    solution=("In a very large batch only the KV caches count. Memory time is then {context} / {context_balanced} of the compute time, and the share is the inverse:",),
)

fast = Quantity(
    "Another price card",
    level="medium",
    objective=PRICES,
    unit="1",
    statement="A provider offers the same model {speed_ratio} times as fast at {price_ratio} times the price per token. Suppose that prices follow cost and the chips are the same. How many times smaller is the batch?",
    parameters={"price_ratio": (6.0, 2.0, 4.0, 1.5, 2.5, 3.0, 5.0, 8.0), "speed_ratio": (2.5, 3.0, 1.5, 1.8, 2.0, 4.0)},
    answer=eq.fast_mode_batch_ratio,
    independent_check=1.0 / 1.0 / (1.0 / v.speed_ratio / v.price_ratio),
    misconceptions={
        v.price_ratio / v.speed_ratio: "A shorter step makes tokens cheaper. To be dearer all the same, the batch must have shrunk by more than the price rose.",
        1 / (v.price_ratio * v.speed_ratio): "Upside down: fast mode runs a smaller batch, not a larger one.",
        v.price_ratio + v.speed_ratio: "Ratios multiply.",
    },
    explanation="Cost per token is rent × step time / batch. Price and speed together give the batch.",
    hints=(
        "Cost per token is rent × step time / batch.",
        "Write it for both modes, and divide one by the other.",
    ),
    solution=("From $c = n \\, p_\\mathrm{chip} \\, t/B$ for both modes, $B_0/B_1 = (c_1/c_0)(t_0/t_1)$, price times speed:",),
)

money = Choice(
    "A hundred times the money",
    level="easy",
    objective=LIMITS,
    statement="A dense model, which loads all its weights in every step, already runs in a fast mode. Somebody pays a hundred times that price. What is the most that this buys on the same machine?",
    options=[
        wrong("a hundred times the speed", "Speed stops at the latency floor. Loading the weights of a dense model takes as long for one user as for a thousand."),
        wrong("any speed, if the price is right", "Not on this machine. It takes more bandwidth or fewer bytes of weights, which is another machine or another model."),
        right("the latency floor, with the machine to oneself", "Even when nobody shares the batch, the weights must be loaded for each token."),
        wrong("a larger batch", "A larger batch makes tokens cheaper and slower. Paying for speed buys a smaller one."),
    ],
    hints=("What is left of the step time when nobody else is in the batch?",),
    solution=(f"A smaller batch moves left on the latency curve, until it meets ${eq.latency_floor.latex}$. (A mixture of experts has the same floor while its users are enough to use every expert. Fewer users load fewer experts.)",),
)

slow = Quantity(
    "How cheap a slow mode can be",
    level="hard",
    objective=COSTS,
    unit="1",
    statement="A server, {machine_name}, computes at {flops} and has a memory bandwidth of {bandwidth}. It runs {net_name} in FP8: {n_total}, of which {n_active} are active, with {kv_bytes_per_token} of KV cache. Its batches have {batch} with {context} of context each. A user is willing to wait as long as it takes. By which factor can a token become cheaper at most?",
    parameters={
        "machine": RACKS["machine"],
        "net": ("deepseek-v3", "kimi-k2", "mistral-large-3"),
        "batch": (512, 384, 256),
        "context": (2048, 4096),
    },
    derived=rack,
    condition=fits,
    units=PLAIN | {"context": "token"},
    answer=eq.slow_mode_limit,
    independent_check=eq.cost_per_token.at(rent=1, chips=1) / eq.cost_per_token.at(rent=1, chips=1, batch=1e12),
    misconceptions={
        eq.batching_gain: "That compares with a batch of one, without KV. This batch already shares most of the weights.",
        eq.step_time / eq.compute_time: "You took compute for the floor. At this context, loading one sequence's KV cache takes longer, so that is the floor.",
        1 / eq.slow_mode_limit: "Upside down: the floor is below today's cost, so the factor is above one.",
        eq.weight_time / eq.compute_time: "KV is missing: each sequence loads its own cache, which no batch shares.",
    },
    explanation="Each sequence pays for its own compute or its own KV cache. No waiting lets it share those.",
    hints=(
        "Cost now: step time / batch. Cost at best: what is left of that when the batch is very large.",
        "The floor per token is the longer of its compute and of loading its KV cache.",
    ),
    solution=(
        Step("Step time / batch now:", eq.step_time / v.batch, "s"),
        Step("At best, per sequence, compute:", eq.compute_time.at(batch=1), "s"),
        Step("At best, per sequence, loading its KV cache:", eq.kv_time.at(batch=1), "s"),
        "Now, divided by the longer of the two:",
    ),
)

train = Quantity(
    "Just missed it",
    level="medium",
    objective=TRAIN,
    unit="s",
    display_unit="ms",
    statement="A chip holds {hbm} and has a memory bandwidth of {bandwidth}. Each step loads everything in memory once, and a new batch starts as soon as the last step is done. A request arrives, and there is a seat for it in the next batch. How long can it take, at worst, until its first step is done?",
    parameters={
        "hbm": (288e9, 80e9, 96e9, 128e9, 141e9, 144e9, 192e9, 256e9),
        "bandwidth": (22e12, 3.35e12, 4e12, 4.8e12, 6e12, 8e12, 10e12, 16e12),
    },
    condition=lambda v: 0.01 < v["hbm"] / v["bandwidth"] < 0.08,  # as on real chips
    answer=eq.worst_latency.at(interval=eq.drain_time),
    independent_check=v.hbm / v.bandwidth + v.hbm / v.bandwidth,
    misconceptions={
        eq.drain_time: "That is the ride alone. A request that just missed the departure waits one interval first.",
        eq.mean_latency.at(interval=eq.drain_time): "That is the average over random arrivals. The question is about the worst case.",
        3 * eq.drain_time: "There is a seat on the next train: one wait and one ride.",
    },
    explanation="One interval on the platform, one on the train.",
    hints=(
        "First the interval: capacity divided by bandwidth.",
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
    objective=TRAIN,
    statement="Weights and KV caches fill the memory of a server, and its steps wait for memory rather than for compute. Why does a batch then leave about every 20 ms, rather than every 5 or every 100?",
    options=[
        wrong("Networks add about that much latency.", "The network is not in this number. It is the capacity of the memory divided by its bandwidth."),
        right("Loading the whole memory once takes that long.", "A step needs every byte, so it cannot be shorter. Departures further apart would leave the memory idle in between."),
        wrong("Users cannot read faster.", "Fifty tokens a second is faster than anyone reads. The number comes from the memory."),
        wrong("Computing one token takes 20 ms.", "One token takes well under a microsecond of a rack's compute."),
    ],
    hints=("Divide the capacity of a chip's memory by its bandwidth.",),
    solution=(f"${eq.drain_time.latex}$, some tens of milliseconds on the chips of the last years.",),
)

tokens = Quantity(
    "Tokens per second of a rack",
    level="easy",
    objective=TRAIN,
    unit="token/s",
    statement="A rack starts a full batch of {batch} every {interval}. How many tokens per second does it generate?",
    parameters={"batch": (2000, 2400, 5000, 500, 800, 1200, 1600, 3000), "interval": (1 / 64, 0.02, 0.015, 0.01, 0.0125, 0.025, 0.04)},
    answer=eq.throughput,
    independent_check=lambda v: sum(v["batch"] for _ in range(3000)) / (3000 * v["interval"]),
    misconceptions={
        1 / v.interval: "That is the rate of one user. Every sequence of the batch gets a token.",
        v.batch * v.interval: "Departures per second is one divided by the interval.",
        v.batch / (2 * v.interval): "A request may wait two intervals, but a batch still leaves in each of them.",
    },
    explanation="Divide it by what one user gets, and the batch comes back.",
    hints=("How many departures fit in a second?",),
    solution=(
        Step("Departures per second:", 1 / v.interval, "1"),
        f"${eq.throughput.latex}$ =",
    ),
)

target = Quantity(
    "The largest batch for a promised speed",
    level="hard",
    objective=LIMITS,
    unit="sequence",
    statement="You promise every user of {net_name} at least {speed} tokens per second on {machine_name}: {chips}, together {flops} in FP8 and {bandwidth}. The model stores {n_total} in FP8, uses {n_active} per token and keeps {kv_bytes_per_token} of KV cache. Contexts are {context}. What is the largest batch that keeps the promise?",
    parameters={
        "machine": RACKS["machine"],
        "net": RACKS["net"],
        "speed": (50.0, 40.0, 45.0, 48.0, 60.0, 80.0),
        "context": (8192, 16384),
    },
    derived=promised,
    condition=feasible,
    units=PLAIN | {"context": "token", "speed": ""},
    answer=floor_of(Min((v.deadline * v.bandwidth - v.n_total * v.bytes_per_param) / (v.context * v.kv_bytes_per_token), v.deadline * v.flops / (2 * v.n_active))),
    independent_check=lambda v: search_largest(v),
    misconceptions={
        v.deadline * v.flops / (2 * v.n_active): "That is the limit of compute. At this context, memory traffic reaches the deadline sooner.",
        v.deadline * v.bandwidth / (v.context * v.kv_bytes_per_token): "The weights are missing: they are loaded first, in every step, and use up part of the deadline.",
    },
    explanation="Two limits, and the smaller one counts: what can be loaded in time, and what can be computed in time. Memory is no third one here: in so short a step, less than the whole memory can be loaded.",
    hints=(
        "A promise of tokens per second is a deadline for the step.",
        "How many bytes can be loaded before the deadline? Subtract the weights, and divide by the KV cache of one sequence.",
    ),
    solution=(
        Step("The deadline of a step:", v.deadline, "s"),
        Step("Sequences that can be computed by then:", v.deadline * v.flops / (2 * v.n_active), "sequence"),
        "Whole sequences whose KV cache can be loaded by then, after the weights, which is fewer:",
    ),
)

more_chips = Choice(
    "Twice the chips",
    level="medium",
    objective=LIMITS,
    statement="A colleague says: “With twice as many GPUs for one copy of the model, each GPU has half the weights to load. So half the batch is enough to keep them busy.” What is wrong with that?",
    options=[
        wrong("Nothing.", "Half the weights per GPU are loaded in half the time. But each GPU also has half the computing to do per sequence."),
        right("Each GPU also has half the compute to do per sequence, so the same batch is needed.", "Compute time and memory time shrink by the same factor, and their ratio stays."),
        wrong("Twice the batch is needed.", "The same sequences are computed on all GPUs together, so the batch does not have to grow with their number."),
        wrong("Half the weights per GPU do not load in half the time.", "They do: every GPU loads its own part from its own memory."),
    ],
    hints=("Which of the two times shrinks when chips are added?",),
    solution=(f"Both times shrink with the number of chips: ${eq.critical_batch.latex}$ contains only the ratio of $F$ to $W$.",),
)
