from email import message_from_string, policy
from email.utils import getaddresses, parsedate_to_datetime

def read_mail(source: str) -> dict[str, list[str]]:
    """Who wrote to whom, when, and what is in it.

    Args:
        source: The message as it was sent.
    """
    message = message_from_string(source, policy=policy.default)
    date = message["date"]
    body = message.get_body(preferencelist=("plain", "html"))
    return {
        "from": [address for _, address in getaddresses(message.get_all("from", []))],
        "to": [address for _, address in getaddresses(message.get_all("to", []))],
        "subject": [str(message["subject"] or "")],
        "date": [parsedate_to_datetime(str(date)).isoformat()] if date else [],
        "body": [body.get_content().strip()] if body else [],
        "attachments": [part.get_filename("?") for part in message.iter_attachments()],
    }


DESCRIPTION = "Reads an e-mail message with its parts and attachments."
EXAMPLES = [{'arguments': {'source': 'From: Ann <ann@x.org>\n'
                          'To: b@y.org, "C" <c@z.org>\n'
                          'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n'
                          'Date: Sun, 22 Nov 2026 10:00:00 +0100\n'
                          'Content-Type: text/plain; charset=utf-8\n'
                          '\n'
                          'Hello\n'},
  'expected': {'from': ['ann@x.org'],
               'to': ['b@y.org', 'c@z.org'],
               'subject': ['Grüße'],
               'date': ['2026-11-22T10:00:00+01:00'],
               'body': ['Hello'],
               'attachments': []}},
 {'arguments': {'source': 'Subject: two\n'
                          'MIME-Version: 1.0\n'
                          'Content-Type: multipart/mixed; boundary=B\n'
                          '\n'
                          '--B\n'
                          'Content-Type: text/plain\n'
                          '\n'
                          'hi\n'
                          '--B\n'
                          'Content-Type: application/pdf\n'
                          'Content-Disposition: attachment; filename=a.pdf\n'
                          'Content-Transfer-Encoding: base64\n'
                          '\n'
                          'AAAA\n'
                          '--B--\n'},
  'expected': {'from': [],
               'to': [],
               'subject': ['two'],
               'date': [],
               'body': ['hi'],
               'attachments': ['a.pdf']}},
 {'arguments': {'source': '\n'},
  'expected': {'from': [], 'to': [], 'subject': [''], 'date': [], 'body': [], 'attachments': []}}]
