"""`alita doctor --sandbox`: claims about isolation as a table, as JSON and as an exit status."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Alita

pytestmark = pytest.mark.slow

BAD = "tests.sandbox.bad_back_ends:Refusing"


def test_a_table_says_what_passed_and_why_the_rest_did_not(alita: Alita) -> None:
    said = alita("doctor", "--sandbox", "wasm")
    assert [line for line in said.out.splitlines() if "✗" in line] == []
    assert said.status == 0
    assert "doctor: wasm: trying all claims" in said.err
    for claim in (
        "connects to no address",
        "ends a call at memory_bytes",
        "allows no more than so many processes",
    ):
        assert f"    ✓ {claim}" in said.out
    assert said.out.startswith("✓ sandbox wasm: ")


def test_as_json_each_claim_has_its_verdict(alita: Alita) -> None:
    said = alita("doctor", "--sandbox", BAD, "--json")
    assert said.status == 5
    (report,) = said.json["probes"]
    assert (report["kind"], report["isolates"]) == ("refusing", False)
    first = report["probes"][0]
    assert (first["passed"], "Not today." in first["detail"]) == (False, True)


@pytest.mark.parametrize(
    "kind", ["no_such_module:Sandbox", "tests.sandbox.bad_back_ends:NoSuchClass", "nonsense"]
)
def test_a_back_end_that_is_not_there_is_named(alita: Alita, kind: str) -> None:
    said = alita("doctor", "--sandbox", kind)
    assert said.status == 5
    assert "cannot be loaded" in said.err
