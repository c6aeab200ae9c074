"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.pipelining import equations as pipelining

QUOTED = {
    "1": "the ratio that should not be undercut, 0:52:43; 1F1B, a schedule's name",
    "0": "the number of the first rack",
    "2": "pieces of the model in measured runs; the smallest example's racks",
    "3": "idle slots of four stages; hops between four stages",
    "4": "stages and micro-batches of the examples",
    "7": "slots of the smallest example; vectors to add up eight parts",
    "8": "micro-batches of the examples; GPUs of a small domain; experts of a token",
    "16": "micro-batches of an example; stages in DeepSeek-V3's training, section 3.2 of its report",
    "72": "GPUs of an NVL72",
    "2,400": "the lecture's micro-batch, 0:19:16",
    "9,600": "four times it",
    "2024": "the year of Sutskever's talk",
    "2014": "the year of the work that it recalled",
    "3.5": "the speed-up that the talk recalled",
    "2,000": "the lecture's batch, cut into four",
    "500": "a quarter of it",
}

CHARTS = {
    "context_chart": ChartCheck(
        "token/sequence",
        "stages",
        {"context": pipelining.context_fits},
        ({"machine": "gb200-nvl72"}, {"times_micro_batch_exponent": -2}, {"times_n_total_exponent": 2}),
    ),
}
