"""Settings: read once, refused when they cannot be meant."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ledger.adapters.settings import read_settings
from ledger.errors import InvalidInput


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("URL", "TENANT", "ACTOR"):
        monkeypatch.delenv(f"INTENT_LEDGER_{setting}", raising=False)


def test_defaults() -> None:
    settings = read_settings()
    assert (settings.url, settings.tenant, settings.actor) == ("./ledger.db", "default", None)
    assert settings.writer is None


def test_the_environment_counts_before_defaults_and_what_is_given_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INTENT_LEDGER_URL", "env.db")
    monkeypatch.setenv("INTENT_LEDGER_TENANT", "acme")
    monkeypatch.setenv("INTENT_LEDGER_ACTOR", "human:kim")
    assert read_settings().url == "env.db"
    settings = read_settings(url="given.db", tenant=None)
    assert (settings.url, settings.tenant) == ("given.db", "acme")
    assert settings.writer is not None
    assert (settings.writer.id, settings.writer.authenticated_by) == ("human:kim", None)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        read_settings().tenant = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("INTENT_LEDGER_URL", "", "--ledger or INTENT_LEDGER_URL"),
        ("INTENT_LEDGER_TENANT", "", "--tenant or INTENT_LEDGER_TENANT"),
        ("INTENT_LEDGER_TENANT", "a\nb", "--tenant or INTENT_LEDGER_TENANT"),
        ("INTENT_LEDGER_ACTOR", "kim", "--actor or INTENT_LEDGER_ACTOR"),
        ("INTENT_LEDGER_ACTOR", "customer:17", "--actor or INTENT_LEDGER_ACTOR"),
    ],
)
def test_a_malformed_setting_is_refused_and_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, named: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput) as refused:
        read_settings()
    assert refused.value.path == named


def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENT_LEDGER_URI", "runs.db")
    with pytest.raises(InvalidInput, match="did you mean INTENT_LEDGER_URL"):
        read_settings()


@pytest.mark.parametrize("name", ["FOO", "DATABASE", "X"])
def test_a_variable_like_none_of_ours_is_refused_with_all_there_are(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"INTENT_LEDGER_{name}", "x")
    with pytest.raises(InvalidInput) as refused:
        read_settings()
    assert refused.value.reason == (
        "no such setting; known are INTENT_LEDGER_ACTOR, INTENT_LEDGER_TENANT, INTENT_LEDGER_URL"
    )


def test_the_variable_of_shell_completion_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_INTENT_LEDGER_COMPLETE", "complete_bash")
    assert read_settings().tenant == "default"
