"""The plain policy: the turn is over when the voice has been gone for a fixed time.

The hangover counts from where the voice really ended (see :mod:`turngap.voice.endpointing.voicing`), not from where
that was noticed.
"""

from typing import Final

from turngap.voice.endpointing.protocol import VAD_RATE_HZ, AgentSpeaks, Evidence, Fading, Floor, Frame, Onset, Pause
from turngap.voice.endpointing.voicing import Gone, Voicing

HANGOVER_MS: Final = 400.0
"""People pause for 330 to 380 ms in the middle of an order, and the voice that goes on is noticed 40 ms later. Until
then no reply may be heard; made it may be, so that the wait costs nothing where a reply takes as long. Of 51 orders
200 ms cut three short and 400 ms two, at median gaps of 480 and 510 ms."""


class Hangover:
    """The turn is over when the voice has been gone for ``hangover_ms``."""

    def __init__(self, *, hangover_ms: float = HANGOVER_MS, voicing: Voicing | None = None) -> None:
        self._hangover = round(hangover_ms * VAD_RATE_HZ / 1000)
        self._voicing = Voicing() if voicing is None else voicing

    def feed(self, frame: Frame) -> list[Floor]:
        """Onsets and pauses that this frame settles."""
        found = self._voicing.feed(frame)
        if isinstance(found, Gone):
            return [self._pause(found, self._hangover, "hangover")]
        if isinstance(found, Onset):
            return [found]
        return [Fading(end=frame.end)] if self._voicing.began_to_fade else []

    def told(self, evidence: Evidence) -> list[Floor]:
        """Nothing follows from what is told, but who speaks."""
        if isinstance(evidence, AgentSpeaks):
            self._voicing.contested = evidence.speaks
        return []

    def end(self) -> list[Floor]:
        """No audio comes any more, for now at least: a voice that was there has paused, and its turn is over."""
        gone = self._voicing.end()
        return [] if gone is None else [self._pause(gone, 0, "end of audio")]

    def _pause(self, gone: Gone, hangover: int, reason: str) -> Pause:
        endpoint = max(gone.noticed, gone.speech_end + hangover)
        self._voicing.hold_open(endpoint)
        return Pause(speech_end=gone.speech_end, endpoint=endpoint, reason=reason)
