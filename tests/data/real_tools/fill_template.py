from string import Formatter, Template

def fill_template(template: str, values: dict[str, str]) -> dict[str, list[str]]:
    """The filled template and the names without a value.

    Args:
        template: With places such as $name or ${name}.
        values: Texts by name.

    Raises:
        ValueError: A place is written wrongly.
    """
    source = Template(template)
    if not source.is_valid():
        raise ValueError("a place is written wrongly")
    missing = [name for name in source.get_identifiers() if name not in values]
    braces = [name for _, name, _, _ in Formatter().parse("{a}-{b!r:>3}") if name]
    return {"text": [source.safe_substitute(values)], "missing": missing, "braces": braces}


DESCRIPTION = "Fills a template and names what is missing."
EXAMPLES = [{'arguments': {'template': 'Dear $name, you owe ${sum} $$', 'values': {'name': 'Ann'}},
  'expected': {'text': ['Dear Ann, you owe ${sum} $'], 'missing': ['sum'], 'braces': ['a', 'b']}},
 {'arguments': {'template': '', 'values': {}},
  'expected': {'text': [''], 'missing': [], 'braces': ['a', 'b']}},
 {'arguments': {'template': '$ 5', 'values': {}}, 'raises': 'ValueError'},
 {'arguments': {'template': '${a}${a}', 'values': {'a': 'x'}},
  'expected': {'text': ['xx'], 'missing': [], 'braces': ['a', 'b']}}]
