"""The script of a fake forge: rules that say which request meets which fault, and THE TABLE of faults.

A script is a list of ``{match: {method?, path?, operation?, event?, nth?, every?, after?}, fault, with?}``; the first
rule that matches wins (connectors.md 24). Each rule counts the requests that fit its method, path, operation and
event; ``nth`` is one of them (or a list), ``every`` each n-th, ``after`` all behind the n-th. Rules about connections
count connections, rules about deliveries count deliveries. Raises ``ScriptError`` and nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Stage(StrEnum):
    """Where a fault takes hold."""

    LISTEN = "listen"
    """The port itself: nobody gets a connection."""
    CONNECT = "connect"
    """A connection just accepted, TLS included."""
    UPLOAD = "upload"
    """The head is read, the body is not; nothing is performed."""
    INSTEAD = "instead"
    """An answer without performing anything."""
    ACT = "act"
    """Something changes on the forge; the request itself is performed as usual."""
    QUIRK = "quirk"
    """The request is performed, in another way than this forge's usual."""
    PAGE = "page"
    """A list answer that misbehaves."""
    LAG = "lag"
    """A read that shows the past."""
    AFTER = "after"
    """Performed; the answer is lost or spoilt."""
    DELIVERY = "delivery"
    """A webhook."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A row of the table: its stage and the keys that ``with`` may have."""

    stage: Stage
    keys: frozenset[str] = frozenset()


def _of(stage: Stage, *names: str) -> dict[str, Fault]:
    return {name.split()[0]: Fault(stage, frozenset(name.split()[1:])) for name in names}


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        **_of(Stage.LISTEN, "refuse", "hang_on_connect"),
        **_of(Stage.CONNECT, "reset_on_connect", "close_before_read"),
        **_of(Stage.CONNECT, "tls_untrusted", "tls_wrong_name", "tls_reset", "tls_hang"),
        **_of(Stage.UPLOAD, "reset_mid_upload bytes", "stall_mid_upload bytes"),
        **_of(Stage.AFTER, "close_idle when", "act_then_close", "act_then_reset", "act_then_hang"),
        **_of(Stage.AFTER, "act_then_5xx status body headers", "act_then_cut_head bytes", "act_then_cut_body chunked"),
        **_of(Stage.AFTER, "act_then_bad_json body", "act_then_bad_gzip", "act_then_empty", "tls_garbage_after"),
        **_of(Stage.AFTER, "drip bytes_per_s"),
        **_of(Stage.INSTEAD, "status code body headers", "throttle_primary seconds", "throttle_secondary seconds"),
        **_of(Stage.INSTEAD, "throttle_plain", "throttle_date_form seconds", "graphql_throttle"),
        **_of(Stage.INSTEAD, "redirect to code", "redirect_empty code", "redirect_loop code"),
        **_of(Stage.ACT, "transfer number to repo", "rename_repo to repo", "gone number repo", "hide number repo"),
        **_of(Stage.ACT, "issues_off repo", "archive repo", "options_regenerated field", "label_renamed from to repo"),
        **_of(Stage.ACT, "label_recased from to repo", "clock_skew seconds", "revoke_token token"),
        **_of(Stage.ACT, "scope_missing scope token", "person act when"),
        **_of(Stage.LAG, "lag seconds what"),
        **_of(Stage.PAGE, "page_overlap", "page_loop", "page_empty_next page", "page_cut", "page_clamp to links"),
        **_of(Stage.PAGE, "no_totals", "shift_while_reading"),
        **_of(Stage.QUIRK, "unknown_label_created", "unknown_label_dropped", "unknown_filter_ignored"),
        **_of(Stage.QUIRK, "put_replaces", "remove_by_name_404"),
        **_of(Stage.DELIVERY, "deliver_twice", "deliver_late seconds", "deliver_lost", "deliver_unknown_action"),
        **_of(Stage.DELIVERY, "deliver_bad_signature", "deliver_out_of_order"),
    }
)
"""Every fault (connectors.md 24). A test proves that each is used by at least one test."""

REQUEST_STAGES = frozenset(Stage) - {Stage.LISTEN, Stage.CONNECT, Stage.DELIVERY}


class ScriptError(Exception):
    """The script cannot be used: what was found, and what is near to it."""


class Match(BaseModel):
    """What a rule looks at; everything that is given must fit. ``path`` may hold ``*``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = ""
    path: str = ""
    operation: str = ""
    event: str = ""
    nth: int | list[int] | None = None
    every: int | None = Field(default=None, gt=0)
    after: int | None = Field(default=None, ge=0)


class Rule(BaseModel):
    """One line of a script."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    match: Match = Match()
    fault: str
    given: dict[str, Any] = Field(default_factory=dict, alias="with")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is matched: empty parts match only rules that do not ask for them."""

    method: str = ""
    path: str = ""
    operation: str = ""
    event: str = ""


@dataclass(slots=True)
class Script:
    """The rules with their counters. Not locked: the desk's lock is held by the caller."""

    rules: tuple[Rule, ...] = ()
    counts: dict[int, int] = field(default_factory=dict)

    def pick(self, stages: Collection[Stage], facts: Facts) -> Rule | None:
        """Count ``facts`` and answer the first rule of these stages that fires."""
        won: Rule | None = None
        for index, rule in enumerate(self.rules):
            if FAULTS[rule.fault].stage not in stages or not _fits(rule.match, facts):
                continue
            self.counts[index] = self.counts.get(index, 0) + 1
            if won is None and _due(rule.match, self.counts[index]):
                won = rule
        return won

    def listening(self, connections: int) -> str:
        """``refuse`` or ``hang_on_connect`` when such a rule holds after so many requests, else nothing."""
        for rule in self.rules:
            if FAULTS[rule.fault].stage is Stage.LISTEN and connections >= (rule.match.after or 0):
                return rule.fault
        return ""

    def has(self, stage: Stage) -> bool:
        """Whether any rule is of the stage."""
        return any(FAULTS[rule.fault].stage is stage for rule in self.rules)


def _fits(match: Match, facts: Facts) -> bool:
    return (
        (not match.method or match.method.upper() == facts.method)
        and (not match.path or fnmatchcase(facts.path, match.path))
        and (not match.operation or fnmatchcase(facts.operation, match.operation))
        and (not match.event or match.event == facts.event)
    )


def _due(match: Match, count: int) -> bool:
    if match.nth is not None:
        return count == match.nth if isinstance(match.nth, int) else count in match.nth
    if match.every is not None:
        return count % match.every == 0
    return count > (match.after or 0)


def read_script(document: object) -> Script:
    """Check a script as it came from JSON. Raises ``ScriptError``."""
    if not isinstance(document, Sequence) or isinstance(document, str | bytes):
        raise ScriptError("A script is a list of rules.")
    return Script(tuple(_rule(number, each) for number, each in enumerate(document, 1)))


def _rule(number: int, document: object) -> Rule:
    try:
        rule = Rule.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            model, name = (Match if len(first["loc"]) > 1 else Rule), str(first["loc"][-1])
            known = [field.alias or key for key, field in model.model_fields.items()]
            raise ScriptError(f'Rule {number}: there is no key "{where}".{nearest(name, known)}') from None
        raise ScriptError(f"Rule {number}: {where}: {first['msg']}.") from None
    fault = FAULTS.get(rule.fault)
    if fault is None:
        raise ScriptError(f'Rule {number}: there is no fault "{rule.fault}".{nearest(rule.fault, FAULTS)}')
    for key in rule.given:
        if key not in fault.keys:
            allowed = ", ".join(sorted(fault.keys)) or "nothing"
            raise ScriptError(f'Rule {number}: {rule.fault} takes {allowed} in "with", not "{key}".')
    return rule


def nearest(word: str, known: Collection[str]) -> str:
    """`` Did you mean X?``, or nothing when nothing is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]}?" if near else f" Known are: {', '.join(sorted(known))}."
