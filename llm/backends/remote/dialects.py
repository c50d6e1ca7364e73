"""Who is called how: one row for each server that can be named. Pure.

Every row that speaks of a public service was written from its own documentation or client library; what they change,
the options of ``--llm`` can change here too: ``url=``, ``key_env=``, ``tier=``, ``reasoning=``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from turngap.llm.backends.remote.news import Reader, read_chat, read_message, read_ollama, read_response


class Wire(StrEnum):
    """How requests and answers are written."""

    CHAT = "chat"
    RESPONSES = "responses"
    WEBSOCKET = "websocket"
    MESSAGES = "messages"
    OLLAMA = "ollama"


READERS: Final[Mapping[Wire, Reader]] = {
    Wire.CHAT: read_chat,
    Wire.RESPONSES: read_response,
    Wire.WEBSOCKET: read_response,
    Wire.MESSAGES: read_message,
    Wire.OLLAMA: read_ollama,
}

PATHS: Final[Mapping[Wire, str]] = {
    Wire.CHAT: "/chat/completions",
    Wire.RESPONSES: "/responses",
    Wire.WEBSOCKET: "/responses",
    Wire.MESSAGES: "/v1/messages",
    Wire.OLLAMA: "/api/chat",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What is particular about one server."""

    name: str
    url: str
    """Where it is, unless ``url=`` or the environment say otherwise."""
    url_env: str = ""
    url_suffix: str = ""
    """What the value of ``url_env`` lacks: some clients want only the host there."""
    key_env: str = ""
    key_needed: bool = True
    wires: tuple[Wire, ...] = (Wire.CHAT,)
    """How it can be spoken to, the usual way first."""
    max_tokens: str = "max_completion_tokens"
    """What it calls the limit of a chat's reply."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """What every chat's request to it holds."""
    tiers: tuple[str, ...] = ()
    """What ``tier=`` may be; empty where it has none."""
    continues: Mapping[str, Any] | None = None
    """What to add to a chat whose last message is the opener so that it goes on from it; None where it cannot."""
    warm_path: str = "/models"
    """Cheap to ask for, to have a connection and to see that the key is good."""
    prewarms: bool = False
    """Whether it is ours to keep busy, so that a prompt may be prefilled on suspicion."""
    knows_cache_key: bool = False
    knows_prediction: bool = False
    knows_stop: bool = True


USAGE: Final[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}

OPENAI: Final = Dialect(
    name="openai",
    url="https://api.openai.com/v1",
    url_env="OPENAI_BASE_URL",
    key_env="OPENAI_API_KEY",
    wires=(Wire.CHAT, Wire.RESPONSES, Wire.WEBSOCKET),
    # Padding that hides the length of each piece costs bytes; the connection is encrypted, and speech hides nothing.
    fixed={"stream_options": {"include_usage": True, "include_obfuscation": False}},
    tiers=("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
    knows_cache_key=True,
    knows_prediction=True,
    knows_stop=False,
)

DIALECTS: Final[Mapping[str, Dialect]] = {
    row.name: row
    for row in (
        OPENAI,
        Dialect(
            name="anthropic",
            url="https://api.anthropic.com",
            url_env="ANTHROPIC_BASE_URL",
            key_env="ANTHROPIC_API_KEY",
            wires=(Wire.MESSAGES,),
            tiers=("auto", "standard_only"),
            warm_path="/v1/models",
        ),
        Dialect(
            name="cerebras",
            url="https://api.cerebras.ai/v1",
            url_env="CEREBRAS_BASE_URL",
            url_suffix="/v1",
            key_env="CEREBRAS_API_KEY",
            fixed=USAGE,
            tiers=("auto", "default", "flex", "priority"),
            warm_path="/tcp_warming",
            knows_cache_key=True,
            knows_prediction=True,
        ),
        Dialect(
            name="groq",
            url="https://api.groq.com/openai/v1",
            url_env="GROQ_BASE_URL",
            url_suffix="/openai/v1",
            key_env="GROQ_API_KEY",
            fixed=USAGE,
            tiers=("auto", "on_demand", "flex", "performance"),
        ),
        Dialect(
            name="sambanova",
            url="https://api.sambanova.ai/v1",
            url_env="SAMBA_NOVA_BASE_URL",
            key_env="SAMBANOVA_API_KEY",
            fixed=USAGE,
        ),
        Dialect(
            name="openrouter",
            url="https://openrouter.ai/api/v1",
            url_env="OPENROUTER_BASE_URL",
            key_env="OPENROUTER_API_KEY",
            max_tokens="max_tokens",
            fixed=USAGE,
            tiers=("auto", "default", "flex", "priority", "fast", "ultrafast"),
        ),
        Dialect(
            name="vllm",
            url="http://127.0.0.1:8000/v1",
            url_env="VLLM_BASE_URL",
            key_env="VLLM_API_KEY",
            key_needed=False,
            fixed=USAGE,
            continues={"continue_final_message": True, "add_generation_prompt": False},
            prewarms=True,
        ),
        Dialect(
            name="llamacpp",
            url="http://127.0.0.1:8080/v1",
            url_env="LLAMACPP_BASE_URL",
            key_env="LLAMA_API_KEY",
            key_needed=False,
            max_tokens="max_tokens",
            fixed={**USAGE, "cache_prompt": True},
            continues={},
            prewarms=True,
        ),
        Dialect(
            name="ollama",
            url="http://127.0.0.1:11434",
            url_env="OLLAMA_HOST",
            key_env="OLLAMA_API_KEY",
            key_needed=False,
            wires=(Wire.OLLAMA,),
            warm_path="/api/version",
            prewarms=True,
        ),
        Dialect(
            name="openai-compatible",
            url="",
            key_env="OPENAI_COMPATIBLE_API_KEY",
            key_needed=False,
            wires=(Wire.CHAT, Wire.RESPONSES),
            max_tokens="max_tokens",
            fixed=USAGE,
            tiers=("auto", "default", "flex", "priority", "fast", "ultrafast"),
            knows_cache_key=True,
        ),
    )
}
"""By the name that ``--llm`` is given."""
