"""Which words of a reply were heard when it was cut off: our answer beside Piper's own, and beside a recogniser's.

    python scripts/eval_alignment.py [--voice FOLDER] [--asr FOLDER] [--cuts 5] [--seed 1] [--json OUT]

Each sentence is spoken once and cut at places drawn evenly over its length. What we would keep in the history, by
the durations of the phonemes and by the letters alone, is compared with three answers:

* ``piper``: the durations of an unsplit ``PiperVoice`` with alignments, on a text spoken without noise; a word ends
  where the phonemes of the text up to it end. It tells whether durations and words are put together rightly.
* ``whisper, whole``: where a recogniser that heard all of the sentence says that each word ends.
* ``whisper, cut``: what a recogniser hears that is given only what was played, matched with the text.

The last two share nothing with Piper. A cut at which the recogniser's words leave open how far it heard (one of the
two words around it was understood otherwise) is left out, and counted.
"""

import argparse
import asyncio
import difflib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import soxr
from numpy.typing import NDArray

from turngap.budget.clock import monotonic
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.asr.wer import scoring_words
from turngap.voice.models.store import find
from turngap.voice.tts.alignment import HEARD_SHARE, heard_prefix
from turngap.voice.tts.protocol import WordEnd
from turngap.voice.tts.split import DECODER, ENCODER, FLOW
from turngap.voice.tts.vits import Style, Voice, read_config
from turngap.voice.tts.words import words_of

ASR_HZ: Final = 16_000

PROBE: Final = "dog"

SHARES: Final = (0.5, HEARD_SHARE, 1.0)
"""Of a word that must have been played for it to count as heard."""

SENTENCES: Final = (
    "Sure, one small latte coming up.",
    "I can get you a small latte with oat milk today.",
    "The next train to the airport leaves at five past nine from platform three, I think.",
    "Your total is $4.50, and your order will be ready in ten minutes.",
    "It opens at 10:30 a.m. and closes at 8 p.m. on weekdays.",
    "Dr. Smith can see you on the 25th of March at 3:15.",
    "Of course. Would you like that hot or iced?",
    "No problem! I have changed your booking to a table for 12 people.",
    "There are 365 days in a year, and 366 in a leap year.",
    "The museum is at 221 Baker Street, near the end of the road.",
    "In 1984 the company had about 1,500 employees.",
    "That would be 20% off, so you pay 16 dollars.",
    "First, open the settings; then, choose the network that you want to use.",
    "I am sorry, but I did not understand that. Could you say it again?",
    "Mr. and Mrs. Brown live on the second floor of the old house.",
    "The capital of Australia is Canberra, not Sydney.",
    "Water boils at 100 degrees, at least at the level of the sea.",
    "You have three new messages: one from Anna, and two from the bank.",
    "It is a lot of work, to be honest, but it is going to be worth it.",
    "Turn left at the lights, go straight on for two miles, and it is on your right.",
    "Let me check. Yes, we do have it in blue. It costs 35 dollars.",
    "The meeting has been moved from Tuesday to Thursday at 4 o'clock.",
    "Please have your account number ready, and press 1 to go on.",
    "I would recommend the soup of the day, which is made with tomatoes and a bit of cream.",
    "We're open until nine tonight, so there's plenty of time.",
    "Your flight, number 472, is delayed by about 45 minutes.",
    "The recipe needs 2 eggs, 250 grams of flour, and half a cup of sugar.",
    "He was born in 1756 and wrote his first symphony when he was 8.",
    "That's a great question! The moon is about 239,000 miles away from the earth.",
    "Okay, I'll set an alarm for 6:45 tomorrow morning.",
    "The state-of-the-art camera takes 50 pictures in a second.",
    "You can pay by card, by phone, or in cash, whatever suits you best.",
    "It will be cloudy with a high of 18 and a low of 9 degrees.",
    "Unfortunately, the kitchen closes in 5 minutes, but we can still do a sandwich.",
    "The package was sent on May 3rd, and it should be there by the 7th.",
    "If you are not sure which one you need, I can tell you more about both of them.",
    "My favorite is the chocolate cake, i.e. the one at the top of the menu.",
    "Room 404 is on the fourth floor, just to the left of the lift.",
    "A gallon is 3.8 liters, more or less.",
    "Thanks for calling. Is there anything else that I can do for you today?",
    "There were many people in the park, and some of them had brought their dogs.",
    "The battery lasts for 12 hours when it is new, and for about 8 after two years.",
    "Yes, that is right. Your code is 4, 7, 1, 9.",
    "She said that she would be late, because the bus had broken down on the bridge.",
    "You need to be at gate B12 by 7:20 at the latest.",
)


@dataclass(frozen=True, slots=True)
class Spoken:
    text: str
    audio: NDArray[np.float32]
    words: tuple[WordEnd, ...]


def spoken_by(voice: Voice, text: str) -> Spoken:
    pieces = list(voice.pieces(text))
    return Spoken(
        text,
        np.concatenate([piece.samples for piece in pieces]),
        tuple(word for piece in pieces for word in piece.words),
    )


class Scores:
    """By how many words an answer differs from the truth, cut by cut."""

    def __init__(self) -> None:
        self._off: dict[tuple[str, str], Counter[int]] = {}
        self.left_out: Counter[str] = Counter()

    def add(self, truth: str, answer: str, off: int) -> None:
        self._off.setdefault((truth, answer), Counter())[off] += 1

    def figures(self) -> dict[str, dict[str, float]]:
        return {f"{truth} / {answer}": _figures(counts) for (truth, answer), counts in sorted(self._off.items())}


def _figures(counts: Counter[int]) -> dict[str, float]:
    n = counts.total()
    return {
        "n": n,
        "exact": 100 * counts[0] / n,
        "within one": 100 * sum(counts[off] for off in (-1, 0, 1)) / n,
        "worst": max(map(abs, counts)),
        "too many": 100 * sum(count for off, count in counts.items() if off > 0) / n,
    }


def answers(spoken: Spoken, cut: int) -> dict[str, int]:
    """How many words each way of ours keeps."""
    kept = {}
    for name, words in (("letters", ()), ("durations", spoken.words)):
        for share in SHARES:
            prefix = heard_prefix(
                spoken.text, played_samples=cut, total_samples=len(spoken.audio), words=words, share=share
            )
            kept[f"{name}, {share:g}"] = len(words_of(prefix))
    return kept


class Listening:
    """Whisper, as the one who hears."""

    def __init__(self, folder: Path, rate_hz: int) -> None:
        from faster_whisper import WhisperModel

        self._model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)
        self._short = make_recognizer(f"whisper:{folder}?threads=1", find_model=lambda _: folder, clock=monotonic)
        self._rate_hz = rate_hz

    def timed(self, audio: NDArray[np.float32]) -> list[tuple[str, float]]:
        """What faster-whisper hears, each word with its end in seconds."""
        segments, _ = self._model.transcribe(
            self._at_its_rate(audio), language="en", beam_size=1, word_timestamps=True, condition_on_previous_text=False
        )
        return [(word.word, float(word.end)) for segment in segments for word in segment.words or ()]

    def words(self, audio: NDArray[np.float32]) -> list[str]:
        """What the same weights hear with an encoder window as short as the audio, which is sooner done."""
        return list(asyncio.run(self._short.listen().decode(self._at_its_rate(audio))).words)

    def _at_its_rate(self, audio: NDArray[np.float32]) -> NDArray[np.float32]:
        padded = np.pad(audio, (0, self._rate_hz // 2))
        return np.asarray(soxr.resample(padded, self._rate_hz, ASR_HZ), np.float32)


def matched(text: str, heard: Sequence[str]) -> dict[int, int]:
    """For words of ``text`` whose last part was understood, which of the words ``heard`` that is."""
    ours = [(part, at) for at, word in enumerate(words_of(text)) for part in scoring_words(word.group())]
    theirs = [(part, at) for at, word in enumerate(heard) for part in scoring_words(word)]
    matcher = difflib.SequenceMatcher(None, [part for part, _ in ours], [part for part, _ in theirs], autojunk=False)
    last = {at: index for index, (_, at) in enumerate(ours)}
    found = {}
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            word = ours[block.a + step][1]
            if last[word] == block.a + step:
                found[word] = theirs[block.b + step][1]
    return found


def heard_by(ends_s: dict[int, float], count: int, cut_s: float) -> int | None:
    """How many words end before ``cut_s``; None if a word around the cut has no known end."""
    before = max((word for word, end in ends_s.items() if end <= cut_s), default=-1)
    after = min((word for word, end in ends_s.items() if end > cut_s and word > before), default=count)
    return before + 1 if after == before + 1 else None


def disagreement(folder: Path) -> dict[str, float]:
    """How far our ends of words are from an unsplit Piper's, of texts of one sentence, without noise."""
    from piper import PiperVoice
    from piper.config import SynthesisConfig

    config = read_config(folder)
    config["inference"] |= {"noise_scale": 0.0, "noise_w": 0.0}
    ours = Voice(folder, config, style=Style(), threads=1)
    ours.calibrate()
    theirs = PiperVoice.load(whole_model(folder), include_alignments=True)
    still = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)
    frame_s = ours.hop / theirs.config.sample_rate
    off: list[float] = []
    for text in SENTENCES:
        if len(ours.phonemes(text)) > 1:
            continue
        (chunk,) = theirs.synthesize(text, still, include_alignments=True)
        expected = piper_ends(theirs, chunk, text)
        told = [word.samples / theirs.config.sample_rate for word in spoken_by(ours, text).words]
        # Ours has no silence before the first word; that is the same for all words of a sentence.
        off += list(np.abs((np.array(told) - told[0]) - (np.array(expected) - expected[0]))[1:])
    return {"words": len(off), "equal": 100 * float(np.mean(np.array(off) < frame_s / 2)), "worst_ms": 1000 * max(off)}


def piper_ends(voice: Any, chunk: Any, text: str) -> list[float]:  # piper.PiperVoice, piper.voice.AudioChunk
    """Seconds after which each word is over: where as many sounds are as the text up to its end is said with.

    A word more is put behind that and taken off again: at the end of a text "a" is said as a letter.
    """
    over = np.cumsum([alignment.num_samples for alignment in chunk.phoneme_alignments])[1:]  # the first begins it
    sounds = [at for at, phoneme in enumerate(chunk.phonemes) if _sound(phoneme)]
    ends = []
    for word in words_of(text):
        before = _sounds(voice, f"{text[: word.end()]} {PROBE}") - _sounds(voice, PROBE)
        last = sounds[min(before, len(sounds)) - 1]
        while chunk.phonemes[last + 1 : last + 2] in (["ː"], ["ʲ"]):
            last += 1
        ends.append(float(over[last]) / voice.config.sample_rate)
    return ends


def _sounds(voice: Any, text: str) -> int:
    return sum(_sound(phoneme) for sentence in voice.phonemize(text) for phoneme in sentence)


def _sound(phoneme: str) -> bool:
    return phoneme.isalpha() and phoneme not in "ˈˌːʲ"


def understood(text: str, heard: Sequence[str]) -> int:
    """How many words of ``text`` are spelt most like what was heard; of equally good answers, the fewest."""
    ours = ["".join(scoring_words(word.group())) for word in words_of(text)]
    theirs = "".join(scoring_words(" ".join(heard)))
    row = list(range(len(theirs) + 1))
    costs = [row[-1]]
    for word in ours:
        for letter in word:
            above, row = row, [row[0] + 1]
            for column, other in enumerate(theirs):
                row.append(min(above[column + 1] + 1, row[-1] + 1, above[column] + (letter != other)))
        costs.append(row[-1])
    return costs.index(min(costs))


def whole_model(folder: Path) -> Path:
    return next(path for path in folder.glob("*.onnx") if path.name not in (ENCODER, FLOW, DECODER))


def measure(voice: Voice, rate_hz: int, listening: Listening, *, cuts: int, seed: int) -> Scores:
    scores = Scores()
    random = np.random.default_rng(seed)
    for text in SENTENCES:
        spoken = spoken_by(voice, text)
        heard = listening.timed(spoken.audio)
        ends = {ours: heard[theirs][1] for ours, theirs in matched(text, [word for word, _ in heard]).items()}
        for cut in random.integers(1, len(spoken.audio), cuts):
            truths = {
                "whisper, whole": heard_by(ends, len(words_of(text)), cut / rate_hz),
                "whisper, cut": understood(text, listening.words(spoken.audio[:cut])),
            }
            for truth, expected in truths.items():
                if expected is None:
                    scores.left_out[truth] += 1
                    continue
                for answer, kept in answers(spoken, int(cut)).items():
                    scores.add(truth, answer, kept - expected)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voice", type=Path, help="a voice's folder (default: the pulled piper-joe)")
    parser.add_argument("--asr", type=Path, help="a whisper's folder (default: the pulled whisper-base)")
    parser.add_argument("--cuts", type=int, default=5, help="places at which each sentence is cut")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--piper-only", action="store_true", help="leave out the recogniser, which takes minutes")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    folder = options.voice or find("piper-joe")
    voice = Voice(folder, config := read_config(folder), style=Style(), threads=1)
    voice.calibrate()
    rate_hz = int(config["audio"]["sample_rate"])
    piper = disagreement(folder)
    print(
        f"piper: {piper['equal']:.1f} % of {piper['words']} words end alike, worst {piper['worst_ms']:.0f} ms",
        flush=True,
    )
    if options.piper_only:
        return
    listening = Listening(options.asr or find("whisper-base"), rate_hz)
    scores = measure(voice, rate_hz, listening, cuts=options.cuts, seed=options.seed)
    print(f"{'truth / answer':<28} {'n':>5} {'exact':>7} {'in one':>7} {'worst':>6} {'too many':>9}")
    for name, row in scores.figures().items():
        figures = f"{row['exact']:>5.1f} % {row['within one']:>5.1f} % {row['worst']:>6.0f} {row['too many']:>7.1f} %"
        print(f"{name:<28} {row['n']:>5.0f} {figures}")
    print(f"left out: {dict(scores.left_out)}")
    if options.json:
        found = {"piper": piper, "figures": scores.figures(), "left_out": dict(scores.left_out)}
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
