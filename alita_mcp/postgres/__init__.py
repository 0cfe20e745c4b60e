"""PostgreSQL that several servers share: connections, notices, migrations; the only user of psycopg."""
