"""The first steps of the pipelining lab: which task waits for which, how long a schedule takes, and two known ones."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate

from blackboard.lab import Step, Trial, agrees
from blackboard.lab_values import count, same, shown

# --- dependencies -----------------------------------------------------------------------------------------------------


def needs(name, stage, stages):
    """What a pass waits for: a list of pairs (name of a pass, stage at which it runs).

    A forward pass F0 needs F0 one stage earlier. A backward pass B0 needs F0 at its own stage and B0 one stage later.
    Some schedules put off the gradient of the weights, W0, which needs B0 at its own stage. There is nothing before the
    first stage and nothing after the last.

    name    of a pass: its kind and the number of its micro-batch, for instance "F0" or "B12"
    stage   where it runs, 0 to stages - 1
    """
    kind, number = name[0], name[1:]
    if kind == "W":
        return [("B" + number, stage)]
    if kind == "F":
        return [("F" + number, stage - 1)] if stage > 0 else []
    later = [("B" + number, stage + 1)] if stage < stages - 1 else []
    return [("F" + number, stage), *later]


def _passes(rng: random.Random) -> tuple:
    stages = rng.randint(1, 4)
    return rng.choice("FBW") + str(rng.choice([0, 1, 12])), rng.randrange(stages), stages


def _exists(trial: Trial) -> str | None:
    stages = trial.args[2]
    for name, stage in trial.got:
        if stage not in range(stages):
            return f"You need {name} at stage {stage!r}; the last stage is {stages - 1}."
    return None


def _same_micro_batch(trial: Trial) -> str | None:
    asked = trial.args[0]
    other = next((name for name, _ in trial.got if name[1:] != asked[1:]), None)
    return f"{asked} does not wait for {other}, which is of another micro-batch." if other else None


def _all_needed(trial: Trial) -> str | None:
    missing = next((each for each in trial.want if each not in trial.got), None)
    return f"{trial.args[0]} also has to wait for {missing[0]} at stage {missing[1]}." if missing else None


def _none_more(trial: Trial) -> str | None:
    more = next((each for each in trial.got if tuple(each) not in trial.want), None)
    return f"{trial.args[0]} does not have to wait for {more[0]} at stage {more[1]}." if more else None


def _backward_as_forward(name, stage, stages):
    return [(name, stage - 1)] if stage > 0 else []


def _off_the_end(name, stage, stages):
    return [("F" + name[1:], stage), ("B" + name[1:], stage + 1)] if name[0] == "B" else needs(name, stage, stages)


def _weights_from_later(name, stage, stages):
    return needs(name if name[0] == "F" else "B" + name[1:], stage, stages)


def _one_digit(name, stage, stages):
    return needs(name[:2], stage, stages)


NEEDS = Step(
    "What a pass waits for",
    "List what each pass has to wait for. These few rules are all that a simulator of pipelines has to know.",
    needs,
    'needs("B0", 1, 4)',
    _passes,
    (_exists, _same_micro_batch, _all_needed, _none_more),
    {
        _backward_as_forward: _all_needed,
        _off_the_end: _exists,
        _weights_from_later: _all_needed,
        _one_digit: _same_micro_batch,
    },
    (
        "Take the name apart: `name[0]` is the kind, `name[1:]` the number.",
        "Three cases by kind. F looks one stage back unless `stage` is 0, B one ahead unless it is the last.",
    ),
    extreme=lambda name, stage, stages: stages == 1,
)

# --- run a schedule ---------------------------------------------------------------------------------------------------


def end_times(schedule, costs):
    """When each pass ends, as a dictionary by (name, stage), in the unit of the costs; None if the schedule gets stuck.

    Time begins at 0. A stage runs its passes one at a time, in the order of its list. A pass starts as soon as its
    stage is free and all that it `needs` has ended.

    schedule  for each stage the list of its passes
    costs     the time of a pass by kind, for instance {"F": 1, "B": 2}
    """
    ends, free, todo = {}, [0] * len(schedule), [list(passes) for passes in schedule]
    moved = True
    while moved:
        moved = False
        for stage, passes in enumerate(todo):
            if passes and all(need in ends for need in needs(passes[0], stage, len(schedule))):
                name = passes.pop(0)
                ready = [ends[need] for need in needs(name, stage, len(schedule))]
                free[stage] = ends[name, stage] = max([free[stage], *ready]) + costs[name[0]]
                moved = True
    return None if any(todo) else ends


def _orders(rng: random.Random) -> tuple:
    make = rng.choice([gpipe, one_f_one_b, split_schedule])
    schedule = make(rng.randint(1, 3), rng.randint(1, 3))
    if rng.random() < 0.3:
        for passes in schedule:
            rng.shuffle(passes)  # most such orders get stuck
    return schedule, {"F": rng.randint(1, 2), "B": rng.randint(1, 3), "W": 1}


def _stuck(trial: Trial) -> str | None:
    if trial.want is None and trial.got is not None:
        return "This schedule gets stuck: some pass waits for one that never comes. Return None."
    if trial.want is not None and trial.got is None:
        return "This schedule does not get stuck: look at each stage's next pass again as long as any of them moves."
    return None


def _each_pass(trial: Trial) -> str | None:
    wanted = trial.want or {}
    missing = next((each for each in wanted if each not in trial.got), None)
    return (
        f"There is no time for {missing[0]} at stage {missing[1]}: use (name, stage) as the key." if missing else None
    )


def _one_at_a_time(trial: Trial) -> str | None:
    schedule, costs = trial.args
    for stage, passes in enumerate(schedule if trial.got else []):
        for before, name in zip(passes, passes[1:]):
            if trial.got[name, stage] < trial.got[before, stage] + costs[name[0]] - 1e-9:
                return f"Stage {stage} would do {before} and {name} at the same time: it runs one pass at a time."
    return None


def _after_needs(trial: Trial) -> str | None:
    schedule, costs = trial.args
    for (name, stage), end in (trial.got or {}).items():
        for need in needs(name, stage, len(schedule)):
            if end - costs[name[0]] < trial.got[need] - 1e-9:
                return f"{name} at stage {stage} starts before {need[0]} at stage {need[1]} has ended."
    return None


def _at_once(trial: Trial) -> str | None:
    wrong = next((key for key in trial.want or {} if not same(trial.got[key], trial.want[key])), None)
    if wrong is None:
        return None
    name, stage = wrong
    return (
        f"{name} at stage {stage} can end at {shown(trial.want[wrong])}, not {shown(trial.got[wrong])}: it starts as"
        " soon as its stage is free and all that it needs has ended."
    )


def _back_to_back(schedule, costs):
    times = [list(accumulate(costs[name[0]] for name in passes)) for passes in schedule]
    ends = {(name, n): end for n, passes in enumerate(schedule) for name, end in zip(passes, times[n])}
    return end_times(schedule, costs) and ends


def _endless_stages(schedule, costs):
    ends = {}
    for name in sorted(schedule[0], key=lambda name: "FBW".find(name[0])):
        order = range(len(schedule)) if name[0] == "F" else reversed(range(len(schedule)))
        for stage in order:
            ready = [ends.get(need, 0) for need in needs(name, stage, len(schedule))]
            ends[name, stage] = max([0, *ready]) + costs[name[0]]
    return end_times(schedule, costs) and ends


def _all_wait_for_all(schedule, costs):
    ends = end_times(schedule, costs)
    return ends and {key: number * 10.0 for number, key in enumerate(sorted(ends, key=ends.get), 1)}


def _never_stuck(schedule, costs):
    return end_times(schedule, costs) or {}


RUN = Step(
    "Run a schedule",
    "Build a simulator that runs any pipeline schedule, and tells when each pass ends.",
    end_times,
    'end_times([["F0", "B0"], ["F0", "B0"]], {"F": 1, "B": 2})',
    _orders,
    (_stuck, _each_pass, _one_at_a_time, _after_needs, _at_once),
    {
        _back_to_back: _after_needs,
        _endless_stages: _one_at_a_time,
        _all_wait_for_all: _at_once,
        _never_stuck: _stuck,
    },
    (
        "Keep three things: when each pass ended, when each stage is free, and what each stage still has to do.",
        "Go over the stages again and again. Where all needs of the next pass are in `ends`, run it.",
        "If a whole round moves nothing, you are done: stuck if any stage has passes left.",
    ),
    count=100,
    extreme=lambda orders, times: len(orders) == 1,
)

# --- two known schedules ----------------------------------------------------------------------------------------------


def gpipe(stages, micro_batches):
    """GPipe's schedule: every stage does all forward passes, F0 first, and then all backward passes, B0 first.

    Return a list of names such as "F0" for each stage. B is the whole backward pass here, so there is no W.
    """
    passes = [f"{kind}{n}" for kind in "FB" for n in range(micro_batches)]
    return [list(passes) for _ in range(stages)]


def one_f_one_b(stages, micro_batches):
    """The schedule 1F1B: as GPipe's, but a stage runs only a few forward passes ahead, so it holds less.

    The last stage does one forward pass before its first B, and each earlier stage one more than the stage after it.
    From then on a stage alternates: one B, one F, and so on while there are any.
    """
    schedule = []
    for stage in range(stages):
        ahead = min(stages - stage, micro_batches)
        passes = [f"F{n}" for n in range(ahead)]
        for n in range(micro_batches):
            passes.append(f"B{n}")
            if n + ahead < micro_batches:
                passes.append(f"F{n + ahead}")
        schedule.append(passes)
    return schedule


SPLIT = {"F": 1, "B": 1, "W": 1}


def split_schedule(stages, micro_batches):
    """Split 1F1B: 1F1B with each W as a pass of its own right after its B."""
    whole = one_f_one_b(stages, micro_batches)
    return [
        [each for name in passes for each in ([name, "W" + name[1:]] if name[0] == "B" else [name])] for passes in whole
    ]


def weights_last(stages, micro_batches):
    """1F1B with all W at the end."""
    last = [f"W{n}" for n in range(micro_batches)]
    return [passes + last for passes in one_f_one_b(stages, micro_batches)]


def _sizes(rng: random.Random) -> tuple:
    return rng.randint(1, 3), rng.randint(1, 4)


def a_list_each(trial: Trial) -> str | None:
    stages = trial.args[0]
    return None if len(trial.got) == stages else f"Return a list for each stage: {stages}, not {len(trial.got)}."


def each_once(trial: Trial) -> str | None:
    wanted = sorted(trial.want[0])
    for stage, passes in enumerate(trial.got):
        times = Counter(passes)
        for name in (*wanted, *passes):
            if times[name] != (name in wanted):
                fault = "lists more than once" if times[name] > 1 else "leaves out"
                return f"Stage {stage} {fault if name in wanted else 'must not list'} {name}."
    return None


def runs_through(trial: Trial) -> str | None:
    fine = end_times(trial.got, SPLIT)
    return None if fine else "This schedule gets stuck: run it with your `end_times`, and see which passes never end."


def _apart(trial: Trial) -> str | None:
    for stage, passes in enumerate(trial.got):
        first = next(n for n, name in enumerate(passes) if name[0] != "F")
        late = next((name for name in passes[first:] if name[0] == "F"), None)
        if late:
            return f"Stage {stage} does {late} after {passes[first]}: all forward passes come first."
    return None


def _few_ahead(trial: Trial) -> str | None:
    stages, micro_batches = trial.args
    for stage, passes in enumerate(trial.got):
        ahead, wanted = next(n for n, name in enumerate(passes) if name[0] != "F"), min(stages - stage, micro_batches)
        if ahead != wanted:
            return f"Stage {stage} does {count(ahead, 'forward pass', 'es')} before its first B; 1F1B does {wanted}."
    return None


_in_order = agrees("The micro-batches come in the order of their numbers, forward and backward.")


def _last_first(stages, micro_batches):
    passes = [f"F{n}" for n in range(micro_batches)] + [f"B{n}" for n in reversed(range(micro_batches))]
    return [list(passes) for _ in range(stages)]


def _backward_only(stages, micro_batches):
    return [[f"B{n}" for n in range(micro_batches)] for _ in range(stages)]


def _one_by_one(stages, micro_batches):
    return [[f"{kind}{n}" for n in range(micro_batches) for kind in "FB"] for _ in range(stages)]


def only_once(stages, micro_batches):
    return gpipe(1, micro_batches)


def _one_of_a_kind(stages: int, micro_batches: int) -> bool:
    return stages == 1 or micro_batches == 1


GPIPE = Step(
    "GPipe",
    "Write the simplest schedule as data, so that your simulator can run it.",
    gpipe,
    "gpipe(2, 3)",
    _sizes,
    (a_list_each, each_once, runs_through, _apart, _in_order),
    {_last_first: _in_order, _backward_only: each_once, _one_by_one: _apart, only_once: a_list_each},
    (
        "All stages have the same list.",
        '`[f"F{n}" for n in range(micro_batches)]` are the forward passes.',
    ),
    extreme=_one_of_a_kind,
)


def _as_many_everywhere(stages, micro_batches):
    return [list(one_f_one_b(stages, micro_batches)[0]) for _ in range(stages)]


def _stages_reversed(stages, micro_batches):
    return one_f_one_b(stages, micro_batches)[::-1]


def _forgets_the_end(stages, micro_batches):
    return [
        [name for name in passes if name != f"B{micro_batches - 1}"] for passes in one_f_one_b(stages, micro_batches)
    ]


ALTERNATE = Step(
    "1F1B",
    "Write the schedule that begins each backward pass as early as it can, and therefore holds fewer activations.",
    one_f_one_b,
    "one_f_one_b(2, 3)",
    _sizes,
    (a_list_each, each_once, runs_through, _few_ahead, _in_order),
    {
        gpipe: _few_ahead,
        _as_many_everywhere: _few_ahead,
        _stages_reversed: runs_through,
        _forgets_the_end: each_once,
        _one_by_one: _few_ahead,
    },
    (
        "Stage 0 does as many forward passes ahead as there are stages, and the last stage one.",
        "After B of micro-batch n comes the forward pass of n + ahead, if there is such a micro-batch.",
    ),
    extreme=_one_of_a_kind,
)
