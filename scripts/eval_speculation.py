#!/usr/bin/env python3
"""How often replies and openers that one half of some dialogues teaches are right in the other half.

    python3 scripts/eval_speculation.py --data FOLDER [--set star]... [--json OUT] [--sample OUT] [--embeddings]

FOLDER holds the public dialogue sets that scripts/dialogues.py reads, each in a folder of its own; sets that are not
there are left out, which is said. Each set is learned from and tested twice: *words* is what a log of turngap's own
conversations has, *states* is with the names that the set gives to what the agent did last, and to the slots that the
user named, as an application would.

A hit is a turn of the tested half for which a known reply is found: by the same words, by a paraphrase, or by a form
(template). It is *right* by the reference if the set's annotators call what the agent really said next the same, with
the same values; or, whatever they call it, if that has the same words in normal form, or is nothing but the same
formula (a goodbye, an offer to do more), or shares half of its meaningful words and has no other number. Otherwise it
is counted as *other*, though it may be as good an answer: that is for people to judge, and ``--sample`` writes up to 60
hits of each set for them.

An opener *fits* if it promises nothing, or if what the agent really said did not begin with a refusal; it is *alike* if
the agent began with an opener of the same kind. Intervals are 95 %, by bootstrap over dialogues. False hits of the
guard are counted on the contrast pairs in tests/llm/contrast.
"""

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from dialogues import SETS, Acts, Dialogue

from turngap.budget.errors import ModelError
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.english_openers import ENGLISH_OPENERS, MANNERS
from turngap.llm.speculation.forms import Forms
from turngap.llm.speculation.formulas import formula
from turngap.llm.speculation.learning import Evidence, Exchange, alike, learn
from turngap.llm.speculation.learning_forms import learn_forms
from turngap.llm.speculation.learning_openers import learn_openers
from turngap.llm.speculation.openers import Choice, Openers
from turngap.llm.speculation.replies import Replies, Similar

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from contrast_set import CONTRASTS, pairs
from eval_replies import how

DRAWS: Final = 2000
SAMPLE: Final = 60
KINDS: Final = ("exact", "paraphrase", "template")
OPENERS: Final = ("shipped", "learned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A known reply beside the one that was given."""

    how: str
    after: str
    said: str
    known: str
    reply: str
    reference: str
    right: bool


@dataclass(slots=True)
class Tested:
    """What one dialogue of the tested half counts; every dialogue has the same keys."""

    counts: Counter[str] = field(default_factory=Counter)
    hits: list[Hit] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Known:
    """What one half taught."""

    replies: Replies
    forms: Forms | None
    acts: Mapping[str, Counter[Acts]]
    """What the replies were called in that half."""

    def find(self, each: Exchange, similar: Similar | None) -> tuple[str, str, str] | None:
        """How a reply was found, for which known turn, and its text."""
        for state in filter(None, (each.state, each.after or " ")):
            if match := self.replies.match(state, each.said, similar=similar):
                return match.how, match.known, match.text
        filled = self.forms.match(each.said) if self.forms else None
        return ("template", " and ".join(sorted(filled.slots)), filled.text) if filled else None


def bare(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """As a log tells them that has nothing but the words."""
    return [replace(each, state="", act="", slots=()) for each in exchanges]


def teach(dialogues: Sequence[Dialogue], evidence: Evidence, *, states: bool, similar: Similar | None) -> Known:
    log = [list(each.exchanges) if states else bare(each.exchanges) for each in dialogues]
    replies = Replies(ENGLISH)
    for reply in reversed(learn(log, ENGLISH, evidence)):
        replies.add(reply)
    if similar is not None:
        vectors = {text: similar(text) for text in replies.unlearned()}
        replies.learn({text: vector for text, vector in vectors.items() if vector is not None})
    acts: dict[str, Counter[Acts]] = defaultdict(Counter)
    for each in dialogues:
        for exchange, done in zip(each.exchanges, each.acts, strict=True):
            if done is not None:
                acts[exchange.reply][done] += 1
    return Known(replies, learn_forms(log, ENGLISH, evidence).matching(ENGLISH), acts)


def right(reply: str, reference: str, called: Acts | None, done: Acts | None) -> bool:
    """Whether the reference says the same, as told above."""
    if called is not None and called == done:
        return True
    does = formula(reply, ENGLISH)
    if does and does == formula(reference, ENGLISH):
        return True
    one, two = (Exchange(after="", said="", reply=text) for text in (reply, reference))
    return alike(one, two, ENGLISH)


def test(dialogue: Dialogue, known: Known, *, states: bool, similar: Similar | None) -> Tested:
    found = Tested()
    for each, done in zip(dialogue.exchanges, dialogue.acts, strict=True):
        found.counts["turns"] += 1
        hit = known.find(each if states else bare([each])[0], similar)
        if hit is None:
            continue
        way, turn, text = hit
        called = known.acts[text].most_common(1)[0][0] if text in known.acts else None
        judged = right(text, each.reply, called, done)
        found.counts.update((way, "hits", "right" if judged else "other"))
        found.hits.append(
            Hit(how=way, after=each.after, said=each.said, known=turn, reply=text, reference=each.reply, right=judged)
        )
    return found


def open_turns(dialogue: Dialogue, openers: Openers, number: int, name: str, spoken: Counter[str]) -> Counter[str]:
    """What openers do in one conversation."""
    choice, counts = Choice(openers, first=number), Counter[str]()
    for each in dialogue.exchanges:
        opener = choice.choose(each.said)
        choice.turn(opener)
        if opener is None:
            continue
        spoken[opener] += 1
        agrees = (MANNERS.begins(f"{opener} so") or "") in MANNERS.agreeing
        begins = MANNERS.begins(each.reply)
        counts[f"{name} opened"] += 1
        counts[f"{name} fits"] += not (agrees and MANNERS.refuses(each.reply))
        counts[f"{name} alike"] += begins is not None and (begins in MANNERS.agreeing) == agrees
    return counts


def interval(tested: Sequence[Tested], part: str, of: str) -> dict[str, float | None]:
    """A share and its interval."""
    rows = np.array([[each.counts[part], each.counts[of]] for each in tested], float)
    if not len(rows) or not rows[:, 1].sum():
        return {"share": None, "low": None, "high": None}
    drawn = np.random.default_rng(1).integers(0, len(rows), (DRAWS, len(rows)))
    parts, wholes = rows[drawn, 0].sum(1), rows[drawn, 1].sum(1)
    low, high = np.percentile(parts[wholes > 0] / wholes[wholes > 0], (2.5, 97.5))
    return {"share": rows[:, 0].sum() / rows[:, 1].sum(), "low": float(low), "high": float(high)}


def evaluate(name: str, dialogues: Sequence[Dialogue], options: argparse.Namespace, *, states: bool) -> dict[str, Any]:
    """One row of the table, and its hits."""
    evidence = Evidence(dialogues=options.dialogues, share=options.share)
    halves = [each for each in dialogues if each.learned], [each for each in dialogues if not each.learned]
    known = teach(halves[0], evidence, states=states, similar=options.similar)
    tested = [test(each, known, states=states, similar=options.similar) for each in halves[1]]
    learned = learn_openers([each.exchanges for each in halves[0]], ENGLISH_OPENERS, MANNERS)
    most = {}
    for which, openers in zip(OPENERS, (ENGLISH_OPENERS, learned), strict=True):
        spoken: Counter[str] = Counter()
        for number, (dialogue, found) in enumerate(zip(halves[1], tested, strict=True)):
            found.counts.update(open_turns(dialogue, openers, number, which, spoken))
        turns = sum(each.counts["turns"] for each in tested)
        most[which] = {"opener": spoken.most_common(1)[0][0], "share": spoken.most_common(1)[0][1] / turns}
    counts = sum((each.counts for each in tested), Counter[str]())
    shares = {"hits": interval(tested, "hits", "turns"), "right of hits": interval(tested, "right", "hits")}
    shares |= {kind: interval(tested, kind, "turns") for kind in KINDS}
    for which in OPENERS:
        shares[f"{which} opened"] = interval(tested, f"{which} opened", "turns")
        shares |= {f"{which} {how}": interval(tested, f"{which} {how}", f"{which} opened") for how in ("fits", "alike")}
    return {
        "set": name,
        "known by": "states" if states else "words",
        "dialogues": [len(half) for half in halves],
        "learned turns": sum(len(each.exchanges) for each in halves[0]),
        "replies": len(known.replies),
        "counts": dict(counts),
        "shares": shares,
        "most used opener": most,
        "openers learned": {act.value: list(texts) for act, texts in learned.texts.items()},
        "hits": [asdict(hit) for each in tested for hit in each.hits],
    }


def contrast(similar: Similar | None) -> dict[str, Any]:
    """What the guard lets pass of the contrast pairs."""
    found: dict[str, Any] = {}
    for name in CONTRASTS:
        of = pairs(name)
        passed = [pair for pair in of if how(pair, similar)]
        strict = sum(pair.kind in ("negation", "number") for pair in passed)
        found[name] = {"pairs": len(of), "passed": len(passed), "negation or number": strict}
    return found


def percent(share: Mapping[str, float | None]) -> str:
    if share["share"] is None:
        return "-"
    return f"{share['share']:.1%} [{share['low']:.1%}, {share['high']:.1%}]"


def show(row: Mapping[str, Any]) -> None:
    counts, shares = row["counts"], row["shares"]
    print(
        f"\n{row['set']}, by {row['known by']}: {row['learned turns']} turns of {row['dialogues'][0]} dialogues ",
        end="",
    )
    print(f"taught {row['replies']} replies; tested on {counts['turns']} turns of {row['dialogues'][1]}")
    kinds = ", ".join(f"{kind} {counts.get(kind, 0)}" for kind in KINDS)
    print(f"  hits             {percent(shares['hits']):<26} ({kinds})")
    print(f"  right of hits    {percent(shares['right of hits']):<26} ({counts.get('other', 0)} answered otherwise)")
    for which in OPENERS:
        most = row["most used opener"][which]
        fits, same = percent(shares[f"{which} fits"]), percent(shares[f"{which} alike"])
        print(f"  {which} openers  open {percent(shares[f'{which} opened'])}, fit {fits}, alike {same}, ", end="")
        print(f"at most {most['share']:.1%} “{most['opener']}”")


def sample(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Hits for people to judge, the same in every run."""
    found = []
    for row in rows:
        chosen = random.Random(4).sample(row["hits"], min(SAMPLE, len(row["hits"])))
        found += [{"set": row["set"], "known by": row["known by"], **hit} for hit in chosen]
    return found


def embeddings() -> Similar:
    import torch

    from turngap.llm.speculation.embedding import MODEL, Embedding
    from turngap.voice.models.store import find

    torch.set_num_threads(1)
    embed = Embedding(find(MODEL)).embed_now
    return cache(lambda text: embed([text])[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder with the dialogue sets")
    parser.add_argument("--set", action="append", choices=SETS, help="only these (default: all)")
    parser.add_argument("--dialogues", type=int, default=Evidence().dialogues, metavar="N")
    parser.add_argument("--share", type=float, default=Evidence().share)
    parser.add_argument("--embeddings", action="store_true", help="paraphrases have to be close as well")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--sample", type=Path, metavar="OUT", help="hits to be judged by people, as JSON lines")
    options = parser.parse_args()
    try:
        options.similar = embeddings() if options.embeddings else None
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    rows = []
    for name in options.set or SETS:
        try:
            dialogues = list(SETS[name](options.data / name))
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        for states in (False, True):
            rows.append(evaluate(name, dialogues, options, states=states))
            show(rows[-1])
    passed = contrast(options.similar)
    print("\ncontrast pairs that pass the guard")
    for name, each in passed.items():
        strict = f" ({each['negation or number']} negation or number)" if "different" in name else ""
        print(f"  {name:<16} {each['passed']} of {each['pairs']}{strict}")
    if options.json:
        options.json.write_text(json.dumps({"sets": rows, "contrast": passed}, indent=1, ensure_ascii=False), "utf-8")
    if options.sample:
        lines = [json.dumps(each, ensure_ascii=False) for each in sample(rows)]
        options.sample.write_text("\n".join(lines) + "\n", "utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    raise SystemExit(main())
