"""What tests of the page of a prediction share."""

import html.parser

HOSTILE = "<script>alert(1)</script>&\"'.png"


class Reader(html.parser.HTMLParser):
    """The tags of a page, and the attributes of each."""

    def __init__(self, text: str):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]
