"""Import of recorded runs: chat-completions transcripts become runs of the ledger."""

from ledger.adapters.transcripts.importing import Progress, import_transcripts
from ledger.adapters.transcripts.report import ImportedRun, ImportInterrupted, ImportReport
from ledger.adapters.transcripts.samples import sample_path, sample_tools_path
from ledger.adapters.transcripts.tools import Tool, Tools

__all__ = [
    "ImportInterrupted",
    "ImportReport",
    "ImportedRun",
    "Progress",
    "Tool",
    "Tools",
    "import_transcripts",
    "sample_path",
    "sample_tools_path",
]
