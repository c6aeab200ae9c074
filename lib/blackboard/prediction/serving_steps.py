"""A server under load: its settings, and what each kind of its steps does, in seconds of an ideal chip."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from blackboard.catalogue import Chip, Model
from blackboard.catalogue.architecture import bytes_per_param, standard_precision
from blackboard.formula import IDEAL
from blackboard.lessons.sparsity.equations import coverage
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.layout import Layout
from blackboard.prediction.step import Work, multiplied, terms

HEAD = "bf16"  # of embeddings and head, which checkpoints in narrow formats leave wide
WIDER = {"fp4": "fp8", "fp8": "bf16", "int8": "bf16", "bf16": "bf16"}
SCALES = {"fp4": 1.125, "nvfp4": 1.125, "mxfp4": 1.0625}  # a byte for 16 values, or for 32
FP4_SHARE = 0.73  # of FP4's rate, where FP8 reaches all of its own: the median of Llama 70B offline on a B200
TILE = 16  # rows of the smallest tile of grouped products: engines take small ones where an expert has few tokens
FULL = 0.9  # of a step's tokens: with so many waiting, prompts are not held back any longer
STEADY = 1e12  # requests of each user where nobody starts or ends

# --- settings ---------------------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """How an engine runs: tokens of a step in each group of chips, whether decodes ride along, steps that a prompt is
    held back (to take in several at once) and that it waits for that on average, and the share of memory that it
    fills. With `free` the cache takes that share of what the weights leave. Steps of up to `recorded` tokens are
    graphs also where they take in prompts, but for their attention.
    """

    step_tokens: float
    mixes: bool
    held: float = 0
    waits: float = 0
    room: float = 0.9
    free: bool = False
    recorded: float = 0


ENGINES = {"vllm": "vLLM", "trtllm": "TensorRT-LLM", "sglang": "SGLang"}
HOPPER = ("h100-sxm", "h200", "h800")
BLACKWELL = ("b100", "b200", "gb200-nvl72", "b300", "gb300-nvl72")


def default_settings(engine: str, layout: Layout, weights: str, prompt: float, output: float, users: float) -> Settings:
    """Those of the public runs, as InferenceX's scripts start the engines (source inferencex_scripts)."""
    blackwell, narrow = layout.chip.id in BLACKWELL, standard_precision(weights) == "fp4"
    if engine == "vllm":  # cuda-graph-sizes; the limit of 512 that vLLM has by itself is below any step of these runs
        return Settings(8192, True, recorded=2048 if layout.model.weights == "mxfp4" else 0)
    if engine == "sglang":  # looks for new requests every so many steps
        held = (30 if users >= 16 else 10) if blackwell else 0
        return Settings(16384 if narrow else 32768, False, held, held / 2, 0.85 if narrow else 0.82)
    if layout.model.moe:
        held = 60 if layout.ranks > 1 else 0  # timeout_iters, until each group of chips has a prompt
        if layout.model.weights == "mxfp4":
            return Settings(max(20_000, prompt), True, held, held, 0.85, True)
        own = prompt + users + 64
        return Settings(max(own, 8192) if narrow else own, True, held, held, 0.8 if blackwell else 0.75, True)
    held = (
        20 if prompt == output and layout.chips < 8 else 0
    )  # batch_wait_timeout_iters, for prompts as long as answers
    return Settings(prompt + output + 200, True, held, held, 0.9, True)


def default_cache(engine: str, chip: Chip, model: Model, weights: str) -> str:
    """Format of the cache where none is asked for: FP8 beside narrow weights, but on Hopper not in SGLang, nor for
    gpt-oss.
    """
    wide = model.weights == "mxfp4" or engine == "sglang"
    hopper = chip.id not in BLACKWELL
    return "bf16" if standard_precision(weights) == "bf16" or (wide and hopper) else "fp8"


# --- formats by part --------------------------------------------------------------------------------------------------


def stored_bytes(format: str) -> float:
    """Bytes of one weight with its share of the scales of 4-bit blocks."""
    return bytes_per_param(format) * SCALES.get(format, 1.0)


def shared_format(model: Model, weights: str) -> str:
    """Format of all that tokens share: 4-bit mixtures keep it in bf16."""
    return "bf16" if model.moe and standard_precision(weights) == "fp4" else weights


def chip_format(chip: Chip, format: str) -> str:
    """The format in which a chip multiplies what is stored in this one; of chips without bf16 the slowest they have."""
    own, rates = multiplied(chip, format), chip.flops_dense_per_s
    known = {name: rate for name in ("bf16", "int8", "fp8", "fp4") if (rate := getattr(rates, name))}
    return own if own in known else min(known, key=known.__getitem__)


def chip_rate(chip: Chip, format: str) -> float:
    """FLOP/s of products in a format."""
    return chip.flops(chip_format(chip, format))


def product_rate(chip: Chip, model: Model, format: str) -> float:
    """FLOP/s at which matrices in a format are multiplied. In mixtures those of the next wider format: scales by block
    (DeepSeek's FP8) or wider activations (MXFP4) leave tensor cores no more.
    """
    own = multiplied(chip, format)
    if model.moe:
        return chip_rate(chip, WIDER[own])
    return chip_rate(chip, own) * (FP4_SHARE if own == "fp4" else 1.0)


ATTENTION_KERNELS = {"heads": 6, "latent": 11, "compressed": 11}  # of a layer
EXPERT_KERNELS, SHARED_KERNELS, DENSE_KERNELS, OTHER_KERNELS = 7, 4, 4, 4


def kernels(model: Model) -> int:
    """Kernels of a step on one chip, where all that works on vectors is fused into the kernel before what needs it."""
    feed_forward = lambda g: EXPERT_KERNELS + SHARED_KERNELS * bool(g.shared) if g.kind == "experts" else DENSE_KERNELS
    layers = sum(ATTENTION_KERNELS[group.kind] * group.layers for group in model.attention)
    return layers + sum(feed_forward(group) * group.layers for group in model.ffn) + OTHER_KERNELS


# --- the server -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """An engine that serves a model on chips: `users` requests in flight, each of `prompt` and `output` tokens on
    average.
    """

    layout: Layout
    engine: str
    settings: Settings
    weights: str
    cache: str
    prompt: float
    output: float
    users: float
    requests: float = STEADY  # of each user
    spread: float = 0.8  # shortest length as a share of the longest

    @property
    def model(self) -> Model:
        return self.layout.model

    @property
    def chip(self) -> Chip:
        return self.layout.chip

    # --- what a step does

    @cached_property
    def _fixed(self) -> tuple[float, float, float, int]:
        """The same in every step: bytes that tokens share, FLOP/s in attention and head and in products, kernels."""
        layout, shared = self.layout, shared_format(self.model, self.weights)
        read = stored_bytes(shared) * layout.common + bytes_per_param(HEAD) * layout.head
        return read, chip_rate(self.chip, HEAD), product_rate(self.chip, self.model, shared), kernels(self.model)

    def step(
        self, decodes: float, prompts: float, tokens: float = 0.0, context: float | None = None
    ) -> dict[str, float]:
        """Ideal seconds and counts of a step: sequences that decode, behind so many tokens each, and prompts of which
        it reads so many.
        """
        layout, all = self.layout, decodes + tokens
        groups = min(layout.ranks, max(1, decodes + prompts))  # of chips that have sequences
        sharing = layout.tensor * groups
        read, rate, products, launches = self._fixed
        context = context or eq.mean_context(prompt_length=self.prompt, output_length=self.output)
        heads = 2 * layout.head * (decodes + prompts) / rate
        attended = sum(group.attends(context) for group in self.model.attention) * decodes
        prefilled = sum(group.prefills(self.prompt) for group in self.model.attention) * tokens / self.prompt
        cached = sum(g.read(context, self.cache) / layout.cache_shards(g) for g in self.model.attention)
        return {
            "shared_read": read / layout.tensor / self.chip.bandwidth,
            "shared_multiply": (2 * layout.common * all / products + heads) / sharing,
            **self._experts(all),
            "cache_read": cached * decodes / groups / self.chip.bandwidth,
            "cache_multiply": attended / sharing / rate,
            "prompt_attend": prefilled / sharing / rate,
            **self._known_links(all, decodes + prompts),
            "captured": launches,
            "launched": self._launched(all) if tokens else 0,
            "answers": (decodes + prompts) / groups,
        }

    def _launched(self, tokens: float) -> int:
        """What the host launches one by one: all kernels, or in each layer a piece of a graph and the attention."""
        return 2 * self.model.layers if tokens <= self.settings.recorded else self._fixed[-1]

    def _experts(self, tokens: float) -> dict[str, float]:
        """Seconds of the busiest chip, over the experts that some token chose."""
        layout, moe = self.layout, self.model.moe
        if not moe:
            return {"expert_read": 0.0, "expert_multiply": 0.0}
        seen = max(1, tokens * layout.expert_group / layout.stage_chips)
        touched = coverage(batch=seen, experts=moe.experts, top_k=moe.active)
        rows = eq.padded_rows(routed_tokens=seen, top_k=moe.active, experts=moe.experts, touched=touched, tile=TILE)
        own = layout.routed / layout.expert_group
        read, rate = own * touched * stored_bytes(self.weights), product_rate(self.chip, self.model, self.weights)
        busiest = self._busiest(seen, touched) if layout.expert > 1 else (1.0, 1.0)
        return {
            "expert_read": busiest[0] * read / self.chip.bandwidth,
            "expert_multiply": busiest[1] * 2 * own * rows / moe.experts / rate,
        }

    def _busiest(self, tokens: float, touched: float) -> tuple[float, float]:
        """The busiest chip's experts to read and rows to multiply, divided by the mean."""
        moe, places = self.model.moe, self.layout.expert
        assert moe is not None
        mean, rows = moe.experts / places * touched, tokens * moe.active / places
        factor = lambda load, spread: min(places, eq.busiest(places=places, mean_load=load, spread_load=spread))
        read = min(factor(mean, mean * (1 - touched)), 1 / touched)
        return max(1.0, read), max(1.0, factor(rows, rows * (1 - 1 / places)))

    @cached_property
    def _known_links(self) -> Callable[[float, float], dict[str, float]]:
        """`_links`, worked out once for each load: a simulation has the same ones again and again."""
        return cache(self._links)

    def _links(self, tokens: float, sequences: float) -> dict[str, float]:
        """Seconds of messages, and how many follow one another. Within one group of chips experts need no exchange of
        their own: all chips have all tokens, and add up.
        """
        layout, layers, routed = self.layout, self.model.layers, self.layout.routed_layers
        apart = layout.ranks > 1 and layout.expert > 1
        if not apart and layout.expert > 1:
            layout = Layout(layout.model, layout.chip, layout.chips, layout.tensor, 1, 1, layout.cache)
        none, rate = (0.0,) * len(self.model.attention), chip_format(self.chip, "bf16")
        found = terms(layout, Work(sequences, tokens, 0, none, none, "bf16"), self.weights, rate, IDEAL)
        reduces = (2 * layers - (routed if apart else 0)) if layout.tensor > 1 else 0
        return {
            "link_busy": found.get("tensor", 0.0) + found.get("expert", 0.0),
            "collectives": reduces + (2 * routed if apart else 0),
        }

    # --- which steps there are

    @cached_property
    def fits(self) -> float:
        """Sequences in flight, at their mean context, that the memory holds; none if the weights do not fit."""
        memory, held = self.chip.hbm_bytes, sum(self.weights_per_chip.values())
        if held >= self.most_weights:
            return 0.0
        context = eq.mean_context(prompt_length=self.prompt, output_length=self.output)
        each = self.layout.cache_per_chip(self.layout.ranks, context, self.cache) / self.layout.ranks
        room = self.settings.room
        filled = room + (1 - room) * held / memory if self.settings.free else room
        return eq.held_sequences(room_share=filled, memory_bytes=memory, weight_bytes=held, sequence_cache=each)

    @property
    def most_weights(self) -> float:
        """Bytes that weights may take on a chip."""
        return (1.0 if self.settings.free else self.settings.room) * self.chip.hbm_bytes

    @property
    def weights_per_chip(self) -> dict[str, float]:
        """Bytes by part."""
        layout, shared = self.layout, shared_format(self.model, self.weights)
        stored = 1 if self.model.tied_embeddings else 2
        parts = {
            "attention and dense": stored_bytes(shared) * layout.common / layout.tensor,
            "experts": stored_bytes(self.weights) * layout.routed / layout.expert_group,
            "embeddings": stored * bytes_per_param(HEAD) * layout.embedding / layout.tensor,
        }
        return {name: size for name, size in parts.items() if size}

    @property
    def step_tokens(self) -> float:
        """Tokens of a step: each group of chips fills its own."""
        return self.settings.step_tokens * self.layout.ranks

    @cached_property
    def running(self) -> float:
        """Sequences in flight: the users, as far as memory holds them and a step's tokens feed them."""
        fed = self.step_tokens * self.output / self.prompt
        return min(self.users, max(1.0, self.fits), max(1.0, fed))

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The closed loop's values by symbol, and its steps: "decode", "prompt" and "burst"."""
        users, budget = self.running, self.settings.step_tokens
        coming = eq.prompts_per_step(concurrency=users, output_length=self.output)
        parts = math.ceil(self.prompt / budget)
        at_once = max(1, math.floor(budget / self.prompt)) * (self.layout.ranks if parts == 1 else 1)
        clumping = eq.clumping(least_share=min(self.spread, 0.999), requests_per_user=self.requests)
        together = eq.taken_together(coming=min(users, clumping * coming * (1 + self.settings.held)))
        taken = 1 / parts if parts > 1 else min(together, at_once, max(1.0, users))
        taken = max(taken, coming)  # a step takes in as much as comes
        burst = min(at_once, users) if parts == 1 else 1 / parts
        mixed = self.settings.mixes
        values = {"concurrency": max(1, users), "output_length": self.output, "requests_per_user": self.requests}
        others = eq.others_prompts(values)
        return {
            "concurrency": users,
            "prompt_length": self.prompt,
            "output_length": self.output,
            "prompts_taken": taken,
            "prompt_share": min(1.0, others / taken),
            "others": others,
            "clumping": clumping,
            "at_once": at_once,
            "requests_per_user": self.requests,
            "held_steps": min(self.settings.waits, FULL * self.step_tokens / self.prompt / coming),
            "burst_groups": math.ceil(users / burst),
            "parts": parts,
            "mixes": mixed,
            "decode": self.step(users, 0),
            "prompt": self.step(users if mixed else 0, taken, taken * self.prompt),
            "burst": self.step(users / 2 if mixed else 0, burst, burst * self.prompt),
        }


def build_server(
    layout: Layout,
    engine: str,
    weights: str,
    prompt: float,
    output: float,
    users: float,
    requests: float,
    spread: float,
    settings: Settings | None = None,
    cache: str | None = None,
) -> Server:
    """A server by the longest lengths of prompts and answers; without settings or cache, those of the public runs."""
    model, chip = layout.model, layout.chip
    mean = lambda tokens: max(1.0, eq.mean_length(nominal_length=tokens, least_share=spread))
    return Server(
        layout,
        engine,
        settings or default_settings(engine, layout, weights, prompt, output, users),
        weights,
        cache or default_cache(engine, chip, model, weights),
        mean(prompt),
        mean(output),
        users,
        requests,
        spread,
    )
