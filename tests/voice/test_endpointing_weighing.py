"""Scores of the policy that weighs evidence."""

import math

from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.patience import Pauses
from turngap.voice.endpointing.protocol import (
    FRAME_SAMPLES,
    VAD_RATE_HZ,
    AgentSaid,
    AgentSpeaks,
    Ask,
    Evidence,
    Fading,
    Floor,
    Frame,
    Onset,
    Pause,
    Reconsidered,
    TurnEnd,
    Words,
)
from turngap.voice.endpointing.weighing import Weighing, Weights

SPEECH_END = 40 * FRAME_SAMPLES
FAR = 1000 * FRAME_SAMPLES


class Score:
    """20 quiet frames, 20 voiced ones, and then whatever is played."""

    def __init__(self, policy: Weighing) -> None:
        self.policy = policy
        self.floors: list[Floor] = []
        self.fades = 0
        self._frames = 0
        self.play(*[0.02] * 20, *[0.95] * 20)

    def play(self, *probabilities: float, level_db: float | None = None) -> list[Floor]:
        settled: list[Floor] = []
        for probability in probabilities:
            self._frames += 1
            end = self._frames * FRAME_SAMPLES
            blocks = end // 160 - (end - FRAME_SAMPLES) // 160
            level = level_db if level_db is not None else -25.0 if probability > 0.5 else -65.0
            floors = self.policy.feed(Frame(end=end, probability=probability, levels_db=(level,) * blocks))
            self.fades += sum(isinstance(floor, Fading) for floor in floors)
            settled += [floor for floor in floors if not isinstance(floor, Fading)]
        self.floors += settled
        return settled

    def fade(self) -> list[Floor]:
        """A frame in which the detector is still sure and it is quiet already."""
        return self.play(0.95, level_db=-65.0)

    def pause(self) -> Pause:
        """Fall silent, and see the pause."""
        (pause,) = (floor for floor in self.play(0.02, 0.02) if isinstance(floor, Pause))
        return pause

    def told(self, evidence: Evidence) -> Reconsidered:
        (floor,) = self.policy.told(evidence)
        assert isinstance(floor, Reconsidered)
        return floor

    def sounds(self, probability: float) -> Reconsidered:
        return self.told(TurnEnd(end=self._frames * FRAME_SAMPLES, probability=probability))


def test_a_voice_fades_once_before_its_pause() -> None:
    score = Score(Weighing(asks=False))
    score.fade()
    score.fade()
    score.pause()
    assert score.fades == 1


def wait_ms(endpoint: int) -> float:
    return (endpoint - SPEECH_END) * 1000 / VAD_RATE_HZ


def test_silence_alone_ends_a_turn_when_a_pause_would_be_over() -> None:
    pause = Score(Weighing(asks=False)).pause()
    assert pause.reason == "silence"
    assert 400 < wait_ms(pause.endpoint) < 800


def test_a_model_that_hears_the_end_ends_the_turn_at_once() -> None:
    score = Score(Weighing())
    pause = score.pause()
    assert score.sounds(0.98).endpoint <= 42 * FRAME_SAMPLES < pause.endpoint


def test_a_model_that_hears_no_end_makes_the_wait_longer_but_never_endless() -> None:
    score = Score(Weighing())
    pause = score.pause()
    long = score.sounds(0.01)
    assert long.endpoint > score.sounds(0.4).endpoint > pause.endpoint
    assert wait_ms(long.endpoint) < 1500
    score = Score(Weighing(longest_ms=700, certainty=0.99))
    score.pause()
    assert wait_ms(score.sounds(0.01).endpoint) == 700


def test_the_model_is_asked_at_the_pause_and_again_while_nothing_is_decided() -> None:
    score = Score(Weighing(again_ms=100))
    score.play(*[0.02] * 12)
    asks = [floor.end for floor in score.floors if isinstance(floor, Ask)]
    assert asks == [(41 + 4 * index) * FRAME_SAMPLES for index in range(3)]
    score.sounds(0.99)
    score.sounds(0.99)
    assert score.play(*[0.02] * 12) == []


def test_the_model_is_asked_while_the_voice_fades_and_its_answer_waits_for_the_pause() -> None:
    score = Score(Weighing())
    (ask,) = score.fade()
    assert ask == Ask(end=41 * FRAME_SAMPLES)
    assert score.policy.told(TurnEnd(end=41 * FRAME_SAMPLES, probability=0.99)) == []
    (pause,) = score.play(0.02)
    assert isinstance(pause, Pause)
    assert pause.endpoint == 42 * FRAME_SAMPLES
    assert pause.reason == "turn end"


def test_what_was_asked_in_the_middle_of_a_word_is_asked_again_at_the_pause() -> None:
    score = Score(Weighing())
    score.fade()
    score.play(0.95, 0.95)
    assert score.policy.told(TurnEnd(end=41 * FRAME_SAMPLES, probability=0.99)) == []
    pause, ask = score.play(0.02)
    assert isinstance(pause, Pause)
    assert pause.reason == "silence"
    assert ask == Ask(end=44 * FRAME_SAMPLES)


def test_an_unfinished_phrase_takes_back_what_sounded_like_an_end() -> None:
    score = Score(Weighing(lexicon=ENGLISH))
    score.pause()
    quick = score.sounds(0.9)
    slow = score.told(Words(end=FAR, text="I would like a"))
    assert slow.endpoint > quick.endpoint
    assert (quick.reason, slow.reason) == ("turn end", "unfinished phrase")


def test_a_yes_that_was_asked_for_is_a_whole_turn() -> None:
    waits = []
    for asked in ("What would you like?", "Do you want milk?"):
        policy = Weighing(lexicon=ENGLISH)
        policy.told(AgentSaid(text=asked))
        score = Score(policy)
        score.pause()
        waits.append(score.told(Words(end=FAR, text="yes")).endpoint)
    assert waits[1] < waits[0]


def test_who_pauses_for_long_is_waited_for() -> None:
    score = Score(Weighing(asks=False))
    first = score.pause()
    for _ in range(3):
        score.play(*[0.02] * 25, *[0.95] * 10)
        score.pause()
    pauses = [floor for floor in score.floors if isinstance(floor, Pause)]
    assert pauses[-1].endpoint - pauses[-1].speech_end > 1.4 * (first.endpoint - first.speech_end)


def test_evidence_that_belongs_to_no_pause_changes_nothing() -> None:
    score = Score(Weighing(lexicon=ENGLISH))
    late = TurnEnd(end=SPEECH_END, probability=0.9)
    assert score.policy.told(late) == score.policy.told(Words(end=FAR, text="yes")) == []
    score.pause()
    score.play(*[0.95] * 10)
    assert score.policy.told(late) == []
    assert score.policy.probability(0) is None
    score.play(0.02, 0.02)
    assert score.policy.told(late) == [], "asked at the pause before"


def test_the_words_of_an_earlier_pause_are_no_evidence_about_this_one() -> None:
    score = Score(Weighing(lexicon=ENGLISH))
    score.pause()
    score.play(*[0.95] * 10)
    score.pause()
    assert score.policy.told(Words(end=42 * FRAME_SAMPLES, text="I would like a")) == []


def test_who_speaks_over_the_agent_has_not_paused_before() -> None:
    waits = []
    for over in (False, True):
        score = Score(Weighing(asks=False))
        score.pause()
        score.play(*[0.02] * 26)
        score.policy.told(AgentSpeaks(speaks=over))
        score.play(*[0.95] * 10)
        pause = score.pause()
        waits.append(pause.endpoint - pause.speech_end)
    assert waits[0] > waits[1]


def test_without_a_lexicon_words_are_no_evidence() -> None:
    score = Score(Weighing())
    score.pause()
    assert score.policy.told(Words(end=FAR, text="I would like a")) == []


def test_the_end_of_the_audio_ends_the_turn() -> None:
    score = Score(Weighing())
    end = 40 * FRAME_SAMPLES
    assert score.policy.end() == [Pause(speech_end=end, endpoint=end, reason="end of audio")]
    assert score.policy.end() == []


def test_over_the_agents_voice_a_single_frame_counts() -> None:
    policy = Weighing()
    policy.told(AgentSpeaks(speaks=True))
    frame = Frame(end=FRAME_SAMPLES, probability=0.9, levels_db=(-20.0,) * 3)
    assert policy.feed(frame) == [Onset(start=0)]


def test_a_pause_that_nobody_ends_is_over_some_day() -> None:
    score = Score(Weighing(longest_ms=500))
    score.pause()
    assert score.play(*[0.02] * 40)[-1:] != [Ask(end=82 * FRAME_SAMPLES)]
    assert score.policy.probability(0) is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.5, 0.99))
def test_the_likelier_the_end_the_sooner_and_the_probability_says_so(
    one: float, other: float, certainty: float
) -> None:
    waits, chances = [], []
    for probability in sorted((one, other)):
        score = Score(Weighing(certainty=certainty))
        score.pause()
        found = score.sounds(probability)
        waits.append(found.endpoint)
        chances.append(found.probability)
    assert waits[0] >= waits[1]
    assert chances[0] <= chances[1]


def test_the_endpoint_is_where_the_probability_reaches_the_certainty() -> None:
    policy = Weighing(certainty=0.7, weights=Weights(alone=-1), pauses=Pauses(median_ms=400))
    pause = Score(policy).pause()
    assert pause.probability is not None
    assert pause.probability < 0.7
    at = policy.probability(pause.endpoint)
    assert at is not None
    assert math.isclose(at, 0.7, abs_tol=0.001)
