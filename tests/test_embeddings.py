"""Embeddings: unit vectors, computed once for all processes."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wb.embeddings import EmbeddingError, Encoder

TEXTS = ["the invoice is paid", "the bill has been settled", "a heron stands in the reeds"]
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    encoder = Encoder(cache=tmp_path_factory.mktemp("vectors"))
    encoder.encode(TEXTS)
    return encoder


def test_vectors_have_norm_one_and_similar_texts_are_near(warm: Encoder) -> None:
    vectors = warm.encode(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    near, far = warm.similarity(TEXTS[:1], TEXTS[1:])[0]
    assert near > 0.35 > 0.2 > far


def test_a_second_process_reads_the_cache_and_never_imports_torch(warm: Encoder) -> None:
    code = (f"import sys; from wb.embeddings import Encoder; v = Encoder(cache={str(warm.cache)!r}).encode({TEXTS!r}); "
            "print(v.shape, float(v[0, 0]), 'torch' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"(3, 384) {float(warm.encode(TEXTS)[0, 0])} False"


def test_a_damaged_cache_file_is_noticed_and_made_again(warm: Encoder, tmp_path: Path) -> None:
    before = warm.encode(TEXTS)
    source = next(warm.cache.glob("*.f32"))
    damaged = bytearray(source.read_bytes())
    damaged[100] ^= 1
    (tmp_path / source.name).write_bytes(damaged)
    fresh = Encoder(cache=tmp_path)
    fresh._network = warm._network
    assert np.allclose(fresh.encode(TEXTS), before, atol=1e-5)
    assert [p.read_bytes() for p in tmp_path.glob("*.f32")] != [bytes(damaged)]


def test_the_same_text_of_another_model_is_another_entry(warm: Encoder) -> None:
    other = Encoder(model="other", cache=warm.cache)
    other._read()
    assert not any(other._key(text) in other._vectors for text in TEXTS)


def test_no_text_gives_no_rows(warm: Encoder) -> None:
    assert warm.encode([]).shape == (0, 0)
    assert warm.similarity([], TEXTS).shape == (0, 3)


def test_a_model_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="an embedding model was required.*got 'no/such-model-at-all'"):
        Encoder("no/such-model-at-all", cache=tmp_path).encode(["x"])
