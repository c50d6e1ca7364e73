"""The real turn-end model."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.clock import monotonic
from turngap.budget.errors import ModelError, StageError, TurngapError
from turngap.budget.marks import Stage
from turngap.voice.client.recording import read
from turngap.voice.endpointing.protocol import VAD_RATE_HZ

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("onnx", reason="the extra 'local' is not installed")

from turngap.voice.endpointing.smart_turn import SmartTurn


def pulled(name: str) -> Path:
    store = pytest.importorskip("turngap.voice.models.store")
    try:
        return Path(store.find(name))
    except TurngapError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def model() -> Iterator[SmartTurn]:
    made = SmartTurn(pulled("smart-turn-v3.2"), clock=monotonic, threads=1)
    asyncio.run(made.warm())
    yield made
    made.close()


@pytest.mark.model("smart-turn-v3.2", "recordings")
def test_it_tells_the_end_from_the_middle(model: SmartTurn) -> None:
    audio = read(pulled("recordings") / "goforward.raw").mono
    end, span = asyncio.run(model.judge(audio))
    assert end > 0.5
    assert (span.stage, span.what) == (Stage.ENDPOINTING, "turn end")
    reading = read(next(pulled("recordings").glob("*0870.wav"))).mono
    middle = [model.judge_now(reading[: round(s * VAD_RATE_HZ)]) for s in (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)]
    assert np.median(middle) < 0.3 < end


@pytest.mark.model("smart-turn-v3.2", "recordings")
def test_only_the_last_eight_seconds_count(model: SmartTurn) -> None:
    audio = np.tile(read(pulled("recordings") / "goforward.raw").mono, 5)
    noisy = np.concatenate([np.random.default_rng(0).normal(0, 0.3, VAD_RATE_HZ).astype(np.float32), audio])
    assert len(audio) > 8 * VAD_RATE_HZ
    assert model.judge_now(audio) == pytest.approx(model.judge_now(noisy), abs=1e-6)


@pytest.mark.model("smart-turn-v3.2", "recordings")
def test_seven_bit_products_say_what_fp32_says(model: SmartTurn) -> None:
    exact = SmartTurn(pulled("smart-turn-v3.2"), clock=monotonic, precision="fp32", threads=1)
    audio = read(pulled("recordings") / "goforward.raw").mono
    for seconds in (0.9, 1.3, 2.0, 2.7):
        part = audio[: round(seconds * VAD_RATE_HZ)]
        assert model.judge_now(part) == pytest.approx(exact.judge_now(part), abs=0.25)
    exact.close()


def test_a_folder_without_the_model_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    model = SmartTurn(tmp_path, clock=monotonic)
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        asyncio.run(model.warm())
    assert "turngap models pull" in str(caught.value.remedy)
    with pytest.raises(StageError, match="could not be loaded"):
        asyncio.run(model.judge(np.zeros(16_000, np.float32)))
    model.close()
