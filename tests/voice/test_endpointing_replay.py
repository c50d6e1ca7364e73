"""Replays: what a policy would have decided, and what the user would have heard of it."""

from dataclasses import replace

from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, Frame
from turngap.voice.endpointing.replay import Decided, Delays, Trace, replay
from turngap.voice.endpointing.weighing import Weighing

MS = 16


def trace(*stretches: tuple[bool, int], opinion: float = 0.5, words: str = "yes") -> Trace:
    """Stretches of (voice or not, frames), after 20 quiet frames; the speech ends with the last voice."""
    voiced = [False] * 20 + [voice for voice, count in stretches for _ in range(count)]
    frames = []
    for index, voice in enumerate(voiced):
        end = (index + 1) * FRAME_SAMPLES
        blocks = end // 160 - (end - FRAME_SAMPLES) // 160
        frames.append(
            Frame(end=end, probability=0.95 if voice else 0.02, levels_db=(-25.0 if voice else -65.0,) * blocks)
        )
    last = max(index for index, voice in enumerate(voiced) if voice)
    return Trace(
        frames=frames,
        speech_end=(last + 1) * FRAME_SAMPLES,
        opinion=lambda end: opinion,
        words=lambda end: words,
    )


def time_ms(decided: Decided, of: Trace) -> float:
    assert decided.endpoint is not None
    return (decided.endpoint - of.speech_end) / MS


def test_a_fixed_hangover_takes_as_long_as_it_says() -> None:
    heard = trace((True, 30), (False, 40))
    decided = replay(heard, Hangover(hangover_ms=400), Delays())
    assert 390 < time_ms(decided, heard) <= 400
    assert (decided.wrong, decided.heard, decided.asks) == (0, 0, 0)


def test_a_pause_longer_than_the_hangover_is_a_cut_off_that_is_heard() -> None:
    heard = trace((True, 30), (False, 20), (True, 20), (False, 40))
    decided = replay(heard, Hangover(hangover_ms=200), Delays(reply=100 * MS))
    assert (decided.wrong, decided.heard) == (1, 1)


def test_a_reply_that_is_not_ready_before_the_voice_comes_back_harms_nobody() -> None:
    heard = trace((True, 30), (False, 20), (True, 20), (False, 40))
    decided = replay(heard, Hangover(hangover_ms=200), Delays(words=400 * MS, reply=400 * MS))
    assert (decided.wrong, decided.heard) == (1, 0)


def test_an_opinion_counts_when_it_comes() -> None:
    heard = trace((True, 30), (False, 60), opinion=0.98)
    quick = replay(heard, Weighing(), Delays(opinion=50 * MS))
    slow = replay(heard, Weighing(), Delays(opinion=250 * MS))
    assert time_ms(quick, heard) < 120
    assert 200 < time_ms(slow, heard) - time_ms(quick, heard) + 100 < 320
    assert quick.asks >= 1


def test_words_take_an_endpoint_back() -> None:
    heard = trace((True, 30), (False, 60), opinion=0.98, words="I would like a")
    decided = replay(heard, Weighing(lexicon=ENGLISH), Delays(words=150 * MS, reply=150 * MS))
    assert time_ms(decided, heard) > 250


def test_a_voice_that_fades_decides_nothing() -> None:
    heard = trace((True, 30), (False, 4), (True, 20), (False, 40))
    unsure = [replace(frame, probability=max(frame.probability, 0.6)) for frame in heard.frames[:56]]
    quiet = replace(heard, frames=[*unsure, *heard.frames[56:]])
    decided = replay(quiet, Hangover(hangover_ms=200), Delays())
    assert (decided.wrong, decided.heard) == (0, 0)
    assert 190 < time_ms(decided, quiet) <= 200


def test_a_trace_without_a_voice_has_no_endpoint() -> None:
    quiet = Trace(frames=trace((True, 1)).frames[:20], speech_end=0, opinion=lambda end: 0.5, words=lambda end: "")
    assert replay(quiet, Weighing(), Delays()) == Decided(endpoint=None, wrong=0, heard=0, asks=0)
