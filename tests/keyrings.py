"""Back ends of `keyring` for tests, chosen with PYTHON_KEYRING_BACKEND or `keyring.set_keyring`."""

from __future__ import annotations

from keyring.backend import KeyringBackend

MEMORY = "tests.keyrings.Memory"


class Memory(KeyringBackend):
    """Keeps keys as long as the process lives."""

    priority = 1  # type: ignore[assignment]  # as keyring's own back ends set it

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


class Forgetful(Memory):
    """Takes keys and has none, as keyring's own null back end."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Broken(Memory):
    """Fails in a way of its own, as back ends over D-Bus do, and says what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise OSError(f"no bus for {service}")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"no bus for {password}")
