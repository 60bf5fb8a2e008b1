"""Whether an answer is a yes, without a model: a closed list of phrases, and nothing that is not on it.

A baseline.  It says yes only to a question of one form, of which each word is accounted for, and before which nothing
is said: an opening such as "Shall I", the act, and the details, joined by small words, or by the one that a detail is
called by ("to Ann" for an argument `to`).  Which part a detail plays is not read otherwise: of two texts, or two
numbers, either may be meant, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

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
OPENING = (
    "(?:shall|should|may) i|do you want me to|would you like me to|do you confirm that i (?:may|should|shall)|"
    "is it (?:ok|okay|all right) (?:if i|to)"
)
SMALL = frozenset("the a an your this now please".split())
QUESTIONS = "?？؟⁇⁈⁉‽"  # in any script: one question asks one thing
WORD = re.compile(r"[\w@#/:+.-]*\w")


ACT = re.compile(r"has the \w+ (?:agreed|consented|said yes) (?:to|that the \w+ may) (.+?) ?\?", re.IGNORECASE)


def answer(inputs: Mapping[str, object]) -> dict[str, object]:
    """The reply to the prompt `answer_question`: only whether somebody agreed to an act, as in `ACT`, is read."""
    asked = ACT.fullmatch(" ".join(str(inputs["question"]).split()))
    if asked is None or inputs["type"] != "boolean":
        reason = "only questions such as 'Has the user agreed to cancel?' are answered without a model"
        return {"value": None, "quotation": "", "speaker": "", "reason": reason}
    return _agreed(asked[1], inputs["about"], inputs["conversation"], inputs["of"])


def _agreed(act: str, about: object, conversation: Sequence[Mapping], of: Sequence[str]) -> dict[str, object]:
    """Whether the newest words that count are a yes to what was said right before them."""
    texts = [row for row in conversation if "says" in row]
    turns = [(mine, list(rows)) for mine, rows in groupby(texts, lambda row: row["who"] in of)]
    later = turns.pop()[1] if turns and not turns[-1][0] else []
    given = turns.pop()[1] if turns else []
    put = turns.pop()[1] if turns else []
    parts = {"question": put, "answer": given, "later": later}
    joined = {name: "\n".join(row["says"] for row in rows) for name, rows in parts.items()}
    found = read({**joined, "act": act, "about": about})
    last = given[-1] if given and found["agrees"] != "unclear" else {"says": "", "who": ""}
    value = {"yes": True, "no": False}.get(found["agrees"])
    return {"value": value, "quotation": last["says"], "speaker": last["who"], "reason": found["reason"]}


def read(inputs: Mapping[str, object]) -> dict[str, object]:
    """Whether an answer is a yes to an act with these details, said right after it was put as a question."""
    answer, later = str(inputs["answer"]), str(inputs["later"])
    said = "no" if _only(NO, answer) else "yes" if _only(YES, answer) else ""
    why = "" if said else "it is not in the list of phrases that say nothing but yes or no"
    why = why or _misput(str(inputs["question"]), str(inputs["act"]), inputs["about"])
    if not why and later.strip():
        why = "something was said since, which may change what was asked"
    return {"agrees": "unclear" if why else said, "reason": why or f"it says {said} and nothing else"}


def _only(phrases: str, said: str) -> bool:
    """Whether what was said is one or more of the phrases, fillers aside."""
    plain = re.sub(r"[’']", "", said.casefold())
    parts = [" ".join(part.split()) for part in re.split(r"[.,;!\n]+|\s-+\s", plain)]
    known = re.compile(f"(?:(?:{phrases}|{FILLER})(?: |$))*")
    spare = re.compile(f"(?:(?:{FILLER})(?: |$))*")
    return all(known.fullmatch(part) for part in parts) and not all(spare.fullmatch(part) for part in parts)


def _misput(question: str, act: str, about: object) -> str:
    """Why a yes to the question is none to the act with these details; empty where it is."""
    details = [str(value) for value in about.values() if type(value) in (str, int)] if isinstance(about, dict) else []
    if not details or len(details) != len(about) or len({type(value) for value in about.values()}) != len(details):
        return "details, at most one text and one whole number, were required, so that none passes for another"
    does, words = act.casefold().split(), [word for detail in details for word in detail.split()]
    if not does or not all(map(WORD.fullmatch, (*does, *words))):
        return "an act and details in words were required"
    plain = {word.casefold() for word in words}
    if len(plain) < len(words) or plain & (SMALL | {*about} | {*does} | {*re.findall(r"[a-z]+", OPENING)}):
        return "details of other words than those around them were required"
    if sum(question.count(mark) for mark in QUESTIONS) != 1:
        return "one question was required"
    called = [f"(?:{re.escape(name)} )?(?-i:{re.escape(' '.join(str(one).split()))})" for name, one in about.items()]
    joined = f"(?: (?:{'|'.join((*sorted(SMALL), *called))}))*"
    act = " (?:(?:the|your|this|a|an) )?".join(map(re.escape, does))
    asked = rf"^(?:{OPENING})(?: now| go ahead and)* {act}({joined}) ?\?"
    found = re.search(rf"{asked}(?: ?\((?:yes/no|yes or no)\))?$", " ".join(question.split()), re.IGNORECASE)
    if found is None:
        return "a question of the act, as in 'Shall I cancel r1?', was required, and no other words"
    named = [re.findall(rf"(?<= ){re.escape(' '.join(one.split()))}(?= )", f"{found[1]} ") for one in details]
    if any(len(each) != 1 for each in named):
        return "a question that names each detail once was required"
    return ""
