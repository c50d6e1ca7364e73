"""A Piper voice as plain, blocking functions: text to phonemes, phonemes to a latent, latent to audio in chunks.

Belongs to one thread: espeak, which turns text into phonemes, keeps one state for the whole program.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError, ModelError
from turngap.voice.tts.chunks import plan
from turngap.voice.tts.loudness import amplified, gain_for
from turngap.voice.tts.protocol import WordEnd
from turngap.voice.tts.split import (
    CONTEXT_KEY,
    DECODER,
    DURATIONS,
    ENCODER,
    FLOW,
    HOP_KEY,
    MASK,
    PRIOR,
    SPEAKER,
    Z,
    split,
)
from turngap.voice.tts.trim import Trimmer, pause_ms
from turngap.voice.tts.words import GAP, last_phonemes, words_of

REFERENCE: Final = "Sure, I can get you a small latte with oat milk, and your order will be ready soon."
"""Spoken once, unheard, to set the gain and to touch every buffer that the first turn needs."""


FLOW_FRAMES: Final = 96
"""How much of the latent is made at once after the first chunk's; context is two fifths of that work."""

WORDS_KEPT: Final = 4096
"""Whose phonemes are remembered: people say the same words again."""

PAD, BEGIN, END = "_", "^", "$"
"""What Piper puts after every phoneme, and around a sentence."""

PULL: Final = "Get the voice with: turngap models pull piper-joe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How the voice is to speak; None leaves it to the voice's own configuration."""

    speed: float = 1.0
    noise: float | None = None
    speaker: str | None = None
    """A speaker's name or number, of a voice that has several."""


class Ending(NamedTuple):
    """A word's end in characters of the text, and how many phonemes of its sentence are over by then."""

    chars: int
    phonemes: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Audio, and the words whose ends became known with it; see :class:`~turngap.voice.tts.protocol.Speech`."""

    samples: NDArray[np.float32]
    words: tuple[WordEnd, ...] = ()


def read_config(folder: Path) -> dict[str, Any]:
    """The voice's own configuration. Raises a ModelError if there is none, or no valid one."""
    found = sorted(folder.glob("*.onnx.json"))
    if len(found) != 1:
        raise ModelError(f"{folder} holds {len(found)} voice configurations (*.onnx.json), not one", remedy=PULL)
    try:
        config = json.loads(found[0].read_text("utf-8"))
        int(config["audio"]["sample_rate"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the voice configuration {found[0]} cannot be read", remedy=PULL) from error
    return dict(config)


class Voice:
    """Loads a voice and speaks with it. Raises ModelErrors on loading; what comes later are the libraries' errors."""

    def __init__(self, folder: Path, config: dict[str, Any], *, style: Style, threads: int) -> None:
        try:
            import onnxruntime
            from piper import PiperVoice
            from piper.config import PiperConfig
        except ImportError as error:
            raise ModelError("Piper is not installed", remedy="pip install 'turngap[local]'") from error
        _ensure_split(folder)
        try:
            self._encoder = _session(onnxruntime, folder / ENCODER, threads)
            self._decoder = _session(onnxruntime, folder / DECODER, threads)
            metadata = self._decoder.get_modelmeta().custom_metadata_map
            self.context = int(metadata[CONTEXT_KEY])
            self.hop = int(metadata[HOP_KEY])
            self._flow: Any = None
            self._flow_context = 0
            self._gives = [value.name for value in self._encoder.get_outputs()]
            if PRIOR in self._gives:
                self._flow = _session(onnxruntime, folder / FLOW, threads)
                self._flow_context = int(self._flow.get_modelmeta().custom_metadata_map[CONTEXT_KEY])
            self._piper = PiperConfig.from_dict(config)
        except Exception as error:  # onnxruntime's own error types are not public
            raise ModelError(f"the voice in {folder} cannot be loaded ({error})", remedy=PULL) from error
        # Only its front end is wanted, for which Piper needs no session.
        self._text: Any = PiperVoice(session=None, config=self._piper)  # piper
        self._rate_hz = int(self._piper.sample_rate)
        self._style = style
        self._speaker = self._number_of(style.speaker)
        self._gain = 1.0
        self._alone = lru_cache(WORDS_KEPT)(self._phonemes_alone)
        self.timed = False
        """Whether the voice tells how long each phoneme takes; known from :meth:`calibrate` on."""

    def calibrate(self) -> None:
        """Set the gain, once; without noise, so that the same voice always gets the same."""
        latents = [self.latent(phonemes, noise=0.0) for phonemes in self.phonemes(REFERENCE)]
        raw = [self.decode(latent.window(slice(0, latent.frames))) for latent in latents]
        self._gain = gain_for(np.concatenate(raw), self._rate_hz)
        self.timed = all(latent.durations is not None for latent in latents)

    def pieces(self, text: str) -> Iterator[Piece]:
        """Audio of ``text``, one piece for each chunk in which something can be heard; a step is one chunk.

        The words of a sentence are told with its second piece, where it has one: nothing that waits for the first
        waits for them.
        """
        sentences = self.phonemes(text)
        endings: list[list[Ending]] | None = None
        before = 0
        for number, phonemes in enumerate(sentences):
            trimmer = Trimmer(self._rate_hz)
            latent = self.latent(phonemes)
            chunks = plan(latent.frames, context=self.context)
            begun, told = before, False
            for chunk in chunks:
                audio = self.decode(latent.window(chunk.window))[chunk.kept(self.hop)]
                piece = trimmer.feed(amplified(audio, self._gain))
                last = chunk is chunks[-1]
                if last:
                    piece = np.concatenate([piece, trimmer.finish(pause_ms("".join(phonemes)))])
                if not len(piece):
                    continue
                words: tuple[WordEnd, ...] = ()
                if not told and (last or before > begun):
                    if endings is None:
                        endings = self._endings(text, sentences)
                    words, told = self._word_ends(endings[number], phonemes, latent, begun - trimmer.onset), True
                before += len(piece)
                yield Piece(piece, words)

    def phonemes(self, text: str) -> list[list[str]]:
        """Phonemes of each sentence, marks included; a sentence with nothing to say is left out."""
        return [phonemes for phonemes in self._text.phonemize(text) if phonemes]

    def _endings(self, text: str, sentences: Sequence[Sequence[str]]) -> list[list["Ending"]]:
        """The words that end in each sentence."""
        words = words_of(text)
        spoken = [phoneme for sentence in sentences for phoneme in (*sentence, GAP)]
        endings: list[list[Ending]] = [[] for _ in sentences]
        number, start = 0, 0
        for word, end in zip(words, last_phonemes([self._alone(word.group()) for word in words], spoken), strict=True):
            if end is None:
                continue
            while end > start + len(sentences[number]):
                start += len(sentences[number]) + 1
                number += 1
            endings[number].append(Ending(word.end(), end - start))
        return endings

    def _phonemes_alone(self, word: str) -> tuple[str, ...]:
        return tuple(phoneme for sentence in self.phonemes(word) for phoneme in (*sentence, GAP))

    def _word_ends(
        self, endings: Sequence["Ending"], phonemes: Sequence[str], latent: "Latent", offset: int
    ) -> tuple[WordEnd, ...]:
        """The same in samples, ``offset`` of which stand before the sentence."""
        ids = self._piper.phoneme_id_map
        pad = len(ids[PAD])
        lengths = [len(ids[phoneme]) + pad if phoneme in ids else 0 for phoneme in phonemes]
        over = np.cumsum([len(ids[BEGIN]) + pad, *lengths])
        if latent.durations is None or over[-1] + len(ids[END]) != len(latent.durations):
            return ()
        frames = np.concatenate([[0], np.cumsum(latent.durations)])
        return tuple(
            WordEnd(chars=ending.chars, samples=max(0, offset + int(frames[over[ending.phonemes]]) * self.hop))
            for ending in endings
        )

    def encode(self, phonemes: list[str], *, noise: float | None = None) -> NDArray[np.float32]:
        """The latent of one sentence, [1, channels, frames]; ``noise`` overrides both of the voice's noises."""
        latent = self.latent(phonemes, noise=noise)
        return latent.window(slice(0, latent.frames))

    def latent(self, phonemes: list[str], *, noise: float | None = None) -> "Latent":
        """The same, made as it is needed."""
        ids = self._text.phonemes_to_ids(phonemes)
        voice = self._piper
        tone = voice.noise_scale if self._style.noise is None else self._style.noise
        rhythm = voice.noise_w_scale
        if noise is not None:
            tone = rhythm = noise
        feeds = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array([tone, voice.length_scale / self._style.speed, rhythm], np.float32),
        }
        feeds = self._with_speaker(self._encoder, feeds)
        made = dict(zip(self._gives, self._encoder.run(self._gives, feeds), strict=True))
        if self._flow is None:
            whole = made[Z]
            return Latent(whole.shape[2], lambda part: whole[:, :, part], made.get(DURATIONS), context=0)
        prior, mask = made[PRIOR], made[MASK]

        def flow(part: slice) -> NDArray[np.float32]:
            given = {name: np.ascontiguousarray(of[:, :, part]) for name, of in ((PRIOR, prior), (MASK, mask))}
            flown: NDArray[np.float32] = self._flow.run(None, self._with_speaker(self._flow, given))[0]
            return flown

        return Latent(prior.shape[2], flow, made.get(DURATIONS), context=self._flow_context)

    def decode(self, z: NDArray[np.float32]) -> NDArray[np.float32]:
        """Samples of some frames of latent, as the voice gives them: no gain, no trimming."""
        audio: NDArray[np.float32] = self._decoder.run(None, self._with_speaker(self._decoder, {Z: z}))[0]
        return audio.reshape(-1)

    def _with_speaker(self, session: Any, feeds: dict[str, Any]) -> dict[str, Any]:
        if any(value.name == SPEAKER for value in session.get_inputs()):
            feeds[SPEAKER] = np.array([self._speaker], np.int64)
        return feeds

    def _number_of(self, speaker: str | None) -> int:
        voice = self._piper
        if speaker is None:
            return int(voice.default_speaker_id)
        number = voice.speaker_id_map.get(speaker, int(speaker) if speaker.isdecimal() else -1)
        if not 0 <= number < max(1, voice.num_speakers):
            raise ConfigurationError(
                f"the voice has no speaker '{speaker}'",
                remedy=f"Choose a number below {max(1, voice.num_speakers)} or one of its names",
            )
        return int(number)


class Latent:
    """The latent of a sentence of ``frames`` frames. ``flow`` makes a part of it, of which ``context`` frames at either
    end are spoiled where the sentence goes on."""

    def __init__(
        self,
        frames: int,
        flow: Callable[[slice], NDArray[np.float32]],
        durations: NDArray[np.float32] | None = None,
        *,
        context: int,
    ) -> None:
        self.frames = frames
        # What the voice rounds up may be something else: only what fills the latent is how long its phonemes take.
        fits = durations is not None and int(durations.sum()) == frames
        self.durations = durations.reshape(-1) if durations is not None and fits else None
        """Frames of each phoneme id, where the voice tells them."""
        self._flow = flow
        self._context = context
        self._made: list[NDArray[np.float32]] = []
        self._end = 0

    def window(self, part: slice) -> NDArray[np.float32]:
        """Frames ``part``, [1, channels, frames]: first no more than that is made, then ahead of what is asked for."""
        while self._end < part.stop:
            end = min(self.frames, max(part.stop, self._end + FLOW_FRAMES if self._made else 0))
            first, last = max(0, self._end - self._context), min(self.frames, end + self._context)
            made = self._flow(slice(first, last))
            self._made.append(made[:, :, self._end - first : end - first])
            self._end = end
        if len(self._made) > 1:
            self._made = [np.concatenate(self._made, axis=2)]
        return np.ascontiguousarray(self._made[0][:, :, part])


def _ensure_split(folder: Path) -> None:
    """Cut the voice if that was not done when it was pulled, as with a folder of one's own."""
    if (folder / ENCODER).is_file() and (folder / DECODER).is_file():
        return
    whole = [path for path in folder.glob("*.onnx") if path.name not in (ENCODER, FLOW, DECODER)]
    if len(whole) != 1:
        raise ModelError(f"{folder} holds {len(whole)} voices (*.onnx), not one", remedy=PULL)
    try:
        split(whole[0], folder)
    except OSError as error:
        raise ModelError(f"the voice cannot be prepared in {folder} ({error})", remedy="Make it writable") from error


def _session(onnxruntime: Any, path: Path, threads: int) -> Any:  # onnxruntime.InferenceSession
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A thread that spins while it waits takes the core from the language model beside it.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
