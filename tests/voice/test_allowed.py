"""How much is allowed: a burst, then the even rate."""

from turngap.budget.clock import SECOND
from turngap.voice.protocols.allowed import Allowed


def test_a_burst_is_allowed_and_then_the_even_rate() -> None:
    allowed = Allowed(rate_hz=2, burst=3)
    assert [allowed.one_more(0) for _ in range(4)] == [True, True, True, False]
    assert [allowed.one_more(SECOND) for _ in range(3)] == [True, True, False]
    assert [allowed.one_more(100 * SECOND) for _ in range(4)] == [True, True, True, False]
