"""The one clock."""

from datetime import UTC

from turngap.budget.clock import MS, calendar, milliseconds, monotonic, process_cpu


def test_time_does_not_run_backwards() -> None:
    assert monotonic() <= monotonic()
    assert process_cpu() <= process_cpu()


def test_the_calendar_is_in_utc() -> None:
    assert calendar().tzinfo is UTC


def test_a_duration_for_people_is_in_milliseconds() -> None:
    assert milliseconds(1_500_000) == 1.5
    assert milliseconds(2 * MS) == 2.0
