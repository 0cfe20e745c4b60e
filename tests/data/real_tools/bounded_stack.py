from typing import Generic, Protocol, TypeVar

T = TypeVar("T")

class _Sized(Protocol):
    def __len__(self) -> int: ...

class _Stack(Generic[T]):
    __slots__ = ("_items", "_most")

    def __init__(self, most: int) -> None:
        self._items: list[T] = []
        self._most = most

    def push(self, item: T) -> None:
        if len(self) >= self._most:
            raise OverflowError("the stack is full")
        self._items.append(item)

    def pop(self) -> T:
        return self._items.pop()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self):
        return reversed(self._items)

def _room(sized: _Sized, most: int) -> int:
    return most - len(sized)

def bounded_stack(commands: list[str], most: int = 3) -> dict[str, list[str]]:
    """What lies on the stack afterwards, and what was taken off.

    Args:
        commands: `push X` or `pop`.
        most: How many may lie on it.

    Raises:
        OverflowError: The stack is full.
        IndexError: The stack is empty.
    """
    stack: _Stack[str] = _Stack(most)
    popped = []
    for command in commands:
        word, _, item = command.partition(" ")
        if word == "push":
            stack.push(item)
        elif word == "pop":
            popped.append(stack.pop())
    return {"stack": list(stack), "popped": popped, "room": [str(_room(stack, most))]}


DESCRIPTION = "Runs commands on a stack of bounded size."
EXAMPLES = [{'arguments': {'commands': ['push a', 'push b', 'pop', 'push c']},
  'expected': {'stack': ['c', 'a'], 'popped': ['b'], 'room': ['1']}},
 {'arguments': {'commands': ['pop']}, 'raises': 'IndexError'},
 {'arguments': {'commands': ['push a', 'push b'], 'most': 1}, 'raises': 'OverflowError'},
 {'arguments': {'commands': []}, 'expected': {'stack': [], 'popped': [], 'room': ['3']}}]
