#!/usr/bin/env python3
"""What the local model keeps over a conversation of ten turns, and whether keeping it changes a word.

    python3 scripts/eval_reuse.py [--precision fp32 int8] [--json OUT]

Before each reply beginnings of the user's words are drafted and dropped, as a running hypothesis would be, and other
words in their place. Then the reply is made from what is left in memory, and once more with nothing remembered; at
temperature 0 both are the same tokens, or the script fails; in int8, whose rounding depends on what is multiplied
together, a close call may fall otherwise, and it says where. The steps are timed by their urgency.
"""

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from local_model import CONTEXT, make_model, say

from turngap.budget.clock import MS, Ns, monotonic
from turngap.budget.percentiles import percentile
from turngap.llm.backends.generation import Generation, Mind, Model, Preparation
from turngap.llm.backends.prompt import Prompts
from turngap.llm.history import History
from turngap.llm.protocol import Limits, Urgency

SYSTEM = "You are a friendly voice assistant at a coffee shop. Reply in one short sentence."
TURNS = (
    "Can I get a small latte please?",
    "Yes, with oat milk.",
    "And a chocolate muffin.",
    "Actually make the latte a large one.",
    "Do you have any sandwiches without meat?",
    "I'll take one of those, toasted.",
    "How much is that altogether?",
    "I'll pay by card.",
    "Where can I sit down?",
    "Thanks, have a nice day.",
)
MISHEARD = ("Can I get a small", "Yes without", "And a chalk", "no wait", "hmm")
MAX_TOKENS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn: what its prompt had, what of it was computed, and where the reply differs from a cold one."""

    prompt_tokens: int
    prefilled_tokens: int
    drafts: int
    draft_prefilled_tokens: int
    """Prefill of the drafts that were dropped, all together."""
    reply_tokens: int
    differs_at: int | None
    """The first token that a cold memory chooses otherwise; None where all are the same."""


def cold(model: Model) -> Model:
    """The same weights, and nothing remembered or shared."""
    return Model(model.engine, model.tokenizer, Prompts(model.tokenizer), model.ends, CONTEXT, model.taste, shared={})


def timed(generation: Generation | Preparation, mind: Mind, steps: list[Ns], *, most: int = 10_000) -> None:
    """Do up to ``most`` steps, and note how long each took."""
    while not generation.done and most:
        start = monotonic()
        generation.step(mind)
        steps.append(monotonic() - start)
        most -= 1


def drafted(mind: Mind, history: History, text: str, chance: random.Random, steps: list[Ns]) -> tuple[int, int]:
    """Draft on what the user seems to say, and drop it at a random step: how many drafts, and what they prefilled."""
    words = text.split()
    heard = [" ".join(words[: chance.randint(1, len(words))]) for _ in range(chance.randint(1, 3))]
    heard.insert(chance.randint(0, len(heard)), chance.choice(MISHEARD))
    prefilled = 0
    for wording in heard:
        timed(Preparation(history.messages_with(wording)), mind, steps)
        draft = Generation(history.messages_with(wording), Limits(max_tokens=MAX_TOKENS), monotonic, Urgency.DRAFT)
        timed(draft, mind, steps, most=chance.randint(1, 12))
        prefilled += draft.usage.prefilled_tokens or 0
    return len(heard), prefilled


def difference(one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    if one == other:
        return None
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def conversation(model: Model, seed: int, live: list[Ns], speculative: list[Ns]) -> Iterator[Turn]:
    """Ten turns; what the warm memory said goes into the history of both."""
    chance, mind, history = random.Random(seed), Mind(model), History(SYSTEM)
    for text in TURNS:
        drafts, wasted = drafted(mind, history, text, chance, speculative)
        asked = history.messages_with(text)
        reply = Generation(asked, Limits(max_tokens=MAX_TOKENS), monotonic)
        timed(reply, mind, live)
        _, expected = say(Mind(cold(model)), asked, MAX_TOKENS)
        history.user(text)
        history.assistant(model.tokenizer.decode(list(reply.tokens)))
        yield Turn(
            prompt_tokens=reply.usage.prompt_tokens or 0,
            prefilled_tokens=reply.usage.prefilled_tokens or 0,
            drafts=drafts,
            draft_prefilled_tokens=wasted,
            reply_tokens=len(reply.tokens),
            differs_at=difference(reply.tokens, expected),
        )


def spread(steps: list[Ns]) -> str:
    p50, p95, p99 = (percentile(sorted(steps), rank) / MS for rank in (50, 95, 99))
    return f"p50 {p50:.0f}  p95 {p95:.0f}  p99 {p99:.0f}  most {max(steps) / MS:.0f} ms  (n {len(steps)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--precision", nargs="+", default=["fp32", "int8"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    results = {}
    for precision in options.precision:
        model, live, speculative = make_model(precision), list[Ns](), list[Ns]()
        print(f"{precision}\nturn  prompt  prefilled  drafts  dropped prefill  reply  as a cold one")
        turns = []
        for number, turn in enumerate(conversation(model, options.seed, live, speculative), 1):
            turns.append(turn)
            same = "the same" if turn.differs_at is None else f"differs at token {turn.differs_at}"
            print(
                f"{number:4}  {turn.prompt_tokens:6}  {turn.prefilled_tokens:9}  {turn.drafts:6}  "
                f"{turn.draft_prefilled_tokens:15}  {turn.reply_tokens:5}  {same}",
                flush=True,
            )
        prompt, prefilled = sum(t.prompt_tokens for t in turns), sum(t.prefilled_tokens for t in turns)
        print(f"prefilled {prefilled} of {prompt} prompt tokens ({prefilled / prompt:.0%})")
        print(f"differ {sum(t.differs_at is not None for t in turns)} of {len(turns)} replies")
        print(f"a live step   {spread(live)}\na draft step  {spread(speculative)}\n")
        results[precision] = [asdict(turn) for turn in turns]
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    exact = results.get("fp32", [])
    return 1 if any(turn["differs_at"] is not None for turn in exact) else 0


if __name__ == "__main__":
    raise SystemExit(main())
