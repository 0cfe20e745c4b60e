"""Recording of models' answers in a run's folder, and their replay."""

from __future__ import annotations

import re
from pathlib import Path

from alita_mcp.agent.runs.private import clean_text
from alita_mcp.models.recording.recorded import Exchanges, Recorder, Replayer

_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_RUN = re.compile(r"\b[0-9a-f]{32}\b")


def recorder(folder: Path) -> Exchanges:
    """Records answers in a run's own folder; a full disk ends the recording, not the run."""
    return Recorder(folder, clean=clean_text, must=False)


def replayer(folder: Path) -> Exchanges:
    """Replays answers to questions that are equal except for ids of runs and dates.

    Raises:
        UsageError: the folder holds no exchanges, or one that cannot be read.
    """
    return Replayer(folder, alike=alike)


def alike(text: str) -> str:
    """The text without what differs from run to run."""
    return _TIME.sub("TIME", _RUN.sub("RUN", clean_text(text)))
