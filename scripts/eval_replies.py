#!/usr/bin/env python3
"""How often known replies are found, and how often wrongly, over the pairs in tests/llm/contrast.

Hits of ``different`` are false, hits of ``same`` are wanted. Every third pair was kept unseen while the word lists were
written. By words alone and, where the model has been pulled, with embeddings; then how long a look-up among 500 replies
and an embedding of ten words take, on one thread.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import torch

from turngap.budget.errors import ModelError
from turngap.llm.speculation.embedding import MODEL, Embedding
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.replies import Replies, Similar
from turngap.llm.speculation.stored import StoredReply
from turngap.voice.models.store import find

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from contrast_set import Pair, pairs

SAID = "could you tell me what time you close on Friday"
LOOKUPS = 500


def how(pair: Pair, similar: Similar | None) -> str | None:
    """How the first of ``pair`` gets the reply that is known for the second, if it does."""
    replies = Replies(ENGLISH)
    replies.add(StoredReply(utterances=(pair.known,), says=("Sure.",)))
    if similar is not None:
        vectors = {text: similar(text) for text in replies.unlearned()}
        replies.learn({text: vector for text, vector in vectors.items() if vector is not None})
    found = replies.match("", pair.said, similar=similar)
    return None if found is None else found.how


def show_hits(name: str, of: Sequence[Pair], similar: Similar | None) -> None:
    found = [(pair.kind, how(pair, similar)) for pair in of]
    total = Counter(kind for kind, _ in found)
    hit = Counter(kind for kind, how in found if how)
    exact = sum(how == "exact" for _, how in found)
    share = f"{hit.total()}/{len(found)} = {hit.total() / len(found):.1%} (exact {exact / len(found):.1%})"
    print(f"  {name:<17} {share:<32} {'  '.join(f'{kind} {hit[kind]}/{total[kind]}' for kind in total)}")


def show_times(name: str, work: Callable[[], object]) -> None:
    took = []
    for _ in range(LOOKUPS):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1000)
    p50, p95, p99 = np.percentile(took, (50, 95, 99))
    print(f"  {name:<28} p50 {p50:7.3f}  p95 {p95:7.3f}  p99 {p99:7.3f} ms")


def many() -> Replies:
    """500 replies, one of them to when we close on Fridays."""
    replies = Replies(ENGLISH)
    things = ("open", "close", "serve lunch", "have a table", "bake bread")
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    questions = ("when do you", "do you", "why do you", "who can", "where do you")
    for question, thing, day, number in product(questions, things, days, range(2, 6)):
        replies.add(StoredReply(utterances=(f"{question} {thing} on {day} for {number}",), says=("Sure.",)))
    replies.add(StoredReply(utterances=("when do you close on Friday",), says=("At nine.",)))
    return replies


def main() -> None:
    torch.set_num_threads(1)
    ways: dict[str, Similar | None] = {"by words alone": None}
    embedding = None
    try:
        embedding = Embedding(find(MODEL))
    except ModelError as error:
        print(error, file=sys.stderr)
    else:
        embed = embedding.embed_now
        ways["with embeddings"] = cache(lambda text: embed([text])[0])
    for way, similar in ways.items():
        print(way)
        for name, unseen in product(("different", "same"), (False, True)):
            show_hits(
                f"{name} {'unseen' if unseen else 'seen'}", [p for p in pairs(name) if p.unseen is unseen], similar
            )
    replies = many()
    print(f"times, {LOOKUPS} each, {len(replies)} replies")
    for what, said in (("exact", "When do you close on Friday?"), ("paraphrase", SAID), ("none", "I lost my umbrella")):
        show_times(what, lambda said=said: replies.match("", said))  # type: ignore[misc]
    if embedding is not None:
        embed_now = embedding.embed_now
        show_times("embedding of ten words", lambda: embed_now([SAID]))


if __name__ == "__main__":
    main()
