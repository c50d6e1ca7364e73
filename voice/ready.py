"""The audio of replies that are known in advance: made once, kept with them, and given back to the voice."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import numpy as np

from turngap.budget.errors import ConfigurationError
from turngap.budget.marks import Span, Stage
from turngap.llm.clause import spoken
from turngap.llm.speculation.reply_file import read_replies
from turngap.llm.speculation.store import Kept, ReplyStore, fingerprints
from turngap.llm.speculation.stored import Piece, StoredReply
from turngap.voice.audio.pcm import FULL_SCALE
from turngap.voice.tts.memory import Remembering
from turngap.voice.tts.protocol import Speech, Synthesizer, WordEnd


def kept_replies(path: Path, mark: str) -> list[Kept]:
    """The replies of a file, or those of a folder that were built for ``mark``: for one system prompt, model and voice.

    Raises ConfigurationError where the folder has none of these.
    """
    if not path.is_dir():
        return [Kept(reply=reply) for reply in read_replies(path)]
    found = list(ReplyStore(path, mark).load())
    if not found:
        others = len(fingerprints(path))
        raise ConfigurationError(
            f"{path} has no replies for this system prompt, model and voice"
            + (f", only for {others} other such settings" if others else ""),
            remedy=f"Run, with the settings of the server: turngap replies build FILE --to {path}",
        )
    return found


async def speak(reply: StoredReply, voice: Synthesizer) -> StoredReply:
    """``reply`` with the audio of everything that it may say. Raises StageError."""
    return replace(
        reply, spoken={say: tuple([await _speak_clause(each, voice) for each in spoken(say)]) for say in reply.says}
    )


async def learn(reply: StoredReply, voice: Remembering) -> None:
    """Have ``voice`` remember how all of ``reply`` sounds; what is not kept with it is made. Raises StageError."""
    for say in reply.says:
        for piece in reply.spoken.get(say, ()):
            if piece.rate_hz == voice.rate_hz:
                voice.remember(piece.text, (_speech(piece),))
        for clause in spoken(say):
            await voice.learn(clause)


async def _speak_clause(text: str, voice: Synthesizer) -> Piece:
    async with aclosing(voice.speak(text)) as speaking:
        speeches = [speech async for speech in speaking]
    samples = np.concatenate([np.zeros(0, np.float32), *(speech.samples for speech in speeches)])
    return Piece(
        text=text,
        samples=np.rint(np.clip(samples, -1.0, 1.0) * (FULL_SCALE - 1.0)).astype(np.int16),
        rate_hz=voice.rate_hz,
        words=tuple((word.chars, word.samples) for speech in speeches for word in speech.words),
    )


def _speech(piece: Piece) -> Speech:
    return Speech(
        samples=piece.samples.astype(np.float32) / np.float32(FULL_SCALE),
        span=Span(stage=Stage.TTS, start=0, end=0, what="stored"),
        words=tuple(WordEnd(chars=chars, samples=samples) for chars, samples in piece.words),
    )
