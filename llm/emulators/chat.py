"""What the servers of chat completions write: OpenAI, and those that say they are like it. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from turngap.llm.emulators.pace import Pace, ms, seconds

Item = tuple[int | None, bytes]
"""Bytes, and the token with which they are due; None for what goes with what came before."""

THOUGHT: Final[Mapping[str, str]] = {"vllm": "reasoning", "llamacpp": "reasoning_content"}
ID: Final = "chatcmpl-1"


def sse(content: Mapping[str, Any] | str, event: str = "") -> bytes:
    """One server-sent event."""
    text = content if isinstance(content, str) else json.dumps(content)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def chat(flavour: str, pace: Pace, body: Mapping[str, Any]) -> Iterator[Item]:
    """The whole stream of one answer, as ``flavour`` writes it."""
    model, tier = body.get("model", ""), pace.tier or body.get("service_tier")
    common: dict[str, Any] = {"id": ID, "object": "chat.completion.chunk", "created": 1_790_000_000, "model": model}
    common["system_fingerprint"] = "fp_1"
    if tier is not None:
        common["service_tier"] = tier
    if flavour == "openrouter":
        yield None, b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n"
    if flavour == "llamacpp":
        yield None, b":\n\n"

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return sse({**common, "choices": [choice], **more})

    first: dict[str, Any] = {"x_groq": {"id": "req_1"}} if flavour == "groq" else {}
    yield None, chunk({"role": "assistant", "content": ""}, **first)
    if pace.failure == "in-stream":
        yield 0, _failure(flavour)
        return
    for at in range(pace.thoughts):
        if flavour == "openai":  # which thinks where nobody sees it
            continue
        yield at, chunk({THOUGHT.get(flavour, "reasoning"): " hm"})
        if flavour == "groq":
            yield at, chunk({"content": ""})
    tokens = pace.tokens
    for at in range(0, len(tokens), pace.per_event):
        text = "".join(tokens[at : at + pace.per_event])
        more = {"obfuscation": "xxxx"} if flavour == "openai" and _obfuscates(body) else {}
        last = min(at + pace.per_event, len(tokens)) - 1
        yield pace.thoughts + (last if at else 0), chunk({"content": text}, **more)
    usage = _usage(flavour, pace, body)
    end: dict[str, Any] = {"x_groq": {"id": "req_1", "usage": usage}} if flavour == "groq" else {}
    yield None, chunk({}, "stop", **end)
    options = body.get("stream_options") or {}
    if options.get("include_usage"):
        yield None, sse({**common, "choices": [], "usage": usage, **_timings(flavour, pace)})
    yield None, sse("[DONE]")


def _obfuscates(body: Mapping[str, Any]) -> bool:
    return bool((body.get("stream_options") or {}).get("include_obfuscation", True))


def _usage(flavour: str, pace: Pace, body: Mapping[str, Any]) -> dict[str, Any]:
    prompt = sum(len(str(message.get("content", "")).split()) for message in body.get("messages", []))
    made = len(pace.tokens) + pace.thoughts
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": made,
        "total_tokens": prompt + made,
        "prompt_tokens_details": {"cached_tokens": pace.cached},
        "completion_tokens_details": {"reasoning_tokens": pace.thoughts},
    }
    if flavour == "groq":
        total = seconds(pace.prefill + pace.decode)
        usage |= _times(pace) | {"total_time": total}
    if flavour == "sambanova":
        total = pace.ttft + pace.decode
        usage |= {
            "time_to_first_token": seconds(pace.ttft),
            "total_latency": seconds(total),
            "completion_tokens_per_sec": made / max(seconds(total), 1e-9),
            "is_last_response": True,
            "stop_reason": "stop",
        }
    return usage


def _timings(flavour: str, pace: Pace) -> dict[str, Any]:
    if flavour == "cerebras":
        total = seconds(pace.ttft + pace.decode)
        return {"time_info": {**_times(pace), "total_time": total, "created": 1_790_000_000.5}}
    if flavour == "vllm":
        return {
            "metrics": {
                "queue_time_ms": ms(pace.queue),
                "time_to_first_token_ms": ms(pace.prefill),
                "generation_time_ms": ms(pace.decode),
                "mean_itl_ms": 1000 / pace.rate,
                "tokens_per_second": pace.rate,
            }
        }
    if flavour == "llamacpp":
        made = len(pace.tokens) + pace.thoughts
        times = {"prompt_ms": ms(pace.prefill), "predicted_ms": ms(pace.decode)}
        return {"timings": {"cache_n": pace.cached, "prompt_n": 1, "predicted_n": made, **times}}
    return {}


def _times(pace: Pace) -> dict[str, float]:
    return {
        "queue_time": seconds(pace.queue),
        "prompt_time": seconds(pace.prefill),
        "completion_time": seconds(pace.decode),
    }


def _failure(flavour: str) -> bytes:
    told = {"message": "The server had an error, quoting the prompt", "type": "server_error", "code": "server_error"}
    if flavour == "cerebras":
        return sse({"error": told, "status_code": 500})
    if flavour == "groq":
        return sse({"id": ID, "choices": [], "x_groq": {"id": "req_1", "error": "over capacity"}})
    if flavour == "openrouter":
        return sse({"id": ID, "choices": [], "error": {"code": 502, "message": "Upstream failed"}})
    return sse({"error": told})
