"""The session that a Realtime client sees: what it may set, and what it means to us. Pure.

Names and shapes are those of the protocol's general availability; whatever a client sets is either in force or refused,
but for a voice's name, the transcription's model and noise reduction, which are ours to choose and are only repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from turngap.budget.errors import ClientError
from turngap.llm.calls import Tool

FORMATS: Final = {"audio/pcm": 24_000, "audio/pcmu": 8_000, "audio/pcma": 8_000}
EAGERNESS: Final = ("auto", "low", "medium", "high")
VAD: Final[Mapping[str, Any]] = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 500,
    "create_response": True,
    "interrupt_response": True,
    "idle_timeout_ms": None,
}
SEMANTIC: Final[Mapping[str, Any]] = {
    "type": "semantic_vad",
    "eagerness": "auto",
    "create_response": True,
    "interrupt_response": True,
}
MOST_TOOLS: Final = 64
LONGEST_TEXT: Final = 32_000
"""Characters of instructions: more than a context holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What can be said for a session, and for one response."""

    instructions: str | None = None
    written: bool | None = None
    max_tokens: int | None = None
    tools: tuple[Mapping[str, Any], ...] | None = None
    tool_choice: str | Mapping[str, Any] | None = None
    output_format: str | None = None
    voice: Any = None

    def over(self, usual: "Choices") -> "Choices":
        """These, and where they say nothing the ``usual`` ones."""
        named = {name: value for name in _CHOICES if (value := getattr(self, name)) is not None}
        return replace(usual, **named)

    @property
    def callable(self) -> tuple[Tool, ...]:
        """The tools that may be called."""
        choice = self.tool_choice
        if choice == "none":
            return ()
        wanted = choice.get("name") if isinstance(choice, Mapping) else None
        return tuple(
            Tool(name=tool["name"], description=tool.get("description") or "", parameters=tool.get("parameters") or {})
            for tool in self.tools or ()
            if wanted is None or tool["name"] == wanted
        )

    @property
    def must_call(self) -> bool:
        return self.tool_choice == "required" or isinstance(self.tool_choice, Mapping)


_CHOICES: Final = tuple(Choices.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The session's settings; a refused update leaves them as they were."""

    choices: Choices
    input_format: str = "audio/pcm"
    transcription: Mapping[str, Any] | None = None
    noise_reduction: Mapping[str, Any] | None = None
    turn_detection: Mapping[str, Any] | None = field(default_factory=lambda: dict(SEMANTIC))
    speed: float = 1.0

    @property
    def output_format(self) -> str:
        return self.choices.output_format or "audio/pcm"

    def updated(self, given: object) -> "Config":
        """With what ``session.update`` says. Raises ClientError that names the parameter."""
        session = mapping(given, "session")
        if session.get("type", "realtime") != "realtime":
            raise refused("session.type", "only 'realtime' sessions are served")
        audio = mapping(session.get("audio") or {}, "session.audio")
        config = replace(self, choices=read_choices(session, "session").over(self.choices))
        config = config._with_input(mapping(audio.get("input") or {}, "session.audio.input"))
        output = mapping(audio.get("output") or {}, "session.audio.output")
        speed = number(output.get("speed", self.speed), "session.audio.output.speed", 1.0, 1.0)
        return replace(config, speed=speed)

    def _with_input(self, given: Mapping[str, Any]) -> "Config":
        config = self
        if given.get("format") is not None:
            config = replace(config, input_format=audio_format(given["format"], "session.audio.input.format"))
        for name in ("transcription", "noise_reduction"):
            if name in given:
                value = given[name]
                value = None if value is None else dict(mapping(value, f"session.audio.input.{name}"))
                named: dict[str, Any] = {name: value}
                config = replace(config, **named)
        if "turn_detection" in given:
            config = replace(config, turn_detection=turn_detection(given["turn_detection"]))
        return config

    def to_json(self, *, id: str, model: str) -> dict[str, Any]:
        """As ``session.created`` and ``session.updated`` show it."""
        choices = self.choices
        return {
            "type": "realtime",
            "object": "realtime.session",
            "id": id,
            "model": model,
            "output_modalities": ["text"] if choices.written else ["audio"],
            "instructions": choices.instructions or "",
            "tools": [dict(tool) for tool in choices.tools or ()],
            "tool_choice": choices.tool_choice or "auto",
            "max_output_tokens": choices.max_tokens or "inf",
            "tracing": None,
            "truncation": "auto",
            "prompt": None,
            "expires_at": 0,
            "include": None,
            "audio": {
                "input": {
                    "format": format_json(self.input_format),
                    "transcription": self.transcription,
                    "noise_reduction": self.noise_reduction,
                    "turn_detection": self.turn_detection,
                },
                "output": {
                    "format": format_json(self.output_format),
                    "voice": choices.voice or "turngap",
                    "speed": self.speed,
                },
            },
        }


def read_choices(given: Mapping[str, Any], where: str) -> Choices:
    """What ``given``, a session or a response, chooses."""
    audio = mapping(given.get("audio") or {}, f"{where}.audio")
    output = mapping(audio.get("output") or {}, f"{where}.audio.output")
    shape = output.get("format")
    return Choices(
        instructions=None if (text := given.get("instructions")) is None else _text(text, f"{where}.instructions"),
        written=_written(given.get("output_modalities"), f"{where}.output_modalities"),
        max_tokens=_most_tokens(given.get("max_output_tokens"), f"{where}.max_output_tokens"),
        tools=None if (tools := given.get("tools")) is None else _tools(tools, f"{where}.tools"),
        tool_choice=_tool_choice(given.get("tool_choice"), f"{where}.tool_choice"),
        output_format=None if shape is None else audio_format(shape, f"{where}.audio.output.format"),
        voice=output.get("voice"),
    )


def turn_detection(given: object) -> dict[str, Any] | None:
    """What ``given`` says, completed with what is usual; None leaves the turns to the client."""
    if given is None:
        return None
    where = "session.audio.input.turn_detection"
    chosen = mapping(given, where)
    match chosen.get("type", "server_vad"):
        case "server_vad":
            found = {**VAD, **_known(chosen, VAD)}
            number(found["threshold"], f"{where}.threshold", 0.0, 1.0)
            number(found["silence_duration_ms"], f"{where}.silence_duration_ms", 0, 10_000)
            number(found["prefix_padding_ms"], f"{where}.prefix_padding_ms", 0, 10_000)
            if found["idle_timeout_ms"] is not None:
                raise refused(f"{where}.idle_timeout_ms", "this server does not speak up by itself; leave it out")
        case "semantic_vad":
            found = {**SEMANTIC, **_known(chosen, SEMANTIC)}
            if found["eagerness"] not in EAGERNESS:
                raise refused(f"{where}.eagerness", f"choose one of {', '.join(EAGERNESS)}")
        case other:
            raise refused(f"{where}.type", f"there is no turn detection {other!r}")
    for name in ("create_response", "interrupt_response"):
        if not isinstance(found[name], bool):
            raise refused(f"{where}.{name}", "give true or false")
    return found


def _known(given: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in usual and value is not None}


def audio_format(given: object, where: str) -> str:
    """The name of an audio format; its rate is the one that the format has."""
    shape = mapping(given, where)
    name = shape.get("type")
    if not isinstance(name, str) or name not in FORMATS:
        raise refused(f"{where}.type", f"choose one of {', '.join(FORMATS)}")
    if shape.get("rate") not in (None, FORMATS[name]):
        raise refused(f"{where}.rate", f"{name} has {FORMATS[name]} samples a second")
    return name


def format_json(name: str) -> dict[str, Any]:
    return {"type": name, "rate": FORMATS[name]} if name == "audio/pcm" else {"type": name}


def mapping(given: object, where: str) -> Mapping[str, Any]:
    """``given``, which has to be an object."""
    if not isinstance(given, Mapping):
        raise refused(where, "give an object")
    return given


def number(given: object, where: str, low: float, high: float) -> float:
    """``given``, which has to be a number in this range."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise refused(where, f"give a number from {low:g} to {high:g}")
    return given


def refused(param: str, message: str, *, code: str = "invalid_value") -> ClientError:
    """An error about one parameter, which it names in ``remedy``."""
    return ClientError(code, f"Invalid '{param}': {message}.", remedy=param)


def _text(given: object, where: str) -> str:
    if not isinstance(given, str) or len(given) > LONGEST_TEXT:
        raise refused(where, f"give a text of at most {LONGEST_TEXT} characters")
    return given


def _written(given: object, where: str) -> bool | None:
    if given is None:
        return None
    if given not in (["audio"], ["text"]):
        raise refused(where, 'give ["audio"] or ["text"]')
    return given == ["text"]


def _most_tokens(given: object, where: str) -> int | None:
    if given is None or given == "inf":
        return None
    return int(number(given, where, 1, 4096))


def _tools(given: object, where: str) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(given, list) or len(given) > MOST_TOOLS:
        raise refused(where, f"give a list of at most {MOST_TOOLS}")
    for place, tool in enumerate(given):
        fields = mapping(tool, f"{where}[{place}]")
        if fields.get("type") != "function" or not isinstance(fields.get("name"), str) or not fields["name"]:
            raise refused(f"{where}[{place}]", "only functions with a name can be called")
        mapping(fields.get("parameters") or {}, f"{where}[{place}].parameters")
        if not isinstance(fields.get("description") or "", str):
            raise refused(f"{where}[{place}].description", "give a text")
    return tuple(given)


def _tool_choice(given: object, where: str) -> str | Mapping[str, Any] | None:
    if given is None or given in ("auto", "none", "required"):
        return given
    if not isinstance(mapping(given, where).get("name"), str):
        raise refused(where, "give auto, none, required, or a function's name")
    return mapping(given, where)
