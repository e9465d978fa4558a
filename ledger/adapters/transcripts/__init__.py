"""Recorded runs: chat-completions transcripts are imported as runs of the ledger, or replayed as new ones."""

from ledger.adapters.transcripts.importing import Progress, import_transcripts
from ledger.adapters.transcripts.replaying import Wanted, replay_transcripts
from ledger.adapters.transcripts.replays import Repeat, ReplayedCall, ReplayedRun, ReplayReport
from ledger.adapters.transcripts.report import ImportedRun, ImportInterrupted, ImportReport
from ledger.adapters.transcripts.samples import sample_path, sample_tools_path
from ledger.adapters.transcripts.tools import Tool, Tools

__all__ = [
    "ImportInterrupted",
    "ImportReport",
    "ImportedRun",
    "Progress",
    "Repeat",
    "ReplayReport",
    "ReplayedCall",
    "ReplayedRun",
    "Tool",
    "Tools",
    "Wanted",
    "import_transcripts",
    "replay_transcripts",
    "sample_path",
    "sample_tools_path",
]
