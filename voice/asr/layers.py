"""What Whisper's encoder and decoder are built of, from weights as CTranslate2 names them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turngap.llm.backends.linear import PRODUCTS, Product

HEAD_WIDTH: Final = 64
"""In every Whisper model."""

Linear: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Norm:
    gamma: Tensor
    beta: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta)


class Weights:
    """Weights as :func:`turngap.voice.asr.weights.read_weights` gives them, in the precision of the products."""

    def __init__(self, weights: Mapping[str, NDArray[np.floating]], precision: str) -> None:
        self._tensors = {name: torch.from_numpy(value.copy()).float() for name, value in weights.items()}
        self._product = PRODUCTS[precision]

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def layers(self) -> list[str]:
        """The prefixes of the layers' names, in order."""
        found: list[str] = []
        while f"layer_{len(found)}/ffn/linear_0/weight" in self._tensors:
            found.append(f"layer_{len(found)}/")
        return found

    def norm(self, name: str) -> Norm:
        return Norm(self[f"{name}/gamma"], self[f"{name}/beta"])

    def product(self, name: str) -> Product:
        return self._product(self[f"{name}/weight"])

    def linear(self, name: str) -> Linear:
        multiply, bias = self.product(name), self[f"{name}/bias"]
        return lambda x: multiply(x) + bias

    def feedforward(self, at: str) -> Linear:
        """The second half of a layer, what it adds to included."""
        norm = self.norm(f"{at}ffn/layer_norm")
        up, down = self.linear(f"{at}ffn/linear_0"), self.linear(f"{at}ffn/linear_1")
        return lambda x: x + down(functional.gelu(up(norm(x))))


def merged(attended: Tensor) -> Tensor:
    """[1, heads, rows, HEAD_WIDTH] to [rows, width]."""
    return attended[0].transpose(0, 1).reshape(attended.shape[2], -1)
