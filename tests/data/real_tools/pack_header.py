import struct

_LAYOUT = struct.Struct(">4sHIf?x")

def pack_header(tag: str, version: int, size: int, scale: float) -> dict[str, str]:
    """The header in hex and what a reader sees in it.

    Args:
        tag: Four letters.
        version: 16 bits.
        size: 32 bits.
        scale: Kept with single precision.

    Raises:
        error: A number does not fit.
        ValueError: The tag has not four letters.
    """
    if len(tag) != 4 or not tag.isascii():
        raise ValueError("the tag has four letters")
    packed = _LAYOUT.pack(tag.encode(), version, size, scale, size > 0)
    found = _LAYOUT.unpack(packed)
    return {"hex": packed.hex(), "read": f"{found[0].decode()} {found[1]} {found[2]} {found[3]:.4f} {found[4]}", "bytes": str(_LAYOUT.size)}


DESCRIPTION = "Packs a small binary header and reads it back."
EXAMPLES = [{'arguments': {'tag': 'ALIT', 'version': 3, 'size': 70000, 'scale': 0.1},
  'expected': {'hex': '414c49540003000111703dcccccd0100',
               'read': 'ALIT 3 70000 0.1000 True',
               'bytes': '16'}},
 {'arguments': {'tag': 'abc', 'version': 1, 'size': 1, 'scale': 1.0}, 'raises': 'ValueError'},
 {'arguments': {'tag': 'abcd', 'version': 70000, 'size': 1, 'scale': 1.0}, 'raises': 'error'},
 {'arguments': {'tag': 'abcd', 'version': 0, 'size': 0, 'scale': -2.5},
  'expected': {'hex': '61626364000000000000c02000000000',
               'read': 'abcd 0 0 -2.5000 False',
               'bytes': '16'}}]
