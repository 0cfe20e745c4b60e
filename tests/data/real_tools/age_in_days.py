from datetime import UTC, date, datetime, time, timedelta

def age_in_days(start: str, end: str) -> dict[str, str]:
    """Span between two dates.

    Args:
        start: ISO date.
        end: ISO date.

    Raises:
        ValueError: A date cannot be read or the end comes first.
    """
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    if last < first:
        raise ValueError("the end comes first")
    weeks, days = divmod((last - first).days, 7)
    week = last.isocalendar()
    noon = datetime.combine(last, time(12), UTC) + timedelta(hours=13)
    return {"span": f"{weeks} weeks, {days} days", "week": f"{week.year}-W{week.week:02}-{week.weekday}", "then": noon.strftime("%a %d %b %Y %I %p"), "day": str(last.timetuple().tm_yday)}


DESCRIPTION = "Tells the days, weeks and ISO week between two dates."
EXAMPLES = [{'arguments': {'start': '2026-01-01', 'end': '2026-11-22'},
  'expected': {'span': '46 weeks, 3 days',
               'week': '2026-W47-7',
               'then': 'Mon 23 Nov 2026 01 AM',
               'day': '326'}},
 {'arguments': {'start': '2020-02-28', 'end': '2020-03-01'},
  'expected': {'span': '0 weeks, 2 days',
               'week': '2020-W09-7',
               'then': 'Mon 02 Mar 2020 01 AM',
               'day': '61'}},
 {'arguments': {'start': '2026-01-02', 'end': '2026-01-01'}, 'raises': 'ValueError'},
 {'arguments': {'start': 'x', 'end': '2026-01-01'}, 'raises': 'ValueError'},
 {'arguments': {'start': '2025-12-29', 'end': '2025-12-29'},
  'expected': {'span': '0 weeks, 0 days',
               'week': '2026-W01-1',
               'then': 'Tue 30 Dec 2025 01 AM',
               'day': '363'}}]
