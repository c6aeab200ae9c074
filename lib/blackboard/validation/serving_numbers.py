"""Every number that the page on a server under load prints, and its tables."""

from __future__ import annotations

import statistics
from functools import cache
from html import escape
from typing import Any, NamedTuple

import sympy
from scipy.optimize import brentq

from blackboard import notation
from blackboard.notation import latex
from blackboard.page.summary import Page, card, fold, table
from blackboard.prediction import predict_serving
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.calibration import KINDS
from blackboard.prediction.continuous_batching import Simulated, simulate
from blackboard.prediction.serving import ServingPrediction
from blackboard.prediction.serving_calibration import FITTED, SOFT, STEPS, constants_of, loop_times, predicted, runs
from blackboard.prediction.serving_constants import FACTORS, MEASURED
from blackboard.prediction.serving_steps import ENGINES, TILE, kernels
from blackboard.units import percent, pretty, significant
from blackboard.validation.serving_slices import median_size, offline_errors, over, slices

RUN: dict[str, Any] = {"model": "llama-3.1-70b", "chip": "h200", "chips": 4, "weights": "fp8", "prompt": 1024}
CROWD, CHAT, SHORT = 64, 1024, 256  # users; longest answers, of the running case and of what is simulated
USERS = (1, 4, 16, 64, 256)


@cache
def served(users: float, output: float = CHAT) -> ServingPrediction:
    """The running case with so many users."""
    return predict_serving(**RUN, output=output, concurrency=users)


@cache
def simulated(users: int) -> Simulated:
    """The same server with short answers, event by event."""
    server = served(users, SHORT).server
    return simulate(server, served(users, SHORT).calibration.values)


# --- a case for paper -------------------------------------------------------------------------------------------------


class Paper(NamedTuple):
    """A closed loop that is worked by hand: two times of steps are given, and one prompt is taken in at a time."""

    users: float = 33
    answer: float = 320
    decode: float = 0.012
    prompt: float = 0.062

    @property
    def values(self) -> dict[str, float]:
        given = {"concurrency": self.users, "output_length": self.answer, "requests_per_user": 1e12}
        return given | {"decode_step": self.decode, "prompt_step": self.prompt, "prompts_taken": 1}

    @property
    def share(self) -> float:
        """Of the steps, those that take in a prompt."""
        return eq.others_prompts(self.values)

    @property
    def token(self) -> float:
        return eq.mixed_token(self.values, prompt_share=self.share)

    @property
    def busy(self) -> float:
        """Share of the time that prompts take: what their steps take beyond a decode step."""
        return self.share * (self.prompt - self.decode) / self.token

    @property
    def queue(self) -> float:
        return eq.queue_time(self.values, prompt_busy=self.busy)

    @property
    def first(self) -> float:
        """The step under way, the queue, and the step with the prompt."""
        return self.token + self.queue + self.prompt

    @property
    def rate(self) -> float:
        return eq.request_rate(self.values, first_token=self.first, output_token=self.token)


PAPER = Paper()


# --- numbers ----------------------------------------------------------------------------------------------------------

_ms = lambda seconds: pretty(seconds, "s", 3)


def device_seconds(step: dict[str, float]) -> float:
    """The device's time for a step of the running case."""
    return eq.device_time(step, calibration=served(CROWD).calibration)


def launching() -> float:
    """Seconds in which the host launches a step with prompts."""
    crowd = served(CROWD)
    return crowd.server.plan["prompt"]["launched"] * crowd.calibration.values["eager_gap"]


def launch_bound() -> float:
    """Tokens of prompts in a step of the running case with which launching takes as long as the device."""
    server = served(CROWD).server
    return brentq(lambda tokens: device_seconds(server.step(CROWD, 1, tokens)) - launching(), 1, server.prompt * 2)


def faster(factor: float = 2) -> dict[str, Any]:
    """Times of the running case if memory and products were so many times as fast, and nothing else."""
    crowd, works = served(CROWD), ("_read", "_multiply", "_attend")
    less = lambda step: {k: v / factor if k.endswith(works) else v for k, v in step.items()}
    plan = crowd.server.plan
    return loop_times(plan | {name: less(plan[name]) for name in STEPS}, crowd.calibration.values)


def first_parts() -> dict[str, float]:
    """Seconds of the mean time to first token in the running case: later requests, the start, and the constant."""
    crowd = served(CROWD)
    plan, times, each = crowd.server.plan, crowd._times, crowd.server.requests
    start = times["burst"] * (plan["burst_groups"] + 1) / (2 * each)
    before = plan["decode"]["captured"] * crowd.calibration.values["request_gap"]
    return {"later": crowd.first_token - start - before, "start": start, "before": before}


def running_case() -> dict[str, str]:
    """One user, and a crowd."""
    one, crowd = served(1), served(CROWD)
    plan, times = crowd.server.plan, crowd._times
    eager = crowd.calibration.values["eager_gap"]
    quick, first = faster(), first_parts()
    sent = times["prompt"] - device_seconds(plan["prompt"])
    return {
        "crowd": str(CROWD),
        "chips": str(RUN["chips"]),
        "one_token": _ms(one.output_token),
        "crowd_token": _ms(crowd.output_token),
        "crowd_first": _ms(crowd.first_token),
        "crowd_decode": _ms(times["decode"]),
        "crowd_prompt": _ms(times["prompt"]),
        "crowd_share": f"one in {round(1 / plan['prompt_share'])}",
        "crowd_rate": significant(crowd.requests_per_s, 3),
        "crowd_chip": significant(crowd.tokens_per_s_per_chip, 3),
        "one_chip": significant(one.tokens_per_s_per_chip, 2),
        "kernels": str(kernels(crowd.server.model)),
        "eager": pretty(eager, "s", 3),
        "launching": _ms(launching()),
        "device": _ms(device_seconds(plan["prompt"])),
        "floor": percent(1 - (launching() + sent) / times["prompt"]),
        "launch_bound": f"{10 * round(launch_bound() / 10)}",
        "quick_token": percent(1 - quick["output"] / crowd.output_token),
        "quick_first": percent(1 - quick["first"] / crowd.first_token),
        "mean_length": f"{crowd.server.output:.0f}",
        "taken": significant(plan["prompts_taken"]),
        "at_once": str(plan["at_once"]),
        "burst": _ms(times["burst"]),
        "later": _ms(first["later"]),
        "start": _ms(first["start"]),
        "before": _ms(first["before"]),
    }


def paper_case() -> dict[str, str]:
    """The case that is worked by hand, and what twice the users do to it."""
    twice = PAPER._replace(users=2 * PAPER.users)
    return {
        "paper_users": f"{PAPER.users:.0f}",
        "paper_answer": f"{PAPER.answer:.0f}",
        "paper_decode": _ms(PAPER.decode),
        "paper_prompt": _ms(PAPER.prompt),
        "twice_token": percent(twice.token / PAPER.token - 1),
        "twice_rate": percent(twice.rate / PAPER.rate - 1),
    }


def second_route() -> dict[str, str]:
    """How far the closed form is from the events."""
    pairs = [(served(users, SHORT), simulated(users)) for users in USERS]
    far = lambda name: max(abs(getattr(p, name) / getattr(s, name) - 1) for p, s in pairs)
    return {
        "requests": str(int(served(1).server.requests)),
        "short": str(SHORT),
        "least_users": str(USERS[0]),
        "most_users": str(USERS[-1]),
        "token_off": percent(far("output_token")),
        "first_off": percent(far("first_token")),
    }


def errors() -> dict[str, str]:
    """Errors of rows that were not fitted."""
    group = [run for run in runs() if not run.queued]
    by = lambda what, kind, name: percent(over(what, kind)[name])
    far = lambda *ids: percent(
        median_size([e for (id, *_), each in offline_errors().items() if id in ids for e in each])
    )
    return {
        "rows": str(len(group)),
        "combinations": str(len(MEASURED)),
        "ease": percent(FITTED["gap_time"].ease),
        "soft": percent(SOFT),
        "tile": str(TILE),
        "dense_token": by("chip", "dense", "output_token"),
        "dense_first": by("chip", "dense", "first_token"),
        "other_token": by("model", "experts", "output_token"),
        "other_first": by("model", "experts", "first_token"),
        "lengths_large": far("llama-3.1-70b", "llama-3.1-405b"),
        "lengths_small": far("llama-3.1-8b"),
        "lengths_routed": far("llama-4-maverick"),
    }


def unexplained() -> dict[str, str]:
    """DeepSeek-R1 on TensorRT-LLM and H200, with and without experts dealt out: the rows that no constants fit."""
    group = [run for run in runs() if run.key == ("trtllm", "h200", "experts") and "deepseek" in run.server.model.id]
    group = [run for run in group if run.server.layout.tensor > 1 and not run.queued]
    apart, together = ([run for run in group if (run.server.layout.expert > 1) is way] for way in (True, False))
    off = lambda some: percent(statistics.mean(abs(token) for token, _ in predicted(some, FACTORS)))
    slow = {run.server.users: run.output for run in together}
    ratios = [slow[run.server.users] / run.output for run in apart]
    names = ("r1_apart", "r1_together", "r1_least", "r1_most")
    return dict(zip(names, (off(apart), off(together), *(significant(f(ratios), 2) for f in (min, max)))))


@cache
def all() -> dict[str, str]:
    """Every value that the page glues."""
    return running_case() | paper_case() | second_route() | errors() | unexplained()


# --- formulas and tables ----------------------------------------------------------------------------------------------


def equation(*lines: str) -> Page:
    """Lines of mathematics, broken at & so that they fit a phone."""
    body = r" \\ ".join(lines)
    return Page(
        rf"<div>\[\begin{{aligned}} {body} \end{{aligned}}\]</div>",
    )


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


def case_table() -> Page:
    """All that the running case is, in one place."""
    server = served(CROWD).server
    plan, longest, mean = server.plan, f"{RUN['prompt']:,}", f"{server.output:.0f}"
    drawn = f"drawn between {server.spread} and 1.0 of {longest} tokens"
    rows = [
        ["model", f"{server.model.name}, weights in {server.weights.upper()}"],
        ["server", f"{RUN['chips']} {server.chip.id.upper()} with tensor parallelism, {ENGINES[server.engine]}"],
        [r"users \(N\)", f"{CROWD}, who start in the same moment"],
        [r"requests of each user \(w\)", f"{server.requests:.0f}, one after the other"],
        [r"prompts \(I\), answers \(O\)", f"{drawn}: {mean} on average"],
        ["prompts’ tokens in a step", f"at most {server.step_tokens:,.0f}: {plan['at_once']} prompts"],
        [r"prompts that a step takes in \(g\)", significant(plan["prompts_taken"])],
        [r"steps for the first prompts of all \(G\)", f"{plan['burst_groups']}"],
        [r"steps that a prompt is held back \(h\)", f"{plan['held_steps']:.0f}"],
    ]
    return table("The running case", ("Quantity", "Value"), rows)


WORK = {  # of a step on the device
    "weights: loading or products": ("shared_read", "shared_multiply"),
    "cache": ("cache_read", "cache_multiply"),
    "prompts’ own attention": ("prompt_attend",),
    "messages": ("link_busy", "collectives"),
    "gaps between kernels": ("captured",),
}


def parts_table() -> Page:
    """Both kinds of steps of the running case by what takes the time."""
    plan, times = served(CROWD).server.plan, served(CROWD)._times
    both = [plan["decode"], plan["prompt"]]
    ms = lambda values: [f"{1e3 * value:.1f}" for value in values]
    part = lambda names: [device_seconds(dict.fromkeys(s, 0.0) | {n: s[n] for n in names}) for s in both]
    device, whole = [device_seconds(s) for s in both], [times["decode"], times["prompt"]]
    launched = [0.0, launching()]
    rows = [[name, *ms(part(names))] for name, names in WORK.items()]
    rows.append(["<strong>all on the GPU</strong>", *ms(device)])
    rows.append(["launching, meanwhile", *ms(launched)])
    rows.append(["answers", *ms(w - max(d, h) for w, d, h in zip(whole, device, launched))])
    rows.append(["<strong>the step</strong>", *ms(whole)])
    return table("Milliseconds of a step in the running case", ("Work", "Decode only", "With a prompt"), rows)


def clumps() -> Page:
    """How much more densely prompts come in a benchmark, folded away."""
    told = (
        "<p>Users who start together end together, and"
        " then send their next prompts together. So prompts come in"
        " clumps, until the differences between the answers have spread the users out. Lengths are drawn between a"
        " share \\(s\\) of the longest and the longest itself. The smaller \\(s\\) and the more requests each user"
        " sends, the less dense the clumps are. The formula gives the rate of prompts within a clump, divided by their"
        " mean rate. The mean number \\(q_h\\) is taken at this denser rate, and so is the time \\(t_\\mathrm{run}\\)"
        " of the next section.</p>"
    )
    return fold("In a benchmark prompts come in clumps", told + card(eq.clumping))


def constants_table() -> Page:
    """The constants by engine, chip and model, in the units that a profiler shows."""
    symbols = [f"\\({latex(notation.symbol(name))}\\)" for name in FITTED]
    shown = lambda name, value: percent(value) if FITTED[name].unit == "1" else pretty(value, "s", 2)
    servers = {(run.server.model.name, run.server.engine, run.server.chip.id): run.factors for run in runs()}
    rows = []
    for (model, engine, chip), factors in sorted(servers.items()):
        values = constants_of(FACTORS, factors)
        rows.append([f"{model}, {ENGINES[engine]}, {chip.upper()}", *(shown(name, values[name]) for name in FITTED)])
    return table("Constants of engines under load", ("Model, engine, chip", *symbols), rows)


def meanings() -> Page:
    """What each constant is."""
    rows = [
        [
            f"\\({latex(notation.symbol(name))}\\)",
            escape(FITTED[name].description),
            escape("a pure number" if FITTED[name].unit == "1" else FITTED[name].unit),
            SEEN[name],
        ]
        for name in FITTED
    ]
    return table("The six constants", ("Symbol", "What it is", "Unit", "Where you see it"), rows)


SEEN = {
    "memory_efficiency": "one user, large model",
    "compute_efficiency": "long prompts, many users",
    "gap_time": "one user, small model, many GPUs",
    "eager_gap": "a short prompt that takes as long as a longer one",
    "answer_time": "hundreds of users",
    "request_gap": "time to first token of a server without load",
}


def paper_table() -> Page:
    """The case for paper, line by line."""
    p = PAPER
    share, mixed = f"{p.share:.2g}", f"{1 - p.share:.2g} × {_ms(p.decode)} + {p.share:.2g} × {_ms(p.prompt)}"
    rows = [
        ["steps that take in a prompt", "p = (N-1)/O", f"{p.users - 1:.0f} / {p.answer:.0f} = {share}"],
        ["time per output token", r"(1-p)\,t_\mathrm{dec} + p\,t_\mathrm{pre}", f"{mixed} = {_ms(p.token)}"],
        [
            "share of the time that prompts take",
            r"\rho = p\,(t_\mathrm{pre}-t_\mathrm{dec})\) \(/\,t_\mathrm{out}",
            f"{share} × {_ms(p.prompt - p.decode)} / {_ms(p.token)} = {p.busy:.2g}",
        ],
        ["waiting for other prompts", r"\rho\,t_\mathrm{pre}/2(1-\rho)", _ms(p.queue)],
        [
            "time to first token",
            r"t_\mathrm{out} + t_\mathrm{queue} + t_\mathrm{pre}",
            f"{_ms(p.token)} + {_ms(p.queue)} + {_ms(p.prompt)} = {_ms(p.first)}",
        ],
        ["time of a request", r"T = t_\mathrm{first}\) \(+\,(O-1)\,t_\mathrm{out}", pretty(p.users / p.rate, "s", 3)],
        ["requests per second", "X = N/T", significant(p.rate, 3)],
        ["output tokens per second", r"X\,O", f"{p.rate * p.answer:,.0f}"],
    ]
    cells = [[f"{name}<br>\\({formula}\\)", value] for name, formula, value in rows]
    return table("A server worked on paper", ("Quantity", "Value"), cells)


GROUPS = {  # what each group of slices holds out in turn, and what the constants come from then
    "fitted": ("nothing", "all runs"),
    "chips": ("1, 2, 4 or 8 GPUs", "other numbers of GPUs"),
    "concurrency": ("few, some or many users", "other loads"),
    "chip": ("an engine on a chip", "the engine on another chip"),
    "engine": ("an engine", "other engines"),
    "model": ("a model", "another model"),
}


def errors_table() -> Page:
    """Errors over the slices of each group, by kind of model."""
    rows = [[*GROUPS[what], *(_both(what, kind) for kind in KINDS)] for what in GROUPS]
    heads = ("Held out", "Fitted on", *(f"{KINDS[kind]}: per token, first".capitalize() for kind in KINDS))
    return table("Mean absolute errors of runs that were held out", heads, rows)


def _both(what: str, kind: str) -> str:
    """Both errors of a group; a word where it has no slice of this kind."""
    if not any((each.what, each.kind) == (what, kind) for each in slices()):
        return "only one model"
    sums = over(what, kind)
    return f"{percent(sums['output_token'])}, {percent(sums['first_token'])}"
