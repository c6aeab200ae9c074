"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.reversibility import equations as reversibility

QUOTED = {
    "6": "6ND, its name",
    "5": "bytes of scores per head and pair of tokens, Korthikanti and others, section 4.1; PFLOP/s of a GPU in FP8",
    "1": "bytes of a number in a mask, the same",
    "2": "bytes of a number in BF16, the same",
    "37.83": "seconds of a step of the run with 530 billion parameters, Korthikanti and others, table 5",
    "128": "heads of that run",
    "2,048": "tokens of its sequences",
    "37.55": "billions of active parameters of DeepSeek-V3",
    "70,272": "bytes that it caches per token",
    "186": "GB of a GB200 GPU",
    "8": "8ND, its name with a pass more; GPUs of a node",
    "35": "pipeline stages of the run with 530 billion parameters, Korthikanti and others, table 5",
    "280": "its micro-batches, the same",
    "64": "bits of a half in the count",
    "4": "of four thirds",
    "3": "of four thirds",
    "3.1": "a name of Llama",
    "405": "a name of Llama",
    "34": "bytes a value, Korthikanti and others, section 4.1",
    "164": "layers of a measured network, its name",
    "22": "billions of parameters of the smallest measured model",
    "1,000": "and of the largest",
    "30": "the open question's model",
    "80": "the open question's memory",
}

CHARTS = {
    "memory_chart": ChartCheck(
        "GB",
        "depth",
        {
            "stored": reversibility.stored,
            "checkpointed": reversibility.checkpointed,
            "least": reversibility.checkpointed_least,
            "reversible": reversibility.reversible,
        },
        (
            {"depth": 128},
            {"tokens_exponent": 15, "value_bytes": 1},
            {"segment": 16, "values_kept": 8},
            {"d_model": 1024},
        ),
    ),
}
