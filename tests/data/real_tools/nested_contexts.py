from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

@contextmanager
def _step(name: str, log: list[str]) -> Iterator[None]:
    log.append(f"+{name}")
    try:
        yield
    except KeyError:
        log.append(f"!{name}")
        raise
    finally:
        log.append(f"-{name}")

def nested_contexts(names: list[str], fails: bool = False) -> list[str]:
    """What happened, in order.

    Args:
        names: Contexts from the outside to the inside.
        fails: Whether the innermost block raises.
    """
    log: list[str] = []
    with suppress(KeyError), ExitStack() as stack:
        for name in names:
            stack.enter_context(_step(name, log))
        stack.callback(log.append, "callback")
        if fails:
            raise KeyError("inside")
        log.append("body")
    return log


DESCRIPTION = "Records the order in which nested contexts open and close."
EXAMPLES = [{'arguments': {'names': ['a', 'b']}, 'expected': ['+a', '+b', 'body', 'callback', '-b', '-a']},
 {'arguments': {'names': ['a', 'b'], 'fails': True},
  'expected': ['+a', '+b', 'callback', '!b', '-b', '!a', '-a']},
 {'arguments': {'names': []}, 'expected': ['body', 'callback']},
 {'arguments': {'names': [], 'fails': True}, 'expected': ['callback']}]
