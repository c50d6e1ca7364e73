"""Whatever happens in a conversation, it goes on, and every turn of it is accounted for.

Nothing is spared: voices over replies, pauses of any length, words that are misheard, openers and known replies, stages
that fail or stall, a loop that is blocked, a client that is slow to take what it is told and leaves in the middle.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any

import pytest
from conversing import PACKET, RATE, Client, Ears, Model, Stretch, Word, hold
from hypothesis import given, settings
from hypothesis import strategies as st
from leap import LeapingLoop

from turngap.budget.clock import MS, Ns
from turngap.budget.ledger import Outcome
from turngap.budget.marks import Span, Stage
from turngap.llm.backends.scripted import ScriptedBackend
from turngap.llm.speculation.acts import Act
from turngap.llm.speculation.english import ENGLISH as LANGUAGE
from turngap.llm.speculation.english_openers import ACTS
from turngap.llm.speculation.openers import Openers
from turngap.llm.speculation.replies import Replies
from turngap.llm.speculation.stored import StoredReply
from turngap.voice.endpointing.energy import EnergyActivity
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.weighing import Weighing
from turngap.voice.endpointing.wording import Claim
from turngap.voice.manner import Manner, Parts, Speculation, unknown
from turngap.voice.overlap import any_words
from turngap.voice.speculating import same
from turngap.voice.tts.protocol import Speech
from turngap.voice.tts.tone import WORD_MS, ToneSynthesizer
from turngap.voice.turn import Yielding

WORDS = ("what", "time", "is", "it", "a", "latte", "please", "wait", "yes", "thanks")
KNOWN = ("what", "what time", "yes", "a latte", "time is it")
REPLIES = ("Yes.", "Well, it is noon.", "Sure, one moment. " + "I am looking for it now, and will tell you. " * 3)
OPENERS = Openers(acts=ACTS, texts=dict.fromkeys(Act, ("Well,", "I see,")), share=1.0)
TROUBLE = (("", ""), ("", ""), ("", ""), ("", ""), ("before", ""), ("after", ""), ("", "before"), ("", "after"))
"""When a reply fails, and when it stalls; most do neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    speech: list[Stretch]
    client: dict[str, Any]
    words: list[Word]
    asr: Ns
    deaf: list[bool]
    ways: list[tuple[str, str, str]]
    prefill: Ns
    token: Ns
    tts: Ns
    mute: bool
    hangover_ms: int | None
    opinion: float | None
    opens: bool
    remembers: bool
    supposes: list[bool]
    speculation: dict[str, Any]
    manner: dict[str, Any]


@st.composite
def spoken(draw: st.DrawFn, speech: Sequence[Stretch]) -> list[Word]:
    """Words at any place of the audio, in silence as well."""
    found, at = [], 0
    end = sum(stretch.voiced + min(stretch.silent, stretch.sent) for stretch in speech) * PACKET
    while (at := at + draw(st.integers(1, 12)) * PACKET) <= end:
        text, taken_for = draw(st.sampled_from(WORDS)), draw(st.sampled_from(("", *WORDS)))
        found.append(Word(text, at, taken_for, draw(st.integers(0, 5)) * RATE // 20))
    return found


seldom = st.sampled_from((False, False, False, False, True))


def some_ms(*durations: int) -> st.SearchStrategy[Ns]:
    return st.sampled_from([duration * MS for duration in durations])


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    stretches = st.builds(Stretch, st.integers(2, 25), st.integers(0, 60), st.integers(0, 60))
    speech = draw(st.lists(stretches, min_size=1, max_size=5))
    ways = st.tuples(st.sampled_from(REPLIES), st.sampled_from(TROUBLE)).map(lambda way: (way[0], *way[1]))
    return Scene(
        speech=speech,
        client={
            "leaves": draw(seldom),
            "leaves_after": draw(st.integers(0, 80)) if draw(seldom) else 1 << 30,
            "slow": draw(some_ms(0, 0, 3, 15)),
            "stalls": draw(st.dictionaries(st.integers(0, 60), some_ms(50, 300, 900), max_size=3)),
        },
        words=draw(spoken(speech)),
        asr=draw(some_ms(0, 60, 300, 700)),
        deaf=draw(st.lists(st.booleans(), max_size=6)) if draw(seldom) else [],
        ways=draw(st.lists(ways, min_size=1, max_size=4)),
        prefill=draw(some_ms(0, 40, 250, 900)),
        token=draw(some_ms(0, 10, 60)),
        tts=draw(some_ms(0, 30, 300)),
        mute=draw(seldom),
        hangover_ms=draw(st.sampled_from((0, 200, 400, None, None))),
        opinion=draw(st.sampled_from((None, 0.02, 0.99))),
        opens=draw(st.booleans()),
        remembers=not draw(seldom),
        supposes=draw(st.lists(st.booleans(), min_size=1, max_size=4)),
        speculation={
            "at_pause": not draw(seldom),
            "same": draw(st.sampled_from((same, str.__eq__))),
            "open_after": draw(some_ms(0, 150)),
            "foresees": draw(st.booleans()),
        },
        manner={
            "yielding": draw(st.sampled_from(Yielding)),
            "claims": draw(st.sampled_from((any_words, claims))),
            "deadline": draw(some_ms(700, 2000, 5000)),
            "stall": draw(some_ms(400, 1500)),
        },
    )


def claims(text: str) -> Claim:
    if "wait" in text:
        return Claim.SURE
    return Claim.DOUBTFUL if "what" in text else Claim.NONE


@dataclass(frozen=True, slots=True)
class Opinion:
    """A turn-end model that always says the same, but not at once."""

    probability: float
    loop: LeapingLoop

    async def judge(self, audio: Any) -> tuple[float, Span]:
        began = self.loop.clock()
        await asyncio.sleep(0.02)
        return self.probability, Span(stage=Stage.ENDPOINTING, start=began, end=self.loop.clock(), what="turn end")


def tone(text: str) -> list[Speech]:
    """What the tone would say, at once."""

    async def say() -> list[Speech]:
        return [speech async for speech in ToneSynthesizer(clock=lambda: 0).speak(text)]

    saying = say()
    try:
        saying.send(None)  # a tone that costs nothing never waits
    except StopIteration as done:
        return list(done.value)
    raise AssertionError("the tone waited")


def replies() -> Replies:
    known = Replies(LANGUAGE)
    for text in KNOWN:
        known.add(StoredReply(utterances=(text,), says=(f"Once {text}.", f"Again {text}, then.")))
    return known


def held(scene: Scene) -> Client:
    loop = LeapingLoop()
    client = Client(loop, scene.speech, **scene.client)
    chosen = cycle(scene.supposes)
    ways = [
        ScriptedBackend([says], clock=loop.clock, prefill=scene.prefill, token=scene.token, fail=fail, stall=stall)
        for says, fail, stall in scene.ways
    ]
    weighing = Weighing(lexicon=ENGLISH, asks=scene.opinion is not None)
    speculation = Speculation(
        supposes=lambda running: next(chosen),
        openers=OPENERS if scene.opens else None,
        replies=replies(),
        foreseen=partial(Replies, LANGUAGE),
        **scene.speculation,
    )
    parts = Parts(
        activity=EnergyActivity(),
        endpointing=weighing if scene.hangover_ms is None else Hangover(hangover_ms=scene.hangover_ms),
        turn_end=None if scene.opinion is None else Opinion(scene.opinion, loop),
        recognizer=Ears(scene.words, clock=loop.clock, cost=scene.asr, fails=scene.deaf),
        backend=Model(ways),
        synthesizer=ToneSynthesizer(clock=loop.clock, cost=scene.tts, fails=scene.mute),
        remembered=tone if scene.remembers else unknown,
    )
    hold(client, parts, Manner(system="Be brief.", speculation=speculation, **scene.manner))
    return client


def accounts_for(client: Client) -> None:
    """Check what the client was told of each turn."""
    reports = client.of("turn")
    assert "dispatch_failed" not in [code for code, _, _ in client.of("error")], "that is a bug of ours"
    assert [report["turn"] for report in reports] == list(range(1, len(reports) + 1))
    if not client.gone:
        assert {turn for turn, _, _ in client.of("hypothesis")} <= {report["turn"] for report in reports}
        assert client.of("agent") == [report["reply"] for report in reports if report["reply"]]
    for report in reports:
        assert Outcome(report["outcome"]) is not Outcome.ABANDONED
        if (gap := report["reported_gap_ms"]) is not None:
            charged = [charge for charge in report["charges_ms"].values() if charge is not None]
            assert sum(charged) == pytest.approx(gap, abs=1e-3)
            assert report["residual_ms"] == report["charges_ms"]["residual"] >= 0
    said_only_what_was_sent(client)


IN_HAND = 3 * RATE // 50
"""Packets that a slow client was about to take when we fell silent, which may be twice, and then hushed."""


def said_only_what_was_sent(client: Client) -> None:
    """No word counts as heard whose audio was not sent."""
    sent = 0
    for told, value in client.told:
        if told == "audio":
            sent += len(value)
        elif told == "turn":
            assert len(value["reply"].split()) * WORD_MS * RATE // 1000 <= sent + IN_HAND
            sent = 0


def goes_on(scene: Scene) -> None:
    accounts_for(held(scene))


@settings(max_examples=max(1, settings().max_examples // 2))
@given(scenes())
def test_every_turn_of_any_conversation_is_accounted_for(scene: Scene) -> None:
    goes_on(scene)


@pytest.mark.soak
@pytest.mark.parametrize("lot", range(4))  # each takes less time than after which a test is thought to hang
@settings(max_examples=500)
@given(scene=scenes())
def test_every_turn_of_two_thousand_conversations_is_accounted_for(lot: int, scene: Scene) -> None:
    goes_on(scene)
