"""The index columns are digests of what an event is about, each with its scope and kind inside."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.codec import (
    act_digest,
    claim_digest,
    columns,
    drop_digest,
    effect_digest,
    line_digest,
    message_digest,
    observation_digest,
    part_digest,
    state_digest,
)
from ledger.events import (
    EVENT_CLASSES,
    EffectIntended,
    EffectStarted,
    Event,
    MessageRecorded,
    ObservationInvalidated,
    ObservationRecorded,
    StatePartSaved,
    StateSaved,
    StatesDropped,
)
from ledger.record import short_digest
from ledger.values import Kept, Payload, Recovery
from tests.record.records import row_of
from tests.strategies import NOON, event, events, ids

KEY = "1a" * 32
ACT = "2b" * 32
STARTED = EffectStarted(attempt=1, key=KEY, lease_until=NOON, root="run-0", worker="w")
INTENDED = EffectIntended(
    act=ACT, args="{}", key=KEY, key_scheme="v1", recovery=Recovery.QUERYABLE, tool="refund"
)
SEEN = ObservationRecorded(key="order 17", observed_at=NOON, tool="t", value=Payload(json_text="1"))


@pytest.mark.parametrize(
    ("found", "digest"),
    [
        (effect_digest(KEY), "00e8381754126cfdb568a607195ea416"),
        (act_digest(ACT), "518260a80cf2a6ec8ae42825b4ec5b20"),
        (claim_digest("run-0", KEY, 1), "f6f2cbe91c64a700d016f25c7b6cbcb5"),
        (observation_digest("refund-17", "order 17"), "1c902947e89a331803b19b9d9cc2c0db"),
        (message_digest("refund-17", "m-1"), "8e8441e3b4d1df85718a4110c97ba8e6"),
        (observation_digest("z\u00fcrich", '"\n\\'), "f63aa114da26f2930a9b4aec4a824083"),
    ],
)
def test_the_digests_are_pinned(found: bytes, digest: str) -> None:
    assert found.hex() == digest


def test_each_digest_finds_the_events_it_is_for() -> None:
    assert columns(INTENDED, "r") == (effect_digest(KEY), act_digest(ACT), None)
    assert columns(STARTED, "r") == (effect_digest(KEY), None, claim_digest("run-0", KEY, 1))
    assert columns(SEEN, "r") == (observation_digest("r", "order 17"), None, None)
    gone = ObservationInvalidated(key="order 17", reason="x")
    assert columns(gone, "r") == columns(SEEN, "r")
    said = MessageRecorded(content=Payload(json_text="1"), id="m-1", role="user")
    assert columns(said, "r") == (message_digest("r", "m-1"), None, None)


def test_states_are_found_by_line_and_name_and_what_was_dropped_by_the_run() -> None:
    kept = Kept(digest=ACT, size=1)
    assert columns(StateSaved(content=kept, id="s"), "r") == (state_digest("r", None, "s"), None, None)
    on_line = columns(StateSaved(content=kept, id="s", line="a"), "r")
    assert on_line == (state_digest("r", "a", "s"), line_digest("r", "a"), None)
    part = StatePartSaved(content=kept, line="a", state="s", task="t")
    assert columns(part, "r") == (part_digest("r", "a", "s"), None, None)
    dropped = StatesDropped(by="human:kim", reason="x")
    assert columns(dropped, "r") == (drop_digest("r"), None, None)


@given(st.tuples(ids(), st.none() | ids(), ids()), st.tuples(ids(), st.none() | ids(), ids()))
def test_no_two_states_are_found_under_one_digest(one: Any, other: Any) -> None:
    for digest in (state_digest, part_digest):
        assert (digest(*one) == digest(*other)) == (one == other)
    run, line, id = one
    assert len({digest(run, line, id) for digest in (state_digest, part_digest)} | {drop_digest(run)}) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("r", "a", "b:c"), ("r", "a:b", "c")),
        (("r", "a\nb", "c"), ("r", "a", "b\nc")),
        (("r", None, "a"), ("r", "a", "")),
        (("r#1", "2", "s"), ("r", "#12", "s")),
    ],
)
def test_a_line_and_an_id_cannot_be_shifted_into_one_another(one: Any, other: Any) -> None:
    assert state_digest(*one) != state_digest(*other)
    assert part_digest(*one) != part_digest(*other)


@given(events(), ids(), ids())
def test_effects_are_found_from_every_run_and_names_only_in_theirs(said: Event, one: str, other: str) -> None:
    assume(one != other)
    here, there = columns(said, one), columns(said, other)
    kind = said.name.partition(".")[0]
    if kind in ("assumption", "ledger", "message", "observation", "state") and said.keyed_by is not None:
        assert here[0] != there[0]
    else:
        assert here == there


@given(event(EffectStarted), event(EffectStarted))
def test_two_starts_share_a_claim_only_for_one_attempt_at_one_key_in_one_lineage(
    one: EffectStarted, other: EffectStarted
) -> None:
    same = (one.root, one.key, one.attempt) == (other.root, other.key, other.attempt)
    assert (columns(one, "r")[2] == columns(other, "s")[2]) == same
    assert columns(one, "r")[2] == columns(one.model_copy(update={"worker": "another"}), "s")[2]


@pytest.mark.parametrize("kind", EVENT_CLASSES, ids=lambda kind: kind.name)
@settings(max_examples=max(10, settings().max_examples // 5))
@given(data=st.data())
def test_columns_are_sixteen_bytes_or_nothing(kind: type[Event], data: st.DataObject) -> None:
    said = data.draw(event(kind))
    key, act, claim = columns(said, "r")
    assert (key is not None) == (kind.keyed_by is not None)
    on_line = isinstance(said, StateSaved) and said.line is not None
    assert (act is not None) == (kind is EffectIntended or on_line)
    assert (claim is not None) == (kind is EffectStarted)
    assert all(part is None or len(part) == 16 for part in (key, act, claim))
    assert row_of(said, run="r")[3:6] == (key, act, claim)


@given(st.lists(ids(), max_size=3), st.lists(ids(), max_size=3))
def test_no_two_lists_of_parts_look_alike(one: list[str], other: list[str]) -> None:
    assert (short_digest(*one) == short_digest(*other)) == (one == other)


@pytest.mark.parametrize(("one", "other"), [(("a", "b"), ("a\nb",)), (('a"', "b"), ("a", '"b')), (("",), ())])
def test_parts_cannot_be_shifted_into_one_another(one: Any, other: Any) -> None:
    assert short_digest(*one) != short_digest(*other)


def test_a_key_is_never_found_under_another_kind() -> None:
    digests = {
        effect_digest(KEY),
        act_digest(KEY),
        observation_digest("r", KEY),
        message_digest("r", KEY),
        claim_digest("r", KEY, 1),
        claim_digest("r", KEY, 2),
        claim_digest(KEY, "r", 1),
        short_digest("effect", "r", KEY),
    }
    assert len(digests) == 8


def test_every_digest_has_its_public_name() -> None:
    assert {name for name in vars(codec) if name.endswith("_digest")} == {
        "act_digest",
        "claim_digest",
        "drop_digest",
        "effect_digest",
        "line_digest",
        "message_digest",
        "observation_digest",
        "part_digest",
        "short_digest",
        "state_digest",
    }
