"""Scores of the plain endpointing policy."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, AgentSaid, AgentSpeaks, Fading, Floor, Frame, Onset, Pause
from turngap.voice.endpointing.voicing import Levels

BLOCK = 160
QUIET, LOUD = -65.0, -25.0


def frames(probabilities: list[float], *, loud_until: int | None = None) -> list[Frame]:
    """Frames whose blocks are loud up to sample ``loud_until``, or where the probability is high."""
    found = []
    for index, probability in enumerate(probabilities):
        start, end = index * FRAME_SAMPLES, (index + 1) * FRAME_SAMPLES
        ends = [block * BLOCK for block in range(start // BLOCK + 1, end // BLOCK + 1)]
        loud = [at <= loud_until if loud_until is not None else probability > 0.5 for at in ends]
        levels = tuple(
            LOUD if is_loud and at > 20 * FRAME_SAMPLES else QUIET for at, is_loud in zip(ends, loud, strict=True)
        )
        found.append(Frame(end=end, probability=probability, levels_db=levels))
    return found


def hear(policy: Hangover, *, of: list[Frame]) -> list[Floor]:
    return [floor for frame in of for floor in policy.feed(frame) if not isinstance(floor, Fading)]


SILENCE = [0.05] * 20
SPEECH = [0.9] * 30


def test_a_voice_that_turns_quiet_is_said_to_fade_once_before_it_pauses() -> None:
    of = frames([*SILENCE, *SPEECH, 0.9, 0.9, 0.05, 0.05], loud_until=50 * FRAME_SAMPLES)
    policy = Hangover()
    floors = [floor for frame in of for floor in policy.feed(frame)]
    assert [type(floor) for floor in floors] == [Onset, Fading, Pause]


def test_a_voice_begins_with_its_first_frame() -> None:
    assert hear(Hangover(), of=frames([*SILENCE, *SPEECH])) == [Onset(start=20 * FRAME_SAMPLES)]


def test_a_tap_is_no_voice() -> None:
    assert hear(Hangover(), of=frames([*SILENCE, 0.9, 0.9, *SILENCE])) == []


def test_speech_ends_at_the_last_loud_block_and_not_where_the_detector_noticed() -> None:
    loud_until = 48 * FRAME_SAMPLES // BLOCK * BLOCK
    floors = hear(Hangover(hangover_ms=200), of=frames([*SILENCE, *SPEECH, *SILENCE], loud_until=loud_until))
    assert floors[1] == Pause(speech_end=loud_until, endpoint=loud_until + 3200)


def test_uncertain_frames_keep_the_voice() -> None:
    loud = 70 * FRAME_SAMPLES
    assert len(hear(Hangover(), of=frames([*SILENCE, *SPEECH, *[0.4] * 20], loud_until=loud))) == 1


def test_a_doubt_while_it_is_quiet_is_a_pause() -> None:
    floors = hear(Hangover(), of=frames([*SILENCE, *SPEECH, 0.9, 0.9, 0.7], loud_until=50 * FRAME_SAMPLES))
    assert [type(floor) for floor in floors] == [Onset, Pause]


def test_a_voice_that_comes_back_within_the_hangover_needs_one_frame() -> None:
    floors = hear(Hangover(), of=frames([*SILENCE, *SPEECH, 0.1, 0.1, 0.1, 0.9]))
    assert [type(floor) for floor in floors] == [Onset, Pause, Onset]
    assert floors[2] == Onset(start=53 * FRAME_SAMPLES)


def test_shortly_after_the_endpoint_a_single_frame_is_the_voice_going_on() -> None:
    floors = hear(Hangover(), of=frames([*SILENCE, *SPEECH, *[0.1] * 15, 0.9, *[0.1] * 5]))
    assert [type(floor) for floor in floors] == [Onset, Pause, Onset, Pause]


def test_over_the_agents_voice_a_single_frame_is_a_voice() -> None:
    policy = Hangover()
    assert policy.told(AgentSpeaks(speaks=True)) == policy.told(AgentSaid(text="Hello.")) == []
    assert hear(policy, of=frames([*SILENCE, 0.9, *SILENCE]))[0] == Onset(start=20 * FRAME_SAMPLES)


def test_a_flare_of_the_detector_over_silence_is_no_voice() -> None:
    floors = hear(Hangover(), of=frames([*SILENCE, *SPEECH, 0.1, 0.9, 0.9, *SILENCE], loud_until=50 * FRAME_SAMPLES))
    assert [type(floor) for floor in floors] == [Onset, Pause]


def test_long_after_the_endpoint_a_single_frame_is_no_voice() -> None:
    floors = hear(Hangover(), of=frames([*SILENCE, *SPEECH, *[0.1] * 40, 0.9, *[0.1] * 5]))
    assert [type(floor) for floor in floors] == [Onset, Pause]


def test_an_endpoint_is_never_in_the_past() -> None:
    floors = hear(Hangover(hangover_ms=0), of=frames([*SILENCE, *SPEECH, 0.1]))
    assert isinstance(floors[1], Pause)
    assert floors[1].endpoint == 51 * FRAME_SAMPLES


def test_the_end_of_the_audio_ends_a_voice_at_once() -> None:
    policy = Hangover()
    hear(policy, of=frames([*SILENCE, *SPEECH]))
    end = 50 * FRAME_SAMPLES
    assert policy.end() == [Pause(speech_end=end, endpoint=end, reason="end of audio")]
    assert policy.end() == []


@given(st.lists(st.floats(0, 1), max_size=200))
def test_onsets_and_pauses_alternate_and_go_forward(probabilities: list[float]) -> None:
    floors = hear(Hangover(), of=frames(probabilities))
    assert all(type(one) is not type(two) for one, two in pairwise(floors))
    for floor in floors:
        if isinstance(floor, Pause):
            assert floor.speech_end <= floor.endpoint
    starts = [floor.start for floor in floors if isinstance(floor, Onset)]
    assert starts == sorted(set(starts))


def test_the_room_is_learned_again_when_it_changes() -> None:
    levels = Levels()
    levels.add(-20, voiced=True)
    for _ in range(7000):
        levels.add(-70, voiced=False)
    assert levels.threshold_db() == -50
    for _ in range(60_000):
        levels.add(-40, voiced=False)
    assert levels.threshold_db() == -32
