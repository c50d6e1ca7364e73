"""The server on real sockets, with the shipped fakes: who may come in, and what bad clients get."""

import asyncio
import json
import signal
import sys
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pytest
from serving import FAKES, ROOM, VOICE, listen_to_the_end, no_model, pcm, serve, serving
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError
from turngap.voice.engine import Engine
from turngap.voice.server import Server
from turngap.voice.settings import Settings

pytestmark = pytest.mark.socket


async def speak(client: ClientConnection, *stretches: Any) -> None:
    """Send audio in real time, 20 ms at once."""
    audio = np.concatenate(stretches)
    start = monotonic()
    for index, at in enumerate(range(0, len(audio), 320)):
        due = start + (index + 1) * 20_000_000
        await asyncio.sleep(max(0, due - monotonic()) / 1e9)
        await client.send(pcm(audio[at : at + 320]))


async def until(client: ClientConnection, kind: str) -> dict[str, Any]:
    """The next JSON message of this type."""
    while True:
        message = await client.recv()
        if isinstance(message, str) and (fields := json.loads(message))["type"] == kind:
            return dict(fields)


async def a_turn_works(client: ClientConnection) -> None:
    speaking = asyncio.create_task(speak(client, VOICE[:8000], ROOM, ROOM))
    while not isinstance(await client.recv(), bytes):
        pass
    speaking.cancel()


def test_a_turn_is_answered_and_its_ledger_comes_to_those_who_asked() -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as client:
            await client.send(json.dumps({"type": "start", "sample_rate": 16_000, "events": ["turn", "hypothesis"]}))
            speaking = asyncio.create_task(speak(client, ROOM, VOICE, *[ROOM] * 4))
            assert (await until(client, "hypothesis"))["turn"] == 1
            turn = await until(client, "turn")
            assert turn["outcome"] == "answered"
            assert turn["text"] == "two coffees please"
            assert turn["speech_end_s"] == pytest.approx(2.0, abs=0.02)
            assert turn["reported_gap_ms"] == pytest.approx(
                sum(charge for charge in turn["charges_ms"].values() if charge is not None)
            )
            speaking.cancel()

    serve(test)


def test_without_a_start_message_audio_and_transcripts_come_and_nothing_else() -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as client:
            speaking = asyncio.create_task(speak(client, ROOM[:8000], VOICE[:8000], *[ROOM] * 3))
            kinds = set()
            while True:
                message = await client.recv()
                fields = {} if isinstance(message, bytes) else json.loads(message)
                kinds.add(fields.get("type", "audio"))
                if fields.get("role") == "agent":
                    break
            speaking.cancel()
            assert kinds == {"audio", "transcript"}

    serve(test)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("hello", "not_json"),
        (b"\0" * 333, "odd_bytes"),
        ('{"type": "start", "sample_rate": 999999}', "bad_sample_rate"),
        ('{"type": "weather"}', "unknown_type"),
    ],
)
def test_a_bad_message_is_answered_and_the_next_turn_works(message: str | bytes, code: str) -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as client:
            await client.send(message)
            error = await until(client, "error")
            assert error["code"] == code
            assert error["remedy"]
            await a_turn_works(client)

    serve(test)


def test_a_second_start_is_refused_and_the_conversation_goes_on() -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as client:
            await client.send('{"type": "start", "sample_rate": 16000}')
            await client.send('{"type": "start", "sample_rate": 8000}')
            assert (await until(client, "error"))["code"] == "late_start"
            await a_turn_works(client)

    serve(test)


def test_a_client_that_only_sends_rubbish_is_sent_away() -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as client:
            for _ in range(20):
                await client.send("rubbish")
            assert await listen_to_the_end(client) == 1008

    serve(test)


def test_a_message_of_ten_megabytes_closes_that_connection_only() -> None:
    async def test(url: str) -> None:
        large = await connect(url, proxy=None)
        async with connect(url, proxy=None) as other:
            await large.send(bytes(10_000_000))
            assert await listen_to_the_end(large) == 1009
            await a_turn_works(other)

    serve(test)


@pytest.mark.parametrize("stretches", [[VOICE[:9000]], [ROOM[:3200], VOICE[:8000], ROOM[:9600]]])
def test_a_client_that_vanishes_frees_its_place(stretches: list[Any]) -> None:
    async def test(url: str) -> None:
        client = await connect(url, proxy=None)
        await speak(client, *stretches)
        client.transport.abort()
        for _ in range(1000):
            if not (await asyncio.to_thread(health, url))["sessions"]:
                return
        pytest.fail("the conversation is still there")

    serve(test)


def test_every_conversation_is_its_own() -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as one, connect(url, proxy=None) as two:
            await asyncio.gather(a_turn_works(one), a_turn_works(two))

    serve(test)


def test_more_conversations_than_allowed_are_told_so() -> None:
    async def test(url: str) -> None:
        async with connect(url, proxy=None) as one, connect(url, proxy=None) as two:
            assert await listen_to_the_end(two) == 1013
            await a_turn_works(one)

    serve(test, max_sessions=1)


def test_who_never_says_a_word_gives_the_seat_back() -> None:
    async def test(url: str) -> None:
        async with connect(url) as mute:
            assert await listen_to_the_end(mute) == 1001
        async with connect(url) as other:
            await a_turn_works(other)

    serve(test, max_sessions=1, idle=1.0)


def health(url: str, path: str = "/healthz") -> Any:
    address = url.replace("ws://", "http://").replace("/v1/pcm", path)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=5) as answer:
        return json.load(answer)


def test_health_tells_what_is_running() -> None:
    async def test(url: str) -> None:
        answer = await asyncio.to_thread(health, url)
        assert answer["status"] == "ok"
        assert answer["config"]["llm"]["spec"] == FAKES["llm"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            await asyncio.to_thread(health, url, "/nowhere")
        assert refused.value.code == 404
        refused.value.close()

    serve(test)


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [("http://evil.example", False), ("https://app.example", True), (None, True)],
)
def test_pages_of_others_may_not_connect(origin: Any, welcome: bool) -> None:
    async def test(url: str) -> None:
        if welcome:
            async with connect(url, origin=origin, proxy=None):
                return
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, origin=origin, proxy=None)
        assert refused.value.response.status_code == 403

    serve(test, origins="https://app.example")


@pytest.mark.parametrize("shown", [{}, {"Authorization": "Bearer wrong"}])
def test_a_token_is_asked_for(shown: dict[str, str]) -> None:
    async def test(url: str) -> None:
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, additional_headers=shown, proxy=None)
        assert refused.value.response.status_code == 401
        async with connect(url, additional_headers={"Authorization": "Bearer secret"}, proxy=None):
            pass
        async with connect(url + "?token=secret", proxy=None):
            pass

    serve(test, token="secret")


def test_beyond_loopback_a_token_is_needed() -> None:
    settings = Settings(**{**FAKES, "host": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="without a token"):
        Server(settings, Engine(settings, find_model=no_model, clock=monotonic), monotonic)


def test_a_port_that_is_taken_is_named() -> None:
    async def test(url: str) -> None:
        port = int(url.rsplit(":", 1)[1].split("/")[0])
        with pytest.raises(BaseExceptionGroup) as failed:
            async with serving(port=port):
                pass
        assert failed.group_contains(ConfigurationError, match="another --port")

    serve(test)


def test_ctrl_c_in_the_middle_of_a_turn_ends_cleanly() -> None:
    options = [f"--{name}={value}" for name, value in FAKES.items()]

    async def run() -> None:
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "turngap.voice.cli", "serve", *options, stderr=asyncio.subprocess.PIPE
        )
        assert server.stderr is not None
        try:
            said = b""
            while b"listening on " not in said:
                said = await server.stderr.readline()
            url = said.decode().split()[-1]
            async with connect(url, proxy=None) as client:
                await speak(client, VOICE[:8000])
                server.send_signal(signal.SIGINT)
                assert await listen_to_the_end(client) == 1001
            rest = await server.stderr.read()
            assert await server.wait() == 0
            assert b"stopped" in rest
            assert b"Traceback" not in rest
        finally:
            if server.returncode is None:
                server.kill()
                await server.wait()

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await run()

    asyncio.run(bounded())
