"""Whisper's decoder, made for words that are mostly known already.

CTranslate2 works through given words one at a time, at the price of decoding them. While somebody speaks, however,
each pass hears again what the last one heard, and a few words more. Here a draft of the text is checked in one
forward pass: as far as the decoder would have chosen the same tokens it stands, exactly as if it had been decoded,
and only the rest is decoded token by token. Greedy, like a drafted language model whose draft is always free.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turngap.llm.backends.linear import PRODUCTS, Product

HEAD_WIDTH: Final = 64
"""In every Whisper model."""


@dataclass(frozen=True, slots=True)
class Norm:
    gamma: Tensor
    beta: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta)


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer."""

    before_self: Norm
    qkv: Callable[[Tensor], Tensor]
    self_out: Callable[[Tensor], Tensor]
    before_cross: Norm
    cross_query: Callable[[Tensor], Tensor]
    cross_kv: Callable[[Tensor], Tensor]
    cross_out: Callable[[Tensor], Tensor]
    before_mlp: Norm
    up: Callable[[Tensor], Tensor]
    down: Callable[[Tensor], Tensor]


class Heard:
    """One piece of audio as the decoder sees it, and what it has taken in of the text about it."""

    def __init__(self, cross: list[tuple[Tensor, Tensor]], own: Tensor) -> None:
        self.cross = cross
        self.own = own
        self.length = 0


class Decoder:
    """Weights as :func:`turngap.voice.asr.weights.read_weights` gives them for ``decoder/``."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], *, precision: str) -> None:
        tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in weights.items()}
        product = PRODUCTS[precision]
        self._embedding = tensors["embeddings/weight"]
        self._positions = tensors["position_encodings/encodings"]
        self._norm = Norm(tensors["layer_norm/gamma"], tensors["layer_norm/beta"])
        self._logits = product(self._embedding)
        self._layers: list[Layer] = []
        while f"layer_{len(self._layers)}/ffn/linear_0/weight" in tensors:
            self._layers.append(_layer(tensors, f"layer_{len(self._layers)}/", product))
        self._width = self._embedding.shape[1]
        self._heads = self._width // HEAD_WIDTH

    @property
    def longest(self) -> int:
        """How many tokens there are positions for."""
        return len(self._positions)

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return len(self._embedding)

    @torch.inference_mode()
    def hear(self, encoded: NDArray[np.float32]) -> Heard:
        """Take in the encoder's output, [frames, width]."""
        frames = torch.from_numpy(encoded)
        cross = []
        for layer in self._layers:
            keys, values = layer.cross_kv(frames).view(len(frames), 2, self._heads, HEAD_WIDTH).unbind(1)
            cross.append((keys.transpose(0, 1).contiguous()[None], values.transpose(0, 1).contiguous()[None]))
        return Heard(cross, torch.empty(len(self._layers), 2, self._heads, self.longest, HEAD_WIDTH))

    @torch.inference_mode()
    def forward(self, ids: Sequence[int], heard: Heard, *, last: int) -> Tensor:
        """Take ``ids`` in after what was taken in so far; logits after each of the ``last`` ones, [last, tokens]."""
        new, past = len(ids), heard.length
        x = functional.embedding(torch.tensor(ids), self._embedding) + self._positions[past : past + new]
        mask = None if new == 1 else torch.full((new, past + new), float("-inf")).triu_(past + 1)
        for index, layer in enumerate(self._layers):
            q, k, v = layer.qkv(layer.before_self(x)).view(new, 3, self._heads, HEAD_WIDTH).permute(1, 2, 0, 3)
            heard.own[index, 0, :, past : past + new] = k
            heard.own[index, 1, :, past : past + new] = v
            keys, values = heard.own[index, :, :, : past + new]
            attended = functional.scaled_dot_product_attention(q[None], keys[None], values[None], mask)
            x = x + layer.self_out(_merged(attended))
            query = layer.cross_query(layer.before_cross(x)).view(new, self._heads, HEAD_WIDTH).transpose(0, 1)
            attended = functional.scaled_dot_product_attention(query[None], *heard.cross[index])
            x = x + layer.cross_out(_merged(attended))
            x = x + layer.down(functional.gelu(layer.up(layer.before_mlp(x))))
        heard.length += new
        return self._logits(self._norm(x[-last:]))

    @torch.inference_mode()
    def choose(self, heard: Heard, head: Sequence[int], draft: Sequence[int], rules: "Rules") -> "Chosen":
        """Decode greedily after ``head``, taking over of ``draft`` what would have been decoded anyway."""
        draft = draft[: max(0, rules.most - 1)]
        # From the first token of the head that is not of an earlier text, to tell silence; then the draft.
        wanted = len(draft) + len(head) - rules.begins_at
        logits = self.forward([*head, *draft], heard, last=wanted)
        silence = float(torch.softmax(logits[0], -1)[rules.no_speech])
        logits = logits[len(head) - rules.begins_at - 1 :] + rules.banned
        logits[0, list(rules.not_first)] = float("-inf")
        tokens: list[int] = []
        total = 0.0
        for row, drafted in zip(logits, (*draft, None), strict=True):
            token, logprob = _best(row)
            total += logprob
            if token != drafted:
                break
            tokens.append(token)
        heard.length = len(head) + len(tokens)
        while token != rules.end and len(tokens) < rules.most and not rules.stopped():
            tokens.append(token)
            token, logprob = _best(self.forward([token], heard, last=1)[0] + rules.banned)
            total += logprob
        return Chosen(tuple(tokens), logprob=total / (len(tokens) + 1), no_speech=silence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What may be decoded, and when to stop."""

    begins_at: int
    """Where in the head the text's own start token stands."""
    banned: Tensor
    """Added to all logits: minus infinity for tokens that are never text."""
    not_first: Sequence[int]
    """Tokens that may not be the first after the head."""
    end: int
    no_speech: int
    most: int
    stopped: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tokens after the head, their mean log probability with the end's, and the chance that nobody spoke."""

    tokens: tuple[int, ...]
    logprob: float
    no_speech: float


def _best(logits: Tensor) -> tuple[int, float]:
    token = int(logits.argmax())
    return token, float(logits[token] - logits.logsumexp(-1))


def _merged(attended: Tensor) -> Tensor:
    return attended[0].transpose(0, 1).reshape(attended.shape[2], -1)


def _layer(tensors: Mapping[str, Tensor], at: str, product: Callable[[Tensor], Product]) -> Layer:
    def norm(name: str) -> Norm:
        return Norm(tensors[f"{at}{name}/layer_norm/gamma"], tensors[f"{at}{name}/layer_norm/beta"])

    def linear(name: str) -> Callable[[Tensor], Tensor]:
        multiply, bias = product(tensors[f"{at}{name}/weight"]), tensors[f"{at}{name}/bias"]
        return lambda x: multiply(x) + bias

    return Layer(
        before_self=norm("self_attention"),
        qkv=linear("self_attention/linear_0"),
        self_out=linear("self_attention/linear_1"),
        before_cross=norm("attention"),
        cross_query=linear("attention/linear_0"),
        cross_kv=linear("attention/linear_1"),
        cross_out=linear("attention/linear_2"),
        before_mlp=norm("ffn"),
        up=linear("ffn/linear_0"),
        down=linear("ffn/linear_1"),
    )
