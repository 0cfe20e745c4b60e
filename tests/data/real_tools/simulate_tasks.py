import sched

class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

def simulate_tasks(delays: dict[str, float], repeat: float = 0.0) -> list[str]:
    """When each task ran.

    Args:
        delays: Seconds after the start, by name.
        repeat: Each task runs once more so many seconds later, unless it is 0.

    Raises:
        ValueError: A delay is negative.
    """
    if repeat < 0 or any(delay < 0 for delay in delays.values()):
        raise ValueError("a delay is negative")
    clock, lines = _Clock(), []
    scheduler = sched.scheduler(clock.time, clock.sleep)

    def run(name: str, *, again: bool) -> None:
        lines.append(f"{clock.now:g} {name}")
        if again:
            scheduler.enter(repeat, 1, run, (name,), {"again": False})

    for name, delay in delays.items():
        scheduler.enter(delay, 1, run, (name,), {"again": repeat > 0})
    scheduler.run()
    return lines


DESCRIPTION = "Runs timed tasks of a scheduler on a clock of its own."
EXAMPLES = [{'arguments': {'delays': {'b': 2.0, 'a': 1.0}, 'repeat': 1.5},
  'expected': ['1 a', '2 b', '2.5 a', '3.5 b']},
 {'arguments': {'delays': {}}, 'expected': []},
 {'arguments': {'delays': {'x': -1.0}}, 'raises': 'ValueError'},
 {'arguments': {'delays': {'x': 0.5, 'y': 0.5}}, 'expected': ['0.5 x', '0.5 y']}]
