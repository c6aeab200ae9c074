"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.batching import equations as batching
from blackboard.lessons.sparsity import equations as sparsity

QUOTED = {
    "3.3": "a name of Llama",
    "300": "the board's 'about 300', 0:18:25; the users of the open question",
    "64": "experts of the figure that the lecture shows, 0:29:24; departures a second and GPUs, 0:26:32; a batch",
    "31": "experts of 32 that a token leaves alone, DeepSeek-V3's configuration",
    "72": "GPUs of the rack, in the fold on the lecture",
    "128": "heads of DeepSeek-V3's attention, its configuration",
    "1": "the numerator of the share of compute left",
    "2": "FLOP of a multiply and an add, in the formula of the balanced context",
    "256": "experts of DeepSeek-V3's configuration, 0:19:16; the report's tokens per expert, section 3.4.2",
    "32": "the board's active experts, 0:19:16",
    "2,000": "the lecture's batch, 0:26:32",
    "2025": "the year of a statement",
    "370": "parameters of the figure's model, in millions, 0:29:24",
    "16": "DeepSeekMoE 16B's name",
    "70": "the open question's model",
    "3.4.2": "a section of the DeepSeek-V3 report",
}

CHARTS = {
    "steps_chart": ChartCheck(
        "ms",
        "batch",
        {"compute": batching.compute_time, "touched": sparsity.touched_time, "kv": batching.kv_time},
        (
            {"chosen_exponent": 3.577121},
            {"quality_gain": 1},
            {"context": 4_000},
            {"system": "h100-8", "model": "gpt-oss-120b"},
            {"system": "tpu-v6e-256", "precision": "fp4", "context": 10_000},
        ),
    ),
}
