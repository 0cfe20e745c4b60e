"""The tree of errors; each class has an exit status, and its docstring says when it is raised."""

from __future__ import annotations


class AlitaError(Exception):
    """Any error of alita; `message` says what happened, `hint` what to do next."""

    exit_status = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(AlitaError):
    """Wrong use: the caller can fix it."""

    exit_status = 2


class ToolNotFound(UsageError):
    """No tool of that name or version; `nearest` are names that look alike, best first."""

    def __init__(self, message: str, *, hint: str = "", nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.nearest = nearest


class InvalidArguments(UsageError):
    """Arguments do not fit the tool's input schema."""


class TooMany(UsageError):
    """Too much of this is under way; the same request may succeed later."""


class QuotaSpent(TooMany):
    """A principal has reached a limit of its own; the same request may succeed after `retry_after_s` seconds."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message, hint=f"Try again in {retry_after_s:,} s.")
        self.retry_after_s = retry_after_s


class ExtraMissing(UsageError):
    """The feature needs packages that are not installed; the hint is the command that adds them."""

    exit_status = 9


class InsufficientScope(UsageError):
    """The token of a client does not allow what it asks for."""

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"insufficient_scope: this token lacks the scope `{scope}`.",
            hint=f"Ask for a token with {scope}.",
        )


class ToolUnavailable(AlitaError):
    """The tool exists but may not be called now."""

    exit_status = 3


class ToolQuarantined(ToolUnavailable):
    """A file of the version differs from what was verified; it is never run."""


class NameTaken(AlitaError):
    """Another process published this name while ours was being verified."""

    exit_status = 4


class SandboxError(AlitaError):
    """The sandbox failed; this says nothing about the tool that was to run in it."""

    exit_status = 5


class SandboxUnavailable(SandboxError):
    """No sandbox back end works here."""


class SandboxRefused(SandboxError):
    """This back end cannot offer what the tool needs; another one can."""


class SandboxBusy(SandboxError):
    """Too many calls wait already; the same call may succeed after `retry_after_s` seconds."""

    def __init__(self, message: str, *, hint: str = "", retry_after_s: int = 5) -> None:
        super().__init__(message, hint=hint or f"Call again in {retry_after_s} s.")
        self.retry_after_s = retry_after_s


class PackagesRejected(AlitaError):
    """Packages do not exist, have no wheel for the sandbox's Python, or conflict."""

    exit_status = 6


class LibraryError(AlitaError):
    """The library on disk cannot be read or written."""

    exit_status = 7


class FileRefused(LibraryError):
    """The operating system refuses a file: the disk is full, it may not be written, or too many are open."""


class ModelError(AlitaError):
    """No usable answer from the language model: no key, refused, timed out, unreachable, or malformed."""

    exit_status = 8


class BudgetSpent(ModelError):
    """The budget for models of one piece of work is spent; the message names the limit and its setting."""


class Cancelled(AlitaError):
    """The person or the client stopped the work."""

    exit_status = 130
