"""An authorization server on loopback, of Authlib: metadata, keys, registration, codes with PKCE, signed tokens."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import flask
import jwt
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc.jwk import KeySet, RSAKey
from werkzeug.serving import make_server


class Registered(ClientMixin):
    """A client that registered itself."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.client_id = secrets.token_hex(8)
        self.metadata = metadata

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return str(self.metadata["redirect_uris"][0])

    def get_allowed_scope(self, scope: str) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.metadata["redirect_uris"]

    def check_client_secret(self, _secret: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class Issuer:
    """The server: who its users are, and what it signs."""

    def __init__(self, audience: str, users: dict[str, dict[str, Any]]) -> None:
        """`users`: the further claims of each, by subject; `scope` is what it may grant at most."""
        self.audience, self.users, self.url = audience, users, ""
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
        self.jwks_requests = 0
        self.is_away = False
        self._clients: dict[str, Registered] = {}
        self._codes: dict[str, Any] = {}

    def sign(
        self, *, key: Any = None, alg: str = "RS256", headers: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token as this server would sign it, but for what is given; a claim that is None is left out."""
        now = int(time.time())
        said = {
            "iss": self.url, "aud": self.audience, "sub": "ann", "exp": now + 300, "iat": now, "client_id": "c",
            "team": "red", "scope": "call make", **claims,
        }  # fmt: skip
        said = {name: value for name, value in said.items() if value is not None}
        signing = self.key.raw_value if key is None else key
        return jwt.encode(said, signing, alg, {"kid": "first", "typ": "at+jwt", **(headers or {})})

    def rotate_key(self) -> None:
        """Signs with another key from now on."""
        self.key = RSAKey.generate_key(2048, {"kid": "second", "use": "sig", "alg": "RS256"})

    def application(self) -> flask.Flask:
        app, issuer = flask.Flask("issuer"), self

        class Codes(AuthorizationCodeGrant):  # type: ignore[misc]
            TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

            def save_authorization_code(self, code: str, request: Any) -> None:
                payload = request.payload
                issuer._codes[code] = SimpleNamespace(
                    code=code, client_id=request.client.client_id, user=request.user,
                    code_challenge=payload.data["code_challenge"],
                    code_challenge_method=payload.data["code_challenge_method"],
                    get_redirect_uri=lambda uri=payload.redirect_uri: uri,
                    get_scope=lambda scope=payload.scope: scope, get_nonce=lambda: None,
                )  # fmt: skip

            def query_authorization_code(self, code: str, _client: Any) -> Any:
                return issuer._codes.get(code)

            def delete_authorization_code(self, code: Any) -> None:
                del issuer._codes[code.code]

            def authenticate_user(self, code: Any) -> Any:
                return code.user

        class Tokens(JWTBearerTokenGenerator):  # type: ignore[misc]
            def get_jwks(self) -> KeySet:
                return KeySet([issuer.key])

            def get_audiences(self, _client: Any, _user: Any, _scope: Any) -> str:
                return issuer.audience

            def get_extra_claims(self, _client: Any, _grant: Any, user: Any, scope: str) -> dict[str, Any]:
                said = dict(issuer.users[user.get_user_id()])
                allowed = said.pop("scope").split()
                return said | {"scope": " ".join(each for each in scope.split() if each in allowed)}

        server = AuthorizationServer(app, self._clients.get, lambda _token, _request: None)
        server.register_grant(Codes, [CodeChallenge(required=True)])
        server.register_token_generator("default", Tokens(issuer=self.url))

        @app.before_request
        def be_away() -> Any:
            return ("away", 503) if self.is_away else None

        @app.get("/.well-known/oauth-authorization-server")
        def metadata() -> Any:
            return {
                "issuer": self.url, "jwks_uri": f"{self.url}/jwks",
                "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "grant_types_supported": ["authorization_code"],
                "token_endpoint_auth_methods_supported": ["none"],
            }  # fmt: skip

        @app.get("/jwks")
        def keys() -> Any:
            self.jwks_requests += 1
            return KeySet([self.key]).as_dict(private=False)

        @app.post("/register")
        def register() -> Any:
            client = Registered(flask.request.get_json())
            self._clients[client.client_id] = client
            return {
                **client.metadata,
                "client_id": client.client_id,
                "token_endpoint_auth_method": "none",
            }, 201

        @app.get("/authorize")
        def authorize() -> Any:
            user = flask.request.headers["x-user"]  # who signs in and agrees at once
            grant_user = SimpleNamespace(get_user_id=lambda: user)
            grant = server.get_consent_grant(end_user=grant_user)
            return server.create_authorization_response(grant=grant, grant_user=grant_user)

        @app.post("/token")
        def token() -> Any:
            return server.create_token_response()

        return app


@contextmanager
def running_issuer(audience: str, users: dict[str, dict[str, Any]]) -> Iterator[Issuer]:
    """The server while the block runs."""
    issuer = Issuer(audience, users)
    server = make_server("127.0.0.1", 0, flask.Flask("not yet"), threaded=True)
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    server.app = issuer.application()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def other_keys() -> dict[str, Any]:
    """Private keys that no authorization server knows."""
    return {"RS256": rsa.generate_private_key(65_537, 2048), "ES256": ec.generate_private_key(ec.SECP256R1())}
