"""Errors say what went wrong, what to do about it, and whose they are."""

import pytest

from turngap.budget.errors import ClientError, ConfigurationError, StageError, StageTimeoutError, TurngapError
from turngap.budget.marks import Stage


def test_an_error_ends_with_its_remedy() -> None:
    assert str(ConfigurationError("no such voice", remedy="Choose joe")) == "no such voice. Choose joe"
    assert str(ConfigurationError("no such voice")) == "no such voice"


def test_a_client_error_has_a_code_for_programs() -> None:
    error = ClientError("frame_too_large", "the frame is too large", remedy="Send less at once")
    assert (error.code, str(error)) == ("frame_too_large", "the frame is too large. Send less at once")


@pytest.mark.parametrize("kind", [StageError, StageTimeoutError])
def test_a_stage_error_names_its_stage(kind: type[StageError]) -> None:
    error = kind(Stage.TTS, "the voice failed")
    assert isinstance(error, TurngapError)
    assert error.stage is Stage.TTS
