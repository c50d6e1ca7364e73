"""Cutting a voice in three: a tiny graph of the same shape, built here, and what is no voice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.budget.errors import ModelError
from turngap.voice.tts import split as cutting
from turngap.voice.tts.split import CONTEXT_KEY, DECODER, ENCODER, FLOW, HOP_KEY, split
from turngap.voice.tts.vits import Latent

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

RANDOM = np.random.default_rng(3)
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


class Sketch:
    """A VITS graph in small. Its tensors have names that say nothing, as an exporter's may."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs = [
            onnx.helper.make_tensor_value_info("input", INT64, [1, None]),
            onnx.helper.make_tensor_value_info("input_lengths", INT64, [1]),
            onnx.helper.make_tensor_value_info("scales", FLOAT, [3]),
        ]

    def weight(self, *shape: int) -> str:
        values = RANDOM.normal(scale=0.3, size=shape).astype(np.float32)
        self.weights.append(onnx.numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def whole_numbers(self, *values: int) -> str:
        self.weights.append(onnx.numpy_helper.from_array(np.array(values, np.int64), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def conv(self, x: str, channels: tuple[int, int], kernel: int, dilation: int = 1) -> str:
        pad = dilation * (kernel - 1) // 2
        shape = {"kernel_shape": [kernel], "dilations": [dilation], "pads": [pad, pad]}
        return self.add("Conv", x, self.weight(channels[1], channels[0], kernel), **shape)

    def latent(self) -> str:
        """Three columns for each id, then a mask: as much encoder as the seam needs."""
        embedded = self.add("Gather", self.weight(10, 4), "input")
        columns = self.add("Transpose", embedded, perm=[0, 2, 1])
        rounded = self.add("Ceil", columns)
        flow = self.add("Resize", self.add("Add", self.conv(columns, (4, 4), 3), rounded), "", self.scales_to(3))
        return self.add("Mul", flow, self.add("ReduceMax", "scales", keepdims=1))

    def flowing(self, *, speaker: bool = False) -> str:
        """The same, made by a flow from a prior with noise in it, under a mask for each column."""
        mean = self.latent()
        noise = self.add("RandomNormalLike", mean, seed=1.0)
        prior = self.add("Add", mean, self.add("Mul", self.add("Mul", noise, self.weight(1)), self.weight(1)))
        mask = self.add("Sigmoid", self.add("ReduceMean", mean, axes=[1], keepdims=1))
        x = self.conv(self.add("Mul", self.conv(prior, (4, 5), 5), mask), (5, 4), 3)
        if speaker:
            g = self.add("Unsqueeze", self.add("Gather", self.weight(3, 4), "sid"), self.whole_numbers(2))
            x = self.add("Add", x, g)
        return self.add("Mul", self.add("Sub", prior, x), mask)

    def scales_to(self, times: int) -> str:
        self.weights.append(onnx.numpy_helper.from_array(np.array([1, 1, times], np.float32), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def decoder(self, z: str, *, speaker: bool = False) -> str:
        x = self.conv(z, (4, 6), 7)
        if speaker:
            self.inputs.append(onnx.helper.make_tensor_value_info("sid", INT64, [1]))
            g = self.add("Unsqueeze", self.add("Gather", self.weight(3, 5), "sid"), self.whole_numbers(2))
            x = self.add("Add", x, self.conv(g, (5, 6), 1))
        x = self.add("LeakyRelu", x)
        x = self.add("ConvTranspose", x, self.weight(6, 4, 8), strides=[4], pads=[2, 2], kernel_shape=[8])
        x = self.add("Add", x, self.conv(self.add("LeakyRelu", x), (4, 4), 5, 3))
        x = self.add("ConvTranspose", x, self.weight(4, 2, 4), strides=[2], pads=[1, 1], kernel_shape=[4])
        return self.add("Tanh", self.conv(x, (2, 1), 7))

    def save(self, path: Path, audio: str) -> Path:
        out = onnx.helper.make_tensor_value_info(audio, FLOAT, [1, 1, None])
        graph = onnx.helper.make_graph(self.nodes, "voice", self.inputs, [out], self.weights)
        opsets = [onnx.helper.make_opsetid("", 15)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
        return path


def run(path: Path, outputs: list[str] | None, **feeds: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return list(session.run(outputs, feeds))


def text(length: int = 12) -> dict[str, Any]:
    return {
        "input": (np.arange(length, dtype=np.int64) % 10)[None],
        "input_lengths": np.array([length], np.int64),
        "scales": np.array([0.5, 1.0, 0.5], np.float32),
    }


def described(path: Path) -> dict[str, str]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(session.get_modelmeta().custom_metadata_map)


def taking(path: Path, feeds: dict[str, Any]) -> dict[str, Any]:
    """Of ``feeds``, what the model at ``path`` has inputs for (onnxruntime refuses any other)."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return {value.name: feeds[value.name] for value in session.get_inputs()}


@pytest.mark.parametrize("speaker", [False, True])
def test_the_two_halves_give_what_the_whole_gives(tmp_path: Path, speaker: bool) -> None:
    sketch = Sketch()
    whole = sketch.save(tmp_path / "voice.onnx", sketch.decoder(sketch.latent(), speaker=speaker))
    split(whole, tmp_path)
    feeds = text() | ({"sid": np.array([2], np.int64)} if speaker else {})
    (expected,) = run(whole, None, **taking(whole, feeds))
    z, durations = run(tmp_path / ENCODER, ["z", "durations"], **taking(tmp_path / ENCODER, feeds))
    (audio,) = run(tmp_path / DECODER, ["output"], **taking(tmp_path / DECODER, feeds | {"z": z}))
    np.testing.assert_array_equal(audio, expected)
    assert durations.shape[-1] == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == [DECODER, ENCODER, "voice.onnx"]


@pytest.mark.parametrize("speaker", [False, True])
def test_a_flow_is_cut_off_too(tmp_path: Path, speaker: bool) -> None:
    sketch = Sketch()
    if speaker:
        sketch.inputs.append(onnx.helper.make_tensor_value_info("sid", INT64, [1]))
    whole = sketch.save(tmp_path / "voice.onnx", sketch.decoder(sketch.flowing(speaker=speaker)))
    split(whole, tmp_path)
    feeds = text() | ({"sid": np.array([2], np.int64)} if speaker else {})
    (expected,) = run(whole, None, **taking(whole, feeds))
    prior, mask = run(tmp_path / ENCODER, ["p", "mask"], **taking(tmp_path / ENCODER, feeds))
    (z,) = run(tmp_path / FLOW, ["z"], **taking(tmp_path / FLOW, feeds | {"p": prior, "mask": mask}))
    (audio,) = run(tmp_path / DECODER, ["output"], z=z)
    np.testing.assert_allclose(audio, expected, atol=1e-6)
    # What it sees to either side is what a part of it shows.
    reach = int(described(tmp_path / FLOW)[CONTEXT_KEY])
    assert reach == 3
    window = {"p": prior[:, :, 10:30], "mask": mask[:, :, 10:30]}
    (part,) = run(tmp_path / FLOW, ["z"], **taking(tmp_path / FLOW, feeds | window))
    np.testing.assert_allclose(part[:, :, reach:-reach], z[:, :, 10 + reach : 30 - reach], atol=1e-6)


def test_noise_that_enters_otherwise_leaves_the_flow_where_it_is(tmp_path: Path) -> None:
    sketch = Sketch()
    mean = sketch.latent()
    twice = sketch.add("Add", sketch.add("Neg", sketch.add("RandomNormalLike", mean)), mean)
    split(sketch.save(tmp_path / "voice.onnx", sketch.decoder(twice)), tmp_path)
    assert not (tmp_path / FLOW).exists()


@settings(max_examples=50)
@given(st.integers(1, 400), st.integers(0, 40), st.data())
def test_a_latent_made_in_parts_is_the_latent(frames: int, context: int, data: st.DataObject) -> None:
    whole = RANDOM.normal(size=(1, 2, frames)).astype(np.float32)

    def flow(part: slice) -> Any:
        made = whole[:, :, part].copy()
        made[:, :, : context if part.start else 0] = np.nan
        made[:, :, made.shape[2] - (context if part.stop < frames else 0) :] = np.nan
        return made

    latent = Latent(frames, flow, context=context)
    end = 0
    while end < frames:
        start, end = max(0, end - 11), min(frames, end + data.draw(st.integers(1, 150)))
        np.testing.assert_array_equal(latent.window(slice(start, end)), whole[:, :, start:end])


@pytest.mark.parametrize(("told", "known"), [(3.0, True), (2.0, False), (None, False)])
def test_durations_are_believed_that_fill_the_latent(told: float | None, known: bool) -> None:
    durations = None if told is None else np.full((1, 1, 12), told, np.float32)
    latent = Latent(36, lambda part: np.zeros((1, 2, part.stop - part.start), np.float32), durations, context=0)
    assert (latent.durations is not None) is known


def test_only_a_decoder_that_needs_the_speaker_asks_for_it(tmp_path: Path) -> None:
    feeds = text() | {"sid": np.array([0], np.int64), "z": np.zeros((1, 4, 5), np.float32)}
    for speaker, expected in ((False, {"z"}), (True, {"z", "sid"})):
        sketch = Sketch()
        split(sketch.save(tmp_path / "v.onnx", sketch.decoder(sketch.latent(), speaker=speaker)), tmp_path)
        assert set(taking(tmp_path / DECODER, feeds)) == expected


def test_how_far_the_decoder_sees_is_what_a_touched_frame_shows(tmp_path: Path) -> None:
    sketch = Sketch()
    split(sketch.save(tmp_path / "voice.onnx", sketch.decoder(sketch.latent())), tmp_path)
    notes = described(tmp_path / DECODER)
    hop, context = int(notes[HOP_KEY]), int(notes[CONTEXT_KEY])
    z = RANDOM.normal(size=(1, 4, 61)).astype(np.float32)
    touched = z.copy()
    touched[:, :, 30] += 10
    before, after = (run(tmp_path / DECODER, None, z=latent)[0].reshape(-1) for latent in (z, touched))
    changed = np.flatnonzero(before != after)
    assert hop == 8
    reached = max(30 - changed[0] // hop, changed[-1] // hop - 30)
    assert reached <= context <= reached + 1


def test_a_voice_with_durations_of_its_own_kind_can_be_cut_without_them(tmp_path: Path) -> None:
    sketch = Sketch()
    z = sketch.add("Ceil", sketch.latent())
    split(sketch.save(tmp_path / "voice.onnx", sketch.decoder(z)), tmp_path)
    (latent,) = run(tmp_path / ENCODER, None, **taking(tmp_path / ENCODER, text()))
    assert latent.shape == (1, 4, 36)


def test_a_graph_without_an_upsampling_decoder_is_refused(tmp_path: Path) -> None:
    sketch = Sketch()
    refuse(sketch, sketch.conv(sketch.latent(), (4, 1), 3), tmp_path, "no upsampling")


def test_a_decoder_that_the_text_enters_twice_is_refused(tmp_path: Path) -> None:
    sketch = Sketch()
    z = sketch.latent()
    both = sketch.add("Add", sketch.conv(z, (4, 6), 7), sketch.conv(sketch.add("Neg", z), (4, 6), 7))
    up = sketch.add("ConvTranspose", both, sketch.weight(6, 1, 8), strides=[4], pads=[2, 2], kernel_shape=[8])
    refuse(sketch, up, tmp_path, "2 entries")


def test_a_decoder_that_needs_more_than_the_latent_is_refused(tmp_path: Path) -> None:
    sketch = Sketch()
    loud = sketch.add("Mul", sketch.decoder(sketch.latent()), sketch.add("ReduceMax", "scales", keepdims=1))
    refuse(sketch, loud, tmp_path, "scales")


def refuse(sketch: Sketch, audio: str, folder: Path, words: str) -> None:
    whole = sketch.save(folder / "voice.onnx", audio)
    with pytest.raises(ModelError, match=words):
        split(whole, folder)
    assert [path.name for path in folder.iterdir()] == ["voice.onnx"]


@pytest.mark.parametrize("content", [b"", b"not a voice", None])
def test_a_file_that_is_no_voice_is_a_model_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "voice.onnx").write_bytes(content)
    with pytest.raises(ModelError):
        split(tmp_path / "voice.onnx", tmp_path)


def test_a_cut_that_fails_leaves_no_half_written_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    sketch = Sketch()
    whole = sketch.save(tmp_path / "voice.onnx", sketch.decoder(sketch.latent()))
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        split(whole, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["voice.onnx"]


def test_names_of_inner_graphs_count_as_read() -> None:
    inner = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["outer"], ["n"])], "inner", [], [])
    node = onnx.helper.make_node("If", ["condition"], ["out"], then_branch=inner, else_branch=inner)
    names: Sequence[str] = list(cutting.tensors_into(node))
    assert set(names) == {"condition", "outer"}
