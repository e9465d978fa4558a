"""The values that events and commands are made of: ids, parties, times, amounts, JSON carried as text.

Everything here is validated when it is made and frozen from then on. Ids are kept byte for byte: two ids
that look alike but differ in bytes are two ids, and none is ever trimmed, folded or normalised.
"""

from ledger.values.amounts import (
    MAX_DIGITS,
    Amount,
)
from ledger.values.base import (
    Value,
)
from ledger.values.choices import (
    Change,
    Ending,
    Recovery,
    Verdict,
)
from ledger.values.faults import (
    explain,
    first_fault,
    no_such,
)
from ledger.values.ids import (
    MAX_ID_LENGTH,
    PRINCIPAL_KINDS,
    REF_KINDS,
    Id,
    Party,
    Principal,
    Ref,
    RunId,
    Sha256,
    Text,
    check_id,
)
from ledger.values.maps import (
    Amounts,
    Counts,
    FrozenMap,
    Labels,
)
from ledger.values.numbers import (
    AtLeastOne,
    Count,
    Flag,
    Position,
    Seconds,
)
from ledger.values.parties import (
    Actor,
    Source,
    SourceId,
)
from ledger.values.parts import (
    Branch,
    ErrorSaid,
    Published,
    SavedName,
    Step,
)
from ledger.values.payloads import (
    CanonicalJson,
    Kept,
    Payload,
)
from ledger.values.rules import (
    Operator,
    Predicate,
    Rule,
)
from ledger.values.runtime import (
    Limits,
    Runtime,
)
from ledger.values.secrets import (
    SecretRef,
    arguments_text,
    bind_secrets,
    tag_secrets,
    untag_secrets,
)
from ledger.values.times import (
    Instant,
    read_time,
    utc,
    write_time,
)

__all__ = [
    "MAX_DIGITS",
    "MAX_ID_LENGTH",
    "PRINCIPAL_KINDS",
    "REF_KINDS",
    "Actor",
    "Amount",
    "Amounts",
    "AtLeastOne",
    "Branch",
    "CanonicalJson",
    "Change",
    "Count",
    "Counts",
    "Ending",
    "ErrorSaid",
    "Flag",
    "FrozenMap",
    "Id",
    "Instant",
    "Kept",
    "Labels",
    "Limits",
    "Operator",
    "Party",
    "Payload",
    "Position",
    "Predicate",
    "Principal",
    "Published",
    "Recovery",
    "Ref",
    "Rule",
    "RunId",
    "Runtime",
    "SavedName",
    "Seconds",
    "SecretRef",
    "Sha256",
    "Source",
    "SourceId",
    "Step",
    "Text",
    "Value",
    "Verdict",
    "arguments_text",
    "bind_secrets",
    "check_id",
    "explain",
    "first_fault",
    "no_such",
    "read_time",
    "tag_secrets",
    "untag_secrets",
    "utc",
    "write_time",
]
