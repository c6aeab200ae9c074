"""Practice problems of the pipelining lesson: the lecture's cards 3.1-3.3 and 4.1, and what people get wrong."""

from __future__ import annotations

from itertools import count, product
from typing import Any

from blackboard.catalogue import model, system
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.pipelining import equations as eq
from blackboard.problem import Choice, Estimate, Guess, Ordering, Quantity, Step, Values, right, v, wrong

FP4, FP8, BF16 = 0.5, 1.0, 2.0

COMPARE = "compare a hop between racks with the traffic inside them"
IDLE = "compute how long a pipeline idles, in serving and in training"
HOLDS = "compute what one GPU of a pipeline holds, and which context fits"
LATENCY = "predict the time per output token with hops"
WISE = "decide when a pipeline is worth it, and when a larger domain is"


def idle_share(stages: int, micro_batches: int, chunks: int = 1) -> float:
    """Idle share of a pipeline, found by running its forward half; the backward half is the same, mirrored.

    Stage s of the model lies on device s mod P. A device takes up to P micro-batches through one piece, then through
    its next. Every pass takes one slot, hops take none.
    """
    groups = [range(first, min(first + stages, micro_batches)) for first in range(0, micro_batches, stages)]
    free = [0] * stages
    done: dict[Any, int] = {}
    for group, piece, device in product(groups, range(chunks), range(stages)):
        for batch in group:
            stage = piece * stages + device
            free[device] = done[stage, batch] = max(free[device], done.get((stage - 1, batch), 0)) + 1
    return 1 - chunks * micro_batches / max(free)


# --- the hop against the experts' traffic ----------------------------------------------------------------------------

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=HOLDS,
    unit="1",
    within=1.2,
    statement="Each of {stages} racks has {room} of memory and serves users with its own copy of a model, whose weights take {stored}. Then the racks become one pipeline: each holds an equal share of the layers, and together they store a single copy. How many times as many users fit, with contexts as long as before? (1 means no more.) Guess; within a factor of 1.2 counts.",
    parameters={"stages": (4,), "n_total": (671e9, 405e9, 480e9, 560e9, 620e9, 750e9, 800e9, 860e9, 900e9, 1e12, 1.1e12, 1.2e12), "chip_hbm": (186e9, 144e9, 192e9, 288e9)},
    derived=lambda v: {"bytes_per_param": FP8, "expert_parallel": 72, "micro_batch": 2400, "kv_bytes_per_token": 70272, "room": 72 * v["chip_hbm"], "stored": v["n_total"] * FP8},
    units={"stages": "1", "room": "byte", "stored": "byte"},
    answer=eq.context_fits / eq.context_fits.at(stages=1),
    independent_check=lambda v: (v["stages"] * v["room"] - v["stored"]) / v["stages"] / (v["room"] - v["stored"]),
    misconceptions={
        v.stages: "That would be right if a rack held a quarter of the caches of its own users only. But every user's tokens walk through all {stages} racks, so each rack holds its part of the caches of all users.",
    },
    close="Not far off. The caches of all users take as much memory as before, wherever their layers are. What takes less?",
    explanation="Each rack holds one layer in {stages}, for {stages} times as many users: as much KV cache as before. All that it gains is the room of the weights that are now on the other racks.",
    hints=(
        "Add up the memory of all racks, and take off what the weights need. In the pipeline they are stored once.",
        "Divide this by the room for caches on {stages} racks that store a copy each.",
    ),
    solution=(
        Step("Room for KV cache on one rack that holds all weights:", v.room - v.stored, "byte"),
        Step("On each rack of the pipeline:", v.room - v.stored / v.stages, "byte"),
        "A user's cache takes as much memory as before, so the number of users grows as the room does:",
    ),
)

ratio = Quantity(
    "Inside the rack against out of it",
    level="easy",
    objective=COMPARE,
    unit="1",
    statement="A stage of a pipeline is one rack and holds {layers_per_stage} routed layers. In each, a token's vector goes from its GPU to {copies} of 256 routed experts, one copy each, and one result comes back from each; a shared expert sends nothing. Between two stages the vector crosses once. Every value takes the same number of bytes. A GPU sends {times} times as fast inside the rack as out of it. How long does one stage's traffic inside take, divided by the time of the crossing?",
    parameters={"layers_per_stage": (3, 4, 5, 6), "copies": (8, 6, 10, 4), "times": (8, 9, 18, 12)},
    derived={"scale_out": 5e10, "scale_up": 5e10 * v.times},
    units={"times": "1"},
    answer=eq.scale_ratio,
    independent_check=lambda v: sum(1 / v["times"] for _ in product(range(v["layers_per_stage"]), range(v["copies"]), ("there", "back"))),
    misconceptions={
        1 / eq.scale_ratio: "Upside down: the time inside goes on top.",
        eq.scale_ratio.at(scale_up=v.scale_out, scale_out=v.scale_up): "The ratio of rates is upside down. A faster link makes the time inside shorter.",
        eq.scale_ratio / 2: "A copy goes to each expert, and a result comes back: two ways.",
        eq.scale_ratio.at(scale_up=v.scale_out): "That is how many vectors are sent, not how long they take. Links inside are faster.",
        eq.scale_ratio.at(copies=256): "A token visits only the experts that it is routed to, not all there are.",
        eq.scale_ratio.at(layers_per_stage=1): "That is one layer. The stage repeats the traffic in each of its layers.",
    },
    explanation="As long as this is above one, the traffic inside takes longer, so the crossing can hide behind it.",
    hints=(
        "Count how often a token's vector is sent inside the stage, and how often out of it.",
        "Inside: experts × layers × two ways. Then divide by how many times faster the links inside are.",
    ),
    solution=(
        Step("Vectors sent inside for one token, two ways:", 2 * v.copies * v.layers_per_stage),
        f"Against one that crosses on a link {{times}} times slower, ${eq.scale_ratio.latex}$ =",
    ),
)


def routed(values: Values) -> Values:
    """What a drawn system and model stand for, in the notation's names."""
    machine, net = system(values["machine"]), model(values["net"])
    return machine.symbols() | {
        "copies": net.moe.active,
        "experts": net.moe.experts,
        "machine_name": machine.name,
        "net_name": net.name,
    }


layers = Quantity(
    "How thin a stage may be",
    level="medium",
    objective=COMPARE,
    unit="1",
    statement="{net_name} sends a token to {copies} of its {experts} routed experts in each routed layer, one copy each, and gets one result back from each; a shared expert sends nothing. Each stage of a pipeline is one {machine_name}, whose GPUs send {scale_up} inside the scale-up domain and {scale_out} out of it, in one direction. Every value takes the same number of bytes. How many routed layers must a stage have for the hop to the next stage to take exactly as long as the stage's expert traffic? Give the exact value, not rounded to whole layers.",
    parameters={
        "machine": ("gb300-nvl72", "h200-8", "gb200-nvl72", "h800-8", "a100-80gb-8", "mi355x-8", "vr200-nvl72", "mi300x-8", "rubin-ultra-kyber"),
        "net": ("deepseek-v3", "gpt-oss-120b", "mistral-large-3", "deepseek-v4-flash", "kimi-k2", "qwen3-235b-a22b", "mixtral-8x22b", "glm-4.5", "gpt-oss-20b"),
    },
    derived=routed,
    units={"machine_name": "", "net_name": "", "scale_up": "byte/s", "scale_out": "byte/s"},
    answer=eq.layers_needed,
    independent_check=1 / v.scale_out / (v.copies / v.scale_up + v.copies / v.scale_up),
    misconceptions={
        eq.layers_needed * 2: "Each copy goes out and a result comes back, so a layer sends twice what you counted.",
        1 / eq.layers_needed: "Upside down: that is the time of one layer's traffic divided by the time of the hop. The question is how many layers take as long as the hop.",
        eq.layers_needed.at(copies=v.experts): "A token goes only to the experts that it is routed to.",
        eq.layers_needed.at(copies=1): "You sent one vector per layer. A token sends one copy to each of its experts.",
        eq.layers_needed.at(scale_up=v.scale_out, scale_out=v.scale_up): "You swapped the two rates. A slower link out of the domain needs more layers, not fewer.",
    },
    explanation="Only a layer or a few are needed. Even such a thin stage keeps the network between stages off the critical path.",
    hints=(
        "Write the time of one routed layer's traffic and the time of the hop, for one token.",
        "Both contain the vector's bytes, which cancel. Divide the time of the hop by the time of one layer.",
    ),
    solution=(
        Step("Links inside are faster by", v.scale_up / v.scale_out),
        Step("One layer sends, there and back,", 2 * v.copies),
        f"vectors for each vector that hops. ${eq.layers_needed.latex}$ =",
    ),
)


def moves(routed_layers: int, copies: int) -> tuple[int, int]:
    """How often one token's vector is sent out of a stage and inside it, by walking through the stage."""
    out = inside = 0
    for layer in range(1, routed_layers + 1):
        inside += sum(1 for _ in product(range(copies), ("there", "back")))
        out += layer == routed_layers  # the sum of the results stays in the rack until then
    return out, inside


once = Choice(
    "Across once",
    level="easy",
    objective=COMPARE,
    statement="A stage holds four routed layers; in each a token goes to 8 routed experts. How often is the token's vector, or an expert's result for it, sent to the next rack, and how often inside the rack?",
    independent_check=lambda v: {(4, 64): "a", (8, 64): "b", (1, 64): "c", (1, 32): "d"}[moves(4, 8)],
    options=[
        wrong("4 times to the next rack, 64 times inside", "Between the layers of a stage the token stays in its rack. It leaves only after the last one."),
        wrong("8 times to the next rack, 64 times inside", "The experts' results are added up before the next layer. It is their sum that moves on, not each result."),
        right("once to the next rack, 64 times inside", "One vector crosses, many travel inside: the split follows the model's own structure."),
        wrong("once to the next rack, 32 times inside", "The crossing is right. Inside, each copy that goes to an expert also brings a result back."),
    ],
    hints=(
        "What does the next layer need: each expert's result, or their sum?",
        "Inside, count layers, experts, and both ways.",
    ),
    solution=("Inside: 4 layers × 8 experts × 2 ways. Out: the sum after the last layer, one vector.",),
)

# --- inference -------------------------------------------------------------------------------------------------------

naive = Quantity(
    "One batch in the pipeline",
    level="easy",
    objective=IDLE,
    unit="1",
    display_unit="%",
    statement="A pipeline of {stages} racks decodes a single batch, which enters the first rack again when it has left the last. All stages take equally long, hops take no time. What share of the time is each rack idle, in percent?",
    parameters={"stages": (4, 3, *range(5, 36))},
    answer=1 - eq.naive_utilisation,
    independent_check=lambda v: sum((rack != slot for rack, slot in product(range(v["stages"]), repeat=2))) / v["stages"] ** 2,
    misconceptions={
        eq.naive_utilisation: "That is the share of the time in which it works. The question is the rest.",
        (1 - eq.naive_utilisation) / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
        eq.bubble.at(micro_batches=v.stages): "That is the bubble of a training step with as many micro-batches as stages. Here a single batch goes around.",
    },
    explanation="One rack works and all others wait. More batches in flight fill the gaps and delay nobody.",
    hints=("How many racks work at any moment?",),
    solution=(
        Step(f"Busy: ${eq.naive_utilisation.latex}$, in percent", 100 * eq.naive_utilisation, "%"),
        "Idle is the rest:",
    ),
)

inference = Choice(
    "No bubble when serving",
    level="medium",
    objective=IDLE,
    statement="A training step through a pipeline leaves racks idle for a while. A pipeline that only decodes, with plenty of requests, does not have to. Why?",
    options=[
        wrong("It does idle as well: filling and draining cost every pipeline the same share of its time.", "That is true of a pipeline that is emptied in every step, as in training. A serving pipeline is filled once and stays full."),
        right(
            "A rack starts the next micro-batch as soon as it has passed one on, because the weights do not change between tokens.",
            "Training has to drain the pipeline before the weights change, and then fill it again. Serving fills it once and never drains it.",
        ),
        wrong("Without backward passes the idle time is too short to matter.", "The share would be the same with forward passes alone, if the pipeline were drained after every batch. What matters is whether it is drained."),
        wrong("Decoding can use micro-batches as small as one sequence, so there are always enough of them.", "It needs as many as there are stages, of the usual size. Tiny ones would load the weights again and again for few tokens."),
    ],
    hints=("What must happen in training before the next batch can begin? Does decoding have anything like it?",),
    solution=(f"With as many micro-batches as stages ${eq.utilisation.latex}$ reaches one and stays there.",),
)

in_flight = Quantity(
    "How many sequences are in flight",
    level="easy",
    objective=HOLDS,
    unit="sequence",
    statement="A model is served from a pipeline of {stages} equal stages. Each stage works on one micro-batch of {micro_batch} at a time, and hops take no time. What is the smallest number of sequences in flight that keeps every stage busy?",
    parameters={"stages": (4, 2, 3, 6, 5, 8), "micro_batch": (2400, 900, 600, 1200, 1500, 1800)},
    answer=eq.whole_batch,
    independent_check=lambda v: len({stage * v["micro_batch"] + seat for stage in range(v["stages"]) for seat in range(v["micro_batch"])}),
    misconceptions={
        v.micro_batch: "That is one stage's worth. While it works on them, the other stages need work, too.",
        v.micro_batch / v.stages: "You split one micro-batch over the stages. But every stage works on a whole micro-batch at a time.",
        v.stages: "That is the number of micro-batches, not of sequences.",
    },
    explanation="The size of a micro-batch stays the same. The pipeline needs more of them.",
    hints=("Look at all stages at one moment. What is each of them working on?",),
    solution=(f"One micro-batch on each stage: ${eq.whole_batch.latex}$ =",),
)

# --- training --------------------------------------------------------------------------------------------------------

bubble = Quantity(
    "The bubble",
    level="medium",
    objective=IDLE,
    unit="1",
    display_unit="%",
    statement="A training step sends {micro_batches} micro-batches forward through {stages} pipeline stages; when all are through, they go backward, and when all are back the next step begins. All stages take equally long, hops take no time. What share of the step is a stage idle, in percent?",
    parameters={"stages": (4, 8, 6, 16, 5, 10, 12), "micro_batches": (16, 12, 32, 24, 20, 30, 40, 48, 64)},
    answer=eq.bubble,
    independent_check=lambda v: idle_share(v["stages"], v["micro_batches"]),
    misconceptions={
        (v.stages - 1) / v.micro_batches: "That is idle time divided by working time. The question is the share of the whole step, idle time included.",
        1 - eq.naive_utilisation: "That is right for a single micro-batch. Here others follow right behind it.",
        v.stages / (v.micro_batches + v.stages): "The last stage waits for the $P - 1$ stages before it, not for itself.",
        1 - eq.bubble: "That is the share in which a device works.",
        eq.bubble / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="The last stages wait while the pipeline fills, the first ones while the work comes back. More micro-batches do not shorten the wait. They make it a smaller share.",
    hints=(
        "Count time in passes of one stage. How many passes go by before the last stage gets its first micro-batch?",
        "The forward half takes one pass per micro-batch, plus one more for every further stage.",
    ),
    solution=(
        Step("Passes of the forward half, of which {micro_batches} are work:", v.micro_batches + v.stages - 1),
        f"The backward half is its mirror image. ${eq.bubble.latex}$ =",
    ),
)

bubble_letters = Expression(
    "The bubble in letters",
    level="medium",
    objective=IDLE,
    statement="Write the share of a training step that a device of a pipeline is idle, in terms of the number of stages $P$ and the number of micro-batches, which you can type as micro_batches. All micro-batches go forward, then all go backward; all stages take equally long.",
    formula=eq.bubble,
    independent_check=1 - eq.micro_batches / (eq.micro_batches + eq.stages - 1),
    misconceptions={
        (eq.stages - 1) / eq.micro_batches: "That is idle time divided by working time. For a share of the step, the idle time belongs in the denominator as well.",
        eq.stages / (eq.micro_batches + eq.stages): "The last stage waits for all stages before it, and not for itself.",
        (eq.stages - 1) / eq.stages: "That is right for one micro-batch. With more of them the share falls.",
        eq.micro_batches / (eq.micro_batches + eq.stages - 1): "That is the share in which the device works.",
    },
    explanation="The time of a pass cancels, so it does not matter how much longer backward passes take.",
    hints=(
        "For how many passes does the last stage wait in the forward half?",
        "Divide the idle passes by all passes of the forward half. The backward half has the same share.",
    ),
    solution=(
        "Idle passes divided by all passes, the same in both halves:",
        Step(f"${eq.bubble.latex}$, typed as", "(P - 1) / (micro_batches + P - 1)"),
    ),
)

MICRO_BATCHES_FOR = eq.bubble.solve("micro_batches")

fewer = Quantity(
    "Enough micro-batches",
    level="hard",
    objective=IDLE,
    unit="1",
    tolerance=0.01,
    statement="A training pipeline has {stages} stages that take equally long; all micro-batches go forward, then all go backward. It may be idle for at most {percent} of each step. What is the smallest number of micro-batches?",
    parameters={"stages": (4, 8, 6, 3, 5, 7, 10, 12), "percent": (10.0, 20.0, 25.0, 12.5, 5.0)},
    derived={"limit": v.percent / 100},
    units={"percent": "%"},
    answer=MICRO_BATCHES_FOR.at(bubble=v.limit),
    independent_check=lambda v: next(number for number in count(1) if idle_share(v["stages"], number) <= v["limit"] + 1e-9),
    misconceptions={
        (v.stages - 1) / v.limit: "That is the number of all passes in the forward half, idle ones included. Subtract those.",
        MICRO_BATCHES_FOR.at(bubble=1 - v.limit): "You let the pipeline work for that share of the time. It may be idle for that share.",
        1 / v.limit - 1: "The number of stages is missing: every further stage adds an idle pass.",
        v.stages * (1 / v.limit - 1): "The last stage waits for the stages before it, one fewer than there are.",
    },
    explanation="A long pipeline needs a large batch, and a large batch learns less from each example. That is the price of a small bubble.",
    hints=(
        "The number of idle passes depends only on the stages. How many passes must there be in total, so that the idle ones are only that share?",
        "Set the bubble equal to the limit and solve for the number of micro-batches.",
    ),
    solution=(
        Step("Idle passes of a half:", v.stages - 1),
        Step("They may be {percent} of all passes, so there are at least", (v.stages - 1) / v.limit),
        "Without the idle ones, (stages − 1)(1/bubble − 1) =",
    ),
)

overlap = Choice(
    "Why not start the next batch",
    level="medium",
    objective=IDLE,
    statement="While a training pipeline drains, some racks wait. Why can they not start on the forward passes of the next batch?",
    options=[
        right("Those passes need the updated weights, which the current batch has not produced yet.", "The gradients of a whole batch are added up and the weights updated before the next batch begins. Schemes that start earlier train with outdated weights."),
        wrong("The activations of a second batch would not fit into memory.", "Activations are freed as the batch drains, so there would be room. The reason lies in the weights."),
        wrong("A rack cannot work forward while others in its pipeline work backward.", "1F1B does just that within a batch: racks take forward and backward passes in turn."),
        wrong("The loss of a batch is known only when the next one has passed as well.", "The loss is known as soon as a micro-batch has passed the last stage. Other batches play no part in it."),
    ],
    hints=("What happens to the weights between two batches?",),
    solution=("Gradients of all micro-batches are combined, then every weight changes once, and the next batch starts from there.",),
)

zero_bubble = Quantity(
    "Filling the idle time",
    level="medium",
    objective=IDLE,
    unit="s",
    display_unit="ms",
    statement="A training pipeline has {stages} equal stages and at least as many micro-batches. For one micro-batch a stage's forward pass takes {forward_time}, the gradient of its inputs {input_grad_time} and the gradient of its weights {weight_grad_time}. Hops take no time. The schedule is ZB-H1, in which no stage waits for another stage's weight gradients. How long is the first stage idle between its first pass of a step and its last?",
    parameters={
        "stages": (4, 8, 6, 5, 10),
        "forward_time": (0.01, 0.012, 0.009),
        "input_grad_time": (0.012, 0.011, 0.013),
        "weight_grad_time": (0.008, 0.006, 0.007),
    },
    answer=eq.idle_zero_bubble,
    independent_check=lambda v: sum(v["forward_time"] + v["input_grad_time"] + v["weight_grad_time"] - sum([v["weight_grad_time"]] * 2) for _ in range(1, v["stages"])),
    misconceptions={
        eq.idle_1f1b: "That is 1F1B, where the other stages also wait for weight gradients.",
        eq.idle_1f1b.at(weight_grad_time=0): "You took out one weight gradient for each other stage. The first device is spared two of them.",
        (v.stages - 1) * (v.forward_time + v.input_grad_time - 2 * v.weight_grad_time): "Subtract twice the weight gradient from all three passes, not from two. (DeepSeek's table looks like yours, but its $B$ includes both gradients.)",
        eq.idle_zero_bubble.at(stages=2): "That is the wait for one other stage. There are more.",
        eq.idle_zero_bubble.at(stages=v.stages + 1): "The first device waits for the other stages, not for itself.",
    },
    explanation="No other stage needs weight gradients, so a device passes gradients of inputs on first, and does those of weights when it would be idle.",
    hints=(
        "Start with 1F1B: for each other stage, the first device waits for all three passes once.",
        "Each of two moves saves one weight gradient for each other stage: a stage passes a gradient on before it does its weight gradient, and it puts weight gradients off.",
    ),
    solution=(
        Step(f"1F1B: ${eq.idle_1f1b.latex}$ =", eq.idle_1f1b, "s"),
        f"ZB-H1: ${eq.idle_zero_bubble.latex}$ =",
    ),
)

interleave = Quantity(
    "Several pieces on each device",
    level="hard",
    objective=IDLE,
    unit="1",
    display_unit="%",
    statement="A pipeline trains on {stages} devices with {micro_batches} micro-batches. The model is split into {chunks} × {stages} equal pieces. Each device holds {chunks} pieces that are not adjacent, so a micro-batch goes around all devices {chunks} times. A device takes {stages} micro-batches through one piece and then through its next one, both forward and backward. All pieces take equally long, and hops take no time. What share of the step is a device idle, in percent?",
    parameters={"stages": (4, 8, 5, 6, 10, 12), "rounds": (2, 1, 4, 3), "chunks": (2, 4, 3, 5)},
    derived={"micro_batches": v.rounds * v.stages},
    answer=eq.interleaved_bubble,
    independent_check=lambda v: idle_share(v["stages"], v["micro_batches"], v["chunks"]),
    misconceptions={
        eq.bubble: "That is right for one piece on each device. With several, the last device gets its first work sooner.",
        eq.bubble / v.chunks: "The idle time falls by that factor. But the whole step gets shorter, too, so the share falls a little less.",
        (v.stages - 1) / (v.chunks * v.micro_batches): "That is idle time divided by working time, as the paper prints it. The question is the share of the whole step.",
        (v.stages - 1) / (v.micro_batches / v.chunks + v.stages - 1): "The pieces do not divide the micro-batches. Each device has more passes to do, and shorter ones.",
        eq.bubble.at(stages=v.chunks * v.stages): "That is right for one device per piece. Here a device that waits for one piece can work on another.",
        eq.interleaved_bubble / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="A small piece takes less time, so the pipeline fills sooner. The price is more hops.",
    hints=(
        "Count in passes of one piece. How many does a device work on now, and for how many does it wait?",
        "It still waits one pass for each other device, but a pass is shorter.",
    ),
    solution=(
        Step("Passes of work in the forward half:", v.chunks * v.micro_batches),
        Step("Idle passes:", v.stages - 1),
        f"${eq.interleaved_bubble.latex}$ =",
    ),
)

FOUR = {
    "stages": 4,
    "micro_batches": 4,
    "chunks": 2,
    "forward_time": 1.0,
    "input_grad_time": 1.0,
    "weight_grad_time": 1.0,
}


def by_bubble(values: Values) -> str:
    """The keys of four schedules, the one with the largest bubble first, from the lesson's formulas."""
    shares = {
        "a": eq.interleaved_bubble(FOUR),
        "b": eq.bubble(FOUR, micro_batches=1),
        "c": eq.bubble_of_idle(FOUR, idle=eq.idle_zero_bubble(FOUR)),
        "d": eq.bubble(FOUR),
    }
    return "".join(sorted(shares, key=shares.__getitem__, reverse=True))


schedules = Ordering(
    "Schedules by their bubble",
    level="hard",
    objective=IDLE,
    statement="Four stages train on one batch. Forward pass, gradient of inputs and gradient of weights take equally long, hops take no time. Order these schedules by the share of the step that a device is idle, largest first.",
    items=[
        "interleaved: 4 micro-batches, two pieces of the model on each device",
        "naive: the whole batch as one micro-batch",
        "ZB-H1: 4 micro-batches, no stage waits for weight gradients, which go into the gaps",
        "GPipe: 4 micro-batches, all forward, then all backward",
    ],
    answer=by_bubble,
    independent_check=lambda v: "".join(
        sorted(
            "abcd",
            key={"a": idle_share(4, 4, 2), "b": idle_share(4, 1), "c": 3 / (12 + 3), "d": idle_share(4, 4)}.get,
            reverse=True,
        )
    ),
    misconceptions={
        "cadb": "That is from the smallest to the largest. Start with the one that is idle most.",
        "bdca": "Compare the idle times in passes: two pieces halve that of GPipe. What does ZB-H1 leave of three equal passes per other stage?",
        "dbac": "The naive schedule is GPipe with a single micro-batch. Do fewer micro-batches make the bubble smaller?",
    },
    explanation="Each schedule removes something that the one before it has to wait for.",
    hints=(
        "Begin with the bubble of one micro-batch and of four.",
        "Interleaving divides the idle time by the pieces; ZB-H1 leaves t_F + t_B - t_W of t_F + t_B + t_W. Then take shares of the whole step.",
    ),
    solution=(
        Step(f"${eq.bubble.latex}$ with one micro-batch:", lambda v: 100 * eq.bubble(FOUR, micro_batches=1), "%"),
        Step("with four:", lambda v: 100 * eq.bubble(FOUR), "%"),
        Step(f"${eq.interleaved_bubble.latex}$ =", lambda v: 100 * eq.interleaved_bubble(FOUR), "%"),
        Step(
            f"${eq.idle_zero_bubble.latex}$, as a share",
            lambda v: 100 * eq.bubble_of_idle(FOUR, idle=eq.idle_zero_bubble(FOUR)),
            "%",
        ),
    ),
)

faster = Choice(
    "Is it faster?",
    level="easy",
    objective=LATENCY,
    statement="A model served from one rack is split into four stages on four such racks. The pipeline is kept full with micro-batches of the old size. How long does a sequence now wait for its next token?",
    options=[
        wrong("a quarter as long, because four racks load the weights", "The four racks do load weights at the same time, but for different tokens. This token needs one stage after the other."),
        wrong("exactly as long as before, because the stages add up to the whole model", "The sum is right. But the token's vector also has to travel between racks, which takes time of its own."),
        right("a little longer, because the stages add up to the whole model and hops come on top", "Four racks make more tokens per second, but no token comes sooner."),
        wrong("four times as long, because it waits for the other micro-batches", "The other micro-batches are on other racks at that moment. In a full pipeline, the next rack becomes free exactly when this one is done."),
    ],
    hints=("Follow one token: which racks work on it, and when?",),
    solution=(f"${eq.token_time.latex}$: the whole pass, only on several racks, and the hops.",),
)

# --- memory ----------------------------------------------------------------------------------------------------------

weights = Quantity(
    "Weights on a GPU",
    level="easy",
    objective=HOLDS,
    unit="byte",
    display_unit="GB",
    statement="A model has {n_total} at {bytes_per_param}. It runs in a pipeline of {stages} racks with {expert_parallel} GPUs each, and its weights are spread evenly over all GPUs. How many GB of weights does a GPU hold?",
    parameters={
        "n_total": (1e12, 7e11, 16e11),
        "bytes_per_param": (FP8, FP4, BF16),
        "expert_parallel": (64, 72),
        "stages": (4, 2, 3),
    },
    units={"expert_parallel": "1"},
    answer=eq.chip_weights,
    independent_check=lambda v: v["n_total"] / sum(1 for _ in product(range(v["stages"]), range(v["expert_parallel"]))) * v["bytes_per_param"],
    misconceptions={
        eq.chip_weights.at(stages=1): "That is one rack with the whole model. Each stage holds only its own layers.",
        eq.chip_weights.at(expert_parallel=1): "That is a whole stage. Its GPUs share the weights among them.",
    },
    explanation="A second stage takes half of the weights off each GPU. Each further stage has less left to take.",
    hints=(
        "How many GPUs are there in total?",
        "Divide the bytes of the whole model by the GPUs of all stages.",
    ),
    solution=(
        Step("All weights:", v.n_total * v.bytes_per_param, "byte"),
        f"Divided by all GPUs of all stages: ${eq.chip_weights.latex}$ =",
    ),
)

WEIGHTS, CACHE = eq.chip_weights.expr, eq.chip_kv.expr

stage = Expression(
    "What a GPU holds",
    level="medium",
    objective=HOLDS,
    statement="A pipeline has P stages with E GPUs each and is kept full with P micro-batches of b sequences. A sequence has L tokens of context, at kappa bytes of KV per token over all layers. The model has N_tot parameters at b_w bytes each. Write the bytes of weights and KV on one GPU, both spread evenly. Use the micro-batch b, not the whole batch B.",
    formula=eq.stage_memory,
    independent_check=(eq.n_total * eq.bytes_per_param + eq.stages * eq.micro_batch * eq.context * eq.kv) / (eq.expert_parallel * eq.stages),
    misconceptions={
        WEIGHTS + CACHE / eq.stages: "You divided the KV by $P$. That would be right for one micro-batch, but $P$ of them are in flight.",
        WEIGHTS + eq.batch * eq.context * eq.kv / eq.expert_parallel: "$B$ is the whole batch of $P$ micro-batches. A stage stores only its own layers of each sequence.",
        eq.chip_memory.expr: "That is right in terms of the whole batch $B$. How large must $B$ be if no stage is to wait? Substitute that.",
        eq.n_total * eq.bytes_per_param / eq.expert_parallel + CACHE: "The weights are spread over the GPUs of all stages, not of one.",
        eq.expert_parallel * (WEIGHTS + CACHE): "That is a whole stage. Divide by its GPUs.",
        WEIGHTS + CACHE * eq.stages: "$P$ micro-batches are in flight, but a stage stores only its own layers of each.",
    },
    explanation="P divides the weights, and it cancels in the KV.",
    hints=(
        "First all weights and all KV, with the whole batch; then divide by all GPUs.",
        "The whole batch is $P$ micro-batches. What cancels?",
    ),
    solution=(
        f"${eq.chip_memory.latex}$ with ${eq.whole_batch.latex}$; in the KV, $P$ cancels:",
        Step(f"${eq.stage_memory.latex}$", "N_tot * b_w / (E * P) + b * L * kappa / E"),
    ),
)


def servers(values: Values) -> Values:
    """A drawn server as a stage, DeepSeek-V3's size and cache, and the names to print."""
    machine, net = system(values["machine"]), model("deepseek-v3")
    bound = net.symbols("fp8") | {"chip_hbm": machine.chip.hbm_bytes, "expert_parallel": machine.chips}
    return bound | {"machine_name": machine.name, "net_name": net.name}


context = Quantity(
    "How much context fits",
    level="hard",
    objective=HOLDS,
    unit="token/sequence",
    display_unit="token",
    statement="{net_name} ({n_total}, FP8: one byte each; KV {kv_bytes_per_token} over all layers) is served from a pipeline of {stages} servers. Each is one {machine_name}, whose {expert_parallel} GPUs have {chip_hbm} each. The pipeline is kept full with {stages} micro-batches of {micro_batch}. Weights and KV are spread evenly, and nothing else takes memory. How many tokens of context can each sequence have at most?",
    parameters={"machine": ("h200-8", "b200-8", "b300-8", "mi300x-8"), "stages": (2, 3, 4, 5), "micro_batch": (256, 128, 512, 384)},
    derived=servers,
    units={"machine_name": "", "net_name": "", "chip_hbm": "byte", "expert_parallel": "1"},
    answer=eq.context_fits,
    independent_check=(v.stages * v.expert_parallel * v.chip_hbm - v.n_total) / (v.stages * v.micro_batch) / v.kv_bytes_per_token,
    misconceptions={
        v.stages * eq.context_fits.at(stages=1): "You let every further stage add as much context as the first. But each stage also brings a micro-batch that needs room.",
        v.stages * eq.context_fits: "You divided the KV by the stages. Each stage stores fewer layers, but of correspondingly more sequences.",
        eq.context_fits.at(stages=1): "You subtracted all weights from the memory of one server. A stage holds only its share of them.",
        v.expert_parallel * v.chip_hbm / (v.micro_batch * v.kv_bytes_per_token): "The weights are missing: they take up memory too.",
    },
    explanation="Each further stage frees some memory of the weights, less each time. The context can never exceed what would fit without any weights.",
    hints=(
        "What is left of a server's memory beside its share of the weights?",
        "In a full pipeline a server's KV is what one micro-batch takes over all layers. Solve for the context.",
    ),
    solution=(
        Step("Memory of a server:", v.chip_hbm * v.expert_parallel, "byte"),
        Step("Its share of the weights:", v.n_total * v.bytes_per_param / v.stages, "byte"),
        Step("KV per token of context, for one micro-batch over all layers:", v.micro_batch * v.kv_bytes_per_token, "byte"),
        Step(f"${eq.context_fits.latex}$ =", eq.context_fits, "token"),
    ),
)

holds = Function(
    "Write what a GPU holds",
    level="medium",
    objective=HOLDS,
    statement="Write a Python function of seven arguments that returns the bytes of weights and KV on one GPU of a pipeline. The pipeline is kept full, with as many micro-batches as stages, and everything is spread evenly. expert_parallel is the number of GPUs of a stage. It is called by name, with numbers.",
    formula=eq.stage_memory,
    independent_check=(eq.n_total * eq.bytes_per_param / eq.stages + eq.micro_batch * eq.context * eq.kv) / eq.expert_parallel,
    misconceptions={
        WEIGHTS + CACHE / eq.stages: "Your KV shrinks with the stages. But more stages also mean more sequences in flight, so it does not.",
        eq.n_total * eq.bytes_per_param / eq.expert_parallel + CACHE: "A stage holds only its own layers' weights.",
        WEIGHTS + CACHE * eq.expert_parallel: "The KV is shared among the GPUs of a stage, as the weights are.",
        WEIGHTS + CACHE * eq.stages: "A stage stores only its own layers of each sequence in flight.",
        CACHE: "That is the KV alone. The weights need room too.",
        WEIGHTS: "That is the weights alone. Every sequence in flight has a KV cache.",
    },
    explanation="Call it with one, two and four stages: the weights shrink and the KV stays.",
    hints=(
        "Two terms: weights and KV.",
        "def holds(n_total, bytes_per_param, expert_parallel, stages, micro_batch, context, kv_bytes_per_token): ...",
    ),
    solution=(
        f"${eq.stage_memory.latex}$",
        Step("As code:", "n_total * bytes_per_param / (expert_parallel * stages) + micro_batch * context * kv_bytes_per_token / expert_parallel"),
    ),
)

# --- latency, and what scale-up buys ---------------------------------------------------------------------------------

hop_latency = Quantity(
    "Hops on the way",
    level="easy",
    objective=LATENCY,
    unit="s",
    display_unit="ms",
    statement="On one rack a token takes {t_step}. The model moves to a pipeline of {stages} such racks, kept full with micro-batches of the old size. A hop from one rack to the next takes {hop_time}. After the last rack the token returns to the first, which is also a hop. How long does one token take now?",
    parameters={"stages": (4, 3, 6, 5, 8), "t_step": (0.02, 0.015, 0.024, 0.03), "hop_time": (0.0025, 0.002, 0.004, 0.003)},
    derived={"hops": v.stages},
    answer=eq.token_time,
    independent_check=lambda v: sum(v["t_step"] / v["stages"] + v["hop_time"] for _ in range(v["stages"])),
    misconceptions={
        eq.token_time.at(hops=1): "That is one hop. The token makes one after every stage.",
        eq.token_time.at(hops=v.stages - 1): "The way back from the last rack to the first is missing: the next token begins there.",
        eq.token_time.at(t_step=v.t_step * v.stages): "Each rack has only its share of the layers. Together they take as long as one rack did.",
        eq.token_time.at(t_step=v.t_step / v.stages): "That is the time on a single rack plus all hops. The token passes all racks, one after the other.",
        v.t_step: "The racks together take that long. The hops come on top.",
    },
    explanation="Hops come one after the other, so they add up. Milliseconds are the lecture's guess for a hop, given with little confidence.",
    hints=(
        "First the time on all racks together, then the hops.",
        "The path is a closed loop, so there are as many hops as stages.",
    ),
    solution=(
        Step("On all racks together, as before:", v.t_step, "s"),
        Step("All hops:", v.hops * v.hop_time, "s"),
        f"${eq.token_time.latex}$ =",
    ),
)

hop_size = Estimate(
    "How long a hop sends",
    level="medium",
    objective=LATENCY,
    unit="s",
    display_unit="µs",
    statement="In a decode step, a micro-batch of {micro_batch}, each with {context} of context, has passed the first stage. One vector of {width} values in BF16 (two bytes each) per sequence goes on to the next rack. The rack's {expert_parallel} GPUs share the sending evenly, each over a network card of {scale_out} in one direction. How many µs does the sending take, without latency? An estimate within a factor of three will do.",
    parameters={
        "micro_batch": (2400, 600, 4800),
        "width": (7168, 4096, 5120),
        "expert_parallel": (64, 72),
        "scale_out": (5e10, 1e11),
        "context": (200000, 50000),
    },
    derived={"bytes_per_value": BF16},
    units={"context": "token", "expert_parallel": "1", "scale_out": "byte/s"},
    answer=eq.hop,
    independent_check=lambda v: v["micro_batch"] * v["width"] * 16 / 8 / sum(v["scale_out"] for _ in range(v["expert_parallel"])),
    misconceptions={
        eq.hop.at(expert_parallel=1): "That is one network card. All GPUs of the rack send at the same time.",
        eq.hop.at(micro_batch=1): "That is one sequence. The whole micro-batch crosses.",
        eq.hop.at(micro_batch=v.micro_batch * v.context): "The whole context does not cross. Old tokens stay behind as KV on each stage, and only one new token per sequence goes on.",
    },
    explanation="This is microseconds, not the milliseconds that the lecture guesses. Whatever a hop takes beyond this is latency.",
    hints=(
        "Divide the bytes of all vectors by the rate of all cards.",
        "Sequences × values × two bytes, then divide by cards × bytes per second.",
    ),
    solution=(
        Step("Bytes that cross:", v.micro_batch * v.width * v.bytes_per_value, "byte"),
        Step("All cards together, per second:", v.expert_parallel * v.scale_out, "byte"),
        f"${eq.hop.latex}$ =",
    ),
)


def moved(values: Values) -> Values:
    """The drawn system in the notation's names, and beside it the small domain that it replaces."""
    machine, small = system(values["machine"]), system("h100-8").symbols()
    before = {"small_domain": small["domain"], "small_bandwidth": small["chip_bandwidth"]}
    now = machine.symbols() | {"expert_parallel": machine.symbols()["domain"]}
    return now | before | {"machine_name": machine.name}


domain = Quantity(
    "What a larger domain buys",
    level="medium",
    objective=WISE,
    unit="s",
    display_unit="ms",
    statement="A model of {n_total} in FP8 (one byte each) ran in a pipeline of small servers, scale-up domains of {small_domain} H100s with a memory bandwidth of {small_bandwidth} each. Now it runs in a pipeline of {stages} stages. Each stage is one {machine_name}, a scale-up domain of {domain} GPUs with {chip_bandwidth} each. For one token, all weights have to be loaded, stage after stage. What is the shortest time for that now, all stages together, in ms?",
    parameters={
        "machine": ("gb200-nvl72", "vr200-nvl72", "b200-64"),
        "n_total": (7e11, 1e12, 2e12, 4e11, 15e11),
        "stages": (2, 3, 4, 5, 6),
    },
    derived=lambda v: moved(v) | {"bytes_per_param": FP8},
    units={
        "small_domain": "1",
        "small_bandwidth": "byte/s",
        "chip_bandwidth": "byte/s",
        "domain": "1",
        "machine_name": "",
    },
    answer=eq.parallel_weight_time,
    independent_check=lambda v: sum(v["n_total"] / v["stages"] / (v["domain"] * v["chip_bandwidth"]) for _ in range(v["stages"])),
    misconceptions={
        eq.parallel_weight_time / v.stages: "The stages do not load weights for the same token at the same time. While one works on it, the others work on other tokens.",
        eq.parallel_weight_time * v.stages: "You let every stage load the whole model. Each loads only its own share.",
        eq.parallel_weight_time.at(expert_parallel=v.small_domain): "You changed only the bandwidth of each GPU. In the larger domain, more GPUs load weights for the same token at the same time.",
        eq.parallel_weight_time.at(expert_parallel=v.small_domain, chip_bandwidth=v.small_bandwidth): "That is the old pipeline. The new domain loads the weights faster.",
        eq.parallel_weight_time.at(expert_parallel=1): "That is a single GPU. All GPUs of a domain load at the same time, each its share.",
        eq.parallel_weight_time.at(chip_bandwidth=v.small_bandwidth): "You changed the number of GPUs, but the bandwidth of each is new as well.",
    },
    explanation="A larger domain buys bandwidth, because more GPUs load weights for the same token. A pipeline could have given the capacity as well.",
    hints=(
        "Which GPUs load weights for the same token at the same time?",
        "A stage loads its share of the weights with the bandwidth of one domain. Then add up the stages.",
    ),
    solution=(
        Step("One domain loads, per second,", v.domain * v.chip_bandwidth, "byte"),
        Step("In the small domains the weights took", eq.parallel_weight_time.at(expert_parallel=v.small_domain, chip_bandwidth=v.small_bandwidth), "s"),
        f"Now ${eq.parallel_weight_time.latex}$ =",
    ),
)

# --- is it wise? -----------------------------------------------------------------------------------------------------

lstm = Quantity(
    "Eight GPUs, not eight times as fast",
    level="easy",
    objective=WISE,
    unit="1",
    display_unit="%",
    statement="A model is split by layers over a pipeline of {stages} GPUs and trains {speed_up} times as fast as on one GPU. What is the efficiency, the share of the {stages} GPUs' time that is put to use, in percent?",
    parameters={"stages": (8, 16, 10, 12, 20, 24), "speed_up": (3.5, 5.0, 6.4, 2.8, 4.2, 5.6, 7.2)},
    units={"speed_up": "1"},
    answer=v.speed_up * eq.naive_utilisation,
    independent_check=1 / v.stages / (1 / v.speed_up),
    misconceptions={
        1 - v.speed_up * eq.naive_utilisation: "That is the share that is lost.",
        1 / (v.speed_up * eq.naive_utilisation): "Upside down: an efficiency is at most one.",
        (v.speed_up - 1) / (v.stages - 1): "That counts only what the added GPUs bring. The question is the efficiency of all of them, the first included.",
        v.speed_up * eq.naive_utilisation / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="Three and a half times on eight GPUs is what a talk of 2024 reports of a translation model of 2014. The same talk calls pipelining not wise, and gives no reason.",
    hints=("How many times as fast would it be if no GPU ever waited?",),
    solution=(
        Step(f"If only one stage works at a time, a pipeline uses ${eq.naive_utilisation.latex}$ of its time, in percent", 100 * eq.naive_utilisation, "%"),
        "and is as fast as one GPU. This one is {speed_up} times as fast:",
    ),
)

wise = Choice(
    "Not wise, but why?",
    level="medium",
    objective=WISE,
    statement="Several reasons have been given against pipelines. Which one explains why a pipeline does not help to serve long contexts?",
    options=[
        wrong("Devices idle in bubbles while the pipeline fills and drains.", "Bubbles belong to training. A serving pipeline can be kept full."),
        wrong("Layers that look back at earlier layers, or that differ from each other, are hard to split into equal stages.", "Pipelines do make new architectures slow to try. But that has nothing to do with long contexts."),
        wrong("Every hop makes each token later.", "True, but hops add time. They do not decide what fits into memory."),
        right("It only takes weights off a GPU, and a rack has memory to spare for those. The KV cache on each GPU stays as it was.", "Pipelining still makes sense where the weights do not fit into one rack, or where training needs more devices than a rack has."),
    ],
    hints=("What fills the memory when contexts are long? How much of it do more stages take away?",),
    solution=(f"In ${eq.stage_memory.latex}$ the number of stages divides the weights only.",),
)
