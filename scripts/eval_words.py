#!/usr/bin/env python3
"""Words that are heard under conditions: recordings through the whole hearing of ``turngap serve``.

Other than eval_asr, which knows from labels where the voice is, the voice detector has to find it here. For each set
and condition: the clips that became a turn and got words, the words of the reference (or of the slots) that were heard,
and how many words there were beside those of the reference.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from offline import Ear, Heeded
from rich.console import Console
from rich.table import Table
from streaming import Clip, Surroundings, load, surroundings_of

from turngap.voice.asr.protocol import ASR_RATE_HZ
from turngap.voice.asr.wer import pooled, scoring_words, word_errors
from turngap.voice.client import conditions
from turngap.voice.models.store import find
from turngap.voice.settings import Settings


def words_heard(clip: Clip, text: str) -> tuple[int, int]:
    """How many of the wanted words are in the text, and how many are wanted."""
    if clip.text:
        errors = word_errors(clip.text, text)
        return errors.words - errors.deletions - errors.substitutions, errors.words
    heard = set(scoring_words(text))
    wanted = [word for said in clip.slots.values() for word in scoring_words(said)]
    return sum(word in heard for word in wanted), len(wanted)


def line(clips: Sequence[Clip], heard: Sequence[Heeded]) -> list[str]:
    counted = [words_heard(clip, heeded.text) for clip, heeded in zip(clips, heard, strict=True)]
    scored = [word_errors(clip.text, heeded.text) for clip, heeded in zip(clips, heard, strict=True) if clip.text]
    return [
        str(len(clips)),
        str(sum(bool(heeded.turns) for heeded in heard)),
        str(sum(bool(heeded.replies) for heeded in heard)),
        str(sum(heeded.replies for heeded in heard)),
        f"{sum(found for found, _ in counted)} of {sum(wanted for _, wanted in counted)}",
        str(pooled(scored).insertions) if scored else "",
    ]


async def run(options: argparse.Namespace) -> None:
    noises, rooms = surroundings_of(options.manifest)
    around = Surroundings.read(options.noise or noises, options.room or rooms)
    ear = Ear(Settings(endpointing=options.endpointing, asr=options.asr), find_model=find)
    await ear.recognizer.warm()
    shown = Table("set", "condition", "clips", "a turn", "words", "replies", "words heard", "too many")
    for wanted in options.set:
        clean = load(options.manifest, wanted, options.limit)
        for text in options.condition or ["clean"]:
            condition = conditions.parse(text)
            clips = [around.around(clip, number, condition) for number, clip in enumerate(clean)]
            heard = [await ear.hear(clip.name, clip.audio, ASR_RATE_HZ) for clip in clips]
            shown.add_row(wanted, text, *line(clips, heard))
            if options.texts:
                for clip, heeded in zip(clips, heard, strict=True):
                    said = clip.text or json.dumps(clip.slots)
                    print(
                        f"{text} {clip.name}: {' | '.join(turn.text for turn in heeded.turns)}  <- {said}", flush=True
                    )
    Console(width=120).print(shown)
    await ear.aclose()


def main() -> None:
    usual = Settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True, help="a manifest.jsonl beside its recordings")
    parser.add_argument("--set", action="append", required=True, help="may be given more than once")
    parser.add_argument("--condition", action="append", metavar="NAME", help="may be given more than once")
    parser.add_argument("--noise", type=Path, nargs="+", help="recordings of noise; default: those of the manifest")
    parser.add_argument("--room", type=Path, nargs="+", help="impulse responses; default: those of the manifest")
    parser.add_argument("--endpointing", default=usual.endpointing, metavar="SPEC")
    parser.add_argument("--asr", default=usual.asr, metavar="SPEC")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--texts", action="store_true", help="print what was heard")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
