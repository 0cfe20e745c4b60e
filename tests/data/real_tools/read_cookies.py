import argparse
from http.cookies import SimpleCookie

def read_cookies(header: str, options: list[str]) -> dict[str, str]:
    """Cookies that the options ask for.

    Args:
        header: Value of a Cookie header.
        options: Such as --only name or --upper.

    Raises:
        ValueError: An option is unknown.
    """
    parser = argparse.ArgumentParser(prog="cookies", exit_on_error=False, add_help=False)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--upper", action="store_true")
    try:
        chosen, rest = parser.parse_known_args(options)
    except argparse.ArgumentError as wrong:
        raise ValueError(str(wrong)) from wrong
    if rest:
        raise ValueError(f"unknown: {rest[0]}")
    cookies = {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    return {name: value.upper() if chosen.upper else value for name, value in cookies.items() if not chosen.only or name in chosen.only}


DESCRIPTION = "Reads the cookies of a header and the options of a command line."
EXAMPLES = [{'arguments': {'header': 'a=1; theme="dark blue"; c=x', 'options': ['--only', 'theme', '--upper']},
  'expected': {'theme': 'DARK BLUE'}},
 {'arguments': {'header': '', 'options': []}, 'expected': {}},
 {'arguments': {'header': 'a=1', 'options': ['--never']}, 'raises': 'ValueError'},
 {'arguments': {'header': 'a=b; c=d', 'options': []}, 'expected': {'a': 'b', 'c': 'd'}},
 {'arguments': {'header': 'a=1', 'options': ['--only']}, 'raises': 'ValueError'}]
