"""Measure one GPU for the lessons, part by part: products, launches, a whole decode step, experts, guesses, training.

    python tools/gpu_lab.py gpu.yaml           three minutes on an H100, 80 GB of memory
    python tools/gpu_lab.py gpu.yaml --small   tiny sizes, also without a GPU: to see that it runs

PyTorch is all it needs, so that it runs where the course is not installed. It writes one row for each measurement, with
its sizes, the median and the shortest of its repeats, in seconds; the page `book/gpu.md` compares such rows with the
lessons' equations. Numbers are random and not zero, because a chip that multiplies zeros draws less power and clocks
higher. What is read is several times the size of the cache, or matrices take turns, so that memory is what is measured.
Work is captured in a CUDA graph unless a row's `way` is `eager`, so that the host's launches do not count.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import date
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

GPU = torch.cuda.is_available()
DEVICE, TYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
Work = Callable[[], object]
Row = dict[str, Any]


class Sizes(NamedTuple):
    """What is measured; `SMALL` is for trying the program out."""

    layers: int = 32  # those of Llama 3.1 8B
    width: int = 4096
    heads: int = 32
    kv_heads: int = 8
    head: int = 128
    inner: int = 14336
    vocab: int = 128256
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    contexts: tuple[int, ...] = (512, 2048, 8192, 32768)
    kv_bytes: float = 48e9  # the largest cache that is tried
    guesses: tuple[int, ...] = (1, 2, 3, 5, 9, 17)  # tokens in a pass: the last one and the guesses
    prompts: tuple[int, ...] = (128, 512, 2048, 8192, 16384)
    pieces: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048)  # of a prompt, in a step that also decodes
    experts: int = 256  # those of a layer of DeepSeek-V3
    top_k: int = 8
    expert_width: int = 7168
    expert_inner: int = 2048
    routed: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    square: int = 8192
    rows: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)
    chain_bytes: int = 2**29
    block_width: int = 2048  # of the network that is trained
    depths: tuple[int, ...] = (4, 8, 16, 24)
    sequence: int = 2048
    micro_batch: int = 2
    copied: int = 2**30


SMALL = Sizes(2, 64, 4, 2, 16, 128, 256, (1, 4), (32, 64), 1e9, (1, 3), (16, 64), (8, 16), 8, 2, 32, 16, (1, 4, 16), 64, (1, 4), 2**12, 64,
              (2, 4), 32, 2, 2**12)  # fmt: skip


# --- timing ---------------------------------------------------------------------------------------------------------


def synchronize() -> None:
    if GPU:
        torch.cuda.synchronize()


def captured(work: Work) -> Work:
    """The same work as a CUDA graph: one call to the device for all its kernels."""
    if not GPU:
        return work
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries choose kernels and take memory before the capture
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def seconds_once(work: Work) -> float:
    """Seconds of one call: by the device's own clock, or the host's where there is no GPU."""
    if not GPU:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3


def timed(work: Work, calls: int = 1, seconds: float = 0.25, eager: bool = False, least: int = 5) -> Row:
    """Median and shortest time of `work`, divided by the `calls` that are in it."""
    run = work if eager else captured(work)
    for _ in range(2):
        run()
    synchronize()
    times: list[float] = []
    while len(times) < least or (sum(times) < seconds and len(times) < 100):
        times.append(seconds_once(run))
    return dict(seconds=statistics.median(times) / calls, fastest=min(times) / calls, repeats=len(times))


def random(*shape: int, scale: float = 0.02) -> Tensor:
    return torch.empty(shape, dtype=TYPE, device=DEVICE).normal_(std=scale)


# --- the two rates, products, launches ------------------------------------------------------------------------------


def rates(s: Sizes) -> Iterator[Row]:
    """How fast memory is read and copied, and matrices are multiplied."""
    pool = random(16, s.square, s.square)
    size, vector, copy = pool.numel() * pool.element_size(), random(s.square), torch.empty_like(pool)
    ways = {"sum": (lambda: pool.sum(), size), "copy": (lambda: copy.copy_(pool), 2 * size)}
    ways["matrix × vector"] = (lambda: [each @ vector for each in pool], size)
    for way, (work, moved) in ways.items():
        yield dict(way=way, bytes=moved) | timed(work)
    a, b = random(s.square, s.square, scale=1), random(s.square, s.square, scale=1)
    yield dict(way="square product", flop=2 * s.square**3) | timed(lambda: a @ b, seconds=1)
    if GPU:
        one, (short_a, short_b) = torch.ones((), device=DEVICE), (each.to(torch.float8_e4m3fn) for each in (a, b))
        product = lambda: torch._scaled_mm(short_a, short_b.t(), one, one, out_dtype=TYPE)
        yield dict(way="square product, FP8", flop=2 * s.square**3) | timed(product, seconds=1)


def products(s: Sizes) -> Iterator[Row]:
    """Products of many rows with matrices that take turns: the roofline of one matrix."""
    pool = random(16, s.square, s.square)
    for rows in s.rows:
        x = random(rows, s.square, scale=1)
        work = lambda: [x @ each for each in pool]
        yield dict(rows=rows, weight_rows=s.square, weight_columns=s.square) | timed(work, calls=len(pool))


def launches(s: Sizes) -> Iterator[Row]:
    """What a kernel costs that does next to nothing: launched one by one, and in a graph."""
    x, many = random(16), 2000
    work = lambda: [x.mul_(1.0) for _ in range(many)]
    yield dict(way="eager", kernels=many) | timed(work, calls=many, eager=True)
    yield dict(way="captured", kernels=many) | timed(work, calls=many)
    replay = captured(lambda: x.mul_(1.0))
    yield dict(way="replay and wait", kernels=1) | timed(lambda: (replay(), synchronize()), eager=True)


def chains(s: Sizes) -> Iterator[Row]:
    """Operations on each value of a long vector: a kernel each, and one kernel for all."""
    x = random(s.chain_bytes // torch.finfo(TYPE).bits * 8)

    def chain(ops: int) -> Callable[[Tensor], Tensor]:
        def run(y: Tensor) -> Tensor:
            for n in range(ops):
                y = y * 1.01 if n % 2 else y + 0.5
            return y

        return run

    for ops in (1, 2, 4, 8):
        own, one = chain(ops), torch.compile(chain(ops), dynamic=False) if GPU else chain(ops)
        size = x.numel() * x.element_size()
        yield dict(way="a kernel each", ops=ops, bytes=size) | timed(lambda: own(x))
        yield dict(way="one kernel", ops=ops, bytes=size) | timed(lambda: one(x))


# --- a dense model --------------------------------------------------------------------------------------------------


def add_norm(x: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """x + y, and its RMS norm."""
    total = x + y
    value = total.float()
    return total, (value * torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + 1e-5)).to(total.dtype) * weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: halves of each head turned by an angle."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def gate(x: Tensor) -> Tensor:
    """SwiGLU's product of a gate and a value."""
    a, b = x.chunk(2, -1)
    return F.silu(a) * b


VECTOR_PARTS = (add_norm, rotate, gate)


class Group(NamedTuple):
    """Sequences of a pass that attend in one way: the last `tokens` of each, to all of `cache` or to those before."""

    batch: int
    tokens: int
    cache: Tensor  # [layers, 2, batch, KV heads, context, head]
    way: str = "flash"
    prompt: bool = False  # tokens from the beginning on, each attending to those before it


class Decoder:
    """Llama's layers with random weights. A pass computes its groups' rows together, and attends group by group."""

    def __init__(self, s: Sizes):
        self.s, inner = s, s.heads * s.head
        self.embedding, self.head = random(s.vocab, s.width, scale=1), random(s.width, s.vocab)
        columns = (inner + 2 * s.kv_heads * s.head, s.width, 2 * s.inner, s.width)
        rows = (s.width, inner, s.width, s.inner)
        self.layers = [[random(k, n) for k, n in zip(rows, columns)] for _ in range(s.layers)]
        self.norm = random(s.width, scale=1)
        self.parts: tuple[Callable[..., Any], ...] = VECTOR_PARTS

    @property
    def parameters(self) -> int:
        """Those that a pass multiplies: the layers and the head, without the embedding, of which it reads rows."""
        return self.head.numel() + sum(each.numel() for layer in self.layers for each in layer)

    def fuse(self) -> None:
        """One kernel for each part that works on vectors, where there is a GPU."""
        self.parts = tuple(torch.compile(each, dynamic=True) for each in VECTOR_PARTS) if GPU else VECTOR_PARTS

    def group(self, batch: int, tokens: int, context: int, **how: Any) -> Group:
        """Sequences with a random cache."""
        return Group(batch, tokens, random(self.s.layers, 2, batch, self.s.kv_heads, context, self.s.head), **how)

    def attend(self, heads: Tensor, group: Group, layer: int) -> Tensor:
        """Attention of one group's rows [rows, query, key and value heads, head], after they went into the cache."""
        s, (k, v) = self.s, group.cache[layer]
        by_head = heads.view(group.batch, group.tokens, -1, s.head).transpose(1, 2)
        q, new_k, new_v = by_head.split((s.heads, s.kv_heads, s.kv_heads), 1)
        k[:, :, -group.tokens :].copy_(new_k)
        v[:, :, -group.tokens :].copy_(new_v)
        if group.prompt:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:  # heads that share keys stand together, so that keys are read once
            shared = q.reshape(group.batch, s.kv_heads, -1, s.head)
            out = attention(shared, k, v, group.way).view(group.batch, s.heads, group.tokens, s.head)
        return out.transpose(1, 2).reshape(len(heads), -1)

    def step(self, ids: Tensor, angles: tuple[Tensor, Tensor], *groups: Group) -> Tensor:
        """One pass over the rows of all groups, one behind the other: ids [rows] to the next tokens' scores."""
        s, (add, turn, swiglu) = self.s, self.parts
        x, sizes = F.embedding(ids, self.embedding), [group.batch * group.tokens for group in groups]
        out = torch.zeros_like(x)
        for layer, (qkv, o, up, down) in enumerate(self.layers):
            x, h = add(x, out, self.norm)
            heads = (h @ qkv).view(len(x), -1, s.head)
            turned = turn(heads[:, : s.heads + s.kv_heads], *angles)
            heads = torch.cat((turned, heads[:, s.heads + s.kv_heads :]), 1)
            mixed = [self.attend(part, group, layer) for part, group in zip(heads.split(sizes), groups)]
            x, h = add(x, (mixed[0] if len(mixed) == 1 else torch.cat(mixed)) @ o, self.norm)
            out = swiglu(h @ up) @ down
        x, h = add(x, out, self.norm)
        ends = [part[-1:] if group.prompt else part for part, group in zip(h.split(sizes), groups)]
        return (ends[0] if len(ends) == 1 else torch.cat(ends)) @ self.head

    def work(self, *groups: Group) -> Work:
        """A pass over these groups, to be timed."""
        rows = sum(group.batch * group.tokens for group in groups)
        ids, angle = torch.randint(self.s.vocab, (rows,), device=DEVICE), torch.rand(rows, 1, self.s.head, device=DEVICE)
        angles = angle.cos().to(TYPE), angle.sin().to(TYPE)
        return lambda: self.step(ids, angles, *groups)


def attention(q: Tensor, k: Tensor, v: Tensor, way: str) -> Tensor:
    """Attention of a few queries to long keys, by a library's kernel or by two batched products."""
    if way == "products":
        return torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v
    with sdpa_kernel(BACKENDS[way]) if GPU else nullcontext():
        return F.scaled_dot_product_attention(q, k, v)


def best_attention(s: Sizes, batch: int, tokens: int, context: int) -> tuple[str, Row]:
    """The fastest way for these sizes, and its time for one layer."""
    layers = max(1, min(100, int(1e9 // (4 * batch * s.kv_heads * context * s.head))))
    q = random(batch, s.kv_heads, tokens * s.heads // s.kv_heads, s.head, scale=1)
    cache, found = random(layers, 2, batch, s.kv_heads, context, s.head, scale=1), {}
    for way in (*BACKENDS, "products"):
        try:
            found[way] = timed(lambda: [attention(q, k, v, way) for k, v in cache], calls=layers, seconds=0.05)
        except RuntimeError:  # a backend that does not take these sizes
            torch.cuda.synchronize() if GPU else None
    way = min(found, key=lambda each: found[each]["seconds"])
    return way, found[way]


def fits(s: Sizes, batch: int, context: int) -> bool:
    return 2 * s.layers * s.kv_heads * s.head * torch.finfo(TYPE).bits / 8 * batch * context <= s.kv_bytes


def passes(model: Decoder, batch: int, tokens: int, context: int, ways: tuple[str, ...]) -> Iterator[Row]:
    """Times of one pass in several ways: eager, captured, and captured with vector parts that are one kernel each."""
    attend, alone = best_attention(model.s, batch, tokens, context)
    work = model.work(model.group(batch, tokens, context, way=attend))
    sizes = dict(batch=batch, tokens=tokens, context=context, parameters=model.parameters, attention=attend)
    for way in ways:
        model.parts = VECTOR_PARTS
        if way == "fused":
            model.fuse()
        row = timed(work, eager=way == "eager", least=15 if way == "eager" else 5)
        if len(ways) > 1:
            row["kernels"] = count_kernels(work)
        yield sizes | dict(way=way, attention_seconds=alone["seconds"] * model.s.layers) | row


def count_kernels(work: Work) -> int:
    """Kernels that one call starts on the GPU; 0 without one."""
    if not GPU:
        return 0
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in seen.events())


def decoding(s: Sizes) -> Iterator[Row]:
    """A decode step of the dense model over batches and contexts."""
    model = Decoder(s)
    for batch in s.batches:
        yield from passes(model, batch, 1, s.contexts[0], ("eager", "captured", "fused"))
    for batch, context in itertools.product(s.batches[::2], s.contexts[1:]):
        if fits(s, batch, context):
            yield from passes(model, batch, 1, context, ("fused",))
            release()


def verifying(s: Sizes) -> Iterator[Row]:
    """A pass over the last token and some guesses, beside a pass over one token."""
    model = Decoder(s)
    for batch, tokens in itertools.product((s.batches[0], *s.batches[3:8:2]), s.guesses):
        yield from passes(model, batch, tokens, s.contexts[1], ("fused",))


def prefilling(s: Sizes) -> Iterator[Row]:
    """The pass over one prompt."""
    model = Decoder(s)
    model.fuse()
    for tokens in s.prompts:
        row = timed(model.work(model.group(1, tokens, tokens, prompt=True)))
        yield dict(batch=1, tokens=tokens, parameters=model.parameters) | row


def mixing(s: Sizes) -> Iterator[Row]:
    """A step that decodes for some sequences and takes in a piece of a prompt: matrices once, attention each its own."""
    model = Decoder(s)
    model.fuse()
    pieces = [model.group(1, tokens, tokens, prompt=True) for tokens in s.pieces]
    sizes = dict(context=s.contexts[1], parameters=model.parameters)
    for piece in pieces:
        yield dict(batch=0, prompt=piece.tokens) | sizes | timed(model.work(piece), least=15)
    for batch in (16, 64, 128):
        way, _ = best_attention(s, batch, 1, s.contexts[1])
        decodes = model.group(batch, 1, s.contexts[1], way=way)
        yield dict(batch=batch, prompt=0) | sizes | timed(model.work(decodes), least=15)
        for piece in pieces:
            yield dict(batch=batch, prompt=piece.tokens) | sizes | timed(model.work(decodes, piece), least=15)


# --- a layer of experts ---------------------------------------------------------------------------------------------


def grouped_product(x: Tensor, weights: Tensor, ends: Tensor, counts: list[int]) -> Tensor:
    """Rows of x by groups, each times the matrix of its group; weights [groups, columns, rows]."""
    if GPU:
        return torch._grouped_mm(x, weights.mT, offs=ends)
    return torch.cat([part @ w.mT for part, w in zip(x.split(counts), weights)])


def experts(s: Sizes) -> Iterator[Row]:
    """A layer of routed experts, by the tokens that come: the products alone, without routing and sending."""
    up = random(s.experts, 2 * s.expert_inner, s.expert_width)
    down = random(s.experts, s.expert_width, s.expert_inner)
    size = up[0].numel() + down[0].numel()
    for tokens in s.routed:
        chosen = torch.rand(tokens, s.experts, device=DEVICE).topk(s.top_k).indices.flatten()
        count = torch.bincount(chosen, minlength=s.experts)
        ends, counts, x = count.cumsum(0).to(torch.int32), count.tolist(), random(len(chosen), s.expert_width, scale=1)

        def layer() -> Tensor:
            return grouped_product(gate(grouped_product(x, up, ends, counts)), down, ends, counts)

        check_groups(x, up, ends, counts)
        sizes = dict(tokens=tokens, experts=s.experts, top_k=s.top_k, expert_parameters=size)
        yield sizes | dict(touched=int((count > 0).sum()), busiest=int(count.max())) | timed(layer)


def check_groups(x: Tensor, weights: Tensor, ends: Tensor, counts: list[int]) -> None:
    """RuntimeError where the grouped product differs from one expert's own."""
    group = max(range(len(counts)), key=counts.__getitem__)
    rows = slice(sum(counts[:group]), sum(counts[: group + 1]))
    ours, own = grouped_product(x, weights, ends, counts)[rows], x[rows] @ weights[group].mT
    if (ours - own).norm() > 0.01 * own.norm():
        raise RuntimeError("the grouped product is wrong")


# --- training -------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    """A transformer's layer without its outer residual: causal attention, then two matrices."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in self.qkv(F.rms_norm(x, x.shape[-1:])).chunk(3, -1)
        )
        mixed = self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return mixed + self.down(F.gelu(self.up(F.rms_norm(x + mixed, x.shape[-1:]))))


class Reversible(torch.autograd.Function):
    """Layers (x, y) -> (y + f(x), x). The backward pass computes each layer's input again from its output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, layers: nn.ModuleList) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            for layer in layers:
                x, y = y + layer(x), x
        ctx.layers, ctx.ends = layers, (x.detach(), y.detach())
        return x, y

    @staticmethod
    def backward(ctx: Any, slope_x: Tensor, slope_y: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[override]
        x, y = ctx.ends
        for layer in reversed(ctx.layers):
            before = y.detach().requires_grad_()
            with torch.enable_grad():
                added = layer(before)
            x, y = before.detach(), x - added.detach()
            torch.autograd.backward(added, slope_x)
            slope_x, slope_y = slope_y + before.grad, slope_x
        return slope_x, slope_y, None


def loss(layers: nn.ModuleList, x: Tensor, way: str) -> Tensor:
    """A number to differentiate, from layers whose activations are stored, checkpointed or computed back."""
    if way == "reversible":
        x, y = Reversible.apply(x, x, layers)
        return (x.float().square().mean() + y.float().square().mean()) / 2
    for layer in layers:
        x = x + (checkpoint(layer, x, use_reentrant=False) if way == "checkpointed" else layer(x))
    return x.float().square().mean()


def training(s: Sizes) -> Iterator[Row]:
    """One step without the optimizer: its time, the forward pass alone, and what it holds beside weights and slopes."""
    for depth in s.depths:
        layers = nn.ModuleList(Block(s.block_width, s.block_width // 128 or 1) for _ in range(depth)).to(DEVICE, TYPE)
        x = random(s.micro_batch, s.sequence, s.block_width, scale=1).requires_grad_()
        for parameter in (*layers.parameters(), x):
            parameter.grad = torch.zeros_like(parameter)
        sizes = dict(depth=depth, width=s.block_width, sequence=s.sequence, batch=s.micro_batch)
        sizes["parameters"] = sum(each.numel() for each in layers.parameters())
        with torch.no_grad():
            yield sizes | dict(way="forward") | timed(lambda: loss(layers, x, "stored"))
        for way in ("stored", "checkpointed", "reversible"):
            step = lambda: loss(layers, x, way).backward()
            held = peak_bytes(step)
            yield sizes | dict(way=way, peak_bytes=held) | timed(step, eager=True, seconds=0.5)


def peak_bytes(work: Work) -> int:
    """Bytes that a call holds at most, beside what was there before; 0 without a GPU."""
    work()
    if not GPU:
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


# --- memory in pieces -----------------------------------------------------------------------------------------------


def blocks(s: Sizes) -> Iterator[Row]:
    """A layer's keys and values copied block by block from random places, by the tokens of a block."""
    token = 2 * s.kv_heads * s.head
    for size in (1, 2, 4, 8, 16, 64, 256):
        count = max(1, s.copied // (token * size * torch.finfo(TYPE).bits // 8))
        pool, table = random(count, size * token), torch.randperm(count, device=DEVICE)
        out = torch.empty_like(pool)
        moved = 2 * pool.numel() * pool.element_size()
        yield dict(block=size, bytes=moved) | timed(lambda: torch.index_select(pool, 0, table, out=out))


def host_link(s: Sizes) -> Iterator[Row]:
    """Pinned host memory to the GPU's and back."""
    if GPU:
        host, device = torch.empty(s.copied, dtype=torch.uint8, pin_memory=True), torch.empty(s.copied, dtype=torch.uint8)
        device = device.to(DEVICE)
        yield dict(way="to the GPU", bytes=s.copied) | timed(lambda: device.copy_(host, non_blocking=True), eager=True)
        yield dict(way="to the host", bytes=s.copied) | timed(lambda: host.copy_(device, non_blocking=True), eager=True)


# --- all of it ------------------------------------------------------------------------------------------------------

PARTS = (rates, products, launches, chains, decoding, verifying, prefilling, mixing, experts, training, blocks, host_link)


def release() -> None:
    gc.collect()
    if GPU:
        torch.cuda.empty_cache()


def identity() -> Row:
    name = torch.cuda.get_device_name(0) if GPU else "CPU"
    memory = torch.cuda.mem_get_info()[1] if GPU else 0
    software = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}" if GPU else f"PyTorch {torch.__version__}"
    return dict(machine=name, memory_bytes=memory, software=software, date=date.today().isoformat())


def as_yaml(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if "e" not in f"{value:.4g}" else f"{float(f'{value:.4g}'):.3e}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def as_line(row: Row) -> str:
    return "- {" + ", ".join(f"{name}: {as_yaml(value)}" for name, value in row.items()) + "}"


def measure(s: Sizes, path: str, only: list[str]) -> list[str]:
    """Write the rows of all parts to a file as they come; the parts that failed."""
    failed = []
    with open(path, "w", encoding="utf-8", buffering=1) as out:
        out.writelines(f"# {name}: {value}\n" for name, value in identity().items())
        for part in PARTS:
            if only and part.__name__ not in only:
                continue
            start = time.perf_counter()
            try:
                for row in part(s):
                    line = as_line(dict(part=part.__name__) | row)
                    print(line, flush=True)
                    out.write(line + "\n")
            except Exception:  # the other parts are worth having
                traceback.print_exc()
                failed.append(part.__name__)
            release()
            print(f"# {part.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
    return failed


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("path", help="the file for the rows")
    asked.add_argument("--small", action="store_true", help="tiny sizes, to try the program out")
    asked.add_argument("--only", nargs="*", default=[], choices=[part.__name__ for part in PARTS], help="some parts")
    given = asked.parse_args()
    torch.manual_seed(0)
    torch._dynamo.config.recompile_limit = 100  # each size of a chain is a function of its own
    failed = measure(SMALL if given.small else Sizes(), given.path, given.only)
    return print("failed: " + ", ".join(failed), file=sys.stderr) or 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
