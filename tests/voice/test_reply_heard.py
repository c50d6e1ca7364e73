"""Which words of a reply were heard, clause by clause."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import pytest

from turngap.voice.events import DraftId
from turngap.voice.reply import Reply
from turngap.voice.tts.protocol import Speech
from turngap.voice.tts.tone import ToneSynthesizer

WORD = 480
"""Samples of one word of a tone at 8 kHz."""


class Wordless(ToneSynthesizer):
    """A tone that does not know where its words end."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        async with aclosing(super().speak(text)) as speaking:
            async for speech in speaking:
                yield replace(speech, words=())


def said(voice: ToneSynthesizer, *texts: str) -> Reply:
    reply = Reply(DraftId(turn=1, revision=1, attempt=1), voice, clock=lambda: 0)

    async def speak() -> None:
        for text in texts:
            await reply.say(text)

    asyncio.run(speak())
    return reply


@pytest.mark.parametrize(
    ("words", "heard"),
    [
        (0, ""),
        (0.7, ""),
        (0.8, "Internationally,"),
        (2, "Internationally, a"),
        (3, "Internationally, a b"),
        (5, "Internationally, a b So it"),
        (9, "Internationally, a b So it is."),
    ],
)
def test_words_are_kept_as_far_as_they_were_heard(words: float, heard: str) -> None:
    reply = said(ToneSynthesizer(clock=lambda: 0, rate_hz=8000), "Internationally, a b", "So it is.")
    assert reply.heard(round(words * WORD)) == heard


def test_a_voice_that_knows_no_words_is_taken_to_run_evenly_over_the_letters() -> None:
    reply = said(Wordless(clock=lambda: 0, rate_hz=8000), "Internationally, a b")
    assert [reply.heard(count * WORD) for count in (1, 2, 3)] == ["", "Internationally,", "Internationally, a b"]


def test_of_a_clause_that_was_broken_off_no_word_is_kept_that_was_not_made() -> None:
    async def break_off() -> Reply:
        reply = Reply(DraftId(turn=1, revision=1, attempt=1), tone, clock=lambda: 0)
        for _ in range(64):  # as much as the queue takes
            reply.audio.put_nowait(None)
        speaking = asyncio.ensure_future(reply.say("One two three"))
        await asyncio.sleep(0)
        speaking.cancel()
        await asyncio.wait([speaking])
        return reply

    tone = ToneSynthesizer(clock=lambda: 0, rate_hz=8000)
    assert asyncio.run(break_off()).heard(9 * WORD) == "One"
