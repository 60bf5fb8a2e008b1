"""Where the parts of the project lie, and how a file among them is named (by digest), sealed (by a key that lies
elsewhere) and written (whole)."""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 16_000_000  # bytes of a file that a person wrote


@dataclass(frozen=True, slots=True)
class Project:
    """Where the parts of the project lie. `artifacts` may be elsewhere (environment: WB_ARTIFACTS)."""

    root: Path
    artifacts: Path

    @property
    def notebooks(self) -> Path:
        """The folder of the stages' notebooks."""
        return self.root / "notebooks"

    @property
    def package(self) -> Path:
        """The folder of the `wb` modules."""
        return self.root / "wb"

    @property
    def prompts(self) -> Path:
        """The folder of the prompts."""
        return self.root / "prompts"

    @property
    def policies(self) -> Path:
        """The folder of the policies that have a name."""
        return self.root / "policies"

    @property
    def replies(self) -> Path:
        """The folder of recorded replies, shared by all stages."""
        return self.artifacts / "replies"


def project() -> Project:
    """The project that this module belongs to."""
    return Project(ROOT, Path(os.environ.get("WB_ARTIFACTS") or ROOT / "artifacts").expanduser().resolve())


def policy(name_or_path: str | Path, policies: Path) -> Path:
    """The folder or document that a name or path means; `policies` holds those that have a name.

    In this order: a bare name (no slash) under `policies`; a path as it stands; a path under `policies`.
    So a local folder that has the name of a policy is written with a slash, `./NAME`.

    Raises:
        FileNotFoundError: there is none; the message names those that exist.
    """
    text = str(name_or_path)
    given = Path(text).expanduser()
    bare = [policies / given] if text == given.name and text != ".." else []
    for path in (*bare, given, policies / given):
        if text and path.exists():
            return path
    known = sorted(p.name for p in policies.glob("*") if p.is_dir())
    raise FileNotFoundError(
        f"a policy must be a name under policies/, one of {known}, a folder or a document; got {text!r}, "
        "and nothing is there (a bare name means the policy under policies/ first, then a path: "
        "write ./NAME for a local one)"
    )


def digest(value: object) -> str:
    """SHA-256 of a JSON value in its canonical form, in hex."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def seal(value: object) -> str:
    """HMAC-SHA256 of a JSON value in its canonical form under this user's key, in hex.

    A digest shows that a file is what was written, to whoever trusts the digest; a seal shows that the holder of the
    key wrote it.  The key is made at the first use, outside the project, so that who may write in the project alone
    cannot seal.

    Raises:
        ValueError: there is no key and none can be made, or it lies inside the project.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hmac.digest(_key(key_place()), text.encode("utf-8", "surrogatepass"), "sha256").hex()


def key_place() -> Path:
    """Where the key of seals lies: WB_KEY, else `wb/seal.key` in the user's folder for state (XDG_STATE_HOME)."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    place = Path(os.environ.get("WB_KEY") or f"{state}/wb/seal.key").expanduser().resolve()
    here = project()
    if place.is_relative_to(here.root) or place.is_relative_to(here.artifacts):
        raise ValueError(f"WB_KEY must name a file outside the project and its artifacts; got {place}")
    return place


@lru_cache(maxsize=8)
def _key(place: Path) -> bytes:
    """The key in a file; one is made where there is none, by whoever comes first."""
    try:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=place.parent)  # readable by its owner alone
            try:
                with os.fdopen(handle, "w") as file:
                    file.write(secrets.token_hex(32) + "\n")
                os.link(temporary, place)
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
        text = place.read_text("ascii").strip()
    except (OSError, UnicodeError) as error:
        raise ValueError(
            f"a file for the key that seals what was proved was required: {place}; got {error} "
            "(WB_KEY names another one, outside the project)"
        ) from None
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError(f"{place} must hold a key of 64 hex digits; delete it, and what it sealed is made again")
    return bytes.fromhex(text)


def discard(path: Path) -> None:
    """Remove what stands where a kept file belongs and is none: a folder with all in it, a link but not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file (a text as UTF-8) so that it is there whole or not at all, also after a power cut."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")  # a name of its own for each writer
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def scratch(place: str | None = None) -> Iterator[Path]:
    """A temporary folder, gone at the end of the block; those that killed processes left behind go at the next one.

    A lock in it says that its process lives: the system gives it back however a process ends.
    """
    from filelock import FileLock, Timeout

    for lock in Path(place or tempfile.gettempdir()).glob("wb-*/.lock"):
        try:
            with FileLock(lock).acquire(timeout=0):
                shutil.rmtree(lock.parent, ignore_errors=True)
        except (Timeout, OSError):  # somebody is at work there, or it is not ours
            continue
    with tempfile.TemporaryDirectory(prefix="wb-", dir=place, ignore_cleanup_errors=True) as folder:
        with FileLock(Path(folder) / ".lock"):
            yield Path(folder)


def folder(policy: Path) -> Path:
    """The folder of a policy, that in which its single document stands."""
    return policy if policy.is_dir() else policy.parent


def beside(policy: Path, name: str) -> Path:
    """Where a file of a policy stands, such as `decisions.yaml`: in its folder, or, with the name of its single
    document in front, beside that."""
    return policy / name if policy.is_dir() else policy.with_name(f"{policy.stem}.{name}")


def content(path: Path, most: int = LARGEST) -> bytes:
    """The bytes of a file that a person wrote, at most so many.

    Raises:
        OSError: it cannot be read, is larger, or is no regular file, such as one that waits for a writer or never ends.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes")
    return found


def vocabulary(policy: Path) -> Path:
    """Where a person's entries of a policy's vocabulary stand."""
    return beside(policy, "vocabulary.yaml")


def labelled(policy: Path) -> str:
    """The file of a policy's own recorded runs with labels; "" without one."""
    path = beside(policy, "labelled.jsonl")
    return str(path) if path.is_file() else ""
