from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

def meeting_times(moment: str, zone: str, others: list[str]) -> dict[str, str]:
    """Local times of one moment.

    Args:
        moment: Local time such as 2026-03-29T12:00.
        zone: Zone of the moment, such as Europe/Berlin.
        others: Zones to convert to.

    Raises:
        ValueError: The moment cannot be read or a zone is unknown.
    """
    try:
        local = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone))
        return {other: local.astimezone(ZoneInfo(other)).strftime("%Y-%m-%d %H:%M %Z") for other in others}
    except ZoneInfoNotFoundError as unknown:
        raise ValueError(str(unknown)) from unknown


DESCRIPTION = "Tells what a moment is called in several time zones."
EXAMPLES = [{'arguments': {'moment': '2026-03-29T12:00',
                'zone': 'Europe/Berlin',
                'others': ['America/New_York', 'Asia/Tokyo', 'UTC']},
  'expected': {'America/New_York': '2026-03-29 06:00 EDT',
               'Asia/Tokyo': '2026-03-29 19:00 JST',
               'UTC': '2026-03-29 10:00 UTC'}},
 {'arguments': {'moment': '2026-01-15T23:30',
                'zone': 'Asia/Kolkata',
                'others': ['Europe/London', 'Pacific/Auckland']},
  'expected': {'Europe/London': '2026-01-15 18:00 GMT',
               'Pacific/Auckland': '2026-01-16 07:00 NZDT'}},
 {'arguments': {'moment': 'tomorrow', 'zone': 'UTC', 'others': []}, 'raises': 'ValueError'},
 {'arguments': {'moment': '2026-01-01T00:00', 'zone': 'Mars/Base', 'others': ['UTC']},
  'raises': 'ValueError'}]
