"""What a verification found, in words and as a document."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import counted, quoted
from ledger.integrity.findings import WHOLE
from ledger.integrity.verify import Check, Finding, Report, Standing, StreamReport
from ledger.run.sources import PREFIX

CODES = {
    Standing.SOUND: Exit.FINE,
    Standing.ALTERED: Exit.BAD_NEWS,
    Standing.UNSUPPORTED: Exit.CANNOT_TELL,
}

UNANCHORED = (
    "UNANCHORED: consistent in itself, compared with nothing outside. Who can write to the file, or "
    "administer the database, could cut off the end of a run, or write its whole history anew, without a "
    "trace; a seal kept elsewhere would show it, and none exists yet."
)


def code_of(report: Report) -> Exit:
    """Tell the exit code; where no event is there at all, nothing can be told."""
    if report.standing is Standing.SOUND and report.events == 0:
        return Exit.CANNOT_TELL
    return CODES[report.standing]


def sentence(report: Report) -> list[str]:
    """Say the verdict, and what it does not cover."""
    said = [_verdict(report)]
    if report.missing_blobs:
        missing = counted(report.missing_blobs, "content")
        said.append(
            f"MISSING: {missing} that records name: never kept here, or taken away. No event says that "
            "they were dropped, so this cannot be told."
        )
    given_up = sum(report.given_up_blobs.values())
    if report.expired_blobs > given_up:
        expired = counted(report.expired_blobs - given_up, "content")
        said.append(
            f"EXPIRED: {expired} that records name, dropped on purpose (one that several runs name counts "
            "for each): `intent-ledger log '$ledger'` says when, by whom and why."
        )
    if given_up:
        said.append(_given_up(report.given_up_blobs))
    if report.unfinished_blobs:
        still = counted(report.unfinished_blobs, "content")
        said.append(
            f"STILL HERE: {still} that events name as dropped, and no later record names: left by an expiry "
            "that was cut short, or by an import. `intent-ledger expire --finish` drops them."
        )
    if report.repeated_ids:
        said.append(
            f"REPEATED: {counted(report.repeated_ids, 'event')} with the id of an earlier one of the stream: "
            "whoever gives ids to this ledger gave some twice. What names an event by such an id is unclear."
        )
    if report.unordered:
        said.append(
            f"NOT YET IN ORDER: {counted(report.unordered, 'event')} that the global order does not show "
            "yet: they came meanwhile, or behind a transaction that was open. In their streams they were "
            "looked at."
        )
    if report.unguarded:
        said.append(
            f"UNGUARDED: missing or changed: {', '.join(report.unguarded)}. It alters nothing that is "
            "stored, but events can be altered without it: run intent-ledger doctor."
        )
    return said if report.anchored else [*said, UNANCHORED]


def _given_up(contents: Mapping[str, int]) -> str:
    """Say of which runs states were given up, those first that have most."""
    runs = sorted(contents, key=lambda run: (-contents[run], run))
    more = f" and {counted(len(runs) - 1, 'other run')}" if len(runs) > 1 else ""
    given_up = counted(sum(contents.values()), "content")
    look = f"intent-ledger log {shlex.quote(one_line(runs[0]))} --only state.dropped"
    return (
        f"GIVEN UP: {given_up} of saved states of run {quoted(runs[0])}{more}, dropped on purpose: "
        f"`{look}` says when, by whom and why."
    )


def _verdict(report: Report) -> str:
    seen = f"{counted(report.events, 'event')} in {counted(len(report.streams), 'stream')}"
    code = code_of(report)
    if code is Exit.FINE:
        looks = counted(sum(report.checked.values()), "comparison")
        return f"SOUND: {seen}, {looks}: everything is what was written."
    if code is Exit.BAD_NEWS:
        broken = sum(stream.standing is Standing.ALTERED for stream in report.streams)
        whole = any(finding.stream == WHOLE for finding in report.findings)
        more = ", nor is the ledger as a whole" if whole else ""
        return (
            f"ALTERED: {broken:,} of {counted(len(report.streams), 'stream')} not as written{more} ({seen})."
        )
    unsupported = {f.check for f in report.findings if f.standing is Standing.UNSUPPORTED}
    if Check.STORE in unsupported:
        return f"CANNOT TELL: not all of the ledger can be seen from here, as is said below ({seen})."
    if unsupported - {Check.BLOBS}:
        return f"CANNOT TELL: something is newer than this program ({seen}): upgrade intent-ledger."
    if report.events:
        return f"CANNOT TELL: what is here is what was written, and some content is not here ({seen})."
    return f"CANNOT TELL: tenant {report.tenant} has no event: it is new, or all of it is gone."


def summary(report: Report) -> dict[str, Any]:
    """Give the report as one JSON object."""
    return {
        "standing": "empty" if report.events == 0 and not report.findings else str(report.standing),
        "anchored": report.anchored,
        "tenant": report.tenant,
        "streams": len(report.streams),
        "events": report.events,
        "upto": str(report.upto),
        "checked": {str(check): count for check, count in report.checked.items()},
        "missing_contents": report.missing_blobs,
        "expired_contents": report.expired_blobs,
        "given_up_contents": dict(report.given_up_blobs),
        "unfinished_contents": report.unfinished_blobs,
        "repeated_ids": report.repeated_ids,
        "not_yet_in_order": report.unordered,
        "unguarded": list(report.unguarded),
        "snapshots_passed_over": report.passed_over,
        "broken": [
            {
                "stream": stream.stream,
                "standing": str(stream.standing),
                "first_broken": stream.first_broken,
                "events": stream.events,
            }
            for stream in report.streams
            if stream.standing is not Standing.SOUND
        ],
        "findings": [_finding(finding) for finding in report.findings],
        "findings_omitted": report.omitted,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "check": str(finding.check),
        "standing": str(finding.standing),
        "stream": finding.stream,
        "position": finding.position,
        "what": finding.what,
    }


def stream_words(stream: str) -> str:
    """Name a stream as people know it."""
    if stream == WHOLE:
        return "the ledger as a whole"
    if stream.startswith(PREFIX):
        return f"source {quoted(stream.removeprefix(PREFIX))}"
    return f"run {quoted(stream)}"


def where_words(report: Report, stream: StreamReport) -> str:
    """Say where a stream is not as written."""
    if stream.first_broken is not None:
        return f"from position {stream.first_broken}"
    found = {f.check for f in report.findings if f.stream == stream.stream and f.standing is Standing.ALTERED}
    return "in the global order" if Check.ORDER in found else "beside its events"
