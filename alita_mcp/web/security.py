"""Who may use the pages: one-time codes, session cookies, CSRF tokens, and the check of each request."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

import anyio
from starlette.requests import Request
from starlette.responses import Response

from alita_mcp.errors import AlitaError
from alita_mcp.owners import SCOPES, USER, ClientIdentity, Principal, ScopeName, team_of, token_digest

CODE_S = 300.0
"""How long a one-time code may be used."""
SESSION_S = 30 * 24 * 3600
"""How long a session lasts."""
MAX_FORM_BYTES = 65 << 20
"""Of a form with its files."""
MAX_FORM_FILES, MAX_FORM_FIELDS = 20, 1_000
MAX_DROPPED_BYTES = 1 << 30
SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Even text that slipped through the escaping can load and run nothing. Forms of a page with `no-referrer` would send
the origin `null`, which every stranger's page can."""
SAFE_METHODS = ("GET", "HEAD")
BY_SCOPE: Sequence[tuple[re.Pattern[str], ScopeName | Literal["any"], ScopeName]] = (
    (re.compile(r"/ui/ask(/.*)?|/ui/library/[^/]+/calls"), "call", "call"),
    (re.compile(r"/ui/(library|activity)(/.*)?|/ui/decide/count"), "any", "manage"),
    (re.compile(r"/ui/decide(/.*)?"), "approve", "approve"),
)
"""Paths, and what a token that opened the session must allow to see them, and to change something there.

All other pages tell of all owners, and are a person's.
"""
PERSON = Principal(USER, frozenset(SCOPES))
"""Who opened a session with a one-time code, which only this user's processes get."""
WEB_PAGE = ClientIdentity(client="web page")
"""Who a person at the pages is, for the journal."""
NOT_SIGNED_IN = "You are not signed in."
SIGN_IN = "Run `alita ui` on this machine: it prints a link that signs you in."

Endpoint = Callable[[Request], Awaitable[Response]]


class Refusal(AlitaError):
    """A request of a browser that is not served."""

    def __init__(self, status: int, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Sessions:
    """Sessions of one home. None is stored: a cookie is `expiry.kind.nonce.signature`, so that a restart ends none.

    Its `kind` is `code`, or the digest of the token that opened it, and with which it ends.
    """

    def __init__(self, secret: bytes, find_token: Callable[[str], Principal | None] | None = None) -> None:
        """They end when the `secret` changes. Who has the token of a digest, `find_token` says.

        Without it only one-time codes open one.
        """
        self._find_token = find_token
        self._key = hmac.new(secret, b"sessions of alita's pages", hashlib.sha256).digest()
        self.takes_token = find_token is not None
        self.cookie = f"alita_{self._sign('name', '')[:12]}"
        """Name of the cookie: browsers send the cookies of every port of a host, so that of each home is another."""
        self._codes: dict[str, float] = {}
        self.used_at = float("-inf")
        """When a session was last used, on the monotonic clock."""
        self.streams: dict[anyio.CancelScope, str] = {}
        """The open event streams, each with the cookie of its session, the oldest first."""

    def make_code(self) -> str:
        """A code that one browser can exchange for a session within five minutes."""
        now = time.monotonic()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        code = secrets.token_urlsafe(24)
        self._codes[code] = now + CODE_S
        return code

    def enter(self, given: str) -> str:
        """The value of a new session's cookie, for a one-time code or a token.

        Raises:
            Refusal: it is neither.
        """
        given = given.strip()
        if self._codes.pop(given, 0.0) > time.monotonic():
            return self.make_session()
        if self._find_token is None:
            raise Refusal(403, "This code is wrong, was used already, or is too old.", hint=SIGN_IN)
        digest = token_digest(given)
        if self._find_token(digest) is None:
            raise Refusal(403, "This is neither the token nor a code that can still be used.", hint=SIGN_IN)
        return self.make_session(digest)

    def read(self, request: Request) -> tuple[str, Principal] | None:
        """The cookie of a session, if a request carries one, and who opened it."""
        cookie = request.cookies.get(self.cookie, "")
        content, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", content).encode()):
            return None
        expiry, kind, _ = content.split(".")
        principal = PERSON if kind == "code" else self._find_token and self._find_token(kind)
        if principal is None or int(expiry) <= time.time():
            return None
        self.used_at = time.monotonic()
        return cookie, principal

    def csrf_token(self, session: str) -> str:
        """What each form of a session carries."""
        return self._sign("csrf", session)

    def make_session(self, kind: str = "code") -> str:
        """The value of a new session's cookie."""
        content = f"{int(time.time()) + SESSION_S}.{kind}.{secrets.token_urlsafe(16)}"
        return f"{content}.{self._sign('session', content)}"

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def may_follow(request: Request, owner: str) -> bool:
    """Whether whoever sent a request may see what an owner does.

    The person sees all, everybody what is their own, and who may manage the tools of a team what the team does.
    """
    viewer: Principal = request.state.principal
    is_of_team = team_of(owner) == (team := team_of(viewer.owner)) and (not team or "manage" in viewer.scopes)
    return viewer is PERSON or owner == viewer.owner or is_of_team


def check_request(sessions: Sessions, endpoint: Endpoint) -> Endpoint:
    """An endpoint that serves the requests of sessions, and changes only with the session's CSRF token.

    The endpoint gets the same request, so that a form is read once: `await request.form()` has it already.
    """

    async def serve(request: Request) -> Response:
        # 1. Changes come from our own pages. The Guard lets pass what other origins the operator named.
        # 2. Nothing is read without a session.
        # 3. What a token opened shows and does what its scopes allow: a client that opened a session with its token
        #    would approve for itself.
        # 4. Changes carry the session's own CSRF token, in a header (htmx) or a field (forms).
        is_safe = request.method in SAFE_METHODS
        if not is_safe:
            refuse_other_pages(request)
        session = sessions.read(request)
        if session is None:
            raise Refusal(401, NOT_SIGNED_IN)
        request.state.session, principal = session
        request.state.principal = principal
        request.state.identity = WEB_PAGE._replace(owner=principal.owner)
        token = request.state.csrf_token = sessions.csrf_token(request.state.session)
        found = (rule for rule in BY_SCOPE if rule[0].fullmatch(request.url.path))
        _, to_see, to_change = next(found, ("", "", ""))
        if principal is not PERSON and (to_see if is_safe else to_change) not in {*principal.scopes, "any"}:
            raise Refusal(
                403, "insufficient_scope: the token that opened this session does not allow this.",
                hint="Open the pages with a link of `alita ui`.",
            )  # fmt: skip
        if is_safe:
            return await endpoint(request)
        length, size = request.headers.get("content-length", ""), 0
        if not length.isdecimal() or int(length) > MAX_FORM_BYTES:
            # a browser that cannot send it all would not show the refusal
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_DROPPED_BYTES:
                    break
            problem = f"The form and its files exceed {MAX_FORM_BYTES >> 20} MB."
            raise Refusal(413, problem, hint="Choose fewer or smaller files.")
        try:
            form = await request.form(max_files=MAX_FORM_FILES, max_fields=MAX_FORM_FIELDS)
            sent = request.headers.get("x-csrf-token") or str(form.get("csrf_token", ""))
            if not hmac.compare_digest(sent.encode("utf-8", "replace"), token.encode()):
                raise Refusal(403, "The form is out of date.", hint="Reload the page and try again.")
            return await endpoint(request)
        finally:
            await request.close()

    return serve


def refuse_other_pages(request: Request) -> None:
    """Checks that one of our pages sent a request, as browsers say; a program that is no browser says nothing.

    Raises:
        Refusal: another page did.
    """
    own = request.headers.get("host", "").lower()
    origins = [origin.partition("://")[2].lower() for origin in request.headers.getlist("origin")]
    site = request.headers.get("sec-fetch-site", "same-origin")
    if any(origin != own for origin in origins) or site not in ("same-origin", "none"):
        raise Refusal(403, "Another page sent this request.", hint="Use the pages of this server.")
