"""Norms tied to tools and fields: formulas over predicates.

`ground(norm, toolbox)` is deterministic and asks no model, so that a generator of guards can take it as
a second path from the sentence.  An action becomes an action predicate that lists its tools; what no
tool's vocabulary holds of its words (the residue) becomes a further condition, never nothing.
State phrases become predicates with a test on a field where one takes up all their words, else
predicates without a test, whose truth is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wb.domain.tools import Tool, Toolbox
from wb.logic import formula
from wb.logic.facts import Path
from wb.logic.formula import Always, And, Atom, Eventually, Formula, Implies, Not, Once, Or
from wb.logic.syntax import parse
from wb.offline import conditions, duties, lexicon, phrases, vocabulary
from wb.offline.conditions import Condition, Earlier, Either, Every, Negated, Phrase
from wb.offline.counts import Limit
from wb.offline.norms import Norm
from wb.rules.rule import Modality, Predicate

_PREPOSITIONS = frozenset(
    """
        for to in on at by from with without into within during of via through over under about against between after
        before
    """.split()
)


_HAPPENS = re.compile(r"(?:begin|start|commence|proceed|take place|happen|occur|go ahead)", re.I)


@dataclass(frozen=True, slots=True)
class Reading:
    """One formula of a norm and the predicates in it.

    For a guard of the tools in `action.tools` the formula says: when the action is called, `condition`
    must hold; it is over `predicates` with `Not`, `And`, `Or` and `Once`.  An obligation is `EVENTUALLY`
    its action wherever `condition` holds.
    """

    modality: Modality
    formula: Formula
    action: Predicate
    condition: Formula
    predicates: tuple[Predicate, ...]
    review: str = ""


@dataclass(frozen=True, slots=True)
class Grounding:
    """The readings of one norm, or the reason why it has none."""

    readings: tuple[Reading, ...] = ()
    reason: str = ""


def ground(norm: Norm, toolbox: Toolbox) -> Grounding:
    """The formulas of a norm over the tools and fields of a toolbox; see `Reading`.

    A norm that is undecided, or that names no action in its words or its titles, gives a reason.
    """
    if norm.reason:
        return Grounding(reason=norm.reason)
    if norm.often is not None and (counted := _counted(norm, norm.often, toolbox)) is not None:
        return counted
    norm = _spelled_out(norm, toolbox) if norm.terms else norm
    norm = _happening(norm, toolbox)
    if norm.modality == "oblige" and norm.when is None and norm.requires is None:
        norm = replace(norm, requires=_told(norm, toolbox))
    if norm.modality == "oblige" and norm.requires is not None:
        titled = (named := _from_scope(norm, toolbox)) is not None and named.tools
        asked = (
            _given(norm.requires, toolbox.tool(named.tools[0]), toolbox)
            if titled and len(named.tools) == 1
            else norm.requires
        )
        norm = replace(norm, requires=asked if titled else None)
        norm = replace(norm, modality="permit_only_if", actions=()) if titled else norm
    found = [
        reading
        for action in (norm.actions or ("",))
        for one, target in _restricted(norm, action, toolbox) or [(norm, t) for t in _targets(norm, action, toolbox)]
        for reading in _read(one, target, toolbox)
    ]
    if not found:
        return Grounding(reason="no action is named, neither in the sentence nor in the titles above it")
    return Grounding(tuple(dict.fromkeys(found)))


def _counted(norm: Norm, often: Limit, toolbox: Toolbox) -> Grounding | None:
    """The act of one tool that may be done so often: of each object that an argument tells, or, where the sentence
    speaks of no thing, at all.  None where no tool does it: then how often is a fact that nothing decides."""
    targets = [target for action in often.actions for target in _targets(norm, action, toolbox)]
    if not any(target.action.tools for target in targets):
        return None
    if len(targets) != 1 or targets[0].narrowed or len(targets[0].action.tools) != 1:
        return Grounding(reason="how often something may be done is said, and one tool that does it was required")
    act = targets[0].action
    given = toolbox.tool(act.tools[0]).arguments
    said = [lexicon.roots(noun) for noun in often.each]
    near = [one.name for one in given if any(noun & lexicon.roots(one.name) for noun in said)]
    about = [name for name in near if _noun(name) in said]
    if (
        len(near) > 1
        or (near and not about)
        or (not about and (often.each or not (duties.calls(often.actions[0]) or _alone(often.actions[0]))))
    ):
        return Grounding(reason="how often something may be done is said, and of which object no one argument tells")
    act = replace(act, objects=tuple(Path(("call", name)) for name in about))
    atom = Atom(f"{act.name}(o)" if about else act.name)
    allowed = Not(formula.at_least(often.times + 1, atom))
    return Grounding((Reading("forbid", Always(Implies(atom, allowed)), act, allowed, (act,)),))


def _alone(action: str) -> bool:
    """Whether an act is said by its verb alone."""
    return len(lexicon.content(action)) == 1


def _noun(argument: str) -> frozenset[str]:
    """The roots of what an argument tells, without the word for its kind of name."""
    return lexicon.roots(argument) - lexicon.roots("id number code key name")


def _happening(norm: Norm, toolbox: Toolbox) -> Norm:
    """The norm of what begins or takes place as one of the act that the noun names: "a burial may only begin if …"."""
    match norm.actions, norm.when:
        case (act,), Phrase(noun) if _HAPPENS.fullmatch(act.strip()):
            named = vocabulary.tool_by_noun(noun, toolbox)
            return replace(norm, actions=(noun,), when=None) if named.tools else norm
    return norm


def _restricted(norm: Norm, action: str, toolbox: Toolbox) -> list[tuple[Norm, _Target]]:
    """A duty in the passive that an argument of one tool tells, as a restriction of that tool; nothing of another."""
    if norm.modality != "oblige" or norm.requires is not None or vocabulary.tools_for(action, toolbox).tools:
        return []
    found = duties.told(norm.quote, action, toolbox)
    if found is None:
        return []
    name, told = found
    asked = replace(norm, modality="permit_only_if", actions=(), requires=told)
    return [(asked, target) for target in _split(vocabulary.Action(action, (name,)), toolbox, asked)]


def _told(norm: Norm, toolbox: Toolbox) -> Condition | None:
    """That each duty was done, where fields tell it in all of its words: it has to be before what the titles name."""
    around = lexicon.roots(" ".join(norm.scope[-1:]))
    fields = [vocabulary.literal(Phrase(action), toolbox, (), around) for action in norm.actions]
    told = all(one.positive and isinstance(one.predicate.test, Path) for one in fields)
    return conditions.every([Phrase(action) for action in norm.actions]) if told else None


def _given(required: Condition, tool: Tool, toolbox: Toolbox) -> Condition:
    """What was done before, without "before" where an argument of the call itself tells it."""
    match required:
        case Earlier(Phrase(text) as done) if vocabulary.given(text, tool) or duties.confirmed(text, tool, toolbox):
            return done
        case Every(parts):
            return Every(tuple(_given(part, tool, toolbox) for part in parts))
    return required


def _spelled_out(norm: Norm, toolbox: Toolbox) -> Norm:
    """The norm with defined terms that no field decides replaced by their definitions, where fields decide those."""
    meanings = {lexicon.roots(term): condition for term, condition in norm.terms if _decided(condition, toolbox)}

    def meant(leaf: Phrase) -> Condition:
        known = meanings.get(lexicon.roots(leaf.text))
        return known if known is not None and not _decided(leaf, toolbox) else leaf

    return replace(norm, when=conditions.mapped(norm.when, meant), requires=conditions.mapped(norm.requires, meant))


def _decided(condition: Condition, toolbox: Toolbox) -> bool:
    """Whether fields of the state decide every phrase of a condition."""
    return all(
        vocabulary.literal(leaf, toolbox).predicate.test is not None for leaf in conditions.phrases_of(condition)
    )


@dataclass(frozen=True, slots=True)
class _Target:
    """What a norm constrains: an action predicate, words that narrow it, and words already used up."""

    action: Predicate
    narrowed: tuple[Condition, ...]
    used: frozenset[str]


def _targets(norm: Norm, action: str, toolbox: Toolbox) -> list[_Target]:
    """The action predicates of one action phrase, one a tool where arguments may be tested."""
    if not action:
        named = _from_scope(norm, toolbox)
        return _split(named, toolbox, norm) if named else []
    if _is_thing(action):
        return _thing(norm, action, toolbox)
    if _NAMED_BEFORE.search(action):
        named = _from_scope(norm, toolbox)
        return _split(named if named and named.tools else vocabulary.Action(action, ()), toolbox, norm)
    found = vocabulary.tools_for(action, toolbox, norm.scope)
    if not found.tools and (what := duties.called(action)):
        found = replace(vocabulary.tools_for(what, toolbox, norm.scope), phrase=action)
    found = found if found.tools else vocabulary.tool_by_noun(action, toolbox)
    return _split(found if found.tools else _under_title(found, norm, toolbox), toolbox, norm)


def _under_title(found: vocabulary.Action, norm: Norm, toolbox: Toolbox) -> vocabulary.Action:
    """An action with the verb of the title above it is that of the title; its other words narrow it."""
    title = _from_scope(norm, toolbox)
    words = lexicon.content(found.phrase)
    if title is None or not title.tools or not words:
        return found
    verb = lexicon.root(words[0])
    if verb not in (
        lexicon.root(lexicon.content(title.phrase)[0]),
        *(lexicon.root(name.split("_")[0]) for name in title.tools),
    ):
        return found
    known = vocabulary.tool_words(toolbox, title.tools) | lexicon.roots(title.phrase)
    return vocabulary.Action(found.phrase, title.tools, tuple(w for w in words[1:] if lexicon.root(w) not in known))


_NAMED_BEFORE = re.compile(
    r"\b(?:the|this|that|these|those|such(?: an?)?) (?:tool |function )?(?:api|tool|function|action|call)s?\Z",
    re.I,
)


def _is_thing(action: str) -> bool:
    """Whether an "action" is only the noun that a limit or a state speaks of (`exclusive.nouns`)."""
    return action.startswith("the ")


def _thing(norm: Norm, noun: str, toolbox: Toolbox) -> list[_Target]:
    """The tools on a thing: those of the titles if they are about it, those with an argument that is
    measured, else all that are named after it and know all of its words."""
    named = vocabulary.tools_about(noun, toolbox)
    limited = tuple(name for name in named if _measures(norm, name, toolbox))
    about = limited or tuple(name for name in named if vocabulary.knows(noun, name, toolbox))
    scoped = _from_scope(norm, toolbox)
    here = scoped.tools if scoped else ()
    measured = tuple(name for name in (about or here) if _measures(norm, name, toolbox))
    chosen = tuple(n for n in measured if n in here) or measured or tuple(n for n in about if n in here) or here
    if not chosen and len(only := _measuring(norm, toolbox)) == 1:
        return _split(vocabulary.Action(noun, only), toolbox, norm)
    if len(chosen) > 1 and chosen == about and not limited:
        return _split(vocabulary.Action(noun, ()), toolbox, norm)  # which of them is meant is not said
    if chosen:
        return _split(vocabulary.Action(noun, chosen), toolbox, norm)
    return _split(scoped, toolbox, norm) if scoped else []


def _measuring(norm: Norm, toolbox: Toolbox) -> tuple[str, ...]:
    """The tools whose arguments alone take up a limit on a thing that no tool is named after."""
    leaves = conditions.phrases_of(norm.requires)
    return duties.measuring(leaves[0], toolbox) if len(leaves) == 1 else ()


def _measures(norm: Norm, tool: str, toolbox: Toolbox) -> bool:
    used = vocabulary.tool_words(toolbox, (tool,))
    found = [
        vocabulary.literal(leaf, toolbox, (tool,), used).predicate for leaf in conditions.phrases_of(norm.requires)
    ]
    return any(p.reads_call and tool in p.tools for p in found)


def _from_scope(norm: Norm, toolbox: Toolbox) -> vocabulary.Action | None:
    """The action that the innermost title with a verb names; of a title with others below it one that a tool does."""
    titles = [re.sub(r"^[\d.()\s]+", "", title).strip() for title in reversed(norm.scope)]
    for i, title in enumerate(titles):
        parts = phrases.split_verbs(phrases.as_verb(title))
        found = [vocabulary.tools_for(part, toolbox, titles[i + 1 :]) for part in parts]
        found += [
            vocabulary.tools_called(part, toolbox)
            for part, strict in zip(parts, found, strict=True)
            if not strict.tools
        ]
        tools = tuple(dict.fromkeys(tool for action in found for tool in action.tools))
        verbal = re.match(r"\w+ing\b", title, re.I) or title.split(" ")[0].lower() in phrases.VERBS
        if not verbal and (tools := vocabulary.tools_of_noun(title, toolbox)):
            return vocabulary.Action(title, tools)
        if tools and verbal:
            return vocabulary.Action(phrases.as_verb(title), tools)
    for title in titles[:-1] or titles:  # what the whole document is called is no act
        words = title.split()
        if words and (words[0].lower().endswith("ing") or words[0].lower() in phrases.VERBS and len(words) > 1):
            return vocabulary.Action(phrases.as_verb(title), ())
    return None


def _split(found: vocabulary.Action, toolbox: Toolbox, norm: Norm) -> list[_Target]:
    """One target a tool; all tools together where the conditions test no argument."""
    used = vocabulary.tool_words(toolbox, found.tools) | lexicon.roots(found.phrase)
    if not found.tools:
        predicate = Predicate(
            lexicon.name(found.phrase), "action", vocabulary.sentence(found.phrase), vocabulary.keywords(found.phrase)
        )
        return [_Target(predicate, (), used)]
    narrowed = _narrowing(found, norm)
    if len(found.tools) > 1 and not any(_measures(norm, tool, toolbox) for tool in found.tools):
        predicate = Predicate(
            lexicon.name(found.phrase),
            "action",
            vocabulary.sentence(found.phrase),
            vocabulary.keywords(found.phrase),
            found.tools,
        )
        return [_Target(predicate, narrowed, used)]
    return [_Target(_of_tool(name, toolbox), narrowed, used) for name in found.tools]


def _of_tool(name: str, toolbox: Toolbox) -> Predicate:
    tool = toolbox.tool(name)
    return Predicate(
        lexicon.name(name),
        "action",
        tool.description or vocabulary.sentence(name),
        vocabulary.keywords(f"{name} {' '.join(tool.keywords)}"),
        (name,),
    )


def _narrowing(found: vocabulary.Action, norm: Norm) -> tuple[Condition, ...]:
    """The words of an action that its tools do not know, as one phrase, unless the conditions hold them."""
    said = lexicon.roots(
        " ".join(
            f"{leaf.text} {leaf.about}" for part in (norm.when, norm.requires) for leaf in conditions.phrases_of(part)
        )
    )
    left = [word for word in found.residue if lexicon.root(word) not in said]
    if not left:
        return ()
    words = found.phrase.split()
    spots = [i for i, word in enumerate(words) if any(part in left for part in lexicon.tokens(word))]
    start = spots[0] if spots else 0
    while start > 1 and words[start].lower() not in _PREPOSITIONS:
        start -= 1
    return (conditions.leaf(" ".join(words[start:]) if spots else " ".join(left)),)


def _read(norm: Norm, target: _Target, toolbox: Toolbox) -> list[Reading]:
    """The reading of a norm for one target."""
    known: dict[str, Predicate] = {}
    tools = target.action.tools
    around = target.used | lexicon.roots(" ".join(norm.scope[-1:]))
    narrowed = [_condition(part, toolbox, tools, target.used, known) for part in target.narrowed]
    said = _presupposed(norm, toolbox, tools, around)
    when = [*narrowed, *([_condition(said, toolbox, tools, around, known)] if said is not None else [])]
    act = Atom(target.action.name)
    if norm.modality == "oblige":
        trigger = formula.conjunction(tuple(when[len(narrowed) :]))
        done = Eventually(formula.conjunction((act, *narrowed)))
        whole: Formula = Always(Implies(trigger, done)) if len(when) > len(narrowed) else done
        return [_reading(norm, whole, target.action, trigger, known)]
    required = _condition(norm.requires, toolbox, tools, around, known) if norm.requires is not None else None
    parts = [
        *([negation(formula.conjunction(tuple(when)))] if when else []),
        *([required] if required is not None else []),
    ]
    if not parts:
        return [_reading(norm, Always(Not(act)), target.action, formula.FALSE, known)]
    if isinstance(norm.requires, Phrase) and tools and not when and (often := duties.often(norm.requires)):
        whole = parse(f"ALWAYS ({act.name} IMPLIES COUNT[<= {often}] {act.name})")
        return [_reading(norm, whole, target.action, formula.TRUE, {})]
    if required is not None and isinstance(required, And) and not when:
        return [_reading(norm, Always(Implies(act, part)), target.action, part, known) for part in _conjuncts(required)]
    condition = formula.disjunction(tuple(parts))
    return [_reading(norm, Always(Implies(act, condition)), target.action, condition, known)]


def _presupposed(norm: Norm, toolbox: Toolbox, tools: Sequence[str], around: frozenset[str]) -> Condition | None:
    """The `when` of a norm without the doers that its flags are about.

    "The reader holds a card" speaks of a reader already.  Only where that makes a guard stricter:
    a duty keeps all of it.
    """
    parts = norm.when.parts if isinstance(norm.when, Every) else (norm.when,) if norm.when is not None else ()
    leaves = [leaf for side in (norm.when, norm.requires) for leaf in conditions.phrases_of(side)]
    found = [vocabulary.literal(leaf, toolbox, tools, around).predicate for leaf in leaves]
    about = frozenset().union(*(lexicon.roots(p.description) for p in found if isinstance(p.test, Path)))
    if norm.modality == "oblige" or not about:
        return norm.when
    open_ = {leaf for leaf, p in zip(leaves, found, strict=True) if p.test is None}
    return conditions.every(
        [
            part
            for part in parts
            if part not in open_ or len(lexicon.content(part.text)) != 1 or not lexicon.roots(part.text) <= about
        ]
    )


def _reading(norm: Norm, whole: Formula, action: Predicate, condition: Formula, known: dict[str, Predicate]) -> Reading:
    used = [known[name] for name in formula.atoms(whole) if name in known and name != action.name]
    return Reading(norm.modality, whole, action, condition, (action, *used), norm.review)


def _condition(
    part: Condition, toolbox: Toolbox, tools: Sequence[str], around: frozenset[str], known: dict[str, Predicate]
) -> Formula:
    """A condition as a formula; its predicates are added to `known`."""
    match part:
        case Phrase(text):
            if special := _special(text, toolbox, tools):
                return _atom(special, known)
            found = vocabulary.literal(part, toolbox, tools, around)
            return _atom(found.predicate, known) if found.positive else negation(_atom(found.predicate, known))
        case Negated(body):
            return negation(_condition(body, toolbox, tools, around, known))
        case Earlier(Phrase(text)) if got := duties.obtained(text, toolbox):
            return _atom(got, known)
        case Earlier(body):
            return Once(_happened(body, toolbox, known))
        case Every(parts):
            return formula.conjunction(tuple(_condition(p, toolbox, tools, around, known) for p in parts))
        case Either(parts):
            return formula.disjunction(tuple(_condition(p, toolbox, tools, around, known) for p in parts))


def _special(text: str, toolbox: Toolbox, tools: Sequence[str]) -> Predicate | None:
    """What a phrase says of two fields, or of a confirmation of the call; None of another one."""
    given = duties.confirmed(text, toolbox.tool(tools[0]), toolbox) if len(tools) == 1 else None
    return given or duties.enough(text, toolbox)


def _happened(body: Condition, toolbox: Toolbox, known: dict[str, Predicate]) -> Formula:
    """What was done or was so before: a tool where one is named in full, else a state."""
    if isinstance(body, Phrase):
        if told := vocabulary.looked_up(body.text, toolbox):
            return _atom(_of_tool(told[0], toolbox), known)
        done = vocabulary.tools_for(phrases.as_verb(body.text), toolbox)
        if (
            done.tools
            and not done.residue
            and vocabulary.names_head(body.text, done.tools, toolbox)
            and lexicon.root(lexicon.content(body.text)[0]) not in vocabulary.SPEECH
        ):
            predicate = (
                _of_tool(done.tools[0], toolbox)
                if len(done.tools) == 1
                else Predicate(
                    lexicon.name(body.text),
                    "action",
                    vocabulary.sentence(body.text),
                    vocabulary.keywords(body.text),
                    done.tools,
                )
            )
            return _atom(predicate, known)
    return _condition(body, toolbox, (), frozenset(), known)


def _atom(predicate: Predicate, known: dict[str, Predicate]) -> Atom:
    """The atom of a predicate; another predicate of the same name in this norm gets a number."""
    name, number = predicate.name, 2
    while name in known and known[name] != predicate and known[name].test != predicate.test:
        name, number = f"{predicate.name}_{number}", number + 1
    if name != predicate.name:
        predicate = replace(predicate, name=name)
    known.setdefault(name, predicate)
    return Atom(name)


def negation(part: Formula) -> Formula:
    """The opposite of a formula, without double negations; De Morgan for `And` and `Or`."""
    match part:
        case Not(body):
            return body
        case And(left, right):
            return Or(negation(left), negation(right))
        case Or(left, right):
            return And(negation(left), negation(right))
    return Not(part)


def _conjuncts(part: Formula) -> tuple[Formula, ...]:
    return (*_conjuncts(part.left), *_conjuncts(part.right)) if isinstance(part, And) else (part,)
