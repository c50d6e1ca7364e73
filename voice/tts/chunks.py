"""In which pieces a sentence's latent is decoded, so that the joined audio is what one decode would give. Pure.

A decoder sees ``context`` frames to either side of a sample (see :mod:`turngap.voice.tts.split`). Decode a chunk
with that much around it, keep the middle, and the joints cannot be told from the whole: what zero padding at a
chunk's rim spoils lies in the context that is thrown away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GROWTH: Final = (16, 16, 20, 28, 40, 64)
"""Frames of the first chunk, the second, and so on; the last size repeats.

A frame of a medium voice is 11.6 ms of audio. First audio waits for the encoder, the first chunk and its right
context. Measured on a clause of four words, against one decode: 8 frames were heard 2.8 times as soon, 16 frames 2.4
times, 24 frames 2.2 times; but 8 leave only 85 ms in which the next chunk, context and all, has to be done, which a
busy machine misses, and 16 leave 180 ms. Later chunks grow, as their context is paid again each time, but so slowly
that each is in time even at an RTF of 0.4; at 64 the context is a quarter of the work, and another conversation does
not wait long behind one chunk.
"""

WORTH_A_CHUNK: Final = 12
"""A rest shorter than this goes with the chunk before it: its context would cost twice what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Frames ``start`` to ``end``, decoded together with ``left`` frames before and ``right`` frames after them."""

    start: int
    end: int
    left: int
    right: int

    @property
    def window(self) -> slice:
        """The frames that the decoder is given."""
        return slice(self.start - self.left, self.end + self.right)

    def kept(self, hop: int) -> slice:
        """Of the samples that come back, those that belong to this chunk."""
        return slice(self.left * hop, (self.left + self.end - self.start) * hop)


def plan(frames: int, *, context: int, growth: Sequence[int] = GROWTH) -> list[Chunk]:
    """The chunks of ``frames`` frames: every frame in exactly one, in order, with as much context as there is."""
    chunks: list[Chunk] = []
    start = 0
    while start < frames:
        end = start + growth[min(len(chunks), len(growth) - 1)]
        if frames - end < WORTH_A_CHUNK:
            end = frames
        chunks.append(Chunk(start=start, end=end, left=min(context, start), right=min(context, frames - end)))
        start = end
    return chunks
