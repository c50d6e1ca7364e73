"""One grammar for every choice: ``NAME[:MODEL][?key=value&...]``.

``local``, ``local:/models/mine?threads=1`` and ``scripted?reply=Hello.`` are specs. What a name stands for is
looked up in a registry; packages add names of their own by entry points.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from turngap.budget.errors import ConfigurationError

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed choice: what to use, which model of it, and its options as strings."""

    name: str
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Read ``NAME[:MODEL][?key=value&...]``; a ConfigurationError says what is wrong with it."""
        head, mark, query = text.strip().partition("?")
        name, colon, model = head.partition(":")
        if not name or (colon and not model):
            raise ConfigurationError(
                f"'{text}' is not a choice", remedy="Write NAME, NAME:MODEL or NAME:MODEL?key=value"
            )
        try:
            pairs = parse_qsl(query, strict_parsing=bool(mark), keep_blank_values=True)
        except ValueError as error:
            raise ConfigurationError(
                f"the options of '{text}' cannot be read", remedy="Write them as key=value, joined by &"
            ) from error
        return cls(name, model or None, dict(pairs))

    def __str__(self) -> str:
        query = "&".join(f"{key}={value}" for key, value in self.options.items())
        return self.name + (f":{self.model}" if self.model else "") + (f"?{query}" if query else "")

    def reject_unknown(self, known: set[str]) -> None:
        """Raise a ConfigurationError that names the first option outside ``known``."""
        for key in self.options:
            if key not in known:
                raise ConfigurationError(
                    f"'{self.name}' has no option '{key}'",
                    remedy=f"It knows: {', '.join(sorted(known)) or 'none'}",
                )

    def integer(self, key: str, default: int) -> int:
        """The option as a whole number."""
        return int(self._number(key, default))

    def number(self, key: str, default: float) -> float:
        """The option as a number."""
        return self._number(key, default)

    def _number(self, key: str, default: float) -> float:
        text = self.options.get(key)
        if text is None:
            return default
        try:
            return float(text)
        except ValueError as error:
            raise ConfigurationError(
                f"option {key}={text} of '{self.name}' is not a number", remedy=f"For example {key}={default}"
            ) from error


class Registry(Generic[Made]):
    """Names that can be chosen for one kind of part; ours first, then those of installed packages."""

    def __init__(self, kind: str, group: str, ours: Mapping[str, Callable[..., Made]]) -> None:
        self.kind = kind
        self.group = group
        self._ours = dict(ours)

    def names(self) -> list[str]:
        """Every name that :meth:`make` accepts."""
        return sorted({*self._ours, *(point.name for point in entry_points(group=self.group))})

    def make(self, spec: Spec, /, **context: Any) -> Made:
        """Build what ``spec`` names: its factory is called as ``factory(spec, **context)``."""
        factory = self._ours.get(spec.name)
        if factory is None:
            for point in entry_points(group=self.group, name=spec.name):
                factory = point.load()
        if factory is None:
            raise ConfigurationError(
                f"there is no {self.kind} '{spec.name}'", remedy=f"Choose from: {', '.join(self.names())}"
            )
        return factory(spec, **context)
