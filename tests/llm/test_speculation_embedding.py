"""The embedding model on its real weights."""

from pathlib import Path

import numpy as np
import pytest

from turngap.budget.errors import ModelError
from turngap.llm.speculation.embedding import SIZE, Embedding
from turngap.voice.models import store

MODEL = "all-minilm-l6-v2"


def test_a_folder_without_the_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"Run: turngap models pull {MODEL}"):
        Embedding(tmp_path)


@pytest.mark.model(MODEL)
def test_rows_are_of_length_one_and_alike_texts_are_near() -> None:
    rows = Embedding(store.find(MODEL)).embed_now(["when do you open", "what time do you open", "my cat is sick"])
    assert rows.shape == (3, SIZE)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > 0.8
    assert rows[0] @ rows[2] < 0.3


@pytest.mark.model(MODEL)
def test_no_texts_are_no_rows() -> None:
    assert Embedding(store.find(MODEL)).embed_now([]).shape == (0, SIZE)


@pytest.mark.model(MODEL)
def test_it_is_the_model_that_its_authors_published() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder, text = store.find(MODEL), "could you tell me what time you close on Friday"
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    config = transformers.BertConfig(
        hidden_size=SIZE, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    theirs = transformers.BertModel(config, add_pooling_layer=False).eval()
    from safetensors.torch import load_file

    theirs.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    with torch.inference_mode():
        hidden = theirs(torch.tensor([tokenizer.encode(text)])).last_hidden_state[0].mean(0)
    ours = Embedding(folder).embed_now([text])[0]
    assert float(torch.from_numpy(ours) @ torch.nn.functional.normalize(hidden, dim=0)) > 0.9999
