import textwrap

def format_paragraph(text: str, width: int = 20) -> str:
    """The text in a frame of stars.

    Args:
        text: White space does not matter.
        width: Of the text within the frame, 5 to 200.

    Raises:
        ValueError: The width is out of range.
    """
    if not 5 <= width <= 200:
        raise ValueError("the width is 5 to 200")
    lines = textwrap.wrap(textwrap.dedent(text), width) or [""]
    edge = "*" * (width + 4)
    return "\n".join([edge, *(f"* {line:<{width}} *" for line in lines), edge])


DESCRIPTION = "Wraps a paragraph and gives it a frame."
EXAMPLES = [{'arguments': {'text': 'The quick brown fox jumps over the lazy dog', 'width': 12},
  'expected': '****************\n'
              '* The quick    *\n'
              '* brown fox    *\n'
              '* jumps over   *\n'
              '* the lazy dog *\n'
              '****************'},
 {'arguments': {'text': ''},
  'expected': '************************\n*                      *\n************************'},
 {'arguments': {'text': 'x', 'width': 4}, 'raises': 'ValueError'},
 {'arguments': {'text': '  a\n  b ', 'width': 5}, 'expected': '*********\n* a b   *\n*********'},
 {'arguments': {'text': 'y', 'width': 201}, 'raises': 'ValueError'}]
