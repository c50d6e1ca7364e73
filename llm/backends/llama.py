"""A lean forward pass for models of the Llama family, one conversation at a time.

At 135 M parameters the products of one token take 15 ms on one core, so the Python and the small operations of a
general forward are felt. So: queries, keys and values in one product, gate and up in another, rotary tables made
once, keys and values in standing buffers, and no masks where one token attends to everything. The heads that share
a key head are laid out as further rows of the same query, so keys need not be repeated.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from turngap.llm.backends.kv import KeyValues
from turngap.llm.backends.linear import PRODUCTS, Product


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer."""

    before_attention: Tensor
    qkv: Product
    out: Product
    before_mlp: Tensor
    gate_up: Product
    down: Product


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What :class:`Llama` needs to know of a model's configuration."""

    layers: int
    heads: int
    kv_heads: int
    head_width: int
    width: int
    vocabulary: int
    eps: float
    theta: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Shape | None":
        """From the content of a ``config.json``; None where :class:`Llama` does not compute what it asks for."""
        rope = {**(config.get("rope_parameters") or {}), **(config.get("rope_scaling") or {})}
        fits = (
            config.get("model_type") == "llama"
            and config.get("hidden_act", "silu") == "silu"
            and not config.get("attention_bias")
            and not config.get("mlp_bias")
            and rope.get("type", rope.get("rope_type", "default")) == "default"
            and rope.get("partial_rotary_factor", 1.0) == 1.0
        )
        if not fits:
            return None
        heads, width = config["num_attention_heads"], config["hidden_size"]
        return cls(
            layers=config["num_hidden_layers"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_width=config.get("head_dim") or width // heads,
            width=width,
            vocabulary=config["vocab_size"],
            eps=config.get("rms_norm_eps", 1e-6),
            theta=rope.get("rope_theta", config.get("rope_theta", 10_000.0)),
        )


class Llama:
    """``weights`` by the names that a ``LlamaForCausalLM`` of this ``shape`` saves them under."""

    def __init__(
        self, shape: Shape, weights: Mapping[str, Tensor], *, precision: str, device: torch.device, context: int
    ) -> None:
        self._kv_heads = shape.kv_heads
        self._heads = shape.heads
        self._width = shape.head_width
        self._eps = shape.eps
        self._root = math.sqrt(shape.width)
        self._dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self._device = device
        self._floor = torch.tensor(self._root * math.sqrt(self._eps), dtype=self._dtype)

        def product(weight: Tensor) -> Product:
            return PRODUCTS[precision](weight.to(device))

        embedding = weights["model.embed_tokens.weight"]
        self._layers = [self._layer(weights, f"model.layers.{index}.", product) for index in range(shape.layers)]
        self._embedding = self._place(embedding)
        self._norm = self._norm_weight(weights["model.norm.weight"])
        self._head = product(weights.get("lm_head.weight", embedding))  # tied where it was not saved
        self._cos, self._sin = self._rotary(shape.theta, context)

    def fresh(self) -> KeyValues:
        """An empty memory."""
        return KeyValues(len(self._layers), self._kv_heads, self._width, dtype=self._dtype, device=self._device)

    @torch.inference_mode()
    def forward(self, ids: list[int], held: KeyValues, *, rows: int = 1) -> Tensor:
        """Take ``ids`` in after what ``held`` holds; logits after each of the last ``rows`` tokens, as fp32."""
        new = len(ids)
        held.reserve(new)
        x = functional.embedding(torch.tensor(ids, device=self._device), self._embedding)
        cos, sin = (table[held.length : held.length + new, None] for table in (self._cos, self._sin))
        mask = None if new == 1 else self._mask(held.length, new)
        for index, layer in enumerate(self._layers):
            x = x + self._attention(index, layer, self._normed(x, layer.before_attention), cos, sin, mask, held)
            gate, up = layer.gate_up(self._normed(x, layer.before_mlp)).chunk(2, -1)
            x = x + layer.down(functional.silu(gate).mul_(up))
        held.advance(new)
        return self._head(self._normed(x[len(x) - rows :], self._norm)).float()

    def _attention(
        self, index: int, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, held: KeyValues
    ) -> Tensor:
        new, shared = len(x), self._heads // self._kv_heads
        states = layer.qkv(x).view(new, -1, self._width)
        turning = states[:, : self._heads + self._kv_heads]
        # Half of the sines are negative, so that rolling by half a head is the whole of "rotate half".
        turned = torch.addcmul(turning * cos, turning.roll(self._width // 2, -1), sin)
        keys, values = held.extend(
            index, turned[:, self._heads :].transpose(0, 1), states[:, self._heads + self._kv_heads :].transpose(0, 1)
        )
        queries = turned[:, : self._heads].view(new, self._kv_heads, shared, self._width)
        queries = queries.permute(1, 2, 0, 3).reshape(1, self._kv_heads, shared * new, self._width)
        seen: Tensor = functional.scaled_dot_product_attention(queries, keys[None], values[None], attn_mask=mask)
        rows = seen.view(self._heads, new, self._width).transpose(0, 1)
        return layer.out(rows.reshape(new, self._heads * self._width))

    def _mask(self, past: int, new: int) -> Tensor:
        """Additive: each new token sees the past, itself, and the new ones before it; once per shared head."""
        hidden = torch.full((new, past + new), float("-inf"), dtype=self._dtype, device=self._device)
        return hidden.triu_(past + 1).repeat(self._heads // self._kv_heads, 1)[None, None]

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        if x.is_cuda:
            return functional.rms_norm(x, (x.shape[-1],), weight, self._eps)
        # On CPUs torch composes it of seven operations; these four take 40 % of its time.
        # The square root of the width is in the weight already.
        size = torch.linalg.vector_norm(x, 2, -1, keepdim=True).hypot_(self._floor)
        normed: Tensor = (x / size).mul_(weight)
        return normed

    def _layer(self, weights: Mapping[str, Tensor], at: str, product: Callable[[Tensor], Product]) -> Layer:
        def joined(*names: str) -> Product:
            return product(torch.cat([weights[f"{at}{name}.weight"] for name in names]))

        return Layer(
            self._norm_weight(weights[f"{at}input_layernorm.weight"]),
            joined("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            joined("self_attn.o_proj"),
            self._norm_weight(weights[f"{at}post_attention_layernorm.weight"]),
            joined("mlp.gate_proj", "mlp.up_proj"),
            joined("mlp.down_proj"),
        )

    def _norm_weight(self, weight: Tensor) -> Tensor:
        return self._place(weight if self._device.type == "cuda" else weight.float() * self._root)

    def _rotary(self, theta: float, context: int) -> tuple[Tensor, Tensor]:
        half = torch.arange(0, self._width, 2, dtype=torch.float32) / self._width
        angles = torch.arange(context, dtype=torch.float32)[:, None] * theta**-half
        sin = torch.cat([-angles.sin(), angles.sin()], -1)
        return self._place(torch.cat([angles.cos(), angles.cos()], -1)), self._place(sin)

    def _place(self, tensor: Tensor) -> Tensor:
        return tensor.detach().to(self._device, self._dtype).contiguous()
