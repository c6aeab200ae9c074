"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.corpus.charts import GAIN as FILTERED
from blackboard.lessons.corpus.charts import QUALITY as KEPT_QUALITY

QUOTED = {
    "4": "facts, to try in the program of sixteen",
    "1.4": "how good the best tenth is, to try in the program of filters",
    "182": "runs that the law of repetition was fitted to",
    "5.0": "points of a rise, to try in the program of two tests",
    "95": "percent, the level of the band",
    "20": "Chinchilla's tokens a parameter",
    "0": "where an integral begins",
    "1": "a name of LLäMmlein",
    "29": "tasks of the paper's benchmark",
    "44": "passes of the longest published run",
}

CHARTS = {
    "repeat_chart": ChartCheck(
        "token",
        "pretrain_tokens",
        {"worth": corpus.data_worth},
        (
            {"unique_tokens_exponent": 10.604},
            {"pretrain_tokens_exponent": 13.977},
            {"reuse": 2},
            {"pretrain_tokens_exponent": 10.477, "unique_tokens_exponent": 13.104},
        ),
    ),
    "filter_chart": ChartCheck(
        "1",
        "kept_share",
        {"gain": FILTERED, "quality": KEPT_QUALITY},
        (
            {"pool_tokens_exponent": 14.431},
            {"pretrain_tokens_exponent": 13.477, "pool_tokens_exponent": 11.731},
            {"times": 1.1},
            {"times": 4, "reuse": 30},
            {"kept_percent_exponent": -0.993},
            {"kept_percent_exponent": 2, "reuse": 1},
        ),
    ),
}
