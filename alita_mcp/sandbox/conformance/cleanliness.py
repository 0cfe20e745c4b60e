"""Conformance claims about cleanliness: a call finds nothing of an earlier call of the same code."""

from __future__ import annotations

from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, chapter

_TIMES = 3


def _forgets(sentence: str, head: str, look: str, leave: str, *, essential: bool = False) -> Claim:
    """Claim that `look` finds nothing of what `leave` left in an earlier call of the same code."""
    lines = "\n".join(f"    {line}" for line in leave.splitlines())
    code = f"{head}\ndef f():\n    found = {look}\n{lines}\n    return found\n"

    async def attempt(subject: Subject) -> None:
        for time in range(1, _TIMES + 1):
            found = await subject.value(code)
            if found:
                raise Broken(f"call {time} found {str(found)[:200]} of the call before it")

    return Claim("", sentence, attempt, essential)


async def _draws_anew(subject: Subject) -> None:
    code = "import random\ndef f():\n    return [random.random() for _ in range(4)]\n"
    drawn = [str(await subject.value(code)) for _ in range(_TIMES)]
    if len(set(drawn)) < _TIMES:
        raise Broken(f"two calls drew the same random numbers, {drawn[-1]}")


async def _keeps_callers_apart(subject: Subject) -> None:
    code = "SEEN = []\ndef f(word):\n    SEEN.append(word)\n    return SEEN\n"
    for word in ("first", "second", "third"):
        seen = await subject.value(code, {"word": word})
        if seen != [word]:
            raise Broken(f"a call with {word!r} saw {seen}")


CLEANLINESS = chapter(
    "cleanliness between calls",
    Claim("", "keeps the arguments of one caller from the next", _keeps_callers_apart, essential=True),
    _forgets("forgets globals", "N = []", "len(N)", "N.append(1)", essential=True),
    _forgets(
        "forgets defaults", "def g(x, seen=[]):\n    seen.append(x)\n    return seen", "len(g(1)) - 1", "g(2)"
    ),
    _forgets("forgets what was put on modules", "import os", "getattr(os, 'leak', 0)", "os.leak = 1"),
    _forgets("forgets variables", "import os", "os.environ.get('LEAK', '')", "os.environ['LEAK'] = 'x'"),
    _forgets(
        "forgets the working folder",
        "import os\nAT = os.getcwd()",
        "AT != '/' and os.getcwd() == '/'",
        "try:\n    os.chdir('/')\nexcept OSError:\n    pass",
    ),
    _forgets(
        "wipes files",
        "import os, tempfile",
        "os.path.exists(os.path.join(tempfile.gettempdir(), 'alita-leak')) or os.path.exists('alita-leak')",
        "open(os.path.join(tempfile.gettempdir(), 'alita-leak'), 'w').close()\nopen('alita-leak', 'w').close()",
    ),
    _forgets(
        "wipes folders that were closed",
        "import os, tempfile\nAT = os.path.join(tempfile.gettempdir(), 'alita-shut')",
        "os.path.lexists(AT)",
        "os.makedirs(AT + '/in')\nos.chmod(AT + '/in', 0)\nos.chmod(AT, 0)",
    ),
    _forgets(
        "ends processes that a call started",
        "import os, socket, time\ndef there():\n    s = socket.socket(socket.AF_UNIX)\n    try:\n"
        "        s.connect('\\0alita-leak')\n        return True\n    except OSError:\n        return False",
        "there()",
        "s = socket.socket(socket.AF_UNIX)\ns.bind('\\0alita-leak')\ns.listen()\n"
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(20)\n    os._exit(0)",
    ),
    Claim("", "draws other random numbers in each call", _draws_anew),
)
