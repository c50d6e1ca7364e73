"""What a listener heard, told by scores: who sounds from when to when, in milliseconds."""

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.voice.client.heard import HeardTurn, gap_ms, listen, stretches
from turngap.voice.client.truth import Utterance

RATE_HZ = 16_000


def agent(*sounding_ms: tuple[int, int], until_ms: int = 10_000) -> NDArray[np.float32]:
    track = np.zeros(until_ms * RATE_HZ // 1000, np.float32)
    for start, end in sounding_ms:
        track[start * RATE_HZ // 1000 : end * RATE_HZ // 1000] = 0.1
    return track


def user(*turns_ms: tuple[int, int]) -> list[Utterance]:
    return [Utterance(start_s=start / 1000, end_s=end / 1000) for start, end in turns_ms]


def heard(track: NDArray[np.float32], users: list[Utterance]) -> list[tuple[float | None, bool]]:
    return [
        (turn.gap_ms if turn.gap_ms is None else round(turn.gap_ms, 3), turn.cut_in)
        for turn in listen(track, RATE_HZ, users)
    ]


def test_the_gap_runs_from_the_users_end_to_the_first_audible_sample() -> None:
    assert heard(agent((2437, 4000)), user((500, 2000))) == [(437.0, False)]


def test_silence_and_hiss_in_front_of_the_reply_belong_to_the_gap() -> None:
    track = agent((2500, 4000))
    track[2100 * 16 : 2500 * 16] = 0.001
    assert heard(track, user((500, 2000))) == [(500.0, False)]


def test_a_turn_without_a_reply_has_no_gap() -> None:
    assert heard(agent(), user((500, 2000))) == [(None, False)]


def test_each_reply_belongs_to_the_last_end_before_it() -> None:
    track = agent((2300, 3000), (5400, 6000))
    assert heard(track, user((500, 2000), (4000, 5000))) == [(300.0, False), (400.0, False)]


def test_a_reply_that_never_came_is_not_made_up_by_the_next_one() -> None:
    assert heard(agent((5400, 6000)), user((500, 2000), (4000, 5000))) == [(None, False), (400.0, False)]


def test_an_agent_that_breaks_in_and_falls_silent_has_cut_in_and_its_answer_is_still_measured() -> None:
    assert heard(agent((1200, 1500), (2300, 4000)), user((500, 2000))) == [(300.0, True)]


def test_an_agent_that_talks_over_the_end_has_a_negative_gap() -> None:
    assert heard(agent((1800, 4000)), user((500, 2000))) == [(-200.0, True)]


def test_an_agent_that_the_user_breaks_in_on_has_not_cut_in() -> None:
    track = agent((2300, 4200), (5300, 6000))
    assert heard(track, user((500, 2000), (4000, 5000))) == [(300.0, False), (300.0, False)]


def test_the_pauses_between_its_words_do_not_make_the_agent_begin_anew() -> None:
    assert stretches(agent((1000, 1200), (1400, 1600), (1900, 2000)), RATE_HZ) == [(1.0, 1.6), (1.9, 2.0)]


def test_a_silent_agent_has_no_stretches() -> None:
    assert stretches(agent(), RATE_HZ) == []
    assert stretches(np.zeros(0, np.float32), RATE_HZ) == []


@pytest.mark.parametrize("offset", [0, 1, 37, 79])
def test_the_first_sample_is_found_to_the_sample(offset: int) -> None:
    track = np.zeros(RATE_HZ, np.float32)
    track[8000 + offset : 12_000] = 0.1
    assert stretches(track, RATE_HZ)[0][0] == (8000 + offset) / RATE_HZ


def test_an_unknown_moment_makes_an_unknown_gap() -> None:
    assert gap_ms(None, 1.0) is None
    assert gap_ms(1.0, None) is None
    assert HeardTurn(user=user((0, 1))[0], first_audible_s=None, cut_in_s=None).gap_ms is None
