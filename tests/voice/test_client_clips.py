"""Reading recordings and manifests, and what is made ready before a clip is played."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError
from turngap.voice.client.clips import Clip, collect, prepare
from turngap.voice.client.recording import read, write_mono, write_stereo
from turngap.voice.client.truth import Detector

RATE_HZ = 16_000


def loud_is_voice() -> Detector:
    """A detector for made-up recordings: whatever is loud is a voice."""

    def detect(frame: NDArray[np.float32]) -> float:
        return 0.9 if np.sqrt(np.mean(np.square(frame))) > 0.02 else 0.1

    return detect


def spoken(*loud_s: tuple[float, float], seconds: float) -> NDArray[np.float32]:
    generator = np.random.default_rng(1)
    track = (generator.standard_normal(round(seconds * RATE_HZ)) * 0.001).astype(np.float32)
    for start, end in loud_s:
        track[round(start * RATE_HZ) : round(end * RATE_HZ)] *= 100
    return track


def test_raw_files_are_sixteen_kilohertz_mono(tmp_path: Path) -> None:
    path = tmp_path / "speech.raw"
    path.write_bytes(np.array([0, 16384, -32768], "<i2").tobytes())
    recording = read(path)
    assert recording.rate_hz == RATE_HZ
    assert recording.mono.tolist() == [0.0, 0.5, -1.0]


def test_stereo_is_mixed_unless_it_is_to_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "both.wav"
    write_stereo(path, user=np.full(100, 0.5, np.float32), agent=np.full(160, 0.25, np.float32), rate_hz=RATE_HZ)
    kept = read(path, keep_stereo=True)
    assert kept.channels == 2
    assert len(kept.samples) == 160
    assert kept.samples[0].tolist() == pytest.approx([0.5, 0.25], abs=1e-4)
    assert kept.samples[-1].tolist() == pytest.approx([0.0, 0.25], abs=1e-4)
    assert read(path).samples[0].tolist() == pytest.approx([0.375], abs=1e-4)


@pytest.mark.parametrize(("rate_hz", "sent_hz"), [(4_000, 8_000), (11_025, 11_025), (96_000, 48_000)])
def test_rates_that_no_server_takes_are_converted(tmp_path: Path, rate_hz: int, sent_hz: int) -> None:
    write_mono(tmp_path / "odd.wav", np.zeros(rate_hz, np.float32), rate_hz)
    recording = read(tmp_path / "odd.wav")
    assert recording.rate_hz == sent_hz
    assert recording.seconds == pytest.approx(1.0)


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("not audio")
    (tmp_path / "empty.raw").write_bytes(b"")
    (tmp_path / "odd.raw").write_bytes(b"abc")
    for name, reason in (("notes.wav", "cannot be read"), ("empty.raw", "no audio"), ("odd.raw", "cannot be read")):
        with pytest.raises(ConfigurationError, match=rf"{name}.*{reason}"):
            read(tmp_path / name)


def test_a_folder_without_a_manifest_gives_all_its_recordings(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.wav", "deep/a.flac"):
        soundfile.write(tmp_path / name, np.zeros(10), RATE_HZ)
    (tmp_path / "notes.txt").write_text("no recording")
    assert [clip.name for clip in collect(tmp_path)] == ["b.wav", "deep/a.flac"]
    assert [clip.name for clip in collect(tmp_path, limit=1)] == ["b.wav"]
    assert [clip.name for clip in collect(tmp_path / "b.wav")] == ["b.wav"]


def test_a_manifest_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.jsonl"
    for text, reason in (
        ("{", "line 1 .* is not JSON"),
        ("\n[1]", "line 2 .* names no file"),
        ('{"file": "a.wav", "set": "x"}', "no recordings in set y .*It has: x"),
        ('{"file": "a.wav"}', "It names no sets"),
    ):
        manifest.write_text(text)
        with pytest.raises(ConfigurationError, match=f"(?s){reason}"):
            collect(manifest, chosen_set="y")
    with pytest.raises(ConfigurationError, match=r"absent\.jsonl cannot be read"):
        collect(tmp_path / "absent.jsonl")
    (tmp_path / "bare").mkdir()
    with pytest.raises(ConfigurationError, match="there are no recordings in"):
        collect(tmp_path / "bare")


def test_labels_and_references_come_with_the_clip(tmp_path: Path) -> None:
    row = {"file": "a.wav", "set": "speech/x", "speech_end_s": 1.5, "text": "one two"}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(row))
    assert collect(tmp_path, chosen_set="x") == [
        Clip(path=tmp_path / "a.wav", name="a", speech_end_s=1.5, text="one two")
    ]


def test_turns_are_found_where_there_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "dialogue.wav"
    write_mono(path, spoken((0.5, 1.5), (4.0, 5.0), seconds=7.0), RATE_HZ)
    clip = Clip(path=path, name="dialogue")
    several = prepare(clip, loud_is_voice, turns=True)
    one = prepare(clip, loud_is_voice, turns=False)
    assert [round(user.end_s, 2) for user in several.users] == [1.5, 5.0]
    assert [round(user.end_s, 2) for user in one.users] == [5.0]
    assert one.quiet is not None
    assert np.abs(one.quiet).max() < 0.01
    assert one.speech_end_s == several.speech_end_s


def test_a_label_needs_no_detector_and_without_either_no_end_is_known(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    write_mono(path, spoken((0.5, 1.5), seconds=4.0), RATE_HZ)
    labelled = prepare(Clip(path=path, name="clip", speech_end_s=1.49), None, turns=True)
    unknown = prepare(Clip(path=path, name="clip"), None, turns=True)
    assert labelled.speech_end_s == 1.49
    assert (unknown.users, unknown.speech_end_s, unknown.quiet) == ((), None, None)
    assert unknown.quiet_at_rate(8_000) is None


def test_a_clip_is_made_to_fit_the_line(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    write_mono(path, spoken((0.5, 1.5), seconds=4.0), RATE_HZ)
    ready = prepare(Clip(path=path, name="clip"), loud_is_voice, turns=False)
    assert ready.at_rate(8_000, 2).shape == (32_000, 2)
    assert ready.at_rate(RATE_HZ, 1).shape == (64_000, 1)
    quiet = ready.quiet_at_rate(8_000)
    assert quiet is not None
    assert len(quiet) == pytest.approx(8_000 * 2, rel=0.2)
