"""Names of fields that hold secrets, compared without regard to case, `-`, `_` and camelCase."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.canonical import invalid

DEFAULT_NAMES: frozenset[str] = frozenset(
    {
        # what a person knows
        *("password", "passwd", "passphrase", "passcode", "pin", "otp", "one_time_password"),
        *("new_password", "old_password", "current_password", "confirm_password", "password_confirmation"),
        *("user_password", "db_password", "database_password", "master_password", "root_password"),
        *("mnemonic", "seed_phrase"),
        # what a program is given
        *("secret", "client_secret", "app_secret", "api_secret", "shared_secret", "webhook_secret"),
        *("signing_secret", "secret_value", "credential", "credentials"),
        *("api_key", "x_api_key", "access_key", "secret_key", "private_key", "signing_key", "encryption_key"),
        *("secret_access_key", "aws_secret_access_key", "aws_session_token"),
        *("token", "access_token", "refresh_token", "auth_token", "x_auth_token", "id_token", "bearer_token"),
        *("session_token", "api_token", "bot_token", "personal_access_token", "bearer", "jwt"),
        *("authorization", "proxy_authorization", "cookie", "cookies", "set_cookie"),
        # what stands on a card; `card_number` stands for all fields that say card, and is known by its digits
        *("cvv", "cvv2", "cvc", "card_cvv", "card_cvc", "card_security_code", "card_number"),
    }
)
"""Names that hold a secret wherever they stand. They are whole names: `max_tokens` is another one."""


def plain(name: str) -> str:
    """Return a name as it is compared: `Set-Cookie`, `set_cookie` and `setCookie` are one."""
    return name.replace("-", "").replace("_", "").lower()


def plain_names(names: Iterable[str]) -> frozenset[str]:
    """Return names as they are compared.

    Raises:
        InvalidInput: not several names, or one of them is no text or blank.
    """
    if isinstance(names, str):
        raise invalid("names", "give several names, not one text")
    found = set()
    for name in names:
        if not isinstance(name, str) or not plain(name).strip():
            raise invalid("names", f"{name!r:.60} is no name of a field")
        found.add(plain(name))
    return frozenset(found)
