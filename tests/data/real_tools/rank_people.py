from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter

@dataclass(order=True)
class _Person:
    rank: tuple[int, int] = field(init=False, repr=False)
    name: str
    points: int
    age: int = 0

    def __post_init__(self) -> None:
        self.rank = (-self.points, self.age)

def rank_people(people: list[dict[str, int]], names: list[str]) -> list[str]:
    """Places with the names that share them.

    Args:
        people: Points and age of each.
        names: In the same order.

    Raises:
        ValueError: There are not as many names as people.
        KeyError: Someone has no points.
    """
    made = [_Person(name, each["points"], each.get("age", 0)) for name, each in zip(names, people, strict=True)]
    lines, place = [], 1
    for (points, _), group in groupby(sorted(made), key=attrgetter("rank")):
        members = [asdict(member) for member in group]
        lines.append(f"{place}. {', '.join(map(itemgetter('name'), members))} ({-points})")
        place += len(members)
    return lines


DESCRIPTION = "Ranks people by several keys, ties included."
EXAMPLES = [{'arguments': {'people': [{'points': 3},
                           {'points': 9, 'age': 40},
                           {'points': 9, 'age': 20},
                           {'points': 3}],
                'names': ['d', 'b', 'a', 'c']},
  'expected': ['1. a (9)', '2. b (9)', '3. c, d (3)']},
 {'arguments': {'people': [], 'names': []}, 'expected': []},
 {'arguments': {'people': [{'points': 1}], 'names': []}, 'raises': 'ValueError'},
 {'arguments': {'people': [{'age': 1}], 'names': ['x']}, 'raises': 'KeyError'}]
