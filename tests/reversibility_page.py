"""What this page quotes, and what its interactive chart must show."""

from chart_checks import ChartCheck

from blackboard.lessons.reversibility import equations as reversibility
from blackboard.lessons.reversibility.charts import SEGMENT, STREAMS

QUOTED = {
    "6": "6ND, its name",
    "1": "the compute of a training step, in such steps",
    "128": "heads of Llama 3.1 405B",
    "16": "groups that share its layers, and sequences in flight",
    "516,096": "bytes that it caches per token",
    "8": "8ND, its name with a pass more; GPUs of a node",
    "4": "of four thirds",
    "3": "of four thirds",
    "3.1": "a name of Llama",
    "405": "a name of Llama",
    "34": "bytes a value, Korthikanti and others, section 4.1",
    "164": "layers of a measured network, its name",
    "22": "billions of parameters of the smallest measured model",
    "1,000": "and of the largest",
    "0.11": "bits per character, by the fast.ai community's report",
    "30": "the open question's model",
    "80": "the open question's memory",
}

CHARTS = {
    "segment_chart": ChartCheck(
        "byte",
        "segment",
        {"kept": reversibility.checkpointed, "streams": STREAMS, "held": SEGMENT},
        (
            {"length": 42},
            {"depth_exponent": 3.000371, "vectors": 25.625},
            {"depth_exponent": 1.100371, "vectors": 5.625, "length": 42},
            {"vectors": 25.625, "depth_exponent": 1.100371},
        ),
    ),
}
