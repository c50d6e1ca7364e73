"""Matrix products with small weights, for processors whose memory is the wall.

A token is decoded by reading every weight once, so bytes are time. What was tried on one AVX2 core (Zen 3, no
AVX-512), a 135 M model's products alone; times against fp32's in the same run, the quality as KL divergence from
fp32 and top-1 agreement over six short replies:

=============================================== ======= =========== ============ ====== =====
products                                        decode  prefill 11  prefill 150  KL     top-1
=============================================== ======= =========== ============ ====== =====
fp32                                            1       1           1            0      1
bf16                                            0.80    2.4         18           0.001  0.99
int8 weights, bf16 activations                  0.60    0.62        2.7          0.005  0.97
fp16 weights, fp32 activations (``fp16``)       0.47    0.35        0.83         0.000  1.00
dynamic int8, 8-bit activations                 0.37    0.19        0.57         9      0.05
the same with 7 bits, as torch does             0.36    0.22        0.54         0.37   0.70
... and one activation scale per row            0.36    0.27        0.57         0.13   0.84
8-bit rows, 7-bit weights (``int8``)            0.37    0.27        0.57         0.06   0.91
=============================================== ======= =========== ============ ====== =====

bf16 has no instructions there, and ``torch._int_mm`` has no fast kernel (24 times fp32's time). The last two
lines tell the two traps of torch's dynamic int8:

* It gives a call *one* activation scale, and a language model's first token is an outlier a hundred times as
  large as the rest: under its scale all others round to nothing. So each row is brought to the same size before the
  call and back after it, which makes the scale one per token. A single row needs neither.
* fbgemm's AVX2 kernel adds pairs of products in 16 bits and saturates, unless one side keeps to 7 bits. Weights lose
  less by it than activations, which have outliers inside a row too.
"""

import warnings
from collections.abc import Callable
from typing import Final, TypeAlias

import torch
from torch import Tensor, nn

Product: TypeAlias = Callable[[Tensor], Tensor]
"""``x -> x @ weight.T`` over the last dimension."""

LARGEST: Final = 63
"""7-bit weights: two products with 8-bit activations, 2 * 255 * 63, still fit into 16 bits."""


def dense(weight: Tensor, dtype: torch.dtype) -> Product:
    """The plain product, with the weight in ``dtype``."""
    held = weight.detach().to(dtype).contiguous()
    return lambda x: nn.functional.linear(x, held)


def fp16(weight: Tensor) -> Product:
    """The product with fp16 weights in fp32 arithmetic: as good as fp32, in half the bytes. x86 only."""
    packed = torch.ops.quantized.linear_prepack_fp16(weight.detach().float(), None)
    product = torch.ops.quantized.linear_dynamic_fp16

    def apply(x: Tensor) -> Tensor:
        y: Tensor = product(x, packed)
        return y

    return apply


def int8(weight: Tensor) -> Product:
    """The product with small integer weights (a scale per output channel) and int8 activations (one per row)."""
    packed = _pack(weight.detach().float())
    product = torch.ops.quantized.linear_dynamic

    def apply(x: Tensor) -> Tensor:
        if x.numel() == x.shape[-1]:
            single: Tensor = product(x, packed, False)
            return single
        size = x.abs().amax(-1, keepdim=True).clamp_min_(1e-12)
        rows: Tensor = product(x / size, packed, False)
        return rows.mul_(size)

    return apply


def _pack(weight: Tensor) -> torch.ScriptObject:
    scales = weight.abs().amax(1).clamp_min_(1e-12).div_(LARGEST)
    # Rounded by hand: torch.quantize_per_channel goes weight by weight and takes six times as long.
    whole = (weight / scales[:, None]).round_().to(torch.int8)
    with warnings.catch_warnings():
        # torch means to move quantized tensors elsewhere some day; the packed product itself stays.
        warnings.simplefilter("ignore")
        quantised = torch._make_per_channel_quantized_tensor(
            whole, scales.double(), torch.zeros(len(scales), dtype=torch.int64), 0
        )
        packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(quantised, None)
    return packed


PRODUCTS: Final[dict[str, Callable[[Tensor], Product]]] = {
    "fp32": lambda weight: dense(weight, torch.float32),
    "bf16": lambda weight: dense(weight, torch.bfloat16),
    "fp16": fp16,
    "int8": int8,
}
"""Every precision that can be asked for."""


class SmallLinear(nn.Module):
    """Stands in for an ``nn.Linear`` of a model whose forward is not ours."""

    def __init__(self, linear: nn.Linear, product: Callable[[Tensor], Product]) -> None:
        super().__init__()
        self._product = product(linear.weight)
        bias: Tensor | None = linear.bias
        self._bias = None if bias is None else bias.detach().float()

    def forward(self, x: Tensor) -> Tensor:
        y = self._product(x)
        return y if self._bias is None else y + self._bias


def replace_linears(module: nn.Module, product: Callable[[Tensor], Product]) -> None:
    """Replace every ``nn.Linear`` below ``module`` by one that multiplies with ``product``, in place."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, SmallLinear(child, product))
        else:
            replace_linears(child, product)
