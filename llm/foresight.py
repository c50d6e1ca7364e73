"""What the user will probably say next, and our replies to it: made in idle time, for when it is said.

All of it is idle work in conversations of its own, so that nothing live waits for it or finds its memory changed; a
turn costs the prefill of what was said since the last one, in both. It stops at any step when the reader does.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from turngap.budget.clock import Clock
from turngap.llm.protocol import Backend, Conversation, Limits, Message, Role, Urgency
from turngap.llm.role_reversal import ENGLISH, Reversal, new, reversed_roles, utterance, whole_sentences
from turngap.llm.thrift import SpeculationBudget, cost

TOKENS: Final = 16
"""Enough for the twelve words that are worth foreseeing."""

REPLY_TOKENS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """Something that the user may say, and our reply to it, both whole."""

    utterance: str
    reply: str


class Foresight:
    """Foresees the next turns of one dialogue. ``budget`` may be shared with its drafts."""

    def __init__(
        self, backend: Backend, clock: Clock, *, budget: SpeculationBudget, reversal: Reversal = ENGLISH
    ) -> None:
        self._user = backend.converse()
        self._us = backend.converse()
        self._clock = clock
        self._budget = budget
        self._reversal = reversal

    async def foresee(
        self, messages: Sequence[Message], *, limits: Limits | None = None
    ) -> AsyncGenerator[Foreseen, None]:
        """The likely next turns after ``messages``, the likeliest first; none unless the last word is ours.

        Each is there as soon as its reply is complete. Fewer come where the budget ends, or where the model has
        nothing to say that a user would. Close it (``aclosing``) to stop the work. Errors are StageErrors.
        """
        if not messages or messages[-1].role is not Role.ASSISTANT:
            return
        known = [message.content for message in messages if message.role is not Role.SYSTEM][-2:]
        for beginning in self._reversal.beginnings:
            said = await self._next_words(messages, beginning)
            if said is None or not new(said, known):
                continue
            known.append(said)
            answered = (*messages, Message(Role.USER, said))
            reply = await self._make(self._us, answered, limits or Limits(max_tokens=REPLY_TOKENS))
            if reply:
                yield Foreseen(utterance=said, reply=reply)

    async def aclose(self) -> None:
        """Forget what was kept for this dialogue."""
        await self._user.aclose()
        await self._us.aclose()

    async def _next_words(self, messages: Sequence[Message], beginning: str) -> str | None:
        asked = (*reversed_roles(messages, self._reversal), Message(Role.ASSISTANT, beginning))
        text = await self._make(self._user, asked, Limits(max_tokens=TOKENS), upto_sentence_after=beginning)
        return utterance(beginning + text)

    async def _make(
        self, conversation: Conversation, messages: Sequence[Message], limits: Limits, *, upto_sentence_after: str = ""
    ) -> str:
        """A reply's text: whole sentences where it was cut off by its limits, nothing where the budget allows none."""
        if not self._budget.may_start(self._clock()):
            return ""
        text = ""
        stream = conversation.reply(messages, limits=limits, urgency=Urgency.IDLE)
        try:
            async with aclosing(stream):
                async for delta in stream:
                    text += delta.text
                    if upto_sentence_after and utterance(upto_sentence_after + text) is not None:
                        return text
        finally:
            self._budget.spent(*cost(stream.usage), self._clock())
        return text if stream.usage.finish == "stop" or upto_sentence_after else whole_sentences(text)
