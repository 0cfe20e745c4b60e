"""Conversion of a page's main text from trafilatura's tree to Markdown-like lines."""

from __future__ import annotations

from typing import Any

_BLOCKS = frozenset({"head", "p", "list", "item", "quote", "table", "row", "cell", "div", "body", "comments"})
_BLOCK_TAGS = (
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li",
    "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "td", "th", "tr", "ul",
)  # fmt: skip
_LEVELS = {f"h{level}": "#" * level for level in range(1, 7)}


def main_text(body: Any) -> str:
    """Headings, paragraphs, lists and quotations, separated by empty lines."""
    parts: list[str] = []
    for element in body:
        if text := _block(element):
            parts.append(text)
        parts += [tail for tail in ((element.tail or "").strip(),) if tail]
    return "\n\n".join(parts)


def all_text(body: Any) -> str:
    """All text of a part of a page, a block a line; the part is changed."""
    for element in body.iter(*_BLOCK_TAGS):
        element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    lines = ("".join(body.itertext())).split("\n")
    return "\n".join(words for words in (" ".join(line.split()) for line in lines) if words)


def _block(element: Any) -> str:
    if element.tag == "head":
        return f"{_LEVELS.get(element.get('rend') or '', '##')} {_inline(element)}".strip()
    if element.tag == "list":
        return _list(element, "")
    if element.tag == "quote":
        return "\n".join(f"> {line}" for line in _nested(element).split("\n") if line)
    if element.tag == "table":
        return "\n".join(filter(None, map(_row, element.iter("row"))))
    if element.tag == "code":
        return _fenced(element)
    return _nested(element)


def _list(element: Any, indent: str) -> str:
    lines: list[str] = []
    ordered = element.get("rend") == "ol"
    for place, item in enumerate(element.iterchildren("item"), 1):
        sign = f"{place}." if ordered else "-"
        words = " ".join(_inline(item).split())
        lines += [f"{indent}{sign} {words}"] if words else []
        for child in item:
            if child.tag == "list":
                lines.append(_list(child, f"{indent}  "))
            elif child.tag in _BLOCKS and (text := _block(child)):
                lines.append("\n".join(f"{indent}  {line}" for line in text.split("\n")))
    return "\n".join(filter(None, lines))


def _row(row: Any) -> str:
    cells = [" ".join(f"{_inline(cell)} {_nested_blocks(cell)}".split()) for cell in row.iterchildren("cell")]
    return "| " + " | ".join(cells) + " |" if any(cells) else ""


def _fenced(element: Any) -> str:
    text = "".join(element.itertext()).strip("\n")
    return f"```\n{text}\n```" if "\n" in text else f"`{text.strip()}`"


def _nested(element: Any) -> str:
    """The words of a block, then the blocks inside of it."""
    parts = [" ".join(line.split()) for line in _inline(element).split("\n")]
    words = "\n".join(filter(None, parts))
    return "\n".join(filter(None, [words, _nested_blocks(element)]))


def _nested_blocks(element: Any) -> str:
    return "\n".join(filter(None, (_block(child) for child in element if child.tag in _BLOCKS)))


def _inline(element: Any) -> str:
    """Words in a line; blocks inside are left out, lines that were broken stay so."""
    parts = [element.text or ""]
    for child in element:
        if child.tag == "lb":
            parts.append("\n")
        elif child.tag == "code":
            parts.append(_fenced(child))
        elif child.tag not in _BLOCKS:
            parts.append(_inline(child))
        parts.append(child.tail or "")
    return "".join(parts).strip(" ")
