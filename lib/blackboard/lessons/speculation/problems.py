"""Practice problems of the speculation lesson: what comes out of a round, how long it takes, what it gains, and when
it costs.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

from sympy import Sum, Symbol, solve

from blackboard.catalogue import measurement, model, system
from blackboard.formula import Formula, Max, Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.batching import equations as roofline
from blackboard.lessons.pricing.equations import memory_ratio, memory_ratio_of
from blackboard.lessons.speculation import distributions, numbers
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation.equations import acceptance, draft_ratio, drafted
from blackboard.lessons.speculation.numbers import EXAMPLE as FOUR
from blackboard.notation import symbols
from blackboard.problem import Choice, Estimate, Guess, Ordering, Quantity, Step, Values, Whole, right, v, wrong
from blackboard.search import find_root
from blackboard.units import pretty, significant

EXACT = "Explain why guessing and checking leaves the distribution of the text exactly as it was."
TOKENS = "Predict how many tokens a round of guesses yields."
TIME = "Find the batch up to which checking is free, for any model on any machine."
DRAFTS = "Choose how many tokens to draft, and when to switch speculation off."
LOAD = DRAFTS
REPORT = "Take a published speed-up apart: whose tokens, whose time, at what batch."

ALIKE = "Each guess that is reached is accepted with the chance {acceptance}; the first refusal ends the round."
SERVER = "{sizes}, at {bytes_per_param} each. One token of context has {kv_bytes_per_token} of KV cache. {machine_name} computes {flops} (a multiply and an add are two FLOPs) and loads {bandwidth} from memory. "
NO_SCORES = " Attention's own FLOPs are left out."
PLAIN = {"kv_bytes_per_token": "byte", "bytes_per_param": "byte", "context": "token"}


def served(values: Values) -> Values:
    """What a drawn model on a drawn system stands for, in the notation's names; a case is a model, a system and a
    number format.
    """
    id, machine_id, precision = values["case"]
    net, machine = model(id), system(machine_id)
    stored, active = (pretty(count, "parameter", 4, exact=True) for count in (net.n_total, net.n_active))
    experts_too = f"{net.name} stores {stored}, of which a token uses {active.split(' par')[0]}"
    sizes = f"{net.name} is dense and has {stored}" if net.n_active == net.n_total else experts_too
    return (
        net.symbols(precision)
        | machine.symbols(precision)
        | {
            "net_name": net.name,
            "machine_name": machine.name,
            "sizes": sizes,
        }
    )


V3 = ("deepseek-v3", "gb200-nvl72", "fp8")
SPARSE = (V3, ("kimi-k2", "gb200-nvl72", "fp8"), ("qwen3-235b-a22b", "h200-8", "fp8"))
CASES = (("llama-3.1-70b", "h100-8", "bf16"), ("llama-3.1-405b", "h200-8", "fp8"), *SPARSE)


def attending(context: float = numbers.RUNNING.context) -> Values:
    """The running case with so many tokens of context, attention's FLOPs counted as active parameters."""
    counted = numbers.attended(numbers.RUNNING._replace(context=context))
    return served({"case": V3}) | {name: counted[name] for name in ("context", "n_active")}


def in_ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


def on_the_rack(values: Values) -> Values:
    """Times in which a step of the running case loads its weights, and loads caches and computes for 1,000
    sequences.
    """
    compute, loading = passing(values, 1_000, 1)
    _, weights = passing(values, 0, 1)
    return {"weights_time": in_ms(weights), "cache_time": in_ms(loading - weights), "compute_time": in_ms(compute)}


def passing(values: Values, batch: float, tokens: float) -> tuple[float, float]:
    """Seconds to multiply and to read in a pass of so many tokens of each sequence."""
    multiplied = batch * tokens * 2 * values["n_active"]
    read = values["n_total"] * values["bytes_per_param"] + batch * values["context"] * values["kv_bytes_per_token"]
    return multiplied / values["flops"], read / values["bandwidth"]


def free_up_to(values: Values, tokens: float) -> float:
    """The batch at which a pass multiplies for as long as it reads, by search."""
    return find_root(lambda batch: passing(values, batch, tokens)[0] - passing(values, batch, tokens)[1], 1e-3, 1e9)


def places(chance: float, guesses: int) -> float:
    """Tokens of a round, counted: so many with the chance that just so many come."""
    ends = [(n + 1) * chance**n * (1 - chance) for n in range(guesses)]
    return sum(ends) + (guesses + 1) * chance**guesses


# --- a guess ----------------------------------------------------------------------------------------------------------

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=TIME,
    unit="sequence",
    within=2.0,
    statement="Without guesses, a pass on this rack waits for loading up to {plain_up_to} users, each with {context} of context. Beyond, it waits for compute. To check {drafted} guesses, a pass computes {brought} tokens for each user: the last known one and the guesses. It loads no more than before, so checking is free as long as the pass still waits for loading. Up to how many users is checking free? Guess first: within a factor of two counts.",
    parameters={"drafted": (4, 3, 5, 6, 7, 8, 9, 10), "context": (1000, 500, 700, 1200, 1500, 2000)},
    derived=lambda values: (found := attending(values["context"])) | on_the_rack(found) | {"brought": values["drafted"] + 1, "plain_up_to": significant(roofline.crossing(found), 2)},
    units=PLAIN | {"weights_time": "", "cache_time": "", "compute_time": "", "plain_up_to": ""},
    answer=eq.batch_free,
    independent_check=lambda v: free_up_to(v, v["drafted"] + 1),
    misconceptions={
        roofline.critical_batch: "That is about where a plain step stops waiting for weights. Here each sequence brings {brought} tokens that need compute.",
        roofline.hardware_constant / (v.drafted + 1): "For a dense model that would be right. Here all parameters are loaded, but a token needs compute for only a few of them.",
    },
    explanation="This is fewer than {plain_up_to} divided by {brought}, because fewer users also have fewer caches to load. Up to here, the guesses use compute that would be idle. A server with more users has less of it to give away.",
    hints=(
        "For how many tokens of each sequence does the checking pass need compute? Count the one before the guesses.",
        "Loading the weights takes {weights_time}, and loading the caches of 1,000 users {cache_time}. Computing takes {compute_time} for every 1,000 tokens in the pass.",
    ),
    solution=(
        Step("Without the KV cache, a plain step waits for weights up to the time of loading them, divided by the time of one token's compute:", roofline.critical_batch, "sequence"),
        Step("Tokens of each sequence in the pass:", v.drafted + 1, "1"),
        f"Loading the caches takes time too, and hides some of the compute: ${eq.batch_free_counted.latex}$ =",
    ),
)

# --- what comes out ---------------------------------------------------------------------------------------------------


def fair() -> str:
    """The only way to replace a refused guess that gives the target's distribution, all branches of a round followed
    in exact fractions.
    """
    p, q = ({x: Fraction(n, 10) for x, n in zip("ABC", row)} for row in ((2, 5, 3), (6, 3, 1)))
    both = {x: min(p[x], q[x]) / distributions.overlap(p, q) for x in p}
    ways: dict[str, Any] = {"a": p, "b": {"B": 1}, "c": distributions.residual(p, q), "d": both}
    keep = distributions.RIGHT.keep
    made = {key: distributions.outcome(lambda _: q, lambda _: p, "", 1, 1, distributions.Rule(keep, lambda *_: way)) for key, way in ways.items()}
    return next(key for key, found in made.items() if found == p)


refused = Choice(
    "In place of a refused guess",
    level="easy",
    objective=EXACT,
    statement="In some context the target gives the next token the distribution $p$ and the draft $q$. A guess $x$ from $q$ is kept with the chance min(1, $p(x)/q(x)$). It was refused. From which distribution must its replacement be drawn, so that the text is distributed like the target's own?",
    independent_check=lambda v: fair(),
    options=[
        wrong("from $p$, as the target would have drawn it alone", "Tokens that the draft guesses too often have had their full share among the accepted guesses. Drawn from $p$ once more, they come too often."),
        wrong("from no distribution: the likeliest token of $p$ is taken", "Then this token would come more often than $p$ says, and all others less."),
        right("from max(0, $p$ − $q$), scaled to a sum of one", "The accepted guesses already contribute min($p$, $q$). What $p$ still lacks is max(0, $p$ − $q$), and a refusal happens exactly as often as that sums to."),
        wrong("from $q$ again, until a guess is accepted", "Then only what both models like would ever be written, and a token that the draft never guesses would never come."),
    ],
    hints=(
        "With which chance does $x$ come as a guess that is accepted? Compare with $p(x)$.",
        "Where $q(x)$ is above $p(x)$, that chance is $p(x)$ already. Nothing may be added there.",
    ),
    solution=("$x$ is proposed and kept with the chance $q(x)$ · min(1, $p(x)/q(x)$) = min($p(x)$, $q(x)$). What $p(x)$ still lacks is max(0, $p(x)$ − $q(x)$).",),
)


def paired(values: Values) -> Values:
    """Two drawn distributions in words, their distance, and the chances of the first token."""
    p, q = values["pair"]
    told = lambda chances: ", ".join(f"{name} {chance:g}" for name, chance in zip("ABC", chances))
    apart = sum(abs(a - b) for a, b in zip(p, q)) / 2
    return {
        "p_text": told(p),
        "q_text": told(q),
        "distance": apart,
        "target_chance": p[0],
        "draft_chance": q[0],
        "acceptance": 1 - apart,
    }


PAIRS: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = (
    ((0.2, 0.5, 0.3), (0.6, 0.3, 0.1)),
    ((0.2, 0.6, 0.2), (0.5, 0.4, 0.1)),
    ((0.4, 0.4, 0.2), (0.6, 0.3, 0.1)),
    ((0.3, 0.4, 0.3), (0.7, 0.1, 0.2)),
    ((0.5, 0.2, 0.3), (0.8, 0.1, 0.1)),
)
TWENTIETHS = tuple((a / 20, b / 20, (20 - a - b) / 20) for a in range(1, 19) for b in range(1, 20 - a))


def is_telling(p: tuple[float, ...], q: tuple[float, ...]) -> bool:
    """Whether the draft guesses the first token too often, and most of its guesses are accepted."""
    return q[0] - p[0] > 0.15 and sum(map(min, p, q)) > 0.55


PAIRS += tuple((p, q) for p, q in product(TWENTIETHS, TWENTIETHS) if is_telling(p, q))[::83]
WORDS = {"p_text": "", "q_text": ""}
TWO = "Three tokens can come next. The target gives them the chances {p_text}; the draft gives {q_text}. "

passes = Quantity(
    "How often a guess is accepted",
    level="easy",
    objective=TOKENS,
    unit="1",
    statement=TWO + "The draft guesses one token, and it is kept with the chance min(1, $p/q$). How often is the guess kept, from 0 to 1?",
    parameters={"pair": PAIRS},
    derived=paired,
    units=WORDS,
    answer=eq.acceptance_of,
    independent_check=lambda v: sum((q * min(1, p / q) for p, q in zip(*v["pair"]))),
    misconceptions={
        v.distance: "That is how often it is refused.",
        lambda v: sum((p * q for p, q in zip(*v["pair"]))): "That is how often two independent draws agree. The rule keeps a guess far more often: always, where the target likes it better than the draft does.",
        1 - 2 * v.distance: "Half of the differences between the chances is enough: what one model has too much of, it lacks elsewhere.",
        lambda v: sum((min(1, p / q) for p, q in zip(*v["pair"]))) / 3: "That averages over tokens as if all were guessed equally often. The draft guesses each with its own chance.",
    },
    explanation="The overlap of the two distributions. The draft decides how often a guess is accepted, and nothing of what the text says.",
    hints=(
        "With which chance is A guessed and kept? That is the smaller of its two chances.",
        "Do the same for each token and add up.",
    ),
    solution=(
        Step("The chance that a guess is refused, which is how far the draft's chances exceed the target's, added up over the tokens:", v.distance, "1"),
        "One less that chance is",
    ),
)


def misled(values: Values) -> float:
    """The first token's chance if a refused guess is replaced from the target, every branch followed."""
    p, q = (dict(zip("ABC", chances)) for chances in values["pair"])
    rule = distributions.WRONG["replaced from the target"]
    return distributions.outcome(lambda _: q, lambda _: p, "", 1, 1, rule)["A"]


bias = Quantity(
    "A plausible bug",
    level="hard",
    objective=EXACT,
    unit="1",
    statement=TWO + "A guess is kept with the chance min(1, $p/q$), as it should be. But this program replaces a refused guess by a token drawn from all of the target's distribution. With which chance, from 0 to 1, is A the first token of a round?",
    parameters={"pair": PAIRS[1:]},
    derived=paired,
    units=WORDS,
    answer=Min(v.target_chance, v.draft_chance) + (1 - eq.acceptance_of) * v.target_chance,
    independent_check=misled,
    misconceptions={
        v.target_chance: "That is how often the target itself writes A. The correct rule would too, but this program has a bug.",
        v.draft_chance: "That is how often A is guessed. Not every guess of it is kept.",
        (1 - v.acceptance) * v.target_chance: "That is A in place of a refused guess. It also comes as a guess that is kept.",
        2 * v.target_chance: "A refusal does not happen every time. How often does it?",
    },
    explanation="Too often: what the draft likes too much stays too likely. The text still reads well, so only a test of the distribution finds the bug.",
    hints=(
        "A comes in two ways: guessed and kept, or in place of a refused guess.",
        "Guessed and kept: the smaller of its two chances. Some guess is refused: one minus the overlap of the two distributions.",
    ),
    solution=(
        Step("A is guessed and kept with the chance", Min(v.target_chance, v.draft_chance), "1"),
        Step("Some guess is refused with the chance", 1 - v.acceptance, "1"),
        "and then A comes with its chance in $p$. Together:",
    ),
)

p_x, q_x = symbols("target_chance draft_chance")
REST = Formula(
    "speculation.rest",
    "target_chance",
    Max(0, p_x - q_x) / (1 - acceptance),
    "1",
    "the chance that a token takes the place of a refused one",
    register=False,
)
CHANCES = tuple({"target_chance": p, "draft_chance": q, "acceptance": sum(map(min, *pair))} for pair in PAIRS[:3] for p, q in zip(*pair))

made_up = Function(
    "Write what replaces a guess",
    level="medium",
    objective=EXACT,
    statement="A guess has been refused. Write a Python function of target_chance and draft_chance, the chances that the two models give to one particular token here, and of acceptance, the chance that a guess is accepted here (below 1). Return the chance that this token replaces the refused one, so that the text is distributed like the target's own. It is called by name, with numbers.",
    formula=REST,
    test_points=CHANCES,
    independent_check=(p_x - Min(p_x, q_x)) / (1 - acceptance),
    misconceptions={
        p_x: "That is the target's own distribution. What the draft guesses too often would then come too often.",
        (p_x - q_x) / (1 - acceptance): "A chance cannot be negative. Where the draft gives more than the target, nothing is missing.",
        Max(0, p_x - q_x): "That is the chance that a guess is refused and this token replaces it. A refusal is already given, so scale it up.",
        Max(0, q_x - p_x) / (1 - acceptance): "The other way round: the replacement makes up for what the draft guesses too rarely.",
        Max(0, p_x - q_x) / acceptance: "Scale by how often a guess is refused, not by how often one is accepted.",
        Min(p_x, q_x) / acceptance: "That is the distribution of the accepted guesses.",
    },
    explanation="This line and min(1, p/q) are the whole algorithm. Added up over all tokens these chances are one.",
    hints=(
        "How much of the target's chance do the accepted guesses leave uncovered?",
        "max(0, …), divided by the sum of the same over all tokens. That sum is how often a guess is refused.",
    ),
    solution=(
        "What $p(x)$ still lacks, divided by how often a guess is refused:",
        Step("", "max(0, target_chance - draft_chance) / (1 - acceptance)"),
    ),
)

# --- tokens of a round ------------------------------------------------------------------------------------------------

A_ROUND = "token/sequence"

tokens = Quantity(
    "Tokens of a round",
    level="easy",
    objective=TOKENS,
    unit=A_ROUND,
    display_unit="token",
    statement="A draft guesses {drafted} tokens a round. " + ALIKE + " The target adds one token of its own, after the accepted guesses. How many tokens does a round yield on average?",
    parameters={"acceptance": (0.7, 0.6, 0.85, 0.5, 0.4, 0.55, 0.65, 0.75, 0.78, 0.8, 0.82, 0.9), "drafted": (4, 3, 6, 2, 5, 7)},
    answer=eq.tokens_per_round,
    independent_check=lambda v: places(v["acceptance"], v["drafted"]),
    misconceptions={
        eq.tokens_per_round - 1: "Those are the accepted guesses. The target's own token counts too.",
        1 + v.acceptance * v.drafted: "A guess counts only if all before it were accepted. You counted each on its own.",
        1 / (1 - v.acceptance): "That is the limit with infinitely many guesses.",
        eq.tokens_per_round.at(drafted=v.drafted - 1): "One term is missing: the last guess, too, is accepted now and then.",
    },
    explanation="Never less than one. With more and more guesses it approaches 1 ÷ (chance of a refusal).",
    hints=(
        "The first token is certain. The second comes if the first guess is accepted, the third if the first two are.",
        "Add up the powers of the chance, from the zeroth on.",
    ),
    solution=(Step(f"${eq.tokens_per_round.latex}$ =", eq.tokens_per_round, "token"),),
)

SOME = tuple({"acceptance": a, "drafted": n} for a, n in ((0.8, 4), (0.6, 1), (0.75, 7), (0.9, 3), (0.35, 2)))
k = Symbol("k", integer=True)

letters = Expression(
    "The round in letters",
    level="medium",
    objective=TOKENS,
    statement="A draft guesses gamma tokens a round. Each that is reached is accepted with the chance alpha_acc; the first refusal ends the round. The target adds one token of its own. Write the mean number of tokens of a round, without a sum sign.",
    formula=eq.tokens_per_round,
    test_points=SOME,
    independent_check=Sum(k * acceptance ** (k - 1) * (1 - acceptance), (k, 1, drafted)) + (drafted + 1) * acceptance**drafted,
    misconceptions={
        (1 - acceptance**drafted) / (1 - acceptance): "That sum ends one power too early: the last guess may be accepted as well.",
        acceptance * (1 - acceptance**drafted) / (1 - acceptance): "Those are the accepted guesses. The target's own token is missing.",
        1 + acceptance * drafted: "A guess counts only if all before it were accepted. You counted each on its own.",
        1 / (1 - acceptance): "That is the limit with infinitely many guesses.",
        acceptance * (drafted + 1): "The target's own token is certain, and a guess counts only if all before it were accepted.",
        drafted + 1: "That is only if all guesses are accepted.",
        (1 - acceptance ** (drafted + 2)) / (1 - acceptance): "That sum has one power too many: it is for one more guess.",
        1 + drafted * acceptance**drafted: "You accept either all guesses or none. Those before the first refusal count too.",
    },
    explanation="At chance 0 it is one, at chance 1 all guesses and one more. Each further guess adds one more power of the chance.",
    hints=(
        "At least $n$ + 1 tokens come if the first $n$ guesses are accepted. With which chance is that?",
        "Add these chances for $n$ from 0 to gamma: a geometric sum.",
    ),
    solution=(
        "The sum of alpha_acc^n for $n$ from 0 to gamma is geometric:",
        Step(f"${eq.tokens_per_round.latex}$, typed as", "(1 - alpha_acc^(gamma + 1)) / (1 - alpha_acc)"),
    ),
)

DEPTHS = {row["drafted_tokens"]: row["tokens_per_pass"] for row in measurement("mtp_by_depth").records()}


def reported(values: Values) -> Values:
    """DeepSeek-R1's tokens with one guess, the chance that explains them, and its tokens with the drawn number of
    guesses; or made-up tokens with one guess.
    """
    one, guesses = values["case"]
    if one:
        return {"drafted": guesses, "one": one, "acceptance": one - 1, "who": "A made-up service", "more": one, "measured": "A real draft would give fewer."}
    more = DEPTHS[guesses]
    told = {"who": "DeepSeek-R1 on eight B200 at batch 1", "more": more, "measured": f"{more:g} were measured."}
    return told | {"drafted": guesses, "one": DEPTHS[1], "acceptance": DEPTHS[1] - 1}


depth = Quantity(
    "From one guess to many",
    level="medium",
    objective=TOKENS,
    unit=A_ROUND,
    display_unit="token",
    statement="{who}: with one guess a pass, {one} tokens were measured for each pass, the target's own counted. Suppose that every further guess, once it is reached, is accepted as often as this one. How many tokens would {drafted} guesses give for each pass?",
    parameters={"case": (*((0, guesses) for guesses in (5, 4, 3)), *product((1.6, 1.65, 1.7, 1.75, 1.8, 1.85, 1.9, 1.95), (3, 4, 5, 6, 7)))},
    derived=reported,
    units={"one": "1", "measured": ""},
    answer=eq.tokens_per_round,
    independent_check=lambda v: places(v["one"] - 1, v["drafted"]),
    misconceptions={
        1 + v.drafted * v.acceptance: "A guess counts only if all before it were accepted.",
        eq.tokens_per_round - 1: "The target's own token is in the measured number, so it belongs in yours.",
        v.more: "That is what was measured. The question is what equal chances would give.",
    },
    explanation="{measured} Chances fall along a round: one layer makes all the guesses, and from the second on it works from its own output.",
    hints=(
        "With one guess a pass gives 1 + the chance that it is accepted.",
        "Then add up the powers of this chance.",
    ),
    solution=(
        Step("The guess is accepted with the chance", v.acceptance, "1"),
        Step(f"${eq.tokens_per_round.latex}$ =", eq.tokens_per_round, "token"),
    ),
)

# --- time of a round --------------------------------------------------------------------------------------------------

ASIDE = {
    "n_active": 70e9,
    "n_total": 70e9,
    "bytes_per_param": 2.0,
    "flops": 8e15,
    "bandwidth": 27e12,
    "context": 0,
    "kv_bytes_per_token": 0,
}  # 70B on 8 H100, rounded


def what_grows() -> str:
    """Which of the explanations holds for the times of a pass of one token and of five."""
    (work, reading), (more_work, same_reading) = passing(ASIDE, 1, 1), passing(ASIDE, 1, 5)
    hidden = more_work < same_reading
    return {(5.0, 1.0): "d", (1.0, 1.0): "b"}[more_work / work, same_reading / reading] if hidden else "a"


same_work = Choice(
    "Five tokens in the time of one",
    level="easy",
    objective=TIME,
    statement="A dense model decodes for one user. Checking four guesses takes one pass of five tokens, and that takes hardly longer than a plain step with one token. Why?",
    independent_check=lambda v: what_grows(),
    options=[
        wrong("Checking is simpler than generating: the tokens are known, so there is less to compute.", "Every guess goes through every layer, like a token of a prompt. Nothing is left out."),
        wrong("The five tokens are processed in parallel, so the compute is done only once.", "In parallel or one after the other, each token must be multiplied by every weight. Something else is done only once."),
        wrong("Only the accepted tokens need compute.", "Which ones are accepted is known only at the end of the pass, when all the compute is done."),
        right("There is five times the compute, but the pass waits for the weights, and they are loaded once.", "Work that nobody waits for is free. On a busy server the same five tokens take five times as long."),
    ],
    hints=(
        "What does a decode step at batch 1 spend its time on?",
        "Which of the two grows with the tokens of the pass: compute, or loading the weights?",
    ),
    solution=(f"${eq.verify_time.latex}$: only compute grows with the guesses, and at batch 1 loading the weights takes far longer.",),
)

free_batch = Quantity(
    "Up to where checking is free",
    level="medium",
    objective=TIME,
    unit="sequence",
    statement=SERVER
    + "Every sequence has {context} of context. A draft guesses {drafted} tokens for each; the target checks them, with the token before them, in one pass. Up to which batch does the pass take no longer than a plain decode step? Compute and memory traffic overlap, and all weights are loaded in each pass."
    + NO_SCORES,
    parameters={"case": CASES, "drafted": (3, 5, 2, 4), "context": (500, 400, 300, 450)},
    derived=served,
    units=PLAIN,
    answer=eq.batch_free,
    independent_check=lambda v: free_up_to(v, v["drafted"] + 1),
    misconceptions={
        roofline.critical_batch / (v.drafted + 1): "The cache is missing. It is loaded for each sequence, and that hides some of the compute.",
        eq.batch_free.at(drafted=v.drafted - 1): "One token too few: $\\gamma$ guesses mean $\\gamma + 1$ tokens in the pass.",
        roofline.critical_batch: "Up to there a plain step waits for weights. The checking pass has more tokens of each sequence to compute.",
        roofline.crossing: "Up to there a plain step waits for memory. The checking pass has more tokens of each sequence to compute.",
        eq.batch_free.at(flops=2 * v.flops): "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
    },
    explanation="In larger batches the guesses have to be paid for in time. A server tuned to its critical batch is there already.",
    hints=(
        "Set the compute time of all tokens in the pass equal to the time to load weights and caches.",
        "2 × active × batch × (guesses + 1) / $F$ = (weights + batch × context × bytes) / $W$. Solve for the batch.",
    ),
    solution=(
        Step("Compute for all tokens of one sequence takes", lambda v: passing(v, 1, v["drafted"] + 1)[0], "s"),
        Step("of which loading its cache hides", v.context * v.kv_bytes_per_token / v.bandwidth, "s"),
        f"Loading the weights takes {{n_total}} × {{bytes_per_param}} / {{bandwidth}}, which hides the rest for ${eq.batch_free.latex}$ =",
    ),
)

GROUPED = (  # models whose query heads share keys and values
    CASES[0],
    CASES[1],
    CASES[4],
    ("llama-3.1-70b", "gb200-nvl72", "fp8"),
    ("llama-3.1-405b", "gb200-nvl72", "fp8"),
    ("llama-3.1-70b", "h200-8", "fp8"),
)


def attended(values: Values) -> Values:
    """A drawn model on a drawn system, with the FLOPs of attending to one token."""
    return served(values) | {"attention_flop": numbers.attention(values["case"][0])}


long = Quantity(
    "Long contexts",
    level="medium",
    objective=TIME,
    unit="token/sequence",
    display_unit="token",
    statement=SERVER + "Attending to one earlier token takes {attention_flop}. From which context on is checking {drafted} guesses free in every batch, however large? A pass loads the cache of a sequence once for all its tokens. The token before the guesses is in the pass too.",
    parameters={"case": GROUPED, "drafted": (3, 5, 2, 4, 6, 7, 8)},
    derived=attended,
    units=PLAIN | {"attention_flop": "FLOP"},
    answer=eq.context_free,
    independent_check=lambda v: find_root(
        lambda L: L * v["kv_bytes_per_token"] / v["bandwidth"] - (v["drafted"] + 1) * (2 * v["n_active"] + v["attention_flop"] * L) / v["flops"],
        1.0,
        1e9,
    ),
    misconceptions={
        roofline.balanced_context: "From there on a plain step always waits for memory, if attention's own compute is left out. The checking pass computes more tokens for the same cache.",
        (v.drafted + 1) * roofline.balanced_context: "Attention is missing. Each token of the pass attends to the whole context, which leaves less of the loading to hide behind.",
        eq.context_free.at(drafted=v.drafted - 1): "$\\gamma$ guesses mean $\\gamma + 1$ tokens in the pass.",
        roofline.balanced_context / (v.drafted + 1): "More compute needs more memory traffic to hide behind: a longer context, not a shorter one.",
        eq.context_free / 2: "The FLOP/s count a multiply and an add as two, so each active parameter costs two.",
    },
    explanation="With grouped-query attention speculation helps large batches too, at long contexts. In DeepSeek-V3, attending takes so long that there may be no such context.",
    hints=(
        "Compare what one more sequence adds: compute time for its tokens, and memory time for its cache.",
        "Both grow with the context: loading by one cache, compute by attention of every token in the pass. If the cache takes longer, no batch makes compute the bottleneck.",
    ),
    solution=(
        Step("Loading a token of context takes", v.kv_bytes_per_token / v.bandwidth, "s"),
        Step("attending to it from every token of the pass takes", (v.drafted + 1) * v.attention_flop / v.flops, "s"),
        Step("and the weights' compute for these tokens takes", (v.drafted + 1) * 2 * v.n_active / v.flops, "s"),
        Step("The difference of the first two must make up for the third:", eq.context_free, "token"),
    ),
)

room = Estimate(
    "Idle compute",
    level="easy",
    objective=TIME,
    unit="1",
    within=2.0,
    statement=SERVER + "It decodes {batch} with {context} of context each. All weights are loaded in every pass; compute and memory traffic overlap. How many tokens of each sequence could one pass process without taking longer than a plain step?" + NO_SCORES + " Guess: within a factor of two counts.",
    parameters={"case": SPARSE, "batch": (64, 32, 128, 48, 96), "context": (4000, 1000, 2000, 3000)},
    derived=served,
    units=PLAIN,
    answer=memory_ratio_of,
    independent_check=lambda v: passing(v, v["batch"], 1)[1] / passing(v, v["batch"], 1)[0],
    misconceptions={
        memory_ratio_of.at(n_total=v.n_active): "All parameters are loaded, but only the active ones need compute. That leaves more idle time.",
        memory_ratio_of * v.batch: "That is for the whole pass. Share it among the sequences.",
        1.0: "That would be a step that waits for compute. Compare its memory time and its compute time.",
    },
    explanation="Far more than any draft can guess well. In small batches the draft limits speculation, not compute.",
    hints=(
        "How many times its compute time is this step's memory time?",
        "Compute for one token takes 2 × active parameters ÷ FLOP/s.",
    ),
    solution=(
        Step("The memory time of a plain step is", lambda v: passing(v, v["batch"], 1)[1], "s"),
        Step("its compute time", lambda v: passing(v, v["batch"], 1)[0], "s"),
        "so it has room for this many tokens of each sequence:",
    ),
)

PAIRED = (
    ("llama-3.1-70b", "llama-3.1-8b", "h100-8", "bf16"),
    ("llama-3.1-405b", "llama-3.1-8b", "h200-8", "fp8"),
    ("qwen3-32b", "qwen3-1.7b", "h100-8", "bf16"),
)


def drafting(values: Values) -> Values:
    """A drawn target and a drawn draft on one system."""
    target, small, machine, precision = values["pair"]
    draft = model(small)
    known = served({"case": (target, machine, precision)}) | {
        "context": values["context"],
        "draft_name": draft.name,
        "draft_size": draft.n_total,
    }
    return known | {"draft_context": values["context"], "draft_kv": draft.symbols(precision)["kv_bytes_per_token"]}


def one_by_one(values: Values) -> float:
    """Seconds of a round: pass after pass, and the last one for all tokens."""
    small = {
        "n_active": values["draft_size"],
        "n_total": values["draft_size"],
        "kv_bytes_per_token": values["draft_kv"],
    }
    drafts = sum(max(passing(values | small, values["batch"], 1)) for _ in range(values["drafted"]))
    return drafts + max(passing(values, values["batch"], values["drafted"] + 1))


round_time = Quantity(
    "The time of a round",
    level="medium",
    objective=TIME,
    unit="s",
    display_unit="ms",
    statement=SERVER
    + "The draft is {draft_name}, with {draft_size} at the same number of bytes and {draft_kv} of KV cache for each token. It runs on the same chips, and loads its own cache of the whole context. The batch is {batch}, each with {context} of context. {drafted} guesses are made one after the other, then checked in one pass with the token before them. How many milliseconds does a round take? Compute and memory traffic overlap."
    + NO_SCORES,
    parameters={"pair": PAIRED, "batch": (16, 8, 32, 4, 12, 24), "drafted": (4, 3, 5), "context": (4000, 2000, 3000, 6000, 8000)},
    derived=drafting,
    units=PLAIN | {"draft_name": "", "draft_kv": "byte"},
    answer=eq.round_time.at(t_draft=eq.draft_time),
    independent_check=one_by_one,
    misconceptions={
        eq.round_time.at(t_draft=eq.draft_time, drafted=1): "The draft needs its own last guess for the next one: it runs once for every guess.",
        eq.round_time.at(t_draft=eq.draft_time) + eq.draft_time: "One step of the draft too many: nothing is guessed after the last guess.",
        eq.verify_time: "That is the checking alone. Drafting takes time too.",
        v.drafted * eq.draft_time + (v.drafted + 1) * roofline.memory_time: "All tokens are checked in one pass: weights and cache are loaded once.",
        eq.round_time.at(t_draft=eq.draft_time.at(draft_kv=0)): "The draft's cache is missing. It loads its own, in each of its steps.",
        eq.round_time.at(t_draft=eq.draft_time, kv_bytes_per_token=0): "The target's cache is missing.",
        eq.round_time.at(t_draft=eq.draft_time) / 1000: "That is in seconds. The answer is asked in milliseconds.",
    },
    explanation="Drafting is a good part of it: the small model, too, waits for memory, once for every guess. Many drafts are therefore no more than a layer or two.",
    hints=(
        "One step of the draft: its weights and its caches, divided by the bandwidth.",
        "The round: one draft step per guess, and one pass of the target. That pass takes its memory time or its compute time, whichever is longer.",
    ),
    solution=(
        Step("A step of the draft takes", eq.draft_time, "s"),
        Step("the pass that checks", eq.verify_time, "s"),
        "and the round",
    ),
)

GAMMA, R = drafted, memory_ratio

checking = Expression(
    "Checking in letters",
    level="medium",
    objective=TIME,
    statement="In a plain decode step memory traffic takes $r$ times as long as compute. $r$ may be above or below one, and the two overlap. How many plain steps does the pass take that checks gamma guesses, with the token before them? Write it in $r$ and gamma.",
    formula=eq.verify_ratio,
    independent_check=Max(1, Min(GAMMA + 1, (GAMMA + 1) / R)),
    misconceptions={
        GAMMA + 1: "That holds where a plain step waits for compute already. Where it waits for memory, checking takes less.",
        Max(GAMMA + 1, R): "That is in units of a step's compute time. Divide by the time of the step.",
        (GAMMA + 1) / R: "The pass cannot be shorter than its memory time. And below $r$ = 1 a plain step takes its compute time, not its memory time.",
        Max(1, (GAMMA + 1) / R): "Right while a plain step waits for memory. If $r$ is below one, the plain step waits for compute too.",
        Max(GAMMA, R) / Max(1, R): "$\\gamma$ guesses mean $\\gamma + 1$ tokens in the pass.",
    },
    explanation="It is one as long as r is at least gamma + 1, and gamma + 1 where a plain step waits for compute already.",
    hints=(
        "Let the compute of a plain step take 1. Then its memory traffic takes $r$, and the step the greater of the two.",
        "In the checking pass compute takes gamma + 1, and memory traffic still $r$.",
    ),
    solution=(
        "Time of the pass divided by time of the step, each the greater of its two times:",
        Step(f"${eq.verify_ratio.latex}$, typed as", "max(gamma + 1, r) / max(1, r)"),
    ),
)


def routed(values: Values) -> Values:
    """A drawn model with experts, alone in its batch."""
    net = model(values["net"])
    return net.symbols("fp8") | {"net_name": net.name, "batch": 1, "bytes_per_param": 1.0}


def by_hand(values: Values) -> float:
    """Bytes of several tokens over those of one: an expert is left alone by a token's choice with the share of choices
    that avoid it.
    """
    n, chosen = int(values["experts"]), int(values["top_k"])
    alone = comb(n - 1, chosen) / comb(n, chosen)
    experts = (values["n_total"] - values["n_active"]) / alone  # all routed parameters
    read = lambda tokens: values["n_total"] - experts * prod(alone for _ in range(tokens))
    return read(values["drafted"] + 1) / read(1)


experts = Quantity(
    "Guesses bring their experts",
    level="hard",
    objective=TIME,
    unit="1",
    statement="{net_name} stores {n_total}. For a token it uses {n_active}: what serves every token, and in each layer {top_k} of {experts} experts. One user is served, and {drafted} guesses are checked in one pass with the token before them. Only experts that some token chose are loaded, each once. Tokens choose independently, and all experts are equally likely. How many times the weight bytes of a plain step does the pass load?",
    parameters={"net": ("mixtral-8x7b", "deepseek-v3", "qwen3-235b-a22b", "glm-4.5", "kimi-k2", "mistral-large-3", "qwen3-30b-a3b", "mixtral-8x22b"), "drafted": (3, 2, 5, 4, 6, 7)},
    derived=routed,
    units={"net_name": ""},
    answer=eq.touched_ratio,
    independent_check=by_hand,
    misconceptions={
        v.drafted + 1: "That would be if no two tokens shared anything. They share what serves every token, and some experts.",
        v.n_total / v.n_active: "That is when all experts are touched. So few tokens leave some untouched.",
        (1 - (1 - v.top_k / v.experts) ** (v.drafted + 1)) * v.experts / v.top_k: "Those are the experts alone. What serves every token is loaded in both, once.",
        eq.touched_ratio.at(drafted=v.drafted - 1): "The token before the guesses chooses experts too.",
    },
    explanation="At batch 1 this pass waits for memory and is not free. In a batch that touches every expert anyway, the guesses load nothing new.",
    hints=(
        "The plain step loads the active parameters. What do the other tokens add?",
        "Of what the first token left untouched, each further token leaves the share 1 − chosen/experts untouched.",
    ),
    solution=(
        Step("The first token leaves untouched", v.n_total - v.n_active, "parameter"),
        Step("of which the others leave untouched the share", (1 - v.top_k / v.experts) ** v.drafted, "1"),
        "Loaded bytes divided by those of the active parameters:",
    ),
)

# --- how many to draft ------------------------------------------------------------------------------------------------

MOST = 64


def gain(chance: float, guesses: int, share: float) -> float:
    """Tokens of a round over its time in steps, where checking is free, counted."""
    return places(chance, guesses) / (1 + sum(share for _ in range(guesses)))


def best_count(values: Values) -> int:
    """The best number of guesses, by trying them all."""
    return max(range(1, MOST), key=lambda n: eq.speedup_free(values, drafted=n))


def while_it_pays(values: Values) -> int:
    """The same, by adding guesses as long as the next one brings more for its time than the round so far."""
    n = 0
    while eq.next_tokens(values, drafted=n) / values["draft_ratio"] > gain(values["acceptance"], n, values["draft_ratio"]):
        n += 1
    return n


def is_clear(case: tuple[float, float]) -> bool:
    """Whether the best number of guesses gains more than a thousandth above the next best: by four digits one can tell."""
    chance, share = case
    best, second = sorted((gain(chance, n, share) for n in range(1, MOST)), reverse=True)[:2]
    return best > 1.001 * second


BY_SHARE = tuple(filter(is_clear, product((0.7, 0.6, 0.65, 0.75, 0.8, 0.82, 0.85, 0.9), (0.1, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.12, 0.15, 0.2))))

best_number = Whole(
    "The best number of guesses",
    level="medium",
    objective=DRAFTS,
    unit="1",
    statement="A draft's step takes {draft_ratio} of the time of a plain decode step of the target; checking is free. " + ALIKE + " The target adds one token of its own. With how many guesses a round are most tokens made per second?",
    parameters={"case": BY_SHARE},
    derived=lambda v: dict(zip(("acceptance", "draft_ratio"), v["case"])),
    answer=best_count,
    independent_check=while_it_pays,
    misconceptions={
        lambda v: sum(v["acceptance"] ** n > v["draft_ratio"] for n in range(1, MOST)): "You added guesses while each brings more tokens than the steps it costs. But a round already makes more than one token per step, and the next guess must beat that.",
        lambda v: sum(v["acceptance"] ** n > 0.5 for n in range(1, MOST)): "You stopped where a guess counts less than half of the time. If guesses are cheap, rarer successes still pay.",
    },
    off_by_one_message="You are close. The gain is flat there, so compute it for both numbers.",
    explanation="The optimum is flat: one guess more or less changes little. Engines draft fewer, for chances fall along the round and checking is not quite free.",
    hints=(
        "Tokens of a round ÷ (1 + guesses × the draft's share): try a few numbers.",
        "One more guess pays while (chance that all are accepted) ÷ (the draft's share) is above the gain so far.",
    ),
    solution=(
        Step("One fewer gains", lambda v: eq.speedup_free(v, drafted=max(1, best_count(v) - 1)), "1"),
        Step("one more", lambda v: eq.speedup_free(v, drafted=best_count(v) + 1), "1"),
        Step("the best", lambda v: eq.speedup_free(v, drafted=best_count(v)), "1"),
        "which is with this many guesses:",
    ),
)

by_count = lambda n: eq.speedup_free.expr.subs(drafted, n)
UP_TO_FOUR = Formula(
    "speculation.best_of_four",
    "spec_speedup",
    Max(1, *map(by_count, range(1, 5))),
    "1",
    "the best gain with none to four guesses, where checking is free",
    register=False,
    conditions=eq.speedup_free.conditions,
)
spelt = lambda n: sum(acceptance**i for i in range(n + 1)) / (1 + n * draft_ratio)

best = Function(
    "Write the best of four",
    level="medium",
    objective=DRAFTS,
    statement="An engine may make none, one, two, three or four guesses a round. Checking is free; a step of the draft takes the share draft_ratio of a plain step of the target. Each guess is accepted with the chance acceptance, below 1, once it is reached; the target adds one token of its own. Write a Python function of acceptance and draft_ratio that returns the greatest speed-up over plain decoding. No guess is a plain step, whose speed-up is 1. It is called by name, with numbers.",
    formula=UP_TO_FOUR,
    test_points=tuple(({"acceptance": a, "draft_ratio": c} for a, c in ((0.8, 0.05), (0.3, 0.6), (0.6, 0.2), (0.7, 0.15), (0.95, 0.01), (0.5, 0.3)))),
    independent_check=lambda v: Max(*(spelt(n) for n in range(5))),
    misconceptions={
        by_count(4): "Four guesses are not always best. Try fewer.",
        Max(*map(by_count, range(1, 5))): "No guess at all is allowed too. A draft that is slow and poor is best not used.",
        Max(1, *(spelt(n) * (1 + n * draft_ratio) for n in range(5))): "Those are the tokens of a round. Divide by its time in steps.",
        Max(1, *((spelt(n) * (1 + n * draft_ratio) - 1) / (1 + n * draft_ratio) for n in range(1, 5))): "The target's own token is missing in each round.",
        Max(*(spelt(n) for n in range(4))): "Four guesses are allowed too.",
        Max(1, *((1 + n * acceptance) / (1 + n * draft_ratio) for n in range(1, 5))): "A guess counts only if all before it were accepted.",
        Max(1, *(spelt(n) * (1 + n * draft_ratio) / (1 + draft_ratio) for n in range(1, 5))): "The draft runs once for each guess.",
    },
    explanation="With a measured chance and a measured draft time, an engine can set its own number of guesses with this loop.",
    hints=(
        "For $n$ guesses: $\\left(1 + a + \\dots + a^n\\right)$ ÷ (1 + $n$ × draft_ratio).",
        "max(... for n in range(5))",
    ),
    solution=(
        "`max(sum(acceptance**i for i in range(n + 1)) / (1 + n * draft_ratio) for n in range(5))`",
        Step(
            "Written out, with $\\left(1 - a^{n+1}\\right)/\\left(1 - a\\right)$ for each sum, that is",
            lambda v: "max(1, " + ", ".join(f"(1-acceptance^{n + 1})/(1-acceptance)/(1+{n}*draft_ratio)" for n in range(1, 5)) + ")",
        ),
    ),
)

T5 = {"T5-large": ("a", 800), "T5-small": ("c", 77), "T5-base": ("d", 250)}  # millions of parameters, by the paper
SUMMARIES = {T5[row["draft"]][0]: row for row in measurement("leviathan_table2").records(task="CNN/DM", temperature=0)}
DRAFTED = {key: (row["alpha"], row["cost_ratio"]) for key, row in SUMMARIES.items()} | {"b": (1.0, 1.0)}
LINES = {key: (f"{name}, {size} million parameters: a guess is accepted with the chance {DRAFTED[key][0]:g} and takes {DRAFTED[key][1]:g} of a step") for name, (key, size) in T5.items()}


def at_best(key: str) -> float:
    """The gain of a draft with its best number of guesses, from the lesson's formula; the target as its own draft
    gains nothing.
    """
    chance, share = DRAFTED[key]
    return max(eq.speedup_free(acceptance=min(chance, 0.9999), drafted=n, draft_ratio=share) for n in range(1, MOST))


which_draft = Ordering(
    "Good or cheap",
    level="medium",
    objective=DRAFTS,
    statement="T5-XXL, 11 billion parameters, summarises news with drafts of several sizes (CNN/DM, greedy, one sequence at a time). For each draft you see how often a guess is accepted once it is reached, and which share of a step of the target it takes. Checking is free. Each draft makes its best number of guesses. By the formula, which gains most? Order the drafts, the greatest speed-up first.",
    items=[(LINES | {"b": "T5-XXL itself: a guess is always accepted and takes a whole step"})[letter] for letter in "abcd"],
    answer=lambda v: "".join(sorted(DRAFTED, key=at_best, reverse=True)),
    independent_check=lambda v: "".join(sorted(DRAFTED, key=lambda key: -max(gain(DRAFTED[key][0], n, DRAFTED[key][1]) for n in range(1, MOST)))),
    misconceptions={
        "badc": "That is by the acceptance. But guesses cost time: the target as its own draft takes as long as without.",
        "cdab": "That is by cost. The cheapest draft's guesses are refused more often, and the next one costs little more.",
        "bacd": "That is from the slowest to the fastest.",
    },
    explanation="Neither the best guesser nor the cheapest. The measured speed-ups were " + ", ".join((f"{row['speedup']:g} times for {name}" for name, row in ((name, SUMMARIES[key]) for name, (key, _) in T5.items()))) + ". The first two are close together, and measured in the other order.",
    hints=(
        "What does the target gain as its own draft? A round of $n$ guesses takes $n$ + 1 steps.",
        "For the others: $\\left(1 - a^{n+1}\\right)/\\left(1 - a\\right)$ ÷ (1 + $n$ × share), for a few $n$. The first two are a tenth apart.",
    ),
    solution=("The best speed-ups: " + ", ".join(f"{key} {at_best(key):.2f}" for key in sorted(DRAFTED)) + ".",),
)

NOW = f"{eq.speedup_free(**FOUR):.1f}"
RULES = {  # whether one more than n guesses pays
    "a": lambda a, n, c: a > 0.5,
    "b": lambda a, n, c: a ** (n + 1) > c,
    "c": lambda a, n, c: a ** (n + 1) / c > gain(a, n, c),
    "d": lambda a, n, c: True,
}


def telling() -> str:
    """The rule that always agrees with what one more guess does to the gain."""
    grid = list(product((0.3, 0.5, 0.7, 0.8, 0.9), range(1, 15), (0.02, 0.05, 0.1, 0.3)))
    return next(key for key, rule in RULES.items() if all(rule(*at) == (gain(at[0], at[1] + 1, at[2]) > gain(*at)) for at in grid))


one_more = Choice(
    "A fifth guess",
    level="medium",
    objective=DRAFTS,
    statement=f"Each of four guesses is accepted with the chance {FOUR['acceptance']:g} once it is reached. A step of the draft takes {FOUR['draft_ratio']:g} of a plain step, and checking is free: decoding is {NOW} times as fast. What decides whether a fifth guess makes it faster?",
    independent_check=lambda v: telling(),
    options=[
        wrong("whether the fifth is accepted more often than not, once the four are", "A rare success can pay if guesses are cheap, and a likely one can cost too much. And it counts only if the four before it are accepted."),
        wrong("whether the chance that all five are accepted is above the draft's share of a step", "That would be right if a round made one token per step. It makes more already, and the fifth guess must beat that."),
        right(f"whether (the chance that all five are accepted) ÷ (the draft's share of a step) is above {NOW}", f"It divides the tokens that the guess adds by the time that it adds. If that is more than the round makes now, it pays. With these numbers up to {best_count(FOUR)} guesses pay."),
        wrong("nothing: where checking is free, one more guess never hurts", "Checking is free, drafting is not: each guess adds a step of the draft to the round."),
    ],
    hints=(
        "What does the guess add to the tokens of a round, and what to its time?",
        "A mean rises if what is added is above it.",
    ),
    solution=(f"It adds ${eq.next_tokens.latex}$ tokens, here {eq.next_tokens(acceptance=0.8, drafted=4):.2g}, in {FOUR['draft_ratio']:g} of a step. Compare the ratio with {NOW}.",),
)

# --- load -------------------------------------------------------------------------------------------------------------

RACK = attending()
FEW, MANY = 500, 2000


def rate(batch: int, guesses: int) -> float:
    """Tokens per second of the rack, in rounds of so many guesses."""
    step = lambda tokens: max(passing(RACK, batch, tokens))
    return batch * places(FOUR["acceptance"], guesses) / (step(guesses + 1) + guesses * FOUR["draft_ratio"] * step(1))


def better() -> str:
    """Which makes most tokens per second: rounds at the small batch, plain steps at the large one, or rounds there."""
    rates = {"a": rate(FEW, 4), "b": rate(MANY, 0), "c": rate(MANY, 4)}
    return max(rates, key=rates.__getitem__)


def times_more(batch: int, guesses: int) -> str:
    """Tokens per second against those of plain steps at the small batch."""
    return f"{rate(batch, guesses) / rate(FEW, 0):.1f}"


more_users = Choice(
    "Users or guesses",
    level="medium",
    objective=LOAD,
    statement=f"{RACK['net_name']} runs on {RACK['machine_name']} in FP8 and decodes {FEW} sequences of 1,000 tokens at a time. Requests are queueing, and the engine's limit can be raised to {MANY:,} sequences. A plain step takes {in_ms(max(passing(RACK, FEW, 1)))} with {FEW} sequences and {in_ms(max(passing(RACK, MANY, 1)))} with {MANY:,}. In both it waits for memory; compute alone would take {in_ms(passing(RACK, MANY, 1)[0])} with {MANY:,}. Four guesses yield {places(FOUR['acceptance'], 4):.2f} tokens per round, and a step of the draft takes {FOUR['draft_ratio']:g} of a plain step. Which of these yields most tokens per second?",
    independent_check=lambda v: better(),
    options=[
        wrong(f"four guesses for each of the {FEW}", f"That is {times_more(FEW, 4)} times plain decoding of {FEW}. How much do four times as many sequences yield, while a step takes hardly longer?"),
        wrong(f"plain decoding of {MANY:,}", f"That is {times_more(MANY, 0)} times plain decoding of {FEW}, more than guesses bring there. But compute is still idle for most of the step. What do guesses add to it?"),
        right(
            f"four guesses for each of {MANY:,}",
            f"That is {times_more(MANY, 4)} times plain decoding of {FEW}. Checking is not free any more at {MANY:,}, but a round yields more than it costs. (Two guesses for each would yield {times_more(MANY, 2)} times.) Users first ({times_more(MANY, 0)} times), then guesses with the compute that is left.",
        ),
        wrong("all the same: a step that waits for memory cannot yield more", "The weights are loaded once in a step. More users, or more tokens of each, share that loading almost for free."),
    ],
    hints=(
        "Tokens per second are tokens divided by the time of a step or a round. Compute three numbers.",
        f"With {MANY:,} sequences the check needs five times the compute of a plain step. Is that more than the memory traffic?",
    ),
    solution=(
        Step(f"Four guesses for {FEW}, against plain decoding of {FEW}", lambda v: rate(FEW, 4) / rate(FEW, 0), "1"),
        Step(f"Plain decoding of {MANY:,}", lambda v: rate(MANY, 0) / rate(FEW, 0), "1"),
        Step(f"Round of {MANY:,}: five times the compute and four steps of the draft", lambda v: 5 * passing(RACK, MANY, 1)[0] + 4 * FOUR["draft_ratio"] * max(passing(RACK, MANY, 1)), "s"),
        Step(f"Four guesses for {MANY:,}", lambda v: rate(MANY, 4) / rate(FEW, 0), "1"),
    ),
)

never = Choice(
    "The best draft there could be",
    level="easy",
    objective=LOAD,
    statement="A server's batch is so large that its plain decode steps wait for compute. Somebody offers a perfect draft: all its guesses are accepted, and they take no time. With four guesses a round, how do the tokens per second compare with plain decoding?",
    independent_check=lambda v: {5.0: "a", 4.0: "b", 1.0: "c", 0.2: "d"}[round(places(1.0, 4) * max(passing(ASIDE, 1e5, 1)) / max(passing(ASIDE, 1e5, 5)), 6)],
    options=[
        wrong("five times as fast", "That is the tokens of a round. Compare the compute time of its pass with that of a plain step."),
        wrong("four times as fast", "A round yields the guesses and one token more; but look at its time."),
        right("just as fast", "Five tokens in five times the time. Every real draft is worse: its refused guesses cost compute for nothing, and it takes time itself."),
        wrong("a fifth as fast", "That is the time of a round. It also yields more tokens."),
    ],
    hints=("How many tokens of each sequence does the pass compute? How many does it yield?",),
    solution=(f"${eq.speedup_busy.latex}$: with five tokens and a free draft that is five divided by five.",),
)

busy = Quantity(
    "On a busy server",
    level="easy",
    objective=LOAD,
    unit="1",
    tolerance=0.01,
    statement="A server's plain decode steps wait for compute. Now every sequence gets {drafted} guesses a round, which are checked in one pass with the token before them. "
    + ALIKE
    + " The target adds one token of its own. A step of the draft takes {draft_ratio} of a plain step. How many times the tokens per second of plain decoding does the server make?",
    parameters={"acceptance": (0.7, 0.6, 0.85, 0.8), "drafted": (3, 5, 2, 4), "draft_ratio": (0.04, 0.1, 0.06)},
    answer=eq.speedup_busy,
    independent_check=lambda v: places(v["acceptance"], v["drafted"]) / sum([1 + v["draft_ratio"]] * v["drafted"] + [1]),
    misconceptions={
        eq.speedup_free: "That holds where checking is free. Here compute is the bottleneck, and it grows with every token of the pass.",
        1 / eq.speedup_busy: "That is how many times as long a token takes. The question is about tokens per second.",
        eq.speedup_busy.at(draft_ratio=0): "Drafting takes time too.",
        eq.tokens_per_round: "Those are the tokens of a round. Divide by its time in plain steps.",
        eq.tokens_per_round / (v.drafted * (1 + v.draft_ratio)): "$\\gamma$ guesses mean $\\gamma + 1$ tokens in the pass.",
    },
    explanation="Less than without. Engines switch speculation off at high load, or draft fewer tokens.",
    hints=(
        "How many plain steps of compute do all the guesses and the token before them need?",
        "Divide the tokens of a round by these steps plus those of the draft.",
    ),
    solution=(
        Step(f"Tokens of a round, ${eq.tokens_per_round.latex}$ =", eq.tokens_per_round, "token"),
        Step("Its time in plain steps:", v.drafted * v.draft_ratio + v.drafted + 1, "1"),
        "Tokens divided by time:",
    ),
)

TAU = eq.tokens_per_round.expr
WITH_DRAFTS = tuple(at | {"draft_ratio": c} for at, c in zip(SOME, (0.05, 0.1, 0.02, 0.2, 0.15)))

even = Expression(
    "Neither faster nor slower",
    level="hard",
    objective=LOAD,
    statement="In a plain decode step memory traffic takes r times as long as compute. At some r between 1 and gamma + 1 speculation brings neither gain nor loss. There a plain step waits for memory, and the pass that checks the guesses waits for compute; the token before the guesses is in that pass too. Each of gamma guesses is accepted with the chance alpha_acc once it is reached, and takes c_draft of a plain step to draft; the target adds one token. Write this r in alpha_acc, gamma and c_draft.",
    formula=eq.ratio_even,
    test_points=WITH_DRAFTS,
    independent_check=lambda v: solve(Sum(acceptance**k, (k, 0, drafted)) - drafted * draft_ratio - (drafted + 1) / R, R)[0],
    misconceptions={
        (drafted + 1) / TAU: "Drafting is forgotten: some of the gain must pay for it.",
        drafted + 1: "There checking stops being free. Speculation still gains there.",
        (TAU - drafted * draft_ratio) / (drafted + 1): "Upside down. $r$ is above one here.",
        (drafted + 1) / (TAU + drafted * draft_ratio): "Check the sign: drafting takes time, so the gain ends earlier, at a larger $r$.",
        (drafted + 1) / (TAU - draft_ratio): "The draft runs once for each guess.",
        drafted / (TAU - drafted * draft_ratio): "$\\gamma$ guesses mean $\\gamma + 1$ tokens in the pass.",
        (drafted + 1 + drafted * draft_ratio) / TAU: "A draft step is a share of a plain step, and that step takes $r$ times its compute time.",
    },
    explanation="Since r falls as the batch grows, this gives the load beyond which gamma guesses slow a server down. Fewer guesses gain for longer.",
    hints=(
        "Let the compute of a plain step take 1. Then the step takes r, the checking pass gamma + 1, and drafting gamma × c_draft × r.",
        "Without gain or loss the tokens of a round equal its time divided by $r$. Solve for $r$.",
    ),
    solution=(
        "Tokens = gamma × c_draft + (gamma + 1)/r, solved for r:",
        Step(
            f"${eq.ratio_even.latex}$, typed as",
            "(gamma + 1) / ((1 - alpha_acc^(gamma + 1)) / (1 - alpha_acc) - gamma * c_draft)",
        ),
    ),
)


def with_even(values: Values) -> Values:
    """The drawn case, and the ratio at which nothing is gained."""
    known = values | served(values)
    one = known | {"drafted": 1, "ratio_even": eq.ratio_even(known, drafted=1)}
    return served(values) | {
        "ratio_even": eq.ratio_even(known),
        "last": f"{significant(eq.batch_even(one), 2)}",
    }


def loses(values: Values) -> float:
    """The batch beyond which rounds are slower than steps, by search."""
    gains = lambda batch: places(values["acceptance"], values["drafted"]) / (values["drafted"] * values["draft_ratio"] + max(passing(values, batch, values["drafted"] + 1)) / max(passing(values, batch, 1)))
    return find_root(lambda batch: 1 - gains(batch), 1e-3, 1e9)


threshold = Quantity(
    "From where on it is slower",
    level="hard",
    objective=LOAD,
    unit="sequence",
    statement=SERVER
    + "Every sequence has {context} of context and gets {drafted} guesses a round. "
    + ALIKE
    + " The target adds one token of its own. A step of the draft takes {draft_ratio} of a plain step. Compute and memory traffic overlap, and all weights are loaded in each pass."
    + NO_SCORES
    + " Beyond which batch is decoding slower with speculation than without?",
    parameters={
        "case": CASES,
        "drafted": (3, 4, 2),
        "acceptance": (0.7, 0.8, 0.6),
        "draft_ratio": (0.05, 0.1),
        "context": (500, 300),
    },
    derived=with_even,
    units=PLAIN | {"last": ""},
    answer=eq.batch_even,
    independent_check=loses,
    misconceptions={
        eq.batch_free: "There checking stops being free. From there on the gain falls, but there still is one.",
        roofline.critical_batch / v.ratio_even: "The cache is missing: loading it hides some of the compute.",
        roofline.crossing: "Up to there a plain step waits for memory. Speculation has become slower before.",
        eq.batch_even.at(ratio_even=eq.ratio_even.at(draft_ratio=0)): "Drafting is forgotten. It takes some of the gain.",
    },
    explanation="That is where {drafted} guesses stop gaining. One guess still gains up to a batch of {last}, so an engine should draft fewer as the batch grows.",
    hints=(
        "At the break-even, checking may take as many plain steps as the round has tokens, minus the steps that drafting takes.",
        "Let $r$ be memory time ÷ compute time of a plain step. The checking pass then takes (guesses + 1)/$r$ steps.",
        "$r$ = critical batch / batch + context / balanced context. Solve for the batch.",
    ),
    solution=lambda v: [
        Step(f"Neither gain nor loss is at ${eq.ratio_even.latex}$ =", v["ratio_even"], "1"),
        Step(f"Of this, the cache contributes context ÷ balanced context, {v['context'] / roofline.balanced_context(v):.3g}. The weights must give the rest:", eq.batch_even(v), "sequence"),
    ],
)

MARKS = {  # batches, by formula and by search
    "a": (roofline.crossing(RACK), lambda: free_up_to(RACK, 1)),
    "b": (eq.batch_free(RACK, drafted=4), lambda: free_up_to(RACK, 5)),
    "c": (eq.batch_even(RACK, ratio_even=eq.ratio_even(**FOUR)), lambda: loses(RACK | FOUR)),
    "d": (eq.batch_free(RACK, drafted=7), lambda: free_up_to(RACK, 8)),
}

walk = Ordering(
    "As the load grows",
    level="medium",
    objective=LOAD,
    statement=f"{RACK['net_name']} runs on {RACK['machine_name']} in FP8, with 1,000 tokens of context. Attention's own FLOPs are counted. Each guess that is reached is accepted with the chance {FOUR['acceptance']:g}, and a step of the draft takes {FOUR['draft_ratio']:g} of a plain step. The batch grows from one to very many. In which order does it meet these?",
    items=[
        "A plain decode step begins to wait for compute.",
        "Checking four guesses stops being free.",
        "Four guesses make decoding neither faster nor slower.",
        "Checking seven guesses stops being free.",
    ],
    answer="".join(sorted(MARKS, key=lambda key: MARKS[key][0])),
    independent_check=lambda v: "".join(sorted(MARKS, key=lambda key: MARKS[key][1]())),
    misconceptions={
        "acbd": "That is from the largest batch down.",
        "bdca": "More guesses need more compute, and use up the idle compute in smaller batches.",
        "dbac": "Where a plain step itself waits for compute, every refused guess is lost time. Break-even comes before that.",
        "dcba": "Where checking just stops being free, the gain is still at its greatest. It takes a larger batch to lose all of it.",
    },
    explanation="At " + ", ".join(f"{MARKS[key][0]:,.0f}" for key in sorted(MARKS, key=lambda key: MARKS[key][0])) + " sequences. Four guesses do harm long before plain decoding waits for compute.",
    hints=(
        "$n$ guesses mean $n$ + 1 tokens of each sequence in the pass.",
        "Can speculation still gain where a plain step waits for compute?",
    ),
    solution=(f"${eq.batch_free_counted.latex}$ for seven and for four guesses, then ${eq.batch_even_counted.latex}$, and last a plain step's own crossing.",),
)

ROUND_STEPS = drafted * draft_ratio + eq.verify_ratio.expr
RATIOS = (20, 0.5, 3, 2, 1.5), (0.3, 40, 0.6, 10, 0.8)  # reading over multiplying, for each of the points above
SPEEDS = tuple(at | {"memory_ratio": r} for several in RATIOS for at, r in zip(WITH_DRAFTS, several))

faster = Function(
    "Write the speed-up",
    level="hard",
    objective=LOAD,
    statement="Write a Python function of acceptance, drafted, draft_ratio and memory_ratio that returns tokens per second with speculation divided by those without, at the same batch. Of `drafted` guesses (a whole number) each is accepted with the chance acceptance, below 1, once it is reached; the target adds one token. A step of the draft takes draft_ratio of a plain step. In a plain step memory traffic takes memory_ratio times as long as compute (it may be more or less than one), and the two overlap. The checking pass has the same memory traffic, and computes the guesses and the token before them. It is called by name, with numbers.",
    formula=eq.speedup,
    test_points=SPEEDS,
    independent_check=Sum(acceptance**k, (k, 0, drafted)) / (drafted * draft_ratio + Max(1, Min(drafted + 1, (drafted + 1) / R))),
    misconceptions={
        TAU / (1 + drafted * draft_ratio): "This makes checking free always. It is free only while memory traffic takes long enough.",
        TAU / (drafted * draft_ratio + drafted + 1): "This makes checking cost its full compute always. Where a step waits for memory it costs less.",
        TAU / eq.verify_ratio.expr: "Drafting is missing.",
        TAU / (drafted * draft_ratio + Max(1, (drafted + 1) / R)): "If memory_ratio is below one, a plain step takes its compute time, not its memory time.",
        TAU / (drafted * draft_ratio + Max(drafted + 1, R)): "Divide the pass that checks by the time of a plain step, which is the greater of 1 and memory_ratio.",
        (drafted + 1) / ROUND_STEPS: "Not all guesses are accepted.",
        (TAU - 1) / ROUND_STEPS: "The target's own token is missing.",
        (1 - acceptance**drafted) / (1 - acceptance) / ROUND_STEPS: "The sum ends one power too early: the last guess may be accepted as well.",
        TAU / (drafted * draft_ratio + Max(drafted, R) / Max(1, R)): "$\\gamma$ guesses mean $\\gamma + 1$ tokens in the pass.",
        TAU / (draft_ratio + eq.verify_ratio.expr): "The draft runs once for each guess.",
        eq.speedup_added.expr: "You added memory and compute time. They overlap: take the greater one.",
    },
    explanation="One function covers an empty server and a full one. Given the r of a batch, it tells you whether to speculate.",
    hints=(
        "Tokens of a round ÷ its time in plain steps.",
        "max(drafted + 1, memory_ratio) / max(1, memory_ratio) for the pass that checks.",
    ),
    solution=(
        f"${eq.speedup.latex}$, as code",
        Step(
            "",
            "(1 - acceptance ** (drafted + 1)) / (1 - acceptance) / (drafted * draft_ratio + max(drafted + 1, memory_ratio) / max(1, memory_ratio))",
        ),
    ),
)

# --- published numbers ------------------------------------------------------------------------------------------------

SPIRES = [row for row in measurement("spire_multipliers").records() if row["confirmed"]]
[MIXTRAL] = measurement("eagle_acceptance").records(target="Mixtral 8x7B")
[DEEP] = measurement("mtp_by_depth").records(drafted_tokens=5)
ROWS = {
    "The paper on EAGLE (Mixtral 8x7B, batch 1)": MIXTRAL,
    **{f"The paper on {row['draft']} (4 guesses, batch 64, times computed on a roofline)": row for row in SPIRES},
    "A report on DeepSeek-R1 (5 guesses, eight B200, batch 1)": DEEP,
}
MADE_UP = tuple((tokens, times) for tokens, times in product((2.2, 2.5, 2.7, 2.9, 3.1, 3.4, 3.7, 4.1, 4.4), (1.3, 1.6, 1.9, 2.1, 2.4)) if 1.1 < tokens / times < 2.5)  # tokens of a round and speed-up


def published(values: Values) -> Values:
    """A drawn row, or made-up numbers: tokens and speed-up."""
    paper = values["source"]
    tokens, times = (ROWS[paper]["tokens_per_pass"], ROWS[paper]["speedup"]) if isinstance(paper, str) else paper
    return {"paper": paper if isinstance(paper, str) else "A made-up report", "tokens_per_round": tokens, "spec_speedup": times}


round_steps = Quantity(
    "The time behind a speed-up",
    level="easy",
    objective=REPORT,
    unit="1",
    tolerance=0.01,
    statement="{paper} gives {tokens_per_round} for each pass of the target, the target's own counted, and {spec_speedup} times the tokens per second of plain decoding at the same batch. How many plain decode steps does a round take, drafting included?",
    parameters={"source": (*ROWS, *MADE_UP)},
    derived=published,
    units={"paper": "", "tokens_per_round": "token"},
    answer=eq.round_steps,
    independent_check=lambda v: find_root(lambda steps: v["spec_speedup"] - v["tokens_per_round"] / steps, 0.001, 1000.0),
    misconceptions={
        1 / eq.round_steps: "Upside down: that is how many rounds fit into a step.",
        v.tokens_per_round * v.spec_speedup: "If a round took so long, it would not be faster. Tokens over time is the speed.",
        v.tokens_per_round - v.spec_speedup: "Speed is tokens divided by time, not a difference.",
        (v.tokens_per_round - 1) / v.spec_speedup: "The target's own token is one of those that count.",
    },
    explanation="Just above one, drafting and checking are nearly free. At two or more, something costs time: a slow draft, experts that the guesses load, or overheads.",
    hints=("A plain step makes one token in one step. A round makes more tokens in how many steps?",),
    solution=("Tokens of a round ÷ speed-up:",),
)

[SPIRE] = measurement("spire_multipliers").records(draft="SPIRe")
[COPIED] = measurement("spec_decoding_others").records(method="n-gram", effect="faster")

two_eights = Choice(
    "What was 2.8 times",
    level="medium",
    objective=REPORT,
    statement=f"SPIRe is a draft for large batches and long contexts. Its authors counted the tokens of a round on a small model, and timed nothing. They report a gain of {SPIRE['speedup']:g} times over decoding without speculation. What became {SPIRE['speedup']:g} times as large?",
    independent_check=lambda v: {True: "b", False: "c"}[SPIRE["tokens_per_pass"] > SPIRE["speedup"]],
    options=[
        wrong("the speed of one user's answer on an idle server, timed", "A summary says so. The paper is about large batches and long contexts, where the draft's own cache would slow it down."),
        right("tokens per second at a batch of 64: measured tokens of a round, divided by a round's time computed on a roofline", "A model's throughput at a fixed batch; nothing was timed. By the same model each user's tokens come that much sooner too, since the batch is the same."),
        wrong("the tokens of a round, measured", f"Those were {SPIRE['tokens_per_pass']:g}. They still have to be divided by the time of a round."),
        wrong("tokens per second on a server at one request a second, with guesses looked up in the prompt", f"That is the other one: vLLM's {COPIED['factor']:g} times, which was timed."),
    ],
    hints=("Tokens of a round can be counted on any small model. Where does the time come from?",),
    solution=(f"The tokens are {SPIRE['tokens_per_pass']:g}, the time of a round {SPIRE['tokens_per_pass'] / SPIRE['speedup']:.2f} steps of a roofline, at a batch of 64.",),
)


def tau_of(row: dict) -> float:
    """Tokens of a round by a row of the first paper."""
    return eq.tokens_per_round(acceptance=row["alpha"], drafted=row["gamma"])


TABLE = sorted(measurement("leviathan_table2").records(), key=lambda row: tau_of(row) / row["speedup"])
OVER = tuple((row["task"], row["draft"], row["temperature"]) for row in TABLE if row["speedup"] > 1.05 * tau_of(row))  # by more than rounding


def overtaken(values: Values) -> Values:
    """The drawn row of the first paper, with the tokens that its own chance allows."""
    task, draft, temperature = values["row"]
    [row] = measurement("leviathan_table2").records(task=task, draft=draft, temperature=temperature)
    how = "sampled" if temperature else "greedy"
    chance = {"drafted": row["gamma"], "acceptance": row["alpha"]}
    return chance | {"of": f"{task}, {draft}, {how}", "times": row["speedup"], "yields": round(tau_of(row), 2)}


too_fast = Choice(
    "Faster than its tokens",
    level="hard",
    objective=REPORT,
    statement="The first paper on speculation prints for one setting ({of}): {drafted} guesses, of which each is accepted with the chance {acceptance}, and a measured speed-up of {times}. With this chance a round yields {yields} tokens. One sequence at a time was decoded, and the text was the target's own. What must be wrong?",
    parameters={"row": OVER},
    derived=overtaken,
    units={"of": "", "times": "1", "yields": "1"},
    independent_check=lambda v: "d" if v["times"] > places(v["acceptance"], v["drafted"]) else "a",
    options=[
        wrong("nothing: the draft was so small that it took no time", "Then a round would take one step, and the speed-up would be just the tokens of a round. It is more."),
        wrong("nothing: checking needs less time than generating, so a round can take less than a plain step", "The checking pass loads all weights, like a step, and computes more. It cannot be shorter."),
        wrong("nothing: the formula is a mean, and a round can yield more", "The speed-up is a mean over many rounds too."),
        right(
            "the chance, or the time without speculation: a round would have to be shorter than a plain step",
            "A round contains a pass of the target, which loads all its weights as a step does. So no speed-up can exceed the tokens of a round. In "
            + str(sum(row["speedup"] > tau_of(row) for row in TABLE))
            + " of the paper's "
            + str(len(TABLE))
            + " rows it does: the chance, an estimate, is too low for the speed, or the time without speculation was too long.",
        ),
    ],
    hints=(
        "What is the least time that a round can take, in plain steps?",
        "Speed-up is tokens of a round over its time in steps.",
    ),
    solution=(
        Step("Tokens ÷ speed-up is the time of a round in plain steps:", v.yields / v.times, "1"),
        "Less than one step, though it contains a pass of the target.",
    ),
)

[FAR] = measurement("spire_long").records(method="SPIRe")
METHODS = {"SPIRe": SPIRE["speedup"], "SPIRe, extrapolated to Llama 3 70B at long contexts,": FAR["speedup"]}


def life(values: Values) -> Values:
    """The drawn method's gain, and what its draft costs beside a life of serving."""
    return {
        "spec_speedup": METHODS[values["method"]],
        "draft_training": values["draft_cost"] / values["serving_cost"],
    }


saved = Quantity(
    "A life with speculation",
    level="medium",
    objective=REPORT,
    unit="1",
    display_unit="%",
    tolerance=0.01,
    statement="SPIRe is a draft for large batches and long contexts. Over its whole life, serving a model would cost {serving_cost} of machine time without speculation. With {method} the same tokens are made {spec_speedup} times as fast, at every hour. Its draft must be trained once, for {draft_cost}. There are no other costs. What share of the money is saved, in percent?",
    parameters={"method": tuple(METHODS), "draft_cost": (25e4, 4e5, 6e5, 3e5, 5e5), "serving_cost": (10e6, 8e6, 12e6, 5e6)},
    derived=life,
    units={"method": "", "draft_cost": "USD", "serving_cost": "USD"},
    answer=eq.saving,
    independent_check=(v.serving_cost - v.serving_cost / v.spec_speedup - v.draft_cost) / v.serving_cost,
    misconceptions={
        1 - 1 / v.spec_speedup: "The draft's training is missing.",
        1 / v.spec_speedup: "That is what serving still costs.",
        1 / v.spec_speedup + v.draft_training: "That is what is still paid. The question is what is saved.",
        1 - 1 / v.spec_speedup + v.draft_training: "Training the draft is paid for, not saved.",
        v.spec_speedup - 1: "That is how much faster it gets. Time, and with it the rent, falls by a different share.",
        eq.saving / 100: "That is the fraction. Type the percentage, a hundred times as large.",
    },
    explanation="This assumes the same gain at every hour. At night the batch is small and the gain large, at noon the reverse. Use the gain at the load where the money is spent.",
    hints=(
        "For how many dollars are machines needed, if they work that much faster?",
        "Then add the draft's training.",
    ),
    solution=(
        Step("Serving now costs", v.serving_cost / v.spec_speedup, "USD"),
        Step("and with the training", v.serving_cost / v.spec_speedup + v.draft_cost, "USD"),
        f"${eq.saving.latex}$, in percent",
    ),
)
