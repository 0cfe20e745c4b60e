"""Three replicas of one library on a real PostgreSQL behind a real balancer, shared by the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import skip_or_fail
from tests.postgres_cluster import PostgresServer
from tests.team.balancers import find_program
from tests.team.replicas import Team, running_team


@pytest.fixture(scope="session")
def balancers() -> None:
    """haproxy and nginx."""
    for program in ("haproxy", "nginx"):
        if find_program(program) is None:
            skip_or_fail("postgres", f"there is no {program} (Debian: apt-get install {program})")


@pytest.fixture(scope="module")
def team(
    postgres_server: PostgresServer, balancers: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Team]:
    """Whoever kills one of its replicas starts it again."""
    url = postgres_server.make_database()
    with running_team(tmp_path_factory.mktemp("team"), url) as running:
        yield running
