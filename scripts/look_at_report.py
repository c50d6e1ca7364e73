"""A report as a browser shows it: pictures, how long it took to open, and what it complained about.

    python scripts/look_at_report.py report.html pictures/        needs chromium or chromium-headless-shell

One JSON object is printed: for each of desktop light, desktop dark and phone (390 px), the ms from navigation to the
page being drawn, requests beside the file itself, console errors, and whether anything is wider than the screen.
"""

import argparse
import asyncio
import base64
import json
import shutil
import tempfile
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

VIEWS = {"desktop-light": (1280, 1500, "light"), "desktop-dark": (1280, 1500, "dark"), "phone": (390, 2300, "light")}
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
)  # fmt: skip
LOOKED = """new Promise(done => requestAnimationFrame(() => setTimeout(() => done({
    took_ms: performance.now(), wide: document.documentElement.scrollWidth > innerWidth,
    rows: document.querySelectorAll('.row').length}))))"""


class Browser:
    """A tab of a browser, told what to do over its debugging protocol."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = count(1)
        self.told: list[dict[str, Any]] = []

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(await self._connection.recv())
            if message.get("id") == number:
                return dict(message.get("result", message))
            self.told.append(message)

    def of(self, *methods: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self.told if message.get("method") in methods]


async def look(browser: Browser, url: str, view: str, folder: Path) -> dict[str, Any]:
    width, height, scheme = VIEWS[view]
    browser.told.clear()
    for domain in ("Page", "Network", "Runtime", "Log"):
        await browser.ask(f"{domain}.enable")
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    await browser.ask("Emulation.setDeviceMetricsOverride", **screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await browser.ask("Emulation.setEmulatedMedia", features=features)
    await browser.ask("Page.navigate", url=url)
    while not browser.of("Page.loadEventFired"):
        await browser.ask("Runtime.evaluate", expression="1")
    seen = await browser.ask("Runtime.evaluate", expression=LOOKED, awaitPromise=True, returnByValue=True)
    key = {"key": "ArrowDown", "code": "ArrowDown", "windowsVirtualKeyCode": 40}
    await browser.ask("Runtime.evaluate", expression="document.getElementById('list').focus()")
    await browser.ask("Input.dispatchKeyEvent", type="keyDown", **key)
    chosen = "document.querySelector('.row[aria-selected=true]').id"
    by_key = await browser.ask("Runtime.evaluate", expression=chosen, returnByValue=True)
    picture = await browser.ask("Page.captureScreenshot", format="png")
    (folder / f"{view}.png").write_bytes(base64.b64decode(picture["data"]))
    requests = [each["request"]["url"] for each in browser.of("Network.requestWillBeSent")]
    return {
        **seen["result"]["value"],
        "chosen_by_key": by_key["result"].get("value"),
        "requests": [each for each in requests if each != url],
        "errors": len(browser.of("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        parser.error("there is no chromium here")
    args.folder.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        process = await asyncio.create_subprocess_exec(
            program, *FLAGS, f"--user-data-dir={profile}", "about:blank", stderr=asyncio.subprocess.PIPE
        )
        stack.push_async_callback(process.wait)
        stack.callback(process.kill)
        assert process.stderr is not None
        while b"DevTools listening on " not in (line := await process.stderr.readline()):
            assert line, "the browser ended"
        address = line.decode().split("listening on ")[1].strip()
        whole = Browser(await stack.enter_async_context(connect(address, proxy=None, max_size=None)))
        tab = (await whole.ask("Target.createTarget", url="about:blank"))["targetId"]
        page = address.split("/devtools/")[0] + f"/devtools/page/{tab}"
        browser = Browser(await stack.enter_async_context(connect(page, proxy=None, max_size=None)))
        found = {view: await look(browser, args.report.resolve().as_uri(), view, args.folder) for view in VIEWS}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
