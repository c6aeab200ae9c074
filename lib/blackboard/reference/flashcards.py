"""Flashcards: the lecture's 27 in our words, and a card for each formula that a lesson prints as a summary card.

Read on a page of the book or learned in Anki. Numbers and equations of an answer are filled in from the formulas; what
the published cards have wrong, or take for granted, the answer says.
"""

from __future__ import annotations

import html
import importlib
import itertools
import json
import os
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from blackboard import catalogue, notation
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts.style import svg
from blackboard.formula import DERIVED, Formula, Source, formulas, lecture
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching import numbers as batching
from blackboard.lessons.overtraining import equations as training
from blackboard.lessons.overtraining import numbers as overtraining
from blackboard.lessons.pipelining import numbers as pipelining
from blackboard.lessons.pricing import equations as pricing_equations
from blackboard.lessons.pricing import numbers as pricing
from blackboard.lessons.racks import numbers as racks
from blackboard.lessons.sparsity import numbers as sparsity
from blackboard.notation import latex
from blackboard.page.summary import Page
from blackboard.text import markup
from blackboard.units import pretty, significant, write_unit

ROOT = Path(__file__).resolve().parents[3]
DECK = "the-math-behind-llms.apkg"
HERE = "../_static/flashcards/"  # from the page to the deck and its figures
TWICE = "blackboard::shown-in-lecture"  # a tag
DEARER = 3, 5  # output over input, 1:41:24
_SLOT = re.compile(r"\{([=$]?)([\w.]+)\}")


@dataclass(frozen=True)
class Card:
    """A question and its answer; both are texts with {numbers}, {$symbols} and {=formulas} to be filled in."""

    id: str
    asks: str
    answers: str
    lesson: str
    origin: Source
    numbers: Mapping[str, str] = field(default_factory=dict)
    figure: str = ""  # a lesson's, as "batching.latency"
    formula: Formula | None = None  # a summary card's; the question then lists its symbols

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas that the answer shows."""
        return tuple(formulas[name] for kind, name in _SLOT.findall(self.answers) if kind == "=")

    @property
    def question(self) -> str:
        """HTML, mathematics in TeX between \\( and \\)."""
        given = (
            f'<span class="flashcard-given">Given: {explained(_given(self.formula))}.</span>' if self.formula else ""
        )
        return markup(_filled(self.asks, self.numbers)) + given

    @property
    def answer(self) -> str:
        """HTML, as the question; the figure is not in it."""
        return markup(_filled(self.answers, self.numbers))


def _filled(text: str, numbers: Mapping[str, str]) -> str:
    """The text with its slots filled; KeyError for a name that nothing has."""
    show = {
        "=": lambda name: f"$${formulas[name].latex}$$",
        "$": lambda name: f"${latex(notation.symbol(name))}$",
        "": lambda name: numbers[name],
    }
    return _SLOT.sub(lambda slot: show[slot[1]](slot[2]), text)


# --- the lecture's cards ----------------------------------------------------------------------------------------------

TEXTS = (
    (
        "1.1",
        "batching",
        "0:03:07",
        "A forward pass multiplies, and it reads memory. How long does it take at least?",
        (
            "{=batching.step_time}As long as the slower of the two, if they overlap perfectly: reading, over"
            " {$bandwidth}, or multiplying, over {$flops}."
        ),
    ),
    (
        "1.2",
        "batching",
        "0:03:12",
        "For how long does a step multiply? Leave out attention.",
        (
            "{=batching.compute_time}Each of the {$batch} sequences has one new token, and every active parameter"
            " multiplies it. The published card has no {flop}: the board's FLOP is a multiply-add, which a datasheet"
            " counts as {flop}."
        ),
    ),
    (
        "1.3",
        "batching",
        "0:05:05",
        "For how long does a step read memory? Two things are read.",
        (
            "{=batching.memory_time}The weights once, all of them if the batch touches every expert; and for every"
            " sequence the KV cache of its whole context. The published card leaves out {$bytes_per_param}: on the"
            " board a parameter is a byte."
        ),
    ),
    (
        "1.4",
        "batching",
        "0:08:02",
        (
            "Sketch the time of a step against the batch: multiplying, reading weights, reading KV, and in bold what"
            " results."
        ),
        (
            "Weights are level; KV and multiplying rise from zero. The bold line is the larger of multiplying and of"
            " weights and KV together. It starts at the latency floor, here {floor}, and bends where multiplying takes"
            " over, here at a batch of {kink}."
        ),
    ),
    (
        "1.5",
        "batching",
        "0:10:20",
        "Why does a step not become as fast as one likes when the batch shrinks?",
        (
            "{=batching.latency_floor}A batch that touches nearly every expert reads all stored weights, however few"
            " sequences that takes. The published card said the active ones until 22 July 2026, for DeepSeek-V3"
            " {sparsity} times too few. Fewer sequences touch fewer experts, and a batch of one, whose token is routed"
            " to a few of them, reads about that little."
        ),
    ),
    (
        "1.6",
        "batching",
        "0:15:18",
        "A larger batch makes a token cheaper, but not without end. Which two costs does no batch share?",
        (
            "{=batching.cost_floor}Multiplying and reading KV. Every sequence brings a token of its own to multiply and"
            " a cache of its own to read; only the weights are shared."
        ),
    ),
    (
        "1.7",
        "sparsity",
        "0:18:25",
        "How much can a GPU multiply for each byte that it reads from memory?",
        (
            "{=batching.hardware_constant}About 300 multiply-adds, where a parameter is a byte: {c_h100} on an H100,"
            " {c_b200} on a B200. The published card says FLOPs, of which a datasheet counts twice as many, {nominal}"
            " for each byte of the H100. Nor is the number as stable as the lecture has it: {c_least} on an A100,"
            " {c_h200} on an H200, {c_gb300} on a GB300 in FP4."
        ),
    ),
    (
        "1.8",
        "sparsity",
        "0:16:58",
        (
            "From which batch on does a step no longer wait for weights? Leave out KV, derive it, and give the number"
            " for 32 active experts of 256 and 300 multiply-adds for each byte."
        ),
        (
            "Multiplying shall take as long as reading the weights:{=batching.compute_time}{=batching.weight_time}Set"
            " them equal and solve for the batch:{=batching.critical_batch}That is the hardware's constant times the"
            " sparsity, stored over active: 300 × {board_sparsity} = {board_batch} sequences. The published question"
            " has the ratio upside down, active over total, which taken at its word gives {inverted}. The real"
            " DeepSeek-V3 uses {top_k} of 256 experts and stores {sparsity} parameters for each active one, which asks"
            " for {critical} on GB200 NVL72."
        ),
    ),
    (
        "1.9",
        "batching",
        "0:23:28",
        "Steps leave like trains, one every 20 ms. Why 20 ms? What is wrong with fewer trains, and with more?",
        (
            "It is about the time in which the whole memory is read once.{=batching.drain_time}That takes {rubin} on"
            " the lecture's Rubin, 288 GB at 20 TB/s, and {drain_least} to {drain_most} on the chips of our catalogue;"
            " 20 ms is a round number among them, not one that was computed. Fewer trains would have time to read the"
            " same bytes twice, to no purpose. More of them could not read all of the memory. That they are impossible,"
            " as the published card says, holds only where weights and KV fill the memory: on GB200 NVL72 the weights"
            " of DeepSeek-V3 are read in {floor}."
        ),
    ),
    (
        "2.1",
        "racks",
        "0:39:39",
        "Why does a layer of experts end where the rack ends?",
        (
            "Any token may need any expert, so every GPU sends to every other. Inside the rack each reaches each at the"
            " full rate of NVLink; the network outside is about 8 times slower.{=racks.leaving}Over two racks half of"
            " the traffic goes outside, and the layer's traffic takes {slower} times as long. It is a matter of cost,"
            " not of logic: DeepSeek's report spreads a layer over {report_gpus} GPUs in {report_nodes} nodes."
        ),
    ),
    (
        "3.1",
        "pipelining",
        "0:58:53",
        "Why has a training pipeline bubbles?",
        (
            "{=pipelining.bubble}The last stages wait until the first micro-batch has come through, and again at the"
            " end. The first stages wait at the turn, between their last forward and their first backward pass: what"
            " the published card calls the end of the batch is the end of its forward half. Four stages idle"
            " {bubble_4_4} of the time with four micro-batches, {bubble_4_16} with sixteen."
        ),
    ),
    (
        "3.2",
        "pipelining",
        "0:58:53",
        "Why can the next batch not fill the bubbles of a training pipeline?",
        (
            "It needs the new weights, and those need the gradients of all of this batch. Work of the same batch can"
            " fill them: the gradients of weights, for which no other stage waits. In serving no weights change, so the"
            " next micro-batch starts at once and there is no bubble."
        ),
    ),
    (
        "3.3",
        "pipelining",
        "1:10:33",
        "A pipeline of {$stages} stages divides the weights on a GPU by {$stages}. Why not the KV cache?",
        (
            "{=pipelining.stage_memory}{$stages} stages are busy only with {$stages} micro-batches on their way. Each"
            " GPU keeps fewer layers' KV, of as many times more sequences, and the two cancel. With the board's numbers"
            " four stages cut a GPU's weights from {weights_1} to {weights_4} and leave its KV at {kv_chip}. Long"
            " contexts fill the memory with KV, so little is gained."
        ),
    ),
    (
        "4.1",
        "pipelining",
        "0:54:16",
        "Ilya Sutskever said in a talk that pipelining is not wise. Which reasons could one give?",
        (
            "He himself gave no reason. The published card takes Horace He's: stages tie down the architecture."
            " Attention to the residuals of earlier layers would reach across racks, layers of unequal cost would"
            " unbalance the stages, and all that slows research. The lecture itself derives another: pipelining saves"
            " memory for weights, of which a rack has enough, none for KV, and makes no token arrive sooner."
        ),
    ),
    (
        "5.1",
        "overtraining",
        "1:21:58",
        "Pre-training takes 6ND FLOPs. Why 6?",
        (
            "{flop} forward, a multiply and an add for each parameter and token. {backward} backward: the gradient of"
            " the inputs and the gradient of the weights are a product of that size"
            " each.{=overtraining.pretrain_compute}In a mixture of experts N is the active parameters."
        ),
    ),
    (
        "5.2",
        "overtraining",
        "1:21:58",
        "What compute does a model cost over its whole life?",
        (
            "{=overtraining.total_compute}Pre-training, serving and RL. A token of RL takes {$rl_flop} FLOPs a"
            " parameter: {flop} if it is only generated, {rl_most} if the model then trains on it, since training runs"
            " forward again (the lecture says up to {trained}). Generating makes poorer use of the chips than"
            " training, by {$decode_efficiency}, and what is used poorly costs more, so {$decode_efficiency} divides."
            ' The lecture first multiplies by it; the published card\'s "inefficiency" is one over it.'
        ),
    ),
    (
        "5.3",
        "overtraining",
        "1:20:19",
        "Why might one guess that pre-training, RL and serving cost the same?",
        (
            "More of one saves some of another, and the sum of a rising and a falling cost tends to be least near the"
            " point where they are equal.{=overtraining.rising_share}It is least exactly there only if the powers by"
            " which they rise and fall, {$rise_power} and {$fall_power}, are the same. Of x² + 1/x the rising part is"
            " {squared_share} at the least sum; making the parts equal costs {squared_penalty} more."
        ),
    ),
    (
        "5.4",
        "overtraining",
        "1:25:28",
        (
            "Let pre-training, RL and serving cost the same. RL takes 3 FLOPs a parameter and token, and generating"
            " reaches a third of training's MFU. How do their tokens compare?"
        ),
        (
            "{=overtraining.rl_coefficient}{=overtraining.inference_coefficient}There are {alpha_card} tokens of"
            " pre-training for each token of RL, and {beta_card} for each token served. The 3 is an assumption: RL may"
            " take anything from {flop} to {rl_most} FLOPs. With the lecture's efficiency of 0.3 the first is then"
            " between {alpha_2} and {alpha_8}, and the second {beta}."
        ),
    ),
    (
        "5.5",
        "overtraining",
        "1:29:49",
        (
            "A model writes 50 million tokens a second for two months. If pre-training shall cost what serving does,"
            " and generating reaches a third of training's MFU, how many tokens should it be trained on?"
        ),
        (
            "{=overtraining.balanced_tokens}{balanced}, as many as it serves in 60 days, for one model in the family."
            " The lecture and the published card round that to 200 trillion."
        ),
    ),
    (
        "5.6",
        "overtraining",
        "1:31:17",
        (
            "Chinchilla's rule is 20 tokens a parameter. How far beyond it are 200 trillion tokens for a model with 100"
            " billion active parameters?"
        ),
        (
            "{=overtraining.overtraining}The rule asks for {chinchilla} tokens, so {over_rounded} times. The 200"
            " trillion are rounded: what was to be served gives {over} times, and the 150 trillion tokens of a rumour"
            " in the lecture give {over_rumour}. It is an estimate, not a limit."
        ),
    ),
    (
        "6.1",
        "pricing",
        "1:33:03",
        "Gemini asks half as much again beyond 200,000 tokens of context. What may be behind it?",
        (
            "{=pricing.context_ratio}Up to the balanced context a token waits for the multipliers, and its cost is"
            " level. Beyond, it waits for its KV cache, and its cost grows with the context. The half is output's, from"
            " {g_out} to {g_out_far}. Input goes from {g_in} to {g_in_far}, which is {input_more} more, and the"
            " argument does not explain that: reading a prompt waits for the multipliers."
        ),
    ),
    (
        "6.2",
        "pricing",
        "1:34:13",
        "Sketch the cost of a token against context: multiplying, reading, and a price with one step that covers them.",
        (
            "Multiplying is level, reading rises; the dearer of the two bends at the balanced context. The price steps"
            " there. A step of half as much again covers the cost only up to {covered} tokens."
        ),
    ),
    (
        "6.3",
        "pricing",
        "1:38:22",
        (
            "Suppose that Gemini's step at 200,000 tokens is where reading KV overtakes multiplying. How large is the"
            " KV cache of a token, with 100 billion active parameters?"
        ),
        (
            "{=pricing.kv_implied}With 300 multiply-adds for each byte: {kv_fp8} bytes. Weights are left out, because"
            " the batch is taken to be large. The 300 hides another assumption, weights of one byte: in FP4 it would be"
            " {kv_fp4} bytes, in BF16 {kv_bf16}. Published caches are larger: that of DeepSeek-V3 takes {kv_v3} bytes"
            " in BF16."
        ),
    ),
    (
        "6.4",
        "pricing",
        "1:45:11",
        "Output costs three to five times as much as input. What does that say of decoding, and why?",
        (
            "{=pricing.decode_mfu}If prices follow costs and prefill works at the peak, decoding reaches {mfu_high} of"
            " the peak where output costs three times as much, and {mfu_low} where it costs five times as much. If"
            " prefill is below the peak, these are shares of prefill's rate. A step of decoding reads everything for"
            " one new token of each sequence; a pass over a prompt shares what it reads among"
            " many.{=pricing.pass_ratio}The published card speaks of weights alone; KV is shared the same way. Prices"
            " hold margins too, so this is a guess."
        ),
    ),
    (
        "6.5",
        "pricing",
        "1:48:52",
        "Why is an input token that is found in the cache about ten times cheaper?",
        (
            "A miss multiplies the token by every active parameter again; a hit only fetches its KV. The bare costs are"
            " further apart than the prices: for a million tokens of DeepSeek-V3, {remat_v3} against {fetch} from"
            " flash, where Claude Opus 4.6 asks {c_in} against {c_read}. So a price does not tell where a cache lies,"
            " and Anthropic's documentation says in memory only."
        ),
    ),
    (
        "7.1",
        "reversibility",
        "2:03:52",
        "Why are ciphers and neural networks built alike, of many layers that mix?",
        (
            "In both, every part of the output must depend on every part of the input, in an involved way, and be fast"
            " to compute. Cheap layers, repeated, that mix and then do something nonlinear give that. Little else is"
            " asked of a layer: that a cipher can be undone, that a network has useful gradients."
        ),
    ),
    (
        "7.2",
        "reversibility",
        "2:05:10",
        "A cipher and a neural network mix alike. To what opposite ends?",
        (
            "A cipher makes what has structure look random. A network finds the structure in what looks random. So a"
            " cipher lets a small change of its input change everything, while a network, to be trained, must answer it"
            " gently."
        ),
    ),
)
FIGURES = {"1.4": "batching.latency", "3.1": "pipelining.training", "6.2": "pricing.context_cost"}


def _hardware_and_batch() -> dict[str, str]:
    """Numbers of the lecture's first two parts and of the racks."""
    chip, found = catalogue.chip("h100-sxm"), {**batching.hardware(), **batching.workload(), **batching.train()}
    own = {
        "flop": str(notation.lookup("flop_per_param").value),
        "rubin": pretty(step.drain_time(**batching.RUBIN), "s"),
        "nominal": f"{chip.flops('fp8') / chip.bandwidth:.0f}",
        "critical": significant(step.critical_batch(RUNNING)),
    }
    return found | racks.boundary() | racks.deployed() | sparsity.hardware() | sparsity.batches() | own


def _data_and_prices() -> dict[str, str]:
    """Numbers of over-training and of prices."""
    forward, backward = (notation.lookup(name).value for name in ("flop_per_param", "flop_backward"))
    served = training.balanced_tokens(overtraining.BOARD | overtraining.CARD)
    stepped = catalogue.price(pricing.STEPPED)
    high, low = (f"{pricing_equations.decode_mfu(input_price=1, output_price=ratio):.0%}" for ratio in DEARER)
    found = overtraining.costs() | overtraining.tokens() | pricing.step_of_price() | pricing.cards() | pricing.places()
    return found | {
        "flop": str(forward),
        "backward": str(backward),
        "trained": str(forward + backward),
        "rl_most": str(2 * forward + backward),
        "balanced": f"{significant(served / 1e12)} trillion",
        "input_more": f"{stepped.above.input_multiplier - 1:.0%}",
        "mfu_high": high,
        "mfu_low": low,
        "c_read": pretty(catalogue.price(pricing.CARD).usd_per_Mtok.cached_read, "USD", exact=True),
        **{
            f"kv_{width}": f"{pricing_equations.kv_implied(**_three_hundred(times)):,.0f}"
            for width, times in (("fp8", 1), ("fp4", 2), ("bf16", 0.5))
        },
    }


def _three_hundred(times: float) -> dict[str, float]:
    """The lecture's card: 300 multiply-adds for each byte, whatever the bandwidth; so many times that in a narrower
    format.
    """
    return pricing.BOARD | {"flops": times * pricing.BOARD["flops"]}


@cache
def of_lecture() -> tuple[Card, ...]:
    """The 27 cards of the lecture, in its order."""
    first, second = _hardware_and_batch(), _data_and_prices()
    memory = {**pipelining.idling(), **pipelining.memory()}
    numbers = (
        dict.fromkeys(("batching", "sparsity", "racks"), first)
        | dict.fromkeys(("overtraining", "pricing"), second)
        | {"pipelining": memory}
    )
    return tuple(
        Card(id, asks, answers, lesson, lecture(at), numbers.get(lesson, {}), FIGURES.get(id, ""))
        for id, lesson, at, asks, answers in TEXTS
    )


# --- summary cards ----------------------------------------------------------------------------------------------------


@cache
def _source(lesson: str) -> str:
    """The text of a lesson's page; nothing where the book is not at hand."""
    page = ROOT / "book" / f"{lesson}.md"
    return page.read_text("utf8") if page.exists() else ""


def lessons() -> tuple[str, ...]:
    """The lessons, which have exercises, in the order of the book's contents."""
    contents = ROOT / "_toc.yml"
    names = re.findall(r"file: exercises/(\w+)$", contents.read_text("utf8"), re.M) if contents.exists() else []
    return tuple(name for name in names if shown(name))


def title(lesson: str) -> str:
    """A lesson's heading up to its colon."""
    found = re.search(r"^# ([^:\n]+)", _source(lesson), re.M)
    return found[1] if found else lesson.capitalize()


def shown(lesson: str) -> tuple[Formula, ...]:
    """The formulas that a lesson's page prints as summary cards, in their order: the arguments of its calls of
    `cards`.
    """
    text = _source(lesson)
    out: list[Any] = []
    imports = re.findall(r"^from (blackboard[\w.]*) import (.+)$", text, re.M)
    modules = {
        (each.split(" as ") * 2)[1].strip(): f"{package}.{each.split(' as ')[0].strip()}"
        for package, names in imports
        for each in names.split(",")
    }
    for call in re.findall(r"^(?:summary\.)?cards\((.*?)\)$", text, re.M | re.S):
        for module, name in re.findall(r"(\w+)\.(\w+)", call):
            found = getattr(importlib.import_module(modules[module]), name)
            out += [found] if isinstance(found, Formula) else found  # or a tuple of them, with a star
    return tuple(out)


# what a question must say beside its symbol's meaning; what a summary card says of its formula stands in the answer
LEADS = {
    "sparsity.long_throughput": "Past the balanced context, with memory full of KV.",
    "racks.exchange_time": "All-to-all or all-gather among the chips of a domain.",
    "racks.half_message": "A message that travels for as long as it takes to start.",
    "pipelining.naive_utilisation": "One batch in a pipeline.",
    "pipelining.utilisation": "Several micro-batches in a pipeline.",
    "pipelining.in_flight": "So many that no rack waits, although some are on their way between racks.",
    "pipelining.interleaved_bubble": "Each device holds several small pieces of the model.",
    "pipelining.idle_zero_bubble": "Gradients of weights fill the holes, at the memory of 1F1B.",
    "pipelining.whole_batch": "A pipeline in which no stage waits.",
    "pipelining.parallel_weight_time": "A pipeline of several scale-up domains.",
    "overtraining.law_loss": "By the law that Chinchilla's paper fits,",
    "overtraining.tokens_for_loss": "By the law that Chinchilla's paper fits,",
    "overtraining.lifetime_with_kv": (
        "A generated token pays for multiplying or for reading its KV, a token of a prompt for multiplying."
    ),
    "pricing.kv_implied": "If a price steps up where loading the KV cache begins to take longer than compute,",
    "pricing.hbm_even": "In HBM, where rent cancels,",
    "pricing.tier_drain": "A tier of memory.",
    "reversibility.half_mixed": "After one round of a Feistel network,",
    "reversibility.difference": "Each layer widens it by the same factor.",
    "reversibility.stored": "An ordinary network that keeps everything.",
    "reversibility.reversible": "A reversible network of two streams.",
    "reversibility.checkpointed": "An ordinary network that computes some of its activations again.",
    "reversibility.layer_kept": "A transformer layer that computes attention's scores again.",
    "reversibility.kv_flop_spent": "A byte of KV.",
    "reversibility.activation_flop_spent": "A byte of activations.",
    "speculation.speedup_free": "Where verifying is free,",
    "speculation.speedup_busy": "Where compute binds,",
    "paging.use_reserved": "Room is set aside for the longest sequence.",
    "paging.use_paged": "Room is given out in blocks.",
    "paging.hit_rate_turns": "Each turn of a conversation sends the whole context again, and nothing is thrown out.",
    "paging.keep_time": "What was used longest ago is thrown out first.",
    "paging.hybrid_kv": "A model with full and window layers.",
    "corpus.score": "It nears a limit as a power of the tokens.",
    "corpus.data_worth": "A pool of text read several times.",
    "corpus.filtered_worth": "The best share of a pool, read several times.",
}


def _summary(formula: Formula, lesson: str) -> Card:
    """A summary card turned into a question, for the symbol that its formula gives."""
    row = notation.lookup(formula.symbol.name)
    description = formula.description[0].upper() + formula.description[1:]
    unit = "A pure number." if formula.unit == "1" else f"Unit: {write_unit(formula.unit)}."
    holds = f" Holds if: {'; '.join(formula.assumes)}." if formula.assumes else ""
    lead = LEADS.get(formula.name, "")
    asks = f"{lead} {'what' if lead.endswith(',') else 'What'} is {{${row.name}}}, {_lower(row.description)}?".strip()
    return Card(
        formula.name, asks, f"{{={formula.name}}}{description}. {unit}{holds}", lesson, formula.source, formula=formula
    )


def _given(formula: Formula) -> list:
    """The symbols that a formula computes from."""
    return sorted(formula.expr.free_symbols, key=str)


def _lower(text: str) -> str:
    """A meaning within a sentence; names such as KV stay as they are."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text


@cache
def of_lessons() -> tuple[Card, ...]:
    """A card for every summary card of the book; one that two lessons print is the first one's."""
    found: dict[str, Card] = {}
    for lesson in lessons():
        for formula in shown(lesson):
            found.setdefault(formula.name, _summary(formula, lesson))
    return tuple(found.values())


@cache
def shown_above() -> frozenset[str]:
    """Summary cards whose formula an answer of the lecture's cards shows already, by id."""
    return frozenset(formula.name for card in of_lecture() for formula in card.formulas) & {
        card.id for card in of_lessons()
    }


# --- the page ---------------------------------------------------------------------------------------------------------

LOOKS = """<style>
.flashcard { margin: 0.6rem 0; padding: 0 1rem; border: 1px solid var(--pst-color-border); border-radius: 6px;
  background: var(--pst-color-surface); break-inside: avoid; }
.flashcard > summary { padding: 0.6rem 0; cursor: pointer; }
.flashcard-given { display: block; font-size: 0.85em; color: var(--pst-color-text-muted); }
.flashcard > summary:focus-visible { outline: 2px solid var(--pst-color-primary); outline-offset: 2px; }
.flashcard-answer { padding: 0.5rem 0 0.4rem; border-top: 1px solid var(--pst-color-border);
  overflow-x: auto; overflow-y: hidden; }
.flashcard-answer img { display: block; margin: 0.8rem auto 0; }
.flashcard-source { margin: 0 0 0.6rem; font-size: 0.85em; }
@media print { .flashcard::details-content { content-visibility: visible; block-size: auto; }
  #open-all { display: none; } }
</style>"""
SCRIPT = """<script>
(() => {
  const button = document.getElementById("open-all"), all = () => [...document.querySelectorAll("details.flashcard")];
  let closed = [];
  button.hidden = false;
  button.onclick = () => {
    const open = button.textContent === "Open all";
    all().forEach((card) => { card.open = open; });
    button.textContent = open ? "Close all" : "Open all";
  };
  addEventListener("beforeprint", () => { closed = all().filter((card) => !card.open);
    closed.forEach((card) => { card.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((card) => { card.open = false; }));
})();
</script>"""


def head() -> Page:
    """The deck to download, a button that opens every card, and how the cards look."""
    count = len(of_lecture()), len(of_lessons())
    return Page(
        f'{LOOKS}<p><a href="{HERE}{DECK}" download>Download the Anki deck</a>: {count[0]} cards of the lecture,'
        f' {count[1]} summary cards.</p><p><button type="button" class="practice-button" id="open-all" hidden>Open'
        f" all</button></p>{SCRIPT}"
    )


def part(number: int) -> Page:
    """The cards of a part of the lecture."""
    return Page("".join(_folded(card) for card in of_lecture() if card.id.startswith(f"{number}.")))


def summaries() -> Page:
    """The summary cards of all lessons that no card of the lecture asks for, a heading for each."""
    own = {
        lesson: [card for card in of_lessons() if card.lesson == lesson and card.id not in shown_above()]
        for lesson in lessons()
    }
    twice = (
        f"<p>{len(shown_above())} equations that an answer above shows are left out. In the deck they have the tag"
        f" <code>{TWICE}</code>, by which you can suspend them.</p>"
    )
    return Page(
        twice
        + "".join(
            f'<h3 id="summary-{lesson}">{html.escape(title(lesson))}</h3>{"".join(map(_folded, cards))}'
            for lesson, cards in own.items()
        )
    )


def _folded(card: Card) -> str:
    """A card of which only the question is seen until it is opened."""
    figure = ""
    if card.figure:
        figure = f'<img src="{HERE}{_file(card.figure)}" alt="{html.escape(_drawn(card.figure).alt)}" loading="lazy">'
    lesson = f'lesson <a href="{card.lesson}.html">{html.escape(title(card.lesson).lower())}</a>'
    symbols = f'<p class="flashcard-source">{told}.</p>' if (told := legend(card)) else ""
    return (
        '<details class="flashcard tex2jax_process mathjax_process"'
        f' id="card-{re.sub("[._]", "-", card.id)}"><summary>{card.question}</summary><div'
        f' class="flashcard-answer">{card.answer}{figure}</div>{symbols}<p'
        f' class="flashcard-source">{_origin(card.origin)}, {lesson}</p></details>'
    )


def _origin(origin: Source) -> str:
    """Where a card comes from, as a link."""
    if origin == DERIVED:
        return "Derived"
    name, address = _entry(origin.key)
    if origin.at:
        hours, minutes, seconds = map(int, origin.at.split(":"))
        return f'Lecture <a href="{html.escape(address)}&amp;t={3600 * hours + 60 * minutes + seconds}">{origin.at}</a>'
    return f'<a href="{html.escape(address)}">{html.escape(name)}</a>'


@cache
def _bibliography() -> Any:
    """The entries of the bibliography, by key."""
    from pybtex.database import parse_file

    return parse_file(str(ROOT / "book" / "references.bib")).entries


def _entry(key: str) -> tuple[str, str]:
    """Title and address of an entry of the bibliography."""
    fields = _bibliography()[key].fields
    return re.sub(r"[{}]", "", fields["title"]), fields["url"]


# --- the deck ---------------------------------------------------------------------------------------------------------

MODEL_ID, DECK_IDS = (
    1_718_420_593,
    {"Lecture": 1_718_420_611, "Summary": 1_718_420_647},
)  # never to change: Anki knows its own by them
NAME = "The Math Behind LLMs"
FIELDS = ("Question", "Answer", "Symbols", "Source", "Id")
BACK = (
    '{{FrontSide}}<hr id="answer">{{Answer}}{{#Symbols}}<p class="small">{{Symbols}}</p>{{/Symbols}}<p'
    ' class="small">{{Source}}</p>'
)
CSS = (
    ".card { font-family: sans-serif; font-size: 20px; line-height: 1.5; max-width: 40em; margin: 0 auto; padding: 0"
    " 1em; } .small, .flashcard-given { font-size: 14px; } .flashcard-given { display: block; } img { display: block;"
    " max-width: 100%; margin: 1em auto 0; background: white; }"
)


@cache
def _drawn(name: str):
    """A lesson's figure by its name."""
    import matplotlib.pyplot as plt

    lesson, function = name.split(".")
    figure = getattr(importlib.import_module(f"blackboard.lessons.{lesson}.figures"), function)()
    plt.close(figure)
    return figure


@cache
def _svg(name: str) -> bytes:
    """A figure's picture, drawn once: drawn again, the same figure may come out a little different."""
    return svg(_drawn(name)).encode()


def _file(figure: str) -> str:
    """The name of a figure's file; the media of all decks lie in one folder."""
    return f"blackboard-{figure.replace('.', '-')}.svg"


def legend(card: Card) -> str:
    """What the symbols of an answer mean, with their units; nothing where the question says it."""
    shown = [] if card.formula else card.formulas
    return explained(symbol for formula in shown for symbol in (formula.symbol, *_given(formula)))


def explained(symbols: Iterable) -> str:
    """Symbols with their meanings and units, each once."""
    rows = ((symbol, notation.lookup(symbol.name)) for symbol in dict.fromkeys(symbols))
    return "; ".join(
        f"\\({latex(symbol)}\\) {html.escape(row.description)}"
        + (f" ({html.escape(write_unit(row.unit))})" if row.unit != "1" else "")
        for symbol, row in rows
    )


def _fields(card: Card) -> list[str]:
    """The fields of a card's note."""
    figure = f'<img src="{_file(card.figure)}" alt="{html.escape(_drawn(card.figure).alt)}">' if card.figure else ""
    source = f"{_origin(card.origin)}, lesson {html.escape(title(card.lesson).lower())}"
    return [card.question, card.answer + figure, legend(card), source, card.id]


def _tags(card: Card) -> list[str]:
    """The lesson, and whether the other deck shows the same equation."""
    return [f"blackboard::{card.lesson}", *([TWICE] if card.id in shown_above() else [])]


def _decks() -> list:
    """The two decks with their notes, in the order in which they are to be learned."""
    import genanki

    sides = [{"name": "Card", "qfmt": "{{Question}}", "afmt": BACK}]
    model, out = genanki.Model(MODEL_ID, NAME, [{"name": name} for name in FIELDS], sides, css=CSS), []
    for name, cards in (("Lecture", of_lecture()), ("Summary", of_lessons())):
        deck = genanki.Deck(
            DECK_IDS[name], f"{NAME}::{name}", "From the executable course on Reiner Pope's lecture. Text: CC BY 4.0."
        )
        for place, card in enumerate(cards, 1):
            deck.add_note(
                genanki.Note(
                    model, _fields(card), tags=_tags(card), guid=genanki.guid_for("blackboard", card.id), due=place
                )
            )
        out.append(deck)
    return out


def changed() -> int:
    """When what cards are made of last changed, s since 1970, or SOURCE_DATE_EPOCH; Anki takes in only what is
    newer.
    """
    made_of = [path for end in ("lib/**/*.py", "lib/**/*.yaml", "book/*.md") for path in ROOT.glob(end)]
    return int(os.environ.get("SOURCE_DATE_EPOCH") or max(path.stat().st_mtime for path in made_of))


def write(folder: Path, timestamp: int | None = None) -> Path:
    """Write the deck and its figures, which the page shows too, into a folder; the same bytes for the same
    timestamp.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = {_file(name): _svg(name) for name in FIGURES.values()}
    for name, content in figures.items():
        (folder / name).write_bytes(content)
    numbered = {str(n): content for n, content in enumerate(figures.values())}
    listed = json.dumps(dict(enumerate(figures)))
    with zipfile.ZipFile(folder / DECK, "w", zipfile.ZIP_DEFLATED) as deck:
        for name, content in {
            "collection.anki2": _collection(changed() if timestamp is None else timestamp),
            "media": listed.encode(),
            **numbered,
        }.items():
            deck.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # with the date 1980-01-01
    return folder / DECK


def _collection(timestamp: int) -> bytes:
    """Anki's database. genanki writes it; its own `write_to_file` would date each entry and leave a file behind."""
    import genanki

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "collection.anki2"
        with closing(sqlite3.connect(file)) as database:
            genanki.Package(_decks()).write_to_db(database.cursor(), timestamp, itertools.count(timestamp * 1000))
            database.commit()
        return file.read_bytes()
