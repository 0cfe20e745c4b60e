"""Thesaurus of formats, files and verbs that mean nearly the same where people ask for tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

GROUPS = """
picture image photo photograph jpg jpeg png gif webp bmp heic
video clip movie film mp4 mkv avi mov webm
audio sound recording voice mp3 wav flac ogg m4a
song music track tune
word docx doc document
excel xlsx xls spreadsheet workbook sheet
powerpoint pptx ppt presentation slide deck
csv tsv comma separated delimited
pdf document
archive zip tar gz compressed
markdown md
website webpage page site web internet online
url link address web
email mail inbox message
hyperlink link anchor
folder directory
file document
database db sqlite sql table
code source program script
repository repo git github
convert transform change turn translate
encode decode code
compress shrink pack
extract pull get scrape
fetch download retrieve get
upload send put
delete remove erase drop discard
create make generate build produce
write compose draft author
edit modify change alter revise update
merge join combine concatenate together append
split divide separate cut
find search look locate lookup
list show enumerate display
calculate compute work determine
average mean
middle median
maximum max largest highest biggest most
minimum min smallest lowest least
sum total add
difference diff compare change
count number many
sort order arrange rank
filter keep select only
check verify validate test valid
correct fix repair mend
clean tidy normalize strip
summarize summary condense shorten brief abstract
translate translation language
transcribe transcript caption subtitle
""".strip()


@lru_cache(maxsize=2)
def companions(stem: Callable[[str], Iterable[str]]) -> dict[str, frozenset[str]]:
    """By each word as `stem` leaves it, the words that stand in a group with it."""
    found: dict[str, set[str]] = {}
    for group in GROUPS.splitlines():
        words = set(stem(group))
        for word in words:
            found.setdefault(word, set()).update(words - {word})
    return {word: frozenset(others) for word, others in found.items()}
