"""What a text says under escapes of JSON, whatever it is part of, for JSON may stand in a text of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator

NESTED = 16  # times that JSON may stand in a text of JSON: each doubles the backslashes before a quotation mark
ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([/\\\"bfnrt]))")
CONTROL = dict(zip("bfnrt", "\b\f\n\r\t", strict=True))


def resolved(text: str) -> Iterator[str]:
    """The text, and with its escapes resolved, once and again until there are none.

    Raises:
        ValueError: after `NESTED` times there are some left.
    """
    for _ in range(NESTED):
        yield text
        after = ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else CONTROL.get(one[2], one[2]), text)
        if after == text:
            return
        text = after.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # halves that belong together
    raise ValueError(f"JSON in texts of JSON less than {NESTED} levels deep was required; got more")
