import io
import logging
from collections import Counter

class _Counting(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.counts[record.levelname] += 1

def log_summary(messages: list[str], level: str = "INFO") -> dict[str, list[str]]:
    """Lines as a log shows them, and how many records of each level were seen.

    Args:
        messages: `LEVEL text`.
        level: The lowest one that is written.

    Raises:
        ValueError: A level is unknown.
    """
    stream, counting = io.StringIO(), _Counting()
    writing = logging.StreamHandler(stream)
    writing.setLevel(level)
    writing.setFormatter(logging.Formatter("%(levelname)-8s|%(name)s|%(message)s"))
    logger = logging.Logger("tool", logging.DEBUG)
    logger.addHandler(writing)
    logger.addHandler(counting)
    for message in messages:
        name, _, text = message.partition(" ")
        number = logging.getLevelNamesMapping().get(name)
        if number is None:
            raise ValueError(f"unknown level {name!r}")
        logger.log(number, "%s", text)
    return {"lines": stream.getvalue().splitlines(), "counts": [f"{name}={count}" for name, count in sorted(counting.counts.items())]}


DESCRIPTION = "Writes log records through handlers and filters."
EXAMPLES = [{'arguments': {'messages': ['INFO started', 'DEBUG detail', 'ERROR broken %d']},
  'expected': {'lines': ['INFO    |tool|started', 'ERROR   |tool|broken %d'],
               'counts': ['DEBUG=1', 'ERROR=1', 'INFO=1']}},
 {'arguments': {'messages': ['WARNING hot'], 'level': 'ERROR'},
  'expected': {'lines': [], 'counts': ['WARNING=1']}},
 {'arguments': {'messages': ['LOUD x']}, 'raises': 'ValueError'},
 {'arguments': {'messages': [], 'level': 'NONE'}, 'raises': 'ValueError'}]
