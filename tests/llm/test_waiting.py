"""What goes first on the model's thread."""

from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.backends.waiting import Waiting
from turngap.llm.protocol import Urgency

LIVE, DRAFT, IDLE = Urgency.LIVE, Urgency.DRAFT, Urgency.IDLE


def everything(waiting: Waiting[str]) -> list[str]:
    taken = []
    while (work := waiting.take()) is not None:
        taken.append(work)
    return taken


def test_the_most_urgent_goes_first_and_then_what_has_waited_longest() -> None:
    waiting = Waiting[str]()
    for work, urgency in [("idle", IDLE), ("draft", DRAFT), ("one", LIVE), ("another draft", DRAFT), ("two", LIVE)]:
        waiting.add(work, urgency)
    assert len(waiting) == 5
    assert everything(waiting) == ["one", "two", "draft", "another draft", "idle"]
    assert len(waiting) == 0


def test_a_draft_that_is_committed_goes_before_other_drafts() -> None:
    waiting = Waiting[str]()
    for work in ("one", "two"):
        waiting.add(work, DRAFT)
    waiting.move("two", LIVE)
    assert everything(waiting) == ["two", "one"]


def test_what_does_not_wait_is_not_made_to() -> None:
    waiting = Waiting[str]()
    waiting.move("running", LIVE)
    assert waiting.take() is None


def test_long_work_of_one_kind_takes_turns() -> None:
    waiting = Waiting[str]()
    for work in ("a", "b"):
        waiting.add(work, DRAFT)
    for expected in ("a", "b", "a", "b"):
        assert waiting.take() == expected
        waiting.add(expected, DRAFT)


URGENCIES = st.sampled_from(Urgency)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), URGENCIES),
        st.tuples(st.just("move"), URGENCIES, st.integers(0, 9)),
        st.tuples(st.just("take")),
        st.tuples(st.just("step")),
    ),
    max_size=60,
)


@given(ACTS)
def test_nothing_is_lost_or_done_twice_and_nothing_urgent_is_overtaken(acts: list[tuple[object, ...]]) -> None:
    """Against the plainest idea of it: a list of all that waits, sorted by urgency each time."""
    waiting, plain, number = Waiting[int](), list[tuple[int, Urgency]](), 0
    for act in acts:
        match act:
            case ("add", Urgency() as urgency):
                number += 1
                waiting.add(number, urgency)
                plain.append((number, urgency))
            case ("move", Urgency() as urgency, int(which)):
                waiting.move(which, urgency)
                if any(work == which for work, _ in plain):
                    plain = [*((work, old) for work, old in plain if work != which), (which, urgency)]
            case ("take" | "step" as how,):
                plain.sort(key=lambda entry: entry[1])
                expected = plain.pop(0) if plain else None
                assert waiting.take() == (expected and expected[0])
                if how == "step" and expected is not None:  # one step done, and asked back
                    waiting.add(*expected)
                    plain.append(expected)
    assert len(waiting) == len(plain)
