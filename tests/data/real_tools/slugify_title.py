import re
import unicodedata

def slugify_title(title: str, longest: int = 30) -> str:
    """Lower-case letters, digits and dashes.

    Args:
        title: Any text.
        longest: How many characters may stand, 1 to 100.

    Raises:
        ValueError: The limit is out of range, or no letter is left.
    """
    if not 1 <= longest <= 100:
        raise ValueError("the limit is 1 to 100")
    plain = unicodedata.normalize("NFKD", title.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:longest].rstrip("-")
    if not slug:
        names = [unicodedata.name(letter, "?").split()[0] for letter in title if letter.isalpha()]
        raise ValueError(f"no Latin letter is left: {sorted(set(names))}")
    return slug


DESCRIPTION = "Turns a title in any script into a short name for addresses."
EXAMPLES = [{'arguments': {'title': 'Crème Brûlée — à la carte!'}, 'expected': 'creme-brulee-a-la-carte'},
 {'arguments': {'title': 'Straße № 5 ﬁn'}, 'expected': 'strasse-o-5-fin'},
 {'arguments': {'title': '日本'}, 'raises': 'ValueError'},
 {'arguments': {'title': 'A very long title that never seems to end', 'longest': 11},
  'expected': 'a-very-long'},
 {'arguments': {'title': 'x', 'longest': 0}, 'raises': 'ValueError'},
 {'arguments': {'title': 'x', 'longest': 101}, 'raises': 'ValueError'}]
