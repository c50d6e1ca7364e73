"""Replies that are kept with their audio: the voice says them again without having to make them."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.store import Kept, ReplyStore
from turngap.llm.speculation.stored import StoredReply
from turngap.voice import ready
from turngap.voice.tts.memory import Remembering
from turngap.voice.tts.protocol import Speech
from turngap.voice.tts.tone import ToneSynthesizer

REPLY = StoredReply(utterances=("a tea",), says=("Coming up. Anything else?", "Sure."))


class Mute(ToneSynthesizer):
    """A voice that must not be asked."""

    def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        raise AssertionError(f"asked to say {text!r}")


def voice(kind: type[ToneSynthesizer] = ToneSynthesizer, *, rate_hz: int = 24_000) -> Remembering:
    return Remembering(kind(clock=lambda: 0, rate_hz=rate_hz), clock=lambda: 0)


def test_a_reply_that_was_kept_sounds_as_it_did(tmp_path: Path) -> None:
    async def both() -> None:
        made = voice()
        spoken = await ready.speak(REPLY, made)
        ReplyStore(tmp_path, "mark").save(Kept(reply=spoken))
        (kept,) = ready.kept_replies(tmp_path, "mark")
        again = voice(Mute)
        await ready.learn(kept.reply, again)
        for clause in ("Coming up.", "Anything else?", "Sure."):
            (one,) = again.known(clause) or ()
            other = [speech async for speech in made.speak(clause)]
            assert np.allclose(one.samples, np.concatenate([each.samples for each in other]), atol=1e-4)
            assert one.words == tuple(word for each in other for word in each.words)

    asyncio.run(both())


def test_audio_of_another_rate_is_made_anew() -> None:
    async def learn() -> None:
        spoken = await ready.speak(REPLY, voice(rate_hz=8_000))
        other = voice(rate_hz=24_000)
        await ready.learn(spoken, other)
        assert sum(len(speech.samples) for speech in other.known("Sure.") or ()) == 24_000 * 60 // 1000

    asyncio.run(learn())


def test_replies_of_other_settings_are_refused(tmp_path: Path) -> None:
    ReplyStore(tmp_path, "mark").save(Kept(reply=REPLY))
    with pytest.raises(ConfigurationError, match="only for 1 other such settings"):
        ready.kept_replies(tmp_path, "another")
