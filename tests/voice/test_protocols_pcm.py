"""What the messages of the raw PCM protocol mean."""

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.errors import ClientError
from turngap.voice.protocols.pcm import Audio, End, PcmProtocol, Start


def test_without_a_start_audio_is_16_khz_mono() -> None:
    protocol = PcmProtocol()
    audio = protocol.read(np.array([16384, -16384], "<i2").tobytes())
    assert isinstance(audio, Audio)
    assert audio.samples.tolist() == [0.5, -0.5]
    assert protocol.start == Start(rate_hz=16_000, channels=1, events=frozenset())


def test_a_start_says_how_audio_is_read() -> None:
    protocol = PcmProtocol()
    text = json.dumps({"type": "start", "sample_rate": 48_000, "channels": 2, "events": ["turn"]})
    assert protocol.read(text) == Start(rate_hz=48_000, channels=2, events=frozenset({"turn"}))
    audio = protocol.read(np.array([16384, 0], "<i2").tobytes())
    assert isinstance(audio, Audio)
    assert audio.samples.tolist() == [0.25]


def test_a_start_may_leave_everything_out() -> None:
    assert PcmProtocol().read('{"type": "start"}') == Start()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("hello", "not_json"),
        ("[1, 2]", "not_json"),
        ('{"type": "sing"}', "unknown_type"),
        ("{}", "unknown_type"),
        ('{"type": "start", "sample_rate": 3}', "bad_sample_rate"),
        ('{"type": "start", "sample_rate": 1000000000}', "bad_sample_rate"),
        ('{"type": "start", "sample_rate": "16000"}', "bad_sample_rate"),
        ('{"type": "start", "sample_rate": true}', "bad_sample_rate"),
        ('{"type": "start", "channels": 6}', "bad_channels"),
        ('{"type": "start", "events": ["weather"]}', "bad_events"),
        ('{"type": "start", "events": "turn"}', "bad_events"),
        (b"\0\0\0", "odd_bytes"),
    ],
)
def test_what_may_not_be_said_is_named_and_changes_nothing(message: str | bytes, code: str) -> None:
    protocol = PcmProtocol()
    with pytest.raises(ClientError) as caught:
        protocol.read(message)
    assert caught.value.code == code
    assert caught.value.remedy
    assert protocol.read('{"type": "start", "sample_rate": 8000}') == Start(rate_hz=8000)


def test_a_second_start_and_one_after_audio_are_late() -> None:
    for first in ('{"type": "start"}', b"\0\0"):
        protocol = PcmProtocol()
        protocol.read(first)
        with pytest.raises(ClientError) as caught:
            protocol.read('{"type": "start"}')
        assert caught.value.code == "late_start"


def test_nothing_comes_after_the_end() -> None:
    protocol = PcmProtocol()
    assert protocol.read('{"type": "end"}') == End()
    with pytest.raises(ClientError, match="after 'end'"):
        protocol.read(b"\0\0")


scalars = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(st.one_of(st.text(), st.binary(), values.map(json.dumps)))
def test_whatever_a_client_sends_is_read_or_refused(message: str | bytes) -> None:
    with suppress(ClientError):
        PcmProtocol().read(message)
