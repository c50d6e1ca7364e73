"""Replies that outlive the server."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation import store as store_module
from turngap.llm.speculation.store import Kept, ReplyStore, fingerprint, fingerprints
from turngap.llm.speculation.stored import Piece, StoredReply

MARK = fingerprint(system="Be brief.", model="local", voice="piper")


def kept(word: str, *, say: str = "Sure.", samples: int = 0) -> Kept:
    pieces = (
        Piece(text=say, samples=np.arange(samples, dtype=np.int16), rate_hz=16_000, words=((3, 5),)),
        Piece(text="", samples=np.zeros(2, np.int16), rate_hz=22_050),
    )
    reply = StoredReply(
        utterances=(word, f"{word} now"), says=(say,), state="menu", intent="go", source="log", spoken={say: pieces}
    )
    return Kept(reply=reply, vectors={word: np.array([0.6, 0.8], np.float32)})


def words(store: ReplyStore) -> list[str]:
    return [each.reply.utterances[0] for each in store.load()]


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    saved = kept("open", samples=1000)
    ReplyStore(tmp_path, MARK).save(saved)
    (loaded,) = ReplyStore(tmp_path, MARK).load()
    assert loaded.reply == saved.reply
    piece, short = loaded.reply.spoken["Sure."]
    assert (piece.text, piece.rate_hz, piece.words, short.rate_hz) == ("Sure.", 16_000, ((3, 5),), 22_050)
    assert np.array_equal(piece.samples, np.arange(1000, dtype=np.int16))
    assert np.allclose(loaded.vectors["open"], [0.6, 0.8])


def test_a_reply_without_audio_and_embeddings_is_kept_too(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, MARK)
    plain = StoredReply(utterances=("open",), says=("Sure.",))
    store.save(Kept(reply=plain))
    (loaded,) = store.load()
    assert (loaded.reply, loaded.vectors) == (plain, {})


def test_a_reply_to_the_same_turns_replaces_the_one_before(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, MARK)
    store.save(kept("open"))
    store.save(kept("open", say="Of course."))
    assert [each.reply.says for each in store.load()] == [("Of course.",)]


@pytest.mark.parametrize(
    "other", [("Be long.", "local", "piper"), ("Be brief.", "vllm", "piper"), ("Be brief.", "local", "x")]
)
def test_nothing_of_another_fingerprint_is_loaded(tmp_path: Path, other: tuple[str, str, str]) -> None:
    system, model, voice = other
    mark = fingerprint(system=system, model=model, voice=voice)
    path = ReplyStore(tmp_path, MARK).save(kept("open"))
    assert words(ReplyStore(tmp_path, mark)) == []
    (tmp_path / mark).mkdir()
    os.replace(path, tmp_path / mark / path.name)  # nor where somebody moved it
    assert words(ReplyStore(tmp_path, mark)) == []


def test_another_format_is_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FORMAT", store_module.FORMAT + 1)
    assert fingerprint(system="Be brief.", model="local", voice="piper") != MARK


def test_a_file_that_was_cut_short_anywhere_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = ReplyStore(tmp_path, MARK)
    path = store.save(kept("open", samples=100))
    store.save(kept("close"))
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert words(store) == ["close"]
        assert str(path) in caplog.text


def test_a_file_with_other_content_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = ReplyStore(tmp_path, MARK)
    path = store.save(kept("open"))
    np.savez(path, about=np.zeros(3, np.uint8))
    assert words(store) == []
    assert "is damaged and left out" in caplog.text


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ReplyStore(tmp_path, MARK)
    store.save(kept("open"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(ConfigurationError, match="cannot be written: No space left on device"):
        store.save(kept("open", say="Of course."))
    assert [each.reply.says for each in store.load()] == [("Sure.",)]
    assert [path.suffix for path in store.folder.iterdir()] == [".npz"]


def test_the_oldest_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, MARK, max_bytes=50_000)
    for age, word in enumerate(("open", "close", "go")):
        path = store.save(kept(word, samples=10_000))
        os.utime(path, ns=(age, age))
    assert words(store) == ["close", "go"]


def test_the_newest_stays_however_large(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, MARK, max_bytes=10)
    store.save(kept("open"))
    assert words(store) == ["open"]


def test_a_store_can_be_cleared(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, MARK)
    store.save(kept("open"))
    (store.folder / "left.part").touch()
    assert fingerprints(tmp_path) == [MARK]
    store.clear()
    assert list(store.folder.iterdir()) == []
    assert fingerprints(tmp_path) == []
