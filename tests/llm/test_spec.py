"""Specs and registries: one grammar for every choice."""

from importlib.metadata import EntryPoint

import pytest

from turngap.budget.errors import ConfigurationError
from turngap.llm import spec as module
from turngap.llm.spec import Registry, Spec


@pytest.mark.parametrize("text", ["local", "local:/models/mine?threads=1", "scripted?reply=Hello.&token_ms=3", "a:b:c"])
def test_a_spec_reads_back_as_it_was_written(text: str) -> None:
    assert str(Spec.parse(text)) == text


@pytest.mark.parametrize("text", ["", ":model", "name:", "name?option"])
def test_what_is_not_a_choice_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Spec.parse(text)
    assert refused.value.remedy


def test_options_are_numbers_where_numbers_are_asked_for() -> None:
    spec = Spec.parse("x?threads=2&share=0.5&pace=fast")
    assert (spec.integer("threads", 1), spec.number("share", 1.0), spec.integer("rest", 7)) == (2, 0.5, 7)
    with pytest.raises(ConfigurationError):
        spec.number("pace", 1.0)


def test_unknown_options_are_refused_by_name() -> None:
    spec = Spec.parse("x?threads=2")
    spec.reject_unknown({"threads"})
    with pytest.raises(ConfigurationError, match="threads"):
        spec.reject_unknown(set())


def test_a_registry_makes_what_is_named() -> None:
    registry: Registry[str] = Registry("voice", "turngap.nothing", {"one": lambda spec, loud: f"{spec.name} {loud}"})
    assert registry.make(Spec("one"), loud=True) == "one True"
    with pytest.raises(ConfigurationError, match="there is no voice 'two'"):
        registry.make(Spec("two"))


def test_installed_packages_add_names(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("shout", "builtins:str", "turngap.nothing")
    monkeypatch.setattr(module, "entry_points", lambda **_: [point])
    registry: Registry[str] = Registry("voice", "turngap.nothing", {})
    assert registry.names() == ["shout"]
    assert registry.make(Spec("shout")) == "shout"
