import xml.etree.ElementTree as ET
from html import unescape

def feed_titles(xml: str) -> list[dict[str, str]]:
    """Title and link of each item.

    Args:
        xml: RSS 2.0.

    Raises:
        ParseError: It is not well-formed XML.
    """
    channel = ET.fromstring(xml).find("channel")
    if channel is None:
        return []
    return [{"title": unescape(item.findtext("title", "")).strip(), "link": item.findtext("link", "")} for item in channel.iterfind("item")]


DESCRIPTION = "Reads titles and links out of an RSS feed."
EXAMPLES = [{'arguments': {'xml': '<rss><channel><title>t</title><item><title> A &amp;amp; B '
                       '</title><link>http://a</link></item><item><title/></item></channel></rss>'},
  'expected': [{'title': 'A & B', 'link': 'http://a'}, {'title': '', 'link': ''}]},
 {'arguments': {'xml': '<rss/>'}, 'expected': []},
 {'arguments': {'xml': '<rss>'}, 'raises': 'ParseError'}]
