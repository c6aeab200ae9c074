"""Practice problems of the pipelining lesson: the lecture's cards 3.1-3.3 and 4.1, and what people get wrong."""

from __future__ import annotations

from itertools import count, product
from typing import Any

from blackboard.catalogue import model, system
from blackboard.lessons.pipelining import equations as eq
from blackboard.problem import Choice, Estimate, Expression, Function, Ordering, Quantity, Step, Values, right, v, wrong

FP4, FP8, BF16 = 0.5, 1.0, 2.0

COMPARE, IDLE = "compare a hop with the experts' traffic", "compute how long a pipeline idles"
TURN, HOLDS = "say why inference needs no bubble and training has one", "compute what a stage holds"
LATENCY, SCALE = "compute latency with hops", "say what a larger scale-up domain buys"
WISE = "say why pipelining is not wise, and where it is"


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

guess = Quantity(
    "A guess before you read",
    level="easy",
    objective=HOLDS,
    unit="byte",
    display_unit="GB",
    statement="A rack serves one batch of sequences, and each of its GPUs holds {held} of KV cache. Now {stages} such racks form a pipeline, each with an equal share of the layers. To keep all of them busy, {stages} micro-batches are under way, each as large as that batch and with contexts as long. How many GB of KV does a GPU hold now? Guess.",
    parameters={"stages": (4, 3, 6), "context": (200000, 160000, 120000, 240000)},
    derived={
        "micro_batch": 2400,
        "kv_bytes_per_token": 2000,
        "expert_parallel": 64,
        "held": 2400 * 2000 * v.context / 64,
    },
    units={"held": "byte"},
    answer=eq.chip_kv,
    independent_check=lambda v: sum(v["held"] / v["stages"] for _ in range(v["stages"])),
    misconceptions={
        eq.chip_kv / v.stages: "Each GPU does store fewer layers of a sequence. But more micro-batches are under way, and their sequences need room as well.",
        eq.chip_kv * v.stages: "There are more sequences, and you counted them. But of each a GPU now stores only its own rack's layers.",
    },
    explanation="Nothing has changed. A GPU stores fewer layers of each sequence, and as many times more sequences.",
    hints=(
        "Two things change: how many sequences are under way, and how many layers of each a rack stores.",
        "Write both changes as factors and multiply them.",
    ),
    solution=(
        Step("A rack now stores one of {stages} equal shares of each sequence. For one micro-batch that is, on a GPU,", v.held / v.stages, "byte"),
        f"There are {{stages}} micro-batches, and the two factors cancel: ${eq.chip_kv.latex}$ =",
    ),
)

ratio = Quantity(
    "Inside the rack against out of it",
    level="easy",
    objective=COMPARE,
    unit="1",
    statement="A stage of a pipeline is one rack and holds {layers_per_stage} routed layers. In each, a token's vector goes from its GPU to {copies} of 256 routed experts, one copy each, and one result comes back from each; a shared expert sends nothing. Between two stages the vector crosses once. A value takes the same bytes everywhere, and in one direction a GPU sends {times} times as fast inside the rack as out of it. What is the time of one stage's traffic inside, divided by the time of the crossing?",
    parameters={"layers_per_stage": (3, 4, 5), "copies": (8, 6, 10), "times": (8, 9, 18)},
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
    explanation="Above one, the links inside are the slower part, so the crossing can hide behind them.",
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
    statement="{net_name} sends a token to {copies} of its {experts} routed experts in each routed layer, one copy each, and gets one result back from each; a shared expert sends nothing. Each stage of a pipeline is one {machine_name}, whose GPUs send {scale_up} inside the scale-up domain and {scale_out} out of it, in one direction. A value takes the same bytes everywhere. With how many routed layers in a stage does the hop to the next stage take exactly as long as the experts' traffic? Give the exact value, not rounded to whole layers.",
    parameters={
        "machine": ("gb200-nvl72", "h200-8", "gb300-nvl72", "h800-8"),
        "net": ("deepseek-v3", "gpt-oss-120b", "mistral-large-3", "deepseek-v4-flash"),
    },
    derived=routed,
    units={"machine_name": "", "net_name": "", "scale_up": "byte/s", "scale_out": "byte/s"},
    answer=eq.layers_needed,
    independent_check=1 / v.scale_out / (v.copies / v.scale_up + v.copies / v.scale_up),
    misconceptions={
        eq.layers_needed * 2: "Each copy goes out and a result comes back, so a layer sends twice what you counted.",
        1 / eq.layers_needed: "Upside down: that is the time of one layer's traffic over the hop's. Asked is how many such layers take as long as the hop.",
        eq.layers_needed.at(copies=v.experts): "A token goes only to the experts that it is routed to.",
        eq.layers_needed.at(copies=1): "You sent one vector per layer. A token sends one copy to each of its experts.",
        eq.layers_needed.at(scale_up=v.scale_out, scale_out=v.scale_up): "The rates have changed places: slower links out of the domain call for more layers, not fewer.",
    },
    explanation="Rounded up to whole layers it is two at most. Even a stage this thin keeps the network between stages off the critical path.",
    hints=(
        "Write the time of one routed layer's traffic and the time of the hop, for one token.",
        "Both have the vector's bytes in them, which cancel. Divide the hop's time by one layer's.",
    ),
    solution=(
        Step("Links inside are faster by", v.scale_up / v.scale_out),
        Step("One layer sends, there and back,", 2 * v.copies),
        f"vectors for each one that hops. ${eq.layers_needed.latex}$ =",
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
        wrong("4 times to the next rack, 64 times inside", "From layer to layer the token stays in its rack. It leaves only after the last layer of the stage."),
        wrong("8 times to the next rack, 64 times inside", "The experts' results are added up before the next layer. It is their sum that moves on, not each result."),
        right("once to the next rack, 64 times inside", "One arrow across the cut, many inside: the cut follows the model's own structure."),
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
    statement="A pipeline of {stages} racks decodes a single batch, which enters the first rack again when it has left the last. All stages take equally long, hops take no time. For which share of the time is a rack idle, in percent?",
    parameters={"stages": (4, 3, 5, 6, 10)},
    answer=1 - eq.naive_utilisation,
    independent_check=lambda v: sum((rack != slot for rack, slot in product(range(v["stages"]), repeat=2))) / v["stages"] ** 2,
    misconceptions={
        eq.naive_utilisation: "That is the share in which it works. Asked is the rest.",
        (1 - eq.naive_utilisation) / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
        eq.bubble.at(micro_batches=v.stages): "That is the bubble of a training step with as many micro-batches as stages. Here a single batch goes round.",
    },
    explanation="One rack works, all others wait. More batches under way fill the gaps at no cost in time.",
    hints=("How many racks work at any moment?",),
    solution=(
        Step(f"Busy: ${eq.naive_utilisation.latex}$, in percent", 100 * eq.naive_utilisation, "%"),
        "Idle is the rest:",
    ),
)

inference = Choice(
    "No bubble when serving",
    level="medium",
    objective=TURN,
    statement="A training step through a pipeline leaves racks idle for a while. A pipeline that only decodes, with plenty of requests, need not. Why?",
    options=[
        wrong("It does idle as well: filling and draining cost every pipeline the same share of its time.", "That holds for a pipeline that is emptied at every step, as in training. One that serves is filled once and stays full."),
        right(
            "A rack takes up the next micro-batch as soon as it has passed one on; no update of the weights separates one token from the next.",
            "Training stops and turns round: first the early work reaches the last rack late, then the first rack waits for gradients to come back. Serving fills once and never drains.",
        ),
        wrong("Without backward passes the idle time is too short to matter.", "The share would be the same with forward passes alone, if the pipeline were drained after every batch. What matters is whether it is drained."),
        wrong("Decoding can use micro-batches as small as one sequence, so there are always enough of them.", "It needs as many as there are stages, of the usual size. Tiny ones would pay for reading the weights again and again."),
    ],
    hints=("What must have happened in training before the next batch may begin? Is there such a thing in decoding?",),
    solution=(f"With as many micro-batches as stages ${eq.utilisation.latex}$ reaches one and stays there.",),
)

in_flight = Quantity(
    "How many sequences are under way",
    level="easy",
    objective=HOLDS,
    unit="sequence",
    statement="A model is decoded in a pipeline of {stages} equal stages, and none may ever wait. Hops take no time. A stage works on one micro-batch of {micro_batch} at a time. How many sequences are under way at once, at the least?",
    parameters={"stages": (4, 2, 3, 6), "micro_batch": (2400, 900, 600)},
    answer=eq.whole_batch,
    independent_check=lambda v: len({stage * v["micro_batch"] + seat for stage in range(v["stages"]) for seat in range(v["micro_batch"])}),
    misconceptions={
        v.micro_batch: "That is on one stage. While it works on them, the other stages need something to do.",
        v.micro_batch / v.stages: "You cut one batch into pieces. Then each is too small to pay for reading the weights, which every stage does once per micro-batch.",
        v.stages: "That is the number of micro-batches, not of sequences.",
    },
    explanation="The size of a micro-batch stays what the weights call for; the pipeline multiplies their number.",
    hints=("Look at all stages at one moment. What does each have in hand?",),
    solution=(f"One micro-batch on each stage: ${eq.whole_batch.latex}$ =",),
)

# --- training --------------------------------------------------------------------------------------------------------

bubble = Quantity(
    "The bubble",
    level="medium",
    objective=IDLE,
    unit="1",
    display_unit="%",
    statement="A training step sends {micro_batches} micro-batches forward through {stages} pipeline stages; when all are through, they go backward, and when all are back the next step begins. All stages take equally long, hops take no time. Which share of the step's time is a device idle, in percent?",
    parameters={"stages": (4, 8, 6, 16), "micro_batches": (16, 12, 32, 24)},
    answer=eq.bubble,
    independent_check=lambda v: idle_share(v["stages"], v["micro_batches"]),
    misconceptions={
        (v.stages - 1) / v.micro_batches: "That is idle time over working time. Asked is the share of the whole step, idle time included.",
        1 - eq.naive_utilisation: "That is a step with one micro-batch. While some wait for it, the others here already follow.",
        v.stages / (v.micro_batches + v.stages): "The last stage waits for the stages before it, and not for itself.",
        1 - eq.bubble: "That is the share in which a device works.",
        eq.bubble / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="The last stages wait while the pipeline fills, the first ones while the work comes back. More micro-batches shrink the share, not the wait.",
    hints=(
        "Count in slots, one for each pass of one stage. How many slots pass before the last stage gets its first micro-batch?",
        "The forward half takes as many slots as micro-batches, and one more for every further stage.",
    ),
    solution=(
        Step("Slots of the forward half, of which {micro_batches} are work:", v.micro_batches + v.stages - 1),
        f"The backward half is its mirror image. ${eq.bubble.latex}$ =",
    ),
)

bubble_letters = Expression(
    "The bubble in letters",
    level="medium",
    objective=IDLE,
    statement="Write the share of a training step in which a device of a pipeline idles, from the number of stages P and the number of micro-batches, which you may type as micro_batches. All micro-batches go forward, then all go backward; all stages take equally long.",
    formula=eq.bubble,
    independent_check=1 - eq.micro_batches / (eq.micro_batches + eq.stages - 1),
    misconceptions={
        (eq.stages - 1) / eq.micro_batches: "That is idle over working time. As a share, the idle time belongs below the line as well.",
        eq.stages / (eq.micro_batches + eq.stages): "The last stage waits for all stages before it, and not for itself.",
        (eq.stages - 1) / eq.stages: "That is one micro-batch. With more of them the share falls.",
        eq.micro_batches / (eq.micro_batches + eq.stages - 1): "That is the share in which the device works.",
    },
    explanation="The time of a pass has cancelled, so it does not matter how much longer backward passes take.",
    hints=(
        "For how many slots does the last stage wait in the forward half?",
        "Idle slots over all slots of the forward half; the backward half has the same share.",
    ),
    solution=(
        "Idle slots over all slots, the same in both halves:",
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
    statement="A training pipeline has {stages} stages that take equally long; all micro-batches go forward, then all go backward. It may idle for at most {percent} of each step. How many micro-batches does a step need at the least?",
    parameters={"stages": (4, 8, 6), "percent": (10.0, 20.0, 25.0)},
    derived={"limit": v.percent / 100},
    units={"percent": "%"},
    answer=MICRO_BATCHES_FOR.at(bubble=v.limit),
    independent_check=lambda v: next(number for number in count(1) if idle_share(v["stages"], number) <= v["limit"] + 1e-9),
    misconceptions={
        (v.stages - 1) / v.limit: "That many slots the forward half has in all. Some of them are the idle ones.",
        MICRO_BATCHES_FOR.at(bubble=1 - v.limit): "You let the pipeline work for that share of the time. It may idle for that share.",
        1 / v.limit - 1: "The number of stages is missing: every further stage adds an idle slot.",
        v.stages * (1 / v.limit - 1): "The last stage waits for the stages before it, one fewer than there are.",
    },
    explanation="A long pipeline needs a large batch, and a large batch learns less from each sample. That is the price of a small bubble.",
    hints=(
        "The idle slots are given by the stages alone. Of how many slots may they be that share?",
        "Set the bubble equal to the limit and solve for the number of micro-batches.",
    ),
    solution=(
        Step("Idle slots of a half:", v.stages - 1),
        Step("They may be {percent} of all slots, so there are at least", (v.stages - 1) / v.limit),
        "Without the idle ones, (stages − 1)(1/bubble − 1) =",
    ),
)

overlap = Choice(
    "Why not start the next batch",
    level="medium",
    objective=TURN,
    statement="While a training pipeline drains, its first racks wait. Why may they not start with the forward passes of the next batch?",
    options=[
        right("Those passes have to use weights that the present batch is still about to change.", "All gradients of a batch are added up and the weights updated before the next begins. Schemes that start earlier train with outdated weights."),
        wrong("The activations of a second batch would not fit into memory.", "Activations are freed as the batch drains, so there would be room. The reason lies in the weights."),
        wrong("A rack cannot work forward while others in its pipeline work backward.", "1F1B does just that within a batch: racks take forward and backward passes in turn."),
        wrong("The loss of a batch is known only when the next one has passed as well.", "The loss is there when a micro-batch has passed the last stage. Other batches have no part in it."),
    ],
    hints=("What happens to the weights between two batches?",),
    solution=("Gradients of all micro-batches are combined, then every weight changes once, and the next batch starts from there.",),
)

zero_bubble = Quantity(
    "Filling the holes",
    level="medium",
    objective=IDLE,
    unit="s",
    display_unit="ms",
    statement="A training pipeline has {stages} equal stages. For one micro-batch a stage's forward pass takes {forward_time}, the gradient of its inputs {input_grad_time} and the gradient of its weights {weight_grad_time}. In 1F1B a stage computes both gradients in one go, and for each of the other stages a device waits once as long as all three passes take. ZB-H1 computes weight gradients apart: no stage waits for another's any more, and during the wait for each other stage a device catches up on one of its own. Hops take no time. With ZB-H1, how long does a device idle in a step, from the first pass on any device to the last?",
    parameters={
        "stages": (4, 8, 6),
        "forward_time": (0.01, 0.012),
        "input_grad_time": (0.012, 0.011),
        "weight_grad_time": (0.008, 0.006),
    },
    answer=eq.idle_zero_bubble,
    independent_check=lambda v: sum(v["forward_time"] + v["input_grad_time"] + v["weight_grad_time"] - sum([v["weight_grad_time"]] * 2) for _ in range(1, v["stages"])),
    misconceptions={
        eq.idle_1f1b: "That is 1F1B, where weight gradients are part of the chain that the others wait for.",
        eq.idle_1f1b.at(weight_grad_time=0): "You took weight gradients out of the chain. They also fill gaps, and so shorten the wait a second time.",
        (v.stages - 1) * (v.forward_time + v.input_grad_time - 2 * v.weight_grad_time): "Twice the weight gradient goes off all three passes, not off two. DeepSeek's table looks like yours, but its B holds both gradients.",
        eq.idle_zero_bubble.at(stages=2): "That is the wait for one other stage. There are more.",
        eq.idle_zero_bubble.at(stages=v.stages + 1): "A device waits for the other stages, not for itself.",
    },
    explanation="Weight gradients take no part in the chain from stage to stage, so they can wait until a device has nothing else to do.",
    hints=(
        "Begin with 1F1B: for each other stage a device waits for all three passes once.",
        "Weight gradients are subtracted twice: once because nobody waits for them, once because they fill a gap.",
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
    statement="A pipeline trains on {stages} devices with {micro_batches} micro-batches. The model is cut into {chunks} × {stages} equal pieces, and each device holds {chunks} that do not follow each other: a micro-batch goes round all devices {chunks} times. A device takes {stages} micro-batches through one piece, then through its next, forward as backward. All pieces take equally long, hops take no time. Which share of the step does a device idle, in percent?",
    parameters={"stages": (4, 8), "rounds": (2, 1, 4), "chunks": (2, 4)},
    derived={"micro_batches": v.rounds * v.stages},
    answer=eq.interleaved_bubble,
    independent_check=lambda v: idle_share(v["stages"], v["micro_batches"], v["chunks"]),
    misconceptions={
        eq.bubble: "That is one piece on each device. With several the last device gets its first work sooner.",
        eq.bubble / v.chunks: "The idle time falls by that factor, and so the whole step gets shorter. The share falls a little less.",
        (v.stages - 1) / (v.chunks * v.micro_batches): "That is idle over working time, as the paper prints it. Asked is the share of the whole step.",
        (v.stages - 1) / (v.micro_batches / v.chunks + v.stages - 1): "Pieces do not use up micro-batches. Each device has more passes to do, and shorter ones.",
        eq.bubble.at(stages=v.chunks * v.stages): "That is one device for each piece. Here a device that waits for one piece's micro-batch can have another's at hand.",
        eq.interleaved_bubble / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="A small piece is passed on sooner, so the pipeline fills sooner. The price is that many more hops.",
    hints=(
        "Count in slots of one piece. How many slots of work has a device now, and how many does it wait?",
        "It still waits one slot for each other device, but a slot is shorter.",
    ),
    solution=(
        Step("Slots of work in the forward half:", v.chunks * v.micro_batches),
        Step("Idle slots:", v.stages - 1),
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
    statement="Four stages train on one batch. Forward pass, gradient of inputs and gradient of weights take equally long, hops take no time. Order these schedules by the idle share of a device in the step, the largest first.",
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
        "cadb": "That is from the smallest to the largest. Begin with the one that idles most.",
        "bdca": "Compare the idle times in passes: two pieces halve that of GPipe. What does ZB-H1 leave of three equal passes per other stage?",
        "dbac": "The naive schedule is GPipe with a single micro-batch. Do fewer micro-batches make the bubble smaller?",
    },
    explanation="Each schedule does away with something that the one before it waits for.",
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
    statement="A model that one rack serves is cut into four stages on four such racks, and the pipeline is kept full with micro-batches of the old size. How long does a sequence now wait for its next token?",
    options=[
        wrong("a quarter as long, because four racks read the weights", "The four racks do read at the same time, but for other tokens. This token needs one stage after the other."),
        wrong("exactly as long as before, because the stages add up to the whole model", "The sum is right. But between two racks the token's vector has to travel, and that takes time of its own."),
        right("a little longer, because the stages add up to the whole model and hops come on top", "A pipeline makes more tokens per second, not a token sooner."),
        wrong("four times as long, because it waits for the other micro-batches", "The other micro-batches are on other racks at that moment. In a full pipeline the next rack is free just when this one has done its part."),
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
    statement="A model of {n_total} takes {bytes_per_param}. It runs in a pipeline of {stages} racks with {expert_parallel} GPUs each, and its weights are dealt out evenly over all of them. How many GB of weights does a GPU hold?",
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
    explanation="A second stage takes half of the weights off a GPU; each further one has less left to take.",
    hints=(
        "How many GPUs are there in all?",
        "Bytes of the whole model over GPUs of all stages.",
    ),
    solution=(
        Step("All weights:", v.n_total * v.bytes_per_param, "byte"),
        f"Over all GPUs of all stages: ${eq.chip_weights.latex}$ =",
    ),
)

WEIGHTS, CACHE = eq.chip_weights.expr, eq.chip_kv.expr

stage = Expression(
    "What a GPU holds",
    level="medium",
    objective=HOLDS,
    statement="A pipeline of P stages with E GPUs each decodes, kept full with P micro-batches of b sequences; a sequence has L tokens of context at kappa bytes of KV over all layers. The model has N_tot parameters at b_w bytes. Write the bytes of weights and KV on one GPU, both dealt out evenly. Use the micro-batch b, not the whole batch B.",
    formula=eq.stage_memory,
    independent_check=(eq.n_total * eq.bytes_per_param + eq.stages * eq.micro_batch * eq.context * eq.kv) / (eq.expert_parallel * eq.stages),
    misconceptions={
        WEIGHTS + CACHE / eq.stages: "You divided the KV by P. That holds for one micro-batch, but P of them are under way.",
        WEIGHTS + eq.batch * eq.context * eq.kv / eq.expert_parallel: "B is the whole batch, P micro-batches. Of each of its sequences a stage stores only its own layers.",
        eq.chip_memory.expr: "Right with the whole batch B. Say how large B has to be if no stage may wait, and put that in.",
        eq.n_total * eq.bytes_per_param / eq.expert_parallel + CACHE: "The weights are dealt out over the GPUs of all stages, not of one.",
        eq.expert_parallel * (WEIGHTS + CACHE): "That is a whole stage. Divide by its GPUs.",
        WEIGHTS + CACHE * eq.stages: "P micro-batches are under way, but a stage stores only its own layers of each.",
    },
    explanation="P divides the weights and has gone from the KV.",
    hints=(
        "First all weights and all KV, with the whole batch; then divide by all GPUs.",
        "The whole batch is P micro-batches. What cancels?",
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
    statement="{net_name} ({n_total}, FP8: one byte each; KV {kv_bytes_per_token} over all layers) is decoded in a pipeline of {stages} servers. Each is one {machine_name}, whose {expert_parallel} GPUs have {chip_hbm} each. The pipeline is kept full with {stages} micro-batches of {micro_batch}. Weights and KV are dealt out evenly, and nothing else takes memory. Up to how many tokens of context can each sequence have?",
    parameters={"machine": ("h200-8", "b200-8", "b300-8"), "stages": (2, 3, 4), "micro_batch": (256, 128, 512)},
    derived=servers,
    units={"machine_name": "", "net_name": "", "chip_hbm": "byte", "expert_parallel": "1"},
    answer=eq.context_fits,
    independent_check=(v.stages * v.expert_parallel * v.chip_hbm - v.n_total) / (v.stages * v.micro_batch) / v.kv_bytes_per_token,
    misconceptions={
        v.stages * eq.context_fits.at(stages=1): "You let every further stage add as much context as the first. It also brings a micro-batch of its own that needs room.",
        v.stages * eq.context_fits: "You divided the KV by the stages. Each stores fewer layers, but of as many times more sequences.",
        eq.context_fits.at(stages=1): "You took all weights off the memory of one server. A stage holds only its own share of them.",
        v.expert_parallel * v.chip_hbm / (v.micro_batch * v.kv_bytes_per_token): "The weights are missing: they take up memory too.",
    },
    explanation="Another stage frees the memory of some weights, less each time, and then no more. The context cannot grow past the one that fits without any weights.",
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
    statement="Write a Python function of the seven symbols that returns the bytes of weights and KV on one GPU of a pipeline that is kept full: as many micro-batches as stages, all dealt out evenly. expert_parallel is the number of GPUs of a stage. It is called by name, with numbers.",
    formula=eq.stage_memory,
    independent_check=(eq.n_total * eq.bytes_per_param / eq.stages + eq.micro_batch * eq.context * eq.kv) / eq.expert_parallel,
    misconceptions={
        WEIGHTS + CACHE / eq.stages: "Your KV shrinks with the stages. As many times more sequences are under way, so it does not.",
        eq.n_total * eq.bytes_per_param / eq.expert_parallel + CACHE: "A stage holds only its own layers' weights.",
        WEIGHTS + CACHE * eq.expert_parallel: "The KV is shared among the GPUs of a stage, as the weights are.",
        WEIGHTS + CACHE * eq.stages: "Of all the sequences under way a stage stores only its own layers.",
        CACHE: "That is the KV alone. The weights need room too.",
        WEIGHTS: "That is the weights alone. Every sequence under way has a KV cache.",
    },
    explanation="Call it with one, two, four stages: the weights melt away and the KV stays.",
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
    statement="On one rack a token takes {t_step}. The model moves to a pipeline of {stages} such racks, kept full with as many micro-batches as that takes. A hop from one rack to the next takes {hop_time}, and after the last rack the token goes back to the first, which is a hop like the others. How long does a token take now?",
    parameters={"stages": (4, 3, 6), "t_step": (0.02, 0.015), "hop_time": (0.0025, 0.002, 0.004)},
    derived={"hops": v.stages},
    answer=eq.token_time,
    independent_check=lambda v: sum(v["t_step"] / v["stages"] + v["hop_time"] for _ in range(v["stages"])),
    misconceptions={
        eq.token_time.at(hops=1): "That is one hop. The token makes one after every stage.",
        eq.token_time.at(hops=v.stages - 1): "The way back from the last rack to the first is missing: the next token begins there.",
        eq.token_time.at(t_step=v.t_step * v.stages): "Each rack does only its share of the layers; together they take as long as one rack did.",
        eq.token_time.at(t_step=v.t_step / v.stages): "That is the time on one rack, and all hops. The token passes all racks, one after the other.",
        v.t_step: "The racks add up to that. The hops come on top.",
    },
    explanation="Hops come one after the other, so they add up. The milliseconds are the lecture's guess at one hop, given with little confidence.",
    hints=(
        "First the time on all racks together, then the hops.",
        "The loop is closed: there are as many hops as stages.",
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
    statement="A micro-batch of {micro_batch}, each with {context} of context, has passed a decode step's first stage. For every sequence one vector of {width} values in BF16 (two bytes each) goes on to the next rack. The rack's {expert_parallel} GPUs share the sending evenly, each over a network card of {scale_out} in one direction. How many µs does the sending take, without the time a message needs however short it is? An estimate within a factor of three will do.",
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
        eq.hop.at(micro_batch=v.micro_batch * v.context): "The whole context does not cross. Old tokens stay behind as KV on the stage that made it; one new token per sequence goes on.",
    },
    explanation="Microseconds, not the milliseconds that the lecture guesses for a hop. What a hop takes beyond this is latency of the way, not bytes.",
    hints=(
        "Bytes of all vectors over the rate of all cards.",
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
    return machine.symbols() | before | {"machine_name": machine.name}


domain = Quantity(
    "What a larger domain buys",
    level="medium",
    objective=SCALE,
    unit="s",
    display_unit="ms",
    statement="A model of {n_total} in FP8 (one byte each) ran in a pipeline of small servers: scale-up domains of {small_domain} H100 that read {small_bandwidth} each. Now it runs in a pipeline of {stages} stages, each one {machine_name}: a scale-up domain of {domain} GPUs that read {chip_bandwidth} each. For one token all the weights have to be read, stage after stage. How many ms does that take now, at the least, all stages together?",
    parameters={
        "machine": ("gb200-nvl72", "vr200-nvl72", "b200-64"),
        "n_total": (7e11, 1e12, 2e12),
        "stages": (2, 3, 4),
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
        eq.parallel_weight_time / v.stages: "The stages do not read for the same token at the same time. While one works on it, the others work on other tokens.",
        eq.parallel_weight_time * v.stages: "You let every stage read the whole model. Each reads only its own share.",
        eq.parallel_weight_time.at(domain=v.small_domain): "You changed the bandwidth of each GPU only, as if the larger domain just had more room. All its GPUs read at the same time for one token.",
        eq.parallel_weight_time.at(domain=v.small_domain, chip_bandwidth=v.small_bandwidth): "That is the old pipeline. A larger domain does more than hold more: it reads faster.",
        eq.parallel_weight_time.at(domain=1): "That is a single GPU. All GPUs of a domain read at the same time, each its share.",
        eq.parallel_weight_time.at(chip_bandwidth=v.small_bandwidth): "The number of GPUs is new, and so is the bandwidth of each.",
    },
    explanation="A larger domain buys bandwidth: more GPUs read for the same token. Capacity a pipeline could have given as well.",
    hints=(
        "Which GPUs read weights for the same token at the same time?",
        "A stage reads its share of the weights with the bandwidth of one domain; then add up the stages.",
    ),
    solution=(
        Step("One domain reads, per second,", v.domain * v.chip_bandwidth, "byte"),
        Step("In the small domains the weights took", eq.parallel_weight_time.at(domain=v.small_domain, chip_bandwidth=v.small_bandwidth), "s"),
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
    statement="A model is cut by layers over a pipeline of {stages} GPUs and trains {speed_up} times as fast as on one GPU. How efficient is that: which share of the {stages} GPUs' work is put to use, in percent?",
    parameters={"stages": (8, 16), "speed_up": (3.5, 5.0, 6.4)},
    units={"speed_up": "1"},
    answer=v.speed_up * eq.naive_utilisation,
    independent_check=1 / v.stages / (1 / v.speed_up),
    misconceptions={
        1 - v.speed_up * eq.naive_utilisation: "That is the share which is lost.",
        1 / (v.speed_up * eq.naive_utilisation): "Upside down: an efficiency is at most one.",
        (v.speed_up - 1) / (v.stages - 1): "That counts what the added GPUs bring. Asked is the efficiency of all of them, the first included.",
        v.speed_up * eq.naive_utilisation / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="Three and a half times on eight GPUs is what a talk of 2024 reports of a translation model of 2014. The same talk calls pipelining not wise, and gives no reason.",
    hints=("How many times as fast would it be if no GPU ever waited?",),
    solution=(
        Step(f"A pipeline in which one stage works at a time puts ${eq.naive_utilisation.latex}$ to use, in percent", 100 * eq.naive_utilisation, "%"),
        "and is as fast as one GPU. This one is {speed_up} times as fast:",
    ),
)

wise = Choice(
    "Not wise, but why?",
    level="medium",
    objective=WISE,
    statement="Several reasons are given against pipelines. Which one is the lecture's own argument that a pipeline does not help to serve long contexts?",
    options=[
        wrong("Devices idle in bubbles while the pipeline fills and drains.", "Bubbles belong to training. A pipeline that serves can be kept full. An article about the lecture gives this reason all the same."),
        wrong("Layers that look back at earlier layers, or that differ from each other, are hard to cut into equal stages.", "That is the flashcard's reason, relayed in the lecture from somebody else: pipelines make new architectures slow to try. It says nothing of long contexts."),
        wrong("Every hop makes each token later.", "True, and the lecture counts it as a price. But it adds time; it does not say what fits into memory."),
        right("It takes only weights off a GPU, and for those a rack has memory to spare; the KV on each GPU stays as it was.", "It still is wise where the weights do not fit into one rack, and where training needs more devices than a rack has."),
    ],
    hints=("What fills the memory when contexts are long? Which share of it do more stages take away?",),
    solution=(f"In ${eq.stage_memory.latex}$ the number of stages divides the weights only.",),
)
