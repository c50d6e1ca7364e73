"""What a server answers to a request: who may ask, what is refused and how, and which stream comes. Pure.

A flavour is the name that ``--llm`` has for a server. What is asked is checked as strictly as the real ones do where
that has cost somebody time: a missing key, a parameter that is gone.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from turngap.llm.emulators.chat import Item, chat
from turngap.llm.emulators.others import message, messages, ollama, responses
from turngap.llm.emulators.pace import REFUSALS, Pace

KEYLESS: Final = ("vllm", "llamacpp", "ollama", "openai-compatible")

ENDS: Final = ("/chat/completions", "/responses", "/v1/messages", "/api/chat")
"""How the paths end that ask for a reply."""

CODES: Final[Mapping[int, str]] = {
    400: "unsupported_parameter",
    401: "invalid_api_key",
    403: "permission_denied",
    404: "model_not_found",
    410: "model_deprecated",
    429: "rate_limit_exceeded",
    498: "capacity_exceeded",
    500: "server_error",
    503: "unavailable_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status, headers, and a stream whose items are due with tokens."""

    status: int = 200
    kind: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    items: Iterable[Item] = ()


def answer(flavour: str, pace: Pace, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """The answer to one request; ``headers`` have small letters."""
    path = path.partition("?")[0]
    if flavour not in KEYLESS and pace.key not in _keys(headers):
        return refusal(flavour, pace, 401, f"Incorrect API key provided: {' '.join(_keys(headers))}")
    if method == "GET":
        return _json({"object": "list", "data": [], "version": "0.1"})
    if not path.endswith(ENDS):
        return refusal(flavour, pace, 404, "no such path")
    try:
        asked = json.loads(body)
    except ValueError:
        return refusal(flavour, pace, 400, "not JSON")
    if pace.failure in REFUSALS:
        status = int(pace.failure.partition("-")[0])
        return refusal(flavour, pace, status, f"quoting {json.dumps(asked)}", param=_parameter(status))
    if gone := _gone(flavour, path, asked):
        return refusal(flavour, pace, 400, f"Unsupported parameter: '{gone}'", param=gone)
    if pace.failure == "page":
        return Answer(kind="text/html", items=((0, b"<html><body>Log in first</body></html>\n"),))
    headers_out = (("x-request-id", "req_1"), ("x-generation-id", "gen_1"))
    return _stream(flavour, pace, path, asked, headers_out)


def refusal(flavour: str, pace: Pace, status: int, text: str, *, param: str | None = None) -> Answer:
    """An error, in the shape that the flavour gives it."""
    code = "enforced_spend_limit_reached" if pace.failure == "429-spent" else CODES.get(status, "error")
    error: dict[str, Any] = {"message": text, "type": code, "param": param, "code": code}
    if flavour == "anthropic":
        error = {"type": code, "message": text}
        if pace.failure == "429-spent":
            error |= {"type": "rate_limit_error", "details": {"error_code": code}}
    if flavour == "llamacpp":
        error = {"code": status, "type": code, "message": text}
    body: dict[str, Any] = {"error": text} if flavour == "ollama" else {"error": error, "request_id": "req_1"}
    if flavour == "anthropic":
        body["type"] = "error"
    wait = () if pace.retry_after is None else (("retry-after", f"{pace.retry_after:g}"),)
    return _json(body, status, wait)


def _stream(
    flavour: str, pace: Pace, path: str, asked: Mapping[str, Any], headers: tuple[tuple[str, str], ...]
) -> Answer:
    if path.endswith("/v1/messages"):
        if not asked.get("stream"):
            return _json(message(pace, asked))
        return Answer(headers=headers, items=messages(pace, asked))
    if path.endswith("/api/chat"):
        return Answer(kind="application/x-ndjson", headers=headers, items=ollama(pace, asked))
    if path.endswith("/responses"):
        return Answer(headers=headers, items=responses(pace, asked))
    return Answer(headers=headers, items=chat(flavour, pace, asked))


def _gone(flavour: str, path: str, asked: Mapping[str, Any]) -> str:
    """A parameter that is asked for and was removed."""
    gone: tuple[str, ...] = ()
    if flavour == "openai":
        gone = ("max_tokens", "stop", "max_completion_tokens" if path.endswith("/responses") else "max_output_tokens")
    if flavour == "anthropic":
        gone = ("temperature", "top_p", "top_k")
    return next((name for name in gone if name in asked), "")


def _parameter(status: int) -> str | None:
    return "max_tokens" if status == 400 else None


def _keys(headers: Mapping[str, str]) -> list[str]:
    return [headers.get("authorization", "").removeprefix("Bearer "), headers.get("x-api-key", "")]


def _json(content: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    body = json.dumps(content).encode()
    return Answer(status=status, kind="application/json", headers=headers, items=((None, body),))
