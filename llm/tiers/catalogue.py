"""The tiers that can be simulated and compared, each figure with its source, date and grade. Pure.

No vendor promises a time to first token; all of them promise output rates. So the TTFTs here are other people's
measurements, where there are any of voice-sized prompts, and assumptions that say so where there are none.
"""

from collections.abc import Mapping
from typing import Final

from turngap.budget.errors import ConfigurationError
from turngap.llm.tiers.figure import Figure, Grade, Tier

_AIEWF: Final = "aiewf-eval (kwindla/Daily), multi-turn voice, time to first answer token"
_COPY: Final = "2026-11-30"


def _measured(value: float, source: str, date: str = _COPY, note: str = "") -> Figure:
    return Figure(value=value, source=source, date=date, grade=Grade.MEASURED, note=note)


def _vendor(value: float, source: str, date: str = _COPY, note: str = "") -> Figure:
    return Figure(value=value, source=source, date=date, grade=Grade.VENDOR, note=note)


def _third(value: float, source: str, date: str = _COPY, note: str = "") -> Figure:
    return Figure(value=value, source=source, date=date, grade=Grade.THIRD_PARTY, note=note)


def _derived(value: float, source: str, note: str, date: str = _COPY) -> Figure:
    return Figure(value=value, source=source, date=date, grade=Grade.DERIVED, note=note)


def _assumed(value: float, note: str) -> Figure:
    return Figure(value=value, source="none", date=_COPY, grade=Grade.ASSUMED, note=note)


_SKILLS: Final = "skills.sh, citing Cerebras's docs"
_AA_OSS: Final = "Artificial Analysis, gpt-oss-120B (low)"
_SOL_TTFT: Final = _measured(1098, f"{_AIEWF}: gpt-5.6-sol, no reasoning")
_SOL_P95: Final = _measured(2625, f"{_AIEWF}: gpt-5.6-sol, no reasoning")
_SOL_IN: Final = _third(5, "press on GPT-5.6's launch (faq.com.tw, chatforest.com)", "2026-07-02")
_SOL_OUT: Final = _third(30, "press on GPT-5.6's launch (faq.com.tw, chatforest.com)", "2026-07-02")
_SAME: Final = "that of the standard tier: no TTFT of this one was published"
_OPUS_TTFT: Final = _measured(1204, f"{_AIEWF}: claude-sonnet-5, thinking off", note="Sonnet's: none of Opus was found")
_OPUS_P95: Final = _measured(2465, f"{_AIEWF}: claude-sonnet-5, thinking off", note="Sonnet's: none of Opus was found")

TIERS: Final[tuple[Tier, ...]] = (
    Tier(
        name="gpu-h100",
        title="70B model on H100s, low end of the GPU class",
        ttft_ms=_assumed(200, "about one prefill of a voice prompt and one round trip; see turngap tiers"),
        rate=_third(
            80, "hndistilled.com/story/42178761: 70B to 405B on 8 x H100, 80 to 100 tok/s", "2024-11-19",
            "the lower end",
        ),
    ),
    Tier(
        name="gpu-h100-fast",
        title="70B model on H100s, upper end of the GPU class (tensor-parallel, fp8 or speculative)",
        ttft_ms=_assumed(150, "about one prefill of a voice prompt and one round trip; see turngap tiers"),
        rate=_third(120, "scienceshot.com, wafer-scale inference: 40 to 120 tok/s for a user", "2026-07"),
    ),
    Tier(
        name="cerebras-llama-405b",
        title="Cerebras, Llama-3.1-405B",
        ttft_ms=_vendor(240, "Cerebras, 2024-11-18, by way of Tom's Hardware", "2024-11-20"),
        rate=_vendor(969, "Cerebras, 2024-11-18, by way of Tom's Hardware", "2024-11-20"),
    ),
    Tier(
        name="cerebras-gpt-oss-120b",
        title="Cerebras, gpt-oss-120b",
        ttft_ms=_measured(
            256, f"{_AIEWF}: kimi-k2.6 on Cerebras, instant", note="another model on the same cloud: none of this one"
        ),
        ttft_p95_ms=_measured(480, f"{_AIEWF}: kimi-k2.6 on Cerebras, instant", note="another model, same cloud"),
        rate=_third(3000, _SKILLS, "2026-10", "Artificial Analysis measured 1,844"),
        price_in=_third(0.35, _SKILLS, "2026-10"),
        price_out=_third(0.75, _SKILLS, "2026-10"),
        specs=("cerebras:gpt-oss-120b",),
    ),
    Tier(
        name="cerebras-qwen-27b",
        title="Cerebras, qwen-3.8-27b",
        ttft_ms=_measured(256, f"{_AIEWF}: kimi-k2.6 on Cerebras, instant", note="another model, same cloud"),
        rate=_third(1850, _SKILLS, "2026-10"),
        specs=("cerebras:qwen-3.8-27b",),
    ),
    Tier(
        name="groq-gpt-oss-120b",
        title="Groq, gpt-oss-120b",
        ttft_ms=_measured(98, f"{_AIEWF}: gpt-oss-120b on Groq"),
        ttft_p95_ms=_measured(217, f"{_AIEWF}: gpt-oss-120b on Groq"),
        rate=_vendor(500, "console.groq.com/docs/models"),
        specs=("groq:openai/gpt-oss-120b",),
    ),
    Tier(
        name="groq-gpt-oss-20b",
        title="Groq, gpt-oss-20b",
        ttft_ms=_measured(98, f"{_AIEWF}: gpt-oss-120b on Groq", note="the larger model's: none of this one"),
        rate=_third(857, "Vercel's live metrics"),
        price_in=_third(0.08, "Vercel"),
        price_out=_third(0.30, "Vercel"),
        specs=("groq:openai/gpt-oss-20b",),
    ),
    Tier(
        name="sambanova-gpt-oss-120b",
        title="SambaNova, gpt-oss-120b",
        ttft_ms=_assumed(300, "no TTFT of a voice prompt was found; Artificial Analysis's 4.31 s includes reasoning"),
        rate=_measured(738, _AA_OSS),
        price_in=_third(0.22, "third-party price lists"),
        price_out=_third(0.59, "third-party price lists"),
        specs=("sambanova:gpt-oss-120b",),
    ),
    Tier(
        name="openai-standard",
        title="OpenAI standard, GPT-5.6 Sol",
        ttft_ms=_SOL_TTFT,
        ttft_p95_ms=_SOL_P95,
        rate=_third(
            68, "capitalandcompute.net, citing Artificial Analysis: GPT-5.5", "2026-06",
            "the model before it, at its highest reasoning effort",
        ),
        price_in=_SOL_IN,
        price_out=_SOL_OUT,
        specs=("openai:gpt-5.6-sol",),
    ),
    Tier(
        name="openai-fast",
        title="OpenAI fast (priority), GPT-5.6 Sol",
        ttft_ms=_derived(1098, _SOL_TTFT.source, _SAME),
        rate=_derived(170, "openai.com/api-fast-mode: up to 2.5x", "2.5 x 68; the SLA promises over 80 to 99 %"),
        price_in=_vendor(8, "openai.com/api-fast-mode", note="an older copy says 10"),
        price_out=_vendor(40, "openai.com/api-fast-mode", note="an older copy says 60"),
        specs=("openai:gpt-5.6-sol?service_tier=fast", "openai:gpt-5.6-sol?service_tier=priority"),
    ),
    Tier(
        name="openai-ultrafast",
        title="OpenAI ultrafast, GPT-5.6 Sol on Cerebras",
        ttft_ms=_assumed(240, "none was published; that of Cerebras's Llama-405B, the same hardware"),
        rate=_third(750, "OpenAI's announcement of June 2026, quoted by the press", "2026-06-26", "up to"),
        specs=("openai:gpt-5.6-sol?service_tier=ultrafast",),
    ),
    Tier(
        name="codex-spark",
        title="OpenAI gpt-5.3-codex-spark on Cerebras",
        ttft_ms=_assumed(240, "none was published; that of Cerebras's Llama-405B, the same hardware"),
        rate=_third(1000, "techinformed.com and itbrief, quoting OpenAI", "2026-02", "over 1,000"),
        specs=("openai:gpt-5.3-codex-spark",),
    ),
    Tier(
        name="anthropic-standard",
        title="Anthropic standard, Opus",
        ttft_ms=_OPUS_TTFT,
        ttft_p95_ms=_OPUS_P95,
        rate=_third(
            68, "techandbusiness.org, on seangoedecke.com: fast is about 170 tok/s, 2.5x", "2026-02",
            "170 / 2.5, Opus 4.6; treerouter.ai, citing Artificial Analysis, has 43 for Opus 4.7",
        ),
        specs=("anthropic:claude-opus-5",),
    ),
    Tier(
        name="anthropic-fast",
        title="Anthropic fast, Opus",
        ttft_ms=_derived(
            1204, _OPUS_TTFT.source, "that of the standard tier: Anthropic says that the gain is in rate, not in TTFT"
        ),
        rate=_third(170, "techandbusiness.org, on seangoedecke.com: Opus 4.6", "2026-02", "up to 2.5x the standard"),
        price_in=_third(10, "Vercel, Opus 5 fast"),
        price_out=_third(50, "Vercel, Opus 5 fast"),
        specs=("anthropic:claude-opus-5?speed=fast",),
    ),
    Tier(
        name="anthropic-haiku",
        title="Anthropic, Claude Haiku 4.5",
        ttft_ms=_measured(637, f"{_AIEWF}: claude-haiku-4-5"),
        ttft_p95_ms=_measured(1615, f"{_AIEWF}: claude-haiku-4-5"),
        rate=None,
        specs=("anthropic:claude-haiku-4-5",),
    ),
)  # fmt: skip

_BY_NAME: Final[Mapping[str, Tier]] = {tier.name: tier for tier in TIERS}
_BY_SPEC: Final[Mapping[str, Tier]] = {spec: tier for tier in TIERS for spec in tier.specs}


def find_tier(name: str) -> Tier:
    """The tier of this name; a ConfigurationError lists the names."""
    if name not in _BY_NAME:
        raise ConfigurationError(f"there is no tier '{name}'", remedy=f"Choose from: {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]


def tier_of(spec: str) -> Tier | None:
    """The tier that ``--llm spec`` is or simulates, or None: then no price of it is known."""
    head, _, _ = spec.partition("?")
    if head.startswith("sim:"):
        return _BY_NAME.get(head.removeprefix("sim:"))
    return _BY_SPEC.get(spec)
