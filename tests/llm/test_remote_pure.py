"""What is decided about servers without asking one: frames, news, failures, times, bodies, words."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS
from turngap.budget.errors import RequestRefused, ServiceBusy, ServiceFailed
from turngap.budget.marks import Stage
from turngap.llm.backends.remote.bodies import (
    Wishes,
    chat,
    effort,
    headers,
    message,
    ollama,
    prefill_only,
    response,
    without_opener,
)
from turngap.llm.backends.remote.dialects import DIALECTS, OPENAI, Wire
from turngap.llm.backends.remote.failures import broken_off, cut_short, refusal, retry_after, unreadable
from turngap.llm.backends.remote.frames import LIMIT, Events, Lines, Unreadable
from turngap.llm.backends.remote.news import News, read_chat, read_message, read_ollama, read_response
from turngap.llm.backends.remote.timing import Exchange, Told
from turngap.llm.backends.remote.words import Words
from turngap.llm.protocol import Limits, Message, Role

ASK = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "A latte"))
OPENED = (*ASK, Message(Role.ASSISTANT, "Sure,"))

STREAM = (
    ': wait\r\n\r\nevent: a\ndata: {"x": 1}\n\nid: 7\nretry: 10\ndata: {"text":\ndata: "ü"}\r\n\r\n\ndata: [DONE]\n\n'
).encode()


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_however_their_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    events = Events()
    frames = [frame for a, b in pairwise(edges) for frame in events.feed(STREAM[a:b])]
    assert [(frame.name, frame.content, frame.done) for frame in frames] == [
        ("a", {"x": 1}, False),
        ("", {"text": "ü"}, False),
        ("", {}, True),
    ]
    assert events.comments == 1


def test_lines_are_events_too() -> None:
    assert [frame.content for frame in Lines().feed(b'{"a": 1}\n\n{"b": 2}\n{"c"')] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    "garbage", [b"<html>\n", b"data: {not\n\n", b"data: [1]\n\n", b"data: \xff\n\n", b"x" * (LIMIT + 1)]
)
def test_what_is_no_event_is_refused(garbage: bytes) -> None:
    with pytest.raises(Unreadable):
        list(Events().feed(garbage))


KEYS = st.sampled_from(
    (
        *("type", "choices", "delta", "content", "usage", "error", "x_groq", "response", "message", "time_info"),
        *("timings", "metrics", "done", "prompt_tokens", "queue_time", "time_to_first_token", "code", "status_code"),
    )
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["error", "response.completed", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, ANYTHING, max_size=5))
def test_no_event_whatsoever_breaks_a_reader(event: dict[str, Any]) -> None:
    for read in (read_chat, read_response, read_message, read_ollama):
        news = read(event)
        assert news.failure is None or str(broken_off("x", Stage.DECODE, news.failure))


def test_a_role_a_ping_and_an_empty_text_are_no_token() -> None:
    for news in (
        read_chat({"choices": [{"delta": {"role": "assistant", "content": ""}}], "usage": None}),
        read_chat({"choices": []}),
        read_response({"type": "response.created", "response": {"status": "in_progress"}}),
        read_message({"type": "ping"}),
        read_message({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
    ):
        assert news == News()


def test_a_count_of_messages_is_that_of_its_end_and_holds_the_cache() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2, "output_tokens": 1}
    begun = read_message({"type": "message_start", "message": {"id": "m", "usage": usage}})
    assert (begun.prompt_tokens, begun.cached_tokens, begun.completion_tokens) == (14, 7, None)
    ended = read_message({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": usage})
    assert (ended.finish, ended.completion_tokens, ended.last) == ("length", 1, False)
    assert read_message({"type": "message_stop"}).last


def test_responses_tell_why_they_are_incomplete() -> None:
    news = read_response(
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}
    )
    assert (news.finish, news.last) == ("length", True)
    assert read_response({"type": "response.reasoning_text.delta", "delta": "hm"}).reasoning
    assert read_response({"type": "response.output_text.delta", "delta": "Hi"}).text == "Hi"
    failed = {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}}
    assert type(broken_off("x", Stage.DECODE, read_response(failed).failure or {})) is ServiceBusy
    assert read_response({"type": "error", "code": "server_error"}).failure


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"time_info": {"queue_time": 0.1, "prompt_time": 0.2, "completion_time": 0.3}}, (100, 200, None, 300)),
        ({"x_groq": {"usage": {"queue_time": 0.1, "prompt_time": 0.2}}}, (100, 200, None, None)),
        ({"timings": {"prompt_ms": 20, "predicted_ms": 30}}, (None, 20, None, 30)),
        ({"metrics": {"queue_time_ms": 1, "time_to_first_token_ms": 2, "generation_time_ms": 3}}, (1, 2, None, 3)),
        ({"usage": {"time_to_first_token": 0.1, "total_latency": 0.5}}, (None, None, 100, 400)),
        ({"usage": {"time_to_first_token": 0.1}}, (None, None, 100, None)),
        ({"usage": {"time_to_first_token": 0.5, "total_latency": 0.1}}, (None, None, 500, None)),
        ({"timings": {"prompt_ms": -1, "predicted_ms": "soon"}}, (None, None, None, None)),
    ],
)
def test_every_servers_account_is_read_in_its_own_units(event: dict[str, Any], told: tuple[int | None, ...]) -> None:
    found = read_chat(event).told
    assert found is not None
    times = (found.queue, found.prefill, found.first, found.decode)
    assert tuple(None if took is None else took // MS for took in times) == told


def test_ollama_tells_in_nanoseconds_and_only_at_the_end() -> None:
    assert read_ollama({"message": {"content": "Hi"}, "done": False}) == News(text="Hi")
    news = read_ollama({"done": True, "load_duration": 5, "prompt_eval_duration": 6, "eval_duration": 7})
    assert news.told == Told(load=5, prefill=6, decode=7)
    assert (news.finish, news.last) == ("stop", True)
    assert read_ollama({"error": "no such model"}).failure


def test_a_wait_is_explained_without_a_hole() -> None:
    exchange = Exchange(asked=0, connecting=1 * MS, connected=11 * MS, first_answer=100 * MS, end=150 * MS)
    exchange.told = Told(queue=20 * MS, prefill=40 * MS)
    assert exchange.network == 40 * MS
    spans = [(span.what, (span.end - span.start) // MS) for span in exchange.spans()]
    assert spans == [("connect", 10), ("network", 15), ("queue", 20), ("prefill", 40), ("network", 15), ("decode", 50)]
    assert exchange.spans()[0].start == 0


def test_what_the_server_does_not_tell_stays_one_with_the_network() -> None:
    exchange = Exchange(asked=0, first_reasoning=60 * MS, first_answer=100 * MS, end=150 * MS)
    assert exchange.network is None
    assert [(span.stage, span.what) for span in exchange.spans()] == [
        (Stage.PREFILL, "network+server"),
        (Stage.PREFILL, "reasoning"),
        (Stage.DECODE, "decode"),
    ]
    assert exchange.notes()["llm_network_ms"] is None


def test_a_server_that_claims_more_than_the_whole_wait_is_not_believed() -> None:
    exchange = Exchange(asked=0, first_answer=100 * MS, end=100 * MS, told=Told(first=101 * MS))
    assert exchange.network is None
    assert [span.what for span in exchange.spans()] == ["network+server", "decode"]


def test_a_reply_that_never_came_is_a_wait_until_its_end() -> None:
    assert [(span.start, span.end) for span in Exchange(asked=5, end=9).spans()] == [(5, 9)]
    assert Exchange(asked=5).spans() == []
    assert [span.what for span in Exchange(asked=0, first_reasoning=2, end=9).spans()] == [
        "network+server",
        "reasoning",
    ]
    assert len(Exchange(asked=0, first_reasoning=2).spans()) == 1
    assert [span.what for span in Exchange(asked=0, first_answer=8, told=Told(first=6)).spans()] == [
        "network",
        "server",
        "network",
    ]


def test_refusals_name_codes_and_never_sentences_or_keys() -> None:
    error = refusal("x", Stage.PREFILL, 400, {"error": {"code": "unsupported_parameter", "param": "max_tokens"}}, {})
    assert str(error).startswith("x refuses a parameter (status 400, unsupported_parameter, max_tokens)")
    hidden = {"error": {"code": "sk-abc123", "message": "You said: my name is Ann", "param": "my name is Ann"}}
    error = refusal("x", Stage.PREFILL, 401, hidden, {})
    assert "Ann" not in str(error)
    assert "sk-abc" not in str(error)
    assert error.detail == "You said: my name is Ann"
    assert type(refusal("x", Stage.PREFILL, 418, "teapot", {})) is RequestRefused
    assert type(refusal("x", Stage.PREFILL, 599, None, {})) is ServiceFailed
    assert type(refusal("x", Stage.PREFILL, 302, "moved", {})) is ServiceFailed
    spent = {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}
    assert type(refusal("x", Stage.PREFILL, 429, spent, {})) is RequestRefused


def test_an_error_in_a_stream_is_taken_by_its_status_or_its_code() -> None:
    assert type(broken_off("x", Stage.DECODE, {"error": {"code": 429}})) is ServiceBusy
    assert type(broken_off("x", Stage.DECODE, {"error": {}, "status_code": 500})) is ServiceFailed
    assert type(broken_off("x", Stage.DECODE, {"error": {"type": "overloaded_error"}})) is ServiceBusy
    assert type(broken_off("x", Stage.DECODE, {"error": "over capacity"})) is ServiceFailed


@pytest.mark.parametrize(
    ("sent", "wait"),
    [
        ({"retry-after": "2.5"}, 2_500 * MS),
        ({"retry-after-ms": "30", "retry-after": "2"}, 30 * MS),
        ({"retry-after": "Tue, 01 Dec 2026 05:00:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_known_or_not(sent: dict[str, str], wait: int | None) -> None:
    assert retry_after(sent) == wait


@pytest.mark.parametrize(
    ("name", "model", "least"),
    [
        ("openai", "gpt-5-mini", "minimal"),
        ("openai", "gpt-5.6-sol", "none"),
        ("openai", "o4-mini", "low"),
        ("openai", "gpt-4.1", None),
        ("cerebras", "gpt-oss-120b", "low"),
        ("groq", "openai/gpt-oss-20b", "low"),
        ("vllm", "anything", None),
    ],
)
def test_models_are_asked_to_think_as_little_as_they_can(name: str, model: str, least: str | None) -> None:
    assert effort(DIALECTS[name], Wishes(model=model)) == least
    assert effort(DIALECTS[name], Wishes(model=model, reasoning="high")) == "high"
    assert effort(DIALECTS[name], Wishes(model=model, reasoning="default")) is None


def test_chat_says_what_each_server_knows() -> None:
    limits = Limits(max_tokens=9, stop=("!",))
    asked = chat(OPENAI, Wishes(model="m", tier="fast", cache_key="k"), ASK, limits, prediction="Sure.")
    assert (asked["max_completion_tokens"], asked["service_tier"], asked["prompt_cache_key"]) == (9, "fast", "k")
    assert "stop" not in asked  # which its models refuse
    assert asked["prediction"]["content"] == "Sure."
    plain = chat(DIALECTS["groq"], Wishes(model="m"), ASK, limits, prediction="Sure.")
    assert plain["stop"] == ["!"]
    assert not {"service_tier", "prediction", "temperature", "reasoning_effort"} & set(plain)
    pinned = chat(DIALECTS["openrouter"], Wishes(model="m", only="groq", sort="latency"), ASK, limits)
    assert pinned["provider"] == {"only": ["groq"], "sort": "latency", "allow_fallbacks": False}
    opened = chat(DIALECTS["vllm"], Wishes(model="m"), OPENED, limits)
    assert opened["continue_final_message"] is True
    assert "continue_final_message" not in chat(DIALECTS["vllm"], Wishes(model="m"), ASK, limits)


def test_responses_messages_and_ollama_are_asked_in_their_own_words() -> None:
    limits = Limits(max_tokens=9)
    asked = response(OPENAI, Wishes(model="gpt-5.6-sol", tier="ultrafast"), ASK, limits)
    assert asked["instructions"] == "Be brief."
    assert asked["input"] == [{"role": "user", "content": "A latte"}]
    assert (asked["max_output_tokens"], asked["reasoning"], asked["store"]) == (16, {"effort": "none"}, False)
    claude = DIALECTS["anthropic"]
    said = message(claude, Wishes(model="m", speed="fast"), ASK[1:], limits)
    assert (said["thinking"], said["speed"]) == ({"type": "disabled"}, "fast")
    assert "system" not in said
    thinking = message(claude, Wishes(model="m", reasoning="low"), ASK, limits)
    assert thinking["output_config"] == {"effort": "low"}
    assert "thinking" not in thinking
    assert "output_config" not in message(claude, Wishes(model="m", reasoning="default"), ASK, limits)
    ours = ollama(DIALECTS["ollama"], Wishes(model="m", temperature=0.5), ASK, limits)
    assert ours["think"] is False
    assert ours["options"] == {"num_predict": 9, "temperature": 0.5}
    assert ollama(DIALECTS["ollama"], Wishes(model="m", reasoning="high"), ASK, limits)["think"] == "high"
    assert "think" not in ollama(DIALECTS["ollama"], Wishes(model="m", reasoning="default"), ASK, limits)


def test_an_end_too_soon_and_an_answer_nobody_can_read_are_the_servers_fault() -> None:
    assert cut_short("x", Stage.DECODE).code == "truncated"
    assert "html" in str(unreadable("x", Stage.PREFILL, "html"))


def test_thoughts_and_failures_of_a_message_are_seen() -> None:
    assert read_message({"type": "content_block_delta", "delta": {"thinking": "hm"}}) == News(reasoning=True)
    assert read_message({"type": "error", "error": {"type": "overloaded_error"}}).failure


def test_prefill_asks_for_next_to_nothing() -> None:
    llama, groq = DIALECTS["llamacpp"], DIALECTS["groq"]
    assert prefill_only(llama, Wire.CHAT, {"max_tokens": 60}) == {"max_tokens": 1, "n_predict": 0}
    assert prefill_only(groq, Wire.CHAT, {}) == {"max_completion_tokens": 1}
    assert prefill_only(llama, Wire.OLLAMA, {"options": {"a": 1}})["options"] == {"a": 1, "num_predict": 1}
    assert prefill_only(llama, Wire.MESSAGES, {"stream": True, "max_tokens": 60}) == {"max_tokens": 0}
    assert prefill_only(OPENAI, Wire.RESPONSES, {})["prompt_cache_options"] == {"prewarm": True}


def test_keys_and_betas_are_headers() -> None:
    claude = DIALECTS["anthropic"]
    assert headers(claude, Wishes(model="claude-opus-5", speed="fast"), "k")["anthropic-beta"]
    assert "anthropic-beta" not in headers(claude, Wishes(model="claude-opus-5-5", speed="fast"), "k")
    assert headers(OPENAI, Wishes(model="m"), "k") == {"authorization": "Bearer k"}
    assert headers(DIALECTS["vllm"], Wishes(model="m"), "") == {}


def test_who_cannot_begin_with_the_opener_is_told_of_it() -> None:
    assert without_opener(ASK) == ASK
    told = without_opener(OPENED)
    assert told[0].content.startswith("Be brief.")
    assert '"Sure,"' in told[0].content
    assert without_opener(OPENED[1:])[0].role is Role.SYSTEM
    body = response(OPENAI, Wishes(model="m"), OPENED[1:], Limits())
    assert '"Sure,"' in json.dumps(body["instructions"]).replace("\\", "")


@given(st.text("ab!", max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_a_stop_ends_the_words_however_they_come(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    words = Words(("b!", "!!"))
    heard = "".join(words.feed(text[a:b]) for a, b in pairwise(edges)) + words.end()
    stops = [at for stop in ("b!", "!!") if (at := text.find(stop)) >= 0]
    assert heard == text[: min(stops, default=len(text))]
    assert words.over == bool(stops)


def test_a_repeated_opener_is_not_heard_twice() -> None:
    words = Words(opener="Sure,")
    assert words.feed("Sure, one") + words.feed(" latte") + words.end() == " one latte"
