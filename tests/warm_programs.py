"""Programs forked from a process that has imported what they import, so that they start in no time.

With the place of a socket alone it stands in a program's place: it hands its streams and its folder
to the fork, and ends with it. With a module and a program besides it is the process that forks, until its input ends.
"""

from __future__ import annotations

import os
import socket
import sys


def stand_in(place: str) -> None:
    """Nothing more than what the program itself would show to its starter."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(place)
        socket.send_fds(line, [b"go"], [0, 1, 2, os.open(".", os.O_RDONLY)])
        os.close(0)
        os.close(1)
        line.recv(1)
    os._exit(0)


def keep_forking(place: str, module: str, program: str) -> None:
    """Answers each stand-in with a fork that runs the program; the module is what takes the time."""
    import importlib
    import selectors
    import signal

    sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120 - fewer imports
    importlib.import_module(module)
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

    _, streams, _, _ = socket.recv_fds(line, 2, 4)
    for number, stream in enumerate(streams[:3]):
        os.dup2(stream, number)
        os.close(stream)
    os.fchdir(streams[3])
    fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
    # the end of this line is a fatal signal
    fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | os.O_ASYNC)
    try:
        exec(code, {"__name__": "__main__", "__file__": __file__})  # type: ignore[call-overload]
    finally:
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    keep_forking(*sys.argv[1:]) if sys.argv[2:] else stand_in(*sys.argv[1:])
