"""The description of the API, and requests made from it: what it does not say does not happen, and no 5xx."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import hypothesis
import pytest
from pydantic import SecretStr

from alita_mcp.server.api.openapi import describe_api
from alita_mcp.server.api.values import NewTask, Problems
from alita_mcp.settings import Settings
from tests.server.agents.scripted import serving
from tests.server.api.calling import api
from tests.server.test_http import TOKEN

BEARER = {"Authorization": f"Bearer {TOKEN}"}
EXAMPLES = 30
"""For each operation."""


def test_the_description_is_openapi_31_and_names_every_schema() -> None:
    told = json.loads(describe_api(needs_token=True))
    assert told["openapi"] == "3.1.0"
    assert told["security"] == [{"token": []}]
    assert {"NewTask", "TaskView", "TaskList", "Problems", "Solution"} <= told["components"]["schemas"].keys()
    references = {part.split('"')[0] for part in json.dumps(told).split('"$ref": "#/components/schemas/')[1:]}
    assert references <= told["components"]["schemas"].keys()
    assert json.loads(describe_api(needs_token=False))["security"] == []


def test_the_documentation_names_the_paths_statuses_and_bodies_of_the_description() -> None:
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
    told = json.loads(describe_api(needs_token=True))
    operations = [each for path in told["paths"].values() for each in path.values() if "responses" in each]
    statuses = {status for each in operations for status in each["responses"]} - {"default"}
    assert not [status for status in statuses if status not in text]
    assert not [path for path in told["paths"] if path not in text]
    assert not [field for field in NewTask.model_fields if f"`{field}`" not in text]
    task, problem = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert NewTask.model_validate_json(task).files[0].name == "stations.csv"
    assert Problems.model_validate_json(problem).error.code == "invalid"


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """A server in a thread of its own, since the requests come from this one; gives its base URL."""
    made = serving(settings, settings_token=SecretStr(TOKEN))
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(api(made)) as client,
    ):
        yield str(client.base_url)


@pytest.mark.slow
def test_requests_made_from_the_description_meet_no_5xx_and_nothing_undocumented(settings: Settings) -> None:
    import schemathesis  # takes a second, in each process that collects tests

    with served(settings) as base:
        schema = schemathesis.openapi.from_url(f"{base}/api/openapi.json", headers=BEARER)
        operations = [result.ok() for result in schema.get_all_operations()]
        assert len(operations) == 5  # all but the one that the description was read from
        for operation in operations:
            _try_out(operation)


def _try_out(operation: Any) -> None:
    import schemathesis
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    strategies = [operation.as_strategy(generation_mode=mode) for mode in modes]

    # the token is put back, and an empty list leaves no trace in a query: what was made wrong may be right again
    left_out = [negative_data_rejection]
    if operation.method.upper() == "POST":  # hosts and names of files are held to more than a schema can say
        left_out.append(positive_data_acceptance)

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=hypothesis.strategies.one_of(strategies))
    def check(case: Any) -> None:
        case.call_and_validate(headers=BEARER, timeout=60, excluded_checks=left_out)

    check()
