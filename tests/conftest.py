"""What all tests share: how hard properties try, and when a test is left out.

Hypothesis tries 200 examples, 500 in CI, and 50 where only speed is asked for (scripts/test.py --fast).
A property of the turn machine should ask for four times what the profile says
(``@settings(max_examples=4 * settings().max_examples)``): at 100 a real bug went unfound six times of six,
at 2,000 it was found six times of six.

``soak`` tests run only where ``-m`` asks for them. ``model`` tests are skipped, saying so, where the models that
they name (``@pytest.mark.model("whisper-base")``; the whole catalogue where they name none) have not been pulled.
"""

import os

import pytest
from hypothesis import settings

from turngap.budget.errors import ModelError
from turngap.voice.models import store
from turngap.voice.models.entries import CATALOGUE

# No deadline: these machines are shared and slow at times, and a slow example is no wrong one.
settings.register_profile("fast", max_examples=50, deadline=None)
settings.register_profile("dev", max_examples=200, deadline=None)
settings.register_profile("ci", max_examples=500, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

os.environ["TURNGAP_STORE"] = "none"  # or each test that serves would leave its turns among the user's own


def lacking(model: str) -> str | None:
    """Why ``model`` cannot be used here, or None."""
    try:
        store.find(model)
    except ModelError as error:
        return str(error)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" not in config.option.markexpr:
        soaks = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=soaks)
        items[:] = [item for item in items if item not in soaks]
    reasons: dict[str, str | None] = {}
    for item in items:
        for marker in item.iter_markers("model"):
            for model in marker.args or [model.name for model in CATALOGUE]:
                if model not in reasons:
                    reasons[model] = lacking(model)
                if reason := reasons[model]:
                    item.add_marker(pytest.mark.skip(reason=reason))
