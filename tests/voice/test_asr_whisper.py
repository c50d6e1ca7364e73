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
from turngap.voice.asr.stable import plain
from turngap.voice.client.recording import read

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra 'local' is not installed")
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


@pytest.mark.model("whisper-base", "recordings")
def test_a_draft_changes_no_word_whatever_it_says(recognizer: Recognizer) -> None:
    recording = read(pulled("recordings") / "goforward.raw")
    plain = asyncio.run(recognizer.decode(recording.mono))
    assert " ".join(plain.words).lower().startswith("go forward")
    assert [span.what for span in plain.spans] == ["queue", "encode", "decode"]
    assert all(span.stage is Stage.ASR and span.start <= span.end for span in plain.spans)
    for draft in (plain.words, plain.words[:2], ("Go", "backward", "twice"), ("Nothing", "like", "it") * 20):
        assert asyncio.run(recognizer.decode(recording.mono, draft=draft)).words == plain.words


@pytest.mark.model("whisper-base", "recordings")
def test_the_decoder_chooses_what_ctranslate2_would(recognizer: Recognizer) -> None:
    recording = read(pulled("recordings") / "cards-005.wav")
    model = faster_whisper.WhisperModel(str(pulled("whisper-base")), device="cpu", compute_type="int8")
    features = np.pad(model.feature_extractor(recording.mono), ((0, 0), (0, 800)))[:, :800].astype(np.float32)
    tokenizer = faster_whisper.tokenizer.Tokenizer(model.hf_tokenizer, True, task="transcribe", language="en")
    head = [*tokenizer.sot_sequence, tokenizer.no_timestamps]
    encoded = ctranslate2.StorageView.from_array(np.ascontiguousarray(features[None]))
    theirs = model.model.generate(encoded, [head], beam_size=1)[0].sequences_ids[0]
    ours = asyncio.run(recognizer.decode(recording.mono)).words
    # Both round to integers, each in its own way: a full stop may fall one way or the other, a word not.
    assert [plain(word) for word in ours] == [plain(word) for word in tokenizer.decode(theirs).split()]


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
