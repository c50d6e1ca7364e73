"""Decoder and encoder on small weights of chance: what a draft may change, what is kept, and reading weights."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from turngap.budget.errors import ModelError
from turngap.voice.asr.weights import read_weights, under

torch = pytest.importorskip("torch", reason="the extra 'local' is not installed")

WIDTH, TOKENS, LAYERS, POSITIONS = 64, 40, 2, 60
END, NO_SPEECH = 39, 38


def weights() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(3)

    def some(*shape: int) -> NDArray[np.float32]:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    found = {"embeddings/weight": some(TOKENS, WIDTH), "position_encodings/encodings": some(POSITIONS, WIDTH)}
    norms, linears = ["layer_norm"], []
    for index in range(LAYERS):
        at = f"layer_{index}/"
        norms += [f"{at}{part}/layer_norm" for part in ("self_attention", "attention", "ffn")]
        linears += [
            (f"{at}self_attention/linear_0", 3 * WIDTH, WIDTH),
            (f"{at}self_attention/linear_1", WIDTH, WIDTH),
            (f"{at}attention/linear_0", WIDTH, WIDTH),
            (f"{at}attention/linear_1", 2 * WIDTH, WIDTH),
            (f"{at}attention/linear_2", WIDTH, WIDTH),
            (f"{at}ffn/linear_0", 4 * WIDTH, WIDTH),
            (f"{at}ffn/linear_1", WIDTH, 4 * WIDTH),
        ]
    for name in norms:
        found |= {f"{name}/gamma": np.ones(WIDTH, np.float32), f"{name}/beta": some(WIDTH)}
    for name, rows, columns in linears:
        found |= {f"{name}/weight": some(rows, columns), f"{name}/bias": some(rows)}
    return found


HEAD = [1, 2, 3]


def listening(seed: int) -> tuple[Any, Any]:
    """A decoder, and audio of chance that it has heard."""
    from turngap.voice.asr.decoder import Decoder

    decoder = Decoder(weights(), precision="fp32")
    heard = decoder.listen(decoder.memory(30))
    encoded = np.random.default_rng(seed).normal(0, 1, (25, WIDTH)).astype(np.float32)
    decoder.hear(torch.from_numpy(encoded), heard.cross, first=0)
    heard.attended = 25
    return decoder, heard


def rules(*, most: int = 30, stopped: bool = False) -> Any:
    from turngap.voice.asr.decoder import Rules

    return Rules(
        begins_at=1,
        banned=torch.zeros(TOKENS),
        not_first=(END,),
        end=END,
        no_speech=NO_SPEECH,
        most=most,
        stopped=lambda: stopped,
    )


def chosen(*draft: int, seed: int = 0, most: int = 30) -> tuple[int, ...]:
    decoder, heard = listening(seed)
    tokens: tuple[int, ...] = decoder.choose(heard, HEAD, draft, rules(most=most)).tokens
    return tokens


@settings(max_examples=40)
@given(st.integers(0, 20), st.lists(st.integers(0, TOKENS - 1), max_size=50), st.integers(0, 30))
def test_no_draft_changes_what_is_chosen(seed: int, wrong: list[int], right: int) -> None:
    plain = chosen(seed=seed)
    assert chosen(*wrong, seed=seed) == plain
    assert chosen(*plain[:right], *wrong, seed=seed) == plain
    assert chosen(*plain[:right], *wrong[:2], *plain[right + 1 :], seed=seed) == plain


@pytest.mark.parametrize(
    ("token", "found"), [(7, 3), (8, 4), (9, 5), (6, None), (1, None)], ids=["next", "one", "two", "past", "none"]
)
def test_a_draft_is_taken_up_again_where_the_token_stands_near(token: int, found: int | None) -> None:
    from turngap.voice.asr.decoder import caught_up

    assert caught_up((5, 6, 7, 8, 9, 5, 5, 1), 2, token) == found


def test_the_end_is_kept_to() -> None:
    assert len(chosen(most=5)) == 5
    assert len(chosen(*chosen(), most=5)) == 5


def test_the_text_before_is_taken_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, heard = listening(0)
    forward, taken_in = decoder.forward, []

    def watched(ids: list[int], heard: Any, *, last: int) -> Any:
        taken_in.append(ids[:2])
        return forward(ids, heard, last=last)

    monkeypatch.setattr(decoder, "forward", watched)
    found, begun = [], []
    for head in (HEAD, HEAD, [7, *HEAD[1:]]):
        taken_in.clear()
        found.append(decoder.choose(heard, head, (), rules()))
        begun.append(taken_in[0])
    assert begun == [[1, 2], [2, 3], [7, 2]]
    assert found[1].tokens == found[0].tokens
    assert found[1].logprobs == pytest.approx(found[0].logprobs, abs=1e-3)
    assert found[2].logprobs != pytest.approx(found[0].logprobs, abs=1e-3)


def encoder_weights() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(4)

    def some(*shape: int) -> NDArray[np.float32]:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    found = {
        "conv1/weight": some(WIDTH, MELS, 3),
        "conv1/bias": some(WIDTH),
        "conv2/weight": some(WIDTH, WIDTH, 3),
        "conv2/bias": some(WIDTH),
        "position_encodings/encodings": some(POSITIONS, WIDTH),
    }
    for index in range(LAYERS):
        at = f"layer_{index}/"
        for name in (f"{at}self_attention/layer_norm", f"{at}ffn/layer_norm", "layer_norm"):
            found |= {f"{name}/gamma": np.ones(WIDTH, np.float32), f"{name}/beta": some(WIDTH)}
        for name, rows, columns in (
            ("self_attention/linear_0", 3 * WIDTH, WIDTH),
            ("self_attention/linear_1", WIDTH, WIDTH),
            ("ffn/linear_0", 4 * WIDTH, WIDTH),
            ("ffn/linear_1", WIDTH, 4 * WIDTH),
        ):
            found |= {f"{at}{name}/weight": some(rows, columns), f"{at}{name}/bias": some(rows)}
    return found


MELS = 8


def some_features(frames: int) -> Any:
    """Of ``frames``, with the margins of an encoder's pass over all of them."""
    found = np.zeros((MELS, frames + 3), np.float32)
    found[:, 2:-1] = np.random.default_rng(5).normal(0, 1, (MELS, frames))
    return torch.from_numpy(found)


@settings(max_examples=20)
@given(st.integers(0, 29))
def test_encoding_the_end_again_changes_nothing(first: int) -> None:
    from turngap.voice.asr.encoder import Encoder

    encoder = Encoder(encoder_weights(), precision="fp32")
    features, memory = some_features(60), encoder.memory(40)
    whole = encoder.encode(features, memory, first=0, attended=30)
    kept = memory.clone()
    # With everything else as it is in memory, a part is what it was in the whole.
    part = encoder.encode(features[:, 2 * first :].contiguous(), memory, first=first, attended=30)
    assert whole is not None
    assert part is not None
    assert torch.allclose(part, whole[first:], atol=1e-4)
    assert torch.allclose(memory, kept, atol=1e-4)


def test_what_is_not_attended_to_makes_no_difference() -> None:
    from turngap.voice.asr.encoder import Encoder

    encoder = Encoder(encoder_weights(), precision="fp32")
    features, memory = some_features(40), encoder.memory(40)
    one = encoder.encode(features, memory, first=0, attended=20)
    memory[..., 20:, :] = 5.0
    other = encoder.encode(features, memory, first=0, attended=20)
    assert one is not None
    assert other is not None
    assert torch.equal(one, other)


def test_an_encoder_that_is_stopped_can_begin_again() -> None:
    from turngap.voice.asr.encoder import Encoder

    encoder = Encoder(encoder_weights(), precision="fp32")
    features, memory = some_features(40), encoder.memory(20)
    whole = encoder.encode(features, memory, first=0, attended=20)
    answers = iter([False, True])
    assert encoder.encode(some_features(40) * 2, memory, first=0, attended=20, stopped=lambda: next(answers)) is None
    again = encoder.encode(features, memory, first=0, attended=20)
    assert whole is not None
    assert again is not None
    assert torch.equal(again, whole)


@settings(max_examples=30)
@given(st.integers(1600, 40_000), st.integers(0, 240), st.integers(1, 80))
def test_features_of_a_part_are_those_of_the_whole(length: int, first: int, count: int) -> None:
    features = pytest.importorskip("turngap.voice.asr.features")
    audio = np.random.default_rng(length).normal(0, 0.1, length).astype(np.float32)
    frames = features.frames_of(length)
    first = min(first, frames - 10)
    filters = torch.rand(MELS, 201)
    whole = features.Features(filters).part(audio, -2, frames + 40)
    parts = features.Features(filters)
    parts.part(audio, 0, frames)
    part = parts.part(audio, first, first + count)
    upto = min(count, frames + 40 - first)
    assert torch.allclose(part[:, :upto], whole[:, 2 + first :][:, :upto], atol=1e-4)
    assert torch.all(whole[:, :2] == 0)
    assert torch.all(whole[:, 2 + frames :][:, 25:] == 0)


def write(path: Path, *variables: tuple[str, NDArray[np.generic], int], version: int = 6) -> Path:
    def name(text: str) -> bytes:
        return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"

    content = struct.pack("<I", version) + name("WhisperSpec") + struct.pack("<II", 3, len(variables))
    for key, values, kind in variables:
        content += name(key) + struct.pack(f"<B{values.ndim}I", values.ndim, *values.shape)
        content += struct.pack("<BI", kind, values.nbytes) + values.tobytes()
    path.write_bytes(content + struct.pack("<I", 0))
    return path


def test_weights_are_read_by_prefix(tmp_path: Path) -> None:
    half = np.array([[0.5, 1.0], [2.0, -1.0]], np.float16)
    file = write(
        tmp_path / "model.bin",
        ("decoder/scale", np.array(1, np.int8), 1),
        ("encoder/weight", half, 4),
        ("decoder/weight", half, 4),
        ("decoder/bias", np.array([3.0], np.float32), 0),
    )
    read = read_weights(file)
    assert set(read) == {"encoder/weight", "decoder/weight", "decoder/bias"}
    decoder = under(read, "decoder/")
    assert {key: value.tolist() for key, value in decoder.items()} == {
        "weight": [[0.5, 1.0], [2.0, -1.0]],
        "bias": [3.0],
    }


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="version 5"):
        read_weights(write(tmp_path / "old.bin", version=5))
    with pytest.raises(ModelError, match="int8"):
        read_weights(write(tmp_path / "small.bin", ("decoder/weight", np.ones((2, 2), np.int8), 1)))
    with pytest.raises(ModelError, match="not a CTranslate2 model"):
        read_weights(tmp_path / "none.bin")
    (tmp_path / "torn.bin").write_bytes(b"\6\0\0\0")
    with pytest.raises(ModelError, match="not a CTranslate2 model"):
        read_weights(tmp_path / "torn.bin")
