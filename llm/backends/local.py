"""A language model in this process, on torch: CUDA where there is one, else small integers on the CPU.

::

    local                                   the model that comes with turngap
    local:/models/mine?threads=2            a folder with config.json, tokenizer.json, *.safetensors
    local:org/name?precision=fp16           a model hub's id

The model has one thread of its own. A reply asks it for one step at a time and, to keep it busy, for one step
more than was read; a reply that is closed, or forgotten by its reader, costs at most that step.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import torch

from turngap.budget.clock import Clock, Ns
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Stage
from turngap.llm.backends.engine import load
from turngap.llm.backends.generation import Generation, Mind, Model, Preparation
from turngap.llm.backends.prompt import Prompts
from turngap.llm.backends.sampling import Taste
from turngap.llm.protocol import Delta, Limits, Message, Usage
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
        self._worker = ThreadPoolExecutor(
            1, "turngap-llm", initializer=torch.set_num_threads, initargs=(self._threads,)
        )
        self._model: Model | None = None

    async def warm(self) -> None:
        """Load the model, and run it once so that its first reply finds memory and kernels in place."""
        await asyncio.wrap_future(self.submit(self._exercise))

    def converse(self) -> "LocalConversation":
        """A conversation of its own; loads the model on its first step where :meth:`warm` was not called."""
        return LocalConversation(self, self._clock)

    def describe(self) -> dict[str, str]:
        return dict(self._description)

    async def aclose(self) -> None:
        """Drop queued steps, wait for the one that runs, and end the thread."""
        self._model = None
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)

    def submit(self, work: Callable[[], Ran]) -> Future[Ran]:
        """Queue ``work`` for the model's thread."""
        try:
            return self._worker.submit(work)
        except RuntimeError as error:
            raise StageError(Stage.PREFILL, "the language model was closed", remedy="Open a new backend") from error

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

    def reply(self, messages: Sequence[Message], *, limits: Limits) -> "LocalReply":
        """As the protocol says; a reply that is still open is closed."""
        if self._reply is not None:
            self._reply.close()
        self._reply = LocalReply(self, Generation(messages, self._backend.limited(limits), self._clock))
        return self._reply

    async def prepare(self, messages: Sequence[Message]) -> None:
        """Prefill what later prompts will begin with; a cancelled call stops within one step."""
        preparation = Preparation(messages)
        try:
            while not preparation.done:
                await asyncio.wrap_future(self._backend.submit(lambda: preparation.step(self.mind())))
        finally:
            preparation.closed = True

    async def aclose(self) -> None:
        """Free the memory of this conversation."""
        if self._reply is not None:
            self._reply.close()
        self._mind = None

    def submit(self, generation: Generation) -> "Future[tuple[str, Ns]]":
        """Queue one step of ``generation``: its text and when it was there."""

        def step() -> tuple[str, Ns]:
            # A reply that was closed must not bring back the memory of a conversation that is over.
            text = "" if generation.closed else generation.step(self.mind())
            generation.done = generation.done or generation.closed
            return text, self._clock()

        return self._backend.submit(step)

    def mind(self) -> Mind:
        """This conversation's memory; only for the model's thread."""
        if self._mind is None:
            self._mind = Mind(self._backend.model())
        return self._mind


class LocalReply:
    """A reply that is read step by step, with one step running ahead of the reader."""

    def __init__(self, conversation: LocalConversation, generation: Generation) -> None:
        self._conversation = conversation
        self._generation = generation
        self._ahead: Future[tuple[str, Ns]] | None = None

    @property
    def usage(self) -> Usage:
        """Grows while the reply is made."""
        return self._generation.usage

    def __aiter__(self) -> "LocalReply":
        return self

    async def __anext__(self) -> Delta:
        while True:
            step, self._ahead = self._ahead, None
            if step is None:
                if self._generation.done or self._generation.closed:
                    raise StopAsyncIteration
                step = self._conversation.submit(self._generation)
            text, at = await asyncio.wrap_future(step)
            if not (self._generation.done or self._generation.closed):
                self._ahead = self._conversation.submit(self._generation)
            if text:
                return Delta(text=text, at=at)

    def close(self) -> None:
        """Make no more of it."""
        self._generation.closed = True
        if self._ahead is not None:
            self._ahead.cancel()
            self._ahead = None

    async def aclose(self) -> None:
        self.close()
