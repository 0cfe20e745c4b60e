import pickle
import zlib
from datetime import date, timedelta

class _Event:
    def __init__(self, title: str, day: date) -> None:
        self.title, self.day = title, day

    def __reduce__(self) -> tuple[type, tuple[str, date]]:
        return _Event, (self.title, self.day)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Event) and (self.title, self.day) == (other.title, other.day)

    __hash__ = None

def pickled_copy(title: str, day: str, repeats: int = 1) -> dict[str, str]:
    """Whether copies of an event are equal to it, and when the last one takes place.

    Args:
        title: Of the event.
        day: ISO date of the first one.
        repeats: How often it takes place, once a week, 1 to 500.

    Raises:
        ValueError: The day cannot be read or the number is out of range.
    """
    if not 1 <= repeats <= 500:
        raise ValueError("repeats are 1 to 500")
    first = date.fromisoformat(day)
    events = [_Event(title, first + timedelta(weeks=count)) for count in range(repeats)]
    data = pickle.dumps(events, protocol=4)
    return {"equal": str(pickle.loads(data) == events), "last": events[-1].day.isoformat(), "crc": f"{zlib.crc32(title.encode()):x}"}


DESCRIPTION = "Copies a value by pickling and tells its checksum."
EXAMPLES = [{'arguments': {'title': 'Tea', 'day': '2026-11-22', 'repeats': 3},
  'expected': {'equal': 'True', 'last': '2026-12-06', 'crc': 'b6cb9152'}},
 {'arguments': {'title': '', 'day': '2024-02-29'},
  'expected': {'equal': 'True', 'last': '2024-02-29', 'crc': '0'}},
 {'arguments': {'title': 'x', 'day': 'today'}, 'raises': 'ValueError'},
 {'arguments': {'title': 'x', 'day': '2026-01-01', 'repeats': 0}, 'raises': 'ValueError'},
 {'arguments': {'title': 'x', 'day': '2026-01-01', 'repeats': 500},
  'expected': {'equal': 'True', 'last': '2035-07-26', 'crc': '8cdc1683'}},
 {'arguments': {'title': 'x', 'day': '2026-01-01', 'repeats': 501}, 'raises': 'ValueError'}]
