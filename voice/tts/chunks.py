"""In which pieces a sentence's latent is decoded, so that the joined audio is what one decode would give. Pure.

A decoder sees ``context`` frames to either side of a sample (see :mod:`turngap.voice.tts.split`). Decode a chunk
with that much around it, keep the middle, and the joints cannot be told from the whole: what zero padding at a
chunk's rim spoils lies in the context that is thrown away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GROWTH: Final = (16, 24, 48, 64)
"""Frames of the first chunk, the second, and so on; the last size repeats.

A frame is about 11.6 ms of audio and decodes in a twentieth of that on a free core. First audio waits for the
first chunk and its right context, so it is small: 16 frames, of which about a third is the silence that is
trimmed, leave 120 ms to decode the next 24 (46 with context), which is enough on a core that is five times slower.
Later chunks grow, as their context is paid again each time; at 64 it is a quarter of the work, and the wait of
another conversation behind one chunk stays below one that anybody would hear.
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
