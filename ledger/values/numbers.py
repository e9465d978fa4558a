"""Whole numbers and flags, as strict as they are written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ledger.canonical import MAX_INTEGER

# Numbers and flags are strict: "3", 3.0 or True are not 3, and "no" is not False. What is read from a record
# is then exactly what stands there.

Position = Annotated[int, Field(ge=1, le=MAX_INTEGER, strict=True)]
"""A place in a stream, counted from 1."""

Count = Annotated[int, Field(ge=0, le=MAX_INTEGER, strict=True)]
"""A whole number from 0 on."""

AtLeastOne = Annotated[int, Field(ge=1, le=MAX_INTEGER, strict=True)]
"""A whole number from 1 on."""

Seconds = Annotated[int, Field(ge=0, le=MAX_INTEGER, strict=True)]
"""A span in whole seconds."""

Flag = Annotated[bool, Field(strict=True)]
"""Yes or no."""
