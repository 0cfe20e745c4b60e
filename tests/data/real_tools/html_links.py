from html.parser import HTMLParser

class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[dict[str, str]] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "a" and target:
            self.found.append({"href": target, "text": ""})
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[-1]["text"] += data

def html_links(html: str) -> list[dict[str, str]]:
    """Links in the order of the page.

    Args:
        html: Need not be well-formed.
    """
    parser = _Links()
    parser.feed(html)
    parser.close()
    return parser.found


DESCRIPTION = "Finds the links of an HTML page with their texts."
EXAMPLES = [{'arguments': {'html': "<p>See <a href='/a'>the <b>first</b></a> and <a "
                        'href="b?x=1&amp;y">2nd</a> <a>none</a> end'},
  'expected': [{'href': '/a', 'text': 'the first'}, {'href': 'b?x=1&y', 'text': '2nd'}]},
 {'arguments': {'html': ''}, 'expected': []},
 {'arguments': {'html': "<a href=''>x</a><A HREF=c>open &lt;"},
  'expected': [{'href': 'c', 'text': 'open <'}]},
 {'arguments': {'html': '<div>no links</div>'}, 'expected': []}]
