"""Consistency checks: what sources print adds up, and would not if a number, a unit or a formula were another."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
from cases import cases
from msgspec.structs import replace

from blackboard.catalogue import Chip, Model, measurement
from blackboard.catalogue.architecture import Heads
from blackboard.catalogue.datafile import DataError
from blackboard.formula import Formula, FormulaError, formulas
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.racks import equations as racks
from blackboard.prediction.rows import CONSISTENCY, LIMIT, Row
from blackboard.units import factor
from blackboard.validation import consistency, records
from blackboard.validation.consistency import CHECKS, arithmetic, caches, deepseek, serving, training
from blackboard.validation.consistency.check import EXACT, Check

MODULES = (arithmetic, caches, deepseek, serving, training)
name = lambda one: f"{one.data}: {one.part}"


def test_everything_closes():
    assert not [
        (row.data, row.part, row.what, row.published, row.computed) for row in consistency.rows() if not row.holds
    ]
    assert len(consistency.rows()) > 320 and {row.kind for row in consistency.rows()} == {CONSISTENCY}


def test_the_sets_that_must_close_do():
    wanted = {
        "deepseek_day6_production": {"cost of a day", "nodes", "hit rate", "revenue of a day", "profit over cost"},
        "deepseek_v3_training_cost": {"cost", "all hours", "hours of pre-training"},
        "deepseek_v3_training": {"days a trillion tokens"},
        "deepseek_isca25_ep_latency": {"one exchange", "time of a token", "tokens a second"},
        "deepseek_isca25_kv": {"cache of a token"},
        "deepseek_isca25_training": {"share of peak", "batch"},
        "deepseek_isca25_mtp": {"gain of a second token"},
        "vllm_paper": {"slots", "weights"},
        "vllm_block_bytes": {"block of all layers", "block of a layer"},
        "vllm_kv_use": {"shares", "paged"},
        "korthikanti_activation_formula": {"activations", "what is left of them", "weights and optimizer"},
        "megatron_2021_table1": {"parameters", "rate of all chips", "share of peak"},
        "llama3_405b_parallelism": {"chips", "share of peak", "tokens of a step"},
        "dualpipe_bubble_formulas": {"idle time"},
        "zero_bubble_pipeline": {"bubble, 1F1B", "bubble, 1F1B-I"},
        "chinchilla_table3": {"compute"},
        "gpt_fast_readme": {"bandwidth"},
        "h200_deepep_ll_intranode": {"bytes"},
        "links_and_achievable": {"link"},
        "gb200_rack": {"cables"},
        "prefix_cache_example": {"blocks", "blocks found"},
        "hybrid_cache_blocks": {"blocks", "all blocks"},
        "llammlein_training": {"tokens", "hours"},
        "pope_table2_palm540b": {"share of peak"},
        "pope_decode_latency": {"one step"},
        "mtp_by_depth": {"speedup"},
        "kimi_cache_size": {"cache"},
    }
    parts = {}
    for row in consistency.rows():
        parts.setdefault(row.data, set()).add(row.part)
    assert not {id: missing for id, those in wanted.items() if (missing := those - parts.get(id, set()))}
    whole = Counter((row.data, row.part) for row in consistency.rows())
    assert whole["gpt_fast_readme", "bandwidth"] == 13 and whole["vllm_block_bytes", "block of all layers"] == 7
    assert whole["megatron_2021_table1", "parameters"] == 10 and whole["zero_bubble_pipeline", "bubble, 1F1B"] == 12


def test_what_is_counted_is_exact():
    for row in consistency.rows():
        if row.limit == EXACT:
            assert row.published == pytest.approx(row.computed, rel=1e-12), row
    exact = {row.data for row in consistency.rows() if row.limit == EXACT}
    assert {
        "deepseek_day6_production",
        "deepseek_v3_training_cost",
        "deepseek_isca25_ep_latency",
        "deepseek_isca25_kv",
        "vllm_block_bytes",
    } <= exact
    assert {
        "korthikanti_activation_formula",
        "deepseek_v3_deployment_units",
        "hybrid_cache_groups",
        "prefix_cache_duplicates",
    } <= exact


def test_rows_that_do_not_close_are_few_and_say_why():
    """No more room than they need, and every entry of the list is needed."""
    loose = [row for row in consistency.rows() if row.limit > LIMIT]
    off = lambda row: abs(row.published / row.computed - 1)
    assert len(loose) < 0.06 * len(consistency.rows()) and all(
        row.limit < 0.06 for row in loose if row.what != "Qwen2.5-72B"
    )
    own = {(row.data, row.part, row.what): row for row in loose if (row.data, row.part, row.what) in consistency.OWN}
    assert set(own) == set(consistency.OWN)
    for row in own.values():
        assert LIMIT < off(row) <= row.limit < 1.7 * off(row) and len(row.why) > 20
    for part in {(row.data, row.part) for row in loose} - {key[:2] for key in own}:
        assert max(off(row) for row in loose if (row.data, row.part) == part) > LIMIT, part


def test_rows_are_told_apart_and_say_what_they_are():
    assert max(Counter((row.data, row.part, row.what) for row in consistency.rows()).values()) == 1
    for row in consistency.rows():
        assert row.why and row.what and factor(row.unit) and all(formula in formulas for formula in row.formulas), row


def test_all_checks_take_little_time_and_the_same_rows():
    assert (
        consistency.rows() is consistency.rows()
        and sum(len(list(consistency.check_rows(one))) for one in CHECKS if one.data != "zero_bubble_pipeline")
        == len(consistency.rows()) - 24
    )


# --- bent: none of it closes by chance --------------------------------------------------------------------------------

ELSEWHERE = {  # sums of words, of several records or of whole things: bent further down
    ("prefix_cache_example", "blocks"),
    ("prefix_cache_example", "blocks found"),
    ("prefix_cache_duplicates", "blocks"),
    ("prefix_cache_gains", "cost of looking"),
    ("hybrid_cache_blocks", "blocks"),
    ("hybrid_cache_blocks", "all blocks"),
    ("hybrid_cache_groups", "groups"),
    ("hybrid_prefix_hits", "tokens needed"),
    ("dualpipe_bubble_formulas", "idle time"),
    ("vllm_kv_use", "shares"),
}


def breaks(one: Check, record: dict, column: str, by: float) -> bool:
    """Whether the closing fails, or a formula refuses, with a number of its record changed."""
    try:
        pair = one.make({**record, column: by * record[column]})
    except FormulaError:
        return True
    return bool(pair) and abs(float(pair[0]) / float(pair[1]) - 1) > max(one.limit, LIMIT)


@cases("one", [one for one in CHECKS if (one.data, one.part) not in ELSEWHERE], ids=name)
@cases("by", [2, 8 / 7])
def test_twice_a_number_or_seven_of_eight_do_not_close(one, by):
    [record, *_] = (record for record in records.records(one.data, **one.where) if one.make(record))
    numbers = [
        column for column, cell in record.items() if isinstance(cell, (int, float)) and not isinstance(cell, bool)
    ]
    counted = (
        {"stages", "microbatches"} if one.data == "zero_bubble_pipeline" else set()
    )  # the schedule needs whole ones
    assert any(breaks(one, record, column, by) for column in numbers if column not in counted), (
        "nothing that is changed matters"
    )


NAMED = [  # data set, column, factor, part that must fail
    ("deepseek_day6_production", "gpus_per_node", 7 / 8, "cost of a day"),
    ("deepseek_day6_production", "average_nodes", 2, "nodes"),
    ("deepseek_day6_production", "cached_input_token_per_day", 0.5, "revenue of a day"),
    ("deepseek_day6_production", "node_decode_token_per_s", 8 / 7, "nodes"),
    ("deepseek_day6_production", "revenue_USD_per_day", 8 / 7, "profit over cost"),
    ("deepseek_isca25_ep_latency", "link_GB_per_s", 2, "one exchange"),
    ("deepseek_isca25_ep_latency", "link_GB_per_s", 2, "tokens a second"),
    ("vllm_paper", "kv_GiB", 1e9 / 2**30, "slots"),
    ("vllm_paper", "layers", 2, "slots"),
    ("vllm_block_bytes", "tensor_parallel", 2, "block of all layers"),
    ("vllm_block_bytes", "block_tokens", 2, "block of a layer"),
    ("gpt_fast_readme", "gpus", 2, "bandwidth"),
    ("megatron_2021_table1", "gpus", 7 / 8, "rate of all chips"),
    ("megatron_2021_table1", "layers", 7 / 8, "parameters"),
    ("chinchilla_table3", "pretraining_tokens", 8 / 7, "compute"),
    ("pope_table2_palm540b", "chips", 2, "share of peak"),
    ("pope_table2_palm540b", "batch", 8 / 7, "share of peak"),
    ("h200_deepep_ll_intranode", "tokens_per_gpu", 2, "bytes"),
    ("zero_bubble_pipeline", "bubble_rate", 8 / 7, "bubble, 1F1B"),
    ("llama3_405b_parallelism", "pipeline_parallel", 2, "chips"),
    ("llammlein_training", "context_tokens", 2, "tokens"),
    ("kipply_13b", "output_token_ms", 8 / 7, "prefill and ten tokens"),
    ("cuda_graph_cache_lost", "kv_tokens", 8 / 7, "cache"),
    ("deepseek_isca25_training", "gpus", 7 / 8, "share of peak"),
]


@pytest.mark.parametrize("data, column, by, part", NAMED, ids=lambda x: str(x)[:26])
def test_a_bent_number_is_found(data, column, by, part):
    """Nodes of seven, twice the link, GB for GiB and the like: every row of the part fails."""
    found = [one for one in CHECKS if (one.data, one.part) == (data, part)]
    for one in found:
        for record in records.records(one.data, **one.where):
            assert not one.make(record) or breaks(one, record, column, by), record
    assert found


def failing() -> set[tuple[str, str]]:
    """Data set and part of what does not close now."""
    return {
        (row.data, row.part)
        for one in CHECKS
        if one.data != "zero_bubble_pipeline"
        for row in consistency.check_rows(one)
        if not row.holds
    }


def bent(formula: Formula, by: float) -> Formula:
    return Formula(
        f"{formula.name}.bent", formula.symbol.name, by * formula.typed, formula.unit, "bent", register=False
    )


CACHE = {
    ("deepseek_isca25_kv", "cache of a token"),
    ("vllm_paper", "slots"),
    ("vllm_block_bytes", "block of all layers"),
    ("vllm_block_bytes", "block of a layer"),
}


def test_values_without_keys(monkeypatch):
    monkeypatch.setattr(pricing, "kv_of_heads", bent(pricing.kv_of_heads, 0.5))
    assert CACHE | {("pope_text_numbers", "cache of every head")} == failing()


def test_keys_and_values_twice(monkeypatch):
    monkeypatch.setattr(pricing, "kv_of_heads", bent(pricing.kv_of_heads, 2))
    assert failing() >= CACHE


def test_grouped_queries_forgotten(monkeypatch):
    """As many heads of keys and values as of queries."""

    def all_heads(found: object) -> Model | None:
        m = records.net(found)
        return m and replace(
            m, attention=tuple(replace(g, kv_heads=g.heads) if isinstance(g, Heads) else g for g in m.attention)
        )

    for module in MODULES:
        monkeypatch.setattr(module, "net", all_heads, raising=False)
    assert CACHE - {("vllm_paper", "slots")} <= failing()


def test_total_for_active_parameters(monkeypatch):
    monkeypatch.setattr(Model, "n_active", Model.n_total)
    assert failing() == {
        ("deepseek_isca25_training_compute", "compute of a token"),
        ("training_gpu_hours", "active parameters"),
    }


def test_a_peak_with_sparsity(monkeypatch):
    dense = Chip.flops
    monkeypatch.setattr(Chip, "flops", lambda self, precision: 2 * dense(self, precision))
    shares = {data for data, part in failing() if part.startswith("share of peak")}
    assert shares == {
        "deepseek_isca25_training",
        "deepseek_isca25_step",
        "llama3_405b_parallelism",
        "megatron_2021_table1",
        "pope_table2_palm540b",
    }


def test_gigabytes_for_gibibytes(monkeypatch):
    decimal = lambda unit: {"GiB": 1e9, "MiB": 1e6, "KiB": 1e3}.get(unit) or factor(unit)
    for module in MODULES:
        monkeypatch.setattr(module, "factor", decimal, raising=False)
    parts = {
        ("korthikanti_activation_formula", part)
        for part in ("activations", "what is left of them", "weights and optimizer")
    }
    assert failing() == parts | (CACHE - {("deepseek_isca25_kv", "cache of a token")})


def test_bytes_sent_but_not_received_back(monkeypatch):
    monkeypatch.setattr(racks, "ep_time", bent(racks.ep_time, 1 / 3))  # FP8 out is a third of FP8 out and BF16 back
    assert ("deepseek_isca25_ep_latency", "one exchange") in failing()


def test_blocks_that_may_be_partly_filled_or_shared(monkeypatch):
    """A block more, and hits of half a block."""
    monkeypatch.setattr(paging, "page_blocks", lambda **at: Formula.__call__(formulas["paging.page_blocks"], **at) + 1)
    monkeypatch.setattr(paging, "hit_tokens", lambda common_context, page_tokens: common_context)
    found = {
        ("prefix_cache_example", "blocks"),
        ("prefix_cache_example", "blocks found"),
        ("prefix_cache_duplicates", "blocks"),
        ("hybrid_cache_blocks", "blocks"),
    }
    assert failing() == found


def test_sums_of_words_and_of_several_records(monkeypatch):
    """A quarter more idle, one share twice as large, twice the layers with a window, blocks listed twice, a token more
    in the window.
    """
    plain, at = records.records, records.noted
    monkeypatch.setattr(pipelining, "idle_1f1b", bent(pipelining.idle_1f1b, 1.25))
    more = {
        ("vllm_kv_use", "use", "reserved"): ("share", 2),
        ("hybrid_cache_groups", "model", "example"): ("window_layers", 2),
        ("hybrid_cache_blocks", "group", "full"): ("block_ids", 2),
    }

    def changed(id: str, **where: str) -> tuple:
        found = [dict(record) for record in plain(id, **where)]
        for (data, column, cell), (name, times) in more.items():
            for record in found:
                if data == id and record[column] == cell:
                    record[name] = times * (record[name] if not isinstance(record[name], str) else record[name] + " ")
        return tuple(found)

    monkeypatch.setattr(records, "records", changed)
    monkeypatch.setattr(caches, "noted", lambda id, pattern: at(id, pattern) + (id == "hybrid_prefix_hits"))
    assert failing() == {
        ("dualpipe_bubble_formulas", "idle time"),
        ("vllm_kv_use", "shares"),
        ("hybrid_cache_groups", "groups"),
        ("hybrid_cache_groups", "layers and padding"),
        ("hybrid_cache_blocks", "blocks"),
        ("hybrid_prefix_hits", "tokens needed"),
    }


def test_a_number_that_no_note_has_is_refused():
    with pytest.raises(DataError, match="neither title nor note"):
        records.noted("gpt_fast_readme", r"(\d+) bananas")


def test_a_row_beyond_its_limit_fails():
    row = next(row for row in consistency.rows() if row.limit == LIMIT)
    worse = dataclasses.replace(row, published=row.computed * 1.03)
    assert isinstance(worse, Row) and not worse.holds and measurement(worse.data)
