"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.lessons.batching import equations as batching

WORKED = Case("lecture-moe", "b200-64", "fp4", 16_384)  # the worked rack, with the lecture's round numbers
_TERMS = ("KV", "weights")
_LOADS = (
    {"context_exponent": 4.5},
    {"stored_exponent": -2},
    {"system": "h200-8", "precision": "bf16"},
    {"model": "llama-3.1-70b", "context_exponent": 2.5},
    {"system": "a100-80gb-8", "precision": "fp4"},
)


QUOTED = {
    "8": "experts of a token in DeepSeek-V3's configuration",
    "256": "experts of its layers",
    "2": "FLOPs per multiply-add; bytes of BF16",
    "1": "a byte in FP8; the batch of one",
    "½": "a byte in FP4",
    "32": "sequences on a GPU in the estimate of an exchange",
    "3.3": "Llama's name",
    "9": "the other parts of a cost that is ten times the own work",
    "3.4": "a section of the DeepSeek-V3 report",
    "70": "the open question's model",
    "72": "GPUs of an NVL72, its name",
}

CHARTS = {
    "latency_chart": ChartCheck(
        "ms",
        "batch",
        {
            "step": batching.step_with_attention,
            "compute": batching.compute_with_attention,
            **{t: batching.STEP_TERMS[t] for t in _TERMS},
        },
        _LOADS,
    ),
    "roofline_chart": ChartCheck(
        "ms",
        "batch",
        {"step": batching.step_time, "memory": batching.memory_time, "compute": batching.compute_time},
        ({"chosen_exponent": 4.5},),
    ),
    "tradeoff_chart": ChartCheck(
        "USD/megatoken",
        "batch",
        {"cost": batching.cost_per_token},
        (
            {"chosen_exponent": 4},
            {"context_exponent": 4.5},
            {"system": "h200-8", "precision": "bf16"},
            {"model": "llama-3.1-70b", "context_exponent": 2.5},
        ),
    ),
}

LONG = RUNNING._replace(context=20_000)  # beyond the balanced context: no kink
MORE = [("latency", (case,)) for case in (WORKED, LONG)]  # figures drawn for other cases
