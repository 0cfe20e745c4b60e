"""Finds the Python programs that a shell's command line runs, without running anything."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from alita_mcp.transcripts.shell_words import SimpleCommand, Word, commands_in
from alita_mcp.transcripts.written_files import WrittenFiles, located

_INTERPRETER = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?|py(?:\.exe)?|ipython3?", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\+?=")
_KEYWORDS = {
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "command", "builtin",
}  # fmt: skip
_WRAPPERS = {
    "sudo", "env", "nohup", "timeout", "gtimeout", "nice", "stdbuf", "uv", "poetry", "pipenv", "conda", "mamba",
    "micromamba", "rye", "pdm", "hatch", "pixi", "xvfb-run",
}  # fmt: skip
_SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
_SILENT = {
    "cd", "pushd", "popd", "export", "source", ".", "set", "mkdir", "chmod", "touch", "true", ":", "rm",
}  # fmt: skip
_CHANGES_FILES = {
    "sed", "perl", "mv", "cp", "rm", "patch", "tee", "git", "black", "ruff", "truncate", "dd", "ed",
}  # fmt: skip
_NOTEBOOK_RUNNERS = {"jupyter", "papermill", "jupyter-nbconvert", "jupyter-execute"}
_VALUED = {"-W", "-X", "--check-hash-based-pycs"}
_LOOKED_AT = 16
"""Words behind a wrapper among which the interpreter is looked for."""
MOST_RUNS = 100
"""Programs of one command line that are looked at."""
DEEPEST = 3
"""How often `bash -c` may stand inside `bash -c`."""


@dataclass(frozen=True)
class PythonRun:
    """One program that a command line ran."""

    code: str
    arguments: tuple[str, ...] = ()
    given: str = ""
    """What stood on its standard input."""
    complete: bool = True
    """False: a part of its arguments or of its input is not in the transcript."""


@dataclass
class ShellReading:
    """Python programs that a command line ran."""

    runs: list[PythonRun] = field(default_factory=list)
    unseen: int = 0
    """Programs that were run and whose text the transcript does not hold."""
    others: int = 0
    """Other commands that may have printed something."""


class Shell:
    """Reads the command lines of one session, one after the other."""

    def __init__(self, files: WrittenFiles) -> None:
        self._files = files
        self._folder = ""

    def read(self, text: str, folder: str) -> ShellReading:
        """Programs in the order in which they stand; files that the commands write are remembered."""
        self._folder = folder
        reading = ShellReading()
        self._read(text, reading, 0)
        return reading

    def _read(self, text: str, reading: ShellReading, depth: int) -> None:
        before: SimpleCommand | None = None
        for command in commands_in(text):
            command.words = _without_prefixes(command.words)
            if command.words:
                self._one(command, before if command.piped else None, reading, depth)
            before = command

    def _one(
        self, command: SimpleCommand, before: SimpleCommand | None, reading: ShellReading, depth: int
    ) -> None:
        words = command.words
        name = posixpath.basename(words[0].text)
        if name in _SHELLS and depth < DEEPEST and (script := _shell_script(words)) is not None:
            self._read(script, reading, depth + 1)
        elif name == "cd" and len(words) > 1:
            self._folder = located(words[1].text, self._folder) if words[1].literal else ""
        elif name in ("apply_patch", "applypatch"):
            patch = command.given or (words[1] if len(words) > 1 else Word(""))
            self._files.patch(patch.text, self._folder)
            reading.others += 1
        elif name in _NOTEBOOK_RUNNERS:
            self._run_notebook(words, reading)
            reading.others += 1
        elif (python := _python_words(words)) is not None:
            self._run(python, self._input_of(command, before), reading)
        else:
            self._other(name, command, before, reading)
        self._remember_output(name, command, before)

    def _other(
        self, name: str, command: SimpleCommand, before: SimpleCommand | None, reading: ShellReading
    ) -> None:
        if name in _CHANGES_FILES:
            for word in command.words[1:]:
                self._files.write(located(word.text, self._folder), None)
        if name == "tee" and len(command.words) > 1:
            given = self._input_of(command, before)
            path = located(command.words[-1].text, self._folder)
            self._files.write(path, given.text if given and given.literal else None)
        reading.others += name not in _SILENT and command.writes is None and self._printed(command) is None

    def _remember_output(self, name: str, command: SimpleCommand, before: SimpleCommand | None) -> None:
        if command.writes is None or not command.writes.literal:
            return
        path = located(command.writes.text, self._folder)
        text = self._printed(command)
        if name == "cat" and len(command.words) == 1:
            text = self._input_of(command, before)
        old = self._files.text_of(path) if command.appends else ""
        known = text is not None and text.literal and old is not None
        self._files.write(path, f"{old}{text.text}" if known and text else None)

    def _input_of(self, command: SimpleCommand, before: SimpleCommand | None) -> Word | None:
        """What stands on its standard input; None: nothing that was put there."""
        if command.given is not None:
            return command.given
        if command.reads is not None:
            text = self._files.text_of(located(command.reads.text, self._folder))
            return Word(text or "", text is not None)
        if command.piped:
            return (self._printed(before) if before else None) or Word("", literal=False)
        return None

    def _printed(self, command: SimpleCommand) -> Word | None:
        """What a command prints, if its words alone tell it."""
        names = [word.text for word in command.words]
        if names[:1] == ["cat"] and len(names) == 1:
            return command.given
        if names[:1] == ["cat"] and len(names) == 2:
            text = self._files.text_of(located(names[1], self._folder))
            return Word(text) if text is not None else None
        if names[:1] == ["echo"]:
            shown = command.words[2:] if names[1:2] == ["-n"] else command.words[1:]
            end = "" if names[1:2] == ["-n"] else "\n"
            plain = all(word.literal for word in shown) and names[1:2] != ["-e"]
            return Word(" ".join(word.text for word in shown) + end, plain)
        return None

    def _run(self, words: list[Word], given: Word | None, reading: ShellReading) -> None:
        place = _behind_options(words)
        if place is None:  # a module, or nothing that the transcript shows
            return
        code, rest = self._code(words, place, given)
        if code is None and place == len(words) and given is None:
            return  # an interactive session
        from_input = place == len(words) or words[place].text == "-"
        complete = all(word.literal for word in rest) and (from_input or given is None or given.literal)
        if code is None or len(reading.runs) >= MOST_RUNS:
            reading.unseen += 1
            return
        arguments = tuple(word.text for word in rest)
        text = given.text if given and not from_input else ""
        reading.runs.append(PythonRun(code, arguments, text, complete))

    def _code(self, words: list[Word], place: int, given: Word | None) -> tuple[str | None, list[Word]]:
        """The program's text, if it is known, and the words behind it."""
        if place < len(words) and _is_command(words[place].text):
            code = words[place + 1 : place + 2]
            return (code[0].text if code and code[0].literal else None), words[place + 2 :]
        if place == len(words) or words[place].text == "-":
            return (given.text if given and given.literal else None), words[place + 1 :]
        script = words[place]
        text = self._files.text_of(located(script.text, self._folder)) if script.literal else None
        return text, words[place + 1 :]

    def _run_notebook(self, words: list[Word], reading: ShellReading) -> None:
        runs = words[0].text.endswith(("papermill", "execute")) or any(
            "execute" in word.text for word in words
        )
        books = [word for word in words[1:] if word.text.endswith(".ipynb")]
        if not runs or not books:
            return
        text = self._files.text_of(located(books[0].text, self._folder))
        if text is None:
            reading.unseen += 1
        else:
            reading.runs.append(PythonRun(text))


def _without_prefixes(words: list[Word]) -> list[Word]:
    start = 0
    while start < len(words) and (words[start].text in _KEYWORDS or _ASSIGNMENT.match(words[start].text)):
        start += 1
    return words[start:]


def _shell_script(words: list[Word]) -> str | None:
    """The script of `bash -lc SCRIPT`."""
    for place, word in enumerate(words[1:-1], start=1):
        if not word.text.startswith("-"):
            return None
        if word.text.endswith("c") and not word.text.startswith("--"):
            return words[place + 1].text if words[place + 1].literal else None
    return None


def _python_words(words: list[Word]) -> list[Word] | None:
    """The words behind the interpreter, however it was started; None: this is no Python."""
    if _is_python(words[0]):
        return words[1:]
    if words[0].text.endswith(".py"):
        return words
    if posixpath.basename(words[0].text) not in _WRAPPERS:
        return None
    runs_scripts = any(word.text == "run" for word in words[1:3])
    for place, word in enumerate(words[1:_LOOKED_AT], start=1):
        if _is_python(word):
            return words[place + 1 :]
        if word.text.endswith(".py") or (runs_scripts and word.text == "-"):
            return words[place:]
    return None


def _is_python(word: Word) -> bool:
    return bool(_INTERPRETER.fullmatch(posixpath.basename(word.text.replace("\\", "/"))))


def _is_command(option: str) -> bool:
    return bool(re.fullmatch(r"-[A-Za-z]*c", option))


def _behind_options(words: list[Word]) -> int | None:
    """Where `-c`, `-` or the script stands; the end, when there is none; None for `-m MODULE`, `--version`, …."""
    place = 0
    while place < len(words):
        text = words[place].text
        if text == "-" or not text.startswith("-") or _is_command(text):
            return place
        if text in _VALUED:
            place += 1
        elif text in ("-V", "--version", "-h", "--help") or re.fullmatch(r"-[A-Za-z]*m", text):
            return None
        place += 1
    return place
