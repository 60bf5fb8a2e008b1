"""Times and durations by hand, and beside Python's own."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wb.logic import times
from wb.logic.times import SECOND, Duration, Timestamp


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00.25-05:00", SECOND // 4),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("0001-01-01T00:00:00Z", -62_135_596_800 * SECOND),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_800 * SECOND - 1),
    ],
)
def test_a_moment_has_its_nanoseconds(text, nanoseconds):
    assert times.timestamp(text) == Timestamp(nanoseconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-05-15",
        "2024-05-15T15:00:00",
        "2024-05-15 15:00:00Z",
        "2024-05-15T15:00Z",
        "2024-02-30T00:00:00Z",
        "2024-05-15T24:00:00Z",
        "2024-05-15T23:59:60Z",
        "2024-05-15T15:00:00+24:00",
        "2024-05-15T15:00:00+05:60",
        "2024-05-15T15:00:00+0500",
        "2024-05-15T15:00:00.Z",
        "2024-05-15T15:00:00.1234567890Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:30:00-01:00",
        "２024-05-15T15:00:00Z",
        " 2024-05-15T15:00:00Z",
        "2024-05-15T15:00:00Z\n",
        "1" * 1000,
    ],
)
def test_what_says_no_moment_is_none(text):
    assert times.timestamp(text) is None


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("24h", 86_400 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("-1.5s", -3 * SECOND // 2),
        ("1ms1us1ns", 1_001_001),
        (".5h", 1800 * SECOND),
        ("0", 0),
        ("9223372036854775807ns", 2**63 - 1),
        ("9223372036854775808ns", None),
        ("1d", None),
        ("h", None),
        ("1", None),
        ("1h ", None),
        ("", None),
        ("1h-30m", None),
        ("9" * 200 + "h", None),
    ],
)
def test_a_duration_has_its_nanoseconds(text, nanoseconds):
    assert times.duration(text) == (None if nanoseconds is None else Duration(nanoseconds))


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-1439, 1439))
def test_a_moment_is_what_python_says_of_it(local, minutes):
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    past = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert times.timestamp(moment.isoformat()) == Timestamp(past // timedelta(microseconds=1) * 1000)


@pytest.mark.parametrize(
    "name", ["Mars/Base", "", "../../etc/passwd", "/etc/passwd", "+25:00", None, 5, "x" * 200, "\0"]
)
def test_no_zone_is_none(name):
    assert times.zone(name) is None


@pytest.mark.parametrize("name", ["UTC", "Europe/Paris", "-05:00", "02:00", "US/Central"])
def test_a_zone_is_known_by_name_or_offset(name):
    assert times.zone(name) is not None
