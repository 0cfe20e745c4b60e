from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import ContextVar
from threading import Lock

_UNIT: ContextVar[str] = ContextVar("unit", default="words")

def parallel_words(texts: list[str], workers: int = 4) -> dict[str, int]:
    """Words of each text and of all.

    Args:
        texts: What is counted.
        workers: 1 to 32.

    Raises:
        ValueError: The number of workers is out of range.
    """
    if not 1 <= workers <= 32:
        raise ValueError("workers are 1 to 32")
    lock, total = Lock(), 0

    def count(text: str) -> int:
        nonlocal total
        words = len(text.split())
        with lock:
            total += words
        return words

    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = {pool.submit(count, text): place for place, text in enumerate(texts)}
        counts = {futures[future]: future.result() for future in as_completed(futures)}
    return {f"{place}": counts[place] for place in sorted(counts)} | {f"all {_UNIT.get()}": total}


DESCRIPTION = "Counts words of texts with a pool of workers."
EXAMPLES = [{'arguments': {'texts': ['a b c', '', 'd e']},
  'expected': {'0': 3, '1': 0, '2': 2, 'all words': 5}},
 {'arguments': {'texts': [], 'workers': 1}, 'expected': {'all words': 0}},
 {'arguments': {'texts': ['x'], 'workers': 0}, 'raises': 'ValueError'},
 {'arguments': {'texts': ['x y'], 'workers': 33}, 'raises': 'ValueError'},
 {'arguments': {'texts': ['x y'], 'workers': 32}, 'expected': {'0': 2, 'all words': 2}}]
