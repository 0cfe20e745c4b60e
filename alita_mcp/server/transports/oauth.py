"""OAuth 2.1 resource server: checks access tokens (JWT, RFC 9068) with the keys of one authorization server."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
import httpx
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter

from alita_mcp.errors import UsageError
from alita_mcp.owners import SCOPES, WORD, Principal
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
TIMEOUT_S = 5.0

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
        self._team_claim = settings.oauth_team_claim
        self._keys: jwt.PyJWKClient | None = None
        self._one_reads = anyio.CapacityLimiter(1)
        # as they were written: clients compare an issuer letter by letter
        as_written = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True)).validate_python
        issuer, resource = as_written(self._issuer), as_written(self._audience)
        self.metadata_url = str(build_resource_metadata_url(resource))
        self.routes = create_protected_resource_routes(resource, [issuer], list(SCOPES), "alita")
        """Protected resource metadata (RFC 9728), where the header of a 401 names it."""

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
            key = await self._find_key(str(header.get("kid")))
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=ALGORITHMS, audience=self._audience, issuer=self._issuer,
                leeway=LEEWAY_S, options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, RecursionError):
            return None
        return self._read_claims(claims)

    async def _find_key(self, name: str) -> jwt.PyJWK:
        # who names a known key does not wait behind those who name a new one
        keys = self._keys
        cached = keys and keys.jwk_set_cache and keys.jwk_set_cache.get()
        if keys and cached and (known := keys.match_kid(cached.keys, name)):
            return known
        return await anyio.to_thread.run_sync(self._read_key, name, limiter=self._one_reads)

    def _read_key(self, name: str) -> jwt.PyJWK:
        try:
            self._keys = self._keys or jwt.PyJWKClient(
                self._read_address(), lifespan=KEYS_S, timeout=TIMEOUT_S
            )
            return self._keys.get_signing_key(name)
        except (
            jwt.PyJWKClientConnectionError, jwt.PyJWKSetError, httpx.HTTPError, ValueError, KeyError, TypeError,
        ) as failure:  # fmt: skip
            _log.warning("Cannot read the keys of %s: %r", self._issuer, failure)
            problem = "The keys of the authorization server cannot be read."
            raise Refusal(503, "unavailable", problem, "Try again.") from failure

    def _read_address(self) -> str:
        for url in build_oauth_authorization_server_metadata_discovery_urls(self._issuer, self._issuer):
            answer = httpx.get(url, timeout=TIMEOUT_S)
            if answer.is_success and answer.json()["issuer"] == self._issuer:  # RFC 8414, 3.3
                return str(answer.json()["jwks_uri"])
        raise ValueError("there is no metadata of it")

    def _read_claims(self, claims: Mapping[str, Any]) -> Principal:
        teams, said = _words(claims.get(self._team_claim)), _words(claims.get("scope", claims.get("scp")))
        subject = quote(str(claims["sub"]), safe="@|:+ ")
        if len(teams) != 1 or not WORD.fullmatch(teams[0]) or not subject:
            problem = f"The claims `sub` and `{self._team_claim}` of the token name no subject of one team."
            raise Refusal(403, "no_team", problem, "ALITA_OAUTH_TEAM_CLAIM names the claim.")
        scopes = frozenset(SCOPES) & frozenset(said)
        client = str(claims.get("client_id", claims.get("azp", "")))
        # another grant is another client: it cannot go on with the session of one that may do more
        grant = f"{client} {' '.join(sorted(scopes))}"
        return Principal(f"{teams[0]}/{subject}", scopes, grant)


def _words(claim: object) -> list[str]:
    if isinstance(claim, str):
        return claim.split()
    return [each for each in claim if isinstance(each, str)] if isinstance(claim, list) else []
