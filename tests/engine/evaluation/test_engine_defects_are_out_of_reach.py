"""Can a facts file or a policy reach what durable-rules does wrong?"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engine.evaluation import generating
from tests.engine.evaluation.generating import VOCABULARY, Declared
from tests.engine.evaluation.written import case, evaluator, gate, policy

from oncemore.engine import native
from oncemore.engine.engine_session import Session
from oncemore.rules.case import Reading
from oncemore.rules.engine_text import NotCompilable
from oncemore.rules.leaf_rules import MAX_LIST
from oncemore.rules.outcome import Outcome, Truth
from oncemore.rules.ruleset import Plan, compile_policy

ROOT = Path(__file__).parents[3]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def definitions(plan: Plan) -> list[str]:
    return [one.text for one in (*plan.leaf_rulesets, *plan.gate_rulesets, *plan.outcome_rulesets)]


def words_and_properties(node: Any) -> tuple[set[str], set[str]]:
    """The engine's words, and the properties that are compared, of a condition."""
    words: set[str] = set()
    properties: set[str] = set()
    for name, inner in node.items():
        if not name.startswith("$"):
            assert isinstance(inner, (bool, int, str)), "a property is compared with a constant only"
            properties.add(name)
            continue
        words.add(name)
        for part in inner if isinstance(inner, list) else [inner]:
            more, named = words_and_properties(part)
            words |= more
            properties |= named
    return words, properties


def test_only_the_safe_words_and_our_own_keys_are_ever_written() -> None:
    rng = random.Random(1)
    for _ in range(200):
        plan = compile_policy(generating.policy(rng), [], VOCABULARY)
        for text in definitions(plan):
            for rule in json.loads(text).values():
                [message] = rule["all"]
                words, properties = words_and_properties(message["m"])
                assert words <= {"$and", "$neq", "$lt", "$lte", "$gt", "$gte", "$nex", "$ex"}
                assert all(re.fullmatch(r"[fagh]\d+|k|e|w|warm", name) for name in properties)


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("a.flag", 1),
        ("a.flag", 0),
        ("a.flag", "true"),
        ("a.flag", None),
        ("a.count", True),
        ("a.count", "5"),
        ("a.count", 5.0),
        ("a.count", float("nan")),
        ("a.count", float("inf")),
        ("a.count", 2**63),
        ("a.count", -(2**63) - 1),
        ("a.count", 10**20),
        ("a.age", -1),
        ("a.age", 2**63),
        ("a.age", "5s"),
        ("a.text", 1),
        ("a.text", "undeclared"),
        ("a.text", "a" + "x" * 65_536),
        ("a.text", "b" * 9_000_000),
        ("a.text", "\ud800"),
        ("a.text", b"a"),
        ("a.text", ["a"]),
        ("a.text", {"a": 1}),
        ("a.text", nested(100_000)),
    ],
    ids=lambda value: str(type(value).__name__) if not isinstance(value, (int, float)) else str(value),
)
def test_what_is_no_value_of_its_type_is_unknown(fact: str, value: Any) -> None:
    texts = {"bool": "{f} == true", "int": "{f} >= 5", "enum": '{f} in ["a", "b"]', "duration": '{f} < duration("5s")'}
    text = texts[VOCABULARY[fact].type].format(f=fact)
    asked = evaluator(policy(gate("yes", text), gate("no", f"!({text})")))
    fired = asked.ask("written", case({fact: value}))
    assert fired.gates == (Truth.UNKNOWN, Truth.UNKNOWN)
    assert fired.outcome is Outcome.WAIT
    assert asked.faults == 0


def test_both_ends_of_64_bits_are_compared_exactly() -> None:
    for value in (-(2**63), -(2**63) + 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1):
        asked = evaluator(policy(gate("is", f"a.count == {value}")))
        assert asked.ask("written", case({"a.count": value})).outcome is Outcome.FIRE
        other = value + 1 if value < 0 else value - 1
        assert asked.ask("written", case({"a.count": other})).outcome is Outcome.HOLD


def test_names_that_the_engine_uses_itself_do_nothing_in_a_case() -> None:
    asked = evaluator(policy(gate("is", "a.flag")))
    spoof = {"sid": "t", "id": "other", "$s": 1, "a": {"flag": True}, "f0": True, "k": 1, "w": 10**9, "warm": 1}
    spoof |= {"x" * 9_000_000: True, "a.flag.x": True, "a": True}
    assert asked.ask("written", case(spoof)).gates == (Truth.UNKNOWN,)
    assert asked.ask("written", case({**spoof, "a.flag": False})).gates == (Truth.FAIL,)
    assert asked.ask("written", case({**spoof, "a.flag": True})).outcome is Outcome.FIRE


def test_facts_whose_names_the_engine_could_not_tell_apart_are_told_apart() -> None:
    facts = {**VOCABULARY, "eligible": Declared("bool"), "gxolaazs": Declared("bool")}
    asked = evaluator(policy(gate("is", "eligible"), gate("other", "gxolaazs")), facts=facts)
    assert asked.ask("written", case({"gxolaazs": True})).gates == (Truth.UNKNOWN, Truth.PASS)
    assert asked.ask("written", case({"eligible": False, "gxolaazs": True})).gates == (Truth.FAIL, Truth.PASS)


def test_hundreds_of_conditions_on_one_fact_neither_hang_nor_crash() -> None:
    gates = [gate(f"g{n}", f"a.count != {n}") for n in range(600)]
    asked = evaluator(policy(*gates))
    assert asked.ask("written", case({"a.count": 999})).outcome is Outcome.FIRE
    fired = asked.ask("written", case({"a.count": 577}))
    assert fired.gates.count(Truth.FAIL) == 1
    assert fired.gate is not None
    assert fired.gate.id == "g577"


def test_hundreds_of_rules_behind_one_condition_neither_hang_nor_crash() -> None:
    gates = [gate(f"g{n}", f"a.flag && a.count != {n}") for n in range(300)]
    asked = evaluator(policy(*gates))
    assert asked.ask("written", case({"a.flag": True, "a.count": 999})).outcome is Outcome.FIRE
    fired = asked.ask("written", case({"a.flag": True, "a.count": 299}))
    assert [truth is Truth.PASS for truth in fired.gates] == [True] * 299 + [False]
    assert asked.ask("written", case({"a.flag": False})).gates == (Truth.FAIL,) * 300


def test_more_than_64_gates_can_all_fail_at_once() -> None:
    gates = [gate(f"g{n}", f"a.count > {n}", "wait") for n in range(150)] + [gate("last", "a.count > 0", "deny")]
    fired = evaluator(policy(*gates)).ask("written", case({"a.count": -1}))
    assert fired.gates == (Truth.FAIL,) * 151
    assert fired.outcome is Outcome.DENY
    assert fired.gate is not None
    assert fired.gate.id == "last"


def test_a_disjunction_that_holds_in_every_branch_is_one_result() -> None:
    text = " || ".join(f"(a.count > {n} && a.flag)" for n in range(16))
    asked = evaluator(policy(gate("any", text)))
    assert asked.ask("written", case({"a.count": 99, "a.flag": True})).outcome is Outcome.FIRE
    assert asked.faults == 0


def test_a_list_may_be_as_long_as_promised_and_no_longer() -> None:
    longest = ", ".join(map(str, range(MAX_LIST)))
    gates = [gate("in", f"a.count in [{longest}]"), gate("out", f"!(b.count in [{longest}])")]
    asked = evaluator(policy(*gates))
    assert asked.ask("written", case({"a.count": MAX_LIST - 1, "b.count": MAX_LIST})).outcome is Outcome.FIRE
    assert asked.ask("written", case({"a.count": MAX_LIST, "b.count": 0})).gates == (Truth.FAIL, Truth.FAIL)
    with pytest.raises(NotCompilable, match="written, in: a list of 129"):
        evaluator(policy(gate("in", f"a.count in [{longest}, {MAX_LIST}]")))


def test_a_condition_with_too_many_combinations_is_refused_by_name() -> None:
    text = " && ".join(f"(a.count > {n} || b.count > {n})" for n in range(6))
    with pytest.raises(NotCompilable, match="written, wide"):
        evaluator(policy(gate("wide", text)))


@pytest.mark.parametrize("text", ['a.text == "undeclared"', 'a.count == "5"', "a.flag == 1", "nowhere"])
def test_a_constant_that_is_no_value_of_its_fact_is_refused_by_name(text: str) -> None:
    with pytest.raises(NotCompilable, match="written, odd"):
        evaluator(policy(gate("odd", text)))


def test_nothing_of_one_case_is_left_for_the_next() -> None:
    rng = random.Random(3)
    one = generating.policy(rng, gates=6)
    long_lived = evaluator(one)
    for _ in range(300):
        asked = generating.case(rng, known=rng.choice((0.2, 1.0)))
        fresh = evaluator(one)
        assert long_lived.ask("random", asked) == replace(fresh.ask("random", asked), plan=long_lived.plans["random"])
        fresh.close()


def test_the_same_case_can_be_asked_again_at_once() -> None:
    asked = evaluator(policy(gate("is", "a.count == 5")))
    for value, outcome in ((5, Outcome.FIRE), (5, Outcome.FIRE), ("5", Outcome.WAIT), (5, Outcome.FIRE)):
        assert asked.ask("written", case({"a.count": value})).outcome is outcome


def test_thousands_of_cases_pass_through_one_session() -> None:
    asked = evaluator(policy(gate("is", "a.count >= 2500")))
    outcomes = [asked.ask("written", case({"a.count": n})).outcome for n in range(5_000)]
    assert outcomes == [Outcome.HOLD] * 2_500 + [Outcome.FIRE] * 2_500


def test_sessions_that_were_never_asked_can_be_closed() -> None:
    plan = compile_policy(policy(gate("is", "a.flag && a.done")), [], VOCABULARY)
    for _ in range(50):
        Session(plan, native.load()).close()


def test_threads_each_have_their_own_session() -> None:
    asked = evaluator(policy(gate("is", "a.count >= 0 && a.flag")))
    wrong: list[object] = []
    sessions = set()

    def ask(number: int) -> None:
        for n in range(400):
            positive = (n + number) % 2 == 0
            fired = asked.ask("written", case({"a.count": n if positive else -1 - n, "a.flag": True}))
            if fired.outcome is not (Outcome.FIRE if positive else Outcome.HOLD):
                wrong.append(fired)
        sessions.add(id(asked._sessions()["written"]))
        asked.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert asked.faults == 0


FORKING = """
import os
from oncemore.rules.outcome import Outcome
from tests.engine.evaluation.written import case, evaluator, gate, policy
asked = evaluator(policy(gate("is", "a.flag")))
def right():
    return all(asked.ask("written", case({"a.flag": n % 2 == 0})).outcome is (Outcome.HOLD if n % 2 else Outcome.FIRE)
               for n in range(500))
assert right()
before = asked._sessions()["written"]
child = os.fork()
if child == 0:
    os._exit(0 if right() and asked._sessions()["written"] is not before else 1)
assert right() and asked._sessions()["written"] is before
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_opens_sessions_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_session_that_breaks_is_replaced_and_the_case_is_still_answered() -> None:
    asked = evaluator(policy(gate("is", "a.flag")))
    assert asked.ask("written", case({"a.flag": False})).outcome is not Outcome.FIRE
    broken = asked._sessions()["written"]
    native.load().delete_ruleset(broken._leaves[0][0])
    assert asked.ask("written", case({"a.flag": True})).outcome is Outcome.FIRE
    assert asked._sessions()["written"] is not broken
    assert asked.faults == 0


def test_a_comparison_without_a_result_is_a_fault_and_no_outcome() -> None:
    asked = evaluator(policy(gate("is", "a.flag", "deny", "deny")))
    plan = asked.plans["written"]
    [leaves] = plan.leaf_rulesets
    rules = json.loads(leaves.text)
    lost = next(name for name in rules if name.startswith("t"))
    del rules[lost]
    asked.plans = {"written": replace(plan, leaf_rulesets=(replace(leaves, text=json.dumps(rules)),))}
    for count in (1, 2):
        fired = asked.ask("written", case({"a.flag": True}))
        assert fired.outcome is Outcome.HOLD
        assert fired.fault is not None
        assert fired.gates == (Truth.UNKNOWN,)
        assert not fired.decided_against
        assert asked.faults == count


def test_a_comparison_with_two_results_is_a_fault() -> None:
    asked = evaluator(policy(gate("is", "a.flag")))
    plan = asked.plans["written"]
    [leaves] = plan.leaf_rulesets
    rules = json.loads(leaves.text)
    for name in list(rules):
        if name.startswith("f"):
            rules[name] = rules["t" + name[1:] + ".0"]
    asked.plans = {"written": replace(plan, leaf_rulesets=(replace(leaves, text=json.dumps(rules)),))}
    assert asked.ask("written", case({"a.flag": True})).fault is not None


@pytest.mark.parametrize("status", ["missing", "stale", "conflict", "reported", "clock"])
def test_a_reading_that_does_not_count_never_reaches_the_engine(status: Any) -> None:
    asked = evaluator(policy(gate("is", "a.flag"), gate("not", "a.flag == false")))
    unknown = case({})
    unknown = replace(unknown, readings={**unknown.readings, "a.flag": Reading(status, True)})
    assert asked.ask("written", unknown).gates == (Truth.UNKNOWN, Truth.UNKNOWN)
