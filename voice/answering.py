"""Our half of a conversation: replies that are made, held back, played and taken back, and what was heard of them.

A shell: :class:`~turngap.voice.session.Session` says what the turn machine asks for, and nothing here decides.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from statistics import median_low
from typing import Final

from turngap.budget.clock import Clock, Ns
from turngap.budget.errors import StageError
from turngap.budget.marks import Mark, Span, Stage
from turngap.llm.foresight import Foresight
from turngap.llm.history import History
from turngap.llm.speculation.openers import Choice
from turngap.llm.thrift import SpeculationBudget
from turngap.voice.asr.stable import plain
from turngap.voice.book import TurnBook
from turngap.voice.events import AudioEnded, AudioStarted, DraftId, Event, ReplyFailed
from turngap.voice.idling import Idling
from turngap.voice.layers import Fate, Layer
from turngap.voice.manner import Known, Manner, Parts
from turngap.voice.playout import Playout
from turngap.voice.protocols.door import Door
from turngap.voice.reply import Clause, Reply

logger = logging.getLogger(__name__)

USUAL_TURNS: Final = 9

ECHO_WORDS: Final = 2
"""One word of the reply may be the user's as well."""


class Answering:
    """The replies of one conversation. ``tell`` is given what becomes of them; ``tasks`` runs what takes time."""

    def __init__(
        self,
        door: Door,
        parts: Parts,
        manner: Manner,
        clock: Clock,
        *,
        tasks: asyncio.TaskGroup,
        tell: Callable[[Event], None],
    ) -> None:
        self._door = door
        self._synthesizer = parts.synthesizer
        self._manner = manner
        self._clock = clock
        self._tasks = tasks
        self._tell = tell
        self._history = History(manner.system)
        self._conversation = parts.backend.converse()
        self._conversing = asyncio.Lock()
        self._known: Known | None = None
        """What the reply is made of, if it was known in advance."""
        self._layer: Layer | None = None
        """What the reply is owed to, if it was begun before it was known to be wanted."""
        self._usual: deque[Ns] = deque(maxlen=USUAL_TURNS)
        """From the request to the first audio, of the latest replies that the model made and that were heard."""
        self._remembered = parts.remembered
        openers = manner.speculation.openers
        self._choice = None if openers is None else Choice(openers, first=manner.speculation.first_opener)
        self._spent = SpeculationBudget()
        self._idling = self._idle(parts, manner) if manner.speculation.foresees else None
        self._opener: str | None = None
        """What the reply begins with if it is not ready in time."""
        self._said = ""
        self._reply: Reply | None = None
        self._failed: tuple[DraftId, StageError] | None = None
        """What went wrong with a draft: nobody needs to hear of it, unless there has to be an excuse."""
        self._playout: Playout | None = None
        self._making: asyncio.Task[None] | None = None
        self._playing: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """Free the backend's memory of this conversation; the tasks belong to the group."""
        await self._conversation.aclose()
        if self._idling is not None:
            await self._idling.aclose()

    async def attend(self) -> None:
        """The user speaks: what was done in idle time stops."""
        if self._idling is not None:
            await self._idling.stop()

    def may_suppose(self) -> bool:
        """Whether a draft that nobody may want is still within what may be spent on such."""
        return self._spent.may_start(self._clock())

    def prepare(self, words: str = "", book: TurnBook | None = None) -> None:
        """Let the backend get ready for what the next prompt begins with: the history, and words heard so far."""
        if book is not None:
            book.layers.note(Layer.PREFIX, Fate.STARTED)
        messages = self._history.messages_with(words)
        self._tasks.create_task(self._converse(None, partial(self._conversation.prepare, messages)))

    async def draft(self, draft: DraftId, text: str, book: TurnBook) -> None:
        """Begin a reply to ``text``; it is held back until :meth:`commit`, and takes the place of another draft."""
        asked_at = self._clock()
        await self._throw_away(book, Fate.MISSED)
        self._failed = None
        reply = self._reply = Reply(draft, self._synthesizer, self._clock)
        released_by = Mark.TRANSCRIPT if draft.revision in book.texts else Mark.PAUSE
        self._known = self._find_known(text)
        self._layer = self._layer_of(released_by, book)
        if self._layer is not None:
            book.layers.note(self._layer, Fate.STARTED)
        if self._known is not None:
            book.layers.usual = median_low(self._usual) if self._usual else None
            say = partial(reply.say, self._known.text, released_by=released_by)
            self._making = self._tasks.create_task(self._try(draft, say))
            return
        answer = partial(
            reply.run,
            self._conversation,
            self._history.messages_with(text, opener=self._choose(text) or ""),
            limits=self._manner.limits,
            stall=self._manner.stall,
            asked_at=asked_at,
            released_by=released_by,
        )
        self._making = self._tasks.create_task(self._converse(draft, answer))

    def _layer_of(self, released_by: Mark, book: TurnBook) -> Layer | None:
        if self._known is not None:
            return Layer.REPLY
        if released_by is Mark.PAUSE:
            return Layer.SUPPOSITION
        return None if book.ending else Layer.DRAFT

    def _find_known(self, text: str) -> Known | None:
        known = self._manner.speculation.known(self._said, text)
        return self._idling.known(self._said, text) if known is None and self._idling is not None else known

    async def excuse(self, draft: DraftId, reason: str, book: TurnBook) -> None:
        """Say in words that there is no reply."""
        if self._failed is not None and self._failed[0] == draft._replace(attempt=draft.attempt - 1):
            await self.report(self._failed[1])
        book.failure = reason
        self._opener = None
        reply = self._reply = Reply(draft, self._synthesizer, self._clock)
        self._making = self._tasks.create_task(self._try(draft, partial(reply.say, self._manner.excuse)))
        self.commit(draft, book)

    async def open(self, draft: DraftId, words: str, book: TurnBook) -> None:
        """Say an opener that fits ``words``, which may be unfinished, unless the reply is there."""
        await _cancel(self._playing)  # it waits for the reply
        playout = self._playout or self._new_playout()
        opener = self._choose(words)
        pieces = None if opener is None else self._remembered(opener)
        if opener is not None and pieces is not None and playout.silent and not self._to_be_heard:
            playout.open(Clause(opener), pieces)
            self._playout = playout
            book.opener = opener
            book.layers.note(Layer.OPENER, Fate.STARTED)
        elif opener is None:
            book.layers.note(Layer.OPENER, Fate.MISSED)
        if self._playout is not None:
            self._play_on(draft, book)

    def commit(self, draft: DraftId, book: TurnBook) -> None:
        """Let the reply be heard as soon as it is there."""
        reply = self._reply
        assert reply is not None
        reply.page.enter(book.ledger)
        reply.hasten()
        if self._playout is None:
            self._playout = self._new_playout()
        self._playout.go_on(reply)
        self._play_on(draft, book)

    @property
    def _to_be_heard(self) -> bool:
        """Whether there is a reply that needs no opener."""
        return self._reply is not None and self._reply.page.entered and self._reply.ready

    def _choose(self, words: str) -> str | None:
        """The opener of this turn, which stays once it is chosen: the reply is made to go on from it."""
        if self._opener is None and self._choice is not None:
            self._opener = self._choice.choose(words)
        return self._opener

    def _new_playout(self) -> Playout:
        return Playout(rate_hz=self._door.rate_hz, from_hz=self._synthesizer.rate_hz, clock=self._clock)

    def _play_on(self, draft: DraftId, book: TurnBook) -> None:
        """Play, or go on playing, what there is."""
        assert self._playout is not None
        if self._playing is None or self._playing.done():
            self._playing = self._tasks.create_task(self._play(self._playout, book, draft))

    async def hold_back(self) -> None:
        """Let nothing more of the reply be heard until the next :meth:`commit`; it is made all the same."""
        await _cancel(self._playing)
        playout = self._playout
        if playout is not None and playout.started_at is None and playout.rewind():
            await self._door.clear()  # it was on its way out

    async def fall_silent(self) -> None:
        """Stop speaking, at the client too, so that :meth:`speak_on` can go on from here."""
        await _cancel(self._playing)
        if self._playout is not None and self._playout.rewind():
            await self._door.clear()

    def speak_on(self, draft: DraftId, book: TurnBook) -> None:
        """Go on where we fell silent."""
        self._play_on(draft, book)

    def says(self, words: Sequence[str]) -> bool:
        """Whether these words, two or more, are the reply's own, one after the other."""
        if len(words) < ECHO_WORDS:
            return False
        opener = None if self._playout is None else self._playout.opener
        clauses = ([] if opener is None else [opener]) + ([] if self._reply is None else self._reply.clauses)
        said = [plain(word) for clause in clauses for word in clause.text.split()]
        heard = [plain(word) for word in words]
        return any(said[at : at + len(heard)] == heard for at in range(len(said) - len(heard) + 1))

    async def take_floor(self, text: str, book: TurnBook) -> None:
        """The reply is heard: what it answers is history now."""
        if book.failure is None:
            self._history.user(text)
        await self._door.transcript("user", text)

    async def silence(self, book: TurnBook) -> None:
        """Stop making and playing; what the client has not played yet, it is asked to drop."""
        playout = self._playout
        await _cancel(self._playing)
        await self._throw_away(book, Fate.CANCELLED)
        if playout is not None and playout.sent_samples and self._playing_now(playout):
            await self._door.clear()
        if playout is not None and playout.started_at is not None:
            book.played(playout.heard(self._clock()), playout.content_at)
        if book.opener:
            started = playout is not None and playout.started_at is not None
            book.layers.note(Layer.OPENER, Fate.HIT if started else Fate.CANCELLED)
        self._playout = self._opener = None

    async def end(self, book: TurnBook) -> None:
        """The turn is over: what was heard of the reply stays in the history."""
        await self.silence(book)
        known, self._known = self._known, None
        if known is not None and book.failure is None and len(book.heard) > len(book.opener):
            known.said()
        if self._choice is not None:
            self._choice.turn(book.opener or None)
        if book.heard and book.failure is None:
            self._said = book.heard
            self._history.assistant(book.heard)
            self.prepare()
            if self._idling is not None:
                self._idling.begin(self._history.messages, book.heard)

    async def _throw_away(self, book: TurnBook, fate: Fate) -> None:
        """Stop making the reply, of which ``fate`` tells why, if it was not heard."""
        reply, self._reply = self._reply, None
        layer, self._layer = self._layer, None
        await _cancel(self._making)
        if reply is None:
            return
        heard = reply.page.entered and self._is_heard()
        if layer is not None:
            book.layers.note(layer, Fate.HIT if heard else fate)
        if heard and reply.took is not None:
            self._usual.append(reply.took)
            if reply.warm:
                book.layers.note(Layer.PREFIX, Fate.HIT)
        if not reply.page.entered:
            tokens, took = reply.cost
            self._spent.spent(tokens, took, self._clock())
            book.layers.wasted(
                tokens=reply.tokens or 0, took=took, samples=sum(clause.samples for clause in reply.clauses)
            )

    def _is_heard(self) -> bool:
        """Whether more than an opener was."""
        playout = self._playout
        if playout is None or playout.started_at is None:
            return False
        return playout.opener is None or playout.content_at is not None

    def _idle(self, parts: Parts, manner: Manner) -> Idling:
        foresight = Foresight(parts.backend, self._clock, budget=self._spent)
        foreseen = manner.speculation.foreseen()
        return Idling(foresight, foreseen, learn=parts.learn, tasks=self._tasks)

    async def report(self, error: StageError) -> None:
        """Tell the client."""
        await self._door.error(f"{error.stage.value}_failed", error.message, error.remedy)

    async def _fail(self, draft: DraftId | None, error: StageError) -> None:
        """Tell the machine where a reply waits for it, and the client unless it is only a draft."""
        if draft is None or (self._reply is not None and self._reply.page.entered):
            await self.report(error)
        else:
            self._failed = draft, error
        if draft is not None:
            self._tell(ReplyFailed(at=self._clock(), id=draft, reason=str(error)))

    async def _converse(self, draft: DraftId | None, work: Callable[[], Awaitable[None]]) -> None:
        """Do ``work`` when the one before is done: a conversation with the backend is one thing at a time."""
        async with self._conversing:
            await self._try(draft, work)

    async def _try(self, draft: DraftId | None, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except StageError as error:
            await self._fail(draft, error)
        except Exception as error:  # a bug in a stage costs its turn, not the conversation
            logger.exception("unexpected error in turn %s", draft)
            await self._fail(draft, StageError(Stage.DISPATCH, f"unexpected {type(error).__name__}"))

    async def _play(self, playout: Playout, book: TurnBook, draft: DraftId) -> None:
        def started(at: Ns, span: Span, opener: bool) -> None:
            book.sent(draft, at, span)
            self._tell(AudioStarted(at=at, id=draft, opener=opener))

        await playout.run(self._door.audio, started)
        self._tell(AudioEnded(at=self._clock(), id=draft))

    def _playing_now(self, playout: Playout) -> bool:
        return playout.played_samples(self._clock()) < playout.sent_samples


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])
