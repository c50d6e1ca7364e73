"""The real recogniser, on a real recording where there is one and on silence."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError, ModelError, StageError, TurngapError
from turngap.budget.marks import Stage
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.asr.registry import make_recognizer

whisper = pytest.importorskip("turngap.voice.asr.whisper", reason="the extra 'local' is not installed")


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


@pytest.mark.model
def test_a_given_prefix_begins_the_words_and_the_cap_holds(recognizer: Recognizer) -> None:
    heard = asyncio.run(recognizer.decode(buzz(1.0), prefix=("Good", "morning,"), prompt="Hello."))
    assert heard.words[:2] == ("Good", "morning,")
    assert heard.words.count("Good") == 1
    assert len(heard.words) <= 15
    assert [span.what for span in heard.spans] == ["queue", "encode", "decode"]
    assert all(span.stage is Stage.ASR and span.start <= span.end for span in heard.spans)


@pytest.mark.model
def test_a_blink_of_audio_holds_no_words(recognizer: Recognizer) -> None:
    assert asyncio.run(recognizer.decode(buzz(0.01))).words == ()


@pytest.mark.model
def test_a_cancelled_pass_leaves_the_queue_usable(recognizer: Recognizer) -> None:
    async def cancel_then_hear() -> None:
        first = asyncio.create_task(recognizer.decode(buzz(5.0)))
        second = asyncio.create_task(recognizer.decode(buzz(5.0)))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await recognizer.decode(buzz(0.5))

    asyncio.run(cancel_then_hear())


@pytest.mark.model
def test_audio_of_the_wrong_shape_is_a_stage_error(recognizer: Recognizer) -> None:
    with pytest.raises(StageError):
        asyncio.run(recognizer.decode(np.zeros((16_000, 3), np.float32)))
