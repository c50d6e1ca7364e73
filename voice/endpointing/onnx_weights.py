"""The weights of smart-turn's ONNX file, under the names that our encoder knows.

The export keeps names for biases and norms but not for matrices, and stores those as integers with a scale per output.
So the products are taken in the order of the graph, and each is named by the bias that is added to it; the one
without a bias is the keys'.
"""

from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]

PREFIX: Final = "inner.encoder."
NORMS: Final = (("self_attention/layer_norm", "self_attn_layer_norm"), ("ffn/layer_norm", "final_layer_norm"))


class _Graph:
    """An ONNX graph, with its integer weights turned back into numbers."""

    def __init__(self, path: Path) -> None:
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(str(path)).graph
        self.nodes: list[Any] = list(graph.node)  # onnx.NodeProto
        self._held = {held.name: numpy_helper.to_array(held) for held in graph.initializer}
        self._made_by: dict[str, Any] = {output: node for node in self.nodes for output in node.output}
        self._used_by: dict[str, list[Any]] = {}
        for node in self.nodes:
            for name in node.input:
                self._used_by.setdefault(name, []).append(node)

    def __contains__(self, name: str) -> bool:
        made_by = self._made_by.get(name)
        if made_by is not None and made_by.op_type == "DequantizeLinear":
            name = made_by.input[0]
        return name in self._held

    def __getitem__(self, name: str) -> Array:
        if name in self._held:
            return np.asarray(self._held[name], np.float32)
        node = self._made_by[name]
        whole, scale, *rest = (np.asarray(self._held[each], np.float32) for each in node.input)
        zero = rest[0] if rest else np.zeros_like(scale)
        axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
        if scale.size > 1:
            shape = [-1 if dimension == axis else 1 for dimension in range(whole.ndim)]
            scale, zero = scale.reshape(shape), zero.reshape(shape)
        return np.asarray((whole - zero) * scale, np.float32)

    def bias_of(self, node: Any) -> str | None:
        """The name of what is added to the product of ``node``, perhaps after it was quantised and back."""
        names = list(node.output)
        while names:
            users = [user for name in names for user in self._used_by.get(name, [])]
            for user in users:
                added = [name for name in user.input if name in self._held and self._held[name].ndim == 1]
                if user.op_type == "Add" and added:
                    return str(added[0])
            passing = [user for user in users if user.op_type in ("QuantizeLinear", "DequantizeLinear")]
            names = [output for user in passing for output in user.output]
        return None


def read_weights(path: Path) -> dict[str, Array]:
    """The weights of the encoder as CTranslate2 would name them, and of the head as ``pool`` and ``classifier``.

    Raises what onnx raises for a file that is none, KeyError or IndexError for one of another model.
    """
    graph = _Graph(path)
    found = {
        "position_encodings/encodings": graph[f"{PREFIX}embed_positions.weight"],
        "layer_norm/gamma": graph[f"{PREFIX}layer_norm.weight"],
        "layer_norm/beta": graph[f"{PREFIX}layer_norm.bias"],
        "classifier/norm/gamma": graph["inner.classifier.1.weight"],
        "classifier/norm/beta": graph["inner.classifier.1.bias"],
    }
    for index, node in enumerate((node for node in graph.nodes if node.op_type == "Conv"), 1):
        found[f"conv{index}/weight"], found[f"conv{index}/bias"] = graph[node.input[1]], graph[node.input[2]]
    for index, node in enumerate(node for node in graph.nodes if node.op_type == "Gemm"):
        found[f"classifier/{index}/weight"] = graph[node.input[1]]
        found[f"classifier/{index}/bias"] = graph[node.input[2]]
    products = [node for node in graph.nodes if node.op_type == "MatMul" and node.input[1] in graph]
    layers, pool = products[:-2], products[-2:]
    for index, node in enumerate(pool):
        bias = graph.bias_of(node)
        found[f"pool/{index}/weight"] = graph[node.input[1]].T
        found[f"pool/{index}/bias"] = np.zeros(1, np.float32) if bias is None else graph[bias]
    for layer in range(len(layers) // 6):
        found |= _layer(graph, layer, layers[6 * layer : 6 * layer + 6])
    return found


def _layer(graph: _Graph, layer: int, products: list[Any]) -> dict[str, Array]:
    by_name = {}
    for node in products:
        bias = graph.bias_of(node)
        name = "k_proj" if bias is None else bias.split(".")[-2]
        weight = graph[node.input[1]].T
        by_name[name] = weight, np.zeros(len(weight), np.float32) if bias is None else graph[bias]
    at = f"layer_{layer}/"
    found = {}
    for ours, theirs in (
        ("self_attention/linear_1", "out_proj"),
        ("ffn/linear_0", "fc1"),
        ("ffn/linear_1", "fc2"),
    ):
        found[f"{at}{ours}/weight"], found[f"{at}{ours}/bias"] = by_name[theirs]
    qkv = [by_name[name] for name in ("q_proj", "k_proj", "v_proj")]
    for index, kind in enumerate(("weight", "bias")):
        found[f"{at}self_attention/linear_0/{kind}"] = np.concatenate([part[index] for part in qkv])
    for ours, theirs in NORMS:
        found[f"{at}{ours}/gamma"] = graph[f"{PREFIX}layers.{layer}.{theirs}.weight"]
        found[f"{at}{ours}/beta"] = graph[f"{PREFIX}layers.{layer}.{theirs}.bias"]
    return found
