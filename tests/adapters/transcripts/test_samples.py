"""The sample transcripts that come with the product."""

from ledger import Ledger
from ledger.adapters.transcripts import Tools, import_transcripts, sample_path, sample_tools_path
from ledger.events import EffectFailed, EffectIntended, EffectSucceeded
from tests.adapters.transcripts.conversation import events


def test_the_samples_hold_what_a_ledger_is_for(ledger: Ledger) -> None:
    report = import_transcripts(ledger, sample_path(), tools=sample_tools_path())
    assert report.counts == {"added": 3, "grown": 0, "unchanged": 0, "refused": 0, "broken": 0}
    assert report.sources == 1
    told = {row.run: events(ledger, str(row.run)) for row in report.rows}
    outcomes = {
        run: [type(event) for event in happened if isinstance(event, EffectFailed | EffectSucceeded)]
        for run, happened in told.items()
    }
    assert outcomes == {
        "hotel-41": [EffectFailed, EffectSucceeded],
        "hotel-42": [EffectSucceeded] * 3,
        "hotel-43": [],
    }
    for run in ("hotel-41", "hotel-42"):
        booked = [e for e in told[run] if isinstance(e, EffectIntended) and e.tool == "book_room"]
        assert [event.occurrence for event in booked] == ["1", "2"]
        assert booked[0].act == booked[1].act
    (refund,) = ledger.contract("hotel-43").effects
    assert (refund.tool, refund.status) == ("refund", "unknown")
    assert len(ledger.contract("hotel-41").constraints) == 9


def test_the_tools_file_declares_every_tool_the_samples_call(ledger: Ledger) -> None:
    declared = Tools.read(sample_tools_path()).tools
    import_transcripts(ledger, sample_path())
    called = {
        event.tool
        for run in ledger.runs().runs
        for event in events(ledger, run.run)
        if isinstance(event, EffectIntended)
    }
    assert called == set(declared)
