"""*Detect*: personal data and secrets in a text, by local libraries that ask nobody (ShieldAgent, Section 4.2).

`"from": {"detect": ["email", "phone:US"], "in": "call.body"}` in `tools.json` makes a state field of it: of a boolean,
whether there is any, of an integer, how many.  What they do not know as such is not found: a number that is spelt out,
a name, an address.  The numbers of cards and accounts count by their check digits, whatever parts their groups that is
neither letter nor digit, comma nor semicolon (`GAP`); a phone number where it is one of its region (`phone:US`), or is
written with its country.  A text is read as it stands, as it looks, and with its escapes of JSON resolved.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import cache
from threading import Lock

from wb.domain import visible
from wb.logic import escapes

# as HTML's `<input type=email>` has it, with letters of all languages and at least a dot; read in one pass
LOCAL = r"[\w.!#$%&'*+/=?^`{|}~-]"
LABEL = r"[^\W_](?:[\w-]*[^\W_])?"
EMAIL = re.compile(rf"(?<!{LOCAL}){LOCAL}++@{LABEL}(?:\.{LABEL})+")
GAP = r"(?:[^\w,;]|_){0,5}"  # with a comma or a semicolon a list is made
CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
# as it stands on a card of 16, 15 or 14 digits, which begins as its issuers' numbers do (ISO/IEC 7812)
PRINTED = re.compile(
    rf"(?<!\d)(?=2[2-7]|[3-6])\d{{4}}{GAP}(?:\d{{4}}{GAP}\d{{4}}{GAP}\d{{4}}|\d{{6}}{GAP}\d{{4,5}})(?!\d)"
)
IBAN = re.compile(rf"[A-Za-z]{GAP}[A-Za-z](?:{GAP}\d){{2}}(?:{GAP}[A-Za-z0-9]){{11,30}}")
GUESSES = ("Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector")  # no secrets for sure
EXCUSED = "detect_secrets.filters.allowlist.is_line_allowlisted"  # a comment that says that it is none
LINE, OVERLAP = 4000, 500  # characters of a long line that are scanned for secrets at once, and again
LONGEST = 100_000  # characters of a text that is read
_ONE = Lock()  # the settings of `detect_secrets` are those of the whole process


def _emails(text: str, _: str) -> Iterator[str]:
    return (one.group() for one in EMAIL.finditer(text))


def _phones(text: str, region: str) -> Iterator[str]:
    import phonenumbers

    return (one.raw_string for one in phonenumbers.PhoneNumberMatcher(text, region or None, max_tries=len(text)))


def _cards(text: str, _: str) -> Iterator[str]:
    from stdnum import luhn

    for pattern in (CARD, PRINTED):
        yield from _valid(pattern, text, 13, lambda number, rest: not rest[:1].isdigit() and luhn.is_valid(number))


def _ibans(text: str, _: str) -> Iterator[str]:
    from stdnum import iban

    yield from _valid(IBAN, text, 15, lambda number, _: len(number) == _length(number[:2]) and iban.is_valid(number))


@cache
def _length(country: str) -> int:
    """The characters of an IBAN of the country, 0 of none."""
    from stdnum import numdb

    (_, about), *_ = numdb.get("iban").info(country.upper())
    return 4 + sum(map(int, re.findall(r"(\d+)!", about["bban"]))) if "bban" in about else 0


def _valid(pattern: re.Pattern[str], text: str, least: int, valid: Callable[[str, str], bool]) -> Iterator[str]:
    """From each place the longest number whose check digits are right, without what parts its groups: what follows it
    may look like more of it."""
    at = 0
    while match := pattern.search(text, at):
        at, whole = match.start() + 1, match.group()
        places = [i for i, one in enumerate(whole, 1) if one.isalnum()]
        number = "".join([whole[i - 1] for i in places])
        for many in range(len(number), least - 1, -1):
            if valid(number[:many], whole[places[many - 1] :]):
                at = match.start() + places[many - 1]
                yield number[:many]
                break


def _secrets(text: str, _: str) -> Iterator[str]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import get_settings, transient_settings

    names = [plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()]
    used = [{"name": name} for name in names if name not in GUESSES]
    parts = [line[at : at + LINE] for line in text.splitlines() for at in range(0, len(line), LINE - OVERLAP)]
    with _ONE, transient_settings({"plugins_used": used}):
        get_settings().disable_filters(EXCUSED)
        found = {str(one.secret_value) for part in parts for one in scan_line(part)}
    return iter(found)


FINDING: dict[str, Callable[[str, str], Iterator[str]]] = {
    "email": _emails,
    "phone": _phones,
    "card": _cards,
    "iban": _ibans,
    "secret": _secrets,
}


def problem(kind: object) -> str:
    """Why that is nothing that can be detected; empty where it is."""
    name, _, region = kind.partition(":") if type(kind) is str else ("", "", "")
    if name not in FINDING or (region and (name != "phone" or not re.fullmatch("[A-Z]{2}", region))):
        return f"one of {list(FINDING)}, or a phone of a region such as phone:US, was required"
    return ""


def count(kinds: Collection[str], texts: Collection[object]) -> int:
    """How many of these kinds stand in the texts, each that is found by several of them once.

    Raises:
        ValueError: one is no text, or is longer than `LONGEST`.
    """
    found: set[tuple[int, str]] = set()
    for place, text in enumerate(texts):
        if type(text) is not str or len(text) > LONGEST:
            raise ValueError(f"texts of at most {LONGEST} characters were required; got a {type(text).__name__}")
        forms = dict.fromkeys(form for one in escapes.resolved(text) for form in (one, *_plain(one)))
        for kind in kinds:
            name, _, region = kind.partition(":")
            found |= {(place, one) for form in forms for one in FINDING[name](form, region)}
    return len(found)


def _plain(text: str) -> Iterator[str]:
    """The text as it looks: each character in its usual form (NFKC), digits of all scripts as 0 to 9, without those
    that are not seen (Cf, and what `visible` says).

    All forms are read, so that none hides anything; what differs in them counts twice.
    """
    for form in dict.fromkeys((text, visible.read(text, markup=False).text)):
        usual = [one for one in unicodedata.normalize("NFKC", form) if unicodedata.category(one) != "Cf"]
        if len(usual) > LONGEST:
            raise ValueError(
                f"texts of at most {LONGEST} characters were required; got one of {len(usual)} as it looks"
            )
        yield "".join([str(unicodedata.decimal(one)) if one.isdecimal() else one for one in usual])
