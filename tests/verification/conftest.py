"""What the gates draw in these tests takes the time that it needs: a busy machine is no finding."""

from __future__ import annotations

import pytest

from alita_mcp.verification.properties import input_source


@pytest.fixture(autouse=True)
def unhurried_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the gates draw and shrink must not depend on how busy this machine is."""
    monkeypatch.setattr(input_source, "DRAWN_WITHIN_S", 120.0)
