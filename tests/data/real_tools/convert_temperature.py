from typing import Literal

class _Temperature:
    def __init__(self, kelvin: float) -> None:
        self.kelvin = kelvin

    @property
    def celsius(self) -> float:
        return self._kelvin - 273.15

    @celsius.setter
    def celsius(self, value: float) -> None:
        self.kelvin = value + 273.15

    @property
    def fahrenheit(self) -> float:
        return self.celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value: float) -> None:
        self.celsius = (value - 32) * 5 / 9

    @property
    def kelvin(self) -> float:
        return self._kelvin

    @kelvin.setter
    def kelvin(self, value: float) -> None:
        if value < 0:
            raise ValueError("below absolute zero")
        self._kelvin = value

def convert_temperature(value: float, unit: Literal["celsius", "fahrenheit", "kelvin"], to: Literal["celsius", "fahrenheit", "kelvin"]) -> float:
    """Converts a temperature, to two decimals.

    Args:
        value: Degrees.
        unit: Scale of the value.
        to: Scale of the answer.

    Raises:
        ValueError: The temperature is below absolute zero.
    """
    temperature = _Temperature(0)
    setattr(temperature, unit, value)
    return round(getattr(temperature, to), 2)


DESCRIPTION = "Converts a temperature between Celsius, Fahrenheit and Kelvin."
EXAMPLES = [{'arguments': {'value': 100.0, 'unit': 'celsius', 'to': 'fahrenheit'}, 'expected': 212.0},
 {'arguments': {'value': 451.0, 'unit': 'fahrenheit', 'to': 'kelvin'}, 'expected': 505.93},
 {'arguments': {'value': 0.0, 'unit': 'kelvin', 'to': 'celsius'}, 'expected': -273.15},
 {'arguments': {'value': -300.0, 'unit': 'celsius', 'to': 'kelvin'}, 'raises': 'ValueError'}]
