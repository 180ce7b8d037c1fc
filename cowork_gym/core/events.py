"""An episode as events, one for each line of its file, and back. The way back trusts nothing: it is the form of the file."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from cowork_gym.core.canonical import exact
from cowork_gym.core.columns import TokenRow
from cowork_gym.core.episode import FIRST_VERSION, SCHEMA_VERSION, Ending, Episode
from cowork_gym.core.events_runs import read_runs, run_events
from cowork_gym.core.events_world import (
    change_event,
    ledger_events,
    read_change,
    read_ledger,
    read_stage,
    read_turn,
    stage_event,
    turn_event,
)
from cowork_gym.core.forms import Event, read_fault, read_messages, take
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.task import Budgets
from cowork_gym.core.trajectory import ROOT, Composition, Origin, PolicyCard

__all__ = ["VERSIONS", "events_of", "read_events"]

VERSIONS = range(FIRST_VERSION, SCHEMA_VERSION + 1)
"""Those that are written and read."""

_LONGEST = 10**12
"""Seconds that a budget may have in a file."""


def events_of(episode: Episode) -> Iterator[Event]:
    """What is sealed: all of an episode but its grade. One of the first version has the form that it was written in.

    Raises:
        ValueError: Its version is unknown or has no form for what it holds, or its tokens cannot be kept.
    """
    version = episode.schema_version
    if version not in VERSIONS or (version == FIRST_VERSION and _is_newer(episode)):
        raise ValueError(f"the episode of {episode.task} cannot be written in version {version}")
    yield {
        "event": "episode", "schema_version": version, "task": episode.task, "release_id": episode.release_id, "seed": episode.seed,
        "agent": episode.agent, "start": episode.start, "opening": [one.wire() for one in episode.opening],
        **(_harness_form(episode) if version > FIRST_VERSION else {}),
    }
    for turn in episode.turns:
        yield turn_event(turn, version)
    yield from run_events(episode.runs, episode.turns)
    yield from ledger_events(episode.ledger)
    yield from map(stage_event, episode.stages)
    yield from map(change_event, episode.changes)
    yield {
        "event": "end", "ending": episode.ending, "answer": episode.answer, "fault": asdict(episode.fault) if episode.fault else None,
        "fingerprint": episode.end, "ledger": episode.ledger.hash,
    }


def _is_newer(episode: Episode) -> bool:
    """Whether it holds what the first version has no place for."""
    added = (episode.policy, episode.composition, episode.origin)
    return bool(episode.runs) or added != (None, None, None) or episode.budgets != Budgets() or any(
        turn.run != ROOT or turn.state or any(one.inner for one in turn.dispatches) for turn in episode.turns
    )


def _harness_form(episode: Episode) -> Event:
    budgets, composition = episode.budgets, episode.composition
    return {
        "budgets": {"turns": budgets.turns, "calls": budgets.calls, "tokens": budgets.tokens, "seconds": exact(budgets.seconds)},
        "policy": _policy_form(episode.policy) if episode.policy else None,
        "composition": {"sha256": composition.sha256, "manifest": composition.manifest} if composition else None,
        "origin": asdict(episode.origin) if episode.origin else None,
    }


def _policy_form(policy: PolicyCard) -> Event:
    """A policy's card; its seed is left out where it is not known."""
    return {name: value for name, value in asdict(policy).items() if value is not None}


def read_events(events: Sequence[Event], tokens: Sequence[TokenRow] = ()) -> Episode:
    """The episode that these events tell, without a grade.

    Args:
        events: All that is sealed.
        tokens: What the file of tokens has.

    Raises:
        ValueError: One has other fields than `events_of` gives it, or a value that cannot be there; or they contradict each other.
    """
    version = events[0]["schema_version"]
    since: dict[str, Any] = {}
    if version > FIRST_VERSION:
        since = {"budgets": dict, "policy": dict | None, "composition": dict | None, "origin": dict | None}
    head = take(
        events[0], event=str, schema_version=int, task=str, release_id=str, seed=int, agent=str, start=str, opening=list, **since,
    )
    end = take(events[-1], event=str, ending=str, answer=str | None, fault=dict | None, fingerprint=str, ledger=str)
    by: dict[str, list[Event]] = {"turn": [], "run": [], "ledger": [], "change": [], "stage": []}
    for event in events[1:-1]:
        kind = event["event"]
        by.setdefault("run" if kind in ("segment", "generation") else kind, []).append(event)
    turns = tuple([read_turn(one, version) for one in by["turn"]])
    if [turn.index for turn in turns] != [*range(len(turns))]:
        raise ValueError("a turn is missing, or comes twice")
    episode = Episode(
        task=head["task"], release_id=head["release_id"], seed=head["seed"], agent=head["agent"], start=head["start"],
        opening=read_messages(head["opening"]), turns=turns, ledger=read_ledger(by["ledger"], end["ledger"]),
        stages=tuple([read_stage(one) for one in by["stage"]]), changes=tuple([read_change(one) for one in by["change"]]),
        end=end["fingerprint"], ending=Ending(end["ending"]), answer=end["answer"], fault=read_fault(end["fault"]),
        schema_version=version, runs=read_runs(by["run"], turns, tokens), **(_harness(head) if since else {}),
    )
    _check(episode)
    return episode


def _harness(head: Event) -> dict[str, Any]:
    """What the head tells since the first version."""
    budgets = take(head["budgets"], turns=int, calls=int, tokens=int | None, seconds=object)
    policy, composition, origin = head["policy"], head["composition"], head["origin"]
    return {
        "budgets": Budgets(**{**budgets, "seconds": _seconds(budgets["seconds"])}),
        "policy": None if policy is None else PolicyCard(**take(policy, ("seed",), name=str, version=str, tokenizer=str, seed=int | None)),
        "composition": None if composition is None else Composition(_manifest(take(composition, sha256=str, manifest=dict)["manifest"])),
        "origin": None if origin is None else Origin(**take(origin, seal=str, turn=int)),
    }


def _manifest(value: Any) -> Any:
    """A manifest's value with fractions as floats, as components are made from them; one that no float can hold stays a decimal."""
    if isinstance(value, Decimal):
        return float(value) if exact(float(value)) == value else value
    if isinstance(value, dict):
        return {name: _manifest(one) for name, one in value.items()}
    return [_manifest(one) for one in value] if isinstance(value, list) else value


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= _LONGEST:
        raise ValueError(f"not a budget of seconds: {str(value)[:40]}")
    return float(value)


def _check(episode: Episode) -> None:
    """See that the events agree with each other."""
    if episode.ending is Ending.FINAL and episode.answer != (episode.turns[-1].said.content if episode.turns else None):
        raise ValueError("the answer is not what the last turn says")
    _check_parts(episode)
    if found := contradiction_of_runs(episode):
        raise ValueError(found)


def _check_parts(episode: Episode) -> None:
    """See that each part was closed where the turns and the ledger say so, by the message that it names."""
    turns, entries = 0, 0
    for stage in episode.stages:
        if not (turns < stage.turns <= len(episode.turns) and entries <= stage.entries <= len(episode.ledger)):
            raise ValueError("a part is closed where no turn or entry is, or before the part that it follows")
        turns, entries, closing = stage.turns, stage.entries, episode.turns[stage.turns - 1]
        if closing.action is None or closing.action.tool_calls or closing.action.content != stage.answer:
            raise ValueError("a part is closed by another message than its turn says")
        for turn in episode.turns:
            if any(one.sequence is not None and not one.replayed and (one.sequence <= entries) is (turn.index >= turns) for one in turn.dispatches):
                raise ValueError("a part is closed before a call that was made in it, or after one of the next")
