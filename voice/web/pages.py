"""The browser page at ``/``: its files, and the recordings that it can play in, as answers to plain GET requests.

The files lie beside this module and are read once. They load nothing from elsewhere, and the policy that goes out
with them forbids it: whatever a recording, a model or a backend may say, no script of its own can run here.
"""

import json
import re
import struct
from collections.abc import Callable, Mapping
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Final

from websockets.datastructures import Headers
from websockets.http11 import Response

from turngap.budget.errors import ModelError

KINDS: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'{sockets}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")

RECORDINGS: Final = "/recordings"
SPOKEN: Final[Mapping[str, str]] = {
    "goforward.raw": "Go forward ten meters.",
    "cards-005.wav": "Eight of spades, four of clubs, seven of hearts.",
    "librivox-sense_and_sensibility_01_austen_64kb-0880.wav": "He was not an ill-disposed young man.",
    "librivox-sense_and_sensibility_01_austen_64kb-0930.wav": "He might even have been made amiable himself.",
    "beckett.wav": "Ever tried. Ever failed. No matter. (10 s)",
}
"""Of the recordings that the package index has for us, those that make a turn of a few seconds."""
RAW_HZ: Final = 16_000


class Pages:
    """Answers for the page, its files and the recordings. ``find_model`` tells where the recordings lie."""

    def __init__(self, *, find_model: Callable[[str], Path]) -> None:
        self._find_model = find_model
        self._files = {
            f"/{file.name}": (KINDS[suffix], file.read_bytes())
            for file in files(__package__).iterdir()
            if (suffix := Path(file.name).suffix) in KINDS
        }

    def answer(self, path: str, host: str) -> Response | None:
        """What to send for ``path``, asked of us as ``host``; None if it is none of the page's."""
        if path == RECORDINGS:
            return self._recordings()
        if path.startswith(f"{RECORDINGS}/"):
            return self._recording(path.removeprefix(f"{RECORDINGS}/"))
        kind, body = self._files.get("/index.html" if path == "/" else path, ("", b""))
        return _response(kind, body, host) if kind else None

    def _recordings(self) -> Response:
        listed = [{"name": name, "says": says} for name, says in SPOKEN.items() if self._find_recording(name)]
        return _response("application/json", json.dumps(listed).encode())

    def _recording(self, name: str) -> Response | None:
        file = self._find_recording(name)
        if file is None:
            return None
        body = file.read_bytes()
        return _response("audio/wav", wav(body, RAW_HZ) if file.suffix == ".raw" else body)

    def _find_recording(self, name: str) -> Path | None:
        """Only names that we know become paths."""
        if name not in SPOKEN:
            return None
        try:
            file = self._find_model("recordings") / name
        except ModelError:
            return None
        return file if file.is_file() else None


def wav(pcm16: bytes, rate_hz: int) -> bytes:
    """Mono PCM16 with the header that a browser needs to decode it."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate_hz, 2 * rate_hz, 2, 16)
    chunk = struct.pack("<4sI", b"data", len(pcm16)) + pcm16
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(chunk), b"WAVE") + form + chunk


def _response(kind: str, body: bytes, host: str = "") -> Response:
    # Not every browser takes 'self' to mean the websocket of the same host as well.
    sockets = f" ws://{host} wss://{host}" if HOST.fullmatch(host) else ""
    headers = Headers(
        {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY.format(sockets=sockets),
            "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",  # the address may hold the token
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-cache",
            "Connection": "close",
        }
    )
    return Response(HTTPStatus.OK.value, HTTPStatus.OK.phrase, headers, body)
