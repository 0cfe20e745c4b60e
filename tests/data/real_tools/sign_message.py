import base64
import hashlib
import hmac

def sign_message(message: str, passphrase: str, rounds: int = 1000) -> dict[str, str]:
    """HMAC of a message with a derived key.

    Args:
        message: What is signed.
        passphrase: From which the key is derived.
        rounds: Of the derivation, 1 to 5000.

    Raises:
        ValueError: The number of rounds is out of range.
    """
    if not 1 <= rounds <= 5000:
        raise ValueError("rounds are 1 to 5000")
    key = hashlib.pbkdf2_hmac("sha256", passphrase.encode(), b"salt", rounds, dklen=24)
    signature = hmac.new(key, message.encode(), hashlib.sha3_256).digest()
    return {"signature": base64.urlsafe_b64encode(signature).decode().rstrip("="), "key_id": hashlib.blake2s(key, digest_size=4).hexdigest()}


DESCRIPTION = "Signs a message and derives the key from a pass phrase."
EXAMPLES = [{'arguments': {'message': 'hello', 'passphrase': 'secret'},
  'expected': {'signature': 'mf6nDraJaIxG2_9c5SO4PqletiOOcrEtDx1wOSIHCQA', 'key_id': '7f258014'}},
 {'arguments': {'message': '', 'passphrase': 'x', 'rounds': 1},
  'expected': {'signature': 'mfpJ9lx0oVgc4OsQhAdHxn_KT1A6kb-b3XbQHTdSdrg', 'key_id': 'fdfa6d05'}},
 {'arguments': {'message': 'hello', 'passphrase': 'secret', 'rounds': 0}, 'raises': 'ValueError'},
 {'arguments': {'message': 'a', 'passphrase': 'b', 'rounds': 5001}, 'raises': 'ValueError'},
 {'arguments': {'message': 'ü', 'passphrase': 'ß', 'rounds': 5000},
  'expected': {'signature': 'hgB3hpKuBrRHdEAgmngScL_mFyg5CNBdNL_AfxYECaw', 'key_id': '5d426ada'}}]
