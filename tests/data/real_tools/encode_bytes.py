import base64
import binascii
import codecs

def encode_bytes(text: str) -> dict[str, str]:
    """The UTF-8 bytes of a text as base64, base32, base85 and hex, and the text turned by 13 letters.

    Args:
        text: Any text.
    """
    data = text.encode()
    return {
        "base64": base64.b64encode(data).decode(),
        "base32": base64.b32encode(data).decode(),
        "base85": base64.b85encode(data).decode(),
        "hex": binascii.hexlify(data, "-", 2).decode(),
        "rot13": codecs.encode(text, "rot13"),
    }


DESCRIPTION = "Writes a text in several encodings for bytes."
EXAMPLES = [{'arguments': {'text': 'Hello'},
  'expected': {'base64': 'SGVsbG8=',
               'base32': 'JBSWY3DP',
               'base85': 'NM&qnZv',
               'hex': '48-656c-6c6f',
               'rot13': 'Uryyb'}},
 {'arguments': {'text': ''},
  'expected': {'base64': '', 'base32': '', 'base85': '', 'hex': '', 'rot13': ''}},
 {'arguments': {'text': 'ü€'},
  'expected': {'base64': 'w7zigqw=',
               'base32': 'YO6OFAVM',
               'base85': '!@S~xtN',
               'hex': 'c3-bce2-82ac',
               'rot13': 'ü€'}}]
