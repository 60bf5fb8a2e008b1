"""What binds a statement from elsewhere in its document: the scope, the definitions and the references of its policy.

ShieldAgent reads a policy as four elements, definitions, scope, description and references (Sec. 3.2.1, App. C.2.1).
Which statements bind which is asked of models that see all of them (`read`); what any of them names is shown to the
readers beside the statement that it may bind, and what they answer decides.  A statement that points to a text that
the document does not have stays open: a rule is not in force as if it did not refer to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pydantic

from wb.domain.policy import pieces
from wb.models.ledger import Unanswered
from wb.rules import readers

if TYPE_CHECKING:
    from wb.domain.policy import Clause, Policy
    from wb.models.client import LLM


class Tie(pydantic.BaseModel):
    """Statements `of` that are bound `by` another one, or by a text elsewhere, which is then named."""

    kind: Literal["scope", "definition", "reference", "elsewhere"]
    by: str
    of: list[str]


class Ties(pydantic.BaseModel):
    """The reply to `relate_statements`."""

    bindings: list[Tie]


@dataclass(frozen=True, slots=True)
class Bound:
    """The texts that bind one statement, each behind its id; `missing` is why it cannot be read, empty where it can."""

    scope: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    missing: str = ""

    @property
    def row(self) -> dict[str, list[str]]:
        """What a reader is shown beside the statement; nothing for what is only missing."""
        parts = {"scope": self.scope, "definitions": self.definitions, "references": self.references}
        return {kind: list(texts) for kind, texts in parts.items() if texts}

    def joined(self, kind: str, text: str) -> Bound:
        """With one more text of a kind."""
        name = {"definition": "definitions", "reference": "references"}.get(kind, kind)
        before = getattr(self, name)
        return self if text in before else replace(self, **{name: (*before, text)})

    def clause(self, clause: Clause) -> Clause:
        """A clause with its definitions, scope and references, as `clauses.json` has them."""
        return replace(clause, definitions=self.definitions, scope=" ".join(self.scope), references=self.references)


def read(policy: Policy, models: Sequence[LLM]) -> dict[str, Bound]:
    """What binds each statement, by its id, as any of the models says; of those that nothing binds there is none.

    Where a model gives no answer, all statements are missing what binds them.  Where replies are replayed that were
    recorded before this was asked, nothing is known to bind anything.

    Raises:
        ModelError: a request failed in a way that all further ones would.
    """
    from wb.models.endpoint import MissingReply  # guards are loaded without what asks models

    rows, under = readers.statements(policy), _under(policy)
    texts = {str(row["id"]): str(row["text"]) for row in rows}
    found: dict[str, Bound] = {}
    for llm in {llm.name: llm for llm in models}.values():
        try:
            (reply,) = llm.ask_all("relate_statements", Ties, [{"statements": rows}])
        except MissingReply:
            continue
        if isinstance(reply, Unanswered):
            return {name: Bound(missing=f"what binds it is not known: {reply.reason}") for name in texts}
        for tie in reply.bindings:
            for name in _named(tie.of, under):
                if name in texts:
                    found[name] = _tied(found.get(name, Bound()), tie, name, texts, under)
    return {name: one for name, one in found.items() if one != Bound()}


def _tied(bound: Bound, tie: Tie, name: str, texts: Mapping[str, str], under: Mapping[str, Sequence[str]]) -> Bound:
    if tie.kind == "elsewhere" or tie.by not in texts:
        what = "refers to what this document does not have" if tie.kind == "elsewhere" else "no statement binds it"
        return replace(bound, missing=bound.missing or f"{what}: {' '.join(tie.by.split())[:80]}")
    for by in _named([tie.by], under):
        if by != name and by in texts:
            bound = bound.joined(tie.kind, f"{by}: {texts[by]}")
    return bound


def _named(ids: Iterable[str], under: Mapping[str, Sequence[str]]) -> dict[str, None]:
    """The statements named, a title with all that stands under it."""
    return dict.fromkeys(part for name in ids for part in (name, *under.get(name, ())))


def _under(policy: Policy) -> dict[str, list[str]]:
    """The ids of what stands under each title, by the id of the title."""
    found: dict[str, list[str]] = {}
    open_titles: list[tuple[int, str]] = []  # by how many titles stand above each
    for number, piece in enumerate(pieces(policy), 1):
        open_titles = [(depth, title) for depth, title in open_titles if depth < len(piece.headings)]
        for _, title in open_titles:
            found[title].append(f"s{number}")
        if piece.kind == "heading":
            found[f"s{number}"] = []
            open_titles.append((len(piece.headings), f"s{number}"))
    return found
