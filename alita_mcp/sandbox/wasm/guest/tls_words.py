"""Constants and errors of the module `ssl`; see `tls.py`."""

from __future__ import annotations

import enum

from alita_mcp.sandbox.wasm.guest import sockets

__name__ = "ssl"

OPENSSL_VERSION = "OpenSSL 3.0.0 (of the host)"
OPENSSL_VERSION_INFO = (3, 0, 0, 0, 0)
OPENSSL_VERSION_NUMBER = 0x30000000
HAS_SNI = HAS_ALPN = HAS_ECDH = HAS_TLSv1_2 = HAS_TLSv1_3 = HAS_NEVER_CHECK_COMMON_NAME = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = HAS_PSK = HAS_PHA = False
CHANNEL_BINDING_TYPES: list[str] = []


class TLSVersion(enum.IntEnum):
    """Versions of TLS; kept as settings, without effect."""

    MINIMUM_SUPPORTED = -2
    SSLv3 = 768
    TLSv1 = 769
    TLSv1_1 = 770
    TLSv1_2 = 771
    TLSv1_3 = 772
    MAXIMUM_SUPPORTED = -1


class VerifyMode(enum.IntEnum):
    """Modes of verification; kept as settings, without effect."""

    CERT_NONE = 0
    CERT_OPTIONAL = 1
    CERT_REQUIRED = 2


class VerifyFlags(enum.IntFlag):
    """Flags of verification; kept as settings, without effect."""

    VERIFY_DEFAULT = 0
    VERIFY_CRL_CHECK_LEAF = 4
    VERIFY_CRL_CHECK_CHAIN = 12
    VERIFY_X509_STRICT = 32
    VERIFY_ALLOW_PROXY_CERTS = 64
    VERIFY_X509_TRUSTED_FIRST = 32768
    VERIFY_X509_PARTIAL_CHAIN = 524288


class Options(enum.IntFlag):
    """Options of a context; kept as settings, without effect."""

    OP_ALL = 0x80000050
    OP_NO_SSLv2 = 0
    OP_NO_TICKET = 1 << 14
    OP_NO_COMPRESSION = 1 << 17
    OP_CIPHER_SERVER_PREFERENCE = 1 << 22
    OP_NO_SSLv3 = 1 << 25
    OP_NO_TLSv1 = 1 << 26
    OP_NO_TLSv1_2 = 1 << 27
    OP_NO_TLSv1_1 = 1 << 28
    OP_NO_TLSv1_3 = 1 << 29
    OP_NO_RENEGOTIATION = 1 << 30
    OP_SINGLE_DH_USE = 0
    OP_SINGLE_ECDH_USE = 0
    OP_IGNORE_UNEXPECTED_EOF = 1 << 7
    OP_ENABLE_MIDDLEBOX_COMPAT = 1 << 20
    OP_LEGACY_SERVER_CONNECT = 1 << 2


class _SSLMethod(enum.IntEnum):
    PROTOCOL_TLS = 2
    PROTOCOL_SSLv23 = 2
    PROTOCOL_TLSv1 = 3
    PROTOCOL_TLSv1_1 = 4
    PROTOCOL_TLSv1_2 = 5
    PROTOCOL_TLS_CLIENT = 16
    PROTOCOL_TLS_SERVER = 17


class Purpose(enum.Enum):
    """Purpose of a context."""

    SERVER_AUTH = "1.3.6.1.5.5.7.3.1"
    CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"


for _kind in (VerifyMode, VerifyFlags, Options, _SSLMethod):
    globals().update(_kind.__members__)
PROTOCOL_TLS, PROTOCOL_TLS_CLIENT = _SSLMethod.PROTOCOL_TLS, _SSLMethod.PROTOCOL_TLS_CLIENT
CERT_NONE, CERT_REQUIRED = VerifyMode.CERT_NONE, VerifyMode.CERT_REQUIRED


class SSLError(OSError):
    """TLS failed."""

    library = "SSL"

    @property
    def reason(self) -> str:
        """What failed."""
        return str(self)


class SSLZeroReturnError(SSLError):
    """The other end closed the connection."""


class SSLWantReadError(SSLError):
    """TLS cannot go on before more bytes are read."""


class SSLWantWriteError(SSLError):
    """TLS cannot go on before bytes are written."""


class SSLSyscallError(SSLError):
    """A call of the system failed."""


class SSLEOFError(SSLError):
    """The connection ended in the middle."""


class SSLCertVerificationError(SSLError, ValueError):
    """The host could not verify the certificate."""

    verify_code = 1

    @property
    def verify_message(self) -> str:
        """What is wrong with it."""
        return str(self)


CertificateError = SSLCertVerificationError
sockets.register(SSLError, SSLCertVerificationError)
