"""The lab of the pipelining lesson: run a schedule from its dependencies, write two known ones, and one of your own."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import Any

from blackboard.catalogue import measurement
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lab_values import same, shown
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining.lab_steps import (
    ALTERNATE,
    GPIPE,
    NEEDS,
    RUN,
    SPLIT,
    a_list_each,
    each_once,
    end_times,
    gpipe,
    one_f_one_b,
    only_once,
    runs_through,
    split_schedule,
    weights_last,
)

Schedule = list[list[str]]

# --- rank -------------------------------------------------------------------------------------------------------------


def score(schedule, costs):
    """A pair that ranks a schedule: the share of time that is idle, and the most micro-batches that a stage holds.

    Idle: 1 - (work of a stage) / (longest time from a stage's own first start to its own last end). All stages have the
    same work. A stage holds a micro-batch's activations from its F until its B has ended, or its W if there is one.

    schedule, costs  as in `end_times`
    """
    ends, longest, most = end_times(schedule, costs), 0, 0
    for stage, passes in enumerate(schedule):
        first, last = passes[0], passes[-1]
        longest = max(longest, ends[last, stage] - ends[first, stage] + costs[first[0]])
        held, release = 0, "W" if "W0" in passes else "B"
        for name in passes:
            held += (name[0] == "F") - (name[0] == release)
            most = max(most, held)
    work = sum(costs[name[0]] for name in schedule[0])
    return 1 - work / longest, most


def _ranked(rng: random.Random) -> tuple:
    stages = rng.randint(1, 3)
    make: Callable = rng.choice([gpipe, one_f_one_b, own_schedule, weights_last])
    return make(stages, stages + rng.randint(0, 2)), {"F": rng.randint(1, 2), "B": 2, "W": rng.randint(1, 2)}


def _two_numbers(trial: Trial) -> str | None:
    fine = len(trial.got) == 2 and 0 <= trial.got[0] < 1
    return None if fine else "Return a pair: an idle share from 0 to below 1, and a number of micro-batches."


def _one_stage(trial: Trial) -> str | None:
    fine = len(trial.args[0]) > 1 or abs(trial.got[0]) < 1e-9
    return None if fine else "A single stage never waits, so its idle share is 0."


def _holds(trial: Trial) -> str | None:
    own, wanted = trial.got[1], trial.want[1]
    return (
        None
        if own == wanted
        else f"Some stage holds {wanted} at once, not {own}: F adds a micro-batch; W removes it, or B if there is no W."
    )


def _idle(trial: Trial) -> str | None:
    schedule, costs = trial.args
    if same(trial.got[0], trial.want[0]):
        return None
    work = sum(costs[name[0]] for name in schedule[0])
    return (
        f"A stage works for {work}, and the longest time from a stage's first start to its own last end is"
        f" {work / (1 - trial.want[0]):.4g}. Expected {shown(trial.want)}."
    )


def _held_until_b(schedule, costs):
    changes = [[(name[0] == "F") - (name[0] == "B") for name in passes] for passes in schedule]
    return score(schedule, costs)[0], max(max(accumulate(each)) for each in changes)


def _idle_to_work(schedule, costs):
    idle, held = score(schedule, costs)
    return min(0.99, idle / (1 - idle)), held


def _last_stage(schedule, costs):
    ends, last = end_times(schedule, costs), len(schedule) - 1
    span = max(end for (_, stage), end in ends.items() if stage == last) - ends["F0", last] + costs["F"]
    return 1 - sum(costs[name[0]] for name in schedule[0]) / span, score(schedule, costs)[1]


def _swapped(schedule, costs):
    return score(schedule, costs)[::-1]


SCORE = Step(
    "Rank a schedule by idle time and memory",
    "Measure a schedule by the two things that matter: how long its stages idle, and how much they must hold.",
    score,
    'score(gpipe(2, 2), {"F": 1, "B": 2})',
    _ranked,
    (_two_numbers, _one_stage, _holds, _idle),
    {_held_until_b: _holds, _idle_to_work: _idle, _last_stage: _idle, _swapped: _two_numbers},
    (
        "The first pass of a stage starts at its end minus its cost.",
        "Walk through a stage's list and count: plus one for F, minus one for W (or B). Keep the largest count.",
    ),
    count=60,
    extreme=lambda orders, times: len(orders) == 1,
)

# --- a schedule of one's own ------------------------------------------------------------------------------------------


def own_schedule(stages, micro_batches):
    """A schedule of your own with F, B and W of every micro-batch; here B is without the gradient of the weights.

    It must be better than split 1F1B: idle less, or hold fewer micro-batches at once. Split 1F1B does each W right
    after its B, but passes B on at once, so it already idles less than 1F1B. Nothing waits for W, so a stage may do it
    later, while it would be idle. There are at least two stages, and at least as many micro-batches as stages. The last
    chart ranks your schedule.
    """
    schedule = []
    for stage in range(stages):
        ahead = stages - stage
        passes = [f"F{n}" for n in range(ahead)]
        for n in range(micro_batches):
            passes.append(f"B{n}")
            if n >= stage:
                passes.append(f"W{n - stage}")
            if n + ahead < micro_batches:
                passes.append(f"F{n + ahead}")
        passes += [f"W{n}" for n in range(micro_batches - stage, micro_batches)]
        schedule.append(passes)
    return schedule


def _larger(rng: random.Random) -> tuple:
    stages = rng.randint(2, 4)
    return stages, stages + rng.randint(0, 4)


@cache
def _theirs(stages: int, micro_batches: int) -> tuple[float, int]:
    return score(split_schedule(stages, micro_batches), SPLIT)


def _better(trial: Trial) -> str | None:
    (idle, held), (their_idle, their_held) = score(trial.got, SPLIT), _theirs(*trial.args)
    if idle < their_idle - 1e-9 or held < their_held:
        return None
    return (
        f"Your schedule idles {idle:.1%} and holds {held}, where split 1F1B (W right after B) idles {their_idle:.1%}"
        f" and holds {their_held} (passes of equal length): be better in one of the two."
    )


def _weights_too_early(stages, micro_batches):
    return [
        [name.translate(str.maketrans("BW", "WB")) for name in passes]
        for passes in split_schedule(stages, micro_batches)
    ]


OWN = Step(
    "A schedule of your own",
    "Design a schedule of your own that idles less than split 1F1B, or holds less.",
    own_schedule,
    'score(own_schedule(4, 8), {"F": 1, "B": 1, "W": 1})',
    _larger,
    (a_list_each, each_once, runs_through, _better),
    {
        split_schedule: _better,
        one_f_one_b: each_once,
        _weights_too_early: runs_through,
        only_once: a_list_each,
    },
    (
        "Begin with split 1F1B, with W after each B, and move some W to a later place. `end_times` shows the waits.",
        "At the end, stage 0 waits between its last B passes, because each gradient has to pass all later stages.",
        "Let stage s do W of a micro-batch s places later than 1F1B does, and what is left over at the end.",
    ),
    also=[(4, 8), (2, 2)],
    many=True,
)

# --- the chart --------------------------------------------------------------------------------------------------------

STAGES, COUNTS = 8, (8, 16, 24, 32, 48, 64)


def _published(schedule: str) -> list[dict]:
    rows = measurement("zero_bubble_pipeline").records(model="1.5B", stages=STAGES, schedule=schedule)
    return [dict(row) for row in rows]


def finish(own: Any) -> dict[str, Any]:
    """Idle share by micro-batches: the reader's three schedules, the lesson's formula, and the paper on zero bubble."""
    published = _published("1F1B") + _published("ZB-1p")
    forward, backward, weight = (
        published[0][f"{name}_ms"] for name in ("forward", "input_gradient", "weight_gradient")
    )
    whole, split = {"F": forward, "B": backward + weight}, {"F": forward, "B": backward, "W": weight}
    scores = {
        make: [(count, *own.score(make(STAGES, count), costs)) for count in COUNTS]
        for make, costs in ((own.gpipe, whole), (own.one_f_one_b, whole), (own.own_schedule, split))
    }
    idle = lambda make: Series([(count, share) for count, share, _ in scores[make]])
    holds = lambda make: max(held for *_, held in scores[make])
    idles = lambda make: scores[make][-1][1]
    return lab_chart(
        f"At {COUNTS[-1]} micro-batches your own schedule idles {idles(own.own_schedule):.1%} of the time, and your"
        f" 1F1B {idles(own.one_f_one_b):.1%}",
        "micro-batches in a training step",
        "share of time that is idle",
        {
            f"your 1F1B, holds {holds(own.one_f_one_b)}": idle(own.one_f_one_b),
            f"your GPipe, holds up to {holds(own.gpipe)}": idle(own.gpipe)._replace(mark="point"),
            f"your own schedule, holds {holds(own.own_schedule)}": idle(own.own_schedule),
            "the lesson's formula, 1F1B and GPipe": Series(
                [(count, eq.bubble(stages=STAGES, micro_batches=count)) for count in COUNTS[::2]], "point"
            ),
            "zero-bubble paper, 1F1B and ZB-1p": Series(
                [(row["microbatches"], row["bubble_rate"]) for row in published], "point"
            ),
        },
    )


LAB = Lab(
    "Build a pipeline schedule",
    "You write what a pass depends on, a simulator that runs any schedule, GPipe and 1F1B, and then a schedule of your"
    " own that beats split 1F1B, in which a backward pass is split into B and W.",
    (NEEDS, RUN, GPIPE, ALTERNATE, SCORE, OWN),
    finish,
    "GPipe and 1F1B idle equally long, but 1F1B holds only as many micro-batches as there are stages. The paper counts"
    " the time of hops too, so its values are a little higher. Does your schedule come close to its ZB-1p, the lower"
    " points?",
)
