"""What keeps a projection from going on, beside what the ledger itself raises."""

from __future__ import annotations

from ledger.errors import LedgerError


class ProjectionError(LedgerError):
    """A projection cannot go on, or answer. `projection` and `version` name it."""

    code = "projection_error"
    projection: str
    version: int


class ProjectionStopped(ProjectionError):
    """A record could not be handled: `gid`, `run` and `position` name it, `error` says why.

    Where it is not what was written, `altered` is True: no mended projection can handle it, a backup or an
    export brings it back.

    Otherwise mend the projection (or upgrade), then run it again: it goes on with that record. Where only its
    stream was set aside, `resume_projection` says that it can be handled.
    """

    code = "projection_stopped"
    gid: int
    run: str
    position: int
    error: str
    altered: bool


class ProjectionAhead(ProjectionError):
    """The record it handled last is not in this ledger: the ledger was restored, or the cursor is another's.

    What it keeps comes from another history. Make it anew: `rebuild`, or `intent-ledger project rebuild`.
    """

    code = "projection_ahead"
    gid: int
    run: str
    position: int


class ProjectionChanged(ProjectionError):
    """Its tables are not those that were made under this version, or are gone.

    Give a changed projection a new version. Where tables were lost, make it anew: `rebuild`, or
    `intent-ledger project rebuild NAME`.
    """

    code = "projection_changed"


class NoPreviousBuild(ProjectionError):
    """Nothing of it was served before what is served, or that was dropped."""

    code = "no_previous_build"


class ProjectionBehind(ProjectionError):
    """It has not handled what an answer needs; `gid` is how far it has come.

    Run it, or ask as of that place.
    """

    code = "projection_behind"
    gid: int
