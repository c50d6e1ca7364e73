"""What is slow to do at every start is done once, when a model is pulled.

A preparation reads a model's folder and writes new files into an empty one; the store then hashes them and moves
them in. Raise a preparation's version when its output changes: pulled models then count as not prepared.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from turngap.budget.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """``run(folder, out)`` reads ``folder`` and writes into ``out``. Raises ModelError."""

    name: str
    version: int
    says: str
    run: Callable[[Path, Path], None]

    @property
    def stamp(self) -> str:
        """What a manifest records, so that an outdated preparation is noticed."""
        return f"{self.name}/{self.version}"


def gguf_to_safetensors(folder: Path, out: Path) -> None:
    """Write the de-quantised weights in bfloat16, the configuration and the tokenizer with its chat template.

    De-quantising takes many seconds at every start, reading safetensors about one. bfloat16 halves the file, and costs
    nothing that can be told: the mean KL divergence of the next token is 1e-4 from the exact weights, while int8
    weights made from either are at 8e-3.
    """
    gguf = only(folder, "*.gguf")
    with needs_local(f"preparing {gguf.name}"):
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
        from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    config: Any = AutoConfig.from_pretrained(folder, gguf_file=gguf.name)
    config.dtype = torch.bfloat16
    with torch.device("meta"):  # no memory and no random numbers for weights that are about to be replaced
        model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    # Not from_pretrained: with a GGUF it wants accelerate, and then refuses to save what it believes is quantised.
    with redirect_stderr(StringIO()):  # the library's bars would run through ours
        weights: Any = load_gguf_checkpoint(str(gguf), return_tensors=True, model_to_load=model)["tensors"]
        halved = {name: weight.to(torch.bfloat16) for name, weight in weights.items()}
        absent, unknown = model.load_state_dict(halved, strict=False, assign=True)
        if unknown or set(absent) - {"lm_head.weight"}:  # the head is the embedding again, and is stored once
            raise ModelError(f"{gguf} does not fit the model that it names", remedy="Pull with --from hub")
        model.tie_weights()
        model.save_pretrained(out)
        AutoTokenizer.from_pretrained(folder, gguf_file=gguf.name).save_pretrained(out)


def split_voice(folder: Path, out: Path) -> None:
    """Cut the voice before its vocoder, so that it can speak in chunks."""
    with needs_local("splitting a voice"):
        from turngap.voice.tts.split import split
    split(only(folder, "*-*.onnx"), out)


def only(folder: Path, pattern: str) -> Path:
    """The one file in ``folder`` that fits."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ModelError(f"{folder} holds {len(found)} files like {pattern}, not one", remedy="Pull the model again")
    return found[0]


@contextmanager
def needs_local(task: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ModelError(f"{task} needs {error.name}", remedy="Run: pip install 'turngap[local]'") from error


PREPARATIONS: dict[str, Preparation] = {
    each.name: each
    for each in (
        Preparation(name="safetensors", version=1, says="converting to safetensors (once)", run=gguf_to_safetensors),
        Preparation(name="split", version=2, says="splitting the voice for chunked speech (once)", run=split_voice),
    )
}
