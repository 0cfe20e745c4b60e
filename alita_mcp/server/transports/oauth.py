"""OAuth 2.1 resource server: checks access tokens (JWT, RFC 9068) with the keys of one authorization server."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
import httpx
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from starlette.routing import Route

from alita_mcp.errors import UsageError
from alita_mcp.owners import SCOPES, Principal
from alita_mcp.server.api.problems import Refusal
from alita_mcp.settings import Settings

ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Of public keys alone: with a key that everybody has, nobody proves anything by an HMAC."""
TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
LEEWAY_S = 60
"""So far the clocks of the authorization server and of this machine may differ."""
KEYS_S = 3_600.0
"""How long keys are used before they are read again."""
LOOK_AGAIN_S = 15.0
"""So often at most, unknown keys and failures have them read again: anybody can send a token that names a new one."""
TIMEOUT_S = 5.0
MAX_BYTES = 1 << 20
TEAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_SUBJECT = 255

_log = logging.getLogger(__name__)


class ResourceServer:
    """The resource server of one authorization server."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is fetched before the first token.

        Raises:
            UsageError: one of issuer and audience is not set.
        """
        if settings.oauth_issuer is None or settings.oauth_audience is None:
            raise UsageError("ALITA_OAUTH_ISSUER and ALITA_OAUTH_AUDIENCE need each other.", hint="Set both.")
        self._issuer, self._audience = settings.oauth_issuer, settings.oauth_audience
        self._team_claim, self._scope_claim = settings.oauth_team_claim, settings.oauth_scope_claim
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = self._tried_at = float("-inf")
        self._reading = anyio.Lock()
        urls = AuthSettings.model_validate(
            {
                "issuer_url": self._issuer,
                "resource_server_url": self._audience,
                "validate_token_resource": False,  # the audience is checked below
            }
        )  # which keeps them as they were written: an issuer is compared letter by letter
        if urls.resource_server_url is None:
            raise AssertionError("an address was given")
        self.metadata_url = str(build_resource_metadata_url(urls.resource_server_url))
        routes = create_protected_resource_routes(
            urls.resource_server_url, [urls.issuer_url], list(SCOPES), "alita"
        )
        root = "/.well-known/oauth-protected-resource"
        self.routes = [*routes, *(Route(root, each.endpoint, methods=each.methods) for each in routes)]
        """Protected resource metadata (RFC 9728), where the header of a 401 names it and at the root."""

    @property
    def paths(self) -> list[str]:
        """Of these routes."""
        return [route.path for route in self.routes]

    async def identify(self, token: str) -> Principal | None:
        """The principal of an access token; None for one that does not count here.

        Raises:
            Refusal: the keys of the authorization server cannot be had, or the token names no team.
        """
        try:
            header = jwt.get_unverified_header(token)
            kind = header.get("typ")
            if header.get("alg") not in ALGORITHMS or (kind and str(kind).lower()) not in TYPES:
                return None
            key = await self._find_key(header.get("kid"))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=ALGORITHMS, audience=self._audience, issuer=self._issuer,
                leeway=LEEWAY_S, options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            return None
        return self._read_claims(claims)

    def _read_claims(self, claims: Mapping[str, Any]) -> Principal:
        teams, said = _words(claims.get(self._team_claim)), _words(claims.get(self._scope_claim))
        subject = quote(str(claims["sub"]), safe="@|:+ ")
        if len(teams) != 1 or not TEAM.fullmatch(teams[0]) or not 0 < len(subject) <= MAX_SUBJECT:
            problem = f"The claims `sub` and `{self._team_claim}` of the token name no subject of one team."
            raise Refusal(403, "no_team", problem, "ALITA_OAUTH_TEAM_CLAIM names the claim.")
        scopes = frozenset(SCOPES) & frozenset(said)
        client = str(claims.get("client_id", claims.get("azp", "")))[:MAX_SUBJECT]
        # another grant is another client: it cannot go on with the session of one that may do more
        grant = f"{client} {' '.join(sorted(scopes))}"
        return Principal(
            f"{teams[0]}/{subject}", scopes, grant, self._issuer, float(claims["exp"]) + LEEWAY_S
        )

    async def _find_key(self, name: object) -> jwt.PyJWK | None:
        """The key of that name; a token that names none has the only one."""
        if time.monotonic() >= self._read_at + KEYS_S or self._known_key(name) is None:
            await self._read_keys()
        return self._known_key(name)

    def _known_key(self, name: object) -> jwt.PyJWK | None:
        if name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(str(name))

    async def _read_keys(self) -> None:
        async with self._reading:
            if time.monotonic() >= self._tried_at + LOOK_AGAIN_S:
                self._tried_at = time.monotonic()
                try:
                    with anyio.fail_after(TIMEOUT_S):
                        self._keys = await self._fetch_keys()
                    self._read_at = time.monotonic()
                except (
                    httpx.HTTPError,
                    ValueError,
                    KeyError,
                    TypeError,
                    TimeoutError,
                    jwt.PyJWTError,
                ) as failure:
                    _log.warning("Cannot read the keys of %s: %r", self._issuer, failure)
        if not self._keys:
            raise Refusal(
                503, "unavailable", "The keys of the authorization server cannot be read.", "Try again."
            )

    async def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as http:
            for url in build_oauth_authorization_server_metadata_discovery_urls(self._issuer, self._issuer):
                answer = await http.get(url)
                if answer.status_code == httpx.codes.OK:
                    break
            else:
                raise ValueError("there is no metadata")
            metadata = _read_json(answer)
            if metadata["issuer"] != self._issuer:  # RFC 8414, 3.3
                raise ValueError(f"the metadata is of {metadata['issuer']!r}")
            place = urlsplit(metadata["jwks_uri"])
            if place.scheme != "https" and place.hostname != urlsplit(self._issuer).hostname:
                raise ValueError("the keys are not at an https address")
            document = _read_json(await http.get(metadata["jwks_uri"]))
        found = {}
        for place_in_set, each in enumerate(document["keys"]):
            if each.get("use", "sig") == "sig" and each.get("kty") != "oct":
                with suppress(jwt.PyJWTError):  # of a kind that is not known here
                    found[str(each.get("kid", place_in_set))] = jwt.PyJWK(each)
        return found


def _read_json(answer: httpx.Response) -> dict[str, Any]:
    answer.raise_for_status()
    if len(answer.content) > MAX_BYTES:
        raise ValueError("the document is too large")
    document = answer.json()
    if not isinstance(document, dict):
        raise TypeError("the document is no object")
    return document


def _words(claim: object) -> list[str]:
    if isinstance(claim, str):
        return claim.split()
    return [each for each in claim if isinstance(each, str)] if isinstance(claim, list) else []
