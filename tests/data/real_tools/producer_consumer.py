import asyncio

def producer_consumer(numbers: list[int], workers: int = 2) -> dict[str, int]:
    """Sum and count of the squares that the workers computed.

    Args:
        numbers: What is squared.
        workers: How many coroutines work, 1 to 10.

    Raises:
        ValueError: The number of workers is out of range.
    """
    if not 1 <= workers <= 10:
        raise ValueError("workers are 1 to 10")

    async def run() -> list[int]:
        queue: asyncio.Queue[int | None] = asyncio.Queue(maxsize=3)
        results: list[int] = []

        async def work() -> None:
            while (number := await queue.get()) is not None:
                results.append(number * number)

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        for number in [*numbers, *[None] * workers]:
            await queue.put(number)
        await asyncio.gather(*tasks)
        return results

    results = asyncio.run(run())
    return {"sum": sum(results), "count": len(results)}


DESCRIPTION = "Passes numbers through a queue between coroutines."
EXAMPLES = [{'arguments': {'numbers': [1, 2, 3, 4, 5, 6, 7]}, 'expected': {'sum': 140, 'count': 7}},
 {'arguments': {'numbers': [], 'workers': 10}, 'expected': {'sum': 0, 'count': 0}},
 {'arguments': {'numbers': [3], 'workers': 0}, 'raises': 'ValueError'},
 {'arguments': {'numbers': [-2], 'workers': 1}, 'expected': {'sum': 4, 'count': 1}},
 {'arguments': {'numbers': [3], 'workers': 11}, 'raises': 'ValueError'}]
