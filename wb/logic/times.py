"""Times and durations, as CEL has them: whole nanoseconds, times from year 1 to 9999, durations of 64 bits.

A time is a moment: its text needs a zone (RFC 3339), and without one it is none, for any zone would be a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

SECOND = 1_000_000_000  # nanoseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST, _MOST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|ns|h|m|s)"
_DURATION = re.compile(rf"([+-]?)((?:{_PART})+|0)")
_OFFSET = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")
LONGEST = 100  # characters of a duration


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time, in nanoseconds."""

    nanoseconds: int


@lru_cache(maxsize=1024)
def timestamp(text: str) -> Timestamp | None:
    """The moment that a text such as `2026-01-31T09:00:00+01:00` says; None where it says none, or no zone."""
    found = _MOMENT.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    whole, part, at = found.groups()
    try:
        past = datetime.fromisoformat(whole + at) - _EPOCH
    except ValueError:  # no such day or hour
        return None
    return moment(_nanoseconds(past) + int((part or "0").ljust(9, "0")))


def problem(text: str) -> str:
    """Why a text is no moment; empty where it is one."""
    if timestamp(text) is not None:
        return ""
    try:
        known = datetime.fromisoformat(text[:LONGEST])
    except ValueError:
        known = None
    return "has no zone" if known is not None and known.tzinfo is None else "is no time"


@lru_cache(maxsize=1024)
def duration(text: str) -> Duration | None:
    """The length of time that a text such as `1h30m` or `-1.5s` says; None where it says none."""
    found = _DURATION.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    total = 0
    for number, unit in re.findall(_PART, found[2]):
        whole, _, part = number.partition(".")
        total += int(whole or "0") * _UNITS[unit] + int(part or "0") * _UNITS[unit] // 10 ** len(part)
    return length(-total if found[1] == "-" else total)


def written(nanoseconds: int) -> str:
    """The text of a length of time from 0 on, which `duration` reads back: `24h`, `1h30m`, `0s`."""
    parts = []
    for unit in ("h", "m", "s", "ms", "us", "ns"):
        many, nanoseconds = divmod(nanoseconds, _UNITS[unit])
        parts += [f"{many}{unit}"] if many else []
    return "".join(parts) or "0s"


def moment(nanoseconds: int) -> Timestamp | None:
    """The moment so long after 1970; None outside the years 1 to 9999."""
    return Timestamp(nanoseconds) if _LEAST <= nanoseconds <= _MOST else None


def length(nanoseconds: int) -> Duration | None:
    """The duration; None beyond 64 bits."""
    return Duration(nanoseconds) if -(2**63) <= nanoseconds < 2**63 else None


@lru_cache(maxsize=256)
def zone(name: object) -> tzinfo | None:
    """A time zone by its name in the IANA list or its offset, such as `-05:00`; None where there is none."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return None
    if _OFFSET.fullmatch(name):
        return _offset(name)
    try:
        return UTC if name in ("UTC", "Z") else ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # no name of a zone, a name of something else, or of nothing
        return None


def part(of: Timestamp | Duration, name: str, at: tzinfo = UTC) -> int | None:
    """What one of CEL's `get…` functions gives; None where the zone leads out of the years 1 to 9999."""
    if isinstance(of, Duration):
        sign, size = (-1 if of.nanoseconds < 0 else 1), abs(of.nanoseconds)
        if name == "getMilliseconds":
            return sign * (size % SECOND // 10**6)
        return sign * (size // _UNITS[{"getHours": "h", "getMinutes": "m", "getSeconds": "s"}[name]])
    try:
        local = (_EPOCH + timedelta(seconds=of.nanoseconds // SECOND)).astimezone(at)
    except OverflowError:
        return None
    match name:
        case "getFullYear":
            return local.year
        case "getMonth":
            return local.month - 1
        case "getDate":
            return local.day
        case "getDayOfMonth":
            return local.day - 1
        case "getDayOfWeek":
            return local.isoweekday() % 7
        case "getDayOfYear":
            return local.timetuple().tm_yday - 1
        case "getHours":
            return local.hour
        case "getMinutes":
            return local.minute
        case "getSeconds":
            return local.second
        case "getMilliseconds":
            return of.nanoseconds % SECOND // 10**6
    raise ValueError(f"one of CEL's functions of times was required; got {name!r}")


def _offset(text: str) -> tzinfo | None:
    sign, hours, minutes = _OFFSET.fullmatch(text).groups()
    if int(hours) > 23 or int(minutes) > 59:
        return None
    shift = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-shift if sign == "-" else shift)


def _nanoseconds(past: timedelta) -> int:
    return (past.days * 86_400 + past.seconds) * SECOND
