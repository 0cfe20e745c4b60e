"""Module `ssl` of the component: contexts whose TLS the host carries out.

What a context asks for is kept and not carried: the host verifies the certificate and the name, always, by its own
authorities. So `CERT_NONE`, own authorities and client certificates change nothing here.
"""

from __future__ import annotations

import sys
from asyncio import sslproto
from typing import Any, NamedTuple

from alita_mcp.sandbox.wasm.guest import tls_streams, tls_words
from alita_mcp.sandbox.wasm.guest.tls_streams import SSLObject, SSLSocket
from alita_mcp.sandbox.wasm.guest.tls_words import (
    CERT_NONE,
    CERT_REQUIRED,
    PROTOCOL_TLS,
    PROTOCOL_TLS_CLIENT,
    Options,
    Purpose,
    SSLError,
    SSLSyscallError,
    SSLWantReadError,
    TLSVersion,
    VerifyFlags,
    VerifyMode,
)

_OWN_NAME = __name__
__name__ = "ssl"


class DefaultVerifyPaths(NamedTuple):
    """Paths of certificate authorities, all empty here."""

    cafile: str | None = None
    capath: str | None = None
    openssl_cafile_env: str = "SSL_CERT_FILE"
    openssl_cafile: str = ""
    openssl_capath_env: str = "SSL_CERT_DIR"
    openssl_capath: str = ""


class SSLContext:
    """TLS settings of a connection; see the module for those that count."""

    sslsocket_class = SSLSocket
    sslobject_class = SSLObject

    def __init__(self, protocol: int = PROTOCOL_TLS) -> None:
        self.protocol = protocol
        self._check_hostname = protocol == PROTOCOL_TLS_CLIENT
        self._verify_mode = CERT_REQUIRED if self._check_hostname else CERT_NONE
        self.options = Options.OP_ALL
        self.verify_flags = VerifyFlags.VERIFY_X509_TRUSTED_FIRST
        self.minimum_version: int = TLSVersion.TLSv1_2
        self.maximum_version: int = TLSVersion.MAXIMUM_SUPPORTED
        self.hostname_checks_common_name = self.post_handshake_auth = False
        self.keylog_filename = self.sni_callback = None
        self._alpn: tuple[str, ...] = ()
        self._handshakes = True

    @property
    def check_hostname(self) -> bool:
        """The host checks the name, whatever this says."""
        return self._check_hostname

    @check_hostname.setter
    def check_hostname(self, value: bool) -> None:
        self._check_hostname = bool(value)
        if value and self._verify_mode == CERT_NONE:
            self._verify_mode = CERT_REQUIRED

    @property
    def verify_mode(self) -> VerifyMode:
        """The host verifies, whatever this says."""
        return self._verify_mode

    @verify_mode.setter
    def verify_mode(self, value: int) -> None:
        if value == CERT_NONE and self._check_hostname:
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._verify_mode = VerifyMode(value)

    def wrap_socket(
        self, sock: Any, server_side: bool = False, do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True, server_hostname: str | None = None, session: Any = None,
    ) -> SSLSocket:  # fmt: skip
        """A socket whose TLS the host does."""
        self._check(server_side, server_hostname)
        self._handshakes = do_handshake_on_connect
        wrapped = self.sslsocket_class._wrapping(sock, self, _text(server_hostname))
        if do_handshake_on_connect and wrapped._peer is not None:
            try:
                wrapped.do_handshake()
            except BaseException:
                wrapped.close()
                raise
        return wrapped

    def wrap_bio(
        self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None, session: Any = None
    ) -> SSLObject:  # fmt: skip
        """TLS over buffers, for event loops."""
        self._check(server_side, server_hostname)
        return self.sslobject_class._wrapping(incoming, outgoing, self, _text(server_hostname))

    def set_alpn_protocols(self, alpn_protocols: Any) -> None:
        """What a library can speak; the host offers http/1.1."""
        self._alpn = tuple(alpn_protocols)

    def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
        """Refuses."""
        raise SSLError("client certificates are not carried: TLS is done by the host")

    def load_verify_locations(self, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        """Nothing: the host's authorities count."""
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")

    def load_default_certs(self, purpose: Purpose = Purpose.SERVER_AUTH) -> None:
        """Nothing: the host's authorities count."""

    def set_default_verify_paths(self) -> None:
        """Nothing: the host's authorities count."""

    def set_ciphers(self, _ciphers: str, /) -> None:
        """Nothing: the host chooses."""

    def get_ciphers(self) -> list[Any]:
        """None known here."""
        return []

    def get_ca_certs(self, binary_form: bool = False) -> list[Any]:
        """None known here."""
        return []

    def cert_store_stats(self) -> dict[str, int]:
        """None known here."""
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def _check(self, server_side: bool, name: Any) -> None:
        if server_side:
            raise SSLError("a tool serves nobody")
        if self._check_hostname and not name:
            raise ValueError("check_hostname requires server_hostname")


def create_default_context(
    purpose: Purpose = Purpose.SERVER_AUTH, *, cafile: Any = None, capath: Any = None, cadata: Any = None
) -> SSLContext:
    """Makes a context that verifies certificates, as all do here."""
    return SSLContext(PROTOCOL_TLS_CLIENT)


def _create_unverified_context(*_arguments: Any, **_words: Any) -> SSLContext:
    return SSLContext(PROTOCOL_TLS)


_create_default_https_context = create_default_context
_create_stdlib_context = _create_unverified_context


def get_default_verify_paths() -> DefaultVerifyPaths:
    """Paths of certificate authorities: none."""
    return DefaultVerifyPaths()


def _text(name: Any) -> str | None:
    return name.decode("ascii") if isinstance(name, bytes) else name


def install() -> None:
    """Installs this as the module `ssl`, also in modules imported without one; called once, before the library."""
    ours = sys.modules["ssl"] = sys.modules[_OWN_NAME]
    for part in (tls_words, tls_streams):
        for name, value in vars(part).items():
            vars(ours).setdefault(name, value)
    for name, module in list(sys.modules.items()):
        if name.startswith("asyncio.") and vars(module).get("ssl", ours) is None:
            module.ssl = ours  # type: ignore[attr-defined]
    sslproto.SSLAgainErrors = (SSLWantReadError, SSLSyscallError)
