"""The page on reality: every number from the rows, every picture, every table with its sources."""

import re

import pytest
from lessons import ROOT
from test_prose import typed_numbers

from blackboard.prediction.calibration import ids
from blackboard.prediction.rows import KINDS
from blackboard.validation import numbers
from blackboard.validation.mutations import MISTAKES
from blackboard.validation.report import whole

PAGE = (ROOT / "book/reality.md").read_text("utf8")
PROSE = re.sub(r"```.*?```", "", PAGE.split("---", 2)[2], flags=re.S)
QUOTED = {
    "15": "the aim, in percent",
    "16": "bits of a format",
    "235": "Qwen3 235B, its name",
    "405": "Llama 3.1 405B, its name",
    "70": "Llama 3 70B, its name",
    "7": "Llama 2 7B, its name",
    "8": "Llama 3.1 8B, its name",
    "1": "Llama 1, its name",
    "2": "Llama 2, its name",
    "4": "Llama 4 Maverick, its name",
    "3.1": "Llama 3.1, its name",
    "5": "Qwen2.5, its name",
    "33": "kB of one of NCCL's messages",
}


def test_no_number_is_typed_into_prose():
    assert typed_numbers(PROSE) == set(QUOTED), (
        "compute it in numbers.py and glue it, or say above where it is quoted from"
    )


def test_prose_and_numbers_use_the_same_names():
    assert set(re.findall(r"\{glue:text\}`(\w+)`", PAGE)) == set(numbers.all())


def test_one_picture_for_each_kind_and_more():
    assert re.findall(r"^figures\.(\w+)\(\)", PAGE, re.M) == [
        "consistency",
        "bounds",
        "where",
        "calibrated_serving",
        "calibrated_kernels",
        "calibrated_training",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_folded_table_has_every_line_with_its_source(kind):
    table = numbers.folded(kind)
    lines = whole().of(kind).sums
    assert table.count("<tr>") == len(lines) + 1 and table.count('href="catalogue.html#source-') >= len(lines)
    assert all(line.data in table for line in lines)


def test_lists_name_every_exception():
    assert numbers.listed(whole().exceptions).count("<tr>") == len(whole().exceptions) + 1
    assert all(f"<code>{id}</code>" in numbers.constants() for id in ids())
    assert numbers.mistakes().count("<tr>") == len(MISTAKES) + 1


def test_the_page_predicts_what_its_sentences_say():
    """The call that the page shows is the one whose times it prints."""
    shown = re.search(r"predict\(\n(.*?)\n\)", PAGE, re.S)[1]
    for name, value in numbers.EXAMPLE.items():
        text = (
            f'"{value}"'
            if isinstance(value, str)
            else f"{value:_}".replace("_", "")
            if value < 10_000
            else f"{value:_}"
        )
        assert (text if name == "model" else f"{name}={text}") in shown
