"""Which facts are there, and what does each one say?

Everything that a condition, a facts file, the API or an adapter may name is declared here, once. JSON Schema, the
reference and editor completion are made from it. A fact that a runtime does not supply stays missing there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from oncemore.rules.digests import canonical, digest
from oncemore.rules.fact import RUNTIMES, Fact, FactType, Runtime

READING_AGE_MS = 60_000
"""How long a reading of the outside counts, unless its evidence says otherwise. The journal's own facts do not age."""


def _bool(name: str, by: str, meaning: str, *, age: int | None = None, changeable: bool = False) -> Fact:
    return Fact(name=name, type="bool", meaning=meaning, supplied_by=by, max_age=age, changeable=changeable)


def _int(name: str, by: str, meaning: str, *, age: int | None = None, unit: str = "count") -> Fact:
    return Fact(name=name, type="int", meaning=meaning, supplied_by=by, max_age=age, unit=unit)


def _enum(
    name: str,
    by: str,
    values: str,
    meaning: str,
    *,
    no_proof: str = "",
    age: int | None = None,
    changeable: bool = False,
    runtimes: tuple[Runtime, ...] = RUNTIMES,
) -> Fact:
    return Fact(
        name=name,
        type="enum",
        values=tuple(values.split()),
        no_proof=tuple(no_proof.split()),
        meaning=meaning,
        supplied_by=by,
        max_age=age,
        changeable=changeable,
        runtimes=runtimes,
    )


_AGE = READING_AGE_MS

_REQUEST = (
    _enum("request.role", "journal", "project steward agent", "In which role the person asked."),
    _enum("request.audience", "journal", "private group", "Who reads the conversation that asked."),
    _enum("request.host", "journal", "managed attached", "Whether the Session is run here, or only looked at."),
    _int("request.attachments", "journal", "How many attachments the message carries."),
    _bool("request.delegated", "journal", "Somebody asked on another person's behalf."),
    _enum(
        "request.state",
        "journal",
        "open answered stopped superseded",
        "Whether the Request still waits for its answer, and if not, what ended it.",
    ),
    _enum(
        "request.stop_origin",
        "journal",
        "none user operator system",
        "Who stopped the Request; none when nobody did.",
    ),
    _bool("request.steered", "journal", "A correction reached the Turn while it ran."),
    _bool(
        "request.opted_out",
        "journal",
        "The person, or whoever decides for all of them, switched recovery off.",
        changeable=True,
    ),
)

_SOURCE = (
    _enum(
        "source.state",
        "source",
        "unchanged edited recalled missing",
        "How the message that asked reads now, compared with what was accepted.",
        no_proof="missing",
        age=_AGE,
    ),
    _bool(
        "source.sender_verified", "source", "The message still comes from the person it was accepted from.", age=_AGE
    ),
)

_GRANT = (
    _enum(
        "grant.state",
        "grants",
        "intact changed revoked unavailable",
        "Whether the owner's permission and its workspace are still those recorded with the Request.",
        no_proof="unavailable",
        age=_AGE,
        changeable=True,
    ),
    _enum(
        "grant.level",
        "grants",
        "workspace_read workspace_write portfolio_read",
        "What the permission allows now.",
        age=_AGE,
        changeable=True,
    ),
)

_SESSION = (
    _enum(
        "session.state",
        "journal and runtime",
        "idle active closed",
        "Whether a Turn of the Session runs, by our record and the runtime's.",
        age=_AGE,
        changeable=True,
    ),
    _enum(
        "session.newer_input",
        "journal and source and runtime",
        "none queued dispatched",
        "Whether the person wrote something after the Request, and how far that has come.",
        age=_AGE,
    ),
)

_TURN = (
    _enum("turn.phase", "journal", "business quota route work review", "What kind of try the Turn was."),
    _int("turn.attempt", "journal", "Which try of its phase the Turn was, counted from one.", unit="ordinal"),
    _enum(
        "turn.status",
        "journal",
        "queued starting running completing interrupting completed failed interrupted timed_out withdrawn",
        "How far the Turn has come, or how it ended.",
    ),
    _enum(
        "turn.error",
        "journal",
        "none usage_limit_exceeded rate_limit_exceeded runtime_error upstream_transport_failure route_unavailable "
        "response_timeout idle_timeout hard_timeout session_queue_expired other",
        "Why the Turn failed; none when it did not.",
    ),
    _bool("turn.has_reply", "journal", "The Turn left a reply."),
    _bool("turn.has_deltas", "journal", "The Turn showed part of an answer."),
    Fact(
        name="turn.ended_ago",
        type="duration",
        meaning="How long ago the Turn ended, by the later of our clock's record and the runtime's.",
        supplied_by="journal",
        unit="ms",
        grows=True,
    ),
)

_RESPONSE = (
    _enum(
        "report.state",
        "response",
        "none valid invalid",
        "Whether the answer reported unfinished work, in the exact form that counts.",
    ),
    _bool(
        "response.has_gate",
        "response",
        "The answer asks a person to decide: a gate, a protected action, a handoff or proposals.",
    ),
)

_ATTEMPTS = (
    _int("attempts.work", "ledger", "Continuations used for this Request, withdrawn ones included."),
    _int("attempts.review", "ledger", "Reviews used for this Request, withdrawn ones included."),
    _int("attempts.quota", "ledger", "Retries after a usage limit used for this Request, withdrawn ones included."),
    _int("attempts.route", "ledger", "Retries after a failed route used for this Request, withdrawn ones included."),
    _bool("attempts.open", "ledger", "A try of this Request is reserved and not settled."),
)

_NATIVE = (
    _enum("native.runtime", "journal", "codex antigravity", "Which runtime ran the Turn, by the Session's record."),
    _enum(
        "native.read",
        "runtime",
        "stable changing unreadable",
        "Whether two complete reads of the thread agree.",
        no_proof="changing unreadable",
        age=_AGE,
    ),
    _enum(
        "native.coverage",
        "runtime",
        "complete partial",
        "Whether everything that the runtime holds of the thread was read.",
        no_proof="partial",
        age=_AGE,
    ),
    _enum("native.run_state", "runtime", "idle active", "Whether the runtime works on the thread now.", age=_AGE),
    _enum(
        "native.live_owner",
        "runtime",
        "none ours other",
        "Whose process has the thread loaded.",
        age=_AGE,
        changeable=True,
        runtimes=("codex",),
    ),
    _enum(
        "native.end_evidence",
        "runtime",
        "recorded projected none",
        "Whether the Turn's end is stored by the runtime, or only inferred.",
        no_proof="projected",
        age=_AGE,
    ),
    _bool("native.turn_bound", "runtime", "The native turn read is the one recorded for this Turn.", age=_AGE),
    _bool("native.latest", "runtime", "No native turn is newer.", age=_AGE),
    _enum(
        "native.status",
        "runtime",
        "completed failed interrupted in_progress absent",
        "How the runtime says that the turn ended.",
        age=_AGE,
    ),
    _enum(
        "native.error",
        "runtime",
        "none usage_limit rate_limit overloaded transport auth context other",
        "The runtime's own class of this turn's error.",
        age=_AGE,
    ),
    _bool("native.user_only", "runtime", "The native turn holds the person's message and nothing else.", age=_AGE),
    _int("native.user_inputs", "runtime", "How many messages the native turn received.", age=_AGE),
    _int("native.final_answers", "runtime", "How many final answers the native turn gave.", age=_AGE),
    _enum(
        "native.effects",
        "runtime",
        "none settled active failed",
        "What became of the turn's commands, edits and calls.",
        age=_AGE,
    ),
    _enum(
        "native.background",
        "runtime",
        "none running",
        "Whether commands started by the turn still run.",
        age=_AGE,
        changeable=True,
    ),
    _enum(
        "native.pending",
        "runtime",
        "none approval question",
        "What the runtime waits for from a person.",
        age=_AGE,
        changeable=True,
    ),
    _int("native.unknown_items", "runtime", "How many items of the thread are of a kind we do not know.", age=_AGE),
    _bool("native.foreign_input", "runtime", "Somebody else put input into the thread.", age=_AGE),
    _int("native.steps", "runtime", "How many steps the invocation took.", age=_AGE),
    _enum(
        "native.last_step",
        "runtime",
        "done canceled error active other",
        "How the last step of the invocation stands.",
        age=_AGE,
        runtimes=("antigravity",),
    ),
    Fact(
        name="native.steps_ended",
        type="bool",
        meaning="Every step of the invocation is done or cancelled.",
        supplied_by="runtime",
        max_age=_AGE,
        runtimes=("antigravity",),
    ),
    _bool("native.normal_final", "runtime", "A complete final answer that stopped normally exists.", age=_AGE),
)

_ROUTE = (
    _enum(
        "route.state",
        "route",
        "available exhausted unavailable",
        "Whether the model can be had now on this route, by its own reading or a configured probe.",
        no_proof="unavailable",
        age=_AGE,
    ),
    _bool(
        "route.restricted_profile",
        "runtime",
        "The restricted profile holds, as read back from the very process that will run.",
        age=_AGE,
        changeable=True,
    ),
)


def _material(name: str, type_: FactType, meaning: str, values: str = "", unit: str = "") -> Fact:
    return Fact(
        name=name,
        type=type_,
        values=tuple(values.split()),
        meaning=meaning,
        supplied_by="runtime",
        max_age=_AGE,
        unit=unit,
        runtimes=("antigravity",),
    )


_MATERIAL = (
    _material(
        "material.kind",
        "enum",
        "What is left of the unfinished answer: its own last text, else what its tools gave back by then.",
        "none visible_response visible_results",
    ),
    _material("material.segment", "enum", "Whether the part that was read has ended.", "closed open mixed"),
    _material("material.identity", "enum", "Whether the material belongs to exactly this Turn.", "matched mismatched"),
    _material("material.tool_calls", "int", "How many tool calls were made in the part that was read.", unit="count"),
    _material("material.bytes", "int", "How long the material is in UTF-8.", unit="bytes"),
)

_DELIVERY = (
    _enum(
        "delivery.notice",
        "journal",
        "none verified unverified ambiguous",
        "What became of the earlier reply or failure notice.",
        no_proof="ambiguous",
        changeable=True,
    ),
)

FACTS: Mapping[str, Fact] = MappingProxyType(
    {
        fact.name: fact
        for fact in (
            *_REQUEST,
            *_SOURCE,
            *_GRANT,
            *_SESSION,
            *_TURN,
            *_RESPONSE,
            *_ATTEMPTS,
            *_NATIVE,
            *_ROUTE,
            *_MATERIAL,
            *_DELIVERY,
        )
    }
)
"""Every fact by name, in the order of the reference."""

TEXT = canonical([fact.model_dump(mode="json") for fact in FACTS.values()])
"""What the vocabulary says, canonical; kept beside the decisions made under it."""

DIGEST = digest(TEXT)
"""The text's digest; a decision records under which it was made."""


def facts_from_text(text: str) -> dict[str, Fact]:
    """The facts of a kept `TEXT`, by name.

    Raises:
        ValueError: it is none.
    """
    return {fact.name: fact for fact in map(Fact.model_validate_json, map(json.dumps, json.loads(text)))}
