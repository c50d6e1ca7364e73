"""What is served of the page: its files and recordings, and nothing else, under a policy that lets nothing in."""

import json
import re
import struct
import wave
from io import BytesIO
from pathlib import Path

import pytest
from websockets.http11 import Response

from turngap.budget.errors import ModelError
from turngap.voice.web.pages import SPOKEN, Pages, wav

WEB = Path(__file__).parent.parent.parent / "voice" / "web"


def not_pulled(name: str) -> Path:
    raise ModelError(f"{name} has not been pulled", remedy="Pull it")


def answer(path: str, host: str = "127.0.0.1:8700") -> Response:
    found = Pages(find_model=not_pulled).answer(path, host)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/main.mjs", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ],
)
def test_each_file_goes_out_as_what_it_is(path: str, kind: str) -> None:
    found = answer(path)
    assert found.headers["Content-Type"] == kind
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert int(found.headers["Content-Length"]) == len(found.body or b"")


@pytest.mark.parametrize(
    "path",
    [
        "/pages.py",
        "/__init__.py",
        "/../server.py",
        "/recordings/../turngap-model.json",
        "/recordings/secret.wav",
        "/x",
        "",
    ],
)
def test_nothing_else_is_served(path: str) -> None:
    assert Pages(find_model=lambda name: WEB).answer(path, "here") is None


def test_no_script_style_or_connection_of_others_is_allowed() -> None:
    policy = dict(part.strip().split(" ", 1) for part in answer("/").headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["connect-src"] == "'self' ws://127.0.0.1:8700 wss://127.0.0.1:8700"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"


@pytest.mark.parametrize("host", ["", "evil; script-src *", "a b", "x\r\nSet-Cookie: y", "*"])
def test_a_host_that_is_none_does_not_reach_the_policy(host: str) -> None:
    assert "connect-src 'self';" in answer("/", host).headers["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["localhost:1", "[::1]:8700", "voice.example"])
def test_the_socket_of_the_own_host_is_allowed_by_name(host: str) -> None:
    assert f" ws://{host} " in answer("/", host).headers["Content-Security-Policy"]


def test_nothing_in_the_files_is_loaded_from_elsewhere() -> None:
    allowed = {"http://www.w3.org/2000/svg"}
    for file in WEB.iterdir():
        if file.suffix in {".html", ".mjs", ".css", ".svg"}:
            assert set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[\w./]*", file.read_text("utf-8"))) <= allowed, file


def test_every_file_that_another_names_is_there() -> None:
    for file in WEB.glob("*.mjs"):
        for named in re.findall(r'"(?:\./)?([a-z_]+\.mjs)"', file.read_text("utf-8")):
            answer(f"/{named}")


def test_without_recordings_the_list_is_empty() -> None:
    assert json.loads(answer("/recordings").body or b"") == []


def test_recordings_that_are_there_are_told_of_and_can_be_played(tmp_path: Path) -> None:
    (tmp_path / "goforward.raw").write_bytes(struct.pack("<4h", 1, -2, 3, -4))
    pages = Pages(find_model=lambda name: tmp_path)
    listed = pages.answer("/recordings", "here")
    assert listed is not None
    assert json.loads(listed.body or b"") == [{"name": "goforward.raw", "says": SPOKEN["goforward.raw"]}]
    sent = pages.answer("/recordings/goforward.raw", "here")
    assert sent is not None
    with wave.open(BytesIO(bytes(sent.body or b""))) as heard:
        assert (heard.getframerate(), heard.getnchannels(), heard.getsampwidth()) == (16_000, 1, 2)
        assert heard.readframes(4) == struct.pack("<4h", 1, -2, 3, -4)


def test_a_header_tells_the_length_of_what_follows() -> None:
    with wave.open(BytesIO(wav(b"", 8_000))) as heard:
        assert heard.getnframes() == 0
