"""Consistency of published training runs."""

from __future__ import annotations

import math

from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.overtraining import equations as overtraining
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.reversibility import equations as reversibility
from blackboard.units import factor
from blackboard.validation import records
from blackboard.validation.consistency import arithmetic
from blackboard.validation.consistency.arithmetic import compute, of_peak
from blackboard.validation.consistency.check import EXACT, Check
from blackboard.validation.records import net, noted, only

COMPUTE = "deepseek_isca25_training_compute"
LLAMA, MEGATRON, KEPT, FIT = (
    "llama3_405b_parallelism",
    "megatron_2021_table1",
    "korthikanti_activation_formula",
    "scaling_law_constants",
)
GERMAN, TINY, PLATEAU, REPEATED = (
    "llammlein_training",
    "tinyllama_checkpoints",
    "moderngbert_plateaus",
    "repeated_data_runs",
)

TRAINING = (
    *(
        Check(
            id,
            "parameters",
            "parameter",
            "counted from the architecture",
            lambda r: (found := net(r["model"])) and (r["n_total"], found.n_total),
        )
        for id in ("training_gpu_hours", "training_tokens", COMPUTE)
    ),
    *(
        Check(
            "training_gpu_hours",
            "active parameters",
            "parameter",
            "those that one token uses, counted",
            lambda r: (r["n_active"], net(r["model"]).n_active),
            where={"model": name},
        )
        for name in ("DeepSeek-V3", "Llama 4 Maverick")
    ),
    Check(
        LLAMA,
        "chips",
        "GPU",
        "tensor times context times pipeline times data parallelism",
        lambda r: (r["gpus"], math.prod(r[f"{way}_parallel"] for way in ("tensor", "context", "pipeline", "data"))),
        limit=EXACT,
    ),
    Check(
        LLAMA,
        "tokens of a step",
        "token",
        "replicas times sequences times length, as on fewest chips",
        lambda r: tuple(
            corpus.step_tokens(batch=each["data_parallel"] * each["batch_per_replica"], context=each["sequence_tokens"])
            for each in (r, only(LLAMA, gpus=8192))
        ),
        (corpus.step_tokens,),
        EXACT,
        {"gpus": 16384},
    ),
    Check(
        LLAMA,
        "share of peak",
        "1",
        "rate over the chip's BF16 peak",
        lambda r: (r["mfu"], of_peak(r["compute_TFLOP_per_GPU_per_s"], "h100-sxm")),
    ),
    Check(
        MEGATRON,
        "parameters",
        "parameter",
        "matrices, norms and biases, words and places",
        lambda r: (r["n_total"], arithmetic.megatron_params(r)),
    ),
    Check(
        MEGATRON,
        "rate of all chips",
        "PFLOP/s",
        "a chip's rate times chips",
        lambda r: (r["compute_PFLOP_per_s"], r["compute_TFLOP_per_GPU_per_s"] * r["gpus"] / 1e3),
    ),
    Check(
        MEGATRON,
        "share of peak",
        "1",
        "rate over the chip's BF16 peak",
        lambda r: (r["peak_share"], of_peak(r["compute_TFLOP_per_GPU_per_s"], "a100-80gb")),
    ),
    Check(
        "megatron_2021_table2_zero3",
        "batch",
        "sequence",
        "one micro-batch on every chip",
        lambda r: (r["batch"], r["microbatch_size"] * r["gpus"]),
        limit=EXACT,
        where={"scheme": "ZeRO-3"},
    ),
    Check(
        "korthikanti_iteration_times",
        "chips",
        "GPU",
        "tensor times pipeline parallelism: one replica",
        lambda r: (r["gpus"], r["tensor_parallel"] * r["pipeline_parallel"]),
        limit=EXACT,
    ),
    Check(
        KEPT,
        "weights and optimizer",
        "GiB",
        "18 bytes a parameter",
        lambda r: (r["state_GiB"], arithmetic.state(r) / factor("GiB")),
        (pipelining.chip_weights,),
        EXACT,
    ),
    *(
        Check(
            KEPT,
            part,
            "GiB",
            "bytes of a layer times the layers under way",
            lambda r, column=column, measure=measure: (r[column], arithmetic.kept(r, measure) / factor("GiB")),
            (reversibility.layer_kept, reversibility.stored),
            EXACT,
        )
        for part, column, measure in (
            ("activations", "activations_GiB", "all"),
            ("what is left of them", "remaining_GiB", "both"),
        )
    ),
    *(
        Check(
            KEPT,
            f"share left, {measure}",
            "1",
            "bytes of a layer with the measure over those without, embeddings left out",
            lambda r, measure=measure: (r[f"{measure}_share"], arithmetic.kept(r, measure) / arithmetic.kept(r, "all")),
            (reversibility.layer_kept,),
        )
        for measure in ("sequence", "selective", "both", "full")
    ),
    Check(
        "zero_bubble_pipeline",
        "bubble, 1F1B",
        "1",
        "simulated from the stage times",
        arithmetic.bubble,
        where={"schedule": "1F1B"},
    ),
    Check(
        "zero_bubble_pipeline",
        "bubble, 1F1B-I",
        "1",
        "simulated, less one transfer a stage: without it the paper's bubbles are 2 to 4% smaller",
        lambda r: arithmetic.bubble(r, r["stages"]),
        where={"schedule": "1F1B-I"},
    ),
    Check(
        "dualpipe_bubble_formulas",
        "idle time",
        "ms",
        "the printed formula against the lesson's, at stage times of the zero-bubble paper",
        arithmetic.printed_idle,
        (pipelining.idle_1f1b, pipelining.idle_zero_bubble, pipelining.idle_dualpipe),
        EXACT,
    ),
    Check(
        "chinchilla_table3",
        "compute",
        "FLOP",
        "six FLOP a parameter and token",
        lambda r: (r["compute_FLOP"], compute(r)),
        (overtraining.pretrain_compute,),
    ),
    *(
        Check(
            FIT,
            f"exponent {name}",
            "1",
            "the TeX source's, rounded",
            lambda r, name=name: (r[name], only(FIT, law="Hoffmann, TeX source")[name]),
            where={"law": "Hoffmann, as printed"},
        )
        for name in ("alpha", "beta")
    ),
    Check(
        "routed_scaling_law",
        "constant c",
        "1",
        "b over the size beyond which routing no longer helps; three decimals allow 4.2%",
        lambda r: (r["c"], -r["b"] / math.log10(r["n_cutoff"])),
        limit=0.042,
    ),
    Check(
        "revnet_paper",
        "extra compute",
        "1",
        "one more forward pass to a forward and a backward one",
        lambda r: (r["extra_compute"], reversibility.work_ratio(recomputed=1) - 1),
        (reversibility.work_ratio,),
    ),
    Check(
        GERMAN,
        "tokens",
        "token",
        "steps times sequences times length",
        lambda r: (
            r["pretraining_tokens"],
            r["steps"] * corpus.step_tokens(batch=r["batch"], context=r["context_tokens"]),
        ),
        (corpus.step_tokens,),
    ),
    Check(
        GERMAN,
        "hours",
        "GPU*hour",
        "chips times days, as the note has them",
        lambda r: (
            r["training_GPU_hours"],
            r["chips"] * noted(GERMAN, r"took (\d+) days") * factor("day") / factor("hour"),
        ),
        where={"model": "LLäMmlein 1B"},
    ),
    *(
        Check(
            id,
            "tokens so far",
            "token",
            "steps times a step's tokens",
            lambda r: (r["pretraining_tokens"], arithmetic.llammlein_tokens(r["steps"])),
            (corpus.step_tokens,),
            EXACT,
            by=("model", "steps"),
        )
        for id in ("llammlein_checkpoints", "llammlein_saturated", "llammlein_generative")
    ),
    Check(
        TINY,
        "tokens so far",
        "token",
        "steps times the last checkpoint's tokens a step",
        lambda r: (r["pretraining_tokens"], r["steps"] * arithmetic.last_rate(TINY, r["model"])),
        by=("model", "steps"),
        where={"model": "TinyLlama 1.1B"},
    ),
    Check(
        REPEATED,
        "compute",
        "FLOP",
        "the 8.7B's, for which the law chose this size",
        lambda r: (compute(r), compute(records.records(REPEATED, run="8.7B")[0])),
        (overtraining.pretrain_compute,),
        where={"run": "6.3B"},
    ),
    Check(
        "filtering_kept",
        "tokens kept",
        "token",
        "as another model on the same text counts them",
        lambda r: (r["kept_tokens"], only(PLATEAU, model="ModernGBERT 1B")["pretraining_tokens"]),
        limit=EXACT,
        where={"kept": "LLäMmlein"},
    ),
    Check(
        "filtering_kept",
        "share removed",
        "1",
        "one less what is kept of the pool",
        lambda r: (noted("filtering_kept", r"(\d+) percent removed") / 100, 1 - r["kept_tokens"] / r["pool_tokens"]),
        where={"kept": "FineWeb-Edu"},
    ),
    *(
        Check(
            PLATEAU,
            "share of the text",
            "1",
            "tokens at the plateau over all",
            lambda r, said=said: (noted(PLATEAU, said) / 100, r["plateau_tokens"] / r["pretraining_tokens"]),
            where={"model": name},
        )
        for name, said in (("ModernGBERT 134M", r"(\d+) and \d+ percent"), ("ModernGBERT 1B", r"and (\d+) percent"))
    ),
)
