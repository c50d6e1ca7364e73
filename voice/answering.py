"""Our half of a conversation: replies that are made, held back, played and taken back, and what was heard of them.

A shell: :class:`~turngap.voice.session.Session` says what the turn machine asks for, and nothing here decides.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import fields, replace
from functools import partial
from statistics import median_low
from typing import Any, Final

from turngap.budget.clock import Clock, Ns
from turngap.budget.errors import StageError
from turngap.budget.marks import Mark, Span, Stage
from turngap.llm.calls import CLOSE, OPEN, with_tools
from turngap.llm.foresight import Foresight
from turngap.llm.history import History
from turngap.llm.protocol import Limits, Message, Role
from turngap.llm.speculation.openers import Choice
from turngap.llm.thrift import SpeculationBudget
from turngap.voice.asr.stable import plain
from turngap.voice.audio.resample import Resampler
from turngap.voice.book import TurnBook
from turngap.voice.events import AudioEnded, AudioStarted, DraftId, Event, ReplyFailed
from turngap.voice.idling import Idling
from turngap.voice.layers import Fate, Layer
from turngap.voice.manner import Known, Manner, Parts
from turngap.voice.playout import Playout
from turngap.voice.protocols.door import Aside, AskAside, Called, CutTo, Door, Order, ReplyText, Write
from turngap.voice.reply import Clause, Reply
from turngap.voice.tts.protocol import Synthesizer
from turngap.voice.writing import Voiceless, Writing

logger = logging.getLogger(__name__)

USUAL_TURNS: Final = 9

KEPT_REPLIES: Final = 16
"""What a client has played of older ones it will not tell any more."""

GO_ON: Final = "(The user says nothing.)"
"""What is answered where the client wants the agent to speak first, or again; models want to be asked something."""

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
        self._synthesizer: Synthesizer = parts.synthesizer
        self._voice: Synthesizer = parts.synthesizer
        self._backend = parts.backend
        self._usual_order = Order()
        self._order = Order()
        """How the present reply is to be made."""
        self._drafted = "", self._order
        """The words that the present reply answers, and how it is made."""
        self._cuts: dict[int, str] = {}
        self._called: list[tuple[str, str]] = []
        self._spoken: dict[int, Playout | Writing] = {}
        """The latest replies, by turn, for clients that have played less of them than we thought."""
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
        self._playout: Playout | Writing | None = None
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
        order = self._order_of(book, draft)
        self._drafted = text, order
        self._synthesizer = Voiceless(self._clock) if order.written else self._voice
        reply = self._reply = Reply(draft, self._synthesizer, self._clock, tools=order.tools or ())
        released_by = Mark.TRANSCRIPT if draft.revision in book.texts else Mark.PAUSE
        self._known = None if order != Order() else self._find_known(text)
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
            self._prompt(text, order, asked=book.asked == draft.revision),
            limits=self._limits(order),
            stall=self._manner.stall,
            asked_at=asked_at,
            released_by=released_by,
        )
        self._making = self._tasks.create_task(self._converse(draft, answer))

    def configure(self, order: Order) -> None:
        """From now on replies are made so, and :attr:`Order.instructions` is the system prompt."""
        self._usual_order = replace(order, instructions=None, written=order.written or None)
        self._order = self._usual_order
        if order.instructions is not None:
            self._history.system = order.instructions

    def order(self, order: Order) -> None:
        """The next reply that is asked for is made so."""
        self._order = replace(
            self._usual_order, **{name: value for name, value in _set(order).items() if value is not None}
        )

    @property
    def last_words(self) -> str:
        """What an answer to the conversation as it stands answers."""
        last = self._history.messages[-1:]
        return last[0].content if last and last[0].role is Role.USER else GO_ON

    def write(self, written: Write) -> None:
        """Something was said in writing."""
        self._history.add(written.key, written.role, written.text, after=written.after)

    def forget(self, key: str) -> None:
        """Something was never said."""
        self._history.forget(key)

    async def cut_short(self, turn: int, samples: int) -> None:
        """The client has played only so much of the reply: the rest was never said."""
        if (playout := self._spoken.get(turn)) is None:
            return
        text = playout.heard_in(min(samples, playout.sent_samples))
        self._cuts[turn] = text
        self._history.revise(f"agent:{turn}", text)
        await self._door.tell(CutTo(turn, text))

    async def ask_aside(self, asked: AskAside) -> None:
        """Answer beside the conversation; returns when that is over. Raises ClientGone."""
        order, name = asked.order, asked.name
        voice = Voiceless(self._clock) if order.written else self._voice
        reply = Reply(DraftId(0, 0, 0), voice, self._clock, tools=order.tools or ())
        messages = asked.messages or self._history.messages
        messages = prompt(messages, order, self._history.system)
        failure, conversation = None, self._backend.converse()
        try:
            make = reply.run(
                conversation,
                messages,
                limits=self._limits(order),
                stall=self._manner.stall,
                asked_at=self._clock(),
                released_by=Mark.TRANSCRIPT,
            )
            async with asyncio.TaskGroup() as group:
                making = group.create_task(_failing(make, reply))
                resampler = Resampler(voice.rate_hz, self._door.rate_hz)
                while (piece := await reply.audio.get()) is not None:
                    samples = resampler.feed(piece.samples)
                    await self._door.tell(Aside(name=name, text=piece.begins, samples=samples))
                await self._door.tell(Aside(name=name, samples=resampler.flush()))
            failure = making.result()
        finally:
            await conversation.aclose()
        for call in reply.calls:
            await self._door.tell(Aside(name=name, call=call))
        await self._door.tell(Aside(name=name, over=True, failure=failure, usage=reply.usage))

    def _order_of(self, book: TurnBook, draft: DraftId) -> Order:
        if book.ordered or draft.revision == book.asked:
            return self._order
        return self._usual_order

    def _limits(self, order: Order) -> Limits:
        limits = self._manner.limits
        return limits if order.max_tokens is None else replace(limits, max_tokens=order.max_tokens)

    def _prompt(self, text: str, order: Order, *, asked: bool) -> tuple[Message, ...]:
        opener = "" if order != Order() else self._choose(text) or ""
        last = self._history.messages[-1:]
        words = text if not asked or not last or last[0].role is not Role.USER else ""
        system = self._history.system if order.instructions is None else order.instructions
        if order.tools:
            system = with_tools(system, order.tools, must=order.must_call)
        return self._history.messages_with(words, opener=opener, system=system)

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
        if self._usual_order != Order() or book.ordered:
            return  # it might be text, or a call
        playout = self._playout or self._new_playout(draft.turn)
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

    async def follow_order(self, draft: DraftId, book: TurnBook) -> None:
        """Make the reply anew if it was drafted before the client said how."""
        text, order = self._drafted
        if order != self._order_of(book, draft):
            await self.draft(draft, text, book)

    def commit(self, draft: DraftId, book: TurnBook) -> None:
        """Let the reply be heard as soon as it is there."""
        reply = self._reply
        assert reply is not None
        reply.page.enter(book.ledger)
        reply.hasten()
        if self._playout is None:
            self._playout = self._new_playout(draft.turn)
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

    def _new_playout(self, turn: int) -> Playout | Writing:
        def say(text: str) -> Awaitable[None]:
            return self._door.tell(ReplyText(turn, text))

        if isinstance(self._synthesizer, Voiceless):
            return Writing(clock=self._clock, say=say)
        from_hz = self._synthesizer.rate_hz
        return Playout(rate_hz=self._door.rate_hz, from_hz=from_hz, clock=self._clock, say=say)

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

    async def take_floor(self, draft: DraftId, text: str, book: TurnBook) -> None:
        """The reply is heard: what it answers is history now."""
        if draft.revision == book.asked:
            return  # it was written, and nobody said it
        if book.failure is None:
            self._history.user(text, key=f"user:{draft.turn}")
        await self._door.transcript("user", text)

    async def silence(self, book: TurnBook) -> None:
        """Stop making and playing; what the client has not played yet, it is asked to drop."""
        playout = self._playout
        await _cancel(self._playing)
        await self._tell_calls(book)
        await self._throw_away(book, Fate.CANCELLED)
        if playout is not None and playout.sent_samples and self._playing_now(playout):
            await self._door.clear()
        if playout is not None and playout.started_at is not None:
            book.played(playout.heard(self._clock()), playout.content_at)
            self._spoken[book.turn] = playout
            for old in list(self._spoken)[:-KEPT_REPLIES]:
                self._cuts.pop(old, None)
                del self._spoken[old]
        if book.opener:
            started = playout is not None and playout.started_at is not None
            book.layers.note(Layer.OPENER, Fate.HIT if started else Fate.CANCELLED)
        self._playout = self._opener = None

    async def _tell_calls(self, book: TurnBook) -> None:
        """The functions that a reply wants to be run, which was wanted and has come to its end."""
        reply = self._reply
        if reply is None or not reply.page.entered or self._making is None or not self._making.done():
            return
        for number, call in enumerate(reply.calls):
            said = f'{OPEN}{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}{CLOSE}'
            self._called.append((f"call:{book.turn}:{number}", said))
            await self._door.tell(Called(book.turn, call))

    async def end(self, book: TurnBook) -> None:
        """The turn is over: what was heard of the reply stays in the history."""
        await self.silence(book)
        known, self._known = self._known, None
        if known is not None and book.failure is None and len(book.heard) > len(book.opener):
            known.said()
        for key, said in self._called:
            self._history.assistant(said, key=key)
        self._called.clear()
        self._order = self._usual_order
        if self._choice is not None:
            self._choice.turn(book.opener or None)
        if book.heard and book.failure is None:
            self._said = book.heard
            self._history.assistant(self._cuts.get(book.turn, book.heard), key=f"agent:{book.turn}")
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

    async def _play(self, playout: Playout | Writing, book: TurnBook, draft: DraftId) -> None:
        def started(at: Ns, span: Span, opener: bool) -> None:
            book.sent(draft, at, span)
            self._tell(AudioStarted(at=at, id=draft, opener=opener))

        await playout.run(self._door.audio, started)
        self._tell(AudioEnded(at=self._clock(), id=draft))

    def _playing_now(self, playout: Playout | Writing) -> bool:
        return playout.played_samples(self._clock()) < playout.sent_samples


def prompt(messages: Sequence[Message], order: Order, system: str) -> tuple[Message, ...]:
    """``messages`` as ``order`` wants them asked, which has its own system prompt or goes with ``system``."""
    system = system if order.instructions is None else order.instructions
    system = with_tools(system, order.tools or (), must=order.must_call)
    rest = [message for message in messages if message.role is not Role.SYSTEM]
    if not rest or rest[-1].role is not Role.USER:
        rest.append(Message(Role.USER, GO_ON))
    return (*([Message(Role.SYSTEM, system)] if system else []), *rest)


def _set(order: Order) -> dict[str, Any]:
    return {each.name: getattr(order, each.name) for each in fields(order)}


async def _failing(make: Coroutine[Any, Any, None], reply: Reply) -> str | None:
    """Make the reply; what went wrong, if anything did."""
    try:
        await make
    except StageError as error:
        await reply.audio.put(None)
        return str(error)
    return None


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])
