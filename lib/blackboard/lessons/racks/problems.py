"""Practice problems of the racks lesson: experts on GPUs, what they send, what leaving the rack costs, what bounds a
rack.
"""

from __future__ import annotations

from math import comb, isclose
from typing import Any

from blackboard.catalogue import chip, measurement, model, tier
from blackboard.formula import Max
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching.equations import user_rate
from blackboard.lessons.racks import equations as eq
from blackboard.problem import Choice, Estimate, Guess, Ordering, Quantity, Step, Values, right, v, wrong

FP8, BF16 = 1.0, 2.0

COUNT = "count the bytes that a layer of experts sends, and how long they take on any network"
DECIDE = "decide whether a network is fast enough for a given model and GPU"
LEAVE = "predict what it costs to spread experts over several racks"
BOUND = "explain what limits the size of a rack"
WAIT = "tell when latency matters more than bandwidth"

# --- experts and where they lie --------------------------------------------------------------------------------------


ROUTED = ("deepseek-v3", "kimi-k2", "glm-4.5", "mistral-large-3", "deepseek-v4-flash")
MADE_UP = ((256, 10), (256, 12), (384, 10), (448, 12), (448, 14), (512, 10), (512, 16), (320, 10), (320, 8), (384, 12), (192, 8), (192, 6), (640, 16))  # experts, and those of a token


def routed(net: Any) -> Values:
    """A model's experts in the notation's names, by its id, or one that is made up of two numbers."""
    if isinstance(net, str):
        moe = model(net).moe
        known = {"experts": moe.experts, "top_k": moe.active, "shared": moe.shared, "routed_layers": moe.layers}
        return known | {"net_name": model(net).name}
    experts, top_k = net
    return {"experts": experts, "top_k": top_k, "shared": 1, "routed_layers": 60, "net_name": "A model"}


def dealt(gpus: tuple[int, ...]) -> tuple[tuple[Any, int], ...]:
    """The models, each with those numbers of GPUs over which its experts can be dealt out evenly."""
    return tuple((net, each) for net in (*ROUTED, *MADE_UP) for each in gpus if routed(net)["experts"] % each == 0)


def placed(values: Values) -> Values:
    """A drawn `case`, a model and a number of GPUs, in the notation's names."""
    net, gpus = values["case"]
    return routed(net) | {"expert_parallel": gpus}


COUNTS = {"net_name": "", "expert_parallel": "1", "shared": "1", "routed_layers": "1"}

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=LEAVE,
    unit="1",
    within=1.2,
    statement="All experts of a layer are spread evenly over two racks instead of one, so that each expert is in only one of them. Every GPU sends as many bytes as before, and can use both networks at the same time. Suppose that the network between racks is {ratio} times slower than the one inside. How many times as long does the layer's traffic take?",
    parameters={"ratio": (18.0, *(float(each) for each in range(8, 42) if each != 18)), "racks": (2,)},
    derived={"scale_up": v.ratio, "scale_out": 1.0},
    units={"ratio": "1"},
    answer=eq.slowdown,
    independent_check=Max(1 - 1 / 2, 1 / 2 / (1 / v.ratio)),
    misconceptions={
        v.scale_up / v.scale_out: "That would be right if everything left the rack. With two racks, half of the experts are still at home.",
        2 * v.scale_up / (v.scale_up + v.scale_out): "You used the average of the two bandwidths. But the slow network has to carry its half alone, and everybody waits for it.",
    },
    explanation="Half of the bytes leave, so the time is half of the bandwidth ratio. The half that stays is finished long before. (The expert that works on every token changes nothing: each GPU has its own copy of it.)",
    hints=(
        "What fraction of the bytes has to leave the rack?",
        "Compute the time of the part that stays and of the part that leaves, each on its own network. The layer waits for the slower.",
    ),
    solution=(
        Step(f"Leaves the rack: ${eq.leaving.latex}$, with two racks", eq.leaving, "1"),
        f"The slower network decides, ${eq.slowdown.latex}$:",
    ),
)

combine = Choice(
    "What comes back",
    level="easy",
    objective=COUNT,
    statement="In DeepSeek-V3 a token goes to 8 of 256 routed experts. What happens to the 8 vectors that come back?",
    options=[
        wrong("they are put one after another into a longer vector", "Then the vector would be 8 times as wide, and the residual could not be added to it."),
        right("they are added up, each with the weight that the router gave its expert", "A sum has the size of one vector, so the next layer sees the same width whatever the number of experts."),
        wrong("the one with the highest score is kept, the others are dropped", "Then 7 of the 8 experts would have computed for nothing. All chosen experts contribute."),
        wrong("they are divided by 256 and added up, a mean over all experts", "The experts that were not chosen computed nothing, so they have no output to average."),
    ],
    hints=(
        "The layer's output is added to its input: how wide must it be?",
        "The router scored the chosen experts differently. What could those scores be used for?",
    ),
    solution=("Each expert returns a vector as wide as the token's. They are weighted by the router, added up, and the shared expert and the input are added.",),
)

router = Choice(
    "Where the router runs",
    level="easy",
    objective=COUNT,
    statement="Each of 64 GPUs runs attention for its own sequences, and holds a few experts of every layer. Where is it decided which experts a token goes to?",
    options=[
        wrong("on one GPU that all tokens pass through first", "All tokens would have to pass through that GPU's link first, which would be a bottleneck."),
        wrong("in the switch, which knows all destinations", "A switch forwards what is addressed. The scores are a matrix product with the token's vector, which a switch cannot compute."),
        wrong("on the CPU of the rack, which then tells the GPUs", "The vectors would have to go to the CPU and back in each of some sixty layers. The GPU that holds the token can score it on the spot."),
        right("on each GPU, which has its own copy of the router", "There are as many copies of the router as GPUs. It is one small matrix, so copies cost next to nothing."),
    ],
    hints=(
        "What does the decision need? The token's vector and one small matrix.",
        "Where is the token when the decision is due?",
    ),
    solution=("The router's matrix is small and the token is already on a GPU, so each GPU keeps a copy and routes its own tokens.",),
)

per_gpu = Quantity(
    "Experts on a GPU",
    level="easy",
    objective=COUNT,
    unit="1",
    statement="{net_name} has {experts} routed experts in each of {routed_layers} layers. A rack has 72 GPUs, of which {expert_parallel} serve the experts. How many routed experts of one layer does each of these hold?",
    parameters={"case": dealt((64, 32, 48, 40, 16, 24, 20))},
    derived=placed,
    units=COUNTS,
    answer=eq.experts_per_chip,
    independent_check=lambda v: len(range(0, v["experts"], v["expert_parallel"])),
    misconceptions={
        eq.experts_per_chip.at(expert_parallel=72): "You spread them over all 72 GPUs. Here only {expert_parallel} of them hold experts.",
        v.routed_layers * eq.experts_per_chip: "That counts all layers. The question is about one layer.",
        1 / eq.experts_per_chip: "Upside down: that is GPUs per expert.",
    },
    explanation="It is the same whole number on every GPU, which is why the other GPUs of the rack are left out.",
    hints=("Deal the experts out like cards, the same number to each GPU.",),
    solution=(f"Experts divided by the {{expert_parallel}} GPUs, ${eq.experts_per_chip.latex}$ =",),
)

broadcast = Quantity(
    "To all experts instead",
    level="easy",
    objective=COUNT,
    unit="1",
    statement="{net_name} routes a token to {top_k} of {experts} experts, spread over {expert_parallel} GPUs. Suppose every token were sent to all routed experts instead. By what factor would the traffic grow? Count one copy for each expert, even if two are on the same GPU, and ignore shared experts.",
    parameters={"case": dealt((64, 32, 48, 40))},
    derived=placed,
    units=COUNTS,
    answer=eq.broadcast_waste,
    independent_check=lambda v: sum(1 for _ in range(v["experts"])) / sum(1 for _ in range(v["top_k"])),
    misconceptions={
        1 / eq.broadcast_waste: "Upside down: sending to all is more traffic, not less.",
        (v.experts + v.shared) / (v.top_k + v.shared): "You counted the shared expert on both sides. Leave it out.",
        v.expert_parallel / v.top_k: "That is one copy for each GPU. Here a copy goes to each expert.",
        v.experts: "That is how many copies a token would send. Compare with those that it sends now.",
    },
    explanation="The router saves this factor on the links, and, as every expert would have to work on every token, in compute.",
    hints=("How many copies does a token send now, and how many then?",),
    solution=(f"${eq.broadcast_waste.latex}$ =",),
)


def spared(v: Values) -> float:
    """The chance that a token chooses none of a GPU's experts, by counting its possible choices."""
    held = v["experts"] // v["expert_parallel"]
    return comb(v["experts"] - held, v["top_k"]) / comb(v["experts"], v["top_k"])


def some_held(v: Values) -> float:
    """GPUs with one or more of a token's experts: the chances of just one, just two … held experts chosen, added up."""
    held, chance = v["experts"] // v["expert_parallel"], v["top_k"] / v["experts"]
    return v["expert_parallel"] * sum(comb(held, n) * chance**n * (1 - chance) ** (held - n) for n in range(1, held + 1))


def is_near(case: tuple[Any, int]) -> bool:
    """Whether treating a token's choices as independent is off by less than 1%."""
    drawn = placed({"case": case})
    return isclose(drawn["expert_parallel"] * (1 - spared(drawn)), eq.distinct_chips(drawn), rel_tol=0.0099)


distinct = Quantity(
    "GPUs that a token reaches",
    level="hard",
    objective=COUNT,
    unit="chip",
    display_unit="GPUs",
    tolerance=0.01,
    statement="{net_name}'s {experts} routed experts are dealt out evenly over {expert_parallel} GPUs. A token goes to {top_k} different experts, all equally likely. On average, how many different GPUs does the token visit? You may treat the choices as independent. (An exact count differs by less than 1%, and either passes.)",
    parameters={"case": tuple(filter(is_near, dealt((64, 48, 40, 32, 80, 96, 112, 128, 160))))},
    derived=placed,
    units=COUNTS,
    answer=eq.distinct_chips,
    independent_check=some_held,
    misconceptions={
        v.top_k: "That is the number of experts. Now and then two of them share a GPU.",
        v.expert_parallel: "That is all of them. One token reaches only a few; a whole batch reaches all.",
        eq.experts_per_chip: "That is how many experts one GPU holds.",
        v.expert_parallel * v.top_k / v.experts: "You used the chance that one given expert is chosen. A GPU has several experts, and any of them may be chosen.",
    },
    explanation="Nearly every expert is on a GPU of its own, so sending one copy per GPU instead of one per expert saves little.",
    hints=(
        "Start with one GPU. What is the chance that none of its experts is chosen?",
        "One expert is passed over with probability 1 − {top_k}/{experts}. A GPU is spared if all of its experts are. Otherwise it is visited, and there are {expert_parallel} GPUs.",
    ),
    solution=(
        Step("Experts on a GPU:", eq.experts_per_chip, "1"),
        Step("A GPU is spared with probability", (1 - v.top_k / v.experts) ** eq.experts_per_chip, "1"),
        Step("or, by counting the choices of {top_k} that miss it,", spared, "1"),
        Step("which would make, in GPUs reached,", lambda v: v["expert_parallel"] * (1 - spared(v)), "1"),
        f"With $E$ GPUs, ${eq.distinct_chips.latex}$ =",
    ),
)

# --- leaving the rack ------------------------------------------------------------------------------------------------


def counted_leaving(racks: int, gpus: int = 8) -> float:
    """Share of the ways from GPU to GPU that lead to another rack, counted one by one."""
    everyone = range(racks * gpus)
    return sum(source // gpus != target // gpus for source in everyone for target in everyone) / len(everyone) ** 2


leaving = Quantity(
    "What leaves the rack",
    level="easy",
    objective=LEAVE,
    unit="1",
    display_unit="%",
    statement="The experts of a layer are spread evenly over {racks} racks, and so are the tokens. Each token sends one copy to each of its {top_k} experts, all equally likely. What fraction of all copies leaves its rack, in percent? (A copy to an expert on the token's own GPU counts as staying.)",
    parameters={"racks": (4, 3, 8, 5, 6, 7, 9, 10, 12), "top_k": (8, 4, 6, 10)},
    answer=eq.leaving,
    independent_check=lambda v: counted_leaving(v["racks"]),
    misconceptions={
        1 - eq.leaving: "That fraction goes to one particular rack, such as the token's own. The question is about all the others together.",
        1 - (1 - eq.leaving) ** v.top_k: "That is the fraction of tokens with at least one expert elsewhere. Traffic is counted in copies, not in tokens.",
        eq.leaving / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="The more racks there are, the more of the traffic leaves. Spreading out does not dilute the traffic. It moves it to the slow network.",
    hints=(
        "Take one copy. In how many racks could its expert be?",
        "Only one of the racks is its own.",
    ),
    solution=(f"All racks but the token's own, ${eq.leaving.latex}$, in percent:",),
)


MADE_UP_LINKS = ((450e9, 100e9), (600e9, 100e9), (800e9, 100e9), (1000e9, 100e9), (1000e9, 200e9), (1200e9, 200e9), (1400e9, 200e9))  # inside, outside


def linked(values: Values) -> Values:
    """The two networks of a drawn kind of GPU, or two made-up rates."""
    kind = values["kind"]
    if not isinstance(kind, str):
        return {"scale_up": kind[0], "scale_out": kind[1], "kind_name": "accelerator"}
    part = chip(kind)
    return {
        "scale_up": part.scale_up.bytes_per_s,
        "scale_out": part.scale_out.bytes_per_s,
        "kind_name": part.name.split(",")[0],
    }


LINKS = {"kind_name": "", "scale_up": "byte/s", "scale_out": "byte/s"}

two_racks = Quantity(
    "Over several racks",
    level="medium",
    objective=LEAVE,
    unit="1",
    tolerance=0.01,
    statement="An {kind_name} sends {scale_up} inside its rack (NVLink) and {scale_out} out of it (network card), each in one direction and both at the same time. The experts of a layer are spread evenly over {racks} racks instead of one. The model has no shared expert, and every copy crosses on its own. Each GPU sends as many bytes in total as before. How many times as long does the layer's traffic take?",
    parameters={"kind": ("gb200-nvl72", "gb300-nvl72", *MADE_UP_LINKS), "racks": (3, 4, 5, 6, 7, 8)},
    derived=linked,
    units=LINKS,
    answer=eq.slowdown,
    independent_check=lambda v: max(v["scale_up"] * counted_leaving(v["racks"]) / v["scale_out"], 1 - counted_leaving(v["racks"])),
    misconceptions={
        v.scale_up / v.scale_out: "That is the ratio of the bandwidths. It would be right if every copy left, but one rack's share stays at home.",
        v.scale_up / v.scale_out / v.racks: "You sent out the share that stays. With {racks} racks, most copies leave.",
        1 / v.racks + eq.leaving * v.scale_up / v.scale_out: "You added the times. The two networks work at once, so the longer time counts alone.",
        eq.slowdown.at(scale_up=2 * v.scale_up): "Twice too much. You counted both directions of NVLink, as vendors do, but one direction of the network card.",
    },
    explanation="The network card alone decides. The rack's own links sit idle nearly all of the time.",
    hints=(
        "What fraction leaves, and what fraction stays?",
        "On each network, time is bytes divided by bandwidth. Take the longer time and divide it by the time in one rack.",
    ),
    solution=(
        Step(f"Leaves: ${eq.leaving.latex}$ =", eq.leaving, "1"),
        Step("Ratio of the bandwidths:", v.scale_up / v.scale_out, "1"),
        f"${eq.slowdown.latex}$ =",
    ),
)


def found_ratio(racks: int, slowdown: float) -> float:
    """The bandwidth ratio at which several racks take so many times as long as one, by halving an interval."""
    low, high = 1e-3, 1e3
    for _ in range(60):
        ratio = (low + high) / 2
        low, high = (low, ratio) if max(1, (racks - 1) * ratio) > racks * slowdown else (ratio, high)
    return low


def slowed(values: Values) -> Values:
    """A drawn slowdown in words; none is one."""
    times = values["times"]
    if times == 1:
        return {"as_long": "as long", "goal": "one", "factor": "", "tail": ""}
    return {"as_long": f"{times:g} times as long", "goal": f"{times:g}", "factor": f"{times:g} × ", "tail": f", times {times:g}"}


hurts = Quantity(
    "When leaving begins to hurt",
    level="hard",
    objective=LEAVE,
    unit="1",
    statement="The experts of a layer can be in one rack or spread evenly over {racks}. Every GPU sends the same number of bytes in either case, and can use both networks at the same time. At what ratio of the bandwidth inside the rack to the bandwidth out of it do {racks} racks take exactly {as_long} as one?",
    parameters={"racks": (4, 3, 6, 8, 5, 7, 10), "times": (1, 1.1, 1.2, 1.25, 1.3)},
    derived=slowed,
    answer=v.times * eq.ratio_hurts,
    independent_check=lambda v: found_ratio(v["racks"], v["times"]),
    misconceptions={
        1.0: "With equal links the spread-out layer is even faster, because the traffic is shared between two networks.",
        1 / (v.racks - 1): "At that ratio the two networks take equally long. That is still less time than in one rack.",
        v.times * v.racks: "You let one rack's share leave. All shares but one leave.",
        eq.leaving / v.times: "Upside down: that is the bandwidth outside divided by the bandwidth inside.",
    },
    explanation="The ratio is not far above one, so a second network only helps if it is about as fast as the first. Those of NVIDIA's GPUs are 4 to 18 times slower.",
    hints=(
        "In one rack all bytes use the fast link. With {racks} racks, what fraction uses the slow one?",
        "Set (fraction that leaves ÷ slow bandwidth) equal to {factor}(all bytes ÷ fast bandwidth).",
    ),
    solution=(
        Step(f"The slowdown is ${eq.slowdown.latex}$. Set it to {{goal}}. The fraction that leaves is", eq.leaving, "1"),
        f"${eq.ratio_hurts.latex}${{tail}} =",
    ),
)

ratio = eq.scale_up / eq.scale_out
slower = Expression(
    "The slowdown in letters",
    level="medium",
    objective=LEAVE,
    statement="A layer's experts are spread evenly over n_rack racks. Per GPU and direction, beta_up is the bandwidth inside a rack and beta_out the bandwidth out of it. Both networks are used at the same time. Write the factor by which the layer's traffic takes longer than in one rack. Your formula must also hold if the network outside is faster than the one inside.",
    formula=eq.slowdown,
    independent_check=Max(1, (eq.racks - 1) * ratio) / eq.racks,
    misconceptions={
        ratio: "That would be right if every copy left. One of the n_rack shares stays at home.",
        (eq.racks - 1) / eq.racks * ratio: "Right for a slow network outside. With a very fast one, the share that stays decides, because it takes time as well.",
        Max(1, (eq.racks - 1) / eq.racks * ratio): "Only one rack's share stays at home, so its time is shorter than that of all bytes in one rack.",
        1 / eq.racks + (eq.racks - 1) / eq.racks * ratio: "You added the times. Both networks work at once, so the longer one counts.",
        Max(1, ratio) / eq.racks: "You sent the same share both ways. One share stays, n_rack − 1 leave.",
        ratio / eq.racks: "That is one share over the slow network. One share stays, n_rack − 1 leave.",
        Max(1 / eq.racks, (eq.racks - 1) / eq.racks / ratio): "The bandwidths are upside down. A slower network outside must make the time longer.",
    },
    explanation="The first entry is the larger one only if the network outside is about as fast as the one inside, or faster.",
    hints=(
        "Two shares, two bandwidths, two times.",
        "Measure in units of the time in one rack. What stays takes 1/n_rack. What does the rest take? The answer is the larger of the two: max(…, …).",
    ),
    solution=(
        f"One share stays, $n_\\mathrm{{rack}} - 1$ leave, and the longer time counts: ${eq.slowdown.latex}$, typed as",
        Step("", "max(1 / n_rack, (n_rack - 1) / n_rack * beta_up / beta_out)"),
    ),
)

# --- bytes and time --------------------------------------------------------------------------------------------------

WIRES = {  # name in the text, bytes/s for each GPU in one direction
    "infiniband": ("a network card of 400 Gb/s (InfiniBand)", 50e9),
    "nvl72": ("NVLink in an NVL72", 900e9),
    "h200": ("the NVLink of an H200", 450e9),
    "h800": ("the NVLink of an H800, at the rate that DeepSeek reached", 160e9),
}


def exchange(values: Values) -> Values:
    """What a drawn model sends over a drawn wire: FP8 on the way out, BF16 on the way back; two micro-batches."""
    net, moe = model(values["net"]), model(values["net"]).moe
    name, rate = WIRES[values.get("wire", "infiniband")]
    known = {"net_name": net.name, "experts": moe.experts, "top_k": moe.active, "shared": moe.shared}
    known |= {
        "copies": moe.active + moe.shared,
        "width": net.d_model,
        "layers": net.layers,
        "tokens_per_chip": values["tokens_per_chip"],
    }
    known |= {"dispatch_bytes": FP8, "combine_bytes": BF16, "scale_up": rate, "wire_name": name, "micro_batches": 2}
    return known | {"ep_bytes": eq.ep_bytes(known), "t_ep": eq.ep_time(known)}


SENT = {"tokens_per_chip": (32, 64, 16, 48, 24, 96, 128), "net": ("deepseek-v3", "kimi-k2", "glm-4.5", "mistral-large-3", "deepseek-v4-flash")}
TIMED = SENT | {"wire": tuple(WIRES)}
PLAIN = {
    "net_name": "",
    "wire_name": "",
    "tokens_per_chip": "token",
    "shared": "1",
    "scale_up": "byte/s",
    "ep_bytes": "byte",
}
COPIES = "In a layer of {net_name}, a GPU has {tokens_per_chip} and sends one copy of each to {top_k} routed experts and {shared} shared one, all on other GPUs. A copy has {width} values. It goes out in FP8 (one byte each), and a result of the same width comes back in BF16 (two bytes each). "


def counted_bytes(v: Values) -> int:
    """Bytes of all copies out and all results back, one after the other."""
    rows = [(token, expert) for token in range(v["tokens_per_chip"]) for expert in range(v["top_k"] + v["shared"])]
    return sum(v["width"] * one for _ in rows for one in (1, 2))


ep_bytes = Quantity(
    "Bytes of one layer",
    level="medium",
    objective=COUNT,
    unit="byte",
    display_unit="MB",
    statement=COPIES + "All GPUs do the same, so each also sends back as many results as it sent copies. How many bytes does one GPU send for the layer in total, in MB (a million bytes)?",
    parameters=SENT,
    derived=exchange,
    units=PLAIN,
    answer=eq.ep_bytes,
    independent_check=counted_bytes,
    misconceptions={
        eq.ep_bytes * v.dispatch_bytes / (v.dispatch_bytes + v.combine_bytes): "That is dispatch alone. The GPU also sends results back to others.",
        eq.ep_bytes.at(copies=v.top_k): "The shared expert is missing: every token goes there too.",
        eq.ep_bytes.at(combine_bytes=FP8): "You let the results travel in one byte. They come back in BF16.",
        eq.ep_bytes.at(dispatch_bytes=BF16): "You let the copies leave in two bytes. They leave in FP8.",
        2 * eq.ep_bytes: "You also counted what the GPU receives. The question is what it sends.",
        eq.ep_bytes.at(copies=1): "That is one copy of each token. A copy goes to each expert.",
    },
    explanation="Combine is twice as heavy as dispatch, because results travel in BF16.",
    hints=(
        "How many copies leave, and how many bytes has one?",
        "Tokens × experts of a token, shared one included × values × bytes out and back.",
    ),
    solution=(
        Step("Copies of a token:", v.copies, "1"),
        f"${eq.ep_bytes.latex}$ =",
    ),
)

ep_time = Quantity(
    "Time of one layer's traffic",
    level="medium",
    objective=COUNT,
    unit="s",
    display_unit="µs",
    statement=COPIES + "All GPUs do this at the same time. The link is {wire_name}: {scale_up} for each GPU in one direction. What is the shortest time for dispatch and combine of the layer together, in µs? Ignore latency.",
    parameters=TIMED,
    derived=exchange,
    units=PLAIN,
    answer=eq.ep_time,
    independent_check=lambda v: counted_bytes(v) / v["scale_up"],
    misconceptions={
        8 * eq.ep_time: "Eight times too long: the rate is in bytes, not in bits.",
        eq.ep_time / 8: "Eight times too short: you took a rate in bits for one in bytes.",
        2 * eq.ep_time: "Twice too long: a GPU receives while it sends, each in its own direction.",
        eq.ep_time.at(scale_up=2 * v.scale_up): "Half of the time: you counted both directions of the link. What a GPU sends uses one direction only.",
        eq.ep_time * v.dispatch_bytes / (v.dispatch_bytes + v.combine_bytes): "That is dispatch alone. Combine brings the results back, in twice the bytes.",
        eq.ep_time.at(copies=v.top_k): "The shared expert is missing: every token goes there too.",
        eq.ep_time.at(combine_bytes=FP8): "You let the results travel in one byte. They come back in BF16.",
    },
    explanation="This time recurs in every layer of every step, so a few microseconds or a hundred make the difference between fast and slow serving.",
    hints=(
        "First the bytes that one GPU sends: tokens × copies × values × bytes out and back.",
        "Divide the bytes by the rate of one GPU's link, in one direction.",
    ),
    solution=(
        Step(f"${eq.ep_bytes.latex}$ =", eq.ep_bytes, "byte"),
        "divided by {scale_up}:",
    ),
)

rate = Quantity(
    "Tokens per second of a user",
    level="medium",
    objective=DECIDE,
    unit="token/s",
    statement="{net_name} has {layers} layers; treat all as routed. In each layer a GPU sends {ep_bytes}, dispatch and combine together, for each of two micro-batches of {tokens_per_chip}. The link is {wire_name}, {scale_up} for each GPU in one direction. It is never idle, and everything else hides behind it. How many tokens per second does one user get?",
    parameters=TIMED,
    derived=exchange,
    units=PLAIN,
    answer=user_rate.at(interval=eq.comm_time),
    independent_check=lambda v: v["scale_up"] / sum(counted_bytes(v) for _ in range(2 * v["layers"])),
    misconceptions={
        user_rate.at(interval=eq.comm_time.at(micro_batches=1)): "Twice too fast: the link carries both micro-batches before a user's next token is due.",
        user_rate.at(interval=eq.comm_time.at(layers=1)): "That is one layer per token. A token passes through all of them.",
        v.tokens_per_chip * user_rate.at(interval=eq.comm_time): "That is what all users of a micro-batch get together. One of them gets one token per step.",
        user_rate.at(interval=8 * eq.comm_time): "Eight times too slow: the rate of the link is in bytes, not in bits.",
        user_rate.at(interval=eq.comm_time / 8): "Eight times too fast: you took a rate in bits for one in bytes.",
    },
    explanation="A faster GPU does not help here. Only fewer bytes (a smaller batch, say) or a faster link would.",
    hints=(
        "First the time of a step: bytes divided by rate, for each layer and micro-batch.",
        "One user gets one token per step.",
    ),
    solution=(
        Step("One layer, one micro-batch, {ep_bytes} divided by {scale_up}:", v.t_ep, "s"),
        Step(f"${eq.comm_time.latex}$ =", eq.comm_time, "s"),
        f"${user_rate.latex}$ with that interval:",
    ),
)


def matched(values: Values) -> Values:
    """A drawn model on a drawn chip: what its tokens send, and what the chip can compute."""
    net, part = model(values["net"]), chip(values["kind"])
    known = {"net_name": net.name, "copies": net.moe.active + net.moe.shared, "width": net.d_model}
    known |= {"routed_layers": net.moe.layers, "n_active": net.n_active, "kind_name": part.name.split(",")[0]}
    return known | {"flops": part.flops("fp8"), "chips": 1, "dispatch_bytes": FP8, "combine_bytes": BF16}


link_needed = Quantity(
    "A link that keeps up",
    level="hard",
    objective=DECIDE,
    unit="byte/s",
    display_unit="GB/s",
    statement="{net_name} activates {n_active} and has {routed_layers} routed layers. In each of them a token sends {copies} copies of {width} values, one byte per value out and two per value back. It is served on {kind_name} GPUs that compute {flops} each in FP8. At what rate must one GPU be able to send, in one direction, so that traffic takes no longer than compute? Answer in GB/s.",
    parameters={"net": ("kimi-k2", "glm-4.5", "deepseek-v3", "mistral-large-3", "deepseek-v4-flash", "qwen3-235b-a22b", "gpt-oss-120b"), "kind": ("h200", "gb200-nvl72", "h100-sxm", "mi300x", "vr200-nvl72")},
    derived=matched,
    units={"net_name": "", "kind_name": "", "chips": "1"},
    answer=eq.link_needed,
    independent_check=lambda v: sum(v["width"] * one for _layer in range(v["routed_layers"]) for _copy in range(v["copies"]) for one in (1, 2)) / (2 * v["n_active"] / v["flops"]),
    misconceptions={
        2 * eq.link_needed: "Twice too much. Either you counted one FLOP per parameter (a multiply and an add are two), or both directions of the link.",
        eq.link_needed / v.routed_layers: "You counted the bytes of one layer but the compute of all of them.",
        eq.link_needed / 3: "That is dispatch at one byte only. Results come back at two bytes, so three bytes per value in total.",
        eq.link_needed / v.copies: "You sent one copy of each token. It sends one to each of its experts.",
        8 * eq.link_needed: "That is in gigabits. The question asks for gigabytes per second.",
    },
    explanation="A faster GPU needs a faster link: twice the compute at the same width of the model means twice the bandwidth.",
    hints=(
        "How many bytes does one token send on its way through all routed layers?",
        "How many tokens per second can one GPU compute, at two FLOPs per active parameter? Multiply.",
    ),
    solution=(
        Step("Bytes that one token sends:", v.routed_layers * v.copies * v.width * 3, "byte"),
        Step("Tokens per second that one GPU can compute:", v.flops / (2 * v.n_active), "1"),
        f"${eq.link_needed.latex}$ =",
    ),
)

LATENT = {  # name, latency of a message of 64 bytes in seconds (insights2025), bytes/s in one direction
    "infiniband": ("InfiniBand, through several switches", 3.7e-6, 50e9),
    "nvlink": ("the NVLink of an H800", 3.33e-6, 200e9),
    "roce": ("Ethernet (RoCE), through several switches", 5.6e-6, 50e9),
    "near": ("InfiniBand, with all cards on one switch", 2.8e-6, 50e9),
    "roce_near": ("Ethernet (RoCE), with all cards on one switch", 3.6e-6, 50e9),
}


def latent(values: Values) -> Values:
    """A drawn path with its latency; the bytes are those of a drawn model's layer where tokens are drawn."""
    name, latency, rate = LATENT[values["path"]]
    known = exchange({"net": "deepseek-v3", "tokens_per_chip": 1} | values)
    return known | {"path_name": name, "link_latency": latency, "scale_up": rate}


def delayed(v: Values, latency: float) -> float:
    """Seconds of a layer's dispatch and combine when each way starts with a latency."""
    known = {name: v[name] for name in eq.ep_time.free}
    return eq.ep_time(known, calibration={"link_latency": latency})


message = Quantity(
    "Latency of short messages",
    level="medium",
    objective=WAIT,
    unit="s",
    display_unit="µs",
    statement="In a small batch a GPU sends {ep_bytes} to other GPUs for one layer, dispatch and combine together. The network is {path_name}: {scale_up} for each GPU in one direction. Dispatch and combine each cost one latency of {link_latency}, the network's alone, however many copies they carry. (A real kernel adds its own.) How long do dispatch and combine take together at least, in µs?",
    parameters={"path": tuple(LATENT), "tokens_per_chip": (2, 4, 1, 3), "net": ("deepseek-v3", "glm-4.5", "mistral-large-3", "deepseek-v4-flash")},
    derived=latent,
    units=PLAIN | {"path_name": ""},
    answer=lambda v: delayed(v, v["link_latency"]),
    independent_check=lambda v: sum(v["link_latency"] + v["tokens_per_chip"] * (v["top_k"] + 1) * v["width"] * one / v["scale_up"] for one in (1, 2)),
    misconceptions={
        lambda v: delayed(v, 0): "The latency is missing. Dispatch and combine each pay it before the first byte arrives.",
        lambda v: delayed(v, v["link_latency"] / 2): "You counted one latency. Combine can start only after dispatch, and pays its own.",
        lambda v: delayed(v, v["link_latency"]) + 7 * delayed(v, 0): "You took the rate as bits per second. It is in bytes.",
        lambda v: delayed(v, v["link_latency"]) + delayed(v, 0): "You sent all bytes twice. The bytes given already include both dispatch and combine.",
    },
    explanation="In a small batch, latency is a large part of the time, and a faster link does not remove it.",
    hints=(
        "A message takes its latency, and then its bytes divided by the bandwidth.",
        "Two latencies, one each for dispatch and combine, plus all bytes divided by the bandwidth.",
    ),
    solution=(
        Step("Two latencies:", 2 * v.link_latency, "s"),
        Step("Transfer, {ep_bytes} divided by {scale_up}:", lambda v: delayed(v, 0), "s"),
        "Together:",
    ),
)


EXCHANGES = tuple((path, gpus) for path in LATENT for gpus in (8, 4, 5, 6, 7, 10, 12, 16) if path != "nvlink" or gpus <= 8)
half_way = eq.half_message.at(start_time=v.link_latency)


def searched_size(v: Values) -> float:
    """The message, found by halving an interval, of which the part for other GPUs reaches half of the bandwidth."""
    low, high = 1.0, 1e12
    for _ in range(80):
        size = (low + high) / 2
        moved = size * (v["chips"] - 1) / v["chips"]
        reached = moved / (v["link_latency"] + moved / v["scale_up"])
        low, high = (low, size) if reached > v["scale_up"] / 2 else (size, high)
    return low


half_size = Quantity(
    "The size that reaches half the bandwidth",
    level="hard",
    objective=WAIT,
    unit="byte",
    display_unit="kB",
    statement="{chips} GPUs exchange messages over {path_name}. Each GPU's message is in equal parts for every GPU, and the part for itself stays where it is. The exchange takes a latency of {link_latency}, and then the bytes flow at {scale_up} from each GPU. How large must each GPU's message be for latency and transfer to take equally long, in kB (a thousand bytes)?",
    parameters={"case": EXCHANGES},
    derived=lambda v: latent({"path": v["case"][0]}) | {"chips": v["case"][1]},
    units=PLAIN | {"path_name": "", "chips": "1"},
    answer=half_way,
    independent_check=searched_size,
    misconceptions={
        v.link_latency * v.scale_up: "That is how much travels. The message also has a part for the GPU itself, so it is larger.",
        v.chips * v.link_latency * v.scale_up: "You let one part of the message travel. One part stays; all the others travel.",
        2 * half_way: "You counted two latencies. One exchange has one.",
        half_way / 2: "You let the bytes flow at half the bandwidth. They flow at the full bandwidth; half is what you get on average, latency included.",
        9 * half_way: "At that size latency is a tenth of the time. The question is where it is half.",
    },
    explanation="Smaller messages mostly wait, larger ones mostly transfer. At this size a link reaches half of its bandwidth.",
    hints=(
        "How many bytes could the link have carried during one latency?",
        "That many bytes travel. Which fraction of the message are they?",
    ),
    solution=(
        Step("Carried during one latency:", v.link_latency * v.scale_up, "byte"),
        f"That is all but one of {{chips}} parts, so ${eq.half_message.latex}$ =",
    ),
)


stays, leaves = 1 / (eq.racks * eq.scale_up), (eq.racks - 1) / (eq.racks * eq.scale_out)
volume = next(s for s in eq.spread_time.expr.free_symbols if s.name == "ep_bytes")
all_to_all = Function(
    "Write the traffic time",
    level="medium",
    objective=COUNT,
    statement="Write a Python function of ep_bytes (the bytes that a GPU sends for a layer), racks (one or more, over which the experts are spread evenly), scale_up and scale_out (bytes per second that a GPU can send inside its rack and out of it). Return the time of the layer's traffic in seconds. Both networks work at the same time. Ignore latency.",
    formula=eq.spread_time,
    independent_check=Max(volume * stays, volume * (1 - 1 / eq.racks) / eq.scale_out),
    misconceptions={
        volume / eq.scale_up: "That is one rack. With several, part of the bytes uses the other network.",
        volume / eq.scale_out: "One rack's share stays inside; only the rest leaves.",
        volume * Max(1 / eq.scale_up, leaves): "What stays inside is only one rack's share, so it takes less time than in one rack.",
        volume * leaves: "With one rack this would take no time. What stays inside takes time too, and the longer one counts.",
        volume * (stays + leaves): "The two networks work at once: take the longer time, not the sum.",
        volume * Max(stays, 1 / (eq.racks * eq.scale_out)): "You sent out one rack's share. All shares but one leave.",
    },
    explanation="With one rack this is bytes divided by bandwidth. With more racks, the network outside takes over.",
    hints=(
        "Split the bytes: what fraction stays, and what fraction leaves?",
        "max(stays / scale_up, leaves / scale_out).",
    ),
    solution=(
        f"${eq.spread_time.latex}$, as code",
        Step("", "ep_bytes * max(1 / (racks * scale_up), (racks - 1) / (racks * scale_out))"),
    ),
)

# --- racks as they are sold ------------------------------------------------------------------------------------------

deepseek = Choice(
    "Forty nodes all the same",
    level="hard",
    objective=LEAVE,
    statement="On racks of 72 GPUs, this lesson keeps each layer of experts in one rack. Yet DeepSeek spreads V3's experts over 18 nodes in production, and over 40 in its report. Each node is a box of 8 H800 GPUs, and InfiniBand joins the nodes. Why does that not contradict the lesson?",
    independent_check=lambda v: "a" if chip("h800").scale_up.domain_chips == 8 < 18 * 8 else "",
    options=[
        right("in a node of 8 GPUs, each GPU would have to hold and load far more experts, which in a small batch costs more than the traffic", "Spreading saves the loading of experts and costs traffic. With 8 GPUs there is far more loading to save than with 72."),
        wrong("InfiniBand is as fast as the NVLink of an H800, so nothing is lost", "An H800's NVLink is slower than an H100's, but still about four times as fast as its network card."),
        wrong("over so many nodes the share of traffic that leaves a node becomes small", "The other way round: of $n$ nodes' shares only one stays, so with more nodes more of the traffic leaves."),
        wrong("the rule holds for training only, because in serving there is no expert traffic", "Serving sends each token to its experts and back in every routed layer, just as the forward pass of training does."),
    ],
    hints=(
        "How many experts of each layer would a GPU hold if a node held them all?",
        "What does spreading save, and what does it cost?",
    ),
    solution=(
        "In one node, a GPU would hold 32 routed experts of every layer. They alone would fill an H800's 80 GB, and take long to load in each step. On 144 GPUs it holds two. In a small batch the traffic that this costs takes less time than the loading that it saves. In a large one DeepSeek lets it travel while the other half of the batch is computed.",
    ),
)

why_larger = Choice(
    "Why a larger domain",
    level="medium",
    objective=BOUND,
    statement="A model of a trillion parameters can be split by layers and put on several racks in a row. What does one larger scale-up domain give you that the row of racks does not?",
    options=[
        wrong("capacity: only in a large domain can such a model be stored at all", "A row of racks can store it as well, with little traffic between them."),
        wrong("less traffic: in a large domain a token goes to fewer GPUs", "A token goes to as many experts as before. Spread over more GPUs, two of them share a GPU even less often."),
        wrong("compute: each GPU computes faster when more are near", "A GPU's own rate does not depend on its neighbours. What changes is how many GPUs share one layer."),
        right("bandwidth: more GPUs load the weights of a layer at the same time, so a step gets shorter", "In a row of racks, the racks take turns loading their layers for a token. The GPUs of one domain load a layer together."),
    ],
    hints=(
        "Which of these could two racks in a row not give you?",
        "While the second rack loads its layers for a token, what does the first rack do for that token?",
    ),
    solution=("A row of racks already gives capacity. But a token passes its layers one after another, so only GPUs that share a layer shorten the time, and those GPUs need the fast network.",),
)


def rates(v: Values) -> dict[str, float]:
    """Bytes per second of what is put in order, by the items' letters."""
    part = chip(v["kind"])
    return {
        "a": part.scale_out.bytes_per_s,
        "b": part.hbm_bytes_per_s,
        "c": part.scale_up.bytes_per_s,
        "d": tier("ssd-9650-7t").read_bytes_per_s,
    }


def by_rank(v: Values) -> str:
    """The letters from fast to slow, each put where as many others are faster."""
    found = rates(v)
    place = {sum(other > mine for other in found.values()): key for key, mine in found.items()}
    return "".join(place[n] for n in range(len(found)))


links_in_order = Ordering(
    "From fast to slow",
    level="easy",
    objective=DECIDE,
    statement="Put these in order of bytes per second for one {kind_name}, in one direction, fastest first.",
    parameters={"kind": ("h800", "h200", "h100-sxm", "b200")},
    derived=linked,
    units=LINKS,
    items=[
        "its network card, sold as 400 Gb/s",
        "its own memory (HBM)",
        "its NVLink",
        "reading from one fast NVMe drive",
    ],
    answer=lambda v: "".join(sorted(rates(v), key=rates(v).get, reverse=True)),
    independent_check=by_rank,
    misconceptions={
        "dacb": "That is from slow to fast.",
        "bacd": "A network card is sold in gigabits: 400 Gb/s is 50 GB/s. NVLink is sold in gigabytes.",
        "cbad": "NVLink is fast, but no link keeps up with memory on the same package.",
    },
    explanation="Every step outward costs a factor of about two to twenty. Expert traffic needs the second step, and that step ends with the rack.",
    hints=(
        "The farther away, the slower.",
        "Turn everything into bytes, and vendors' sums of both directions into one direction.",
    ),
    solution=(
        Step("Memory:", lambda v: rates(v)["b"], "byte/s"),
        Step("NVLink:", lambda v: rates(v)["c"], "byte/s"),
        Step("Network card:", lambda v: rates(v)["a"], "byte/s"),
        Step(f"Drive (the datasheet of a {tier('ssd-9650-7t').device}, which needs PCIe 6; most are slower):", lambda v: rates(v)["d"], "byte/s"),
    ),
)

rack_cables = Estimate(
    "Cables in a rack",
    level="medium",
    objective=BOUND,
    unit="1",
    within=1.5,
    statement="A rack has {chips} GPUs. Each has {links} links, all of them to the switches of the rack. A link is {pairs} pairs of wires (both directions counted), and every pair is a cable of its own. About how many cables does the rack have?",
    parameters={"chips": (72, 36, 144, 32, 48, 64, 96), "links": (18, 12, 24, 36), "pairs": (4, 8)},
    units={"chips": "1", "links": "1"},
    answer=eq.cables,
    independent_check=lambda v: sum(v["pairs"] for _gpu in range(v["chips"]) for _link in range(v["links"])),
    misconceptions={
        eq.cables.at(pairs=1): "That is one cable for each link. A link is several pairs of wires.",
        eq.cables.at(links=1): "You gave each GPU one link. It has {links}.",
        v.chips: "That is one cable for each GPU. It has {links} links of {pairs} pairs.",
    },
    explanation="All of them go through the back of one cabinet. Space, weight and the bending of cables limit a rack as much as any chip does.",
    hints=(
        "How many cables leave one GPU?",
        "GPUs × links × pairs. The other ends of these cables are at the switches, so do not count them again.",
    ),
    solution=(
        Step("From one GPU:", v.links * v.pairs, "1"),
        f"${eq.cables.latex}$ =",
    ),
)

five_hundred = Choice(
    "What NVL576 counts",
    level="medium",
    objective=BOUND,
    statement="The rack announced for Rubin Ultra was called NVL576. What are there 576 of?",
    independent_check=lambda v: "b" if chip("rubin-ultra-kyber").scale_up.domain_chips * 4 == 576 else "",
    options=[
        wrong("GPU packages, eight times as many as in an NVL72", "An NVL72 counts packages, this name does not: the counting changed between the two."),
        right("GPU dies, four in each package", "There are 144 packages. A Blackwell NVL72 has 72 packages of two dies, so dies grow four times and packages twice."),
        wrong("GPUs of eight NVL72 racks joined together", "The product of 8 and 72 is right by chance: the name means one rack."),
        wrong("NVLink links in the rack", "A single Blackwell GPU already has 18 links, so a rack has far more than 576."),
    ],
    hints=(
        "A package can hold more than one die.",
        "Which parts would a vendor count to make the number as large as possible?",
    ),
    solution=("144 packages of 4 dies each are 576. Counted like Blackwell's 72 packages, the rack is an NVL144.",),
)

rack_weight = Quantity(
    "What the floor bears",
    level="easy",
    objective=BOUND,
    unit="1",
    tolerance=0.05,
    statement="An NVL72 rack weighs {mass} and covers a floor area of {width} by {depth}. The raised floor of an older data center is rated for {rated} per square meter. By what factor does the rack exceed the rating, if its weight is spread evenly over its own area?",
    parameters={"width": (0.6, 0.75, 0.65, 0.7), "depth": (1.1, 1.2, 1.0), "rated": (1000.0, 600.0, 500.0, 750.0, 800.0)},
    derived={"mass": measurement("gb200_rack").records()[0]["mass_kg"]},
    units={"mass": "kg", "width": "m", "depth": "m", "rated": "kg"},
    answer=eq.floor_load.at(rack_mass=v.mass, footprint=v.width * v.depth) / v.rated,
    independent_check=v.mass / (v.rated * v.width * v.depth),
    misconceptions={
        v.mass / v.rated: "That would be right if the rack covered a whole square meter. It covers less.",
        v.mass * v.width * v.depth / v.rated: "Divide by the area: the smaller it is, the more weight there is on each square meter.",
    },
    explanation="A rack of accelerators needs a stronger floor, as well as more power and cooling, than older data centers were built for.",
    hints=(
        "How much weight would there be on a whole square meter of such racks?",
        "Divide mass by area, and the result by the rating.",
    ),
    solution=(
        Step(f"${eq.floor_load.latex}$, in kg per square meter:", v.mass / (v.width * v.depth), "kg"),
        "divided by the rating:",
    ),
)
