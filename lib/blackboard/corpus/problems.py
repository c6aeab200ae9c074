"""Practice problems of the corpus lesson: what a run was, what its last tokens bought, what repeating and filtering
cost, who said what.
"""

from __future__ import annotations

from functools import cache
from math import comb, exp, fsum, log, sqrt
from random import Random
from statistics import fmean, stdev, variance

from sympy import Le, Max, Min, floor, solve
from sympy import exp as power_of_e
from sympy import log as logarithm

from blackboard.catalogue import chip, measurement, model
from blackboard.corpus import equations as eq
from blackboard.corpus import numbers
from blackboard.corpus.numbers import LARGE, NETS, SMALL
from blackboard.formula import Formula
from blackboard.notation import symbol
from blackboard.overtraining import equations as law
from blackboard.practice import (
    Choice,
    Estimate,
    Expression,
    Function,
    Mistake,
    Ordering,
    Quantity,
    Step,
    Values,
    least,
    root,
)
from blackboard.units import factor, significant

RUN = "Work out from a paper's table what a training run was: tokens, epochs, FLOPs, MFU."
PERCENT = "Say what one per cent more tokens is worth against one per cent more parameters."
PLATEAU = "Fit a learning curve and say whether the points show a plateau."
REPEAT = "Compute what repeated tokens are worth, and where repeating ends."
FILTER = "Say how much better the tokens that a filter keeps must be."
SAID = "Tell what a paper shows from what is said of it."

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
    """What so many epochs are worth, in epochs of fresh text."""
    return numbers.worth(epochs, 1.0)


# --- what the run was -------------------------------------------------------------------------------------------------


def placed(values: Values) -> Values:
    """A drawn model's parameters and tokens, in the notation's names."""
    net = model(values["net"])
    return {
        "net_name": net.name,
        "n_active": float(net.n_active),
        "pretrain_tokens": net.training_tokens,
        "prescribed": law.PRESCRIBED,
    }


guess = Estimate(
    id="guess",
    title="A guess before you read",
    level="easy",
    ask=(
        "{net_name} has {n_active} and was trained on {pretrain_tokens}. Chinchilla's rule gives each parameter 20"
        " tokens. How many times the rule's tokens is that? Guess, in your head: within a factor of 2.5 counts."
    ),
    draw={"net": (NETS[LARGE], NETS[SMALL], "llama-3.1-8b", "qwen3-8b")},
    derive=placed,
    units={"net_name": ""},
    unit="1",
    within=2.5,
    objective=RUN,
    answer=lambda v: law.overtraining(v),
    second=lambda v: root(
        lambda far: (
            6 * v["n_active"] * sum(v["n_active"] for _ in range(20)) * far - 6 * v["n_active"] * v["pretrain_tokens"]
        ),
        1e-6,
        1e9,
    ),
    means=(
        "Far from little data: such a model is small, and its text is long. The lecture puts frontier models at about a"
        " hundred times."
    ),
    mistakes=(
        Mistake(
            lambda v: v["pretrain_tokens"] / v["n_active"],
            "That is tokens for each parameter. Compare it with the rule's 20.",
        ),
        Mistake(lambda v: 1.0, "That would be training by the rule. Work out what the rule gives this model."),
        Mistake(lambda v: 1 / law.overtraining(v), "Upside down: more tokens than the rule's is a factor above one."),
    ),
    hints=("How many tokens does the rule give to so many parameters?", "Tokens ÷ (20 × parameters)."),
    solution=lambda v: [
        Step(f"${law.chinchilla_tokens.latex}$ =", law.chinchilla_tokens(v), "token"),
        Step("Its tokens over these:", law.overtraining(v), "1"),
    ],
)


def counted(values: Values) -> Values:
    """A drawn run of the paper with its counts as printed."""
    row = numbers.run(values["run"])
    shown = {
        "steps_text": f"{row['steps']:,}",
        "batch_text": f"{row['batch']:,}",
        "context_text": f"{row['context_tokens']:,}",
    }
    return (
        shown
        | {name: row[name] for name in ("steps", "batch", "unique_tokens", "chips")}
        | {"context": row["context_tokens"]}
    )


PRINTED = dict.fromkeys(("run", "steps_text", "batch_text", "context_text", "hours_text", "text"), "") | {"chips": "1"}


def read(values: Values) -> float:
    """Epochs of the drawn run."""
    return values["steps"] * eq.step_tokens(values) / values["unique_tokens"]


epochs = Quantity(
    id="epochs",
    title="How often was it read?",
    level="easy",
    ask=(
        "{run} took {steps_text} steps. In a step all its GPUs together read {batch_text} sequences of {context_text}"
        " tokens; let every sequence be full. The text has {unique_tokens}. How many times was it read, on average?"
    ),
    draw={"run": (LARGE, SMALL)},
    derive=counted,
    units=PRINTED,
    unit="1",
    objective=RUN,
    answer=read,
    second=lambda v: model(NETS[v["run"]]).training_tokens / v["unique_tokens"],
    means="“Trained on trillions of tokens” counts what was read, and not the text that there was.",
    mistakes=(
        Mistake(lambda v: 1 / read(v), "Upside down: tokens read over tokens there were."),
        Mistake(lambda v: read(v) - 1, "That is how often it was repeated. The first pass is an epoch, too."),
        Mistake(lambda v: read(v) / v["batch"], "That is a single sequence in each step."),
        Mistake(
            lambda v: read(v) * v["chips"],
            "You gave each GPU a batch of its own. The batch is what all of them read together.",
        ),
    ),
    hints=("How many tokens does a step read?", "Steps × sequences × tokens, over the tokens of the text."),
    solution=lambda v: [
        Step(f"${eq.step_tokens.latex}$ =", eq.step_tokens(v), "token"),
        Step("Read in all:", v["steps"] * eq.step_tokens(v), "token"),
        Step("Over the text:", read(v), "1"),
    ],
)


def timed(values: Values) -> Values:
    """A run on A100s with its GPU hours, in the notation's names."""
    if values["run"] == LARGE:
        row = numbers.run(LARGE)
    else:
        [row] = measurement("training_gpu_hours").records(model=values["run"])
        row = row | {"tokens": row["pretraining_tokens"]}
    hours = row["training_GPU_hours"]
    known = {
        "n_active": float(row["n_active"]),
        "pretrain_tokens": float(row["tokens"]),
        "chip_time": hours * HOUR,
        "hours_text": f"{hours:,} hours",
    }
    return known | {"chip_flops": chip("a100-80gb").flops("bf16")}


mfu = Quantity(
    id="mfu",
    title="What the chips were used for",
    level="medium",
    ask=(
        "{run} has {n_active} and was trained on {pretrain_tokens}. Its makers report {hours_text} of A100 time. An"
        " A100 multiplies {chip_flops} (dense, in BF16, a multiply-add counted as two). Take 6 FLOPs for each parameter"
        " and token. Which MFU is that, in percent?"
    ),
    draw={"run": (LARGE, "Llama 2 7B", "Llama 2 13B")},
    derive=timed,
    units=PRINTED | {"chip_flops": "FLOP/s"},
    unit="1",
    asked="%",
    objective=RUN,
    answer=lambda v: eq.mfu_reached(v),
    second=lambda v: root(lambda share: v["chip_time"] - law.training_time(v, train_mfu=share), 1e-4, 1.0),
    means=(
        "Tokens, size and hours come from three places of a paper. An MFU between a quarter and a half says that they"
        " fit together."
    ),
    mistakes=(
        Mistake(lambda v: eq.mfu_reached(v) / 3, "That is forward passes alone. Training takes 6 FLOPs, not 2."),
        Mistake(
            lambda v: eq.mfu_reached(v) / 2,
            "That counts multiply-adds once, or takes the rate with sparsity, which is twice the dense one.",
        ),
        Mistake(
            lambda v: eq.mfu_reached(v) * 4 / 3,
            "Eight FLOPs run the forward pass twice. MFU counts what the model needs: six.",
        ),
        Mistake(
            lambda v: eq.mfu_reached(v) / 100,
            "That is the fraction; percent is a hundred times it. Type the percentage.",
        ),
    ),
    hints=(
        "How many FLOPs did the run need, and how many could the chips have done in that time?",
        "6 N D over hours × 3,600 × rate.",
    ),
    solution=lambda v: [
        Step("FLOPs that the run needed, 6 N D, in units of 10²¹:", law.pretrain_compute(v) / 1e21, "1"),
        Step("that the chips could have done, in the same:", v["chip_time"] * v["chip_flops"] / 1e21, "1"),
        Step("Their ratio, in percent:", 100 * eq.mfu_reached(v), "%"),
    ],
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
    id="padding",
    title="Places for tokens",
    level="medium",
    ask=(
        "LLäMmlein's tokens are steps × sequences × context. The code that was released later puts one document into a"
        " sequence, fills the rest with padding and leaves that out of the loss. The paper does not say whether its"
        " runs did so. Suppose they did, and a third of all places was padding. What would change?"
    ),
    options={
        "a": "nothing: padding is left out of the loss, so it does not matter",
        "b": (
            "tokens read, epochs and the times past Chinchilla's rule are a third lower; the work of the chips is as"
            " counted"
        ),
        "c": "tokens read and the work of the chips are both a third lower",
        "d": "the tokens are as printed, and only the MFU falls",
    },
    answer="b",
    second=lambda v: padded(),
    objective=SAID,
    means=(
        "A product does not know which of its rows are padding. So “tokens” can mean places or text, and a reader has"
        " to ask which."
    ),
    mistakes=(
        Mistake("a", "Left out of the loss it teaches nothing. Then it should not be counted as text, either."),
        Mistake("c", "The mask takes padding out of the loss. The layers multiply these rows like all others."),
        Mistake("d", "What is padding has not been read, whatever is printed."),
    ),
    hints=("Follow a row of padding through the network: is it multiplied? Does it teach?",),
    solution=lambda v: [
        Step(
            "It takes its place in every product, so work and hours are as counted. It carries no text, so the tokens"
            " read are fewer."
        ),
        Step("So the answer is", "b"),
    ],
)

# --- tokens against parameters ----------------------------------------------------------------------------------------

FITS = ("Besiroglu", "Hoffmann, TeX source")


def fitted(values: Values) -> Values:
    """A drawn model, and a drawn fit's constants with its text."""
    known = numbers.fitted(values["fit"])
    return placed(values) | known | {"law_text": law.law_text(known)}


FITTED = {"fit": "", "law_text": "", "net_name": ""}
LONG = ("llammlein-1b", "llammlein-120m", "llama-3.1-8b", "qwen3-8b")  # trained far past the rule


def drops(values: Values, more: float = 1.0001) -> float:
    """What a little more tokens takes off the loss, over what as much more parameters does, by differences."""
    at = law.law_loss(values)
    by = lambda name: at - law.law_loss(values, **{name: values[name] * more})
    return by("pretrain_tokens") / by("n_active")


percent = Quantity(
    id="percent",
    title="A percent of each",
    level="medium",
    ask=(
        "A published fit of the loss is {law_text}. {net_name} has {n_active} and was trained on {pretrain_tokens}. One"
        " percent more tokens would lower its loss by a little, one percent more parameters by a little. How many times"
        " as large as the second is the first, for small changes?"
    ),
    draw={"net": (*LONG, "llama-2-70b", "pythia-12b"), "fit": FITS},
    derive=fitted,
    units=FITTED,
    unit="1",
    objective=PERCENT,
    answer=lambda v: eq.tokens_worth(v),
    second=drops,
    means=(
        "Both cost a percent more compute. Far below one, the compute would have done more as size; far above, as text."
    ),
    mistakes=(
        Mistake(
            lambda v: eq.tokens_worth(v) * v["size_power"] / v["data_power"],
            "You compared the two parts of the loss. What a percent takes off a part is its exponent times the part.",
        ),
        Mistake(lambda v: 1 / eq.tokens_worth(v), "Upside down: tokens over parameters is asked."),
        Mistake(
            lambda v: eq.tokens_worth(v) * v["n_active"] / v["pretrain_tokens"],
            "That compares one token with one parameter. A percent is many more of the one than of the other.",
        ),
        Mistake(
            lambda v: v["data_power"] / v["size_power"],
            "Those are the exponents. Each belongs to a part of the loss, and the parts are not of one size.",
        ),
    ),
    hints=(
        "Work out the two parts of the loss that can fall: the one with N, the one with D.",
        "A percent more D takes {data_power} percent off the term with D. Likewise for N.",
    ),
    solution=lambda v: [
        Step("Exponent × term with D:", v["data_power"] * eq.loss_left(v), "1"),
        Step("exponent × term with N:", v["size_power"] * v["loss_size"] / v["n_active"] ** v["size_power"], "1"),
        Step("Their ratio:", eq.tokens_worth(v), "1"),
    ],
)


PART_D, PART_N = eq.loss_left.expr, law.loss_size * law.n_active**-eq.size_power
percent_letters = Expression(
    tried=tuple(numbers.fitted(fit) | placed({"net": net}) for fit in FITS for net in ("llammlein-1b", "llama-2-70b")),
    id="percent-letters",
    title="The same in letters",
    level="medium",
    ask=(
        "A fit of the loss is A_0 + A_N / N_act^alpha_N + A_D / D_pre^alpha_D, where A_0 is what text itself leaves"
        " open. Write what one percent more tokens lowers the loss, over what one percent more parameters does, for"
        " small changes."
    ),
    formula=eq.tokens_worth,
    answer=None,
    objective=PERCENT,
    second=lambda v: (lambda D, N, loss: D * loss.diff(D) / (N * loss.diff(N)))(
        eq.pretrain_tokens, law.n_active, law.law_loss.expr
    ),
    means=(
        "Where a size is the best one for its compute this is one: else a little of the one could be traded for the"
        " other, and the loss would fall."
    ),
    mistakes=(
        Mistake(
            PART_D / PART_N,
            "That is one part of the loss over the other. How fast a part falls with a percent is its exponent times"
            " the part.",
        ),
        Mistake(eq.size_power * PART_N / (eq.data_power * PART_D), "Upside down: tokens over parameters is asked."),
        Mistake(eq.size_power * PART_D / (eq.data_power * PART_N), "Each exponent stands with its own part."),
        Mistake(
            eq.data_power * PART_D / eq.pretrain_tokens / (eq.size_power * PART_N / law.n_active),
            "Those are the slopes: one token against one parameter. A percent of each is asked.",
        ),
        Mistake(
            eq.data_power / eq.size_power,
            "Those are the exponents. Each belongs to a part of the loss, and the parts are not of one size.",
        ),
    ),
    hints=(
        "By how many percent does A_D / D_pre^alpha_D fall when D_pre grows by one percent?",
        "alpha_D × one part, over alpha_N × the other.",
    ),
    solution=lambda v: [
        Step(f"${eq.tokens_worth.latex}$, typed as", "alpha_D * A_D / D_pre^alpha_D / (alpha_N * A_N / N_act^alpha_N)"),
    ],
)


def searched(known: Values, compute: float) -> float:
    """The size with the lowest loss for a compute of training, in parameters, by thirds of an interval."""
    loss = lambda size: law.law_loss(known, n_active=size, pretrain_tokens=compute / (6 * size))
    return least(loss, 1e6, 1e14)


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
    id="best-is-one",
    title="At the best size",
    level="easy",
    ask=(
        "For some compute of training, take the size and the tokens that reach the lowest loss. One percent more tokens"
        " takes a little off that loss, one percent more parameters takes a little off. How many times as large as the"
        " second is the first?"
    ),
    options={
        "a": "0: the tokens have done all they can",
        "b": "1",
        "c": "20, by Chinchilla's rule",
        "d": "that depends on the compute",
    },
    answer="b",
    second=lambda v: settles(),
    objective=PERCENT,
    means=(
        "A percent of either costs the same. If one did more than the other, one would trade, and the loss would not be"
        " the lowest."
    ),
    mistakes=(
        Mistake(
            "a",
            "Then a percent of the tokens could go, and be spent on size, for nothing. This would not be the best"
            " size.",
        ),
        Mistake("c", "That is tokens for each parameter. Here a percent is set against a percent."),
        Mistake("d", "Size and tokens depend on the compute. Ask what holds at each best size, whatever the compute."),
    ),
    hints=("One percent more tokens costs one percent more compute. So does one percent more parameters.",),
    solution=lambda v: [
        Step(f"At the best size neither can be traded for the other with a gain, so ${eq.tokens_worth.latex}$ is one."),
        Step("So the answer is", "b"),
    ],
)

LINE_UP = {"a": "qwen3-32b", "b": "gpt-3-175b", "c": "llammlein-1b", "d": "pythia-12b", "e": "llama-3.1-8b"}


def by(measure) -> str:
    """The keys of LINE_UP by a measure of a model's parameters and tokens, the least first."""
    return "".join(sorted(LINE_UP, key=lambda key: measure(numbers.fitted() | placed({"net": LINE_UP[key]}))))


def item(id: str) -> str:
    """A model's name with its parameters and tokens."""
    net = model(id)
    return (
        f"{net.name}: {significant(net.n_active / 1e9, 3)} billion parameters,"
        f" {significant(net.training_tokens / TRILLION, 2)} trillion tokens"
    )


WORTHS = {key: eq.tokens_worth(numbers.fitted() | placed({"net": id})) for key, id in LINE_UP.items()}
runs_in_order = Ordering(
    id="runs-in-order",
    title="Where more text would help",
    level="medium",
    ask=(
        f"A published fit of the loss is {law.law_text(numbers.fitted())}. For each of these models, take what one"
        " percent more tokens would lower its loss over what one percent more parameters would. Put them in order, the"
        " least first: where more text was worth the least."
    ),
    items={key: item(id) for key, id in LINE_UP.items()},
    answer=by(lambda v: eq.tokens_worth(v)),
    second=lambda v: by(drops),
    objective=PERCENT,
    means=(
        "Nearly the order of tokens for each parameter, because the two exponents are nearly equal. Text of another"
        " kind or language has other constants."
    ),
    mistakes=(
        Mistake(by(lambda v: -eq.tokens_worth(v)), "That is from the most to the least."),
        Mistake(
            by(lambda v: -v["pretrain_tokens"]),
            "That is by tokens alone. The same tokens are plenty for a small model and few for a large one.",
        ),
        Mistake(by(lambda v: v["n_active"]), "That is by size alone. It also matters how much text each has had."),
    ),
    hints=(
        (
            "Work out both parts of the loss for each model. Or begin with tokens for each parameter: the exponents are"
            " nearly the same."
        ),
    ),
    solution=lambda v: [
        Step(
            "Tokens over parameters, percent for percent: "
            + ", ".join(f"{key} {significant(WORTHS[key], 2)}" for key in sorted(WORTHS))
            + "."
        ),
        Step("In order:", by(lambda v: eq.tokens_worth(v))),
    ],
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
    id="same-compute",
    title="The same compute, spent otherwise",
    level="hard",
    ask=(
        "A published fit of the loss is {law_text}. {net_name} has {n_active} and was trained on {pretrain_tokens}, at"
        " 6 FLOPs for each parameter and token. With the same FLOPs, spent on the size that is best for them, how many"
        " nats lower would the loss be?"
    ),
    draw={"net": LONG, "fit": FITS[:1]},
    derive=best_for,
    units=FITTED,
    unit="1",
    tolerance=0.03,
    objective=PERCENT,
    answer=lambda v: saved(v, n_active=v["size_best"], pretrain_tokens=v["tokens_best"]),
    second=lambda v: saved(
        v,
        n_active=(size := searched(v, 6 * v["n_active"] * v["pretrain_tokens"])),
        pretrain_tokens=v["n_active"] / size * v["pretrain_tokens"],
    ),
    means=(
        "That is what staying small cost in loss. Whoever serves the model saves it again with every token, and the"
        " over-training lesson says when that pays."
    ),
    mistakes=(
        Mistake(
            lambda v: eq.loss_left(v),
            "That is what endless data would still take off at this size. Here the size may change, and the FLOPs may"
            " not.",
        ),
        Mistake(
            lambda v: saved(v, n_active=v["size_best"]),
            "You kept the tokens, so the larger model takes more FLOPs. More size must be paid for with tokens.",
        ),
        Mistake(
            lambda v: law.law_loss(v) - v["loss_floor"],
            "That is all of the loss above what text leaves open. No compute takes that off.",
        ),
        Mistake(
            lambda v: law.law_loss(v, n_active=v["size_best"], pretrain_tokens=v["tokens_best"]),
            "That is the loss itself. By how much is it lower?",
        ),
    ),
    hints=(
        (
            "At 6 N D FLOPs, the tokens for a size are N D ÷ size. Try sizes, or use the condition that a percent of"
            " each is worth the same."
        ),
        "exponent × term with N = exponent × term with D, with N × D as it was.",
    ),
    solution=lambda v: [
        Step(f"${law.best_size.latex}$ =", v["size_best"], "parameter"),
        Step("For the same FLOPs it reads", v["tokens_best"], "token"),
        Step("The loss of the model as it is:", law.law_loss(v), "1"),
        Step("of the other:", law.law_loss(v, n_active=v["size_best"], pretrain_tokens=v["tokens_best"]), "1"),
        Step("Lower by", saved(v, n_active=v["size_best"], pretrain_tokens=v["tokens_best"]), "1"),
    ],
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
    return {
        name: f"{scored(steps):.3f}"
        for name, steps in zip(("first", "second", "third", "last"), (*TENFOLD, OWN["steps"]))
    }


def shrinks() -> str:
    """What the gains of two equal factors say."""
    one, two, three = map(scored, TENFOLD)
    return "b" if three - two > two - one else "c"


three_points = Choice(
    id="three-points",
    title="Two factors of ten",
    level="medium",
    ask=(
        "LLäMmlein 1B scores {first}, {second} and {third}, the mean of six tasks, after 10,000, 100,000 and 1,000,000"
        " steps. A score that nears a limit as a power of the tokens gains less with every factor of ten. What do these"
        " three points say of a limit?"
    ),
    derive=means,
    units=dict.fromkeys(("first", "second", "third", "last"), ""),
    options={
        "a": "it is close: the third point took ten times as many steps as the second",
        "b": "nothing yet: the gain of the second factor of ten is no smaller than that of the first",
        "c": "it can be worked out: three points fix the three constants of the curve",
        "d": "there is none: the score goes on rising for ever",
    },
    answer="b",
    second=lambda v: shrinks(),
    objective=PLATEAU,
    means=(
        "The last checkpoint, of nearly half as many steps again, scores {last}. That hints at a limit, and is one"
        " point."
    ),
    mistakes=(
        Mistake(
            "a",
            "A score that rises by the same amount with every factor of ten also takes ten times the steps for each. It"
            " has no limit.",
        ),
        Mistake(
            "c", "Try: the curve asks that the second gain is smaller than the first. No positive power does that here."
        ),
        Mistake("d", "A score cannot pass one. Points that show no limit do not show that there is none."),
    ),
    hints=("Subtract: how much does each factor of ten gain?",),
    solution=lambda v: [
        Step("The first factor of ten gains", round(scored(TENFOLD[1]) - scored(TENFOLD[0]), 4), "1"),
        Step("the second", round(scored(TENFOLD[2]) - scored(TENFOLD[1]), 4), "1"),
        Step("So the answer is", "b"),
    ],
)


def through(values: Values) -> Values:
    """The three scores of a drawn task, and the curve through them in the notation's names, the third point for
    reference.
    """
    one, two, three = (scored(steps, values["task"]) for steps in TENFOLD)
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
        "last": f"{scored(OWN['steps'], values['task']):.3f}",
    }
    shown |= {"said": f"{eq.score(curve, pretrain_tokens=OWN['tokens']):.3f}"}
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
    return root(lambda above: above * (above + three - one) - (above + three - two) ** 2, 1e-6, 1.0)


limit = Quantity(
    id="limit",
    title="A limit from three points",
    level="hard",
    ask=(
        "On {task} LLäMmlein 1B scores {first}, {second} and {third} after 10,000, 100,000 and 1,000,000 steps. Lay a"
        " curve through the three that nears its limit as a power of the steps: limit − c / steps^p. How far above the"
        " third score is the limit, as a fraction of one?"
    ),
    draw={"task": ("NLI", "PAWSX")},
    derive=through,
    units=dict.fromkeys(("task", "first", "second", "third", "last", "said"), ""),
    unit="1",
    objective=PLATEAU,
    answer=lambda v: v["score_limit"] - eq.score(v, pretrain_tokens=v["tokens_third"]),
    second=lambda v: equal_steps(v["scores"]),
    means=(
        "Three points fix three constants and leave nothing over to judge them by. For the last checkpoint the curve"
        " says {said}, and the model scored {last}."
    ),
    mistakes=(
        Mistake(
            lambda v: v["gained"],
            "That is what the last factor of ten gained. The next one gains less, and others follow it.",
        ),
        Mistake(
            lambda v: v["gained"] ** 2 / v["gained_before"],
            "That is what the next factor of ten would gain. Others follow it, each gaining less.",
        ),
        Mistake(lambda v: v["score_limit"], "That is the limit itself. How far above the third score is it?"),
        Mistake(
            lambda v: 100 * v["score_gap"],
            "That is in points of a hundred. Answer as a fraction of one, as the scores are printed.",
        ),
    ),
    hints=(
        "With each factor of ten the distance to the limit shrinks by the same factor, and so does the gain.",
        (
            "That factor is the second gain over the first, r. The gains to come are a geometric series: r, r², … times"
            " the last gain."
        ),
    ),
    solution=lambda v: [
        Step(
            "Gains of the two factors of ten: {gained_before} and {gained}. The second over the first:",
            v["gained"] / v["gained_before"],
            "1",
        ),
        Step("which is a power of", v["score_power"], "1"),
        Step("All gains to come, a geometric series:", v["score_gap"], "1"),
    ],
)

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

next_doubling = Expression(
    id="next-doubling",
    title="What the next doubling brings",
    level="medium",
    ask=(
        "A score after D_pre tokens is s_infty − s_gap (D_pre / D_ref)^(−p_s). Write how much higher it is after twice"
        " as many."
    ),
    formula=doubling,
    answer=None,
    second=lambda v: eq.score.expr.subs(eq.pretrain_tokens, 2 * eq.pretrain_tokens) - eq.score.expr,
    objective=PLATEAU,
    means=(
        "Each doubling closes the same share of what is left. With a small power the share is small, and a plateau and"
        " a slow rise look alike."
    ),
    mistakes=(
        Mistake(GAP, "That is all that is left to the limit. A doubling closes a part of it."),
        Mistake(GAP * 2**-eq.score_power, "That is what is left after the doubling. What has it taken away?"),
        Mistake(GAP / 2, "A doubling closes half of what is left only if the power is one."),
        Mistake(
            eq.score_gap * (1 - 2**-eq.score_power),
            "That is the gain where D_pre is D_ref. Elsewhere another gap is left to close.",
        ),
        Mistake(GAP * (2**eq.score_power - 1), "That is the gain of the last doubling, the one that led here."),
        Mistake(
            eq.score_limit - GAP * 2**-eq.score_power, "That is the score after the doubling. Take away the one before."
        ),
        Mistake(
            GAP * logarithm(2) * eq.score_power,
            "That is the slope in ln D times ln 2. Over a whole doubling the slope falls.",
        ),
    ),
    hints=(
        "Write the score at D_pre and at 2 D_pre, and subtract.",
        "The limit cancels, and (2 D)^(−p) = 2^(−p) D^(−p).",
    ),
    solution=lambda v: [Step("The limit cancels. Typed:", "s_gap * (D_pre / D_ref)^(-p_s) * (1 - 2^(-p_s))")],
)

COMPARED = ((SMALL, "all 29"), (SMALL, "classification"), (LARGE, "classification"), (LARGE, "question answering"))


def before_after(values: Values) -> Values:
    """A drawn mean score at the checkpoint from which on no gain was significant, and at the last."""
    name, tasks = values["of"]
    first, last = sorted(
        measurement("llammlein_saturated").records(model=name, tasks=tasks), key=lambda row: row["steps"]
    )
    s, t = first["score"], last["score"]
    return {
        "name": name,
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


questions = Quantity(
    id="questions",
    title="How many questions",
    level="hard",
    ask=(
        "A mean score of {name} rises from {before} to {after} between the checkpoint after which its makers find no"
        " significant gain and the last one. Suppose it were one benchmark of questions that are answered right or"
        " wrong, and each checkpoint got as many fresh questions, drawn at random. How many would each need for the"
        " rise to be two standard errors of the difference?"
    ),
    draw={"of": COMPARED},
    derive=before_after,
    units=dict.fromkeys(("name", "before", "after"), ""),
    unit="1",
    objective=PLATEAU,
    answer=lambda v: 4 * v["spread"] / v["gain"] ** 2,
    second=lambda v: root(
        lambda n: v["gain"] / sqrt((each_question(v["s"]) + each_question(v["t"])) / n) - 2, 1.0, 1e12
    ),
    means=(
        "A test that finds nothing with fewer says little. With the same questions for both the noise is smaller: only"
        " answers that change count."
    ),
    mistakes=(
        Mistake(
            lambda v: v["spread"] / v["gain"] ** 2,
            "That is one standard error. Two are asked, so the noise must be half as large.",
        ),
        Mistake(
            lambda v: 4 * v["t"] * (1 - v["t"]) / v["gain"] ** 2,
            "Only one of the two scores is noisy in yours. A difference has the noise of both.",
        ),
        Mistake(lambda v: 2 * sqrt(v["spread"]) / v["gain"], "The noise falls with the root of the number. Square it."),
        Mistake(
            lambda v: 4 * 0.5 / v["gain"] ** 2,
            "You took the noise of a score of one half, which is the most there can be. These scores have less.",
        ),
        Mistake(
            lambda v: 4 * (v["s"] + v["t"]) / v["gain"] ** 2,
            "The chance of a wrong answer is missing: the variance of a question is s (1 − s).",
        ),
    ),
    hints=(
        "A score s on n questions has the variance s (1 − s) / n. Variances of two scores add up.",
        "rise = 2 × the root of ((s (1 − s) + t (1 − t)) / n). Solve for n.",
    ),
    solution=lambda v: [
        Step("Variance of a question at one score and at the other, together:", v["spread"], "1"),
        Step("The standard error of the difference must be half of the rise:", v["gain"] / 2, "1"),
        Step("Variance over its square:", 4 * v["spread"] / v["gain"] ** 2, "1"),
    ],
)


@cache
def found(gain: float, tries: int = 400) -> float:
    """Chance that a test of two heaps of 29 scores finds a gain, tried with made-up scores that spread as the
    published six do.
    """
    rng, published = Random(5), measurement("llammlein_checkpoints").records(model=SMALL)
    finals = [row["score"] for row in published if row["steps"] == max(each["steps"] for each in published)]
    middle, spread, count = fmean(finals), stdev(finals), 29
    heap = lambda centre: [rng.gauss(centre, spread) for _ in range(count)]
    far = lambda a, b: (fmean(b) - fmean(a)) / sqrt((variance(a) + variance(b)) / count)
    return (
        sum(abs(far(heap(middle), heap(middle + gain))) > 2.003 for _ in range(tries)) / tries
    )  # 95 % of t with 56 degrees


TRUE = 0.006  # the rise of the small model's printed means, as a fraction of one

not_significant = Choice(
    id="not-significant",
    title="No significant gain",
    level="medium",
    ask=(
        "The paper compares the small model's scores on 29 tasks by an analysis of variance, and finds no significant"
        " gain from 300,000 steps on. From one task to another the scores differ by far more than from one checkpoint"
        " to the next. What follows?"
    ),
    options={
        "a": "that the model has stopped learning",
        "b": "that a gain, if there is one, is too small for this test to see",
        "c": "that the training after it was wasted",
        "d": "that the gain is zero, with a confidence of 95%",
    },
    answer="b",
    second=lambda v: "b" if found(TRUE) < 0.1 and found(0.3) > 0.9 else "a",
    objective=PLATEAU,
    means=(
        "Two heaps of 29 scores that differ widely hide a rise of 0.6 points of a hundred, as in the paper's table."
        " Comparing task by task would see more."
    ),
    mistakes=(
        Mistake(
            "a",
            "A test that finds nothing has not found nothing to be there. Some tasks go on rising in the paper's own"
            " table.",
        ),
        Mistake(
            "c",
            "Not even the benchmark says so: the authors ask themselves whether it was too coarse, and see other tasks"
            " improve.",
        ),
        Mistake(
            "d",
            "A test bounds how often it raises a false alarm. It does not make zero likely; a gain of 0.6 points of a"
            " hundred fits just as well.",
        ),
    ),
    hints=(
        (
            "Suppose the score of every task rose by 0.6 points of a hundred. Would a test that does not pair the tasks"
            " notice?"
        ),
    ),
    solution=lambda v: [
        Step(
            "Make up scores of 29 tasks that spread as the six published ones do. A true gain of 0.6 points is found in"
            " so many tries, hardly more than the 5 percent of false alarms:",
            f"{found(TRUE):.0%}",
        ),
        Step("So the answer is", "b"),
    ],
)

# --- data seen more than once -----------------------------------------------------------------------------------------

FITTED_LAW = (
    "By a fitted law, U different tokens that are read to D in all, more than once, are worth U + U R (1 − exp(−(D/U −"
    " 1)/R)) fresh ones, with R = {reuse}. "
)


def repeated(values: Values) -> Values:
    """The fitted constant beside the draw."""
    return {"reuse": REUSE}


SHARE = {"count": "1", "reuse": "1", "percent_worth": "%"}

four_epochs = Quantity(
    id="four-epochs",
    title="What epochs are worth",
    level="easy",
    ask=FITTED_LAW
    + "A text is read {count} times. What are the tokens of this run worth, in percent of as many fresh ones?",
    draw={"count": (4, 7, 14, 3, 20)},
    derive=repeated,
    units=SHARE,
    unit="1",
    asked="%",
    tolerance=0.01,
    objective=REPEAT,
    answer=lambda v: long_worth(v["count"]) / v["count"],
    second=lambda v: summed(v["count"], 1.0) / v["count"],
    means="Up to four epochs little is lost, as the paper says: little, and not nothing.",
    mistakes=(
        Mistake(
            lambda v: eq.repeat_worth(epochs=v["count"], reuse=REUSE),
            "That is what the last token is worth. The earlier ones were worth more.",
        ),
        Mistake(
            lambda v: 1.0,
            "That is no loss at all: exactly as much as fresh text. The law takes a little off from the first"
            " repetition on.",
        ),
        Mistake(lambda v: 1 / v["count"], "That counts the first pass alone. The others are worth something, too."),
        Mistake(
            lambda v: REUSE * (1 - exp(-(v["count"] - 1) / REUSE)) / v["count"],
            "The first pass is missing. It counts in full.",
        ),
        Mistake(
            lambda v: long_worth(v["count"]) / v["count"] / 100,
            "That is the fraction; percent is a hundred times it. Type the percentage.",
        ),
        Mistake(
            lambda v: long_worth(v["count"]) / 100,
            "That is in epochs of fresh text. Divide by the epochs that were read, and type the percentage.",
        ),
    ),
    hints=("Let U be one. Then D is the number of epochs.", "Divide what the run is worth by what was read."),
    solution=lambda v: [
        Step("For a text of one token the run is worth", long_worth(v["count"]), "1"),
        Step("Over what was read, in percent:", 100 * long_worth(v["count"]) / v["count"], "%"),
    ],
)


def slope_at(epochs: float, step: float = 1e-4) -> float:
    """What a little more text read is worth after so many epochs, by differences of the law."""
    return (long_worth(epochs + step) - long_worth(epochs)) / step


def average_at(share: float) -> float:
    """Epochs after which all tokens read are worth a share on average."""
    return root(lambda n: share - long_worth(n) / n, 1.0001, 1e6)


EPOCHS = eq.repeat_worth.solve("epochs")

half = Quantity(
    id="half",
    title="When repeating wears out",
    level="medium",
    ask=FITTED_LAW + "After how many epochs does one more token teach only {percent_worth} of what a fresh one would?",
    draw={"percent_worth": (50, 20, 10, 70)},
    derive=repeated,
    units=SHARE,
    unit="1",
    objective=REPEAT,
    answer=lambda v: EPOCHS(v, repeat_worth=v["percent_worth"] / 100),
    second=lambda v: root(lambda n: v["percent_worth"] / 100 - slope_at(n), 1.001, 1e4),
    means="The constant R is no half-life: R repetitions leave 1/e of the worth, that is 37 percent.",
    mistakes=(
        Mistake(
            lambda v: EPOCHS(v, repeat_worth=v["percent_worth"] / 100) - 1,
            "So many repetitions. The first pass is an epoch, too.",
        ),
        Mistake(
            lambda v: 1 + REUSE, "There it is 1/e, which is 37 percent: R is no half-life, and not the end either."
        ),
        Mistake(
            lambda v: average_at(v["percent_worth"] / 100),
            "There all tokens together are worth so much, on average. The last one is worth less.",
        ),
    ),
    hints=(
        "Take the derivative by D. What is left is an exponential of D/U.",
        "exp(−(n − 1)/R) is to be the share. Solve for n.",
    ),
    solution=lambda v: [
        Step(f"The derivative by $D$ is the worth of the next token, ${eq.repeat_worth.latex}$."),
        Step("Solved for the epochs, one plus", EPOCHS(v, repeat_worth=v["percent_worth"] / 100) - 1, "1"),
        Step("So it is after", EPOCHS(v, repeat_worth=v["percent_worth"] / 100), "1"),
    ],
)

SPENT = numbers.worth(OWN["tokens"], OWN["unique_tokens"]) / OWN["tokens"]  # of fresh tokens
REPEATED = OWN["tokens"] / OWN["unique_tokens"]

explains = Choice(
    id="explains",
    title="Is repetition to blame?",
    level="easy",
    ask=(
        f"LLäMmlein 1B read each token of its text {significant(REPEATED, 2)} times, and its scores rise slowly towards"
        f" the end. Does repetition explain that, by the fitted law with a constant of {significant(REUSE, 3)}"
        " repetitions?"
    ),
    options={
        "a": f"yes: only the first pass counts, so {1 - 1 / REPEATED:.0%} of the training was wasted",
        "b": "yes: a token that is read for the second time is worth half",
        "c": "no: up to four epochs a token that is repeated is worth exactly as much as a fresh one",
        "d": f"no: all in all its tokens are worth {SPENT:.0%} of as many fresh ones",
    },
    answer="d",
    second=lambda v: "d" if round(summed(REPEATED, 1.0) / REPEATED, 2) == round(SPENT, 2) > 0.95 else "b",
    objective=REPEAT,
    means=(
        "Fresh text would have done little better. By the loss law it is slow because little is left of the part that"
        " more data can remove."
    ),
    mistakes=(
        Mistake(
            "a", "Each later pass counts as well, only a little less than the one before. Put the epochs into the law."
        ),
        Mistake("b", "By the law the first repetition has lost a few percent at its end. Half is reached far later."),
        Mistake("c", "Nearly as much, and not exactly: the law takes a little off from the first repetition on."),
    ),
    hints=("Put U = 1 and D = the epochs into the law, and divide by the epochs.",),
    solution=lambda v: [
        Step("For a text of one token, read as often, the law gives", long_worth(REPEATED), "1"),
        Step("Over the epochs, that is", f"{SPENT:.1%}"),
        Step("So the answer is", "d"),
    ],
)

TEXTS = {
    "a": (0.9, 1),
    "b": (0.3, 4),
    "c": (0.1, 16),
    "d": (0.05, 100),
    "e": (0.65, 2),
}  # trillions of tokens, and epochs


def texts(measure) -> str:
    """The keys of TEXTS by a measure of unique tokens and epochs, the least first."""
    return "".join(sorted(TEXTS, key=lambda key: measure(*TEXTS[key])))


texts_in_order = Ordering(
    id="texts-in-order",
    title="Long text or many passes",
    level="medium",
    ask=FITTED_LAW.replace("{reuse}", significant(REUSE, 3))
    + "Order these runs by what their tokens are worth, the least first.",
    items={
        key: (
            f"{text * 1000:,.0f} billion tokens, read"
            f" {'once' if count == 1 else 'twice' if count == 2 else f'{count} times'}"
        )
        for key, (text, count) in TEXTS.items()
    },
    answer=texts(lambda text, count: numbers.worth(text * count, text)),
    second=lambda v: texts(lambda text, count: summed(text * count, text)),
    objective=REPEAT,
    means=(
        "A hundred passes over a small text are worth less than one over a text that is"
        f" {TEXTS['a'][0] / TEXTS['d'][0]:.0f} times as long."
    ),
    mistakes=(
        Mistake(texts(lambda text, count: -numbers.worth(text * count, text)), "That is from the most to the least."),
        Mistake(
            texts(lambda text, count: text * count), "That is by tokens read. Those that are repeated are worth less."
        ),
        Mistake(texts(lambda text, count: text), "That is by the text alone. Reading it again is worth something."),
    ),
    hints=(
        "However often a text is read, it is never worth more than U (1 + R).",
        "For each: epochs n; worth U (1 + R (1 − exp(−(n − 1)/R))).",
    ),
    solution=lambda v: [
        Step(
            "In trillions of fresh tokens: "
            + ", ".join(f"{key} {numbers.worth(text * count, text):.2f}" for key, (text, count) in TEXTS.items())
            + "."
        ),
        Step("In order:", texts(lambda text, count: numbers.worth(text * count, text))),
    ],
)

SETTINGS = (("8.7B", 44e9), ("4.2B", 21e9), ("2.8B", 14e9), ("8.7B", 13e9), ("2.8B", 4e9))  # size, unique tokens


def compared(values: Values) -> Values:
    """Losses of a published size on fresh and on repeated text, and how far equal runs with other seeds lie apart."""
    size, unique = values["setting"]
    rows = measurement("repeated_data_runs").records(run=size)
    at = lambda unique: [row["loss"] for row in rows if row["unique_tokens"] == unique]
    tokens = rows[0]["pretraining_tokens"]
    fresh, again = round(at(tokens)[0], 4), round(at(unique)[0], 4)
    every = measurement("repeated_data_runs").records()
    few = [
        row for row in every if row["pretraining_tokens"] < 10 * row["unique_tokens"]
    ]  # with many epochs runs differ far more
    groups = [
        [r["loss"] for r in few if (r["run"], r["unique_tokens"]) == key]
        for key in {(r["run"], r["unique_tokens"]) for r in few}
    ]
    mean = lambda size, unique: fmean(
        row["loss"] for row in every if (row["run"], row["unique_tokens"]) == (size, unique)
    )
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
    id="measured",
    title="What repeating cost",
    level="easy",
    ask=(
        "A model of {size} parameters was trained on {pretrain_tokens}, all different, and reached a loss of {fresh}"
        " nats a token. Trained as long on {unique_tokens} that are read again and again, it reached {again}. (Equal"
        " runs of fewer than ten epochs that differ in nothing but their seed lie {seeds} nats apart.) By how many"
        " percent is the loss higher?"
    ),
    draw={"setting": SETTINGS},
    derive=compared,
    units=dict.fromkeys(("size", "fresh", "again", "seeds", "published"), ""),
    unit="1",
    asked="%",
    objective=REPEAT,
    answer=lambda v: v["ratio"] - 1,
    second=lambda v: root(lambda more: float(v["fresh"]) * (1 + more) - float(v["again"]), 1e-6, 1.0),
    means=(
        "Of four epochs of its largest model the paper says half a percent; its published losses give {published}"
        " percent, within what another seed can make."
    ),
    mistakes=(
        Mistake(lambda v: v["nats"], "That is a hundred times the difference in nats. Divide by the loss."),
        Mistake(
            lambda v: v["nats"] / 100, "That is the difference in nats. Divide by the loss, and type the percentage."
        ),
        Mistake(lambda v: v["ratio"], "That is the one loss in percent of the other. Asked is how much higher it is."),
        Mistake(
            lambda v: (v["ratio"] - 1) / 100,
            "That is the fraction; percent is a hundred times it. Type the percentage.",
        ),
    ),
    hints=("Difference over the loss on fresh text.",),
    solution=lambda v: [
        Step("The difference, in nats:", v["nats"], "1"),
        Step("over the loss on fresh text, in percent:", 100 * (v["ratio"] - 1), "%"),
    ],
)

CORPORA = ("FineWeb-Edu", "LLäMmlein", "FineWeb-Edu score 2")


def corpus_of(values: Values) -> Values:
    """A drawn filter's pool and what it keeps, in the notation's names."""
    [row] = measurement("filtering_kept").records(kept=values["kept"])
    known = {
        "pool": row["pool"],
        "pool_tokens": row["pool_tokens"],
        "unique_tokens": row["kept_tokens"],
        "reuse": REUSE,
    }
    name = {"LLäMmlein": "LLäMmlein's German text", "FineWeb-Edu score 2": "the lenient version of FineWeb-Edu"}.get(
        values["kept"], values["kept"]
    )
    return known | {
        "kept_share": row["kept_tokens"] / row["pool_tokens"],
        "name": name,
        "Name": name[:1].upper() + name[1:],
    }


TEXT = {"pool": "", "name": "", "Name": "", "kept": "", "reuse": "1"}

endless = Estimate(
    id="endless",
    title="Reading it for ever",
    level="medium",
    ask=(
        "{Name} has {unique_tokens}. By a fitted law each repetition of a text is worth a little less than the one"
        " before, by the same factor; after {reuse} repetitions it is down to 1/e. Somebody reads the text again and"
        " again without end. How many trillions of fresh tokens is that worth? Within a factor of two counts."
    ),
    draw={"kept": CORPORA},
    derive=corpus_of,
    units=TEXT,
    unit="token",
    asked="trillion tokens",
    within=2.0,
    objective=REPEAT,
    answer=lambda v: eq.worth_limit(v),
    second=lambda v: v["unique_tokens"] * summed(400.0, 1.0, 100),
    means=(
        "There is an end to it. After some forty epochs, the paper writes into a figure, repeating is worthless; so"
        " little of the limit is left by then."
    ),
    mistakes=(
        Mistake(lambda v: v["unique_tokens"], "That is one pass. Repetitions are worth something at first."),
        Mistake(
            lambda v: 4 * v["unique_tokens"], "Four epochs are where little has been lost yet. It goes on from there."
        ),
        Mistake(lambda v: 1e12 * eq.worth_limit(v), "Trillions are asked: leave out twelve zeros."),
        Mistake(
            lambda v: 120 * v["unique_tokens"],
            "That lets nearly every repetition count in full. They wear out long before.",
        ),
    ),
    hints=(
        "Add up the worth of all passes: 1 for the first, then a series that falls by the same factor each time.",
        "An exponential that falls to 1/e within R has an area of R. Add the first pass.",
    ),
    solution=lambda v: [
        Step("Repetitions together are worth so many passes:", REUSE, "1"),
        Step(f"With the first, ${eq.worth_limit.latex}$ =", eq.worth_limit(v), "token"),
    ],
)

U, D, R = eq.unique_tokens, eq.pretrain_tokens, eq.reuse
AGAIN = U * R * (1 - power_of_e(-Max(0, D / U - 1) / R))  # what the repetitions are worth
WORTH = Min(D, U) + AGAIN
ALWAYS = U + U * R * (1 - power_of_e(-(D / U - 1) / R))  # as if every run passed over the whole text
KEPT = power_of_e(-1 / R)  # by a text, from one whole pass to the next
BY_PASS = U * (
    (1 - KEPT ** floor(D / U)) / (1 - KEPT) + (D / U - floor(D / U)) * KEPT ** floor(D / U)
)  # as if worth fell between passes only
STEPWISE = "In yours a pass is worth the same from its beginning to its end. The worth falls from token to token."
SHORT = "A run shorter than one pass has not read the whole text. It is worth what it read."


PASSES = ((0.5e12, 1e12, 15.4), (1e12, 1e12, 15.4), (3e12, 1.3e12, 15.4), (2e12, 0.1e12, 5.0), (6e12, 0.05e12, 30.0))
worth = Function(
    tried=tuple(dict(zip(("pretrain_tokens", "unique_tokens", "reuse"), row)) for row in PASSES),
    id="worth",
    title="Write the worth of a run",
    level="medium",
    ask=(
        "Training reads pretrain_tokens of a text that has unique_tokens. Tokens of the first pass count in full. After"
        " it, a token that is read when the text has been repeated r times (any number, also a fraction) is worth"
        " `exp(-r / reuse)` of a fresh one. Write a Python function of pretrain_tokens, unique_tokens and reuse that"
        " returns the fresh tokens that the run is worth. A run may be shorter than one pass. Add up or integrate, to"
        " six digits at least. It is called by name, with numbers."
    ),
    formula=eq.data_worth,
    answer=None,
    objective=REPEAT,
    second=lambda v: (
        Min(D, U) + U * (R - R * power_of_e(-(Max(D, U) - U) / (U * R)))
    ),  # the integral of exp(-r/R) over the repetitions, times U
    means="The function of this lesson: repetition, filters and the loss of a long run all go through it.",
    mistakes=(
        Mistake(U + AGAIN, SHORT),
        Mistake(ALWAYS, SHORT),
        Mistake(BY_PASS, STEPWISE),
        Mistake(AGAIN, "The first pass is missing."),
        Mistake(
            Min(D, U) + U * R * (1 - power_of_e(-D / (U * R))), "You count the first pass as a repetition as well."
        ),
        Mistake(
            Min(D, U) + Max(0, D - U) * power_of_e(-Max(0, D / U - 1) / R),
            "All repeated tokens are worth as little as the last one in yours. Add them up.",
        ),
        Mistake(
            D * power_of_e(-Max(0, D / U - 1) / R),
            "All tokens are worth as little as the last one in yours. Add them up.",
        ),
        Mistake(
            Min(D, U) + R * (1 - power_of_e(-Max(0, D / U - 1) / R)),
            "That adds epochs to tokens. A repetition has as many tokens as the text.",
        ),
        Mistake(D, "That is what was read. Repeated tokens are worth less."),
        Mistake(WORTH / U, "That is in passes of fresh text. Return tokens."),
    ),
    hints=(
        "First pass: the smaller of what is read and what there is. Repetitions: how many, if any?",
        "The integral of exp(−r/R) from 0 to r is R (1 − exp(−r/R)). Each repetition has unique_tokens tokens.",
    ),
    solution=lambda v: [
        Step(
            "`from math import exp`. Repetitions: `max(0, pretrain_tokens / unique_tokens - 1)`. Their worth is an"
            " integral of the exponential."
        ),
        Step(
            "",
            "min(pretrain_tokens, unique_tokens) + unique_tokens * reuse * (1 - exp(-max(0, pretrain_tokens /"
            " unique_tokens - 1) / reuse))",
        ),
    ],
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
    where=(Le(U, W), Le(W, 0.95 * U * R)),
)

reading_on = Expression(
    id="reading-on",
    title="How long to read on",
    level="hard",
    ask=(
        "By a fitted law, D_uniq different tokens that are read to D_pre in all, more than once, are worth D_worth ="
        " D_uniq + D_uniq n_reuse (1 − exp(−(D_pre/D_uniq − 1)/n_reuse)). A run is to be worth D_worth, which is more"
        " than the text and less than the law's limit. Write how many tokens it must read, D_pre."
    ),
    formula=needed_tokens,
    answer=None,
    second=lambda v: solve(U + U * R * (1 - power_of_e(-(D / U - 1) / R)) - W, D)[0],
    objective=REPEAT,
    means="Near the limit the logarithm runs away: no compute makes up for text that is not there.",
    mistakes=(
        Mistake(W, "That would do if every token were fresh. Repeated ones are worth less, so more must be read."),
        Mistake(-U * R * logarithm(LEFT), "Those are the tokens of the repetitions. The first pass is read, too."),
        Mistake(
            U * (1 + R * logarithm(LEFT)),
            "A sign is lost: the logarithm of a number below one is negative, and reading takes more than one pass.",
        ),
        Mistake(
            U * (1 - R * logarithm(1 - W / (U * R))),
            "You let the repetitions alone make up D_worth. The first pass brings D_uniq of it.",
        ),
        Mistake(1 - R * logarithm(LEFT), "That is in epochs. Tokens are asked."),
        Mistake(
            U * (1 + (W / U - 1) * power_of_e((W / U - 1) / R)),
            "You let every repeated token be worth as little as the last one. Solve the law for D_pre.",
        ),
        Mistake(
            U * (1 - R * logarithm(1 - W / (U * (1 + R)))),
            "That takes the whole limit for what repetition can add. The first pass is not part of that.",
        ),
    ),
    hints=(
        "Bring the exponential to one side: it is 1 − (D_worth/D_uniq − 1)/n_reuse.",
        "Take the logarithm, and solve for D_pre/D_uniq, which is one plus the repetitions.",
    ),
    solution=lambda v: [
        Step(
            f"${needed_tokens.latex}$, typed as", "D_uniq * (1 - n_reuse * log(1 - (D_worth / D_uniq - 1) / n_reuse))"
        ),
    ],
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
    tried=tuple(
        numbers.fitted(fit) | {"n_active": n, "pretrain_tokens": d, "unique_tokens": u, "reuse": REUSE}
        for n, d, u, fit in RUNS
    ),
    id="repeated-loss",
    title="Write the loss of a long run",
    level="hard",
    ask=(
        "A fit says that a dense model of n_active parameters, trained on D fresh tokens, has the loss `loss_floor +"
        " loss_size / n_active**size_power + loss_data / D**data_power`. Training reads pretrain_tokens of a text that"
        " has unique_tokens. Tokens of the first pass count in full, one that is read when the text has been repeated r"
        " times counts `exp(-r / reuse)` of a fresh one, and what all of them count takes the place of D. Write a"
        " Python function of all nine that returns the loss."
    ),
    formula=repeated_law,
    answer=None,
    objective=REPEAT,
    second=lambda v: plain(
        law.loss_floor
        + law.from_size
        + law.loss_data * (Min(D, U) + U * R - U * R * power_of_e(-Max(0, D - U) / (U * R))) ** -eq.data_power
    ),
    means=(
        "The paper lets too many parameters for the text lose worth as well. And a law that can only fall does not see"
        " a model learn its text by heart: at 44 epochs the losses that were measured lie above it."
    ),
    mistakes=(
        Mistake(plain(over(D)), "You took every token for a fresh one."),
        Mistake(plain(over(U)), "That is one pass. Repetitions are worth something."),
        Mistake(plain(over(U + AGAIN)), SHORT),
        Mistake(plain(over(ALWAYS)), SHORT),
        Mistake(plain(over(BY_PASS)), STEPWISE),
        Mistake(plain(over(WORTH)) - law.loss_floor, "loss_floor is missing: what text itself leaves open."),
        Mistake(plain(law.loss_floor + law.loss_data * WORTH**-eq.data_power), "The part of the size is missing."),
        Mistake(
            plain(over(Min(D, U) + Max(0, D - U) * power_of_e(-Max(0, D / U - 1) / R))),
            "All repeated tokens are worth as little as the last one in yours.",
        ),
    ),
    hints=(
        "Write the worth of the run first, as in the problem on the worth of a run.",
        "Then put it in the place of D.",
    ),
    solution=lambda v: [
        Step(
            "With `worth` for what the tokens are worth, `loss_floor + loss_size / n_active**size_power + loss_data /"
            " worth**data_power`. In one line:"
        ),
        Step(
            "",
            "loss_floor + loss_size / n_active ** size_power + loss_data / (min(pretrain_tokens, unique_tokens) +"
            " unique_tokens * reuse * (1 - exp(-max(0, pretrain_tokens / unique_tokens - 1) / reuse))) ** data_power",
        ),
    ],
)

# --- data thrown away -------------------------------------------------------------------------------------------------

quality = Quantity(
    id="quality",
    title="How much better the rest must be",
    level="hard",
    ask=(
        "{pool} has {pool_tokens}. What a filter keeps of them, {name}, has {unique_tokens}. A model is trained on"
        " {pretrain_tokens}, and reads its text again where that is not enough. "
    )
    + FITTED_LAW
    + "A text that is not read to its end is worth what was read. How many times as much as an average "
    "token of the pool must a kept one teach, so that the filter does no harm?",
    draw={"kept": CORPORA, "pretrain_tokens": (30e12, 25e12, 12e12)},
    derive=corpus_of,
    units=TEXT,
    unit="1",
    objective=FILTER,
    answer=lambda v: eq.quality_even(v),
    second=lambda v: summed(v["pretrain_tokens"], v["pool_tokens"]) / summed(v["pretrain_tokens"], v["unique_tokens"]),
    means=(
        "Far less than the pool is longer than what is kept, because text can be read again. It grows with the length"
        " of training."
    ),
    mistakes=(
        Mistake(
            lambda v: 1 / v["kept_share"],
            "That is how much more text the pool has. But kept text can be read again, and not all of the pool may be"
            " needed.",
        ),
        Mistake(
            lambda v: v["pretrain_tokens"] / v["unique_tokens"],
            "That is how often the kept text is read. A repeated token is not worthless.",
        ),
        Mistake(
            lambda v: 1 / eq.quality_even(v),
            "Upside down: a filter leaves less text, so a kept token must teach more.",
        ),
        Mistake(
            lambda v: 1 / eq.repeat_worth(epochs=v["pretrain_tokens"] / v["unique_tokens"], reuse=REUSE),
            "That goes by the last token of the run. The earlier ones were worth more.",
        ),
        Mistake(lambda v: 1.0, "So it would be if nothing repeated. Here the kept text is read again and again."),
    ),
    hints=(
        "What is the run worth on the whole pool, in fresh tokens? And on what is kept?",
        "The first over the second. Where D is no more than U, it is worth D.",
    ),
    solution=lambda v: [
        Step("On the whole pool the run is worth", eq.data_worth(v, unique_tokens=v["pool_tokens"]), "token"),
        Step("on what is kept", eq.data_worth(v), "token"),
        Step("Their ratio:", eq.quality_even(v), "1"),
    ],
)


@cache
def kept_best(tokens: float, pool: float = 15e12, better: float = 0.3) -> float:
    """The share of a pool that is best to keep for so many tokens of training, if text gets better by a power of the
    share, by trying all.
    """
    shares = [10 ** (-n / 100) for n in range(401)]
    return max(
        shares,
        key=lambda x: eq.filtered_worth(
            pretrain_tokens=tokens, pool_tokens=pool, kept_share=x, reuse=REUSE, quality_power=better
        ),
    )


def stricter() -> str:
    """Which of a short and a long run on one pool keeps more, by trying."""
    short, long = kept_best(0.3e12), kept_best(30e12)
    return "a" if short == long else "d" if short == 1.0 == long else "b" if long > short else "c"


how_strict = Choice(
    id="how-strict",
    title="A filter for whom?",
    level="easy",
    ask=(
        "A pool of 15 trillion tokens can be filtered more or less strictly: the less is kept, the better it is. One"
        " model is to be trained on 0.3 trillion tokens, another on 30 trillion. Which of them should keep more of the"
        " pool?"
    ),
    options={
        "a": "neither: which text is good does not depend on who reads it",
        "b": "the one that is trained longer",
        "c": "the one that is trained for a short time, because it has no compute to spare for many passes",
        "d": "both should keep everything: more text is always better",
    },
    answer="b",
    second=lambda v: stricter(),
    objective=FILTER,
    means=(
        "The short run fills itself with the best of the pool. The long one would read that over and over until it"
        " teaches nothing, and does better with text that is worse and new. If quality is a power of the share, the"
        " best share grows in proportion to the tokens of training."
    ),
    mistakes=(
        Mistake("a", "How good a token is does not depend on it. How often it will be repeated does."),
        Mistake("c", "A short run has text enough: a few percent of this pool are more than it can read once."),
        Mistake("d", "The short run cannot read a tenth of it. Why should it read any but the best?"),
    ),
    hints=("How often would each of them read the best percent of the pool?",),
    solution=lambda v: [
        Step(
            "If kept tokens teach more by the power 0.3 of the share, the short run is best off with",
            f"{kept_best(0.3e12):.1%}",
        ),
        Step("of the pool, the long one with", f"{kept_best(30e12):.1%}"),
        Step("Each is then read so many times:", significant(30e12 / (15e12 * kept_best(30e12)), 2)),
        Step("So the answer is", "b"),
    ],
)

EDU = corpus_of({"kept": "FineWeb-Edu"})
GAINS = {row["text"]: row for row in measurement("filtering_gains").records(benchmark="MMLU", pretraining_tokens=350e9)}
TRAINED = GAINS["FineWeb-Edu"]["pretraining_tokens"]
AT = lambda tokens: eq.quality_even(
    pretrain_tokens=tokens, pool_tokens=EDU["pool_tokens"], kept_share=EDU["kept_share"], reuse=REUSE
)

gains = Choice(
    id="gains",
    title="How far a gain reaches",
    level="medium",
    ask=(
        f"Trained on {TRAINED / 1e9:.0f} billion tokens, a model of {GAINS['FineWeb']['n_total'] / 1e9:.2f} billion"
        f" parameters scores {GAINS['FineWeb-Edu']['score']:.0%} on MMLU with FineWeb-Edu and"
        f" {GAINS['FineWeb']['score']:.0%} with FineWeb (numbers read in copies of the paper). FineWeb-Edu keeps"
        f" {EDU['unique_tokens'] / TRILLION:g} of FineWeb's {EDU['pool_tokens'] / TRILLION:g} trillion tokens. What"
        " follows for a model that is trained on 30 trillion?"
    ),
    options={
        "a": "that it gains as many points: the text is the same",
        "b": "that it loses: a filter always loses in the long run",
        "c": (
            f"little: the short run read {TRAINED / EDU['unique_tokens']:.0%} of what is kept once, the long one would"
            f" read all of it {30e12 / EDU['unique_tokens']:.0f} times"
        ),
        "d": "that it gains more, because it reads good text for longer",
    },
    answer="c",
    second=lambda v: "c" if AT(TRAINED) == 1 and AT(30e12) > 1.5 else "a",
    objective=FILTER,
    means=(
        "In the short run any text that is better pays. In the long one it has to be better by so much as repetition"
        " takes away."
    ),
    mistakes=(
        Mistake(
            "a",
            "The text is the same, but the long run reads it over and over. What it is worth then is another matter.",
        ),
        Mistake(
            "b",
            "Not always: it depends on how much better the kept tokens are. This experiment does not say it for a long"
            " run.",
        ),
        Mistake("d", "Good text that has been read many times teaches little more. How often would it be read?"),
    ),
    hints=("In which of the two runs does a token repeat?",),
    solution=lambda v: [
        Step("How many times as much a kept token must teach: in the short run", AT(TRAINED), "1"),
        Step("in the long one", AT(30e12), "1"),
        Step("So the answer is", "c"),
    ],
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
    tried=tuple(dict(zip(("pretrain_tokens", "pool_tokens", "kept_share", "reuse"), row)) for row in FILTERS),
    id="needed",
    title="Write what a filter must reach",
    level="hard",
    ask=(
        "A filter keeps kept_share (0 to 1) of a pool of pool_tokens. Training reads pretrain_tokens, again and again"
        " over the same text where that is not enough. Tokens of the first pass count in full; one that is read when"
        " the text has been repeated r times is worth `exp(-r / reuse)`. Write a Python function of pretrain_tokens,"
        " pool_tokens, kept_share and reuse: how many times as much as an average token of the pool must a kept one"
        " teach, so that the filter does no harm?"
    ),
    formula=eq.quality_even,
    answer=None,
    objective=FILTER,
    second=lambda v: (
        (Min(D, P) + P * R * (1 - power_of_e(-Max(0, D - P) / (P * R))))
        / (Min(D, X * P) + X * P * R * (1 - power_of_e(-Max(0, D - X * P) / (X * P * R))))
    ),
    means="One as long as nothing repeats. It rises from there, towards one over the share if training never ends.",
    mistakes=(
        Mistake(
            1 / X,
            "That is how much more text the pool has. But kept text can be read again, and a short run does not need"
            " all of it.",
        ),
        Mistake(D / part, "The pool's tokens repeat as well if training is long enough."),
        Mistake(part / whole, "Upside down: a filter leaves less text, so a kept token must teach more."),
        Mistake(
            P * (1 + R) / part,
            "You gave the pool all that endless reading of it is worth. Training stops after pretrain_tokens.",
        ),
        Mistake((P + whole - Min(D, P)) / (X * P + part - Min(D, X * P)), SHORT),
        Mistake(ALWAYS.subs(U, P) / ALWAYS.subs(U, X * P), SHORT),
        Mistake(BY_PASS.subs(U, P) / BY_PASS.subs(U, X * P), STEPWISE),
        Mistake(Max(1, D / (X * P)), "That is how often the kept text is read. A repeated token is not worthless."),
    ),
    hints=(
        "Write a function of the worth of a run first, and call it twice.",
        "worth(pool_tokens) / worth(kept_share * pool_tokens), for the same pretrain_tokens.",
    ),
    solution=lambda v: [
        Step(
            "With a function `worth(unique)` for what the run is worth, `worth(pool_tokens) / worth(kept_share *"
            " pool_tokens)`. In one line:"
        ),
        Step(
            "",
            "(min(pretrain_tokens, pool_tokens) + pool_tokens * reuse * (1 - exp(-max(0, pretrain_tokens / pool_tokens"
            " - 1) / reuse))) / (min(pretrain_tokens, kept_share * pool_tokens) + kept_share * pool_tokens * reuse * (1"
            " - exp(-max(0, pretrain_tokens / (kept_share * pool_tokens) - 1) / reuse)))",
        ),
    ],
)

# --- what is said of it -----------------------------------------------------------------------------------------------

ALL = before_after({"of": COMPARED[0]})
RISE = {"a": 0.06, "b": 0.006, "c": 0.6}

slip = Choice(
    id="slip",
    title="Read the table",
    level="easy",
    ask=(
        f"The LLäMmlein paper prints the small model's mean scores over 29 tasks, as fractions: {ALL['before']} after"
        f" 300,000 steps, {ALL['after']} after the last. It says that the mean improved by 0.06. By how much did it"
        " improve?"
    ),
    options={
        "a": "by six percentage points, as the text says",
        "b": "by 0.6 percentage points",
        "c": "by 60 percentage points",
        "d": "that cannot be told without the single tasks",
    },
    answer="b",
    objective=SAID,
    second=lambda v: next(
        key for key, rise in RISE.items() if round(1000 * ALL["t"]) - round(1000 * ALL["s"]) == round(1000 * rise)
    ),
    means="A slip of a decimal place in the text; the table is right. Whoever subtracts finds it.",
    mistakes=(
        Mistake("a", "Subtract the two means."),
        Mistake("c", "Subtract the two means. They are fractions of one."),
        Mistake("d", "The difference of two means over the same tasks is the mean of the differences."),
    ),
    hints=("Subtract the two means, and mind the decimal places.",),
    solution=lambda v: [Step("The difference:", round(ALL["gain"], 6), "1"), Step("So the answer is", "b")],
)

DESIGNS = {  # what differs between the two runs that are compared
    "a": {"tokens"},
    "b": {"text"},
    "c": {"text", "language", "makers", "tokens"},
    "d": {"size", "text", "tokens"},
}

comparison = Choice(
    id="comparison",
    title="What would have shown it",
    level="medium",
    ask=(
        "An article takes LLäMmlein as proof that quality matters more than quantity. Which comparison would bear on"
        " that?"
    ),
    options={
        "a": "its checkpoints after 1 and after 3 trillion tokens",
        "b": "two models of one size, trained for as long, the one on filtered text, the other on all of the pool",
        "c": "LLäMmlein 1B and an English model of the same size on the same German tasks",
        "d": "LLäMmlein 120M, trained on the better part of the text, and LLäMmlein 1B, trained on all of it",
    },
    answer="b",
    second=lambda v: next(key for key, differs in DESIGNS.items() if differs == {"text"}),
    objective=SAID,
    means=(
        "The paper has no such pair: it filters once, and trains on what is left. It would have to be done for several"
        " lengths of training, because the answer changes with them."
    ),
    mistakes=(
        Mistake("a", "That compares quantities. Both were trained on text of one quality."),
        Mistake("c", "They differ in language, makers, tokens and text. What did it?"),
        Mistake("d", "They differ in size as well, by nearly nine times, and in tokens. What did it?"),
    ),
    hints=("Only what the sentence speaks of should differ.",),
    solution=lambda v: [
        Step("Size, tokens and language must be the same, and only the text's quality differ."),
        Step("So the answer is", "b"),
    ],
)

PROBLEMS = (
    guess,
    epochs,
    mfu,
    padding,
    best_is_one,
    percent,
    percent_letters,
    runs_in_order,
    same_compute,
    three_points,
    not_significant,
    next_doubling,
    limit,
    questions,
    four_epochs,
    explains,
    measured,
    half,
    endless,
    texts_in_order,
    worth,
    reading_on,
    repeated_loss,
    how_strict,
    gains,
    quality,
    needed,
    slip,
    comparison,
)
