"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.corpus.charts import GAIN as FILTERED
from blackboard.lessons.corpus.charts import QUALITY as KEPT_QUALITY

QUOTED = {
    "5": "percent of false alarms of an ordinary test",
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
