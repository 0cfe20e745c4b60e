-- Jobs that any server works on, and what was applied of the queue's own schema (alita_queue, by procrastinate).
-- Texts that anybody may write are JSON, which spells out what a text of PostgreSQL cannot hold.

CREATE TABLE job (
    id text PRIMARY KEY,
    tool text NOT NULL,
    owner text NOT NULL,
    -- Digest of the request; the same one of an owner is the same job. Empty: of no other.
    key text NOT NULL,
    -- What any server can do. NULL: the work goes on where it began, and ends with that server.
    request text,
    -- Whether a person at the client can be asked.
    asks boolean NOT NULL,
    parked boolean NOT NULL DEFAULT false,
    stage text NOT NULL DEFAULT '"queued"',
    questions text NOT NULL DEFAULT '[]',
    answers jsonb NOT NULL DEFAULT '{}',
    -- Servers with callers that wait for the outcome.
    waiting text[] NOT NULL,
    cancelled boolean NOT NULL DEFAULT false,
    delivered boolean NOT NULL DEFAULT false,
    server text NOT NULL DEFAULT '',
    attempt integer NOT NULL DEFAULT 0,
    started timestamptz NOT NULL DEFAULT now(),
    finished timestamptz,
    outcome text,
    failure text
);

CREATE UNIQUE INDEX job_under_way ON job (owner, tool, key) WHERE key <> '' AND finished IS NULL AND NOT cancelled;
CREATE INDEX job_unfinished ON job (server) WHERE finished IS NULL;
CREATE INDEX job_finished ON job (finished);

CREATE TABLE queue_migration (name text PRIMARY KEY);
