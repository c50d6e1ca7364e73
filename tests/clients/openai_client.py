"""A conversation held by openai-python, in an environment of its own: ``openai_client.py URL PCM24``.

Prints every event that came, as JSON, one a line, and between them what the client did.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

PACKET = 960  # bytes of 20 ms at 24 kHz
TOOL = {
    "type": "function",
    "name": "get_time",
    "description": "The time in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


class Log:
    """Reads events, prints them, and waits for one."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.samples = 0

    async def until(self, wanted: str, *, samples: int | None = None) -> dict[str, Any]:
        """The next event of that type; or, with ``samples``, once so much audio has come."""
        async with asyncio.timeout(40):
            while True:
                event = json.loads((await self.connection.recv()).model_dump_json())
                if event["type"] == "response.output_audio.delta":
                    self.samples += len(base64.b64decode(event["delta"])) // 2
                print(json.dumps(event), flush=True)
                if event["type"] == wanted and (samples is None or self.samples >= samples):
                    return dict(event)


async def play(connection: Any, audio: bytes) -> None:
    """Send ``audio`` in real time, and a room's silence after it until it is cancelled."""
    loop = asyncio.get_running_loop()
    start, sent = loop.time(), 0
    while True:
        packet = audio[sent * PACKET : (sent + 1) * PACKET].ljust(PACKET, b"\0")
        await connection.input_audio_buffer.append(audio=base64.b64encode(packet).decode())
        sent += 1
        await asyncio.sleep(max(0.0, start + sent * 0.02 - loop.time()))


def did(what: str) -> None:
    print(json.dumps({"did": what}), flush=True)


async def two_turns(connection: Any, log: Log, audio: bytes) -> None:
    playing = asyncio.create_task(play(connection, audio))
    await log.until("response.output_audio.delta", samples=24_000)
    playing.cancel()
    did("speak over the reply")
    playing = asyncio.create_task(play(connection, audio))
    done = await log.until("response.done")
    item = done["response"]["output"][0]["id"]
    await connection.conversation.item.truncate(item_id=item, content_index=0, audio_end_ms=600)
    await log.until("conversation.item.truncated")
    await connection.conversation.item.retrieve(item_id=item)
    await log.until("conversation.item.retrieved")
    did("listen to the second reply")
    log.samples = 0
    await log.until("response.done")
    print(json.dumps({"did": "count", "samples": log.samples}), flush=True)
    playing.cancel()


async def tools(connection: Any, log: Log) -> None:
    did("call")
    content = [{"type": "input_text", "text": "What time is it in Oslo?"}]
    await connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
    await connection.response.create(response={"metadata": {"mine": "1"}})
    done = await log.until("response.done")
    call = done["response"]["output"][0]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
    await connection.conversation.item.create(item=output)
    await connection.response.create()
    await log.until("response.done")
    did("err")
    await connection.response.cancel()
    await log.until("error")
    await connection.response.create(response={"conversation": "none", "output_modalities": ["text"]})
    await log.until("response.done")


async def main(url: str, audio: bytes) -> None:
    client = AsyncOpenAI(api_key="secret", websocket_base_url=url.removesuffix("/realtime"), base_url="http://unused")
    async with client.realtime.connect(model="turngap") as connection:
        log = Log(connection)
        await log.until("session.created")
        detection = {"type": "server_vad", "silence_duration_ms": 300}
        heard = {"turn_detection": detection, "transcription": {"model": "any"}}
        session: Any = {"type": "realtime", "tools": [TOOL], "audio": {"input": heard}}
        await connection.session.update(session=session)
        await log.until("session.updated")
        await two_turns(connection, log, audio)
        await tools(connection, log)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_bytes()))
