"""What one event of a stream tells, whoever sent it: chat completions, responses, messages, Ollama's lines. Pure.

A role, a ping, a comment, an empty text are no token. Tokens are counted by the server, for pieces are not tokens on
any fast tier; a count that comes again takes the place of the one before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from turngap.budget.clock import MS, SECOND, Ns
from turngap.llm.backends.remote.timing import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One event, understood. Whatever it does not speak of is None or empty."""

    text: str = ""
    reasoning: bool = False
    finish: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    tier: str | None = None
    told: Told | None = None
    failure: Mapping[str, Any] | None = field(default=None)
    id: str | None = None
    last: bool = False
    """Whether the reply is over."""


Reader = Callable[[Mapping[str, Any]], News]

FINISHES: Final[Mapping[str, str]] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""Our word for how a reply ended; a server's own word is kept where we have none."""


def read_chat(event: Mapping[str, Any]) -> News:
    """A chunk of a chat completion, with the timings of Cerebras, Groq, SambaNova, vLLM and llama.cpp."""
    own = _part(event, "x_groq")
    if event.get("error") or own.get("error"):
        return News(failure=event if event.get("error") else own)
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    delta, usage = _part(choice, "delta"), _part(event, "usage") or _part(own, "usage")
    finish = choice.get("finish_reason")
    return News(
        text=_text(delta, "content"),
        reasoning=bool(_text(delta, "reasoning") or _text(delta, "reasoning_content")),
        finish=_finish(finish),
        prompt_tokens=_count(usage, "prompt_tokens"),
        cached_tokens=_count(_part(usage, "prompt_tokens_details"), "cached_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(_part(usage, "completion_tokens_details"), "reasoning_tokens"),
        tier=_text(event, "service_tier") or None,
        told=_told(event, usage, _part(own, "usage")),
        id=_text(event, "id") or None,
        last=bool(finish),
    )


def read_response(event: Mapping[str, Any]) -> News:
    """An event of a response, over server-sent events or a websocket."""
    kind, response = _text(event, "type"), _part(event, "response")
    if kind == "response.output_text.delta":
        return News(text=_text(event, "delta"))
    if kind in ("response.reasoning_text.delta", "response.reasoning_summary_text.delta"):
        return News(reasoning=bool(_text(event, "delta")))
    if kind == "error":
        return News(failure=event)
    if kind == "response.failed":
        return News(failure=response or event)
    usage = _part(response, "usage")
    over = kind in ("response.completed", "response.incomplete")
    why = _text(_part(response, "incomplete_details"), "reason") or "completed"
    return News(
        finish=_finish(why) if over else None,
        prompt_tokens=_count(usage, "input_tokens"),
        cached_tokens=_count(_part(usage, "input_tokens_details"), "cached_tokens"),
        completion_tokens=_count(usage, "output_tokens"),
        reasoning_tokens=_count(_part(usage, "output_tokens_details"), "reasoning_tokens"),
        tier=_text(response, "service_tier") or None,
        id=_text(response, "id") or None,
        last=over,
    )


def read_message(event: Mapping[str, Any]) -> News:
    """An event of Anthropic's messages."""
    kind = _text(event, "type")
    if kind == "error":
        return News(failure=event)
    delta, message = _part(event, "delta"), _part(event, "message")
    if kind == "content_block_delta":
        return News(text=_text(delta, "text"), reasoning=bool(_text(delta, "thinking")))
    usage = _part(event, "usage") or _part(message, "usage")
    cached, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    fresh = _count(usage, "input_tokens")
    finish = _finish(delta.get("stop_reason"))
    return News(
        finish=finish,
        # Its input tokens are only those behind the last piece of cache.
        prompt_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        cached_tokens=cached,
        # The one of the start is that of a reply without a word.
        completion_tokens=_count(usage, "output_tokens") if kind == "message_delta" else None,
        reasoning_tokens=_count(_part(usage, "output_tokens_details"), "thinking_tokens"),
        tier=_text(usage, "speed") or _text(usage, "service_tier") or None,
        id=_text(message, "id") or None,
        last=kind == "message_stop",
    )


def read_ollama(event: Mapping[str, Any]) -> News:
    """A line of Ollama's chat; its durations are in ns."""
    if event.get("error"):
        return News(failure=event)
    message, done = _part(event, "message"), event.get("done") is True
    return News(
        text=_text(message, "content"),
        reasoning=bool(_text(message, "thinking")),
        finish=_finish(event.get("done_reason") or "stop") if done else None,
        prompt_tokens=_count(event, "prompt_eval_count"),
        cached_tokens=_count(event, "prompt_eval_cached_count"),
        completion_tokens=_count(event, "eval_count"),
        told=Told(
            load=_took(event, "load_duration", 1),
            prefill=_took(event, "prompt_eval_duration", 1),
            decode=_took(event, "eval_duration", 1),
        )
        if done
        else None,
        last=done,
    )


def _told(event: Mapping[str, Any], usage: Mapping[str, Any], own: Mapping[str, Any]) -> Told | None:
    """The server's account of its time; each has names and units of its own."""
    for account in (_part(event, "time_info"), own, usage):
        if "prompt_time" in account or "queue_time" in account:
            names = ("queue_time", "prompt_time", "completion_time")
            queue, prefill, decode = (_took(account, name, SECOND) for name in names)
            return Told(queue=queue, prefill=prefill, decode=decode)
    if timings := _part(event, "timings"):
        return Told(prefill=_took(timings, "prompt_ms", MS), decode=_took(timings, "predicted_ms", MS))
    if metrics := _part(event, "metrics"):
        return Told(
            queue=_took(metrics, "queue_time_ms", MS),
            prefill=_took(metrics, "time_to_first_token_ms", MS),
            decode=_took(metrics, "generation_time_ms", MS),
        )
    if "time_to_first_token" in usage:
        first, total = _took(usage, "time_to_first_token", SECOND), _took(usage, "total_latency", SECOND)
        known = first is not None and total is not None and total >= first
        return Told(first=first, decode=total - first if known and total is not None and first is not None else None)
    return None


def _part(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = of.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(of: Mapping[str, Any], key: str) -> str:
    value = of.get(key)
    return value if isinstance(value, str) else ""


def _count(of: Mapping[str, Any], key: str) -> int | None:
    value = of.get(key)
    return value if isinstance(value, int) and value >= 0 else None


def _took(of: Mapping[str, Any], key: str, unit: Ns) -> Ns | None:
    value = of.get(key)
    return round(value * unit) if isinstance(value, int | float) and 0 <= value < 1e15 else None


def _finish(value: object) -> str | None:
    return FINISHES.get(value, value) if isinstance(value, str) and value else None
