import mimetypes

def guess_types(names: list[str]) -> dict[str, str]:
    """Media type of each name, with its compression.

    Args:
        names: File names or addresses.
    """
    table = mimetypes.MimeTypes()
    found = {}
    for name in names:
        kind, packed = table.guess_type(name)
        found[name] = f"{kind or 'unknown'}{f' ({packed})' if packed else ''}"
    return found


DESCRIPTION = "Guesses the media types of files by their names."
EXAMPLES = [{'arguments': {'names': ['a.html', 'b.tar.gz', 'photo.JPG', 'http://x/y.json', 'noext']},
  'expected': {'a.html': 'text/html',
               'b.tar.gz': 'application/x-tar (gzip)',
               'photo.JPG': 'image/jpeg',
               'http://x/y.json': 'application/json',
               'noext': 'unknown'}},
 {'arguments': {'names': []}, 'expected': {}},
 {'arguments': {'names': ['x.svg', 'y.unknownkind']},
  'expected': {'x.svg': 'image/svg+xml', 'y.unknownkind': 'unknown'}}]
