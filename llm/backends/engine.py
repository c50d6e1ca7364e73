"""The model as the backend sees it: token ids in after a memory that can be cut back and copied, logits out.

Two of them: :class:`~turngap.llm.backends.llama.Llama`, lean, for the family it fits, and :class:`General`,
which drives the forward pass that transformers has for everything else.
"""

import copy
import inspect
import json
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from turngap.budget.errors import ConfigurationError, ModelError
from turngap.llm.backends import llama
from turngap.llm.backends.linear import PRODUCTS, replace_linears


class Held(Protocol):
    """What attention remembers of the tokens so far."""

    length: int

    def crop(self, length: int) -> None: ...

    def copy(self) -> "Held": ...


class Engine(Protocol):
    """A loaded model."""

    def fresh(self) -> Any: ...

    def forward(self, ids: list[int], held: Any, *, rows: int = 1) -> Tensor:
        """Take ``ids`` in after what ``held`` holds; logits after each of the last ``rows`` tokens, as fp32."""
        ...


class _HeldByTransformers:
    """A ``DynamicCache`` that knows its length."""

    def __init__(self, cache: Any, length: int = 0) -> None:
        self.cache = cache
        self.length = length

    def crop(self, length: int) -> None:
        if length < self.length:
            self.cache.crop(length - self.length)  # how many to take away
            self.length = length

    def copy(self) -> "_HeldByTransformers":
        return _HeldByTransformers(copy.deepcopy(self.cache), self.length)


class General:
    """Any causal model of transformers, through its own forward."""

    def __init__(self, model: Any, *, precision: str, device: torch.device) -> None:
        if precision in ("int8", "fp16"):
            replace_linears(model, PRODUCTS[precision])
        self._model = model.to(device).eval()
        # transformers is renaming the argument: the old name warns, and older versions know no other.
        takes = inspect.signature(model.forward).parameters
        self._cache_argument = "cache" if "cache" in takes else "past_key_values"
        self._device = device

    def fresh(self) -> _HeldByTransformers:
        from transformers import DynamicCache

        return _HeldByTransformers(DynamicCache(config=self._model.config))

    @torch.inference_mode()
    def forward(self, ids: list[int], held: _HeldByTransformers, *, rows: int = 1) -> Tensor:
        """As :meth:`turngap.llm.backends.llama.Llama.forward`."""
        tokens = torch.tensor([ids], device=self._device)
        out = self._model(tokens, use_cache=True, logits_to_keep=max(1, rows), **{self._cache_argument: held.cache})
        held.length += len(ids)
        last: Tensor = out.logits[0, out.logits.shape[1] - rows :].float()
        return last


def load(source: str | Path, *, precision: str, context: int) -> tuple[Engine, Any, dict[str, str]]:
    """Load a folder or a hub id: the engine, its tokenizer, and a description. Errors are ModelErrors."""
    import transformers

    transformers.utils.logging.disable_progress_bar()  # its bar would run through the server's own lines
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    precision = precision or ("bf16" if device.type == "cuda" else "int8")
    if precision not in PRODUCTS:
        raise ConfigurationError(f"there is no precision '{precision}'", remedy=f"Choose from: {', '.join(PRODUCTS)}")
    if device.type == "cuda" and precision in ("int8", "fp16"):
        raise ConfigurationError(f"precision '{precision}' is for CPUs", remedy="On CUDA choose bf16 or fp32")
    try:
        tokenizer = _tokenizer(source)
        shape = llama.Shape.of(_config(source))
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        engine: Engine
        if shape is not None:
            weights = _saved(source) or _model(source, dtype).state_dict()
            engine = llama.Llama(shape, weights, precision=precision, device=device, context=context)
            read = sum(weight.numel() for name, weight in weights.items() if name.endswith("proj.weight"))
            read += shape.vocabulary * shape.width
        else:
            model = _model(source, dtype)
            read = _read_per_token(model)
            engine = General(model, precision=precision, device=device)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ModelError(
            f"the language model '{source}' cannot be loaded: {str(error).splitlines()[0] if str(error) else error!r}",
            remedy="Pull it with: turngap models pull smollm2-135m-instruct, or name a folder that has config.json, "
            "tokenizer.json and *.safetensors",
        ) from error
    return (
        engine,
        tokenizer,
        {
            "model": Path(str(source)).name,
            "device": device.type,
            "precision": precision,
            "weights": str(read),
            "forward": "transformers" if shape is None else "lean",
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
    )


# transformers finds out what a folder holds by looking through all the models that it knows, which takes two seconds;
# then it makes a model of the weights, which takes three more and which Llama would take apart again.


def _tokenizer(source: str | Path) -> Any:
    import transformers

    plain = (Path(source) / "tokenizer.json").is_file()
    kind = transformers.PreTrainedTokenizerFast if plain else transformers.AutoTokenizer
    return kind.from_pretrained(str(source))


def _config(source: str | Path) -> dict[str, Any]:
    file = Path(source) / "config.json"
    if file.is_file():
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return found
    import transformers

    asked: dict[str, Any] = transformers.AutoConfig.from_pretrained(str(source)).to_dict()
    return asked


def _saved(source: str | Path) -> dict[str, Tensor]:
    """The weights of a folder, as they were saved; empty for a hub's id."""
    from safetensors.torch import load_file

    return {
        name: weight for file in sorted(Path(source).glob("*.safetensors")) for name, weight in load_file(file).items()
    }


def _model(source: str | Path, dtype: torch.dtype) -> Any:
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(str(source), dtype=dtype)


def _read_per_token(model: Any) -> int:
    """Weights that decoding one token reads: all but the embedding table, which is read only where it is the head."""
    linears = (module for module in model.modules() if isinstance(module, torch.nn.Linear))
    return sum(linear.weight.numel() for linear in linears)
