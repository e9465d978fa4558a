"""Errors as a model reads them: a stable code, what is wrong, whether to call again, and what to do.

They tell nothing of the machine: no path, no address of a database, no trace.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from ledger.errors import IntegrityError, LedgerError, StoreBusy, StoreError, StoreUnavailable, UnsafeStore

_ADDRESS = re.compile(r"\bpostgres(?:ql)?://\S+", re.IGNORECASE)
_OF_THE_MACHINE = frozenset({"holders", "where"})
_OF_THE_STORE = _OF_THE_MACHINE | {"path", "reason"}
"""Facts that are of no use to who cannot see the machine."""
_OUR_WORDS = (
    (re.compile(r"`?[Ll]edger\.resume`?"), "the tool run_resume"),
    (re.compile(r"`run\.request_approval\(key\)`"), "a person's request-approval"),
)
_MORE = {
    StoreUnavailable.code: "Call again with the same arguments, and the same call_id where the tool takes "
    "one: what was recorded is told, and not recorded twice.",
}
"""What to do here beyond what the class of an error says."""
DEFECT = {
    "code": "defect",
    "message": "this is a defect of the server; its own log says more",
    "data": {},
    "retryable": False,
    "hint": "Do not repeat the call; tell who runs the server.",
}


def fault(error: LedgerError, hidden: Iterable[str] = ()) -> dict[str, Any]:
    """Give an error as a document.

    Args:
        error: what was raised.
        hidden: texts that are never told, as the path of the ledger.
    """
    hint = _hint(error)
    # What a store says of itself names files and servers; what its class says is enough to go on.
    of_the_store = isinstance(error, StoreUnavailable | StoreBusy | UnsafeStore)
    message = hint.partition(". ")[0].partition(": ")[0] if of_the_store else str(error)
    untold = _OF_THE_STORE if isinstance(error, StoreError | IntegrityError) else _OF_THE_MACHINE
    data = {name: value for name, value in error.data.items() if name not in untold}
    said = {
        "code": error.code,
        "message": _in_our_words(message),
        "data": _plain(data),
        "retryable": bool(error.data.get("retryable", error.retryable)),
        "hint": hint,
    }
    untold_texts = tuple(map(_whole, filter(None, hidden)))
    return {**said, **{name: _without(said[name], untold_texts) for name in ("message", "data")}}


def words(document: dict[str, Any]) -> str:
    """Say a fault to who reads text alone."""
    again = (
        "Calling again as it is may help." if document["retryable"] else "Calling again as it is cannot help."
    )
    return f"{document['code']}: {document['message']}\n{document['hint']} {again}"


def _hint(error: LedgerError) -> str:
    """Say what to do: it stands first in the docstring of each class."""
    first = (inspect.getdoc(type(error)) or "").partition("\n\n")[0]
    return _in_our_words(" ".join([*first.split(), *filter(None, [_MORE.get(error.code)])]))


def _in_our_words(text: str) -> str:
    for pattern, instead in _OUR_WORDS:
        text = pattern.sub(instead, text)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _whole(text: str) -> re.Pattern[str]:
    """Find a path or an address, and no part of a longer word."""
    return re.compile(rf"(?<![\w./-]){re.escape(text)}(?![\w-])")


def _without(value: Any, hidden: tuple[re.Pattern[str], ...]) -> Any:
    if isinstance(value, dict):
        return {name: _without(inner, hidden) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, hidden) for inner in value]
    if not isinstance(value, str):
        return value
    for one in hidden:
        value = one.sub("the ledger", value)
    return _ADDRESS.sub("the ledger", value)
