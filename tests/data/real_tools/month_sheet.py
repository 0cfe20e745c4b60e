import calendar
from datetime import date, timedelta

def month_sheet(year: int, month: int) -> dict[str, list[str]]:
    """The weeks of a month as text and its first and last working day.

    Args:
        year: 1 to 9998.
        month: 1 to 12.

    Raises:
        ValueError: There is no such month.
    """
    if not 1 <= month <= 12 or not 1 <= year <= 9998:
        raise ValueError("no such month")
    first = date(year, month, 1)
    days = calendar.monthrange(year, month)[1]
    work = [day for day in (first + timedelta(count) for count in range(days)) if day.weekday() < calendar.SATURDAY]
    sheet = calendar.TextCalendar(calendar.MONDAY).formatmonth(year, month).splitlines()
    return {"sheet": [line.rstrip() for line in sheet], "work": [work[0].isoformat(), work[-1].isoformat(), str(len(work))]}


DESCRIPTION = "Prints a month with its working days."
EXAMPLES = [{'arguments': {'year': 2026, 'month': 2},
  'expected': {'sheet': ['   February 2026',
                         'Mo Tu We Th Fr Sa Su',
                         '                   1',
                         ' 2  3  4  5  6  7  8',
                         ' 9 10 11 12 13 14 15',
                         '16 17 18 19 20 21 22',
                         '23 24 25 26 27 28'],
               'work': ['2026-02-02', '2026-02-27', '20']}},
 {'arguments': {'year': 2024, 'month': 2},
  'expected': {'sheet': ['   February 2024',
                         'Mo Tu We Th Fr Sa Su',
                         '          1  2  3  4',
                         ' 5  6  7  8  9 10 11',
                         '12 13 14 15 16 17 18',
                         '19 20 21 22 23 24 25',
                         '26 27 28 29'],
               'work': ['2024-02-01', '2024-02-29', '21']}},
 {'arguments': {'year': 2026, 'month': 13}, 'raises': 'ValueError'},
 {'arguments': {'year': 0, 'month': 1}, 'raises': 'ValueError'},
 {'arguments': {'year': 2026, 'month': 8},
  'expected': {'sheet': ['    August 2026',
                         'Mo Tu We Th Fr Sa Su',
                         '                1  2',
                         ' 3  4  5  6  7  8  9',
                         '10 11 12 13 14 15 16',
                         '17 18 19 20 21 22 23',
                         '24 25 26 27 28 29 30',
                         '31'],
               'work': ['2026-08-03', '2026-08-31', '21']}}]
