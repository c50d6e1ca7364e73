"""``turngap replies list | test | explain | build``: what is known in advance, and what would be said."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_path

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError, ModelError
from turngap.llm.speculation.conversation_log import read_log
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.learning import Evidence, learn
from turngap.llm.speculation.learning_forms import JOINTS, learn_forms
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.replies import Candidate, Replies, Similar, Vector
from turngap.llm.speculation.reply_file import read_replies
from turngap.llm.speculation.reply_writing import reply_text
from turngap.llm.speculation.store import Kept, ReplyStore, fingerprint, fingerprints
from turngap.llm.speculation.stored import StoredReply
from turngap.voice import ready, settings
from turngap.voice.models import store as models
from turngap.voice.tts.registry import make_synthesizer

if TYPE_CHECKING:
    from turngap.llm.speculation.embedding import Embedding

_MODEL = "all-minilm-l6-v2"


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> argparse.ArgumentParser:
    """Add ``replies`` to the command's parsers; its ``run`` default is :func:`run`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "replies", help="replies that are known in advance", description="Replies that are known in advance."
    )
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in (
        ("list", "what a file or a folder of stored replies holds"),
        ("test", "what would be said to some words"),
        ("explain", "what comes closest to some words, and why it is refused"),
        ("build", "embed and speak the replies of a file, or those that a log of conversations shows, and store them"),
    ):
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        action.add_argument(
            "replies",
            type=Path,
            nargs="?" if name == "build" else None,
            metavar="FILE",
            help="TOML file with replies, or a folder that build made",
        )
        if name in ("test", "explain"):
            action.add_argument("words", help="what the user says")
            action.add_argument(
                "--after", default="", metavar="TEXT", help="the agent's last words, or a state's label"
            )
        if name != "list":
            action.add_argument("--no-embeddings", action="store_true", help="do without the embedding model")
        if name == "build":
            action.add_argument("--no-audio", action="store_true", help="leave their audio to the server's start")
            action.add_argument("--to", type=Path, metavar="DIR", help=f"where to store them (default: {_folder()})")
            _add_learning(action)
            settings.add_arguments(action)
    return parser


def _add_learning(action: argparse.ArgumentParser) -> None:
    evidence = Evidence()
    action.add_argument(
        "--from-log",
        type=Path,
        metavar="LOG",
        help="learn replies from conversations: JSON lines, or what bench --json wrote",
    )
    action.add_argument("--write", type=Path, metavar="FILE", help="write what was learned as TOML, to be read over")
    action.add_argument(
        "--dialogues",
        type=int,
        default=evidence.dialogues,
        metavar="N",
        help="learn what was answered alike in so many (default: %(default)s)",
    )
    action.add_argument(
        "--share",
        type=float,
        default=evidence.share,
        metavar="0..1",
        help="and in such a share of those where the turn came up (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; 0 if all is well, 1 if nothing would be said to the words of ``test``."""
    match arguments.action:
        case "list":
            return _list(arguments.replies)
        case "build":
            return _build(arguments)
        case action:
            kept = _kept(arguments.replies)
            embedding = None if arguments.no_embeddings else _embedding()
            replies, similar = _known(kept, embedding)
            show = _test if action == "test" else _explain
            return show(replies, arguments.after, arguments.words, similar)


def _list(path: Path) -> int:
    for kept in _kept(path):
        reply = kept.reply
        audio = sum(len(piece.samples) / piece.rate_hz for pieces in reply.spoken.values() for piece in pieces)
        columns = [reply.source, reply.state or "-", reply.intent or "-", " / ".join(reply.utterances)]
        print("\t".join([*columns, " / ".join(reply.says), f"{len(kept.vectors)} embedded", f"{audio:.1f} s"]))
    return 0


def _test(replies: Replies, after: str, words: str, similar: Similar | None) -> int:
    found = replies.match(after, words, similar=similar)
    if found is None:
        print("nothing: the model would answer")
        return 1
    print(f"{found.text}\n{found.how} of “{found.known}”{_score(found.score)}")
    return 0


def _explain(replies: Replies, after: str, words: str, similar: Similar | None) -> int:
    for candidate in replies.explain(after, words, similar=similar):
        print(_row(candidate))
    return 0


def _row(candidate: Candidate) -> str:
    verdict = candidate.how if candidate.refusal is None else f"refused, {candidate.refusal}"
    score = "-" if candidate.score is None else f"{candidate.score:.2f}"
    return f"{score}\t{verdict}\t{candidate.known}\t{candidate.reply.says[0]}"


def _score(score: float | None) -> str:
    return "" if score is None else f", {score:.2f}"


def _build(arguments: argparse.Namespace) -> int:
    if (arguments.replies is None) == (arguments.from_log is None):
        raise ConfigurationError("build takes a FILE or --from-log", remedy="Give one of them")
    if arguments.write is not None and arguments.from_log is None:
        raise ConfigurationError("--write writes what was learned", remedy="Add --from-log LOG")
    replies = read_replies(arguments.replies) if arguments.from_log is None else _learned(arguments)
    if arguments.write is not None:
        return 0
    chosen = settings.gather(arguments)
    embedding = None if arguments.no_embeddings else _embedding()
    mark = fingerprint(system=chosen.system, model=chosen.llm, voice=chosen.voice)
    store = ReplyStore(arguments.to or _folder(), mark)
    for reply in replies if arguments.no_audio else asyncio.run(_speak(replies, chosen.voice)):
        vectors = {} if embedding is None else _embed(embedding, reply.utterances)
        store.save(Kept(reply=reply, vectors=vectors))
    print(f"{len(replies)} replies stored in {store.folder}")
    return 0


async def _speak(replies: Sequence[StoredReply], voice: str) -> list[StoredReply]:
    synthesizer = make_synthesizer(voice, find_model=models.find, clock=monotonic)
    await synthesizer.warm()
    try:
        return [await ready.speak(reply, synthesizer) for reply in replies]
    finally:
        await synthesizer.aclose()


def _learned(arguments: argparse.Namespace) -> list[StoredReply]:
    """What the log shows; written down if that was asked for."""
    if arguments.dialogues < 1 or not 0 < arguments.share <= 1:
        raise ConfigurationError("--dialogues or --share is out of range", remedy="Give at least 1, and above 0 to 1")
    log = read_log(arguments.from_log)
    evidence = Evidence(dialogues=arguments.dialogues, share=arguments.share)
    replies, forms = learn(log, ENGLISH, evidence), learn_forms(log, ENGLISH, evidence)
    turns = sum(map(len, log))
    print(f"{len(log)} conversations, {turns} answered turns: {len(replies)} replies, {len(forms.forms)} forms learned")
    if arguments.write is not None:
        text = reply_text(replies, slots=forms.slots, forms=forms.forms, joints=JOINTS)
        try:
            arguments.write.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{arguments.write} cannot be written", remedy="Choose another file") from error
        print(f"written to {arguments.write}: read it over, then serve it with --speculation full?replies=FILE")
    elif forms.forms:
        print("forms are not stored: --write puts them into a file")
    return replies


def _kept(path: Path) -> list[Kept]:
    """The replies of a file, or of all fingerprints in a folder."""
    if not path.is_dir():
        return [Kept(reply=reply) for reply in read_replies(path)]
    own = [(path.parent, path.name)] if any(path.glob("*.npz")) else [(path, each) for each in fingerprints(path)]
    return [kept for folder, each in own for kept in ReplyStore(folder, each).load()]


def _known(kept: Sequence[Kept], embedding: "Embedding | None") -> tuple[Replies, Similar | None]:
    replies = Replies(ENGLISH)
    for each in kept:
        replies.add(each.reply)
        replies.learn(each.vectors)
    if embedding is None:
        return replies, None
    replies.learn(_embed(embedding, replies.unlearned()))
    return replies, lambda text: _embed(embedding, [text])[text]


def _embed(embedding: "Embedding", texts: Sequence[str]) -> dict[str, Vector]:
    """The embeddings of ``texts`` in normal form, which is how live turns are embedded."""
    return dict(zip(texts, embedding.embed_now([" ".join(normal(text, ENGLISH)) for text in texts]), strict=True))


def _embedding() -> "Embedding | None":
    """The model, if it is here; without it only the words decide."""
    try:
        folder = models.find(_MODEL)
        from turngap.llm.speculation.embedding import Embedding

        return Embedding(folder)
    except (ModelError, ImportError) as error:
        print(f"turngap: without embeddings, for {error}", file=sys.stderr)
        return None


def _folder() -> Path:
    return user_cache_path("turngap", appauthor=False) / "replies"
