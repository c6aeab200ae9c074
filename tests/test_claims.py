"""The ledger of claims: complete, its numbers right by plain arithmetic, and no verdict that does not hang on them."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from cases import cases
from lessons import ROOT, values
from msgspec.structs import force_setattr
from test_prose import typed_numbers

from blackboard import catalogue
from blackboard.catalogue.datafile import UnknownId, load
from blackboard.formula import BoundFormula, Formula, formulas
from blackboard.lessons.sparsity import results
from blackboard.reference import claim_list as books
from blackboard.reference import claims
from blackboard.reference.claim_list import (
    COMPUTED,
    CONTRADICTED,
    EDGE,
    FAILS,
    HOLDS,
    PART,
    ROUGH,
    VERDICTS,
    WITHIN,
    Part,
    judge,
)
from blackboard.reference.lecture_claims import all_claims
from blackboard.units import significant

PAGE = ROOT / "book" / "claims.md"
IDS = [claim.id for claim in all_claims]
every = cases("id", IDS)


def row(id):
    """A claim with its numbers, as the page has it."""
    return next(row for row in claims.judged() if row.claim.id == id)


# --- nothing is left out ----------------------------------------------------------------------------------------------


def test_every_prediction_model_number_and_point_is_entered():
    due = (
        [f"P{n}" for n in range(1, 6)]
        + [f"M{n}" for n in range(1, 5)]
        + [f"C{n}" for n in range(1, 5)]
        + [f"12.{n}" for n in range(1, 24) if n != 18]  # that one called certain what its article calls likely
    )
    assert IDS[: len(due)] == due
    assert {claim.group for claim in all_claims} == set(claims.GROUPS)


REPEATED = [
    "about 300",
    "300 multiply-adds",
    "2,000 to 3,000",
    "20 ms",
    "15 ms",
    "40 ms",
    "128,000",
    "thousandth",
    "about 100 times",
    "150 trillion",
    "1,000 times",
    "six times the price",
    "$2 an hour",
    "2.8 times",
    "24 times",
    "2 to 4 times",
    "60 to 80%",
    "30 to 40%",
    "thousands of requests",
    "hundreds of millions",
    "some 500 GPUs",
    "288 GB",
    "20 TB/s",
    "1/5",
    "10 times cheaper",
    "3 to 5 times",
    "2 kB",
    "64 times the experts",
    "square root",
    "37 billion",
    "300 to 1",
    "up to 100",
    "11 blocks",
    "20 tokens a parameter",
    "1.8 to 2 times",
]


@cases("number", REPEATED)
def test_every_number_that_articles_repeat_is_entered(number):
    assert any(number in claim.statement for claim in all_claims)


def test_no_claim_is_entered_twice():
    assert len(IDS) == len(set(IDS)) and len({claim.statement for claim in all_claims}) == len(IDS)
    with pytest.raises(ValueError, match="two claims"):
        all_claims.enter("P1")


# --- what a claim must have -------------------------------------------------------------------------------------------


@every
def test_a_claim_says_why_and_whence(id):
    claim = all_claims[id]
    assert claim.statement.endswith((".", "?")) and claim.who and claim.cites
    assert not [key for key in claim.cites if not books.known(key)]
    assert set(claim.formulas) <= set(formulas)


@every
def test_a_verdict_is_computed_unless_a_document_is_cited(id):
    claim = all_claims[id]
    if claim.stated is None:
        assert row(id).verdict in COMPUTED and row(id).parts
    else:
        assert claim.stated not in COMPUTED, "what numbers decide is not stated"
        assert claim.sources, "a stated verdict needs its document"
        assert (claim.stated is CONTRADICTED) == bool(claim.by)


NAMES = r"(Llama|Claude Opus|Gemini|DeepSeek-V)\s?\d+(\.\d+)?(\s\d+B)?"


@every
def test_the_sentence_is_the_one_of_this_verdict_and_its_numbers_are_computed(id):
    claim, found = all_claims[id], row(id)
    assert found.because, f"no sentence for “{found.verdict.label}”: read the numbers again, then write one"
    assert not re.search(r"[{}]", found.because + found.label)
    template = " ".join(claim.because.values())
    typed = typed_numbers(re.sub(NAMES, " ", re.sub(r"\{[^}]*\}", " ", template).replace("–", " ")))
    assert typed <= typed_numbers(claim.statement) | set(claim.quotes), "compute it, or say in `quotes` what it quotes"
    assert set(claim.quotes) <= typed, "nothing quotes these"


def headings(lesson):
    """Anchors of a lesson's headings as Sphinx makes them."""
    from docutils.nodes import make_id

    text = re.sub(r"```.*?```", "", (ROOT / "book" / f"{lesson}.md").read_text("utf8"), flags=re.S)
    return {make_id(title.replace('"', "")) for title in re.findall(r"^#+ (.+)$", text, re.M)}


@every
def test_the_lesson_that_treats_it_has_that_heading(id):
    place = all_claims[id].at
    assert place.href.partition("#")[2] in headings(place.lesson)


def test_documents_that_the_bibliography_has_too_have_the_same_address():
    bib = (ROOT / "book" / "references.bib").read_text("utf8")
    urls = dict(re.findall(r"@misc\{(\w+),.*?url = \{(.*?)\}", bib, re.S))
    shared = set(urls) & set(books.DOCUMENTS)
    assert shared and all(books.DOCUMENTS[key].url == urls[key] for key in shared)


# --- who says it ------------------------------------------------------------------------------------------------------

ARTICLES = tuple(f"{letter} " for letter in "ABCDE")
STATEMENTS = {
    f"{row.id} {place}": description
    for row in load(books.Speaker).values()
    for place, description in row.statements.items()
}
COMMON = {"about", "again", "been", "have", "long", "model", "models", "that", "their", "them", "they", "times", "with"}


def words(text):
    """Stems of the longer words of a sentence, without those that most sentences here have, and its acronyms."""
    long = {word[:5] for word in re.findall(r"[a-zäöü]{4,}", text.lower()) if word not in COMMON}
    return long | set(re.findall(r"[A-Z]{2,}", text))


def strays(claim, names):
    """What is wrong with taking a claim from these statements: figures that none of them has, and statements that
    have nothing of the claim.
    """
    own = typed_numbers(claim.statement)
    wrong = sorted(own - set().union(*(typed_numbers(STATEMENTS[name]) for name in names)))
    for name in names:
        figures = typed_numbers(STATEMENTS[name])
        near = own & figures if own and figures else len(words(claim.statement) & words(STATEMENTS[name])) >= 2
        wrong += [] if near else [name]
    return wrong


@every
def test_a_claim_says_no_more_than_the_statements_that_it_is_taken_from(id):
    assert strays(all_claims[id], all_claims[id].who) == []


@pytest.mark.parametrize(
    ("id", "names"),
    [
        ("T3", ["A 3"]),
        ("T4", ["A 3"]),
        ("T5", ["A 3"]),
        ("T6", ["A 3"]),
        ("T10", ["A 7"]),
        ("T12", ["A 7"]),
        ("N4", ["lecture 0:24:13–0:24:32", "D 2"]),
        ("N9", ["lecture 0:04:23", "E 7"]),
        ("N12", ["C 13"]),
        ("N19", ["C 16"]),
        ("N21", ["E 6"]),
        ("N24", ["lecture 0:44:45–0:46:15", "C 9"]),
        ("12.10", ["lecture 0:12:31", "D 3"]),
    ],
)
def test_a_claim_laid_to_the_wrong_source_is_noticed(id, names):
    assert strays(all_claims[id], names)


NOWHERE = (
    "60 to 80",
    "24 times",
    "4%",
    "2 to 4",
    "11 blocks",
    "1.8",
    "15 ms",
    "288 GB",
    "20 TB",
    "$2",
    "640 GB",
    "half of the peak",
)


@pytest.mark.parametrize("figure", NOWHERE)
def test_figures_of_papers_and_of_the_lecture_are_laid_to_no_article(figure):
    inside = re.compile(rf"(?<!\d){re.escape(figure)}(?!\w)", re.I)
    stated = [name for name, description in STATEMENTS.items() if inside.search(description)]
    assert stated, "nobody states it"
    assert not [name for name in stated if name.startswith(ARTICLES)]


@pytest.mark.parametrize(("phrase", "letter", "id"), [("1,000 times", "D", "N9"), ("square root", "E", "12.10")])
def test_what_one_article_alone_says_is_laid_to_that_one(phrase, letter, id):
    assert {
        name[0] for name, description in STATEMENTS.items() if phrase in description and name.startswith(ARTICLES)
    } == {letter}
    assert {name[0] for name in all_claims[id].who if name.startswith(ARTICLES)} == {letter}


def test_what_documents_of_the_field_state_is_what_the_catalogue_records_of_them():
    """The statements are written from the documents; measurements.yaml was filled from them apart."""
    [paging] = catalogue.measurement("vllm_paging").records()
    assert f"{paging['low_gain']:g} to {paging['high_gain']:g} times" in STATEMENTS["kwon2023 abstract"]
    [bench] = catalogue.measurement("torch_compile_geomean").records(who="TorchBench, in vLLM's post")
    assert f"{bench['low_speedup']:g} to {bench['high_speedup']:g} times" in STATEMENTS["vllm_compile why"]
    [ngram] = catalogue.measurement("spec_decoding_others").records(
        method="n-gram", setting="CNN/DailyMail, 1 request/s"
    )
    assert f"{ngram['factor']:g} times" in STATEMENTS["vllm_spec_decode title"]
    rent = catalogue.chip("h800").rent("accounting")
    assert f"${rent.usd_per_chip_hour:g} an hour" in STATEMENTS["ds_infra cost"]


@pytest.mark.parametrize(
    "who",
    [
        "a summary",
        (),
        ("a summary",),
        ("F 1",),
        ("A",),
        ("A 9",),
        ("lecture 0:19:17",),
        ("lecture",),
        ("vllm_blog", "B prediction 1"),
    ],
)
def test_a_claim_that_nobody_is_known_to_make_is_refused(who):
    with pytest.raises((ValueError, UnknownId)):
        replace(all_claims["P1"], who=who)


@pytest.mark.parametrize(
    ("id", "place"),
    [
        ("a summary", "1"),
        ("F", "1"),
        ("no_such_paper", "abstract"),
        ("lecture", "19:16"),
        ("lecture", "2:20:00"),
        ("lecture", "0:20:00–0:19:00"),
        ("lecture", "the end"),
    ],
)
def test_a_statement_stands_in_an_article_at_a_time_or_in_a_document(id, place):
    with pytest.raises(ValueError, match="neither|not a time|is over"):
        books.Speaker(id=id, statements={place: "Something"})


def test_no_document_is_quoted_in_vain():
    """Of articles all is listed, for what no claim is taken from as well; of the rest only what one is taken from."""
    taken = {name for claim in all_claims for name in claim.who}
    idle = [name for name in STATEMENTS if name not in taken and not name.startswith(ARTICLES)]
    assert idle == ["lecture 0:54:16"]


def test_a_card_leads_to_the_place_where_its_claim_is_made():
    assert [*map(claims._said, all_claims["P1"].said)] == [
        '<a href="https://dwarkesh.cloudunlocked.com/guests/reiner-pope">Article B (The Dwarkesh Reference,'
        " 2026-05-22), prediction 1</a>",
        '<a href="https://www.youtube.com/watch?v=xmkSf5IS-zw&amp;t=745s">The lecture at 0:12:25</a>',
    ]
    for claim in all_claims:
        assert all(claims.text(one.text) in claims._card(row(claim.id)) for one in claim.said)


def test_the_table_of_articles_counts_claims():
    describe = dict(re.findall(r'<th scope="row">(\w): <a .*?<td>(\d+)</td></tr>', claims.articles()))
    assert describe == {
        letter: str(sum(any(name.startswith(letter + " ") for name in claim.who) for claim in all_claims))
        for letter in "ABCDE"
    }
    bib = (ROOT / "book" / "references.bib").read_text("utf8")
    assert all(f"@misc{{article_{letter.lower()}," in bib for letter in describe)


# --- formulas shown are formulas used ---------------------------------------------------------------------------------


def forget():
    """Empty what lessons remember of numbers that they computed once."""
    for name, module in list(sys.modules.items()):
        if re.fullmatch(r"blackboard\.[\w.]+\.(numbers|implied|running_case)", name):
            for function in vars(module).values():
                getattr(function, "cache_clear", lambda: None)()


@pytest.fixture
def formula(monkeypatch):
    """Watch which formulas are evaluated; formula.bend = name multiplies its n-th result by 3 + n."""

    class Watch:
        seen: list[str] = []
        bend = None

        def start(self, name):
            """From now on watch, and bend this formula."""
            self.seen, self.bend = [], name
            forget()

    watch, plain = Watch(), {kind: kind.__call__ for kind in (Formula, BoundFormula)}

    def evaluate(self, *sources, **values):
        out = plain[type(self)](self, *sources, **values)
        watch.seen.append(self.name)
        mine = watch.bend and (self.name == watch.bend or self.name.startswith(watch.bend + ".for_"))
        return out * (3 + watch.seen.count(self.name)) if mine else out

    for kind in plain:
        monkeypatch.setattr(kind, "__call__", evaluate)
    forget()
    yield watch
    forget()


@cases(("id", "name"), [(claim.id, name) for claim in all_claims for name in claim.formulas])
def test_every_formula_that_a_card_shows_decides_something_on_it(formula, id, name):
    claim = all_claims[id]
    if id == "M1":  # counts the formula's symbols
        assert {"flops", "bandwidth", "n_active", "n_total"} <= set(formulas[name].free)
        return
    [describe], before = claim.because.values(), claim.compute()
    formula.start(name)
    after = claim.compute()
    assert any(seen == name or seen.startswith(name + ".for_") for seen in formula.seen), "shown, but not evaluated"
    assert (after.parts, books.fill(describe, after.values)) != (
        before.parts,
        books.fill(describe, before.values),
    ), "its value is nowhere on the card"


# --- the numbers, by plain arithmetic ---------------------------------------------------------------------------------

ACTIVE, TOTAL = 37_551_276_032, 671_025_397_760  # DeepSeek-V3, from its configuration
KV = 61 * 576 * 2
RACK = {"flops": 72 * 5e15, "bandwidth": 72 * 8e12, "hbm": 72 * 186e9}
C = 5e15 / 2 / 8e12
SERVED = 50e6 * 60 * 86_400
DAY = {"hit": 0.563, "prefill": 73_700, "decode": 14_800}

ORACLES = {
    "P1": [1],
    "P2": [144, 144 / 72, 4 * 144, 4 * 144 / (2 * 72)],
    "P3": [10 * 2**20, 2 * ACTIVE * 8e12 / (5e15 * KV)],
    "P4": [2 / 6 / 0.3, SERVED / 2e12],
    "M1": [2, 4],
    "M2": [1, 1],
    "M3": (
        [0.15 * 0.27 / (1e6 * 2 * ACTIVE / 1978.9e12 * 2 / 3600)]
        + [0.15 * 5 / (1e6 * 2 * n / 5e15 * 3.30 / 3600) for n in (300e9, 100e9, 30e9)]
    ),
    "C1": [ACTIVE, TOTAL],
    "C2": [312e12 / 1.555e12, 312e12 / 2.039e12, 989.4e12 / 3.35e12, 2250e12 / 8e12],
    "C4": [150e12 / 2e12],
    "12.1": [256 / 8, TOTAL / ACTIVE, C * TOTAL / ACTIVE],
    "12.2": [TOTAL, TOTAL],
    "12.3": [300 * 256 / 32],
    "12.4": [TOTAL / RACK["bandwidth"]],
    "12.5": [1e11 / 300 / 2e5, 1e11 / 600 / 2e5, 1e11 / 150 / 2e5],
    "12.8": [18 / 12, 4 / 2],
    "12.9": [30e12 / 275e6],
    "12.10": [
        math.log((131_072 * 132 + 2048 * 656) / (4_096 * 132 + 2048 * 656)) / math.log(32),
        131_072 * 132 / (131_072 * 132 + 2048 * 656),
    ],
    "12.11": [4 * 144, 144, 4 * 144 / (2 * 72)],
    "12.12": [2.592e14, 129.6],
    "12.13": [2 / 6 / 0.3],
    "12.15": [4, 320 / 8, 144 / 8],
    "12.16": [2017, 2017],
    "12.19": [9e15 / 2 * 0.5 / 8e12, 562.5, 1125],
    "12.20": [10 * 2**20 / 2**16],
    "12.21": [129.6, 14.8e12 / 20 / ACTIVE, None, None, None, None],
    "N2": [2400, C * TOTAL / ACTIVE, C * 32],
    "N4": [0.0144, 288e9 / 22e12],
    "N5": [288e9, 22e12],
    "N6": [0.040],
    "N7": [128_000, 14_800 / 8, 2200, 10_100],
    "N8": [7e9 / 60 / 128_000, 480e12 / (30 * 86_400) / 128_000],
    "N9": [C, 8 * C, C * TOTAL / ACTIVE],
    "N10": [40e12],
    "N11": [30 / 5, 2.5],
    "N12": [2, 1.3, 1.6, 2.9, 3.3],
    "N13": [450 / 50, 200 / 50, 900 / 50, 900 / 100],
    "N14": [4],
    "N15": [5 / 25, DAY["decode"] / (DAY["prefill"] * (1 - DAY["hit"]))],
    "N16": [5 / 0.5, 2 / 0.2, 0.55 / 0.14],
    "N17": [25 / 5, 12 / 2, 2.19 / 0.55],
    "N18": [2048, None, KV, 126 * 2 * 8 * 128 * 2],
    "N19": [186e9 / 8e12, 768e9 / 614.4e9, 7.68e12 / 28e9, 30e12 / 275e6],
    "N20": [3.699, 1.3686e9],
    "N21": [0.5],
    "N22": [2.592e15],
    "N23": [20, None, None, None],
    "N24": [8 * 80e9, 72 * 186e9, 72 * 288e9],
    "N25": [2.592e15],
    "N26": [80 / 3350, 141 / 4800, 186 / 8000, 288 / 22_000],
    "N27": [2400],
    "N28": [],
    "N30": [2 / 6 / 0.3 * 60 * 168e9, 2 / 6 / 0.3 * 60 * (168e9 + 608e9)],
    "N32": [72 / 8, 8 / 3.35, 5000 / 1979],
    "N33": [2 / 3 + 64 / 3],
    "T1": [2.78, 2.78],
    "T2": [2.8, 1.5, 1 / 1.8, 1 / 1.4],
    "T3": [1 - 0.204, 1 - 0.268, 1 - 0.382, 1 - (161.31 + 337.99) / 2048, None],
    "T4": [24, 3.5, 4],
    "T5": [2, 4, None, None, None],
    "T6": [1 - 0.963, 7.5 / (161.31 + 337.99 * (1 + 0.8523**2) / 2 + 7.5)],
    "T8": [None, (RACK["hbm"] - TOTAL) / (1_000 * KV) / 72, 132.44],
    "T9": [8, 8],
    "T10": [math.ceil(112 / 16) + 2 * 2],
    "T12": [1.8, 1.15, 1.259, 1.028],
    "T15": [1.74 / 2.5, 1.5 / 2.5],
    "T13": [466_509 * 1024 * 2048 / 20 / 124_668_672, 1_430_512 * 1024 * 2048 / 20 / 1_100_048_384],
}


@cases("id", ORACLES)
def test_numbers_agree_with_an_independent_reckoning(id):
    found = [part.found for part in row(id).parts if not isinstance(part.found, str)]
    assert len(found) == len(ORACLES[id])
    assert [f for f, e in zip(found, ORACLES[id]) if e is not None] == pytest.approx(
        [e for e in ORACLES[id] if e is not None], rel=1e-3
    )


def test_the_reckoning_leaves_out_only_what_is_drawn_or_listed():
    """Of these the draws have a tolerance of their own, and lists of chips are held by their ends."""
    rest = {claim.id for claim in all_claims if row(claim.id).parts} - set(ORACLES)
    assert rest == {"P5", "12.6", "12.7", "T11"}
    assert [part.found for part in row("P5").parts] == [pytest.approx(30e12 / 275e6), "flash"]
    constants = [part.found for part in row("12.6").parts]
    assert (min(constants), max(constants)) == pytest.approx((312e12 / 2.039e12, 918e12 / 1.638e12))
    drains = sorted(part.found for part in row("12.7").parts)[1:]
    assert (drains[0], drains[-1]) == pytest.approx((288e9 / 22e12, 80e9 / 2.039e12))
    most = {"Qwen3-235B-A22B": 36e12 / 20 / 22e9, "Llama 4 Scout": 40e12 / 20 / 17e9, "Qwen3-8B": 36e12 / 20 / 8.2e9}
    far = {part.of: part.found for part in row("12.21").parts}
    assert [far[name] for name in most] == pytest.approx(list(most.values()), rel=0.02)


def test_what_a_stated_verdict_mentions_is_right():
    """Numbers of sentences without parts, by plain arithmetic."""
    hop = 2400 * 7168 * 2 / 72 / 50e9 + 2.8e-6  # the least of the measured latencies
    assert f"vectors: {hop * 1e6:.0f} µs" in row("12.23").because
    assert f"grew {72 // 8}-fold" in row("N29").because and f"became {900 // 450} times" in row("N29").because
    second = 72 * 3.30 / 3600
    whole, routed = (second * n / RACK["bandwidth"] * 1e6 for n in (TOTAL, ACTIVE))
    assert f"${whole:.0f} with all weights and ${routed:.1f}0 with the active ones" in row("N28").because
    assert f"leaves {1 - (161.31 + 337.99) / 2048:.0%}" in row("T18").because


def test_overlap_by_plain_arithmetic():
    """Computing or reading all weights twice, against sending 9 copies of 7,168 values, 3 bytes in all, on each of 58
    layers.
    """
    assert [part.found for part in row("T11").parts[:2]] == pytest.approx([1 - 0.27, 1.255])
    for batch, part in zip((2_000, 20_000), row("T11").parts[2:]):
        weights, kv = TOTAL / RACK["bandwidth"], batch * 1_000 * KV / RACK["bandwidth"]
        compute, send = 2 * batch * ACTIVE / RACK["flops"], batch / 72 * 9 * 7168 * 3 * 58 / 900e9
        assert part.found == pytest.approx(
            (max(compute, weights + kv) + send) / max(compute, 2 * weights + kv, send), rel=1e-6
        )


SAME = [  # what a lesson prints and the ledger finds: (claim, number of the part, lesson, its name there, digits)
    ("12.1", 1, "sparsity", "sparsity", 3),
    ("12.1", 2, "sparsity", "critical", 4),
    ("P3", 1, "batching", "balanced", 2),
    ("N9", 0, "batching", "intensity", 2),
    ("12.12", 1, "overtraining", "over", 3),
    ("N8", 1, "sparsity", "world_first_racks", 3),
    ("N20", 0, "sparsity", "gain", 2),
    ("12.6", 0, "sparsity", "c_least", 3),
    ("T13", 0, "corpus", "over_120", 3),
    ("T13", 1, "corpus", "over_1b", 3),
    ("T5", 2, "paging", "gain_high", 2),
    ("T5", 4, "paging", "gain_low", 2),
    ("T10", 0, "paging", "hybrid_all", 2),
]


@pytest.mark.parametrize(("id", "part", "lesson", "name", "digits"), SAME)
def test_the_ledger_says_what_the_lesson_says(id, part, lesson, name, digits):
    printed = values(lesson)[name]
    assert printed.split()[0] == significant(row(id).parts[part].found, digits)


PAGED = [
    ("T3", 0, "orca_use"),
    ("T3", 2, "oracle_use"),
    ("T6", 0, "vllm_use"),
    ("T6", 1, "sg_paged"),
]


@pytest.mark.parametrize(("id", "part", "name"), PAGED)
def test_what_the_ledger_finds_wasted_the_paging_lesson_finds_unused(id, part, name):
    used = values("paging")[name]
    assert f"{1 - row(id).parts[part].found:.{len(used.partition('.')[2].rstrip('%'))}%}" == used


def test_what_sparse_attention_holds_is_what_its_layout_says():
    """656 bytes of entry and 132 of key, held for every token; read are all keys, and 2,048 entries."""
    held = [(656 + 132) / (132 + 656 * 2048 / context) for context in (131_072, 1e6)]
    assert [f"{ratio:.1f}" for ratio in held] == ["5.5", "5.9"]
    assert "holds 5.5 times the KV that it reads, at a million 5.9 times" in row("P1").because


def test_the_first_sentences_count_the_numbers_as_the_ledger_does():
    words = {2: "two", 4: "four"}
    machine, net = (words[part.found] for part in row("M1").parts)
    describe = f"from {machine} numbers of the hardware and {net} of the model"
    assert all(describe in (ROOT / name).read_text("utf8") for name in ("README.md", "book/index.md"))


def test_the_longest_of_the_catalogue_is_the_longest_of_its_models():
    assert row("P3").parts[0].found == max(m.context_tokens for m in catalogue.models() if m.release < "2026-04-29")
    assert [m.name for m in catalogue.models() if m.context_tokens == row("P3").parts[0].found] == ["Llama 4 Scout"]


def test_lengths_and_speculation_are_those_that_the_lessons_print():
    from blackboard.lessons.paging import numbers as paged

    printed = paged.all()
    assert (
        f"{printed['sg_mean']} tokens on average" in row("T3").parts[4].of
        and f"{printed['sg_all']} tokens at the end" in row("T3").parts[3].of
    )
    assert row("T3").parts[4].found == pytest.approx(1 - float(printed["sg_mean"]) / 2048, rel=1e-3)
    assert f"it would be {printed['hybrid_uniform']} blocks" in row("T10").because
    from blackboard.lessons.sparsity import numbers as world

    said = row("C3").because
    assert f"counts all its products: {world.all()['world_first']}" in said
    own = catalogue.measurement("world_tokens").records(counts="direct use by developers")[-1]
    assert f"then and {results.monthly(own['tokens'], own['per']) / 1e6:.0f} million" in said
    assert "at the peak rate it would be 13 and, with 100 billion, 136 times" in row("M3").because
    [spire] = catalogue.measurement("spire_multipliers").records(draft="SPIRe")
    assert f"{spire['tokens_per_pass'] / spire['speedup']:.3f} decode steps" in row("T1").because
    assert f"{spire['tokens_per_pass']} tokens" in row("T1").because


# --- verdicts ---------------------------------------------------------------------------------------------------------

EXPECTED = {  # what the facts amount to, read without the code: a change here is a reason to read the page again
    "holds": "P1 M2 C1 12.2 12.16 N4 N5 N6 N11 N14 N20 N21 N22 N24 T3 T6 T10",
    "part": (
        "P2 P4 M1 M3 C2 12.5 12.6 12.7 12.8 12.11 12.15 12.19 12.21 N2 N7 N8 N12 N13 N15 N16 N17 N18 N19 N23 N26 N27"
        " N32 T2 T4 T5 T8 T9 T11 T12 T15"
    ),
    "near": "C4 12.12 N9 N30",
    "fails": "P3 12.1 12.3 12.10 12.20 N25 N28 N33",
    "against": "P5 12.9 12.17 N31 T13 T16 T18",
    "more": "M4 T1 T17",
    "mended": "12.4 12.13",
    "nosource": "C3 12.14 12.22 12.23 N10 T7 T14",
    "open": "N29",
}


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda v: v.key)
def test_the_verdicts_are_those_that_the_facts_amount_to(verdict):
    assert [r.claim.id for r in claims.judged() if r.verdict is verdict] == EXPECTED[verdict.key].split()


def test_judging_by_hand():
    verdict = lambda *found, claimed=100, **more: judge(tuple(Part("", claimed, f) for f in found), **more)
    assert verdict(120) is verdict(100 / 1.2) is verdict(100, 110) is HOLDS
    assert verdict(121) is verdict(50) is verdict(200, 60) is ROUGH
    assert verdict(100, 121) is verdict(100, 1e9) is PART
    assert verdict(201) is verdict(49) is verdict(130, 300) is FAILS
    assert verdict(101, within=0.01) is HOLDS and verdict(102, within=0.01) is ROUGH and verdict(900, near=10) is ROUGH
    assert (
        verdict(150, 200, claimed=(150, 200)) is HOLDS
        and verdict(149, claimed=(0, 100)) is ROUGH
        and verdict(1e6, claimed=(2_000, math.inf)) is HOLDS
    )
    assert verdict("flash", claimed="disk") is FAILS and verdict("disk", claimed="disk") is HOLDS
    assert verdict(4.2, claimed=(2, 4)) is HOLDS and verdict(4.21, claimed=(2, 4)) is ROUGH, (
        "a range has room of its own"
    )
    assert verdict(4.1, claimed=(2, 4), within=0.01) is ROUGH
    with pytest.raises(ValueError, match="no numbers"):
        judge(())


@pytest.mark.parametrize("way", [1, -1])
def test_a_number_that_moves_away_never_gets_a_better_verdict(way):
    ranks = [COMPUTED.index(judge((Part("", 300, 300 * 1.05 ** (way * n)),))) for n in range(60)]
    assert ranks == sorted(ranks) and ranks[0] == 0 and ranks[-1] == 3


def test_gaps_say_which_side():
    gap = lambda claimed, found, unit="1": Part("", claimed, found, unit).gap
    assert [gap(100, f) for f in (100, 130, 70, 250, 10)] == [
        "the same",
        "30% more",
        "30% less",
        "2.5 times as much",
        "1/10 of it",
    ]
    assert (
        gap((1, 10), 5) == "in the range"
        and gap((1, 10), 25) == "2.5 times its upper end"
        and gap((1, 10), 11) == "10% above the range"
        and gap((10, 20), 2) == "1/5 of its lower end"
        and gap(2018, 2017, "year") == "earlier"
    )
    assert gap(1, 136) == "140 times as much" and gap("disk", "flash") == "not as claimed"
    assert Part("", 1, 2.5, said="none").gap == Part("", (0, 1), 136, said="little").gap == "not as claimed"
    assert gap((1, float("inf")), 136) == "", "nothing to add above a least"


def changed(undo, row, **fields):
    """Other values in a frozen row of the catalogue."""
    for name, value in fields.items():
        old = getattr(row, name)
        force_setattr(row, name, value)
        undo.callbacks.append(lambda row=row, name=name, old=old: force_setattr(row, name, old))
    forget()


@pytest.fixture
def mended():
    """Undo what a test changed in the catalogue's rows."""

    class Undo:
        callbacks: list = []

    undo = Undo()
    forget()
    yield undo
    for back in reversed(undo.callbacks):
        back()
    undo.callbacks.clear()
    forget()


def verdicts(*ids):
    return [all_claims[id].judged().verdict for id in ids]


def test_doubling_a_bandwidth_turns_verdicts(mended):
    """Twice the memory bandwidth halves the hardware constant and the drain time."""
    assert verdicts("C2", "N4", "N5") == [PART, HOLDS, HOLDS]
    for chip in map(catalogue.chip, ("vr200-nvl72", "h100-sxm", "b200")):
        changed(mended, chip, hbm_bytes_per_s=2 * chip.hbm_bytes_per_s)
    assert verdicts("C2", "N4", "N5") == [FAILS, PART, PART]
    rack = catalogue.chip("gb200-nvl72")
    changed(mended, rack, hbm_bytes_per_s=10 * rack.hbm_bytes_per_s)
    assert verdicts("N9") == [FAILS]


def test_a_rack_of_five_hundred_packages_would_bear_the_prediction_out(mended):
    domain = catalogue.chip("rubin-ultra-kyber").scale_up
    holding = lambda: [part.holds() for part in all_claims["P2"].judged().parts]
    assert holding() == [False, False, True, True]
    changed(mended, domain, domain_chips=500)
    assert holding() == [True, False, False, False]  # 500 is right; four times 72 is not 500
    changed(mended, domain, domain_chips=350)
    assert verdicts("P2") == [FAILS] and all_claims["P2"].judged().because is None


def test_claims_that_say_the_same_get_the_same_verdict():
    """Or differ in a number of their own, which then decides."""
    apart = {  # families of which a member says more than the others
        ("12.1", "N2", "12.3"),
        ("P4", "12.12", "C4", "12.21"),
        ("12.6", "C2", "12.19"),
        ("P3", "12.20"),
        ("12.2", "C1"),
        ("12.5", "N18"),
    }
    for family in claims.ALIKE:
        assert set(family) <= set(IDS) and len(set(family)) == len(family) > 1
        found = {row(id).verdict for id in family}
        assert len(found) == 1 or family in apart and found <= set(COMPUTED), family
    assert {family for family in claims.BESIDE if not set(family) <= set(IDS)} == set()


def test_the_stated_tolerance_is_the_one_applied():
    """By what the page prints, not by what the code keeps."""
    describe = {name: float(value.removesuffix("%")) for name, value in claims.tally().items()}
    sure = lambda percent: Part("", 100, 100 + percent).holds()
    assert (
        sure(describe["more"])
        and not sure(describe["more"] + 1)
        and sure(-describe["less"] + 0.4)
        and not sure(-describe["less"] - 1)
    )
    assert Part("", 100, 100 * describe["within"]).holds() and Part("", 100, 100 / describe["within"]).holds()
    assert Part("", (1, 100), 100 + describe["edge"]).holds() and not Part("", (1, 100), 101 + describe["edge"]).holds()
    judged_apart = {
        claim.id: claim.within
        for claim in all_claims
        if claim.stated is None and claim.within not in (WITHIN, books.EXACT, 2 * books.EXACT, 0)
    }
    assert (
        list(judged_apart) == ["M3"]
        and "We call a price near if it is within a factor of two" in row("M3").because
        and judged_apart["M3"] == 1
        and EDGE < WITHIN
    )


def test_other_prices_and_devices_turn_verdicts(mended):
    card, disk = catalogue.price("gemini-3.1-pro-preview@2026-02-19"), catalogue.tier("hdd-exos30")
    changed(mended, card.above, input_multiplier=1.5)
    changed(mended, disk, read_bytes_per_s=8e9)
    changed(mended, catalogue.model("deepseek-v3").published, n_total=1.0)  # the ledger counts, it does not copy
    assert verdicts("12.8", "C1") == [HOLDS, HOLDS]
    assert all_claims["P5"].judged().parts[0].off < 1.1


def test_a_sentence_does_not_outlive_its_verdict(mended):
    found = all_claims["12.1"].judged()
    assert found.verdict is FAILS and found.because
    changed(mended, catalogue.model("deepseek-v3").moe, active=32)  # as the board has it
    moved = all_claims["12.1"].judged()
    assert moved.parts[0].off == 1 and moved.verdict is not FAILS and moved.because is None
    assert "Its numbers have moved" in claims._card(moved)


@pytest.mark.parametrize("id", EXPECTED["holds"].split())
def test_no_claim_holds_whatever_its_numbers(id):
    """Every one of its numbers, made ten times as large or as small, takes the verdict away."""
    found = row(id)
    for n, part in enumerate(found.parts):
        low, high = part.span
        for value in (part.found * 10, part.found / 10):
            if low <= value <= high:
                continue  # a bound on one side
            parts = (*found.parts[:n], part._replace(found=value), *found.parts[n + 1 :])
            assert judge(parts, found.claim.within, found.claim.near) is not HOLDS


# --- the page ---------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Ids, links, and open tags of a piece of HTML."""

    def __init__(self, source):
        super().__init__()
        self.ids, self.links, self.open = [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.open += [tag] if tag != "wbr" else []  # where a line may break: it has no end
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown():
    """All that the page prints from the ledger."""
    return claims.first() + claims.legend() + "".join(map(claims.cards, claims.GROUPS))


def test_every_claim_has_one_card_and_one_link_in_the_legend():
    page = Tags(shown())
    assert page.open == [] and sorted(page.ids) == sorted(map(claims.anchor, IDS))
    inner = list(Tags(claims.legend()).links)
    assert sorted(inner) == sorted(f"#{claims.anchor(id)}" for id in IDS)


def test_a_card_has_everything():
    card = claims.cards("corrections")
    for part in (
        'id="claim-12-1"',
        "<td>8</td><td><b>32</b></td><td>4 times as much",
        "Does not hold",
        "sparsity.expert_sparsity",
        "\\[",
        "sparsity.html#as-an-expert-sees-it",
        ">The lecture at 0:19:16</a>",
    ):
        assert part in card
    assert not re.search(r"\{\w+\}|>None|nan\b", re.sub(r"\\\[.*?\\\]", "", shown()))


def test_readers_see_names_and_not_the_numbers_of_a_list():
    """Ids stay in addresses only; what says the same is linked both ways, with its verdict."""
    seen = re.sub(r"<[^>]*>", " ", re.sub(r"\\\[.*?\\\]|<(code|b)>.*?</\1>", "", shown()))
    assert (
        not [
            id
            for id in IDS
            if re.search(rf"(?<![\w.]){re.escape(id)}(?![\w.]|,\d|:\d)", seen) and not id.startswith("T")
        ]
        and "see 12." not in seen
    )
    names = [claim.name for claim in all_claims]
    assert len(set(names)) == len(names) and all(len(name) <= 36 for name in names)
    cards = {
        id: re.search(rf'<details [^>]*id="{claims.anchor(id)}">.*?</details>', shown())[0]
        for family in claims.ALIKE
        for id in family
    }
    for family in claims.ALIKE:
        for id in family:
            said = cards[id].partition("Also said by: ")[2].partition("</p>")[0]
            assert all(
                f"{claims.link(row(other))} ({row(other).verdict.label})" in said for other in family if other != id
            )


def test_ten_lead_the_page_with_their_worst_number():
    assert len(set(claims.TOP)) == 10 and set(claims.TOP) <= set(IDS)
    listed, page = claims.first(), PAGE.read_text("utf8")
    assert listed.count('<th scope="row">') == 10
    assert page.index("claims.first()") < page.index("claims.cards(") < page.index("claims.legend()")
    for claimed, found in (("8", "32"), ("20 ms", "1.41 ms"), ("1", "68.2")):
        assert f"<td>{claimed}</td><td><b>{found}</b></td>" in listed
    for id in claims.TOP:
        assert f"#{claims.anchor(id)}" in listed and claims.text(row(id).label[1:]) in listed


def test_verdicts_read_without_colour():
    marks = [verdict.mark for verdict in VERDICTS]
    assert len(set(marks)) == len(marks) and all(verdict.label in claims.legend() for verdict in VERDICTS)


def test_the_page_prints_every_group_and_types_no_number():
    text = PAGE.read_text("utf8")
    assert re.findall(r'claims\.cards\("(\w+)"\)', text) == list(claims.GROUPS)
    assert set(re.findall(r"\{glue:text\}`(\w+)`", text)) == set(claims.tally())
    prose = re.sub(r"```\{code-cell\}.*?```", "", text.split("---", 2)[2], flags=re.S)
    assert typed_numbers(prose) == set(), "compute it in claims.tally()"


def test_the_tally_adds_up():
    describe = {name: int(re.match(r"\d+", value)[0]) for name, value in claims.tally().items()}
    assert describe["claims"] == len(IDS) == describe["computed"] + describe["documents"]
    assert describe["computed"] == sum(len(EXPECTED[verdict.key].split()) for verdict in COMPUTED)
