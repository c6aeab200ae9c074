"""Practice problems of the corpus lesson: what a run was, what its last tokens bought, what repeating and filtering
cost, who said what.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import comb, exp, fsum, log, sqrt
from random import Random
from statistics import fmean, stdev, variance

import sympy
from sympy import Le, floor, solve
from sympy import exp as power_of_e
from sympy import log as logarithm

from blackboard.catalogue import chip, measurement, model
from blackboard.formula import Formula, Max, Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import numbers
from blackboard.lessons.corpus.numbers import LARGE, NETS, SMALL
from blackboard.lessons.overtraining import equations as law
from blackboard.notation import symbol
from blackboard.problem import Choice, Estimate, Guess, Ordering, Quantity, Step, Values, right, v, wrong
from blackboard.search import find_minimum, find_root
from blackboard.units import factor, significant

RUN = "Reconstruct a training run from a paper's table, and say what the paper does and does not show."
PERCENT = "Decide whether the next percent of compute should go into tokens or into parameters."
PLATEAU = "Fit a learning curve and judge whether the points show a plateau."
REPEAT = "Compute what repeated tokens are worth, and how often to repeat."
FILTER = "Decide how strictly to filter, given how long you will train."

HOUR, TRILLION = factor("hour"), 1e12
REUSE = numbers.reuse()
OWN = numbers.run(LARGE)  # what the paper prints of the larger model


def summed(tokens: float, unique: float, parts: int = 500) -> float:
    """Fresh tokens that a run is worth, added up small part by small part, each worth a little less than the one
    before.
    """
    worths, done = [], 0.0
    while done < tokens - 1e-9 * unique:
        part = min(unique / parts, tokens - done)
        worths.append(part * exp(-max(0.0, (done + part / 2) / unique - 1) / REUSE))
        done += part
    return fsum(worths)


def long_worth(epochs: float) -> float:
    """What so many passes are worth, in passes of fresh text."""
    return numbers.worth(epochs, 1.0)


# --- what the run was -------------------------------------------------------------------------------------------------


def placed(values: Values) -> Values:
    """A drawn model's parameters and tokens, in the notation's names; a made-up one is just these two."""
    if isinstance(values["net"], tuple):
        return {"net_name": "A model", "prescribed": law.PRESCRIBED} | dict(zip(("n_active", "pretrain_tokens"), values["net"]))
    net = model(values["net"])
    return {
        "net_name": net.name,
        "n_active": float(net.n_active),
        "pretrain_tokens": net.training_tokens,
        "prescribed": law.PRESCRIBED,
    }


guess = Guess(
    "A guess before you read",
    level="easy",
    objective=RUN,
    unit="1",
    within=2.5,
    statement="{net_name} has {n_active} and was trained on {pretrain_tokens}. Chinchilla's rule gives each parameter 20 tokens. How many times as many tokens was the model trained on? Guess in your head: within a factor of 2.5 counts.",
    parameters={"net": (NETS[LARGE], *product((1e9, 2e9, 3e9, 5e9, 7e9, 9e9), (2e12, 4e12, 6e12, 9e12, 12e12)))},
    derived=lambda v: (found := placed(v)) | {"far": significant(law.overtraining(found), 2)},
    units={"net_name": "", "far": ""},
    answer=law.overtraining,
    independent_check=lambda v: find_root(
        lambda far: 6 * v["n_active"] * sum(v["n_active"] for _ in range(20)) * far - 6 * v["n_active"] * v["pretrain_tokens"],
        1e-6,
        1e9,
    ),
    misconceptions={
        v.pretrain_tokens / v.n_active: "That is tokens for each parameter. Compare it with the rule's 20.",
        1.0: "That would be training by the rule. Work out what the rule gives this model.",
        1 / law.overtraining: "Upside down: more tokens than the rule's is a factor above one.",
    },
    explanation="About {far} times: heavy over-training, because the model is small and its text is long.",
    hints=(
        "How many tokens does the rule give to so many parameters?",
        "Tokens ÷ (20 × parameters).",
    ),
    solution=(
        Step(f"${law.chinchilla_tokens.latex}$ =", law.chinchilla_tokens, "token"),
        "Its tokens over these:",
    ),
)


def counted(values: Values) -> Values:
    """A drawn run of the paper, whole or up to a step, with its counts as printed."""
    run, steps = values["until"]
    row = numbers.run(run)
    shown = {
        "taken": f"Look at {run} after {steps:,} of its {row['steps']:,} steps" if steps else f"{run} took {row['steps']:,} steps",
        "asked": "had it been read by then" if steps else "was it read",
        "batch_text": f"{row['batch']:,}",
        "context_text": f"{row['context_tokens']:,}",
    }
    known = {name: row[name] for name in ("batch", "unique_tokens", "chips")} | {"context": row["context_tokens"]}
    return shown | known | {"steps": steps or row["steps"], "done": (steps or row["steps"]) / row["steps"], "net": NETS[run]}


WHOLE_RUN = 0
UNTIL = (
    *((LARGE, WHOLE_RUN), (SMALL, WHOLE_RUN)),
    *((LARGE, steps) for steps in range(700_000, 1_400_000, 25_000)),
    *((SMALL, steps) for steps in range(280_000, 460_000, 10_000)),
)
PRINTED = dict.fromkeys(("run", "taken", "asked", "batch_text", "context_text", "hours_text", "text"), "") | {"chips": "1"}


def read(values: Values) -> float:
    """Epochs of the drawn run."""
    return values["steps"] * eq.step_tokens(values) / values["unique_tokens"]


epochs = Quantity(
    "How often was it read?",
    level="easy",
    objective=RUN,
    unit="1",
    statement="{taken}. In a step all its GPUs together read {batch_text} sequences of {context_text} tokens; every sequence is full. The text has {unique_tokens}. How many times {asked}, on average?",
    parameters={"until": UNTIL},
    derived=counted,
    units=PRINTED,
    answer=read,
    independent_check=lambda v: v["done"] * model(v["net"]).training_tokens / v["unique_tokens"],
    misconceptions={
        lambda v: 1 / read(v): "Upside down: divide the tokens that were read by the tokens of the text.",
        lambda v: read(v) - 1: "That is how often it was repeated. The first pass counts, too.",
        lambda v: read(v) / v["batch"]: "That is a single sequence in each step.",
        lambda v: read(v) * v["chips"]: "You gave each GPU a batch of its own. The batch is what all of them read together.",
    },
    explanation="“Trained on trillions of tokens” counts what was read, not how much text there was.",
    hints=(
        "How many tokens does a step read?",
        "Steps × sequences × tokens, over the tokens of the text.",
    ),
    solution=(
        Step(f"${eq.step_tokens.latex}$ =", eq.step_tokens, "token"),
        Step("Read in all:", v.steps * eq.step_tokens, "token"),
        "Over the text:",
    ),
)


def timed(values: Values) -> Values:
    """A run on A100s with its GPU hours, in the notation's names."""
    name, *made_up = values["run"]
    if made_up:
        row = dict(zip(("n_active", "tokens", "training_GPU_hours"), made_up))
    elif name == LARGE:
        row = numbers.run(LARGE)
    else:
        [row] = measurement("training_gpu_hours").records(model=name)
        row = row | {"tokens": row["pretraining_tokens"]}
    hours = row["training_GPU_hours"]
    known = {
        "n_active": float(row["n_active"]),
        "pretrain_tokens": float(row["tokens"]),
        "chip_time": hours * HOUR,
        "hours_text": f"{hours:,} hours",
        "name": name,
    }
    return known | {"chip_flops": chip("a100-80gb").flops("bf16")}


A100_RUNS = (
    *((LARGE,), ("Llama 2 7B",), ("Llama 2 13B",), ("Llama 2 70B",)),
    *(("A model", 1.5e9, 0.5e12, hours) for hours in (9_000, 10_000, 12_000, 14_000)),
    *(("A model", 3e9, 1e12, hours) for hours in (36_000, 40_000, 45_000, 50_000, 60_000)),
    *(("A model", 7e9, 1e12, hours) for hours in (80_000, 90_000, 100_000, 120_000, 140_000)),
    *(("A model", 7e9, 3e12, hours) for hours in (240_000, 280_000, 320_000, 400_000)),
    *(("A model", 13e9, 1e12, hours) for hours in (150_000, 180_000, 200_000, 240_000)),
    *(("A model", 13e9, 1.4e12, hours) for hours in (210_000, 250_000, 300_000, 350_000)),
    *(("A model", 34e9, 2e12, hours) for hours in (750_000, 900_000, 1_000_000, 1_200_000)),
)

mfu = Quantity(
    "What the chips were used for",
    level="medium",
    objective=RUN,
    unit="1",
    display_unit="%",
    statement="{name} has {n_active} and was trained on {pretrain_tokens}. Its makers report {hours_text} of A100 time. The peak of an A100 is {chip_flops} (dense, BF16). Take 6 FLOPs per parameter and token. What MFU did the run reach, in percent?",
    parameters={"run": A100_RUNS},
    derived=timed,
    units=PRINTED | {"chip_flops": "FLOP/s", "name": ""},
    answer=eq.mfu_reached,
    independent_check=lambda v: find_root(lambda share: v["chip_time"] - law.training_time(v, train_mfu=share), 0.0001, 1.0),
    misconceptions={
        eq.mfu_reached / 3: "That is forward passes alone. Training takes 6 FLOPs, not 2.",
        eq.mfu_reached / 2: "That counts multiply-adds once, or takes the rate with sparsity, which is twice the dense one.",
        eq.mfu_reached * 4 / 3: "Eight FLOPs run the forward pass twice. MFU counts what the model needs: six.",
        eq.mfu_reached / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="Tokens, size and hours come from three places of a paper. An MFU between a quarter and a half is a sign that they fit together.",
    hints=(
        "How many FLOPs did the run need, and how many could the chips have done in that time?",
        "6 $N D$ ÷ (hours × 3,600 × peak).",
    ),
    solution=(
        Step("FLOPs that the run needed, 6 $N D$, in units of 10²¹:", law.pretrain_compute / 1e21, "1"),
        Step("that the chips could have done, in the same:", v.chip_time * v.chip_flops / 1e21, "1"),
        "Their ratio, in percent:",
    ),
)


def padded() -> str:
    """What falls when documents are filled up to the context: places, text and products counted in a toy batch whose
    every third place is padding.
    """
    width, full, rows = (
        5,
        [1] * 12,
        [[1] * 8 + [0] * 4 for _ in range(6)],
    )  # 1 is text, 0 padding, which the loss does not count
    count = lambda batch: (sum(map(sum, batch)), sum(len(row) * width for row in batch))
    (text, work), (short_text, short_work) = count([full] * 6), count(rows)
    falls = short_text * 3 == text * 2, short_work < work
    return {(True, False): "b", (True, True): "c", (False, False): "a"}[falls]


padding = Choice(
    "Places for tokens",
    level="medium",
    objective=RUN,
    statement="LLäMmlein's tokens are steps × sequences × context. The code that was released later puts one document into a sequence, fills the rest with padding and leaves that out of the loss. The paper does not say whether its runs did so. Suppose they did, and a third of all places was padding. What would change?",
    independent_check=lambda v: padded(),
    options=[
        wrong("nothing: padding is left out of the loss, so it does not matter", "Left out of the loss it teaches nothing. Then it should not be counted as text, either."),
        right("tokens read, passes and the times past Chinchilla's rule are a third lower; the work of the chips is as counted", "A product does not know which of its rows are padding. So “tokens” can mean places or text, and a reader has to ask which."),
        wrong("tokens read and the work of the chips are both a third lower", "The mask takes padding out of the loss. The layers multiply these rows like all others."),
        wrong("the tokens are as printed, and only the MFU falls", "What is padding has not been read, whatever is printed."),
    ],
    hints=("Follow a row of padding through the network: is it multiplied? Does it teach?",),
    solution=("It takes its place in every product, so work and hours are as counted. It carries no text, so the tokens read are fewer.",),
)

# --- tokens against parameters ----------------------------------------------------------------------------------------

FITS = (numbers.FIT, numbers.OTHER_FIT)


def fitted(values: Values) -> Values:
    """A drawn model, and a drawn fit's constants with its text."""
    known = numbers.fitted(values["fit"])
    return placed(values) | known | {"law_text": law.law_text(known)}


FITTED = {"fit": "", "law_text": "", "net_name": ""}
LONG = ("llammlein-1b", "llammlein-120m", "llama-3.1-8b", "qwen3-8b")  # trained far past the rule
LONGER = (*LONG, "qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "qwen3-14b", "qwen3-32b", "gemma-3-27b", "llammlein-7b", "llama-2-7b", "qwen2.5-72b", "llama-3.1-70b")
MADE_UP = ((1e9, 5e12), (1e9, 1e13), (2e9, 5e12), (2e9, 1e13), (3e9, 5e12), (3e9, 1e13), (3e9, 2e13), (5e9, 1e13), (5e9, 2e13), (7e9, 15e12))
SHOWN = ("llammlein-1b", "gpt-3-175b")  # whose ratios the lesson prints
OTHERS = ("llama-2-70b", "pythia-12b", "llama-3.1-405b", "palm-8b", "palm-62b", "palm-540b", "gpt-3-175b", "bloom-176b")


def drops(values: Values, more: float = 1.0001) -> float:
    """What a little more tokens takes off the loss, over what as much more parameters does, by differences."""
    at = law.law_loss(values)
    by = lambda name: at - law.law_loss(values, **{name: values[name] * more})
    return by("pretrain_tokens") / by("n_active")


PART_D, PART_N = eq.loss_left.expr, law.loss_size * law.n_active**-eq.size_power


def searched(known: Values, compute: float) -> float:
    """The size with the lowest loss for a compute of training, in parameters, by thirds of an interval."""
    loss = lambda size: law.law_loss(known, n_active=size, pretrain_tokens=compute / (6 * size))
    return find_minimum(loss, 1e6, 1e14)


def worth_at_best(compute: float) -> float:
    """Percent of tokens over percent of parameters at the best size, searched and differenced."""
    known = numbers.fitted()
    size = searched(known, compute)
    return drops(known | {"n_active": size, "pretrain_tokens": compute / (6 * size)})


def settles() -> str:
    """The option that the best sizes for two very different computes agree with."""
    found = {round(worth_at_best(compute), 2) for compute in (1e20, 1e25)}
    return {frozenset({1.0}): "b", frozenset({0.0}): "a", frozenset({20.0}): "c"}.get(frozenset(found), "d")


best_is_one = Choice(
    "At the best size",
    level="easy",
    objective=PERCENT,
    statement="For some training budget, take the size and the tokens that reach the lowest loss. From there, one percent more tokens lowers the loss a little, and so does one percent more parameters. Divide the first gain by the second. What do you get?",
    independent_check=lambda v: settles(),
    options=[
        wrong("0: the tokens have done all they can", "Then a percent of the tokens could go, and be spent on size, for nothing. This would not be the best size."),
        right("1", "A percent of either costs the same. If one did more than the other, one would trade, and the loss would not be the lowest."),
        wrong("20, by Chinchilla's rule", "That is tokens for each parameter. Here a percent is set against a percent."),
        wrong("that depends on the compute", "Size and tokens depend on the compute. Ask what holds at each best size, whatever the compute."),
    ],
    hints=("One percent more tokens costs one percent more compute. So does one percent more parameters.",),
    solution=(f"At the best size neither can be traded for the other with a gain, so ${eq.tokens_worth.latex}$ is one.",),
)


percent = Quantity(
    "A percent of each",
    level="medium",
    objective=PERCENT,
    unit="1",
    statement="A published fit of the loss is {law_text}. {net_name} has {n_active} and was trained on {pretrain_tokens}. One percent more tokens would lower its loss a little, and so would one percent more parameters. Divide the first gain by the second. What do you get, for small changes?",
    parameters={"net": tuple(net for net in (*LONGER, *OTHERS) if net not in SHOWN), "fit": FITS},
    derived=fitted,
    units=FITTED,
    answer=eq.tokens_worth,
    independent_check=drops,
    misconceptions={
        eq.tokens_worth * v.size_power / v.data_power: "You compared the two parts of the loss. What a percent takes off a part is its exponent times the part.",
        1 / eq.tokens_worth: "Upside down: divide the gain of the tokens by that of the parameters.",
        eq.tokens_worth * v.n_active / v.pretrain_tokens: "That compares one token with one parameter. A percent is many more of the one than of the other.",
        v.data_power / v.size_power: "Those are the exponents. Each belongs to a part of the loss, and the parts are not of one size.",
    },
    explanation="Both cost a percent more compute. Far below one, the compute would have done more as parameters; far above one, as tokens.",
    hints=(
        "Work out the two parts of the loss that can fall: the one with $N$, the one with $D$.",
        "A percent more $D$ takes {data_power} percent off the term with $D$. Likewise for $N$.",
    ),
    solution=(
        Step("Exponent × term with $D$:", v.data_power * eq.loss_left, "1"),
        Step("exponent × term with $N$:", v.size_power * v.loss_size / v.n_active**v.size_power, "1"),
        "Their ratio:",
    ),
)
percent_letters = Expression(
    "The same in letters",
    level="medium",
    objective=PERCENT,
    statement="A fit of the loss is `A_0 + A_N / N_act^alpha_N + A_D / D_pre^alpha_D`, where `A_0` is the loss that nothing removes. Write how much one percent more tokens lowers the loss, divided by how much one percent more parameters does, for small changes.",
    formula=eq.tokens_worth,
    test_points=tuple(numbers.fitted(fit) | placed({"net": net}) for fit in FITS for net in ("llammlein-1b", "llama-2-70b")),
    independent_check=lambda v: (lambda D, N, loss: D * loss.diff(D) / (N * loss.diff(N)))(eq.pretrain_tokens, law.n_active, law.law_loss.expr),
    misconceptions={
        PART_D / PART_N: "That is one part of the loss over the other. How fast a part falls with a percent is its exponent times the part.",
        eq.size_power * PART_N / (eq.data_power * PART_D): "Upside down: divide the gain of the tokens by that of the parameters.",
        eq.size_power * PART_D / (eq.data_power * PART_N): "Each exponent stands with its own part.",
        eq.data_power * PART_D / eq.pretrain_tokens / (eq.size_power * PART_N / law.n_active): "Those are the slopes: one token against one parameter. A percent of each is asked.",
        eq.data_power / eq.size_power: "Those are the exponents. Each belongs to a part of the loss, and the parts are not of one size.",
    },
    explanation="Where a size is the best one for its compute this is one: else a little of the one could be traded for the other, and the loss would fall.",
    hints=(
        "By how many percent does A_D / D_pre^alpha_D fall when D_pre grows by one percent?",
        "alpha_D × one part, over alpha_N × the other.",
    ),
    solution=(Step(f"${eq.tokens_worth.latex}$, typed as", "alpha_D * A_D / D_pre^alpha_D / (alpha_N * A_N / N_act^alpha_N)"),),
)

LINE_UP = {"a": "qwen3-32b", "b": "gpt-3-175b", "c": "llammlein-1b", "d": "pythia-12b", "e": "llama-3.1-8b"}


def by(measure) -> str:
    """The keys of LINE_UP by a measure of a model's parameters and tokens, the least first."""
    return "".join(sorted(LINE_UP, key=lambda key: measure(numbers.fitted() | placed({"net": LINE_UP[key]}))))


def item(id: str) -> str:
    """A model's name with its parameters and tokens."""
    net = model(id)
    return f"{net.name}: {significant(net.n_active / 1e9, 3)} billion parameters, {significant(net.training_tokens / TRILLION, 2)} trillion tokens"


WORTHS = {key: eq.tokens_worth(numbers.fitted() | placed({"net": id})) for key, id in LINE_UP.items()}
runs_in_order = Ordering(
    "Where more text would help",
    level="medium",
    objective=PERCENT,
    statement=f"A published fit of the loss is {law.law_text(numbers.fitted())}. For each of these models, divide what one percent more tokens would take off its loss by what one percent more parameters would. Put them in order, the least first: where more text was worth the least.",
    items=[
        item(LINE_UP["a"]),
        item(LINE_UP["b"]),
        item(LINE_UP["c"]),
        item(LINE_UP["d"]),
        item(LINE_UP["e"]),
    ],
    answer=by(lambda v: eq.tokens_worth(v)),
    independent_check=lambda v: by(drops),
    misconceptions={
        by(lambda v: -eq.tokens_worth(v)): "That is from the most to the least.",
        by(lambda v: -v["pretrain_tokens"]): "That is by tokens alone. The same tokens are plenty for a small model and few for a large one.",
        by(lambda v: v["n_active"]): "That is by size alone. It also matters how much text each has had.",
    },
    explanation="Nearly the order of tokens for each parameter, because the two exponents are nearly equal. Text of another kind or language has other constants.",
    hints=("Work out both parts of the loss for each model. Or begin with tokens for each parameter: the exponents are nearly the same.",),
    solution=("Tokens over parameters, percent for percent: " + ", ".join(f"{key} {significant(WORTHS[key], 2)}" for key in sorted(WORTHS)) + ".",),
)


def best_for(values: Values) -> Values:
    """The drawn model, its compute of training, and the size and tokens that would have been best for it."""
    known = fitted(values)
    budget = law.pretrain_compute(known)
    size = law.best_size(known, compute_budget=budget)
    return known | {"compute_budget": budget, "size_best": size, "tokens_best": budget / (6 * size)}


def saved(values: Values, **best: float) -> float:
    """Nats by which another run's loss is lower."""
    return law.law_loss(values) - law.law_loss(values, **best)


same_compute = Quantity(
    "The same compute, spent otherwise",
    level="hard",
    objective=PERCENT,
    unit="1",
    tolerance=0.03,
    statement="A published fit of the loss is {law_text}. {net_name} has {n_active} and was trained on {pretrain_tokens}, at 6 FLOPs per parameter and token. The same FLOPs could have trained a model of the size that is best for them. By how many nats would its loss be lower?",
    parameters={"net": (*LONGER, *MADE_UP), "fit": FITS},
    derived=best_for,
    condition=lambda v: saved(v, n_active=v["size_best"], pretrain_tokens=v["tokens_best"]) > 0.03 and v["size_best"] > 2 * v["n_active"],
    units=FITTED,
    answer=lambda v: saved(v, n_active=v["size_best"], pretrain_tokens=v["tokens_best"]),
    independent_check=lambda v: saved(
        v,
        n_active=(size := searched(v, 6 * v["n_active"] * v["pretrain_tokens"])),
        pretrain_tokens=v["n_active"] / size * v["pretrain_tokens"],
    ),
    misconceptions={
        eq.loss_left: "That is what endless data would still take off at this size. Here the size may change, and the FLOPs may not.",
        lambda v: saved(v, n_active=v["size_best"]): "You kept the tokens, so the larger model takes more FLOPs. More size must be paid for with tokens.",
        law.law_loss - v.loss_floor: "That is all of the loss above its floor. No budget removes that.",
        law.law_loss.at(n_active=v.size_best, pretrain_tokens=v.tokens_best): "That is the loss itself. By how much is it lower?",
    },
    explanation="That is what staying small cost in loss. Whoever serves the model saves it again with every token, and the over-training lesson says when that pays.",
    hints=(
        "At 6 $N D$ FLOPs, the tokens for a size are $N D$ ÷ size. Try sizes, or use the condition that a percent of each is worth the same.",
        "exponent × term with $N$ = exponent × term with $D$, with $N$ × $D$ as it was.",
    ),
    solution=(
        Step(f"${law.best_size.latex}$ =", v.size_best, "parameter"),
        Step("For the same FLOPs it reads", v.tokens_best, "token"),
        Step("The loss of the model as it is:", law.law_loss, "1"),
        Step("of the other:", law.law_loss.at(n_active=v.size_best, pretrain_tokens=v.tokens_best), "1"),
        "Lower by",
    ),
)

# --- is there a plateau? ----------------------------------------------------------------------------------------------

TENFOLD = (10_000, 100_000, 1_000_000)  # steps of the larger model's checkpoints


@cache
def scored(steps: int, task: str = "") -> float:
    """The larger model's score at a checkpoint: on a task, or the mean over the six."""
    rows = measurement("llammlein_checkpoints").records(model=LARGE, steps=steps, **({"task": task} if task else {}))
    return fmean(row["score"] for row in rows)


def means(values: Values) -> Values:
    """Mean scores at the three checkpoints and the last, as text."""
    return {name: f"{scored(steps):.3f}" for name, steps in zip(("first", "second", "third", "last"), (*TENFOLD, OWN["steps"]))}


def shrinks() -> str:
    """What the gains of two equal factors say."""
    one, two, three = map(scored, TENFOLD)
    return "b" if three - two > two - one else "c"


three_points = Choice(
    "Two factors of ten",
    level="medium",
    objective=PLATEAU,
    statement="LLäMmlein 1B scores {first}, {second} and {third}, the mean of six tasks, after 10,000, 100,000 and 1,000,000 steps, and {last} after the last one, 1,430,512. A score that approaches a limit as a power of the tokens gains less with every factor of ten than with the one before. What do the first three points say about a limit?",
    derived=means,
    units=dict.fromkeys(("first", "second", "third", "last"), ""),
    independent_check=lambda v: shrinks(),
    options=[
        wrong("it is close: the third point took ten times as many steps as the second", "A score that rises by the same amount with every factor of ten also takes ten times the steps for each. It has no limit."),
        right("nothing yet: the gain of the second factor of ten is no smaller than that of the first", "The last checkpoint gains nothing on the third, and that hints at a limit. But it is one point, half a doubling later."),
        wrong("it can be worked out: three points fix the three constants of the curve", "Try: the curve asks that the second gain is smaller than the first. No positive power does that here."),
        wrong("there is none: the score goes on rising for ever", "A score cannot pass one. Points that show no limit do not show that there is none."),
    ],
    hints=("Subtract: how much does each factor of ten gain?",),
    solution=(
        Step("The first factor of ten gains", lambda v: round(scored(TENFOLD[1]) - scored(TENFOLD[0]), 4), "1"),
        Step("the second", lambda v: round(scored(TENFOLD[2]) - scored(TENFOLD[1]), 4), "1"),
    ),
)


def through(values: Values) -> Values:
    """The three scores of a drawn task, and the curve through them in the notation's names, the third point for
    reference.
    """
    task = values["task"]
    one, two, three = task if isinstance(task, tuple) else (scored(steps, task) for steps in TENFOLD)
    tokens = [steps * eq.step_tokens(batch=1024, context=2048) for steps in TENFOLD]
    ratio = (three - two) / (two - one)
    gap = (three - two) * ratio / (1 - ratio)
    curve = {
        "score_power": -log(ratio) / log(10),
        "score_gap": gap,
        "score_limit": three + gap,
        "token_scale": tokens[-1],
    }
    shown = {
        "first": f"{one:.3f}",
        "second": f"{two:.3f}",
        "third": f"{three:.3f}",
    }
    if isinstance(task, tuple):
        shown |= {"who": "A model", "judged": "Only a fourth point could judge them."}
    else:
        said, last = eq.score(curve, pretrain_tokens=OWN["tokens"]), scored(OWN["steps"], task)
        shown |= {"who": f"On {task} LLäMmlein 1B", "judged": f"For the last checkpoint the curve says {said:.3f}, and the model scored {last:.3f}."}
    return (
        curve
        | shown
        | {
            "gained": three - two,
            "gained_before": two - one,
            "tokens_third": tokens[-1],
            "scores": (one, two, three),
        }
    )


def equal_steps(scores: tuple[float, float, float]) -> float:
    """The limit to which three scores close in by equal factors, by search, above the last of them."""
    one, two, three = scores
    return find_root(lambda above: above * (above + three - one) - (above + three - two) ** 2, 1e-6, 1.0)


GAP = eq.score_gap * (eq.pretrain_tokens / eq.token_scale) ** -eq.score_power  # to the limit, now
doubling = Formula(
    "corpus.doubling",
    "score",
    GAP * (1 - 2**-eq.score_power),
    "1",
    "what the next doubling of tokens adds to a score",
    eq.score.assumes,
    register=False,
)

COMPARED = (
    *((SMALL, "all 29"), (SMALL, "classification"), (LARGE, "classification"), (LARGE, "question answering")),
    *(("a model", (score, round(score + rise, 3))) for score in (0.65, 0.7, 0.75, 0.8, 0.85, 0.9) for rise in (0.005, 0.01, 0.015, 0.02, 0.03)),
)
OVER = {
    "all 29": "over all 29 tasks",
    "classification": "over the classification tasks",
    "question answering": "over the question-answering tasks",
}


def before_after(values: Values) -> Values:
    """A drawn mean score at the checkpoint from which on no gain was significant, and at the last."""
    name, tasks = values["of"]
    rows = [] if isinstance(tasks, tuple) else measurement("llammlein_saturated").records(model=name, tasks=tasks)
    s, t = [row["score"] for row in sorted(rows, key=lambda row: row["steps"])] or tasks
    return {
        "name": f"{name} {'on a benchmark' if isinstance(tasks, tuple) else OVER[tasks]}",
        "before": f"{s:.3f}",
        "after": f"{t:.3f}",
        "s": s,
        "t": t,
        "gain": t - s,
        "spread": s * (1 - s) + t * (1 - t),
    }


def each_question(score: float, count: int = 40) -> float:
    """The variance that one question adds, from the chances of every number of right answers among some."""
    chances = [comb(count, k) * score**k * (1 - score) ** (count - k) for k in range(count + 1)]
    return count * fsum(chance * (k / count - score) ** 2 for k, chance in enumerate(chances))


@cache
def found(gain: float, tries: int = 400) -> float:
    """Chance that a test of two groups of 29 scores finds a gain, tried with made-up scores of the same 29 tasks that spread, and change between the checkpoints, as the published six do."""
    rng, published = Random(5), measurement("llammlein_checkpoints").records(model=SMALL)
    steps = sorted({row["steps"] for row in published})
    at = lambda step: [row["score"] for row in sorted(published, key=lambda row: row["task"]) if row["steps"] == step]
    early, late = at(300_000), at(steps[-1])
    middle, spread, wobble, count = fmean(late), stdev(late), stdev(b - a for a, b in zip(early, late)), 29
    sees = 0
    for _ in range(tries):
        first = [rng.gauss(middle, spread) for _ in range(count)]
        last = [score + rng.gauss(gain, wobble) for score in first]
        sees += abs(fmean(last) - fmean(first)) / sqrt((variance(first) + variance(last)) / count) > 2.003  # 95 % of t with 56 degrees
    return sees / tries


TRUE = 0.006  # the rise of the small model's printed means, as a fraction of one

not_significant = Choice(
    "No significant gain",
    level="medium",
    objective=PLATEAU,
    statement="The paper compares the small model's scores on 29 tasks by an analysis of variance, and finds no significant gain from 300,000 steps on. From one task to another the scores differ by far more than from one checkpoint to the next. What follows?",
    independent_check=lambda v: "b" if found(TRUE) < 0.1 and found(0.3) > 0.9 else "a",
    options=[
        wrong("that the model has stopped learning", "A test that does not find a gain has not shown that there is none. Some tasks go on rising in the paper's own table."),
        right("that a gain, if there is one, is too small for this test to see", "Two groups of 29 scores that differ widely hide a rise of 0.6 points of a hundred, as in the paper's table. Comparing task by task would see more."),
        wrong("that the training after it was wasted", "Not even the benchmark says so: the authors ask themselves whether it was too coarse, and see other tasks improve."),
        wrong("that the gain is zero, with a confidence of 95%", "A test bounds how often it raises a false alarm. It does not make zero likely; a gain of 0.6 points of a hundred fits just as well."),
    ],
    hints=("Suppose the score of every task rose by 0.6 points of a hundred. Would a test that does not pair the tasks notice?",),
    solution=(Step("Make up scores of 29 tasks that spread, and change from one checkpoint to the other, as the six published ones do. Two groups hide a true gain of 0.6 points: it is found in so many tries:", f"{found(TRUE):.0%}"),),
)

next_doubling = Expression(
    "What the next doubling brings",
    level="medium",
    objective=PLATEAU,
    statement="A score after D_pre tokens is s_infty − s_gap (D_pre / D_ref)^(−p_s). Write how much higher it is after twice as many.",
    formula=doubling,
    independent_check=eq.score.expr.subs(eq.pretrain_tokens, 2 * eq.pretrain_tokens) - eq.score.expr,
    misconceptions={
        GAP: "That is all that is left to the limit. A doubling closes a part of it.",
        GAP * 2 ** (-eq.score_power): "That is what is left after the doubling. What has it taken away?",
        GAP / 2: "A doubling closes half of what is left only if the power is one.",
        eq.score_gap * (1 - 2 ** (-eq.score_power)): "That is the gain where D_pre is D_ref. Elsewhere another gap is left to close.",
        GAP * (2**eq.score_power - 1): "That is the gain of the last doubling, the one that led here.",
        eq.score_limit - GAP * 2 ** (-eq.score_power): "That is the score after the doubling. Take away the one before.",
        GAP * logarithm(2) * eq.score_power: "That is the slope in $\\ln D$ times $\\ln 2$. Over a whole doubling the slope falls.",
    },
    explanation="Each doubling closes the same share of what is left. With a small power the share is small, and a plateau and a slow rise look alike.",
    hints=(
        "Write the score at D_pre and at 2 D_pre, and subtract.",
        "The limit cancels, and $\\left(2D\\right)^{-p} = 2^{-p} D^{-p}$.",
    ),
    solution=(Step("The limit cancels. Typed:", "s_gap * (D_pre / D_ref)^(-p_s) * (1 - 2^(-p_s))"),),
)


CURVES = tuple(  # made-up scores, the second gain a share of the first
    (first, round(first + gain, 3), round(first + gain + share * gain, 3)) for first in (0.4, 0.45, 0.5) for gain in (0.04, 0.06, 0.08) for share in (0.4, 0.6, 0.7, 0.75)
)

limit = Quantity(
    "A limit from three points",
    level="hard",
    objective=PLATEAU,
    unit="1",
    statement="{who} scores {first}, {second} and {third} after 10,000, 100,000 and 1,000,000 steps. Put a curve through the three points that approaches its limit as a power of the steps: limit − $c / \\mathrm{steps}^p$. How far above the third score is the limit, as a fraction of one?",
    parameters={"task": ("NLI", "PAWSX", *CURVES)},
    derived=through,
    units=dict.fromkeys(("who", "first", "second", "third", "judged"), ""),
    answer=v.score_limit - eq.score.at(pretrain_tokens=v.tokens_third),
    independent_check=lambda v: equal_steps(v["scores"]),
    misconceptions={
        v.gained: "That is what the last factor of ten gained. The next one gains less, and others follow it.",
        v.gained**2 / v.gained_before: "That is what the next factor of ten would gain. Others follow it, each gaining less.",
        v.score_limit: "That is the limit itself. How far above the third score is it?",
        100 * v.score_gap: "That is in points of a hundred. Answer as a fraction of one, as the scores are printed.",
    },
    explanation="Three points fix three constants and leave nothing over to judge them by. {judged}",
    hints=(
        "With each factor of ten the distance to the limit shrinks by the same factor, and so does the gain.",
        "That factor is the second gain over the first, $r$. The gains to come are a geometric series: $r$, $r^2$, … times the last gain.",
    ),
    solution=(
        Step("Gains of the two factors of ten: {gained_before} and {gained}. The second over the first:", v.gained / v.gained_before, "1"),
        Step("which is a power of", v.score_power, "1"),
        "All gains to come, a geometric series:",
    ),
)


questions = Quantity(
    "How many questions",
    level="hard",
    objective=PLATEAU,
    unit="1",
    statement="The mean score of {name} rises from {before} to {after} between two checkpoints: the one after which its makers find no significant gain, and the last. Take both scores as exact. Suppose that each of the two had answered $n$ questions of its own, not the same ones, and that a score is the share of right answers. How large must $n$ be for the rise to be two standard errors of the difference?",
    parameters={"of": COMPARED},
    derived=before_after,
    units=dict.fromkeys(("name", "before", "after"), ""),
    answer=4 * v.spread / v.gain**2,
    independent_check=lambda v: find_root(lambda n: v["gain"] / sqrt((each_question(v["s"]) + each_question(v["t"])) / n) - 2, 1.0, 1e12),
    misconceptions={
        v.spread / v.gain**2: "That is one standard error. Two are asked, so the noise must be half as large.",
        4 * v.t * (1 - v.t) / v.gain**2: "Only one of the two scores is noisy in yours. A difference has the noise of both.",
        2 * sympy.sqrt(v.spread) / v.gain: "The noise falls with the root of the number. Square it.",
        4 * 0.5 / v.gain**2: "You took the noise of a score of one half, which is the most there can be. These scores have less.",
        4 * (v.s + v.t) / v.gain**2: "The chance of a wrong answer is missing: the variance of a question is $s (1 - s)$.",
    },
    explanation="A test that finds nothing with fewer says little. With the same questions for both, as is usual, far fewer do: only answers that change count. And where the rise is small, the rounding of the printed scores alone moves n by up to half.",
    hints=(
        "A score $s$ on $n$ questions has the variance $s (1 - s) / n$. Variances of two scores add up.",
        "rise = 2 × $\\sqrt{(s (1 - s) + t (1 - t)) / n}$. Solve for $n$.",
    ),
    solution=(
        Step("Variance of a question at one score and at the other, together:", v.spread, "1"),
        Step("The standard error of the difference must be half of the rise:", v.gain / 2, "1"),
        "Variance over its square:",
    ),
)

# --- data seen more than once -----------------------------------------------------------------------------------------

FITTED_LAW = "By a fitted law, a text of $U$ tokens that is read more than once, $D$ tokens in all, is worth $U + U R (1 - \\exp(-(D/U - 1)/R))$ fresh tokens, with $R$ = {reuse}. "


def repeated(values: Values) -> Values:
    """The fitted constant beside the draw."""
    return {"reuse": REUSE}


SHARE = {"count": "1", "reuse": "1", "percent_worth": "%"}

four_epochs = Quantity(
    "What passes are worth",
    level="easy",
    objective=REPEAT,
    unit="1",
    display_unit="%",
    tolerance=0.01,
    statement=FITTED_LAW + "A text is read {count} times. What is this worth, in percent of as many fresh tokens?",
    parameters={"count": (4, 3, *range(5, 41))},
    derived=repeated,
    units=SHARE,
    answer=lambda v: long_worth(v["count"]) / v["count"],
    independent_check=lambda v: summed(v["count"], 1.0) / v["count"],
    misconceptions={
        eq.repeat_worth.at(epochs=v.count, reuse=REUSE): "That is what the last token is worth. The earlier ones were worth more.",
        1.0: "That is no loss at all: exactly as much as fresh text. The law takes a little off from the first repetition on.",
        1 / v.count: "That counts the first pass alone. The others are worth something, too.",
        REUSE * (1 - power_of_e(-(v.count - 1) / REUSE)) / v.count: "The first pass is missing. It counts in full.",
        lambda v: long_worth(v["count"]) / v["count"] / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
        lambda v: long_worth(v["count"]) / 100: "That is in passes of fresh text. Divide by the passes that were read, and type the percentage.",
    },
    explanation="Up to about five passes little is lost: little, and not nothing.",
    hints=(
        "Let $U$ be one. Then $D$ is the number of passes.",
        "Divide what the run is worth by what was read.",
    ),
    solution=(
        Step("For a text of one token the run is worth", lambda v: long_worth(v["count"]), "1"),
        "Divided by what was read, in percent:",
    ),
)


def slope_at(epochs: float, step: float = 1e-4) -> float:
    """What a little more text read is worth after so many passes, by differences of the law."""
    return (long_worth(epochs + step) - long_worth(epochs)) / step


def average_at(share: float) -> float:
    """Epochs after which all tokens read are worth a share on average."""
    return find_root(lambda n: share - long_worth(n) / n, 1.0001, 1e6)


EPOCHS = eq.repeat_worth.solve("epochs")

SPENT = numbers.worth(OWN["tokens"], OWN["unique_tokens"]) / OWN["tokens"]  # of fresh tokens
REPEATED = OWN["tokens"] / OWN["unique_tokens"]

explains = Choice(
    "Is repetition to blame?",
    level="easy",
    objective=REPEAT,
    statement=f"LLäMmlein 1B read each token of its text {significant(REPEATED, 2)} times, and its scores rise slowly towards the end. Does repetition explain that, by the fitted law with a constant of {significant(REUSE, 3)} repetitions?",
    independent_check=lambda v: "d" if round(summed(REPEATED, 1.0) / REPEATED, 2) == round(SPENT, 2) > 0.95 else "b",
    options=[
        wrong(f"yes: only the first pass counts, so {1 - 1 / REPEATED:.0%} of the training was wasted", "Each later pass counts as well, only a little less than the one before. Put the passes into the law."),
        wrong("yes: a token that is read for the second time is worth half", "By the law the first repetition has lost a few percent at its end. Half is reached far later."),
        wrong("no: up to five passes a token that is repeated is worth exactly as much as a fresh one", "Nearly as much, and not exactly: the law takes a little off from the first repetition on."),
        right(f"no: all in all its tokens are worth {SPENT:.0%} of as many fresh ones", "Fresh text would have done little better. By the loss law it is slow because little is left of the part that more data can remove."),
    ],
    hints=("Put $U$ = 1 and $D$ = the passes into the law, and divide by the passes.",),
    solution=(
        Step("For a text of one token, read as often, the law gives", lambda v: long_worth(REPEATED), "1"),
        Step("Over the passes, that is", f"{SPENT:.1%}"),
    ),
)

TEXTS = {
    "a": (0.9, 1),
    "b": (0.3, 4),
    "c": (0.1, 16),
    "d": (0.05, 100),
    "e": (0.65, 2),
}  # trillions of tokens, and epochs


def texts(measure) -> str:
    """The keys of TEXTS by a measure of unique tokens and passes, the least first."""
    return "".join(sorted(TEXTS, key=lambda key: measure(*TEXTS[key])))


SETTINGS = (  # size, unique tokens, seed: of three epochs at least
    ("8.7B", 44e9, 0),
    *(("8.7B", unique, 0) for unique in (13e9, 25e9, 35e9, 58e9)),
    *(("4.2B", unique, seed) for unique in (6e9, 12e9, 17e9, 21e9, 28e9) for seed in range(5)),
    *(("2.8B", unique, seed) for unique in (4e9, 9e9, 11e9, 14e9, 18e9) for seed in range(5)),
)


def compared(values: Values) -> Values:
    """Losses of a published size on fresh and on repeated text, and how far equal runs with other seeds lie apart."""
    size, unique, seed = values["setting"]
    rows = measurement("repeated_data_runs").records(run=size, seed=seed)
    at = lambda unique: [row["loss"] for row in rows if row["unique_tokens"] == unique]
    tokens = rows[0]["pretraining_tokens"]
    fresh, again = round(at(tokens)[0], 4), round(at(unique)[0], 4)
    every = measurement("repeated_data_runs").records()
    few = [row for row in every if row["pretraining_tokens"] < 10 * row["unique_tokens"]]  # with many epochs runs differ far more
    groups = [[r["loss"] for r in few if (r["run"], r["unique_tokens"]) == key] for key in {(r["run"], r["unique_tokens"]) for r in few}]
    mean = lambda size, unique: fmean(row["loss"] for row in every if (row["run"], row["unique_tokens"]) == (size, unique))
    apart = [max(group) - min(group) for group in groups if len(group) > 1]
    return {
        "size": size.replace("B", " billion"),
        "pretrain_tokens": tokens,
        "unique_tokens": unique,
        "fresh": f"{fresh:.4f}",
        "again": f"{again:.4f}",
        "seeds": f"{significant(min(apart), 1)} to {significant(max(apart), 1)}",
        "ratio": again / fresh,
        "nats": again - fresh,
        "published": f"{significant(100 * (mean('8.7B', 44e9) / mean('8.7B', 178e9) - 1), 1)}",
    }


measured = Quantity(
    "What repeating cost",
    level="easy",
    objective=REPEAT,
    unit="1",
    display_unit="%",
    statement="A model of {size} parameters was trained on {pretrain_tokens}, all different, and reached a loss of {fresh} nats a token. Trained for as long on {unique_tokens}, repeated again and again, it reached {again}. By how many percent is that loss higher? (Runs of fewer than ten passes that differ only in their seed are {seeds} nats apart.)",
    parameters={"setting": SETTINGS},
    derived=compared,
    condition=lambda v: v["nats"] > 0.01,  # more than the printed digits hide
    units=dict.fromkeys(("size", "fresh", "again", "seeds", "published"), ""),
    answer=v.ratio - 1,
    independent_check=lambda v: find_root(lambda more: float(v["fresh"]) * (1 + more) - float(v["again"]), 1e-6, 1.0),
    misconceptions={
        v.nats: "That is a hundred times the difference in nats. Divide by the loss.",
        v.nats / 100: "That is the difference in nats. Divide by the loss, and type the percentage.",
        v.ratio: "That is the one loss in percent of the other. How much higher is it?",
        (v.ratio - 1) / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="Of four passes of its largest model the paper says half a percent; its published losses give {published} percent, within what another seed can make.",
    hints=("Difference over the loss on fresh text.",),
    solution=(
        Step("The difference, in nats:", v.nats, "1"),
        "over the loss on fresh text, in percent:",
    ),
)

half = Quantity(
    "When repeating wears out",
    level="medium",
    objective=REPEAT,
    unit="1",
    statement=FITTED_LAW + "After how many passes does one more token teach only {percent_worth} of what a fresh one would?",
    parameters={"percent_worth": (50, *range(30, 50), *range(52, 91, 2))},
    derived=repeated,
    units=SHARE,
    answer=EPOCHS.at(repeat_worth=v.percent_worth / 100),
    independent_check=lambda v: find_root(lambda n: v["percent_worth"] / 100 - slope_at(n), 1.001, 1e4),
    misconceptions={
        EPOCHS.at(repeat_worth=v.percent_worth / 100) - 1: "So many repetitions. The first pass counts, too.",
        1 + REUSE: "There it is 1/$e$, which is 37 percent: $R$ is no half-life, and not the end either.",
        lambda v: average_at(v["percent_worth"] / 100): "There all tokens together are worth so much, on average. The last one is worth less.",
    },
    explanation="The constant R is no half-life: R repetitions leave 1/e of the worth, that is 37 percent.",
    hints=(
        "Take the derivative by $D$. What is left is an exponential of $D/U$.",
        "$\\exp(-(n - 1)/R)$ is to be the share. Solve for $n$.",
    ),
    solution=(
        f"The derivative by $D$ is the worth of the next token, ${eq.repeat_worth.latex}$.",
        Step("Solved for the passes, one plus", EPOCHS.at(repeat_worth=v.percent_worth / 100) - 1, "1"),
        "So it is after",
    ),
)

CORPORA = ("FineWeb-Edu", "LLäMmlein", "FineWeb-Edu score 2")


def corpus_of(values: Values) -> Values:
    """A drawn filter's pool and what it keeps, or a text of so many tokens, in the notation's names."""
    if isinstance(values["kept"], float):
        return {"unique_tokens": values["kept"], "reuse": REUSE, "Name": "A text"}
    [row] = measurement("filtering_kept").records(kept=values["kept"])
    known = {
        "pool": row["pool"],
        "pool_tokens": row["pool_tokens"],
        "unique_tokens": row["kept_tokens"],
        "reuse": REUSE,
    }
    name = {"LLäMmlein": "LLäMmlein's German text", "FineWeb-Edu score 2": "the lenient version of FineWeb-Edu"}.get(values["kept"], values["kept"])
    return known | {
        "kept_share": row["kept_tokens"] / row["pool_tokens"],
        "name": name,
        "Name": name[:1].upper() + name[1:],
    }


TEXT = {"pool": "", "name": "", "Name": "", "kept": "", "reuse": "1"}

TEXT_SIZES = tuple(count * 1e11 for count in (*range(1, 10), *range(10, 45, 5), *range(50, 100, 10), *range(100, 260, 20)))

endless = Estimate(
    "Reading it for ever",
    level="medium",
    objective=REPEAT,
    unit="token",
    display_unit="trillion tokens",
    within=2.0,
    statement="{Name} has {unique_tokens}. By a fitted law each repetition of a text is worth a little less than the one before, by the same factor; after {reuse} repetitions it is down to 1/$e$. Somebody repeats the text without end. How many trillions of fresh tokens is that worth? Within a factor of two counts.",
    parameters={"kept": (*CORPORA, *TEXT_SIZES)},
    derived=corpus_of,
    units=TEXT,
    answer=eq.worth_limit,
    independent_check=lambda v: v["unique_tokens"] * summed(400.0, 1.0, 100),
    misconceptions={
        v.unique_tokens: "That is one pass. Repetitions are worth something at first.",
        4 * v.unique_tokens: "Four passes are where little has been lost yet. It goes on from there.",
        1e12 * eq.worth_limit: "The answer is in trillions: leave out twelve zeros.",
        120 * v.unique_tokens: "That lets nearly every repetition count in full. They wear out long before.",
    },
    explanation="There is an end to it. After some forty passes, the paper writes into a figure, repeating is worthless; so little of the limit is left by then.",
    hints=(
        "Add up the worth of all passes: 1 for the first, then a series that falls by the same factor each time.",
        "An exponential that falls to 1/$e$ within $R$ has an area of $R$. Add the first pass.",
    ),
    solution=(
        Step("Repetitions together are worth so many passes:", REUSE, "1"),
        f"With the first, ${eq.worth_limit.latex}$ =",
    ),
)


texts_in_order = Ordering(
    "Long text or many passes",
    level="medium",
    objective=REPEAT,
    statement=FITTED_LAW.replace("{reuse}", significant(REUSE, 3)) + "Order these runs by what their tokens are worth, the least first.",
    items=[
        f"""{TEXTS["a"][0] * 1000:,.0f} billion tokens, read {("once" if TEXTS["a"][1] == 1 else "twice" if TEXTS["a"][1] == 2 else f"{TEXTS['a'][1]} times")}""",
        f"""{TEXTS["b"][0] * 1000:,.0f} billion tokens, read {("once" if TEXTS["b"][1] == 1 else "twice" if TEXTS["b"][1] == 2 else f"{TEXTS['b'][1]} times")}""",
        f"""{TEXTS["c"][0] * 1000:,.0f} billion tokens, read {("once" if TEXTS["c"][1] == 1 else "twice" if TEXTS["c"][1] == 2 else f"{TEXTS['c'][1]} times")}""",
        f"""{TEXTS["d"][0] * 1000:,.0f} billion tokens, read {("once" if TEXTS["d"][1] == 1 else "twice" if TEXTS["d"][1] == 2 else f"{TEXTS['d'][1]} times")}""",
        f"""{TEXTS["e"][0] * 1000:,.0f} billion tokens, read {("once" if TEXTS["e"][1] == 1 else "twice" if TEXTS["e"][1] == 2 else f"{TEXTS['e'][1]} times")}""",
    ],
    answer=texts(lambda text, count: numbers.worth(text * count, text)),
    independent_check=lambda v: texts(lambda text, count: summed(text * count, text)),
    misconceptions={
        texts(lambda text, count: -numbers.worth(text * count, text)): "That is from the most to the least.",
        texts(lambda text, count: text * count): "That is by tokens read. Those that are repeated are worth less.",
        texts(lambda text, count: text): "That is by the text alone. Reading it again is worth something.",
    },
    explanation=f"A hundred passes over a small text are worth less than one over a text that is {TEXTS['a'][0] / TEXTS['d'][0]:.0f} times as long.",
    hints=(
        "However often a text is read, it is never worth more than $U (1 + R)$.",
        "For each: passes $n$; worth $U (1 + R (1 - \\exp(-(n - 1)/R)))$.",
    ),
    solution=("In trillions of fresh tokens: " + ", ".join((f"{key} {numbers.worth(text * count, text):.2f}" for key, (text, count) in TEXTS.items())) + ".",),
)

U, D, R = eq.unique_tokens, eq.pretrain_tokens, eq.reuse
AGAIN = U * R * (1 - power_of_e(-Max(0, D / U - 1) / R))  # what the repetitions are worth
WORTH = Min(D, U) + AGAIN
ALWAYS = U + U * R * (1 - power_of_e(-(D / U - 1) / R))  # as if every run passed over the whole text
KEPT = power_of_e(-1 / R)  # by a text, from one whole pass to the next
BY_PASS = U * ((1 - KEPT ** floor(D / U)) / (1 - KEPT) + (D / U - floor(D / U)) * KEPT ** floor(D / U))  # as if worth fell between passes only
STEPWISE = "In yours a pass is worth the same from its beginning to its end. The worth falls from token to token."
SHORT = "A run shorter than one pass has not read the whole text. It is worth what it read."


PASSES = ((0.5e12, 1e12, 15.4), (1e12, 1e12, 15.4), (3e12, 1.3e12, 15.4), (2e12, 0.1e12, 5.0), (6e12, 0.05e12, 30.0))
worth = Function(
    "Write the worth of a run",
    level="medium",
    objective=REPEAT,
    statement="Training reads pretrain_tokens of a text that has unique_tokens. Tokens of the first pass count in full. After it, a token that is read when the text has been repeated r times (any number, also a fraction) is worth `exp(-r / reuse)` of a fresh one. Write a Python function of pretrain_tokens, unique_tokens and reuse that returns the fresh tokens that the run is worth. A run may be shorter than one pass. Add up or integrate, to six digits at least. It is called by name, with numbers.",
    formula=eq.data_worth,
    test_points=tuple(dict(zip(("pretrain_tokens", "unique_tokens", "reuse"), row)) for row in PASSES),
    independent_check=Min(D, U) + U * (R - R * power_of_e(-(Max(D, U) - U) / (U * R))),
    misconceptions={
        U + AGAIN: SHORT,
        ALWAYS: SHORT,
        BY_PASS: STEPWISE,
        AGAIN: "The first pass is missing.",
        Min(D, U) + U * R * (1 - power_of_e(-D / (U * R))): "You count the first pass as a repetition as well.",
        Min(D, U) + Max(0, D - U) * power_of_e(-Max(0, D / U - 1) / R): "All repeated tokens are worth as little as the last one in yours. Add them up.",
        D * power_of_e(-Max(0, D / U - 1) / R): "All tokens are worth as little as the last one in yours. Add them up.",
        Min(D, U) + R * (1 - power_of_e(-Max(0, D / U - 1) / R)): "That adds passes to tokens. A repetition has as many tokens as the text.",
        D: "That is what was read. Repeated tokens are worth less.",
        WORTH / U: "That is in passes of fresh text. Return tokens.",
    },
    explanation="The function of this lesson: repetition, filters and the loss of a long run all go through it.",
    hints=(
        "First pass: the smaller of what is read and what there is. Repetitions: how many, if any?",
        "The integral of $\\exp(-r/R)$ from 0 to $r$ is $R (1 - \\exp(-r/R))$. Each repetition has unique_tokens tokens.",
    ),
    solution=(
        "`from math import exp`. Repetitions: `max(0, pretrain_tokens / unique_tokens - 1)`. Their worth is an integral of the exponential.",
        Step(
            "",
            "min(pretrain_tokens, unique_tokens) + unique_tokens * reuse * (1 - exp(-max(0, pretrain_tokens / unique_tokens - 1) / reuse))",
        ),
    ),
)

W = symbol("data_worth")
LEFT = 1 - (W / U - 1) / R  # of what repetition can ever be worth
needed_tokens = Formula(
    "corpus.reading_on",
    "pretrain_tokens",
    U * (1 - R * logarithm(LEFT)),
    "token",
    "tokens to read until a text has taught as much as so many fresh ones",
    eq.data_worth.assumes,
    register=False,
    conditions=(Le(U, W), Le(W, 0.95 * U * R)),
)

reading_on = Expression(
    "How long to read on",
    level="hard",
    objective=REPEAT,
    statement="By a fitted law, a text of D_uniq tokens that is read more than once, D_pre tokens in all, is worth `D_worth = D_uniq + D_uniq n_reuse (1 − exp(−(D_pre/D_uniq − 1)/n_reuse))`. A run should be worth D_worth, which is more than the text and less than the law's limit. Write how many tokens it must read, D_pre.",
    formula=needed_tokens,
    independent_check=lambda v: solve(U + U * R * (1 - power_of_e(-(D / U - 1) / R)) - W, D)[0],
    misconceptions={
        W: "That would do if every token were fresh. Repeated ones are worth less, so more must be read.",
        -U * R * logarithm(LEFT): "Those are the tokens of the repetitions. The first pass is read, too.",
        U * (1 + R * logarithm(LEFT)): "A sign is lost: the logarithm of a number below one is negative, and reading takes more than one pass.",
        U * (1 - R * logarithm(1 - W / (U * R))): "You let the repetitions alone make up D_worth. The first pass brings D_uniq of it.",
        1 - R * logarithm(LEFT): "That is in passes. The question is about tokens.",
        U * (1 + (W / U - 1) * power_of_e((W / U - 1) / R)): "You let every repeated token be worth as little as the last one. Solve the law for D_pre.",
        U * (1 - R * logarithm(1 - W / (U * (1 + R)))): "That takes the whole limit for what repetition can add. The first pass is not part of that.",
    },
    explanation="Near the limit the logarithm runs away: no compute makes up for text that is not there.",
    hints=(
        "Bring the exponential to one side: it is 1 − (D_worth/D_uniq − 1)/n_reuse.",
        "Take the logarithm, and solve for D_pre/D_uniq, which is one plus the repetitions.",
    ),
    solution=(Step(f"${needed_tokens.latex}$, typed as", "D_uniq * (1 - n_reuse * log(1 - (D_worth / D_uniq - 1) / n_reuse))"),),
)

AS_FRESH = law.law_loss.typed
over = lambda tokens: AS_FRESH.subs(D, tokens)
repeated_law = Formula(
    "corpus.repeated_loss",
    "loss",
    over(eq.data_worth.typed),
    "1",
    "the loss law, with what the tokens are worth in place of the tokens",
    (*law.law_loss.assumes[:1], *eq.data_worth.assumes),
    register=False,
)


plain = lambda expr: expr.xreplace({symbol("one_entry"): 1, symbol("one_token"): 1})
RUNS = (
    (1.1e9, 3e12, 1.3e12, "Besiroglu"),
    (2.81e9, 55e9, 1.25e9, "Hoffmann, TeX source"),
    (8e9, 15e12, 0.5e12, "Besiroglu"),
    (8e9, 1e12, 2e12, "Sardana"),
)
repeated_loss = Function(
    "Write the loss of a long run",
    level="hard",
    objective=REPEAT,
    statement="A fit says that a dense model of n_active parameters, trained on D fresh tokens, has the loss `loss_floor + loss_size / n_active**size_power + loss_data / D**data_power`. Training reads pretrain_tokens of a text that has unique_tokens. Tokens of the first pass count in full, one that is read when the text has been repeated r times counts `exp(-r / reuse)` of a fresh one, and what all of them count takes the place of D. Write a Python function of all nine that returns the loss.",
    formula=repeated_law,
    test_points=tuple((numbers.fitted(fit) | {"n_active": n, "pretrain_tokens": d, "unique_tokens": u, "reuse": REUSE} for n, d, u, fit in RUNS)),
    independent_check=plain(law.loss_floor + law.from_size + law.loss_data * (Min(D, U) + U * R - U * R * power_of_e(-Max(0, D - U) / (U * R))) ** (-eq.data_power)),
    misconceptions={
        plain(over(D)): "You took every token for a fresh one.",
        plain(over(U)): "That is one pass. Repetitions are worth something.",
        plain(over(U + AGAIN)): SHORT,
        plain(over(ALWAYS)): SHORT,
        plain(over(BY_PASS)): STEPWISE,
        plain(over(WORTH)) - law.loss_floor: "loss_floor is missing: the loss that nothing removes.",
        plain(law.loss_floor + law.loss_data * WORTH ** (-eq.data_power)): "The part of the size is missing.",
        plain(over(Min(D, U) + Max(0, D - U) * power_of_e(-Max(0, D / U - 1) / R))): "All repeated tokens are worth as little as the last one in yours.",
    },
    explanation="The paper lets too many parameters for the text lose worth as well. And a law that can only fall does not see a model learn its text by heart: at 44 passes the losses that were measured lie above it.",
    hints=(
        "Write the worth of the run first, as in the problem on the worth of a run.",
        "Then put it in the place of $D$.",
    ),
    solution=(
        "With `worth` for what the tokens are worth, `loss_floor + loss_size / n_active**size_power + loss_data / worth**data_power`. In one line:",
        Step(
            "",
            "loss_floor + loss_size / n_active ** size_power + loss_data / (min(pretrain_tokens, unique_tokens) + unique_tokens * reuse * (1 - exp(-max(0, pretrain_tokens / unique_tokens - 1) / reuse))) ** data_power",
        ),
    ),
)


@cache
def kept_best(tokens: float, pool: float = 15e12, better: float = 0.3) -> float:
    """The share of a pool that is best to keep for so many tokens of training, if text gets better by a power of the
    share, by trying all.
    """
    shares = [10 ** (-n / 100) for n in range(401)]
    return max(shares, key=lambda x: eq.filtered_worth(pretrain_tokens=tokens, pool_tokens=pool, kept_share=x, reuse=REUSE, quality_power=better))


def stricter() -> str:
    """Which of a short and a long run on one pool keeps more, by trying."""
    short, long = kept_best(0.3e12), kept_best(30e12)
    return "a" if short == long else "d" if short == 1.0 == long else "b" if long > short else "c"


how_strict = Choice(
    "A filter for whom?",
    level="easy",
    objective=FILTER,
    statement="A pool of 15 trillion tokens can be filtered more or less strictly: the less is kept, the better it is. One model will be trained on 0.3 trillion tokens, another on 30 trillion. For which of them should you keep more of the pool?",
    independent_check=lambda v: stricter(),
    options=[
        wrong("neither: which text is good does not depend on who reads it", "How good a token is does not depend on it. How often it will be repeated does."),
        right(
            "the one that is trained longer",
            "The short run fills itself with the best of the pool. The long one would read that over and over until it teaches nothing, and does better with text that is worse and new. If quality is a power of the share, the best share grows in proportion to the tokens of training.",
        ),
        wrong("the one that is trained for a short time, because it has no compute to spare for many passes", "A short run has text enough: a few percent of this pool are more than it can read once."),
        wrong("both should keep everything: more text is always better", "The short run cannot read a tenth of it. Why should it read any but the best?"),
    ],
    hints=("How often would each of them read the best percent of the pool?",),
    solution=(
        Step("If kept tokens teach more by the power 0.3 of the share, the short run is best off with", f"{kept_best(300000000000.0):.1%}"),
        Step("of the pool, the long one with", f"{kept_best(30000000000000.0):.1%}"),
        Step("Each is then read so many times:", lambda v: significant(3e13 / (15e12 * kept_best(3e13)), 2)),
    ),
)

EDU = corpus_of({"kept": "FineWeb-Edu"})
GAINS = {row["text"]: row for row in measurement("filtering_gains").records(benchmark="MMLU", pretraining_tokens=350e9)}
TRAINED = GAINS["FineWeb-Edu"]["pretraining_tokens"]
AT = lambda tokens: eq.quality_even(pretrain_tokens=tokens, pool_tokens=EDU["pool_tokens"], kept_share=EDU["kept_share"], reuse=REUSE)

gains = Choice(
    "How far a gain reaches",
    level="medium",
    objective=FILTER,
    statement=f"Trained on {TRAINED / 1000000000.0:.0f} billion tokens, a model of {GAINS['FineWeb']['n_total'] / 1000000000.0:.2f} billion parameters scores {GAINS['FineWeb-Edu']['score']:.0%} on MMLU with FineWeb-Edu and {GAINS['FineWeb']['score']:.0%} with FineWeb. FineWeb-Edu keeps {EDU['unique_tokens'] / TRILLION:g} of FineWeb's {EDU['pool_tokens'] / TRILLION:g} trillion tokens. What follows for a model that is trained on 30 trillion, by the lesson's law of repetition?",
    independent_check=lambda v: "c" if AT(TRAINED) == 1 and AT(3e13) > 1.5 else "a",
    options=[
        wrong("it gains as many points, because the text is the same", "The text is the same, but the long run reads it over and over. What it is worth then is another matter."),
        wrong("it loses, however good the kept text is, because it is read so often", "That depends on how much better the kept tokens are, and this experiment does not say it for a long run. If training never ended, every filter would lose in the end."),
        right(
            f"it gains only if a kept token teaches over {significant(AT(3e13), 2)} times as much as an average one",
            f"The short run read {TRAINED / EDU['unique_tokens']:.0%} of what is kept once, so any better text pays. The long one would read all of it {30000000000000.0 / EDU['unique_tokens']:.0f} times.",
        ),
        wrong("it gains more, because it reads the good text for longer", "Good text that has been read many times teaches little more. How often would it be read?"),
    ],
    hints=("In which of the two runs does a token repeat?",),
    solution=(
        Step("How many times as much a kept token must teach: in the short run", lambda v: AT(TRAINED), "1"),
        Step("in the long one", lambda v: AT(3e13), "1"),
    ),
)

# --- data thrown away -------------------------------------------------------------------------------------------------

quality = Quantity(
    "How much better the rest must be",
    level="hard",
    objective=FILTER,
    unit="1",
    statement="{pool} has {pool_tokens}. A filter keeps {unique_tokens} of them: {name}. A model is trained on {pretrain_tokens}, and repeats its text where that is not enough. "
    + FITTED_LAW
    + "(A text that is not read to its end is worth what was read.) How many times as much as an average token of the pool must a kept token teach, so that the filter does no harm?",
    parameters={"kept": CORPORA, "pretrain_tokens": (3e13, *(count * 1e12 for count in (8, 10, 12, 14, 15, 16, 18, 22, 24, 25, 32, 36, 40, 45, 50)))},
    derived=corpus_of,
    condition=lambda v: eq.quality_even(v) < 0.75 / v["kept_share"],
    units=TEXT,
    answer=eq.quality_even,
    independent_check=lambda v: summed(v["pretrain_tokens"], v["pool_tokens"]) / summed(v["pretrain_tokens"], v["unique_tokens"]),
    misconceptions={
        1 / v.kept_share: "That is how much more text the pool has. But kept text can be read again, and not all of the pool may be needed.",
        v.pretrain_tokens / v.unique_tokens: "That is how often the kept text is read. A repeated token is not worthless.",
        1 / eq.quality_even: "Upside down: a filter leaves less text, so a kept token must teach more.",
        1 / eq.repeat_worth.at(epochs=v.pretrain_tokens / v.unique_tokens, reuse=REUSE): "That goes by the last token of the run. The earlier ones were worth more.",
        1.0: "So it would be if nothing repeated. Here the kept text is read again and again.",
    },
    explanation="That is far less than the ratio of the pool to what is kept, because text can be read again. It grows with the length of training.",
    hints=(
        "What is the run worth on the whole pool, in fresh tokens? And on what is kept?",
        "The first over the second. Where $D$ is no more than $U$, it is worth $D$.",
    ),
    solution=(
        Step("On the whole pool the run is worth", eq.data_worth.at(unique_tokens=v.pool_tokens), "token"),
        Step("on what is kept", eq.data_worth, "token"),
        "Their ratio:",
    ),
)

P, X = eq.pool_tokens, eq.kept_share
whole, part = (WORTH.subs(U, there) for there in (P, X * P))


FILTERS = (
    (0.35e12, 15e12, 0.087, 15.4),
    (30e12, 15e12, 0.087, 15.4),
    (3e12, 2.7e12, 0.47, 15.4),
    (10e12, 15e12, 0.36, 5.0),
)
needed = Function(
    "Write what a filter must reach",
    level="hard",
    objective=FILTER,
    statement="A filter keeps kept_share (0 to 1) of a pool of pool_tokens. Training reads pretrain_tokens, again and again over the same text where that is not enough. Tokens of the first pass count in full; one that is read when the text has been repeated $r$ times is worth `exp(-r / reuse)`. Write a Python function of pretrain_tokens, pool_tokens, kept_share and reuse: how many times as much as an average token of the pool must a kept one teach, so that the filter does no harm?",
    formula=eq.quality_even,
    test_points=tuple(dict(zip(("pretrain_tokens", "pool_tokens", "kept_share", "reuse"), row)) for row in FILTERS),
    independent_check=(Min(D, P) + P * R * (1 - power_of_e(-Max(0, D - P) / (P * R)))) / (Min(D, X * P) + X * P * R * (1 - power_of_e(-Max(0, D - X * P) / (X * P * R)))),
    misconceptions={
        1 / X: "That is how much more text the pool has. But kept text can be read again, and a short run does not need all of it.",
        D / part: "The pool's tokens repeat as well if training is long enough.",
        part / whole: "Upside down: a filter leaves less text, so a kept token must teach more.",
        P * (1 + R) / part: "You gave the pool all that endless reading of it is worth. Training stops after pretrain_tokens.",
        (P + whole - Min(D, P)) / (X * P + part - Min(D, X * P)): SHORT,
        ALWAYS.subs(U, P) / ALWAYS.subs(U, X * P): SHORT,
        BY_PASS.subs(U, P) / BY_PASS.subs(U, X * P): STEPWISE,
        Max(1, D / (X * P)): "That is how often the kept text is read. A repeated token is not worthless.",
    },
    explanation="One as long as nothing repeats. It rises from there, towards one over the share if training never ends.",
    hints=(
        "Write a function of the worth of a run first, and call it twice.",
        "worth(pool_tokens) / worth(kept_share * pool_tokens), for the same pretrain_tokens.",
    ),
    solution=(
        "With a function `worth(unique)` for what the run is worth, `worth(pool_tokens) / worth(kept_share * pool_tokens)`. In one line:",
        Step(
            "",
            "(min(pretrain_tokens, pool_tokens) + pool_tokens * reuse * (1 - exp(-max(0, pretrain_tokens / pool_tokens - 1) / reuse))) / (min(pretrain_tokens, kept_share * pool_tokens) + kept_share * pool_tokens * reuse * (1 - exp(-max(0, pretrain_tokens / (kept_share * pool_tokens) - 1) / reuse)))",
        ),
    ),
)

# --- what is said of it -----------------------------------------------------------------------------------------------

ALL = before_after({"of": COMPARED[0]})
RISE = {"a": 0.06, "b": 0.006, "c": 0.6}

slip = Choice(
    "Read the table",
    level="easy",
    objective=RUN,
    statement=f"The LLäMmlein paper prints the small model's mean scores over 29 tasks, as fractions: {ALL['before']} after 300,000 steps, {ALL['after']} after the last. It says that the mean improved by 0.06. By how much did it improve?",
    independent_check=lambda v: next((key for key, rise in RISE.items() if round(1000 * ALL["t"]) - round(1000 * ALL["s"]) == round(1000 * rise))),
    options=[
        wrong("by six percentage points, as the text says", "Subtract the two means."),
        right("by 0.6 percentage points", "A slip of a decimal place in the text; the table is right. Whoever subtracts finds it."),
        wrong("by 60 percentage points", "Subtract the two means. They are fractions of one."),
        wrong("that cannot be told without the single tasks", "The difference of two means over the same tasks is the mean of the differences."),
    ],
    hints=("Subtract the two means, and mind the decimal places.",),
    solution=(Step("The difference:", lambda v: round(ALL["gain"], 6), "1"),),
)

DESIGNS = {  # what differs between the two runs that are compared
    "a": {"tokens"},
    "b": {"text"},
    "c": {"text", "language", "makers", "tokens"},
    "d": {"size", "text", "tokens"},
}

comparison = Choice(
    "What would have shown it",
    level="medium",
    objective=RUN,
    statement="An article takes LLäMmlein as proof that quality matters more than quantity. Which comparison would bear on that?",
    independent_check=lambda v: next((key for key, differs in DESIGNS.items() if differs == {"text"})),
    options=[
        wrong("its checkpoints after 1 and after 3 trillion tokens", "That compares quantities. Both were trained on text of one quality."),
        right("two models of one size, trained for as long, the one on filtered text, the other on all of the pool", "The paper has no such pair: it filters once, and trains on what is left. It would have to be done for several lengths of training, because the answer changes with them."),
        wrong("LLäMmlein 1B and an English model of the same size on the same German tasks", "They differ in language, makers, tokens and text. What did it?"),
        wrong("LLäMmlein 120M, trained on the better part of the text, and LLäMmlein 1B, trained on all of it", "They differ in size as well, by nearly nine times, and in tokens. What did it?"),
    ],
    hints=("Only what the sentence speaks of should differ.",),
    solution=("Size, tokens and language must be the same, and only the text's quality differ.",),
)
