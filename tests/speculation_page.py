"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.speculation import equations as speculation
from blackboard.lessons.speculation.charts import SPEEDUP

QUOTED = {
    "1,000": "tokens of context of the running case",
    "1": "the smallest batch",
    "2": "the smallest batch of EAGLE-3's table",
    "8": "experts of a token; a name of Llama",
    "3.1": "a name of Llama",
    "72": "GPUs of the rack",
    "4,000": "a batch of the worked example",
    "16,000": "another",
    "70": "a name of Llama",
    "500": "tokens of context of the rows by batch",
    "3": "a step of the proof",
}

CHARTS = {
    "speedup_chart": ChartCheck(
        "1",
        "batch",
        {"speedup": SPEEDUP},
        (
            {"context_exponent": 4},
            {"acceptance": 0.3, "drafted": 7, "draft_ratio": 0.3},
            {"system": "h100-8", "model": "llama-3.1-70b", "precision": "bf16"},
            {"acceptance": 0.9, "drafted": 7, "draft_ratio": 0},
        ),
    ),
    "drafted_chart": ChartCheck(
        "1",
        "drafted",
        {"speedup": speculation.speedup},
        (
            {"memory_ratio_exponent": 0},
            {"memory_ratio_exponent": 6, "acceptance": 0.9, "draft_ratio": 0},
            {"acceptance": 0, "draft_ratio": 0.3},
        ),
    ),
}
