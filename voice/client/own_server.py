"""A server of one's own for the length of a run: started, waited for, and always ended."""

import asyncio
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import IO, Any, Final

from turngap.budget.clock import SECOND, Clock
from turngap.budget.errors import TurngapError
from turngap.voice.client.line import PATH, health

READY_S: Final = 180.0
"""Loading every model takes 5 to 10 s on two cores; a first start that reads them from a cold disk, much longer."""
POLL_S: Final = 0.1
GOODBYE_S: Final = 10.0
LAST_WORDS: Final = 20


class ServerError(TurngapError):
    """The server that was started for the run did not come up."""


@asynccontextmanager
async def running(
    options: Sequence[str], *, clock: Clock, waiting: Callable[[float], None], command: Sequence[str] | None = None
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Start ``turngap serve`` with these options on a free port of loopback; yields its address and health answer.

    ``waiting`` is told the seconds waited so far. Raises ServerError with the server's last words if it dies first.
    """
    port = free_port()
    serve = command or [sys.executable, "-m", "turngap.voice.cli", "serve"]
    with tempfile.TemporaryFile() as said:
        # A session of its own: a Ctrl-C in the terminal is ours to answer, or the turn could not be saved.
        process = await asyncio.create_subprocess_exec(
            *serve, *options, "--host", "127.0.0.1", "--port", str(port),  # ours last: the last one counts
            stdin=asyncio.subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
        try:
            url = f"ws://127.0.0.1:{port}{PATH}"
            yield url, await _ready(process, url, said, clock=clock, waiting=waiting)
        finally:
            await end(process)


def free_port() -> int:
    """A port that nobody listens on now. Another process may still take it first; then the server says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def end(process: asyncio.subprocess.Process) -> None:
    """Ask the server to finish, and if it does not, end it."""
    if process.returncode is not None:
        return
    try:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(GOODBYE_S):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _ready(
    process: asyncio.subprocess.Process, url: str, said: IO[bytes], *, clock: Clock, waiting: Callable[[float], None]
) -> dict[str, Any]:
    begun = clock()
    while (waited_s := (clock() - begun) / SECOND) < READY_S:
        waiting(waited_s)
        if process.returncode is not None:
            raise ServerError(f"the server ended with status {process.returncode} before it was ready:\n{_words(said)}")
        if (answer := await health(url)) is not None:
            return answer
        await asyncio.sleep(POLL_S)
    raise ServerError(f"the server was not ready after {READY_S:.0f} s:\n{_words(said)}")


def _words(said: IO[bytes]) -> str:
    said.seek(0)
    return "\n".join(said.read().decode(errors="replace").splitlines()[-LAST_WORDS:])
