"""Media Streams as data: what Twilio says, and what it is sent."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from turngap.budget.errors import ClientError
from turngap.voice.protocols.twilio import Marked, Media, Pressed, Started, Stopped, TwilioProtocol

START = {"event": "start", "streamSid": "MZ1", "start": {"mediaFormat": {"encoding": "audio/x-mulaw"}}}


def started() -> TwilioProtocol:
    protocol = TwilioProtocol()
    assert protocol.read(json.dumps(START)) == Started("MZ1")
    return protocol


def media(payload: bytes, **fields: Any) -> str:
    return json.dumps({"event": "media", "media": {"payload": base64.b64encode(payload).decode(), **fields}})


def test_a_call_is_read_from_start_to_stop() -> None:
    protocol = started()
    assert protocol.read('{"event": "connected"}') is None
    heard = protocol.read(media(b"\xff\x00" * 80))
    assert isinstance(heard, Media)
    assert len(heard.samples) == 160
    assert protocol.read(media(b"", track="outbound")) is None
    assert protocol.read('{"event": "dtmf", "dtmf": {"digit": "5"}}') == Pressed("5")
    assert protocol.read('{"event": "mark", "mark": {"name": "m"}}') == Marked("m")
    assert protocol.read('{"event": "stop"}') == Stopped()


def test_what_is_sent_names_the_stream_and_comes_back() -> None:
    protocol = started()
    samples = np.linspace(-0.9, 0.9, 160).astype(np.float32)
    sent = json.loads(protocol.media(samples))
    assert sent["streamSid"] == "MZ1"
    heard = protocol.read(json.dumps({**sent, "media": {**sent["media"], "track": "inbound"}}))
    assert isinstance(heard, Media)
    np.testing.assert_allclose(heard.samples, samples, atol=0.03)
    assert json.loads(protocol.mark("turn 1"))["mark"] == {"name": "turn 1"}
    assert json.loads(protocol.clear()) == {"event": "clear", "streamSid": "MZ1"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("rubbish", "not_json"),
        ('{"event": "weather"}', "unknown_event"),
        (json.dumps(START), "late_start"),
        ('{"event": "media"}', "bad_media"),
        ('{"event": "media", "media": {"payload": "*"}}', "bad_payload"),
        ('{"event": "media", "media": {"payload": 5}}', "bad_payload"),
        ('{"event": "dtmf", "dtmf": {"digit": "X"}}', "bad_dtmf"),
    ],
)
def test_what_cannot_be_read_is_refused(message: str, code: str) -> None:
    with pytest.raises(ClientError) as refused:
        started().read(message)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (media(b""), "early_media"),
        (json.dumps({"event": "start", "start": {}}), "bad_start"),
        (json.dumps({**START, "start": {"mediaFormat": {"encoding": "opus"}}}), "bad_format"),
    ],
)
def test_a_call_begins_with_its_start(message: str, code: str) -> None:
    with pytest.raises(ClientError) as refused:
        TwilioProtocol().read(message)
    assert refused.value.code == code
