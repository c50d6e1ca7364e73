"""Calls in a text: found however it is cut, never spoken, never made up."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.calls import CLOSE, LONGEST, OPEN, Call, Calls, Tool, read_call, with_tools

LOOK = Tool(name="look", description="Looks.", parameters={"type": "object"})


def told(calls: Calls, *pieces: str) -> str:
    return "".join(calls.feed(piece) for piece in pieces) + calls.end()


def test_tools_are_told_and_without_them_nothing_is() -> None:
    assert with_tools("Be brief.", ()) == "Be brief."
    assert '"look"' in with_tools("Be brief.", [LOOK])
    assert "Call one of them now." in with_tools("", [LOOK], must=True)


TEXT = f'Well, {OPEN}{{"name": "look", "arguments": {{"at": 1}}}}{CLOSE} done <b>.'


@given(st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_a_call_is_found_however_the_text_is_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(TEXT)]
    calls = Calls(["look"])
    spoken = told(calls, *(TEXT[start:end] for start, end in pairwise(edges)))
    assert spoken == "Well,  done <b>."
    assert calls.found == [Call(name="look", arguments='{"at": 1}')]


def test_who_has_no_tools_reads_everything_aloud() -> None:
    assert told(Calls([]), TEXT) == TEXT


def test_what_is_no_call_of_a_known_function_is_dropped() -> None:
    for inside in ('{"name": "other"}', "{", '"look"', '{"name": 5}', '{"name": "look", "arguments": 5}', "[" * 9000):
        calls = Calls(["look"])
        told(calls, OPEN, inside, CLOSE)
        assert calls.found == []


def test_a_call_that_never_ends_is_given_up() -> None:
    calls = Calls(["look"])
    assert calls.feed(OPEN + "x" * (LONGEST + 1)) == ""
    assert told(calls, "Go on") == "Go on"
    assert told(calls, "<tool") == "<tool"
    assert told(calls, OPEN + "unfinished") == ""


def test_arguments_may_be_a_text_of_their_own() -> None:
    assert read_call('{"name": "look", "arguments": "{\\"at\\": 1}"}') == Call(name="look", arguments='{"at": 1}')
    assert read_call('{"name": "look", "arguments": "["}') is None
    assert json.loads(read_call('{"name": "look"}').arguments) == {}  # type: ignore[union-attr]
