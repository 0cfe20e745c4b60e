from collections import ChainMap, Counter, defaultdict, deque, namedtuple

_Hit = namedtuple("_Hit", "line place")

def word_index(text: str, keep: int = 3) -> dict[str, list[str]]:
    """Where each of the most frequent words stands, and the last words read.

    Args:
        text: Lines of words.
        keep: How many words.
    """
    hits: defaultdict[str, list[_Hit]] = defaultdict(list)
    last: deque[str] = deque(maxlen=2)
    counts: Counter[str] = Counter()
    for number, line in enumerate(text.lower().splitlines(), 1):
        for place, word in enumerate(line.split()):
            hits[word].append(_Hit(number, place))
            counts[word] += 1
            last.append(word)
    top = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[: max(0, keep)]
    found = {word: [f"{hit.line}:{hit.place}" for hit in hits[word]] for word, _ in top}
    return dict(ChainMap({"*last": list(last)}, found))


DESCRIPTION = "Indexes the words of lines with the structures of collections."
EXAMPLES = [{'arguments': {'text': 'the cat\nthe dog the end\na cat'},
  'expected': {'the': ['1:0', '2:0', '2:2'],
               'cat': ['1:1', '3:1'],
               'a': ['3:0'],
               '*last': ['a', 'cat']}},
 {'arguments': {'text': ''}, 'expected': {'*last': []}},
 {'arguments': {'text': 'b a\nc', 'keep': 1}, 'expected': {'a': ['1:1'], '*last': ['a', 'c']}},
 {'arguments': {'text': 'x', 'keep': 0}, 'expected': {'*last': ['x']}}]
