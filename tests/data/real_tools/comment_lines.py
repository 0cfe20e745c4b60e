import io
import tokenize
from keyword import iskeyword

def comment_lines(source: str) -> dict[str, list[str]]:
    """Comments, and how many names and keywords there are.

    Args:
        source: Python code.

    Raises:
        SyntaxError: It cannot be read as tokens.
    """
    comments, keywords = [], set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                comments.append(f"{token.start[0]}: {token.string.lstrip('# ')}")
            elif token.type == tokenize.NAME and iskeyword(token.string):
                keywords.add(token.string)
    except tokenize.TokenError as broken:
        raise SyntaxError("the code ends too early") from broken
    return {"comments": comments, "keywords": sorted(keywords)}


DESCRIPTION = "Lists the comments of Python code with their lines."
EXAMPLES = [{'arguments': {'source': 'x = 1  # one\nif x:\n    # two\n    pass\n'},
  'expected': {'comments': ['1: one', '3: two'], 'keywords': ['if', 'pass']}},
 {'arguments': {'source': ''}, 'expected': {'comments': [], 'keywords': []}},
 {'arguments': {'source': '(1,'}, 'raises': 'SyntaxError'},
 {'arguments': {'source': "a = '#no'\n"}, 'expected': {'comments': [], 'keywords': []}}]
