"""What a server's refusal means: whose fault it is, whether asking again helps, and what to do about it. Pure.

The server's own words are kept apart, in ``detail``: they may quote the prompt or the key. Only codes that look like
codes get into the message.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from turngap.budget.clock import MS, SECOND, Ns
from turngap.budget.errors import RemoteError, RequestRefused, ServiceBusy, ServiceFailed
from turngap.budget.marks import Stage

CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{1,47}")
"""What a code or the name of a parameter looks like; no sentence, and no key."""

KEY: Final = re.compile(r"(sk|gsk|csk)[-_]|[A-Za-z0-9]{24,}")

NEVER_AGAIN: Final = frozenset({"enforced_spend_limit_reached", "insufficient_quota", "billing_hard_limit_reached"})
"""Codes of a 429 that no waiting will change."""

BUSY_CODES: Final = frozenset(
    {"overloaded_error", "rate_limit_error", "rate_limit_exceeded", "capacity_exceeded", "unavailable_error"}
)
"""Inside of a stream there is no status; these say that it is one of being busy."""

Made = Callable[..., RemoteError]

MEANING: Final[Mapping[int, tuple[type[RemoteError], str, str]]] = {
    400: (RequestRefused, "refuses a parameter", "Remove or change it in the options of --llm"),
    401: (RequestRefused, "does not accept the key", "Set the key's environment variable to a valid key"),
    402: (RequestRefused, "wants to be paid first", "Look at the account's credit"),
    403: (RequestRefused, "does not allow this", "Look at what the key may use, and at the account's region"),
    404: (RequestRefused, "does not know the model or the path", "Check the model's name and the url"),
    408: (ServiceBusy, "gave up waiting", "Try again"),
    410: (RequestRefused, "no longer has the model", "Choose a model that the provider still serves"),
    413: (RequestRefused, "finds the request too large", "Shorten the system prompt or the history"),
    422: (RequestRefused, "cannot use the request", "Check the model and the options of --llm"),
    429: (ServiceBusy, "limits the rate of requests", "Wait, speculate less, or ask for a higher limit"),
    498: (ServiceBusy, "has no capacity left in this tier", "Choose another tier, or try again"),
    503: (ServiceBusy, "is not ready: it loads its model, or is down", "Wait until the model is loaded"),
    504: (ServiceFailed, "took too long itself", "Try again, or choose another tier"),
    529: (ServiceBusy, "is overloaded", "Try again, or name another backend"),
}
"""By the status of the answer; others are taken by their hundred."""


def refusal(server: str, stage: Stage, status: int, body: Any, headers: Mapping[str, str]) -> RemoteError:
    """The error for an answer with a status other than success; ``body`` is its JSON, or whatever it was."""
    kind, what, remedy = MEANING.get(status) or _by_hundred(status)
    code, parameter, detail = _told(body)
    if code in NEVER_AGAIN:
        kind, remedy = RequestRefused, "Raise the account's limit"
    named = [part for part in (code, parameter) if part]
    return kind(
        stage,
        f"{server} {what} (status {status}{''.join(f', {part}' for part in named)})",
        remedy=remedy,
        status=status,
        code=code,
        retry_after=retry_after(headers),
        detail=detail,
    )


def broken_off(server: str, stage: Stage, content: Mapping[str, Any]) -> RemoteError:
    """The error for one that came inside of a stream, after a status that promised success."""
    status = _status(content)
    if status in MEANING:
        return refusal(server, stage, status, content, {})
    code, _, detail = _told(content)
    kind: type[RemoteError] = ServiceBusy if code in BUSY_CODES else ServiceFailed
    return kind(
        stage,
        f"{server} broke the reply off{f' ({code})' if code else ''}",
        remedy="Try again, or name another backend",
        status=status or None,
        code=code,
        detail=detail,
    )


def cut_short(server: str, stage: Stage) -> RemoteError:
    """The error for a stream that ended before its end."""
    return ServiceFailed(
        stage, f"{server} ended the stream before the reply's end", remedy="Try again", code="truncated"
    )


def unreadable(server: str, stage: Stage, why: str) -> RemoteError:
    """The error for an answer that is none."""
    remedy = "Check the url: something else may answer there"
    return ServiceFailed(stage, f"{server} sent what cannot be read: {why}", remedy=remedy, code="garbage")


def retry_after(headers: Mapping[str, str]) -> Ns | None:
    """How long the server asks to be left alone; a date is taken as unknown, for calendars differ."""
    for name, unit in (("retry-after-ms", MS), ("retry-after", SECOND)):
        try:
            wait = float(headers[name])
        except (KeyError, ValueError):
            continue
        if 0 <= wait < 1e9:
            return round(wait * unit)
    return None


def _by_hundred(status: int) -> tuple[type[RemoteError], str, str]:
    if status >= 500:
        return ServiceFailed, "failed", "Try again, or name another backend"
    if status >= 400:
        return RequestRefused, "refuses the request", "Check the options of --llm"
    return ServiceFailed, "answered in an unexpected way", "Check the url: something else may answer there"


def _told(body: Any) -> tuple[str, str, str]:
    """Code, parameter and words of an error, out of the shapes that servers give it."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", "", str(error or "")
    details = error.get("details")
    inner = details.get("error_code") if isinstance(details, Mapping) else None
    code = next((text for key in (inner, error.get("code"), error.get("type")) if (text := _code(key))), "")
    return code, _code(error.get("param")), str(error.get("message") or "")


def _code(value: object) -> str:
    good = isinstance(value, str) and CODE.fullmatch(value) and not KEY.search(value)
    return str(value) if good else ""


def _status(content: Mapping[str, Any]) -> int:
    error = content.get("error")
    for value in (content.get("status_code"), error.get("code") if isinstance(error, Mapping) else None):
        if isinstance(value, int):
            return value
    return 0
