CREATE TABLE token (
    id text PRIMARY KEY,
    name text NOT NULL,
    owner text NOT NULL,
    scopes text[] NOT NULL,
    digest text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX token_name ON token (name) WHERE revoked_at IS NULL;

CREATE TABLE spending (
    owner text NOT NULL,
    day date NOT NULL,
    model_tokens bigint NOT NULL,
    PRIMARY KEY (owner, day)
);
