"""A model's config.json, read into what the catalogue keeps of a model: integers of its layers, and a number format.

`read_config` is a pure function of plain data to plain data, so that a web page can run a port of it. Layers are
described one by one, and equal ones are counted as a group. What is missing and can be assumed, or is there and is not
understood, is said in `not_understood`; where a prediction would mean nothing, ConfigError names the field.
"""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

# What the code of a family fixes, and its config.json need not say.
RULES: dict[str, Config] = {
    "gemma2": {"sliding_window_pattern": 2},
    "gemma3": {"sliding_window_pattern": 6},
    "gpt_oss": {"sliding_window_pattern": 2},
    "cohere2": {"sliding_window_pattern": 4},
    "llama4": {"attention_chunk_size": 8192, "no_rope_layer_interval": 4, "n_shared_experts": 1},
    "qwen2": {"use_sliding_window": False},
    "qwen2_moe": {"use_sliding_window": False, "decoder_sparse_step": 1},
    "qwen3": {"use_sliding_window": False},
    "qwen3_moe": {"use_sliding_window": False, "decoder_sparse_step": 1},
    "deepseek_v4": {"first_k_dense_replace": 0},
}
# What its code assumes for a field that is left out; said when it is used.
DEFAULTS: dict[str, Config] = {
    "gemma": {"head_dim": 256},
    "gemma2": {"head_dim": 256, "sliding_window": 4096},
    "gemma3": {
        "vocab_size": 262_208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "sliding_window": 4096,
        "max_position_embeddings": 131_072,
    },
    "gpt_oss": {"head_dim": 64, "sliding_window": 128},
    "qwen3": {"head_dim": 128},
}
TIED = (
    "gemma",
    "gemma2",
    "gemma3",
    "gemma4",
    "cohere",
    "cohere2",
    "gpt2",
    "bloom",
    "falcon",
)  # unless the file differs
TWO_MATRICES = ("gpt2", "gpt_neox", "bloom", "opt", "falcon", "phi", "starcoder2", "nemotron")  # no gate
WINDOWED = ("mistral", "mixtral", "phi3", "starcoder2")  # sliding_window is that of every layer
FAMILIES = (
    *RULES,
    *TIED,
    *TWO_MATRICES,
    *WINDOWED,
    *("llama", "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25", "glm4", "glm4_moe", "glm_moe_dsa"),
    *("ministral3", "mistral3", "minimax_m2", "qwen3_vl", "qwen3_vl_moe", "olmo2", "olmo3", "granite", "smollm3"),
)
NESTED = ("text_config", "llm_config", "language_config")

EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
TOP_K = ("num_experts_per_tok", "top_k_experts", "experts_per_token", "num_experts_per_token", "moe_top_k")
# Layers that keep a state instead of a cache.
RECURRENT = ("hybrid_override_pattern", "linear_attn_config", "layers_block_type", "mamba_d_state", "ssm_cfg")

# A field that was not used may change the shape of the model if one of these is in its name, unless it is one of those.
SHAPES = (
    "expert",
    "moe",
    "head",
    "layer",
    "window",
    "rank",
    "attn",
    "attention",
    "dim",
    "size",
    "kv",
    "linear",
    "conv",
)
NO_SHAPES = """
attention_bias attention_dropout attn_dropout_prob attn_pdrop attn_logit_softcapping attention_softmax_in_fp32
attention_multiplier query_pre_attn_scalar add_qkv_bias multi_query_attention qk_layernorm full_attn_mod
layer_norm_eps layer_norm_epsilon layernorm_epsilon apply_query_key_layer_scaling num_hash_layers
head_dim num_key_value_heads intermediate_size intermediate_size_mlp max_window_layers index_n_heads qk_rope_head_dim
ep_size chunk_size_feed_forward sliding_window_size attention_sink_size prefill_chunk_size context_window_size
vision_feature_layer image_size add_cross_attention is_encoder_decoder
"""
FORMATS = {
    "float16": "bf16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
}


MOST, MOST_LAYERS = 10**9, 1000  # what no model has more of: a larger number is a mistake


class ConfigError(ValueError):
    """A config.json of which no prediction can be made."""


class Fields:
    """The fields of a config with the rules of its family, and what was noted while they were read."""

    def __init__(self, config: Config) -> None:
        within: Config = next((config[name] for name in NESTED if isinstance(config.get(name), dict)), {})
        own = {name: value for name, value in config.items() if value is not None and name not in NESTED}
        self.given = own | {name: value for name, value in within.items() if value is not None}
        self.family = str(self.given.get("model_type", "")).removesuffix("_text")
        self.rules = RULES.get(self.family, {})
        self.defaults = DEFAULTS.get(self.family, {})
        self.used: set[str] = set()
        self.notes: list[str] = []
        tied = own.get("tie_word_embeddings")
        if tied is not None and within.get("tie_word_embeddings", tied) != tied:
            self.note("tie_word_embeddings differs outside and inside of text_config: the inner one is taken")

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def get(self, *names: str) -> Any:
        """The value of the first of these names that the file, the rules or the defaults of its family have."""
        self.used.update(names)
        for name in names:
            if name in self.given:
                return self.given[name]
            if name in self.rules:
                return self.rules[name]
        for name in names:
            if name in self.defaults:
                self.note(f"{name} is missing: {self.defaults[name]} is taken, as the code of {self.family} does")
                return self.defaults[name]
        return None

    def optional(self, *names: str) -> int:
        """A whole number; 0 where there is none."""
        value = self.get(*names)
        if value is None or value is False:
            return 0
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not 0 <= value <= MOST:
            raise ConfigError(f"{names[0]} must be a whole number, not {value!r}")
        return int(value)

    def count(self, *names: str) -> int:
        """A whole number, 1 or more. ConfigError where the field is missing."""
        if not (value := self.optional(*names)):
            others = f" (or {', '.join(names[1:])})" if names[1:] else ""
            raise ConfigError(f"{names[0]}{others} is missing: without it nothing can be predicted")
        return value

    def listed(self, name: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.get(name)
        return value if isinstance(value, list) else []

    def entry(self, name: str, layer: int) -> Any:
        """What a list says of a layer; None where there is no list."""
        if not (values := self.listed(name)):
            return None
        if layer >= len(values):
            raise ConfigError(f"{name} has {len(values)} entries, fewer than there are layers")
        return values[layer]


def read_config(config: Config) -> Config:
    """What the catalogue keeps of a model: layers, d_model, vocab, tied_embeddings, attention and ffn (groups of equal
    layers), weights (a number format), context_tokens; and not_understood, in sentences.
    """
    if not isinstance(config, dict):
        raise ConfigError("a config.json is an object in braces, with a field hidden_size among others")
    fields = Fields(config)
    _refuse(fields)
    layers = fields.count("num_hidden_layers", "n_layer", "num_layers")
    if layers > MOST_LAYERS:
        raise ConfigError(f"num_hidden_layers is {layers}, more than any model has")
    d_model = fields.count("hidden_size", "n_embd", "d_model")
    found = {
        "name": _name(config, fields),
        "layers": layers,
        "d_model": d_model,
        "vocab": fields.count("vocab_size", "padded_vocab_size"),
        "tied_embeddings": _tied(fields),
        "attention": _grouped([_attention(fields, layer, d_model) for layer in range(layers)]),
        "ffn": _grouped([block for layer in range(layers) for block in _blocks(fields, layer, d_model)]),
        "weights": _weights(fields),
        "context_tokens": fields.optional("max_position_embeddings", "n_positions", "seq_length", "model_max_length"),
    }
    _note_rest(fields, config, found)
    return found | {"not_understood": fields.notes}


def _refuse(fields: Fields) -> None:
    """ConfigError for what is no transformer that decodes."""
    for name in RECURRENT:
        if fields.get(name):
            raise ConfigError(f"{name}: layers that keep a state instead of a cache are not in this model")
    if fields.get("full_attention_interval") and not fields.get("layer_types"):
        raise ConfigError("full_attention_interval: layers of linear attention are not in this model")
    if fields.get("is_encoder_decoder"):
        raise ConfigError("is_encoder_decoder: only decoders are in this model")


def _name(config: Config, fields: Fields) -> str:
    made_by = config.get("architectures")
    first = made_by[0] if isinstance(made_by, list) and made_by else ""
    return str(config.get("_name_or_path") or first or fields.family or "config.json")


def _tied(fields: Fields) -> bool:
    """Whether the head is the embedding's matrix."""
    value = fields.get("tie_word_embeddings")
    if value is None and fields.family not in FAMILIES:
        fields.note("tie_word_embeddings is missing: embedding and head are taken as two matrices")
    return fields.family in TIED if value is None else bool(value)


def _grouped(kinds: list[Config]) -> list[Config]:
    """Equal descriptions once, each with the number of its layers."""
    groups: list[Config] = []
    for kind in kinds:
        same = next((group for group in groups if {**group, "layers": 0} == {**kind, "layers": 0}), None)
        if same:
            same["layers"] += 1
        else:
            groups.append({**kind, "layers": 1})
    return groups


# --- attention -------------------------------------------------------------------------------------------------------


def _attention(fields: Fields, layer: int, d_model: int) -> Config:
    """The attention of one layer."""
    if fields.get("compress_ratios"):
        return _compressed(fields, layer)
    if fields.get("kv_lora_rank"):
        return _latent(fields)
    heads, window = fields.count("num_attention_heads", "n_head"), _window(fields, layer)
    found = {"kind": "heads", "heads": heads, "kv_heads": _kv_heads(fields, heads)}
    found["head_dim"] = fields.optional("head_dim", "kv_channels") or d_model // heads
    if not found["head_dim"]:
        raise ConfigError(f"num_attention_heads is {heads}, more than hidden_size")
    if window:
        found["window"] = window
    elif fields.get("global_head_dim"):  # Gemma 4: layers that see everything have heads of their own
        found["head_dim"] = fields.count("global_head_dim")
        found["kv_heads"] = fields.optional("num_global_key_value_heads") or found["kv_heads"]
        if fields.get("attention_k_eq_v"):
            found["shared_kv"] = True
    return found


def _kv_heads(fields: Fields, heads: int) -> int:
    """Heads of keys and values; as many as of queries where nothing is said."""
    if fields.get("multi_query") and not fields.get("new_decoder_architecture"):
        return 1
    return fields.optional("num_key_value_heads", "multi_query_group_num", "num_kv_heads") or heads


def _latent(fields: Fields) -> Config:
    """MLA, perhaps with an indexer. Its key-value heads mean nothing: all heads share the latent."""
    names = {"kv_rank": "kv_lora_rank", "nope_dim": "qk_nope_head_dim", "rope_dim": "qk_rope_head_dim"}
    found = {"kind": "latent", "heads": fields.count("num_attention_heads"), "q_rank": fields.optional("q_lora_rank")}
    found |= {ours: fields.count(theirs) for ours, theirs in names.items()}
    found["v_dim"] = fields.count("v_head_dim")
    if fields.get("index_topk"):
        found |= {"index_dim": fields.count("index_head_dim"), "index_heads": fields.count("index_n_heads")}
        found["top_k"] = fields.count("index_topk")
    elif fields.family in ("deepseek_v32", "glm_moe_dsa"):
        fields.note("index_topk is missing: attention is taken over the whole context, without an indexer")
    return found


def _compressed(fields: Fields, layer: int) -> Config:
    """DeepSeek V4: a window, and one entry for so many tokens before it; short blocks are indexed."""
    names = {"heads": "num_attention_heads", "head_dim": "head_dim", "q_rank": "q_lora_rank", "o_rank": "o_lora_rank"}
    found: Config = {"kind": "compressed"} | {ours: fields.count(theirs) for ours, theirs in names.items()}
    found["window"] = fields.count("sliding_window")
    if ratio := fields.entry("compress_ratios", layer):
        found["ratio"] = ratio
        if ratio == min(each for each in fields.get("compress_ratios") if each):
            found |= {"index_dim": fields.count("index_head_dim"), "top_k": fields.count("index_topk")}
    return found


def _window(fields: Fields, layer: int) -> int:
    """Tokens that a layer sees; 0 for all. A window of the whole context is none."""
    tokens = _window_size(fields, layer)
    context = fields.optional("max_position_embeddings")
    return 0 if context and tokens >= context else tokens


def _window_size(fields: Fields, layer: int) -> int:
    """By the list of layers' types, else by the family's pattern, else by the family."""
    kind = fields.entry("layer_types", layer)
    if kind is not None:
        return _typed_window(fields, kind)
    if fields.get("attention_chunk_size"):
        return fields.count("attention_chunk_size") if _is_chunked(fields, layer) else 0
    if fields.get("attn_type_list") and fields.entry("attn_type_list", layer) != 1:
        raise ConfigError("attn_type_list: layers of linear attention are not in this model")
    if not (size := fields.optional("sliding_window")) or fields.get("use_sliding_window") is False:
        return 0
    if every := fields.optional("sliding_window_pattern", "_sliding_window_pattern"):
        return size if (layer + 1) % every else 0
    if fields.get("use_sliding_window"):
        return size if layer >= fields.optional("max_window_layers") else 0
    if fields.family in WINDOWED:
        return size
    fields.note("sliding_window: which layers have it is not said, so that all are taken to see the whole context")
    return 0


def _typed_window(fields: Fields, kind: str) -> int:
    if kind == "sliding_attention":
        return fields.count("sliding_window")
    if kind == "chunked_attention":
        return fields.count("attention_chunk_size")
    if kind != "full_attention":
        raise ConfigError(f"layer_types: layers of {kind!r} are not in this model")
    return 0


def _is_chunked(fields: Fields, layer: int) -> bool:
    """Llama 4: layers with rotary positions see their own chunk only."""
    rope = fields.entry("no_rope_layers", layer)
    if rope is not None:
        return bool(rope)
    return (layer + 1) % fields.count("no_rope_layer_interval") != 0


# --- feed-forward blocks ---------------------------------------------------------------------------------------------


def _blocks(fields: Fields, layer: int, d_model: int) -> list[Config]:
    """The feed-forward blocks of one layer."""
    if not fields.optional(*EXPERTS):
        return [_dense(fields, d_model)]
    if fields.get("enable_moe_block"):  # Gemma 4: both in every layer
        return [_dense(fields, d_model), *_experts(fields)]
    return _experts(fields) if _is_sparse(fields, layer) else [_dense(fields, d_model)]


def _dense(fields: Fields, d_model: int) -> Config:
    two = fields.family in TWO_MATRICES
    d_ff = fields.optional("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim")
    if not d_ff and two:
        d_ff = 4 * d_model
    return {"kind": "dense", "d_ff": d_ff or fields.count("intermediate_size"), "matrices": 2 if two else 3}


def _experts(fields: Fields) -> list[Config]:
    """The mixture of experts; what all tokens visit beside it, as further experts, or as a dense block of its width."""
    d_ff = fields.count("moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
    found: Config = {"kind": "experts", "experts": fields.count(*EXPERTS), "active": fields.count(*TOP_K), "d_ff": d_ff}
    if found["active"] > found["experts"]:
        raise ConfigError(f"{TOP_K[0]} is {found['active']}, of only {found['experts']} experts")
    found["shared"] = fields.optional("n_shared_experts", "num_shared_experts")
    if (groups := fields.optional("n_group")) > 1:
        found |= {"groups": groups, "limit": fields.count("topk_group")}
    wide = fields.optional("shared_expert_intermediate_size", "shared_intermediate_size")
    if wide % d_ff:
        return [found, {"kind": "dense", "d_ff": wide, "matrices": 3}]
    return [{**found, "shared": found["shared"] + wide // d_ff}]


def _is_sparse(fields: Fields, layer: int) -> bool:
    """Whether a layer has experts, by whatever the family says it with."""
    if (kind := fields.entry("mlp_layer_types", layer)) is not None:
        return kind == "sparse"
    if isinstance(fields.get("moe_layer_freq"), list):
        return bool(fields.entry("moe_layer_freq", layer))
    if listed := fields.get("moe_layers", "moe_layers_enum"):
        names = listed.split(",") if isinstance(listed, str) else listed
        return layer in [int(name) for name in names]
    if layer < fields.optional("first_k_dense_replace") or layer in fields.listed("mlp_only_layers"):
        return False
    every = fields.optional("decoder_sparse_step", "interleave_moe_layer_step") or 1
    return (layer + 1) % every == 0 and layer % (fields.optional("moe_layer_freq") or 1) == 0


# --- the number format -----------------------------------------------------------------------------------------------


def _weights(fields: Fields) -> str:
    """The number format that most weights are stored in."""
    quantized = fields.get("quantization_config", "compression_config")
    stored = str(fields.get("torch_dtype", "dtype") or "").removeprefix("torch.")
    if isinstance(quantized, dict) and quantized:
        return _quantized(fields, quantized)
    if fields.get("expert_dtype") == "fp4":
        return "fp4"
    if stored in FORMATS:
        return FORMATS[stored]
    fields.note(f"torch_dtype is {stored or 'missing'}: weights are taken in bf16")
    return "bf16"


def _quantized(fields: Fields, said: Config) -> str:
    method = str(said.get("quant_method", "")).lower()
    algorithm = str(said.get("quant_algo", "")).lower()
    left = said.get("modules_to_not_convert") or said.get("ignore") or said.get("ignored_layers")
    if isinstance(left, list) and left:
        fields.note(f"{len(left)} kinds of matrices are left in bf16 by quantization_config: all are taken as narrow")
    if said.get("kv_cache_scheme") or said.get("kv_cache_quant_algo"):
        fields.note("quantization_config has a format for the cache: choose it as kv")
    for name in (method, algorithm):
        if name in FORMATS:
            return FORMATS[name]
    bits, kind = _bits(said)
    if bits in (4, 8):
        if bits == 4 and kind != "float":
            fields.note("weights of 4-bit integers are taken as fp4, which takes as many bytes")
        return "fp4" if bits == 4 else ("fp8" if kind == "float" else "int8")
    fields.note(f"quantization_config of {method or 'no method'} is not understood: weights are taken in bf16")
    return "bf16"


def _bits(said: Config) -> tuple[int, str]:
    """Bits of a weight and "float" or "int", as the common methods write them."""
    if said.get("load_in_4bit") or said.get("load_in_8bit"):
        return (4 if said.get("load_in_4bit") else 8), "int"
    groups = said.get("config_groups")
    if isinstance(groups, dict) and groups:
        first = next(iter(groups.values()))
        weights = (isinstance(first, dict) and first.get("weights")) or {}
        return weights.get("num_bits", 0), str(weights.get("type", "int"))
    return said.get("bits", 0), "int"


# --- what is left ----------------------------------------------------------------------------------------------------


def _note_rest(fields: Fields, config: Config, found: Config) -> None:
    """Say what is left out, and which fields may change the shape and were not used."""
    if fields.family not in FAMILIES:
        fields.note(f"model_type {fields.family!r} is unknown: its layers are read as those of Llama are")
    if not found["context_tokens"]:
        fields.note("max_position_embeddings is missing: the longest context is taken as 131072 tokens")
        found["context_tokens"] = 131_072
    if towers := [name for name in config if name in ("vision_config", "audio_config", "vision_tower")]:
        fields.note(f"{' and '.join(towers)}: not counted, only the language model is")
    if fields.get("num_nextn_predict_layers", "num_mtp_modules"):
        fields.note("layers that predict further tokens (MTP) are not counted")
    rest = [name for name in fields.given if _shapes(name) and not isinstance(fields.given[name], (dict, str))]
    for name in sorted(rest):
        if name not in fields.used and name not in NO_SHAPES.split() and fields.given[name] not in (False, 0, []):
            fields.note(f"{name} = {fields.given[name]} is not understood, and left out")


def _shapes(name: str) -> bool:
    return any(word in name for word in SHAPES)
