"""What models answered in a run: written into its folder, and answered from it when the run is replayed."""

from __future__ import annotations

import re
from pathlib import Path

from alita_mcp.agent.runs.private import clean_text
from alita_mcp.models.recording.recorded import Exchanges, Recorder, Replayer

_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_RUN = re.compile(r"\b[0-9a-f]{32}\b")


def recorder(folder: Path) -> Exchanges:
    """Writes answers to a run's own folder; a disk that is full ends the recording, not the run."""
    return Recorder(folder, clean=clean_text, must=False)


def replayer(folder: Path) -> Exchanges:
    """Answers questions that are alike but for ids of runs and the day on which they are asked.

    Raises:
        UsageError: the folder holds no exchanges, or one that cannot be read.
    """
    return Replayer(folder, alike=alike)


def alike(text: str) -> str:
    """The text with what differs from run to run taken out."""
    return _TIME.sub("TIME", _RUN.sub("RUN", clean_text(text)))
