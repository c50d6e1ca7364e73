"""Real voices, the real detector and the real canceller, in a room made here."""

import asyncio
from itertools import groupby

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, monotonic
from turngap.budget.errors import ConfigurationError
from turngap.voice.audio.aec3 import Aec3, canceller_maker
from turngap.voice.audio.echo import BLOCK, EchoCanceller
from turngap.voice.endpointing.protocol import FRAME_SAMPLES
from turngap.voice.endpointing.silero import Silero
from turngap.voice.models.store import find
from turngap.voice.tts.registry import make_synthesizer

RATE = 16_000
QUIET = np.zeros(RATE, np.float32)
ONSET_FRAMES = 3


def lacking() -> str:
    try:
        canceller_maker("cancel")
    except ConfigurationError as error:
        return str(error)
    return ""


pytestmark = [
    pytest.mark.model("silero-vad", "piper-joe"),
    pytest.mark.skipif(bool(lacking()), reason=lacking()),
]

Audio = NDArray[np.float32]


@pytest.fixture(scope="module")
def replies() -> tuple[Audio, Audio]:
    async def speak() -> list[Audio]:
        synthesizer = make_synthesizer("piper", find_model=find, clock=monotonic)
        texts = (
            "I can help you with that. Our shop opens at seven in the morning and closes at six.",
            "The train to the airport leaves every twenty minutes from platform four.",
        )
        spoken = []
        for text in texts:
            pieces = [speech.samples async for speech in synthesizer.speak(text)]
            spoken.append(soxr.resample(np.concatenate(pieces), synthesizer.rate_hz, RATE).astype(np.float32))
        await synthesizer.aclose()
        return spoken

    first, second = asyncio.run(speak())
    return first, second


def echo_of(reply: Audio, level_db: float, delay_ms: int) -> Audio:
    """As long as the reply and a second more."""
    length = RATE * 3 // 10
    room = np.random.default_rng(delay_ms).normal(size=length) * np.exp(-6.9 * np.arange(length) / length)
    room[0] = 6.0
    size = 1 << (len(reply) + RATE).bit_length()
    wet = np.fft.irfft(np.fft.rfft(reply, size) * np.fft.rfft(room, size), size)[: len(reply) + RATE]
    gain = 10 ** (level_db / 20) * np.std(reply) / np.std(wet[: len(reply)])
    return np.asarray(np.roll(wet, delay_ms * RATE // 1000) * gain, np.float32)


def heard(microphone: Audio, replies: list[tuple[int, Audio]]) -> Audio:
    """The microphone, cleaned; replies are all sent when they begin to be played."""
    canceller = canceller_maker("cancel")()
    assert canceller is not None
    echo, out, waiting = EchoCanceller(RATE, canceller), [], list(replies)
    for at in range(0, len(microphone) - 319, 320):
        if waiting and waiting[0][0] <= at + 320:
            start, reply = waiting.pop(0)
            echo.played(reply, start * SECOND // RATE)
        out.append(echo.clean(microphone[at : at + 320], at * 20 * MS // 320))
    return np.concatenate(out)


def longest(samples: Audio) -> int:
    """Frames in a row that hold a voice."""
    activity = Silero(find("silero-vad")).listen()
    frames = range(0, len(samples) - FRAME_SAMPLES + 1, FRAME_SAMPLES)
    voiced = [activity.probability_now(samples[at : at + FRAME_SAMPLES]) > 0.5 for at in frames]
    return max((len(list(run)) for value, run in groupby(voiced) if value), default=0)


def noise(length: int) -> Audio:
    return np.random.default_rng(1).normal(0, 0.0008, length).astype(np.float32)


@pytest.mark.parametrize("delay_ms", [20, 100, 300])
@pytest.mark.parametrize("level_db", [-10, -20, -30])
def test_the_agent_does_not_hear_itself(replies: tuple[Audio, Audio], level_db: int, delay_ms: int) -> None:
    first, second = replies
    microphone = np.concatenate([QUIET, echo_of(first, level_db, delay_ms), echo_of(second, level_db, delay_ms)])
    microphone += noise(len(microphone))
    again = 2 * RATE + len(first)
    assert longest(microphone) >= ONSET_FRAMES, "else there is nothing to cancel"
    assert longest(heard(microphone, [(RATE, first), (again, second)])) < ONSET_FRAMES


def test_a_voice_over_the_agent_is_heard(replies: tuple[Audio, Audio]) -> None:
    """Whose voice it is does not matter: it is one that is not being played."""
    first, second = replies
    microphone = np.concatenate([QUIET, echo_of(first, -20, 150)])
    microphone[4 * RATE :] += 0.5 * second[: len(microphone) - 4 * RATE]
    microphone += noise(len(microphone))
    assert longest(heard(microphone, [(RATE, first)])) > 10 * ONSET_FRAMES


def test_the_delay_of_the_library_is_what_it_is_said_to_be() -> None:
    canceller = Aec3()
    noise = np.random.default_rng(0).normal(0, 0.05, 3 * RATE).astype(np.float32)
    silence = np.zeros(BLOCK, np.float32)
    cleaned = np.concatenate([canceller.cancel(noise[at : at + BLOCK], silence) for at in range(0, len(noise), BLOCK)])
    best = np.correlate(cleaned[RATE : 2 * RATE + 400], noise[RATE : 2 * RATE], "valid")
    assert int(np.argmax(best)) == canceller.delay


def test_an_unknown_choice_names_the_known() -> None:
    with pytest.raises(ConfigurationError, match="none, cancel"):
        canceller_maker("halve")
