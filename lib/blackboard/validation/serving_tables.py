"""The tables, the folds and the long formulas of the page on a server under load."""

from __future__ import annotations

from html import escape

import sympy

from blackboard import catalogue, notation
from blackboard.notation import latex
from blackboard.page.summary import Page, fold, table
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.calibration import KINDS
from blackboard.prediction.serving_calibration import FITTED, SOFT, constants_of, runs
from blackboard.prediction.serving_constants import FACTORS, MEASURED
from blackboard.prediction.serving_steps import ENGINES, kernels
from blackboard.units import percent, pretty, significant
from blackboard.validation.serving_numbers import (
    CHAT,
    CROWD,
    FEW,
    LETTERS,
    QUEUES,
    RUN,
    SMALL_ROOM,
    causes,
    changes,
    chunks,
    device_seconds,
    first_waits,
    knobs,
    launching,
    offline_error,
    queued,
    served,
    spreads,
    values,
)
from blackboard.validation.serving_slices import Slice, over, slices

_ms = lambda seconds: pretty(seconds, "s", 3)
_digits = lambda seconds, digits=1: f"{1e3 * seconds:,.{digits}f}"  # milliseconds


def equation(*lines: str) -> Page:
    """Lines of mathematics, broken at & so that they fit a phone."""
    body = r" \\ ".join(lines)
    return Page(
        rf"<div>\[\begin{{aligned}} {body} \end{{aligned}}\]</div>",
    )


# --- the running case -------------------------------------------------------------------------------------------------


def causes_table() -> Page:
    """A mean token of the crowd by cause."""
    parts = causes()
    few, more = parts["few"], CROWD - FEW
    extra = served(CROWD).output_token - few
    told = {
        "answers": f"sampling and sending {more} more tokens",
        "cache": f"loading {more} more KV caches",
        "links": "longer messages between the GPUs",
        "prompts": "waiting for more prompts",
    }
    rows = [[f"with {FEW} users", _digits(few), "none"]]
    rows += [[f"+ {text}", _digits(parts[name]), percent(parts[name] / extra)] for name, text in told.items()]
    rows.append([f"<strong>with {CROWD} users</strong>", _digits(few + extra), "all"])
    return table("The time per output token by cause, calculated", ("Cause", "ms", "Share of the extra time"), rows)


def case_table() -> Page:
    """All that the running case is, in one place."""
    server = served(CROWD).server
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
        [r"users \(N\)", f"{CROWD}, who start in the same moment"],
        [r"requests of each user \(w\)", f"{server.requests:.0f}, one after the other"],
        [r"prompts \(I\), answers \(O\)", drawn],
        ["room for prompts in a step", f"{server.step_tokens:,.0f} tokens: {server.plan['at_once']} prompts"],
    ]
    return table("The running case", ("What", "Value"), rows)


def chunks_table() -> Page:
    """A prompt longer than the room of a step, taken in by parts."""
    sent = {0: "A, B", 1: "A, B, and C’s first", 2: "A, B, C"}
    rows = [
        [str(place), ", ".join("ABC"[: step.decoding]), step.letters or "none left", sent[step.sent]]
        for place, step in enumerate(chunks(), 1)
    ]
    heads = ("Step", "Decode", "Prompt of C", "Tokens sent to")
    caption = f"Steps with room for {SMALL_ROOM} tokens, and a prompt of {len(LETTERS)}: {LETTERS}"
    return table(caption, heads, rows)


Line = tuple[str, str, str, str]  # name, formula, the sum, its result


def by_hand(caption: str, lines: list[Line]) -> Page:
    """Sums of the running case, line by line."""
    cells = [[f"{name}<br>\\({formula}\\)", work, result] for name, formula, work, result in lines]
    return table(caption, ("Quantity", "With a calculator, times in ms", "Result"), cells)


def mixed(share: float) -> str:
    """The mean step as a sum."""
    v = values()
    return f"{1 - share:.4f} × {_digits(v['decode_step'], 2)} + {share:.4f} × {_digits(v['prompt_step'], 2)}"


def token_sums() -> Page:
    """From prompts to the time per output token."""
    v = values()
    share, others, last = v["prompt_share"], f"{v['others_prompts']:.4f}", 1 - 1 / (2 * v["requests_per_user"])
    every, length = f"{v['prompts_per_step']:.4f}", f"{v['output_length']:.1f}"
    clump, taken = f"{v['clumping'] * v['prompts_per_step']:.4f}", f"{v['prompts_taken']:.2f}"
    lines = [
        ("prompts per step", "q", f"{CROWD} / {length}", every),
        ("prompts of others", r"q_\mathrm{others}", f"{CROWD - 1} / {length} × {last:.2f}", others),
        ("prompts per step, in a clump", r"z_\mathrm{clump}\,q", f"{v['clumping']:.2f} × {every}", clump),
        ("prompts that share a step", "g", f"{clump} / (1 − e<sup>−{clump}</sup>)", taken),
        ("share of the steps with a prompt", "p", f"{others} / {taken}", f"{share:.4f}"),
        ("time per output token", r"t_\mathrm{out}", mixed(share), f"{_digits(v['output_token'])} ms"),
    ]
    return by_hand("From prompts to tokens", lines)


def wait_sums() -> Page:
    """The time to first token, of later requests, of first ones and on average."""
    v, wait = values(), first_waits()
    later, opening = _digits(wait["later"]), _digits(wait["opening"], 0)
    run, queue, pre = (_digits(v[name], 2) for name in ("running_step", "t_queue", "prompt_step"))
    full = f"{_digits(v['burst_step'], 0)} × ({v['burst_groups']} + 1) / 2"
    rare = 1 / v["requests_per_user"]
    mean = f"{1 - rare:.1f} × {later} + {rare:.1f} × {opening} + {_digits(v['before'])}"
    sum = r"t_\mathrm{run} + t_\mathrm{queue} + t_\mathrm{pre}"
    lines = [
        ("the step under way", r"t_\mathrm{run}", mixed(v["clumping"] * v["prompt_share"]), f"{run} ms"),
        ("a later request, in the engine", sum, f"{run} + {queue} + {pre}", f"{later} ms"),
        ("a user’s first request, in the engine", r"t_\mathrm{burst}\,(G+1)/2", full, f"{opening} ms"),
        ("time to first token, mean", r"t_\mathrm{first}", mean, f"{_digits(v['first_token'], 0)} ms"),
    ]
    return by_hand("From steps to the first token", lines)


def rate_sums() -> Page:
    """The time of a request, and what the server answers and earns."""
    v, crowd, gpus = values(), served(CROWD), RUN["chips"]
    assert crowd.rent and crowd.usd_per_mtok
    rest, whole = f"{v['output_length'] - 1:.1f} × {_digits(v['output_token'], 2)}", f"{v['t_response']:.2f} s"
    rate, length, prompt = f"{v['request_rate']:.3f}", f"{v['output_length']:.1f}", f"{v['prompt_length']:.1f}"
    stay, each, rent = r"t_\mathrm{first} + (O-1)\,t_\mathrm{out}", f"X\\,O/{gpus}", crowd.rent.usd_per_chip_hour
    paid = f"1,000,000 × {gpus} × {rent:.2f} / 3,600 / ({rate} × ({prompt} + {length}))"
    price, cost = f"price of a million tokens, at ${rent:.2f} per GPU and hour", f"${crowd.usd_per_mtok:.3f}"
    lines = [
        ("time of a request, \\(T\\)", stay, f"{_digits(v['first_token'], 0)} + {rest}", whole),
        ("requests per second, \\(X\\)", "N/T", f"{CROWD} / {whole}", rate),
        ("tokens per second and GPU", each, f"{rate} × {length} / {gpus}", f"{crowd.tokens_per_s_per_chip:.0f}"),
        (price, r"\text{rent}/X\,(I+O)", paid, cost),
    ]
    return by_hand("From a request to the price", lines)


MEANINGS = {  # symbols of the running case in the order of the page, with the unit they are shown in
    "concurrency": "users",
    "requests_per_user": "requests of each user",
    "prompt_length": "tokens of a prompt, mean",
    "output_length": "tokens of an answer, mean",
    "decode_step": "step that only decodes",
    "prompt_step": "step with a prompt in it",
    "prompts_per_step": "prompts that come in during a step",
    "others_prompts": "the same, of others",
    "clumping": "how much more densely prompts come in a clump",
    "prompts_taken": "prompts that share a step",
    "prompt_share": "share of the steps with a prompt",
    "output_token": "time per output token",
    "running_step": "step under way when a prompt comes",
    "held_steps": "steps for which a prompt is held back",
    "t_queue": "wait for other prompts",
    "burst_step": "step full of prompts, at the start",
    "burst_groups": "such steps until every user has one",
    "first_token": "time to first token, mean",
    "t_response": "time of a request",
    "request_rate": "requests per second",
}


def symbols_table() -> Page:
    """Every symbol of the running case with its value, folded away."""
    v = values()
    shown = lambda name: (
        f"{v[name]:,.4g}"
        if notation.lookup(name).unit != "s"
        else f"{1e3 * v[name]:.3g} ms"
        if v[name] < 1
        else f"{v[name]:.3g} s"
    )
    rows = [[f"\\({latex(notation.symbol(name))}\\)", escape(text), shown(name)] for name, text in MEANINGS.items()]
    every = table("Every symbol of the running case", ("Symbol", "Meaning", "Value"), rows)
    return fold("What does each letter stand for, and what is its value?", every)


# --- steps ------------------------------------------------------------------------------------------------------------


def device_step() -> Page:
    """A step's time on the device with its constants, a line for each kind of work."""
    terms = sympy.Add.make_args(eq.device_time.typed)
    part = lambda *symbols: sum(t for t in terms if t.free_symbols & {*symbols})
    rows = [
        part(eq.shared_read),
        part(eq.expert_read),
        part(eq.cache_read),
        part(eq.prompt_attend),
        part(eq.link_busy),
        part(eq.collectives),
        part(eq.captured),
    ]
    return equation(f"{latex(eq.device_time.symbol)} &= {latex(rows[0])}", *(f"&+ {latex(row)}" for row in rows[1:]))


def whole_step() -> Page:
    """A step's time with the host's."""
    device = eq.device_time.symbol
    longer, sent = eq.mixed_time.typed.xreplace({eq.device_time.typed: device}).as_two_terms()
    if longer.has(eq.answers):
        longer, sent = sent, longer
    return equation(f"{latex(eq.mixed_time.symbol)} &= {latex(longer)}", f"&+ {latex(sent)}")


def step_sums() -> dict[str, str]:
    """What takes the time in a step, as a sum that can be done by hand."""
    server, known = served(CROWD).server, served(CROWD).calibration.values
    chip, plan, gpus = server.chip, server.plan, server.layout.tensor
    context = eq.mean_context(prompt_length=server.prompt, output_length=server.output)
    loaded = lambda name: plan["decode"][name] * gpus * chip.bandwidth
    sent = plan["decode"]["link_busy"] * chip.scale_up.bytes_per_s / plan["decode"]["collectives"] / CROWD
    attended = plan["prompt"]["prompt_attend"] / plan["prompts_taken"] * gpus * chip.flops("bf16")
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
        "products": f"2 FLOPs × ({common / 1e9:.1f} billion × tokens + {head / 1e9:.1f} billion × sent)"
        f" / {rate('fp8')}",
        "cache": f"{CROWD} × {context:,.0f} tokens × {each} / {together}",
        "attention": f"{attended / 1e12:.2f} TFLOP a prompt in BF16 / {rate('bf16')}",
        "links": f"{exchanges} × (tokens × {sent / 1e3:.1f} kB / {link} + {latency})",
        "gaps": f"{launches} {known['gap_time'] * 1e6:.2f} µs",
        "launching": f"{launches} {known['eager_gap'] * 1e6:.1f} µs",
        "answers": f"{counts} sent × {known['answer_time'] * 1e6:.1f} µs",
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
    """The steps of the running case by what takes the time, with sums that can be redone."""
    plan, times, sums, tokens = served(CROWD).server.plan, served(CROWD)._times, step_sums(), step_tokens()
    steps = [plan[name] for name in tokens]
    part = lambda names: [device_seconds(dict.fromkeys(s, 0.0) | {n: s[n] for n in names}) for s in steps]
    device, whole, launched = [device_seconds(s) for s in steps], [times[s] for s in tokens], launching()
    launches = [launched if step["launched"] else 0.0 for step in steps]
    row = lambda name, sum, cells: [name, *map(_digits, cells), sum]
    rows = [row(text, sums[name], part(names)) for name, (text, names) in WORK.items()]
    all_jobs, longer = "the longer of the first two, and the rest", "the longer of GPU and launches, and sending"
    rows.append(row("<strong>all on the GPU</strong>", all_jobs, device))
    rows.append(row("launches by the CPU, meanwhile", sums["launching"], launches))
    sent = [w - max(d, h) for w, d, h in zip(whole, device, launches)]
    rows.append(row("sampling and sending", sums["answers"], sent))
    rows.append(row("<strong>the step</strong>", longer, whole))
    names = ("Decode only", "With prompts")
    heads = ("Work", *(f"{name}, {each:,.0f} tokens" for name, each in zip(names, tokens.values())), "How")
    return table("Milliseconds of a step", heads, rows)


def step_tokens() -> dict[str, float]:
    """The tokens of each kind of step."""
    v = values()
    return {"decode": CROWD, "prompt": CROWD + v["prompts_taken"] * v["prompt_length"]}


# --- prompts and waits ------------------------------------------------------------------------------------------------

paragraph = lambda text: f"<p>{text}</p>"


def clumps() -> Page:
    """How much more densely prompts come in a benchmark, folded away."""
    told = paragraph(
        "All users start at once. So their first answers end at about the same time, and so do their second ones and"
        " all that follow, each time a little further apart. Lengths are drawn between \\(s\\,\\ell\\) and"
        f" \\(\\ell\\), here {served(CROWD).server.spread} × {CHAT:,} and {CHAT:,}. So the first answers end within"
        " \\((1-s)\\,\\ell\\) steps. The time at which a user’s \\(j\\)-th answer ends is a sum of \\(j\\) such"
        " lengths. The spread of a sum grows as the root of the number of its terms, so the \\(j\\)-th answers end"
        " within \\((1-s)\\,\\ell\\,\\sqrt{j}\\) steps."
    )
    dense = paragraph(
        "Each user sends one prompt in that window. Over a whole run, a user sends one prompt per mean answer, which"
        " takes \\((1+s)\\,\\ell/2\\) steps. So in the window prompts come"
        " \\(\\frac{1+s}{2\\,(1-s)\\sqrt{j}}\\) times as densely. The mean of \\(1/\\sqrt{j}\\) from \\(j=1\\) to"
        " \\(w-1\\) is \\(2/(1+\\sqrt{w-1})\\), if we take an integral for the sum. That gives"
    )
    v = values()
    s = v["least_share"]
    sum = f"(1 + {s}) / (1 − {s}) / (1 + √{v['requests_per_user'] - 1:.0f}) = {v['clumping']:.2f}"
    return fold(
        "Where do the clumps come from?", told + dense + equation(eq.clumping.latex) + paragraph(f"Here: {sum}.")
    )


def taken() -> Page:
    """Prompts that share a step, by what comes in a clump."""
    rate = sympy.Mul(notation.symbol("clumping"), notation.symbol("prompts_per_step"), evaluate=False)
    return equation(f"g &= {latex(eq.taken_together.expr.xreplace({eq.coming: rate}))}")


def running() -> Page:
    """The step under way when a prompt comes."""
    share, as_written = notation.symbol("clumping") * eq.prompt_share, {"evaluate": False}
    short = sympy.Mul(sympy.Add(1, -share, **as_written), eq.decode_step, **as_written)
    mean = sympy.Add(short, sympy.Mul(share, eq.prompt_step, **as_written), **as_written)
    assert (mean - eq.mixed_token.typed.xreplace({eq.prompt_share: share})).simplify() == 0
    return equation(f"{latex(eq.running_step)} &= {notation.typeset(mean)}")


def experts() -> Page:
    """What a mixture of experts changes in a step, folded away."""
    places, tokens, moe = 8, CROWD, catalogue.model("deepseek-r1").moe
    assert moe is not None
    mean = tokens * moe.active / places
    most = eq.busiest(places=places, mean_load=mean, spread_load=mean * (1 - 1 / places))
    told = [
        paragraph(
            "<strong>Half-empty tiles.</strong> A router sends each of \\(T_\\mathrm{step}\\) tokens to \\(k\\) of"
            " \\(n_\\mathrm{exp}\\) experts. Tensor cores multiply whole tiles of \\(n_\\mathrm{tile}\\) rows, and the"
            " last tile of an expert is half empty on average. So every expert that some token chose, a share"
            " \\(c_\\mathrm{touched}\\) of them, multiplies half a tile of empty rows:"
        ),
        equation(eq.padded_rows.latex),
        paragraph(
            f"<strong>The busiest GPU.</strong> If the experts are dealt out over {places} GPUs, all wait for the one"
            f" with the most work. If {tokens} tokens choose {moe.active} experts each at random, it has"
            f" {significant(most, 3)} times the mean of {mean:.0f}. Real routers are less fair than random draws, which"
            " is one reason why mixtures have larger errors."
        ),
    ]
    return fold("What if the model is a mixture of experts?", "".join(told))


def first_lines() -> list[sympy.Expr]:
    """The terms of the mean time to first token: later requests, first ones, and what comes before the engine."""
    w, as_written = eq.requests_per_user, {"evaluate": False}
    sum = sympy.Add(
        eq.running_step, notation.symbol("t_queue"), eq.prompt_step, eq.held_steps * eq.output_token, **as_written
    )
    later = sympy.Mul(sympy.Add(1, -1 / w, **as_written), sum, **as_written)
    first = sympy.Mul(eq.burst_step, sympy.Add(eq.burst_groups, 1, **as_written) / (2 * w), **as_written)
    return [later, first, eq.captured * eq.request_gap]


def first_token() -> Page:
    """The mean time to first token, a line for each kind of request."""
    lines = [notation.typeset(line) for line in first_lines()]
    return equation(rf"t_\mathrm{{first}} &= {lines[0]}", *(f"&+ {line}" for line in lines[1:]))


def queue() -> Page:
    """The wait for other prompts, derived and held against the simulation, folded away."""
    derived = paragraph(
        "Suppose that a step takes in one prompt, that prompts come at random, and that they keep the engine busy for"
        " a share \\(\\rho\\) of the time. With the chance \\(\\rho\\) you find one in work, half done on average. And"
        " you wait for those that came before you and are not in work yet: by Little’s law \\(X\\,t_\\mathrm{queue}\\)"
        " of them, each for \\(t_\\mathrm{pre}\\), where \\(X\\,t_\\mathrm{pre}\\) is \\(\\rho\\). So"
        " \\(t_\\mathrm{queue} = \\rho\\,t_\\mathrm{pre}/2 + \\rho\\,t_\\mathrm{queue}\\), or"
    )
    v = values()
    room = served(CROWD).server.plan["at_once"]
    load = f"{v['prompt_share']:.4f} × ({_digits(v['prompt_step'])} − {_digits(v['decode_step'])})"
    told = paragraph(
        "For \\(\\rho\\) we count only what prompts add to a step, and divide by the room for them:"
        f" {load} / {_digits(v['output_token'])} / {room} = {v['prompt_busy']:.3f}. That is a choice, and a crude"
        " one. It agrees with the simulation in one case of these four. (With room for one prompt, \\(g=1\\), and"
        " \\(p\\) and \\(t_\\mathrm{pre}\\) change with it.)"
    )
    rows = [
        [f"{room} prompt{'s' * (room > 1)}, answers up to {output:,}", *map(_digits, queued(output, room))]
        for output, room in QUEUES
    ]
    heads = ("Room in a step", "Formula", "Simulation")
    worked = table("Wait for other prompts in ms", heads, rows)
    return fold(
        "What if more prompts wait than a step has room for?", derived + equation(eq.queue_time.latex) + told + worked
    )


def changes_table() -> Page:
    """What would make a token faster, and what it does to throughput."""
    rows = [[what, *map(_digits, (few, crowd, crowd - few))] for what, few, crowd in changes()]
    heads = ("Server", f"{FEW} users", f"{CROWD} users", "Difference")
    return table("Milliseconds per token on another GPU or engine", heads, rows)


def knobs_table() -> Page:
    """What the settings do that are one's own."""
    rows = [[what, _digits(token), _digits(first, 0), f"{rate:,.0f}"] for what, token, first, rate in knobs()]
    heads = ("What you change", "ms per token", "ms to the first", "Tokens/s per GPU")
    return table("Your own settings, on a server that has run for long", heads, rows)


def spreads_table() -> Page:
    """Means, medians and high percentiles of the simulated running case."""
    rows = [
        [name, *(f"{1e3 * time:,.3g}" if time < 1 else f"{1e3 * time:,.0f}" for time in each)]
        for name, each in spreads().items()
    ]
    return table("Milliseconds of the simulated running case", ("Time", "Mean", "Median", "p99"), rows)


# --- constants and errors ---------------------------------------------------------------------------------------------

SEEN = {
    "memory_efficiency": "one user, large model",
    "compute_efficiency": "long prompts, many users",
    "gap_time": "one user, small model, many GPUs",
    "eager_gap": "a short prompt that takes as long as a longer one",
    "answer_time": "hundreds of users",
    "request_gap": "time to first token of a server without load",
}


def _constant(name: str, value: float, more: int = 0) -> str:
    """A fitted constant as a profiler shows it, with so many more digits."""
    return percent(value, more) if FITTED[name].unit == "1" else pretty(value, "s", 2 + more)


def meanings() -> Page:
    """What each constant is, and its value in the running case."""
    own = served(CROWD).calibration.values
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
    """How the constants are fitted, and their values by engine, chip and model, folded away."""
    symbols = [f"\\({latex(notation.symbol(name))}\\)" for name in FITTED]
    servers = {(run.server.model.name, run.server.engine, run.server.chip.id): run.factors for run in runs()}
    rows = []
    for (model, engine, chip), factors in sorted(servers.items()):
        found = constants_of(FACTORS, factors)
        rows.append([f"{model}, {ENGINES[engine]}, {chip.upper()}", *(_constant(name, found[name]) for name in FITTED)])
    how = paragraph(
        f"The runs cover only {len(MEASURED)} combinations of an engine, a GPU and a kind of model. To say something"
        " about all the others, we fit all runs together. Each constant is one value for all servers, times a factor"
        " for each group that the server belongs to: its kind of model, its model, its engine, its generation of GPU,"
        " and its engine together with each of the other three. A group without runs has the factor one."
    )
    price = paragraph(
        f"The fit minimizes a sum with a term for each run’s error, divided by {SOFT}, and one for each factor’s"
        f" logarithm, divided by {FITTED['gap_time'].ease}. A term is the square while it is small, and grows only in"
        " proportion when it is large. So a factor moves only where runs call for it. For the time before a request’s"
        f" first step we divide by {FITTED['request_gap'].ease}, because engines differ most in it. The time to launch"
        " a kernel is a property of the CPU, so it has no factors."
    )
    note = paragraph("A value at the limit of 95% is a warning: the formula would like the memory to be faster still.")
    fitted = table("Constants of engines under load", ("Model, engine, chip", *symbols), rows)
    return fold("How are they fitted, and what comes out for each engine?", how + price + fitted + note)


TRUST = {  # kind of model and group of slices: what is new to the constants, and a verdict
    ("dense", "concurrency"): ("dense model, another load", "trust both"),
    ("dense", "chip"): ("dense model, the engine on another GPU", "trust the time per token"),
    ("dense", "engine"): ("dense model, another engine", "a first estimate"),
    ("experts", "concurrency"): ("mixture, another load", "a first estimate"),
    ("experts", "chip"): ("mixture, the engine on another GPU", "a rough guess"),
    ("experts", "model"): ("another mixture", "a rough guess"),
}


def trust_table() -> Page:
    """What to trust: mean errors of runs that were held out, and those of the worst slice; and of other lengths."""
    rows = [
        [told, _both(what, kind, "output"), _both(what, kind, "first"), verdict]
        for (kind, what), (told, verdict) in TRUST.items()
    ]
    for name, ids, verdict in LENGTHS:
        rows.append([f"{name}: throughput at full load, other lengths", offline_error(*ids), "no data", verdict])
    heads = ("What is new to the constants", "Per token", "First token", "Verdict")
    return table("Mean errors, and in brackets those of the worst slice; of throughputs, the median", heads, rows)


LENGTHS = (
    ("Llama 3.1 70B and 405B", ("llama-3.1-70b", "llama-3.1-405b"), "trust"),
    ("Llama 3.1 8B and Llama 4 Maverick", ("llama-3.1-8b", "llama-4-maverick"), "do not trust"),
)


def _both(what: str, kind: str, name: str) -> str:
    """An error over all slices of a group, and that of its worst slice."""
    worst = max(getattr(each, name) for each in slices() if (each.what, each.kind) == (what, kind))
    return f"{percent(over(what, kind)[f'{name}_token'])} ({percent(worst)})"


def _slice(each: Slice) -> str:
    """What was held out, in words."""
    if each.what == "chips":
        return each.held.replace("chip", "GPU")
    engine, *chip = each.held.removesuffix(f", {each.kind}").split(" on ")
    return " on ".join([ENGINES.get(engine, engine), *map(str.upper, chip)])


def slices_table() -> Page:
    """Every slice that was held out, folded away."""
    rows = [
        [
            _slice(each),
            KINDS[each.kind],
            str(each.rows),
            percent(each.output),
            percent(each.first),
        ]
        for each in slices()
    ]
    heads = ("Held out", "Models", "Runs", "Per token", "First token")
    return fold("Every slice, with its mean errors", table("Mean absolute errors of each slice", heads, rows))
