"""The lab of the corpus lesson: a trend with its uncertainty, and what a text is worth when it is read again."""

from __future__ import annotations

import math
import random
from typing import Any

from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lab_values import count, same, shown
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus.simulation import checkpoints

# --- a line -----------------------------------------------------------------------------------------------------------


def fit_line(points):
    """Slope and intercept of the line with the least squared error, as (slope, intercept).

    points  (x, y) pairs; at least two of them have a different x
    """
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    above = sum((x - x_mean) * (y - y_mean) for x, y in points)
    below = sum((x - x_mean) ** 2 for x, _ in points)
    slope = above / below
    return slope, y_mean - slope * x_mean


def _points(rng: random.Random) -> list[tuple[int, int]]:
    return [(x, rng.randint(0, 9)) for x in sorted(rng.sample(range(10), rng.randint(2, 5)))]


def _fits(rng: random.Random) -> tuple:
    return (_points(rng),)


def _slope_first(trial: Trial) -> str | None:
    swapped = same(list(trial.got)[::-1], list(trial.want)) and not same(trial.got, trial.want)
    return "These are the right numbers, but swapped: return (slope, intercept)." if swapped else None


def _through_mean(trial: Trial) -> str | None:
    [points], (slope, intercept) = trial.args, trial.got
    x, y = (sum(column) / len(points) for column in zip(*points))
    fine = abs(slope * x + intercept - y) < 1e-9
    return (
        None
        if fine
        else f"The best line goes through the mean point ({x:.4g}, {y:.4g}); yours passes {slope * x + intercept:.4g}."
    )


def _balanced(trial: Trial) -> str | None:
    [points], (slope, intercept) = trial.args, trial.got
    error = sum((y - slope * x - intercept) ** 2 for x, y in points)
    least = sum((y - trial.want[0] * x - trial.want[1]) ** 2 for x, y in points)
    fine = error <= least + 1e-9
    return None if fine else f"Your line's squared errors add up to {error:.4g}; another line has {least:.4g}."


def _ends(points):
    (x1, y1), (x2, y2) = points[0], points[-1]
    slope = (y2 - y1) / (x2 - x1)
    return slope, y1 - slope * x1


def _through_origin(points):
    return sum(x * y for x, y in points) / max(1, sum(x * x for x, _ in points)), 0.0


def _flipped(points):
    return fit_line(points)[::-1]


def _flat(points):
    return 0.0, sum(y for _, y in points) / len(points)


FIT = Step(
    "The line of least squares",
    "Write the straight line that comes closest to the points, so that you know what a trend in published scores is"
    " made of.",
    fit_line,
    "fit_line([(0, 1), (1, 3), (3, 4)])",
    _fits,
    (_slope_first, _through_mean, _balanced),
    {_ends: _through_mean, _through_origin: _through_mean, _flipped: _slope_first, _flat: _balanced},
    (
        "The slope is the sum of (x - mean of x) × (y - mean of y), divided by the sum of (x - mean of x) squared.",
        "The line goes through the mean point, which gives you the intercept.",
    ),
    count=150,
)

# --- resample ---------------------------------------------------------------------------------------------------------


def resample(points, rng):
    """As many points again, drawn from these at random, each time from all of them. So some come twice, some never.

    points  a list
    rng     a `random.Random`; `rng.choice(points)` draws one
    """
    return [rng.choice(points) for _ in points]


def _draws(made, points, seed):
    rng = random.Random(seed)
    return [made(points, rng) for _ in range(40)]


def _lists(rng: random.Random) -> tuple:
    return [10 * n + rng.randint(0, 9) for n in range(rng.randint(3, 6))], rng.randint(0, 99)


def _as_many(trial: Trial) -> str | None:
    points, draws = trial.args[0], trial.got
    other = [draw for draw in draws if len(draw) != len(points)]
    return f"Draw as many as there are, {len(points)}; you drew {len(other[0])}." if other else None


def _from_these(trial: Trial) -> str | None:
    strange = [each for draw in trial.got for each in draw if each not in trial.args[0]]
    return f"{strange[0]!r} is none of the points." if strange else None


def _with_repeats(trial: Trial) -> str | None:
    repeated = any(len(set(draw)) < len(draw) for draw in trial.got)
    return None if repeated else "In 40 draws no point came twice: draw each time from all points."


def _all_drawn(trial: Trial) -> str | None:
    missing = set(trial.args[0]) - {each for draw in trial.got for each in draw}
    return f"In 40 draws {min(missing)} never came." if missing else None


def _untouched(trial: Trial) -> str | None:
    return None if trial.after == trial.args else "Your version changed the list of points."


def _varied(trial: Trial) -> str | None:
    different = {tuple(draw) for draw in trial.got}
    return None if len(different) > 5 else f"40 draws gave only {count(len(different), 'different result')}: use `rng`."


def _shuffled(points, rng):
    return rng.sample(points, len(points))


def _one_less(points, rng):
    return [rng.choice(points) for _ in points[1:]]


def _same_each_time(points, rng):
    rng = random.Random(1)
    return [rng.choice(points) for _ in points]


def _never_last(points, rng):
    return [points[rng.randrange(len(points) - 1)] for _ in points]


def _shuffles_in_place(points, rng):
    rng.shuffle(points)
    return [rng.choice(points) for _ in points]


RESAMPLE = Step(
    "Draw the points again",
    "Make a second set of points out of the first, as if the scores had been collected anew. Refitting many such"
    " sets shows how far a fit can be trusted.",
    resample,
    "resample([10, 20, 30, 40], random.Random(3))",
    _lists,
    (_untouched, _as_many, _from_these, _with_repeats, _varied, _all_drawn),
    {
        _shuffled: _with_repeats,
        _one_less: _as_many,
        _same_each_time: _varied,
        _never_last: _all_drawn,
        _shuffles_in_place: _untouched,
    },
    ("`[rng.choice(points) for …]`, as often as there are points.",),
    play=_draws,
    also=[([10, 20, 30, 40], 3)],
    calls=lambda points, seed: f"rng = random.Random({seed}); [resample({points}, rng) for _ in range(40)]",
    count=25,
    many=True,
)

# --- an interval ------------------------------------------------------------------------------------------------------


def interval(values, level):
    """The range that holds the middle share of some values, as (low, high).

    values  numbers, in any order
    level   share to keep, for instance 0.9; the same number of values is left out at each end, rounded down
    """
    kept = sorted(values)
    cut = int(len(kept) * (1 - level) / 2 + 1e-9)
    return kept[cut], kept[-cut - 1]


def _many(rng: random.Random) -> tuple:
    return [rng.randint(0, 99) for _ in range(rng.choice([5, 10, 20, 40]))], rng.choice([0.5, 0.8, 0.9, 1.0])


def _ordered(trial: Trial) -> str | None:
    low, high = trial.got
    return None if low <= high else f"Low comes first, but {low} is above {high}."


def _everything(trial: Trial) -> str | None:
    values, level = trial.args
    fine = level < 1 or trial.got == (min(values), max(values))
    return None if fine else f"At level 1 nothing is left out: ({min(values)}, {max(values)})."


def _values_kept(trial: Trial) -> str | None:
    return None if trial.after == trial.args else "Your version changed the list: use `sorted(values)`."


def _cut(trial: Trial) -> float:
    values, level = trial.args
    return len(values) * (1 - level) / 2


def _exact_cut(trial: Trial) -> str | None:
    kept, cut = sorted(trial.args[0]), int(_cut(trial))
    if same(trial.got, trial.want) or not same(trial.got, (kept[cut], kept[-cut - 1])):
        return None
    return (
        f"Floating point makes {len(kept)} * (1 - {trial.args[1]}) / 2 a little less than {cut + 1}: {_cut(trial)!r}."
        f" So rounding down gives {cut}. Add 1e-9 first."
    )


def _middle(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or _exact_cut(trial):
        return None
    values, level = trial.args
    return (
        f"Leave out {len(values)} × (1 - {level}) / 2 = {_cut(trial):.4g} values at each end, rounded down. Expected"
        f" {shown(trial.want)}."
    )


def _unsorted(values, level):
    cut = int(len(values) * (1 - level) / 2 + 1e-9)
    return values[cut], values[-cut - 1]


def _one_end(values, level):
    kept = sorted(values)
    return kept[int(len(kept) * (1 - level) + 1e-9)], kept[-1]


def _twice_as_much(values, level):
    kept = sorted(values)
    cut = min(int(len(kept) * (1 - level) + 1e-9), (len(kept) - 1) // 2)
    return kept[cut], kept[-cut - 1]


def _sorts_in_place(values, level):
    values.sort()
    cut = int(len(values) * (1 - level) / 2 + 1e-9)
    return values[cut], values[-cut - 1]


def _bare_int(values, level):
    kept = sorted(values)
    cut = int(len(kept) * (1 - level) / 2)
    return kept[cut], kept[-cut - 1]


def _off_by_one(values, level):
    kept = sorted(values)
    cut = int(len(kept) * (1 - level) / 2 + 1e-9)
    return kept[cut], kept[-cut] if cut else kept[-2]


INTERVAL = Step(
    "The middle nine tenths",
    "Cut the extremes off a list of results and report the range in the middle, which is how the uncertainty of a"
    " fit is stated.",
    interval,
    "interval([5, 1, 9, 3, 7, 2, 8, 4, 6, 10], 0.8)",
    _many,
    (_values_kept, _everything, _ordered, _middle, _exact_cut),
    {
        _unsorted: _everything,
        _one_end: _middle,
        _twice_as_much: _middle,
        _sorts_in_place: _values_kept,
        _off_by_one: _everything,
        _bare_int: _exact_cut,
    },
    ("Sort, then count off the same number at both ends.", "The last one kept is `kept[-cut - 1]`."),
)

# --- reading again ----------------------------------------------------------------------------------------------------


def data_worth(tokens, unique, reuse):
    """How many fresh tokens a run is worth that reads a text several times.

    tokens  tokens of the run
    unique  different tokens of the text; a run of more tokens reads them again
    reuse   fitted: the repetitions that it takes until a token has lost most of its worth (about 15)

    The first pass counts in full. All repetitions r = tokens / unique - 1 together are worth
    unique * reuse * (1 - exp(-r / reuse)).
    """
    if tokens <= unique:
        return tokens
    repetitions = tokens / unique - 1
    return unique + unique * reuse * (1 - math.exp(-repetitions / reuse))


def _runs(rng: random.Random) -> tuple:
    return rng.choice([1e11, 1e12, 4e12, 40e12]), rng.choice([1e11, 1e12, 5e12]), rng.choice([5, 15.4])


def _first_pass(trial: Trial) -> str | None:
    tokens, unique, _ = trial.args
    fine = tokens > unique or trial.got == tokens
    return None if fine else f"Nothing is read twice here: the run is worth its {tokens:.3g} tokens."


def _not_more(trial: Trial) -> str | None:
    tokens = trial.args[0]
    return (
        None
        if trial.got <= tokens * (1 + 1e-9)
        else f"A repeated text is never worth more than {tokens:.3g} fresh tokens."
    )


def _at_least_once(trial: Trial) -> str | None:
    tokens, unique, _ = trial.args
    least = min(tokens, unique)
    return None if trial.got >= least * (1 - 1e-9) else f"The first pass alone is worth {least:.3g}."


def _fading(trial: Trial) -> str | None:
    tokens, unique, reuse = trial.args
    if same(trial.got, trial.want):
        return None
    return (
        f"The first pass counts {unique:.3g} tokens in full. The r = {tokens / unique:.4g} - 1 repetitions add"
        f" {trial.want - unique:.4g}. Expected {shown(trial.want)}."
    )


def _all_full(tokens, unique, reuse):
    return tokens


def _once_only(tokens, unique, reuse):
    return min(tokens, unique)


def _repeats_only(tokens, unique, reuse):
    return tokens if tokens <= unique else unique * reuse * (1 - math.exp(-(tokens / unique - 1) / reuse))


def _counts_passes(tokens, unique, reuse):
    return tokens if tokens <= unique else unique + unique * reuse * (1 - math.exp(-(tokens / unique) / reuse))


def _no_first_case(tokens, unique, reuse):
    return unique + unique * reuse * (1 - math.exp(-(tokens / unique - 1) / reuse))


WORTH = Step(
    "What reading again is worth",
    "Work out how many fresh tokens a repeated text replaces, since each further reading teaches a model less.",
    data_worth,
    "data_worth(4e12, 1e12, 15.4)",
    _runs,
    (_first_pass, _not_more, _at_least_once, _fading),
    {
        _all_full: _fading,
        _once_only: _fading,
        _repeats_only: _fading,
        _counts_passes: _not_more,
        _no_first_case: _first_pass,
    },
    (
        "First treat the case in which nothing is repeated.",
        "`math.exp(-repetitions / reuse)` is how much worth is left.",
    ),
)


def last_useful_pass(least, reuse):
    """The last pass at whose end a token is still worth at least a given share of a fresh one.

    least  the share, for instance 0.5
    reuse  as in `data_worth`: at the end of pass n a token is worth exp(-(n - 1) / reuse) of a fresh one
    """
    passes = 1
    while math.exp(-passes / reuse) >= least:
        passes += 1
    return passes


def _shares(rng: random.Random) -> tuple:
    return rng.choice([0.05, 0.1, 0.3, 0.5, 0.8, 0.97, 1]), rng.choice([5, 15.4, 30])


def _whole(trial: Trial) -> str | None:
    fine = isinstance(trial.got, int) and trial.got >= 1
    return (
        None if fine else f"Passes are whole, and the first always counts: return an int from 1 up, not {trial.got!r}."
    )


def _still_worth(trial: Trial) -> str | None:
    (least, reuse), n = trial.args, trial.got
    worth = lambda n: math.exp(-(n - 1) / reuse)
    if worth(n) < least:
        return f"At the end of pass {n} a token is worth {worth(n):.3f}, less than {least}."
    return None if worth(n + 1) < least else f"At the end of pass {n + 1} a token is still worth {worth(n + 1):.3f}."


def _one_late(least, reuse):
    return last_useful_pass(least, reuse) + 1


def _one_early(least, reuse):
    return max(1, last_useful_pass(least, reuse) - 1)


def _fraction(least, reuse):
    return 1 + reuse * math.log(1 / least)


def _rounded_up(least, reuse):
    return math.ceil(reuse * math.log(1 / least))


def _more_than_the_share(least, reuse):
    passes = 1
    while math.exp(-passes / reuse) > least:
        passes += 1
    return passes


def _reuse_itself(least, reuse):
    return int(reuse)


LAST = Step(
    "When repeating stops paying",
    "Find the last pass that by the law is still worth the compute. Past about five passes real runs do worse than the"
    " law, so a larger answer is only a best case.",
    last_useful_pass,
    "last_useful_pass(0.8, 15.4)",
    _shares,
    (_whole, _still_worth),
    {
        _one_late: _still_worth,
        _one_early: _still_worth,
        _fraction: _whole,
        _rounded_up: _whole,
        _reuse_itself: _still_worth,
        _more_than_the_share: _still_worth,
    },
    (
        "Try pass after pass until a token is worth too little at its end.",
        "Or solve exp(-(n - 1) / reuse) = least for n, and round down.",
    ),
    also=[(math.exp(-1), 5), (math.exp(-2), 5)],
)

# --- the chart --------------------------------------------------------------------------------------------------------

MODEL, DRAWS, REUSE = "LLäMmlein 1B", 300, 15.4


def finish(own: Any) -> dict[str, Any]:
    """Published scores over tokens with the reader's line and its range; the title holds what four passes are worth."""
    found = checkpoints(MODEL)
    points = [(math.log10(tokens), score) for tokens, score in zip(found.tokens, found.scores)]
    rng = random.Random(0)
    drawn = [each for each in (own.resample(points, rng) for _ in range(DRAWS)) if len({x for x, _ in each}) > 1]
    lines = [own.fit_line(each) for each in drawn]
    (slope, intercept), (a, b) = own.fit_line(points), fit_line(points)
    xs = [points[0][0] + n * (points[-1][0] - points[0][0]) / 20 for n in range(21)]
    ranges = [own.interval([slope * x + start for slope, start in lines], 0.9) for x in xs]
    at = lambda ys: Series([(10**x / 1e12, y) for x, y in zip(xs, ys)])
    worth, course = own.data_worth(4, 1, REUSE), eq.data_worth(pretrain_tokens=4, unique_tokens=1, reuse=REUSE)
    passes = own.last_useful_pass(0.8, REUSE)
    return lab_chart(
        f"By your line {MODEL} gains {slope:.3f} in score with every ten times as many tokens\nFour passes"
        f" are worth {worth:.3g} fresh ones (the lesson says {course:.3g}); pass"
        f" {passes} still pays 80%",
        "tokens of training (trillions)",
        "mean score",
        {
            "your line": at([slope * x + intercept for x in xs]),
            "the course's line": Series([(10**x / 1e12, a * x + b) for x in xs[::4]], "point"),
            "your range, lower end": at([low for low, _ in ranges]),
            "your range, upper end": at([high for _, high in ranges]),
            "published scores": Series(
                [(tokens / 1e12, score) for tokens, score in zip(found.tokens, found.scores)], "point"
            ),
        },
        log_x=True,
    )


LAB = Lab(
    "Fit a trend, and say how sure you are",
    "You fit a line to published scores, find by resampling how far to trust it, and work out when reading the same"
    " text again stops paying.",
    (FIT, RESAMPLE, INTERVAL, WORTH, LAST),
    finish,
    "The range between your two outer curves is what nine in ten resamplings give. Where it is wide, the published"
    " points do not settle the question.",
    {"math": math, "random": random},
)
