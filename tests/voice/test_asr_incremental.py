"""The policy of listening, as scores: audio and passes in, requests and words out."""

from collections.abc import Callable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.asr.incremental import Pacing, PassRequest, Transcription, samples
from turngap.voice.asr.protocol import Pass
from turngap.voice.asr.stable import Hypothesis

FRAME = 512


def speak(turn: Transcription, start: float, end: float, *, voiced: bool = True, level_db: float = -20.0) -> None:
    """Let audio arrive, frame by frame."""
    for at in range(samples(start) + FRAME, samples(end) + 1, FRAME):
        turn.heard(at, voiced=voiced, level_db=level_db)


def wanted(turn: Transcription) -> PassRequest:
    request = turn.wants()
    assert request is not None
    return request


def heard(turn: Transcription, request: PassRequest, text: str) -> Hypothesis:
    hypothesis = turn.take(request, Pass(words=tuple(text.split())))
    assert hypothesis is not None
    return hypothesis


def test_an_interim_pass_waits_for_enough_voice() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 0.35)
    assert turn.wants() is None
    speak(turn, 0.35, 0.6)
    request = wanted(turn)
    assert request.start == 0
    assert samples(0.57) < request.end <= samples(0.6)


def test_silence_wants_no_pass() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 5.0, voiced=False)
    assert turn.wants() is None


def test_no_interim_pass_starts_where_the_voice_may_be_about_to_pause() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.heard(samples(1.05), voiced=False)
    assert turn.wants() is None
    speak(turn, 1.05, 1.1)
    assert turn.wants() is None
    speak(turn, 1.1, 1.2)
    assert turn.wants() is not None


def test_only_one_pass_runs_at_a_time() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    wanted(turn)
    speak(turn, 1.0, 3.0)
    assert turn.wants() is None


def test_after_a_slow_pass_there_is_a_rest() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    request = wanted(turn)
    speak(turn, 1.0, 3.0)
    heard(turn, request, "what time")
    assert turn.wants() is None
    speak(turn, 3.0, 5.1)
    assert turn.wants() is not None


def test_the_words_of_a_pass_are_the_draft_of_the_next() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    heard(turn, wanted(turn), "what time.")
    speak(turn, 1.0, 2.0)
    heard(turn, wanted(turn), "What time is it")
    speak(turn, 2.0, 3.0)
    assert wanted(turn).draft == ("What", "time", "is", "it")
    turn.paused(samples(3.1), speech_end=samples(3.1))
    assert wanted(turn).draft == ("What", "time", "is", "it")


def test_words_that_no_pass_changed_for_long_are_stable_and_hold_against_the_final_pass() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    heard(turn, wanted(turn), "what time.")
    speak(turn, 1.0, 3.6)
    assert heard(turn, wanted(turn), "What time is it") == Hypothesis(stable=("What", "time"), unstable=("is", "it"))
    turn.paused(samples(3.9), speech_end=samples(3.9))
    final = heard(turn, wanted(turn), "But time was it now?")
    assert final == Hypothesis(stable=("What", "time"), unstable=("was", "it", "now?"), final=True)


def test_the_draft_is_what_was_heard_and_not_what_stands() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    heard(turn, wanted(turn), "what time")
    speak(turn, 1.0, 3.6)
    heard(turn, wanted(turn), "what time is")
    speak(turn, 3.6, 4.4)
    assert heard(turn, wanted(turn), "but time is it").text == "what time is it"
    turn.paused(samples(4.5), speech_end=samples(4.5))
    assert wanted(turn).draft == ("but", "time", "is", "it")


def test_a_pause_wants_one_final_pass_over_the_whole_segment() -> None:
    turn = Transcription(1000)
    speak(turn, 0.1, 1.0)
    turn.paused(samples(1.1), speech_end=samples(1.1))
    request = wanted(turn)
    assert (request.start, request.end, request.final) == (1000, samples(1.1), True)
    assert turn.wants() is None
    assert heard(turn, request, "yes") == Hypothesis(unstable=("yes",), final=True)


def test_the_final_pass_supersedes_an_interim_one_whose_result_is_then_dropped() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    interim = wanted(turn)
    turn.paused(samples(1.1), speech_end=samples(1.1))
    final = wanted(turn)
    assert final.supersedes == interim.id
    assert turn.take(interim, Pass(words=("no",))) is None
    assert heard(turn, final, "now").text == "now"


def test_a_voice_that_fades_is_listened_to_at_once_and_a_pause_that_was_covered_needs_no_other_pass() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    interim = wanted(turn)
    speak(turn, 1.0, 1.2)
    turn.fading()
    foreseen = wanted(turn)
    assert (foreseen.end > interim.end, foreseen.final, foreseen.supersedes) == (True, False, interim.id)
    turn.paused(samples(1.25), speech_end=samples(1.16))
    assert turn.wants() is None
    assert heard(turn, foreseen, "yes") == Hypothesis(unstable=("yes",), final=True)


def test_words_that_were_there_before_the_pause_are_final_with_it() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.fading()
    assert not heard(turn, wanted(turn), "yes").final
    turn.paused(samples(1.1), speech_end=samples(0.96))
    assert turn.wants() is None
    assert turn.hypothesis == Hypothesis(unstable=("yes",), final=True)
    turn.resumed()
    assert not turn.hypothesis.final


def test_a_pause_that_was_not_covered_wants_its_own_pass() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 0.5)
    turn.fading()
    foreseen = wanted(turn)
    speak(turn, 0.5, 1.0)
    turn.paused(samples(1.1), speech_end=samples(0.96))
    final = wanted(turn)
    assert (final.final, final.supersedes) == (True, foreseen.id)


def test_a_voice_that_fades_with_nothing_new_is_not_listened_to_again() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.fading()
    heard(turn, wanted(turn), "yes")
    turn.fading()
    assert turn.wants() is None


def test_a_pass_that_ends_a_segment_is_not_given_up_because_the_voice_fades() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 12.6)
    closing = wanted(turn)
    assert closing.closes
    speak(turn, 12.6, 12.9)
    turn.fading()
    assert turn.wants() is None


def test_a_pass_that_failed_tells_whether_the_pause_waited_for_it() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    interim = wanted(turn)
    assert turn.drop(interim) is False
    turn.paused(samples(1.1), speech_end=samples(1.0))
    final = wanted(turn)
    assert turn.drop(interim) is False
    assert turn.drop(final) is True


def test_going_on_makes_the_final_words_candidates_again() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.paused(samples(1.1), speech_end=samples(1.1))
    heard(turn, wanted(turn), "I would like.")
    turn.resumed()
    speak(turn, 1.4, 2.4)
    assert heard(turn, wanted(turn), "I wood lick a tea") == Hypothesis(unstable=("I", "wood", "lick", "a", "tea"))


def test_what_a_final_pass_said_is_stable_where_it_is_said_again_much_later() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.paused(samples(1.1), speech_end=samples(1.1))
    heard(turn, wanted(turn), "I would like.")
    turn.resumed()
    speak(turn, 2.9, 3.9)
    after = heard(turn, wanted(turn), "I would lick a tea")
    assert after == Hypothesis(stable=("I", "would"), unstable=("lick", "a", "tea"))


def test_a_final_pass_that_ends_after_the_user_went_on_is_not_final() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.paused(samples(1.1), speech_end=samples(1.1))
    request = wanted(turn)
    turn.resumed()
    assert heard(turn, request, "I would like.").final is False


def test_a_long_segment_ends_with_the_pause_if_the_user_goes_on() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 11.0)
    turn.paused(samples(11.1), speech_end=samples(11.1))
    heard(turn, wanted(turn), "a long story.")
    turn.resumed()
    speak(turn, 11.4, 13.0)
    request = wanted(turn)
    assert (request.start, request.draft, request.prompt) == (samples(11.1), (), "a long story.")
    assert heard(turn, request, "And more") == Hypothesis(stable=("a", "long", "story."), unstable=("And", "more"))


def test_a_segment_without_a_pause_is_cut_at_its_quietest_place() -> None:
    turn = Transcription(0, pacing=Pacing(voiced=samples(100), cut_after=samples(16.0)))
    speak(turn, 0.0, 13.0)
    speak(turn, 13.0, 13.1, level_db=-45.0)
    speak(turn, 13.1, 16.2)
    request = wanted(turn)
    assert request.closes
    assert samples(13.0) < request.end <= samples(13.1)
    turn.paused(samples(16.3), speech_end=samples(16.3))
    assert turn.wants() is None, "the final pass begins where the cut one ends"
    heard(turn, request, "on and on")
    final = wanted(turn)
    assert (final.start, final.end, final.final) == (request.end, samples(16.3), True)
    assert heard(turn, final, "it goes").text == "on and on it goes"


def test_a_failed_pass_makes_room_for_the_next() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    turn.drop(wanted(turn))
    speak(turn, 1.0, 2.0)
    assert turn.wants() is not None


def test_late_audio_that_was_heard_before_changes_nothing() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 0.35)
    speak(turn, 0.0, 0.35)
    assert turn.wants() is None


# Each word of this world is one letter, takes 0.3 s, and is heard if the pass covers its middle.
WORD = samples(0.3)


def said(request: PassRequest) -> Pass:
    first = -(-(request.start - WORD // 2) // WORD)
    last = -(-(request.end - WORD // 2) // WORD)
    return Pass(words=tuple(chr(0x4E00 + number) for number in range(max(0, first), last)))


STRETCHES = st.lists(
    st.tuples(
        st.integers(1, 250).map(lambda frames: frames * FRAME),  # voiced
        st.integers(4, 30).map(lambda frames: frames * FRAME),  # silent
        st.integers(0, 80),  # frames that a pass takes
    ),
    min_size=1,
    max_size=6,
)


def converse(turn: Transcription, stretches: list[tuple[int, int, int]], hear: Callable[[PassRequest], Pass]) -> int:
    """One turn of stretches of voice, with passes that take their time. Where the last pause was heard."""
    running: list[tuple[int, PassRequest]] = []
    stable: tuple[str, ...] = ()
    now = end = 0

    def work(cost: int) -> None:
        nonlocal stable
        while True:
            for due, request in [one for one in running if one[0] <= now]:
                running.remove((due, request))
                turn.take(request, hear(request))
                assert turn.hypothesis.words[: len(stable)] == stable
                assert turn.hypothesis.stable[: len(stable)] == stable
                stable = turn.hypothesis.stable
            request_or_none = turn.wants()
            if request_or_none is None:
                return
            running.append((now + cost * FRAME, request_or_none))

    for voiced, silent, cost in stretches:
        turn.resumed()
        assert turn.hypothesis.words[: len(stable)] == stable
        for _ in range(voiced // FRAME):
            now += FRAME
            turn.heard(now, voiced=True)
            work(cost)
        for step in range(silent // FRAME):
            now += FRAME
            turn.heard(now, voiced=False)
            if step == 2:
                turn.paused(now, speech_end=now)
                end = now
            work(cost)
    while running:
        now += FRAME
        work(0)
    assert turn.hypothesis.final
    return end


BRIEF = Pacing(close_after=samples(3), cut_after=samples(5))


@given(STRETCHES)
def test_every_word_is_heard_once(stretches: list[tuple[int, int, int]]) -> None:
    turn = Transcription(0, pacing=BRIEF)
    end = converse(turn, stretches, said)
    assert turn.hypothesis.words == said(PassRequest(id=0, start=0, end=end, draft=(), prompt="")).words


@given(STRETCHES, st.randoms(use_true_random=False))
def test_whatever_is_heard_a_stable_word_begins_all_that_is_told_later(
    stretches: list[tuple[int, int, int]], chance: Random
) -> None:
    """Interim, final, after the turn was reopened, after a segment was closed: :func:`converse` looks at all of it."""

    def hear(request: PassRequest) -> Pass:
        words = list(said(request).words)
        for at in range(len(words)):
            if chance.random() < 0.1:
                words[at] = chance.choice(["", "uh", "uh uh"])
        heard = tuple(" ".join(words).split()) if chance.random() < 0.95 else ()
        return Pass(words=heard, sure=tuple(chance.random() for _ in heard) if chance.random() < 0.9 else ())

    converse(Transcription(0, pacing=BRIEF), stretches, hear)


def test_a_late_failure_is_nobodys() -> None:
    turn = Transcription(0)
    speak(turn, 0.0, 1.0)
    first = wanted(turn)
    turn.paused(samples(1.1), speech_end=samples(1.1))
    final = wanted(turn)
    turn.drop(first)
    assert heard(turn, final, "what time is it").final
