"""What uv complains about becomes the error that says who is at fault, without passwords."""

from __future__ import annotations

from alita_mcp.errors import PackagesRejected, SandboxError
from alita_mcp.sandbox.packages.uv_failure import failure_of
from tests.tables import each_case

NO_SOLUTION = "error: No solution found when resolving dependencies"
DOWNLOAD = "error: Failed to download `a==1`"


def unsolved(because: str) -> list[str]:
    return [
        "error: No solution found when resolving dependencies",
        f"  cause: Because {because}, we can conclude that your requirements are unsatisfiable.",
    ]


@each_case(
    "notes, told",
    [
        ([DOWNLOAD, "  cause: No space left on device (os error 28)"], "a, b take more room"),
        (["error: Failed to install", "  cause: File too large (os error 27)"], "a, b take more room"),
        (["error: 70000 files are more than 40000"], "70000 files are more than 40000"),
        ([DOWNLOAD, "  cause: Hash mismatch for `a==1`"], "for a==1 does not have the hash of the lock"),
        (["unsafe: ../../x.py"], "a wheel holds '../../x.py', which leads out of it"),
        ([DOWNLOAD, "  cause: Failed to extract archive: a-1.whl", "  cause: Invalid zip"], "Invalid zip"),
        (["error: Something odd happened"], "a, b could not be installed: Something odd happened."),
        ([], "uv gave no reason"),
        (
            unsolved("c-x was not found in the package registry and all versions of b depend on c-x"),
            "c-x was not found in the package registry and all versions of b depend on c-x",
        ),
    ],
)
def test_packages_at_fault_are_rejected_and_named(notes: list[str], told: str) -> None:
    failure = failure_of(notes, ["a", "b"])

    assert type(failure) is PackagesRejected
    assert told in failure.message
    assert failure.hint or notes[0].startswith("unsafe")


@each_case(
    "notes, told",
    [
        (["error: Failed to fetch: https://u:secret@h/a/",
          "  cause: HTTP status server error (503 Service Unavailable) for url (https://u:secret@h/a/)"], "503 Serv"),
        ([NO_SOLUTION, "hint: An index (https://u:secret@h/) returned a 403 Forbidden error. Check"], "403 Forbidden"),
        ([NO_SOLUTION, "hint: An index (https://u:secret@h/) returned a 401 Unauthorized error. Check"], "401 Unauth"),
        (["error: Failed to fetch: https://u:secret@h/", "  cause: error sending request for url (https://u:secret@h)",
          "  cause: client error (Connect)", "  cause: Connection refused (os error 111)"], "Connection refused"),
        ([DOWNLOAD, "  cause: Failed to extract archive: a-1.whl", "  cause: an I/O operation failed during extraction",
          "  cause: connection closed before message completed"], "connection closed"),
        (["error: Failed to fetch: https://h/a/", "  cause: operation timed out"], "operation timed out"),
        (["error: Failed to fetch: https://h/a/", "  cause: invalid peer certificate: UnknownIssuer"], "UnknownIssuer"),
        (["error: uv cannot be started: [Errno 2] No such file"], "uv does not start in the sandbox: [Errno 2]"),
    ],
)  # fmt: skip
def test_an_index_or_a_sandbox_at_fault_is_no_fault_of_the_packages(notes: list[str], told: str) -> None:
    failure = failure_of(notes, ["a"])

    assert type(failure) is SandboxError
    assert told in failure.message
    assert "secret" not in str(failure)
