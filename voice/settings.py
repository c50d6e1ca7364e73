"""What can be chosen, and where from: command line, then environment, then config file, then the default.

A setting ``llm`` is ``--llm`` on the command line, ``TURNGAP_LLM`` in the environment, and ``llm`` in a TOML file
that ``--config`` or ``TURNGAP_CONFIG`` names.
"""

import argparse
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from turngap.budget.errors import ConfigurationError

SYSTEM = (
    "You are a friendly voice assistant. Everything you write is spoken aloud. "
    "Answer in one or two short plain sentences."
)


def _setting(default: Any, says: str) -> Any:
    return field(default=default, metadata={"says": says})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that a server can be told."""

    llm: str = _setting("local", "backend, as NAME[:MODEL][?key=value&...]")
    asr: str = _setting("whisper", "recogniser, as NAME[:MODEL][?key=value&...]")
    voice: str = _setting("piper", "synthesizer, as NAME[:MODEL][?key=value&...]")
    endpointing: str = _setting("full", "endpointing policy: fixed, vad, smart or full, as NAME[?key=value&...]")
    echo: str = _setting("none", "the agent's voice coming back by the microphone: cancel, or none: the client does it")
    speculation: str = _setting(
        "full", "what is ready before the user has stopped: none, pause or full, as NAME[?key=value&...]"
    )
    governor: str = _setting("observe", "what is done while a turn overruns; observe: nothing, it is only measured")
    system: str = _setting(SYSTEM, "system prompt")
    budget: float = _setting(500.0, "turn gap budget in ms")
    max_tokens: int = _setting(60, "longest reply in tokens")
    barge_in: str = _setting(
        "pause", "a voice over a reply: pause at once and decide by its words (pause?decide=500), words or never"
    )
    deadline: float = _setting(5000.0, "ms after the endpoint until a missing reply is excused")
    stall: float = _setting(3000.0, "ms for which the backend may be silent")
    host: str = _setting("127.0.0.1", "address to listen on; beyond loopback a token is needed")
    port: int = _setting(8700, "port to listen on; 0 takes a free one")
    token: str = _setting("", "what clients must present, as 'Authorization: Bearer ...' or ?token=...")
    origins: str = _setting("", "web origins that may connect, beside this server's own, joined by commas")
    store: str = _setting("", "file that keeps every turn (default: the user's own; none: keep nothing)")
    keep: str = _setting("figures", "what of a turn is kept: figures, words (and figures), or audio (and both)")
    tls_cert: str = _setting("", "PEM file with the certificate chain; with it the server speaks TLS")
    tls_key: str = _setting("", "PEM file with its private key, if that is not in the same file")
    idle: float = _setting(600.0, "seconds without a message after which a client is sent away")
    longest: float = _setting(14400.0, "seconds that a conversation may last")
    max_rate: float = _setting(500.0, "messages that a client may send in a second, in the long run")
    drain: float = _setting(20.0, "seconds that running turns have to end after SIGTERM")
    max_sessions: int = _setting(16, "conversations at once; more are refused")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give ``parser`` an option for each setting, unset unless the user sets it."""
    group = parser.add_argument_group("server settings", "also TURNGAP_NAME in the environment, or in --config")
    for setting in fields(Settings):
        kind = type(setting.default)
        says = f"{setting.metadata['says']} (default: {setting.default})" if setting.default != "" else None
        group.add_argument(
            f"--{setting.name.replace('_', '-')}",
            type=kind,
            metavar=setting.name.upper(),
            help=(says or setting.metadata["says"]).replace("%", "%%"),
        )
    group.add_argument("--config", metavar="FILE", help="TOML file with settings")


def arguments_of(args: argparse.Namespace) -> list[str]:
    """The settings that were given on this command line, as arguments for another process."""
    names = [*(setting.name for setting in fields(Settings)), "config"]
    given = [(name, getattr(args, name, None)) for name in names]
    return [f"--{name.replace('_', '-')}={value}" for name, value in given if value is not None]


def gather(args: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force. Raises ConfigurationError that names the source of a bad value."""
    path = getattr(args, "config", None) or environment.get("TURNGAP_CONFIG")
    from_file = _read(Path(path)) if path else {}
    chosen: dict[str, Any] = {}
    for setting in fields(Settings):
        name, kind = setting.name, type(setting.default)
        if getattr(args, name, None) is not None:
            chosen[name] = getattr(args, name)
        elif (text := environment.get(f"TURNGAP_{name.upper()}")) is not None:
            chosen[name] = _convert(text, kind, f"TURNGAP_{name.upper()}")
        elif name in from_file:
            chosen[name] = _convert(from_file[name], kind, f"{name} in {path}")
    return Settings(**chosen)


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", remedy="Check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not TOML: {error}", remedy="Write lines like: llm = 'local'") from error
    unknown = set(values) - {setting.name for setting in fields(Settings)}
    if unknown:
        known = ", ".join(setting.name for setting in fields(Settings))
        raise ConfigurationError(f"{path} sets unknown {', '.join(sorted(unknown))}", remedy=f"Known: {known}")
    return values


def _convert(value: object, kind: type, source: str) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{source} is {value!r}", remedy=f"Give a {kind.__name__}") from error
