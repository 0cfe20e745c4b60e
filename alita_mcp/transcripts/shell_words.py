"""Parser of shell command lines: simple commands with their words, redirections and here-documents.

Nothing is expanded and nothing is run: a word that the shell would have changed is marked as not literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST = 1_000_000
"""Characters of a command line that are read; a longer one has no commands."""

_PIECE = re.compile(
    r"""
      (?P<space>[ \t\r]++|\\\r?\n)
    | (?P<newline>\n)
    | (?P<redirection>&>>?|[0-9]*(?:<<<|<<-?|<&|<>|>>|>&|>\||[<>]))
    | (?P<end>&&|\|\||;;|\|&|[;&|()])
    | (?P<single>'[^']*+')
    | (?P<ansi>\$'[^'\\]*+(?:\\.[^'\\]*+)*+')
    | (?P<double>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<escaped>\\.)
    | (?P<changing>`[^`]*+`|\$\{[^}\n]{0,200}\}|\$[A-Za-z_0-9@*\#?$!-])
    | (?P<plain>[^\s'"\\$`;&|()<>]++|\$)
    """,
    re.VERBOSE | re.DOTALL,
)
_EXPANDED = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[A-Za-z_0-9@*#?$!({-])")
_IN_DOUBLE_QUOTES = re.compile(r"\\([\\\"$`\n])")
_IN_HEREDOC = re.compile(r"\\([\\$`\n])")
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


@dataclass(frozen=True)
class Word:
    """One word, without its quotes."""

    text: str
    literal: bool = True
    """False: the shell put something else in the place of a part of it, which the text does not tell."""


@dataclass
class SimpleCommand:
    """One command: its words, and where its input comes from and its output goes to."""

    words: list[Word] = field(default_factory=list)
    given: Word | None = None
    """The text of a here-document or here-string."""
    reads: Word | None = None
    writes: Word | None = None
    appends: bool = False
    piped: bool = False
    """Its input is the output of the command before it."""


def commands_in(text: str) -> list[SimpleCommand]:
    """The simple commands of a script, in order; those behind a quote that is never closed are left out."""
    if len(text) > LONGEST:
        return []
    reader = _Reader(text)
    reader.read()
    return [each for each in reader.commands if each.words]


class _Reader:
    def __init__(self, text: str) -> None:
        self.commands: list[SimpleCommand] = [SimpleCommand()]
        self._text = text
        self._at = 0
        self._pieces: list[tuple[str, Word]] = []
        self._redirection = ""
        self._heredocs: list[tuple[SimpleCommand, str, bool, bool]] = []

    def read(self) -> None:
        while self._at < len(self._text):
            if not self._pieces and self._text[self._at] == "#":
                end = self._text.find("\n", self._at)
                self._at = end if end >= 0 else len(self._text)
                continue
            piece = _PIECE.match(self._text, self._at)
            if piece is None:  # a quote that is never closed
                self.commands.pop()
                return
            self._at = piece.end()
            self._take(piece.lastgroup or "", piece.group())
        self._end_word()

    def _take(self, kind: str, text: str) -> None:
        if kind in ("space", "newline", "redirection", "end"):
            self._end_word()
        if kind == "redirection":
            operator = text.lstrip("0123456789")
            self._redirection = operator if text[0] not in "23456789" else "elsewhere"
        elif kind == "newline":
            self._read_heredocs()
            self._begin("")
        elif kind == "end":
            self._begin(text)
        elif kind != "space":
            self._pieces.append((kind, _unquoted(kind, text)))

    def _begin(self, separator: str) -> None:
        self._redirection = ""
        self.commands.append(SimpleCommand(piped=separator in ("|", "|&")))

    def _end_word(self) -> None:
        if not self._pieces:
            return
        kinds = {kind for kind, _ in self._pieces}
        words = [word for _, word in self._pieces]
        word = Word("".join(each.text for each in words), all(each.literal for each in words))
        operator, self._redirection, self._pieces = self._redirection, "", []
        command = self.commands[-1]
        match operator:
            case "":
                command.words.append(word)
            case "<<" | "<<-":
                quoted = bool(kinds & {"single", "double", "ansi", "escaped"})
                self._heredocs.append((command, word.text, quoted, operator == "<<-"))
            case "<<<":
                command.given = Word(word.text + "\n", word.literal)
            case "<":
                command.reads = word
            case ">" | ">>" | ">|" | "&>" | "&>>":
                command.writes, command.appends = word, operator.endswith(">>")

    def _read_heredocs(self) -> None:
        for command, tag, quoted, indented in self._heredocs:
            lines = []
            for line in self._lines():
                text = line.lstrip("\t") if indented else line
                if text.rstrip("\r\n") == tag:
                    break
                lines.append(text)
            body = "".join(lines)
            command.given = Word(body) if quoted else _expanded(body, _IN_HEREDOC)
        self._heredocs = []

    def _lines(self) -> Iterator[str]:
        while self._at < len(self._text):
            end = self._text.find("\n", self._at) + 1 or len(self._text)
            line, self._at = self._text[self._at : end], end
            yield line


def _unquoted(kind: str, text: str) -> Word:
    match kind:
        case "single":
            return Word(text[1:-1])
        case "double":
            return _expanded(text[1:-1], _IN_DOUBLE_QUOTES)
        case "ansi":
            return Word(_ANSI.sub(_ansi, text[2:-1]))
        case "escaped":
            return Word(text[1:])
        case "changing":
            return Word(text, literal=False)
    return Word(text)


def _expanded(text: str, escapes: re.Pattern[str]) -> Word:
    """Text in which the shell takes backslashes away and expands what begins with a dollar or a backtick."""
    changed = bool(_EXPANDED.search(text))
    return Word(escapes.sub(lambda found: found[1].replace("\n", ""), text), not changed)


def _ansi(escape: re.Match[str]) -> str:
    byte, code, octal, letter = escape.groups()
    if letter is not None:
        return _ANSI_LETTERS.get(letter, letter)
    return chr(int(octal, 8) if octal else int(byte or code, 16))
