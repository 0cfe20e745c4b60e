"""Normal form of a program: a digest and hashed features that hold no word of it.

Features are the program's operations, what each is computed from, and what that is computed from in turn. Variables and
calls of the program's own functions are looked through: a name for an intermediate value changes next to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

from alita_mcp.mining.comparison.program_tree import Program, program_tree
from alita_mcp.mining.comparison.scopes import Variable
from alita_mcp.mining.comparison.tree_reader import Node
from alita_mcp.mining.values import NormalForm

MAX_FEATURES = 512
"""Of more, those with the lowest hashes are kept: of two programs the same ones."""
_ROUNDS = 3
"""So far down the calls of functions by functions goes what a digest tells apart."""
_FANNED = 4
"""So many sources of a variable count."""
_ALIASES = 16
"""So many variables are looked through for the source of one."""
_PARTS = 8
"""So many parts of a variable's source count."""
_LAYOUT = {
    "Assign", "Expr", "Return", "before", "parameters", "body", "orelse", "finalbody", "handlers", "def", "lambda",
    "call",
}  # fmt: skip
"""Parts that say where something stands, not what is computed."""
_INPUT = Node("input")


def normal_form(code: str) -> NormalForm:
    """Normal form of a program, independent of its names.

    Raises:
        UsageError: it does not parse, or is nested too deeply.
    """
    program = program_tree(code)
    nodes = list(_walk([*program.definitions, *program.body]))
    counted = Counter(_features(nodes, _Origins(program)))
    hashed = sorted((_hash(feature, 8), count) for feature, count in counted.items())
    return NormalForm(digest=_digest(program), size=len(nodes), features=dict(hashed[:MAX_FEATURES]))


def _hash(text: str, size: int = 16) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()


def _walk(tops: Sequence[Node]) -> Iterator[Node]:
    """The nodes in the order of the text."""
    rest = list(reversed(tops))
    while rest:
        node = rest.pop()
        yield node
        rest += reversed(node.parts)


def _digest(program: Program) -> str:
    """Definitions count as a set of hashes; each refers to the others by theirs, not by their names."""
    flat = [(node.variable, _flat([node])) for node in program.definitions]
    known = {variable: "" for variable, _ in flat if variable}
    for _ in range(min(_ROUNDS, len(flat))):
        known = {variable: _spelled(words, known)[0] for variable, words in flat if variable}
    body, numbers = _spelled(_flat(program.body), known)
    parts = []
    for _, words in flat:
        text, own = _spelled(words, known)
        parts.append(f"{text} {[numbers.get(each, -1) for each in own if each.top]}")
    return _hash("\n".join([body, *sorted(parts)]))


def _flat(tops: Sequence[Node]) -> list[str | Variable]:
    """Labels and variables in order; the tree could be had again from them."""
    words: list[str | Variable] = []
    for node in _walk(tops):
        words.append(f"{node.label} {len(node.parts)}")
        if node.variable:
            words.append(node.variable)
    return words


def _spelled(
    words: Iterable[str | Variable], known: Mapping[Variable, str]
) -> tuple[str, dict[Variable, int]]:
    """A hash of the words with variables numbered as they come, and these numbers."""
    numbers: dict[Variable, int] = {}
    spelled = [
        word if isinstance(word, str) else known.get(word) or f"{numbers.setdefault(word, len(numbers))}"
        for word in words
    ]
    return _hash("\n".join(spelled)), numbers


class _Origins:
    """What the value of a part may be computed by, through the variables and functions that give it on the way."""

    def __init__(self, program: Program) -> None:
        self._sources = program.sources
        self._found: dict[Variable, list[Node]] = {}

    def of(self, node: Node) -> list[Node]:
        """The node itself, or where its variable gets its values; not more than a few."""
        variable = _giving(node)
        if not variable:
            return [node]
        if variable not in self._found:
            self._found[variable] = self._search(variable)
        return self._found[variable]

    def _search(self, variable: Variable) -> list[Node]:
        through, found = [variable], dict[str, Node]()
        for each in through:
            for source in self._sources.get(each, ()):
                next_one = _giving(source)
                if not next_one:
                    found.setdefault(source.label, source)
                elif next_one not in through and len(through) < _ALIASES:
                    through.append(next_one)
        return [found[label] for label in sorted(found)[:_FANNED]] or [_INPUT]


def _giving(node: Node) -> Variable | None:
    """The variable that a part is, or that it calls."""
    if node.label == "call":
        return node.parts[0].variable
    return None if node.label else node.variable


def _features(nodes: Iterable[Node], origins: _Origins) -> Iterator[str]:
    for node in nodes:
        if not node.label or node.label.partition(" ")[0] in _LAYOUT:
            continue
        yield node.label
        for part in node.parts:
            for near in origins.of(part):
                yield f"{node.label}\n{near.label}"
                inner = near.parts if near is part else near.parts[:_PARTS]
                for far in (far for each in inner for far in origins.of(each)):
                    yield f"{node.label}\n{near.label}\n{far.label}"
