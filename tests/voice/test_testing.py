"""The pytest plugin: what a voice app's own tests are told, against a real server with the shipped fakes."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import soundfile

from turngap.budget.clock import monotonic
from turngap.budget.report.record import TurnRecord
from turngap.voice.engine import Engine
from turngap.voice.server import Server
from turngap.voice.settings import Settings
from turngap.voice.testing.played import Played

pytest_plugins = ["pytester"]

SLOW = TurnRecord(
    name="order.wav",
    turn=1,
    answered=True,
    outcome="answered",
    heard_gap_ms=812.0,
    reported_gap_ms=800.0,
    charges_ms={"asr": 200.0, "prefill": 512.0, "tts": None},
    residual_ms=88.0,
    culprit="prefill",
    allowances_ms={"asr": 230.0, "prefill": 60.0, "residual": 10.0},
    reply="Sure, a tall Latte.",
)


def failure(*turns: TurnRecord, within_ms: float = 500) -> str:
    with pytest.raises(AssertionError) as failed:
        Played(turns=turns).expect_answer(within_ms=within_ms)
    return str(failed.value)


def changed(**fields: object) -> TurnRecord:
    return TurnRecord.from_json({**SLOW.to_json(), **fields})


def test_a_late_answer_names_the_stage_that_took_the_time() -> None:
    assert failure(SLOW).splitlines() == [
        "order.wav: heard 812 ms after the user had finished, 312 ms over the 500 ms allowed",
        "  culprit: prefill took 512 of 60 ms; the turn was 500 ms over",
        "  asr 200, prefill 512, residual 88 ms",
    ]
    assert Played(turns=(SLOW,)).expect_answer(within_ms=812).turns == (SLOW,)


def test_an_answer_that_only_we_find_late_is_blamed_on_what_took_most_beyond_its_share() -> None:
    assert "culprit: prefill, with 512 of 60 ms" in failure(changed(culprit=None, reported_gap_ms=290.0))


def test_what_is_no_answer_is_told_apart() -> None:
    assert "before the user had finished" in failure(changed(cut_in=True))
    assert "no answer was heard (failed)" in failure(changed(answered=False, outcome="failed"))
    assert "nothing was reported either" in failure(changed(answered=False, outcome=None))
    assert "could not be heard" in failure(changed(heard_gap_ms=None, reported_gap_ms=None))
    assert "which stage took it is not known" in failure(changed(reported_gap_ms=None))
    assert failure() == "no turn was heard in the recording"


def test_words_of_the_reply_can_be_expected() -> None:
    Played(turns=(SLOW,)).expect_said("latte", "Sure")
    with pytest.raises(AssertionError, match="'tea'"):
        Played(turns=(SLOW, changed(reply=None))).expect_said("tea", "sure")


@pytest.fixture
def url() -> Iterator[str]:
    """A server of the shipped fakes that takes 400 ms to find the end, on a loop of its own."""

    def no_model(name: str) -> NoReturn:
        raise AssertionError(f"the fakes asked for {name}")

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = Settings(
        llm="scripted?reply=Sure, right away.",
        asr="scripted?text=two coffees please",
        voice="tone",
        endpointing="fixed?vad=energy",
        port=port,
    )
    ready, loops = threading.Event(), list[tuple[asyncio.AbstractEventLoop, Server]]()

    async def serve() -> None:
        engine = Engine(settings, find_model=no_model, clock=monotonic)
        server = Server(settings, engine, monotonic)
        loops.append((asyncio.get_running_loop(), server))
        await server.run(lambda _: ready.set())
        await engine.aclose()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(20)
    yield f"ws://127.0.0.1:{port}"
    loop, server = loops[0]
    loop.call_soon_threadsafe(server.stop)
    thread.join()


@pytest.mark.socket
def test_a_voice_app_tests_itself(pytester: pytest.Pytester, url: str) -> None:
    samples = np.concatenate([0.2 * np.sin(np.arange(8000) / 5), np.zeros(8000)])
    soundfile.write(pytester.path / "order.wav", samples, 16_000)
    pytester.makepyfile(
        """
        def test_in_time(turngap):
            turngap.play("order.wav", speech_end_s=0.5).expect_answer(within_ms=5000).expect_said("right away")

        def test_too_late(turngap):
            turngap.play("order.wav", speech_end_s=0.5).expect_answer(within_ms=50)
        """
    )
    installed = entry_points(group="pytest11", name="turngap")
    loaded = [] if installed else ["-p", "turngap.voice.testing.plugin"]
    result = pytester.runpytest_subprocess(*loaded, "-p", "no:cacheprovider", f"--turngap-url={url}")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*order: heard * ms after the user had finished, * ms over the 50 ms allowed", "*culprit: *endpointing*"]
    )


def test_the_plugin_costs_nothing_where_it_is_not_used() -> None:
    source = Path(__file__).parent.parent.parent / "voice" / "testing" / "plugin.py"
    imported = [line for line in source.read_text("utf-8").splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in imported if "turngap" in line]
