"""Whisper's decoder, made for words that are mostly known already.

CTranslate2 works through given words one at a time, at the price of decoding them. While somebody speaks, however,
each pass hears again what the last one heard, and a few words more. Here a draft of the text is checked in one
forward pass: as far as the decoder would have chosen the same tokens it stands, exactly as if it had been decoded,
and only the rest is decoded token by token. Greedy, like a drafted language model whose draft is always free.

The text before this audio is taken in once and not in every pass: its keys and values depend on audio that has grown
since, if little. Doing so with the draft too, up to its last sixteen tokens, won as much time again and lost the
thread in noise: at 10 dB phrases were said twice, 26 words too many of 671 where 17 had been.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turngap.voice.asr.layers import HEAD_WIDTH, Linear, Norm, Weights, merged

AHEAD: Final = 16
"""Tokens of a draft that are checked at once after it has gone wrong: as many as cost little more than one."""
NEAR: Final = 4
"""So far ahead in the draft a token is looked for that is not the one expected."""


@dataclass(frozen=True, slots=True)
class _Layer:
    before_self: Norm
    qkv: Linear
    self_out: Linear
    before_cross: Norm
    cross_query: Linear
    cross_kv: Linear
    cross_out: Linear
    feedforward: Linear


class Heard:
    """One piece of audio as the decoder sees it, and what it has taken in of the text about it."""

    def __init__(self, cross: Tensor, own: Tensor) -> None:
        self.cross = cross
        """Keys and values of the encoder's output: [layers, 2, heads, positions, HEAD_WIDTH]."""
        self.attended = 0
        """How many of its positions are looked at."""
        self.own = own
        """Keys and values of the text: [layers, 2, heads, tokens, HEAD_WIDTH]."""
        self.length = 0
        """How many tokens of it are taken in."""
        self.before: tuple[int, ...] = ()
        """The text before this audio that is taken in already."""


class Decoder:
    """Weights as :func:`turngap.voice.asr.weights.read_weights` gives them for ``decoder/``."""

    def __init__(self, weights: Mapping[str, NDArray[np.floating]], *, precision: str) -> None:
        known = Weights(weights, precision)
        self._embedding = known["embeddings/weight"]
        self._positions = known["position_encodings/encodings"]
        self._norm = known.norm("layer_norm")
        self._logits = known.product("embeddings")
        self._layers = [_layer(known, at) for at in known.layers()]
        self._heads = self._embedding.shape[1] // HEAD_WIDTH

    @property
    def longest(self) -> int:
        """How many tokens there are positions for."""
        return len(self._positions)

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return len(self._embedding)

    def memory(self, positions: int) -> Tensor:
        """Room for what it makes of so many positions of the encoder's: see :attr:`Heard.cross`."""
        return torch.zeros(len(self._layers), 2, self._heads, positions, HEAD_WIDTH)

    def listen(self, cross: Tensor) -> Heard:
        """Begin with audio of which ``cross`` is known already."""
        return Heard(cross, torch.empty(len(self._layers), 2, self._heads, self.longest, HEAD_WIDTH))

    @torch.inference_mode()
    def hear(self, encoded: Tensor, cross: Tensor, *, first: int) -> None:
        """Take in the encoder's output from position ``first`` on, [positions, width]."""
        new = len(encoded)
        for layer, kept in zip(self._layers, cross, strict=True):
            both = layer.cross_kv(encoded).view(new, 2, self._heads, HEAD_WIDTH)
            kept[:, :, first : first + new] = both.permute(1, 2, 0, 3)

    @torch.inference_mode()
    def forward(self, ids: Sequence[int], heard: Heard, *, last: int) -> Tensor:
        """Take ``ids`` in after what was taken in so far; logits after each of the ``last`` ones, [last, tokens]."""
        x = self.read(torch.tensor([ids]), heard, heard.own[:, :, None], past=heard.length)
        heard.length += len(ids)
        return self.logits(x[-last:])

    def logits(self, x: Tensor) -> Tensor:
        """Of what :meth:`read` makes of tokens, how likely each token is to come next."""
        return self._logits(self._norm(x))

    def read(self, ids: Tensor, heard: Heard, own: Tensor, *, past: int) -> Tensor:
        """Take in tokens of several texts about the same audio, [texts, tokens]: what the layers make of each.

        ``own`` has their keys and values, [layers, 2, texts, heads, tokens, HEAD_WIDTH], of which ``past`` are there.
        """
        texts, new = ids.shape
        x = (functional.embedding(ids, self._embedding) + self._positions[past : past + new]).flatten(0, 1)
        mask = None if new == 1 else torch.full((new, past + new), float("-inf")).triu_(past + 1)
        for index, layer in enumerate(self._layers):
            qkv = layer.qkv(layer.before_self(x)).view(texts, new, 3, self._heads, HEAD_WIDTH)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            own[index, 0, :, :, past : past + new] = k
            own[index, 1, :, :, past : past + new] = v
            keys, values = own[index, :, :, :, : past + new]
            attended = functional.scaled_dot_product_attention(q, keys, values, mask)
            x = x + layer.self_out(attended.transpose(1, 2).reshape(texts * new, -1))
            seen = heard.cross[index, :, None, :, : heard.attended]
            query = layer.cross_query(layer.before_cross(x)).view(texts * new, self._heads, HEAD_WIDTH).transpose(0, 1)
            attended = functional.scaled_dot_product_attention(query[None], seen[0], seen[1])
            x = x + layer.cross_out(merged(attended))
            x = layer.feedforward(x)
        return x

    @torch.inference_mode()
    def choose(self, heard: Heard, head: Sequence[int], draft: Sequence[int], rules: "Rules") -> "Chosen":
        """Decode greedily after ``head``, taking over of ``draft`` what would have been decoded anyway."""
        ahead = draft[: max(0, rules.most - 1)]
        before = tuple(head[: rules.begins_at])
        heard.length = len(before) if before == heard.before else 0
        heard.before = before
        # From the first token of the head that is not of an earlier text, to tell silence; then the draft.
        logits = self.forward([*head, *ahead][heard.length :], heard, last=len(ahead) + len(head) - rules.begins_at)
        silence = float(torch.softmax(logits[0], -1)[rules.no_speech])
        logits = logits[len(head) - rules.begins_at - 1 :] + rules.banned
        logits[0, list(rules.not_first)] = float("-inf")
        tokens: list[int] = []
        logprobs: list[float] = []
        at = 0
        while True:
            for token, logprob, drafted in zip(*_best(logits), (*ahead, None), strict=True):
                logprobs.append(logprob)
                if token == rules.end or token != drafted:
                    break
                tokens.append(token)
                at += 1
            heard.length = len(head) + len(tokens)
            if token == rules.end or len(tokens) >= rules.most or rules.stopped():
                return Chosen(tuple(tokens), logprobs=tuple(logprobs), no_speech=silence)
            tokens.append(token)
            found = caught_up(draft, at, token)
            at = at if found is None else found
            ahead = () if found is None else draft[at : at + min(AHEAD, rules.most - len(tokens))]
            logits = self.forward([token, *ahead], heard, last=len(ahead) + 1) + rules.banned


def caught_up(draft: Sequence[int], at: int, token: int) -> int | None:
    """Where in the draft to go on when ``token`` was chosen and not ``draft[at]``: behind the same token where it
    stands near. None where it does not, so that it is one more than the draft has."""
    for near in range(at, min(at + NEAR, len(draft))):
        if draft[near] == token:
            return near + 1
    return None


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
    """The tokens after the head, and the chance that nobody spoke."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Of the tokens, and of the end or what else would have come after them."""
    no_speech: float

    @property
    def logprob(self) -> float:
        """The mean."""
        return sum(self.logprobs) / len(self.logprobs)


def _best(logits: Tensor) -> tuple[list[int], list[float]]:
    highest, tokens = logits.max(-1)
    best: list[int] = tokens.tolist()
    surely: list[float] = (highest - logits.logsumexp(-1)).tolist()
    return best, surely


def _layer(known: Weights, at: str) -> _Layer:
    return _Layer(
        before_self=known.norm(f"{at}self_attention/layer_norm"),
        qkv=known.linear(f"{at}self_attention/linear_0"),
        self_out=known.linear(f"{at}self_attention/linear_1"),
        before_cross=known.norm(f"{at}attention/layer_norm"),
        cross_query=known.linear(f"{at}attention/linear_0"),
        cross_kv=known.linear(f"{at}attention/linear_1"),
        cross_out=known.linear(f"{at}attention/linear_2"),
        feedforward=known.feedforward(at),
    )
