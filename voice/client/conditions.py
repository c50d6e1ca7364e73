"""What a recording goes through before it is played: noise, a telephone, a room, a bad microphone. Pure.

A condition is written as steps joined by ``+``, taken from left to right::

    clean               nothing
    snr=10              noise mixed in, 10 dB below the speech
    telephone           8 kHz, 300 to 3400 Hz, mu-law, and back
    far-field           heard from across a room, as loud as before
    quiet[=-50]         speech at -50 dBFS on a 16-bit microphone
    clipped[=12]        peaks 12 dB beyond full scale, cut off there
    dc[=0.1]            a constant beside the sound
    lead[=5]            5 s of the recording's own room tone before it, silence where it has none
    zeros[=5]           5 s of digital silence before it

``far-field+snr=10`` is a voice from across a room, with a noise that is near. Only ``lead`` and ``zeros`` change the
length: labels move by :attr:`Condition.lead_s`, and otherwise stay true to the sample. The speech level is that of
the voiced parts, which are given; of the noise it is the level of what is mixed in, over its whole length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError
from turngap.voice.client import room_tone
from turngap.voice.client.recording import resampled

TELEPHONE_HZ: Final = 8_000
BAND_HZ: Final = (300.0, 3400.0)
EDGE_HZ: Final = 150.0
"""The band's flanks lie outside of it, and are as wide as this."""
PAD_S: Final = 0.25
"""A filter of the whole signal wraps around: what rings past the ends rings into this."""
MU: Final = 255.0
STEPS_16_BIT: Final = 32_767.0
DIRECT: Final = 0.5
"""The direct sound is the first sample of a room response of half its greatest magnitude: reflections are later, and
rarely twice as loud."""

Samples = NDArray[np.float32]
Speech = Sequence[tuple[float, float]]
"""The voiced parts, from and to, in seconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens to a recording."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Condition:
    """What happens to a recording, in this order."""

    name: str
    steps: tuple[Step, ...]

    @property
    def lead_s(self) -> float:
        """How much later everything in the recording is."""
        return sum(step.value for step in self.steps if step.name in LEADING)

    @property
    def needs_noise(self) -> bool:
        return any(step.name == "snr" for step in self.steps)

    @property
    def needs_room(self) -> bool:
        return any(step.name == "far-field" for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What a step may look at beside the samples; all at the samples' rate."""

    rate_hz: int
    speech: Speech
    noise: Samples | None
    room: Samples | None
    seed: int


def parse(text: str) -> Condition:
    """Read a condition. A ConfigurationError names what is not known of it."""
    return Condition(text, tuple(_step(part.strip()) for part in text.split("+")))


def apply(
    samples: Samples,
    rate_hz: int,
    condition: Condition | str,
    *,
    speech: Speech,
    noise: Samples | None = None,
    room: Samples | None = None,
    seed: int = 0,
) -> Samples:
    """The mono recording as it sounds under this condition; the same for the same ``seed``, which picks the noise.

    ``noise`` and ``room`` (an impulse response) are mono and have the recording's rate. What goes beyond full scale
    is turned down as a whole: clipping is a condition of its own. Raises ConfigurationError where noise, a room or
    voiced parts are needed and not given.
    """
    chosen = parse(condition) if isinstance(condition, str) else condition
    heard = samples
    for step in chosen.steps:
        scene = _Scene(rate_hz=rate_hz, speech=speech, noise=noise, room=room, seed=seed)
        heard = _STEPS[step.name][1](heard, step.value, scene)
        if step.name in LEADING:
            speech = [(start + step.value, end + step.value) for start, end in speech]
    peak = float(np.max(np.abs(heard), initial=0.0))
    return np.asarray(heard / max(1.0, peak), np.float32)


def speech_power(samples: Samples, rate_hz: int, speech: Speech) -> float:
    """Mean square over the voiced parts, without what is constant. Raises ConfigurationError where there are none."""
    parts = [samples[round(start * rate_hz) : round(end * rate_hz)] for start, end in speech]
    voiced = np.concatenate([np.zeros(0, np.float32), *parts]).astype(np.float64)
    power = float(np.var(voiced)) if len(voiced) else 0.0
    if power == 0.0:
        raise ConfigurationError(
            "a level needs speech, and the voiced parts of this recording hold none",
            remedy="Give recordings whose manifest has speech_segments_s",
        )
    return power


def _step(text: str) -> Step:
    name, equals, value = text.partition("=")
    if name not in _STEPS:
        raise ConfigurationError(f"there is no condition '{name}'", remedy=f"Choose: {', '.join(_STEPS)}")
    default = _STEPS[name][0]
    try:
        return Step(name, float(value) if equals else _needed(default))
    except ValueError as error:
        raise ConfigurationError(
            f"'{text}' is not a condition", remedy=f"Write {name}=NUMBER, as in snr=10 or lead=5"
        ) from error


def _needed(default: float | None) -> float:
    if default is None:
        raise ValueError("it has no default")
    return default


def _clean(samples: Samples, value: float, scene: _Scene) -> Samples:
    return samples


def _noisy(samples: Samples, value: float, scene: _Scene) -> Samples:
    if scene.noise is None or not np.any(scene.noise):
        raise ConfigurationError("snr needs noise, and none is given", remedy="Name recordings in which nobody speaks")
    piece = room_tone.loop(scene.noise, scene.rate_hz)
    start = int(np.random.default_rng(scene.seed).integers(len(piece)))
    mixed = np.resize(np.roll(piece, -start), len(samples)).astype(np.float64)
    mixed -= mixed.mean()
    wanted = speech_power(samples, scene.rate_hz, scene.speech) / 10.0 ** (value / 10.0)
    power = float(np.mean(np.square(mixed)))
    return np.asarray(samples + mixed * np.sqrt(wanted / max(power, 1e-20)), np.float32)


def _telephone(samples: Samples, value: float, scene: _Scene) -> Samples:
    narrow = _band(resampled(samples, scene.rate_hz, TELEPHONE_HZ))
    back = resampled(mu_law(narrow), TELEPHONE_HZ, scene.rate_hz)
    return np.pad(back, (0, max(0, len(samples) - len(back))))[: len(samples)]


def mu_law(samples: Samples) -> Samples:
    """There and back through the 256 steps of a telephone line."""
    clipped = np.clip(samples, -1.0, 1.0)
    code = np.rint(127.0 * np.sign(clipped) * np.log1p(MU * np.abs(clipped)) / np.log1p(MU)) / 127.0
    return np.asarray(np.sign(code) * np.expm1(np.abs(code) * np.log1p(MU)) / MU, np.float32)


def _band(samples: Samples) -> Samples:
    """300 to 3400 Hz, without delay: a filter that shifted the sound would make every label late."""
    pad = int(PAD_S * TELEPHONE_HZ)
    padded = np.pad(samples, pad).astype(np.float64)
    hz = np.fft.rfftfreq(len(padded), 1 / TELEPHONE_HZ)
    gain = np.interp(hz, [BAND_HZ[0] - EDGE_HZ, BAND_HZ[0], BAND_HZ[1], BAND_HZ[1] + EDGE_HZ], [0.0, 1.0, 1.0, 0.0])
    filtered = np.fft.irfft(np.fft.rfft(padded) * gain, len(padded))
    return np.asarray(filtered[pad : pad + len(samples)], np.float32)


def _far_field(samples: Samples, value: float, scene: _Scene) -> Samples:
    if scene.room is None or not np.any(scene.room):
        raise ConfigurationError("far-field needs a room, and none is given", remedy="Name a room impulse response")
    magnitude = np.abs(scene.room)
    direct = int(np.argmax(magnitude >= DIRECT * magnitude.max()))
    size = len(samples) + len(scene.room)
    spectrum = np.fft.rfft(samples.astype(np.float64), size) * np.fft.rfft(scene.room.astype(np.float64), size)
    heard = np.asarray(np.fft.irfft(spectrum, size)[direct : direct + len(samples)], np.float32)
    before = speech_power(samples, scene.rate_hz, scene.speech)
    return np.asarray(heard * np.sqrt(before / speech_power(heard, scene.rate_hz, scene.speech)), np.float32)


def _quiet(samples: Samples, value: float, scene: _Scene) -> Samples:
    gain = np.sqrt(10.0 ** (value / 10.0) / speech_power(samples, scene.rate_hz, scene.speech))
    return np.asarray(np.rint(samples * gain * STEPS_16_BIT) / STEPS_16_BIT, np.float32)


def _clipped(samples: Samples, value: float, scene: _Scene) -> Samples:
    peak = float(np.max(np.abs(samples), initial=1e-9))
    return np.asarray(np.clip(samples * (10.0 ** (value / 20.0) / peak), -1.0, 1.0), np.float32)


def _dc(samples: Samples, value: float, scene: _Scene) -> Samples:
    return np.asarray(samples + value, np.float32)


def _lead(samples: Samples, value: float, scene: _Scene) -> Samples:
    starts, ends = zip(*scene.speech, strict=True) if scene.speech else ((0.0,), (0.0,))
    tone = room_tone.find(samples, scene.rate_hz, start_s=min(starts), end_s=max(ends))
    if tone is None:
        return _zeros(samples, value, scene)
    return np.concatenate([np.resize(room_tone.loop(tone, scene.rate_hz), round(value * scene.rate_hz)), samples])


def _zeros(samples: Samples, value: float, scene: _Scene) -> Samples:
    return np.concatenate([np.zeros(round(value * scene.rate_hz), np.float32), samples])


LEADING: Final = frozenset({"lead", "zeros"})

_STEPS: Final[dict[str, tuple[float | None, Callable[[Samples, float, _Scene], Samples]]]] = {
    "clean": (0.0, _clean),
    "snr": (None, _noisy),
    "telephone": (0.0, _telephone),
    "far-field": (0.0, _far_field),
    "quiet": (-50.0, _quiet),
    "clipped": (12.0, _clipped),
    "dc": (0.1, _dc),
    "lead": (5.0, _lead),
    "zeros": (5.0, _zeros),
}
"""For each name its value where none is written (None: one must be), and what it does."""
