"""G.711: every code comes back, and what it stands for is what the standard says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.audio.g711 import from_alaw, from_ulaw, to_alaw, to_ulaw


def test_known_codes_stand_for_known_values() -> None:
    ulaw = (from_ulaw(bytes([0x80, 0x00, 0xFF, 0x7F])) * 8192).astype(int)
    assert ulaw.tolist() == [8031, -8031, 0, 0]
    alaw = (from_alaw(bytes([0xAA, 0x2A, 0xD5, 0x55])) * 4096).astype(int)
    assert alaw.tolist() == [4032, -4032, 1, -1]


@pytest.mark.parametrize(("decode", "encode"), [(from_ulaw, to_ulaw), (from_alaw, to_alaw)])
@given(st.lists(st.floats(-2, 2, width=32), max_size=50))
def test_a_sample_comes_back_as_the_nearest_value(decode, encode, values) -> None:  # type: ignore[no-untyped-def]
    samples = np.array(values, np.float32)
    table = decode(bytes(range(256)))
    back = decode(encode(samples))
    nearest = np.abs(table[None, :] - samples[:, None]).min(axis=1) if len(samples) else np.zeros(0)
    np.testing.assert_allclose(np.abs(back - samples), nearest, atol=1e-6)
