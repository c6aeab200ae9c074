"""Practice problems of the racks lesson: experts on GPUs, what they send, what leaving the rack costs, what bounds a
rack.
"""

from __future__ import annotations

from math import comb

from sympy import Max

from blackboard.batching.equations import user_rate
from blackboard.catalogue import chip, measurement, model, tier
from blackboard.practice import Choice, Estimate, Expression, Function, Mistake, Ordering, Quantity, Step, Values
from blackboard.racks import equations as eq

FP8, BF16 = 1.0, 2.0

FOLLOW, PLACE = "follow a token through a layer of experts", "place experts on GPUs and count the traffic"
LEAVE, TIME = "price the step out of the rack", "compute the time of an all-to-all from bytes and bandwidth"
READ, BOUND = "read what a vendor's rack counts", "estimate what bounds a rack"

# --- experts and where they lie --------------------------------------------------------------------------------------


def placed(values: Values) -> Values:
    """A drawn `case`, a model's id and a number of GPUs, in the notation's names."""
    net, gpus = values["case"]
    moe = model(net).moe
    known = {"experts": moe.experts, "top_k": moe.active, "shared": moe.shared, "routed_layers": moe.layers}
    return known | {"net_name": model(net).name, "expert_parallel": gpus}


COUNTS = {"net_name": "", "expert_parallel": "1", "shared": "1", "routed_layers": "1"}

guess = Estimate(
    id="guess",
    title="A guess before you read",
    level="easy",
    ask=(
        "The experts of a layer fill one rack. Now spread them evenly over two racks; every GPU sends as many bytes as"
        " before. Out of the rack a GPU sends {ratio} times slower than inside, and it sends on both networks at once."
        " How many times as long does the layer's traffic take?"
    ),
    draw={"ratio": (8.0, 9.0, 18.0), "racks": (2,)},
    derive=lambda v: {"scale_up": v["ratio"], "scale_out": 1.0},
    units={"ratio": "1"},
    unit="1",
    within=1.24,
    objective=LEAVE,
    answer=lambda v: eq.slowdown(v),
    second=lambda v: max(1 - 1 / 2, 1 / 2 / (1 / v["ratio"])),
    means="Half of the traffic leaves, and that half alone takes this long. What stays at home is done long before.",
    mistakes=(
        Mistake(
            lambda v: v["scale_up"] / v["scale_out"],
            "That is as if everything left the rack. With two racks half of the experts are at home.",
        ),
        Mistake(
            lambda v: 2 * v["scale_up"] / (v["scale_up"] + v["scale_out"]),
            "About twice is what the mean of the two bandwidths would give. "
            "The slow network has to carry its half on its own, and everybody waits for it.",
        ),
    ),
    hints=(
        "Which share of the bytes has to leave the rack?",
        "Time for what stays, time for what leaves, each on its own network; the layer waits for the slower.",
    ),
    solution=lambda v: [
        Step(f"Leaves the rack: ${eq.leaving.latex}$, with two racks", eq.leaving(v), "1"),
        Step(f"The slower network decides, ${eq.slowdown.latex}$:", eq.slowdown(v), "1"),
    ],
)

combine = Choice(
    id="combine",
    title="What comes back",
    level="easy",
    ask="In DeepSeek-V3 a token goes to 8 of 256 routed experts. What happens to the 8 vectors that come back?",
    options={
        "a": "they are put one after another into a longer vector",
        "b": "they are added up, each with the weight that the router gave its expert",
        "c": "the one with the highest score is kept, the others are dropped",
        "d": "they are divided by 256 and added up, a mean over all experts",
    },
    answer="b",
    second=lambda v: "b",
    objective=FOLLOW,
    means="A sum has the size of one vector, so the next layer sees the same width whatever the number of experts.",
    mistakes=(
        Mistake("a", "Then the vector would be 8 times as wide, and the residual could not be added to it."),
        Mistake("c", "Then 7 of the 8 experts would have worked, and sent, in vain. All that were chosen count."),
        Mistake(
            "d", "The experts that were not chosen computed nothing: there is no output of theirs to take a mean of."
        ),
    ),
    hints=(
        "The layer's output is added to its input: how wide must it be?",
        "Not every chosen expert is equally sure to fit the token, and the router knows by how much.",
    ),
    solution=lambda v: [
        Step(
            "Each expert returns a vector as wide as the token's. They are weighted by the router, added up, and the"
            " shared expert and the input are added."
        ),
        Step("So the answer is", "b"),
    ],
)

router = Choice(
    id="router",
    title="Where the router runs",
    level="easy",
    ask=(
        "Attention is data-parallel: each of 64 GPUs holds tokens of its own, and experts of every layer. "
        "Where is it decided which experts a token goes to?"
    ),
    options={
        "a": "on one GPU that all tokens pass through first",
        "b": "in the switch, which knows all destinations",
        "c": "on the CPU of the rack, which then tells the GPUs",
        "d": "on each GPU, which has its own copy of the router",
    },
    answer="d",
    second=lambda v: "d",
    objective=FOLLOW,
    means=(
        "There are as many routers as GPUs, all alike. The router is one small matrix, so copies cost next to nothing."
    ),
    mistakes=(
        Mistake(
            "a",
            "All tokens would have to squeeze through that GPU's link before they go to their experts: twice the way,"
            " and a bottleneck.",
        ),
        Mistake(
            "b",
            "A switch forwards what is addressed. Scores are a matrix product with the token's vector, and switches do"
            " not multiply matrices.",
        ),
        Mistake(
            "c",
            "The vectors would have to go to the CPU and back in each of some sixty layers. The GPU that holds the"
            " token can score it on the spot.",
        ),
    ),
    hints=(
        "What does the decision need? The token's vector, and one small matrix.",
        "Where is the token when the decision is due?",
    ),
    solution=lambda v: [
        Step(
            "The router's matrix is small and the token is already on a GPU, so each GPU keeps a copy and routes its"
            " own tokens."
        ),
        Step("So the answer is", "d"),
    ],
)

per_gpu = Quantity(
    id="per-gpu",
    title="Experts on a GPU",
    level="easy",
    ask=(
        "{net_name} has {experts} routed experts in each of {routed_layers} layers. A rack has 72 GPUs, of which"
        " {expert_parallel} serve the experts. How many routed experts of one layer does each of these hold?"
    ),
    draw={"case": (("deepseek-v3", 64), ("kimi-k2", 64), ("glm-4.5", 40), ("deepseek-v3", 32), ("kimi-k2", 48))},
    derive=placed,
    units=COUNTS,
    unit="1",
    objective=PLACE,
    answer=lambda v: eq.experts_per_chip(v),
    second=lambda v: len(range(0, v["experts"], v["expert_parallel"])),
    means="A whole number, the same on every GPU: that is why the other GPUs of the rack are left out.",
    mistakes=(
        Mistake(
            lambda v: eq.experts_per_chip(v, expert_parallel=72),
            "You spread them over all 72. An expert is not cut in pieces here, so only as many GPUs serve as divide the"
            " experts evenly.",
        ),
        Mistake(
            lambda v: v["routed_layers"] * eq.experts_per_chip(v),
            "That is over all layers. One layer was asked for.",
        ),
        Mistake(lambda v: 1 / eq.experts_per_chip(v), "Upside down: that is GPUs per expert."),
    ),
    hints=("Deal the experts out like cards, the same number to each GPU.",),
    solution=lambda v: [Step(f"${eq.experts_per_chip.latex}$ =", eq.experts_per_chip(v), "1")],
)

which_count = Choice(
    id="which-count",
    title="Why 64 of the 72",
    level="easy",
    ask="The lecture puts 256 routed experts on 64 of a rack's 72 GPUs. Why not on all 72?",
    options={
        "a": "the rack's switches connect only 64 GPUs at full rate",
        "b": "8 GPUs are needed for the router",
        "c": "256 experts do not divide by 72, so some GPUs would hold more than others",
        "d": "64 GPUs have more bandwidth in all than 72",
    },
    answer="c",
    second=lambda v: {72: "", 64: "c"}[next(n for n in (72, 64) if 256 % n == 0)],
    objective=PLACE,
    means="With unequal shares everybody waits for the fullest GPU; whole and equal shares cost eight idle ones.",
    mistakes=(
        Mistake("a", "All 72 are joined at the same rate. A GPU is left out here, not cut off."),
        Mistake(
            "b", "The router is one small matrix, copied to every GPU that holds tokens. It needs no GPU of its own."
        ),
        Mistake("d", "Eight GPUs less are a ninth of the bandwidth less. It is a price, not a gain."),
    ),
    hints=("Divide 256 by 72. What would the GPUs hold?",),
    solution=lambda v: [
        Step("256 / 72 is about 3.6, so some GPUs would hold 4 experts and some 3. 256 / 64 is 4 for all."),
        Step("So the answer is", "c"),
    ],
)

broadcast = Quantity(
    id="broadcast",
    title="To all experts instead",
    level="easy",
    ask=(
        "{net_name} routes a token to {top_k} of {experts} experts, which lie on {expert_parallel} GPUs. Suppose every"
        " token were sent to all routed experts instead. By which factor would the traffic grow? Count one copy for"
        " each expert, even if two lie on one GPU, and leave shared experts out."
    ),
    draw={"case": (("deepseek-v3", 64), ("kimi-k2", 64), ("glm-4.5", 40), ("deepseek-v3", 32))},
    derive=placed,
    units=COUNTS,
    unit="1",
    objective=PLACE,
    answer=lambda v: eq.broadcast_waste(v),
    second=lambda v: sum(1 for _ in range(v["experts"])) / sum(1 for _ in range(v["top_k"])),
    means="This is what the router saves on the links, and as much in multiplications.",
    mistakes=(
        Mistake(lambda v: 1 / eq.broadcast_waste(v), "Upside down: sending to all is more traffic, not less."),
        Mistake(
            lambda v: (v["experts"] + v["shared"]) / (v["top_k"] + v["shared"]),
            "You counted the shared expert on both sides. It was to be left out.",
        ),
        Mistake(
            lambda v: v["expert_parallel"] / v["top_k"],
            "That is one copy for each GPU. Here a copy goes to each expert.",
        ),
        Mistake(
            lambda v: float(v["experts"]),
            "That is how many copies a token would send. Compare with those that it sends now.",
        ),
    ),
    hints=("How many copies does a token send now, and how many then?",),
    solution=lambda v: [Step(f"${eq.broadcast_waste.latex}$ =", eq.broadcast_waste(v), "1")],
)


def spared(v: Values) -> float:
    """The chance that a token chooses none of a GPU's experts, by counting its possible choices."""
    held = v["experts"] // v["expert_parallel"]
    return comb(v["experts"] - held, v["top_k"]) / comb(v["experts"], v["top_k"])


def some_held(v: Values) -> float:
    """GPUs with one or more of a token's experts: the chances of just one, just two … held experts chosen, added up."""
    held, chance = v["experts"] // v["expert_parallel"], v["top_k"] / v["experts"]
    return v["expert_parallel"] * sum(
        comb(held, n) * chance**n * (1 - chance) ** (held - n) for n in range(1, held + 1)
    )


distinct = Quantity(
    id="distinct",
    title="GPUs that a token reaches",
    level="hard",
    ask=(
        "{net_name}'s {experts} routed experts lie evenly on {expert_parallel} GPUs. A token goes to {top_k} different"
        " experts, all equally likely. On average, how many different GPUs hold at least one of its experts? Whether"
        " one expert is chosen may be taken as independent of the others: counted exactly the result differs by less"
        " than 1%, and either passes."
    ),
    draw={"case": (("deepseek-v3", 64), ("kimi-k2", 64), ("kimi-k2", 48))},
    derive=placed,
    units=COUNTS,
    unit="chip",
    asked="GPUs",
    tolerance=0.01,
    objective=PLACE,
    answer=lambda v: eq.distinct_chips(v),
    second=some_held,
    means="Nearly one GPU for each expert: sending one copy per GPU instead of one per expert saves little here.",
    mistakes=(
        Mistake(lambda v: float(v["top_k"]), "That is the number of experts. Now and then two of them share a GPU."),
        Mistake(
            lambda v: float(v["expert_parallel"]),
            "That is all of them. One token reaches only a few; a whole batch reaches all.",
        ),
        Mistake(lambda v: eq.experts_per_chip(v), "That is how many experts lie on one GPU."),
        Mistake(
            lambda v: v["expert_parallel"] * v["top_k"] / v["experts"],
            "You took the chance of one expert for that of a GPU. A GPU has several experts, each of which may be"
            " chosen.",
        ),
    ),
    hints=(
        "Ask for one GPU first: what is the chance that none of its experts is chosen?",
        (
            "An expert is passed over with the chance 1 − {top_k}/{experts}; all experts of a GPU must be. "
            "What remains is the chance that the GPU is reached, and there are {expert_parallel} GPUs."
        ),
    ),
    solution=lambda v: [
        Step("Experts on a GPU:", eq.experts_per_chip(v), "1"),
        Step("A GPU is passed over with the chance", (1 - v["top_k"] / v["experts"]) ** eq.experts_per_chip(v), "1"),
        Step("or, by counting the choices of {top_k} that miss it,", spared(v), "1"),
        Step("which would make, in GPUs reached,", v["expert_parallel"] * (1 - spared(v)), "1"),
        Step(f"${eq.distinct_chips.latex}$ =", eq.distinct_chips(v), "chip"),
    ],
)

# --- leaving the rack ------------------------------------------------------------------------------------------------


def counted_leaving(racks: int, gpus: int = 8) -> float:
    """Share of the ways from GPU to GPU that lead to another rack, counted one by one."""
    everyone = range(racks * gpus)
    return sum(source // gpus != target // gpus for source in everyone for target in everyone) / len(everyone) ** 2


leaving = Quantity(
    id="leaving",
    title="What leaves the rack",
    level="easy",
    ask=(
        "The experts of a layer are spread evenly over {racks} racks, and so are the tokens. "
        "Each token sends one copy to each of its {top_k} experts, all equally likely. "
        "Which share of all copies leaves its rack, in percent? A copy that stays on its own GPU counts as staying."
    ),
    draw={"racks": (4, 3, 8, 5), "top_k": (8,)},
    unit="1",
    asked="%",
    objective=LEAVE,
    answer=lambda v: eq.leaving(v),
    second=lambda v: counted_leaving(v["racks"]),
    means=(
        "The more racks, the more leaves: spreading out does not dilute the traffic, it moves it to the slow network."
    ),
    mistakes=(
        Mistake(
            lambda v: 1 - eq.leaving(v),
            "That share goes to any one of the racks, one's own for instance. All the others together were asked for.",
        ),
        Mistake(
            lambda v: 1 - (1 - eq.leaving(v)) ** v["top_k"],
            "That is the share of tokens with at least one expert elsewhere: nearly all. The bytes count, so count"
            " copies.",
        ),
        Mistake(
            lambda v: eq.leaving(v) / 100,
            "That is the fraction; percent is a hundred times it. Type the percentage.",
        ),
    ),
    hints=("Take one copy. In how many of the racks may its expert lie?", "Only one of the racks is its own."),
    solution=lambda v: [Step(f"All but one's own rack, ${eq.leaving.latex}$, in percent:", 100 * eq.leaving(v), "%")],
)


def linked(values: Values) -> Values:
    """The two networks of a drawn kind of GPU."""
    part = chip(values["kind"])
    return {
        "scale_up": part.scale_up.bytes_per_s,
        "scale_out": part.scale_out.bytes_per_s,
        "kind_name": part.name.split(",")[0],
    }


LINKS = {"kind_name": "", "scale_up": "byte/s", "scale_out": "byte/s"}

two_racks = Quantity(
    id="two-racks",
    title="Over several racks",
    level="medium",
    ask=(
        "{kind_name}, with a network card for each GPU: a GPU sends {scale_up} inside its rack (NVLink) and {scale_out}"
        " out of it (its card), each in one direction, and both at once. The experts of a layer are spread evenly over"
        " {racks} racks instead of one; each GPU sends as many bytes in all as before. How many times as long does the"
        " layer's traffic take?"
    ),
    draw={"kind": ("gb200-nvl72", "gb300-nvl72"), "racks": (3, 4, 5)},
    derive=linked,
    units=LINKS,
    unit="1",
    tolerance=0.01,
    objective=LEAVE,
    answer=lambda v: eq.slowdown(v),
    second=lambda v: max(v["scale_up"] * counted_leaving(v["racks"]) / v["scale_out"], 1 - counted_leaving(v["racks"])),
    means="The network card decides alone. The rack's own links wait for it nearly all of the time.",
    mistakes=(
        Mistake(
            lambda v: v["scale_up"] / v["scale_out"],
            "That is the ratio of the bandwidths, as if every copy left. One rack's share stays at home.",
        ),
        Mistake(
            lambda v: v["scale_up"] / v["scale_out"] / v["racks"],
            "You sent out the share that stays. With {racks} racks most copies leave.",
        ),
        Mistake(
            lambda v: 1 / v["racks"] + eq.leaving(v) * v["scale_up"] / v["scale_out"],
            "You added the times. The two networks work at once, so the longer time counts alone.",
        ),
        Mistake(
            lambda v: eq.slowdown(v, scale_up=2 * v["scale_up"]),
            "Twice too much: you took NVLink as vendors print it, both directions together, and the network card in"
            " one.",
        ),
    ),
    hints=(
        "Which share leaves, and which stays?",
        "Time is bytes over bandwidth on each network. The longer one, over the time in one rack.",
    ),
    solution=lambda v: [
        Step(f"Leaves: ${eq.leaving.latex}$ =", eq.leaving(v), "1"),
        Step("Ratio of the bandwidths:", v["scale_up"] / v["scale_out"], "1"),
        Step(f"${eq.slowdown.latex}$ =", eq.slowdown(v), "1"),
    ],
)


def found_ratio(racks: int) -> float:
    """The bandwidth ratio at which several racks are as slow as one, by halving an interval."""
    low, high = 1e-3, 1e3
    for _ in range(60):
        ratio = (low + high) / 2
        low, high = (low, ratio) if max(1, (racks - 1) * ratio) > racks else (ratio, high)
    return low


hurts = Quantity(
    id="hurts",
    title="When leaving begins to hurt",
    level="hard",
    ask=(
        "The experts of a layer can lie in one rack or evenly in {racks}; every GPU sends as many bytes in either case,"
        " and on both networks at once. At which ratio of a GPU's bandwidth inside the rack to that out of it do"
        " {racks} racks take just as long as one?"
    ),
    draw={"racks": (4, 3, 6, 8)},
    unit="1",
    objective=LEAVE,
    answer=lambda v: eq.ratio_hurts(v),
    second=lambda v: found_ratio(v["racks"]),
    means=(
        "Not far above one: a second network helps only if it is about as fast as the first. Those of NVIDIA's GPUs are"
        " 4 to 18 times slower."
    ),
    mistakes=(
        Mistake(
            lambda v: 1.0,
            "With equal links the spread-out layer is even faster: part of the traffic uses the network inside, part"
            " that outside.",
        ),
        Mistake(
            lambda v: 1 / (v["racks"] - 1),
            "There the two networks take equally long. That is less time than in one rack, so it does not hurt yet.",
        ),
        Mistake(lambda v: float(v["racks"]), "You let one rack's share leave. It is the others' share that leaves."),
        Mistake(lambda v: eq.leaving(v), "Upside down: that is outside over inside."),
    ),
    hints=(
        "In one rack all bytes use the fast link. With {racks}, which share uses the slow one?",
        "Set the share that leaves over the slow bandwidth equal to all bytes over the fast one.",
    ),
    solution=lambda v: [
        Step(f"The slowdown is ${eq.slowdown.latex}$. Set it to one. The share that leaves is", eq.leaving(v), "1"),
        Step(f"${eq.ratio_hurts.latex}$ =", eq.ratio_hurts(v), "1"),
    ],
)

ratio = eq.scale_up / eq.scale_out
slower = Expression(
    id="slower",
    title="The slowdown in letters",
    level="medium",
    ask=(
        "A layer's experts are spread evenly over n_rack racks. Per GPU and in one direction, beta_up is the bandwidth"
        " inside a rack and beta_out that out of it; both are used at once. Write by which factor the layer's traffic"
        " takes longer than in one rack. Cover also a network outside that is faster than the one inside."
    ),
    formula=eq.slowdown,
    answer=None,
    second=lambda v: Max(1, (eq.racks - 1) * ratio) / eq.racks,
    objective=LEAVE,
    means="The first entry wins only if the network outside is nearly as fast as the one inside, or faster.",
    mistakes=(
        Mistake(ratio, "That is as if every copy left. One of the n_rack shares stays at home."),
        Mistake(
            (eq.racks - 1) / eq.racks * ratio,
            "Right for a slow network outside. With a very fast one the share that stays at home decides: it needs time"
            " as well.",
        ),
        Mistake(
            Max(1, (eq.racks - 1) / eq.racks * ratio),
            "What stays at home is only one rack's share, so its time is shorter than that of one rack alone.",
        ),
        Mistake(
            1 / eq.racks + (eq.racks - 1) / eq.racks * ratio,
            "You added the times. Both networks work at once, so the longer one counts.",
        ),
        Mistake(Max(1, ratio) / eq.racks, "You sent the same share both ways. One share stays, n_rack − 1 leave."),
        Mistake(ratio / eq.racks, "That is one share over the slow network. One share stays, n_rack − 1 leave."),
        Mistake(
            Max(1 / eq.racks, (eq.racks - 1) / eq.racks / ratio),
            "The bandwidths are upside down: a slower network outside makes it longer.",
        ),
    ),
    hints=(
        "Two shares, two bandwidths, two times.",
        (
            "In units of the time in one rack: what stays takes 1/n_rack. What does the rest take? The larger of the"
            " two is the answer: max(…, …)."
        ),
    ),
    solution=lambda v: [
        Step(
            f"One share stays, $n_\\mathrm{{rack}} - 1$ leave, and the longer time counts: ${eq.slowdown.latex}$,"
            " typed as"
        ),
        Step("", "max(1 / n_rack, (n_rack - 1) / n_rack * beta_up / beta_out)"),
    ],
)

# --- bytes and time --------------------------------------------------------------------------------------------------

WIRES = {  # name in the text, bytes/s for each GPU in one direction
    "infiniband": ("a network card of 400 Gb/s (InfiniBand)", 50e9),
    "nvl72": ("NVLink in an NVL72", 900e9),
    "h200": ("the NVLink of an H200", 450e9),
    "h800": ("the NVLink of an H800, at the rate reached in practice", 160e9),
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


SENT = {"tokens_per_chip": (32, 64, 16, 48), "net": ("deepseek-v3", "kimi-k2", "glm-4.5")}
TIMED = SENT | {"wire": tuple(WIRES)}
PLAIN = {
    "net_name": "",
    "wire_name": "",
    "tokens_per_chip": "token",
    "shared": "1",
    "scale_up": "byte/s",
    "ep_bytes": "byte",
}
COPIES = (
    "In a layer of {net_name} a GPU sends each of its {tokens_per_chip} to {top_k} routed experts and {shared} shared"
    " one, a copy for each and none of them on its own GPU. A copy is {width} values, on the way out in FP8 (one byte"
    " each), and a result as wide comes back in BF16 (two bytes each). "
)


def counted_bytes(v: Values) -> int:
    """Bytes of all copies out and all results back, one after the other."""
    rows = [(token, expert) for token in range(v["tokens_per_chip"]) for expert in range(v["top_k"] + v["shared"])]
    return sum(v["width"] * one for _ in rows for one in (1, 2))


ep_bytes = Quantity(
    id="ep-bytes",
    title="Bytes of one layer",
    level="medium",
    ask=COPIES
    + "Every GPU has as many tokens and as much to answer. How many bytes does one GPU send for the layer, out and back"
    " together, in MB (a million bytes)?",
    draw=SENT,
    derive=exchange,
    units=PLAIN,
    unit="byte",
    asked="MB",
    objective=PLACE,
    answer=lambda v: eq.ep_bytes(v),
    second=counted_bytes,
    means="The way back is twice as heavy as the way out: results travel in BF16.",
    mistakes=(
        Mistake(
            lambda v: eq.ep_bytes(v) * v["dispatch_bytes"] / (v["dispatch_bytes"] + v["combine_bytes"]),
            "That is the way out. The results have to come back as well.",
        ),
        Mistake(
            lambda v: eq.ep_bytes(v, copies=v["top_k"]),
            "The shared expert is missing: every token goes there too.",
        ),
        Mistake(
            lambda v: eq.ep_bytes(v, combine_bytes=FP8),
            "You let the results travel in one byte. They come back in BF16.",
        ),
        Mistake(
            lambda v: eq.ep_bytes(v, dispatch_bytes=BF16),
            "You let the copies leave in two bytes. They leave in FP8.",
        ),
        Mistake(
            lambda v: 2 * eq.ep_bytes(v),
            "You counted what the GPU receives as well. What it sends was asked for.",
        ),
        Mistake(lambda v: eq.ep_bytes(v, copies=1), "That is one copy of each token. A copy goes to each expert."),
    ),
    hints=(
        "How many copies leave, and how many bytes has one?",
        "Tokens × experts of a token, shared one included × values × bytes out and back.",
    ),
    solution=lambda v: [
        Step("Copies of a token:", v["copies"], "1"),
        Step(f"${eq.ep_bytes.latex}$ =", eq.ep_bytes(v), "byte"),
    ],
)

ep_time = Quantity(
    id="ep-time",
    title="Time of one layer's traffic",
    level="medium",
    ask=COPIES + "All GPUs do the same at once. The link is {wire_name}: {scale_up} for each GPU in one direction. "
    "How long do dispatch and combine of the layer take together at least, in µs? Leave latency out.",
    draw=TIMED,
    derive=exchange,
    units=PLAIN,
    unit="s",
    asked="µs",
    objective=TIME,
    answer=lambda v: eq.ep_time(v),
    second=lambda v: counted_bytes(v) / v["scale_up"],
    means=(
        "It comes back in every layer and in every step: a few microseconds or a hundred make the difference between"
        " fast and slow serving."
    ),
    mistakes=(
        Mistake(lambda v: 8 * eq.ep_time(v), "Eight times too long: the rate is in bytes, not in bits."),
        Mistake(lambda v: eq.ep_time(v) / 8, "Eight times too short: you took a rate in bits for one in bytes."),
        Mistake(
            lambda v: 2 * eq.ep_time(v),
            "Twice too long: a GPU receives while it sends, each in its own direction.",
        ),
        Mistake(
            lambda v: eq.ep_time(v, scale_up=2 * v["scale_up"]),
            "Half: you counted both directions. What a GPU sends goes one way; what it receives takes the other at the"
            " same time.",
        ),
        Mistake(
            lambda v: eq.ep_time(v) * v["dispatch_bytes"] / (v["dispatch_bytes"] + v["combine_bytes"]),
            "That is dispatch alone. Combine brings the results back, in twice the bytes.",
        ),
        Mistake(
            lambda v: eq.ep_time(v, copies=v["top_k"]),
            "The shared expert is missing: every token goes there too.",
        ),
        Mistake(
            lambda v: eq.ep_time(v, combine_bytes=FP8),
            "You let the results travel in one byte. They come back in BF16.",
        ),
    ),
    hints=(
        "First the bytes that one GPU sends: tokens × copies × values × bytes out and back.",
        "Bytes over the rate of one GPU's link, in one direction.",
    ),
    solution=lambda v: [
        Step(f"${eq.ep_bytes.latex}$ =", eq.ep_bytes(v), "byte"),
        Step("over {scale_up}:", eq.ep_time(v), "s"),
    ],
)

tpot = Quantity(
    id="tpot",
    title="All layers of a step",
    level="medium",
    ask=(
        "{net_name} runs with {tokens_per_chip} per GPU in a micro-batch. "
        "Over {wire_name}, one layer's dispatch and combine for one micro-batch take {t_ep} together. "
        "Each GPU has two micro-batches, which take turns: while one is multiplied, the other is sent. "
        "So in each layer the link serves the one after the other, and all multiplying hides behind it. "
        "Count all {layers} layers as routed. How long does it take from one token of a user to the next, in ms?"
    ),
    draw=TIMED,
    derive=exchange,
    units=PLAIN,
    unit="s",
    asked="ms",
    objective=TIME,
    answer=lambda v: eq.comm_time(v),
    second=lambda v: sum(counted_bytes(v) / v["scale_up"] for _layer in range(v["layers"]) for _half in "ab"),
    means="This is a floor on the time per output token that the network sets, before anything is multiplied or read.",
    mistakes=(
        Mistake(
            lambda v: eq.comm_time(v, micro_batches=1),
            "The link serves two micro-batches in each layer, one after the other; a token waits for both.",
        ),
        Mistake(lambda v: eq.comm_time(v, layers=1), "That is one layer. The token passes through all of them."),
        Mistake(
            lambda v: 2 * eq.comm_time(v),
            "Dispatch and combine are both in the time that is given. Only the micro-batches double it.",
        ),
        Mistake(
            lambda v: eq.comm_time(v) / v["tokens_per_chip"],
            "Tokens of a batch travel together, each waiting for all. The time is not divided among them.",
        ),
    ),
    hints=(
        "How often is the link busy for {t_ep} until the next token is there?",
        "Once for each layer and each micro-batch.",
    ),
    solution=lambda v: [
        Step(f"One layer, one micro-batch: ${eq.ep_time.latex}$ =", v["t_ep"], "s"),
        Step(f"${eq.comm_time.latex}$ =", eq.comm_time(v), "s"),
    ],
)

rate = Quantity(
    id="rate",
    title="Tokens per second of a user",
    level="medium",
    ask=(
        "{net_name}, {layers} layers, all taken as routed. In each layer a GPU sends {ep_bytes} for each of two"
        " micro-batches of {tokens_per_chip}, dispatch and combine together. The link is {wire_name}, {scale_up} for"
        " each GPU in one direction, never idle, and all else hides behind it. How many tokens per second does one user"
        " get?"
    ),
    draw=TIMED,
    derive=exchange,
    units=PLAIN,
    unit="token/s",
    objective=TIME,
    answer=lambda v: user_rate(interval=eq.comm_time(v)),
    second=lambda v: v["scale_up"] / sum(counted_bytes(v) for _ in range(2 * v["layers"])),
    means="No faster multiplier lifts this: only fewer bytes, as in a smaller batch, or a faster link.",
    mistakes=(
        Mistake(
            lambda v: user_rate(interval=eq.comm_time(v, micro_batches=1)),
            "Twice too fast: the link serves both micro-batches before a user's next token is due.",
        ),
        Mistake(
            lambda v: user_rate(interval=eq.comm_time(v, layers=1)),
            "That is one layer per token. A token passes through all of them.",
        ),
        Mistake(
            lambda v: v["tokens_per_chip"] * user_rate(interval=eq.comm_time(v)),
            "That is what all users of a micro-batch get together. One of them gets one token per step.",
        ),
        Mistake(
            lambda v: user_rate(interval=8 * eq.comm_time(v)),
            "Eight times too slow: the rate of the link is in bytes, not in bits.",
        ),
        Mistake(
            lambda v: user_rate(interval=eq.comm_time(v) / 8),
            "Eight times too fast: you took a rate in bits for one in bytes.",
        ),
    ),
    hints=(
        "First the time of a step: bytes over rate, for each layer and micro-batch.",
        "One user gets one token per step.",
    ),
    solution=lambda v: [
        Step("One layer, one micro-batch, {ep_bytes} over {scale_up}:", v["t_ep"], "s"),
        Step(f"${eq.comm_time.latex}$ =", eq.comm_time(v), "s"),
        Step(f"${user_rate.latex}$ with that interval:", user_rate(interval=eq.comm_time(v)), "token/s"),
    ],
)

LATENT = {  # name, latency of a short message in seconds (insights2025), bytes/s in one direction
    "infiniband": ("InfiniBand, across leaf switches", 3.7e-6, 50e9),
    "nvlink": ("the NVLink of an H800", 3.33e-6, 200e9),
    "roce": ("Ethernet (RoCE), across leaf switches", 5.6e-6, 50e9),
    "near": ("InfiniBand, under one leaf switch", 2.8e-6, 50e9),
}


def latent(values: Values) -> Values:
    """A drawn path with its latency; the bytes are those of a DeepSeek-V3 layer where tokens are drawn."""
    name, latency, rate = LATENT[values["path"]]
    known = exchange({"net": "deepseek-v3", "tokens_per_chip": values.get("tokens_per_chip", 1)})
    return known | {"path_name": name, "link_latency": latency, "scale_up": rate}


def delayed(v: Values, latency: float) -> float:
    """Seconds of a layer's dispatch and combine when each way starts with a latency."""
    known = {name: v[name] for name in eq.ep_time.free}
    return eq.ep_time(known, calibration={"link_latency": latency})


message = Quantity(
    id="message",
    title="Latency of short messages",
    level="medium",
    ask=(
        "In a small batch a GPU sends {ep_bytes} for one layer, dispatch and combine together. "
        "The path is {path_name}: {scale_up} for each GPU in one direction, "
        "and a latency of {link_latency} that each of the two ways costs once, however many copies it carries. "
        "How long do dispatch, then combine, take together, in µs?"
    ),
    draw={"path": ("infiniband", "nvlink", "roce", "near"), "tokens_per_chip": (2, 4, 1)},
    derive=latent,
    units=PLAIN | {"path_name": ""},
    unit="s",
    asked="µs",
    objective=TIME,
    answer=lambda v: delayed(v, v["link_latency"]),
    second=lambda v: sum(
        v["link_latency"] + v["tokens_per_chip"] * 9 * 7168 * width / v["scale_up"] for width in (1, 2)
    ),
    means="In a small batch latency is no small part of the time, and no wider link removes it.",
    mistakes=(
        Mistake(lambda v: delayed(v, 0), "The latency is missing: each way costs it before the first byte arrives."),
        Mistake(
            lambda v: delayed(v, v["link_latency"] / 2),
            "You counted one latency. Combine can start only after dispatch, and pays its own.",
        ),
        Mistake(
            lambda v: delayed(v, v["link_latency"]) + 7 * delayed(v, 0),
            "You took bytes over bits per second: the rate is in bytes.",
        ),
        Mistake(
            lambda v: delayed(v, v["link_latency"]) + delayed(v, 0),
            "You sent all bytes on each way. Those given are of both ways together.",
        ),
    ),
    hints=(
        "A message takes its latency, and then its bytes over the bandwidth.",
        "Two latencies, one for each way, and all bytes over the bandwidth.",
    ),
    solution=lambda v: [
        Step("Two latencies:", 2 * v["link_latency"], "s"),
        Step("Transfer, {ep_bytes} over {scale_up}:", delayed(v, 0), "s"),
        Step("Together:", delayed(v, v["link_latency"]), "s"),
    ],
)


def half_way(v: Values) -> float:
    """Bytes whose transfer takes as long as the latency."""
    return eq.half_message(start_time=v["link_latency"], scale_up=v["scale_up"])


def searched_size(v: Values) -> float:
    """The message, found by halving an interval, that reaches half of the bandwidth, latency included."""
    low, high = 1.0, 1e12
    for _ in range(80):
        size = (low + high) / 2
        reached = size / (v["link_latency"] + size / v["scale_up"])
        low, high = (low, size) if reached > v["scale_up"] / 2 else (size, high)
    return low


half_size = Quantity(
    id="half-size",
    title="The size that reaches half the bandwidth",
    level="hard",
    ask=(
        "{path_name}: a message takes a latency of {link_latency}, and after that its bytes flow at {scale_up}. "
        "How many bytes must one message have for latency and transfer to take equally long, in kB (a thousand bytes)?"
    ),
    draw={"path": ("infiniband", "nvlink", "roce", "near")},
    derive=latent,
    units=PLAIN | {"path_name": ""},
    unit="byte",
    asked="kB",
    objective=TIME,
    answer=half_way,
    second=searched_size,
    means="Smaller messages mostly wait, larger ones mostly flow. At this size a link reaches half of its bandwidth.",
    mistakes=(
        Mistake(
            lambda v: 2 * half_way(v),
            "You counted two latencies. One message has one; a reply would be a message of its own.",
        ),
        Mistake(
            lambda v: half_way(v) / 2,
            "You let the bytes flow at half the bandwidth. They flow at the full one; half is what is reached with the"
            " latency.",
        ),
        Mistake(lambda v: 9 * half_way(v), "That is where latency is a tenth of the time. Equally long was asked for."),
    ),
    hints=(
        "How long does the transfer of V bytes take? Set that equal to the latency.",
        "What flows through the link during one latency?",
    ),
    solution=lambda v: [
        Step(f"Bytes over bandwidth are to be as long as the latency: ${eq.half_message.latex}$ =", half_way(v), "byte")
    ],
)


stays, leaves = 1 / (eq.racks * eq.scale_up), (eq.racks - 1) / (eq.racks * eq.scale_out)
volume = next(s for s in eq.spread_time.expr.free_symbols if s.name == "ep_bytes")
all_to_all = Function(
    id="all-to-all",
    title="Write the traffic time",
    level="medium",
    ask=(
        "Write a Python function of ep_bytes (what a GPU sends for a layer, in bytes), racks (over which the experts"
        " are spread evenly, one or more), scale_up and scale_out (bytes per second of a GPU inside its rack and out of"
        " it, in one direction). Return the seconds of the layer's traffic. Both networks work at once; leave latency"
        " out."
    ),
    formula=eq.spread_time,
    answer=None,
    second=lambda v: Max(volume * stays, volume * (1 - 1 / eq.racks) / eq.scale_out),
    objective=TIME,
    means="With one rack it is bytes over bandwidth; with more, the network outside takes over.",
    mistakes=(
        Mistake(volume / eq.scale_up, "That is one rack. With several, part of the bytes uses the other network."),
        Mistake(volume / eq.scale_out, "One rack's share stays inside; only the rest leaves."),
        Mistake(
            volume * Max(1 / eq.scale_up, leaves),
            "What stays inside is only one rack's share, so it takes less time than in one rack.",
        ),
        Mistake(
            volume * leaves,
            "With one rack this would take no time. What stays inside takes time too, and the longer one counts.",
        ),
        Mistake(volume * (stays + leaves), "The two networks work at once: take the longer time, not the sum."),
        Mistake(
            volume * Max(stays, 1 / (eq.racks * eq.scale_out)),
            "You sent out one rack's share. All shares but one leave.",
        ),
    ),
    hints=("Split the bytes: which share stays, and which leaves?", "max(stays / scale_up, leaves / scale_out)."),
    solution=lambda v: [
        Step(f"${eq.spread_time.latex}$, as code"),
        Step("", "ep_bytes * max(1 / (racks * scale_up), (racks - 1) / (racks * scale_out))"),
    ],
)

# --- racks as they are sold ------------------------------------------------------------------------------------------

deepseek = Choice(
    id="deepseek",
    title="Forty nodes all the same",
    level="hard",
    ask=(
        "A layer of experts belongs in one scale-up domain, the lecture says. DeepSeek spreads V3's experts over 18"
        " nodes in production, and over 40 in its report: nodes of 8 H800 GPUs, joined by InfiniBand. Why does that not"
        " contradict the rule?"
    ),
    options={
        "a": "the rule is about cost: with 8 GPUs in a domain DeepSeek has to leave it, and keeps that bearable",
        "b": "InfiniBand is as fast as the NVLink of an H800, so nothing is lost",
        "c": "over so many nodes the share of traffic that leaves a node becomes small",
        "d": "the rule holds for training only: in serving, experts have nothing to send to each other",
    },
    answer="a",
    second=lambda v: "a" if chip("h800").scale_up.domain_chips == 8 < 18 * 8 else "",
    objective=LEAVE,
    means=(
        "What bounds an expert layer is the price of leaving, not a law. "
        "Traffic that hides behind computing costs no time."
    ),
    mistakes=(
        Mistake(
            "b", "An H800's NVLink is slower than an H100's, but still about four times as fast as its network card."
        ),
        Mistake("c", "The other way round: of n nodes' shares only one stays, so more nodes mean that more leaves."),
        Mistake(
            "d",
            "Serving sends each token to its experts and back in every routed layer, just as the forward pass of"
            " training does.",
        ),
    ),
    hints=(
        "How many GPUs does the NVLink of an H800 node join?",
        "What can a designer do so that nobody waits for the bytes that leave?",
    ),
    solution=lambda v: [
        Step(
            "An H800's domain has 8 GPUs, so experts on 144 or 320 GPUs must leave it. "
            "DeepSeek computes one micro-batch while the other travels. "
            "Where 8 nodes hold all experts, it also limits a token to 4 of them."
        ),
        Step("So the answer is", "a"),
    ],
)

five_hundred = Choice(
    id="five-hundred",
    title="What NVL576 counts",
    level="medium",
    ask="The rack announced for Rubin Ultra was called NVL576. What are there 576 of?",
    options={
        "a": "GPU packages, eight times as many as in an NVL72",
        "b": "GPU dies, four in each package",
        "c": "GPUs of eight NVL72 racks joined together",
        "d": "NVLink links in the rack",
    },
    answer="b",
    second=lambda v: "b" if chip("rubin-ultra-kyber").scale_up.domain_chips * 4 == 576 else "",
    objective=READ,
    means=(
        "There are 144 packages. A Blackwell NVL72 has 72 packages of two dies, so dies grow four times and packages"
        " twice."
    ),
    mistakes=(
        Mistake("a", "An NVL72 counts packages, this name does not: the counting changed between the two."),
        Mistake("c", "The product of 8 and 72 is right by chance: the name means one rack."),
        Mistake("d", "A single Blackwell GPU already has 18 links, so a rack has far more links than that."),
    ),
    hints=("A package may hold more than one die.", "What does a vendor count when the number is to be large?"),
    solution=lambda v: [
        Step("144 packages of 4 dies each are 576. Counted like Blackwell's 72 packages, the rack is an NVL144."),
        Step("So the answer is", "b"),
    ],
)

rack_power = Estimate(
    id="rack-power",
    title="The power of a rack",
    level="easy",
    ask=(
        "A rack holds {chips} GPU packages on trays of four. A package draws up to {chip_power}; CPUs, switches,"
        " network cards, pumps and losses add {other_power} for each package. What does the rack draw, in kW? In your"
        " head will do."
    ),
    draw={"kind": ("gb200-nvl72", "gb300-nvl72"), "other_power": (400.0, 500.0, 300.0)},
    derive=lambda v: {"chips": chip(v["kind"]).scale_up.domain_chips, "chip_power": chip(v["kind"]).power_w},
    units={"chips": "1", "chip_power": "W", "other_power": "W"},
    unit="kW",
    within=1.24,
    objective=BOUND,
    answer=lambda v: eq.rack_power(v) / 1e3,
    second=lambda v: sum((v["chip_power"] + v["other_power"]) / 1000 for _ in range(v["chips"])),
    means="All of it becomes heat in one cabinet: power and cooling are among the things that bound a rack.",
    mistakes=(
        Mistake(
            lambda v: eq.rack_power(v, chips=8) / 1e3,
            "That is a server of eight, as Hopper was sold. This rack has {chips} packages.",
        ),
        Mistake(lambda v: eq.rack_power(v, chips=v["chips"] / 4) / 1e3, "You counted trays. Each has four packages."),
        Mistake(
            lambda v: eq.rack_power(v, chips=2 * v["chips"]) / 1e3,
            "You counted two dies for each package. The power given is a package's, with all its dies.",
        ),
    ),
    hints=(
        "What does one package cause to be drawn, with all that serves it?",
        "Multiply by the number of packages; a kilowatt is a thousand watts.",
    ),
    solution=lambda v: [
        Step("For each package, in watts:", v["chip_power"] + v["other_power"], "1"),
        Step(f"${eq.rack_power.latex}$, in kW:", eq.rack_power(v) / 1e3, "kW"),
    ],
)

rack_cables = Estimate(
    id="rack-cables",
    title="Cables in a rack",
    level="medium",
    ask=(
        "Each of {chips} GPUs has {links} links to the switches of its rack and to nothing else. "
        "A link needs {pairs} pairs of wires, both directions counted, and every pair is a cable of its own. "
        "How many cables run from GPUs to switches? In your head will do."
    ),
    draw={"chips": (72, 36, 144), "links": (18,), "pairs": (4,)},
    units={"chips": "1", "links": "1"},
    unit="1",
    within=1.5,
    objective=BOUND,
    answer=lambda v: eq.cables(v),
    second=lambda v: sum(v["pairs"] for _gpu in range(v["chips"]) for _link in range(v["links"])),
    means=(
        "Thousands, through the back of one rack: space, weight and the bending of cables bound a rack as much as any"
        " chip does."
    ),
    mistakes=(
        Mistake(lambda v: eq.cables(v, pairs=1), "That is one cable for each link. A link is several pairs of wires."),
        Mistake(lambda v: eq.cables(v, links=1), "You gave each GPU one link. It has {links}."),
        Mistake(lambda v: float(v["chips"]), "That is one cable for each GPU. It has {links} links of {pairs} pairs."),
    ),
    hints=(
        "How many cables leave one GPU?",
        "GPUs × links × pairs; the switches' ends are the other ends of the same cables.",
    ),
    solution=lambda v: [
        Step("From one GPU:", v["links"] * v["pairs"], "1"),
        Step(f"${eq.cables.latex}$ =", eq.cables(v), "1"),
    ],
)

why_larger = Choice(
    id="why-larger",
    title="Why a larger domain",
    level="medium",
    ask=(
        "A model of a trillion parameters can be cut by layers and put on several racks, one after the other. "
        "What does a larger scale-up domain buy, above all?"
    ),
    options={
        "a": "capacity: only in a large domain can such a model be stored at all",
        "b": "less traffic: in a large domain a token goes to fewer GPUs",
        "c": "multiplications: each GPU computes faster when more are near",
        "d": "bandwidth: more GPUs read the weights of a layer at the same time, so a step gets shorter",
    },
    answer="d",
    second=lambda v: "d",
    objective=BOUND,
    means=(
        "Racks one after the other hold as many weights, but they take turns at reading. GPUs of one domain read a"
        " layer together."
    ),
    mistakes=(
        Mistake(
            "a",
            "Racks one after the other store it as well: memory adds up across any network, for little traffic. It is"
            " time that they do not save.",
        ),
        Mistake(
            "b",
            "A token goes to as many experts as before. Spread over more GPUs, they are even less often neighbours.",
        ),
        Mistake(
            "c", "A GPU's own rate does not depend on its neighbours. What changes is how many GPUs share one layer."
        ),
    ),
    hints=(
        "Which of these could two racks, one after the other, not give you?",
        "While the second rack reads its layers for a token, what does the first do for that token?",
    ),
    solution=lambda v: [
        Step(
            "Pipelining over racks already gives capacity. But a token's layers follow one another, so only GPUs that"
            " share a layer shorten its reading, and they need the fast network."
        ),
        Step("So the answer is", "d"),
    ],
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
    id="links-in-order",
    title="From fast to slow",
    level="easy",
    ask="{kind_name}: put these in order of bytes per second of one GPU, in one direction, the fastest first.",
    items={
        "a": "its network card, sold as 400 Gb/s",
        "b": "its own memory (HBM)",
        "c": "its NVLink",
        "d": "reading from one good NVMe drive",
    },
    draw={"kind": ("h800", "h200", "h100-sxm", "b200")},
    derive=linked,
    units=LINKS,
    objective=READ,
    answer=lambda v: "".join(sorted(rates(v), key=rates(v).get, reverse=True)),
    second=by_rank,
    means=(
        "Every step outwards costs a factor of about two to twenty. Experts sit on the second step, and a rack is where"
        " that step ends."
    ),
    mistakes=(
        Mistake("dacb", "That is from slow to fast."),
        Mistake("bacd", "A network card is sold by gigabits: 400 Gb/s are 50 GB/s. NVLink is sold by gigabytes."),
        Mistake("cbad", "NVLink is fast, but no link keeps up with the memory that sits on the same package."),
    ),
    hints=(
        "The farther away, the slower.",
        "Turn everything into bytes, and vendors' sums of both directions into one direction.",
    ),
    solution=lambda v: [
        Step("Memory:", rates(v)["b"], "byte/s"),
        Step("NVLink:", rates(v)["c"], "byte/s"),
        Step("Network card:", rates(v)["a"], "byte/s"),
        Step("Drive:", rates(v)["d"], "byte/s"),
        Step("In letters,", by_rank(v)),
    ],
)

rack_weight = Quantity(
    id="rack-weight",
    title="What the floor bears",
    level="easy",
    ask=(
        "An NVL72 rack weighs {mass} and stands on a floor area of {width} by {depth}. The raised floor of an older"
        " hall is rated for {rated} on each square metre. By which factor does the rack exceed the rating, if its"
        " weight is spread evenly over the area it stands on? Estimate."
    ),
    draw={"width": (0.6, 0.75), "depth": (1.1, 1.2), "rated": (1000.0, 600.0)},
    derive=lambda v: {"mass": measurement("gb200_rack").records()[0]["mass_kg"]},
    units={"mass": "kg", "width": "m", "depth": "m", "rated": "kg"},
    unit="1",
    tolerance=0.05,
    objective=BOUND,
    answer=lambda v: eq.floor_load(v, rack_mass=v["mass"], footprint=v["width"] * v["depth"]) / v["rated"],
    second=lambda v: v["mass"] / (v["rated"] * v["width"] * v["depth"]),
    means=(
        "A rack of accelerators needs a stronger floor, as well as more power and water, than the racks that halls were"
        " built for."
    ),
    mistakes=(
        Mistake(lambda v: v["mass"] / v["rated"], "That is as if it stood on a whole square metre. It stands on less."),
        Mistake(
            lambda v: v["mass"] * v["width"] * v["depth"] / v["rated"],
            "Divide by the area: the smaller it is, the more each square metre bears.",
        ),
    ),
    hints=(
        "How much weight would there be on a whole square metre of such racks?",
        "Mass over area, and that over the rating.",
    ),
    solution=lambda v: [
        Step(f"${eq.floor_load.latex}$, in kg on a square metre:", v["mass"] / (v["width"] * v["depth"]), "kg"),
        Step(
            "over the rating:",
            eq.floor_load(v, rack_mass=v["mass"], footprint=v["width"] * v["depth"]) / v["rated"],
            "1",
        ),
    ],
)

PROBLEMS = (
    guess,
    combine,
    router,
    per_gpu,
    which_count,
    broadcast,
    distinct,
    leaving,
    two_racks,
    hurts,
    slower,
    ep_bytes,
    ep_time,
    tpot,
    rate,
    message,
    half_size,
    all_to_all,
    deepseek,
    five_hundred,
    rack_power,
    rack_cables,
    why_larger,
    links_in_order,
    rack_weight,
)
