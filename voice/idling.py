"""Between the turns: what the user may say next is foreseen, answered and spoken unheard. A shell."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial

from turngap.budget.errors import StageError
from turngap.llm.clause import spoken
from turngap.llm.foresight import Foresight
from turngap.llm.protocol import Message
from turngap.llm.speculation.replies import Replies
from turngap.llm.speculation.stored import StoredReply
from turngap.voice.manner import Known


class Idling:
    """The idle time of one conversation. ``learn`` makes the audio of a clause."""

    def __init__(
        self,
        foresight: Foresight,
        replies: Replies,
        *,
        learn: Callable[[str], Awaitable[None]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.foreseen = 0
        self._foresight = foresight
        self._replies = replies
        self._learn = learn
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None

    def begin(self, messages: Sequence[Message], said: str) -> None:
        """Foresee what follows on ``messages``, the last of which was ``said``."""
        self._task = self._tasks.create_task(self._foresee(messages, said))

    async def stop(self) -> None:
        """The user speaks: nothing more is foreseen."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def known(self, state: str, text: str) -> Known | None:
        """The reply to ``text`` after ``state``, if that was foreseen."""
        match = self._replies.match(state, text)
        return None if match is None else Known(match.text, partial(self._replies.said, match))

    async def aclose(self) -> None:
        await self._foresight.aclose()

    async def _foresee(self, messages: Sequence[Message], said: str) -> None:
        try:
            async with aclosing(self._foresight.foresee(messages)) as found:
                async for each in found:
                    reply = StoredReply(
                        utterances=(each.utterance,), says=(each.reply,), state=said, source="predicted"
                    )
                    self._replies.add(reply)
                    self.foreseen += 1
                    for clause in spoken(each.reply):
                        await self._learn(clause)
        except StageError:
            return  # nobody waits for it, and the next turn will tell
