"""The local model driven step by step, without a backend around it: for scripts that look at tokens and memory."""

from collections.abc import Sequence

import torch

from turngap.budget.clock import monotonic
from turngap.llm.backends.engine import load
from turngap.llm.backends.generation import SHORT, Generation, Mind, Model
from turngap.llm.backends.local import ends
from turngap.llm.backends.prompt import Prompts
from turngap.llm.backends.sampling import Taste
from turngap.llm.protocol import Limits, Message
from turngap.voice.models import store

CONTEXT = 2048


def make_model(precision: str) -> Model:
    """The model that comes with turngap, with nothing remembered."""
    torch.set_num_threads(1)
    engine, tokenizer, _ = load(store.find("smollm2-135m-instruct"), precision=precision, context=CONTEXT)
    return Model(
        engine, tokenizer, Prompts(tokenizer), ends(tokenizer), CONTEXT, Taste(), shared={}, short=SHORT["cpu"]
    )


def say(mind: Mind, messages: Sequence[Message], max_tokens: int) -> tuple[str, tuple[int, ...]]:
    """A reply's text and tokens."""
    generation, text = Generation(messages, Limits(max_tokens=max_tokens), monotonic), ""
    while not generation.done:
        text += generation.step(mind)
    return text, generation.tokens
