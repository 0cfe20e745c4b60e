import asyncio

async def _wait(name: str, seconds: float, done: list[str]) -> int:
    await asyncio.sleep(seconds)
    done.append(name)
    return len(name)

async def gather_delays(delays: dict[str, float], limit: float = 0.5) -> list[str]:
    """Names in the order in which their waits end; those that take longer than the limit are left out.

    Args:
        delays: Seconds by name.
        limit: Seconds after which nobody waits any more, at most 1.

    Raises:
        ValueError: A number of seconds is negative or the limit above 1.
    """
    if limit > 1 or limit < 0 or any(seconds < 0 for seconds in delays.values()):
        raise ValueError("seconds out of range")
    done: list[str] = []
    try:
        async with asyncio.timeout(limit):
            async with asyncio.TaskGroup() as tasks:
                for name, seconds in delays.items():
                    tasks.create_task(_wait(name, seconds, done))
    except TimeoutError:
        done.append("...")
    return done


DESCRIPTION = "Runs several waits at once and tells the order of their ends."
EXAMPLES = [{'arguments': {'delays': {'b': 0.06, 'a': 0.02, 'c': 0.1}}, 'expected': ['a', 'b', 'c']},
 {'arguments': {'delays': {'slow': 3.0, 'quick': 0.01}, 'limit': 0.1},
  'expected': ['quick', '...']},
 {'arguments': {'delays': {}}, 'expected': []},
 {'arguments': {'delays': {'x': -1.0}}, 'raises': 'ValueError'},
 {'arguments': {'delays': {}, 'limit': 2.0}, 'raises': 'ValueError'}]
