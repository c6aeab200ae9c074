"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.pricing import equations as pricing

QUOTED = {
    "61": "layers of DeepSeek-V3",
    "128": "heads of DeepSeek-V3; sequences on each GPU of its decode",
    "144": "GPUs of DeepSeek's decode",
    "1": "the price of plain input, which is the unit",
    "3": "plain input of three prompts",
    "3.1": "a name of Gemini",
    "2026": "when a vendor's documentation was read",
    "4.6": "a name of Claude",
    "72": "GPUs of the rack",
    "500": "new tokens of a small step, a tenth of the example call's",
    "70": "a name of Llama",
    "405": "a name of Llama",
    "235": "a name of Qwen3",
    "100": "active parameters in billions, 1:38:22; answers made at once, for speed",
    "2": "a name of DeepSeek-V3.2; plain input of two prompts",
    "1,000": "tokens of the answer of the example call",
    "10,000": "tokens that are dropped, an example",
    "576": "numbers of a cached token and layer of DeepSeek-V3",
    "5,000": "new tokens of the example call",
    "87,500": "half of these: what a token of the history looks back at on average",
    "175,000": "tokens of the example call that hit",
    "180,000": "tokens in the prompt of the example call",
}

CHARTS = {
    "hold_chart": ChartCheck(
        "USD/megatoken",
        "hold_time",
        {"HBM": pricing.hbm_hold, "flash": pricing.tier_cost, "again": pricing.remat_cost},
        (
            {"kv_bytes_per_token_exponent": 2.947},
            {"year": "2025"},
            {"rent_per_hour": 12},
        ),
    ),
}
