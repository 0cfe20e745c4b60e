import configparser

def read_ini(text: str) -> dict[str, dict[str, str]]:
    """Sections with their values, defaults included.

    Args:
        text: An INI file.

    Raises:
        Error: The text is no INI file.
    """
    parser = configparser.ConfigParser()
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


DESCRIPTION = "Reads an INI text into sections with interpolation."
EXAMPLES = [{'arguments': {'text': '[DEFAULT]\nhome = /srv\n[web]\nroot = %(home)s/www\nport: 80\n'},
  'expected': {'web': {'home': '/srv', 'root': '/srv/www', 'port': '80'}}},
 {'arguments': {'text': ''}, 'expected': {}},
 {'arguments': {'text': 'no section = 1'}, 'raises': 'MissingSectionHeaderError'},
 {'arguments': {'text': '[a]\nx = 1\n[a]\n'}, 'raises': 'DuplicateSectionError'},
 {'arguments': {'text': '[a]\nlist =\n  one\n  two\n'}, 'expected': {'a': {'list': '\none\ntwo'}}}]
