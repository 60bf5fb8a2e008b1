"""*Detect*: personal data and secrets in a text, by local libraries that ask nobody (ShieldAgent, Section 4.2).

`"from": {"detect": ["email", "phone:US"], "in": "call.body"}` in `tools.json` makes a state field of it: of a boolean,
whether there is any, of an integer, how many.  What they do not know as such is not found: a number that is spelt out,
a name, an address.  The numbers of cards and accounts count by their check digits, a phone number where it is one of
its region (`phone:US`), or is written with its country.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from threading import Lock

# as HTML's `<input type=email>` has it, with letters of all languages and at least a dot; read in one pass
LOCAL = r"[\w.!#$%&'*+/=?^`{|}~-]"
LABEL = r"[^\W_](?:[\w-]*[^\W_])?"
EMAIL = re.compile(rf"(?<!{LOCAL}){LOCAL}++@{LABEL}(?:\.{LABEL})+")
CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
IBAN = re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}")
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

    yield from _valid(CARD, text, 13, lambda n, rest: not rest[:1].isdigit() and luhn.is_valid(re.sub("[ -]", "", n)))


def _ibans(text: str, _: str) -> Iterator[str]:
    from stdnum import iban

    yield from _valid(IBAN, text, 15, lambda number, _: iban.is_valid(number))


def _valid(pattern: re.Pattern[str], text: str, least: int, valid: Callable[[str, str], bool]) -> Iterator[str]:
    """From each place the longest number whose check digits are right: what follows it may look like more of it."""
    at = 0
    while match := pattern.search(text, at):
        at, whole = match.start() + 1, match.group()
        ends = range(len(whole), least - 1, -1)
        if end := next((end for end in ends if valid(whole[:end], whole[end:])), 0):
            at = match.start() + end
            yield whole[:end]


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
        for kind in kinds:
            name, _, region = kind.partition(":")
            found |= {(place, one) for read in {text, _plain(text)} for one in FINDING[name](read, region)}
    return len(found)


def _plain(text: str) -> str:
    """The text as it looks: each character in its usual form (NFKC), without those that are not seen (Cf).

    Both forms are read, so that neither hides anything; what differs in them counts twice.
    """
    seen = "".join([one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf"])
    if len(seen) > LONGEST:
        raise ValueError(f"texts of at most {LONGEST} characters were required; got one of {len(seen)} as it looks")
    return seen
