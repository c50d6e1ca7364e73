"""Sentence embeddings by all-MiniLM-L6-v2: which texts are near each other, in 384 numbers.

The model is a BERT of six layers, and its weights are the ones that its authors publish (Apache-2.0), read from
safetensors. It is run by a forward of our own, for one sentence at a time on one thread: utterances differ in length,
and on one thread padding them into a batch costs more than it saves.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turngap.budget.errors import ModelError
from turngap.llm.backends.linear import PRODUCTS

MODEL: Final = "all-minilm-l6-v2"
WEIGHTS: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer.json"
SIZE: Final = 384
_HEADS: Final = 12
_LONGEST: Final = 128
"""Tokens; what is longer was cut here in training, too."""
_EPSILON: Final = 1e-12


class Embedding:
    """The model in memory. Not for the event loop: whoever calls it owns a thread for it, and lets it have one."""

    def __init__(self, folder: Path, *, precision: str = "fp32") -> None:
        """Load it. Raises ModelError."""
        try:
            from safetensors.torch import load_file
            from tokenizers import Tokenizer

            weights = {name: weight.float() for name, weight in load_file(folder / WEIGHTS).items()}
            self._tokenizer: Any = Tokenizer.from_file(str(folder / TOKENIZER))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(_LONGEST)
            self._bert = _Bert(weights, precision)
        except Exception as error:  # safetensors and tokenizers name no common type
            raise ModelError(
                f"the embedding model in {folder} cannot be loaded: {error!r}",
                remedy=f"Run: turngap models pull {MODEL}",
            ) from error

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of length one for each of ``texts``, on the calling thread."""
        rows = [self._bert(torch.tensor(self._tokenizer.encode(text).ids)).numpy() for text in texts]
        return np.stack(rows).astype(np.float32) if rows else np.zeros((0, SIZE), np.float32)


class _Bert:
    """Token ids to one vector: the mean over the tokens, brought to length one."""

    def __init__(self, weights: dict[str, Tensor], precision: str) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        # Sentences come alone, so all their tokens are of the first of BERT's two types.
        self._places = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = _norm(weights, "embeddings.LayerNorm")
        layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
        self._layers = [_Layer(weights, f"encoder.layer.{layer}.", precision) for layer in range(layers)]

    @torch.inference_mode()
    def __call__(self, ids: Tensor) -> Tensor:
        x = self._norm(self._words[ids] + self._places[: len(ids)])
        for layer in self._layers:
            x = layer(x)
        return functional.normalize(x.mean(0), dim=0)


class _Layer:
    def __init__(self, weights: dict[str, Tensor], at: str, precision: str) -> None:
        qkv = [f"{at}attention.self.{name}" for name in ("query", "key", "value")]
        weights[f"{at}qkv.weight"] = torch.cat([weights[f"{name}.weight"] for name in qkv])
        weights[f"{at}qkv.bias"] = torch.cat([weights[f"{name}.bias"] for name in qkv])
        self._qkv = _linear(weights, f"{at}qkv", precision)
        self._out = _linear(weights, f"{at}attention.output.dense", precision)
        self._attended = _norm(weights, f"{at}attention.output.LayerNorm")
        self._wide = _linear(weights, f"{at}intermediate.dense", precision)
        self._narrow = _linear(weights, f"{at}output.dense", precision)
        self._done = _norm(weights, f"{at}output.LayerNorm")

    def __call__(self, x: Tensor) -> Tensor:
        length, size = x.shape
        query, key, value = self._qkv(x).view(length, 3, _HEADS, size // _HEADS).permute(1, 2, 0, 3)
        heads = functional.scaled_dot_product_attention(query, key, value)
        x = self._attended(x + self._out(heads.transpose(0, 1).reshape(length, size)))
        return self._done(x + self._narrow(functional.gelu(self._wide(x))))


def _linear(weights: dict[str, Tensor], name: str, precision: str) -> Callable[[Tensor], Tensor]:
    product, bias = PRODUCTS[precision](weights[f"{name}.weight"]), weights[f"{name}.bias"]
    return lambda x: product(x) + bias


def _norm(weights: dict[str, Tensor], name: str) -> Callable[[Tensor], Tensor]:
    gamma, beta = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return lambda x: functional.layer_norm(x, gamma.shape, gamma, beta, _EPSILON)
