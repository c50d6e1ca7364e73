"""Stored replies on disk, with their embeddings and, once synthesised, their audio.

A reply is a file of its own, ``FOLDER/FINGERPRINT/NAME.npz``: JSON and arrays in one archive, so that none of them can
be there without the others. It is written beside its place and moved there, so a reader sees it whole or not at all;
what was damaged since is left out with a warning that names it. A reply was made by one model for one system prompt
and is spoken by one voice; the fingerprint stands for all that, and files of another are never read.
"""

import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.stored import Piece, StoredReply

FORMAT: Final = 2
"""Raise it when what is written changes: what was stored before then counts as of another fingerprint."""
MAX_BYTES: Final = 1 << 30
_SUFFIX: Final = ".npz"
_DAMAGE: Final = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A reply as it is kept, with the embeddings of its utterances as far as they are known."""

    reply: StoredReply
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)


def fingerprint(*, system: str, model: str, voice: str) -> str:
    """What replies depend on, in a few letters."""
    parts = json.dumps([FORMAT, system, model, voice])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


class ReplyStore:
    """The replies of one fingerprint. Reads and writes files: not for the event loop."""

    def __init__(self, folder: Path, fingerprint: str, *, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder / fingerprint
        self._fingerprint = fingerprint
        self._max_bytes = max_bytes

    def save(self, kept: Kept) -> Path:
        """Write a reply, over what was known for the same turns, and drop the oldest files if there are too many bytes.

        Raises ConfigurationError if the folder cannot be written.
        """
        path = self.folder / (_name(kept.reply) + _SUFFIX)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self.folder, suffix=".part", delete=False) as file:
                try:
                    np.savez(file, allow_pickle=False, **_arrays(kept, self._fingerprint))
                    file.flush()
                    os.fsync(file.fileno())
                    os.replace(file.name, path)
                except BaseException:
                    os.unlink(file.name)
                    raise
            self._shrink(path)
        except OSError as error:
            raise ConfigurationError(
                f"{self.folder} cannot be written: {error.strerror}", remedy="Choose another folder for the replies"
            ) from error
        return path

    def load(self) -> Iterator[Kept]:
        """Every reply that is intact, the oldest first."""
        for path in self._paths():
            try:
                kept = _read(path, self._fingerprint)
            except _DAMAGE as error:
                logger.warning("%s is damaged and left out: %s", path, type(error).__name__)
                continue
            if kept is not None:
                yield kept

    def clear(self) -> None:
        """Forget everything of this fingerprint."""
        for path in (*self._paths(), *self.folder.glob("*.part")):
            path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{_SUFFIX}"), key=lambda path: (path.stat().st_mtime_ns, path.name))

    def _shrink(self, newest: Path) -> None:
        paths = self._paths()
        total = sum(path.stat().st_size for path in paths)
        for path in paths:
            if total <= self._max_bytes or path == newest:
                return
            total -= path.stat().st_size
            path.unlink()


def fingerprints(folder: Path) -> list[str]:
    """The fingerprints that ``folder`` keeps replies of."""
    return sorted({path.parent.name for path in folder.glob(f"*/*{_SUFFIX}")})


def _name(reply: StoredReply) -> str:
    return hashlib.sha256(json.dumps([reply.state, *reply.utterances]).encode()).hexdigest()[:24]


def _arrays(kept: Kept, fingerprint: str) -> dict[str, NDArray[Any]]:
    reply = kept.reply
    arrays: dict[str, NDArray[Any]] = {}
    spoken = {}
    for say, pieces in reply.spoken.items():
        described = []
        for piece in pieces:
            array = f"audio{len(arrays)}"
            arrays[array] = piece.samples
            described.append({"text": piece.text, "rate_hz": piece.rate_hz, "words": piece.words, "array": array})
        spoken[say] = described
    about = {
        "fingerprint": fingerprint,
        "state": reply.state,
        "utterances": reply.utterances,
        "says": reply.says,
        "intent": reply.intent,
        "source": reply.source,
        "spoken": spoken,
        "embedded": list(kept.vectors),
    }
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    arrays["vectors"] = np.array(list(kept.vectors.values()), np.float32)
    return arrays


def _read(path: Path, fingerprint: str) -> Kept | None:
    """What ``path`` keeps; None if it is of another fingerprint. Raises any of _DAMAGE."""
    # Opened here, for numpy leaves a file open that it finds to be no archive.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        about = json.loads(arrays["about"].tobytes())
        if about["fingerprint"] != fingerprint:
            return None
        spoken = {
            say: tuple(
                Piece(
                    text=each["text"],
                    samples=arrays[each["array"]],
                    rate_hz=each["rate_hz"],
                    words=tuple((chars, samples) for chars, samples in each["words"]),
                )
                for each in pieces
            )
            for say, pieces in about["spoken"].items()
        }
        reply = StoredReply(
            utterances=tuple(about["utterances"]),
            says=tuple(about["says"]),
            state=about["state"],
            intent=about["intent"],
            source=about["source"],
            spoken=spoken,
        )
        return Kept(reply=reply, vectors=dict(zip(about["embedded"], arrays["vectors"], strict=True)))
