"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.pipelining import equations as pipelining

QUOTED = {
    "1": "1F1B, a schedule's name; the bytes of a value of an expert's copy",
    "0": "the number of the first box",
    "2": "pieces of the model in measured runs; the bytes of a value in BF16",
    "3": "Llama 3, a model's name",
    "4": "stages of the examples",
    "5": "forward passes that box 1 does ahead, to try",
    "6": "micro-batches by which a box does W late, to try",
    "7": "vectors to add up eight parts; forward passes that box 0 does ahead, to try",
    "8": "GPUs of a small domain",
    "9": "copies of a token",
    "16": "layers of the fullest stage; GPUs of two boxes; stages in DeepSeek-V3's training, section 3.2 of its report",
    "72": "GPUs of an NVL72",
    "116": "exchanges of a step, two in each of 58 layers",
    "128": "tokens on each GPU in DeepEP's measurement",
    "7,168": "DeepSeek-V3's width",
    "96": "micro-batches of the shown runs, as zb_batches",
    "141": "GB of the GPUs of one box in SGLang's measurement",
    "12,288": "tokens of the first chunk in SGLang's measurement",
    "12288": "as above, in a command",
    "128,000": "tokens of a prompt in SGLang's measurement",
    "15.5": "s to its first token on four boxes",
    "48.5": "s to its first token on one box",
    "82.8": "% of four boxes' prompt tokens that SGLang's pipeline of four processes, 3.31 times one box's",
    "18": "% that SGLang's slowest pipeline above its best shared layers, 18.4%",
}

CHARTS = {
    "context_chart": ChartCheck(
        "token/sequence",
        "stages",
        {"context": pipelining.context_fits},
        ({"machine": "gb200-nvl72"}, {"micro_batch_exponent": 5.25}, {"n_total_exponent": 41.25}),
    ),
}
