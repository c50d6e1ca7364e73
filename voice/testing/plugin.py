"""A pytest plugin: the ``turngap`` fixture plays recordings to an agent.

::

    def test_an_order_is_answered_in_time(turngap):
        turngap.play("order.wav").expect_answer(within_ms=500)

The agent is at ``--turngap-url`` (or ``turngap_url`` in pytest's configuration, or ``url=`` of the call): a server of
turngap, or whatever speaks one of its protocols. Recordings are looked for beside the test.
"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # a plugin is imported in every run of pytest, whether it is used or not
    from turngap.voice.testing.played import Played

URL = "ws://127.0.0.1:8700"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("turngap")
    group.addoption("--turngap-url", help="the agent to speak to, as ws://HOST:PORT")
    group.addoption("--turngap-token", help="what it asks for")
    parser.addini("turngap_url", f"the agent to speak to (default: {URL})", default=URL)
    parser.addini("turngap_token", "what it asks for", default="")


class Caller:
    """Plays recordings in real time, each in a conversation of its own."""

    def __init__(self, *, url: str, token: str | None, folder: Path) -> None:
        self._url = url
        self._token = token
        self._folder = folder

    def play(
        self,
        recording: str | Path,
        *,
        url: str | None = None,
        speech_end_s: float | None = None,
        patience_s: float = 10.0,
    ) -> "Played":
        """Play ``recording`` and listen to the answer; for tests that are no coroutines.

        ``speech_end_s`` is the true end of the user's speech in it; without it a manifest.jsonl beside the recording
        tells, or the voice detector, if it is installed.
        """
        return asyncio.run(self.playing(recording, url=url, speech_end_s=speech_end_s, patience_s=patience_s))

    def playing(
        self,
        recording: str | Path,
        *,
        url: str | None = None,
        speech_end_s: float | None = None,
        patience_s: float = 10.0,
    ) -> "Coroutine[Any, Any, Played]":
        """The same for a test that is a coroutine: ``await turngap.playing(...)``."""
        from turngap.voice.testing.caller import converse

        return converse(
            self._folder / recording,
            url=url or self._url,
            token=self._token,
            speech_end_s=speech_end_s,
            patience_s=patience_s,
        )


@pytest.fixture
def turngap(request: pytest.FixtureRequest) -> Caller:
    """Plays recordings to an agent."""
    config = request.config
    return Caller(
        url=config.getoption("--turngap-url") or config.getini("turngap_url"),
        token=config.getoption("--turngap-token") or config.getini("turngap_token") or None,
        folder=request.path.parent,
    )
