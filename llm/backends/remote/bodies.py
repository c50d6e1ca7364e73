"""What a request for a reply says, on each wire. Pure.

Every model here is asked to think as little as it can: a voice waits. Where no reasoning effort is known to be accepted
none is sent, for an unknown parameter is refused; ``reasoning=`` overrides, ``reasoning=default`` leaves it out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from turngap.llm.backends.remote.dialects import Dialect, Wire
from turngap.llm.history import parted
from turngap.llm.openings import instruction
from turngap.llm.protocol import Limits, Message, Role

LOWEST: Final[Mapping[str, tuple[tuple[re.Pattern[str], str], ...]]] = {
    "openai": (
        (re.compile(r"gpt-5(-mini|-nano)?$"), "minimal"),
        (re.compile(r"gpt-([6-9]|5\.\d)"), "none"),
        (re.compile(r"o\d"), "low"),
    ),
    "cerebras": ((re.compile("gpt-oss"), "low"), (re.compile("qwen|zai-glm|kimi"), "none")),
    "groq": ((re.compile("(openai/)?gpt-oss"), "low"), (re.compile("qwen/"), "none")),
    "sambanova": ((re.compile("gpt-oss"), "low"),),
    "llamacpp": ((re.compile(""), "none"),),
}
"""The least effort that a server's models take, by the beginning of their names."""

FAST_BETA: Final = "fast-mode-2026-02-01"
"""Without it these models refuse ``speed``; the others need none."""
NEEDS_BETA: Final = re.compile(r"claude-opus-(5|4-8)(-\d{8})?$")

VERSION: Final = "2026-10-21"
"""Since this one the temperature, top_p and top_k are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the options of a spec ask for; None or empty leaves it to the server."""

    model: str
    tier: str | None = None
    speed: str | None = None
    reasoning: str | None = None
    temperature: float | None = None
    cache_key: str | None = None
    only: str | None = None
    sort: str | None = None


def effort(dialect: Dialect, wishes: Wishes) -> str | None:
    """The reasoning effort to ask for."""
    if wishes.reasoning is not None:
        return None if wishes.reasoning == "default" else wishes.reasoning
    known = LOWEST.get(dialect.name, ())
    return next((least for pattern, least in known if pattern.match(wishes.model)), None)


def chat(
    dialect: Dialect, wishes: Wishes, messages: Sequence[Message], limits: Limits, *, prediction: str = ""
) -> dict[str, Any]:
    """For chat completions."""
    opened = bool(parted(messages)[1])
    body: dict[str, Any] = {
        "model": wishes.model,
        "messages": _plain(messages if dialect.continues is not None else without_opener(messages)),
        "stream": True,
        dialect.max_tokens: limits.max_tokens,
        **dialect.fixed,
        **(dialect.continues or {} if opened else {}),
    }
    if limits.stop and dialect.knows_stop:
        body["stop"] = list(limits.stop)
    if prediction and dialect.knows_prediction:
        body["prediction"] = {"type": "content", "content": prediction}
    provider = _given(only=[wishes.only] if wishes.only else None, sort=wishes.sort)
    if provider:
        body["provider"] = {**provider, "allow_fallbacks": not wishes.only}
    return body | _given(
        service_tier=wishes.tier,
        reasoning_effort=effort(dialect, wishes),
        temperature=wishes.temperature,
        prompt_cache_key=wishes.cache_key,
    )


def response(
    dialect: Dialect, wishes: Wishes, messages: Sequence[Message], limits: Limits, *, prediction: str = ""
) -> dict[str, Any]:
    """For responses; it has no stop and no prediction."""
    system, rest = _apart(without_opener(messages))
    least = effort(dialect, wishes)
    return {
        "model": wishes.model,
        "input": _plain(rest),
        "stream": True,
        "store": False,
        "max_output_tokens": max(limits.max_tokens, 16),  # less is refused
    } | _given(
        instructions=system or None,
        service_tier=wishes.tier,
        reasoning=None if least is None else {"effort": least},
        temperature=wishes.temperature,
        prompt_cache_key=wishes.cache_key,
    )


def message(
    dialect: Dialect, wishes: Wishes, messages: Sequence[Message], limits: Limits, *, prediction: str = ""
) -> dict[str, Any]:
    """For Anthropic's messages. Thinking is off unless ``reasoning`` names an effort or says ``default``."""
    system, rest = _apart(without_opener(messages))
    asked = wishes.reasoning
    off = asked in (None, "none")
    return {
        "model": wishes.model,
        "messages": _plain(rest),
        "max_tokens": limits.max_tokens,
        "stream": True,
        "cache_control": {"type": "ephemeral"},
    } | _given(
        system=system or None,
        thinking={"type": "disabled"} if off else None,
        output_config=None if off or asked == "default" else {"effort": asked},
        stop_sequences=list(limits.stop) or None,
        service_tier=wishes.tier,
        speed=wishes.speed,
        temperature=wishes.temperature,
    )


def ollama(
    dialect: Dialect, wishes: Wishes, messages: Sequence[Message], limits: Limits, *, prediction: str = ""
) -> dict[str, Any]:
    """For Ollama's own chat."""
    options = _given(num_predict=limits.max_tokens, stop=list(limits.stop) or None, temperature=wishes.temperature)
    asked = wishes.reasoning
    return {
        "model": wishes.model,
        "messages": _plain(without_opener(messages)),
        "stream": True,
        "keep_alive": "30m",
        "options": options,
    } | _given(think=None if asked == "default" else asked if asked not in (None, "none") else False)


BODIES: Final[Mapping[Wire, Callable[..., dict[str, Any]]]] = {
    Wire.CHAT: chat,
    Wire.RESPONSES: response,
    Wire.WEBSOCKET: response,
    Wire.MESSAGES: message,
    Wire.OLLAMA: ollama,
}


def prefill_only(dialect: Dialect, wire: Wire, body: Mapping[str, Any]) -> dict[str, Any]:
    """``body`` changed so that its prompt is prefilled and as little as possible is made of it."""
    if wire is Wire.OLLAMA:
        return {**body, "options": {**body["options"], "num_predict": 1}}
    if wire is Wire.MESSAGES:
        return {key: value for key, value in body.items() if key != "stream"} | {"max_tokens": 0}
    if wire is not Wire.CHAT:
        return {**body, "prompt_cache_options": {"prewarm": True}}
    return {**body, dialect.max_tokens: 1} | ({"n_predict": 0} if dialect.name == "llamacpp" else {})


def headers(dialect: Dialect, wishes: Wishes, key: str) -> dict[str, str]:
    """What goes with every request."""
    if Wire.MESSAGES not in dialect.wires:
        return {"authorization": f"Bearer {key}"} if key else {}
    beta = {"anthropic-beta": FAST_BETA} if wishes.speed and NEEDS_BETA.match(wishes.model) else {}
    return {"x-api-key": key, "anthropic-version": VERSION, **beta}


def without_opener(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The prompt for a model that cannot be made to begin with the opener: it is told of it instead."""
    asked, opener = parted(messages)
    if not opener:
        return asked
    told = instruction(opener)
    if asked and asked[0].role is Role.SYSTEM:
        return (Message(Role.SYSTEM, f"{asked[0].content}\n\n{told}"), *asked[1:])
    return (Message(Role.SYSTEM, told), *asked)


def _apart(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    if messages and messages[0].role is Role.SYSTEM:
        return messages[0].content, messages[1:]
    return "", messages


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": one.role.value, "content": one.content} for one in messages]


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
