"""The Realtime and telephone doors on real sockets: a call, rubbish, limits, and going down in order."""

import asyncio
import base64
import json
import random
from typing import Any

import numpy as np
import pytest
from serving import FAKES, ROOM, VOICE, listen_to_the_end, no_model, serve
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from turngap.budget.clock import monotonic
from turngap.voice.audio.g711 import to_ulaw
from turngap.voice.engine import Engine
from turngap.voice.server import Server
from turngap.voice.settings import Settings

pytestmark = pytest.mark.socket

ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
SHAPES: list[dict[str, Any]] = [
    {"type": "session.update", "session": {"type": "realtime", "output_modalities": ["text"]}},
    {"type": "session.update", "session": {"type": "realtime", "audio": {"input": {"turn_detection": None}}}},
    {"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(4800)).decode()},
    {"type": "input_audio_buffer.commit"},
    {"type": "input_audio_buffer.clear"},
    {"type": "conversation.item.create", "item": ITEM},
    {"type": "conversation.item.delete", "item_id": "a"},
    {"type": "conversation.item.retrieve", "item_id": "a"},
    {"type": "conversation.item.truncate", "item_id": "a", "content_index": 0, "audio_end_ms": 5},
    {"type": "response.create"},
    {"type": "response.create", "response": {"conversation": "none", "output_modalities": ["text"]}},
    {"type": "response.cancel"},
]
JUNK: list[Any] = [None, True, -1, 10**30, 0.5, "", "x" * 5000, [], {}, {"type": "realtime"}, [[[]]]]


def mutated(chance: random.Random) -> str:
    """A message of the right shape, with some value in it replaced, its text cut, or none of it."""
    message = json.loads(json.dumps(chance.choice(SHAPES)))
    part = message
    while chance.random() < 0.5 and (inner := [value for value in part.values() if isinstance(value, dict) and value]):
        part = chance.choice(inner)
    if chance.random() < 0.6:
        part[chance.choice(sorted(part))] = chance.choice(JUNK)
    text = json.dumps(message)
    return text[: chance.randrange(len(text))] if chance.random() < 0.1 else text


async def rubbish(url: str, count: int, seed: int) -> int:
    """Send so many messages; how many errors came back. Every one must have a code, and the session must live on."""
    chance, errors = random.Random(seed), 0
    async with connect(url, proxy=None) as client:
        for _ in range(count):
            await client.send(mutated(chance))
        await client.send(json.dumps({"type": "conversation.item.create", "item": {**ITEM, "id": "the end"}}))
        while True:
            event = json.loads(await client.recv())
            if event["type"] == "error":
                errors += 1
                assert event["error"]["code"]
                assert event["error"]["code"] != "dispatch_failed", "that is a bug of ours"
            if event["type"] == "conversation.item.done" and event["item"]["id"] == "the end":
                return errors


def realtime(url: str) -> str:
    return url.replace("/v1/pcm", "/v1/realtime")


def test_a_thousand_messages_of_rubbish_leave_the_session_alive() -> None:
    async def test(url: str) -> None:
        assert await rubbish(realtime(url), 1000, seed=1) > 100

    serve(test)


@pytest.mark.soak
@pytest.mark.parametrize("lot", range(100))
def test_a_hundred_thousand_messages_of_rubbish_leave_the_session_alive(lot: int) -> None:
    async def test(url: str) -> None:
        assert await rubbish(realtime(url), 1000, seed=100 + lot) > 100

    serve(test)


def test_who_sends_more_than_allowed_is_sent_away() -> None:
    async def test(url: str) -> None:
        async with connect(realtime(url), proxy=None) as client:
            try:
                for _ in range(2100):
                    await client.send("{}")
            except ConnectionClosed:
                pass
            assert await listen_to_the_end(client) == 1008

    serve(test, max_rate=1.0)


def test_who_says_nothing_for_too_long_is_sent_away() -> None:
    async def test(url: str) -> None:
        async with connect(realtime(url), proxy=None) as client:
            assert await listen_to_the_end(client) == 1001

    serve(test, idle=0.5)


def test_a_conversation_ends_when_it_has_lasted_as_long_as_one_may() -> None:
    async def test(url: str) -> None:
        async with connect(realtime(url), proxy=None) as client:
            assert await listen_to_the_end(client) == 1001

    serve(test, longest=0.5)


async def call(client: ClientConnection) -> None:
    """Say something on the telephone, in real time, and then nothing."""
    start = {"streamSid": "MZ1", "start": {"mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000}}}
    await client.send(json.dumps({"event": "connected", "protocol": "Call"}))
    await client.send(json.dumps({"event": "start", **start}))
    audio = to_ulaw(np.concatenate([VOICE, *[ROOM] * 6])[::2].copy())
    for at in range(0, len(audio), 160):
        payload = base64.b64encode(audio[at : at + 160]).decode()
        await client.send(json.dumps({"event": "media", "media": {"track": "inbound", "payload": payload}}))
        await asyncio.sleep(0.02)


def test_a_call_is_answered_and_marked_and_keys_are_heard() -> None:
    async def test(url: str) -> None:
        async with connect(url.replace("/v1/pcm", "/v1/twilio"), proxy=None) as client:
            calling = asyncio.create_task(call(client))
            marks: list[tuple[str, int]] = []
            played = 0
            while len(marks) < 2:
                message = json.loads(await client.recv())
                assert message["streamSid"] == "MZ1"
                if message["event"] == "media":
                    played += len(base64.b64decode(message["media"]["payload"]))
                if message["event"] == "mark":
                    marks.append((message["mark"]["name"], played))
                    played = 0
                    await client.send('{"event": "dtmf", "dtmf": {"digit": "5"}}')
            calling.cancel()
            assert [name for name, _ in marks] == ["turn 1", "turn 2"]
            assert marks[0][1] == marks[1][1] == 12 * 480, "twelve words of 60 ms at 8 kHz"

    serve(test)


def test_going_down_lets_the_turn_end_and_refuses_new_ones() -> None:
    async def run() -> None:
        settings = Settings(**FAKES)
        engine = Engine(settings, find_model=no_model, clock=monotonic)
        server = Server(settings, engine, monotonic)
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(server.run(ready.set_result))
        url = realtime(await ready)
        async with asyncio.timeout(20), connect(url, proxy=None) as client:
            await client.send(json.dumps({"type": "conversation.item.create", "item": ITEM}))
            await client.send(json.dumps({"type": "response.create"}))
            while json.loads(await client.recv())["type"] != "response.output_audio.delta":
                pass
            server.drain()
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, proxy=None)
            assert refused.value.response.status_code == 503
            while (event := json.loads(await client.recv()))["type"] != "response.done":
                pass
            assert event["response"]["status"] == "completed"
            assert await listen_to_the_end(client) == 1001
        await running
        await engine.aclose()

    asyncio.run(run())
