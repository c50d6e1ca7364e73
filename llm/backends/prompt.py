"""Prompts as token ids that agree, for as long as possible, with what the model has already seen.

A reply that was generated is in the model's memory as the ids that were sampled. Rendered into the history and
tokenised anew it may come out as other ids, and everything after the first difference would be prefilled again. So
the chat template is rendered as text, cut at the borders of each message's content, and tokenised piece by piece;
for content that we generated (or the beginning of which was heard) the remembered ids are put in.

Content is tokenised as plain text: ``<|im_end|>`` spoken by a user or written by a tool stays harmless.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from turngap.llm.protocol import Message, Role

DRAFTS: Final = 8
"""Replies whose ids are kept without having appeared in a history yet: drafts and what will be heard of them."""

SPOKEN: Final = 64
"""Replies whose ids are kept since they appeared in a history."""

_NEXT_USER: Final = Message(Role.USER, "\u2063")
"""Stands for what the user will say next: an invisible separator, so that it can be found again."""


class Replies:
    """The replies that one conversation generated, as text and as the ids behind it."""

    def __init__(self) -> None:
        self._drafts: deque[list[int]] = deque(maxlen=DRAFTS)
        self._spoken: dict[str, list[int]] = {}

    def remember(self, ids: list[int]) -> None:
        """Keep a reply; the list may still grow."""
        self._drafts.append(ids)

    def beginning(self, content: str, tokenizer: Any) -> list[int]:
        """The longest run of remembered ids, from a reply's start, that spells the beginning of ``content``."""
        if content not in self._spoken:
            found = max((_spelling(ids, content, tokenizer) for ids in self._drafts), key=len, default=[])
            if not found:
                return []
            self._spoken[content] = found
            if len(self._spoken) > SPOKEN:
                del self._spoken[next(iter(self._spoken))]
        return self._spoken[content]


def _spelling(ids: list[int], content: str, tokenizer: Any) -> list[int]:
    """The longest beginning of ``ids`` whose text begins ``content``: all of it, mostly, else found by bisection."""

    def spells(count: int) -> bool:
        return content.startswith(_text(ids[:count], tokenizer))

    low, high = 0, len(ids)
    if spells(high):
        return list(ids)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if spells(middle) else (low, middle - 1)
    return ids[:low]


def _text(ids: list[int], tokenizer: Any) -> str:
    """What ``ids`` say as content, which a template shows without the white space before it."""
    text: str = tokenizer.decode(ids, skip_special_tokens=True)
    return text.lstrip()


class Prompts:
    """Renders messages with a tokenizer's own chat template."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._piecewise = self._joins()

    def whole(self, messages: Sequence[Message], replies: Replies) -> list[int]:
        """The prompt for a reply to ``messages``."""
        return self._ids(self._render(messages, ask=True), messages, replies)

    def opening(self, messages: Sequence[Message], opener: str, replies: Replies) -> list[int]:
        """The ids that a reply to ``messages`` begins with, to go on from there after :meth:`whole`.

        White space at the end is left to the model, whose words bring their own before them. A reply that was
        sampled and begins with the same words gives its ids, so that what is remembered of it stays of use.
        """
        opener = opener.strip()
        if not opener:
            return []
        if not self._piecewise:
            asked = self._render(messages, ask=True)
            alone, together = self._encode(asked, template=True), self._encode(asked + opener, template=True)
            return together[len(alone) :]
        known = replies.beginning(opener, self._tokenizer)
        rest = opener[len(_text(known, self._tokenizer)) :]
        if rest[:1].isalnum():  # inside of a word, where a model would not have cut it so
            known, rest = [], opener
        return known + self._encode(rest, template=False)

    def beginning(self, messages: Sequence[Message], replies: Replies) -> list[int]:
        """What every prompt that begins with ``messages`` begins with; the last user message may still grow."""
        if not messages or messages[-1].role is not Role.USER:
            messages = [*messages, _NEXT_USER]
        text = self._render(messages, ask=False)
        end = text.rfind(messages[-1].content.strip())
        content = "" if messages[-1] is _NEXT_USER else messages[-1].content.strip()
        return self._ids(text[:end] + content, messages, replies)

    def _render(self, messages: Sequence[Message], *, ask: bool) -> str:
        turns = [{"role": str(message.role), "content": message.content} for message in messages]
        if self._tokenizer.chat_template is None:
            return "".join(f"{turn['role']}: {turn['content']}\n" for turn in turns) + ("assistant: " if ask else "")
        text: str = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=ask)
        return text

    def _ids(self, text: str, messages: Sequence[Message], replies: Replies) -> list[int]:
        if not self._piecewise:
            return self._encode(text, template=True)
        ids: list[int] = []
        for piece, message in _pieces(text, messages):
            if message is None:
                ids += self._encode(piece, template=True)
                continue
            known = replies.beginning(piece, self._tokenizer) if message.role is Role.ASSISTANT else []
            ids += known
            ids += self._encode(piece[len(_text(known, self._tokenizer)) :], template=False)
        return ids

    def _encode(self, text: str, *, template: bool) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=not template)
        return ids

    def _joins(self) -> bool:
        """Whether pieces tokenised alone spell the whole; not where a tokenizer puts a space before each text."""
        ids = self._encode("user\n", template=True) + self._encode("Hi.", template=False)
        return bool(self._tokenizer.decode(ids) == "user\nHi.")


def _pieces(text: str, messages: Sequence[Message]) -> Iterator[tuple[str, Message | None]]:
    """Cut a rendered prompt into template (None) and content, in order; content the template altered stays template."""
    cursor = 0
    for message in messages:
        content = message.content.strip()
        at = text.find(content, cursor) if content else -1
        if at < 0:
            continue
        if at > cursor:
            yield text[cursor:at], None
        yield content, message
        cursor = at + len(content)
    if cursor < len(text):
        yield text[cursor:], None
