"""The tables, the folds and the long formulas of the page on a server under load."""

from __future__ import annotations

import math
from html import escape

import sympy

from blackboard import catalogue, notation
from blackboard.notation import latex
from blackboard.page.summary import Page, fold, table
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.calibration import KINDS
from blackboard.prediction.serving_calibration import FITTED, QUEUED, constants_of, runs
from blackboard.prediction.serving_constants import FACTORS, MEASURED
from blackboard.prediction.serving_steps import ENGINES, kernels
from blackboard.units import percent, pretty, significant
from blackboard.validation.serving_numbers import (
    CHAT,
    CROWD,
    FEW,
    LIMITS,
    PROMISE,
    RUN,
    SHORT,
    USERS,
    WIDE,
    changes,
    device_seconds,
    drafted,
    launching,
    measured,
    measured_points,
    offline_error,
    queued,
    repeated,
    served,
    settled,
    simulated,
    steady,
    values,
)
from blackboard.validation.serving_slices import ASPECTS, Slice, mean_error, over, slices

_digits = lambda seconds, digits=1: f"{1e3 * seconds:,.{digits}f}"  # milliseconds

paragraph = lambda text: f"<p>{text}</p>"


def equation(*lines: str) -> Page:
    """Lines of mathematics, broken at & so that they fit a phone."""
    body = r" \\ ".join(lines)
    return Page(
        rf"<div>\[\begin{{aligned}} {body} \end{{aligned}}\]</div>",
    )


# --- the running case -------------------------------------------------------------------------------------------------


def measured_table() -> Page:
    """What the benchmark measured, and the time per token by the formulas."""
    rows = [
        [
            str(point.users),
            _digits(point.token, 2),
            _digits(steady(concurrency=point.users).output_token, 2),
            _digits(measured(point.users).first, 0),
        ]
        for point in measured_points()
    ]
    heads = (
        "Users at a time",
        "Time per token, ms (TPOT)",
        "Time per token by our formulas, ms",
        "Time to first token, ms (TTFT)",
    )
    return table("Measured on four H200. Our formulas were fitted to these runs, among others", heads, rows)


def case_table() -> Page:
    """All that the running case is, in one place."""
    server = steady().server
    chip, mean = server.chip, f"{server.output:.0f}"
    drawn = f"each drawn between {server.spread} × {CHAT:,} and {CHAT:,} tokens: {mean} on average"
    rates = (
        f"{chip.bandwidth / 1e12:.1f} TB/s of memory, {chip.flops('fp8') / 1e12:,.0f} TFLOP/s in FP8,"
        f" {chip.scale_up.bytes_per_s / 1e9:.0f} GB/s of links"
    )
    rows = [
        ["model", f"{server.model.name}, weights and KV cache in FP8"],
        ["server", f"{RUN['chips']} {chip.id.upper()} with tensor parallelism, {ENGINES[server.engine]}"],
        ["each GPU, by its datasheet", rates],
        [r"users \(N\)", f"{CROWD}, each with one request in flight"],
        [r"prompts \(I\), answers \(O\)", drawn],
        ["room in a step", f"{server.step_tokens:,.0f} tokens"],
    ]
    return fold("Which server exactly?", table("The running case", ("What", "Value"), rows))


def price_by_hand() -> float:
    """Dollars for a million tokens of the running case, read or written, if each step takes in one prompt at most."""
    v, rent = values(), steady().rent
    assert rent
    paid = RUN["chips"] * rent.usd_per_chip_hour / 3600
    return 1e6 * paid / (v["request_rate"] * (v["prompt_length"] + v["output_length"]))


def rate_sums() -> Page:
    """The time of a request, and what the server answers and earns."""
    v, crowd, gpus = values(), steady(), RUN["chips"]
    assert crowd.rent
    rest, whole = f"{v['output_length'] - 1:.1f} × {_digits(v['output_token'], 3)}", f"{v['t_response']:.3f} s"
    rate, length, prompt = f"{v['request_rate']:.3f}", f"{v['output_length']:.1f}", f"{v['prompt_length']:.1f}"
    stay, each, rent = r"t_\mathrm{first} + (O-1)\,t_\mathrm{out}", f"X\\,O/{gpus}", crowd.rent.usd_per_chip_hour
    paid = f"1,000,000 × {gpus} × {rent:.2f} / 3,600 / ({rate} × ({prompt} + {length}))"
    price, cost = (
        f"price of a million tokens, read or written, at ${rent:.2f} per GPU and hour",
        f"${price_by_hand():.3f}",
    )
    lines = [
        ("time of a request, \\(T\\)", stay, f"{_digits(v['first_token'])} + {rest}", whole),
        ("requests per second, \\(X\\)", "N/T", f"{CROWD} / {whole}", rate),
        (
            "tokens per second and GPU",
            each,
            f"{rate} × {length} / {gpus}",
            f"{v['request_rate'] * v['output_length'] / gpus:.0f}",
        ),
        (price, r"\text{rent}\,/\,(X\,(I+O))", paid, cost),
    ]
    cells = [[f"{name}<br>\\({formula}\\)", work, result] for name, formula, work, result in lines]
    sums = table("From a request to the price", ("Quantity", "With a calculator, times in ms", "Result"), cells)
    return fold("How do these numbers come out with a calculator?", sums)


# --- steps ------------------------------------------------------------------------------------------------------------


def compared_steps() -> dict[str, dict[str, float]]:
    """What a step of the running case does without a prompt, and with one."""
    server = steady().server
    return {"decode": server.step(CROWD, 0), "prompt": server.step(CROWD, 1, server.prompt)}


def step_sums() -> dict[str, str]:
    """What takes the time in a step, as a sum that can be done by hand."""
    server, known, plan = steady().server, steady().calibration.values, compared_steps()
    chip, gpus = server.chip, server.layout.tensor
    context = eq.mean_context(prompt_length=server.prompt, output_length=server.output)
    loaded = lambda name: plan["decode"][name] * gpus * chip.bandwidth
    sent = plan["decode"]["link_busy"] * chip.scale_up.bytes_per_s / plan["decode"]["collectives"] / CROWD
    attended = plan["prompt"]["prompt_attend"] * gpus * chip.flops("bf16")
    memory, compute = (percent(known[f"{name}_efficiency"], 1) for name in ("memory", "compute"))
    together = f"({gpus} × {chip.bandwidth / 1e12:.1f} TB/s) / {memory}"
    rate = lambda format: f"({gpus} × {chip.flops(format) / 1e12:,.0f} TFLOP/s) / {compute}"
    link = f"{chip.scale_up.bytes_per_s / 1e9:.0f} GB/s / {percent(known['link_efficiency'])}"
    each = f"{loaded('cache_read') / CROWD / context / 1e3:.0f} kB"
    exchanges, latency = f"{plan['decode']['collectives']:.0f}", f"{known['link_latency'] * 1e6:.2f} µs"
    launches = f"{kernels(server.model)} kernels ×"
    common, head = server.layout.common, server.layout.head * chip.flops("fp8") / chip.flops("bf16")
    counts = ", ".join(f"{plan[name]['answers']:.4g}" for name in ("decode", "prompt"))
    return {
        "loading": f"{loaded('shared_read') / 1e9:.1f} GB / {together}",
        "products": f"2 FLOPs × ({common / 1e9:.1f} billion × tokens + {head / 1e9:.1f} billion × handed out)"
        f" / {rate('fp8')}",
        "cache": f"{CROWD} × {context:,.0f} tokens × {each} / {together}",
        "attention": f"{attended / 1e12:.2f} TFLOP a prompt in BF16 / {rate('bf16')}",
        "links": f"{exchanges} × (tokens × {sent / 1e3:.1f} kB / {link} + {latency})",
        "gaps": f"{launches} {known['gap_time'] * 1e6:.2f} µs",
        "launching": f"{launches} {known['eager_gap'] * 1e6:.2f} µs",
        "answers": f"{counts} tokens × {known['answer_time'] * 1e6:.1f} µs",
    }


WORK = {  # of a step on the device: what is shown, and its values
    "loading": ("loading the weights", ("shared_read",)),
    "products": ("computing with the weights, meanwhile", ("shared_multiply",)),
    "cache": ("loading the KV caches", ("cache_read", "cache_multiply")),
    "attention": ("prompts’ own attention", ("prompt_attend",)),
    "links": ("messages", ("link_busy", "collectives")),
    "gaps": ("pauses between kernels", ("captured",)),
}


def parts_table() -> Page:
    """The steps of the running case by what takes the time."""
    steps = list(compared_steps().values())
    parts = [steady()._step_parts(step) for step in steps]
    whole = [values()["decode_step"], values()["prompt_step"]]
    told = {
        "weights: loading, or computing where that is longer": ("weights", "compute"),
        "messages between the GPUs": ("links",),
        "pauses between kernels": ("kernel gaps",),
        "loading KV caches": ("cache",),
        "waiting for launches, as fitted": ("launching",),
        "handing out tokens, probably by the CPU": ("answers",),
    }
    row = lambda names: [_digits(sum(part.get(name, 0) for name in names)) for part in parts]
    rows = [[text, *row(names)] for text, names in told.items()]
    rows.append(["<strong>the step</strong>", *map(_digits, whole)])
    assert all(math.isclose(sum(part.values()), time) for part, time in zip(parts, whole))
    return table("Where the time of a step goes, in milliseconds", ("Work", *_step_names()), rows)


def _step_names() -> tuple[str, str]:
    """The two kinds of steps, with their tokens."""
    return f"Decode only, {CROWD} tokens", f"With a prompt, {CROWD + values()['prompt_length']:,.0f} tokens"


def sums_table() -> Page:
    """The same with sums that can be redone, folded away."""
    v, sums, steps = values(), step_sums(), list(compared_steps().values())
    whole = [v["decode_step"], v["prompt_step"]]
    part = lambda names: [device_seconds(dict.fromkeys(s, 0.0) | {n: s[n] for n in names}) for s in steps]
    device, launches = [device_seconds(s) for s in steps], [0.0, launching()]
    sent = [w - max(d, h) for w, d, h in zip(whole, device, launches)]
    row = lambda text, sum, cells: [text, *map(_digits, cells), sum]
    rows = [row(text, sums[name], part(names)) for name, (text, names) in WORK.items()]
    rows += [
        row("<strong>all on the GPU</strong>", "the longer of the first two, and the rest", device),
        row("launches by the CPU, meanwhile", sums["launching"], launches),
        row("handing out tokens, probably by the CPU", sums["answers"], sent),
        row("<strong>the step</strong>", "the longer of GPU and launches, and handing out", whole),
    ]
    sums_of_all = table("Milliseconds of a step, rounded only when printed", ("Work", *_step_names(), "How"), rows)
    both = paragraph(
        f"We keep all {CROWD} users beside the prompt. In a closed loop the user who sent it does not decode meanwhile,"
        " so one fewer would be exact, which makes the step shorter by less than 0.1 ms."
    )
    return fold("Can I redo every row with a calculator?", sums_of_all + both)


# --- prompts and waits ------------------------------------------------------------------------------------------------


def prompt_share() -> Page:
    """The share of the steps with somebody else's prompt, long after the start of a server."""
    others = sympy.Add(eq.concurrency, -1, evaluate=False) / eq.output_length
    assert sympy.limit(eq.others_prompts.expr, eq.requests_per_user, sympy.oo).equals(others)
    return equation(f"{latex(eq.prompt_share)} &= {notation.typeset(others)}")


def mixed_token() -> Page:
    """The time per token: that of a step without prompts, and what a share of the steps takes longer."""
    longer = eq.prompt_step - eq.decode_step
    assert eq.mixed_token.expr.equals(eq.decode_step + eq.prompt_share * longer)
    terms = rf"{latex(eq.prompt_step)} - {latex(eq.decode_step)}"
    return equation(rf"{latex(eq.output_token)} &= {latex(eq.decode_step)} + {latex(eq.prompt_share)}\,({terms})")


def first_token() -> Page:
    """The time to first token, long after the start of a server whose steps have room."""
    before = eq.captured * eq.request_gap
    terms = before, eq.output_token, eq.prompt_step
    whole = eq.first_token_time.typed.subs({eq.held_steps: 0, eq.prompt_busy: 0, eq.running_step: eq.output_token})
    assert sympy.limit(whole, eq.requests_per_user, sympy.oo).equals(sum(terms))
    steps = " + ".join(map(notation.typeset, terms[1:]))
    return equation(rf"{latex(eq.first_token)} &= {_digits(values()['before'])}\text{{ ms}} + {steps}")


def experts() -> Page:
    """What a mixture of experts changes in a step."""
    places, tokens, moe = 8, CROWD, catalogue.model("deepseek-r1").moe
    assert moe is not None
    mean = tokens * moe.active / places
    apart = math.sqrt(mean * (1 - 1 / places))
    most = eq.busiest(places=places, mean_load=mean, spread_load=apart**2)
    told = [
        paragraph(
            "<strong>Half-empty tiles.</strong> Tensor cores multiply whole tiles of rows. The last tile of each expert"
            " that some token chose is half empty on average, but takes as long as a full one."
        ),
        paragraph(
            f"<strong>The busiest GPU.</strong> Deal the experts of DeepSeek-R1 out over {places} GPUs. All wait for"
            f" the GPU with the most work. If {tokens} tokens choose {moe.active} experts each at random, a GPU has"
            f" {mean:.0f} choices on average, with a standard deviation of √({mean:.0f} × {places - 1}/{places}) ="
            f" {apart:.2f}. By the usual approximation for the largest of {places}, the busiest is"
            f" {(most - 1) * mean / apart:.2f} of these above the mean: {significant(most, 3)} times the mean. Real"
            " routers are less fair, which is one reason why mixtures have larger errors."
        ),
    ]
    return Page("".join(told))


def changes_table() -> Page:
    """What would make a token faster, for few users and for many, what each user would add, and how many may come."""
    each = lambda few, crowd: f"{1e6 * (crowd - few) / (CROWD - FEW):.0f}"
    seen = f" ({CROWD} users measured: {_digits(measured(CROWD, WIDE).output)} ms)"
    wide = lambda what: seen if what.startswith(f"{WIDE} GPUs") else ""
    rows = [
        [what + wide(what), _digits(few), _digits(crowd), each(few, crowd), str(n)] for what, few, crowd, n in changes()
    ]
    heads = (
        "Server",
        f"Token with {FEW} users, ms",
        f"Token with {CROWD} users, ms",
        "Each user adds, µs",
        f"Users who fit {1e3 * PROMISE:g} ms",
    )
    caption = "By the full formulas, with launches as fitted"
    found = table(f"{caption} (eight GPUs assumed to reach the same share of their links’ rate as four)", heads, rows)
    told = paragraph(
        "The last column keeps nothing in reserve, and the first two changes are too close to call: eight GPUs were"
        " faster than our formulas say. Half the time to hand out tokens fits fewer users than a faster GPU, but may"
        " cost next to nothing: an engine can hand out several tokens at once (in vLLM, <code>--stream-interval</code>;"
        " we have not measured it)."
    )
    return fold("What does each change lower, level or slope?", found + told)


def limits_table() -> Page:
    """What the limit of a step does, simulated."""
    rows, (fewer, more) = [], queued()
    for room in LIMITS:
        seen = settled(room=room)
        rows.append([f"{room:,}", _digits(seen.token.mean), _digits(seen.first.mean, 0), _digits(seen.rare_gap, 0)])
    heads = ("Tokens in a step, at most", "Per token", "To the first", "Gap exceeded once in 1,000")
    split = percent((RUN["prompt"] - (LIMITS[2] - CROWD)) / (RUN["prompt"] * (1 - steady().server.spread)))
    told = paragraph(
        f"At {LIMITS[2]:,} tokens, {split} of the prompts no longer fit into one step beside the users. Each further"
        " part is another step with all its launches. Do not choose this limit with the planner: its formulas take a"
        " mean prompt, which still fits, and miss that. Where a step has room for a single prompt and answers have"
        f" {SHORT} tokens, prompts queue for {pretty(more, 's', 2)} in the simulation, for"
        f" {pretty(fewer, 's', 2)} in the formulas. Shorter parts hardly shorten the longest gaps, because launches, as"
        " fitted, set the least time of a step with any part of a prompt."
    )
    simulated = table("Milliseconds, simulated long after the start", heads, rows)
    return fold("What does the limit of a step do?", simulated + told)


def spreads_table() -> Page:
    """Medians and high percentiles of what the users of a settled server wait for."""
    seen = settled()
    told = {"first token": seen.first, "token, mean of an answer": seen.token, "gap between two tokens": seen.gaps}
    rows = [[name, *(f"{1e3 * time:.3g}" for time in (each.median, each.high))] for name, each in told.items()]
    heads = "Time", "Median", "One in 100 exceeds (p99)"
    return fold("Which percentiles?", table("Milliseconds, simulated long after the start", heads, rows))


# --- constants and errors ---------------------------------------------------------------------------------------------

SEEN = {
    "memory_efficiency": "one user, large model",
    "compute_efficiency": "long prompts, many users",
    "gap_time": "one user, small model, many GPUs",
    "eager_gap": "a short prompt that takes as long as a longer one (none here)",
    "answer_time": "hundreds of users",
    "request_gap": "time to first token of a server without load",
}


def _constant(name: str, value: float, more: int = 0) -> str:
    """A fitted constant as a profiler shows it, with so many more digits."""
    return percent(value, more) if FITTED[name].unit == "1" else pretty(value, "s", 2 + more)


def _meanings() -> Page:
    """What each constant is, and its value in the running case."""
    own = steady().calibration.values
    rows = [
        [
            f"\\({latex(notation.symbol(name))}\\)",
            escape(FITTED[name].description),
            SEEN[name],
            _constant(name, own[name], 1),
        ]
        for name in FITTED
    ]
    return table("The six constants", ("Symbol", "What it is", "Where you see it", "Running case"), rows)


def fitting() -> Page:
    """What the constants are, how they are fitted, and their values by engine, chip and model."""
    symbols = [f"\\({latex(notation.symbol(name))}\\)" for name in FITTED]
    servers = {(run.server.model.name, run.server.engine, run.server.chip.id): run.factors for run in runs()}
    rows = []
    for (model, engine, chip), factors in sorted(servers.items()):
        found = constants_of(FACTORS, factors)
        rows.append([f"{model}, {ENGINES[engine]}, {chip.upper()}", *(_constant(name, found[name]) for name in FITTED)])
    how = paragraph(
        f"The runs cover only {len(MEASURED)} combinations of an engine, a GPU and a kind of model. To say something"
        " about all others, we fit all runs together: each constant is one value for all servers, times a factor for"
        " the kind of model, the model, the generation of GPU, the engine, and the engine with each of these. A factor"
        " moves only where runs call for it. Launching is the CPU’s, so all rows have the same time per launch. Latency"
        " and efficiency of the links are not fitted to these runs: NCCL reaches them on four H200."
    )
    note = paragraph("A value at the limit of 95% is a warning: the formula would like the memory to be faster still.")
    fitted = table("Constants of engines under load", ("Model, engine, chip", *symbols), rows)
    own = lambda kind: percent(over("fitted", kind)["output_token"])
    errors = paragraph(
        f"On the fitted runs themselves, the time per token is off by {own('dense')} for dense models and by"
        f" {own('experts')} for mixtures of experts."
    )
    return Page(_meanings() + how + errors + fitted + note)


TRUST = {  # what is new to the constants: a kind of model, groups of slices, and a verdict
    "dense model, another load or number of GPUs": ("dense", ("concurrency", "chips"), "plan, with a margin"),
    "dense model, another GPU or engine": ("dense", ("chip", "engine"), "a first estimate"),
    "mixture of experts, another load or number of GPUs": ("experts", ("concurrency", "chips"), "a first estimate"),
    "mixture of experts, another GPU, engine or model": ("experts", ("chip", "engine", "model"), "a rough guess"),
}


def trust_table() -> Page:
    """What to trust: mean errors of runs that were held out, and those of the worst slice."""
    rows = [
        [told, *(_both(kind, groups, name) for name in ("output", "first")), verdict]
        for told, (kind, groups, verdict) in TRUST.items()
    ]
    heads = ("Kind of model, and what was left out", "Time per token", "Time to first token", "What it is good for")
    return table("Mean error of the predictions; in brackets, that of the worst slice alone", heads, rows)


def _both(kind: str, groups: tuple[str, ...], name: str) -> str:
    """An error over all slices of some groups, and that of their worst slice."""
    found = [(getattr(each, name), each.rows) for each in slices() if each.kind == kind and each.what in groups]
    mean = sum(error * rows for error, rows in found) / sum(rows for _, rows in found)
    return f"{percent(mean)} ({percent(max(found)[0])})"


def _slice(each: Slice) -> str:
    """What was held out, in words."""
    if each.what == "chips":
        return each.held.replace("chip", "GPU")
    engine, *chip = each.held.removesuffix(f", {each.kind}").split(" on ")
    return " on ".join([ENGINES.get(engine, engine), *map(str.upper, chip)])


def slices_table() -> Page:
    """Every slice that was held out, and runs that are not counted."""
    told = lambda each: f"{percent(each.output)}, {percent(each.first)} ({each.rows})"
    found: dict[str, dict[str, str]] = {}
    for each in slices():
        if each.what != "fitted":
            found.setdefault(_slice(each), {})[each.kind] = told(each)
    rows = [[held, *(errors.get(kind, "none") for kind in KINDS)] for held, errors in found.items()]
    heads = ("Held out", *map(str.capitalize, KINDS.values()))
    count, apart, least, most = drafted()
    r1 = paragraph(
        f"We left out {count} runs, which are neither fitted nor counted: DeepSeek-R1 in TensorRT-LLM on eight H200, in"
        f" the rows that say that experts were dealt out. They write tokens {significant(least, 2)} to"
        f" {significant(most, 2)} times as fast as other runs with the same settings. The benchmark lists these very"
        f" loads with drafted tokens, but the data does not say which runs drafted. There, predictions are"
        f" {percent(apart)} off per token."
    )
    repeats, token, first = repeated()
    again = paragraph(
        f"{repeats} settings of mixtures ran more than once, the data does not say in which versions of the engine."
        f" The slower run takes {percent(token)} longer per token on average, and {percent(first)} longer to the first."
        " No formula of the settings can be right about both."
    )
    large, small, mixtures = (
        percent(offline_error(*models))
        for models in (
            ("llama-3.1-70b", "llama-3.1-405b"),
            ("llama-3.1-8b",),
            ("llama-4-maverick", "qwen3-235b-a22b", "qwen3-30b-a3b"),
        )
    )
    lengths = paragraph(
        "For other lengths we have only throughputs at full load, from TensorRT-LLM. Those of Llama 3.1 70B and 405B"
        f" are off by {large} in the median, those of Llama 3.1 8B by {small}, and those of mixtures by {mixtures}."
    )
    errors = table("Mean absolute errors, per token and to the first, and in brackets the runs", heads, rows)
    return Page(errors + lengths + r1 + again)


GOALS = {  # what was to be reached, set before the equations were: kind of model, time, and mean absolute error
    "Per token, dense": ("dense", "output", 0.10),
    "Per token, mixtures": ("experts", "output", 0.15),
    "First token, dense": ("dense", "first", 0.18),
    "First token, mixtures": ("experts", "first", 0.18),
    "First token with the fewest users, dense": ("dense", "first_few", 0.18),
    "First token with the fewest users, mixtures": ("experts", "first_few", 0.18),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "Load": ("concurrency",),
    "GPU count": ("chips",),
    "GPU": ("chip",),
    "Engine": ("engine",),
    "Model": ("model",),
    "All slices": tuple(ASPECTS),
}


def goals_table() -> Page:
    """The errors of held-out runs beside those that were to be reached."""

    def told(kind: str, name: str, groups: tuple[str, ...]) -> str:
        error, rows = mean_error(kind, name, groups)
        return f"{percent(error, 1)} ({rows})" if rows else "none"

    rows = [
        [what, percent(goal), *(told(kind, name, groups) for groups in GROUPS.values())]
        for what, (kind, name, goal) in GOALS.items()
    ]
    missed = [what for what, (kind, name, goal) in GOALS.items() if mean_error(kind, name, tuple(ASPECTS))[0] > goal]
    rule = paragraph(
        f"Over all slices, {len(GOALS) - len(missed)} of these {len(GOALS)} goals are reached. Those of the first token"
        f" are for runs that do not queue. The data counts a run as queued if its first token takes over {QUEUED:g} s,"
        " and none of these does. More strictly we took, of each server, only the runs with the fewest users. That rule"
        " was chosen before its errors were computed."
    )
    heads = ("Error of", "Goal, at most", *GROUPS)
    caption = "Goals, and mean absolute errors by what was held out; in brackets the predictions"
    return Page(table(caption, heads, rows) + rule)


def second_route() -> str:
    """How far the closed form is from the events at worst, rounded up."""
    pairs = {users: (served(users, SHORT), simulated(users)) for users in USERS}
    off = lambda name, users: abs(getattr(pairs[users][0], name) / getattr(pairs[users][1], name) - 1)
    most = lambda name, some: percent(math.ceil(100 * max(off(name, users) for users in some)) / 100)
    return paragraph(
        f"<strong>Formulas and simulation.</strong> Mean times differ by at most {most('output_token', USERS)} per"
        f" token and {most('first_token', USERS[1:])} to the first token. For a single user, who finds the engine idle,"
        f" it is {most('first_token', USERS[:1])}. Both take the time of a step from the same constants, so this tests"
        " the queueing, not the steps."
    )


def background() -> Page:
    """The constants, every error, the second route and mixtures of experts, folded away."""
    return fold(
        "How are the constants fitted, and how large is each error?",
        fitting() + goals_table() + slices_table() + second_route() + experts(),
    )
