"""A driver as the benchmark starts them, which needs no peer; the word after the script says how it behaves.

`adds`: answers rightly; `errs`: wrongly; `fails`: is never ready; `raises`: fails at the first call; `ends`: ends at
the first call; `babbles`: prints what is no JSON; `silent`: ends at once; `stays`: ignores the end of its stdin.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


def main(behaviour: str) -> None:
    if behaviour == "silent":
        sys.exit("last words of a peer")
    if behaviour == "fails":
        say(failed="OSError: no engine")
        return
    if behaviour == "babbles":
        print("hello", flush=True)
        return
    if behaviour == "stays":
        subprocess.Popen(["sleep", "600"])
    say(ready=True, versions={"scripted": "1.0"})
    for line in sys.stdin:
        words = json.loads(line)
        if behaviour == "raises":
            say(failed="ValueError: odd")
            return
        if behaviour == "ends":
            sys.exit("it was too much")
        total = words["a"] + words["b"] + (behaviour == "errs")
        say(answer=total, seconds=0.25)
    if behaviour == "stays":
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
