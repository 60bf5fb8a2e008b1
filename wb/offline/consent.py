"""Whether an answer is a yes, without a model: a closed list of phrases, and nothing that is not on it.

A baseline. It says yes or no only to a question that asks one thing, names every detail that the yes must be about
word for word, and was not followed by another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

YES = (
    "yes|yes i do|yes it is|yeah|yep|yup|sure|ok|okay|of course|certainly|absolutely|definitely|correct|confirmed|"
    "agreed|i do|i agree|i confirm|i confirm it|i am sure|im sure|that is right|that is correct|thats right|"
    "thats correct|that is fine|thats fine|sounds good|go ahead|go for it|do it|do so|proceed|you may|you may proceed"
)
NO = (
    "no|nope|nah|no way|never|not now|not yet|i do not|i dont|do not|dont|do not do it|dont do it|wait|forget it|"
    "never mind|nevermind|i disagree|i decline|declined"
)
FILLER = "please|thanks|thank you|thank you very much|many thanks|with it|then"
OTHERWISE = re.compile(
    r"\b(?:or|not|never|without|instead|unless|except)\b|n't\b"
)  # in a question: a yes says too little


def read(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to the prompt `read_answer`."""
    question, answer = str(inputs["question"]), str(inputs["answer"])
    if _only(NO, answer):
        return {"agrees": "no", "reason": "it says no and nothing else"}
    if not _only(YES, answer):
        return {"agrees": "unclear", "reason": "it is not in the list of phrases that say nothing but yes or no"}
    why = _misput(question, inputs["about"])
    if not why and "?" in str(inputs["later"]):
        why = "another question was asked since"
    return {"agrees": "unclear" if why else "yes", "reason": why or "it says yes and nothing else"}


def _only(phrases: str, said: str) -> bool:
    """Whether what was said is one or more of the phrases, fillers aside."""
    plain = re.sub(r"[’']", "", said.casefold())
    parts = [" ".join(part.split()) for part in re.split(r"[.,;!\n]+|\s-+\s", plain)]
    known = re.compile(f"(?:(?:{phrases}|{FILLER})(?: |$))*")
    spare = re.compile(f"(?:(?:{FILLER})(?: |$))*")
    return all(known.fullmatch(part) for part in parts) and not all(spare.fullmatch(part) for part in parts)


def _misput(question: str, about: object) -> str:
    """Why a yes to the question is none to an action with these details; empty where it is."""
    question = re.sub(r"\byes or no\b", "", question.casefold().replace("’", "'"))
    asked = [one for one in re.split(r"(?<=[.!?])\s+|\n+", question) if one.rstrip().endswith("?")]
    if len(asked) != 1:
        return f"one question was required; got {len(asked)}"
    if OTHERWISE.search(asked[0]):
        return "the question is of more than one thing, or of what is not done"
    for name, value in about.items() if isinstance(about, Mapping) else ():
        text = str(value).casefold() if type(value) in (str, int) else ""
        if not text or not re.search(rf"(?<![\w.,-]){re.escape(text)}(?!\w|[.,-]\w)", question):
            return f"the question does not name {name}"
    return ""
