import random

def seeded_draw(names: list[str], winners: int, seed: int) -> dict[str, list[str]]:
    """Winners, the order of all and a few numbers.

    Args:
        names: Who takes part.
        winners: How many win.
        seed: The same one gives the same draw.

    Raises:
        ValueError: There are fewer names than winners.
    """
    if winners < 0 or winners > len(names):
        raise ValueError("fewer names than winners")
    source = random.Random(seed)
    won = source.sample(names, winners)
    order = names[:]
    source.shuffle(order)
    numbers = [str(source.randint(1, 49)) for _ in range(3)]
    return {"winners": won, "order": order, "numbers": numbers, "normal": [f"{source.gauss(0, 1):.4f}"]}


DESCRIPTION = "Draws lots that anybody can draw again with the same seed."
EXAMPLES = [{'arguments': {'names': ['Ann', 'Bob', 'Cid', 'Dee'], 'winners': 2, 'seed': 7},
  'expected': {'winners': ['Cid', 'Ann'],
               'order': ['Bob', 'Ann', 'Cid', 'Dee'],
               'numbers': ['5', '35', '7'],
               'normal': ['-0.2297']}},
 {'arguments': {'names': [], 'winners': 0, 'seed': 1},
  'expected': {'winners': [], 'order': [], 'numbers': ['9', '37', '49'], 'normal': ['0.4621']}},
 {'arguments': {'names': ['a'], 'winners': 2, 'seed': 1}, 'raises': 'ValueError'},
 {'arguments': {'names': ['a', 'b'], 'winners': 1, 'seed': -5},
  'expected': {'winners': ['b'],
               'order': ['a', 'b'],
               'numbers': ['45', '48', '42'],
               'normal': ['0.2143']}}]
