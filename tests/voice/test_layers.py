"""What each layer of speculation won in a turn."""

from collections.abc import Mapping

import pytest

from turngap.budget.clock import MS
from turngap.budget.marks import Mark, Marked
from turngap.voice.layers import Fate, Layer, Layers


def marks(**at_ms: int) -> Mapping[Mark, Marked]:
    return {Mark(name): Marked(mark=Mark(name), at=ms * MS, released_by=None) for name, ms in at_ms.items()}


EARLY = marks(endpoint=300, transcript=250, request=100, first_audio=280, sent=300)


def hit(layer: Layer, *, usual_ms: int | None = None) -> Layers:
    layers = Layers(usual=None if usual_ms is None else usual_ms * MS)
    layers.note(layer, Fate.STARTED)
    layers.note(layer, Fate.HIT)
    return layers


@pytest.mark.parametrize("layer", [Layer.DRAFT, Layer.SUPPOSITION])
def test_a_draft_wins_what_its_reply_would_have_taken_after_the_endpoint(layer: Layer) -> None:
    assert hit(layer).won(layer, EARLY, None) == 180 * MS


def test_a_draft_would_have_waited_for_the_transcript_as_well() -> None:
    late = marks(endpoint=300, transcript=350, request=100, first_audio=280, sent=350)
    assert hit(Layer.SUPPOSITION).won(Layer.SUPPOSITION, late, None) == 180 * MS


def test_after_an_opener_it_counts_when_more_than_that_was_heard() -> None:
    assert hit(Layer.DRAFT).won(Layer.DRAFT, EARLY, 400 * MS) == 80 * MS
    assert hit(Layer.DRAFT).won(Layer.DRAFT, EARLY, 900 * MS) == 0


def test_an_opener_wins_the_time_until_there_was_more() -> None:
    assert hit(Layer.OPENER).won(Layer.OPENER, EARLY, 900 * MS) == 600 * MS
    assert hit(Layer.OPENER).won(Layer.OPENER, EARLY, None) is None


def test_a_known_reply_wins_what_others_have_taken() -> None:
    assert hit(Layer.REPLY, usual_ms=500).won(Layer.REPLY, EARLY, None) == 500 * MS
    assert hit(Layer.REPLY).won(Layer.REPLY, EARLY, None) is None


def test_what_is_not_known_is_none() -> None:
    assert hit(Layer.PREFIX).won(Layer.PREFIX, EARLY, None) is None
    assert hit(Layer.DRAFT).won(Layer.DRAFT, marks(endpoint=300, sent=400), None) is None
    assert hit(Layer.DRAFT).won(Layer.DRAFT, marks(endpoint=300), None) is None
    assert hit(Layer.DRAFT).won(Layer.DRAFT, marks(sent=300), None) is None
    assert Layers().won(Layer.DRAFT, EARLY, None) is None


def test_it_is_told_layer_by_layer() -> None:
    layers = hit(Layer.DRAFT)
    layers.note(Layer.OPENER, Fate.MISSED)
    layers.wasted(tokens=7, took=3 * MS, samples=90)
    assert layers.to_json(EARLY, None) == {
        "layers": {
            "draft": {"started": 1, "hit": 1, "missed": 0, "cancelled": 0, "won_ms": 180.0},
            "opener": {"started": 0, "hit": 0, "missed": 1, "cancelled": 0, "won_ms": None},
        },
        "discarded": 1,
        "wasted_tokens": 7,
        "wasted_ms": 3.0,
        "wasted_samples": 90,
    }
