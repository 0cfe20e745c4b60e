from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

def write_mail(subject: str, text: str, html: str = "") -> list[str]:
    """Content types of the parts, then the encoded subject.

    Args:
        subject: Of the message.
        text: Its plain text.
        html: Its HTML, if any.

    Raises:
        ValueError: The subject has several lines.
    """
    if "\n" in subject:
        raise ValueError("the subject has several lines")
    message = MIMEMultipart("alternative", boundary="=b=")
    message["Subject"] = subject
    message.attach(MIMEText(text, "plain", "utf-8"))
    if html:
        message.attach(MIMEText(html, "html", "utf-8"))
    kinds = [f"{part.get_content_type()} {len(part.get_payload(decode=True) or b'')}" for part in message.walk()]
    return [*kinds, message.as_string().splitlines()[2]]


DESCRIPTION = "Builds a message with an HTML part and says how it is structured."
EXAMPLES = [{'arguments': {'subject': 'Grüße', 'text': 'Hallo', 'html': '<p>Hallo</p>'},
  'expected': ['multipart/alternative 0',
               'text/plain 5',
               'text/html 12',
               'Subject: =?utf-8?b?R3LDvMOfZQ==?=']},
 {'arguments': {'subject': 'a', 'text': ''},
  'expected': ['multipart/alternative 0', 'text/plain 0', 'Subject: a']},
 {'arguments': {'subject': 'a\nb', 'text': 'x'}, 'raises': 'ValueError'}]
