import csv
import io

def csv_column_sums(text: str, delimiter: str = ",") -> dict[str, float]:
    """Sum of each column whose cells are all numbers.

    Args:
        text: CSV with a header row.
        delimiter: One character.

    Raises:
        ValueError: A row is longer than the header.
    """
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    sums: dict[str, float] = {}
    text_columns: set[str] = set()
    for row in rows:
        if None in row:
            raise ValueError("a row is longer than the header")
        for name, cell in row.items():
            try:
                sums[name] = sums.get(name, 0.0) + float(cell)
            except (TypeError, ValueError):
                text_columns.add(name)
    return {name: round(total, 6) for name, total in sums.items() if name not in text_columns}


DESCRIPTION = "Adds up the numeric columns of a CSV text."
EXAMPLES = [{'arguments': {'text': 'name,a,b\nx,1,2.5\n"y, z",3,4\n'}, 'expected': {'a': 4.0, 'b': 6.5}},
 {'arguments': {'text': 'a;b\n1;2\n3;q\n', 'delimiter': ';'}, 'expected': {'a': 4.0}},
 {'arguments': {'text': ''}, 'expected': {}},
 {'arguments': {'text': 'a\n1,2\n'}, 'raises': 'ValueError'}]
