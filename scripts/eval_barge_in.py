"""What becomes of the agent's reply when somebody, or something, or its own echo, is heard over it.

    python scripts/eval_barge_in.py --manifest MANIFEST                       interruptions and other sounds
    python scripts/eval_barge_in.py --manifest MANIFEST --parts echo          the agent's own voice in the microphone
    python scripts/eval_barge_in.py --manifest MANIFEST --barge-in=words      other options are those of turngap serve

A server with the real models is started for each part, and spoken to in real time by a client that plays what it
receives as a loudspeaker would, drops on ``clear`` what it has not played, and keeps both sides on one clock. The words
of the replies come from a script, some twelve seconds long, so that there is something to speak over. What is spoken
over them is listed in scripts/barge_in_cases.py. Everything is measured in the client's recording:

* **quiet after**: from the onset of the user's voice (the manifest's label, refined by level) to the last audible
  sample of the agent before a silence of 250 ms.
* **decided after**: from that onset to the arrival of the server's report that the turn was interrupted.
* **kept words**: those that the report says were heard, against what a recogniser hears in what was really played.
* **break**: where the playing of a reply stood still although there was more of it; **back after** is from the last
  voiced sample of the sound to the end of the break (below zero: the agent was back before the sound was over).
* **off**: by how much the whole of a reply was longer or shorter than an undisturbed one. Its sentences are short
  enough for the server to remember how they sound, so an undisturbed reply is the same to the sample.

An echo is what the client played, delayed by 20 to 300 ms, through a room's response, so many dB below what was played.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import barge_in_cases as cases
import numpy as np
from eval_alignment import Listening, understood
from numpy.typing import NDArray

from turngap.budget.clock import MS, Ns, monotonic
from turngap.budget.errors import TurngapError
from turngap.voice.client.conversation import write_json
from turngap.voice.client.echo_path import EchoPath
from turngap.voice.client.line import LineError, dial
from turngap.voice.client.options import circumstances
from turngap.voice.client.overlaps import HeardReply, heard_between, quiet_from_s, replies
from turngap.voice.client.own_server import running
from turngap.voice.client.player import PACKETS_PER_S, Call, calling, late_ms
from turngap.voice.client.recording import read, resampled, write_stereo
from turngap.voice.models.store import find
from turngap.voice.tts.words import words_of

RATE_HZ: Final = 16_000
PARTS: Final = ("interruptions", "sounds", "echo")

FLOWING: Final = (
    "Let me tell you what I know about this, because there is more to it than most people think when they ask. "
    "The first thing is that it depends on the day of the week, and on how many people are in front of you. "
    "The second one is that you can always call them in the morning and ask for somebody who can help you."
)
"""Sentences too long to be remembered: while the agent speaks, its voice is still at work on the rest."""
SHORT: Final = (
    "Let me tell you what I know. There is more to it than people think. It depends on the day of the week. "
    "It also depends on the weather outside. Most people come in the morning. They bring a friend or two. "
    "You can always call them first. Then they will tell you the rest."
)
BRIEF: Final = "Let me tell you what I know. There is more to it than people think."

FIRST_S: Final = 0.5
LAST_S: Final = 6.0
"""An interruption begins so long after the reply."""
IN_ONE: Final = (1.2, 4.6, 8.0)
"""Where the sounds over one reply begin. After three stops for nothing the agent stops for words alone."""
ANSWER_S: Final = 4.0
ASKED_S: Final = 10.0
REPLY_S: Final = 25.0
AFTER_S: Final = 1.0
"""After each reply: for what a sound has begun, and nobody was to hear."""
ECHOED: Final = 2
"""Replies in each room."""
LATE: Final[Ns] = 60 * MS
"""A sound with a packet that left later than this is no measure of a server."""
DELAYS_S: Final = (0.02, 0.3)
ROOMS: Final = ("noise/speechbrain-noise-rir/rir2.wav", "noise/speechbrain-noise-rir/rir4.wav")
WITHIN_S: Final = 1.5
"""A break that begins so long after the end of a sound was not made by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """A sound over a reply: where it stands in the tracks, and before which of the server's reports (from 0)."""

    sound: cases.Sound
    onset_s: float
    end_s: float
    turn: int
    number: int
    """Of the sounds over this reply, or of the echo, from 0."""


class Listener:
    """The one who is spoken to: asks, lets the agent speak, and has sounds played over it."""

    def __init__(self, call: Call, question: cases.Sound) -> None:
        self.over: list[Over] = []
        self._call = call
        self._question = question

    async def reply_begins(self, *, ask: bool) -> int | None:
        """Wait for a reply, or ask for one; the number of its turn's report, or None if none came."""
        call = self._call
        if ask or not await call.until(lambda now, silent: silent > now, at_most_s=ANSWER_S):
            self._load(self._question)
            await call.until(lambda now, silent: not call.microphone.speaking, at_most_s=ASKED_S)
            if not await call.until(lambda now, silent: silent > now, at_most_s=ASKED_S):
                return None
        return len(call.turns)

    async def speak_over(self, sound: cases.Sound, turn: int, number: int = 0) -> None:
        begins_s = self._load(sound)
        self.over.append(
            Over(sound=sound, onset_s=begins_s + sound.onset_s, end_s=begins_s + sound.end_s, turn=turn, number=number)
        )
        await self._call.until(lambda now, silent: not self._call.microphone.speaking, at_most_s=ASKED_S)

    async def reply_ends(self, turn: int) -> bool:
        """Wait for the report of a turn; False if none came."""
        return await self._call.until(lambda now, silent: self.ended(turn), at_most_s=REPLY_S)

    async def settle(self) -> None:
        """Wait until nothing more is said."""
        await self._call.until(lambda now, silent: now - silent > AFTER_S, at_most_s=REPLY_S)

    def ended(self, turn: int) -> bool:
        return len(self._call.turns) > turn

    def _load(self, sound: cases.Sound) -> float:
        return self._call.load(sound.samples[:, None], quiet=None)


async def interrupt(listener: Listener, call: Call, sounds: Sequence[cases.Sound]) -> None:
    """Each in another place of another reply. What interrupts is answered, and that answer is interrupted next."""
    offsets = cases.spread(len(sounds), FIRST_S, LAST_S)
    for at, (sound, offset_s) in enumerate(zip(sounds, offsets, strict=True)):
        turn = await listener.reply_begins(ask=at == 0)
        if turn is None:
            continue
        await call.stay_quiet(offset_s)
        await listener.speak_over(sound, turn)
        await listener.reply_ends(turn)
        say(f"{at + 1}/{len(sounds)} {sound.name}")
    await listener.settle()


async def disturb(listener: Listener, call: Call, sounds: Sequence[cases.Sound]) -> None:
    """Three over each reply; over the very first, none. A reply that was given up is spoken over no more."""
    waiting = list(sounds)
    first = True
    while waiting:
        turn = await listener.reply_begins(ask=True)
        if turn is None:
            continue
        begun_s = call.microphone.position / RATE_HZ
        for number, offset_s in enumerate(() if first else IN_ONE):
            wanted = round((begun_s + offset_s) * RATE_HZ)
            await call.stay_quiet(max(0, wanted - call.microphone.position) / RATE_HZ)
            if waiting and not listener.ended(turn):
                await listener.speak_over(waiting.pop(0), turn, number)
        first = False
        await listener.reply_ends(turn)
        await listener.settle()
        say(f"{len(sounds) - len(waiting)}/{len(sounds)}")


async def echo(listener: Listener, call: Call, path: EchoPath) -> None:
    """Over two replies, the first of which meets a canceller that knows nothing. If the agent answers itself, taking
    the echo away puts an end to it."""
    silence = cases.Sound(name="echo", samples=np.zeros(RATE_HZ // 50, np.float32), onset_s=0.0, end_s=0.0)
    for number in range(ECHOED):
        call.echo = path
        turn = await listener.reply_begins(ask=True)
        if turn is not None:
            await listener.speak_over(silence, turn, number)
            await listener.reply_ends(turn)
        call.echo = None
        await listener.settle()


def interrupted(over: Over, reply: HeardReply, call: Call, truth: "Truth") -> dict[str, Any]:
    quiet_s = quiet_from_s(call.agent, RATE_HZ, over.onset_s)
    taken = reply.report["outcome"] == "interrupted"
    kept = len(words_of(reply.report.get("reply", "")))
    return {
        "name": over.sound.name,
        "reply_s": round(over.onset_s - reply.start / RATE_HZ, 2),
        "taken": taken,
        "taken_for": reply.report.get("spoken_over"),
        "quiet_ms": 1000 * (quiet_s - over.onset_s),
        "decided_ms": 1000 * (reply.reported_s - over.onset_s) if taken else None,
        "heard_again_ms": 1000 * heard_between(call.agent, RATE_HZ, quiet_s, reply.reported_s),
        "heard_after_ms": 1000 * (heard_between(call.agent, RATE_HZ, reply.reported_s, over.end_s) if taken else 0.0),
        "kept": kept,
        "words_off": kept - truth.heard(reply) if taken else None,
    }


def disturbed(over: Over, reply: HeardReply, *, last: bool) -> dict[str, Any]:
    """What a sound did, ``last`` if it was the last one over its reply."""
    own = [
        (start / RATE_HZ, end / RATE_HZ)
        for start, end in reply.breaks()
        if over.onset_s - 0.1 <= start / RATE_HZ <= over.end_s + WITHIN_S
    ]
    return {
        "name": over.sound.name,
        "seconds": round(over.end_s - over.onset_s, 2),
        "number": over.number,
        # Who was heard over the same reply before was not the one that took the floor from it.
        "abandoned": reply.report["outcome"] != "answered" and last,
        "breaks": len(own),
        "break_ms": 1000 * sum(end - start for start, end in own) if own else None,
        "back_ms": 1000 * (own[-1][1] - over.end_s) if own else None,
        "taken_for": reply.report.get("spoken_over"),
    }


class Truth:
    """What a recogniser hears in what was really played of a reply."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._listening = Listening(find("whisper-base"), RATE_HZ)

    def heard(self, reply: HeardReply) -> int:
        return understood(self._text, self._listening.words(reply.audio))


def lengths(found: Sequence[HeardReply]) -> list[dict[str, Any]]:
    """Whole replies beside the first, undisturbed one."""
    reference = found[0].audio
    whole = [reply for reply in found[1:] if reply.report["outcome"] == "answered"]
    return [
        {
            "off_ms": 1000 * (len(reply.audio) - len(reference)) / RATE_HZ,
            "breaks": len(reply.breaks()),
            "same": bool(np.array_equal(reply.audio, reference)),
        }
        for reply in whole
    ]


def paths(manifest: Path, levels_db: Sequence[float], count: int) -> list[EchoPath]:
    rooms = [resampled((room := read(manifest.parent / file)).mono, room.rate_hz, RATE_HZ) for file in ROOMS]
    delays = cases.spread(count, *DELAYS_S)
    return [
        EchoPath(rooms[at % len(rooms)], RATE_HZ, delay_s=delay_s, level_db=levels_db[at % len(levels_db)])
        for at, delay_s in enumerate(delays)
    ]


Speak: TypeAlias = Callable[[Call, Listener], Coroutine[Any, Any, None]]


async def hold(part: str, text: str, speaks: Sequence[Speak], args: argparse.Namespace) -> list["Held"]:
    """Conversations, one after the other, with a server of their own."""
    say(f"{part}: starting the server")
    # Without openers each reply is the same, to the word and to the sample.
    options = [f"--llm=scripted?reply={text}&prefill_ms=60&token_ms=15", "--speculation=pause", *args.serve]
    found = []
    async with running(options, clock=monotonic, waiting=lambda waited_s: None) as (url, health):
        for number, speak in enumerate(speaks):
            call, listener = await converse(part, url, speak, args)
            keep(part if len(speaks) == 1 else f"{part}-{number + 1:02}", call, args)
            config = circumstances(dict(health.get("config") or {}), late_ms(call.lateness))
            found.append(Held(call, listener, config))
            if len(speaks) > 1:
                say(f"{part}: {number + 1}/{len(speaks)}")
    return found


async def converse(part: str, url: str, speak: Speak, args: argparse.Namespace) -> tuple[Call, Listener]:
    async with dial(url) as line:
        call = Call(line, rate_hz=RATE_HZ, channels=1, clock=monotonic)
        listener = Listener(call, cases.question(args.manifest, RATE_HZ))
        call.load(np.zeros((1, 1), np.float32), quiet=hiss())
        try:
            async with calling(call):
                await call.stay_quiet(AFTER_S)
                await speak(call, listener)
        except LineError as error:
            say(f"{part}: {error}; what was recorded so far is measured\n")
    return call, listener


def keep(name: str, call: Call, args: argparse.Namespace) -> None:
    if args.save:
        args.save.mkdir(parents=True, exist_ok=True)
        write_stereo(args.save / f"{name}.wav", user=call.user, agent=call.agent, rate_hz=RATE_HZ)
        events = [{"at_s": round(event.at_s, 4), **event.body} for event in call.events]
        write_json(args.save / f"{name}.json", events)


@dataclass(frozen=True, slots=True)
class Held:
    """A conversation that was held."""

    call: Call
    listener: Listener
    config: dict[str, Any]

    def over(self) -> Iterator[tuple[Over, HeardReply]]:
        """Each sound, and the reply that it was played over. Left out is what was played in fits and starts, since this
        client was not given its time, and what the server never reported the end of."""
        turns = self.call.turns
        by_turn = {id(reply.report): reply for reply in self.replies()}
        for over in self.listener.over:
            report = turns[over.turn] if len(turns) > over.turn else None
            if (reply := by_turn.get(id(report))) is not None and not self._late(over):
                yield over, reply

    def _late(self, over: Over) -> bool:
        first, last = round(over.onset_s * PACKETS_PER_S), round((over.end_s + AFTER_S) * PACKETS_PER_S)
        return max(self.call.lateness[first:last], default=0) > LATE

    def replies(self) -> list[HeardReply]:
        events = [event for event in self.call.events if event.body.get("type") == "turn"]
        return replies([(event.at_s, event.pieces, event.body) for event in events], self.call.played)


def hiss() -> NDArray[np.float32]:
    """A quiet room at -60 dBFS: digital silence is a world of its own to a voice detector."""
    return np.random.default_rng(0).normal(0.0, 0.001, RATE_HZ).astype(np.float32)


def say(text: str) -> None:
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def row(name: str, values: Sequence[float | None]) -> str:
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return f"  {name:<34}    -"
    p50, p95 = np.percentile(known, [50, 95])
    return f"  {name:<34} {p50:>8.0f} {p95:>8.0f} {known.max():>8.0f}   n={len(known)}"


def column(found: Sequence[Mapping[str, Any]], key: str) -> list[float | None]:
    return [each[key] for each in found]


HEAD: Final = f"  {'':<34} {'p50':>8} {'p95':>8} {'max':>8}"


def run_interruptions(args: argparse.Namespace) -> dict[str, Any]:
    sounds = cases.interruptions(args.manifest, RATE_HZ)[: args.limit or 32]
    (held,) = asyncio.run(hold("interruptions", FLOWING, [lambda call, at: interrupt(at, call, sounds)], args))
    truth = Truth(FLOWING)
    found = [interrupted(over, reply, held.call, truth) for over, reply in held.over()]
    taken = [each for each in found if each["taken"]]
    off = [abs(each["words_off"]) for each in taken]
    print(f"\ninterruptions: {len(found)} of {len(sounds)} measured, floor taken in {len(taken)}\n{HEAD}")
    print(row("quiet after, ms", column(found, "quiet_ms")))
    print(row("decided after, ms", column(found, "decided_ms")))
    print(row("heard again before that, ms", column(found, "heard_again_ms")))
    print(row("heard after that, ms", column(found, "heard_after_ms")))
    print(f"  kept words: exact {off.count(0)}, within one {sum(each <= 1 for each in off)} of {len(off)}")
    return {"cases": found, "config": held.config}


def run_sounds(args: argparse.Namespace) -> dict[str, Any]:
    sounds = cases.sounds(args.manifest, RATE_HZ)[: args.limit or 51]
    (held,) = asyncio.run(hold("sounds", SHORT, [lambda call, at: disturb(at, call, sounds)], args))
    latest = {over.turn: over.number for over in held.listener.over}
    found = [disturbed(over, reply, last=over.number == latest[over.turn]) for over, reply in held.over()]
    whole = lengths(held.replies())
    stopped = [each for each in found if each["breaks"]]
    abandoned = [each for each in found if each["abandoned"]]
    print(f"\nsounds: {len(found)} of {len(sounds)} measured, the agent paused in {len(stopped)}\n{HEAD}")
    print(row("break, ms", column(found, "break_ms")))
    print(row("back after, ms", column(found, "back_ms")))
    print(row("reply off, ms (either way)", [abs(each["off_ms"]) for each in whole]))
    print(f"  the same to the sample: {sum(each['same'] for each in whole)} of {len(whole)} whole replies")
    print(f"  replies given up: {len(abandoned)}")
    for each in abandoned:
        print(f"    {each['name']} ({each['seconds']} s) taken for {each['taken_for']!r}")
    return {"cases": found, "replies": whole, "config": held.config}


def run_echo(args: argparse.Namespace) -> dict[str, Any]:
    ways = paths(args.manifest, args.echo_db, (args.limit or 50) // ECHOED)
    speaks: list[Speak] = [partial(_echo, path=path) for path in ways]
    conversations = asyncio.run(hold("echo", BRIEF, speaks, args))
    found = [
        {
            "level_db": args.echo_db[number % len(args.echo_db)],
            "reply": over.number + 1,
            "abandoned": reply.report["outcome"] != "answered",
            "taken_for": reply.report.get("spoken_over"),
            "breaks": len(reply.breaks()),
            "break_ms": 1000 * sum(end - start for start, end in reply.breaks()) / RATE_HZ,
        }
        for number, held in enumerate(conversations)
        for over, reply in held.over()
    ]
    print(f"\necho: {len(found)} replies of {len(ways) * ECHOED} measured")
    for level in args.echo_db:
        own = [each for each in found if each["level_db"] == level]
        stopped, given_up = sum(each["breaks"] > 0 for each in own), sum(each["abandoned"] for each in own)
        print(f"  {level:>4.0f} dB: {stopped} stopped, {given_up} given up of {len(own)}")
    return {"cases": found, "config": conversations[0].config}


async def _echo(call: Call, listener: Listener, *, path: EchoPath) -> None:
    await echo(listener, call, path)


RUN: Final = {"interruptions": run_interruptions, "sounds": run_sounds, "echo": run_echo}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--manifest", type=Path, required=True, help="manifest.jsonl of the recordings")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS[:2], metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--limit", type=int, help="cases of each part (32 interruptions, 51 sounds, 50 echoes)")
    parser.add_argument("--echo-db", type=float, nargs="+", default=(-10.0, -20.0, -30.0), metavar="DB")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep both tracks and all events there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every case there")
    options, further = parser.parse_known_args()
    options.serve = further
    return options


def main() -> None:
    args = arguments()
    before = os.getloadavg()[0]
    found: dict[str, Any] = {part: RUN[part](args) for part in args.parts}
    found["load"] = [before, os.getloadavg()[0]]
    print(f"load: {before:.1f} before, {found['load'][1]:.1f} after")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except TurngapError as error:
        sys.exit(f"{error}")
