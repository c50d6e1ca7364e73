"""A language model in this process, on torch: CUDA where there is one, else small integers on the CPU.

::

    local                                   the model that comes with turngap
    local:/models/mine?threads=2            a folder with config.json, tokenizer.json, *.safetensors
    local:org/name?precision=fp16           a model hub's id

The model has one thread of its own, which does one step at a time, the most urgent first. A reply asks it for its
next piece of text and, to keep it busy, for one piece more than was read; a reply that is closed, or forgotten by
its reader, costs at most that.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import torch

from turngap.budget.clock import Clock, Ns
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Stage
from turngap.llm.backends.engine import load
from turngap.llm.backends.generation import PIECE, SHORT, Generation, Mind, Model, Preparation
from turngap.llm.backends.prompt import Prompts
from turngap.llm.backends.sampling import Taste
from turngap.llm.backends.worker import AGAIN, Again, Job, Worker
from turngap.llm.protocol import Delta, Limits, Message, Urgency, Usage
from turngap.llm.spec import Spec

Ran = TypeVar("Ran")

DEFAULT_MODEL: Final = "smollm2-135m-instruct"

THREADS: Final = 1
"""The other core hears and speaks. Two threads lose tenfold when another stage needs one of their cores."""

OPTIONS: Final = {"threads", "precision", "context", "max_tokens", "temperature", "repetition", "seed"}


class LocalBackend:
    """Holds one loaded model; see the module for its specs."""

    def __init__(self, spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> None:
        spec.reject_unknown(OPTIONS)
        self._spec = spec
        self._find_model = find_model
        self._clock = clock
        self._threads = spec.integer("threads", THREADS)
        self._max_tokens = spec.integer("max_tokens", 0)
        self._context = spec.integer("context", 2048)
        self._taste = Taste(
            temperature=spec.number("temperature", 0.0),
            repetition=spec.number("repetition", Taste().repetition),
            seed=spec.integer("seed", 0),
        )
        if self._threads < 1 or self._context < 64 or self._taste.repetition <= 0 or self._taste.temperature < 0:
            raise ConfigurationError(
                f"'{spec}' has an option out of range",
                remedy="threads >= 1, context >= 64, repetition > 0, temperature >= 0",
            )
        self._description = {"backend": "local", "threads": str(self._threads)}
        self._worker = Worker("turngap-llm", prepare=lambda: torch.set_num_threads(self._threads))
        self._model: Model | None = None

    async def warm(self) -> None:
        """Load the model, and run it once so that its first reply finds memory and kernels in place."""
        await asyncio.wrap_future(self.submit(self._exercise, Urgency.LIVE).future)

    def converse(self) -> "LocalConversation":
        """A conversation of its own; loads the model on its first step where :meth:`warm` was not called."""
        return LocalConversation(self, self._clock)

    def describe(self) -> dict[str, str]:
        return dict(self._description)

    async def aclose(self) -> None:
        """Drop what waits, let the step that runs end, and the thread with it."""
        self._model = None
        await asyncio.to_thread(self._worker.close)

    def submit(self, step: Callable[[], Ran | Again], urgency: Urgency) -> Job[Ran]:
        """Have the model's thread call ``step`` until it has a result."""
        try:
            return self._worker.submit(step, urgency)
        except RuntimeError as error:
            raise StageError(Stage.PREFILL, "the language model was closed", remedy="Open a new backend") from error

    def hasten(self, job: Job[Any], urgency: Urgency) -> None:
        """Make ``job`` as urgent as this, from its next step on."""
        self._worker.hasten(job, urgency)

    def limited(self, limits: Limits) -> Limits:
        """``limits``, within the backend's own."""
        if not self._max_tokens:
            return limits
        return Limits(max_tokens=min(limits.max_tokens, self._max_tokens), stop=limits.stop)

    def model(self) -> Model:
        """The loaded model; only for the model's thread."""
        if self._model is None:
            named = self._spec.model
            source: str | Path = self._find_model(DEFAULT_MODEL) if named is None else named
            engine, tokenizer, description = load(
                source, precision=self._spec.options.get("precision", ""), context=self._context
            )
            self._description |= description
            self._model = Model(
                engine,
                tokenizer,
                Prompts(tokenizer),
                ends(tokenizer),
                self._context,
                self._taste,
                shared={},
                short=SHORT.get(description["device"], PIECE),
            )
        return self._model

    def _exercise(self) -> None:
        model = self.model()
        held = model.engine.fresh()
        token = min(model.ends, default=0)
        for count in (64, 16, 1, 1):
            model.engine.forward([token] * count, held)


def ends(tokenizer: object) -> frozenset[int]:
    """The tokens that end a reply."""
    names = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>")
    vocabulary = tokenizer.get_vocab()  # type: ignore[attr-defined]
    found = {vocabulary[name] for name in names if name in vocabulary}
    eos = getattr(tokenizer, "eos_token_id", None)
    return frozenset(found | ({eos} if eos is not None else set()))


class LocalConversation:
    """One dialogue with the model: its keys and values stay between turns."""

    def __init__(self, backend: LocalBackend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._mind: Mind | None = None
        self._reply: LocalReply | None = None
        self._preparation: Preparation | None = None

    def reply(self, messages: Sequence[Message], *, limits: Limits, urgency: Urgency = Urgency.LIVE) -> "LocalReply":
        """As the protocol says; a reply that is still open is closed, and a preparation ends."""
        self._stop()
        generation = Generation(messages, self._backend.limited(limits), self._clock, urgency)
        self._reply = LocalReply(self._backend, generation, partial(self._step, generation))
        return self._reply

    async def prepare(self, messages: Sequence[Message], *, urgency: Urgency = Urgency.DRAFT) -> None:
        """Prefill what later prompts will begin with; a cancelled call stops within one step.

        Nothing is done while a reply is made, which has the memory; an earlier preparation ends.
        """
        if self._reply is not None and not self._reply.over:
            return
        self._stop()
        preparation = self._preparation = Preparation(messages, urgency)

        def step() -> Again | None:
            if not preparation.closed:
                preparation.step(self.mind())
            return None if preparation.done or preparation.closed else AGAIN

        try:
            await asyncio.wrap_future(self._backend.submit(step, urgency).future)
        finally:
            preparation.closed = True

    async def aclose(self) -> None:
        """Free the memory of this conversation."""
        self._stop()
        self._mind = None

    def mind(self) -> Mind:
        """This conversation's memory; only for the model's thread."""
        if self._mind is None:
            self._mind = Mind(self._backend.model())
        return self._mind

    def _stop(self) -> None:
        if self._reply is not None:
            self._reply.close()
        if self._preparation is not None:
            self._preparation.closed = True

    def _step(self, generation: Generation) -> tuple[str, Ns] | Again:
        """One step of ``generation``; once it has text or ends, the text and when it was there."""
        # A reply that was closed must not bring back the memory of a conversation that is over.
        text = "" if generation.closed else generation.step(self.mind())
        generation.done = generation.done or generation.closed
        return (text, self._clock()) if text or generation.done else AGAIN


class LocalReply:
    """A reply that is read piece by piece, with one piece running ahead of the reader."""

    def __init__(
        self, backend: LocalBackend, generation: Generation, step: Callable[[], tuple[str, Ns] | Again]
    ) -> None:
        self._backend = backend
        self._generation = generation
        self._step = step
        self._awaited: Job[tuple[str, Ns]] | None = None
        self._ahead: Job[tuple[str, Ns]] | None = None

    @property
    def usage(self) -> Usage:
        """Grows while the reply is made."""
        return self._generation.usage

    @property
    def over(self) -> bool:
        """Whether the model does no more for it."""
        return self._generation.done or self._generation.closed

    def hasten(self) -> None:
        self._generation.urgency = Urgency.LIVE
        for job in (self._awaited, self._ahead):
            if job is not None:
                self._backend.hasten(job, Urgency.LIVE)

    def __aiter__(self) -> "LocalReply":
        return self

    async def __anext__(self) -> Delta:
        self._awaited, self._ahead = self._ahead or self._ask(), None
        if self._awaited is None:
            raise StopAsyncIteration
        try:
            text, at = await asyncio.wrap_future(self._awaited.future)
        finally:
            self._awaited = None
        self._ahead = self._ask()
        if not text:
            raise StopAsyncIteration
        return Delta(text=text, at=at)

    def close(self) -> None:
        """Make no more of it; whoever waits for more is told that it is over."""
        self._generation.closed = True
        if self._ahead is not None:
            self._ahead.future.cancel()
            self._ahead = None

    async def aclose(self) -> None:
        self.close()

    def _ask(self) -> Job[tuple[str, Ns]] | None:
        """Have the next piece made, if there is more to come."""
        return None if self.over else self._backend.submit(self._step, self._generation.urgency)
