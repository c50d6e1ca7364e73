"""Cut a Piper voice in two at the seam before its vocoder, so that audio can be made in chunks.

A Piper voice is a VITS graph: text encoder, durations and inverse flow make the latent ``z``, one column for each
audio frame, and a HiFiGAN decoder turns ``z`` into samples. Everything up to ``z`` has to see the whole sentence;
the decoder is a stack of convolutions and sees only a few frames to either side. So::

    encoder.onnx   input, input_lengths, scales[, sid] -> z [1, channels, frames], durations (frames per phoneme id)
    decoder.onnx   z [1, channels, n][, sid]           -> output (n * hop samples)

The seam is found by what the graph is, not by what an exporter called it: the convolution that feeds the first
transposed convolution (the decoder's first upsampling) and depends on the text. A voice with several speakers adds
a projection of the speaker there, which depends on ``sid`` alone and is kept inside the decoder.

How far the decoder sees is worked out from its kernels and written into decoder.onnx as metadata.
"""

import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from turngap.budget.errors import ModelError

ENCODER: Final = "encoder.onnx"
DECODER: Final = "decoder.onnx"
CONTEXT_KEY: Final = "turngap.context_frames"
HOP_KEY: Final = "turngap.hop_samples"

Z: Final = "z"
DURATIONS: Final = "durations"
SPEAKER: Final = "sid"

NOT_PIPER: Final = "Use a Piper voice as exported (VITS with a HiFiGAN decoder)"


def split(model: Path, folder: Path) -> None:
    """Write ``encoder.onnx`` and ``decoder.onnx`` of the voice ``model`` into ``folder``, each atomically.

    Raises a ModelError if the file cannot be read or is no voice that can be cut.
    """
    graph = Graph(_load(model))
    seam = find_seam(graph)
    reach = reach_of(graph, seam)
    encoder_outputs = {seam.z: Z}
    if seam.durations is not None:
        encoder_outputs[seam.durations] = DURATIONS
    inputs = [value.name for value in graph.onnx_graph.input]
    decoder_inputs = {seam.z: Z} | ({SPEAKER: SPEAKER} if seam.speaker else {})
    encoder = graph.cut({name: name for name in inputs}, encoder_outputs, {})
    decoder = graph.cut(
        decoder_inputs,
        {seam.audio: "output"},
        {CONTEXT_KEY: str(reach.frames), HOP_KEY: str(reach.hop)},
    )
    folder.mkdir(parents=True, exist_ok=True)
    # The decoder last: whoever finds it can rely on the encoder being there.
    _write(folder / ENCODER, encoder)
    _write(folder / DECODER, decoder)


@dataclass(frozen=True, slots=True)
class Seam:
    """Where to cut, as names of tensors in the original graph."""

    z: str
    audio: str
    durations: str | None
    speaker: bool
    """Whether the decoder needs the speaker as well."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How the decoder relates frames to samples: samples per frame, and the frames it sees to either side."""

    frames: int
    hop: int


class Graph:
    """An ONNX graph as something to walk: which node makes a tensor, and which graph inputs it depends on."""

    def __init__(self, model: Any) -> None:  # onnx.ModelProto
        self.model = model
        self.onnx_graph = model.graph
        self._maker = {name: node for node in model.graph.node for name in node.output if name}
        self._inputs = {value.name for value in model.graph.input}
        self._depends: dict[str, frozenset[str]] = {name: frozenset({name}) for name in self._inputs}
        for node in model.graph.node:  # ONNX requires topological order
            together: frozenset[str] = frozenset().union(*(self.depends(name) for name in tensors_into(node)))
            self._depends.update(dict.fromkeys(node.output, together))

    def maker(self, tensor: str) -> Any | None:
        """The node that computes ``tensor``, or None for graph inputs and weights."""
        return self._maker.get(tensor)

    def depends(self, tensor: str) -> frozenset[str]:
        """Names of the graph inputs that ``tensor`` is computed from."""
        return self._depends.get(tensor, frozenset())

    def behind(self, tensors: Iterable[str], *, stop: Iterable[str] = ()) -> list[Any]:
        """The nodes that ``tensors`` need, in graph order, without going past ``stop``."""
        seen, todo = set(stop), list(tensors)
        wanted: set[int] = set()
        while todo:
            tensor = todo.pop()
            node = None if tensor in seen else self.maker(tensor)
            seen.add(tensor)
            if node is not None:
                wanted.add(id(node))
                todo.extend(tensors_into(node))
        return [node for node in self.onnx_graph.node if id(node) in wanted]

    def cut(self, inputs: Mapping[str, str], outputs: Mapping[str, str], metadata: Mapping[str, str]) -> bytes:
        """The stretch from ``inputs`` to ``outputs`` (old name -> new name) as a model of its own, serialised."""
        import onnx

        named = dict(inputs) | dict(outputs)
        nodes = []
        for old in self.behind(outputs, stop=inputs):
            node = onnx.NodeProto()
            node.CopyFrom(old)
            node.input[:] = [named.get(name, name) for name in old.input]
            node.output[:] = [named.get(name, name) for name in old.output]
            nodes.append(node)
        used = {name for node in nodes for name in tensors_into(node)}
        graph = onnx.helper.make_graph(
            nodes,
            "turngap",
            [self._value(old, new) for old, new in inputs.items()],
            [self._value(old, new) for old, new in outputs.items()],
            [weight for weight in self.onnx_graph.initializer if weight.name in used],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version, producer_name="turngap"
        )
        onnx.helper.set_model_props(model, dict(metadata))
        serialised: bytes = model.SerializeToString()
        return serialised

    def _value(self, old: str, new: str) -> Any:  # onnx.ValueInfoProto
        """Type and shape of an edge; a tensor inside the graph is float32 with a shape found at run time."""
        import onnx

        for value in (*self.onnx_graph.input, *self.onnx_graph.output):
            if value.name == old:
                copy = onnx.ValueInfoProto()
                copy.CopyFrom(value)
                copy.name = new
                return copy
        return onnx.helper.make_tensor_value_info(new, onnx.TensorProto.FLOAT, [1, None, None])


def tensors_into(node: Any) -> Iterator[str]:
    """Names of what ``node`` reads, its subgraphs included (a tensor named there may be the outer graph's)."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for subgraph in (attribute.g, *attribute.graphs):
            for inner in subgraph.node:
                yield from tensors_into(inner)


def find_seam(graph: Graph) -> Seam:
    """Where the latent enters the decoder. Raises a ModelError if the graph has no such place, or two."""
    text = next((value.name for value in graph.onnx_graph.input if value.name != SPEAKER), "")
    audio = graph.onnx_graph.output[0].name if graph.onnx_graph.output else ""
    upsampling = [node for node in graph.behind([audio]) if node.op_type == "ConvTranspose"]
    if not upsampling:
        raise ModelError("the voice has no upsampling decoder", remedy=NOT_PIPER)
    entries = {
        conv.input[0] for conv in _convolutions_before(graph, upsampling[0]) if text in graph.depends(conv.input[0])
    }
    if len(entries) != 1:
        raise ModelError(f"the voice's decoder has {len(entries)} entries for the text, not one", remedy=NOT_PIPER)
    z = entries.pop()
    needs = {name for node in graph.behind([audio], stop=[z]) for name in tensors_into(node) if name != z}
    needed_inputs = needs & {value.name for value in graph.onnx_graph.input}
    if needed_inputs - {SPEAKER}:
        raise ModelError(
            f"the voice's decoder needs more than the latent: {', '.join(sorted(needed_inputs))}", remedy=NOT_PIPER
        )
    ceilings = {node.output[0] for node in graph.behind([z]) if node.op_type == "Ceil"}
    return Seam(
        z=z,
        audio=audio,
        # VITS rounds durations up to whole frames, once. Two ceilings, and we no longer know which it is.
        durations=ceilings.pop() if len(ceilings) == 1 else None,
        speaker=SPEAKER in needed_inputs,
    )


def _convolutions_before(graph: Graph, node: Any) -> list[Any]:
    """The nearest convolutions behind the first input of ``node``, each branch of an addition followed."""
    found, todo = [], [node.input[0]]
    while todo:
        maker = graph.maker(todo.pop())
        if maker is None:
            continue
        if maker.op_type == "Conv":
            found.append(maker)
        else:
            todo.extend(tensors_into(maker))
    return found


def reach_of(graph: Graph, seam: Seam) -> Reach:
    """Samples per frame, and the frames to either side that can change a sample, from the decoder's kernels.

    Each tensor has a rate (columns per frame) and a reach (in frames). A convolution widens the reach by half its
    dilated kernel, a transposed one by the inputs that overlap in one output, everything else takes the widest.
    """
    rate: dict[str, int] = {seam.z: 1}
    reach: dict[str, Fraction] = {seam.z: Fraction(0)}
    for node in graph.behind([seam.audio], stop=[seam.z]):
        known = [name for name in tensors_into(node) if name in rate]
        if not known:
            continue  # constants, and what depends on the speaker alone
        here = max(rate[name] for name in known)
        wide = max(reach[name] for name in known)
        kernel, stride, dilation = _kernel(node)
        if node.op_type == "Conv":
            wide += Fraction(dilation * (kernel - 1), 2 * here)
        elif node.op_type == "ConvTranspose":
            wide += Fraction(math.ceil(Fraction(kernel, stride)) - 1, here)
            here *= stride
        rate.update(dict.fromkeys(node.output, here))
        reach.update(dict.fromkeys(node.output, wide))
    return Reach(frames=math.ceil(reach[seam.audio]), hop=rate[seam.audio])


def _kernel(node: Any) -> tuple[int, int, int]:
    """Kernel, stride and dilation of a one-dimensional convolution; 1, 1, 1 for anything else."""
    of = {attribute.name: attribute.ints for attribute in node.attribute}
    kernel, stride, dilation = (of.get(name) for name in ("kernel_shape", "strides", "dilations"))
    return (
        int(kernel[0]) if kernel else 1,
        int(stride[0]) if stride else 1,
        int(dilation[0]) if dilation else 1,
    )


def _load(model: Path) -> Any:  # onnx.ModelProto
    try:
        import onnx
    except ImportError as error:
        raise ModelError("a voice cannot be prepared without onnx", remedy="pip install 'turngap[local]'") from error
    try:
        loaded = onnx.load(str(model))
    except Exception as error:  # protobuf's own error types are not public
        raise ModelError(f"the voice {model} cannot be read ({error})", remedy="Pull it again") from error
    if not loaded.graph.node:
        raise ModelError(f"the voice {model} is empty", remedy="Pull it again")
    return loaded


def _write(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` in one step: other processes see all of it or none."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
