"""The page's pure parts: their own tests, run by node, and whether they count as the server's reports do."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turngap.budget import percentiles
from turngap.budget.report import bars
from turngap.voice.client.heard import listen
from turngap.voice.client.recording import read
from turngap.voice.client.truth import Utterance, last_voiced_s
from turngap.voice.models.store import find

NODE = shutil.which("node")
HERE = Path(__file__).parent / "web"
RATE = 8_000

pytestmark = pytest.mark.skipif(NODE is None, reason="the page's parts are tested by node, and there is none")


def node(*arguments: str, told: str = "") -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    return subprocess.run([NODE, *arguments], input=told, capture_output=True, text=True, check=False, timeout=60)


def answers(questions: list[dict[str, Any]]) -> list[Any]:
    done = node(str(HERE / "agree.mjs"), told=json.dumps(questions))
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_the_parts_pass_their_own_tests() -> None:
    files = sorted(str(file) for file in HERE.glob("*.test.mjs"))
    done = node("--test", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout, "there were none"


def test_percentiles_are_those_of_the_server() -> None:
    chance = random.Random(1)
    cases = [[chance.uniform(0.6, 900) for _ in range(chance.randrange(60))] for _ in range(200)]
    ranks = [chance.choice(percentiles.RANKS) for _ in cases]
    found = answers(
        [{"ask": "figure", "values": values, "rank": rank} for values, rank in zip(cases, ranks, strict=True)]
    )
    for values, rank, shown in zip(cases, ranks, found, strict=True):
        value = percentiles.percentile(sorted(values), rank) if values else None
        assert shown == percentiles.figure(value, rank, len(values))


def test_figures_are_rounded_as_in_the_terminal() -> None:
    chance = random.Random(2)
    cases = [[chance.uniform(0, 500) for _ in range(8)] for _ in range(200)]
    assert answers([{"ask": "apportion", "values": values} for values in cases]) == [
        bars.apportion(each) for each in cases
    ]


def test_a_reply_is_heard_where_the_client_hears_it() -> None:
    chance = random.Random(3)
    user = Utterance(start_s=0.5, end_s=1.5)
    tracks = [agent_track(chance) for _ in range(24)]
    voice = np.zeros(RATE * 3, np.float32)
    voice[RATE // 2 : RATE * 3 // 2] = 0.2
    questions = [
        {"ask": "measure", "rate": RATE, "user": voice.tolist(), "agent": each.tolist(), "onset_s": 0.5, "end_s": 1.5}
        for each in tracks
    ]
    for track, found in zip(tracks, answers(questions), strict=True):
        (heard,) = listen(track, RATE, [user])
        assert found["timingGapMs"] == (None if heard.gap_ms is None else pytest.approx(heard.gap_ms, abs=0.001))


def agent_track(chance: random.Random) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Three seconds with some stretches of sound, at levels about that which is just audible and above."""
    track = np.zeros(RATE * 3, np.float32)
    for _ in range(chance.randrange(4)):
        start = chance.randrange(len(track))
        length = chance.randrange(RATE)
        noise = np.random.default_rng(chance.randrange(1000)).normal(0, chance.choice((0.001, 0.006, 0.1)), length)
        track[start : start + length] = noise[: len(track) - start]
    return track


@pytest.mark.model("recordings")
def test_the_last_voiced_sample_of_a_person_is_found_where_the_client_finds_it() -> None:
    recording = read(find("recordings") / "goforward.raw")
    near = 2.5
    true = last_voiced_s(recording.mono, recording.rate_hz, near_s=near)
    assert true is not None
    user = recording.mono.tolist()
    question = {"ask": "measure", "rate": recording.rate_hz, "user": user, "agent": [0.0] * len(user)}
    (found,) = answers([{**question, "onset_s": 0.5, "end_s": near}])
    assert near - found["speechEndErrorMs"] / 1000 == pytest.approx(true, abs=0.0301)
