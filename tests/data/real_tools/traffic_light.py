from enum import Enum, IntFlag, auto

class _Light(Enum):
    RED = "red"
    RED_YELLOW = "red-yellow"
    GREEN = "green"
    YELLOW = "yellow"

    def next(self) -> "_Light":
        members = list(_Light)
        return members[(members.index(self) + 1) % len(members)]

class _Lamp(IntFlag):
    TOP = auto()
    MIDDLE = auto()
    BOTTOM = auto()

_LAMPS = {_Light.RED: _Lamp.TOP, _Light.RED_YELLOW: _Lamp.TOP | _Lamp.MIDDLE, _Light.GREEN: _Lamp.BOTTOM, _Light.YELLOW: _Lamp.MIDDLE}

def traffic_light(state: str, steps: int) -> dict[str, int]:
    """The state after some steps, with the number of its lamps as bits.

    Args:
        state: Where it begins: red, red-yellow, green or yellow.
        steps: How many changes follow, 0 to 1000.

    Raises:
        ValueError: The state or the number of steps is none.
    """
    if not 0 <= steps <= 1000:
        raise ValueError("steps are 0 to 1000")
    light = _Light(state)
    for _ in range(steps):
        light = light.next()
    return {light.value: int(_LAMPS[light])}


DESCRIPTION = "Steps a traffic light through its states."
EXAMPLES = [{'arguments': {'state': 'red', 'steps': 1}, 'expected': {'red-yellow': 3}},
 {'arguments': {'state': 'green', 'steps': 2}, 'expected': {'red': 1}},
 {'arguments': {'state': 'yellow', 'steps': 0}, 'expected': {'yellow': 2}},
 {'arguments': {'state': 'red', 'steps': 6}, 'expected': {'green': 4}},
 {'arguments': {'state': 'blue', 'steps': 1}, 'raises': 'ValueError'},
 {'arguments': {'state': 'red', 'steps': -1}, 'raises': 'ValueError'}]
