"""Whisper's encoder for audio that grows: each pass computes what is new and its surroundings, not everything.

In Whisper's encoder every position attends to every other one, so all of them change when audio is added, and all of
them would have to be computed again: 9 s of audio and padding cost two cores 140 ms, 15 s cost them 250. But what a
position makes of its sound settles soon: once two seconds more have been heard, the words are as good as if it had
been computed again. So the keys and values of all layers are kept, and a pass computes the positions from ``overlap``
before the end of the last pass to ``tail`` after the end of the audio. They attend to the others as those were left.

The padding behind the audio is what Whisper was trained to expect, 30 s in all. Its keys and values are computed
once, behind two seconds of hiss, and every stretch of audio begins with them: padding that costs nothing. So the window
can be as wide as is good for the words (12 s and more: below 8 s the decoder loops) and not as narrow as time allows.

On 42 read sentences, streamed with a pass every 0.7 s (word errors, plus or minus one from run to run; plain
faster-whisper, beam 5, 30 s: 9.5 %). Down to the empty line the first pass encodes everything, padding included::

    everything in each pass, 15 s                     9.8 %    750 positions, fp32
    overlap 0.6 s, tail 0.4 s                         12.5     85
    overlap 1.2 s, tail 1 s                           12.8     145
    overlap 2 s, tail 0.5 s                           10.1     160
    overlap 2 s, tail 1 s                             9.2      185

    the same, padding from digital silence            12.1     184
    the same, padding from hiss, int8, 12 s           9.4      184
    the same, a pass every 0.4 s                      8.9      170
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turngap.voice.asr.layers import HEAD_WIDTH, Linear, Norm, Weights, merged

FRAMES_PER_POSITION: Final = 2
MARGIN: Final = 2
"""Frames before the first position's own two that its convolutions look at; after the last one's it is one."""


@dataclass(frozen=True, slots=True)
class _Layer:
    before_attention: Norm
    qkv: Linear
    out: Linear
    feedforward: Linear


class Encoder:
    """Weights as :func:`turngap.voice.asr.weights.read_weights` gives them for ``encoder/``."""

    def __init__(self, weights: Mapping[str, NDArray[np.floating]], *, precision: str) -> None:
        known = Weights(weights, precision)
        self._convolutions = [
            (known["conv1/weight"], known["conv1/bias"], 1),
            (known["conv2/weight"], known["conv2/bias"], FRAMES_PER_POSITION),
        ]
        self._positions = known["position_encodings/encodings"]
        self._norm = known.norm("layer_norm")
        self._layers = [
            _Layer(
                before_attention=known.norm(f"{at}self_attention/layer_norm"),
                qkv=known.linear(f"{at}self_attention/linear_0"),
                out=known.linear(f"{at}self_attention/linear_1"),
                feedforward=known.feedforward(at),
            )
            for at in known.layers()
        ]

    @property
    def longest(self) -> int:
        """How many positions there are encodings for."""
        return len(self._positions)

    def memory(self, positions: int) -> Tensor:
        """Room for the keys and values of all layers: [layers, 2, heads, positions, HEAD_WIDTH]."""
        heads = self._positions.shape[1] // HEAD_WIDTH
        return torch.zeros(len(self._layers), 2, heads, positions, HEAD_WIDTH)

    @torch.inference_mode()
    def encode(
        self,
        features: Tensor,
        memory: Tensor,
        *,
        first: int,
        attended: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Tensor | None:
        """Encode the positions from ``first`` on; None where it was stopped, which leaves the memory usable.

        ``features`` are those of the positions' frames and of MARGIN before and one after them, with zeros before the
        audio begins: [mels, 2 positions + 3]. Attends to ``attended`` positions of ``memory`` and leaves its own keys
        and values there.
        """
        x = self._embed(features, first)
        new = len(x)
        for layer, kept in zip(self._layers, memory, strict=True):
            if stopped():
                return None
            qkv = layer.qkv(layer.before_attention(x)).view(new, 3, -1, HEAD_WIDTH).permute(1, 2, 0, 3)
            kept[:, :, first : first + new] = qkv[1:]
            keys, values = kept[:, None, :, :attended]
            x = x + layer.out(merged(functional.scaled_dot_product_attention(qkv[0][None], keys, values)))
            x = layer.feedforward(x)
        return self._norm(x)

    def _embed(self, features: Tensor, first: int) -> Tensor:
        x = features[None]
        for index, (weight, bias, stride) in enumerate(self._convolutions):
            x = functional.gelu(functional.conv1d(x, weight, bias, stride=stride))
            if index == 0 and first == 0:
                x[..., 0] = 0  # the padding of the second convolution, not what the first makes of nothing
        return x[0].T + self._positions[first : first + x.shape[2]]
