"""One conversation's side of the model, and one reply as a row of small steps.

Everything here runs in the model's own thread. A step takes in a piece of the prompt or makes one token, so that
conversations take turns fairly, and a reply that nobody wants any more stops within one step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from torch import Tensor

from turngap.budget.clock import MS, Clock, Ns
from turngap.budget.errors import StageError, TurngapError
from turngap.budget.marks import Span, Stage
from turngap.llm.backends.engine import Engine, Held
from turngap.llm.backends.prompt import Prompts, Replies
from turngap.llm.backends.recollection import Recollection
from turngap.llm.backends.sampling import Detokeniser, Sampler, Taste
from turngap.llm.history import parted
from turngap.llm.protocol import Limits, Message, Role, Urgency, Usage

PIECE: Final = 64
"""Tokens that a step of a live reply takes in: 100 to 150 ms on one CPU core, the most that other live ones wait."""

SHORT: Final = {"cpu": 8}
"""Tokens that a step of less urgent work takes in, by device. On a CPU a pass over eight takes two to three times as
long as over one (66 beside 24 ms on a busy Zen 3 core, 64 tokens 400), and what becomes live waits no longer for it.
The price: each pass reads all weights anew, a quarter more for the same prompt. Elsewhere a whole piece is quick."""

DRAFT: Final = 7
"""Likely tokens that are checked in one pass. A pass over eight takes 1.3 times as long as over one, over twelve 2."""

ECHO: Final = 48
"""Tokens at the end of the prompt that may be said back."""

ADJOINING: Final[Ns] = 2 * MS
"""Steps no further apart than this are one span of work; more, and someone else had the model, or we waited."""

KEPT: Final = 0.25
"""Of a full context. What is kept has to be taken in again: half of 2048 tokens took a busy CPU longer than the user's
next turn, and the reply after that failed."""

AGAIN: Final = 256
"""Tokens beyond which a preparation takes in REBUILT at a time, so that it ends before the user does."""
REBUILT: Final = 32

NEXT: Final = 96
"""Tokens that the user's next turn will hardly have more of."""
SHARED: Final = 4
"""System prompts whose memory is kept for new conversations."""

Render: TypeAlias = Callable[[Sequence[Message], Replies], list[int]]


@dataclass(slots=True)
class Model:
    """A loaded model and what its conversations share."""

    engine: Engine
    tokenizer: Any
    prompts: Prompts
    ends: frozenset[int]
    context: int
    taste: Taste
    shared: dict[tuple[int, ...], Held]
    short: int = PIECE
    """Tokens that a step takes in which something more urgent may have to wait for."""
    recollection: Recollection = field(default_factory=Recollection)

    def piece(self, urgency: Urgency) -> int:
        """Tokens that one step of work that is so urgent takes in, at the most."""
        return PIECE if urgency is Urgency.LIVE else self.short


class Mind:
    """What the model remembers of one conversation: token ids, and keys and values for them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.replies = Replies()
        self._ids: list[int] = []
        self._held = model.engine.fresh()
        self._dropped = 0
        self._room = 0

    def prompt(self, messages: Sequence[Message], *, room: int) -> tuple[list[int], int]:
        """The prompt for a reply of ``room`` tokens, and how many of the oldest messages had to be left out for it."""
        self._room, limit = room, self.model.context - room
        ids = self._within(limit, messages, self.model.prompts.whole)
        if len(ids) > limit:
            raise StageError(
                Stage.PREFILL,
                f"the prompt has {len(ids)} tokens, and {limit} fit",
                remedy="Shorten the system prompt, or choose a larger context, for example local?context=8192",
            )
        return ids, self._dropped

    def beginning(self, messages: Sequence[Message]) -> list[int]:
        """What the prompts after ``messages`` will begin with. Where the next one would not fit any more, room is made
        now, when nobody waits for what is left to be taken in again."""
        room = self.model.context - self._room
        return self._within(max(room // 2, room - NEXT), messages, self.model.prompts.beginning)

    def _within(self, limit: int, messages: Sequence[Message], render: Render) -> list[int]:
        """As many of the latest messages as fit into ``limit`` tokens, and the last one in any case.

        What was left out stays out, and most of the context is freed at once: dropping one turn at a time would
        move the beginning of every later prompt, and each would be prefilled from there.
        """
        first = 1 if messages and messages[0].role is Role.SYSTEM else 0
        self._dropped = min(self._dropped, max(0, len(messages) - first - 1))
        while True:
            left = [*messages[:first], *messages[first + self._dropped :]]
            ids = render(left, self.replies)
            if len(ids) <= limit or len(left) <= first + 1:
                return ids
            limit = min(limit, round(KEPT * self.model.context))
            self._dropped += min(2, len(left) - first - 1)

    def align(self, ids: Sequence[int]) -> int:
        """Cut back to what is remembered of ``ids`` (never all: the last one is asked); how much that is."""
        common = _common(self._ids, ids)
        best = max((key for key in self.model.shared if _common(key, ids) == len(key)), key=len, default=())
        if len(best) > common:
            self._held, self._ids = self.model.shared[best].copy(), list(best)
            common = len(best)
        common = min(common, len(ids) - 1)
        self._crop(common)
        return common

    def take(
        self, ids: Sequence[int], *, upto: int, piece: int, share_at: int = 0, draft: Sequence[int] = ()
    ) -> Tensor | None:
        """Take in the next ``piece`` tokens of ``ids``. Shares the memory at ``share_at``.

        Once ``upto`` is reached: ``draft`` is taken in as well, and the answer is the logits after the last of ``ids``
        and after each token of ``draft``. Then :meth:`keep` what of it was said.
        """
        start = len(self._ids)
        end = min(start + piece, upto, share_at if start < share_at else upto)
        new = list(ids[start:end])
        if end < upto:
            self.model.engine.forward(new, self._held, rows=0)
            logits = None
        else:
            logits = self.model.engine.forward([*new, *draft], self._held, rows=1 + len(draft))
        self._ids += new if end < upto else [*new, *draft]
        if end == share_at:
            self._share()
        return logits

    def keep(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        if length < len(self._ids):
            self._crop(length)

    def forget(self) -> None:
        """Start over with nothing."""
        self._ids, self._held = [], self.model.engine.fresh()

    @property
    def length(self) -> int:
        """Tokens remembered."""
        return len(self._ids)

    def _crop(self, length: int) -> None:
        try:
            self._held.crop(length)
        except RuntimeError:  # a sliding window that is full cannot be cut back
            self.forget()
        del self._ids[length:]

    def _share(self) -> None:
        shared = self.model.shared
        shared[tuple(self._ids)] = self._held.copy()
        if len(shared) > SHARED:
            del shared[next(iter(shared))]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)


class Generation:
    """One reply. ``step()`` until ``done``; set ``closed`` from any thread to make the next step the last.

    An opener counts as said from the start: it is taken in like the prompt, and the text begins after it.
    """

    def __init__(
        self, messages: Sequence[Message], limits: Limits, clock: Clock, urgency: Urgency = Urgency.LIVE
    ) -> None:
        self.usage = Usage()
        self.urgency = urgency
        """How soon it is wanted; may be changed at any time, and goes for the next step."""
        self.done = self.closed = False
        self._messages, self._opener = parted(messages)
        self._limits = limits
        self._clock = clock
        self._asked_at = clock()
        self._prompt: list[int] = []
        self._share_at = 0
        self._said: list[int] = []
        """The opener's tokens, then the reply's own."""
        self._opening = 0
        self._echo = Recollection()
        self._stage = Stage.PREFILL
        self._sampler: Sampler
        self._text: Detokeniser

    def step(self, mind: Mind) -> str:
        """Do a little more; the text that this made certain, which is often none. Errors are StageErrors."""
        if self.closed or self.done:
            self.done = True
            return ""
        start = self._clock()
        try:
            if not self._prompt:
                self._begin(mind, start)
            text = self._advance(mind)
        except Exception as error:
            self.done = True
            mind.forget()
            if isinstance(error, TurngapError):
                raise
            raise StageError(
                self._stage, f"the language model failed: {error!r}", remedy="Try precision=fp32, or another model"
            ) from error
        return text

    def _begin(self, mind: Mind, start: Ns) -> None:
        self.usage.spans.append(Span(stage=Stage.PREFILL, start=self._asked_at, end=start, what="queue"))
        self._said = mind.model.prompts.opening(self._messages, self._opener, mind.replies)
        self._opening = len(self._said)
        self._prompt, dropped = mind.prompt(self._messages, room=self._limits.max_tokens + self._opening)
        self._share_at = share_at(mind, self._messages, self._prompt)
        asked = [*self._prompt, *self._said]
        cached = mind.align(asked)
        self._sampler = Sampler(mind.model.taste)
        for end in range(max(0, len(self._prompt) - ECHO), len(self._prompt)):
            self._echo.learn(self._prompt[max(0, end - ECHO) : end + 1])
        self._text = Detokeniser(
            mind.model.tokenizer, self._limits.stop, given=self._opening, spaced=self._opener[-1:].isspace()
        )
        self.usage.prompt_tokens = len(asked)
        self.usage.cached_tokens = cached
        self.usage.prefilled_tokens = len(asked) - cached
        self.usage.completion_tokens = 0
        self.usage.dropped_messages = dropped

    def _advance(self, mind: Mind) -> str:
        start, stage = self._clock(), self._stage
        upto = len(self._prompt) + len(self._said)
        piece = mind.model.piece(self.urgency)
        draft = self._draft(mind, room=piece - (upto - mind.length))
        logits = mind.take([*self._prompt, *self._said], upto=upto, piece=piece, share_at=self._share_at, draft=draft)
        text = ""
        if logits is not None:
            for row, drafted in zip(logits, (*draft, None), strict=True):
                text += self._say(mind, row)
                if self.done or self._said[-1] != drafted:
                    break
            # The last token said has not been taken in: the next step begins with it.
            mind.keep(len(self._prompt) + len(self._said) - (0 if self.done else 1))
        self._note(stage, start)
        return text

    def _draft(self, mind: Mind, *, room: int) -> list[int]:
        """What will probably be said next, as far as a step has room for it."""
        most = min(DRAFT, self._limits.max_tokens - self._completed - 1, room)
        return mind.model.recollection.expect(self._said, most=most) or self._echo.expect(self._said, most=most)

    def _say(self, mind: Mind, logits: Tensor) -> str:
        token = self._sampler.choose(logits, self._said)
        if self._stage is Stage.PREFILL:
            mind.replies.remember(self._said)
            self._stage = Stage.DECODE
        if self.urgency is not Urgency.IDLE:  # what is said in the user's place is not how replies begin
            mind.model.recollection.learn([*self._said, token])
        if token in mind.model.ends:
            return self._finish("stop")
        self._said.append(token)
        self.usage.completion_tokens = self._completed
        text = self._text.feed(self._said)
        if self._text.stopped:
            self.usage.finish, self.done = "stop", True
        elif self._completed >= self._limits.max_tokens:
            return text + self._finish("length")
        return text

    @property
    def tokens(self) -> tuple[int, ...]:
        """The reply so far, without its opener and without what ended it."""
        return tuple(self._said[self._opening :])

    @property
    def _completed(self) -> int:
        return len(self._said) - self._opening

    def _finish(self, finish: str) -> str:
        self.usage.finish, self.done = finish, True
        return self._text.feed(self._said, last=True)

    def _note(self, stage: Stage, start: Ns) -> None:
        spans, end = self.usage.spans, self._clock()
        last = spans[-1]
        if last.stage is stage and last.what == str(stage) and start - last.end <= ADJOINING:
            start = spans.pop().start
        spans.append(Span(stage=stage, start=start, end=end, what=str(stage)))


class Preparation:
    """Taking in, ahead of time, what later prompts will begin with. Steps as a :class:`Generation` does."""

    def __init__(self, messages: Sequence[Message], urgency: Urgency = Urgency.DRAFT) -> None:
        self.done = self.closed = False
        self.urgency = urgency
        self._messages = tuple(messages)
        self._prompt: list[int] = []
        self._share_at = 0

    def step(self, mind: Mind) -> None:
        """Take in a piece. What cannot fit into the context is left to the reply, which will say so."""
        if not self._prompt and not self.closed:
            self._prompt = mind.beginning(self._messages)
            self.closed = len(self._prompt) > mind.model.context
            if not self.closed:
                self._share_at = share_at(mind, self._messages, self._prompt)
                mind.align(self._prompt)
        if not self.closed:  # else a reply has the memory by now
            piece = mind.model.piece(self.urgency)
            if len(self._prompt) - mind.length > AGAIN:
                piece = max(piece, REBUILT)
            mind.take(self._prompt, upto=len(self._prompt), piece=piece, share_at=self._share_at)
        self.done = self.closed or mind.length >= len(self._prompt)


def share_at(mind: Mind, messages: Sequence[Message], prompt: Sequence[int]) -> int:
    """Where the part of ``prompt`` ends that every conversation with this system prompt has; 0 where there is none."""
    if not messages or messages[0].role is not Role.SYSTEM:
        return 0
    system = mind.model.prompts.beginning(messages[:1], Replies())
    if tuple(system) in mind.model.shared or _common(system, prompt) < len(system):
        return 0
    return len(system)
