"""The part of the contract that environments and builders rest on, for every back end of processes."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.errors import AlitaError, PackagesRejected, SandboxError
from alita_mcp.sandbox.interface import Environment, Job
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.packages.builder import BUILD_LIMITS, BuildBroker, build_job
from tests.sandbox.contract import WAIT_SECONDS
from tests.sandbox.environment_homes import silent
from tests.sandbox.tars import HELLO, USES_HELLO, folder, link, making, tar_of


class EnvironmentContract:
    """Subclasses give the fixtures `sandbox` and `digest`, which is new for each test and cleaned up."""

    async def test_an_environment_is_found_once_it_is_stored(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        assert await sandbox.store.has_environment(digest) is None
        environment = await sandbox.environments.obtain(digest, making(tar_of(HELLO, folder("empty"))))
        assert await sandbox.store.has_environment(digest) == environment.location
        assert await sandbox.environments.obtain(digest, making(b"no tar")) == environment
        result = await sandbox.run(Job(code=USES_HELLO, function="f", arguments={}, environment=environment))
        assert result.value == [42, "1", None, "OSError"], result

    async def test_a_location_that_the_back_end_did_not_name_is_not_mounted(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        environment = Environment(digest=digest, location="/etc")
        job = Job(
            code="import os\ndef f(): return os.listdir('/opt/alita-packages')", function="f", arguments={}
        )
        try:
            seen = (await sandbox.run(job.model_copy(update={"environment": environment}))).value
        except SandboxError as refused:
            seen = refused.message
        assert seen == [] or "no longer exists" in seen

    async def test_a_tar_that_leads_elsewhere_is_no_environment(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        for entry in (link("l", "/etc/passwd"), folder("../up"), folder("/abs")):
            with pytest.raises(SandboxError, match="not a plain file inside"):
                await sandbox.store.store_environment(digest, tar_of(HELLO, entry))
            assert await sandbox.store.has_environment(digest) is None


class BuilderContract:
    """Subclasses give the fixture `sandbox`; the rest of what builds do and bear is that of calls."""

    async def test_a_build_that_fails_or_lacks_room_says_so(self, sandbox: IsolatedSandbox) -> None:
        cases: list[tuple[str, str, type[AlitaError]]] = [
            ("raise KeyError('x')", "The build failed: KeyError: 'x'.", SandboxError),
            ("open('big', 'wb').write(b'x' * (2 << 20))", "File too large", PackagesRejected),
            ("import time; time.sleep(600)", "took more than 1 s", PackagesRejected),
        ]
        for body, message, error in cases:
            limits = BUILD_LIMITS.model_copy(update={"wall_seconds": 1.0, "scratch_bytes": 1 << 20})
            job = build_job({}, None).model_copy(
                update={"limits": limits, "code": f"def build(request): {body}"}
            )
            broker = BuildBroker(frozenset(), silent)
            with anyio.fail_after(WAIT_SECONDS), pytest.raises(error) as failed:
                broker.result_of(await sandbox.run(job, broker))
            assert message in failed.value.message
