"""``turngap tiers``, as it is typed."""

import json

import pytest

from turngap.voice.cli import main


def test_the_memory_wall_of_70b_on_an_h100(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiers", "--model", "70B", "--bits", "16", "--hardware", "h100"]) == 0
    said = capsys.readouterr().out
    assert "140.0 GB" in said
    assert "24 tok/s" in said
    assert "228.6" in said
    assert "21.3" in said


def test_a_mixture_of_experts_in_eight_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiers", "--model", "120B", "--active", "5B", "--bits", "8", "--hardware", "wse-3"]) == 0
    assert "SRAM  3;" in capsys.readouterr().out


def test_the_catalogue_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiers"]) == 0
    assert "anthropic-haiku" in capsys.readouterr().out
    assert main(["tiers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "gpu-h100"


def test_nonsense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiers", "--model", "large"]) == 1
    assert "70B" in capsys.readouterr().err
