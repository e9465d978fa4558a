"""What broke other systems of this sort, kind by kind, and what shows that it does not break this one."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import Kind
from tests.cases.kinds_of_acting import ACTING
from tests.cases.kinds_of_auditing import AUDITING
from tests.cases.kinds_of_projecting import PROJECTING
from tests.cases.kinds_of_reading import READING
from tests.cases.kinds_of_resuming import RESUMING
from tests.cases.kinds_of_writing import WRITING

KINDS: Final[tuple[Kind, ...]] = (*WRITING, *READING, *ACTING, *RESUMING, *PROJECTING, *AUDITING)
"""Every kind once; a case stands in one of them."""
