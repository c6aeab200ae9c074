// The port of read_config of blackboard.catalogue.config_file, function by function; its tables are in data.config.

// What Python takes as true: lists and objects only with something in them.
const some = (value) => (value && typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value));
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const present = (object) => Object.entries(object).filter(([, value]) => value !== null && value !== undefined);

class ConfigFields {
  constructor(config) {
    const { nested, rules, defaults } = data.config;
    const within = config[nested.find((name) => isObject(config[name]))] ?? {};
    const own = Object.fromEntries(present(config).filter(([name]) => !nested.includes(name)));
    this.given = { ...own, ...Object.fromEntries(present(within)) };
    this.family = String(this.given.model_type ?? "").replace(/_text$/, "");
    this.rules = rules[this.family] ?? {};
    this.defaults = defaults[this.family] ?? {};
    this.used = new Set();
    this.notes = [];
    const tied = own.tie_word_embeddings;
    if (tied !== undefined && (within.tie_word_embeddings ?? tied) !== tied) {
      this.note("tie_word_embeddings differs outside and inside of text_config: the inner one is taken");
    }
  }

  note(text) {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  get(...names) {
    for (const name of names) this.used.add(name);
    for (const name of names) {
      if (name in this.given) return this.given[name];
      if (name in this.rules) return this.rules[name];
    }
    for (const name of names) {
      if (name in this.defaults) {
        this.note(`${name} is missing: ${this.defaults[name]} is taken, as the code of ${this.family} does`);
        return this.defaults[name];
      }
    }
    return null;
  }

  optional(...names) {
    const value = this.get(...names);
    if (value === null || value === false) return 0;
    if (!Number.isInteger(value) || value < 0) throw new Refused(`${names[0]} must be a whole number, not ${JSON.stringify(value)}`);
    return value;
  }

  count(...names) {
    const value = this.optional(...names);
    const others = names.length > 1 ? ` (or ${names.slice(1).join(", ")})` : "";
    if (!value) throw new Refused(`${names[0]}${others} is missing: without it nothing can be predicted`);
    return value;
  }

  entry(name, layer) {
    const values = this.get(name);
    if (!Array.isArray(values) || !values.length) return null;
    if (layer >= values.length) throw new Refused(`${name} has ${values.length} entries, fewer than there are layers`);
    return values[layer];
  }
}

function readConfigText(text) {
  let config;
  try {
    config = JSON.parse(text);
  } catch (error) {
    throw new Refused(`This is not JSON: ${error.message}.`);
  }
  return readConfig(config);
}

function readConfig(config) {
  if (!isObject(config)) throw new Refused("a config.json is an object in braces, with a field hidden_size among others");
  const fields = new ConfigFields(config);
  refuseConfig(fields);
  const layers = fields.count("num_hidden_layers", "n_layer", "num_layers");
  if (layers > 10_000) throw new Refused(`num_hidden_layers is ${layers}, which no model has`);
  const d_model = fields.count("hidden_size", "n_embd", "d_model"), all = Array.from({ length: layers }, (_, n) => n);
  const found = {
    name: String((config._name_or_path || (config.architectures ?? [])[0]) || fields.family || "config.json"),
    layers, d_model, vocab: fields.count("vocab_size", "padded_vocab_size"), tied_embeddings: readTied(fields),
    attention: grouped(all.map((layer) => readAttention(fields, layer, d_model))),
    ffn: grouped(all.flatMap((layer) => readBlocks(fields, layer, d_model))),
    weights: readWeights(fields),
    context_tokens: fields.optional("max_position_embeddings", "n_positions", "seq_length", "model_max_length"),
  };
  noteRest(fields, config, found);
  return { ...found, not_understood: fields.notes };
}

function refuseConfig(fields) {
  for (const name of data.config.recurrent) {
    if (some(fields.get(name))) throw new Refused(`${name}: layers that keep a state instead of a cache are not in this model`);
  }
  if (some(fields.get("full_attention_interval")) && !some(fields.get("layer_types"))) {
    throw new Refused("full_attention_interval: layers of linear attention are not in this model");
  }
  if (some(fields.get("is_encoder_decoder"))) throw new Refused("is_encoder_decoder: only decoders are in this model");
}

function readTied(fields) {
  const value = fields.get("tie_word_embeddings"), { families, tied } = data.config;
  if (value === null && !families.includes(fields.family)) {
    fields.note("tie_word_embeddings is missing: embedding and head are taken as two matrices");
  }
  return value === null ? tied.includes(fields.family) : some(value);
}

// Equal descriptions once, each with the number of its layers, and with the fields that are left out.
function grouped(kinds) {
  const groups = new Map();
  for (const kind of kinds) {
    const key = JSON.stringify(kind);
    if (!groups.has(key)) groups.set(key, { ...data.groupDefaults[kind.kind], ...kind, layers: 0 });
    groups.get(key).layers += 1;
  }
  return [...groups.values()];
}

// --- attention ---

function readAttention(fields, layer, d_model) {
  if (some(fields.get("compress_ratios"))) return readCompressed(fields, layer);
  if (some(fields.get("kv_lora_rank"))) return readLatent(fields);
  const heads = fields.count("num_attention_heads", "n_head"), window = readWindow(fields, layer);
  const found = { kind: "heads", heads, kv_heads: readKvHeads(fields, heads) };
  found.head_dim = fields.optional("head_dim", "kv_channels") || Math.floor(d_model / heads);
  if (window) found.window = window;
  else if (some(fields.get("global_head_dim"))) {
    found.head_dim = fields.count("global_head_dim");
    found.kv_heads = fields.optional("num_global_key_value_heads") || found.kv_heads;
    if (some(fields.get("attention_k_eq_v"))) found.shared_kv = true;
  }
  return found;
}

function readKvHeads(fields, heads) {
  if (some(fields.get("multi_query")) && !some(fields.get("new_decoder_architecture"))) return 1;
  return fields.optional("num_key_value_heads", "multi_query_group_num", "num_kv_heads") || heads;
}

function readLatent(fields) {
  const found = {
    kind: "latent", heads: fields.count("num_attention_heads"), q_rank: fields.optional("q_lora_rank"), kv_rank: fields.count("kv_lora_rank"),
    nope_dim: fields.count("qk_nope_head_dim"), rope_dim: fields.count("qk_rope_head_dim"), v_dim: fields.count("v_head_dim"),
  };
  if (some(fields.get("index_topk"))) {
    Object.assign(found, { index_dim: fields.count("index_head_dim"), index_heads: fields.count("index_n_heads"), top_k: fields.count("index_topk") });
  } else if (["deepseek_v32", "glm_moe_dsa"].includes(fields.family)) {
    fields.note("index_topk is missing: attention is taken over the whole context, without an indexer");
  }
  return found;
}

function readCompressed(fields, layer) {
  const found = {
    kind: "compressed", heads: fields.count("num_attention_heads"), head_dim: fields.count("head_dim"), q_rank: fields.count("q_lora_rank"),
    o_rank: fields.count("o_lora_rank"), window: fields.count("sliding_window"),
  };
  const ratio = fields.entry("compress_ratios", layer);
  if (!ratio) return found;
  found.ratio = ratio;
  if (ratio === Math.min(...fields.get("compress_ratios").filter(Boolean))) {
    Object.assign(found, { index_dim: fields.count("index_head_dim"), top_k: fields.count("index_topk") });
  }
  return found;
}

// Tokens that a layer sees; 0 for all. A window of the whole context is none.
function readWindow(fields, layer) {
  const tokens = windowSize(fields, layer), context = fields.optional("max_position_embeddings");
  return context && tokens >= context ? 0 : tokens;
}

function windowSize(fields, layer) {
  const kind = fields.entry("layer_types", layer);
  if (kind !== null) return typedWindow(fields, kind);
  if (some(fields.get("attention_chunk_size"))) return isChunked(fields, layer) ? fields.count("attention_chunk_size") : 0;
  if (some(fields.get("attn_type_list")) && fields.entry("attn_type_list", layer) !== 1) {
    throw new Refused("attn_type_list: layers of linear attention are not in this model");
  }
  const size = fields.optional("sliding_window");
  if (!size || fields.get("use_sliding_window") === false) return 0;
  const every = fields.optional("sliding_window_pattern", "_sliding_window_pattern");
  if (every) return (layer + 1) % every ? size : 0;
  if (some(fields.get("use_sliding_window"))) return layer >= fields.optional("max_window_layers") ? size : 0;
  if (data.config.windowed.includes(fields.family)) return size;
  fields.note("sliding_window: which layers have it is not said, so that all are taken to see the whole context");
  return 0;
}

function typedWindow(fields, kind) {
  if (kind === "sliding_attention") return fields.count("sliding_window");
  if (kind === "chunked_attention") return fields.count("attention_chunk_size");
  if (kind !== "full_attention") throw new Refused(`layer_types: layers of '${kind}' are not in this model`);
  return 0;
}

function isChunked(fields, layer) {
  const rope = fields.entry("no_rope_layers", layer);
  return rope !== null ? some(rope) : (layer + 1) % fields.count("no_rope_layer_interval") !== 0;
}

// --- feed-forward blocks ---

function readBlocks(fields, layer, d_model) {
  if (!fields.optional(...data.config.experts)) return [readDense(fields, d_model)];
  if (some(fields.get("enable_moe_block"))) return [readDense(fields, d_model), ...readExperts(fields)];
  return isSparse(fields, layer) ? readExperts(fields) : [readDense(fields, d_model)];
}

function readDense(fields, d_model) {
  const two = data.config.twoMatrices.includes(fields.family);
  const given = fields.optional("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim");
  const d_ff = given || (two ? 4 * d_model : fields.count("intermediate_size"));
  return { kind: "dense", d_ff, matrices: two ? 2 : 3 };
}

function readExperts(fields) {
  const d_ff = fields.count("moe_intermediate_size", "expert_intermediate_size", "intermediate_size");
  const found = { kind: "experts", experts: fields.count(...data.config.experts), active: fields.count(...data.config.topK), d_ff };
  found.shared = fields.optional("n_shared_experts", "num_shared_experts");
  const groups = fields.optional("n_group");
  if (groups > 1) Object.assign(found, { groups, limit: fields.count("topk_group") });
  const wide = fields.optional("shared_expert_intermediate_size", "shared_intermediate_size");
  if (wide % d_ff) return [found, { kind: "dense", d_ff: wide, matrices: 3 }];
  return [{ ...found, shared: found.shared + wide / d_ff }];
}

// Whether a layer has experts, by whatever the family says it with.
function isSparse(fields, layer) {
  const kind = fields.entry("mlp_layer_types", layer);
  if (kind !== null) return kind === "sparse";
  if (Array.isArray(fields.get("moe_layer_freq"))) return some(fields.entry("moe_layer_freq", layer));
  const listed = fields.get("moe_layers", "moe_layers_enum");
  if (some(listed)) return (typeof listed === "string" ? listed.split(",") : listed).map(Number).includes(layer);
  if (layer < fields.optional("first_k_dense_replace") || (fields.get("mlp_only_layers") || []).includes(layer)) return false;
  const every = fields.optional("decoder_sparse_step", "interleave_moe_layer_step") || 1;
  return (layer + 1) % every === 0 && layer % (fields.optional("moe_layer_freq") || 1) === 0;
}

// --- the number format ---

function readWeights(fields) {
  const quantized = fields.get("quantization_config", "compression_config"), { formats } = data.config;
  const stored = String(fields.get("torch_dtype", "dtype") || "").replace(/^torch\./, "");
  if (isObject(quantized) && some(quantized)) return readQuantized(fields, quantized);
  if (fields.get("expert_dtype") === "fp4") return "fp4";
  if (stored in formats) return formats[stored];
  fields.note(`torch_dtype is ${stored || "missing"}: weights are taken in bf16`);
  return "bf16";
}

function readQuantized(fields, said) {
  const method = String(said.quant_method ?? "").toLowerCase(), algorithm = String(said.quant_algo ?? "").toLowerCase();
  const left = [said.modules_to_not_convert, said.ignore, said.ignored_layers].find(some);
  if (left) fields.note(`${left.length} kinds of matrices are left in bf16 by quantization_config: all are taken as narrow`);
  if (some(said.kv_cache_scheme) || some(said.kv_cache_quant_algo)) fields.note("quantization_config has a format for the cache: choose it as kv");
  const known = [method, algorithm].find((name) => name in data.config.formats);
  if (known) return data.config.formats[known];
  const [bits, kind] = readBits(said);
  if (bits === 4 && kind !== "float") fields.note("weights of 4-bit integers are taken as fp4, which takes as many bytes");
  if (bits === 4) return "fp4";
  if (bits === 8) return kind === "float" ? "fp8" : "int8";
  fields.note(`quantization_config of ${method || "no method"} is not understood: weights are taken in bf16`);
  return "bf16";
}

function readBits(said) {
  if (some(said.load_in_4bit) || some(said.load_in_8bit)) return [some(said.load_in_4bit) ? 4 : 8, "int"];
  if (some(said.config_groups)) {
    const weights = Object.values(said.config_groups)[0].weights || {};
    return [weights.num_bits ?? 0, String(weights.type ?? "int")];
  }
  return [said.bits ?? 0, "int"];
}

// --- what is left ---

function noteRest(fields, config, found) {
  const { families, shapes, noShapes } = data.config;
  if (!families.includes(fields.family)) fields.note(`model_type '${fields.family}' is unknown: its layers are read as those of Llama are`);
  if (!found.context_tokens) {
    fields.note("max_position_embeddings is missing: the longest context is taken as 131072 tokens");
    found.context_tokens = 131_072;
  }
  const towers = Object.keys(config).filter((name) => ["vision_config", "audio_config", "vision_tower"].includes(name));
  if (towers.length) fields.note(`${towers.join(" and ")}: not counted, only the language model is`);
  if (some(fields.get("num_nextn_predict_layers", "num_mtp_modules"))) fields.note("layers that predict further tokens (MTP) are not counted");
  for (const name of Object.keys(fields.given).sort()) {
    const value = fields.given[name], shapely = shapes.some((word) => name.includes(word)) && !noShapes.includes(name);
    if (shapely && !isObject(value) && typeof value !== "string" && some(value) && !fields.used.has(name)) {
      fields.note(`${name} = ${JSON.stringify(value)} is not understood, and left out`);
    }
  }
}
