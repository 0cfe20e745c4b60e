-- What is not the catalogue: kept files, runs of tasks, secrets of the servers. Texts that anybody may write are bytea:
-- they may hold what a text of PostgreSQL cannot.

CREATE SEQUENCE kept_used;

CREATE TABLE kept (
    kind text NOT NULL,
    owner text NOT NULL,
    name text NOT NULL,
    content bytea NOT NULL,
    used bigint NOT NULL DEFAULT nextval('kept_used'),
    PRIMARY KEY (kind, owner, name)
) PARTITION BY LIST (kind);

CREATE INDEX kept_by_use ON kept (kind, used);

-- Runs of code that may come back as tools are a help: they may go with a crash of the database.
CREATE UNLOGGED TABLE kept_code_runs PARTITION OF kept FOR VALUES IN ('code_runs');
CREATE TABLE kept_files PARTITION OF kept DEFAULT;

CREATE TABLE run (
    run text PRIMARY KEY,
    owner text NOT NULL,
    request bytea NOT NULL,
    summary bytea,
    holder text NOT NULL,
    seen timestamptz NOT NULL DEFAULT now(),
    event_bytes bigint NOT NULL DEFAULT 0,
    began bigint GENERATED ALWAYS AS IDENTITY
);

CREATE TABLE run_event (
    run text NOT NULL REFERENCES run ON DELETE CASCADE, number integer NOT NULL, line bytea NOT NULL,
    PRIMARY KEY (run, number)
);

CREATE TABLE run_file (
    run text NOT NULL REFERENCES run ON DELETE CASCADE, name bytea NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (run, name)
);

CREATE TABLE secret (name text PRIMARY KEY, value text NOT NULL);
