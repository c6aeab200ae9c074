"""Practice problems of the overheads lesson: who waits for the host, what graphs and fusing gain, when halves win,
what binds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import isclose
from typing import Any

from sympy import Function as Symbolic
from sympy import Max, Min, solve

from blackboard.catalogue import chip, measurement, model, system
from blackboard.formula import Formula
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied, simulation
from blackboard.lessons.overheads.kernels import Plan, Tape, eager, fuse, fused
from blackboard.lessons.racks import equations as racks
from blackboard.notation import symbols
from blackboard.problem import Choice, Estimate, Guess, Ordering, Quantity, Step, Values, right, v, wrong
from blackboard.units import factor, pretty, significant

LAUNCH = "Tell whether a step waits for its host, from kernels, launch time and bytes."
GRAPH = "Predict what a graph gains, and where it gains nothing."
BOUND = CHAIN = "Bound what a fused kernel can gain before you write it."
HALVES = "Find the batch from which two overlapping halves beat one."
TERMS = "Put all terms on one roofline, and see which one to attack."

US, FP4, FP8, BF16 = factor("us"), 0.5, 1.0, 2.0
t_step, t_compute, t_weights, t_kv, t_comm = symbols("t_step t_compute t_weights t_kv t_comm")
HOSTS = {"b200": "MPK", "h100-sxm": "Hazy Research"}  # who measured launches on a chip
LOST = implied.left_over()[0]  # what gpt-fast's captured steps load and lose
MEASURED = 0  # launch times: the one that was measured, or that of another host, in µs
LAUNCH_US = (MEASURED, 3, 4.5, 5, 6)
GAPS_US = (3, 4.5, 5, 6, 2.5)  # µs that a chip loses at each kernel
NAMES = {"net_name": "", "gpu": "", "machine_name": "", "chip_bandwidth": "byte/s"}


def short(gpu: str) -> str:
    """A chip as one says it: B200."""
    return gpu.split("-")[0].upper()


def hosted(values: Values) -> Values:
    """Launch and gap as measured on a drawn chip, or another launch time, and its memory's rate."""
    gpu, launch = values["on"], values.get("launch_us", MEASURED)
    found, who = chip(gpu), HOSTS[gpu]
    times = {"launch_time": launch * US or implied.period(who, False), "kernel_gap": implied.period(who, True)}
    return times | {
        "gpu": short(gpu),
        "a_gpu": f"{'an' if gpu[0] == 'h' else 'a'} {short(gpu)}",
        "chip_bandwidth": found.bandwidth,
    }


def met(wins: Callable[[float], bool], low: float, high: float) -> float:
    """Where something begins to hold as a number grows, by halving the interval."""
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high


# --- a guess ----------------------------------------------------------------------------------------------------------


def opening(values: Values) -> Values:
    """The measured step of the lesson's question, or one of a model so many times as large from a host so many times
    as slow; and what its memory and its kernels would need.
    """
    size, slow = values["size"], values["slow"]
    found = FOUND._replace(eager=FOUND.eager * size * slow, floor=FOUND.floor * size, kernels=round(FOUND.kernels * size))
    measured = size == slow == 1
    told = {
        "who": "In November 2023 PyTorch took" if measured else "An engine takes",
        "what": "Llama 2 7B" if measured else "a dense model",
        "whose": "Its A100" if measured else "Its GPU",
        "eager_ms": pretty(found.eager, "s", 3),
        "floor_ms": pretty(found.floor, "s", 2),
        "about": significant(found.kernels, 2),
        "missing": pretty(found.eager - found.floor, "s", 3),
        "loading_ms": pretty(LOST.shared * size, "s", 2),
        "gaps_ms": pretty(found.kernels * LOST.each, "s", 1),
    }
    times = {
        "step": found.eager,
        "kernels": found.kernels,
        "loading": LOST.shared * size,
        "gaps": found.kernels * LOST.each,
        "graph": FOUND.graph * size,
        "alone": implied.fixed_cost().time(1) * size,
    }
    least, most = found.eager - times["loading"] - times["gaps"], found.eager - times["alone"]
    ends = {"least": pretty(least, "s", 2), "most": pretty(most, "s", 2), "alone_ms": pretty(times["alone"], "s", 2)}
    return told | times | ends


def waited(values: Values) -> float:
    """Seconds in which the device idles while even kernels are launched one by one, halfway between those with gaps
    and those of a step that loses a fixed time; both queues are run.
    """
    count = values["kernels"]
    works = [values["loading"] / count + LOST.each, values["alone"] / count]
    runs = [simulation.launched([each] * count, values["step"] / count) for each in works]
    return sum(run.time * (1 - run.busy("device")) for run in runs) / 2


FOUND = implied.gpt_fast()

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=LAUNCH,
    unit="s",
    display_unit="ms",
    within=1.2,
    statement="{who} {eager_ms} for a token of {what} at batch 1. {whose} could load all weights in {floor_ms}. But Python launched about {about} kernels for the token, one by one. For how much of the missing {missing} did the chip wait for its host?",
    parameters={"size": (1, 0.5, 0.75, 1.5, 2, 3), "slow": (1, 0.9, 1.1, 1.2, 1.3, 1.4)},
    derived=opening,
    answer=v.step - (v.loading + v.gaps + v.alone) / 2,
    independent_check=waited,
    misconceptions={
        v.graph: "That is about how long the chip would work with fewer kernels. What does it do for the rest?",
        v.kernels * implied.period("Hazy Research", False): "That is what bare launches would take. From Python each kernel goes through the interpreter and PyTorch's dispatcher first.",
    },
    above="That leaves the chip too little time of its own. It had to load all weights, and at each kernel it needed a few microseconds more.",
    explanation="Nobody knows exactly: about {least} to {most}, more than half of the token. The rest is what the chip itself needed: the loading, at the rate that memory really reaches, and some time that it loses at each kernel, or once per step.",
    hints=(
        "Loading the weights takes {floor_ms}, and compute hides behind it. What is left of {eager_ms}?",
        "Memory does not reach its full rate, and at each kernel the chip needs a few microseconds more.",
    ),
    solution=(
        "One by one a token took {eager_ms}.",
        "Loading takes {loading_ms}, as compiled steps show. If each kernel loses as much as in compiled steps, gaps take {gaps_ms}, which leaves {least} of waiting.",
        "If a step loses a fixed time instead, the chip needs only {alone_ms}, which leaves {most}.",
        "Halfway between:",
    ),
)

# --- waiting for the host ---------------------------------------------------------------------------------------------


def mixed(values: Values) -> Values:
    """A step of long and short kernels: what four ways of reckoning give, in the text's form."""
    long, short, launch = (values[name] * US for name in ("long_us", "short_us", "launch_us"))
    many, few = values["short_count"], values["long_count"]
    device, host = few * long + many * short, (few + many) * launch
    each = few * max(long, launch) + many * max(short, launch)
    found = {"each": each, "larger": device, "both": device + host, "host": host}
    return {
        "times": [long] * few + [short] * many,
        "launch": launch,
        **{name: pretty(x, "s", 3) for name, x in found.items()},
    }


def run(values: Values) -> str:
    """The option that a run of the queue over many steps comes to."""
    told = pretty(simulation.per_step(values["times"], values["launch"], steps=50), "s", 3)
    return next(key for key, name in {"a": "each", "b": "larger", "c": "both", "d": "host"}.items() if values[name] == told)


ahead = Choice(
    "Long kernels and short ones",
    level="medium",
    objective=LAUNCH,
    statement="A decode step is {long_count} kernels of {long_us} µs, and {short_count} of {short_us} µs spread between them. The host takes {launch_us} µs to launch one. It never waits for a result: after the last kernel of a step it launches the first of the next. How long does a step take in the long run? Leave gaps out.",
    parameters={
        "long_count": (4, 8, 10),
        "short_count": (96, 80, 60),
        "long_us": (150, 200),
        "short_us": (2, 1, 3),
        "launch_us": (5, 4, 6),
    },
    derived=mixed,
    independent_check=run,
    options=[
        wrong("{each}: each kernel takes as long as itself or its launch, whichever is longer", "A short kernel after a long one was launched while the long one ran, so it does not wait. Your rule would hold if each launch waited for the kernel before it."),
        right("{larger}: as long as all kernels, since all launches take less", "While a long kernel runs, launches queue up for the short ones after it. Only the two sums count."),
        wrong("{both}: all kernels and all launches", "The host launches while the chip works. The two times do not add."),
        wrong("{host}: as long as all launches", "All launches together take less time than all kernels. The chip is the slower of the two."),
    ],
    hints=(
        "How many launches fit into one long kernel?",
        "Over many steps, who is busy all the time: the host or the chip?",
    ),
    solution=lambda v: [Step(f"Kernels take {v['larger']} and launches {v['host']}; the host keeps ahead, so the chip is always busy.")],
)


def hidden(values: Values) -> float:
    """Bytes from which on a queue of even kernels runs as if launches were free; the queue is run."""
    few, wide = 8, values["kernels"] * values["bandwidth"]

    def hides(read: float) -> bool:
        each = read / wide + values["kernel_gap"]
        return simulation.per_step([each] * few, values["launch_time"], steps=1) <= few * each * (1 + 1e-9)

    return met(hides, 0.0, 1e12)


def compiled(values: Values) -> Values:
    """A drawn model compiled for a drawn chip: kernels, published for Qwen3 8B and counted for others, and what a
    launch takes.
    """
    net = model(values["net"])
    published = measurement("kernels_per_step").records(how="a kernel an operator")
    count = int(published[0]["kernels"]) if values["net"] == "qwen3-8b" else len(fused(values["net"]))
    machine = hosted(values)
    return machine | {"net_name": net.name, "kernels": count, "bandwidth": machine["chip_bandwidth"]}


def sharded(values: Values) -> Values:
    """A drawn model over GPUs of a kind: bytes, kernels with the sums over the GPUs, and launches."""
    net, machine = model(values["net"]), hosted(values)
    count = len(fused(values["net"], Plan(chips=8)))
    return machine | {
        "net_name": net.name,
        "n_total": net.n_total,
        "kernels": count,
        "weights": net.n_total * values["bytes_per_param"],
    }


WEIGHTS, CACHE = eq.n_total * eq.bytes_per_param, eq.context * eq.kv
LAUNCHES, GAPS = eq.kernels * eq.launch_time, eq.kernels * eq.kernel_gap


def helped(time: Callable[[Values], float], graph: Callable[[Values], float]) -> str:
    """The keys of four changes to the opening's step by the time that they leave, the shortest first."""
    one, eight = implied.llama(), implied.llama(8)
    found = {
        "a": time(one | {"bytes_per_param": FP4}),
        "b": time(eight),
        "c": time(one | {"kernels": one["kernels"] / 2}),
        "d": graph(one),
    }
    return "".join(sorted(found, key=found.__getitem__))


def queued(values: Values) -> float:
    """Seconds of a step at batch 1, kernel by kernel."""
    count = int(values["kernels"])
    each = (values["n_total"] * values["bytes_per_param"] + values["context"] * values["kv_bytes_per_token"]) / values["bandwidth"] / count
    return simulation.per_step([each + values["kernel_gap"]] * count, values["launch_time"], steps=2)


def even(values: Values) -> list[float]:
    """The times of a step's kernels at batch 1, all as long."""
    return [step.memory_time(values, batch=1) / values["kernels"]] * values["kernels"]


class Queued(Symbolic):
    """The end of a step's last kernel in a queue that starts empty, run kernel by kernel, once its arguments are
    numbers.
    """

    @classmethod
    def eval(cls, count, launch, whole):
        if all(each.is_number for each in (count, launch, whole)):
            return simulation.launched([float(whole) / int(count)] * int(count), float(launch)).time


def pythonic(values: Values) -> Values:
    """A drawn model on a drawn server, run as the opening's code runs: counted kernels, each at the opening's time."""
    net, machine, first = model(values["net"]), system(values["machine"]), implied.gpt_fast()
    count = len(eager(values["net"], Plan(context=100, copies=True, chips=machine.chips)))
    host = {
        "kernels": count,
        "launch_time": first.each,
        "kernel_gap": implied.period("MPK", True),
        "context": 100.0,
        "batch": 1.0,
    }
    told = {
        "net_name": net.name,
        "machine_name": machine.name,
        "depth": net.layers,
        "first": first.kernels,
        "each": pretty(first.each, "s", 2),
        "weights": 2 * net.n_total,
        "first_depth": model("llama-2-7b").layers,
    }
    return net.symbols("bf16") | machine.symbols("bf16") | host | told


def crawled(values: Values) -> float:
    """Seconds of a token in a queue of even kernels that read the weights, run kernel by kernel."""
    each = values["weights"] / values["bandwidth"] / values["kernels"] + values["kernel_gap"]
    return simulation.per_step([each] * values["kernels"], values["launch_time"], steps=1)


# --- graphs -----------------------------------------------------------------------------------------------------------


def on_both(slower: float = 11.0) -> str:
    """Whether a graph gains more on a chip, or on another whose kernels take so many times as long; the queue is
    run.
    """
    gains = []
    for each in (20 * US, slower * 20 * US):
        gains.append(simulation.per_step([each] * 50, 25 * US) / simulation.replayed([each] * 50, gap=US).time)
    return "a" if gains[0] > gains[1] else "b"


GRAPHS = {row["chip"]: row["speedup"] for row in measurement("batch1_cuda_graphs").records()}
faster_chip = Choice(
    "Two chips, one host",
    level="easy",
    objective=GRAPH,
    statement="The same 7B model decodes at batch 1 on an H100 and on an L4, whose memory is about eleven times slower. Host, code and kernels are the same. On which of them does a CUDA graph gain more?",
    independent_check=lambda v: on_both(),
    options=[
        right("on the H100", f"A study of 2026 has {GRAPHS['H100']:.2f} times on the H100 and {GRAPHS['L4']:.2f} on the L4. Where a kernel takes longer than its launch there is little to remove."),
        wrong("on the L4", "Its kernels take eleven times as long. What does its host do meanwhile?"),
        wrong("the same on both: as many launches are saved", "The same number is removed. But on one of the two they were hidden behind longer kernels."),
        wrong("nothing on either: at batch 1 only memory counts", "At batch 1 a step loads the fewest bytes, so its kernels are shortest. That is where launches cost most."),
    ],
    hints=("On which chip is a kernel more likely to be shorter than its launch?",),
    solution=("Launches cost time where kernels are shorter than they are. A fast memory makes kernels short.",),
)


hide = Quantity(
    "Enough to read",
    level="easy",
    objective=LAUNCH,
    unit="byte",
    display_unit="GB",
    statement="A decode step of {net_name} is {kernels} kernels. On {a_gpu} the host takes {launch_time} to launch one, and the chip needs {kernel_gap} from the end of a kernel to the start of the next. Memory delivers {bandwidth}. How many GB must a step load, at least, so that it does not wait for its host? All kernels are equally long.",
    parameters={
        "net": ("qwen3-8b", "llama-3.1-8b", "qwen3-32b", "qwen3-4b", "qwen3-1.7b", "qwen3-14b", "llama-2-7b"),
        "on": tuple(HOSTS),
        "launch_us": LAUNCH_US,
    },
    derived=compiled,
    units=NAMES,
    answer=eq.bytes_launch,
    independent_check=hidden,
    misconceptions={
        eq.bytes_launch.at(kernel_gap=0.0): "In the gaps the chip neither loads nor waits for the host. They shorten the time that memory traffic must fill.",
        v.kernels * v.kernel_gap * v.bandwidth: "That is what memory could deliver during the gaps. How long do the launches take beyond them?",
        eq.bytes_launch.at(kernels=1): "That hides one launch. Each kernel has one.",
        v.kernels * (v.launch_time + v.kernel_gap) * v.bandwidth: "The gaps pass on the chip, not on the host. They help to hide the launches.",
    },
    explanation="Weights and caches together. A model with fewer bytes waits at batch 1, and a smaller number format would gain it nothing.",
    hints=(
        "How long do all launches take, and how much of that do the gaps fill?",
        "Kernels × (launch − gap) is the time to fill with memory traffic.",
    ),
    solution=(
        Step("Launches beyond the gaps take", v.kernels * (v.launch_time - v.kernel_gap), "s"),
        f"Memory delivers meanwhile ${eq.bytes_launch.latex}$ =",
    ),
)


spread = Quantity(
    "One GPU too many",
    level="medium",
    objective=LAUNCH,
    unit="chip",
    display_unit="GPUs",
    statement="{net_name} has {n_total}, in {bytes_per_param}. Its weights are spread evenly over several GPUs: {gpu}, each with {chip_bandwidth} from memory. Every GPU runs {kernels} kernels a step; its own host launches each in {launch_time}, and {kernel_gap} pass from the end of one to the start of the next. At batch 1 only the weights count. On how many GPUs would loading the weights, with the gaps, take exactly as long as launching? Do not round to whole GPUs. Communication takes no time.",
    parameters={
        "net": ("llama-3.1-70b", "qwen2.5-72b", "mistral-large-2"),
        "on": tuple(HOSTS),
        "bytes_per_param": (BF16, FP8),
        "launch_us": (6, 5, 7, 8, 5.5, 6.5, 7.5),  # the answer is a number of GPUs that one might rent
    },
    derived=sharded,
    units=NAMES,
    answer=v.weights / eq.bytes_launch.at(bandwidth=v.chip_bandwidth),
    independent_check=lambda v: met(
        lambda n: v["kernels"] * v["launch_time"] > v["weights"] / n / v["chip_bandwidth"] + v["kernels"] * v["kernel_gap"],
        0.01,
        1e4,
    ),
    misconceptions={
        v.weights / eq.bytes_launch.at(bandwidth=v.chip_bandwidth, kernel_gap=0.0): "The gaps take time on the GPU as well: add them to its memory time.",
        v.weights / eq.bytes_launch.at(bandwidth=v.chip_bandwidth, launch_time=v.launch_time + v.kernel_gap, kernel_gap=0.0): "The gaps pass on the GPU, not on the host. They help to hide the launches.",
        eq.bytes_launch.at(bandwidth=v.chip_bandwidth) / v.weights: "Upside down: the more bytes there are to share, the more GPUs still hide their launches.",
    },
    explanation="Beyond this number, more GPUs do not help: each launches as many kernels as one did. A graph is what helps then.",
    hints=(
        "Each GPU loads its share. How many bytes must the share have to hide the launches?",
        "Divide all the weights by that share.",
    ),
    solution=(
        Step(f"One GPU hides its launches with ${eq.bytes_launch.latex}$ =", eq.bytes_launch.at(bandwidth=v.chip_bandwidth), "byte"),
        Step("All weights take", v.weights, "byte"),
        Step("So GPUs:", v.weights / eq.bytes_launch.at(bandwidth=v.chip_bandwidth), "1"),
    ),
)
hide_letters = Expression(
    "The batch that hides launches",
    level="medium",
    objective=LAUNCH,
    statement="A decode step loads N_tot weights of b_w bytes, and for each of B sequences L tokens of cache at kappa bytes, at the bandwidth W. It has n_kernel kernels: the host launches each in t_launch, and the chip loses t_gap between two. The step waits for memory or for its host, not for compute. Write the batch B at which launching takes as long as the rest.",
    formula=eq.batch_launch,
    independent_check=lambda v: solve(step.memory_time.expr + GAPS - LAUNCHES, eq.batch)[0],
    misconceptions={
        (LAUNCHES - GAPS) * eq.bandwidth / CACHE: "The weights are loaded as well, in every step. They hide a part of the launches.",
        (LAUNCHES * eq.bandwidth - WEIGHTS) / CACHE: "The gaps are missing. The chip loses them in every step, on top of its memory time.",
        ((LAUNCHES + GAPS) * eq.bandwidth - WEIGHTS) / CACHE: "The gaps add to the chip's time, so less memory traffic hides the launches. Check the sign.",
        ((LAUNCHES - GAPS) * eq.bandwidth + WEIGHTS) / CACHE: "Loading the weights leaves less for the caches to fill. Check the sign.",
        ((LAUNCHES - GAPS) * eq.bandwidth - WEIGHTS) / eq.kv: "That counts tokens of cache. A sequence has $L$ of them.",
        ((LAUNCHES - GAPS) * eq.bandwidth - eq.n_total) / CACHE: "A weight takes b_w bytes.",
    },
    explanation="Below it a larger batch costs nothing: the step takes as long with one sequence. Longer contexts and larger weights lower it.",
    hints=(
        "Two times are equal: n_kernel t_launch on the host, and memory traffic plus all gaps on the chip.",
        "Multiply by $W$, subtract the weights, divide by one sequence's cache.",
    ),
    solution=(
        "From memory time + gaps = launches, solved for the batch:",
        Step(f"${eq.batch_launch.latex}$, typed as", "(n_kernel * (t_launch - t_gap) * W - N_tot * b_w) / (L * kappa)"),
    ),
)


helps: Ordering = Ordering(
    "What helps a step that waits",
    level="medium",
    objective=LAUNCH,
    statement="A token of Llama 2 7B at batch 1 on an A100: its host launches {kernels} kernels and takes {each} for each. Loading the weights takes {reading}, and a gap between two kernels {kernel_gap}. Four changes are proposed, one at a time. Order them by the time of a token after the change, the shortest first.",
    derived=lambda v: {name: implied.llama()[name] for name in ("kernels", "kernel_gap")} | {"each": pretty(implied.gpt_fast().each, "s", 2), "reading": pretty(implied.gpt_fast().floor, "s", 2)},
    items=[
        "weights of 4 bits instead of 16, with as many kernels",
        f"eight GPUs, each with its own host and {2 * model('llama-2-7b').layers} kernels more, to add up over the GPUs",
        "kernels fused to half as many, each launched as before",
        "all kernels captured in a graph, none of them fused",
    ],
    answer=lambda v: helped(lambda case: eq.eager_time(case, batch=1), lambda case: eq.graph_time(case, batch=1)),
    independent_check=lambda v: helped(queued, lambda case: simulation.replayed(even(case), case["replay_time"], case["kernel_gap"]).time),
    misconceptions={
        "badc": "Faster loading does not show: the chip waits for its host already. Count the launches that each change leaves.",
        "bdac": "Faster loading does not show: the chip waits for its host already. Count the launches that each change leaves.",
        "dcba": "Eight GPUs launch in parallel, but each has as many kernels as one had, and some more.",
        "bacd": "That is from the longest to the shortest.",
    },
    explanation="Loading faster gains nothing, and the eight GPUs even lose a little. Such a step needs fewer launches, or cheaper ones.",
    hints=(
        "Which of the four changes the number of launches, or their time?",
        "For each: launches × time. For the graph: memory time and gaps.",
    ),
    solution=("Fewer bytes leave all launches as they are; more GPUs add some; half the kernels take half the time; from a graph only memory time and gaps remain.",),
)


queue = Function(
    "Write the queue",
    level="hard",
    objective=LAUNCH,
    statement="A step is `kernels` kernels in a row. They are equally long, and take `t_step` seconds together. The host launches them one after the other, each in `launch_time`; the chip starts a kernel when it is launched and the one before it is done. Host and chip start idle, as they do where the host waits for each token. Write a Python function of kernels, launch_time and t_step that returns when the last kernel is done. It is called by name; kernels is whole. Leave gaps out.",
    formula=Formula(
        "overheads.cold_step",
        "t_eager",
        Max(eq.launch_time + t_step, LAUNCHES + t_step / eq.kernels),
        "s",
        "a queue that starts empty: the first launch or the last kernel stands alone",
        register=False,
    ),
    test_points=(
        {"kernels": 1, "launch_time": 3.0, "t_step": 8.0},
        {"kernels": 4, "launch_time": 5.0, "t_step": 8.0},
        {"kernels": 10, "launch_time": 0.5, "t_step": 12.0},
        {"kernels": 300, "launch_time": 0.02, "t_step": 7.0},
    ),
    independent_check=Queued(eq.kernels, eq.launch_time, t_step),
    misconceptions={
        Max(t_step, LAUNCHES): "That is a step among many, whose launches began during the one before. Here the queue starts empty.",
        LAUNCHES + t_step: "The chip does not wait until all are launched. It starts with the first.",
        eq.launch_time + Max(t_step, LAUNCHES): "Where the host is slower, all launches and then the last kernel: not a launch more.",
        eq.launch_time + t_step: "That is right if the host is the faster one. What if it is slower?",
        LAUNCHES + t_step / eq.kernels: "That is a slow host. A fast one keeps ahead, and the chip works without a pause.",
        eq.kernels * (eq.launch_time + t_step / eq.kernels) - eq.launch_time: "While a kernel runs the host launches the next. In yours they take turns.",
    },
    explanation="Compared with the lesson's maximum, one launch or one kernel is left over. Among hundreds of even kernels that is nothing.",
    hints=(
        "Keep two clocks: when the host is free, and when the chip is.",
        "For each kernel: host += launch_time; chip = max(host, chip) + t_step / kernels.",
    ),
    solution=(
        "`host = chip = 0.0`, and for each kernel `host += launch_time; chip = max(host, chip) + t_step / kernels`; then `return chip`.",
        Step("For even kernels that comes to", "max(launch_time + t_step, kernels * launch_time + t_step / kernels)"),
    ),
)


plain = Estimate(
    "Plain PyTorch on a server",
    level="medium",
    objective=LAUNCH,
    unit="s",
    display_unit="ms",
    within=1.25,
    statement="In November 2023 a token of Llama 2 7B, with {first_depth} layers, was {first} kernels on one A100, counted in its code; the time of a token makes that {each} of the host for each. The same code runs {net_name} at batch 1 on {machine_name}: {depth} layers, {weights} of weights in BF16 and {bandwidth} from memory. Every GPU has a Python process of its own. Estimate the time of a token, within a factor of 1.25.",
    parameters={
        "net": ("llama-3.1-70b", "qwen3-32b", "qwen2.5-72b", "llama-2-70b"),
        "machine": ("h100-8", "h200-8", "b200-8", "h800-8", "b100-8", "b300-8", "mi300x-8", "mi355x-8"),
    },
    derived=pythonic,
    condition=lambda v: step.latency_floor(v) < 0.0075,  # well over a hundred times a second
    units=NAMES | {"weights": "byte", "depth": "1", "first": "1"},
    answer=eq.eager_time,
    independent_check=crawled,
    misconceptions={
        v.first * v.launch_time: "That is for {first} kernels of a model with {first_depth} layers. This one has {depth}.",
        step.latency_floor: "That is how long the server loads weights. Do the launches of that many layers fit in?",
        eq.eager_time / v.chips: "You divided the launches among the GPUs. Each of them runs every layer, on part of its columns, and launches every kernel.",
    },
    explanation="Ten or twelve tokens a second, where memory could deliver the weights well over a hundred times. What counts is the layers, not the GPUs.",
    hints=(
        "The number of kernels is proportional to the layers.",
        "Kernels × time of a launch. Compare with the memory time: the longer one is the answer.",
    ),
    solution=(
        Step("Kernels, some more for adding up over the GPUs:", v.kernels, "1"),
        Step("Loading the weights takes", step.latency_floor, "s"),
        "Launching takes longer:",
    ),
)

CASES = {
    "rack": (implied.rack, "DeepSeek-V3, compiled, on a GB200 NVL72"),
    "one": (implied.llama, "Llama 2 7B from Python on one A100"),
    "eight": (lambda: implied.llama(8), "Llama 2 7B from Python on eight A100"),
}


TOUCHING = 128  # sequences on the rack for each one elsewhere: enough to touch nearly every expert


def captured(values: Values) -> Values:
    """A case of the lesson at a drawn batch, with the time of its step where launching costs nothing."""
    found, name = CASES[values["case"]]
    known = found() | {"batch": values["batch"]}
    if values["case"] == "rack":
        known["batch"] *= TOUCHING
    return known | {"case_name": name, "no_host": step.step_time(known)}


TIMES = {"no_host": "s", "case_name": "", "batch": ""}
graph_gain = Quantity(
    "What the graph gains",
    level="medium",
    objective=GRAPH,
    unit="1",
    statement="{case_name}, batch {batch}. A step's memory traffic and compute, overlapped, take {no_host}. It has {kernels} equally long kernels. The host launches each in {launch_time}, and the chip needs {kernel_gap} from one to the next, in a graph or not. Captured, the whole step is started in {replay_time}. How many times faster is the captured step?",
    parameters={"case": tuple(CASES), "batch": (1, 64, 100, 16, 2, 3, 4, 6, 8, 10, 12, 20, 24, 28, 32, 36, 40, 48, 56, 72, 80)},
    derived=captured,
    units=TIMES,
    answer=eq.graph_gain,
    independent_check=lambda v: simulation.per_step([v["no_host"] / v["kernels"] + v["kernel_gap"]] * v["kernels"], v["launch_time"], steps=1) / simulation.replayed([v["no_host"] / v["kernels"]] * v["kernels"], v["replay_time"], v["kernel_gap"]).time,
    misconceptions={
        v.kernels * v.launch_time / v.no_host: "The gaps between kernels are still there in a graph.",
        (v.kernels * v.launch_time + v.no_host) / eq.graph_time: "The host launches while the chip works: before capturing, the longer one counts, not the sum.",
        1 / eq.graph_gain: "Upside down: the captured step is the shorter one.",
    },
    explanation="The graph removes the host from the step, not the gaps. What it leaves is a sum, and no maximum.",
    hints=(
        "Before: launches, or memory time plus gaps, whichever takes longer.",
        "After: memory time, gaps and one start, added up.",
    ),
    solution=(
        Step(f"One by one, ${eq.eager_time.latex}$ =", eq.eager_time, "s"),
        Step(f"Captured, ${eq.graph_time.latex}$ =", eq.graph_time, "s"),
        "The gain is",
    ),
)


class Gained(Symbolic):
    """Time of a queue of even kernels over that of the same kernels replayed, run kernel by kernel, once its arguments
    are numbers.
    """

    @classmethod
    def eval(cls, *given):
        if all(each.is_number for each in given):
            count, (whole, launch, gap, replay) = int(given[0]), map(float, given[1:])
            each = [whole / count] * count
            return simulation.per_step([time + gap for time in each], launch) / simulation.replayed(each, replay, gap).time


ALONE = eq.graph_gain.expr.xreplace({step.step_time.expr: t_step})
EAGER, CAPTURED = Max(t_step + GAPS, LAUNCHES), t_step + GAPS + eq.replay_time
write_gain = Function(
    "Write the gain of a graph",
    level="medium",
    objective=GRAPH,
    statement="The memory traffic and compute of a step take `t_step` seconds, spread evenly over `kernels` kernels. The host takes `launch_time` to launch one, and the chip `kernel_gap` from the end of one to the start of the next, in a graph or not. A captured step is started once, in `replay_time`. Write a Python function of the five that returns how many times faster the captured step is, in the long run. It is called by name, with numbers.",
    formula=Formula(
        "overheads.gain_alone",
        "graph_gain",
        ALONE,
        "1",
        "the gain of a graph, the step's own time given",
        register=False,
    ),
    test_points=(
        {"kernels": 100, "t_step": 4.0, "launch_time": 0.1, "kernel_gap": 0.02, "replay_time": 0.5},
        {"kernels": 300, "t_step": 9.0, "launch_time": 0.01, "kernel_gap": 0.004, "replay_time": 0.2},
        {"kernels": 20, "t_step": 3.0, "launch_time": 0.2, "kernel_gap": 0.08, "replay_time": 0.3},
        {"kernels": 50, "t_step": 2.0, "launch_time": 0.05, "kernel_gap": 0.03, "replay_time": 0.1},
    ),
    independent_check=Gained(eq.kernels, t_step, eq.launch_time, eq.kernel_gap, eq.replay_time),
    misconceptions={
        CAPTURED / EAGER: "Upside down: divide the uncaptured time by the captured one.",
        LAUNCHES / CAPTURED: "Where the chip takes longer than the host, the chip decides.",
        (t_step + LAUNCHES) / CAPTURED: "Host and chip work at once: take the longer time, not the sum.",
        (t_step + GAPS + LAUNCHES) / CAPTURED: "Host and chip work at once: take the longer time, not the sum.",
        Max(t_step, LAUNCHES) / CAPTURED: "The gaps are there without a graph too. They belong to the chip's time.",
        EAGER / (t_step + eq.replay_time): "A graph leaves the gaps between kernels.",
        EAGER / (t_step + GAPS): "Starting the graph takes time as well, once a step.",
        EAGER / (t_step + eq.kernels * (eq.kernel_gap + eq.replay_time)): "A graph is started once, not once a kernel.",
        Max(t_step + GAPS, LAUNCHES + GAPS) / CAPTURED: "The gaps are the chip's. The host goes from launch to launch without them.",
        EAGER / (CAPTURED - eq.kernel_gap): "In the long run every kernel has a gap before it, the first of a step as well.",
    },
    explanation="Call it with a growing t_step: the gain falls to one, and a little below it, because starting the graph takes time as well.",
    hints=(
        "Divide one time by another. Which of them has a maximum in it?",
        "max(chip with gaps, launches) ÷ (chip with gaps and one start).",
    ),
    solution=(
        "Before, the slower of chip and host; after, the chip and one start:",
        Step("as code:", "max(t_step + kernels * kernel_gap, kernels * launch_time) / (t_step + kernels * kernel_gap + replay_time)"),
    ),
)


def timed(values: Values) -> Values:
    """gpt-fast's published rates for a model on fewer and on more GPUs, or made-up ones, and both times."""
    name, few, many, *made_up = values["rows"]
    published = {row["gpus"]: row["throughput_token_per_s"] for row in measurement("gpt_fast_readme").records(model=name, weights="float16")}
    rates = dict(zip((few, many), made_up)) or published
    found = {
        "few": few,
        "many": many,
        "slow_rate": rates[few],
        "fast_rate": rates[many],
        "slow": 1 / rates[few],
        "fast": 1 / rates[many],
    }
    told = ("A team", "Gaps, all-reduces and the start of the graph are in it, and they take as long on more GPUs.") if made_up else ("The authors of gpt-fast", "Divided by the kernels of the step it is 5 to 6 µs for each, all-reduces included.")
    found |= dict(zip(("who", "told"), told))
    return found | {"net_name": name.replace("-", " "), "few_gpus": f"{few} A100" if few > 1 else "one A100"}


def lasting(values: Values) -> float:
    """Seconds that no GPU takes off, from two times."""
    return (values["many"] * values["fast"] - values["few"] * values["slow"]) / (values["many"] - values["few"])


RATES = tuple(  # of a part that GPUs share, and one that they do not, both in ms
    ("a model", few, many, *(float(f"{1000 / (shared / gpus + rest):.4g}") for gpus in (few, many)))
    for few, many in ((1, 4), (1, 8), (2, 4), (2, 8), (4, 8))
    for shared, rest in ((10, 2), (12, 2), (16, 2.5), (20, 2.5), (24, 3), (30, 3.5), (40, 4), (64, 5))
    if shared < 36 * few  # as long as so many A100 take to load their memory
)

left_over = Quantity(
    "What no GPU takes off",
    level="hard",
    objective=GRAPH,
    unit="s",
    display_unit="ms",
    statement="{who} ran {net_name} in 16 bits at batch 1, captured as a graph: {slow_rate} tokens a second on {few_gpus}, {fast_rate} on {many}. Suppose that a token's time has a part that the GPUs share evenly, and a part that stays the same however many they are. How long is the second part?",
    parameters={
        "rows": (
            ("Llama-2-70B", 2, 8),
            ("Llama-2-7B", 1, 8),
            ("Llama-2-70B", 4, 8),
            ("Llama-2-7B", 2, 8),
            ("Llama-2-7B", 1, 4),
            *RATES,
        )
    },
    derived=timed,
    units=NAMES | {"slow_rate": "", "fast_rate": "", "who": "", "told": ""},
    answer=lasting,
    independent_check=lambda v: met(lambda x: v["few"] * (v["slow"] - x) > v["many"] * (v["fast"] - x), 0.0, v["fast"]),
    misconceptions={
        v.fast - v.slow * v.few / v.many: "You let the GPUs share all of the slower time. A part of it was not shared there either.",
        v.slow - v.fast: "That is what the further GPUs took off.",
        lambda v: v["many"] * (v["fast"] - lasting(v)): "That is the shared part, as one GPU would do it.",
        lambda v: lasting(v) / 1000: "That is in seconds. The answer is asked in milliseconds.",
    },
    explanation="{told} Memory traffic does not hide it: it adds.",
    hints=(
        "Two equations: time = shared / GPUs + rest, once for each row.",
        "Multiply each row's time by its GPUs, and subtract one from the other.",
    ),
    solution=lambda v: [
        Step("The two times are", v["slow"], "s"),
        Step("and", v["fast"], "s"),
        Step("GPUs × time grows from one row to the other by", v["many"] * v["fast"] - v["few"] * v["slow"], "s"),
        Step(f"which is the rest, times {v['many'] - v['few']}. So the rest is", lasting(v), "s"),
    ],
)

padding = Quantity(
    "Rows for nobody",
    level="easy",
    objective=GRAPH,
    unit="1",
    display_unit="%",
    statement="An engine has captured its decode step for 1, 2 and 4 sequences, for every multiple of 8 up to 128, and then for 256, 512, 1,024 and 2,048. A batch of {batch} comes. Which share of the rows that are computed is padding, in percent?",
    parameters={"batch": (150, 400, 560, 700, 1300, *range(140, 230, 10), *range(280, 460, 10), *range(600, 900, 20), *range(1100, 1800, 50))},
    units={"batch": ""},
    answer=lambda v: 1 - v["batch"] / simulation.padded(v["batch"], simulation.doubling()),
    independent_check=lambda v: sum(row >= v["batch"] for row in range(rows(v["batch"]))) / rows(v["batch"]),
    misconceptions={
        lambda v: rows(v["batch"]) / v["batch"] - 1: "That is padding ÷ sequences. Divide by all rows that are computed.",
        lambda v: 1 - rows(v["batch"]) / 2 / v["batch"]: "You took the size below. A batch has to fit in.",
        lambda v: v["batch"] / rows(v["batch"]): "That is the share of real sequences. The rest is padding.",
        lambda v: (1 - v["batch"] / rows(v["batch"])) / 100: "That is the right fraction. Type it in percent.",
    },
    explanation="With sizes a factor of two apart it is up to a half. While the step waits for memory, padding costs next to nothing. Where compute is the bottleneck, it costs its share.",
    hints=("Which captured size is the smallest that holds the batch?",),
    solution=(
        Step("The size captured is", lambda v: simulation.padded(v["batch"], simulation.doubling()), "1"),
        "The share of its rows that is padding, in percent:",
    ),
)


def rows(batch: int) -> int:
    """The smallest power of two that holds a batch of more than 128."""
    return 1 << (batch - 1).bit_length()


# --- chains -----------------------------------------------------------------------------------------------------------


def small(values: Values) -> Values:
    """A drawn chain's vector on a chip: its bytes, and what a kernel loses there."""
    net, machine = model(values["net"]), hosted(values)
    vector = BF16 * values["late"] * net.d_model
    lost = {"kernel_gap": values["gap_us"] * US} if "gap_us" in values else {}
    return machine | lost | {"net_name": net.name, "width_told": f"{net.d_model:,}", "vector": vector}


def saved(values: Values, ops: int = 6) -> str:
    """What held the chain up: launches, if it takes as long where nothing is moved; bytes, if as long where launches
    are free.
    """
    each, launch = 2 * values["vector"] / values["chip_bandwidth"], values["launch_time"]
    whole, still, free = (simulation.per_step([time] * ops, start) for time, start in ((each, launch), (0.0, launch), (each, 0.0)))
    return "b" if isclose(whole, still) else "a" if isclose(whole, free) else "d"


saves = Choice(
    "Six small kernels",
    level="medium",
    objective=CHAIN,
    statement="A decode step at batch {late} runs a chain of six operations on the vectors of {net_name}, {width_told} values of two bytes for each sequence. Each chip runs it whole: {a_gpu} with {chip_bandwidth} from memory. Python launches a kernel in {launch_time}, and no graph is used: all launches of the step take longer than all its kernels with their gaps. Fused, the six are one kernel. What makes the step shorter?",
    parameters={"late": (64, 16, 128), "net": ("llama-3.1-70b", "qwen3-32b"), "on": tuple(HOSTS), "launch_us": (25.0, 20.0, 30.0)},
    derived=small,
    units=NAMES | {"late": ""},
    independent_check=saved,
    options=[
        wrong("the bytes that no longer go to memory and back", "Compute the time to read and write the vector once, and compare it with a launch."),
        right("the launches that are no longer made", "The host is the slower side, so only its launches count. The bytes are saved as well, but nobody was waiting for them."),
        wrong("the FLOPs that are no longer done", "Fusing does the same arithmetic, and that took next to no time before."),
        wrong("nothing: the step takes as long", "One launch instead of six, and it is the launches that the step waits for."),
    ],
    hints=(
        "Which is the slower side: the host or the chip?",
        "How long does it take to read and write the vector? Compare this with {launch_time}.",
    ),
    solution=(
        Step("The vector has", v.vector, "byte"),
        Step("Reading and writing it takes", 2 * v.vector / v.chip_bandwidth, "s"),
        Step("and the chip waits anyway. Five launches less save", 5 * v.launch_time, "s"),
    ),
)

PROGRAMS = {  # operations as (what comes out, what goes in), what is needed later beside the last result, and the words
    "gate": ((("s", "a"), ("y", "sb")), "", "y = SiLU(a) · b, as two operations"),
    "residual": (
        (("h", "ab"), ("y", "h")),
        "h",
        "h = a + b and then y = SiLU(h), where the next layers need both h and y",
    ),
    "gate-add": ((("s", "a"), ("t", "sb"), ("y", "tc")), "", "y = SiLU(a) · b + c, as three operations"),
    "sum": ((("t", "ab"), ("y", "tc")), "", "y = (a + b) + c, as two operations"),
}


def program(steps: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], str, str]:
    """A chain of SiLUs, sums and products with one more vector each, as in PROGRAMS."""
    others, text, last, ops = iter("bcde"), "a", "a", []
    for index, (before, does) in enumerate(zip(("", *steps), steps), 1):
        text = f"({text})" if does == "SiLU" or (before, does) == ("+", "·") else text
        other = "" if does == "SiLU" else next(others)
        text = f"{text} {does} {other}" if other else f"SiLU{text}"
        ops.append(("y" if index == len(steps) else "stu"[index - 1], last + other))
        last = ops[-1][0]
    return tuple(ops), "", f"y = {text}, as {('two', 'three', 'four')[len(steps) - 2]} operations"


PROGRAMS |= {" ".join(steps): program(steps) for count in (2, 3, 4) for steps in product(("SiLU", "+", "·"), repeat=count) if 0 < steps.count("SiLU") < count and ("SiLU", "SiLU") not in zip(steps, steps[1:])}


def vectors(ops: tuple[tuple[str, str], ...], kept: str) -> Values:
    """How many vectors are read and written one by one, and fused: those from outside, and those that are needed
    later.
    """
    reads, made = [name for _, ins in ops for name in ins], {out for out, _ in ops}
    outside, written = sorted(set(reads) - made), 1 + len(kept)
    outer, names = len(outside), f"Vectors {', '.join(outside[:-1])} and {outside[-1]}"
    return {
        "given": names,
        "ops": len(ops),
        "singly": len(reads) + len(ops),
        "reads": len(reads),
        "outer": outer,
        "written": written,
        "fused": outer + written,
    }


def taped(program: str) -> float:
    """The same ratio from a tape of arrays: bytes of every operation by itself, over those of the compiler's kernel."""
    ops, kept, _ = PROGRAMS[program]
    tape = Tape()
    names: dict[str, Any] = {}
    for out, ins in ops:
        given = [names.setdefault(name, tape.array(64, 4096)) for name in ins]
        names[out] = given[0] + given[1] if len(given) > 1 else given[0].each("silu")
    singly = sum(op.out.bytes + sum(array.bytes for array in op.inputs) for op in tape.ops)
    names[ops[-1][0]].at(2, 4096)  # a product stands behind the chain,
    for name in kept:
        names[name].at(2, 4096)  # and others behind what is kept
    return singly / fuse(tape.ops)[0].moved


traffic = Quantity(
    "What must go through memory",
    level="medium",
    objective=CHAIN,
    unit="1",
    statement="{given} are in memory, and all vectors have the same size. A program computes {words}. One by one, each operation reads its inputs from memory and writes its output there. Fused into one kernel, only what is necessary goes through memory. By which factor does the traffic fall, reads and writes together?",
    parameters={"program": tuple(PROGRAMS)},
    derived=lambda v: vectors(*PROGRAMS[v["program"]][:2]) | {"words": PROGRAMS[v["program"]][2]},
    answer=v.singly / v.fused,
    independent_check=lambda v: taped(v["program"]),
    misconceptions={
        v.ops: "That holds for a chain with one input and one output. Count the vectors that this kernel has to read and to write.",
        v.singly / (1 + v.written): "The fused kernel reads every vector that comes from outside, not only the first.",
        v.reads / v.outer: "You counted what is read. What is written goes through memory too, before and after.",
    },
    explanation="Less than the number of operations. The lesson's factor is for a chain with one input and one output. Here more vectors come from outside or are needed later.",
    hints=(
        "Count one by one: vectors that each operation reads, and one that it writes.",
        "Fused: the vectors from outside, and the results that somebody needs later.",
    ),
    solution=(
        Step("Vectors through memory, one by one:", v.singly, "1"),
        Step("Fused:", v.fused, "1"),
        "The traffic falls by the factor",
    ),
)

long_vector = Quantity(
    "Where bytes begin to count",
    level="medium",
    objective=CHAIN,
    unit="token",
    statement="An elementwise operation reads a vector and writes one of the same size: {width_told} values of two bytes for each token of {net_name}. Each chip runs it whole: {a_gpu} with {chip_bandwidth} from memory. The step comes from a graph, and at every kernel the chip loses {kernel_gap}, whatever the kernel does. From how many tokens in a pass on do the bytes of the operation take longer than this loss?",
    parameters={
        "net": ("llama-3.1-70b", "qwen3-32b", "llama-3.1-405b", "llama-3.1-8b", "qwen3-4b", "mistral-large-2"),
        "on": tuple(HOSTS),
        "gap_us": GAPS_US,
        "late": (1,),
    },
    derived=small,
    condition=lambda v: eq.vector_even(v) / v["vector"] < 2500,  # less than most prefills
    units=NAMES,
    answer=eq.vector_even / v.vector,
    independent_check=lambda v: met(
        lambda tokens: sum(tokens * v["vector"] / v["chip_bandwidth"] for _ in ("read", "write")) > v["kernel_gap"],
        0.0,
        1e6,
    ),
    misconceptions={
        2 * eq.vector_even / v.vector: "Twice too many: a value takes two bytes, and the vector is both read and written.",
        4 * eq.vector_even / v.vector: "A value takes two bytes, and the vector is both read and written.",
        eq.vector_even / v.vector / 2: "Read once and written once: two passes over the vector, not four.",
    },
    explanation="More than most decode batches, and less than most prefills. So fusing saves the gaps of kernels in decode, and bytes in prefill.",
    hints=(
        "How many bytes does memory deliver in the time that a kernel loses?",
        "Of them half are read and half are written.",
    ),
    solution=(
        Step(f"${eq.vector_even.latex}$ =", eq.vector_even, "byte"),
        Step("One token's vector has", v.vector, "byte"),
        "Tokens:",
    ),
)

# --- a chain in a step ------------------------------------------------------------------------------------------------


def claimed(values: Values) -> Values:
    """Four readings of a kernel that is so many times faster and had a share of the step, as gains in percent."""
    share, ops = values["share"] / 100, values["times"]
    most = lambda more: eq.fusion_gain(chain_share=share, fused_ops=more) - 1
    found = {"right": most(ops), "gone": 1 / (1 - share) - 1, "naive": share * ops}
    return {"chain_share": share, "fused_ops": ops} | {name: f"{significant(100 * x, 2)}%" for name, x in found.items()}


def with_clock(values: Values) -> str:
    """The same by the time of a thousand steps of 100 ms, added up."""
    rest, chain = 100 - values["share"], values["share"]
    gain = sum([rest + chain] * 1000) / sum([rest + chain / values["times"]] * 1000) - 1
    return {values["right"]: "d", values["gone"]: "c", values["naive"]: "b"}[f"{significant(100 * gain, 2)}%"]


claim = Choice(
    "So many times faster, of what?",
    level="easy",
    objective=BOUND,
    statement="Normalizing and quantizing take {share}% of a step's time. A fused kernel does them {times} times as fast; all else stays. By how much do tokens a second rise?",
    parameters={"share": (10, 8, 15), "times": (5, 4, 6)},
    derived=claimed,
    units={"share": "", "times": ""},
    independent_check=with_clock,
    options=[
        wrong("{times} times as many", "Only the fused part gets faster. The products and attention take as long as before."),
        wrong("by {naive}", "Share times factor is not a bound. The part cannot save more time than it took."),
        wrong("by {gone}", "That would be the gain if this part took no time at all. It still takes some."),
        right("by {right}", "The share bounds the gain. Before writing a kernel, measure what it would replace."),
    ],
    hints=("Let a step take 100 ms. How long does it take afterwards?",),
    solution=(
        Step("Of 100 ms there remain", lambda v: f"{100 - v['share'] + v['share'] / v['times']:.1f} ms"),
        f"${eq.fusion_gain.latex}$ says the same.",
    ),
)

X, N = eq.chain_share, eq.fused_ops
amdahl = Expression(
    "The rest stays",
    level="easy",
    objective=BOUND,
    statement="A chain of elementwise operations takes the share x_chain of a step's time. Fused, it takes n_op times less; all else takes as long as before. Write how many times faster the step gets.",
    formula=eq.fusion_gain,
    independent_check=1 / (1 - X + X / N),
    misconceptions={
        1 / (1 - X): "That is the bound: the fused chain would take no time at all.",
        N * X: "Only the chain gets faster. What of the rest of the step?",
        1 / (1 - X / N): "You subtracted the time that the fused chain takes. Subtract the time that it saves.",
        1 - X + X / N: "Upside down: that is the step's time afterwards, as a share of that before.",
        1 - X + N * X: "You added speeds. Times add: the rest, and the chain divided by n_op.",
        N: "That is the chain alone. The rest of the step stays as it is.",
    },
    explanation="With an endless chain it is 1/(1 − x): the share alone bounds it. The law is Amdahl's, of 1967.",
    hints=(
        "Let the step take 1 before. How long do the rest and the chain take afterwards?",
        "The gain is 1 over that sum.",
    ),
    solution=(
        "Afterwards the rest takes 1 − $x$ and the chain $x/n$:",
        Step(f"${eq.fusion_gain.latex}$, typed as", "1 / (1 - x_chain * (1 - 1 / n_op))"),
    ),
)


def prefilled(values: Values) -> Values:
    """Counted share of vectors in a prefill on eight H100, an operation a kernel, and by what fusing shortens them."""
    found = implied.fusing(values["net"], Plan(chips=8, tokens=values["tokens"], context=0))
    share, ops = float(f"{found.share:.3g}"), float(f"{found.ops:.3g}")  # as the text prints them
    return {
        "net_name": model(values["net"]).name,
        "chain_share": share,
        "fused_ops": ops,
        "percent": f"{100 * share:.3g}",
    }


whole_gain = Quantity(
    "Compiling a prefill",
    level="easy",
    objective=BOUND,
    unit="1",
    display_unit="%",
    statement="A prefill of {tokens} tokens of {net_name} on eight H100, in PyTorch without a compiler: counted operation by operation, at the chips' full rates, the kernels that work on vectors take {percent}% of its time. A compiler fuses them, so that together they take {fused_ops} times less. All else stays. By how much does the throughput rise, in percent?",
    parameters={
        "net": ("llama-3.1-70b", "qwen3-32b", "llama-3.1-405b", "qwen2.5-72b", "llama-2-70b", "mistral-large-2", "qwen3-14b"),
        "tokens": (4096, 8192, 1024, 2048, 6144),
    },
    derived=prefilled,
    units=NAMES | {"tokens": ""},
    answer=eq.fusion_gain - 1,
    independent_check=lambda v: 1000 / sum((1000 * (1 - v["chain_share"]), 1000 * v["chain_share"] / v["fused_ops"])) - 1,
    misconceptions={
        1 / (1 - v.chain_share) - 1: "That is the bound, for a chain that takes no time at all once it is fused.",
        v.chain_share * (1 - 1 / v.fused_ops): "That is the time saved, as a share of that before. In the shorter time more gets done: divide.",
        eq.fusion_gain: "That is the factor. Subtract the hundred percent that you had before.",
        eq.fusion_gain / 100: "That is the factor as it is. The question is the rise, in percent.",
        (eq.fusion_gain - 1) / 100: "That is the right fraction. Type it in percent.",
    },
    explanation="Against a library whose norms and rotations are single kernels, about a twentieth of that is left to gain. Ask what a speed-up was measured against.",
    hints=(
        "Let it take 100 ms before. How long does it take afterwards?",
        "The throughput rises by the time before divided by the time after, minus one.",
    ),
    solution=(
        Step("Of the time there remains, in percent,", 100 * (1 - v.chain_share * (1 - 1 / v.fused_ops)), "1"),
        Step(f"${eq.fusion_gain.latex}$ =", eq.fusion_gain, "1"),
        "So the throughput rises, in percent, by",
    ),
)

# --- halves -----------------------------------------------------------------------------------------------------------


def twice(values: Values) -> Values:
    """A step that waits for memory, cut in two: four readings of its time, in ms."""
    w, kv, comm = (values[name] for name in ("weights_ms", "kv_ms", "send_ms"))
    times = {
        "serial": w + kv + comm,
        "half": (w + kv + comm) / 2,
        "hidden": max(w + kv, comm),
        "right": 2 * w + kv,
        "all_twice": 2 * (w + kv),
    }
    return {name: f"{time:g}" for name, time in times.items()}


def scheduled(values: Values) -> str:
    """The option nearest to what a schedule of very many layers takes."""
    times = [values[name] for name in ("compute_ms", "weights_ms", "kv_ms", "send_ms")]
    took = simulation.step_in_halves(1_000, *times)
    names = {"a": "half", "b": "hidden", "c": "right", "d": "all_twice"}
    return min(names, key=lambda key: abs(float(values[names[key]]) - took))


read_twice = Choice(
    "In two halves",
    level="easy",
    objective=HALVES,
    statement="A decode step loads its weights in {weights_ms} ms and the caches in {kv_ms} ms. Compute takes {compute_ms} ms and hides behind the memory traffic. Sending takes {send_ms} ms, during which the chips wait: {serial} ms in all. Now the batch is split in two, and one half computes while the other sends. How long does the step take now, at best?",
    parameters={"weights_ms": (4, 5, 6), "kv_ms": (2, 1), "compute_ms": (1, 2), "send_ms": (3, 2)},
    derived=twice,
    independent_check=scheduled,
    options=[
        wrong("{half} ms: half as long", "Halving needs two equally long parts that hide each other. And does each half load half of the weights?"),
        wrong("{hidden} ms: sending is hidden", "Sending is hidden. But each half goes through all layers: what does it load there?"),
        right("{right} ms: the weights are loaded once for each half", "Longer than before. Sending is hidden, but loading the weights once more takes longer than sending did."),
        wrong("{all_twice} ms: weights and caches are loaded once for each half", "Each half has its own sequences. Whose caches does it load?"),
    ],
    hints=("Which bytes does the first half load, and which of them does the second half load again?",),
    solution=lambda v: [Step(f"Weights twice, each cache once: ${eq.overlap_time.latex}$ gives {v['right']} ms, against {v['serial']} ms before.")],
)


def turned(link: float) -> int:
    """The first batch whose sending takes longer than reading the rack's weights once more, by trying each."""
    known = implied.rack()
    weights = known["n_total"] * known["bytes_per_param"] / known["bandwidth"]
    sends = known["layers"] * known["copies"] * known["width"] * 3 / (known["chips"] * link)  # one byte out, two back
    return next(batch for batch in range(1, 200_000) if batch * sends > weights)


def moved(values: Values) -> str:
    """What becomes of that batch on a link so many times as fast."""
    link = implied.rack()["scale_up"]
    ratio = turned(values["times"] * link) / turned(link)
    return {values["times"]: "a", 1: "c"}.get(round(ratio), "b")


faster_link = Choice(
    "A faster link",
    level="medium",
    objective=HALVES,
    statement="A rack decodes a mixture of experts, waits for memory, and sends without overlap. From a certain batch on, two overlapping halves are faster. Now the links between its chips become {times} times as fast, and nothing else changes. What becomes of that batch?",
    parameters={"times": (2, 3, 4)},
    units={"times": ""},
    independent_check=moved,
    options=[
        right("it grows, {times} times as large", "Overlap is worth what it hides. On a slow network it pays early, inside a rack late."),
        wrong("it shrinks, by the same factor", "A faster link leaves less to hide. Is there then more reason to overlap, or less?"),
        wrong("it stays: it depends on the weights", "On the weights, and on what a sequence sends: the two are equal there. One of them has changed."),
        wrong("it vanishes: halves now win at any batch", "Overlap hides sending, and that has become shorter. What it costs, loading the weights again, is as before."),
    ],
    hints=(
        "At that batch sending takes as long as loading the weights.",
        "Sending takes batch × bytes ÷ the link's rate.",
    ),
    solution=(f"In ${eq.batch_overlap.latex}$ the link's rate is in the numerator.",),
)

READ = t_weights + t_kv
HALVED = eq.overlap_time.expr.xreplace({step.compute_time.expr: t_compute, step.kv_time.expr: t_kv})
HALVED = HALVED.subs(eq.n_total, t_weights * eq.bandwidth / eq.bytes_per_param)  # there the weights' time stands twice, and multiplied out


def both(*half):
    """What two halves take together."""
    return sum(half * 2)


halves_letters = Expression(
    "Two halves in letters",
    level="medium",
    objective=HALVES,
    statement="A whole batch computes for t_compute, loads the weights in t_weights and the caches in t_KV, and sends for t_comm. Compute and memory traffic overlap. The batch is split in two halves; while one sends, the other computes, and filling and draining take no time. Compute and sending are proportional to the sequences. Write the time of the step.",
    formula=Formula(
        "overheads.halves_alone",
        "t_overlap",
        HALVED,
        "s",
        "two overlapping halves, the times of a whole batch given",
        register=False,
    ),
    independent_check=Max(both(t_compute / 2), both(t_weights, t_kv / 2), both(t_comm / 2)),
    misconceptions={
        Max(t_compute, READ, t_comm): "Each half goes through all layers, and loads all weights on its way.",
        Max(t_compute, 2 * READ, t_comm): "A half loads the caches of its own sequences only.",
        Max(t_compute, READ) + t_comm: "That is the batch in one piece, computing and sending in turn.",
        Max(t_compute, 2 * t_weights + t_kv) + t_comm: "You split the batch and still let sending and computing take turns.",
        Max(t_compute, READ, t_comm) / 2: "Chips and links have all the work of both halves to do. Only its order has changed.",
        Max(t_compute, 2 * t_weights + t_kv, 2 * t_comm): "Each half sends half as much, so that both send as much as the whole batch.",
        Max(2 * t_compute, 2 * t_weights + t_kv, t_comm): "Each half computes for its own sequences only.",
        Max(2 * t_weights + t_kv, t_comm): "Compute is missing. For a large batch it takes longest.",
        Max(t_compute, 2 * t_weights + t_kv): "Sending is missing. For a slow link it takes longest, and nothing hides it.",
        Max(t_compute, 2 * t_weights + t_kv, t_comm) / 2: "That is one half. The other one comes after it.",
    },
    explanation="Three times in one maximum, and one of them grew. Without the 2, overlapping would always pay.",
    hints=(
        "How long do both halves together need the compute, the memory, the links?",
        "The largest of the three is the time.",
    ),
    solution=(Step(f"${eq.overlap_time.latex}$, with these times typed as", "max(t_compute, 2 * t_weights + t_KV, t_comm)"),),
)


NUMBERS = {9: "nine", 8: "eight", 10: "ten", 12: "twelve", 16: "sixteen", 18: "eighteen"}


def machine(values: Values) -> Values:
    """SGLang's machines, so many of drawn GPUs with drawn cards: what each GPU reads of the weights, and what sends."""
    known, gpu, net = implied.sglang(), chip(values["on"]), model("deepseek-v3")
    count, own = 8 * values["machines"], implied.own_weights(8 * values["machines"])
    rates = {
        "chips": count,
        "n_total": count * own,
        "own_weights": own,
        "nine": NUMBERS[values["machines"]],
        "bandwidth": count * gpu.bandwidth,
        "chip_bandwidth": gpu.bandwidth,
        "scale_up": values["card"],
        "gpu": short(values["on"]),
    }
    return known | rates | {"own": own, "up": gpu.scale_up.bytes_per_s, "every": net.n_total}


def by_copies(values: Values) -> float:
    """The same from one token's traffic, copy by copy, there and back."""
    journeys = [way * values["width"] for _ in range(int(values["layers"])) for _ in range(int(values["copies"])) for way in (1, 2)]
    return values["own"] / values["chip_bandwidth"] / (sum(journeys) / values["card"])


[SEEN] = measurement("overlap_thresholds").records(engine="SGLang")
turn = Quantity(
    "Where halves begin to win",
    level="hard",
    objective=HALVES,
    unit="token",
    statement="DeepSeek-V3 decodes on {chips}, {nine} machines of eight {gpu}. In a step each GPU loads {own} of weights, its experts and a copy of all the rest, at {chip_bandwidth}. Each token is sent to its {copies} routed experts in each of the {layers} layers that have experts, and back: {width} values, one byte each on the way out and two on the way back. Let all of it leave the machine, over a card of {card} for each GPU and direction. The step waits for memory, not compute. From how many tokens per GPU on are two overlapping halves faster, if nothing else costs time?",
    parameters={"on": ("h100-sxm", "h200"), "card": (5e10, 1e11, 25e9), "machines": tuple(NUMBERS)},
    derived=machine,
    units=NAMES | {"own": "byte", "card": "byte/s", "nine": ""},
    answer=eq.batch_overlap / v.chips,
    independent_check=by_copies,
    misconceptions={
        eq.batch_overlap.at(scale_up=v.up) / v.chips: "That is NVLink's rate, which ends at the machine's wall. Nearly all experts are in other machines.",
        eq.batch_overlap.at(own_weights=v.every / v.chips) / v.chips: "You divided all weights among the GPUs. The statement says what each one loads.",
        3 * eq.batch_overlap / v.chips: "That is the way out alone. Results come back, in twice the bytes.",
        eq.batch_overlap: "That is for all GPUs together. The question is per GPU.",
        1.5 * eq.batch_overlap / v.chips: "That is two bytes for a value. One goes out and two come back: three.",
    },
    explanation=f"On 72 H100, whose cards are taken to be of 50 GB/s, SGLang saw the turn between {SEEN['low_tokens']} and {SEEN['high_tokens']} tokens in May 2025. So halves seem to cost more than a second loading of the weights: more kernels, and products of half as many rows.",
    hints=(
        "How long does a GPU take to load its weights once more?",
        "How long does it take to send one token's traffic in all layers? Divide.",
    ),
    solution=(
        Step("Loading the weights once more takes", v.own / v.chip_bandwidth, "s"),
        Step("One token sends for", racks.comm_time.at(tokens_per_chip=1, micro_batches=1), "s"),
        f"${eq.batch_overlap.latex}$, for each GPU:",
    ),
)


class Alternated(Symbolic):
    """The time of parts of a batch that take turns at a chip and a link, run layer by layer, once its arguments are
    numbers.
    """

    @classmethod
    def eval(cls, count, parts, compute, send):
        if all(each.is_number for each in (count, parts, compute, send)):
            share = int(parts) * int(count)
            phases = [("device", float(compute) / share), ("link", float(send) / share)]
            return simulation.alternated(int(count), phases, int(parts)).time


LONGER, SHORTER = Max(t_compute, t_comm), Min(t_compute, t_comm)
TURNS = racks.micro_batches * racks.layers
schedule = Function(
    "Write the schedule",
    level="hard",
    objective=HALVES,
    statement="A step of `layers` layers computes for `t_compute` seconds and sends for `t_comm` in all, evenly over its layers. It is split into `micro_batches` equal parts of a batch, two or more, each with its share of both times. In every layer a part computes, and then sends; then comes its next layer. The chip computes for one part at a time and the link sends for one part at a time; whichever part is ready first goes first. Loading the weights again is left out. Write a Python function of layers, micro_batches, t_compute and t_comm that returns when all parts are done. No loop is needed. It is called by name; layers and micro_batches are whole.",
    formula=Formula(
        "overheads.filled",
        "t_overlap",
        LONGER + SHORTER / TURNS,
        "s",
        "the longer of two resources, with one turn of the shorter to fill or to drain",
        register=False,
    ),
    test_points=(
        {"layers": 1, "micro_batches": 3, "t_compute": 4.0, "t_comm": 6.0},
        {"layers": 4, "micro_batches": 2, "t_compute": 9.0, "t_comm": 5.0},
        {"layers": 61, "micro_batches": 2, "t_compute": 3.0, "t_comm": 8.0},
        {"layers": 32, "micro_batches": 5, "t_compute": 7.0, "t_comm": 6.5},
    ),
    independent_check=Alternated(racks.layers, racks.micro_batches, t_compute, t_comm),
    misconceptions={
        LONGER: "That is many layers. Before the first send something has to be computed, and after the last compute something sent.",
        t_compute + t_comm: "In turn, without overlap. One part computes while another sends.",
        LONGER + SHORTER / racks.layers: "What stands alone is one part's share of a layer, not the whole layer's.",
        LONGER + SHORTER / (2 * racks.layers): "That is right for two halves. With more parts, what stands alone is shorter.",
        LONGER + LONGER / TURNS: "Is it the longer resource that has to wait, or the shorter? Draw two layers on paper.",
        (LONGER + SHORTER / TURNS) / racks.micro_batches: "Each part has its share of both times. All parts are the whole.",
        LONGER + SHORTER / racks.micro_batches: "Only the first or last layer stands alone, not a whole part of the batch.",
        LONGER + t_compute / TURNS: "That is right where sending takes longer. Where computing does, the chip never pauses. What is left at the end?",
        (t_compute + t_comm) / racks.micro_batches: "The chip computes for all parts, and the link sends for all. The longer of the two cannot be divided.",
    },
    explanation="The maximum, and one turn of the shorter: at the start the link has nothing to send, at the end the chip nothing to compute. Of 61 layers that is less than one per cent.",
    hints=(
        "Let the chip's turn be the longer. When does it pause? And what is still to be done after its last turn?",
        "How many turns does each resource have? The shorter one stands alone for one of its turns.",
    ),
    solution=(
        "With even parts they simply take turns: the longer resource works without a pause, after or before one turn of the shorter one. Each has a turn for each part and layer.",
        Step("As code:", "max(t_compute, t_comm) + min(t_compute, t_comm) / (micro_batches * layers)"),
    ),
)

# --- all terms --------------------------------------------------------------------------------------------------------


def served(values: Values) -> Values:
    """Llama 3.1 70B on eight H100 at a drawn batch, compiled."""
    known = implied.node() | {"batch": values["batch"], "kernel_gap": round(implied.left_over()[0].each, 7)}
    return known | {
        "weights": known["n_total"] * known["bytes_per_param"],
        "cache": known["context"] * known["kv_bytes_per_token"],
    }


def longest(values: Values) -> str:
    """The longest of the four, each added up in a plain loop or product."""
    times = {
        "a": sum(values["launch_time"] for _ in range(values["kernels"])),
        "b": (values["weights"] + values["batch"] * values["cache"]) / values["bandwidth"],
        "c": sum(values["kernel_gap"] for _ in range(values["kernels"])),
        "d": values["batch"] * 2 * values["n_active"] / values["flops"],
    }
    return max(times, key=times.__getitem__)


which = Choice(
    "Which of four",
    level="easy",
    objective=TERMS,
    statement="Llama 3.1 70B on eight H100, compiled to {kernels} kernels a step, each launched in {launch_time}. Suppose that they lose {kernel_gap} at each kernel. The eight load {bandwidth} and compute {flops} (a multiply and an add are two FLOPs). A step loads {weights} of weights and, for each of {batch} sequences, {cache} of cache. Every sequence needs compute for {n_active}. What takes longest?",
    parameters={"batch": (4, 16, 64, 8)},
    derived=served,
    units={"batch": "", "weights": "byte", "cache": "byte", "kernels": "1"},
    independent_check=longest,
    options=[
        wrong("launching", "Multiply it out: kernels × launch, against bytes ÷ bandwidth."),
        right("loading weights and caches", "Compiled, such a step never waits for its host. But the gaps take nearly as long as the loading: half the kernels would gain almost as much as twice the bandwidth."),
        wrong("the gaps at the kernels", "Nearly. Multiply them out, and add the caches to the weights."),
        wrong("compute", "Two FLOPs for each parameter and sequence, divided by the rate of all eight. Work it out."),
    ],
    hints=("Compute all four in ms.",),
    solution=(
        Step("Launching:", v.kernels * v.launch_time, "s"),
        Step("weights and caches:", step.memory_time, "s"),
        Step("gaps:", v.kernels * v.kernel_gap, "s"),
        Step("compute:", step.compute_time, "s"),
    ),
)


def racked(values: Values) -> Values:
    """The running case at a drawn batch, with launches and gaps as measured or of another pace: its times, one by one."""
    known = implied.rack() | {"batch": values["batch"]}
    if values["pace"] != MEASURED:
        known |= dict(zip(("launch_time", "kernel_gap"), (time * US for time in values["pace"])))
    sends = racks.comm_time(known, tokens_per_chip=values["batch"] / known["chips"], micro_batches=1)
    return known | {
        "reading": step.memory_time(known),
        "multiplying": step.compute_time(known),
        "sending": sends,
    }


def played(values: Values) -> float:
    """Seconds of the graph, kernel by kernel, and of the sending after it."""
    each = max(values["reading"], values["multiplying"]) / values["kernels"]
    return simulation.replayed([each] * values["kernels"], values["replay_time"], values["kernel_gap"]).time + values["sending"]


whole = Quantity(
    "All of a step",
    level="hard",
    objective=TERMS,
    unit="s",
    display_unit="ms",
    statement="DeepSeek-V3 on a GB200 NVL72, a batch of {batch}. Memory traffic takes {reading}, compute {multiplying} and sending {sending}, each by itself. The step is {kernels} kernels; the host takes {launch_time} to launch one, and {kernel_gap} pass from one to the next. It is captured in a graph, which starts in {replay_time}. The batch is not split, so the chips wait while they send. How long does the step take?",
    parameters={"batch": (8192, 2048, 1024, 1536, 3072, 4096, 6144, 7168, 9216, 10240), "pace": (MEASURED, (5, 0.6), (3, 0.8), (5, 1), (4, 1.2), (6, 1.5))},
    derived=racked,
    condition=lambda v: max(v["reading"], v["multiplying"]) < 0.5 * (eq.graph_time(v) + v["sending"]),
    units={"batch": "", "reading": "s", "multiplying": "s", "sending": "s"},
    answer=eq.graph_time + v.sending,
    independent_check=played,
    misconceptions={
        eq.graph_time + v.sending - v.kernels * v.kernel_gap: "A graph leaves the gaps between kernels.",
        Max(eq.graph_time, v.sending): "Sending is hidden only if the batch is split and one half computes meanwhile.",
        Min(v.reading, v.multiplying) + eq.graph_time - step.step_time + v.sending: "You took the shorter of memory traffic and compute. The shorter one hides behind the longer.",
        eq.eager_time + v.sending: "From a graph the host does not launch kernels one by one.",
        eq.graph_time + v.sending + Min(v.reading, v.multiplying): "Memory traffic and compute overlap.",
        (eq.graph_time + v.sending) / 1000: "That is in seconds. The answer is asked in milliseconds.",
    },
    explanation="One maximum and three sums. A roofline of memory traffic and compute alone would have given less than half of it.",
    hints=(
        "Which of the five overlap with another?",
        "max(memory traffic, compute), and then add everything that does not overlap.",
    ),
    solution=(
        Step("The longer of memory traffic and compute:", Max(v.reading, v.multiplying), "s"),
        Step("The gaps:", v.kernels * v.kernel_gap, "s"),
        Step(f"${eq.graph_time.latex}$ =", eq.graph_time, "s"),
        "With the sending:",
    ),
)


EVERY = 256  # sequences whose tokens touch every expert, all but surely


def of_one(values: Values) -> Values:
    """What one sequence of the running case adds, and what a step takes whatever the batch."""
    known = implied.rack()
    alone = {"reads": step.kv_time, "multiplies": step.compute_time}
    found = {name: formula(known, batch=1) for name, formula in alone.items()}
    sends = racks.comm_time(known, tokens_per_chip=1 / known["chips"], micro_batches=1)
    held = {
        "weights": known["n_total"] * known["bytes_per_param"],
        "cache": known["context"] * known["kv_bytes_per_token"],
    }
    return known | found | held | {"least": EVERY, "sends": sends, "floor": implied.floor_time(known)}


def by_formula() -> dict[str, float]:
    """The batches of four events, from formulas."""
    known = implied.rack()
    full = (known["hbm"] - known["n_total"] * known["bytes_per_param"]) / (known["context"] * known["kv_bytes_per_token"])
    return {
        "a": step.crossing(known),
        "b": full,
        "c": eq.batch_overlap(known),
        "d": implied.hidden_from(known),
    }


def by_walking(values: Values) -> str:
    """The same events in the order in which one meets them, a hundred sequences at a time, with the statement's
    numbers.
    """
    met_at: dict[str, Any] = {}
    host = values["kernels"] * (values["launch_time"] - values["kernel_gap"])
    for batch in range(100, 300_000, 100):
        reads, multiplies = values["floor"] + batch * values["reads"], batch * values["multiplies"]
        full, sent = (
            values["weights"] + batch * values["cache"] > values["hbm"],
            batch * values["sends"] > values["floor"],
        )
        there = {
            "a": multiplies > reads,
            "b": full,
            "c": sent,
            "d": max(reads, multiplies) + batch * values["sends"] > host,
        }
        met_at |= {key: batch for key, is_there in there.items() if is_there and key not in met_at}
    return "".join(sorted(met_at, key=met_at.__getitem__))


events: Ordering = Ordering(
    "Along the batch",
    level="hard",
    objective=TERMS,
    statement="DeepSeek-V3 on a GB200 NVL72, 1,000 tokens of context. Whatever the batch, a step loads the weights in {floor} and has {kernels} kernels, each launched in {launch_time} with {kernel_gap} from one to the next. Each sequence adds {reads} of memory traffic, {multiplies} of compute and {sends} of sending, in {copies} copies over {layers} layers; its cache takes {cache}. The memory of {hbm} holds {weights} of weights as well. Nothing is split in halves: a chip sends when it has computed, in kernels that are launched like the others. The batch grows from {least} on, enough to touch every expert. In which order do these come?",
    derived=of_one,
    units={
        "least": "",
        "copies": "1",
        "layers": "1",
        "reads": "s",
        "multiplies": "s",
        "sends": "s",
        "floor": "s",
        "weights": "byte",
        "cache": "byte",
        "kernels": "1",
    },
    items=[
        "compute takes longer than memory traffic",
        "the memory is full",
        "sending takes longer than loading the weights: two halves begin to win",
        "without a graph, the host no longer holds the step up",
    ],
    answer=lambda v: "".join(sorted(by_formula(), key=by_formula().get)),
    independent_check=by_walking,
    misconceptions={
        "dcab": "Work out the launches: they take several times as long as loading the weights, and the sequences must fill the difference.",
        "cadb": "While the chip waits for its host it has time to send as well. Count the sending among what fills the launches.",
        "acdb": "Sending has to exceed the weights only; compute has to exceed weights and caches.",
        "bdac": "That is from the largest batch to the smallest.",
    },
    explanation="On a rack with compiled kernels the host shows up to thousands of sequences, and up to there a graph gains. Sending helps to hide it.",
    hints=(
        "Compute a batch for each: what has to be filled, divided by what each sequence adds.",
        "For a: the weights, divided by compute minus memory traffic per sequence. For d: kernels × (launch − gap), to be filled by weights, memory traffic and sending.",
    ),
    solution=lambda v: [*(Step(f"{key}: {events.texts(v)[key]}, from", found, "sequence") for key, found in sorted(by_formula().items(), key=lambda row: row[1]))],
)
