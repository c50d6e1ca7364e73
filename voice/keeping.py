"""What a conversation leaves behind: the door between a session and whoever keeps its turns."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from turngap.budget.report.reported import reported
from turngap.budget.store.changes import Audio
from turngap.budget.store.recorder import Recorder, no_audio


class Keeping(Protocol):
    """Keeps the turns of one conversation. Neither call waits for anything."""

    def began(self, turn: int) -> None: ...

    def ended(self, report: Mapping[str, Any]) -> "asyncio.Future[bool] | None":
        """The whole report of a turn, which nobody changes any more. The future, if there is one, is done when the
        turn is kept as well as it ever will be."""
        ...


class Forgetting:
    """Keeps nothing."""

    def began(self, turn: int) -> None: ...

    def ended(self, report: Mapping[str, Any]) -> None:
        return None


class Kept:
    """Keeps the turns of the conversation of this number."""

    def __init__(
        self, recorder: Recorder, conversation: int, *, heard: Callable[[], Callable[[], Audio | None]] | None = None
    ) -> None:
        self._recorder = recorder
        self._conversation = conversation
        self._heard = heard

    def began(self, turn: int) -> None:
        self._recorder.turn_began(self._conversation, turn)

    def ended(self, report: Mapping[str, Any]) -> "asyncio.Future[bool]":
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[bool] = loop.create_future()
        name = f"conversation {self._conversation}, turn {report['turn']}"
        self._recorder.turn_ended(
            self._conversation,
            report["turn"],
            partial(reported, report, name=name),
            audio=no_audio if self._heard is None else self._heard(),
            done=partial(_tell, loop, kept),
        )
        return kept


def _tell(loop: asyncio.AbstractEventLoop, kept: "asyncio.Future[bool]", well: bool) -> None:
    """From the writer's thread; the loop may have been closed by then."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, kept, well)


def _settle(kept: "asyncio.Future[bool]", well: bool) -> None:
    if not kept.done():
        kept.set_result(well)
