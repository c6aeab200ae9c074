"""The tables, the folds and the long formulas of the page on a server under load."""

from __future__ import annotations

from html import escape

import sympy

from blackboard import notation
from blackboard.notation import latex
from blackboard.page.summary import Page, fold, table
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.calibration import KINDS
from blackboard.prediction.serving_calibration import FITTED, constants_of, runs
from blackboard.prediction.serving_constants import FACTORS
from blackboard.prediction.serving_steps import ENGINES, kernels
from blackboard.units import percent, pretty, significant
from blackboard.validation.serving_numbers import (
    CHAT,
    CROWD,
    FEW,
    LETTERS,
    ROOMS,
    RUN,
    SHORT,
    SMALL_ROOM,
    causes,
    changes,
    chunks,
    device_seconds,
    first_waits,
    launching,
    offline_error,
    queued,
    served,
    spreads,
    values,
)
from blackboard.validation.serving_slices import over, slices

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


def hand_table() -> Page:
    """The running case worked by hand, line by line."""
    cells = [
        [f"{name}<br>\\({formula}\\)", work, result]
        for name, formula, work, result in (*token_lines(), *wait_lines(), *rate_lines())
    ]
    return table("The running case by hand", ("Quantity", "With a calculator, times in ms", "Result"), cells)


Line = tuple[str, str, str, str]  # name, formula, the sum, its result


def mixed(share: float) -> str:
    """The mean step as a sum."""
    v = values()
    return f"{1 - share:.4f} × {_digits(v['decode_step'])} + {share:.4f} × {_digits(v['prompt_step'])}"


def token_lines() -> list[Line]:
    """From prompts to the time per output token."""
    v = values()
    share, others, last = v["prompt_share"], f"{v['others_prompts']:.4f}", 1 - 1 / (2 * v["requests_per_user"])
    come = f"{CROWD - 1} / {v['output_length']:.1f} × {last:.2f}"
    return [
        ("prompts of others, per step", r"q_\mathrm{others}", come, others),
        ("steps that take in a prompt", "p", f"{others} / {v['prompts_taken']:.2f}", f"{share:.4f}"),
        ("time per output token", r"t_\mathrm{out}", mixed(share), f"{_digits(v['output_token'])} ms"),
    ]


def wait_lines() -> list[Line]:
    """The time to first token, of later requests, of first ones and on average."""
    v, wait = values(), first_waits()
    later, opening = _digits(wait["later"]), _digits(wait["opening"], 0)
    run, queue, pre = (_digits(v[name]) for name in ("running_step", "t_queue", "prompt_step"))
    full = f"{_digits(v['burst_step'], 0)} × ({v['burst_groups']} + 1) / 2"
    rare = 1 / v["requests_per_user"]
    mean = f"{1 - rare:.1f} × {later} + {rare:.1f} × {opening} + {_digits(v['before'])}"
    sum = r"t_\mathrm{run} + t_\mathrm{queue} + t_\mathrm{pre}"
    return [
        ("the step under way", r"t_\mathrm{run}", mixed(v["clumping"] * v["prompt_share"]), f"{run} ms"),
        ("a later request, in the engine", sum, f"{run} + {queue} + {pre}", f"{later} ms"),
        ("a user’s first request, in the engine", r"t_\mathrm{burst}\,(G+1)/2", full, f"{opening} ms"),
        ("time to first token, mean", r"t_\mathrm{first}", mean, f"{_digits(v['first_token'], 0)} ms"),
    ]


def rate_lines() -> list[Line]:
    """The time of a request, and requests per second."""
    v = values()
    rest, whole = f"{v['output_length'] - 1:.1f} × {_digits(v['output_token'], 2)}", f"{v['t_response']:.2f} s"
    stay = r"t_\mathrm{first}\) \(+\,(O-1)\,t_\mathrm{out}"
    return [
        ("time of a request, \\(T\\)", stay, f"{_digits(v['first_token'], 0)} + {rest}", whole),
        ("requests per second, \\(X\\)", "N/T", f"{CROWD} / {whole}", significant(v["request_rate"], 3)),
    ]


MEANINGS = {  # symbols of the running case in the order of the page, with the unit they are shown in
    "concurrency": "users",
    "requests_per_user": "requests of each user",
    "prompt_length": "tokens of a prompt, mean",
    "output_length": "tokens of an answer, mean",
    "nominal_length": "the longest length drawn",
    "least_share": "the shortest, divided by the longest",
    "decode_step": "step that only decodes",
    "prompt_step": "step with a prompt in it",
    "prompts_per_step": "prompts that come in during a step",
    "others_prompts": "the same, of others",
    "clumping": "how much more densely prompts come in a clump",
    "coming": "prompts between two looks at the queue, in a clump",
    "taken_together": "prompts that a step would take in, if any wait",
    "prompts_taken": "prompts that it takes in, with the room it has",
    "prompt_share": "share of the steps with a prompt",
    "output_token": "time per output token",
    "running_step": "step under way when a prompt comes",
    "held_steps": "steps for which a prompt is held back",
    "prompt_busy": "load of the queue, divided by the room",
    "t_queue": "wait for other prompts",
    "burst_step": "step full of prompts, at the start",
    "burst_groups": "such steps until every user has one",
    "first_token": "time to first token, mean",
    "t_response": "time of a request",
    "request_rate": "requests per second",
}


def symbols_table() -> Page:
    """Every symbol of the running case with its value."""
    v = values()
    shown = lambda name: (
        f"{v[name]:,.4g}"
        if notation.lookup(name).unit != "s"
        else f"{1e3 * v[name]:.3g} ms"
        if v[name] < 1
        else f"{v[name]:.3g} s"
    )
    rows = [[f"\\({latex(notation.symbol(name))}\\)", escape(text), shown(name)] for name, text in MEANINGS.items()]
    return table("Every symbol of the running case", ("Symbol", "Meaning", "Value"), rows)


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
    attended = plan["burst"]["prompt_attend"] / plan["at_once"] * gpus * chip.flops("bf16")
    memory, compute = (percent(known[f"{name}_efficiency"], 1) for name in ("memory", "compute"))
    together = f"({gpus} × {chip.bandwidth / 1e12:.1f} TB/s) / {memory}"
    rate = lambda format: f"({gpus} × {chip.flops(format) / 1e12:,.0f} TFLOP/s) / {compute}"
    link = f"{chip.scale_up.bytes_per_s / 1e9:.0f} GB/s / {percent(known['link_efficiency'])}"
    each = f"{loaded('cache_read') / CROWD / context / 1e3:.0f} kB"
    exchanges, latency = f"{plan['decode']['collectives']:.0f}", f"{known['link_latency'] * 1e6:.2f} µs"
    launches = f"{kernels(server.model)} kernels ×"
    common, head = server.layout.common, server.layout.head * chip.flops("fp8") / chip.flops("bf16")
    counts = ", ".join(f"{plan[name]['answers']:.0f}" for name in ("decode", "prompt", "burst"))
    return {
        "loading": f"{loaded('shared_read') / 1e9:.1f} GB / {together}",
        "products": f"2 FLOPs × ({common / 1e9:.1f} billion × tokens + {head / 1e9:.1f} billion × sent)"
        f" / {rate('fp8')}",
        "cache": f"{CROWD} (at the start {CROWD // 2}) × {context:,.0f} tokens × {each} / {together}",
        "attention": f"{attended / 1e12:.2f} TFLOP a prompt in BF16 / {rate('bf16')}",
        "links": f"{exchanges} × (tokens × {sent / 1e3:.1f} kB / {link} + {latency})",
        "gaps": f"{launches} {known['gap_time'] * 1e6:.2f} µs",
        "launching": f"{launches} {known['eager_gap'] * 1e6:.1f} µs",
        "answers": f"{counts} sent × {known['answer_time'] * 1e6:.1f} µs",
    }


WORK = {  # of a step on the device: what is shown, its term, and its values
    "loading": ("loading the weights", r"r_\mathrm{shared}/\eta_m", ("shared_read",)),
    "products": ("products with the weights, meanwhile", r"m_\mathrm{shared}/\eta_c", ("shared_multiply",)),
    "cache": ("loading the KV caches", r"r_\mathrm{cache}/\eta_m", ("cache_read", "cache_multiply")),
    "attention": ("prompts’ own attention", r"m_\mathrm{prompt}/\eta_c", ("prompt_attend",)),
    "links": (
        "messages",
        r"v_\mathrm{links}/\eta_\ell + n_\mathrm{coll}\,\alpha_\ell",
        ("link_busy", "collectives"),
    ),
    "gaps": ("pauses between kernels", r"n_\mathrm{kernel}\,t_\mathrm{gap}", ("captured",)),
}


def parts_table() -> Page:
    """The steps of the running case by what takes the time, with sums that can be redone."""
    plan, times, sums, tokens = served(CROWD).server.plan, served(CROWD)._times, step_sums(), step_tokens()
    steps = [plan[name] for name in tokens]
    part = lambda names: [device_seconds(dict.fromkeys(s, 0.0) | {n: s[n] for n in names}) for s in steps]
    device, whole, launched = [device_seconds(s) for s in steps], [times[s] for s in tokens], launching()
    launches = [launched if step["launched"] else 0.0 for step in steps]
    row = lambda name, term, sum, cells: [f"{name}<br>\\({term}\\)", *map(_digits, cells), sum]
    rows = [row(text, term, sums[name], part(names)) for name, (text, term, names) in WORK.items()]
    all_jobs, longer = "the longer of the first two, and the rest", "the longer of GPU and launches, and sending"
    rows.append(row("<strong>all on the GPU</strong>", r"t_\mathrm{device}", all_jobs, device))
    launch, send = r"n_\mathrm{launch}\,t_\mathrm{eager}", r"n_\mathrm{answer}\,t_\mathrm{answer}"
    rows.append(row("launches by the CPU, meanwhile", launch, sums["launching"], launches))
    sent = [w - max(d, h) for w, d, h in zip(whole, device, launches)]
    rows.append(row("sampling and sending", send, sums["answers"], sent))
    rows.append(row("<strong>the step</strong>", r"t_\mathrm{mixed}", longer, whole))
    names = ("Decode only", "With a prompt", f"{plan['at_once']} prompts")
    heads = ("Work", *(f"{name}, {each:,.0f} tokens" for name, each in zip(names, tokens.values())), "How")
    return table("Milliseconds of a step", heads, rows)


def step_tokens() -> dict[str, float]:
    """The tokens of each kind of step; when the benchmark starts, half of the users decode already."""
    v, room = values(), served(CROWD).server.plan["at_once"]
    length = v["prompt_length"]
    return {"decode": CROWD, "prompt": CROWD + v["prompts_taken"] * length, "burst": CROWD / 2 + room * length}


# --- prompts and waits ------------------------------------------------------------------------------------------------

paragraph = lambda text: f"<p>{text}</p>"


def clumps() -> Page:
    """How much more densely prompts come in a benchmark, folded away."""
    told = paragraph(
        "All users start at once, so their answers end at about the same time, and so do all that follow, further and"
        " further apart. Lengths are drawn between \\(s\\,\\ell\\) and \\(\\ell\\), so the first answers end within"
        " \\((1-s)\\,\\ell\\) steps. Random differences add up as the root of their number: the \\(k\\)-th answers end"
        " within \\(\\sqrt{k}\\) times as many. In that window each user sends one prompt. On average one takes a mean"
        " answer, \\((1+s)\\,\\ell/2\\) steps, so prompts come \\(\\frac{1+s}{2\\,(1-s)\\sqrt{k}}\\) times as densely."
        " The mean of \\(1/\\sqrt{k}\\) from \\(k=1\\) to \\(w-1\\) is \\(2/(1+\\sqrt{w-1})\\), as an integral."
    )
    return fold("Where the clumps come from", told + equation(eq.clumping.latex))


def engines() -> Page:
    """What other engines and mixtures of experts change, folded away."""
    told = [
        paragraph(
            "<strong>Stalled decoding.</strong> SGLang’s default stops decoding while it processes prompts. A token"
            " then costs a step, and its share of everybody’s prompts:"
        ),
        equation(eq.stalled_token.latex),
        paragraph(
            "<strong>Memory.</strong> What the weights leave of the engine’s share \\(x_\\mathrm{room}\\) of the memory"
            " holds sequences, each with its prompt and, on average, half of its answer:"
        ),
        equation(eq.mean_context.latex),
        equation(eq.held_sequences.latex),
        paragraph(held_sum()),
        paragraph(
            "<strong>Experts.</strong> All \\(n_\\mathrm{places}\\) GPUs wait for the one with the largest load"
            " \\(x\\). Each of \\(T_\\mathrm{step}\\) tokens chooses \\(k\\) of \\(n_\\mathrm{exp}\\) experts, and a"
            " share \\(c_\\mathrm{touched}\\) is chosen at all. Tensor cores multiply whole tiles of"
            " \\(m_\\mathrm{tile}\\) rows, so each of these pays for half an empty tile. Real routers are less fair"
            " than independent draws, which is one reason why mixtures have larger errors."
        ),
        equation(eq.busiest.latex),
        equation(eq.padded_rows.latex),
    ]
    return fold("Other engines, full memory, and mixtures of experts", "".join(told))


def held_sum() -> str:
    """The running case's sequences in memory, as a sum."""
    server = served(CROWD).server
    context = eq.mean_context(prompt_length=server.prompt, output_length=server.output)
    each, held = server.layout.cache_per_chip(1, context, server.cache), sum(server.weights_per_chip.values())
    sum_ = (
        f"({server.settings.room} × {server.chip.hbm_bytes / 1e9:.0f} GB − {held / 1e9:.1f} GB) / {each / 1e6:.1f} MB"
    )
    return f"On our server that is {sum_} = {server.fits:,.0f}. (A table of embeddings counts among the weights.)"


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
        "Suppose that steps take in one prompt at a time, and that prompts come at random and keep the engine busy"
        " for a share \\(\\rho\\) of the time. With the chance \\(\\rho\\) you find one in work, half done on average."
        " Ahead of you are also those that came during one mean wait, each second of which brings work for"
        " \\(\\rho\\) seconds. So \\(t_\\mathrm{queue} = \\rho\\,t_\\mathrm{pre}/2 + \\rho\\,t_\\mathrm{queue}\\), or"
    )
    load = paragraph(
        "For \\(\\rho\\) we count only what prompts add to their steps, and divide by the room:"
        " \\(\\rho = p\\,(t_\\mathrm{pre}-t_\\mathrm{dec})/(\\text{room} \\cdot t_\\mathrm{out})\\). That is a choice."
        " The simulation agrees only in the first line:"
    )
    return fold(
        "How the queue is estimated, and how badly", derived + equation(eq.queue_time.latex) + load + queue_table()
    )


def queue_table() -> Page:
    """The wait for other prompts, by formula and in the simulation, for several sizes of a step."""
    rows = [
        [f"{room} prompt{'s' * (room > 1)}, answers up to {output:,}", *map(_digits, queued(output, room))]
        for output in (CHAT, SHORT)
        for room in ROOMS
    ]
    heads = ("Room in a step", "Formula", "Simulation")
    return table("Wait for other prompts in ms", heads, rows)


def changes_table() -> Page:
    """What would make a token faster, and what it does to throughput."""
    rows = [[what, _digits(token), f"{rate:,.0f}"] for what, token, rate in changes()]
    return table("What would help?", ("Change", "ms per token", "Tokens/s per GPU"), rows)


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


def constants_table() -> Page:
    """The constants by engine, chip and model, folded away."""
    symbols = [f"\\({latex(notation.symbol(name))}\\)" for name in FITTED]
    servers = {(run.server.model.name, run.server.engine, run.server.chip.id): run.factors for run in runs()}
    rows = []
    for (model, engine, chip), factors in sorted(servers.items()):
        found = constants_of(FACTORS, factors)
        rows.append([f"{model}, {ENGINES[engine]}, {chip.upper()}", *(_constant(name, found[name]) for name in FITTED)])
    note = paragraph("A value at the limit of 95% is a warning: the formula would like the memory to be faster still.")
    fitted = table("Constants of engines under load", ("Model, engine, chip", *symbols), rows)
    return fold("The constants of every engine, GPU and model that was fitted", fitted + note)


TRUST = {  # kind of model and group of slices: what is new to the constants, and a verdict
    ("dense", "concurrency"): ("dense model, another load", "trust both"),
    ("dense", "chips"): ("dense model, another number of GPUs", "trust both"),
    ("dense", "chip"): ("dense model, the engine on another GPU", "trust the time per token"),
    ("dense", "engine"): ("dense model, another engine", "a first estimate"),
    ("experts", "concurrency"): ("mixture, another load", "a first estimate"),
    ("experts", "chips"): ("mixture, another number of GPUs", "a first estimate"),
    ("experts", "chip"): ("mixture, the engine on another GPU", "a rough guess"),
    ("experts", "engine"): ("mixture, another engine", "a rough guess"),
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
    ("Llama 3.1 8B", ("llama-3.1-8b",), "do not trust"),
    ("Llama 4 Maverick", ("llama-4-maverick",), "do not trust"),
)


def _both(what: str, kind: str, name: str) -> str:
    """An error over all slices of a group, and that of its worst slice."""
    worst = max(getattr(each, name) for each in slices() if (each.what, each.kind) == (what, kind))
    return f"{percent(over(what, kind)[f'{name}_token'])} ({percent(worst)})"


def slices_table() -> Page:
    """Every slice that was held out, folded away."""
    rows = [
        [
            each.held.replace("chip", "GPU") if each.what == "chips" else each.held.removesuffix(f", {each.kind}"),
            KINDS[each.kind],
            str(each.rows),
            percent(each.output),
            percent(each.first),
        ]
        for each in slices()
    ]
    heads = ("Held out", "Models", "Runs", "Per token", "First token")
    return fold("Every slice, with its mean errors", table("Mean absolute errors of each slice", heads, rows))
