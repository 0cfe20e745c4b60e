"""What the drivers need: Node.js with the small packages, and the agent clients where their packages can be had."""

from __future__ import annotations

import pytest

from tests.clients.agents import PACKAGES
from tests.conftest import skip_or_fail
from tests.server.conftest import node_tools  # noqa: F401 - a fixture
from tests.server.local.conftest import stocked_user, user  # noqa: F401 - fixtures
from tests.server.node_tools import FOLDER, NodeTools, NoNode, install

INSTALL_S = 360
"""Less than a test may take, for more than a gigabyte."""


@pytest.fixture(scope="session")
def programs(node_tools: NodeTools) -> str:  # noqa: F811
    """A PATH with the agent clients; skips with the reason where they cannot be had, or fails where they must."""
    folder = FOLDER / "agents"
    try:
        install(PACKAGES, folder, INSTALL_S)
    except NoNode as missing:
        skip_or_fail("agents", str(missing))
    return f"{folder / 'node_modules' / '.bin'}:{node_tools.node.parent}:/usr/bin:/bin"
