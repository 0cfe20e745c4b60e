import binascii
import hashlib
import zlib

def checksums(text: str, algorithms: list[str]) -> dict[str, str]:
    """Checksums in hexadecimal.

    Args:
        text: Encoded as UTF-8.
        algorithms: Names such as md5, sha1, sha512, sha3_256, blake2b, crc32 or adler32.

    Raises:
        ValueError: An algorithm is unknown.
    """
    data = text.encode()
    special = {"crc32": lambda: binascii.crc32(data), "adler32": lambda: zlib.adler32(data)}
    found = {}
    for name in algorithms:
        if name in special:
            found[name] = f"{special[name]():08x}"
        elif name.startswith("shake"):
            found[name] = hashlib.new(name, data).hexdigest(16)
        else:
            found[name] = hashlib.new(name, data).hexdigest()
    return found


DESCRIPTION = "Computes several checksums of a text."
EXAMPLES = [{'arguments': {'text': 'abc', 'algorithms': ['md5', 'sha1', 'crc32', 'adler32']},
  'expected': {'md5': '900150983cd24fb0d6963f7d28e17f72',
               'sha1': 'a9993e364706816aba3e25717850c26c9cd0d89d',
               'crc32': '352441c2',
               'adler32': '024d0127'}},
 {'arguments': {'text': '', 'algorithms': ['sha256', 'blake2b', 'shake_128']},
  'expected': {'sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
               'blake2b': '786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce',
               'shake_128': '7f9c2ba4e88f827d616045507605853e'}},
 {'arguments': {'text': 'x', 'algorithms': ['nothing']}, 'raises': 'ValueError'},
 {'arguments': {'text': 'x', 'algorithms': []}, 'expected': {}},
 {'arguments': {'text': 'é', 'algorithms': ['sha3_256', 'sha512']},
  'expected': {'sha3_256': '9e9bf67e95b10ed4ce3fa9481ac0158a0e71ad67bf7904855258f161fb9dd648',
               'sha512': '9e2ad28633f24451bd4f3c1cb20586a21a44c3aeedbdc01b9cc8fa72917ea7bd689c82b8bf1fef89b911cf8cc46fa2c1ccc10087b2094fd4d3350ecd88526a2c'}}]
