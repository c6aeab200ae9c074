"""The numbers that the over-training lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

import math
import re

import pytest
from lessons import run_cell, sig, values

from blackboard.catalogue import measurement, model
from blackboard.formula import FormulaError
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import figures, results, simulation

DAY = 86_400


HOFFMANN, BESIROGLU = (1.69, 406.4, 410.7, 0.34, 0.28), (1.8172, 482.01, 2085.43, 0.3478, 0.3658)
TEX, SARDANA = (1.69, 406.4, 410.7, 0.3392, 0.2849), (1.69, 406.4, 410.7, 0.336, 0.283)


def bisected(rises, low, high):
    """Where a rising function crosses nothing."""
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return low


def good(fit, size=None):
    """The loss above the floor of Llama 3.1 8B, or of another size where that is trained best."""
    _, a, b, alpha, beta = fit
    net = model("llama-3.1-8b")
    own = (beta * b / (alpha * a)) ** (1 / beta) * size ** (alpha / beta) if size else net.training_tokens
    return a / (size or net.n_active) ** alpha + b / own**beta


WRITTEN = 2e6 * 365 * DAY  # tokens of the running case


def optimum(fit, efficiency=1 / 3, size=None, served=WRITTEN):
    """Size, tokens and training's share at the least lifetime cost, by the sign of a slope that is measured, not
    derived.
    """
    _, a, b, alpha, beta = fit
    loss = good(fit, size)
    tokens = lambda n: (b / (loss - a / n**alpha)) ** (1 / beta)
    cost = lambda n: 6 * n * tokens(n) + 2 * n * served / efficiency
    best = bisected(lambda n: cost(n * 1.000001) - cost(n), (a / loss) ** (1 / alpha) * 1.001, size or 1e12)
    return best, tokens(best), 6 * best * tokens(best) / cost(best)


def equal(fit, served=WRITTEN):
    """The smaller size whose training costs as much as serving it, and what both cost over the least."""
    _, a, b, alpha, beta = fit
    loss, (best, tokens, _) = good(fit), optimum(fit)
    training = lambda n: 6 * n * (b / (loss - a / n**alpha)) ** (1 / beta)
    size = bisected(lambda n: 6 * n * served - training(n), (a / loss) ** (1 / alpha) * 1.001, best)
    return size, 2 * training(size) / (6 * best * (tokens + served))


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = values("overtraining")
    work, peak = 6 * 37_551_276_032 * 14.8e12, 989e12
    days, mfu = 5_328_000 / 87_072, work / (2_664_000 * 3600 * peak)
    each = 5_328_000 / 14.8e12
    expected = {
        "rl_2": f"{2 * 3 / 6:g}",
        "rl_3": sig((2 * 3 + 1) / 6),
        "rl_8": f"{(2 * 3 + 6) / 6:g}",
        "rl_lecture": f"{3 * 3 / 6:g}",
        "own_law": r"\(1.8172 + 482.01 / N^{0.3478}\) \({} + 2085.43 / D^{0.3658}\)",
        "seconds": f"{60 * DAY / 1e6:.2f} million seconds",
        "rule_8": f"{20 * 8.03:.0f} billion",
        "tokens_8": "15 trillion",
        "ds_active": "37.6 billion",
        "ds_hours": "2.66 million",
        "ds_work": f"{work / 1e24:.1f}·10²⁴",
        "small_work": f"{6 * 8.03e9 * 15e12 / 1e24:.2f}·10²⁴",
        "slow_cost": f"${2 * 1.46:.1f} million",
        "served": f"{50e6 * 60 * DAY / 1e12:.0f} trillion",
        "chinchilla": "2 trillion",
        "over": "130",
        "sardana_size": "7.0 billion",
        "sardana_saved": "17%",
        "table_least": f"{8e9 / 0.4e9:.0f}",
        "table_most": f"{1.5e12 / 67e9:.0f}",
        "ds_days": f"{days:.0f}",
        "ds_written": "168 billion",
        "ds_prefilled": f"{608 - 342} billion",
        "ds_each": f"${each * 1e6:.2f}",
        "ds_alone": f"${87_072 / 168e3:.2f}",
        "ds_left": f"${87.072 - 266e6 * each / 3:,.0f},000",
        "ds_beside": f"${(87_072 - 266e9 * each / 3) / 168e3:.2f}",
        "ds_most": sig(87_072 / 168e9 / each),
        "ds_least": sig((87_072 - 266e9 * each / 3) / 168e9 / each),
        "ds_mfu": f"{mfu:.0%}",
        "ds_cost": "$5.3 million",
        "ds_day": "$87,072",
        "ds_rent": "$2",
        "peak": "989 TFLOP/s",
        "riddle_size": f"{(8.03e9 * 15e12 / 20) ** 0.5 / 1e9:.0f} billion",
        "kv_bandwidth": "3.35 TB/s",
        "rate": "2 million",
        "small_reported": "1.46 million",
        "flop_dollars": f"${5.328 / (work / 1e24):.1f} million",
        "law_each": f"{16.55e12 / 402e9:.0f}",
        "slow_unit": f"${2 * 1.46 / (6 * 8.03e9 * 15e12 / 1e24):.1f} million",
        "web_tokens": "15 trillion",
        "ds_eta": f"{2 * 37_551_276_032 * 14_800 / 8 / (work / (2_664_000 * 3600)):.1f}",
        "ds_price": sig(2 / 6 * (work / (2_664_000 * 3600)) / (2 * 37_551_276_032 * 14_800 / 8)),
        "kv_write_rate": f"{work / (2_664_000 * 3600) / 3 / 1e12:.0f} TFLOP/s",
        "kv_loading_rate": f"{3.35 / 2:.3g} TB/s",
        "kv_bytes_8": f"{32 * 2 * 8 * 128:,}",
        "times_8": sig(15e12 / 8.03e9 / 20),
    }
    assert {name: told[name] for name in expected} == expected


@pytest.mark.parametrize(("key", "fit"), [("hoffmann", HOFFMANN), ("tex", TEX), ("besiroglu", BESIROGLU)])
def test_the_table_of_other_fits_agrees_with_a_search(key, fit):
    """The rule of equal bills is exact where the parts of the loss stand as 2β to α; best-trained, as β to α."""
    told, (size, data, *_), (plain, own_tokens, _) = values("overtraining"), optimum(fit), optimum(fit, served=0)
    alpha, beta = fit[3:]
    own = (beta * fit[2] / (alpha * fit[1])) ** (1 / beta) * 1e11 ** (alpha / beta - 1)
    found = [told[f"{name}_{key}"] for name in ("own", "plain", "size", "data", "saved")]
    even = ((alpha + 2 * beta) / (alpha + beta)) ** (1 / beta)
    _, a, b, *_ = fit
    loss = lambda n, d: a / n**alpha + b / d**beta
    assert found == [
        f"{own:.0f}",
        f"{plain / 1e9:.0f} billion",
        f"{size / 1e9:.1f} billion",
        f"{data / 1e12:.0f} trillion",
        f"{1 - 8.03e9 * (15e12 + WRITTEN) / (plain * (own_tokens + WRITTEN)):.0%}",
    ]
    kept = bisected(lambda n: loss(8.03e9, 15e12) - loss(n, 20 * n), 8.03e9, 1e12)
    spared = 1 - 8.03e9 * (15e12 + WRITTEN) / (kept * (20 * kept + WRITTEN))
    assert told[f"kept_{key}"] == f"{kept / 1e9:.0f} billion"
    assert key == "tex" or told["kept_most" if key == "hoffmann" else "kept_least"] == f"{spared:.0%}"
    assert min(spared, 1 - 8.03e9 * (15e12 + WRITTEN) / (plain * (own_tokens + WRITTEN))) > 0.625, "at least 63%"
    assert min(plain, kept) / 1e9 > 25.5 and max(plain, kept) / 1e9 < 60.5, "26 to 60 billion"
    if key == "besiroglu":
        assert told["even_ratio"] == f"{even:.0f}" and told["equal_lost"] == f"{equal(fit)[1] - 1:.0%}"
    assert size / plain == pytest.approx(0.24, abs=0.015), "about a quarter of the twin"
    assert data < 2 * 15e12, "up to nearly twice the text"


def test_the_running_case_agrees_with_a_search():
    """Bills are six FLOPs for each parameter and each token, read or written; Llama 3.1 8B is the cheapest."""
    told, net = values("overtraining"), model("llama-3.1-8b")
    (size, data, share), (large, plain, _) = optimum(BESIROGLU), optimum(BESIROGLU, served=0)
    own, seen = net.n_active, net.training_tokens
    part = lambda size, data: (482.01 / size**0.3478, 2085.43 / data**0.3658)
    assert (size, data) == pytest.approx((own, seen), rel=2e-3) and told["written"] == "63 trillion"
    assert told["meta_size"] == f"{large / 1e9:.0f} billion" and told["meta_tokens"] == f"{plain / 1e12:.2f} trillion"
    assert large / 16e9 == pytest.approx(2, abs=0.2), "the twin is twice as large as any model behind the fit"
    assert told["case_ratio"] == sig(WRITTEN / plain, 1)
    assert own / large == pytest.approx(1 / 4, abs=0.02), "at a quarter, where Llama is"
    assert plain / large == pytest.approx(19, abs=0.5), "nineteen tokens each, nearly the rule's"
    even = (own * seen - large * plain) / (large - own)
    assert told["meta_days"] == f"{even / 2e6 / DAY:.0f} days"
    [(more, same), (_, less)] = part(own * 0.9999, seen), part(own, seen * 1.0001)
    assert (more - part(own, seen)[0]) / (same - less) == pytest.approx(float(told["cheap_r"]), abs=0.05)
    assert part(own, seen)[0] > 5 * part(own, seen)[1], "over five times"
    for row, each in zip(results.llama(), ((own, seen), (large, plain))):
        assert results.parts_of(row) == pytest.approx(part(*each), rel=1e-4)
    assert (
        float(told["cheap_ratio"])
        == pytest.approx(WRITTEN / net.training_tokens, rel=0.01)
        == pytest.approx(1 / share - 1, rel=0.01)
    )
    assert large / 8 < (482.01 / good(BESIROGLU)) ** (1 / 0.3478), "an eighth is too small"
    assert told["least_size"] == f"{(482.01 / good(BESIROGLU)) ** (1 / 0.3478) / 1e9:.1f} billion"


@pytest.mark.parametrize("fit", [HOFFMANN, TEX])
def test_the_wall_by_other_fits(fit):
    """An eighth of the twin is in front of it, but would take over a thousand trillion tokens, and cost far more; half
    of the twin costs more than Llama.
    """
    _, a, b, alpha, beta = fit
    loss, (plain, own, _) = good(fit), optimum(fit, served=0)
    tokens = lambda n: (b / (loss - a / n**alpha)) ** (1 / beta)
    assert values("overtraining")["wall_other"] == f"{(a / loss) ** (1 / alpha) / plain:.0%}" == "10%"
    assert own / plain > 50, "far more than 20 tokens for each parameter"
    assert tokens(plain / 8) > 1e15
    assert plain / 8 * (tokens(plain / 8) + WRITTEN) > 3 * plain * (own + WRITTEN)
    assert plain / 2 * (tokens(plain / 2) + WRITTEN) > 8.03e9 * (15e12 + WRITTEN)


PER_FLOP = 5_328_000 / (6 * 37_551_276_032 * 14.8e12)  # dollars, by DeepSeek's run


def paid(text):
    """Dollars as the page prints them."""
    assert text.startswith("$") and text.endswith(" million")
    return float(text.removeprefix("$").removesuffix(" million")) * 1e6


def functions():
    """The names that the page's first program leaves to later ones."""
    return run_cell("overtraining", "def tokens_for")[1]


def numbers_in(line):
    """The numbers of a printed line, in order, without its signs of money."""
    return [float(each) for each in re.findall(r"\d+(?:\.\d+)?", line.replace(",", ""))]


def test_the_program_of_twins():
    """Each twin is the model whose training is cheapest, found here by a slope; Llama's is the page's."""
    said, space = run_cell("overtraining", "def tokens_for")
    rows = {line.split("  twin")[0].strip(): numbers_in(line.split("  twin")[1]) for line in said.splitlines()}
    assert len(rows) == 5 and said.count("\n") == 5
    for name, (size, tokens) in {
        "GPT-3 175B": (175e9, 0.3e12),
        "Chinchilla 70B": (70e9, 1.4e12),
        "Llama 3.1 8B": (8.03e9, 15e12),
        "Qwen3-8B": (8.19e9, 36e12),
        "Qwen3-1.7B": (1.7e9, 36e12),
    }.items():
        [row] = [each for each in results.placed() if each.name == name]
        assert (row.n_active, row.tokens) == (pytest.approx(size, rel=0.02), tokens), "as published"
        assert space["loss"](size, tokens) == pytest.approx(simulation.loss_of(size, tokens, results.law()))
        wanted = 482.01 / size**0.3478 + 2085.43 / tokens**0.3658
        needed = lambda n: (2085.43 / (wanted - 482.01 / n**0.3478)) ** (1 / 0.3658)
        cost = lambda n: n * needed(n)
        wall = (482.01 / wanted) ** (1 / 0.3478)
        twin = bisected(lambda n: cost(n * 1.00001) - cost(n), wall * 1.001, 1e12)
        assert rows[name][0] == pytest.approx(twin / 1e9, rel=0.012, abs=0.5)
        assert rows[name][1] == pytest.approx(needed(twin) / twin, rel=0.02, abs=0.5)
        assert 18 <= rows[name][1] <= 20, "about 20"
    assert rows["Llama 3.1 8B"][0] == float(values("overtraining")["meta_size"].split()[0])
    assert rows["Llama 3.1 8B"][0] / 8.03 == pytest.approx(4, abs=0.3) and 175 / rows["GPT-3 175B"][0] > 4
    assert space["tokens_for"](4.2e9, space["loss"](8.03e9, 15e12)) == math.inf, "behind the wall"


def test_the_program_that_spends_a_million_dollars():
    """Its bars are the two parts of the loss, and the shortest one is at the formula's best size."""
    said, space = run_cell("overtraining", "data_part = ")
    rows, lengths = said.splitlines(), {}
    assert space["flops"] == pytest.approx(1e6 / PER_FLOP, rel=0.01) and len(rows) == 8
    for line in rows:
        (billions, each), bar = numbers_in(line)[:2], line.split()[-1]
        tokens = 6.3e23 / (6 * billions * 1e9)
        assert each == pytest.approx(tokens / (billions * 1e9), abs=0.051)
        parts = 482.01 / (billions * 1e9) ** 0.3478, 2085.43 / tokens**0.3658
        assert f"{sum(parts):.3f}" == line.split()[-2]
        assert [bar.count(letter) for letter in "Sd"] == [round(100 * part) for part in parts]
        lengths[billions] = sum(parts)
    assert (
        min(lengths, key=lengths.get)
        == 75
        == pytest.approx(eq.best_size(results.law(), compute_budget=6.3e23) / 1e9, abs=1)
    )
    drawn = lambda n, flops: sum(round(100 * p) for p in (482.01 / n**0.3478, 2085.43 / (flops / (6 * n)) ** 0.3658))
    tripled = sorted((drawn(billions * 1e9, 3 * 6.3e23), billions) for billions in lengths)
    assert tripled[0][1] == 150 and tripled[0][0] < tripled[1][0], "at three million the shortest bar moves right"


def test_the_program_of_smaller_steps():
    """It goes down as far as Llama, and its bills are those of the page's table."""
    said, space = run_cell("overtraining", '"go smaller"', **functions())
    told, lines = values("overtraining"), said.splitlines()[1:]
    assert space["price"] == pytest.approx(PER_FLOP, rel=0.01) and space["written"] == pytest.approx(WRITTEN, rel=0.01)
    assert space["training"](8.03e9) == pytest.approx(paid(told["small_training"]), rel=0.01)
    assert space["training"](33.9e9) == pytest.approx(paid(told["large_training"]), rel=0.02)
    verdicts = {numbers_in(line)[0]: line.split("  ")[-1] for line in lines}
    assert [size for size, said in verdicts.items() if said == "go smaller"] == [33.9, 24, 17, 12]
    assert (
        verdicts[8.03] == verdicts[6] == "stop"
        and lines[-1].startswith(" 4.2 billion")
        and lines[-1].endswith("  behind the wall")
    )
    for size, smaller in ((8.03e9, True), (6e9, False)):
        step = space["training"](0.99 * size) - space["training"](size)
        assert (step < 10 * 0.06 * space["price"] * size * space["written"]) == smaller, "at ten times the traffic"
    _, more, saved = numbers_in(lines[0])
    [(_, at_llama, spared)] = [row for row in map(numbers_in, lines) if row[0] == 8.03]
    assert at_llama == pytest.approx(50_000, rel=0.03) == spared, "about fifty thousand, and about as much"
    assert 0.04 < at_llama / paid(told["small_training"]) < 0.05, "more than four percent"
    assert more == 6 and 195_000 < saved < 210_000, "six dollars and two hundred thousand"
    assert pytest.approx(33.9 / 8, abs=0.05) == 4.2


def test_the_figure_of_contexts():
    """A quarter becomes a half; with Llama's cache for the twin nothing is left at the page's context."""
    alt = figures.with_kv().alt
    cost = lambda size, cache, context: max(2 * size / 115.6e12, context * cache / (0.5 * 3.35e12))
    share = lambda context: cost(8.03e9, 65_536, context) / cost(33.9e9, 131_072, context)
    assert f"{share(1_000):.0%} at 1,000 tokens and {share(16_384):.0%} at 16,384 tokens" in alt
    assert share(1_000) == pytest.approx(0.25, abs=0.02) and share(16_384) == share(65_536) == 0.5
    assert cost(33.9e9, 65_536, 16_384) == cost(8.03e9, 65_536, 16_384), "nothing would be saved"


def test_the_program_of_a_model_of_your_own():
    """Its fewest tokens are those of the search, nearly four years of the running case."""
    said, space = run_cell("overtraining", "a_year = ", **functions())
    rows = [numbers_in(line) for line in said.splitlines()[1:]]
    row, written = results.beats_free()
    size, read, pays, years = min(rows, key=lambda each: each[2])
    assert (size, read) == (pytest.approx(row.n_active / 1e9, abs=0.2), pytest.approx(row.tokens / 1e12, abs=2))
    assert read > 2 * 15, "more than twice Llama's text"
    assert pays == pytest.approx(written / 1e12, rel=0.02) and years == pytest.approx(written / WRITTEN, abs=0.06)
    assert 3.7 < years < 4 and space["a_year"] == pytest.approx(WRITTEN, rel=0.01)


def test_at_the_full_rate_of_training_a_larger_model_is_cheapest():
    size = optimum(BESIROGLU, efficiency=1)[0]
    assert values("overtraining")["full_size"] == f"{size / 1e9:.1f} billion" and size > 1.1 * 8.03e9
    assert all(optimum(fit, efficiency=1)[0] > 8.03e9 for fit in (HOFFMANN, TEX))


def test_both_bills_of_the_pair():
    """Every bill is six FLOPs for each parameter and each token, read or written; its sums are those of its rows."""
    told, (large, plain, _) = values("overtraining"), optimum(BESIROGLU, served=0)
    for key, size, seen in (("small", 8.03e9, 15e12), ("large", large, plain)):
        bills = [6 * size * tokens * PER_FLOP for tokens in (seen, WRITTEN, seen + WRITTEN)]
        printed = [paid(told[f"{key}_{name}"]) for name in ("training", "serving", "both")]
        assert printed == pytest.approx(bills, rel=0.01)
        assert printed[0] + printed[1] == pytest.approx(printed[2], abs=0.06e6)
    assert paid(told["large_serving"]) / paid(told["small_serving"]) == pytest.approx(4.2, abs=0.05), "a quarter"
    assert paid(told["small_training"]) / paid(told["large_training"]) == pytest.approx(5.5, abs=0.1), "five times"
    assert paid(told["large_both"]) - paid(told["small_both"]) == pytest.approx(14.5e6, abs=0.5e6), "over fourteen"
    assert paid(told["large_serving"]) - paid(told["small_serving"]) == pytest.approx(15.5e6, abs=0.4e6), "over fifteen"
    assert paid(told["small_training"]) - paid(told["large_training"]) < 1e6, "less than a million"
    assert told["extra_besiroglu"] == f"${(6 * (8.03e9 * 15e12 - large * plain) * PER_FLOP) / 1e6:.2f} million"
    slow = 1.46e6 * 2 * (1 - large * plain / (8.03e9 * 15e12))  # both at Meta's pace
    assert told["extra_slow"].endswith(f" to ${slow / 1e6:.1f} million")
    days = slow / (6 * (large - 8.03e9) * PER_FLOP) / 2e6 / DAY
    assert told["slow_days"] == f"{days:.0f}"
    serving = [6 * size * WRITTEN * PER_FLOP for size in (8.03e9, large)]  # at its price, and training at Meta's
    training = [1.46e6 * 2, 1.46e6 * 2 * large * plain / (8.03e9 * 15e12)]
    assert told["slow_saved"] == f"{1 - (training[0] + serving[0]) / (training[1] + serving[1]):.0%}"
    assert 0.0095 < paid(told["large_training"]) / paid(told["large_both"]) < 0.0105, "one percent"


def test_the_pair_as_ratios():
    """Parameters, tokens, and bills of six FLOPs for each parameter and token: Llama's by its twin's."""
    told, (large, plain, _) = values("overtraining"), optimum(BESIROGLU, served=0)
    ratios = {
        "size": 8.03e9 / large,
        "tokens": 15e12 / plain,
        "training": 8.03e9 * 15e12 / (large * plain),
        "serving": 8.03e9 / large,
        "both": 8.03e9 * (15e12 + WRITTEN) / (large * (plain + WRITTEN)),
    }
    for name, ratio in ratios.items():
        assert float(told[f"llama_{name}"]) == pytest.approx(ratio, rel=0.03)


def test_what_the_page_says_of_traffic_in_words():
    """The rule is exact at one traffic, of which less asks for more tokens than are served, and more for fewer."""
    told = values("overtraining")
    trained = lambda served: optimum(BESIROGLU, served=served)[1]
    assert trained(1.95e12) > 1.95e12 and trained(2.05e12) < 2.05e12
    assert told["even_ratio"] == f"{2e12 / optimum(BESIROGLU, served=0)[1]:.0f}"
    assert told["ds_written"] == "168 billion" and pytest.approx(WRITTEN, rel=0.05) == 168e9 * 365, (
        "a year of days like DeepSeek's"
    )
    size = [optimum(BESIROGLU, served=times * WRITTEN)[0] for times in (0.5, 1, 2)]
    cost = lambda n, served: n * (((2085.43 / (good(BESIROGLU) - 482.01 / n**0.3478)) ** (1 / 0.3658)) + served)
    at = lambda row, times: cost(size[1], times * WRITTEN) / cost(size[row], times * WRITTEN) - 1
    assert told["off_most"] == f"{max(at(0, 0.5), at(2, 2)):.0%}", "half or twice the traffic"


def test_what_the_other_fits_say_of_the_pair():
    """Chinchilla's two, by searches of their own: the wrong traffic, Llama at twice the traffic, and equal bills."""
    told, off, llama, even, extra, spared, shares = values("overtraining"), [], [], [], [], [], []
    for fit in (HOFFMANN, TEX, BESIROGLU):
        _, a, b, alpha, beta = fit
        loss, (plain, own, _), (size, data, _) = good(fit), optimum(fit, served=0), optimum(fit)
        cost = lambda n, served: n * ((b / (loss - a / n**alpha)) ** (1 / beta) + served)
        key = {HOFFMANN: "hoffmann", TEX: "tex", BESIROGLU: "besiroglu"}[fit]
        assert told[f"ratio_{key}"] == sig(WRITTEN / own)
        assert told[f"train_{key}"] == f"{8.03e9 * 15e12 / (plain * own):.1f}"
        assert told[f"times_{key}"] == f"{data / own:.0f}"
        extra.append(6 * (8.03e9 * 15e12 - plain * own) * PER_FLOP / 1e6)
        spared.append(6 * (plain - 8.03e9) * WRITTEN * PER_FLOP / 1e6)
        shares.append(8.03e9 / plain)
        assert paid(told[f"extra_{key}"]) / 1e6 == pytest.approx(extra[-1], abs=0.006)
        assert paid(told[f"spared_{key}"]) / 1e6 == pytest.approx(spared[-1], abs=0.06)
        assert spared[-1] - extra[-1] > 10, "over ten million"
        if fit is BESIROGLU:
            continue
        nearer = results.needed(results.by_power(1, WRITTEN / own)[0])  # the page's figure, at this fit's ratio
        assert 1 - nearer * own / data < 0.25, "the ratio explains most of the 23 against 12 or 15"
        ends = {times: optimum(fit, served=times * WRITTEN)[0] for times in (0.5, 2)}
        off += [cost(size, times * WRITTEN) / cost(best, times * WRITTEN) - 1 for times, best in ends.items()]
        llama.append(cost(8.03e9, 2 * WRITTEN) / cost(ends[2], 2 * WRITTEN) - 1)
        even.append(2 * equal(fit)[0] * WRITTEN / cost(8.03e9, WRITTEN) - 1)
    assert told["off_other"] == f"{max(off):.0%}"
    assert told["llama_off"] == f"{min(llama):.0%} to {max(llama):.0%}"
    assert told["equal_other"] == " or ".join(f"{each:.0%}" for each in even)
    assert told["spared_range"] == f"${min(spared):.0f} to ${max(spared):.0f} million"
    assert 0.23 < min(shares) < max(shares) < 1 / 3, "a quarter to a third; three to four times"


GROWN = ("llama-3.1-8b", "qwen3-32b", "llama-3.1-70b", "llama-3.1-405b")


def tried(ratio, power=1.0, quality=1.0):
    """The cheapest size and its tokens of training, in units of the best-trained model's, by trying sizes."""
    _, a, b, alpha, beta = BESIROGLU
    full = 34e9 * quality
    own = (beta * b / (alpha * a)) ** (1 / beta) * full ** (alpha / beta)
    left = a / full**alpha + b / own**beta
    tokens = lambda n: (b / (left - a / (n * full) ** alpha)) ** (1 / beta) / own
    size = min((n / 2_000 for n in range(300, 2_001)), key=lambda n: n * tokens(n) + ratio * n**power)
    return size, tokens(size)


@pytest.mark.parametrize("ratio", [1, 3, 10, 30, 100])
def test_the_figure_of_ratios_draws_the_rule(ratio):
    """Its best sizes are those tried, at several qualities, which must not matter."""
    own, saved = results.by_power(1, ratio)
    for quality in (0.1, 1, 10):
        size, data = tried(ratio, quality=quality)
        assert own == pytest.approx(size, abs=0.0075)
        assert results.needed(own) == pytest.approx(data, rel=0.03)
    assert saved == pytest.approx(1 - size * (data + ratio) / (1 + ratio), abs=0.006)
    paid_at = lambda n, times: n * (results.needed(n) + times * ratio)
    off = [paid_at(own, t) / paid_at(results.by_power(1, t * ratio)[0], t) - 1 for t in (0.5, 2)]
    assert f"{max(off):.0%}" in ("2%", values("overtraining")["off_most"]), "half or twice the traffic"


def test_the_best_size_in_a_long_context():
    """The same with the square root, tried; the size hardly changes, by either power."""
    told = values("overtraining")
    for power in (1, 0.5):
        size, _ = tried(200, power)
        assert float(told["long_size"].rstrip("%")) / 100 == pytest.approx(size, abs=0.01)
    size, _ = tried(100)
    assert float(told["short_size"].rstrip("%")) / 100 == pytest.approx(size, abs=0.01)


def test_loading_the_cache_against_the_arithmetic():
    """At the speeds that the running case reaches, and at those of MatX's example, the H100's peaks."""
    told, peak = values("overtraining"), 1_979e12 / 3.35e12
    per_byte = 6 * 37_551_276_032 * 14.8e12 / (2_664_000 * 3600) / 3 / (0.5 * 3.35e12)
    assert (told["kv_per_byte"], told["matx_per_byte"]) == (f"{per_byte:.0f}", sig(peak, 1))
    assert told["kv_load"] == f"{16_384 * 65_536 * per_byte / 1e9:.0f} billion"
    assert told["kv_compute"] == f"{2 * 8.03:.0f} billion"
    ratio = lambda flops: sig(8_192 * 65_536 * flops / (2 * 8.03e9))
    assert (told["matx_ratio"], told["matx_ours"]) == (ratio(peak), ratio(per_byte)) and ratio(peak) == "20", "as MatX"


def test_the_pair_of_first_llama_models():
    """33 billion parameters need a third more text than 65 billion, as read off; our fit says twice the text."""
    told, found = values("overtraining"), []
    for _, a, b, alpha, beta in (BESIROGLU, HOFFMANN, TEX):
        left = a / 65.2e9**alpha + b / 600e9**beta - a / 32.5e9**alpha
        found.append(f"{(b / left) ** (1 / beta) / 600e9:.1f}")
    assert told["pair_fit"] == found[0] == "2.0" and told["pair_other"] == " and ".join(sorted(found[1:]))
    assert told["pair_read"] == f"{sig(800 / 600)} times" and 800 / 32.5 < 25


def test_the_example_of_a_model_of_your_own():
    """Its twin and its cheapest model, by the figure of ratios, tried; a third of the size, half of both bills."""
    told, (plain, own, _) = values("overtraining"), chinchilla(0)
    (size, read, _), written = chinchilla(13e12), 13e12
    assert (told["recipe_written"], told["recipe_prompts"]) == ("10 trillion", "9 trillion")
    assert told["recipe_counted"] == f"{10 + 9 / 3:g} trillion" == f"{written / 1e12:g} trillion"
    assert (told["recipe_twin"], told["recipe_read"]) == (f"{plain / 1e9:.0f} billion", f"{own / 1e12:.1f} trillion")
    assert (told["recipe_size"], told["recipe_tokens"]) == (f"{size / 1e9:.0f} billion", f"{read / 1e12:.1f} trillion")
    assert written / own == pytest.approx(10, rel=0.05), "about ten"
    tried_size, data = tried(10)
    assert (size / plain, read / own) == pytest.approx((tried_size, data), rel=0.03)
    assert size / plain == pytest.approx(1 / 3, abs=0.02) and 5.5 < read / own < 6, "a third, nearly six times"
    assert size * (read + written) / (plain * (own + written)) == pytest.approx(0.5, abs=0.01), "half of both bills"
    assert read / 1e12 < float(told["web_tokens"].split()[0])
    assert told["text_times"] == sig(WRITTEN / 15e12, 1)


def chinchilla(served):
    """The cheapest model of Chinchilla's quality, by a slope that is measured."""
    _, a, b, alpha, beta = BESIROGLU
    loss = a / 70e9**alpha + b / 1.4e12**beta
    tokens = lambda n: (b / (loss - a / n**alpha)) ** (1 / beta)
    cost = lambda n: n * (tokens(n) + served)
    best = bisected(lambda n: cost(n * 1.000001) - cost(n), (a / loss) ** (1 / alpha) * 1.001, 1e12)
    return best, tokens(best), cost(best)


def test_at_a_tenth_of_the_traffic():
    told, (large, plain, _) = values("overtraining"), optimum(BESIROGLU, served=0)
    bills = [6 * n * (seen + WRITTEN / 10) * PER_FLOP for n, seen in ((8.03e9, 15e12), (large, plain))]
    assert told["saved_tenth"] == f"{1 - bills[0] / bills[1]:.0%}"
    size, data, _ = optimum(BESIROGLU, served=WRITTEN / 10)
    assert size > 8.03e9 and 6 * size * (data + WRITTEN / 10) * PER_FLOP < 0.7 * bills[0], "a larger model is cheaper"


def test_the_traffic_of_the_larger_sister():
    """By trying traffic: that for which no other size is cheaper."""
    told, size, seen = values("overtraining"), 70.6e9, 15e12
    _, a, b, alpha, beta = BESIROGLU
    loss = a / size**alpha + b / seen**beta
    cost = lambda n, served: n * ((b / (loss - a / n**alpha)) ** (1 / beta) + served)
    served = bisected(lambda served: cost(size, served) - cost(size * 0.9999, served), 1e12, 1e15)
    assert told["sister_written"] == f"{sig(served / 1e12)} trillion"
    assert told["sister_ratio"] == f"{served / seen:.1f}"


def test_equal_bills_below_a_ratio_of_one_are_no_help():
    """They are at a size above the rule's, found by trying sizes, and cost more than the rule's model does."""
    told, (_, _, _, a, b) = values("overtraining"), BESIROGLU
    tokens = lambda n: ((a + b - b * n**-a) / a) ** (-1 / b)
    sizes = [1 + n / 1000 for n in range(10_000)]
    half = min(sizes, key=lambda n: abs(tokens(n) - 0.5))
    assert told["low_size"] == f"{half:.1f}"
    assert told["low_half"] == f"{half * 2 * 0.5 / 1.5 - 1:.0%}"
    assert tokens(1e15) == pytest.approx(0.14, abs=0.005), "and below this they never meet"


def test_how_caches_grow_with_size():
    known = {id: (model(id).n_active, model(id).symbols(kv="fp8")["kv_bytes_per_token"]) for id in GROWN}
    power = lambda a, b: math.log(known[a][1] / known[b][1]) / math.log(known[a][0] / known[b][0])
    assert power("qwen3-32b", "llama-3.1-8b") == pytest.approx(0.5, abs=0.02)
    told, powers = values("overtraining"), [power(f"llama-3.1-{size}b", "llama-3.1-8b") for size in (70, 405)]
    assert [told[f"kv_power_{size}"] for size in (70, 405)] == [f"{each:.2f}" for each in powers] == ["0.42", "0.35"]
    short, long = paid(told["small_serving"]), paid(told["kv_bill_8"])
    assert long > 4 * short and long / 2 > 2 * short, "over four times, and a step saves over twice as much"
    for name, each in (("short", short), ("low", long * powers[1])):
        step = float(told[f"step_{name}"].removeprefix("$").replace(",", ""))
        assert step == pytest.approx(each / 100, rel=0.012)
        assert name == "short" or step > 1.5 * short / 100, "more than in short contexts"


def test_what_smaller_models_take():
    """By the figure and its text: training at equal quality, in units of the best-trained model's; at several sizes."""
    told = values("overtraining")
    _, a, b, alpha, beta = BESIROGLU
    for size in (1e9, 33.9e9, 75e9):
        own = (beta * b / (alpha * a)) ** (1 / beta) * size ** (alpha / beta)
        loss = a / size**alpha + b / own**beta
        tokens = lambda n: (b / (loss - a / n**alpha)) ** (1 / beta)
        assert told["half_more"] == f"{tokens(size / 2) / 2 / own - 1:.0%}"
        assert told["wall_share"] == f"{(a / loss) ** (1 / alpha) / size:.0%}"
        assert [results.needed(share) for share in (0.2, 0.5, 1)] == pytest.approx(
            [tokens(share * size) / own for share in (0.2, 0.5, 1)]
        )


def test_the_twin_that_would_cost_as_much_as_llama():
    told = values("overtraining")
    size = float(told["safe_twin"].split()[0]) * 1e9
    assert size * (20 * size + WRITTEN) == pytest.approx(8.03e9 * (15e12 + WRITTEN), rel=0.05)
    assert told["safe_tokens"] == f"{20 * size / 1e12:.1f} trillion"
    rival = [told[f"dclm_{name}"] for name in ("size", "tokens", "score")]
    assert rival == ["7 billion", "0.28 trillion", "51%"], "by DCLM's README"
    assert pytest.approx(20 * size**2, rel=0.05) == 7e9 * 0.28e12, "about as much training"


def test_sardanas_example():
    size, data, _ = optimum(SARDANA, efficiency=1, size=13e9, served=2e12)
    own = (0.283 * 410.7 / (0.336 * 406.4)) ** (1 / 0.283) * 13e9 ** (0.336 / 0.283)
    told, saved = values("overtraining"), 1 - size * (3 * data + 2e12) / (13e9 * (3 * own + 2e12))
    assert (told["sardana_size"], told["sardana_saved"]) == (f"{size / 1e9:.1f} billion", f"{saved:.0%}")


@pytest.mark.parametrize(("key", "cache"), [("8", 65_536), ("34", 131_072), ("same", 65_536)])
def test_what_a_cache_leaves_of_the_saving(key, cache):
    """In seconds of one GPU: half of an H100's bandwidth, the rate of DeepSeek's run, two dollars an hour."""
    told, (large, plain, _) = values("overtraining"), optimum(BESIROGLU, served=0)
    size, seen = (8.03e9, 15e12) if key == "8" else (large, plain)
    rate = 6 * 37_551_276_032 * 14.8e12 / (2_664_000 * 3600)
    loading, compute = 16_384 * cache / (0.5 * 3.35e12), 2 * size / (rate / 3)
    bill = lambda seconds: seconds * 2 / 3600 * WRITTEN
    training = 6 * size * seen * PER_FLOP
    assert loading > compute
    if key != "same":
        assert paid(told[f"kv_bill_{key}"]) == pytest.approx(bill(loading), rel=0.01)
    if key == "34":
        assert bill(loading) > 2 * bill(compute), "more than doubles"
        twin = bill(loading) + training
        llama = bill(loading / 2) + 6 * 8.03e9 * 15e12 * PER_FLOP
        assert told["kv_saved"] == f"${(twin - llama) / 1e6:.1f} million"
    if key != "same":
        first = {"8": "small", "34": "large"}[key]  # in short contexts the page's first table
        assert paid(told[f"{first}_serving"]) == pytest.approx(bill(compute), rel=0.01)
        assert paid(told[f"{first}_both"]) == pytest.approx(bill(compute) + training, rel=0.01)
    each, ours = 16_384 * cache, 16_384 * 65_536
    room = (0.9 * 80e9 - size) // each  # sequences beside the weights, in a byte each
    if key != "8":
        share = (ours + 8.03e9 / ((0.9 * 80e9 - 8.03e9) // ours)) / (each + size / room)  # of bytes loaded for a token
        assert float(told["kv_alone" if key == "34" else "kv_same"].rstrip("%")) == pytest.approx(100 * share, abs=1)
    if key == "8":
        assert float(told["kv_bend_8"].replace(",", "")) == pytest.approx(16_384 * compute / loading, rel=0.03)
    if key == "same":  # where the twin would begin to cost what Llama does
        assert 16_384 * compute / loading == pytest.approx(15_000, rel=0.01), "fifteen thousand"


def test_half_and_a_quarter_and_a_third():
    """What the prose says of the bills in words."""
    told = values("overtraining")
    bills = {name: paid(told[name]) for name in ("small_serving", "large_serving", "large_training")}
    assert bills["small_serving"] / bills["large_serving"] == pytest.approx(0.25, abs=0.02)
    load = 16_384 * 131_072 / (0.5 * 3.35e12)
    half = load / 2
    rate = 6 * 37_551_276_032 * 14.8e12 / (2_664_000 * 3600) / 3
    llama, twin = 2 * 8.03e9 / rate, 2 * optimum(BESIROGLU, served=0)[0] / rate
    assert half > twin, "loading sets every bill"
    bill = paid(told["kv_bill_34"]) / 1e6
    turns = (llama + half) / (twin + half)
    assert float(told["kv_added"].rstrip("%")) / 100 == pytest.approx(1 - turns, abs=0.01)
    assert sig(bill * 1e6 / bills["large_training"], 1) == "200", "of the search by powers"


def test_who_writes_enough_to_beat_a_llama_that_is_free():
    """By trying sizes: the fewest tokens after which a smaller model has paid for its training, by all three fits."""
    found = []
    for _, a, b, alpha, beta in (BESIROGLU, HOFFMANN, TEX):
        loss = a / 8.03e9**alpha + b / 15e12**beta
        tokens = lambda n: (b / (loss - a / n**alpha)) ** (1 / beta)
        sizes = [n * 1e6 for n in range(5_000, 8_030) if loss > a / (n * 1e6) ** alpha]
        paid_after = lambda n: n * tokens(n) / (8.03e9 - n)
        size = min(sizes, key=paid_after)
        found.append((size, tokens(size), paid_after(size)))
    (size, tokens_read, written), *others = found
    numbered, after = results.beats_free()
    assert (numbered.n_active, after) == pytest.approx((size, written), rel=1e-3), "by the first-order condition"
    assert 3.7 < written / WRITTEN < 3.9, "nearly four years"
    low, high = sorted(after for _, _, after in others)
    assert low > 1.5 * WRITTEN and high < 2 * WRITTEN, "one and a half to two years"


def test_the_figure_has_every_model_whose_tokens_the_catalogue_knows():
    """By the makers' own tables of tokens: no model trained longer than those drawn."""
    rows = [row for id in ("training_gpu_hours", "training_tokens") for row in measurement(id).records()]
    drawn = {p.name: p.tokens for p in results.placed()}
    assert max(drawn.values()) == max(row["pretraining_tokens"] for row in rows) == 40e12
    large = [row for row in rows if row["n_total"] > 100e9]
    assert {row["model"].split("-A")[0] for row in large} <= {name.split("-A")[0] for name in drawn}


def test_equal_costs_are_what_the_flashcard_says():
    """D_pre = 7/6 D_RL = D_inf at an efficiency of a third and three FLOPs a token of RL, one of them training."""
    tokens, served, rl = 3.5e14, 3.5e14, 3e14
    known = {
        "n_active": 1e11,
        "pretrain_tokens": tokens,
        "inference_tokens": served,
        "rl_tokens": rl,
        "rl_flop": 3,
        "decode_efficiency": 1 / 3,
    }
    parts = eq.total_compute.terms
    values = [part(**{name: known[name] for name in part.free}) for part in parts.values()]
    assert values == pytest.approx([2.1e26] * 3)


def test_a_factor_of_two_is_the_most_that_equal_costs_can_lose():
    """Any rising and any falling curve: here steep, flat and broken ones, on a grid."""
    scales = [10 ** (n / 200) for n in range(-600, 601)]
    rising = (lambda x: x**5, lambda x: x**0.05, lambda x: max(0.3, x), lambda x: 1 + x**2)
    falling = (lambda x: 1 / x, lambda x: x**-0.02, lambda x: max(0.3, 2 / x**3), lambda x: 5 / x)
    for up in rising:
        for down in falling:
            crossing = min(scales, key=lambda x: abs(up(x) - down(x)))
            assert up(crossing) + down(crossing) <= 2.1 * min(up(x) + down(x) for x in scales)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(FormulaError, match="rl_flop"):
        eq.rl_compute(rl_flop=9, n_active=1e9, rl_tokens=1e9, decode_efficiency=0.3)
    with pytest.raises(FormulaError, match="decode_efficiency"):
        eq.inference_compute(n_active=1e9, inference_tokens=1e9, decode_efficiency=1.5)
    with pytest.raises(FormulaError, match="holds only where"):
        eq.tokens_for_loss(n_active=1e6, loss=2.0, **results.law())


def test_below_a_serving_ratio_of_one_the_rule_pays_less_than_a_seventh_too_much():
    """The cheapest size of a fit's exponents, tried one by one; the share saved grows with the ratio."""
    a, b = BESIROGLU[3:]
    tokens = lambda size: ((a + b - b * size**-a) / a) ** (-1 / b)
    saved = [
        1 - min(n / 500 * (tokens(n / 500) + ratio) for n in range(150, 501)) / (1 + ratio) for ratio in (0.2, 0.6, 1)
    ]
    assert saved == sorted(saved) and 0.13 < saved[-1] < 1 / 7
