"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.paging.charts import PAGED, RESERVED

QUOTED = {
    "10": "full layers of Gemma 3; tokens that two requests share",
    "15": "tokens of a longer answer, to try in the allocator",
    "3.1": "a name of Llama",
    "70": "a name of Llama",
    "64": "tokens of a block up to which the paper found no great difference",
    "31": "tokens of its window of 32 beside the next one",
    "16": "bits of its weights; tokens of a block",
    "40": "GB of the paper's A100",
    "2,048": "OPT's context",
    "1": "a block of Ann's and Bob's",
    "2": "another",
    "5": "of Kimi K2.5",
    "4": "tokens of a block, of Ann's and in the documentation's example",
    "6": "tokens of Ann's prompt",
    "13": "billion parameters of OPT-13B",
    "32": "tokens of the example's window",
    "112": "tokens of its request",
    "52": "its window layers",
    "62": "all of its layers",
    "3": "a name of Gemma",
    "27": "a name of Gemma",
    "131,072": "a long one",
    "2023": "the year of vLLM's paper",
    "24": "the factor of vLLM's first post",
    "60": "percent of that post",
    "80": "percent of that post",
    "0": "a block of Ann's and Bob's",
    "8": "tokens that are found in the documentation's example",
}

CHARTS = {
    "room_chart": ChartCheck(
        "sequence",
        "context",
        {"blocks": PAGED, "set_aside": RESERVED},
        (
            {"model": "deepseek-v3", "system": "gb200-nvl72", "precision": "fp8"},
            {"reserved_context_exponent": 20, "context_exponent": 7},
            {"model": "llama-3.1-405b", "precision": "fp8"},
            {
                "page_tokens_exponent": 6,
                "model": "llama-3.1-8b",
                "precision": "fp4",
                "reserved_context_exponent": 9,
            },
        ),
    ),
}
