from abc import ABC, abstractmethod
import math

class _Shape(ABC):
    @abstractmethod
    def area(self) -> float:
        """Surface."""

    def __lt__(self, other: "_Shape") -> bool:
        return self.area() < other.area()

class _Circle(_Shape):
    def __init__(self, radius: float) -> None:
        self.radius = radius

    def area(self) -> float:
        return math.pi * self.radius ** 2

class _Rectangle(_Shape):
    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height

    def area(self) -> float:
        return self.width * self.height

class _Square(_Rectangle):
    def __init__(self, side: float) -> None:
        super().__init__(side, side)

_KINDS = {"circle": _Circle, "rectangle": _Rectangle, "square": _Square}

def shape_areas(shapes: list[dict[str, list[float]]]) -> list[float]:
    """Areas of shapes, smallest first.

    Args:
        shapes: Each one a kind (circle, rectangle or square) with its sizes.

    Raises:
        KeyError: A kind is unknown.
        ValueError: A size is negative.
    """
    made = []
    for shape in shapes:
        for kind, sizes in shape.items():
            if any(size < 0 for size in sizes):
                raise ValueError("sizes are never negative")
            made.append(_KINDS[kind](*sizes))
    return [round(each.area(), 3) for each in sorted(made)]


DESCRIPTION = "Adds up the areas of geometric shapes, each kind in its own class."
EXAMPLES = [{'arguments': {'shapes': [{'circle': [1.0]}, {'square': [1.5]}, {'rectangle': [2.0, 0.5]}]},
  'expected': [1.0, 2.25, 3.142]},
 {'arguments': {'shapes': []}, 'expected': []},
 {'arguments': {'shapes': [{'square': [-1.0]}]}, 'raises': 'ValueError'},
 {'arguments': {'shapes': [{'star': [1.0]}]}, 'raises': 'KeyError'}]
