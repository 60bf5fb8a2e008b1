"""The engine that needs no model service: each prompt role answered by a deterministic technique.

A baseline that says so: its name is on every reply, and what it cannot decide it returns as undecided
with a reason.  Extraction is the grammar of `deontic`; embeddings rank and compare, and never decide
polarity or class.  All vocabulary comes from the toolbox of the policy's own folder.
"""
from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from wb import deontic, document, drafting, grounding, phrases, proposals, recognise, syntax
from wb.embeddings import Encoder
from wb.endpoint import Answer
from wb.extract import clause_of
from wb.ledger import ModelError, Usage
from wb.policy import Clause
from wb.predicate import Predicate
from wb.prompt import Prompt
from wb.tool import Toolbox

Technique = Callable[[Mapping[str, object]], dict[str, object]]


@dataclass(frozen=True)
class Offline:
    """An engine over one toolbox; `encoder` computes embeddings where a technique compares meanings."""

    toolbox: Toolbox = Toolbox()
    encoder: Encoder | None = None
    name: str = "offline"
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def answer(self, prompt: Prompt, inputs: Mapping[str, object], schema: dict) -> Answer:
        """The reply of the prompt's technique; no tokens, no money, no network.

        Raises:
            ModelError: no technique answers this prompt.
        """
        techniques = self.techniques()
        if prompt.name not in techniques:
            raise ModelError(f"the offline engine answers {sorted(techniques)}; got {prompt.name!r}; this role needs a model")
        began = time.perf_counter()
        value = techniques[prompt.name](inputs)
        return Answer(value, Usage(seconds=time.perf_counter() - began), None, self.name)

    def techniques(self) -> dict[str, Technique]:
        """What answers each prompt, by the prompt's name."""
        return {
            "extract_policies": extract_policies,
            "extract_rules": lambda inputs: extract_rules(inputs, self.toolbox),
            "extract_action": self._extract_action,
            "refine_predicates": proposals.refine,
            "merge_predicates": proposals.merge,
            "write_guard": lambda inputs: drafting.write(inputs, self.toolbox),
            "repair_guard": drafting.repair,
        }

    def _extract_action(self, inputs: Mapping[str, object]) -> dict[str, object]:
        with self._lock:  # requests come side by side; one fit serves them all
            recogniser = self._recogniser
        return recogniser.answer(inputs)

    @cached_property
    def _recogniser(self) -> recognise.Recogniser:
        return recognise.Recogniser(self.toolbox, self.encoder or Encoder())


def extract_policies(inputs: Mapping[str, object]) -> dict[str, object]:
    """The sentences of a section that state a constraint, with the definitions of their words."""
    found = []
    for sentence in document.parse(str(inputs["section"])).sentences:
        if sentence.kind in ("heading", "stem") or not deontic.constrains(clause_of(sentence)):
            continue
        found.append({"description": sentence.text, "definitions": definitions(sentence, inputs["glossary"]), "scope": next(iter(inputs["scopes"]), None)})
    return {"policies": found}


def definitions(sentence: document.Sentence, glossary: object) -> list[str]:
    """The defining sentences whose defined term, the words before the verb, the sentence uses."""
    said = phrases.roots(sentence.text)
    kept = []
    for entry in glossary:
        quoted = re.search(r"[\"“]([^\"”]+)[\"”]", entry)
        before = re.split(r"\s(?:means?|is|are|includes?|covers?|refers?|counts?)\b", entry)[0]
        term = phrases.roots(quoted.group(1) if quoted else before)
        if term and term <= said:
            kept.append(entry)
    return kept


def extract_rules(inputs: Mapping[str, object], toolbox: Toolbox) -> dict[str, object]:
    """The rules that the grammar reads off a clause, grounded in the toolbox."""
    clause = Clause("", str(inputs["clause"]), 0, len(str(inputs["clause"])), tuple(inputs["headings"]), tuple(inputs["context"]),
                    tuple(inputs.get("definitions", ())))
    rules, undecided = [], []
    for norm in deontic.norms(clause):
        grounded = grounding.ground(norm, toolbox)
        if grounded.reason:
            undecided.append(grounded.reason)
        for reading in grounded.readings:
            rules.append({"text": " ".join(clause.text.split()), "formula": syntax.render(reading.formula), "modality": reading.modality,
                          "type": "action", "predicates": [_row(p) for p in reading.predicates]})
    return {"rules": rules, "undecided": undecided}


def _row(predicate: Predicate) -> dict[str, object]:
    test = predicate.test
    value = list(test.value) if test and isinstance(test.value, tuple) else test.value if test else None
    return {"name": predicate.name, "kind": predicate.kind, "description": predicate.description, "keywords": list(predicate.keywords),
            "tools": list(predicate.tools), "test": {"field": test.field, "op": test.op, "value": value, "measure": test.measure} if test else None}
