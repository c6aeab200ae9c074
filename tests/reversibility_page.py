"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.reversibility import equations as reversibility

QUOTED = {
    "6": "6ND, its name",
    "5": "bytes of scores per head and pair of tokens, Korthikanti and others, section 4.1",
    "8": "8ND, its name with a pass more",
    "64": "bits of a half in the count",
    "4": "of four thirds",
    "3": "of four thirds",
    "3.1": "a name of Llama",
    "405": "a name of Llama",
    "34": "bytes a value, Korthikanti and others, section 4.1",
    "164": "layers of a measured network, its name",
    "38": "layers of another",
    "110": "layers of a third",
    "17": "34 bytes over the 2 of a value",
    "2018": "the year that a summary of the lecture gives",
    "22": "billions of parameters of the smallest measured model",
    "1,000": "and of the largest",
    "2017": "the year of the paper on RevNets",
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
    "error_chart": ChartCheck(
        "1",
        "depth",
        {"difference": reversibility.difference},
        ({"format": "bf16"}, {"widens_exponent": 0}, {"widens_exponent": -3, "format": "fp64"}, {"depth": 200}),
    ),
}
