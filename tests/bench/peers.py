"""How would users of other engines ask the same gates? Each gives every gate's result, true or false.

The conditions are written anew from their trees, in each engine's language. What an engine's own call needs, such as
JSON text, is made inside the measured call; what is prepared once is not measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from oncemore.rules.expression import And, Compare, Duration, Expression, Leaf, Literal, Member, Not
from oncemore.rules.normal_form import terms

Gates: TypeAlias = Sequence[tuple[str, Expression]]
Ask: TypeAlias = Callable[[dict[str, Any]], list[bool]]


def literal(value: Literal) -> str:
    """As JSON; durations are milliseconds."""
    return json.dumps(value.ms if isinstance(value, Duration) else value, ensure_ascii=False)


def infix(condition: Expression, words: tuple[str, str, str], leaf: Callable[[Leaf], str]) -> str:
    """A condition with the given words for and, or, not."""
    if isinstance(condition, (Compare, Member)):
        return leaf(condition)
    if isinstance(condition, Not):
        return f"{words[2]}({infix(condition.operand, words, leaf)})"
    word = words[0] if isinstance(condition, And) else words[1]
    return "(" + f" {word} ".join(infix(operand, words, leaf) for operand in condition.operands) + ")"


def common_leaf(leaf: Leaf) -> str:
    """As CEL and zen write a comparison."""
    if isinstance(leaf, Member):
        return f"{leaf.fact} in [{', '.join(map(literal, leaf.values))}]"
    return f"{leaf.fact} {leaf.op} {literal(leaf.value)}"


def cel_joined(gates: Gates) -> Ask:
    """The Rust CEL binding, all gates in one list expression."""
    import cel

    texts = [infix(condition, ("&&", "||", "!"), common_leaf) for _, condition in gates]
    program = cel.compile("[" + ", ".join(texts) + "]")
    return lambda case: list(program.execute(case))


def cel_each(gates: Gates) -> Ask:
    """The Rust CEL binding, one program per gate, as an unknown in one must not lose the others."""
    import cel

    programs = [cel.compile(infix(condition, ("&&", "||", "!"), common_leaf)) for _, condition in gates]
    return lambda case: [program.execute(case) for program in programs]


def zen(gates: Gates) -> Ask:
    """zen-engine, one expression node."""
    import zen as engine

    def node(name: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"id": name, "type": kind, "name": name, "position": {"x": 0, "y": 0}, **more}

    names = [f"g{number}" for number in range(len(gates))]
    expressions = [
        {"id": name, "key": name, "value": infix(condition, ("and", "or", "not "), common_leaf)}
        for name, (_, condition) in zip(names, gates, strict=True)
    ]
    graph = {
        "nodes": [
            node("in", "inputNode"),
            node("all", "expressionNode", content={"expressions": expressions}),
            node("out", "outputNode"),
        ],
        "edges": [
            {"id": "1", "sourceId": "in", "targetId": "all", "type": "edge"},
            {"id": "2", "sourceId": "all", "targetId": "out", "type": "edge"},
        ],
    }
    decision = engine.ZenEngine().create_decision(json.dumps(graph))

    def ask(case: dict[str, Any]) -> list[bool]:
        result = decision.evaluate(case)["result"]
        return [result[name] for name in names]

    return ask


def cedar(gates: Gates) -> Ask:
    """cedarpy, one permit per gate; the permits that hold are the reasons."""
    import cedarpy

    def leaf(one: Leaf) -> str:
        if isinstance(one, Member):
            return f"[{', '.join(map(literal, one.values))}].contains(context.{one.fact})"
        return f"context.{one.fact} {one.op} {literal(one.value)}"

    names = [f"g{number}" for number in range(len(gates))]
    permits = (
        f'@id("{name}") permit(principal, action, resource) when {{ {infix(condition, ("&&", "||", "!"), leaf)} }};'
        for name, (_, condition) in zip(names, gates, strict=True)
    )
    policies = cedarpy.PolicySet.from_str("\n".join(permits))
    entities = cedarpy.Entities.from_json_str("[]")

    def ask(case: dict[str, Any]) -> list[bool]:
        request = {"principal": 'U::"u"', "action": 'A::"a"', "resource": 'R::"r"', "context": case}
        answer = cedarpy.is_authorized(request, policies, entities)
        held = set(answer.diagnostics.id_annotations_by_reason.values())
        return [name in held for name in names]

    return ask


def regorus(gates: Gates) -> Ask:
    """regorus (Rego in Rust), one rule per way in which a gate passes."""
    import regorus as engine

    opposite = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

    def leaf(one: Leaf, want: bool) -> str:
        if isinstance(one, Member):
            return f"{'' if want else 'not '}input.{one.fact} in {{{', '.join(map(literal, one.values))}}}"
        return f"input.{one.fact} {one.op if want else opposite[one.op]} {literal(one.value)}"

    names = [f"g{number}" for number in range(len(gates))]
    lines = ["package gates", "import rego.v1"]
    for name, (_, condition) in zip(names, gates, strict=True):
        lines.append(f"default {name} := false")
        lines += [f"{name} if {{ {'; '.join(leaf(*one) for one in term)} }}" for term in terms(condition, True)]
    lines.append("all := [" + ", ".join(names) + "]")
    rego = engine.Engine()
    rego.add_policy("gates.rego", "\n".join(lines) + "\n")

    def ask(case: dict[str, Any]) -> list[bool]:
        rego.set_input_json(json.dumps(case))
        return list(rego.eval_rule("data.gates.all"))

    return ask


PEERS: dict[str, Callable[[Gates], Ask]] = {
    "CEL in Rust, one joined expression": cel_joined,
    "CEL in Rust, one program per gate": cel_each,
    "regorus": regorus,
    "cedarpy": cedar,
    "zen-engine": zen,
}
BASELINE = "CEL in Rust, one joined expression"
