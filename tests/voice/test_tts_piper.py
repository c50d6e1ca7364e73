"""Piper's adapter: the shell with a voice that does as it is told, then the real voice where it was pulled."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from turngap.budget.clock import MS, Ns, monotonic
from turngap.budget.errors import ConfigurationError, ModelError, StageError
from turngap.budget.marks import Stage
from turngap.voice.audio.level import first_audible
from turngap.voice.tts import piper
from turngap.voice.tts.chunks import plan
from turngap.voice.tts.piper import PiperSynthesizer
from turngap.voice.tts.protocol import Speech, WordEnd
from turngap.voice.tts.registry import make_synthesizer
from turngap.voice.tts.split import DURATIONS
from turngap.voice.tts.vits import Piece, Style, Voice, read_config
from turngap.voice.tts.words import words_of

SENTENCE = "Sure, I can get you a small latte with oat milk today."


class Obedient:
    """Three pieces for anything; it counts its steps, and ``before`` may do something at each."""

    steps = 0
    loaded = 0
    before: ClassVar[Callable[[int], None]] = staticmethod(lambda step: None)

    def __init__(self, folder: Path, config: dict[str, Any], *, style: Style, threads: int) -> None:
        Obedient.loaded += 1

    timed = True

    def calibrate(self) -> None: ...

    def pieces(self, text: str) -> Iterator[Piece]:
        for step in range(3 if text else 0):
            Obedient.before(step)
            Obedient.steps += 1
            words = (WordEnd(chars=len(text), samples=29),) if step == 1 else ()
            yield Piece(np.full(10, step + 1, np.float32), words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.onnx.json").write_text(json.dumps({"audio": {"sample_rate": 22050}}), "utf-8")
    return tmp_path


@pytest.fixture
def obedient(monkeypatch: pytest.MonkeyPatch) -> type[Obedient]:
    monkeypatch.setattr(piper, "Voice", Obedient)
    monkeypatch.setattr(Obedient, "steps", 0)
    monkeypatch.setattr(Obedient, "loaded", 0)
    monkeypatch.setattr(Obedient, "before", staticmethod(lambda step: None))
    return Obedient


def before(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> None:
    monkeypatch.setattr(Obedient, "before", staticmethod(act))


async def spoken(voice: PiperSynthesizer, text: str = "words") -> list[Speech]:
    async with aclosing(voice.speak(text)) as pieces:
        return [piece async for piece in pieces]


def speaking(folder: Path, text: str = "words", *, clock: Callable[[], Ns] = lambda: 0) -> list[Speech]:
    async def speak() -> list[Speech]:
        voice = PiperSynthesizer(folder, clock=clock, style=Style())
        try:
            return await spoken(voice, text)
        finally:
            await voice.aclose()

    return asyncio.run(speak())


@pytest.mark.usefixtures("obedient")
def test_pieces_come_in_order_with_the_work_they_took(folder: Path) -> None:
    pieces = speaking(folder)
    assert [piece.samples[0] for piece in pieces] == [1, 2, 3]
    assert [piece.span.what for piece in pieces] == ["text+encode+decode", "decode", "decode"]
    assert {piece.span.stage for piece in pieces} == {Stage.TTS}
    assert [piece.words for piece in pieces] == [(), (WordEnd(chars=5, samples=29),), ()]


@pytest.mark.usefixtures("obedient")
def test_a_span_runs_from_the_call_and_tells_of_a_queue(folder: Path) -> None:
    ticks = iter(range(0, 10_000 * MS, 10 * MS))
    first, second, _ = speaking(folder, clock=lambda: next(ticks))
    assert (first.span.start, first.span.end, first.span.what) == (0, 20 * MS, "queue+text+encode+decode")
    assert (second.span.start, second.span.what) == (30 * MS, "queue+decode")


@pytest.mark.usefixtures("obedient")
def test_no_words_no_pieces(folder: Path) -> None:
    assert speaking(folder, "") == []


def test_closing_stops_the_work_at_the_chunk_it_is_at(folder: Path, obedient: type[Obedient]) -> None:
    async def barge_in() -> None:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        async with aclosing(voice.speak("words")) as pieces:
            await anext(pieces)
        await spoken(voice, "")  # the thread has had its chance
        await voice.aclose()

    asyncio.run(barge_in())
    assert obedient.steps == 1


def test_a_cancelled_wait_ends_at_once_and_the_next_text_is_spoken(
    folder: Path, obedient: type[Obedient], monkeypatch: pytest.MonkeyPatch
) -> None:
    working, go_on = threading.Event(), threading.Event()

    def wait(_step: int) -> None:
        working.set()
        go_on.wait(10)

    async def hush() -> int:
        before(monkeypatch, wait)
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        speaking = asyncio.ensure_future(spoken(voice))
        await asyncio.to_thread(working.wait, 10)
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking
        go_on.set()
        pieces = await spoken(voice)
        await voice.aclose()
        return len(pieces)

    assert asyncio.run(hush()) == 3
    assert obedient.steps == 4


def test_two_conversations_take_turns_by_chunks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    class Named(Obedient):
        def pieces(self, text: str) -> Iterator[Piece]:
            for piece in super().pieces(text):
                order.append(text)
                yield piece

    async def both() -> None:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        await asyncio.gather(spoken(voice, "one"), spoken(voice, "two"))
        await voice.aclose()

    monkeypatch.setattr(piper, "Voice", Named)
    asyncio.run(both())
    assert order == ["one", "two"] * 3


@pytest.mark.usefixtures("obedient")
def test_an_error_of_the_model_is_a_stage_error_and_the_next_text_works(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(step: int) -> None:
        if step == 1:
            raise RuntimeError("bad allocation")

    async def speak() -> None:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        before(monkeypatch, fail)
        with pytest.raises(StageError, match="bad allocation") as raised:
            await spoken(voice)
        assert raised.value.stage is Stage.TTS
        before(monkeypatch, lambda step: None)
        assert len(await spoken(voice)) == 3
        await voice.aclose()

    asyncio.run(speak())


def test_warming_loads_once_and_speaks_once_unheard(folder: Path, obedient: type[Obedient]) -> None:
    async def warm() -> None:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        await voice.warm()
        assert (obedient.loaded, obedient.steps) == (1, 3)
        await spoken(voice)
        assert obedient.loaded == 1
        await voice.aclose()

    asyncio.run(warm())


@pytest.mark.parametrize(("timed", "told"), [(True, "timed"), (False, "estimated")])
def test_it_says_whether_it_knows_where_words_end(
    folder: Path, obedient: type[Obedient], monkeypatch: pytest.MonkeyPatch, timed: bool, told: str
) -> None:
    async def warm() -> tuple[dict[str, str], dict[str, str]]:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        unknown = voice.describe()
        await voice.warm()
        await voice.aclose()
        return unknown, voice.describe()

    monkeypatch.setattr(obedient, "timed", timed)
    before, after = asyncio.run(warm())
    assert "words" not in before
    assert after["words"] == told


@pytest.mark.usefixtures("obedient")
def test_a_closed_voice_says_so_and_closes_twice(folder: Path) -> None:
    async def close() -> None:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        async with aclosing(voice.speak("words")) as pieces:
            await anext(pieces)
            await voice.aclose()
            await voice.aclose()
            with pytest.raises(StageError, match="closed"):
                await anext(pieces)

    asyncio.run(close())


def test_closing_amid_a_chunk_is_told_to_who_waits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def close() -> None:
        loop = asyncio.get_running_loop()
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        closed = threading.Event()

        def close_now(_step: int) -> None:
            asyncio.run_coroutine_threadsafe(voice.aclose(), loop).add_done_callback(lambda _: closed.set())
            closed.wait(10)

        before(monkeypatch, close_now)
        with pytest.raises(StageError, match="closed while it spoke"):
            await spoken(voice)

    monkeypatch.setattr(piper, "Voice", Obedient)
    asyncio.run(close())


def test_a_voice_that_cannot_be_loaded_is_a_model_error_on_warming(folder: Path) -> None:
    async def warm() -> None:
        voice = PiperSynthesizer(folder, clock=lambda: 0, style=Style())
        with pytest.raises(ModelError):
            await voice.warm()
        with pytest.raises(StageError, match="could not be loaded"):
            await spoken(voice)
        await voice.aclose()

    asyncio.run(warm())


@pytest.mark.parametrize("content", [None, "{", "[]", '{"audio": {}}', '{"audio": {"sample_rate": "high"}}'])
def test_a_folder_without_a_configuration_is_a_model_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "a.onnx.json").write_text(content, "utf-8")
    with pytest.raises(ModelError):
        make_synthesizer(f"piper:{tmp_path}", find_model=no_model, clock=lambda: 0)


def no_model(name: str) -> Path:
    raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize("options", ["speed=0", "speed=nan", "threads=0", "noise=-1", "pitch=2", "speed=fast"])
def test_an_option_that_cannot_be_is_refused(folder: Path, options: str) -> None:
    with pytest.raises(ConfigurationError):
        make_synthesizer(f"piper:{folder}?{options}", find_model=no_model, clock=lambda: 0)


@pytest.mark.parametrize(("choice", "asked"), [("piper", "piper-joe"), ("piper:amy", "amy")])
def test_a_name_is_looked_up_among_the_models(folder: Path, choice: str, asked: str) -> None:
    names: list[str] = []

    def find(name: str) -> Path:
        names.append(name)
        return folder

    voice = make_synthesizer(f"{choice}?speed=1.2&threads=2", find_model=find, clock=lambda: 0)
    assert names == [asked]
    assert voice.rate_hz == 22050
    assert voice.describe().items() >= {"speed": "1.2", "threads": "2"}.items()


# ---- the real voice


@pytest.fixture(scope="module")
def joe() -> Path:
    found: Path = import_module("turngap.voice.models.store").find("piper-joe")
    return found


@pytest.fixture(scope="module")
def real(joe: Path) -> Voice:
    voice = Voice(joe, read_config(joe), style=Style(), threads=1)
    voice.calibrate()
    return voice


@pytest.mark.model("piper-joe")
def test_joined_chunks_are_the_unsplit_decode(real: Voice) -> None:
    z = real.encode(real.phonemes(SENTENCE)[0])
    joined = [
        real.decode(np.ascontiguousarray(z[:, :, chunk.window]))[chunk.kept(real.hop)]
        for chunk in plan(z.shape[2], context=real.context)
    ]
    assert np.max(np.abs(np.concatenate(joined) - real.decode(z))) < 1e-5


@pytest.mark.model("piper-joe")
def test_the_halves_give_what_piper_gives(joe: Path, real: Voice) -> None:
    onnxruntime = import_module("onnxruntime")
    (whole,) = joe.glob("en_US-*.onnx")
    session = onnxruntime.InferenceSession(str(whole), providers=["CPUExecutionProvider"])
    (phonemes,) = real.phonemes(SENTENCE)
    ids = import_module("piper.phoneme_ids").phonemes_to_ids(phonemes, read_config(joe)["phoneme_id_map"])
    feeds = {
        "input": np.array([ids], np.int64),
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array([0, 1, 0], np.float32),
    }
    expected = session.run(None, feeds)[0].reshape(-1)
    np.testing.assert_allclose(real.decode(real.encode(phonemes, noise=0.0)), expected, atol=1e-5)


@pytest.mark.model("piper-joe")
def test_it_begins_audibly_and_never_clips(joe: Path) -> None:
    async def speak() -> list[list[Speech]]:
        voice = PiperSynthesizer(joe, clock=monotonic, style=Style())
        await voice.warm()
        try:
            return [await spoken(voice, text) for text in ("Sure.", SENTENCE, "Okay! Anything else?")]
        finally:
            await voice.aclose()

    for pieces in asyncio.run(speak()):
        samples = np.concatenate([piece.samples for piece in pieces])
        assert first_audible(pieces[0].samples, 22050) == 0
        assert np.max(np.abs(samples)) <= 1.0
        assert all(piece.span.start <= piece.span.end for piece in pieces)


@pytest.mark.model("piper-joe")
@pytest.mark.parametrize("text", ["", " ", "...", "\n"])
def test_text_with_nothing_to_say_gives_no_audio(joe: Path, real: Voice, text: str) -> None:
    assert list(real.pieces(text)) == []


@pytest.mark.model("piper-joe")
@pytest.mark.parametrize("text", ["Yes.", "One of the 25 lattes, please. It's for Dr. Smith at 10:30 a.m. - or so!"])
def test_the_end_of_every_word_is_told_in_order(real: Voice, text: str) -> None:
    assert real.timed
    pieces = list(real.pieces(text))
    words = [word for piece in pieces for word in piece.words]
    ends = [word.samples for word in words]
    assert [word.chars for word in words] == [word.end() for word in words_of(text) if word.group() != "-"]
    assert ends == sorted(set(ends))
    assert ends[0] > 0
    assert ends[-1] < sum(len(piece.samples) for piece in pieces)
    if len(pieces) > 1:
        assert not pieces[0].words  # nothing that waits for the first piece waits for them


@pytest.mark.model("piper-joe")
def test_a_voice_without_durations_tells_no_words(joe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = Voice(joe, read_config(joe), style=Style(), threads=1)
    monkeypatch.setattr(voice, "_gives", [name for name in voice._gives if name != DURATIONS])
    voice.calibrate()
    assert not voice.timed
    assert not any(piece.words for piece in voice.pieces("Yes. No."))


@pytest.mark.model("piper-joe")
def test_speed_shortens_what_is_said(joe: Path, real: Voice) -> None:
    fast = Voice(joe, read_config(joe), style=Style(speed=2.0), threads=1)
    phonemes = real.phonemes(SENTENCE)[0]
    assert fast.encode(phonemes, noise=0.0).shape[2] < 0.7 * real.encode(phonemes, noise=0.0).shape[2]


@pytest.mark.model("piper-joe")
def test_a_speaker_that_the_voice_does_not_have_is_refused(joe: Path) -> None:
    with pytest.raises(ConfigurationError, match="no speaker"):
        Voice(joe, read_config(joe), style=Style(speaker="amy"), threads=1)


@pytest.mark.model("piper-joe")
def test_a_damaged_half_is_a_model_error_with_a_remedy(joe: Path, folder: Path) -> None:
    for name in ("encoder.onnx", "decoder.onnx"):
        (folder / name).write_bytes(b"half a voice")
    with pytest.raises(ModelError, match="turngap models pull"):
        Voice(folder, read_config(joe), style=Style(), threads=1)
