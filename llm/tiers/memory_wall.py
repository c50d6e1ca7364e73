"""How fast a model can answer on some hardware, from first principles. Pure arithmetic.

At batch 1 every token of the answer needs every active weight, and the keys and values of the context so far, to be
read from memory once. So bytes over bandwidth is a floor under the time for a token, and its inverse a ceiling that
no software lifts, other than by reading less (quantisation), by using one reading for several users (batching), or
for several tokens of one user (speculative decoding). Prefill reads the weights once for the whole prompt; its floor is
2 operations for each weight and token over the chip's arithmetic rate.

References: Pope et al., *Efficiently Scaling Transformer Inference*, 2022 (memory- and compute-bound phases);
Leviathan et al., *Fast Inference from Transformers via Speculative Decoding*, 2023 (tokens for each verification);
Kaplan et al., 2020 (2 operations for each weight and token).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from turngap.budget.errors import ConfigurationError

GIGA: Final = 1e9
TERA: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """One chip, by its data sheet: peaks, which nothing reaches."""

    name: str
    title: str
    memory_bytes: float
    bandwidth: float
    """Bytes per second from that memory."""
    operations: float
    """16-bit multiply-adds of dense matrices, two operations each, per second."""
    sram: bool
    """Weights have to sit in on-chip memory altogether: there is no other."""
    source: str


HARDWARE: Final[Mapping[str, Hardware]] = {
    chip.name: chip
    for chip in (
        Hardware(
            name="h100",
            title="NVIDIA H100 SXM",
            memory_bytes=80 * GIGA,
            bandwidth=3.35 * TERA,
            operations=989 * TERA,
            sram=False,
            source="data sheet, by way of codesota.com/hardware/h100 and glennklockwood.com (989 dense)",
        ),
        Hardware(
            name="h200",
            title="NVIDIA H200 SXM",
            memory_bytes=141 * GIGA,
            bandwidth=4.8 * TERA,
            operations=989 * TERA,
            sram=False,
            source="data sheet, by way of lzwjava.github.io; arithmetic as the H100's",
        ),
        Hardware(
            name="wse-3",
            title="Cerebras WSE-3",
            memory_bytes=44 * GIGA,
            bandwidth=21_000 * TERA,
            operations=125_000 * TERA,
            sram=True,
            source="44 GB, 21 PB/s: Cerebras, by way of zubnet.ai; 125 PFLOPS: its press, sparse or dense unsaid",
        ),
    )
}


def find_hardware(name: str) -> Hardware:
    """The chip of this name; a ConfigurationError lists the names."""
    if name not in HARDWARE:
        raise ConfigurationError(f"no hardware '{name}' is known", remedy=f"Choose from: {', '.join(HARDWARE)}")
    return HARDWARE[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A model as the memory sees it, and the context it answers in."""

    weights: float
    """All parameters: what has to be kept."""
    active: float
    """Those that one token uses; fewer than ``weights`` in a mixture of experts."""
    bits: float
    context: int = 0
    kv_bytes: float = 0.0
    """Keys and values of one token of context, all layers together (:func:`kv_bytes`)."""

    def __post_init__(self) -> None:
        if not (0 < self.active <= self.weights and self.bits > 0 and self.context >= 0 and self.kv_bytes >= 0):
            raise ConfigurationError(
                "the model is out of range", remedy="0 < active <= weights, bits > 0, context and KV not below 0"
            )

    @property
    def kept_bytes(self) -> float:
        """What has to fit into memory for one conversation."""
        return self.weights * self.bits / 8 + self.context * self.kv_bytes

    def read_bytes(self, batch: int = 1) -> float:
        """What one step reads: the active weights once, and the context of each of ``batch`` conversations.

        In a mixture of experts a batch wakes more experts than one token does; this counts them once.
        """
        return self.active * self.bits / 8 + batch * self.context * self.kv_bytes


def kv_bytes(*, layers: int, kv_heads: int, head_size: int, bits: float = 16) -> float:
    """Bytes of keys and values for one token: two vectors in each layer and head."""
    return 2 * layers * kv_heads * head_size * bits / 8


def chips(load: Load, chip: Hardware) -> int:
    """How many it takes to hold the model and one conversation."""
    return math.ceil(load.kept_bytes / chip.memory_bytes)


def ceiling(load: Load, chip: Hardware, *, count: int = 1, batch: int = 1) -> float:
    """Tokens per second for each user that no software exceeds on ``count`` chips without reading less.

    Several chips share the reading (tensor parallel); what they say to each other is left out, so it is a ceiling.
    """
    by_memory = load.read_bytes(batch) / (chip.bandwidth * count)
    by_arithmetic = 2 * load.active * batch / (chip.operations * count)
    return 1 / max(by_memory, by_arithmetic)


def tokens_at_once(*, drafted: int, acceptance: float) -> float:
    """Tokens that one reading of the weights yields when ``drafted`` are guessed, each right with this chance."""
    if not 0 <= acceptance <= 1 or drafted < 0:
        raise ConfigurationError("speculation is out of range", remedy="0 <= acceptance <= 1, drafted not below 0")
    if acceptance == 1:
        return drafted + 1
    return float((1 - acceptance ** (drafted + 1)) / (1 - acceptance))


def prefill_s(load: Load, chip: Hardware, *, prompt: int, count: int = 1, use: float = 0.4) -> float:
    """Seconds before the first token: arithmetic at the share ``use`` of the peak, or one reading of the weights."""
    by_arithmetic = 2 * load.active * prompt / (chip.operations * count * use)
    by_memory = load.active * load.bits / 8 / (chip.bandwidth * count)
    return max(by_arithmetic, by_memory)


def loop_s(*, calls: int, tokens: int, rate: float, ttft_s: float = 0.0) -> float:
    """Seconds for an agent that makes ``calls``, one after the other, of ``tokens`` each."""
    return calls * (ttft_s + tokens / rate)
