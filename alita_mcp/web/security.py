"""Sessions of the pages: one-time codes, cookies and CSRF tokens."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from starlette.requests import Request

CODE_S = 300.0
"""How long a one-time code may be used."""
SESSION_S = 30 * 24 * 3600
"""How long a session lasts."""


class Sessions:
    """Sessions of one home: a cookie is `expiry.nonce.signature`, signed with a key, so that a restart ends none."""

    def __init__(self, key: bytes, cookie: str = "alita_ui") -> None:
        self._key = key
        self.cookie = cookie
        """Name of the cookie."""
        self._codes: dict[str, float] = {}

    def make_code(self) -> str:
        """A code that one browser can exchange for a session within five minutes."""
        now = time.monotonic()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        code = secrets.token_urlsafe(32)
        self._codes[code] = now + CODE_S
        return code

    def redeem_code(self, code: str) -> str | None:
        """The value of a new session's cookie; None where the code is wrong, old or used."""
        until = self._codes.pop(code, 0.0)
        return self.make_session() if until > time.monotonic() else None

    def make_session(self) -> str:
        """The value of a new session's cookie."""
        content = f"{int(time.time()) + SESSION_S}.{secrets.token_urlsafe(16)}"
        return f"{content}.{self._sign('session', content)}"

    def is_signed_in(self, request: Request) -> bool:
        """Whether a request carries the cookie of a session."""
        content, _, signature = request.cookies.get(self.cookie, "").rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", content).encode()):
            return False
        return int(content.partition(".")[0]) > time.time()

    def csrf_token(self, request: Request) -> str:
        """What each form of the request's session carries."""
        return self._sign("csrf", request.cookies.get(self.cookie, ""))

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()
