"""The same over HTTP/2: many streams on one connection, each of which its client may reset."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.errors
import h2.events

from turngap.llm.emulators.asked import Asked, Cut

if TYPE_CHECKING:
    from turngap.llm.emulators.server import Emulator


async def talk(
    emulator: "Emulator", number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, received: bytes
) -> None:
    """Serve one connection whose first bytes were read already."""
    await _Connection(emulator, number, writer).run(reader, received)


class _Connection:
    def __init__(self, emulator: "Emulator", number: int, writer: asyncio.StreamWriter) -> None:
        self._emulator = emulator
        self._number = number
        self._writer = writer
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self._heads: dict[int, dict[str, str]] = {}
        self._bodies: dict[int, bytes] = {}
        self._streams: dict[int, tuple[asyncio.Task[None], Asked]] = {}

    async def run(self, reader: asyncio.StreamReader, received: bytes) -> None:
        self._h2.initiate_connection()
        try:
            while received:
                for event in self._h2.receive_data(received):
                    self._take(event)
                self._flush()
                received = await reader.read(65_536)
        finally:
            for task, _ in self._streams.values():
                task.cancel()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self._heads[event.stream_id] = {str(name): str(value) for name, value in event.headers}
            self._bodies[event.stream_id] = b""
        elif isinstance(event, h2.events.DataReceived):
            self._bodies[event.stream_id] += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._answer(event.stream_id)
        elif isinstance(event, h2.events.StreamReset) and event.stream_id in self._streams:
            task, asked = self._streams.pop(event.stream_id)
            asked.given_up = True
            task.cancel()

    def _answer(self, stream: int) -> None:
        head = self._heads.pop(stream)
        asked = Asked(self._number, head[":method"], head[":path"], head, self._bodies.pop(stream), "HTTP/2")
        self._streams[stream] = asyncio.create_task(self._play(stream, asked)), asked

    async def _play(self, stream: int, asked: Asked) -> None:
        given = self._emulator.judge(asked)
        headers = [(":status", str(given.status)), ("content-type", given.kind), *given.headers]
        self._h2.send_headers(stream, headers)
        self._flush()
        try:
            async for _ in self._emulator.play(asked, self._sender(stream), given):
                await self._writer.drain()
            self._h2.end_stream(stream)
        except Cut:
            self._h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        self._flush()
        self._streams.pop(stream, None)

    def _sender(self, stream: int) -> Callable[[bytes], None]:
        def send(content: bytes) -> None:
            for at in range(0, len(content), 16_000):
                self._h2.send_data(stream, content[at : at + 16_000])
            self._flush()

        return send

    def _flush(self) -> None:
        self._writer.write(self._h2.data_to_send())
