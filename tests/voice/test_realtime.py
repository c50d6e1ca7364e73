"""The Realtime protocol as data: what messages mean, and in which order clients are told."""

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.calls import Call
from turngap.llm.protocol import Usage
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.protocols.door import (
    Aside,
    Ask,
    AskAside,
    Called,
    Cancel,
    CommitTurn,
    Configure,
    CutShort,
    CutTo,
    DropTurn,
    Forget,
    ReplyText,
    VoiceBegan,
    VoiceEnded,
    Write,
)
from turngap.voice.protocols.realtime.config import SEMANTIC
from turngap.voice.protocols.realtime.core import Realtime, Received
from turngap.voice.protocols.realtime.items import MOST_ITEMS
from turngap.voice.turn import Yielding

TONE = np.linspace(-0.5, 0.5, 480).astype(np.float32)
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object"}}
REPORT: dict[str, Any] = {
    "turn": 1,
    "outcome": "answered",
    "reply": "Hello there.",
    "reported_gap_ms": 312.25,
    "charges_ms": {"asr": 40.0, "tts": None},
    "culprit": "asr",
    "notes": {"prompt_tokens": 20, "cached_tokens": 15, "completion_tokens": 3, "finish": "stop"},
}


def protocol() -> Realtime:
    return Realtime("x", model="m", instructions="Be brief.", policies=lambda _: Hangover(), yielding=Yielding.TO_WORDS)


def say(realtime: Realtime, kind: str, **fields: Any) -> Received:
    return realtime.receive(json.dumps({"type": kind, "event_id": "mine", **fields}))


def configure(realtime: Realtime, **session: Any) -> Received:
    return say(realtime, "session.update", session={"type": "realtime", **session})


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def refusal(received: Received) -> dict[str, Any]:
    assert types(received.events) == ["error"]
    assert (received.samples, received.wishes) == (None, [])
    error: dict[str, Any] = received.events[0]["error"]
    assert error["event_id"] == "mine"
    assert error["message"]
    return error


def pcm(samples: int) -> str:
    return base64.b64encode(bytes(2 * samples)).decode()


def replied(realtime: Realtime, turn: int = 1) -> str:
    """A spoken turn with 20 ms of reply that is not over; the reply's item."""
    realtime.tell(VoiceBegan(turn, 100))
    realtime.tell(VoiceEnded(turn, 900))
    events = [*realtime.tell(ReplyText(turn, "Hello there.")), *realtime.audio(TONE)]
    return str(events[-1]["item_id"])


def text_item(text: Any = "hi", **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}], **fields}


def test_a_spoken_turn_is_told_in_the_protocols_order() -> None:
    realtime = protocol()
    configure(realtime, audio={"input": {"transcription": {"model": "any"}}})
    events = [*realtime.tell(VoiceBegan(1, 100)), *realtime.tell(VoiceEnded(1, 900))]
    assert types(events) == ["input_audio_buffer.speech_started"], "the user may go on"
    events = realtime.tell(ReplyText(1, "Hello there."))
    assert types(events) == [
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio_transcript.delta",
    ]
    assert events[0]["audio_end_ms"] == 900
    audio = realtime.audio(TONE)
    assert len(base64.b64decode(audio[0]["delta"])) == 2 * len(TONE)
    assert types(realtime.heard("hi")) == [
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    done = realtime.over(REPORT)
    assert types(done) == [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    response = done[-1]["response"]
    assert response["status"] == "completed"
    assert response["metadata"] == {
        "turngap_gap_ms": "312.2",
        "turngap_asr_ms": "40.0",
        "turngap_culprit": "asr",
    }
    assert response["usage"]["total_tokens"] == 23
    assert response["usage"]["input_token_details"]["cached_tokens"] == 15


@pytest.mark.parametrize(
    ("changes", "status", "detail"),
    [
        ({"outcome": "interrupted", "reply": "Hello"}, "cancelled", {"type": "cancelled", "reason": "turn_detected"}),
        ({"notes": {"finish": "length"}}, "incomplete", {"type": "incomplete", "reason": "max_output_tokens"}),
        (
            {"outcome": "failed", "failure": "no"},
            "failed",
            {"type": "failed", "error": {"type": "server_error", "code": "no"}},
        ),
    ],
)
def test_a_response_tells_how_it_ended(changes: dict[str, Any], status: str, detail: dict[str, Any]) -> None:
    realtime = protocol()
    replied(realtime)
    done = realtime.over({**REPORT, **changes})
    assert (done[-1]["response"]["status"], done[-1]["response"]["status_details"]) == (status, detail)
    if status == "cancelled":
        assert done[1]["transcript"] == "Hello", "only what was heard"


def test_what_the_client_cancels_is_not_blamed_on_a_voice() -> None:
    realtime = protocol()
    assert refusal(say(realtime, "response.cancel"))["code"] == "response_cancel_not_active"
    replied(realtime)
    assert refusal(say(realtime, "response.cancel", response_id="other"))["code"] == "response_cancel_not_active"
    assert say(realtime, "response.cancel").wishes == [Cancel()]
    done = realtime.over({**REPORT, "outcome": "interrupted"})
    assert done[-1]["response"]["status_details"]["reason"] == "client_cancelled"


def test_a_turn_without_words_is_kept_and_not_answered() -> None:
    realtime = protocol()
    realtime.tell(VoiceBegan(1, 0))
    events = realtime.over({**REPORT, "outcome": "no_words"})
    assert types(events)[:2] == ["input_audio_buffer.speech_stopped", "input_audio_buffer.committed"]
    assert "response.created" not in types(events)


def test_a_client_that_holds_a_key_commits_and_asks() -> None:
    realtime = protocol()
    received = configure(realtime, audio={"input": {"turn_detection": None}})
    wish = received.wishes[0]
    assert isinstance(wish, Configure)
    assert (wish.manual, wish.answers, wish.yielding) == (True, False, Yielding.NEVER)
    assert refusal(say(realtime, "input_audio_buffer.commit"))["code"] == "input_audio_buffer_commit_empty"
    heard = say(realtime, "input_audio_buffer.append", audio=pcm(2400)).samples
    assert heard is not None
    assert len(heard) == 2400
    received = say(realtime, "input_audio_buffer.commit")
    assert received.wishes == [CommitTurn()]
    item = received.events[0]["item_id"]
    received = say(realtime, "response.create", response={"metadata": {"a": "b"}})
    assert isinstance(received.wishes[0], Ask)
    assert received.events[0]["response"]["metadata"] == {"a": "b"}
    assert refusal(say(realtime, "response.create"))["code"] == "conversation_already_has_active_response"
    assert realtime.tell(VoiceBegan(1, 0)) == []
    realtime.heard("ten coffees")
    shown = say(realtime, "conversation.item.retrieve", item_id=item).events[0]["item"]
    assert shown["content"][0]["transcript"] == "ten coffees"
    assert types(realtime.tell(ReplyText(1, "Yes.")))[0] == "response.output_item.added"
    assert say(realtime, "input_audio_buffer.clear").wishes == [DropTurn()]


def test_truncating_is_exact_and_never_beyond_the_audio() -> None:
    realtime = protocol()
    item = replied(realtime)
    received = say(realtime, "conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=20)
    assert received.wishes == [CutShort(1, 480)]
    assert types(received.events) == ["conversation.item.truncated"]
    for end_ms in (21, -1, True, "5"):
        refusal(say(realtime, "conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=end_ms))
    realtime.over(REPORT)
    realtime.tell(CutTo(1, "Hello"))
    shown = say(realtime, "conversation.item.retrieve", item_id=item).events[0]["item"]
    assert shown["content"] == [{"type": "output_audio", "transcript": "Hello"}]


def test_items_are_put_found_and_taken_out() -> None:
    realtime = protocol()
    first = say(realtime, "conversation.item.create", item=text_item("one", id="a"))
    assert first.wishes == [Write(key="a", role="user", text="one", after=None)]  # type: ignore[arg-type]
    assert types(first.events) == ["conversation.item.added", "conversation.item.done"]
    assert refusal(say(realtime, "conversation.item.create", item=text_item(id="a")))["code"] == "item_exists"
    top = say(realtime, "conversation.item.create", item=text_item(id="b"), previous_item_id="root")
    assert top.wishes[0].after == ""  # type: ignore[union-attr]
    after = say(realtime, "conversation.item.create", item=text_item(id="c"), previous_item_id="b")
    assert after.wishes[0].after == "b"  # type: ignore[union-attr]
    assert after.events[0]["previous_item_id"] == "b"
    missing = say(realtime, "conversation.item.create", item=text_item(), previous_item_id="z")
    assert refusal(missing)["code"] == "item_not_found"
    assert say(realtime, "conversation.item.delete", item_id="a").wishes == [Forget("a")]
    assert refusal(say(realtime, "conversation.item.retrieve", item_id="a"))["code"] == "item_not_found"
    refusal(say(realtime, "conversation.item.truncate", item_id="b", audio_end_ms=0))


def test_a_call_is_an_item_and_so_is_what_came_of_it() -> None:
    realtime = protocol()
    configure(realtime, tools=[TOOL], tool_choice="required")
    order = realtime.configuration().order
    assert order.tools is not None
    assert [tool.name for tool in order.tools] == ["look"]
    assert order.must_call
    say(realtime, "response.create")
    events = realtime.tell(Called(1, Call(name="look", arguments='{"at": 1}')))
    assert types(events)[2:4] == ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
    call = realtime.over(REPORT)[-1]["response"]["output"][0]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "seen"}
    wish = say(realtime, "conversation.item.create", item=output).wishes[0]
    assert wish.text == "<tool_response>seen</tool_response>"  # type: ignore[union-attr]
    own = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}
    assert say(realtime, "conversation.item.create", item=own).wishes[0].role == "assistant"  # type: ignore[union-attr]


def test_an_answer_beside_the_conversation_leaves_no_item() -> None:
    realtime = protocol()
    say(realtime, "conversation.item.create", item=text_item("one", id="a"))
    asked = [{"type": "item_reference", "id": "a"}, text_item("two")]
    response = {"conversation": "none", "input": asked, "instructions": "Other."}
    received = say(realtime, "response.create", response=response)
    wish = received.wishes[0]
    assert isinstance(wish, AskAside)
    assert wish.messages is not None
    assert [message.content for message in wish.messages] == ["one", "two"]
    assert wish.order.instructions == "Other."
    events = [
        *realtime.tell(Aside(name=wish.name, text="Hm.", samples=TONE)),
        *realtime.tell(Aside(name=wish.name, call=Call(name="look", arguments="{}"))),
        *realtime.tell(Aside(name=wish.name, over=True, usage=Usage(prompt_tokens=2, completion_tokens=1))),
    ]
    assert "conversation.item.added" not in types(events)
    assert events[-1]["response"]["conversation_id"] is None
    assert events[-1]["response"]["usage"]["total_tokens"] == 3
    assert realtime.tell(Aside(name=wish.name, over=True)) == []
    wish = say(realtime, "response.create", response={"conversation": "none"}).wishes[0]
    assert isinstance(wish, AskAside)
    failed = realtime.tell(Aside(name=wish.name, over=True, failure="no"))
    assert failed[-1]["response"]["status"] == "failed"
    refusal(say(realtime, "response.create", response={"input": asked}))


@pytest.mark.parametrize("name", ["audio/pcmu", "audio/pcma"])
def test_the_telephones_formats_come_back_as_they_went(name: str) -> None:
    realtime = protocol()
    shape = {"format": {"type": name}}
    events = configure(realtime, audio={"input": shape, "output": shape}).events
    assert events[0]["session"]["audio"]["input"]["format"] == {"type": name}
    codes = base64.b64encode(bytes(range(256))).decode()
    samples = say(realtime, "input_audio_buffer.append", audio=codes).samples
    assert samples is not None
    realtime.tell(ReplyText(1, "x"))
    back = base64.b64decode(realtime.audio(samples)[-1]["delta"])
    again = say(realtime, "input_audio_buffer.append", audio=base64.b64encode(back).decode()).samples
    assert again is not None
    np.testing.assert_array_equal(again, samples)
    refusal(configure(realtime, audio={"input": {"format": {"type": "audio/pcm"}}}))


def test_written_replies_are_told_as_text() -> None:
    realtime = protocol()
    wish = configure(realtime, output_modalities=["text"]).wishes[0]
    assert isinstance(wish, Configure)
    assert wish.order.written
    events = [*realtime.tell(ReplyText(1, "Hm.")), *realtime.over(REPORT)]
    assert "response.output_text.delta" in types(events)
    assert "response.output_text.done" in types(events)
    assert not [kind for kind in types(events) if "audio" in kind]


@pytest.mark.parametrize(
    "session",
    [
        {"type": "transcription"},
        {"instructions": 5},
        {"output_modalities": ["audio", "text"]},
        {"max_output_tokens": 0},
        {"tools": {}},
        {"tools": [{"type": "mcp"}]},
        {"tools": [{**TOOL, "description": 5}]},
        {"tool_choice": {"type": "function"}},
        {"audio": 5},
        {"audio": {"output": {"speed": 2}}},
        {"audio": {"input": {"format": {"type": "audio/mp3"}}}},
        {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 8000}}}},
        {"audio": {"input": {"turn_detection": {"type": "magic"}}}},
        {"audio": {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "wild"}}}},
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 2}}}},
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "create_response": 1}}}},
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 6000}}}},
    ],
)
def test_a_refused_update_names_what_is_wrong_and_changes_nothing(session: dict[str, Any]) -> None:
    realtime = protocol()
    before = realtime.config
    assert refusal(configure(realtime, **session))["param"].startswith("session.")
    assert realtime.config is before


def test_turn_detection_is_completed_with_what_is_usual() -> None:
    realtime = protocol()
    assert realtime.opened()[0]["session"]["audio"]["input"]["turn_detection"]["type"] == "semantic_vad"
    detection = {"type": "server_vad", "silence_duration_ms": 300, "create_response": False}
    received = configure(realtime, audio={"input": {"turn_detection": detection, "noise_reduction": None}})
    wish = received.wishes[0]
    assert isinstance(wish, Configure)
    assert not wish.answers
    assert received.events[0]["session"]["audio"]["input"]["turn_detection"]["prefix_padding_ms"] == 300
    again = configure(realtime, instructions="Other.").wishes[0]
    assert isinstance(again, Configure)
    assert again.endpointing is None, "the policy goes on where it is"
    choice = configure(realtime, tools=[TOOL], tool_choice="none", max_output_tokens="inf").wishes[0]
    assert isinstance(choice, Configure)
    assert choice.order.tools is None
    named = configure(realtime, tool_choice={"type": "function", "name": "look"}).wishes[0]
    assert isinstance(named, Configure)
    assert named.order.must_call


@pytest.mark.parametrize(
    "message",
    [
        "rubbish",
        "[]",
        b"\xff",
        "[" * 100_000,
        {"type": "weather"},
        {"type": "input_audio_buffer.append", "audio": 5},
        {"type": "input_audio_buffer.append", "audio": "*"},
        {"type": "input_audio_buffer.append", "audio": "AAA="[:2] + "=="},
        {"type": "conversation.item.create", "item": 5},
        {"type": "conversation.item.create", "item": {"type": "mcp_call"}},
        {"type": "conversation.item.create", "item": text_item(id="")},
        {"type": "conversation.item.create", "item": text_item(role="chair")},
        {"type": "conversation.item.create", "item": text_item(content=[])},
        {"type": "conversation.item.create", "item": text_item(content=[{"type": "input_audio", "audio": ""}])},
        {"type": "conversation.item.create", "item": text_item(text=None)},
        {"type": "response.create", "response": {"input": 5, "conversation": "none"}},
        {"type": "response.create", "response": {"metadata": {"a": 5}}},
    ],
)
def test_what_cannot_be_read_is_an_error_and_nothing_else(message: Any) -> None:
    raw = json.dumps(message) if isinstance(message, dict) else message
    received = protocol().receive(raw)
    assert types(received.events) == ["error"]
    assert received.wishes == []


def test_an_error_of_ours_is_told_as_ours() -> None:
    error = protocol().failed("asr_failed", "the recogniser broke")[0]["error"]
    assert (error["type"], error["code"]) == ("server_error", "asr_failed")


def test_what_is_deleted_stays_deleted_when_its_words_are_known() -> None:
    realtime = protocol()
    assert realtime.heard("nobody spoke") == []
    realtime.tell(VoiceBegan(1, 0))
    committed = realtime.tell(ReplyText(1, "x"))[1]
    say(realtime, "conversation.item.delete", item_id=committed["item_id"])
    assert realtime.heard("hi") == []
    assert realtime.tell(VoiceEnded(2, 5)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5000) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def messages(draw: st.DrawFn) -> str:
    """Messages of the right shape, of which some part is anything."""
    detection = {"type": draw(st.sampled_from(["server_vad", "semantic_vad", "x"])), "threshold": draw(JSON)}
    audio = {"input": draw(st.sampled_from([{"turn_detection": None}, {"turn_detection": detection}]))}
    shapes: list[dict[str, Any]] = [
        {"type": "session.update", "session": {"type": "realtime", "audio": audio, "instructions": draw(JSON)}},
        {"type": "input_audio_buffer.append", "audio": draw(st.sampled_from([pcm(3000), "", "*", 5]))},
        {"type": "input_audio_buffer.commit"},
        {"type": "input_audio_buffer.clear"},
        {"type": "conversation.item.create", "item": text_item(id=draw(st.sampled_from(["a", "b", 5])))},
        {"type": "conversation.item.delete", "item_id": draw(st.sampled_from(["a", "b", "z"]))},
        {"type": "conversation.item.retrieve", "item_id": draw(st.sampled_from(["a", "b", "z"]))},
        {"type": "conversation.item.truncate", "item_id": "a", "audio_end_ms": draw(JSON)},
        {"type": "response.create", "response": draw(JSON)},
        {"type": "response.cancel", "response_id": draw(JSON)},
    ]
    message = draw(st.sampled_from(shapes))
    if draw(st.booleans()):
        message = {**message, draw(st.sampled_from(sorted(message))): draw(JSON)}
    return json.dumps(message)


@given(said=st.lists(messages(), max_size=12))
def test_any_message_is_answered_with_events_and_known_wishes(said: list[str]) -> None:
    realtime = protocol()
    ids = [event["event_id"] for event in realtime.opened()]
    for message in said:
        received = realtime.receive(message)
        ids += [event["event_id"] for event in received.events]
        assert json.loads(json.dumps(received.events)) == received.events
        if "error" in types(received.events):
            assert (received.samples, received.wishes) == (None, [])
    assert len(set(ids)) == len(ids)


def test_a_client_may_commit_while_a_detector_listens() -> None:
    realtime = protocol()
    assert realtime.tell(VoiceEnded(1, 5)) == []
    configure(realtime, audio={"input": {"transcription": {"model": "any"}, "turn_detection": dict(SEMANTIC)}})
    started = realtime.tell(VoiceBegan(1, 0))[0]
    say(realtime, "input_audio_buffer.append", audio=pcm(3000))
    received = say(realtime, "input_audio_buffer.commit")
    assert received.events[0]["type"] == "input_audio_buffer.speech_stopped"
    assert received.events[0]["item_id"] == started["item_id"]
    assert types(realtime.heard("")) == ["conversation.item.input_audio_transcription.completed"]


def test_what_was_said_aloud_elsewhere_can_be_told_as_words() -> None:
    part = {"type": "input_audio", "audio": "", "transcript": "hi"}
    wish = say(protocol(), "conversation.item.create", item=text_item(content=[part])).wishes[0]
    assert wish == Write(key=wish.key, role="user", text="hi", after=None)  # type: ignore[arg-type,union-attr]


def test_of_a_very_long_conversation_the_oldest_items_are_forgotten() -> None:
    realtime = protocol()
    for number in range(MOST_ITEMS + 1):
        say(realtime, "conversation.item.create", item=text_item(id=str(number)))
    assert refusal(say(realtime, "conversation.item.retrieve", item_id="0"))["code"] == "item_not_found"
    assert say(realtime, "conversation.item.retrieve", item_id="1").events[0]["item"]["id"] == "1"
