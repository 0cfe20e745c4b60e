-- What is not the catalogue: kept files, secrets of the servers. Texts that anybody may write are bytea:
-- they may hold what a text of PostgreSQL cannot.

CREATE SEQUENCE kept_used;

CREATE TABLE kept (
    kind text NOT NULL,
    owner text NOT NULL,
    name text NOT NULL,
    -- The order of what was added to a file at its end; 0: the whole file.
    part bigint NOT NULL,
    content bytea NOT NULL,
    used bigint NOT NULL DEFAULT nextval('kept_used'),
    PRIMARY KEY (kind, owner, name, part)
) PARTITION BY LIST (kind);

CREATE INDEX kept_by_use ON kept (kind, used);

-- Runs of code that may come back as tools are a help: they may go with a crash of the database.
CREATE UNLOGGED TABLE kept_code_runs PARTITION OF kept FOR VALUES IN ('code_runs');
CREATE TABLE kept_files PARTITION OF kept DEFAULT;

CREATE TABLE secret (name text PRIMARY KEY, value text NOT NULL);
