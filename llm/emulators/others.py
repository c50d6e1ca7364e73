"""What the servers of other wires write: OpenAI's responses, Anthropic's messages, Ollama's lines. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from turngap.llm.emulators.chat import Item, sse
from turngap.llm.emulators.pace import Pace


def response_events(
    pace: Pace, body: Mapping[str, Any], number: int = 1
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The events of a response, for server-sent events and for the websocket alike."""
    sequence = iter(range(1_000_000))
    item = f"msg_{number}"

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "sequence_number": next(sequence), **more}

    yield None, event("response.created", response=_response(pace, body, number, "in_progress"))
    yield None, event("response.in_progress", response=_response(pace, body, number, "in_progress"))
    if pace.failure == "in-stream":
        failed = _response(pace, body, number, "failed")
        failed["error"] = {"code": "server_error", "message": "The server had an error, quoting the prompt"}
        yield 0, event("response.failed", response=failed)
        return
    if body.get("generate") is False or (body.get("prompt_cache_options") or {}).get("prewarm"):
        yield 0, event("response.completed", response=_response(pace, body, number, "completed", made=0))
        return
    for at in range(pace.thoughts):
        place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
        yield at, event("response.reasoning_summary_text.delta", delta=" hm", **place)
    output = {"id": item, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    yield None, event("response.output_item.added", output_index=0, item=output)
    place = {"item_id": item, "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    yield None, event("response.content_part.added", part=part, **place)
    for at, text in enumerate(pace.tokens):
        yield pace.thoughts + at, event("response.output_text.delta", delta=text, logprobs=[], **place)
    yield None, event("response.output_text.done", text=pace.text, logprobs=[], **place)
    done = _response(pace, body, number, "completed", made=len(pace.tokens) + pace.thoughts)
    yield None, event("response.completed", response=done)


def responses(pace: Pace, body: Mapping[str, Any]) -> Iterator[Item]:
    """The whole stream of a response."""
    for due, event in response_events(pace, body):
        yield due, sse(event, event["type"])


def messages(pace: Pace, body: Mapping[str, Any]) -> Iterator[Item]:
    """The whole stream of a message."""

    def event(kind: str, **more: Any) -> bytes:
        return sse({"type": kind, **more}, kind)

    whole = message(pace, body)
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield None, event("message_start", message=begun)
    yield None, event("ping")
    if pace.failure == "in-stream":
        yield 0, event("error", error={"type": "overloaded_error", "message": "Overloaded, quoting the prompt"})
        return
    blocks = 0
    if pace.thoughts:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        yield None, event("content_block_start", index=0, content_block=block)
        for at in range(pace.thoughts):
            yield at, event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": " hm"})
        yield None, event("content_block_stop", index=0)
        blocks = 1
    yield None, event("content_block_start", index=blocks, content_block={"type": "text", "text": ""})
    for at, text in enumerate(pace.tokens):
        delta = {"type": "text_delta", "text": text}
        yield pace.thoughts + at, event("content_block_delta", index=blocks, delta=delta)
    yield None, event("content_block_stop", index=blocks)
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield None, event("message_delta", delta=ended, usage=whole["usage"])
    yield None, event("message_stop")


def message(pace: Pace, body: Mapping[str, Any]) -> dict[str, Any]:
    """A whole message, as it is sent to who asked for no stream."""
    made = len(pace.tokens) + pace.thoughts if body.get("max_tokens") else 0
    usage: dict[str, Any] = {
        "input_tokens": max(0, _size(body.get("messages", [])) - pace.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": pace.cached,
        "output_tokens": made,
        "output_tokens_details": {"thinking_tokens": pace.thoughts},
        "service_tier": "standard",
    }
    if body.get("speed") or pace.tier:
        usage["speed"] = pace.tier or body.get("speed")
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [{"type": "text", "text": pace.text}] if made else [],
        "stop_reason": "end_turn" if made else "max_tokens",
        "stop_sequence": None,
        "usage": usage,
    }


def ollama(pace: Pace, body: Mapping[str, Any]) -> Iterator[Item]:
    """The lines of Ollama's own chat."""

    def line(content: str = "", /, **more: Any) -> bytes:
        spoken = {"role": "assistant", "content": content, **more.pop("message", {})}
        stamp = {"model": body.get("model", ""), "created_at": "2026-11-30T12:00:00Z"}
        return json.dumps({**stamp, "message": spoken, "done": False, **more}).encode() + b"\n"

    if pace.failure == "in-stream":
        yield 0, json.dumps({"error": "an error was encountered, quoting the prompt"}).encode() + b"\n"
        return
    for at in range(pace.thoughts):
        yield at, line(message={"thinking": " hm"})
    for at, text in enumerate(pace.tokens):
        yield pace.thoughts + at, line(text)
    times: dict[str, Any] = {
        "load_duration": pace.load,
        "prompt_eval_duration": pace.prefill,
        "eval_duration": pace.decode,
    }
    counts: dict[str, Any] = {
        "prompt_eval_count": _size(body.get("messages", [])),
        "prompt_eval_cached_count": pace.cached,
        "eval_count": len(pace.tokens) + pace.thoughts,
    }
    total: dict[str, Any] = {"total_duration": pace.ttft + pace.decode}
    yield None, line(done=True, done_reason="stop", **times, **counts, **total)


def _response(pace: Pace, body: Mapping[str, Any], number: int, status: str, made: int | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "model": body.get("model", ""),
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "service_tier": pace.tier or body.get("service_tier", "default"),
        "previous_response_id": body.get("previous_response_id"),
    }
    if made is not None:
        size = _size(body.get("input", []))
        told["usage"] = {
            "input_tokens": size,
            "input_tokens_details": {"cached_tokens": pace.cached, "cache_write_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": pace.thoughts},
            "total_tokens": size + made,
        }
    return told


def _size(messages: Any) -> int:
    if isinstance(messages, str):
        return len(messages.split())
    return sum(len(str(message.get("content", "")).split()) for message in messages)
