"""Cut a Piper voice in three, so that audio can be made in chunks.

A Piper voice is a VITS graph: text encoder and durations make the prior ``p``, one column for each audio frame, an
inverse flow turns it into the latent ``z``, and a HiFiGAN decoder turns that into samples. Everything up to ``p`` has
to see the whole sentence; flow and decoder are stacks of convolutions and see only some frames to either side. So::

    encoder.onnx   input, input_lengths, scales[, sid] -> p [1, channels, frames], mask, durations (frames per id)
    flow.onnx      p [1, channels, n], mask[, sid]     -> z [1, channels, n]
    decoder.onnx   z [1, channels, n][, sid]           -> output (n * hop samples)

The seams are found by what the graph is, not by what an exporter called it. The decoder begins with the convolution
that feeds the first transposed convolution (its first upsampling) and depends on the text; a voice with several
speakers adds a projection of the speaker there, which depends on ``sid`` alone and is kept inside the decoder. The
flow begins with the sum that the last random numbers enter, where everything from there to ``z`` needs of the text
only that sum and one mask; a voice without such a place keeps its flow in the encoder.

How far flow and decoder see is worked out from their kernels and written into them as metadata.
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
FLOW: Final = "flow.onnx"
DECODER: Final = "decoder.onnx"
CONTEXT_KEY: Final = "turngap.context_frames"
HOP_KEY: Final = "turngap.hop_samples"

PRIOR: Final = "p"
MASK: Final = "mask"
Z: Final = "z"
DURATIONS: Final = "durations"
SPEAKER: Final = "sid"

NOT_PIPER: Final = "Use a Piper voice as exported (VITS with a HiFiGAN decoder)"


def split(model: Path, folder: Path) -> None:
    """Write the parts of the voice ``model`` into ``folder``, each atomically.

    Raises a ModelError if the file cannot be read or is no voice that can be cut.
    """
    graph = Graph(_load(model))
    seam = find_seam(graph)
    flow = find_flow(graph, seam)
    reach = reach_of(graph, seam.z, seam.audio)
    encoder_outputs = {seam.z: Z} if flow is None else {flow.prior: PRIOR, flow.mask: MASK}
    if seam.durations is not None:
        encoder_outputs[seam.durations] = DURATIONS
    inputs = [value.name for value in graph.onnx_graph.input]
    encoder = graph.cut({name: name for name in inputs}, encoder_outputs, {})
    decoder = graph.cut(
        {seam.z: Z} | _speaker(seam.speaker),
        {seam.audio: "output"},
        {CONTEXT_KEY: str(reach.frames), HOP_KEY: str(reach.rate)},
    )
    folder.mkdir(parents=True, exist_ok=True)
    # The decoder last: whoever finds it can rely on the others being there.
    _write(folder / ENCODER, encoder)
    if flow is not None:
        begins = {flow.prior: PRIOR, flow.mask: MASK} | _speaker(flow.speaker)
        _write(folder / FLOW, graph.cut(begins, {seam.z: Z}, {CONTEXT_KEY: str(flow.reach)}))
    _write(folder / DECODER, decoder)


def _speaker(needed: bool) -> dict[str, str]:
    return {SPEAKER: SPEAKER} if needed else {}


@dataclass(frozen=True, slots=True)
class Seam:
    """Where to cut, as names of tensors in the original graph."""

    z: str
    audio: str
    durations: str | None
    speaker: bool
    """Whether the decoder needs the speaker as well."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Where the inverse flow begins, and the frames that it sees to either side."""

    prior: str
    mask: str
    speaker: bool
    reach: int


@dataclass(frozen=True, slots=True)
class Reach:
    """How a stretch of the graph relates frames to columns: columns per frame, and the frames seen to either side."""

    frames: int
    rate: int


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


def find_flow(graph: Graph, seam: Seam) -> Flow | None:
    """The inverse flow before ``seam``; None where the graph has no place to cut it off."""
    for node in reversed(graph.behind([seam.z])):
        if node.op_type != "RandomNormalLike":
            continue
        prior = _sum_after(graph, node.output[0])
        inside = {prior}
        around: set[str] = set()
        for between in graph.behind([seam.z]):
            names = list(tensors_into(between))
            if inside.intersection(names):
                inside.update(between.output)
                around.update(names)
        text = {name for name in around - inside if graph.depends(name) - {SPEAKER}}
        reach = reach_of(graph, prior, seam.z) if prior else Reach(0, 0)
        if len(text) == 1 and reach.rate == 1:
            needs = {name for name in around - inside for name in graph.depends(name)} - text
            return Flow(prior, text.pop(), speaker=SPEAKER in needs, reach=reach.frames)
    return None


def _sum_after(graph: Graph, tensor: str) -> str:
    """The first sum that ``tensor`` enters, through products alone; "" where there is none."""
    for node in graph.onnx_graph.node:
        if tensor in node.input:
            if node.op_type == "Add":
                return str(node.output[0])
            if node.op_type != "Mul":
                return ""
            tensor = node.output[0]
    return ""


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


def reach_of(graph: Graph, start: str, end: str) -> Reach:
    """Columns of ``end`` per column of ``start``, and the columns of that to either side that can change one.

    Each tensor has a rate (columns per frame) and a reach (in frames). A convolution widens the reach by half its
    dilated kernel, a transposed one by the inputs that overlap in one output, everything else takes the widest.
    """
    rate: dict[str, int] = {start: 1}
    reach: dict[str, Fraction] = {start: Fraction(0)}
    for node in graph.behind([end], stop=[start]):
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
    return Reach(frames=math.ceil(reach[end]), rate=rate[end])


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
