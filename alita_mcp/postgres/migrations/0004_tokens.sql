CREATE TABLE token (
    name text PRIMARY KEY,
    owner text NOT NULL,
    scopes text[] NOT NULL,
    digest text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE spending (
    owner text NOT NULL,
    day date NOT NULL,
    model_tokens bigint NOT NULL,
    PRIMARY KEY (owner, day)
);
