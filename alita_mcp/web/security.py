"""Who may use the pages: one-time codes, session cookies, CSRF tokens, and the check of each request."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

import anyio
from starlette.requests import Request
from starlette.responses import Response

from alita_mcp.errors import AlitaError
from alita_mcp.owners import SCOPES, ClientIdentity, Principal, ScopeName, team_of, token_owner

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
AS_CLIENTS = re.compile(r"/ui/ask(/.*)?|/ui/library/[^/]+/calls")
"""Changes that whoever has the token can make without a page, too: tasks and calls. All others are a person's: a
client that opened a session with its token would approve for itself."""
FOR_PERSONS = ("/ui/decide", "/ui/gaps")
"""Pages with digests that approve, and with programs of all owners."""
BY_SCOPE: Sequence[tuple[re.Pattern[str], ScopeName | Literal["any"] | None, ScopeName | None]] = (
    (re.compile(r"/ui/ask(/.*)?"), "call", "call"),
    (re.compile(r"/ui/library/[^/]+/calls"), None, "call"),
    (re.compile(r"/ui/library/[^/]+/(export|do/.*)"), None, "manage"),
    (re.compile(r"/ui/(library|activity)(/.*)?|/ui/decide/count"), "any", None),
    (re.compile(r"/ui/decide(/.*)?"), "approve", "approve"),
)
"""Paths, and what a token of `alita token` that opened the session must allow to see them, and to send forms."""
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


class Tokens(Protocol):
    """The tokens of `alita token` that count."""

    def find(self, digest: bytes) -> Principal | None:
        """Who has the token of a SHA-256 digest."""
        ...

    def find_by_id(self, id_: str) -> Principal | None:
        """Who has the token of an id."""
        ...


class Sessions:
    """Sessions of one home. None is stored: a cookie is `expiry.kind.nonce.signature`, so that a restart ends none.

    Its `kind` is what opened it: a one-time `code`, which only this user's processes get, the server's own `token`, or
    the id of another.
    """

    def __init__(self, secret: bytes, *, token: str | None = None, tokens: Tokens | None = None) -> None:
        """They end when the `secret` changes. Without a `token`, only one-time codes open one.

        Any of the `tokens` opens one as well, which ends with it.
        """
        self._tokens = tokens
        self._key = hmac.new(secret, b"sessions of alita's pages", hashlib.sha256).digest()
        self.token = token
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
        """The value of a new session's cookie, for a one-time code or the token.

        Raises:
            Refusal: it is neither.
        """
        given = given.strip()
        if self._codes.pop(given, 0.0) > time.monotonic():
            return self.make_session()
        if self.token is None:
            raise Refusal(403, "This code is wrong, was used already, or is too old.", hint=SIGN_IN)
        digest = hashlib.sha256(given.encode("utf-8", "replace")).digest()
        if self._tokens is not None and (principal := self._tokens.find(digest)):
            return self.make_session(principal.id)
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            raise Refusal(403, "This is neither the token nor a code that can still be used.", hint=SIGN_IN)
        return self.make_session("token")

    def read(self, request: Request) -> str | None:
        """The cookie of a session, if a request carries one."""
        cookie = request.cookies.get(self.cookie, "")
        content, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", content).encode()):
            return None
        expiry, kind, _ = content.split(".")
        if int(expiry) <= time.time() or not (kind in ("code", "token") or self.find_principal(cookie)):
            return None
        self.used_at = time.monotonic()
        return cookie

    def identify(self, session: str) -> ClientIdentity:
        """Who acts: the person; where the token opened the session, its owner, as over MCP."""
        return (
            WEB_PAGE if session.split(".")[1] == "code" else WEB_PAGE._replace(owner=token_owner(self.token))
        )

    def find_principal(self, session: str) -> Principal | None:
        """Who has the token of `alita token` that opened a session; None where another thing did, or it ended."""
        return self._tokens.find_by_id(session.split(".")[1]) if self._tokens is not None else None

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
    viewer: ClientIdentity = request.state.identity
    if viewer is WEB_PAGE or viewer.owner == owner:
        return True
    team = team_of(viewer.owner)
    return team == team_of(owner) and (not team or "manage" in request.state.scopes)


def check_request(sessions: Sessions, endpoint: Endpoint) -> Endpoint:
    """An endpoint that serves the requests of sessions, and changes only with the session's CSRF token.

    The endpoint gets the same request, so that a form is read once: `await request.form()` has it already.
    """

    async def serve(request: Request) -> Response:
        # 1. Changes come from our own pages. The Guard lets pass what other origins the operator named.
        # 2. Nothing is read without a session.
        # 3. Decisions are a person's.
        # 4. Changes carry the session's own CSRF token, in a header (htmx) or a field (forms).
        is_safe = request.method in SAFE_METHODS
        if not is_safe:
            refuse_other_pages(request)
        session = sessions.read(request)
        if session is None:
            raise Refusal(401, NOT_SIGNED_IN)
        request.state.session = session
        principal = sessions.find_principal(session)
        if principal is None and session.split(".")[1] not in ("code", "token"):  # it ended a moment ago
            raise Refusal(401, NOT_SIGNED_IN)
        request.state.identity = (
            WEB_PAGE._replace(owner=principal.owner) if principal else sessions.identify(session)
        )
        token = request.state.csrf_token = sessions.csrf_token(session)
        path = request.url.path
        if principal is not None:
            request.state.scopes = principal.scopes
            needed = next((each[1 if is_safe else 2] for each in BY_SCOPE if each[0].fullmatch(path)), None)
            if needed != "any" and needed not in principal.scopes:
                raise Refusal(
                    403, "insufficient_scope: the token that opened this session does not allow this."
                )
        else:
            request.state.scopes = frozenset(
                SCOPES if request.state.identity is WEB_PAGE else ("call", "make")
            )
        as_client = path not in FOR_PERSONS if is_safe else AS_CLIENTS.fullmatch(path)
        if not as_client and principal is None and request.state.identity is not WEB_PAGE:
            raise Refusal(
                403, "The token opened this session: clients have it, too, so it decides nothing.",
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
