"""Which tool a turn in free text amounts to, told from the toolbox's own keywords and examples.

Two kinds of evidence are added up per tool, as log odds.  *Examples*: multinomial logistic regression
over sentence embeddings, fitted to the toolbox's example requests and to nothing else.  *Keywords*:
each phrase found counts by the root of its length, shared among the tools that list it; where phrases
overlap the longest wins, so that a longer one can mask a shorter.  Examples tell
requests without a keyword, keywords tell names that no example holds.  No word of any domain is known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wb.domain.tools import Tool, Toolbox, candidates
from wb.models.embeddings import Encoder

# How much each text of a turn says about what is being done; the request itself is the measure.
WEIGHTS = {"task": 1.0, "website": 0.5, "target_action": 0.5, "previous_actions": 0.25, "agent_output": 0.25}
SENTENCES = ("task", "agent_output")  # the others are labels: words, not sentences
KEYWORD = 1.5  # log odds of one keyword of one word; chosen on held-out examples of the toolbox
INVERSE_PENALTY = 10.0  # C of the logistic regression, chosen likewise
SURE = 3.0  # a tool is possible when it is at least 1/SURE as likely as the likeliest
READ = 400  # characters of the agent's output that are embedded: what it says the page is
_WORD = re.compile(r"[a-z0-9]+(?:[.'&+-][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Ranking:
    """How likely each tool is (`share`, summing to 1), likeliest first, and the keywords that were found."""

    tools: tuple[str, ...]
    share: tuple[float, ...]
    keywords: tuple[str, ...] = ()

    @property
    def possible(self) -> tuple[str, ...]:
        """The tools that cannot be told from the likeliest one; one tool means sure."""
        return tuple(name for name, p in zip(self.tools, self.share, strict=True) if p * SURE >= self.share[0])


class Recogniser:
    """A toolbox made ready for recognition; fitting takes about a second, a turn milliseconds."""

    def __init__(self, toolbox: Toolbox, encoder: Encoder) -> None:
        self._encoder = encoder
        self._tools = candidates(toolbox)
        self._phrases = _phrases(self._tools)
        self._longest = max(map(len, self._phrases), default=0)
        self._weights = self._fit()

    def answer(self, inputs: Mapping[str, object]) -> dict[str, object]:
        """The reply to the prompt `extract_action`: one tool when sure, else those that it may be."""
        ranking = self.rank({name: inputs[name] for name in WEIGHTS})
        if ranking is None:
            return {
                "tools": [],
                "possible": [],
                "reason": "two tools or more, and a text, are needed to tell what is done",
            }
        found = ", ".join(ranking.keywords[:8]) or "none"
        reason = (
            f"{ranking.tools[0]} {ranking.share[0]:.2f}, {ranking.tools[1]} {ranking.share[1]:.2f}; keywords: {found}"
        )
        sure = len(ranking.possible) == 1
        return {
            "tools": list(ranking.possible) if sure else [],
            "possible": [] if sure else list(ranking.possible),
            "reason": reason,
        }

    def rank(self, texts: Mapping[str, str | Sequence[str]]) -> Ranking | None:
        """The tools by likelihood for one turn, its texts by name (see `WEIGHTS`).

        None where the toolbox has fewer than two tools to tell apart, or there is no text.
        """
        known = {name: _joined(texts.get(name, "")) for name in WEIGHTS}
        if self._weights is None or not any(known.values()):
            return None
        score = np.zeros(len(self._tools))
        words: list[str] = []
        for name, text in known.items():
            found = self._found(f"{text} {text}.com" if name == "website" else text)
            words += [" ".join(phrase) for phrase in found]
            score += WEIGHTS[name] * KEYWORD * self._votes(found)
            if name in SENTENCES and text.strip():
                score += WEIGHTS[name] * self._likeness(text[:READ])
        share = np.exp(score - score.max())
        share /= share.sum()
        order = np.argsort(-share, kind="stable")
        return Ranking(
            tuple(self._tools[i].name for i in order),
            tuple(float(share[i]) for i in order),
            tuple(dict.fromkeys(words)),
        )

    def _fit(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients (n_tools, d) and intercepts (n_tools,) of the regression; None below two tools."""
        if len(self._tools) < 2:
            return None
        rows = [(i, text) for i, tool in enumerate(self._tools) for text in (tool.examples or (described(tool),))]
        return regression(
            self._encoder.encode([text for _, text in rows]),
            np.array([i for i, _ in rows]),
            inverse_penalty=INVERSE_PENALTY,
        )

    def _likeness(self, text: str) -> np.ndarray:
        """The log probability of each tool by the examples alone, floored so that no tool is ruled out."""
        coefficients, intercepts = self._weights
        logits = coefficients @ self._encoder.encode([text])[0] + intercepts
        shifted = logits - logits.max()
        return np.maximum(shifted - np.log(np.exp(shifted).sum()), -20.0)

    def _found(self, text: str) -> tuple[tuple[str, ...], ...]:
        """The keyword phrases in a text, each once; longest first where they overlap."""
        words, at, found = _words(text), 0, {}
        while at < len(words):
            fits = (words[at : at + n] for n in range(min(self._longest, len(words) - at), 0, -1))
            phrase = next((piece for piece in fits if piece in self._phrases), None)
            if phrase:
                found[phrase] = None
            at += len(phrase) if phrase else 1
        return tuple(found)

    def _votes(self, found: Sequence[tuple[str, ...]]) -> np.ndarray:
        votes = np.zeros(len(self._tools))
        for phrase in found:
            owners = self._phrases[phrase]
            votes[list(owners)] += np.sqrt(len(phrase)) / len(owners)
        return votes


def regression(vectors: np.ndarray, classes: np.ndarray, *, inverse_penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Multinomial logistic regression: coefficients (k, d) and intercepts (k,) for classes 0..k-1.

    Each class has an example, and the same say however many it has; the coefficients, not the intercepts,
    are drawn to 0.  scikit-learn finds the same, but takes four seconds to import.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    n, k = len(classes), int(classes.max()) + 1
    x = np.hstack([vectors.astype(np.float64), np.ones((n, 1))])
    say = (n / (k * np.bincount(classes)))[classes][:, None]
    truth = np.eye(k)[classes]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = flat.reshape(k, -1)
        logits = x @ theta.T
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        drawn = np.hstack([theta[:, :-1], np.zeros((k, 1))]) / (inverse_penalty * n)
        gradient = (say * (np.exp(logits) - truth)).T @ x / n + drawn
        return float(-(say * truth * logits).sum() / n + 0.5 * (theta * drawn).sum()), gradient.ravel()

    with threadpool_limits(1):  # small products: threads that wait for one another cost ten times the work
        theta = minimize(
            loss, np.zeros(k * x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 3000, "gtol": 1e-5}
        ).x
    return theta.reshape(k, -1)[:, :-1], theta.reshape(k, -1)[:, -1]


def described(tool: Tool) -> str:
    """What stands in for examples: the tool's name in words and its description."""
    return f"{tool.name.replace('_', ' ')}. {tool.description}".strip()


def _phrases(tools: Sequence[Tool]) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Each keyword as words, with the positions of the tools that list it."""
    owners: dict[tuple[str, ...], set[int]] = {}
    for i, tool in enumerate(tools):
        for keyword in (*tool.keywords, tool.name.replace("_", " ")):
            owners.setdefault(_words(keyword), set()).add(i)
    owners.pop((), None)
    return {phrase: tuple(sorted(found)) for phrase, found in owners.items()}


def _words(text: str) -> tuple[str, ...]:
    return tuple(_singular(word) for word in _WORD.findall(text.lower().replace("’", "'")))


def _singular(word: str) -> str:
    """The word without a plural or possessive ending; the same for a keyword and for a text is what counts."""
    word = word.removesuffix("'s")
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]


def _joined(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else " . ".join(value)
