"""Programs that attack the supervisor and its channel."""

from __future__ import annotations

from tests.sandbox.hostile import FORGE, SHORT, TRY, Hostile, all_refused, ends, gives

TAMPERING = (
    Hostile(
        "frames_on_every_descriptor",
        """
import os, struct
def f():
    frame = struct.pack('>BII', 7, 0, 15) + b'{"status":"ok"}'
    for fd in range(1024):
        if fd == 3:
            continue
        try:
            os.write(fd, frame)
        except OSError:
            pass
    return 5
""",
        gives(lambda v: v == 5),
    ),
    Hostile(
        "garbage_on_the_channel",
        r"""
import os
def f():
    os.write(3, b'\xff' * 100)
    while True:
        pass
""",
        ends("crashed"),
    ),
    Hostile(
        "unknown_message",
        """
import os, struct
def f():
    os.write(3, struct.pack('>cI', b'Z', 0))
    while True:
        pass
""",
        ends("crashed"),
    ),
    Hostile(
        "half_a_message",
        """
import os, struct, time
def f():
    os.write(3, struct.pack('>cI', b'R', 1000))
    time.sleep(1e5)
""",
        ends("timeout"),
        {},
        SHORT,
    ),
    Hostile(
        "forged_nan",
        FORGE
        + """
def f():
    forge({'status': 'ok'}, b'{"a": NaN}')
    os._exit(0)
""",
        ends("bad_result"),
    ),
    Hostile(
        "forged_size",
        FORGE
        + """
def f():
    forge({'status': 'ok'}, b'"' + b'x' * ((1 << 20) + 500) + b'"')
""",
        ends("bad_result"),
    ),
    Hostile(
        "forged_head",
        FORGE
        + """
def f():
    forge({'status': 'ok', 'trace': 'x' * 60000, 'seconds': 'x'}, b'1')
""",
        ends("ok", "crashed"),
    ),
    Hostile(
        "forged_status",
        FORGE
        + """
def f():
    forge({'status': 'timeout'}, b'1')
""",
        ends("crashed"),
    ),
    Hostile(
        "json_replaced",
        """
import json
def f():
    json.dumps = lambda *a, **k: '{"pwned": 1}'
    return 5
""",
        ends("ok"),
    ),
    Hostile(
        "caller_emptied",
        """
import sys
def f():
    frame = sys._getframe(1)
    while frame:
        names = frame.f_globals
        frame = frame.f_back
        for name in list(names):
            if name not in ('__builtins__', 'sys', 'f'):
                names[name] = None
    return 5
""",
        ends("ok", "crashed", "error", "bad_result"),
    ),
    Hostile(
        "builtins_poisoned",
        """
import builtins
def f():
    builtins.len = lambda x: 0
    builtins.isinstance = lambda *a: True
    builtins.open = None
    return 'abc'
""",
        ends("ok", "bad_result", "error", "crashed", "timeout"),
    ),
    Hostile(
        "supervisor_signalled",
        """
import os
def f():
    for number in range(1, 65):
        if number != 17:
            try:
                os.kill(1, number)
            except OSError:
                pass
    return 5
""",
        gives(lambda v: v == 5),
    ),
    Hostile(
        "supervisor_opened",
        TRY
        + """
def f():
    return [
        t(lambda: open('/proc/1/mem', 'rb')),
        t(lambda: open('/proc/1/environ', 'rb').read()),
        t(lambda: os.listdir('/proc/1/fd')),
        t(lambda: os.open('/proc/1/fd/1', os.O_WRONLY)),
        t(lambda: open('/proc/1/maps').read()),
        t(lambda: open('/proc/1/oom_score_adj', 'w').write('1000'))]
""",
        gives(all_refused),
    ),
)
