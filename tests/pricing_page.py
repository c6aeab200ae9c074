"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.pricing.charts import DECODE

QUOTED = {
    "126": "layers of Llama 3.1 405B",
    "61": "layers of DeepSeek-V3.2",
    "1.5": "the lecture's surcharge, 50 percent, as a factor",
    "2,000": "tokens of a short prompt, an example",
    "2026": "the year of the lecture",
    "3.1": "a name of Gemini, and of Llama",
    "4.6": "a name of Claude",
    "200,000": "tokens at which the lecture's card steps, 1:33:03, and of later contexts, 1:51:19",
    "100": "active parameters in billions, 1:38:22; millions of tokens in a month's work, 1:51:19",
    "300": "multiply-adds per byte, 1:38:22; the most active parameters that a card is read with, in billions",
    "8": "KV heads, 1:40:08; a name of Llama",
    "128": "values of a head, 1:40:08; heads of DeepSeek-V3's configuration",
    "405": "a name of Llama",
    "8,000": "tokens of early contexts, 1:51:19",
    "72": "a name of Qwen2.5",
    "5": "a name of Qwen2.5",
    "2": "a name of DeepSeek-V3.2",
    "2024": "the year in which Gemini offered a million tokens",
    "1,000": "tokens of a short prompt and of a short context, an example",
    "5,000": "tokens of a context, an example",
    "10,000": "sequences in a batch at most, an example",
    "50,000": "tokens in the prompt of the example call",
    "20": "the lecture's drain of HBM in ms, 2:01:16",
    "30": "the fewest active parameters that a card is read with, in billions",
    "50": "the lecture's percent, 1:33:03",
}

CHARTS = {
    "card_chart": ChartCheck(
        "1",
        "context",
        {"cost": DECODE, "memory": pricing.memory_ratio_of},
        (
            {"kv_bytes_per_token_exponent": 4.822},
            {"fill_exponent": -2},
            {"system": "h200-8", "precision": "bf16"},
            {"step_context_exponent": 4.001, "step_ratio": 3},
        ),
    ),
    "hold_chart": ChartCheck(
        "USD/megatoken",
        "hold_time",
        {"HBM": pricing.hbm_hold, "flash": pricing.tier_cost, "again": pricing.remat_cost},
        (
            {"kv_bytes_per_token_exponent": 2.947},
            {"year": "2025"},
            {"n_active_exponent": 12.075, "rent_per_hour": 12},
            {"faster_exponent": -3, "years": 1},
        ),
    ),
}
