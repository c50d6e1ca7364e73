"""What attention remembers of the tokens so far: keys and values, in buffers that can be cut back and copied."""

from typing import Final

import torch
from torch import Tensor

STEP: Final = 256
"""Buffers grow by this many tokens, so that a short conversation does not pay for the whole context."""


class KeyValues:
    """Keys and values of every layer, as ``[layers, 2, heads, tokens, width]``.

    Cutting back forgets in no time: what lies past ``length`` is overwritten by what comes next.
    """

    def __init__(self, layers: int, heads: int, width: int, *, dtype: torch.dtype, device: torch.device) -> None:
        self.length = 0
        self._buffer = torch.empty(layers, 2, heads, 0, width, dtype=dtype, device=device)

    def crop(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens."""
        self.length = min(self.length, length)

    def copy(self) -> "KeyValues":
        """An independent copy of the tokens held."""
        twin = object.__new__(KeyValues)
        twin.length = self.length
        twin._buffer = self._buffer[..., : self._rounded(self.length), :].clone()
        return twin

    def reserve(self, tokens: int) -> None:
        """Make room for ``tokens`` more."""
        needed = self.length + tokens
        if needed > self._buffer.shape[-2]:
            layers, two, heads, _, width = self._buffer.shape
            grown = self._buffer.new_empty(layers, two, heads, self._rounded(needed), width)
            grown[..., : self.length, :] = self._buffer[..., : self.length, :]
            self._buffer = grown

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write one layer's new ``[heads, new, width]`` after the tokens held; return all of that layer's.

        The length does not move until every layer has written: see :meth:`advance`.
        """
        end = self.length + keys.shape[-2]
        held = self._buffer[layer]
        held[0, :, self.length : end] = keys
        held[1, :, self.length : end] = values
        return held[0, :, :end], held[1, :, :end]

    def advance(self, tokens: int) -> None:
        """The new tokens are now held."""
        self.length += tokens

    @staticmethod
    def _rounded(tokens: int) -> int:
        return -(-tokens // STEP) * STEP
