"""Replay and bench against a small agent on a real loopback socket, and the server that a run starts for itself."""

import argparse
import asyncio
import json
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from rich.console import Console
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from turngap.budget.clock import MS, monotonic
from turngap.budget.errors import ConfigurationError
from turngap.voice.audio.level import first_audible
from turngap.voice.audio.pcm import to_pcm16
from turngap.voice.client import bench, options, replay
from turngap.voice.client.clips import collect
from turngap.voice.client.line import LineError, complete, dial, health
from turngap.voice.client.own_server import ServerError, running

RATE_HZ = 16_000
END_S = 0.3
pytestmark = pytest.mark.socket


async def agent(connection: ServerConnection) -> None:
    """Answers each 0.4 s clip when its 0.3 s of speech have come; hangs up in the middle of the second clip if told."""
    samples, answered = 0, False
    async for message in connection:
        if isinstance(message, str):
            if json.loads(message)["type"] == "end":
                return
            continue
        samples += len(message) // 2
        if connection.request is not None and "rude" in connection.request.path and samples > RATE_HZ // 10:
            await connection.close(1011, "no patience")
            return
        if not answered and samples >= END_S * RATE_HZ:
            answered = True
            await connection.send(to_pcm16(np.full(RATE_HZ // 10, 0.1, np.float32)))
            report = {"type": "turn", "turn": 1, "outcome": "answered", "speech_end_s": END_S, "reported_gap_ms": 0.5}
            await connection.send(json.dumps(report | {"text": "hello", "reply": "Hi."}))


def healthz(connection: ServerConnection, request: Request) -> Response | None:
    if request.path != "/healthz":
        return None
    body = json.dumps({"status": "ok", "config": {"llm": "scripted"}}).encode()
    return Response(HTTPStatus.OK, "OK", Headers({"Content-Length": str(len(body))}), body)


@asynccontextmanager
async def listening() -> AsyncIterator[str]:
    async with serve(agent, "127.0.0.1", 0, process_request=healthz) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    folder.mkdir()
    lines = []
    for name in ("one", "two"):
        samples = np.concatenate([np.full(round(END_S * RATE_HZ), 0.2), np.zeros(RATE_HZ // 10)])
        soundfile.write(folder / f"{name}.wav", samples, RATE_HZ)
        lines.append({"file": f"{name}.wav", "set": "speech/test", "speech_end_s": END_S})
    lines.append({"file": "missing.wav", "set": "speech/test", "speech_end_s": 1.0})
    lines.append({"file": "noise.wav", "set": "noise/test", "speech_segments_s": [], "speech_end_s": None})
    (folder / "manifest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def parsed(command: Any, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return parser.parse_args([command.__name__.rpartition(".")[2], *words])


@pytest.fixture(autouse=True)
def _no_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "detector", lambda: None)


def test_bench_measures_what_it_can_and_loses_nothing(clips: Path, tmp_path: Path) -> None:
    out, kept = tmp_path / "out" / "run.json", tmp_path / "kept"

    async def story() -> None:
        async with listening() as url:
            args = parsed(bench, str(clips), "--set", "test", "--url", url, "--json", str(out), "--save", str(kept))
            run = bench.Bench(args, Console(quiet=True))
            await run.play(collect(args.path, chosen_set=args.chosen_set))
            run.finish()

    asyncio.run(story())
    run = json.loads(out.read_text())
    assert (run["turns"], run["answered"], run["unmeasured"], run["cut_ins"]) == (3, 2, 0, 0)
    assert run["config"]["llm"] == "scripted"
    assert run["config"]["machine"]["cores"] >= 1
    assert run["per_turn"][2]["outcome"].startswith("failed: ")
    for turn, name in zip(run["per_turn"][:2], ("001-one", "002-two"), strict=True):
        tracks, rate_hz = soundfile.read(kept / f"{name}.wav", dtype="float32")
        first = first_audible(tracks[:, 1].copy(), rate_hz)
        assert first is not None
        assert turn["heard_gap_ms"] == pytest.approx((first / rate_hz - END_S) * 1000)
        assert turn["heard_gap_ms"] >= 0
        assert turn["speech_end_error_ms"] == 0
        events = json.loads((kept / f"{name}.json").read_text())["events"]
        assert [event["type"] for event in events] == ["turn"]


def test_one_conversation_holds_all_clips(clips: Path, tmp_path: Path) -> None:
    async def story() -> bench.Bench:
        async with listening() as url:
            args = parsed(bench, str(clips), "--url", url, "--conversation", "--limit", "2", "--patience", "0.2")
            run = bench.Bench(args, Console(quiet=True))
            await run.play(collect(args.path, limit=args.limit))
            return run

    first, second = asyncio.run(story()).records
    assert (first.turn, second.turn) == (1, 2)
    assert first.answered
    assert not second.answered, "this agent answers once a conversation"


def test_a_server_that_hangs_up_costs_its_own_turn_only(clips: Path) -> None:
    async def story() -> bench.Bench:
        async with listening() as url:
            args = parsed(bench, str(clips), "--url", f"{url}/rude", "--limit", "2")
            run = bench.Bench(args, Console(quiet=True))
            await run.play(collect(args.path, limit=args.limit))
            run.finish()
            return run

    records = asyncio.run(story()).records
    assert [record.outcome is not None and "no patience" in record.outcome for record in records] == [True, True]


def test_replay_stopped_in_the_middle_keeps_what_was_recorded(clips: Path, tmp_path: Path) -> None:
    async def story() -> replay.Replay:
        async with listening() as url:
            args = parsed(replay, str(clips / "one.wav"), "--url", url, "--save", str(tmp_path / "kept"))
            run = replay.Replay(args, Console(quiet=True))
            ready = run.prepare()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.8):
                    await run.play(ready)
            run.finish()
            return run

    asyncio.run(story())
    tracks, rate_hz = soundfile.read(tmp_path / "kept" / "01-one.wav")
    assert len(tracks) > 0.4 * rate_hz
    assert json.loads((tmp_path / "kept" / "run.json").read_text())["answered"] == 1


def test_ctrl_c_ends_a_bench_cleanly_and_the_run_is_written(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.json"

    async def story() -> int:
        spoken = asyncio.Event()

        async def silent(connection: ServerConnection) -> None:
            async for message in connection:
                if isinstance(message, bytes):
                    spoken.set()

        async with serve(silent, "127.0.0.1", 0, process_request=healthz) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            words = [sys.executable, "-m", "turngap.voice.cli", "bench", str(clips), "--url", f"ws://127.0.0.1:{port}"]
            process = await asyncio.create_subprocess_exec(
                *words, "--json", str(out), "--save", str(tmp_path / "kept"), stdout=asyncio.subprocess.PIPE
            )
            await spoken.wait()
            process.send_signal(signal.SIGINT)
            await process.communicate()
            assert process.returncode is not None
            return process.returncode

    assert asyncio.run(story()) == 130
    assert json.loads(out.read_text())["schema"] == "turngap.run/1"
    assert (tmp_path / "kept" / "001-one.wav").exists()


def test_replay_says_before_it_starts_what_it_cannot_measure(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "unlabelled.wav", np.zeros(RATE_HZ), RATE_HZ)
    with pytest.raises(ConfigurationError, match="no end of speech is known"):
        replay.Replay(parsed(replay, str(tmp_path / "unlabelled.wav")), Console(quiet=True)).prepare()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        replay.Replay(parsed(replay, str(tmp_path / "absent.wav")), Console(quiet=True)).prepare()


def test_nobody_at_the_address_is_said_plainly() -> None:
    async def story() -> None:
        assert await health("ws://127.0.0.1:9/v1/pcm") is None
        with pytest.raises(LineError, match="no conversation at"):
            async with dial("ws://127.0.0.1:9/v1/pcm"):
                pass

    asyncio.run(story())


def test_an_address_may_leave_the_path_out() -> None:
    assert complete("localhost:8700") == "ws://localhost:8700/v1/pcm"
    assert complete("ws://host:1/") == "ws://host:1/v1/pcm"
    assert complete("wss://host/other") == "wss://host/other"


def test_settings_are_meant_for_the_server_and_its_token_for_us() -> None:
    args = parsed(bench, "clips", "--llm", "scripted?reply=Hi.", "--budget", "400", "--token", "secret")
    assert options.manner(args) == {"token": "secret", "patience_s": 10.0}
    assert options.budget(args, []).total == 400 * MS


SERVER = """
    import http.server, sys
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200); self.end_headers(); self.wfile.write(b'{"status": "ok", "config": {"a": "b"}}')
        def log_message(self, *args): pass
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Answer).serve_forever()
"""


def test_our_own_server_is_waited_for_and_ended(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    waited: list[float] = []

    async def story() -> str:
        command = [sys.executable, str(script)]
        async with running([], clock=monotonic, waiting=waited.append, command=command) as (url, answer):
            assert answer["config"] == {"a": "b"}
        assert await health(url) is None, "it has gone"
        return url

    assert asyncio.run(story()).endswith("/v1/pcm")
    assert waited


def test_a_server_that_dies_is_quoted() -> None:
    async def story() -> None:
        command = [sys.executable, "-c", "import sys; sys.exit('no model here')"]
        with pytest.raises(ServerError, match=r"(?s)status 1 before it was ready.*no model here"):
            async with running([], clock=monotonic, waiting=lambda seconds: None, command=command):
                pass

    asyncio.run(story())


def test_a_server_that_will_not_go_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turngap.voice.client.own_server.GOODBYE_S", 0.05)
    script = tmp_path / "server.py"
    script.write_text("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + textwrap.dedent(SERVER))

    async def story() -> None:
        async with running([], clock=monotonic, waiting=lambda seconds: None, command=[sys.executable, str(script)]):
            pass

    asyncio.run(story())
