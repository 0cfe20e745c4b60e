class _Field:
    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> int:
        return instance.__dict__[self.name]

    def __set__(self, instance: object, value: int) -> None:
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.name} is {self.low} to {self.high}")
        instance.__dict__[self.name] = value

class _Registering(type):
    known: dict[str, type] = {}

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, object]) -> type:
        made = super().__new__(mcs, name, bases, space)
        mcs.known[name.lower().strip("_")] = made
        return made

class _Record(metaclass=_Registering):
    def __init_subclass__(cls) -> None:
        cls.fields = [name for name, value in vars(cls).items() if isinstance(value, _Field)]

    def __init__(self, **values: int) -> None:
        for name in self.fields:
            setattr(self, name, values[name])

class _Date(_Record):
    month = _Field(1, 12)
    day = _Field(1, 31)

class _Clock(_Record):
    hour = _Field(0, 23)
    minute = _Field(0, 59)

def validated_record(kind: str, values: dict[str, int]) -> list[str]:
    """The record's fields with their values.

    Args:
        kind: date or clock.
        values: Numbers by field.

    Raises:
        KeyError: The kind or a field is missing.
        ValueError: A number is out of range.
    """
    record = _Registering.known[kind](**values)
    return [f"{name}={getattr(record, name)}" for name in record.fields]


DESCRIPTION = "Checks a record by descriptors and a metaclass."
EXAMPLES = [{'arguments': {'kind': 'date', 'values': {'month': 11, 'day': 22}},
  'expected': ['month=11', 'day=22']},
 {'arguments': {'kind': 'clock', 'values': {'hour': 23, 'minute': 0}},
  'expected': ['hour=23', 'minute=0']},
 {'arguments': {'kind': 'date', 'values': {'month': 13, 'day': 1}}, 'raises': 'ValueError'},
 {'arguments': {'kind': 'clock', 'values': {'hour': 1}}, 'raises': 'KeyError'},
 {'arguments': {'kind': 'era', 'values': {}}, 'raises': 'KeyError'},
 {'arguments': {'kind': 'clock', 'values': {'hour': -1, 'minute': 5}}, 'raises': 'ValueError'}]
