import gzip
import zlib

def gzip_round_trip(text: str, level: int = 6) -> dict[str, bool]:
    """Whether a text survives compression and whether it gets smaller.

    Args:
        text: What is compressed.
        level: 0 to 9.

    Raises:
        ValueError: The level is out of range.
    """
    if level not in range(10):
        raise ValueError("the level is 0 to 9")
    data = text.encode()
    packed = gzip.compress(data, compresslevel=level, mtime=0)
    stream = zlib.decompressobj(wbits=31)
    again = stream.decompress(packed) + stream.flush()
    return {"same": again == gzip.decompress(packed) == data, "smaller": len(packed) < len(data)}


DESCRIPTION = "Compresses a text and says what that saves."
EXAMPLES = [{'arguments': {'text': 'abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc'},
  'expected': {'same': True, 'smaller': True}},
 {'arguments': {'text': ''}, 'expected': {'same': True, 'smaller': False}},
 {'arguments': {'text': 'abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc',
                'level': 0},
  'expected': {'same': True, 'smaller': False}},
 {'arguments': {'text': 'x', 'level': 10}, 'raises': 'ValueError'},
 {'arguments': {'text': 'x', 'level': -1}, 'raises': 'ValueError'}]
