"""The rules that keep deciding apart from doing, read off the source without running it.

Imports point one way. One module reads time. Only shells start tasks. Only adapters own threads and processes.
The pure modules (pure_modules.txt, beside this file) do none of it, and no I/O.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {"budget": {"budget"}, "llm": {"llm", "budget"}, "voice": {"voice", "llm", "budget"}}

CLOCK = ("budget/clock.py",)
SHELLS = (
    "llm/backends/remote/backend.py",
    "llm/backends/remote/reply.py",
    "llm/emulators/server.py",
    "llm/emulators/http2.py",
    "voice/listening.py",
    "voice/session.py",
    "voice/answering.py",
    "voice/idling.py",
    "voice/server.py",
    "voice/engine.py",
    "voice/client/*.py",
)
ADAPTERS = (
    "budget/store/writer.py",
    "llm/backends/*.py",
    "voice/asr/whisper.py",
    "voice/endpointing/silero.py",
    "voice/endpointing/smart_turn.py",
    "voice/models/*.py",
    "voice/tts/piper.py",
    "voice/client/line.py",
    "voice/client/own_server.py",
)

PURE = tuple(
    line.split()[0]
    for line in Path(__file__).with_name("pure_modules.txt").read_text("utf-8").splitlines()
    if line.strip() and not line.startswith("#")
)

TIME_MODULES = {"time", "timeit"}
TIME_CALLS = {"now", "utcnow", "today"}
TASK_CALLS = {"create_task", "ensure_future", "TaskGroup", "gather", "as_completed", "run_coroutine_threadsafe"}
THREAD_MODULES = {"threading", "_thread", "concurrent", "multiprocessing", "subprocess"}
THREAD_CALLS = {"to_thread", "run_in_executor", "create_subprocess_exec", "create_subprocess_shell", "fork", "system"}

IMPURE_MODULES = {"asyncio", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "ssl", "uuid"}
IMPURE_NAMES = {f"turngap.budget.clock.{name}" for name in ("monotonic", "process_cpu", "calendar")}
IMPURE_CALLS = {"open", "print", "input"}


class Use(NamedTuple):
    """A name that a file uses, and the line where."""

    name: str
    line: int


def imported(tree: ast.AST, package: str) -> Iterator[Use]:
    """Every module that is imported, by its absolute name; what is imported *from* it counts as its part."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Use(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (Use(f"{module}.{alias.name}", node.lineno) for alias in node.names)


def called(tree: ast.AST) -> Iterator[Use]:
    """Everything that is called, by the full name where it was imported: ``datetime.datetime.now``, ``asyncio.gather``;
    a method keeps the words before it, and a function of the file's own is a bare word."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom):
            known.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, dot, rest = ast.unparse(node.func).partition(".")
            yield Use(known.get(first, first) + dot + rest, node.lineno)


def methods(tree: ast.AST, names: set[str]) -> Iterator[Use]:
    """Calls of these on whatever object, or from whatever module but ours; the file's own functions are left alone."""
    for use in called(tree):
        where, _, name = use.name.rpartition(".")
        if name in names and where and not use.name.startswith("turngap."):
            yield use


def crossed(tree: ast.AST, path: str) -> Iterator[Use]:
    """Imports from a package that this file must not know."""
    package = "turngap." + ".".join(Path(path).parent.parts)
    own = Path(path).parts[0]
    for use in imported(tree, package):
        first, _, rest = use.name.partition(".")
        if first == "turngap" and rest.split(".")[0] not in MAY_IMPORT[own]:
            yield use
        elif first in MAY_IMPORT:
            yield use  # `import voice` would find somebody else's


def time_read(tree: ast.AST, path: str) -> Iterator[Use]:
    """Every way to learn the present instant other than to be told."""
    if not allowed(path, CLOCK):
        yield from (use for use in imported(tree, "turngap") if use.name.split(".")[0] in TIME_MODULES)
        yield from (use for use in methods(tree, TIME_CALLS) if use.name.startswith("datetime."))
        yield from methods(tree, {"time"})  # the event loop's clock has an epoch that is not ours


def tasks_started(tree: ast.AST, path: str) -> Iterator[Use]:
    """Every way to set something going on the event loop that nobody awaits on the spot."""
    if not allowed(path, SHELLS):
        yield from methods(tree, TASK_CALLS)


def threads_owned(tree: ast.AST, path: str) -> Iterator[Use]:
    """Every way to have a thread or a process."""
    if not allowed(path, ADAPTERS):
        yield from (use for use in imported(tree, "turngap") if use.name.split(".")[0] in THREAD_MODULES)
        yield from methods(tree, THREAD_CALLS)


def impurities(tree: ast.AST, path: str) -> Iterator[Use]:
    """Whatever makes the answer of a pure module depend on more than what it was given."""
    if allowed(path, PURE):
        for use in imported(tree, "turngap." + ".".join(Path(path).parent.parts)):
            if use.name.split(".")[0] in IMPURE_MODULES or use.name in IMPURE_NAMES:
                yield use
        yield from (use for use in called(tree) if use.name in IMPURE_CALLS)
        yield from (Use("async def", node.lineno) for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef))


def allowed(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


RULES = {
    "imports point from voice to llm to budget": crossed,
    "only the clock module reads time": time_read,
    "only the shells start tasks": tasks_started,
    "only adapters own threads or processes": threads_owned,
    "pure modules decide, and do nothing": impurities,
}


@pytest.mark.parametrize("rule", RULES)
def test_the_source_keeps_the_rule(rule: str) -> None:
    broken = []
    for package in MAY_IMPORT:
        for file in sorted((ROOT / package).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            broken += [f"{path}:{use.line}: {use.name}" for use in RULES[rule](parsed(file), path)]
    assert not broken, f"{rule}:\n" + "\n".join(broken)


@pytest.mark.parametrize(
    ("rule", "path", "source"),
    [
        (crossed, "budget/marks.py", "from turngap.voice import turn"),
        (crossed, "budget/marks.py", "import turngap.llm.spec"),
        (crossed, "llm/spec.py", "from turngap import voice"),
        (crossed, "budget/report/table.py", "from ...voice.turn import TurnMachine"),
        (crossed, "voice/turn.py", "import voice.audio"),
        (time_read, "voice/turn.py", "import time"),
        (time_read, "voice/turn.py", "from time import monotonic_ns"),
        (time_read, "voice/turn.py", "def f():\n    import time as t"),
        (time_read, "voice/turn.py", "from datetime import datetime\ndatetime.now(UTC)"),
        (time_read, "voice/turn.py", "import datetime as d\nd.datetime.now()"),
        (time_read, "voice/session.py", "asyncio.get_running_loop().time()"),
        (tasks_started, "voice/turn.py", "asyncio.create_task(f())"),
        (tasks_started, "voice/asr/whisper.py", "async with asyncio.TaskGroup() as group: pass"),
        (tasks_started, "voice/turn.py", "from asyncio import create_task\ncreate_task(f())"),
        (tasks_started, "voice/turn.py", "self._group.create_task(f())"),
        (threads_owned, "voice/turn.py", "import threading"),
        (threads_owned, "voice/session.py", "from concurrent.futures import ThreadPoolExecutor"),
        (threads_owned, "voice/session.py", "await asyncio.to_thread(f)"),
        (impurities, "voice/turn.py", "import asyncio"),
        (impurities, "voice/turn.py", "from turngap.budget.clock import MS, monotonic"),
        (impurities, "voice/turn.py", "open('trace')"),
        (impurities, "voice/turn.py", "async def feed(): ..."),
    ],
)
def test_a_breach_is_found(rule: object, path: str, source: str) -> None:
    assert callable(rule)
    if source.startswith(("async with", "await")):
        source = f"async def f():\n    {source}"
    assert list(rule(ast.parse(source), path))


@pytest.mark.parametrize(
    ("rule", "path", "source"),
    [
        (crossed, "voice/turn.py", "from turngap.budget.clock import Ns"),
        (crossed, "voice/asr/whisper.py", "from .protocol import Pass"),
        (time_read, "budget/clock.py", "import time\ntime.monotonic_ns()"),
        (time_read, "voice/session.py", "self.now()\nnow()"),
        (time_read, "voice/session.py", "from datetime import datetime"),
        (tasks_started, "voice/serve.py", "from turngap.voice.settings import gather\ngather(1)"),
        (tasks_started, "voice/serve.py", "def gather(): ...\ngather()"),
        (tasks_started, "voice/session.py", "asyncio.create_task(f())"),
        (threads_owned, "voice/asr/whisper.py", "from concurrent.futures import ThreadPoolExecutor"),
        (impurities, "voice/turn.py", "from turngap.budget.clock import MS, Ns"),
        (impurities, "voice/session.py", "import asyncio"),
    ],
)
def test_what_is_allowed_is_left_alone(rule: object, path: str, source: str) -> None:
    assert callable(rule)
    assert not list(rule(ast.parse(source), path))
