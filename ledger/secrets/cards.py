"""Numbers of payment cards, looked for only where the name of a field says card."""

from __future__ import annotations

import re

from ledger.secrets.names import plain
from ledger.secrets.shapes import marker

RULE = "card-number"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_RUNS = re.compile(r"[0-9]+(?:[ -][0-9]+)*")
_GROUPS = re.compile(r"[0-9]+")
_ONE_WORD = frozenset({"cardnumber", "cardno", "cardnum", "creditcard", "debitcard", "pan"})
_MEMBERS = frozenset({"number", "no", "num", "value"})


def says_card(name: str, within_card: bool) -> bool:
    """Tell whether a field may hold the number of a card: `card`, `creditCard`, or `number` within one."""
    if "card" in name.lower():
        return any(word.lower() == "card" for word in _WORDS.findall(name)) or plain(name) in _ONE_WORD
    return plain(name) in _ONE_WORD or (within_card and plain(name) in _MEMBERS)


def may_be_said(flat: str) -> bool:
    """Tell quickly whether one of some fields, as names are compared and in lines, may say card."""
    return "card" in flat or "pan" in flat.split("\n")


def is_number(value: object) -> bool:
    """Tell whether a value is the number of a card that was given as an integer."""
    return type(value) is int and 10**12 <= value < 10**19 and is_card(str(value))


def redacted(text: str) -> str:
    """Return the text with each number of a card replaced; an equal one where there is none."""
    return _RUNS.sub(lambda run: _without_cards(run[0]), text)


def is_card(digits: str) -> bool:
    """Tell whether digits are the number of a card: as long, begun like one, and right by its last digit.

    Source: ISO/IEC 7812-1, whose check digit is by Luhn's formula.
    """
    if not 13 <= len(digits) <= 19 or digits[0] not in "23456":
        return False
    twice = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (twice + sum(map(int, digits[::-2]))) % 10 == 0


def _without_cards(run: str) -> str:
    """Replace what is a card among groups of digits that one space or hyphen parts."""
    groups = list(_GROUPS.finditer(run))
    parts: list[str] = []
    done = first = 0
    while first < len(groups):
        last = _end_of_card(groups, first)
        if last is None:
            first += 1
            continue
        parts += [run[done : groups[first].start()], marker(RULE)]
        done, first = groups[last].end(), last + 1
    return "".join([*parts, run[done:]])


def _end_of_card(groups: list[re.Match[str]], first: int) -> int | None:
    digits = ""
    for last in range(first, len(groups)):
        digits += groups[last][0]
        if len(digits) > 19:
            return None
        if is_card(digits):
            return last
    return None
