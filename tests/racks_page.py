"""What this page quotes, and what its interactive charts must show."""

from explored import Explored

from blackboard.lessons.racks import equations as racks

QUOTED = {
    "72": "GPUs of an NVL72, its name",
    "8": "GPUs of a Hopper box; experts of a token in DeepSeek-V3's configuration; the lecture's ratio, 0:38:47",
    "720": "ten times 72, in a question",
    "1.8": "the vendor's TB/s in both directions",
    "400": "Gb/s of a network card, its name",
    "256": "experts of DeepSeek-V3's configuration",
    "32": "tokens of DeepSeek's example, section 2.3.2 of its paper",
    "61": "layers of DeepSeek's example",
    "2": "micro-batches of DeepSeek's example",
    "2,000": "the lecture's batch, 0:26:32",
    "1,000": "tokens of context of the running case",
    "12": "an exchange's latency in µs, as DeepEP's smallest",
    "800": "Gb/s of a network card, its name",
    "18": "NVLink ports of a Blackwell GPU",
    "500": "'500-something', 0:41:07",
    "2027": "the year of a roadmap",
    "64": "experts of the counted layer; bytes of a message, as measured",
    "2025": "the year of DeepSeek's overview",
    "1,024": "tokens of a measured row",
    "384": "the open question's experts",
    "2.3": "a section of a paper",
    "3.4": "a section of the DeepSeek-V3 report",
}

EXPLORED = {
    "boundary_explorer": Explored(
        "1", "scale_up", {"slowdown": racks.slowdown}, ({"racks": 8}, {"system": "h800-8"}, {"faster_exponent": 3})
    ),
}
