"""The language models that can be chosen: ``local``, ``scripted``, ``sim``, those at a server, and those of other
packages."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from turngap.budget.clock import Clock
from turngap.budget.errors import ConfigurationError
from turngap.llm.backends.remote.dialects import DIALECTS
from turngap.llm.protocol import Backend
from turngap.llm.spec import Registry, Spec


def _local(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Backend:
    try:
        from turngap.llm.backends.local import LocalBackend
    except ImportError as error:
        raise ConfigurationError(
            f"the local backend needs {error.name}", remedy="Install it with: pip install 'turngap[local]'"
        ) from error
    return LocalBackend(spec, find_model=find_model, clock=clock)


def _scripted(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Backend:
    from turngap.llm.backends.scripted import ScriptedBackend

    return ScriptedBackend.from_spec(spec, clock=clock)


def _sim(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Backend:
    from turngap.llm.backends.simulated import SimulatedBackend

    def make(choice: str) -> Backend:
        return make_backend(choice, find_model=find_model, clock=clock)

    return SimulatedBackend.from_spec(spec, make=make, clock=clock)


def _remote(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Backend:
    try:
        import h2  # noqa: F401  -- found out here, rather than at the first reply

        from turngap.llm.backends.remote.backend import RemoteBackend
    except ImportError as error:
        raise ConfigurationError(
            f"'{spec.name}' needs {error.name}", remedy="Install it with: pip install 'turngap[remote]'"
        ) from error
    return RemoteBackend(DIALECTS[spec.name], spec, environment=os.environ, clock=clock)


BACKENDS: Final[Registry[Backend]] = Registry(
    "backend",
    "turngap.backends",
    {"local": _local, "scripted": _scripted, "sim": _sim, **dict.fromkeys(DIALECTS, _remote)},
)
"""Factories are called as ``factory(spec, find_model=..., clock=...)`` and load nothing before ``warm()``."""


def make_backend(choice: str | Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Backend:
    """The backend that ``choice`` names; ``find_model`` gives the folder of a model of the catalogue."""
    spec = Spec.parse(choice) if isinstance(choice, str) else choice
    return BACKENDS.make(spec, find_model=find_model, clock=clock)
