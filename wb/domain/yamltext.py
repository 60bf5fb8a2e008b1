"""YAML as texts, lists and mappings, each with its line: what stands there, and nothing that runs or repeats itself.

Anchors, aliases, tags, keys that are no texts, a key twice and a second document are refused.  PyYAML's parser gives
the events; its loaders are not used: they read `no` as false and a date as a date, and the one in C ends the process
at some thousand levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

import yaml

from wb.logic.wording import shortened

PARSER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # libyaml's where PyYAML was built with it: ten times as fast
Loc = tuple[int | str, ...]  # the keys and places that lead to a value


class YamlError(ValueError):
    """A text is no such YAML; the message says on which line, what was required and what was got."""


class Parsed(NamedTuple):
    """A value, and the line of each part of it, from 1."""

    data: Any
    lines: Mapping[Loc, int]


def parse(text: str, scalar: Callable[[yaml.ScalarEvent], object]) -> Parsed:
    """The value of a YAML text, None where nothing stands; `scalar` reads what is neither list nor mapping.

    Raises:
        YamlError: the message begins with "line N".
    """
    lines: dict[Loc, int] = {}
    try:
        events = yaml.parse(text.removeprefix("\ufeff"), Loader=PARSER)
        data, (_, begun) = None, (next(events), next(events))
        if isinstance(begun, yaml.DocumentStartEvent):
            data, (_, ended) = _value(next(events), events, (), lines, scalar), (next(events), next(events))
            if not isinstance(ended, yaml.StreamEndEvent):
                raise yaml.MarkedYAMLError(problem="a second document", problem_mark=ended.start_mark)
        return Parsed(data, lines)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line, got = mark.line + 1 if mark else 1, getattr(problem, "problem", None) or str(problem).splitlines()[0]
        got += " (a text with brackets, commas or colons stands in quotes)" * ("expected ','" in got)
    except RecursionError:
        line, got = 1, "hundreds of nested levels"
    raise YamlError(f"line {line}: YAML was required; got {shortened(got, 200)}")


def dumps(data: object) -> str:
    """Texts, lists and mappings as YAML that any reader of it takes for these texts."""
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)


def _value(event: yaml.Event, events: Iterator[yaml.Event], loc: Loc, lines: dict[Loc, int], scalar: Callable) -> Any:
    """What an event begins; its lines are added to `lines`."""
    lines.setdefault(loc, event.start_mark.line + 1)
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        got = f"an anchor or alias, {event.anchor}: write it out, or put a text that begins with & or * in quotes"
        raise yaml.MarkedYAMLError(problem=got, problem_mark=event.start_mark)
    if event.tag is not None:
        got = f"a tag, {event.tag}: a text that begins with ! needs quotation marks"
        raise yaml.MarkedYAMLError(problem=got, problem_mark=event.start_mark)
    if isinstance(event, yaml.ScalarEvent):
        return scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        items = takewhile(lambda one: not isinstance(one, yaml.SequenceEndEvent), events)
        return [_value(item, events, (*loc, i), lines, scalar) for i, item in enumerate(items)]
    found: dict[str, object] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        problem = "a key that is no text" if not isinstance(key, yaml.ScalarEvent) else ""
        if not problem and key.value in found:
            problem = f"the key {shortened(key.value, 40)!r} again: each key once was required"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        lines[*loc, key.value] = key.start_mark.line + 1
        found[key.value] = _value(next(events), events, (*loc, key.value), lines, scalar)
    return found


class _Dumper(yaml.SafeDumper):
    """Mappings over lines, lists of texts in brackets; what any reader of YAML takes for something else is quoted."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.Node:
        return super().represent_mapping(tag, mapping, flow_style=False)

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.Node:
        flat = bool(sequence) and all(isinstance(item, str) for item in sequence)
        return super().represent_sequence(tag, sequence, flow_style=flat or not sequence)

    def represent_text(self, text: str) -> yaml.Node:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if _special(text) else None)

    def ignore_aliases(self, data: object) -> bool:
        return True


_Dumper.add_representer(str, _Dumper.represent_text)


def _special(text: str) -> bool:
    """Whether some reader of YAML takes the text for a number, for yes or no, or breaks it at a character."""
    if not text.isprintable() or text.lower() in ("y", "n"):
        return True
    try:
        float(text)
    except ValueError:
        return text[:2].lower() in ("0x", "0o", "0b")
    return True
