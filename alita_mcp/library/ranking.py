"""Which tools fit a need, and how sure that is: words and scores in, calibrated probabilities and a band out."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from alita_mcp.library.search_answer import Fit
from alita_mcp.values import Manifest, Schema

Tokens = Callable[[str], list[str]]

MATCH_FROM, POSSIBLE_FROM = 0.7, 0.3
MAX_QUERY_CHARACTERS = 2_000
MAX_QUERY_TOKENS = 48
"""A need is a sentence; the calibration knows nothing of longer texts, and counts them as this long."""
WEIGHTS = {"cov": 3.724, "margin": 5.306, "bmn": 0.202, "qlen": 0.897}
INTERCEPT = -4.053
"""Logistic fit of "the first result is right" on five development sets, words only; see docs/decisions."""
SCORE_DECAY = 0.2
"""How fast the probability falls with the distance of the score from the best one's."""

UNSEEN_RIVALS = 8
"""In a library of a few tools the best result leads for want of rivals; its lead counts as if there were more."""

_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for from i if in into is it my no not of on or such that the their then"
        " there these they this to was will with you your",
    )
)


@dataclass(frozen=True)
class Document:
    """What a tool is found by."""

    text: str
    hash: str

    @staticmethod
    def of(manifest: Manifest) -> Document:
        """The one search text of a tool: name in words, description, parameters, example requests."""
        parameters = [
            f"{split_words(name)} {schema.get('description', '')}"
            for name, schema in manifest.input_schema.get("properties", {}).items()
        ]
        text = " ".join([split_words(manifest.name), manifest.description, *parameters, *manifest.use_when])
        return Document(text, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16])


def split_words(identifier: str) -> str:
    """`toCSVFile`, `to_csv_file` and `to-csv-file` as words."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", identifier)
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    return re.sub(r"[_.\-/]+", " ", text)


def clean_query(query: str) -> str:
    """The query as any index can take it: bounded, each word once, no lone surrogates, no control characters."""
    text = query[:MAX_QUERY_CHARACTERS].encode("utf-8", "replace").decode().lower()
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(dict.fromkeys(printable.split()))


def plain_tokens(text: str) -> list[str]:
    """Words without an index's stemmer: lower case, no stop words, no plural s."""
    words = re.findall(r"[^\W_]+", text.lower())
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in words
        if word not in _STOP_WORDS
    ]


class Corpus:
    """Word statistics of all documents, for the features of the calibration and for the plain scan."""

    def __init__(self, documents: Mapping[str, Document], tokens: Tokens) -> None:
        self.tokens = tokens
        self.words = {name: Counter(tokens(document.text)) for name, document in documents.items()}
        self._frequency = Counter(word for words in self.words.values() for word in words)

    def idf(self, word: str) -> float:
        """How telling a word is; one that no tool has is as telling as one that a single tool has."""
        count, containing = len(self.words), self._frequency.get(word, 1)
        return math.log(1 + (count - containing + 0.5) / (containing + 0.5))

    def scores(self, words: Sequence[str]) -> dict[str, float]:
        """BM25 of every document that shares a word, computed on the spot."""
        mean = sum(map(Counter.total, self.words.values())) / max(1, len(self.words)) or 1.0
        found = {}
        for name, has in self.words.items():
            shared = [word for word in words if word in has]
            if shared:
                norm = 1.2 * (0.25 + 0.75 * has.total() / mean)
                found[name] = sum(self.idf(word) * has[word] * 2.2 / (has[word] + norm) for word in shared)
        return found


def probabilities(
    words: Sequence[str], scores: Mapping[str, float], corpus: Corpus
) -> list[tuple[str, float]]:
    """Names with the calibrated probability of each, best first; `scores` are BM25."""
    order = sorted((name for name in scores if name in corpus.words), key=lambda name: (-scores[name], name))
    if not order:
        return []
    best, distinct, known = order[0], set(words), len(corpus.words)
    mass = sum(map(corpus.idf, distinct)) or 1e-9
    second = scores[order[1]] if len(order) > 1 else 0.0
    features = {
        "cov": sum(corpus.idf(word) for word in distinct if word in corpus.words[best]) / mass,
        "margin": min(scores[best] - second, scores[best] * known / (known + UNSEEN_RIVALS)) / mass,
        "bmn": scores[best] / mass,
        "qlen": math.log(1 + min(len(distinct), MAX_QUERY_TOKENS)),
    }
    logit = INTERCEPT + sum(weight * features[feature] for feature, weight in WEIGHTS.items())
    top = 1 / (1 + math.exp(-logit))
    return [(name, top * math.exp((scores[name] - scores[best]) * SCORE_DECAY)) for name in order]


def band(probability: float) -> Fit:
    """The answer's first word."""
    if probability >= MATCH_FROM:
        return "match"
    return "possible" if probability >= POSSIBLE_FROM else "none"


_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
}


def signature_of(manifest: Manifest) -> str:
    """How the tool is called, as in `slugify(text: str, max_length?: int) -> str`."""
    required = set(manifest.input_schema.get("required", ()))
    parameters = ", ".join(
        f"{name}{'' if name in required else '?'}: {_type(schema)}"
        for name, schema in manifest.input_schema.get("properties", {}).items()
    )
    result = manifest.output_schema
    if manifest.wraps_result:
        result = result.get("properties", {}).get("result", {})
    return f"{manifest.name}({parameters}) -> {_type(result)}"


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(repr(choice) for choice in schema["enum"][:6]) + (
            " | …" if len(schema["enum"]) > 6 else ""
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": one}) for one in kind)
    if kind == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict) and values:
        return f"dict[str, {_type(values)}]"
    return _TYPES.get(kind or "", "any")
