import secrets
import string

def make_password(length: int = 16) -> str:
    """A password out of letters, digits and signs.

    Args:
        length: 4 to 100.

    Raises:
        ValueError: The length is out of range.
    """
    if not 4 <= length <= 100:
        raise ValueError("the length is 4 to 100")
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits, "!#%+-="]
    letters = [secrets.choice(kind) for kind in kinds]
    letters += [secrets.choice("".join(kinds)) for _ in range(length - 4)]
    secrets.SystemRandom().shuffle(letters)
    return "".join(letters)


DESCRIPTION = "Makes a password that holds every kind of character."
VARIES = ["random"]
EXAMPLES = [{'arguments': {},
  'check': 'len(result) == 16 and any(c.isdigit() for c in result) and any(c.isupper() for c in '
           "result) and any(c.islower() for c in result) and any(c in '!#%+-=' for c in result)"},
 {'arguments': {'length': 4},
  'check': 'len(result) == 4 and sum(c.isdigit() for c in result) == 1'},
 {'arguments': {'length': 100}, 'check': 'len(result) == 100 and len(set(result)) > 20'},
 {'arguments': {'length': 3}, 'raises': 'ValueError'},
 {'arguments': {'length': 101}, 'raises': 'ValueError'}]
