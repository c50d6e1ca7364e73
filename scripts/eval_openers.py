#!/usr/bin/env python3
"""Going on from an opener, on the local model: is it the same reply, and is the opener said twice?

    python3 scripts/eval_openers.py [--precision fp32]

Each of twenty orders is answered greedily. Then the reply is made again from each beginning of itself (one to four
words), which has to give the same tokens; and from openers that are not the model's own, which must not be repeated.
"""

import argparse
from collections.abc import Iterator

from local_model import make_model, say

from turngap.llm.backends.generation import Mind
from turngap.llm.backends.prompt import Replies
from turngap.llm.history import History
from turngap.llm.openings import WithoutRepeat

SYSTEM = "You are a friendly voice assistant at a coffee shop. Reply in one short sentence."
ORDERS = """
Can I get a small latte please?
I'd like a cappuccino with oat milk.
Do you have decaf?
How much is a large mocha?
Two espressos and a blueberry muffin.
Can you make that iced?
What kinds of tea do you have?
I want an Americano, no sugar.
Could I add a shot of vanilla?
Make it a double, please.
Is the almond milk sweetened?
A hot chocolate with whipped cream for my son.
Can I pay by card?
What is the strongest coffee you have?
I'd like to change my order to a flat white.
Do you have anything without dairy?
One macchiato with skim milk and one with soy.
Can I get it to go?
Where do I pick it up?
That's all, thank you.
""".strip().splitlines()
OPENERS = ("Sure,", "Of course,", "Let me see,", "All right, one moment,")
WORDS = range(1, 5)


def beginnings(reply: str) -> Iterator[str]:
    words = reply.split(" ")
    yield from (" ".join(words[:count]) for count in WORDS if count < len(words))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--precision", default="fp32")
    model = make_model(parser.parse_args().precision)
    history, mind = History(SYSTEM), Mind(model)
    same = tried = repeated = silent = 0
    for order in ORDERS:
        reply, tokens = say(Mind(model), history.messages_with(order), 24)
        for opener in beginnings(reply):
            rest, after = say(Mind(model), history.messages_with(order, opener=opener), 24)
            known = tokens[len(model.prompts.opening((), opener, Replies())) :]
            tried += 1
            if after[: len(known)] == known:
                same += 1
            else:
                print(f"other tokens  {order!r} | {opener!r} | {reply!r} | {opener + rest!r}")
        print(f"{order}\n    itself: {reply}")
        for opener in OPENERS:
            rest, _ = say(mind, history.messages_with(order, opener=opener), 24)
            without = WithoutRepeat(opener)
            kept = without.feed(rest) + without.end()
            repeated += kept.strip() != rest.strip()
            silent += not rest.strip()
            print(f"    {opener}|{rest}")
    print(
        f"\nfrom its own beginnings: the same tokens {same} of {tried}; from {len(OPENERS)} openers: "
        f"repeated {repeated}, nothing more said {silent}, of {len(ORDERS) * len(OPENERS)}"
    )


if __name__ == "__main__":
    main()
