"""Whole conversations on leaping time, with the shipped fakes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pytest
from leap import LeapingLoop, run
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Ns, milliseconds
from turngap.budget.marks import Span, Stage
from turngap.llm.backends import make_backend
from turngap.llm.speculation.acts import Act
from turngap.llm.speculation.english import ENGLISH as LANGUAGE
from turngap.llm.speculation.english_openers import ACTS
from turngap.llm.speculation.openers import Openers
from turngap.llm.speculation.replies import Replies
from turngap.llm.speculation.stored import StoredReply
from turngap.voice.asr.protocol import ASR_RATE_HZ, Listener, Pass, Recognizer
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.audio.level import first_audible
from turngap.voice.endpointing.energy import EnergyActivity
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import Endpointing, TurnEndModel
from turngap.voice.endpointing.weighing import Weighing
from turngap.voice.endpointing.wording import Claim
from turngap.voice.manner import Manner, Parts, Speculation, forgetting, unknown
from turngap.voice.protocols.door import ClientGone, News, Packet
from turngap.voice.session import Session
from turngap.voice.tts.protocol import Speech
from turngap.voice.tts.registry import make_synthesizer
from turngap.voice.tts.tone import ToneSynthesizer

RATE = 16_000
PACKET = RATE // 50


def no_model(name: str) -> NoReturn:
    raise AssertionError(f"the fakes asked for {name}")


@dataclass
class ScriptedDoor:
    """Speaks stretches of (seconds of voice, seconds of silence) in real time, and notes what it is told, when."""

    loop: LeapingLoop
    speech: list[tuple[float, float]]
    leaves: bool = False
    stalls: Mapping[int, Ns] = field(default_factory=dict)
    rate_hz: int = RATE
    said: list[tuple[float, str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._start = self.loop.clock()
        rng = np.random.default_rng(0)
        pieces = []
        for voiced, silent in self.speech:
            pieces.append(0.2 * np.sin(np.arange(int(voiced * RATE)) / 5))
            pieces.append(rng.normal(0, 0.0005, int(silent * RATE)))
        self._audio = np.concatenate(pieces).astype(np.float32)
        self._at = 0

    async def packet(self) -> Packet | None:
        index = self._at // PACKET
        if self._at >= len(self._audio):
            if self.leaves:
                raise ClientGone
            return None
        due = self._start + (index + 1) * 20 * MS
        if (wait := due - self.loop.clock()) > 0:
            await asyncio.sleep(wait / SECOND)
        samples = self._audio[self._at : self._at + PACKET]
        self._at += PACKET
        self.loop.stall(self.stalls.get(index, 0))
        return Packet(samples, self.loop.clock())

    async def audio(self, samples: NDArray[np.float32]) -> None:
        self._note("audio", samples)

    async def clear(self) -> None:
        self._note("clear", None)

    async def transcript(self, role: str, text: str) -> None:
        self._note(role, text)

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        self._note("hypothesis", (stable, unstable))

    async def turn(self, report: Mapping[str, Any]) -> None:
        self._note("turn", dict(report))

    async def tell(self, news: News) -> None:
        """This client does not ask for it."""

    async def error(self, code: str, message: str, remedy: str) -> None:
        self._note("error", code)

    def _note(self, kind: str, value: Any) -> None:
        self.said.append((milliseconds(self.loop.clock() - self._start), kind, value))

    def of(self, kind: str) -> list[Any]:
        return [value for _, said, value in self.said if said == kind]

    def first_audio_ms(self) -> float:
        return next(at for at, kind, value in self.said if kind == "audio" and first_audible(value, RATE) is not None)


def converse(
    *speech: tuple[float, float],
    llm: str = "scripted?reply=Sure, one moment. I am looking for it now.",
    asr: str = "scripted?text=what time is it",
    voice: str = "tone",
    leaves: bool = False,
    stalls: Mapping[int, Ns] | None = None,
    endpointing: Endpointing | None = None,
    turn_end: TurnEndModel | None = None,
    recognizer: Recognizer | None = None,
    remembered: Callable[[str], Sequence[Speech] | None] = unknown,
    learn: Callable[[str], Awaitable[None]] = forgetting,
    **manner: Any,
) -> ScriptedDoor:
    loop = LeapingLoop()
    door = ScriptedDoor(loop, list(speech), leaves=leaves, stalls=stalls or {})
    find: Any = no_model

    async def hold() -> None:
        backend = make_backend(llm, find_model=find, clock=loop.clock)
        parts = Parts(
            activity=EnergyActivity(),
            endpointing=Hangover(hangover_ms=200) if endpointing is None else endpointing,
            turn_end=turn_end,
            recognizer=recognizer or make_recognizer(asr, find_model=find, clock=loop.clock),
            backend=backend,
            synthesizer=make_synthesizer(voice, find_model=find, clock=loop.clock),
            remembered=remembered,
            learn=learn,
        )
        async with asyncio.timeout(600):
            await Session(door, parts, Manner(system="Be brief.", **manner), loop.clock).run()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == [], "a session leaves no task behind"

    run(loop, hold())
    return door


def test_an_answer_leaves_with_the_endpoint_when_everything_else_costs_nothing() -> None:
    door = converse((1.0, 3.0))
    assert door.first_audio_ms() == pytest.approx(1200, abs=10)
    (turn,) = door.of("turn")
    assert turn["outcome"] == "answered"
    assert turn["reported_gap_ms"] == pytest.approx(200, abs=1)
    assert turn["text"] == "what time is it"
    assert turn["reply"] == "Sure, one moment. I am looking for it now."
    assert door.of("user") == ["what time is it"]
    assert door.of("agent") == [turn["reply"]]
    assert door.of("clear") == door.of("error") == []


def test_charges_and_residual_are_the_gap() -> None:
    (turn,) = converse((1.0, 3.0), llm="scripted?prefill_ms=300&token_ms=40&reply=Well, yes.").of("turn")
    charged = sum(charge for charge in turn["charges_ms"].values() if charge is not None)
    assert charged == pytest.approx(turn["reported_gap_ms"])
    assert turn["residual_ms"] == pytest.approx(0, abs=1)


@pytest.mark.parametrize(
    ("slow", "stage"),
    [
        ({"asr": "scripted?text=yes&cost_ms=700"}, "asr"),
        ({"llm": "scripted?prefill_ms=700&reply=Yes."}, "prefill"),
        ({"llm": "scripted?token_ms=700&reply=Yes, sir."}, "decode"),
        ({"voice": "tone?cost_ms=700"}, "tts"),
    ],
)
def test_the_stage_that_is_slow_is_the_one_that_is_blamed(slow: dict[str, Any], stage: str) -> None:
    (turn,) = converse((1.0, 4.0), **slow).of("turn")
    assert turn["culprit"] == stage
    assert turn["charges_ms"][stage] >= 690
    assert turn["residual_ms"] == pytest.approx(0, abs=1)


def test_a_stalled_loop_is_residual_and_nothing_else() -> None:
    plain = converse((1.0, 3.0)).of("turn")[0]
    (turn,) = converse((1.0, 3.0), stalls={55: 600 * MS}).of("turn")
    assert turn["culprit"] == "residual"
    assert turn["residual_ms"] == pytest.approx(turn["reported_gap_ms"] - plain["reported_gap_ms"], abs=40)
    for stage, charge in turn["charges_ms"].items():
        if stage not in ("residual", "endpointing") and charge is not None:
            assert charge == pytest.approx(plain["charges_ms"][stage] or 0, abs=1)
    assert turn["charges_ms"]["endpointing"] <= plain["charges_ms"]["endpointing"] + 1


def test_going_on_after_a_short_pause_is_one_turn_and_nothing_slips_out() -> None:
    door = converse((1.0, 0.12), (1.0, 3.0))
    (turn,) = door.of("turn")
    assert turn["outcome"] == "answered"
    assert turn["revisions"] == 2
    assert door.first_audio_ms() == pytest.approx(2320, abs=20)


def test_going_on_after_the_endpoint_reopens_the_turn_while_nothing_was_heard() -> None:
    door = converse((1.0, 0.5), (1.0, 3.0), llm="scripted?prefill_ms=800&reply=Yes.")
    (turn,) = door.of("turn")
    assert turn["revisions"] == 2
    assert door.first_audio_ms() > 2500


def test_two_turns_are_answered_one_after_the_other() -> None:
    door = converse((1.0, 4.0), (1.0, 4.0))
    assert [turn["outcome"] for turn in door.of("turn")] == ["answered", "answered"]


def test_a_barge_in_hushes_and_keeps_what_was_heard() -> None:
    words = " ".join(f"word{index}" for index in range(60)) + "."
    door = converse((1.0, 1.5), (1.5, 6.0), llm=f"scripted?reply={words}")
    first, second = door.of("turn")
    assert first["outcome"] == "interrupted"
    assert door.of("clear") == [None]
    assert words.startswith(first["reply"])
    assert 5 < len(first["reply"].split()) < 40
    assert first["spoken_over"] == "what time is it"
    assert second["outcome"] == "answered"


def test_a_cough_over_the_reply_does_not_stop_it() -> None:
    words = " ".join(f"word{index}" for index in range(40)) + "."
    door = converse((1.0, 1.0), (0.15, 6.0), llm=f"scripted?reply={words}", claims=lambda text: Claim.NONE)
    (turn,) = door.of("turn")
    assert turn["outcome"] == "answered"
    assert turn["reply"] == words


def played(door: ScriptedDoor) -> NDArray[np.float32]:
    """What a client plays of the agent's audio: it begins with the first packet, and drops what is cleared."""
    parts: list[NDArray[np.float32]] = []
    ends = 0.0
    for at, kind, value in door.said:
        if kind == "audio":
            ends = max(ends, at) + 1000 * len(value) / RATE
            parts.append(value)
        elif kind == "clear":
            while parts and ends - 1000 * len(parts[-1]) / RATE >= at:
                ends -= 1000 * len(parts.pop()) / RATE
            if parts and ends > at:
                parts[-1] = parts[-1][: -round((ends - at) * RATE / 1000)]
                ends = at
    return np.concatenate(parts)


def test_after_a_cough_the_reply_goes_on_with_the_very_next_sample() -> None:
    words = " ".join(f"word{index}" for index in range(40)) + "."
    whole = played(converse((1.0, 7.15), llm=f"scripted?reply={words}"))
    door = converse((1.0, 1.0), (0.15, 6.0), llm=f"scripted?reply={words}", claims=lambda text: Claim.NONE)
    cleared = next(at for at, kind, _ in door.said if kind == "clear")
    assert 2000 < cleared < 2100, "quiet within 100 ms of the cough"
    np.testing.assert_allclose(played(door), whole, atol=1e-4)


def test_the_agents_own_words_out_of_a_loudspeaker_do_not_stop_it() -> None:
    words = " ".join(f"word{index}" for index in range(40)) + "."
    reply = f"scripted?reply={words}"
    own = converse((1.0, 1.0), (0.6, 6.0), llm=reply, asr="scripted?text=word3 word4 word5").of("turn")
    assert [turn["outcome"] for turn in own] == ["answered"]
    assert own[0]["spoken_over"].startswith("word3")
    other = converse((1.0, 1.0), (0.6, 6.0), llm=reply, asr="scripted?text=word3 word5 word4").of("turn")
    assert other[0]["outcome"] == "interrupted"


@dataclass
class Opinion:
    """A turn-end model that always says the same."""

    probability: float

    async def judge(self, audio: NDArray[np.float32]) -> tuple[float, Span]:
        return self.probability, Span(stage=Stage.ENDPOINTING, start=0, end=0, what="turn end")


def test_a_model_that_hears_the_end_makes_it_quick_and_one_that_does_not_makes_it_slow() -> None:
    gaps = []
    for probability in (0.99, 0.01):
        door = converse((1.0, 4.0), endpointing=Weighing(), turn_end=Opinion(probability))
        (turn,) = door.of("turn")
        gaps.append(turn["reported_gap_ms"])
        assert any(span["what"] == "turn end" for span in turn["spans"])
        assert turn["residual_ms"] == pytest.approx(0, abs=1)
    assert gaps[0] < 150
    assert 600 < gaps[1] <= 2000


def test_words_that_sound_unfinished_take_the_endpoint_back_unheard() -> None:
    door = converse(
        (1.0, 4.0),
        asr="scripted?text=i would like a&cost_ms=150",
        endpointing=Weighing(lexicon=ENGLISH, certainty=0.85),
        turn_end=Opinion(0.99),
    )
    (turn,) = door.of("turn")
    assert turn["withdrawn_endpoints"] == 1
    assert turn["reported_gap_ms"] > 300
    assert door.of("clear") == []
    assert any(span["what"] == "unfinished phrase" for span in turn["spans"])


OPENERS = Openers(acts=ACTS, texts={Act.QUESTION: ("Well,",)}, share=1.0)


def known(text: str) -> list[Speech] | None:
    """What the tone would say, at once."""

    async def say() -> list[Speech]:
        return [speech async for speech in ToneSynthesizer(clock=lambda: 0).speak(text)]

    saying = say()
    try:
        saying.send(None)  # a tone that costs nothing never waits
    except StopIteration as done:
        return list(done.value)
    raise AssertionError("the tone waited")


@pytest.mark.parametrize("asr_ms", [60, 300])
def test_an_opener_is_heard_at_the_endpoint_and_the_reply_goes_on_from_it(asr_ms: int) -> None:
    door = converse(
        (1.0, 5.0),
        asr=f"scripted?text=what time is it&cost_ms={asr_ms}",
        llm="scripted?prefill_ms=600&reply=it is noon.",
        speculation=Speculation(openers=OPENERS),
        remembered=known,
    )
    (turn,) = door.of("turn")
    assert turn["reported_gap_ms"] == pytest.approx(200, abs=25)
    assert turn["first_content_gap_ms"] == pytest.approx(60 + asr_ms + 600, abs=130)
    assert (turn["opener"], turn["reply"], turn["outcome"]) == ("Well,", "Well, it is noon.", "answered")
    assert door.of("user") == ["what time is it"]


def test_a_conversation_begins_with_the_opener_whose_turn_it_is() -> None:
    two = replace(OPENERS, texts={act: ("Well,", "So,") for act in OPENERS.texts})
    door = converse(
        (1.0, 5.0),
        asr="scripted?text=what time is it",
        llm="scripted?prefill_ms=600&reply=it is noon.",
        speculation=Speculation(openers=two, first_opener=1),
        remembered=known,
    )
    (turn,) = door.of("turn")
    assert turn["opener"] == "So,"


def test_a_reply_that_is_ready_in_time_needs_no_opener() -> None:
    door = converse((1.0, 4.0), speculation=Speculation(openers=OPENERS), remembered=known)
    (turn,) = door.of("turn")
    assert turn["opener"] == ""
    assert turn["first_content_gap_ms"] == turn["reported_gap_ms"] == pytest.approx(200, abs=1)


def test_who_goes_on_after_an_opener_is_answered_once_and_as_a_whole() -> None:
    door = converse(
        (1.0, 0.28),
        (1.0, 4.0),
        asr="scripted?text=what time is it&cost_ms=300",
        speculation=Speculation(openers=OPENERS),
        remembered=known,
    )
    (turn,) = door.of("turn")
    assert (turn["revisions"], turn["outcome"]) == (2, "answered")
    assert door.of("user") == ["what time is it"]


def test_a_reply_that_is_known_in_advance_asks_no_model() -> None:
    replies = Replies(LANGUAGE)
    replies.add(StoredReply(utterances=("what time is it",), says=("It is noon.",)))
    door = converse((1.0, 4.0), llm="scripted?fail=before", speculation=Speculation(replies=replies))
    (turn,) = door.of("turn")
    assert (turn["reply"], turn["outcome"]) == ("It is noon.", "answered")
    assert turn["speculation"]["layers"]["reply"]["hit"] == 1
    assert turn["residual_ms"] == pytest.approx(0, abs=1)


def test_wordings_take_turns_after_an_opener_as_well() -> None:
    replies = Replies(LANGUAGE)
    replies.add(StoredReply(utterances=("what time is it",), says=("It is noon.", "Noon.")))
    door = converse(
        *[(1.0, 4.0)] * 4,
        asr="scripted?text=what time is it&cost_ms=300",
        speculation=Speculation(openers=replace(OPENERS, share=0.5), replies=replies),
        remembered=known,
    )
    said = [turn["reply"] for turn in door.of("turn")]
    assert said == ["Well, It is noon.", "Noon.", "It is noon.", "Well, Noon."]


def test_what_was_foreseen_between_the_turns_is_answered_without_the_model() -> None:
    learned: list[str] = []

    async def learn(text: str) -> None:
        learned.append(text)

    door = converse(
        (1.0, 9.0),
        (1.0, 5.0),
        llm="scripted?prefill_ms=400&reply=Noon.",  # of the user, who is thought to begin with "yes", as well
        asr="scripted?text=Yes, noon.",
        speculation=Speculation(foresees=True, foreseen=partial(Replies, LANGUAGE)),
        learn=learn,
    )
    first, second = door.of("turn")
    assert "reply" not in first["speculation"]["layers"]
    assert second["speculation"]["layers"]["reply"]["hit"] == 1
    assert second["reported_gap_ms"] < 250 < first["reported_gap_ms"]
    assert "Noon." in learned


def test_nothing_is_foreseen_once_no_more_will_be_said() -> None:
    replies = Replies(LANGUAGE)
    replies.add(StoredReply(utterances=("what time is it",), says=("It is noon.",)))
    door = converse(
        (1.0, 4.0),
        llm="scripted?stall=before",  # whatever is foreseen takes for ever
        speculation=Speculation(replies=replies, foresees=True, foreseen=partial(Replies, LANGUAGE)),
    )
    assert [turn["outcome"] for turn in door.of("turn")] == ["answered"]


def test_silence_gets_no_reply() -> None:
    door = converse((0.0, 60.0))
    assert door.said == []


def test_no_words_get_no_reply() -> None:
    door = converse((1.0, 3.0), asr="scripted?text=")
    (turn,) = door.of("turn")
    assert turn["outcome"] == "no_words"
    assert door.of("audio") == []


@pytest.mark.parametrize("failing", ["fail=before", "stall=before"])
def test_a_backend_that_gives_nothing_is_excused_within_the_deadline(failing: str) -> None:
    door = converse((1.0, 6.0), (1.0, 6.0), llm=f"scripted?reply=Yes.&{failing}", stall=1000 * MS)
    assert [turn["outcome"] for turn in door.of("turn")] == ["failed", "failed"]
    assert door.of("error") == ["prefill_failed", "prefill_failed"]
    assert door.first_audio_ms() <= 1000 + 200 + 5000
    assert door.of("turn")[0]["failure"]


@pytest.mark.parametrize("failing", ["fail=after", "stall=after"])
def test_a_backend_that_breaks_off_is_signalled_and_the_next_turn_works(failing: str) -> None:
    door = converse((1.0, 9.0), (1.0, 9.0), llm=f"scripted?reply=Well, yes and no.&{failing}", stall=1000 * MS)
    assert [turn["outcome"] for turn in door.of("turn")] == ["failed", "failed"]
    assert door.of("error") == ["decode_failed", "decode_failed"]


def test_of_a_draft_that_fails_nobody_hears_if_the_user_goes_on() -> None:
    door = converse((1.0, 0.12), (1.0, 5.0), llm="scripted?fail=before", stall=1000 * MS)
    (turn,) = door.of("turn")
    assert turn["speculation"]["discarded"] == 2
    assert door.of("error") == ["prefill_failed"]


def test_a_recogniser_that_fails_is_excused() -> None:
    door = converse((1.0, 6.0), asr="scripted?text=yes&fail=-1")
    assert [turn["outcome"] for turn in door.of("turn")] == ["failed"]
    assert "asr_failed" in door.of("error")


def test_a_voice_that_fails_ends_the_turn_with_a_signal() -> None:
    door = converse((1.0, 6.0), voice="tone?fail=1")
    assert [turn["outcome"] for turn in door.of("turn")] == ["failed"]
    assert door.of("error") == ["tts_failed", "tts_failed"]


@pytest.mark.parametrize("speech", [[(0.5, 0.0)], [(1.0, 0.5)], [(1.0, 1.0), (0.2, 0.0)]])
def test_a_client_that_leaves_takes_everything_with_it(speech: list[tuple[float, float]]) -> None:
    words = " ".join(f"word{index}" for index in range(60))
    converse(*speech, llm=f"scripted?reply={words}.", leaves=True)


def test_a_client_that_ends_mid_word_is_still_answered() -> None:
    door = converse((1.0, 0.0))
    (turn,) = door.of("turn")
    assert turn["outcome"] == "answered"


class SecondThoughts:
    """A recogniser that is sure of its first words for four seconds, and then hears others."""

    REST = ("is", "it", "by", "the", "clock", "on", "the", "wall", "over", "there")

    async def warm(self) -> None: ...

    def listen(self) -> Listener:
        return self

    async def decode(
        self, audio: NDArray[np.float32], *, start: int = 0, draft: Sequence[str] = (), prompt: str = ""
    ) -> Pass:
        seconds = len(audio) / ASR_RATE_HZ
        first = ("What", "time") if seconds < 4 else ("But", "thyme", "again")
        return Pass(words=(*first, *self.REST[: int(2 * seconds)]))

    def describe(self) -> dict[str, str]:
        return {}

    async def aclose(self) -> None: ...


def test_the_client_is_told_no_stable_word_that_it_does_not_find_in_all_that_follows() -> None:
    door = converse((4.5, 0.12), (2.0, 3.0), recognizer=SecondThoughts())
    told = door.of("hypothesis")
    texts = [f"{stable} {unstable}".strip() for stable, unstable in told]
    assert any(stable for stable, _ in told)
    for at, (stable, _) in enumerate(told):
        assert all(text.startswith(stable) for text in texts[at:])
    (said,) = door.of("user")
    assert said == texts[-1] == door.of("turn")[0]["text"]
    assert said.startswith("What time is it")
