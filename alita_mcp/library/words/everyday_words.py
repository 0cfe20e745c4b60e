"""Everyday words, which a need and a tool may share without having anything else in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

WORDS = """
i me my mine we us our you your he him his she her it its they them their this that these those someone
anyone everyone something anything everything nothing one ones other others another each every both all any
some many much more most few several enough such same own different various certain what which who whom
whose when where why how whether be am is are was were been being do does did done have has had can could
will would shall should may might must need not no yes if then else than as so too very also just only even
still again always never often ever already now here there up down out off over under about around into onto
from with without within through between among during before after until since while because against per
like and or but of to in on at by for a an the please thanks thank hi hello hey okay ok well really actually
maybe perhaps kindly want wish would like need help assist let give get got take make made put go going come
keep become seem feel think know believe remember understand mean see look say said tell talk speak ask
answer explain describe discuss express show use using used try work start begin stop end happen change move
turn bring leave call hold set run live love hope care decide allow provide offer include consider suggest
recommend advise improve increase affect influence lead cause relate learn teach write read play plan win
lose pay spend wait stay stand sit eat drink sleep die thing things stuff way ways kind type sort part piece
lot bit case fact point problem issue question reason idea example people person man woman men women child
friend family guy world life home school time times day days week month year years today tomorrow yesterday
night morning moment hour minute name word words number place side hand head eye line order group story
state system program good better best bad worse worst great nice fine big small little large long short high
low old young new next last first second third right wrong true real sure important possible able available
easy hard simple difficult free full main top general common special specific particular appropriate correct
proper
""".strip()


@lru_cache(maxsize=2)
def everyday(stem: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """These words as `stem` leaves them."""
    return frozenset(stem(WORDS))
