"""A published config.json, read, is the model of the catalogue; what is missing or not understood is said."""

import itertools
import json
import math
from pathlib import Path

import pytest
from cases import cases

from blackboard.catalogue import ConfigError, Model, model, models
from blackboard.catalogue.config_file import read_config

CONFIGS = json.loads((Path(__file__).parent / "model_configs.json").read_text(encoding="utf-8"))
READ = [row for row in CONFIGS if row["model"] != "Qwen3-Next-80B-A3B"]
LISTED = {each.id for each in models()}
# Totals that are printed coarsely, or count more than the language model.
COARSE = ("glm-4.6", "llama-4-maverick", "llama-4-scout", "deepseek-v4-flash", "tinyllama-1.1b")
LLAMA = next(row["config"] for row in CONFIGS if row["model"] == "llama-3.1-8b")
named = lambda rows: cases("row", rows, ids=[row["model"] for row in rows])


def changed(**fields) -> dict:
    """The config of Llama 3.1 8B with other fields."""
    return LLAMA | fields


@named([row for row in READ if row["model"] not in COARSE])
def test_total_is_the_published_one(row):
    published = row.get("published") or model(row["model"]).published.n_total
    assert Model.from_config(row["config"]).n_total == pytest.approx(published, rel=1e-3)


def test_twenty_totals_are_held():
    assert len([row for row in READ if row["model"] not in COARSE]) >= 20


@named([row for row in READ if row["model"] in LISTED])
def test_groups_are_those_of_the_catalogue(row):
    read, known = Model.from_config(row["config"]), model(row["model"])
    assert sorted(map(repr, read.attention)) == sorted(map(repr, known.attention))
    assert sorted(map(repr, read.ffn)) == sorted(map(repr, known.ffn))
    names = ("layers", "d_model", "vocab", "tied_embeddings")
    assert all(getattr(read, name) == getattr(known, name) for name in names)


@named([row for row in READ if "text_config" not in row["config"]])
def test_nothing_in_a_known_file_is_not_understood(row):
    told = [said for said in Model.from_config(row["config"]).not_understood if "not understood" in said]
    assert not told


def test_states_instead_of_a_cache_are_refused():
    (row,) = [row for row in CONFIGS if row not in READ]
    with pytest.raises(ConfigError, match="linear attention"):
        Model.from_config(row["config"])


# --- the forms of a file ---------------------------------------------------------------------------------------------


def test_path_text_and_object_are_the_same(tmp_path):
    path = tmp_path / "my-model" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(LLAMA))
    read = Model.from_config(path)
    assert read.id == "my-model"
    assert Model.from_config(str(path)).n_total == read.n_total == Model.from_config(json.dumps(LLAMA)).n_total
    assert Model.from_config(LLAMA, name="mine").name == "mine"


def test_text_that_is_no_json_is_refused():
    with pytest.raises(ConfigError, match="not JSON"):
        Model.from_config("{broken")
    with pytest.raises(ConfigError, match="an object"):
        read_config([])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"])
def test_a_missing_field_is_named(name):
    with pytest.raises(ConfigError, match=f"^{name}.* is missing"):
        read_config({key: value for key, value in LLAMA.items() if key != name})


@pytest.mark.parametrize("value", ["many", -1, 0.5, True])
def test_a_silly_number_is_refused(value):
    with pytest.raises(ConfigError, match="num_hidden_layers must be a whole number"):
        read_config(changed(num_hidden_layers=value))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"num_attention_heads": 8192}, "num_attention_heads is 8192"),
        ({"num_experts": 4, "num_experts_per_tok": 8}, "num_experts_per_tok is 8, of only 4 experts"),
        ({"num_hidden_layers": 10**6}, "more than any model has"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(fields, told):
    with pytest.raises(ConfigError, match=told):
        read_config(changed(**fields))


SILLY = [None, "x", "12", -1, 0, 1.5, True, [], {}, ["a"], {"a": 1}, 10**30, math.nan, math.inf]


@named(
    [row for row in READ if row["model"] in ("gpt-oss-20b", "deepseek-v3.2", "llama-4-maverick", "deepseek-v4-flash")]
)
@pytest.mark.slow
def test_a_silly_field_is_refused_or_read_but_never_breaks(row):
    for name, value in itertools.product(row["config"].get("text_config", row["config"]), SILLY):
        config = json.loads(json.dumps(row["config"]))
        config.get("text_config", config)[name] = value
        try:
            assert Model.from_config(config).n_total > 0
        except ConfigError as error:
            assert str(error)


# --- traps -----------------------------------------------------------------------------------------------------------


def windows(config: dict) -> dict[int, int]:
    """Layers by window, 0 for none."""
    found: dict[int, int] = {}
    for group in read_config(config)["attention"]:
        found[group.get("window", 0)] = found.get(group.get("window", 0), 0) + group["layers"]
    return found


def test_windows():
    assert windows(changed(model_type="mistral", sliding_window=4096)) == {4096: 32}
    assert windows(changed(model_type="mistral", sliding_window=None)) == {0: 32}
    assert windows(changed(model_type="qwen2", sliding_window=4096, use_sliding_window=False)) == {0: 32}
    assert windows(changed(model_type="qwen2", sliding_window=4096)) == {0: 32}
    assert windows(changed(model_type="qwen2", sliding_window=4096, use_sliding_window=True, max_window_layers=28)) == {
        0: 28,
        4096: 4,
    }
    assert windows(changed(model_type="gemma3_text", sliding_window=1024)) == {1024: 27, 0: 5}
    assert windows(changed(model_type="phi3", sliding_window=262_144)) == {0: 32}
    assert windows(changed(sliding_window=512, layer_types=["sliding_attention"] * 31 + ["full_attention"])) == {
        512: 31,
        0: 1,
    }


def test_unknown_windows_and_families_are_said():
    read = read_config(changed(model_type="new", sliding_window=512))
    assert "model_type 'new' is unknown" in " ".join(read["not_understood"])
    assert "sliding_window: which layers" in " ".join(read["not_understood"])
    assert read_config(changed(num_kv_shared_layers=4))["not_understood"] == [
        "num_kv_shared_layers = 4 is not understood, and left out"
    ]


def test_tied_embeddings_go_by_the_family_where_the_file_is_silent():
    silent = {key: value for key, value in LLAMA.items() if key != "tie_word_embeddings"}
    assert read_config(silent)["tied_embeddings"] is False
    assert read_config(silent | {"model_type": "gemma", "head_dim": 128})["tied_embeddings"] is True
    nested = {"tie_word_embeddings": False, "text_config": LLAMA | {"tie_word_embeddings": True}}
    assert read_config(nested)["tied_embeddings"] is True
    assert "inner one" in read_config(nested)["not_understood"][0]


def test_gemma_3_in_its_shortest_form():
    short = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}
    read = read_config({"model_type": "gemma3", "text_config": {**short, "model_type": "gemma3_text"}})
    assert (read["vocab"], read["attention"][0]["heads"], read["attention"][0]["head_dim"]) == (262_208, 8, 256)
    assert sum("is missing" in said for said in read["not_understood"]) == 6


def test_gemma_4_has_other_heads_in_layers_that_see_everything():
    fields = {"num_hidden_layers": 30, "hidden_size": 2816, "intermediate_size": 2112, "num_attention_heads": 16}
    fields |= {"num_key_value_heads": 8, "vocab_size": 262_144, "head_dim": 256, "global_head_dim": 512}
    fields |= {"num_global_key_value_heads": 2, "attention_k_eq_v": True, "num_kv_shared_layers": 0}
    fields |= {"enable_moe_block": True, "num_experts": 128, "top_k_experts": 8, "moe_intermediate_size": 704}
    fields |= {"sliding_window": 1024, "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5}
    read = Model.from_config(fields | {"model_type": "gemma4_text", "max_position_embeddings": 262_144})
    known = model("gemma-4-26b-a4b")
    assert set(map(repr, read.attention)) == set(map(repr, known.attention))
    assert set(map(repr, read.ffn)) == set(map(repr, known.ffn))
    assert read.n_total == known.n_total


def test_shared_experts_of_another_width_are_a_dense_block():
    fields = {"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408}
    whole = read_config(changed(**fields, shared_expert_intermediate_size=5632))["ffn"]
    assert [group["shared"] for group in whole] == [4]
    mixed = read_config(changed(**fields, shared_expert_intermediate_size=5000))["ffn"]
    assert [(group["kind"], group["d_ff"]) for group in mixed] == [("experts", 1408), ("dense", 5000)]


@pytest.mark.parametrize(
    ("fields", "sparse"),
    [
        ({"first_k_dense_replace": 3}, 29),
        ({"decoder_sparse_step": 2, "mlp_only_layers": [1]}, 15),
        ({"moe_layer_freq": [0] * 2 + [1] * 30}, 30),
        ({"interleave_moe_layer_step": 2}, 16),
        ({"moe_layers": [3, 4]}, 2),
        ({"mlp_layer_types": ["dense"] + ["sparse"] * 31}, 31),
    ],
)
def test_which_layers_have_experts(fields, sparse):
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512}
    groups = read_config(changed(**experts, **fields))["ffn"]
    assert {group["kind"]: group["layers"] for group in groups} == {"experts": sparse, "dense": 32 - sparse}


def test_experts_without_their_number_for_a_token_are_refused():
    with pytest.raises(ConfigError, match="num_experts_per_tok"):
        read_config(changed(num_experts=8))


@pytest.mark.parametrize(
    ("said", "weights"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "gptq", "bits": 4}, "fp4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
        ({"quant_method": "secret"}, "bf16"),
    ],
)
def test_number_formats(said, weights):
    assert read_config(changed(quantization_config=said))["weights"] == weights


def test_a_file_can_be_predicted():
    from blackboard.prediction import predict, predict_serving

    read = Model.from_config(LLAMA | {"num_kv_shared_layers": 4})
    assert predict(read, chip="h100-sxm").time == predict("llama-3.1-8b", chip="h100-sxm").time
    found = predict_serving(read, chip="h100-sxm", concurrency=8)
    assert found.output_token == predict_serving("llama-3.1-8b", chip="h100-sxm", concurrency=8).output_token
    assert any("num_kv_shared_layers" in said for said in found.beware)
