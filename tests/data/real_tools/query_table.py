import sqlite3
from contextlib import closing

def query_table(records: list[dict[str, int]], sql: str) -> list[dict[str, int]]:
    """Rows that a SELECT finds in the table `t`.

    Args:
        records: Rows with the same columns.
        sql: One SELECT statement.

    Raises:
        OperationalError: The statement is wrong.
        ValueError: There are no records.
    """
    if not records:
        raise ValueError("no records")
    names = list(records[0])
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        database.execute(f"CREATE TABLE t ({', '.join(chr(34) + name + chr(34) for name in names)})")
        marks = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO t VALUES ({marks})", [[record.get(name) for name in names] for record in records])
        return [dict(row) for row in database.execute(sql)]


DESCRIPTION = "Filters and groups records with SQL in memory."
EXAMPLES = [{'arguments': {'records': [{'a': 1, 'b': 2}, {'a': 1, 'b': 5}, {'a': 2, 'b': 7}],
                'sql': 'SELECT a, SUM(b) AS total FROM t GROUP BY a ORDER BY a'},
  'expected': [{'a': 1, 'total': 7}, {'a': 2, 'total': 7}]},
 {'arguments': {'records': [{'x': 3}], 'sql': 'SELECT COUNT(*) AS n FROM t WHERE x > 3'},
  'expected': [{'n': 0}]},
 {'arguments': {'records': [{'x': 3}], 'sql': 'SELEC'}, 'raises': 'OperationalError'},
 {'arguments': {'records': [], 'sql': 'SELECT 1'}, 'raises': 'ValueError'}]
