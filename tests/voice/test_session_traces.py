"""A draft that is discarded leaves no trace: with speculation, a conversation is what it is without, but sooner.

Every conversation is held twice, without any speculation and with all of it but openers (an opener is heard, so it is
no draft). What may differ is when something happens. Where that would change what happens there is nothing to compare,
so what is drawn is clear, whenever a reply is ready: a pause inside of a turn ends well before its endpoint, or after
it but while neither the words nor the first token can be there, so that nothing was heard; a pause that ends a turn
outlasts the reply; and a reply that fails does so before its first token. Nobody speaks over a reply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Final

import numpy as np
import pytest
from conversing import PACKET, PACKET_MS, RATE, Client, Ears, Model, Stretch, Word, hold
from hypothesis import given, settings
from hypothesis import strategies as st
from leap import LeapingLoop

from turngap.budget.clock import MS, Clock, Ns
from turngap.budget.marks import Span, Stage
from turngap.llm.backends.scripted import ScriptedBackend
from turngap.llm.protocol import Message
from turngap.llm.speculation.english import ENGLISH as LANGUAGE
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.policy import Running
from turngap.llm.speculation.replies import Replies
from turngap.llm.speculation.stored import StoredReply
from turngap.voice.endpointing.energy import EnergyActivity
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import Endpointing
from turngap.voice.endpointing.weighing import LONGEST_MS, Weighing
from turngap.voice.manner import Manner, Parts, Speculation
from turngap.voice.speculating import same
from turngap.voice.tts.tone import ToneSynthesizer
from turngap.voice.turn import same_text

NOTICED_MS: Final = 160
"""Until a voice is known to be there or gone: frames, packets, and some more."""
STALL_MS: Final = 800
SILENCE: Final = 400 // PACKET_MS
"""Packets of the last silence that are sent, so that there is more than a preroll between two turns."""
REPLIES: Final = ("Yes.", "Well, it is noon.", "Sure, one moment. I am looking for it now, and will tell you.")
WORDS: Final = ("one", "small", "latte", "please", "a", "No.", "time?", "and")
MISHEARINGS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: text,
    lambda text: "",
    lambda text: text[:2],
    lambda text: text.upper() + ",",
    lambda text: "tea",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One conversation, and what speculation makes of it."""

    speech: tuple[Stretch, ...]
    words: tuple[Word, ...]
    asr: Ns
    ways: tuple[tuple[str, str, str], ...]
    """What is said, and whether it fails or stalls instead."""
    prefill: Ns
    token: Ns
    tts: Ns
    hangover_ms: int | None
    opinion: float | None
    known: tuple[str, ...]
    supposes: tuple[bool, ...]
    same: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    asr: int
    prefill: int
    token: int
    tts: int

    @property
    def until_heard(self) -> int:
        """Nothing of a reply can be heard so soon after a voice."""
        return max(self.asr, self.prefill)

    @property
    def at_most(self) -> int:
        """A reply is over so long after its endpoint, or its excuse is."""
        return self.asr + max(STALL_MS, self.prefill) + 20 * (self.token + 60) + 4 * self.tts


costs = st.builds(
    Costs,
    asr=st.sampled_from((0, 60, 300, 600)),
    prefill=st.sampled_from((0, 40, 250, 500)),
    token=st.sampled_from((0, 10, 30)),
    tts=st.sampled_from((0, 20, 150)),
)


@st.composite
def pauses(draw: st.DrawFn, cost: Costs, hangover_ms: int | None) -> int | None:
    """A pause that ends no turn, in packets; None if nothing would be clear about any."""
    early = 0 if hangover_ms is None else hangover_ms - NOTICED_MS
    lengths = range(120, max(early, cost.until_heard - NOTICED_MS) + 1, PACKET_MS)
    clear = [ms for ms in lengths if ms <= early or hangover_ms is None or ms >= hangover_ms + NOTICED_MS]
    return draw(st.sampled_from(clear)) // PACKET_MS if clear else None


@st.composite
def turns(draw: st.DrawFn, cost: Costs, hangover_ms: int | None) -> list[Stretch]:
    """Some stretches with a pause between each two."""
    found = [Stretch(draw(st.integers(3, 14)), 0)]
    for _ in range(draw(st.integers(0, 2))):
        pause = draw(pauses(cost, hangover_ms))
        if pause is not None:
            found[-1] = Stretch(found[-1].voiced, pause)
            found.append(Stretch(draw(st.integers(3, 14)), 0))
    longest = LONGEST_MS if hangover_ms is None else hangover_ms
    last = int(longest + cost.at_most) // PACKET_MS + 1200 // PACKET_MS
    found[-1] = Stretch(found[-1].voiced, last, draw(st.sampled_from((SILENCE, SILENCE, SILENCE, 1400 // PACKET_MS))))
    return found


@st.composite
def spoken(draw: st.DrawFn, speech: list[Stretch]) -> list[Word]:
    """A word in every so many ms of voice, the newest of which may be misheard."""
    found, at = [], 0
    for stretch in speech:
        end = at + stretch.voiced * PACKET
        while (at := at + draw(st.integers(2, 7)) * PACKET) <= end:
            text = draw(st.sampled_from(WORDS))
            taken_for = draw(st.sampled_from(MISHEARINGS))(text)
            found.append(Word(text, at, taken_for, draw(st.sampled_from((0, 20, 40, 80, 300))) * RATE // 1000))
        at = end + min(stretch.silent, stretch.sent) * PACKET
    return found


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    cost = draw(costs)
    hangover_ms = draw(st.sampled_from((203, 403, 603, None)))
    speech = [
        stretch for _ in range(draw(st.sampled_from((1, 1, 2, 2, 3)))) for stretch in draw(turns(cost, hangover_ms))
    ]
    words = draw(spoken(speech))
    trouble = st.sampled_from((("", ""), ("", ""), ("before", ""), ("", "before")))
    ways = st.tuples(st.sampled_from(REPLIES), trouble).map(lambda way: (way[0], *way[1]))
    return Scene(
        speech=tuple(speech),
        words=tuple(words),
        asr=cost.asr * MS,
        ways=tuple(draw(st.lists(ways, min_size=1, max_size=3))),
        prefill=cost.prefill * MS,
        token=cost.token * MS,
        tts=cost.tts * MS,
        hangover_ms=hangover_ms,
        opinion=draw(st.sampled_from((None, 0.02, 0.5, 0.99))),
        known=tuple(draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), max_size=2))),
        supposes=tuple(draw(st.lists(st.booleans(), min_size=1, max_size=4))),
        same=draw(st.sampled_from((same, same_text))),
    )


@dataclass(frozen=True, slots=True)
class Opinion:
    """A turn-end model that always says the same, at once."""

    probability: float
    clock: Clock

    async def judge(self, audio: Any) -> tuple[float, Span]:
        now = self.clock()
        return self.probability, Span(stage=Stage.ENDPOINTING, start=now, end=now, what="turn end")


def held(scene: Scene, speculation: Speculation) -> tuple[Client, Model]:
    """The conversation of ``scene``."""
    loop = LeapingLoop()
    client = Client(loop, scene.speech)
    model = Model(
        [
            ScriptedBackend([says], clock=loop.clock, prefill=scene.prefill, token=scene.token, fail=fail, stall=stall)
            for says, fail, stall in scene.ways
        ]
    )
    endpointing: Endpointing
    if scene.hangover_ms is None:
        endpointing = Weighing(lexicon=ENGLISH, asks=scene.opinion is not None)
    else:
        endpointing = Hangover(hangover_ms=scene.hangover_ms)
    parts = Parts(
        activity=EnergyActivity(),
        endpointing=endpointing,
        turn_end=None if scene.opinion is None else Opinion(scene.opinion, loop.clock),
        recognizer=Ears(scene.words, clock=loop.clock, cost=scene.asr),
        backend=model,
        synthesizer=ToneSynthesizer(clock=loop.clock, cost=scene.tts),
    )
    hold(client, parts, Manner(system="Be brief.", stall=STALL_MS * MS, speculation=speculation))
    return client, model


def replies(scene: Scene) -> Replies:
    known = Replies(LANGUAGE)
    for text in scene.known:
        known.add(StoredReply(utterances=(text,), says=("Once.", "Twice, then.")))
    return known


def speculating(scene: Scene) -> Speculation:
    chosen = cycle(scene.supposes)

    def supposes(running: Running) -> bool:
        return next(chosen) and bool(running.words)

    return Speculation(at_pause=True, supposes=supposes, same=scene.same, replies=replies(scene))


def shown(model: Model, as_one: Callable[[str], str]) -> list[tuple[Message, ...]]:
    """What the model answered, the latest words of the user in the wording that stands for all that say the same."""
    return [(*before, Message(last.role, as_one(last.content))) for *before, last in model.committed]


def events(client: Client) -> list[tuple[str, Any]]:
    """What a client is told besides audio; of a report, what is no time."""
    timeless = ("turn", "outcome", "revisions", "withdrawn_endpoints", "text", "reply", "spoken_over", "opener")
    return [
        (told, {key: value[key] for key in (*timeless, "failure")} if told == "turn" else value)
        for told, value in client.told
        if told != "audio"
    ]


def audio(client: Client) -> list[bytes]:
    """The samples of each reply."""
    found: list[list[Any]] = [[]]
    for told, value in client.told:
        if told == "turn":
            found.append([])
        elif told == "audio":
            found[-1].append(value)
    return [np.concatenate([np.zeros(0, np.float32), *parts]).tobytes() for parts in found]


def written(client: Client) -> list[Any]:
    """What the ledger of each turn says was done for which revision, and how long it took, but not when. Where a draft
    was wanted and had failed by then, nothing is written of it."""
    return [
        sorted(_written(entry) for entry in report["ledger"]["entries"] if report["outcome"] != "failed")
        for report in client.of("turn")
    ]


def _written(entry: dict[str, Any]) -> tuple[int, str, str, float]:
    fact = next(str(entry[key]) for key in ("mark", "span", "note") if key in entry)
    value = "" if fact.endswith(PROMPT) else str(entry.get("value", ""))
    lasted = entry["end_ms"] - entry["start_ms"] if "span" in entry and fact not in WAITS else 0.0
    return entry["revision"], fact, f"{entry.get('what', '')}{value}", round(lasted, 3)


PROMPT: Final = ("prompt_tokens", "cached_tokens", "prefilled_tokens")
"""Another wording may have more tokens, and a draft leaves a cache behind."""
WAITS: Final = ("endpointing", "dispatch", "playout")
"""Stages whose work is to wait for others, which takes as long as these do."""


def leaves_no_trace(scene: Scene) -> None:
    """Hold the conversation both ways."""
    plain, plain_model = held(scene, Speculation(at_pause=False, replies=replies(scene)))
    keen, keen_model = held(scene, speculating(scene))

    assert events(keen) == events(plain)
    assert audio(keen) == audio(plain)
    assert shown(keen_model, as_one(scene)) == shown(plain_model, as_one(scene))
    assert written(keen) == written(plain)


def as_one(scene: Scene) -> Callable[[str], str]:
    return (lambda text: " ".join(normal(text, LANGUAGE))) if scene.same is same else str


@settings(max_examples=max(1, settings().max_examples // 2))
@given(scenes())
def test_a_draft_that_is_discarded_leaves_no_trace(scene: Scene) -> None:
    leaves_no_trace(scene)


@pytest.mark.soak
@pytest.mark.parametrize("lot", range(4))  # each takes less time than after which a test is thought to hang
@settings(max_examples=500)
@given(scene=scenes())
def test_none_of_the_drafts_in_two_thousand_conversations_leaves_a_trace(lot: int, scene: Scene) -> None:
    leaves_no_trace(scene)
