"""A headless Chromium for tests, driven over its DevTools protocol, and nothing more than these tests need of it."""

import asyncio
import base64
import itertools
import json
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S: Final = 30.0
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
    "--remote-debugging-port=0",
)


def chromium() -> str | None:
    """Where a Chromium is, if there is one."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


class Tab:
    """One page of the browser. ``problems`` are what it wrote to its console as warnings and errors, or threw."""

    def __init__(self, connection: ClientConnection, session: str) -> None:
        self._connection = connection
        self._session = session
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.problems: list[str] = []
        self.requests: list[str] = []

    async def listen(self) -> None:
        """Take in what the browser says; to be run beside all else."""
        async for message in self._connection:
            said = json.loads(message)
            if (answer := self._answers.pop(said.get("id", 0), None)) is not None and not answer.done():
                answer.set_result(said)
            elif (problem := _problem(said)) is not None:
                self.problems.append(problem)
            elif said.get("method") == "Network.requestWillBeSent":
                self.requests.append(said["params"]["request"]["url"])
            elif said.get("method") == "Network.webSocketCreated":
                self.requests.append(said["params"]["url"])

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        command = {"id": number, "sessionId": self._session, "method": method, "params": params}
        await self._connection.send(json.dumps(command))
        async with asyncio.timeout(PATIENCE_S):
            said = await answer
        assert "error" not in said, f"{method}: {said.get('error')}"
        return dict(said["result"])

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, awaited if it is a promise."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def until(self, condition: str, *, at_most_s: float = PATIENCE_S) -> Any:
        """Wait until the expression is true; what it then is."""
        for _ in range(round(at_most_s * 20)):
            if found := await self.evaluate(condition):
                return found
            await asyncio.sleep(0.05)
        text = await self.evaluate("document.body.innerText")
        raise AssertionError(f"never came true: {condition}\n{text}\nproblems: {self.problems}")

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        await self.until("document.body?.dataset.ready === 'true'")

    async def click(self, selector: str) -> None:
        """Press the element as a pointer does, where it is on the screen."""
        place = await self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    async def key(self, kind: str, key: str, code: str) -> None:
        """``keyDown`` or ``keyUp`` of a key."""
        text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
        number = {"Space": 32, "Tab": 9, "Enter": 13}.get(code, 0)
        await self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number, **text)

    async def resize(self, width: int, height: int, *, dark: bool, phone: bool = False) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def screenshot(self) -> bytes:
        """The whole page as a PNG, as tall as it is."""
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])


def _problem(said: dict[str, Any]) -> str | None:
    match said:
        case {"method": "Runtime.consoleAPICalled", "params": {"type": "error" | "warning" as kind, "args": args}}:
            return f"{kind}: {[each.get('value', each.get('description')) for each in args]}"
        case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
            return f"thrown: {details.get('exception', {}).get('description', details['text'])}"
        case {"method": "Log.entryAdded", "params": {"entry": {"level": "error" | "warning", "text": text} as entry}}:
            return f"log: {text} {entry.get('url', '')}"
    return None


@asynccontextmanager
async def browsing(*, microphone: Path | None = None, refuse: bool = False) -> AsyncIterator[Tab]:
    """A tab of a browser of its own; ``microphone`` is a WAV that is spoken once, ``refuse`` lets the user say no."""
    command = chromium()
    assert command is not None
    flags = [*FLAGS]
    if not refuse:
        flags += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    else:
        flags += ["--use-fake-device-for-media-stream", "--deny-permission-prompts"]
    if microphone is not None:
        flags.append(f"--use-file-for-fake-audio-capture={microphone}%noloop")
    with tempfile.TemporaryDirectory(prefix="turngap-browser-", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            command, *flags, f"--user-data-dir={profile}", "about:blank",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            async with (
                connect(await _address(process), max_size=None, proxy=None) as connection,
                _tab(connection) as tab,
            ):
                yield tab
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await process.communicate()
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    said = b""
    async with asyncio.timeout(PATIENCE_S):
        while line := await process.stderr.readline():
            said += line
            if line.startswith(b"DevTools listening on "):
                return line.decode().split()[-1]
    raise AssertionError(f"the browser did not start:\n{said.decode(errors='replace')}")


@asynccontextmanager
async def _tab(connection: ClientConnection) -> AsyncIterator[Tab]:
    await connection.send(json.dumps({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}))
    target = await _result(connection, 1)
    attach = {"targetId": target["targetId"], "flatten": True}
    await connection.send(json.dumps({"id": 2, "method": "Target.attachToTarget", "params": attach}))
    tab = Tab(connection, (await _result(connection, 2))["sessionId"])
    listening = asyncio.create_task(tab.listen())
    try:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.call(f"{domain}.enable")
        yield tab
    finally:
        listening.cancel()


async def _result(connection: ClientConnection, number: int) -> dict[str, Any]:
    while True:
        said = json.loads(await connection.recv())
        if said.get("id") == number:
            return dict(said["result"])
