def format_amounts(amounts: list[float], unit: str = "EUR", places: int = 2) -> list[str]:
    """Amounts as people read them, aligned to the right.

    Args:
        amounts: Numbers.
        unit: Stands behind each.
        places: Decimals, 0 to 6.

    Raises:
        ValueError: The decimals are out of range.
    """
    if places not in range(7):
        raise ValueError("decimals are 0 to 6")
    texts = [f"{amount:+,.{places}f}".replace(",", " ") for amount in amounts]
    width = max(map(len, texts), default=0)
    return [f"{text:>{width}} {unit}" for text in texts]


DESCRIPTION = "Formats amounts with separators, signs and units."
EXAMPLES = [{'arguments': {'amounts': [1234567.891, -5.0, 0.5]},
  'expected': ['+1 234 567.89 EUR', '        -5.00 EUR', '        +0.50 EUR']},
 {'arguments': {'amounts': []}, 'expected': []},
 {'arguments': {'amounts': [999.5, 1000.4], 'unit': 'kg', 'places': 0},
  'expected': ['+1 000 kg', '+1 000 kg']},
 {'arguments': {'amounts': [1.0], 'places': 7}, 'raises': 'ValueError'},
 {'arguments': {'amounts': [0.0], 'places': 6}, 'expected': ['+0.000000 EUR']}]
