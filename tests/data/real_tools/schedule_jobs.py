import heapq

def schedule_jobs(hours: list[int], machines: int) -> dict[str, list[int]]:
    """Jobs of each machine and the time at which all are done.

    Args:
        hours: How long each job takes.
        machines: How many there are.

    Raises:
        ValueError: There is no machine.
    """
    if machines < 1:
        raise ValueError("no machine")
    heap = [(0, number) for number in range(min(machines, 100))]
    jobs: dict[str, list[int]] = {f"m{number}": [] for _, number in heap}
    for job in heapq.nlargest(len(hours), hours):
        busy, number = heapq.heappop(heap)
        jobs[f"m{number}"].append(job)
        heapq.heappush(heap, (busy + job, number))
    return jobs | {"done": [max(busy for busy, _ in heap)]}


DESCRIPTION = "Distributes jobs over machines, longest first."
EXAMPLES = [{'arguments': {'hours': [3, 7, 2, 5, 4], 'machines': 2},
  'expected': {'m0': [7, 3], 'm1': [5, 4, 2], 'done': [11]}},
 {'arguments': {'hours': [], 'machines': 1}, 'expected': {'m0': [], 'done': [0]}},
 {'arguments': {'hours': [1], 'machines': 0}, 'raises': 'ValueError'},
 {'arguments': {'hours': [5, 5, 5], 'machines': 3},
  'expected': {'m0': [5], 'm1': [5], 'm2': [5], 'done': [5]}}]
