"""The program that draws inputs, forked from a process that has imported hypothesis, so that it starts in no time.

Without a word it is what stands in the program's place: it hands its streams and its folder over to the fork, and ends
with it. With the place of a socket and the program it is the process that forks, until its input is closed.
"""

from __future__ import annotations

import os
import socket
import sys

DOOR = "WARM_INPUTS_DOOR"


def stand_in() -> None:
    """Nothing more than what the program itself would show to its starter."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ[DOOR])
        socket.send_fds(line, [b"go"], [0, 1, os.open(".", os.O_RDONLY)])
        os.close(0)
        os.close(1)
        line.recv(1)
    os._exit(0)


def keep_forking(place: str, program: str) -> None:
    """Answers each stand-in with a fork that runs the program."""
    import selectors
    import signal

    import hypothesis  # noqa: F401 - what takes the time

    with open(program, encoding="utf-8") as file:  # noqa: PTH123 - fewer imports
        code = compile(file.read(), program, "exec")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door, selectors.DefaultSelector() as waiting:
        door.bind(place)
        door.listen(128)
        waiting.register(door, selectors.EVENT_READ)
        waiting.register(0, selectors.EVENT_READ)
        print("ready", flush=True)
        while [key.fd for key, _ in waiting.select()] == [door.fileno()]:
            line, _ = door.accept()
            if not os.fork():
                run(code, line)
            line.close()


def run(code: object, line: socket.socket) -> None:
    """The program with the streams of its stand-in; whoever kills that one kills it too."""
    import fcntl

    _, streams, _, _ = socket.recv_fds(line, 2, 3)
    for number, stream in enumerate(streams[:2]):
        os.dup2(stream, number)
        os.close(stream)
    os.fchdir(streams[2])
    fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
    # the end of this line is a fatal signal
    fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | os.O_ASYNC)
    try:
        exec(code, {"__name__": "__main__", "__file__": __file__})  # type: ignore[call-overload]
    finally:
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    keep_forking(*sys.argv[1:]) if sys.argv[1:] else stand_in()
