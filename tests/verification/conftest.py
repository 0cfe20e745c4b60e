"""Property tests of the gates take the time they need: a busy machine is no finding."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from alita_mcp.verification import input_source, properties

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def unhurried_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the gates draw and shrink must not depend on how busy this machine is."""
    monkeypatch.setattr(input_source, "DRAWN_WITHIN_S", 120.0)
    monkeypatch.setattr(properties, "MAX_SHRINKING_SECONDS", 120.0)
