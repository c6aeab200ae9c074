"""Every number that the prose of the page on a server under load prints, as text."""

from __future__ import annotations

import math
import statistics
from functools import cache

import numpy as np

from blackboard.catalogue import Heads
from blackboard.lessons.overheads.implied import gpt_fast
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.serving_calibration import runs
from blackboard.prediction.serving_steps import (
    ATTENTION_KERNELS,
    DENSE_KERNELS,
    OTHER_KERNELS,
    kernels,
)
from blackboard.text import listed, merge
from blackboard.units import percent, pretty, significant
from blackboard.validation.serving_numbers import (
    AGENT,
    CHAT,
    CROWD,
    FEW,
    JUMP,
    LIMITS,
    OPEN_RATE,
    PROMISE,
    RATES,
    RUN,
    WIDE,
    agents_within,
    arrived,
    causes,
    changes,
    close_up,
    compute_each,
    drafted,
    first_tokens,
    grown,
    heaps,
    launch_turn,
    launching,
    light_slope,
    measured,
    measured_points,
    newcomers,
    opened,
    own_work,
    rest_of_step,
    saturation,
    served,
    settled,
    steady,
    users_within,
    values,
)

_ms = lambda seconds: pretty(seconds, "s", 3)
_us = lambda seconds: f"{1e6 * seconds:.0f} µs"


def opening() -> dict[str, str]:
    """What was measured, and where the time goes."""
    few, many, (later, first) = measured(FEW), measured(CROWD), heaps()
    (now, quick, *_), added = changes(), causes()
    return {
        "crowd": str(CROWD),
        "jump_each": _us(grown(*JUMP)),
        "last_each": _us(grown(JUMP[1], CROWD)),
        "many_token": _ms(many.output),
        "many_first": _ms(many.first),
        "each_now": _us(sum(causes().values())),
        "changed_users": listed([str(change.users) for change in changes()[1:]]),
        "jump_from": str(JUMP[0]),
        "jump_to": str(JUMP[1]),
        "each_seen": pretty(many.output - few.output, "s", 2),
        "each_ours": pretty(now.crowd - now.few, "s", 2),
        "quick_each": _us((quick.crowd - quick.few) / (CROWD - FEW)),
        "light_each": _us(light_slope()),
        "more_users": str(CROWD - FEW),
        **{f"add_{name}": _us(added[name]) for name in ("answers", "cache", "links", "prompts")},
        "all_waits": str(len(later) + len(first)),
        "start_most": pretty(first[-1], "s", 2),
        "later_first": f"{1e3 * statistics.mean(later):.0f} ms",
    }


def running_case() -> dict[str, str]:
    """The running case in words: its steps, its first tokens once all have begun, and the first of all."""
    v, crowd = values(), steady()
    server = crowd.server
    share, decode, prompt = f"{v['prompt_share']:.4f}", f"{1e3 * v['decode_step']:.2f}", f"{1e3 * v['prompt_step']:.2f}"
    before, token, later = (f"{1e3 * v[name]:.1f}" for name in ("before", "output_token", "first_token"))
    squares = f"({1 - float(share):.4f} × {decode}² + {share} × {prompt}²)"
    return _burst(before, later) | {
        "mean_length": f"{server.output:.0f}",
        "share": f"one in {round(1 / v['prompt_share'])}",
        "share_sum": f"{CROWD - 1} / {server.output:.1f} = {share}",
        "token_sum": f"{decode} + {share} × ({prompt} − {decode}) = {1e3 * v['output_token']:.1f} ms",
        "first_sum": f"{before} + {token} + {1e3 * v['prompt_step']:.1f} = {later} ms",
        "before": f"{before} ms",
        "decode_step": _ms(v["decode_step"]),
        "prompt_step": _ms(v["prompt_step"]),
        "prompt_tokens": f"{server.prompt:.0f}",
        "launching": pretty(launching(), "s", 2),
        "launch_turn": _us(launch_turn()),
        "quick_work": _ms(kernels(server.model) * launch_turn()),
        "rest_sum": f"{squares} / (2 × {1e3 * v['output_token']:.2f}) = {_ms(rest_of_step())}",
        "full_first": _ms(crowd.first_token),
        "settled_first": _ms(settled().first.mean),
        "one_chip_rate": significant(steady(concurrency=1).tokens_per_s_per_chip, 2),
        "chip_rate": significant(crowd.tokens_per_s_per_chip, 2),
        "kernels": str(kernels(server.model)),
        "eager": pretty(crowd.calibration.values["eager_gap"], "s", 2),
        "python_launch": pretty(gpt_fast().each, "s", 3),
        "wide_gap": f"{1e3 * settled().rare_gap:.0f} ms",
        "tight_gap": f"{1e3 * settled(room=LIMITS[1]).rare_gap:.0f} ms",
        "whole_limit": f"{CROWD} + {CHAT:,} = {LIMITS[1]:,}",
        "saturation": f"{5 * round(saturation() / 5)}",
    }


def _burst(before: str, later: str) -> dict[str, str]:
    """How all users begin at once, given the milliseconds before a step and of a later first token, as printed."""
    bench, routes = served(CROWD), first_tokens()
    server, plan, room = steady().server, bench.server.plan, steady().server.step_tokens
    opening, burst = f"{1e3 * routes['by hand'].opening:,.0f}", f"{1e3 * bench._times['burst']:.1f}"
    return {
        "room": f"{room:,.0f}",
        "groups": str(plan["burst_groups"]),
        "groups_sum": f"{CROWD} × {server.prompt:.1f} / ({room:,.0f} − {CROWD / 2:.0f})"
        f" = {CROWD * server.prompt / (room - CROWD / 2):.1f}",
        "burst": f"{burst} ms",
        "burst_tokens": f"{CROWD / 2:.0f} + {CROWD / plan['burst_groups']:.0f} × {server.prompt:.1f}",
        "burst_sum": f"{(plan['burst_groups'] + 1) / 2:.1f} × {burst} + {before} = {opening} ms",
        "mean_sum": f"0.9 × {later} + 0.1 × {opening} = {1e3 * routes['by hand'].all:.0f} ms",
        "simulated_first": _ms(routes["simulated"].all),
        "few_requests": f"{bench.server.requests:.0f}",
    }


def planned(points: list[tuple[float, float]], time: float) -> float:
    """Users whom a line through points of (other users, time) allows, with its own worst error in reserve."""
    slope, level = np.polyfit([others for others, _ in points], [took for _, took in points], 1)
    worst = max(took / (level + slope * others) for others, took in points)
    return float(1 + (time / worst - level) / slope)


def promise() -> dict[str, str]:
    """How many users a promised time per token allows."""
    one, each = steady(concurrency=1).output_token, causes()
    base, slope = round(1e3 * one, 1), round(1e3 * sum(each.values()), 3)  # as printed, so that the sum can be redone
    promised = 1e3 * PROMISE
    off = lambda point: point.token / steady(concurrency=point.users).output_token
    far = max(measured_points(), key=off)
    margin = math.ceil(1000 * off(far)) / 1000  # up, so that the reserve reaches
    first_try = settled(users_within(PROMISE / margin))
    slow = round(first_try.token.high / first_try.token.mean, 2)
    safe, less = users_within(PROMISE / margin / slow), round(promised / margin / slow, 1)
    line = lambda time, level, slope: f"1 + ({time:g} − {level}) / {slope:.3f} = {1 + (time - level) / slope:.1f}"
    solved = lambda time: line(time, base, slope)
    chosen = steady(concurrency=safe)
    assert chosen.rent
    points = [(point.users - 1, 1e3 * point.token) for point in measured_points()]
    plans = [planned(points[:n] + points[n + 1 :], promised / slow) for n in range(len(points))]
    mean = max(n for n in range(safe) if n + 2 * (n * 2 / 3) ** 0.5 <= safe)  # each is in flight a third of the time
    return {
        "own_least": f"{min(plans):.0f}",
        "own_most": f"{max(plans):.0f}",
        "safe_stay": pretty(chosen.first_token + chosen.output_token * (chosen.server.output - 1), "s", 2),
        "safe_mean": str(mean),
        "safe_people": f"3 × {mean} = {3 * mean}",
        "lone_token": f"{base} ms",
        "slope": f"{slope:.3f} ms",
        "promise": f"{promised:g} ms",
        "full_users": str(users_within(PROMISE)),
        "safe_sum": f"{promised:g} ms / {margin:.3f} / {slow:.2f} = {less} ms",
        "safe_line": solved(less),
        "slow_off": percent(slow - 1),
        "safe_users": str(safe),
        "rent": f"${chosen.rent.usd_per_chip_hour:.2f}",
        "far_users": str(far.users),
        "far_off": percent(margin - 1),
    }


def wide_server() -> dict[str, str]:
    """Twice the GPUs: one server of all of them, or two as large as the running case."""
    token = lambda users, chips=RUN["chips"]: _ms(steady(concurrency=users, chips=chips).output_token)
    return {
        "wide_token": token(CROWD, WIDE),
        "half_token": token(CROWD / 2),
        "half_crowd": f"{CROWD / 2:.0f}",
        "wide_seen": _ms(measured(CROWD, WIDE).output),
        "half_seen": _ms(measured(CROWD // 2).output),
    }


def sizes() -> dict[str, str]:
    """Where the bytes and FLOPs of a step come from."""
    server = steady().server
    layout, (group,) = server.layout, server.model.attention
    context = eq.mean_context(prompt_length=server.prompt, output_length=server.output)
    each, embedding = layout.cache_per_chip(1, context, server.cache), 2 * layout.embedding / 1e9
    held = sum(server.weights_per_chip.values()) * layout.tensor / 1e9
    weights = f"({held - embedding:.1f} + {embedding:.1f}) GB / {layout.tensor}"
    left = f"({server.settings.room} × {server.chip.hbm_bytes / 1e9:.0f} GB − {weights})"
    assert isinstance(group, Heads)
    return {
        "fp8_weights": f"{layout.common / 1e9:.1f} billion",
        "head_weights": f"{layout.head / 1e9:.2f} billion",
        "layers": str(group.layers),
        "kv_heads": str(group.kv_heads),
        "head_dim": str(group.head_dim),
        "width": f"{server.model.d_model:,}",
        "context": f"{context:,.0f}",
        "fits_sum": f"{left} / {each / 1e6:.2f} MB = {server.fits:,.0f}",
        "ring": f"2 × {layout.tensor - 1}/{layout.tensor}",
        "kernels_sum": f"{group.layers} layers × ({ATTENTION_KERNELS['heads']} for attention + {DENSE_KERNELS} for the"
        f" feed-forward part) + {OTHER_KERNELS}",
    }


def questions() -> dict[str, str]:
    """Answers to the questions that the page asks."""
    v, half = values(), steady(output=CHAT / 2)
    twice = 2 * v["prompt_share"]
    return {
        "half_length": f"{half.server.output:.0f}",
        "twice_share": f"{twice:.3f}",
        "agent_prompt": f"{AGENT['prompt']:,}",
        "agent_answer": f"{AGENT['output']}",
        "agent_users": str(agents_within(PROMISE)),
        "half_hand": pretty(eq.mixed_token(v, prompt_share=twice), "s", 2),
    }


def loops() -> dict[str, str]:
    """One prompt looked at closely, and what the server answers in an open loop."""
    seen = newcomers(close_up())
    one, two, three = (1e3 * (request.first - request.came) for request in seen)
    assert two == three
    prompt, answer = own_work()
    server, share = steady().server, steady().calibration.values["compute_efficiency"]
    attended = 1e3 * server.step(0, 1, server.prompt)["prompt_attend"] / share
    compute, head = (1e6 * work for work in compute_each())
    cache, links, sent = (1e6 * causes()[name] for name in ("cache", "links", "answers"))
    length = f"{values()['output_length']:.1f}"
    each = f"{compute + head:.1f} + {links:.1f} + {cache:.1f} + {sent:.1f}"
    slow = opened().at_rate(OPEN_RATE)
    stay = f"{slow.first_token:.3f} s + {values()['output_length'] - 1:.1f} × {1e3 * slow.output_token:.1f} ms"
    off = [abs(opened().at_rate(rate).output_token / arrived(rate).token - 1) for rate in RATES]
    return {
        "span": f"{1e3 * (close_up()[-1].end - close_up()[0].start):.0f} ms",
        "alone_waits": f"{one:.0f} ms",
        "both_wait": f"{two:.0f} ms",
        "halts": listed([f"{1e3 * (step.end - step.start):.0f} ms" for step in close_up() if step.prompts]),
        "prompt_work": f"{length} × ({compute:.1f} + {links:.1f}) µs + {attended:.1f} ms = {1e3 * prompt:.0f} ms",
        "answer_work": f"{length} × ({each}) µs = {1e3 * answer:.0f} ms",
        "own_rate": significant(1 / (prompt + answer), 2),
        "open_rate": str(OPEN_RATE),
        "open_sum": f"{OPEN_RATE} × ({stay}) = {slow.server.users:.0f}",
        "most_rate": f"{opened().most_rate:.1f}",
        "rates": listed([str(rate) for rate in RATES]),
        "open_off": percent(math.ceil(100 * max(off)) / 100),
    }


def slowest() -> dict[str, str]:
    """What the slowest in a hundred feel of a server that has run for long, simulated."""
    seen = settled()
    return {
        "slow_answer": percent(seen.token.high / seen.token.mean - 1),
    }


def errors() -> dict[str, str]:
    """What the constants were fitted on, and how."""
    return {
        "rows": str(len([run for run in runs() if not run.queued])),
        "left_out": str(drafted()[0]),
    }


@cache
def all() -> dict[str, str]:
    """Every value that the page glues."""
    parts = (
        *(opening(), running_case(), promise(), wide_server(), sizes(), questions()),
        *(loops(), slowest(), errors()),
    )
    return merge(*parts)
