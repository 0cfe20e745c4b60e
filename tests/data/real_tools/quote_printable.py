import quopri
from html import escape

def quote_printable(text: str, header: bool = False) -> dict[str, str]:
    """Quoted-printable form, decoded again, and escaped for HTML.

    Args:
        text: Any text.
        header: Whether spaces become underscores.
    """
    packed = quopri.encodestring(text.encode(), header=header)
    return {"packed": packed.decode(), "again": quopri.decodestring(packed, header=header).decode(), "html": escape(text)}


DESCRIPTION = "Encodes a text for old mail systems."
EXAMPLES = [{'arguments': {'text': 'Käse = 5 €'},
  'expected': {'packed': 'K=C3=A4se =3D 5 =E2=82=AC', 'again': 'Käse = 5 €', 'html': 'Käse = 5 €'}},
 {'arguments': {'text': 'a b', 'header': True},
  'expected': {'packed': 'a_b', 'again': 'a b', 'html': 'a b'}},
 {'arguments': {'text': ''}, 'expected': {'packed': '', 'again': '', 'html': ''}},
 {'arguments': {'text': '<&">'},
  'expected': {'packed': '<&">', 'again': '<&">', 'html': '&lt;&amp;&quot;&gt;'}}]
