"""The decoder on small weights of chance: what a draft may change, and reading weights from a file."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from turngap.budget.errors import ModelError
from turngap.voice.asr.weights import read_weights

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


def chosen(*draft: int, seed: int = 0, most: int = 30) -> tuple[int, ...]:
    from turngap.voice.asr.decoder import Decoder, Rules

    decoder = Decoder(weights(), precision="fp32")
    heard = decoder.hear(np.random.default_rng(seed).normal(0, 1, (25, WIDTH)).astype(np.float32))
    rules = Rules(
        begins_at=1,
        banned=torch.zeros(TOKENS),
        not_first=(END,),
        end=END,
        no_speech=NO_SPEECH,
        most=most,
        stopped=lambda: False,
    )
    return decoder.choose(heard, [1, 2, 3], draft, rules).tokens


@settings(max_examples=40)
@given(st.integers(0, 20), st.lists(st.integers(0, TOKENS - 1), max_size=50), st.integers(0, 30))
def test_no_draft_changes_what_is_chosen(seed: int, wrong: list[int], right: int) -> None:
    plain = chosen(seed=seed)
    assert chosen(*wrong, seed=seed) == plain
    assert chosen(*plain[:right], *wrong, seed=seed) == plain


def test_the_end_is_kept_to() -> None:
    assert len(chosen(most=5)) == 5
    assert len(chosen(*chosen(), most=5)) == 5


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
    read = read_weights(file, "decoder/")
    assert {key: value.tolist() for key, value in read.items()} == {"weight": [[0.5, 1.0], [2.0, -1.0]], "bias": [3.0]}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="version 5"):
        read_weights(write(tmp_path / "old.bin", version=5), "decoder/")
    with pytest.raises(ModelError, match="int8"):
        read_weights(write(tmp_path / "small.bin", ("decoder/weight", np.ones((2, 2), np.int8), 1)), "decoder/")
    with pytest.raises(ModelError, match="not a CTranslate2 model"):
        read_weights(tmp_path / "none.bin", "decoder/")
    (tmp_path / "torn.bin").write_bytes(b"\6\0\0\0")
    with pytest.raises(ModelError, match="not a CTranslate2 model"):
        read_weights(tmp_path / "torn.bin", "decoder/")
