"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.batching import equations as batching
from blackboard.lessons.overheads import equations as overheads
from blackboard.lessons.overheads.charts import HALVES

QUOTED = {
    "12.6": "a version of CUDA",
    "2": "a name of Llama; of DeepSeek-V3.2",
    "7": "a name of Llama",
    "2023": "the year of gpt-fast's post",
    "1": "the smallest batch",
    "8": "a name of Qwen3",
    "70": "a name of Llama",
    "2,000": "tokens of context of SGLang's rows",
    "1,000": "tokens of context of a sequence",
    "16": "bits of the opening's weights",
    "64": "a batch; tokens above which SGLang's halves begin to win",
    "4,096": "tokens of a prefill",
    "72": "GPUs of SGLang's nine nodes, chips of the rack",
    "32": "tokens a GPU of SGLang's loss",
    "256": "and of its gain",
    "60": "one of the made-up kernels",
    "100": "what it is changed to",
    "3.1": "a name of Llama",
    "7,168": "width of DeepSeek-V3",
    "400": "Gbit/s of SGLang's network cards",
    "1.5": "times as fast as SGLang, a megakernel",
}

CHARTS = {
    "launch_chart": ChartCheck(
        "ms",
        "batch",
        {"eager": overheads.eager_time, "graph": overheads.graph_time, "roofline": batching.step_time},
        (
            {"launch_us": 2.1},
            {"model": "llama-3.1-8b", "launch_us": 2.1},
            {"system": "gb200-nvl72", "model": "deepseek-v3", "precision": "fp8", "layer_kernels": 24},
            {"layer_kernels": 60, "launch_us": 40, "gap_us": 3, "context_exponent": 5},
            {"gap_us": 0, "layer_kernels": 1, "launch_us": 0.5},
        ),
    ),
    "overlap_chart": ChartCheck(
        "1",
        "batch",
        {"gain": HALVES},
        (
            {"slower_exponent": -5},
            {"system": "h100-8", "model": "gpt-oss-120b", "slower_exponent": 2},
            {"context_exponent": 5},
            {"context_exponent": 2, "back_bytes": 1},
        ),
    ),
}
