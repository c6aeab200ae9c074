"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.racks import equations as racks

QUOTED = {
    "72": "GPUs of an NVL72, its name",
    "576": "the name of NVL576; GPUs of an NVLink domain in NVIDIA's documentation",
    "1.8": "the vendor's TB/s in both directions",
    "400": "Gb/s of a network card, its name",
    "8": "the lecture's ratio of bandwidths, 0:38:47",
    "256": "experts of DeepSeek-V3's configuration",
    "18": "NVLink ports of a Blackwell GPU; the rack's ratio of bandwidths",
    "2027": "the year of a roadmap",
    "64": "GPUs of a rack that share a layer",
    "39": "GB/s of a dispatch among 256 GPUs in DeepEP's table",
    "384": "the open question's experts",
    "2.3": "a section of a paper",
    "3.4": "a section of the DeepSeek-V3 report",
}

CHARTS = {
    "boundary_chart": ChartCheck(
        "1",
        "scale_up",
        {
            "slowdown": racks.slowdown,
        },
        ({"racks": 8}, {"system": "h800-8"}, {"faster_exponent": 3}),
    ),
}
