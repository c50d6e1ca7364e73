"""Real clients of the Realtime protocol, as they come from the package index, hold a conversation with human speech."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from turngap.voice.audio.pcm import to_pcm16
from turngap.voice.audio.resample import Resampler
from turngap.voice.client.recording import read
from turngap.voice.models.store import find

TESTS = Path(__file__).parent.parent
LONG: Final = " ".join(f"word{number}" for number in range(1, 201))
SHORT: Final = "You are very welcome, come again."
CALL: Final = '<tool_call>{"name": "get_time", "arguments": {"city": "Oslo"}}</tool_call>'
REPLIES: Final = (LONG, SHORT, CALL, "It is noon there.")
# The words are scripted: on a machine that is busy with other tests a recogniser may need longer than a reply lasts,
# and then nobody is interrupted. The voice is a person's, and a detector hears it.
SERVER: Final = {
    "llm": "scripted?reply=" + "|".join(REPLIES),
    "asr": "scripted?text=go forward ten meters",
    "endpointing": "vad",
    "speculation": "none",
    "max_tokens": "500",
    "token": "secret",
    "deadline": "30000",
}
WORD_SAMPLES: Final = 24 * 60
"""Of the fake voice, at 24 kHz."""


@contextmanager
def serving(**settings: str) -> Iterator[str]:
    """A server in a process of its own; its Realtime URL."""
    words = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, str(TESTS / "realtime_server.py"), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            yield server.stdout.readline().strip().replace("/v1/pcm", "/v1/realtime")
        finally:
            server.stdin.close()
            server.wait(30)


def recording(folder: Path) -> Path:
    """A person who says "go forward ten metres", as PCM16 at 24 kHz."""
    audio = read(find("recordings") / "goforward.raw").mono
    resampler = Resampler(16_000, 24_000)
    file = folder / "speech.pcm"
    file.write_bytes(to_pcm16(resampler.feed(audio)) + to_pcm16(resampler.flush()))
    return file


def held(client: str, folder: Path) -> list[dict[str, Any]]:
    """What this client has seen and done."""
    sys.path.insert(0, str(TESTS.parent / "scripts"))
    try:
        import realtime_clients
    finally:
        sys.path.pop(0)
    python = realtime_clients.made(client)
    if python is None:
        pytest.skip(f"scripts/realtime_clients.py {client} has not been run")
    with serving(**SERVER) as url:
        command = [str(python), str(TESTS / "clients" / f"{client}_client.py"), url, str(recording(folder))]
        run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return [json.loads(line) for line in run.stdout.splitlines()]


def until(events: Sequence[dict[str, Any]], did: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What came before the client did that, and what came after."""
    at = next(place for place, event in enumerate(events) if event.get("did") == did)
    return list(events[:at]), list(events[at + 1 :])


def order(events: Sequence[dict[str, Any]]) -> list[str]:
    """The types of the events, each stretch of the same one once."""
    types = [event["type"] for event in events if "type" in event]
    return [kind for place, kind in enumerate(types) if not place or types[place - 1] != kind]


BEGINNING: Final = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
]
END: Final = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
]


@pytest.mark.socket
@pytest.mark.model("silero-vad", "recordings")
def test_openai_python_talks_interrupts_truncates_and_calls(tmp_path: Path) -> None:
    events = held("openai", tmp_path)
    first, rest = until(events, "speak over the reply")
    assert order(first)[: 2 + len(BEGINNING)] == ["session.created", "session.updated", *BEGINNING]
    assert "go forward" in transcript(first).lower()

    interrupted, rest = until(rest, "listen to the second reply")
    ending = order(interrupted)
    assert ending.index("input_audio_buffer.speech_started") < ending.index("response.done")
    done = of(interrupted, "response.done")
    assert done["response"]["status"] == "cancelled"
    assert done["response"]["status_details"]["reason"] == "turn_detected"
    cut = of(interrupted, "conversation.item.retrieved")["item"]["content"][0]["transcript"]
    assert cut == " ".join(LONG.split()[:10]), "600 ms are ten words of 60 ms"

    second, rest = until(rest, "count")
    assert order(second)[-len(END) :] == END
    assert of(second, "response.done")["response"]["status"] == "completed"
    assert of(second, "response.output_audio_transcript.done")["transcript"] == SHORT
    counted = next(event["samples"] for event in events if event.get("did") == "count")
    assert counted == len(SHORT.split()) * WORD_SAMPLES

    called, failed = until(until(rest, "call")[1], "err")
    assert of(called, "response.created")["response"]["metadata"] == {"mine": "1"}
    assert json.loads(of(called, "response.function_call_arguments.done")["arguments"]) == {"city": "Oslo"}
    assert of(called, "response.output_audio_transcript.done")["transcript"] == "It is noon there."
    assert of(failed, "error")["error"]["code"] == "response_cancel_not_active"
    aside = of(failed, "response.done")["response"]
    assert aside["conversation_id"] is None
    assert aside["output"][0]["content"][0]["text"] == LONG, "a conversation of its own begins the script anew"
    for done in (event["response"] for event in events if event.get("type") == "response.done"):
        usage = done["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert usage["input_tokens"] > 0
        if done["conversation_id"] is not None and done["output"][0]["type"] == "message":  # a call has no gap
            assert float(done["metadata"]["turngap_gap_ms"]) >= 0


def of(events: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The first event of that type."""
    return next(event for event in events if event.get("type") == kind)


def transcript(events: Sequence[dict[str, Any]]) -> str:
    return str(of(events, "conversation.item.input_audio_transcription.completed")["transcript"])
