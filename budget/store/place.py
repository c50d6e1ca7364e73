"""Where the store is, and what a run is called."""

import os
import secrets
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

from turngap.budget.clock import calendar

VARIABLE: Final = "TURNGAP_STORE"
NONE: Final = "none"
"""What to say for no store at all."""


def default_place() -> Path:
    """The platform's own place for what a program remembers."""
    return user_state_path("turngap", appauthor=False) / "turns.db"


def place(chosen: str | None) -> Path | None:
    """``chosen``, or else what the environment says, or else the default; None for no store at all."""
    named = chosen or os.environ.get(VARIABLE)
    if named == NONE:
        return None
    return Path(named).expanduser() if named else default_place()


def new_run() -> str:
    """A name for a run: when it began, and four letters that tell it from others of the same second."""
    return f"{calendar():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
