"""The real recogniser, on a real recording where there is one and on silence."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError, ModelError, StageError, TurngapError
from turngap.budget.marks import Stage
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.asr.stable import plain
from turngap.voice.client.recording import read

faster_whisper = pytest.importorskip("faster_whisper", reason="the extra 'local' is not installed")


def pulled(name: str) -> Path:
    store = pytest.importorskip("turngap.voice.models.store")
    try:
        return Path(store.find(name))
    except TurngapError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def recognizer() -> Iterator[Recognizer]:
    made = make_recognizer("whisper?threads=1", find_model=pulled, clock=monotonic)
    asyncio.run(made.warm())
    yield made
    asyncio.run(made.aclose())


def buzz(seconds: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(1).normal(0, 0.003, round(16_000 * seconds)).astype(np.float32)


def test_a_folder_without_a_model_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    made = make_recognizer(f"whisper:{tmp_path}", find_model=pulled, clock=monotonic)
    with pytest.raises(ModelError, match="turngap models pull"):
        asyncio.run(made.warm())
    asyncio.run(made.aclose())


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="window=99"):
        make_recognizer(f"whisper:{tmp_path}?window=99", find_model=pulled, clock=monotonic)


def test_a_word_is_as_likely_as_the_least_likely_of_its_pieces() -> None:
    from turngap.voice.asr.whisper import by_word

    assert by_word([" na", "ï", "ve", "?", " Yes"], [0.0, -1.0, -0.5, -0.1, -2.0, -9.0]) == pytest.approx(
        (math.exp(-1.0), math.exp(-2.0))
    )
    assert by_word([], [-0.5]) == ()
    assert len(by_word(["No", " way"], [-0.5, -0.5])) == 2, "the first may lack its space"


@pytest.mark.model("whisper-base", "recordings")
def test_a_draft_changes_no_word_whatever_it_says(recognizer: Recognizer) -> None:
    recording = read(pulled("recordings") / "goforward.raw")
    plain = asyncio.run(recognizer.listen().decode(recording.mono))
    assert " ".join(plain.words).lower().startswith("go forward")
    assert len(plain.sure) == len(plain.words)
    assert all(0 < sure <= 1 for sure in plain.sure)
    assert [span.what for span in plain.spans] == ["queue", "encode", "decode"]
    assert all(span.stage is Stage.ASR and span.start <= span.end for span in plain.spans)
    for draft in (plain.words, plain.words[:2], ("Go", "backward", "twice"), ("Nothing", "like", "it") * 20):
        assert asyncio.run(recognizer.listen().decode(recording.mono, draft=draft)).words == plain.words


@pytest.mark.model("whisper-base", "recordings")
@pytest.mark.parametrize("name", ["goforward.raw", "cards-005.wav"])
def test_it_hears_what_faster_whisper_hears(recognizer: Recognizer, name: str) -> None:
    recording = read(pulled("recordings") / name)
    model = faster_whisper.WhisperModel(str(pulled("whisper-base")), device="cpu", compute_type="int8")
    pieces, _ = model.transcribe(recording.mono, language="en", beam_size=1)
    theirs = " ".join(piece.text for piece in pieces).split()
    ours = asyncio.run(recognizer.listen().decode(recording.mono)).words
    # Full stops and case are a close call, words not.
    assert [plain(word) for word in ours] == [plain(word) for word in theirs]


@pytest.mark.model("whisper-base", "recordings")
def test_a_turn_that_grows_ends_with_the_words_of_the_whole(recognizer: Recognizer) -> None:
    audio = read(pulled("recordings") / "cards-005.wav").mono

    async def grow() -> tuple[str, ...]:
        listener = recognizer.listen()
        words: tuple[str, ...] = ()
        for end in (*range(8000, len(audio), 8000), len(audio)):
            words = (await listener.decode(audio[:end], draft=words)).words
        return words

    grown = asyncio.run(grow())
    whole = asyncio.run(recognizer.listen().decode(audio)).words
    assert [plain(word) for word in grown] == [plain(word) for word in whole]


@pytest.mark.model("whisper-base", "recordings")
def test_another_start_begins_afresh(recognizer: Recognizer) -> None:
    audio = read(pulled("recordings") / "goforward.raw").mono

    async def hear_two() -> tuple[str, ...]:
        listener = recognizer.listen()
        await listener.decode(buzz(3.0))
        return (await listener.decode(audio, start=48_000)).words

    assert asyncio.run(hear_two()) == asyncio.run(recognizer.listen().decode(audio)).words


@pytest.mark.model
def test_a_blink_of_audio_holds_no_words(recognizer: Recognizer) -> None:
    assert asyncio.run(recognizer.listen().decode(buzz(0.01))).words == ()


@pytest.mark.model
def test_a_cancelled_pass_leaves_the_queue_usable(recognizer: Recognizer) -> None:
    async def cancel_then_hear() -> None:
        listener = recognizer.listen()
        first = asyncio.create_task(listener.decode(buzz(5.0)))
        second = asyncio.create_task(listener.decode(buzz(5.0)))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await listener.decode(buzz(5.5))

    asyncio.run(cancel_then_hear())


@pytest.mark.model
def test_audio_of_the_wrong_shape_is_a_stage_error(recognizer: Recognizer) -> None:
    with pytest.raises(StageError):
        asyncio.run(recognizer.listen().decode(np.zeros((16_000, 3), np.float32)))
