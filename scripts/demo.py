"""One spoken turn, from nothing: a human recording in, a spoken reply out, and where every millisecond went.

    python3 scripts/demo.py                        with a recording that comes along with the models
    python3 scripts/demo.py --wav mine.wav         with one of your own (more than one: --wav a.wav b.wav)
    python3 scripts/demo.py --llm SPEC             other options are those of turngap replay

Makes the environment, fetches the models (once), starts a server, speaks the recording into it in real time, and
shows transcript, reply and waterfall. Both sides are kept as a WAV, and the reply is played where there is a device.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import environment

ROOT = environment.ROOT
PLAYERS = (("paplay",), ("pw-play",), ("aplay", "-q"), ("afplay",))
NEEDED = ("whisper-base", "smollm2-135m-instruct", "piper-joe", "silero-vad", "smart-turn-v3.2", "recordings")
FIRST = "goforward"
"""The shortest of the recordings, so that a second run ends within 15 s, speech included."""

AFTERWARDS = """
What to try next, after: . .venv/bin/activate
  turngap replay FILE... --save runs/mine    your own recordings
  turngap bench FOLDER --limit 20            many of them, with percentiles and blame
  turngap serve                              a server for your own client, on 127.0.0.1:8700
  turngap models list                        what was fetched, from where, under which licence
"""


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="demo.py", description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wav", nargs="+", type=Path, metavar="FILE", help="your own recordings instead of ours")
    parser.add_argument("--save", type=Path, default=ROOT / "runs" / "demo", metavar="DIR", help="where both sides go")
    parser.add_argument("--silent", action="store_true", help="do not play the reply")
    options, further = parser.parse_known_args(words)
    options.further = further
    for file in options.wav or ():
        if not file.is_file():
            parser.error(f"there is no file {file}")
    return options


def turngap(*words: str) -> int:
    """Run the command of the environment; its output is the reader's."""
    return subprocess.run([sys.executable, "-m", "turngap.voice.cli", *words], cwd=ROOT, check=False).returncode


def pull() -> int:
    """Fetch what is not here yet. Asking first saves the second that it takes to verify what is."""
    from turngap.voice.models import store

    here = store.present()
    missing = [name for name in NEEDED if name not in here]
    return turngap("models", "pull", *missing) if missing else 0


def recording() -> Path:
    """A short human recording, from among those that were fetched with the models."""
    from turngap.voice.client.recording import SUFFIXES
    from turngap.voice.models import store

    files = sorted(file for file in store.find("recordings").rglob("*") if file.suffix in SUFFIXES)
    return next((file for file in files if FIRST in file.name), files[0])


def players(file: Path) -> Iterator[list[str]]:
    """Commands that would play ``file`` here, the likeliest first."""
    for name, *words in PLAYERS:
        if found := shutil.which(name):
            yield [found, *words, str(file)]


def play(files: Sequence[Path]) -> None:
    """Play what was recorded, or say nothing where there is no device: no demo fails for lack of a loudspeaker."""
    for file in files:
        for command in players(file):
            try:
                done = subprocess.run(command, capture_output=True, check=False, timeout=120)
            except (OSError, subprocess.TimeoutExpired):
                continue
            if done.returncode == 0:
                break


def main(options: argparse.Namespace) -> int:
    if status := pull():
        return status
    files = options.wav or [recording()]
    if status := turngap("replay", *(str(file) for file in files), "--save", str(options.save), *options.further):
        return status
    saved = sorted(options.save.glob("*.wav"))
    print("\nBoth sides (left you, right the agent):", *saved, sep="\n  ")
    if not options.silent and sys.stdout.isatty():
        play(saved)
    print(AFTERWARDS)
    return 0


if __name__ == "__main__":
    chosen = arguments()
    environment.enter()
    try:
        sys.exit(main(chosen))
    except KeyboardInterrupt:
        sys.exit("\ndemo: interrupted")
