"""What is expected to be said next."""

from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.backends.recollection import Recollection


def say(recollection: Recollection, *replies: list[int]) -> Recollection:
    for reply in replies:
        for end in range(1, len(reply) + 1):
            recollection.learn(reply[:end])
    return recollection


def test_nothing_said_is_nothing_expected() -> None:
    assert Recollection().expect([], most=5) == []
    assert Recollection().expect([1, 2, 3], most=5) == []


def test_a_reply_is_expected_to_begin_as_most_have() -> None:
    recollection = say(Recollection(), [1, 2, 3], [1, 2, 4], [1, 2, 3], [7, 8])
    assert recollection.expect([], most=5) == [1, 2, 3]
    assert recollection.expect([], most=2) == [1, 2]
    assert recollection.expect([7], most=5) == [8]


def test_the_longest_known_context_decides() -> None:
    recollection = say(Recollection(), [1, 2, 3, 4], [9, 2, 3, 5], [8, 2, 3, 5])
    assert recollection.expect([1, 2, 3], most=1) == [4]
    assert recollection.expect([6, 2, 3], most=1) == [5]


def test_one_token_is_too_little_to_go_by() -> None:
    assert say(Recollection(), [1, 2, 3]).expect([5, 6, 2], most=1) == []


@given(st.lists(st.lists(st.integers(0, 3), max_size=30), max_size=20), st.integers(4, 60))
def test_it_stays_within_its_bounds(replies: list[list[int]], most: int) -> None:
    recollection = say(Recollection(most=most), *replies)
    assert len(recollection) <= most
    assert len(recollection.expect([], most=5)) <= 5
