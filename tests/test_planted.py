"""The tests can fail: each one-line defect, planted in a copy of the project, turns its named test red."""

import ast
import os
import re
from typing import NamedTuple

import mutants
import pytest
from conftest import ROOT

BROKEN = re.compile(r"^E +(?:NameError|SyntaxError|ImportError|ModuleNotFoundError|UnboundLocalError)\b", re.MULTILINE)


class Defect(NamedTuple):
    """One line of `wb` gone wrong: `right` stands once in `file`, `wrong` takes its place, `test` must turn red."""

    name: str
    file: str
    right: str
    wrong: str
    test: str


DEFECTS = (
    # the meaning of formulas
    Defect(
        "strong next holds at the last step",
        "wb/logic/semantics",
        "return (*row[1:], t.false)",
        "return (*row[1:], t.true)",
        "test_automaton.py::test_automaton_and_monitor_agree_with_the_definition_on_every_prefix",
    ),
    Defect(
        "until is content when its goal never comes",
        "wb/logic/semantics",
        "case F.Until():\n            return t.false,",
        "case F.Until():\n            return t.true,",
        "test_automaton.py::test_automaton_and_monitor_agree_with_the_definition_on_every_prefix",
    ),
    Defect(
        "since starts out true",
        "wb/logic/semantics",
        "case F.Since():\n            return t.false,",
        "case F.Since():\n            return t.true,",
        "test_automaton.py::test_automaton_and_monitor_agree_with_the_definition_on_every_prefix",
    ),
    Defect(
        "since forgets what came before",
        "wb/logic/semantics",
        "case F.Since():\n            return t.false, lambda then, x, y: t.either(y, t.both(x, then))",
        "case F.Since():\n            return t.false, lambda then, x, y: t.either(y, t.both(x, y))",
        "test_past.py::test_since_by_hand",
    ),
    Defect(
        "since never ends",
        "wb/logic/semantics",
        "case F.Since():\n            return t.false, lambda then, x, y: t.either(y, t.both(x, then))",
        "case F.Since():\n            return t.false, lambda then, x, y: t.either(y, then)",
        "test_past.py::test_since_by_hand",
    ),
    Defect(
        "a guess about the future is dropped",
        "wb/logic/automaton",
        "if not isinstance(node, F.PAST):\n            return F.rebuild(node, parts)",
        "if True:\n            return F.rebuild(node, parts)",
        "test_automaton.py::test_automaton_and_monitor_agree_with_the_definition_on_every_prefix",
    ),
    Defect(
        "equivalence is asked in one direction only",
        "wb/logic/decide",
        "implies(first, second, given), implies(second, first, given)",
        "implies(first, second, given), implies(first, second, given)",
        "test_decide.py::test_implication_equivalence_and_contradiction_agree_with_each_other_and_with_brute_force",
    ),
    Defect(
        "a bit of one trace leaks into the next",
        "tests/oracles/bits",
        'NEXT: "({0}<<1)&m"',
        'NEXT: "({0}<<1)"',
        "test_bits.py::test_a_trace_does_not_leak_into_its_neighbour",
    ),
    Defect(
        "the solver lets the last step have a next one",
        "wb/logic/sat",
        "case F.Next():\n                return (*left[1:], -TRUE)",
        "case F.Next():\n                return (*left[1:], TRUE)",
        "test_bounded.py::test_a_trace_of_a_length_is_found_exactly_when_there_is_one",
    ),
    Defect(
        "Storm's chain never ends",
        "wb/logic/storm",
        """return f'(X (!"alive" | {parts[0]}))'""",
        """return f'(X ({parts[0]}))'""",
        "test_storm.py::test_storm_reads_the_ends_of_a_trace_as_the_definition_does",
    ),
    Defect(
        "a likely predicate is taken for an unlikely one",
        "tests/oracles/uncertain",
        "[weights * (1.0 - p), weights * p]",
        "[weights * p, weights * (1.0 - p)]",
        "test_uncertain.py::test_a_known_case_and_its_verdicts",
    ),
    Defect(
        "a converse is taken for what it says",
        "wb/rules/lint",
        "return decide.shortest((F.Not(formula), _never(formula, action), *given))[0]",
        "return decide.shortest((formula, F.Not(_never(formula, action)), *given))[0]",
        "test_check.py::test_all_converses_and_no_obligation_are_found",
    ),
    Defect(
        "a contradiction is any pair that is not equivalent",
        "wb/logic/pairs",
        "listed(codes & BOTH == 0, first, second)",
        "listed(codes & NEITHER == 0, first, second)",
        "test_pairs.py::test_a_stronger_rule_is_named_first",
    ),
    # rules about objects
    Defect(
        "true is taken for one",
        "wb/logic/objects",
        'return ("bool", value)',
        "return value",
        "test_objects.py::test_objects_are_the_same_by_type_and_value",
    ),
    Defect(
        "a call that does not say which object it names counts as none",
        "wb/rules/truths",
        "strange.add(true)",
        "pass",
        "test_same_object.py::test_a_missing_object_makes_its_predicate_unknown_of_all",
    ),
    Defect(
        "an object that is not known is like one that nobody named",
        "wb/logic/objects",
        "if None in bound.values():",
        "if False:",
        "test_objects.py::test_one_object_of_the_judged_call_is_asked_about",
    ),
    # windows in time
    Defect(
        "the end of a window does not belong to it",
        "wb/logic/semantics",
        "after[-often] >= since",
        "after[-often] > since",
        "test_windows.py::test_meaning_by_hand",
    ),
    Defect(
        "time that runs backwards is believed",
        "wb/logic/semantics",
        "else (LOST, False)",
        "else (told, True)",
        "test_windows.py::test_meaning_by_hand",
    ),
    Defect(
        "a trace without times shows what windows hold",
        "wb/logic/decide",
        "    return None\n\n\ndef _without",
        "    return trace\n\n\ndef _without",
        "test_windows.py::test_what_is_not_decided_says_so",
    ),
    # from sentences to rules
    Defect(
        "the polarity of a condition is swapped",
        "wb/offline/binding",
        "return atom if found.positive else Not(atom)",
        "return Not(atom) if found.positive else atom",
        "test_reader.py::test_a_sentence_is_read_in_full_or_open",
    ),
    Defect(
        "a condition that narrows reads as one that is required",
        "wb/offline/binding",
        "denied = [negation(f.conjunction(tuple(when)))] if when else []",
        "denied = [f.conjunction(tuple(when))] if when else []",
        "test_reader.py::test_a_sentence_is_read_in_full_or_open",
    ),
    Defect(
        "a negation turns the parts round and keeps the AND",
        "wb/offline/binding",
        "return Or(negation(left), negation(right))",
        "return And(negation(left), negation(right))",
        "test_reader.py::test_a_sentence_is_read_in_full_or_open",
    ),
    Defect(
        "under 18 includes 18",
        "wb/offline/grammar",
        '"LT": "<", "GT"',
        '"LT": "<=", "GT"',
        "test_reader.py::test_a_sentence_is_read_in_full_or_open",
    ),
    Defect(
        "what stands behind two acts is said of both",
        "wb/offline/binding",
        "if several and not shared and (norm.acts.mods or norm.trailing):",
        "if False:",
        "test_reader.py::test_a_sentence_is_read_in_full_or_open",
    ),
    # readers and their vocabulary
    Defect(
        "an entry that is disputed is relied on",
        "wb/rules/agreement",
        'used = [f"{name}: {disputed[name]}" for name in names if name in disputed]',
        "used = []",
        "test_readings_agree.py::test_a_disputed_entry_opens_what_rests_on_it",
    ),
    Defect(
        "readings that can never be broken agree with all",
        "wb/rules/agreement",
        "        if idle:\n            return",
        "        if False:\n            return",
        "test_readings_agree.py::test_readings_agree_where_they_allow_the_same_runs",
    ),
    Defect(
        "an act is done by whatever tools the first writer says",
        "wb/rules/vocabulary",
        "if {*one.predicate.tools} == {*other.predicate.tools}:",
        "if True:",
        "test_bad_replies.py::test_a_sentence_of_which_one_reader_or_writer_is_wrong_is_open",
    ),
    Defect(
        "two bindings of one model are two voices",
        "wb/rules/vocabulary",
        "return not voices or voices[one] != voices[other] or (len(set(voices)) == 1 and one == 0)",
        "return True",
        "test_readers.py::test_a_fact_is_bound_twice_and_where_two_bindings_differ_a_third_time",
    ),
    Defect(
        "of two tests that agree as far as tried the first is believed",
        "wb/rules/vocabulary",
        "if entry.others and not entry.disputed and one.test is not None:",
        "if False:",
        "test_readers.py::test_where_tests_that_were_the_same_on_all_values_tried_differ_nothing_is_known",
    ),
    Defect(
        "refinement may hold a call to less",
        "wb/rules/certify",
        'return f"calls of {tool} would be held to less: {problem}"',
        'return ""',
        "test_refine.py::test_no_change_holds_a_call_to_less",
    ),
    Defect(
        "where bindings differ the first is believed",
        "wb/rules/vocabulary",
        "replaced[atom] = f.Or(f.conjunction(said), f.And(f.Atom(first), f.disjunction(said)))",
        "replaced[atom] = said[0]",
        "test_readers.py::test_where_three_bindings_differ_a_call_is_decided_on_which_all_say_the_same",
    ),
    Defect(
        "a judge that is not sure decides",
        "wb/rules/judges",
        'if verdict == "unclear":',
        "if False:",
        "test_readers.py::test_judges_of_the_run_on_which_readings_part_rule_one_of_them_out",
    ),
    Defect(
        "what all judges object to is in force",
        "wb/rules/judges",
        "if judges and len(said) == len(judges)}",
        "if False}",
        "test_readers.py::test_what_all_judges_object_to_is_open",
    ),
    Defect(
        "an answer that lets a call through needs no quotation",
        "wb/rules/rule",
        'asked |= {"permits": sorted(permits)} if len(permits) == 1 else {}',
        'asked |= {"permits": []}',
        "test_helpful.py::test_an_answer_that_can_only_deny_needs_no_quotation",
    ),
    Defect(
        "two tests of a fact need not say the same",
        "wb/rules/vocabulary",
        "if not found.same:",
        "if False:",
        "test_readers.py::test_a_fact_is_bound_twice_and_where_two_bindings_differ_a_third_time",
    ),
    Defect(
        "an answer that is given twice counts",
        "wb/rules/readers",
        "if len(answers) != 1:",
        "if not answers:",
        "test_readers.py::test_an_answer_that_is_left_out_or_given_twice_is_no_answer",
    ),
    Defect(
        "a case forbids where it does not hold",
        "wb/rules/readers",
        "allowed = _and(_not(when), allowed)",
        "allowed = _and(when, allowed)",
        "test_readers.py::test_each_form_is_executed_into_the_formula_that_it_means",
    ),
    Defect(
        "a reader that did not understand demands nothing",
        "wb/rules/readers",
        "if answer.unclear:",
        "if False:",
        "test_readers.py::test_what_cannot_be_executed_is_open_with_its_reason",
    ),
    Defect(
        "a part of a rule holds of the first step alone",
        "wb/rules/readers",
        "if now := _unscoped(formula):",
        "if now := ():",
        "test_readers.py::test_what_cannot_be_executed_is_open_with_its_reason",
    ),
    Defect(
        "a number may stand in the place of another",
        "wb/rules/extract",
        "if not self.lost or not self.added:",
        "if True:",
        "test_quantities.py::test_a_number_in_the_place_of_another_is_held",
    ),
    Defect(
        "what lies right beside a literal is not tried",
        "wb/logic/worlds",
        "{n + step for n in self.numbers for step in (-1, 0, 1)} or {0, 1, 2}",
        "set(self.numbers) or {0, 1, 2}",
        "test_worlds.py::test_facts_are_the_same_where_no_value_tells_them_apart",
    ),
    Defect(
        "tests that are never both known agree",
        "wb/logic/worlds",
        "return Compared(len(seen) == 2, other if",
        "return Compared(True, other if",
        "test_worlds.py::test_facts_are_the_same_where_no_value_tells_them_apart",
    ),
    Defect(
        "what a person has to accept is in force",
        "wb/rules/extract",
        'if trust == "person" or numbers.swapped:',
        "if numbers.swapped:",
        "test_readers.py::test_trust_says_what_is_in_force",
    ),
    # the rule base
    Defect(
        "an unknown value reads as false",
        "wb/rules/truths",
        "return known if isinstance(known, bool) else None",
        "return known if isinstance(known, bool) else False",
        "test_values.py::test_a_free_state_predicate_is_read_by_name_only_when_boolean",
    ),
    Defect(
        "predicates are merged without a certificate",
        "wb/rules/certify",
        "problem = _unproved(decide.implies, TRUE, claim, physical.relevant(known, claim))",
        'problem = ""',
        "test_gate.py::test_predicates_that_only_sound_alike_are_not_merged",
    ),
    Defect(
        "a predicate is its own nearest neighbour",
        "wb/rules/refine",
        "cosines[rows, start + rows] = -np.inf",
        "cosines[rows, start + rows] = 1",
        "test_vagueness.py::test_a_predicate_is_not_its_own_neighbour",
    ),
    Defect(
        "the neighbour of an integer limit is missed",
        "wb/logic/worlds",
        "for step in (-1, 0, 1))",
        "for step in (0,))",
        "test_physical.py::test_a_relation_of_numbers_allows_exactly_the_pairs_that_occur",
    ),
    # circuits and weights
    Defect(
        "a rule speaks for the action that breaks it",
        "wb/shield/circuit",
        "frozenset(int(o.taken) - int(o.left) for o in possible)",
        "frozenset(int(o.left) - int(o.taken) for o in possible)",
        "test_circuit.py::test_the_closed_form_is_the_difference_of_the_two_worlds",
    ),
    Defect(
        "an interval on the bound counts as safe",
        "wb/shield/circuit",
        "(inference.low < epsilon <= inference.high)",
        "(inference.low < epsilon < inference.low)",
        "test_circuit.py::test_the_safety_condition_is_sure_only_when_the_whole_interval_is",
    ),
    Defect(
        "the hinge punishes what is right",
        "wb/shield/weights",
        "(margin - labels * (relative - epsilon))",
        "(margin + labels * (relative - epsilon))",
        "test_weights.py::test_the_loss_is_the_papers_hinge_on_two_worlds",
    ),
    # contracts and guards
    Defect(
        "loops add numbers whose sum has no 64 bits",
        "wb/guards/loops",
        "LARGE = 2**40",
        "LARGE = 2**63",
        "test_loops.py::test_a_guard_of_lists_decides_as_the_evaluator_does",
    ),
    Defect(
        "a loop is asked of a list with an item that is not known",
        "wb/guards/loops",
        "            if type(one) is not wanted or",
        "            if one is False and type(one) is not wanted or",
        "test_loops.py::test_loops_their_definitions_and_a_plain_evaluator_agree_on_random_facts_and_values",
    ),
    Defect(
        "the contract has no allow side",
        "wb/guards/contract",
        'return f"Implies({self.allows}, Result()[0])" if self.items',
        'return "Implies(Result()[0], Result()[0])" if self.items',
        "test_contract.py::test_a_rule_gives_an_ensures_of_its_own_and_a_part_of_the_allow_side",
    ),
    Defect(
        "a guard may assume what it likes",
        "wb/guards/contract",
        'REFUSED = frozenset({"Assume", ',
        "REFUSED = frozenset({",
        "test_contract.py::test_a_contract_that_would_prove_anything_is_refused",
    ),
    Defect(
        "a guard with a docstring loses its first statement",
        "wb/guards/contract",
        "*(function.body[1:] if ast.get_docstring",
        "*(function.body[2:] if ast.get_docstring",
        "test_contract.py::test_a_guard_with_a_docstring_keeps_its_first_statement",
    ),
    Defect(
        "the final guard accepts what was only tested",
        "wb/guards/runtime",
        'frozenset({"proved"})',
        'frozenset({"proved", "tested"})',
        "test_veriguard.py::test_the_final_guard_runs_what_is_proved_and_nothing_else",
    ),
    Defect(
        "whether the body can be reached does not count",
        "wb/guards/veriguard",
        'if proof_.status == "proved" and probe.status == "proved":',
        'if proof_.status == "proved":',
        "test_veriguard.py::test_a_proof_counts_only_where_the_probe_is_proved_too",
    ),
    Defect(
        "a time-out or a crash counts as proved",
        "wb/guards/veriguard",
        'if proof_.status == "proved" and probe.status == "proved":',
        'if proof_.status in ("proved", "timeout", "crash") and probe.status == "proved":',
        "test_veriguard.py::test_the_final_guard_runs_what_is_proved_and_nothing_else",
    ),
    Defect(
        "what is found on a source's last line is dropped",
        "wb/guards/nagini",
        'if alone or start < d["startLine"] <= end)',
        'if alone or start < d["startLine"] < end)',
        "test_prover.py::test_an_objection_belongs_to_the_source_whose_line_it_names",
    ),
    Defect(
        "a prover that was lost has proved",
        "wb/guards/nagini",
        "return Proof(status, (Objection(code or status, message, 0),)",
        'return Proof("proved", (Objection(code or status, message, 0),)',
        "test_nagini.py::test_a_worker_that_cannot_start_is_tried_once_and_nothing_is_proved",
    ),
    Defect(
        "texts are joined",
        "wb/guards/sandbox",
        "return _numbers((left, right), types)",
        "return _type(left, types)",
        "test_sandbox.py::test_an_expression_has_its_type_or_is_refused",
    ),
    Defect(
        "an order of texts is decided by its points",
        "wb/guards/sandbox",
        ' and not (types[name] == "str" and ordered)',
        "",
        "test_generated_code.py::test_only_what_meets_constants_of_its_type_is_exact",
    ),
    Defect(
        "tests that did not end are passed",
        "wb/guards/synthesis",
        "if isinstance(answers, TrialFailed):\n        return (Complaint(",
        "if isinstance(answers, TrialFailed):\n        return () and (Complaint(",
        "test_generated_code.py::test_a_process_without_a_whole_answer_is_no_test_passed",
    ),
    Defect(
        "what is not accepted yet may open files",
        "wb/guards/trial",
        "(resource.RLIMIT_NOFILE, 3),",
        "(resource.RLIMIT_NOFILE, 300),",
        "test_generated_code.py::test_a_confined_process_can_not_do_it_and_a_free_one_can",
    ),
    Defect(
        "undecided runs the action",
        "wb/domain/trace",
        'return verdict.decision == "allow"',
        'return verdict.decision != "deny"',
        "test_values.py::test_only_allow_runs_the_action",
    ),
    Defect(
        "a tool without a guard is allowed",
        "wb/guards/runtime",
        'return Verdict("deny", f"{call.tool}: there is no guard',
        'return Verdict("allow", f"{call.tool}: there is no guard',
        "test_session.py::test_a_tool_without_a_guard_is_denied_for_that_reason",
    ),
    Defect(
        "a later call of a step is judged by the first one's arguments",
        "wb/guards/runtime",
        "call, tool = step.calls[-1], one.entry.contract.tool",
        "call, tool = step.calls[0], one.entry.contract.tool",
        "test_session.py::test_a_second_call_of_a_step_is_judged_by_its_own_arguments",
    ),
    Defect(
        "a denied call is remembered as done",
        "wb/domain/session",
        "self._present = Step(judging.calls if allowed else calls,",
        "self._present = Step(judging.calls if True else calls,",
        "test_session_told.py::test_what_a_judge_is_shown",
    ),
    Defect(
        "a monitor forgets",
        "wb/logic/semantics",
        "truths, self._memory = self._seen.get(key)",
        "truths, _ = self._seen.get(key)",
        "test_past.py::test_a_monitor_agrees_with_the_definition_on_every_prefix",
    ),
    Defect(
        "an adapter runs what is undecided",
        "wb/adapters/enforcement",
        "if permitted(verdict) or self.session.observe:",
        'if verdict.decision != "deny" or self.session.observe:',
        "test_adapters.py::test_what_is_not_known_declared_or_fitting_does_not_run",
    ),
    Defect(
        "a call that hung counts as not done",
        "wb/adapters/enforcement",
        "if isinstance(error, Exception) and not uncertain(error):",
        "if True:",
        "test_adapters.py::test_what_says_nothing_of_how_a_call_ended_leaves_it_awaited",
    ),
    Defect(
        "an error of any tool says that nothing was done",
        "wb/adapters/enforcement",
        "if any(one.mutating is False or (own and one.atomic) for one in declared):",
        "if True:",
        "test_adapters.py::test_what_fails_in_a_tool_that_changes_something_may_have_been_done",
    ),
    Defect(
        "words before a turn become a step after it",
        "wb/domain/session",
        "self._words, self._told = None, False  # words right before it are its own",
        "pass",
        "test_session.py::test_what_was_said_or_known_before_a_turn_is_no_step_after_it",
    ),
    Defect(
        "what passed between two calls is forgotten",
        "wb/domain/session",
        "self._passed.append(before)",
        "pass",
        "test_recorded.py::test_a_state_in_which_no_call_was_asked_for_is_not_forgotten",
    ),
    Defect(
        "a call whose result is awaited counts as done",
        "wb/domain/session",
        "elif self._waiting or self._awaited or self._unsure:",
        "elif False:",
        "test_awaited.py::test_a_call_whose_result_is_awaited_satisfies_nothing_and_forbids_all_that_it_may",
    ),
    Defect(
        "a session goes on after half a recording",
        "wb/domain/session",
        'self._spoil(f"what was recorded before could not be taken in: {said(error)}")',
        "pass",
        "test_awaited.py::test_half_a_recording_allows_nothing_from_then_on",
    ),
    Defect(
        "an action that no tool performs was not done",
        "wb/rules/truths",
        "return lambda step, call: None",
        "return lambda step, call: False",
        "test_session.py::test_an_action_that_no_tool_performs_is_unknown",
    ),
    Defect(
        "an open sentence holds nothing",
        "wb/shield/shield",
        "judging.held(verdict, tool, shield.open[tool]) if tool in shield.open else verdict",
        "judging.held(verdict, tool, shield.open[tool]) if False else verdict",
        "test_session.py::test_an_open_sentence_holds_what_would_be_allowed_and_nothing_else",
    ),
    Defect(
        "a guard that breaks allows",
        "wb/guards/runtime",
        'return Verdict("deny", f"{tool}: its guard broke',
        'return Verdict("allow", f"{tool}: its guard broke',
        "test_guard_answers.py::test_a_guard_that_breaks_denies",
    ),
    Defect(
        "too many completions allow",
        "wb/guards/runtime",
        'return Verdict("undecided", f"{tool}: {error}"',
        'return Verdict("allow", f"{tool}: {error}"',
        "test_guarding.py::test_what_takes_too_many_completions_to_tell_is_undecided_with_all_that_is_unknown",
    ),
    Defect(
        "code that is not exact decides with unknown values",
        "wb/guards/runtime",
        "sure = len(answers) == 1 and read.keys() <= program.exact",
        "sure = len(answers) == 1",
        "test_guarding.py::test_code_whose_values_cannot_be_told_apart_decides_nothing_that_it_read_and_is_unknown",
    ),
    Defect(
        "a changed guard still counts as proved",
        "wb/guards/evidence",
        'if digest(source) != row["sha256"]:',
        'if digest(source) == "":',
        "test_evidence.py::test_a_kept_guard_whose_source_was_changed_is_no_guard",
    ),
    Defect(
        "a row without a seal counts as proved",
        "wb/guards/evidence",
        "sealed = all(row.get(name) == value for name, value in _sealed(entry, evidence).items())",
        "sealed = True",
        "test_evidence.py::test_a_forged_row_is_worth_tested_at_most",
    ),
    Defect(
        "a proof that anybody wrote into the cache is believed",
        "wb/guards/nagini",
        'if row.pop("seal") != paths.seal(row):',
        'if not row.pop("seal"):',
        "test_evidence.py::test_a_proof_that_was_written_into_the_cache_is_asked_again",
    ),
    Defect(
        "a proof of another source is believed",
        "wb/guards/nagini",
        "if proof.digest == digest(source) else None",
        "if proof.digest else None",
        "test_prover.py::test_a_kept_proof_that_was_changed_is_asked_again",
    ),
    # a person's decisions
    Defect(
        "a decision does not notice another opening of its list",
        "wb/domain/policy",
        "(one.text, *one.headings), one.stems, (one.label, one.column), *one.row",
        "(one.text, *one.headings), (one.label, one.column), *one.row",
        "test_decisions.py::test_a_decision_is_stale_where_what_its_sentence_is_read_with_has_changed",
    ),
    Defect(
        "a rule of a person that guards nothing settles its sentence",
        "wb/rules/sentences",
        "    if idle := _idle(own, box):",
        '    if idle := "":',
        "test_decisions.py::test_a_persons_rule_that_guards_nothing_leaves_its_sentence_open",
    ),
    Defect(
        "what a person demands is not in the code",
        "wb/guards/synthesis",
        "function.body[first:first] = sandbox.parse(",
        "function.body[first:first] = [] and sandbox.parse(",
        "test_decided.py::test_a_persons_rules_pass_every_test_with_and_without_a_read_sentence",
    ),
    # models
    Defect(
        "the budget is off by one",
        "wb/models/ledger",
        "getattr(total, f.name) > limit:",
        "getattr(total, f.name) > limit + 1:",
        "test_ledger.py::test_spending_never_exceeds_a_limit",
    ),
    Defect(
        "what a timed-out request may have cost is forgotten",
        "wb/models/endpoint",
        "used, started = worst, time.monotonic()",
        "used, started = Usage(), time.monotonic()",
        "test_endpoint.py::test_a_request_that_timed_out_may_have_been_charged_so_its_worst_case_counts",
    ),
    Defect(
        "a recording answers another request",
        "wb/models/endpoint",
        "if record.request != request:",
        "if not record.request:",
        "test_replies.py::test_a_damaged_recording_is_an_error_in_replay_and_asked_again_in_auto",
    ),
    Defect(
        "a value may open a tag of its own",
        "wb/models/prompt",
        'return _TAG.sub("&lt;", plain)',
        "return plain",
        "test_prompt.py::test_a_value_cannot_open_a_role_close_its_tag_or_run_as_a_template",
    ),
    # artifacts
    Defect(
        "the hash of an artifact is not checked",
        "wb/runs/artifact",
        "return path.is_file() and key.file_digest(path) == known",
        "return path.is_file()",
        "test_artifact.py::test_a_damaged_file_is_found_by_its_digest",
    ),
    Defect(
        "the manifest arrives before the files",
        "wb/runs/artifact",
        "os.rename(folder, target)\n    return made",
        "shutil.copytree(folder, target)\n    return made",
        "test_artifact.py::test_killed_at_any_step_a_version_is_whole_or_absent",
    ),
    Defect(
        "a changed module does not change the key",
        "wb/runs/key",
        "self.cells, self.modules, self.upstream])",
        "self.cells, self.upstream])",
        "test_key.py::test_every_input_counts",
    ),
    # evaluation
    Defect(
        "any file passes for the official benchmark",
        "wb/bench/mind2web",
        "if digest != SHA256:",
        "if not digest:",
        "test_mind2web.py::test_another_file_than_the_official_one_is_refused",
    ),
    Defect(
        "undecided counts as allowed",
        "wb/bench/evaluate",
        "stopped = not permitted(outcome.verdict)",
        'stopped = outcome.verdict.decision == "deny"',
        "test_evaluate.py::test_an_undecided_verdict_counts_as_a_denial_and_apart",
    ),
    Defect(
        "the label of a mistake is inverted",
        "wb/bench/evaluate",
        '"label": "deny" if o.denied else "allow",',
        '"label": "allow" if o.denied else "deny",',
        "test_evaluate.py::test_a_mistake_is_told_with_the_label_that_it_goes_against",
    ),
    Defect(
        "false alarms are set against the wrong turns",
        "wb/bench/evaluate",
        "wilson(counts.fp, counts.fp + counts.tn)",
        "wilson(counts.fp, counts.fp + counts.tp)",
        "test_evaluate.py::test_rates_follow_their_definitions",
    ),
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy that nothing was planted in."""
    with mutants.copied(tmp_path_factory.mktemp("planted") / "project") as made:
        yield made


def test_every_named_test_is_there(copy):
    """And green: the suite that this is a test of runs them all."""
    code, output = copy.run(*sorted({defect.test for defect in DEFECTS}), options=("--collect-only",))
    assert code == 0, output[-3000:]


def planted(folder, defect):
    """The text of the defect's file with it."""
    text = (folder / f"{defect.file}.py").read_text("utf-8")
    assert text.count(defect.right) == 1, (
        f"{defect.right!r} must stand once in {defect.file}.py: name the line that took its place"
    )
    return text.replace(defect.right, defect.wrong)


def test_every_line_that_a_defect_changes_is_there():
    for defect in DEFECTS:
        ast.parse(planted(ROOT, defect))


# each takes seconds: every second one is planted, and all of them with WB_PLANT=all
PLANTED = DEFECTS if os.environ.get("WB_PLANT") == "all" else DEFECTS[::2]


@pytest.mark.parametrize("defect", PLANTED, ids=lambda defect: defect.name.replace(" ", "_"))
def test_a_planted_defect_turns_its_test_red(copy, defect):
    with copy.planted(f"{defect.file}.py", planted(copy.folder, defect)):
        code, output = copy.run(defect.test)
    assert code == 1 and f"FAILED tests/{defect.test}" in output, (
        f"{defect.test} did not notice that {defect.name}:\n{output[-2000:]}"
    )
    assert not BROKEN.search(output), f"the defect must be wrong, not broken code:\n{output[-2000:]}"


QUICK = ("domain/trace", "guards/evidence", "logic/semantics")


@pytest.mark.parametrize("mutant", mutants.drawn(QUICK, seed=1, count=4), ids=lambda m: f"{m.module}:{m.line}")
def test_a_drawn_mutant_is_killed(copy, mutant):
    assert mutants.fate(copy, mutant, mutants.tests_of(mutant.module)) == "killed", mutant.change


def test_what_no_test_notices_is_said_to_survive_and_what_never_ends_to_overrun(copy, monkeypatch):
    def written(new: str) -> mutants.Mutant:
        return mutants.Mutant("domain/trace", 1, "", len(text.encode()), len(text.encode()), new)

    text = (copy.folder / "wb/domain/trace.py").read_text("utf-8")
    tests = ["test_values.py::test_only_allow_runs_the_action"]
    assert mutants.fate(copy, written("\nUNREAD = 1\n"), tests) == "survived"
    assert mutants.fate(copy, written("\nraise ValueError\n"), []) == "survived", "nobody looks"
    with pytest.raises(ValueError, match="can be run were required"):
        mutants.fate(copy, written(""), ["test_that_is_not_there.py"])
    (copy.folder / "tests" / "test_red.py").write_text("def test_red():\n    assert False\n", "utf-8")
    assert mutants.fate(copy, written("\nUNREAD = 1\n"), ["test_red.py"]) == "unsure", "it is red without it too"
    monkeypatch.setattr(mutants, "LIMIT_S", 4)
    assert mutants.fate(copy, written("\nwhile True: pass\n"), tests) == "overran"
    assert (copy.folder / "wb/domain/trace.py").read_text("utf-8") == text


def test_mutants_are_one_place_of_what_is_done_each():
    text = '''"""Said."""
def f(a: int = 3, *, b: "word" = None) -> bool:
    """Said too."""
    if a <= 2 and not b:
        raise ValueError("this is", 7)
    return a == len(f"{a}{1}") or [x for x in b if x > 0]
'''
    made = [mutant for place in mutants.mutants("m", text) for mutant in place]
    found = {mutant.change for mutant in made}
    assert len({mutant.put(text) for mutant in made}) == len(made), "each is another text"
    assert found == {
        "3 -> 4",
        "3 -> 2",
        "a <= 2 and not b -> True",
        "a <= 2 and not b -> False",
        "a <= 2 and not b -> (a <= 2 or not b)",
        "a <= 2 -> (a > 2)",
        "a <= 2 -> (a < 2)",
        "2 -> 3",
        "2 -> 1",
        "not b -> b",
        'raise ValueError("this is", 7) -> pass',
        "a == len(f\"{a}{1}\") or [x for x in b if x > 0] -> (not (a == len(f'{a}{1}') or [x for x in b if x > 0]))",
        "a == len(f\"{a}{1}\") or [x for x in b if x > 0] -> (a == len(f'{a}{1}') and [x for x in b if x > 0])",
        "a == len(f\"{a}{1}\") -> (a != len(f'{a}{1}'))",
        "x > 0 -> True",
        "x > 0 -> (x <= 0)",
        "x > 0 -> (x >= 0)",
        "0 -> 1",
        "0 -> -1",
    }
    assert mutants.drawn(QUICK, 5, 20) == mutants.drawn(QUICK, 5, 20) != mutants.drawn(QUICK, 6, 20)


def test_every_module_has_tests_that_its_mutants_are_put_to():
    assert {*mutants.FAIL_CLOSED, *mutants.FIRST} <= set(mutants.everything())
    for module in mutants.everything():
        tests = mutants.tests_of(module)
        assert tests and all((ROOT / "tests" / name).exists() for name in tests), module
