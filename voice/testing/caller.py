"""One recording played to an agent, for a test."""

from dataclasses import replace
from pathlib import Path

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError
from turngap.voice.client import options
from turngap.voice.client.clips import prepare
from turngap.voice.client.conversation import Conversation
from turngap.voice.client.line import complete
from turngap.voice.client.replay import files, no_end
from turngap.voice.testing.played import Played


async def converse(
    recording: Path, *, url: str, token: str | None, speech_end_s: float | None, patience_s: float
) -> Played:
    """Play ``recording`` in a conversation of its own. Raises ConfigurationError for what cannot be played."""
    (clip,) = files(recording)
    if speech_end_s is not None:
        clip = replace(clip, speech_end_s=speech_end_s)
    detector = options.detector()
    ready = prepare(clip, detector, turns=True)
    if not ready.users:
        raise ConfigurationError(f"no end of speech is known in {recording}", remedy=no_end(detector))
    conversation = Conversation([ready])
    await conversation.hold(complete(url), clock=monotonic, token=token, patience_s=patience_s)
    return Played(turns=tuple(conversation.records()))
