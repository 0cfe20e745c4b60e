"""Thesaurus of words that mean nearly the same where people ask for tools."""

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
speak speech read aloud voice say
read open parse load
draw plot chart graph visualize diagram
map route direction navigation
distance far length
location place position coordinate geocode
latitude longitude coordinate
city town
country nation
weather forecast rain
hot warm cold temperature
time clock hour
date day calendar
schedule plan appointment meeting event
timezone time zone
buy purchase shop order
price cost
cheap discount deal coupon
sell sale
money currency dollar euro exchange
stock share market finance invest
loan mortgage credit
tax income
flight airline plane airport
hotel accommodation lodging stay
trip travel journey vacation holiday itinerary
restaurant food eat dining
recipe cook meal dish
job career work employment vacancy
resume cv
home house property apartment real estate
car vehicle auto automobile
doctor medical health
medicine drug medication
exercise workout fitness gym
child kid
learn study teach lesson education course
paper article research publication study
book novel literature
author writer
news headline article
post tweet social
chat conversation talk dialogue
question answer quiz
game play
joke funny humor
person people user
customer client
company business firm corporation
password credential login
encrypt cipher secret
hash checksum digest
random dice shuffle
background backdrop
resize scale size
crop trim cut
rotate turn flip
color colour
equation formula solve
derivative differentiate
integral integrate
matrix linear
probability chance odds
triangle geometry
area surface
speed velocity fast
weight mass
angle degree
element chemical
molecule compound
gene dna sequence
species animal
plant flower garden
star planet astronomy space
rhyme poem poetry
synonym thesaurus
definition dictionary meaning define
spelling spell typo
grammar proofread
regex pattern regular expression
duplicate same twice repeat
barcode qr
logo brand design icon
advertisement ad marketing campaign
statistic analytics metric
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
