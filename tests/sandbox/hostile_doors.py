"""Programs that knock at the doors of the broker and the proxy: without a grant all of them stay shut."""

from __future__ import annotations

from alita_mcp.values import Grants, Limits
from tests.sandbox.hostile import TRY, Hostile, all_refused, anything, ends, gives

FEW = Limits(wall_seconds=10, broker_calls=20)
MODEL = Grants(model=True)
ASK = """
import gc, types
import alita_tool
def asks():
    # whatever there is that takes a door and words, found where the module keeps it
    return [thing for thing in gc.get_objects() if isinstance(thing, types.FunctionType)
            and thing.__code__.co_varnames[:2] == ('door', 'words')] + [
            thing for thing in gc.get_objects() if isinstance(thing, types.MethodType)
            and thing.__func__.__code__.co_varnames[1:3] == ('door', 'words')]
"""

DOORS = (
    Hostile(
        "doors_without_grants",
        TRY
        + """
import alita_tool
def f():
    return [t(lambda: alita_tool.complete('x')), t(lambda: alita_tool.call_tool('x', a=1)),
            t(lambda: alita_tool.secret('x')), t(lambda: alita_tool.read_text('x')),
            t(lambda: alita_tool.workspace), t(lambda: alita_tool.shell('id'))]
""",
        gives(all_refused),
    ),
    Hostile(
        "doors_knocked_at_without_end",
        """
import alita_tool
def f():
    while True:
        try:
            alita_tool.complete('x')
        except PermissionError:
            pass
""",
        ends("timeout", "error", "crashed"),
        {},
        Limits(wall_seconds=2),
    ),
    Hostile(
        "asks_while_it_is_loaded",
        "import alita_tool\nalita_tool.complete('x')\ndef f():\n    return 1\n",
        ends("load_failed"),
    ),
    Hostile(
        "asks_behind_the_module",
        ASK
        + """
def f():
    answers = []
    for ask in asks():
        for door, words in (('complete', {'prompt': 'x'}), ('secret', {'name': 'x'}), ('call_tool', {'name': 'x'}),
                            ('workspace.read', {'path': '/etc/passwd'}), ('__class__', {}), ('', {}), (1, {}),
                            ('secret', 'x'), ('x' * 100000, {'a': float('nan')})):
            try:
                answers.append(['OK', repr(ask(door, words))])
            except BaseException as refused:
                answers.append([type(refused).__name__, ''])
    return answers
""",
        lambda r: r.status in {"error", "crashed"} or all(kind != "OK" for kind, _ in r.value),
    ),
    Hostile(
        "proxy_without_a_grant",
        TRY
        + """
def through(line):
    with socket.create_connection(('127.0.0.1', 3128), 2) as s:
        s.settimeout(2)
        s.sendall(line)
        return s.recv(100) or 1 / 0
def f():
    return [t(lambda: through(line)) for line in (
        b'CONNECT a.example:443 HTTP/1.0\\r\\n\\r\\n', b'GET http://169.254.169.254/ HTTP/1.0\\r\\n\\r\\n',
        b'GET http://localhost/ HTTP/1.0\\r\\n\\r\\n', b'\\x16\\x03garbage', b'\\x05\\x01\\x00')]
""",
        gives(all_refused),
    ),
    Hostile(
        "proxy_flooded_without_a_grant",
        """
import socket
def f():
    n = 0
    for _ in range(500):
        try:
            with socket.create_connection(('127.0.0.1', 3128), 1) as s:
                s.sendall(b'x' * 100000)
                n += bool(s.recv(1))
        except OSError:
            pass
    return n
""",
        gives(lambda n: n == 0),
    ),
    Hostile(
        "proxy_impersonated",
        """
import os, socket, time
def f():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        s.bind(('127.0.0.1', 3128))
        s.listen()
    except OSError:
        return 'in use'
    if os.fork() == 0:
        os.setsid()
        time.sleep(9999)
    return 'mine'
""",
        # the second call must find the place as free as the first one did
        gives(lambda v: v in {"mine", "in use"}),
        times=2,
    ),
    Hostile(
        "sockets_of_the_host",
        TRY
        + """
def abstract(name):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(1)
    s.connect(name)
def f(name, port):
    def connect(where):
        with socket.create_connection(where, 1):
            pass
    return [t(lambda: abstract('\\0' + name)), t(lambda: connect(('127.0.0.1', port))),
            t(lambda: connect(('localhost', port))), t(lambda: connect(('::1', port)))]
""",
        gives(all_refused),
        {"name": "CANARY-SOCKET", "port": "CANARY-PORT"},
    ),
    Hostile(
        "network_changed",
        TRY
        + """
import struct
def message(kind, body):
    s = socket.socket(16, 3, 0)
    s.settimeout(1)
    s.bind((0, 0))
    s.send(struct.pack('=LHHLL', 16 + len(body), kind, 0x605, 1, 0) + body)
    answer = s.recv(65536)
    code = struct.unpack_from('=i', answer, 16)[0]
    if code:
        raise OSError(-code, 'refused')
def f():
    link = struct.pack('=BxHiII', 0, 0, 1, 1, 1)
    address = struct.pack('=BBBBI', 2, 8, 0, 0, 1) + struct.pack('=HH4s', 8, 2, socket.inet_aton('10.9.9.9'))
    return [t(lambda: message(16, link)), t(lambda: message(20, address)), t(lambda: message(24, b'\\2' + b'\\0' * 11))]
""",
        gives(all_refused),
    ),
    Hostile(
        "asks_without_end",
        """
import alita_tool
def f():
    n = 0
    for _ in range(20000):
        try:
            alita_tool.complete('x')
            n += 1
        except Exception:
            pass
    return n
""",
        # 20 answers at most; more asks may also end the call
        lambda r: r.status in {"error", "crashed", "timeout"} or r.value <= FEW.broker_calls,
        {},
        FEW,
        grants=MODEL,
    ),
    Hostile(
        "asks_a_door_that_never_answers",
        "import alita_tool\ndef f():\n    return alita_tool.complete('never')\n",
        ends("timeout", "error"),
        {},
        Limits(wall_seconds=1),
        grants=MODEL,
    ),
    Hostile(
        "asks_all_at_once_and_leaves",
        """
import os, threading, alita_tool
def f():
    for _ in range(10):
        threading.Thread(target=alita_tool.complete, args=('never',), daemon=True).start()
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                alita_tool.complete('x')
            except Exception:
                pass
    return 5
""",
        ends("ok", "crashed", "error"),
        {},
        FEW,
        times=3,
        grants=MODEL,
    ),
    Hostile(
        "asks_too_much",
        "import alita_tool\ndef f():\n    return alita_tool.complete('x' * (3 << 20))\n",
        ends("error", "crashed"),
        {},
        FEW,
        grants=MODEL,
    ),
    Hostile(
        "grants_itself_more",
        """
import alita_tool, gc
def f():
    for thing in gc.get_objects():
        if type(thing) is dict and {'network', 'model', 'secrets'} & set(map(str, list(thing)[:20])):
            thing.update(network=['*'], workspace='write', model=True, tools=['*'], secrets=['*'])
    try:
        return ['OK', repr(alita_tool.secret('x'))]
    except BaseException as refused:
        return [type(refused).__name__, '']
""",
        lambda r: r.status in {"error", "crashed"} or r.value[0] != "OK",
        {},
        FEW,
        grants=MODEL,
    ),
    Hostile(
        "asks_with_no_json",
        """
import alita_tool
class S(str):
    pass
def f():
    for word in (S('x'), float('nan'), {1: 2}, b'x', None, [], '\\ud800', 10 ** 5000):
        try:
            alita_tool.complete(word)
        except Exception:
            pass
    return 5
""",
        ends("ok", "error", "crashed"),
        {},
        FEW,
        grants=MODEL,
    ),
    Hostile(
        "asks_on_the_wire_itself",
        """
import os, stat, struct
def f():
    words = b'{"door":"complete","words":{"prompt":"x"}}'
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.set_blocking(fd, False)
                for number in (0, 1, 1, 2, 2 ** 32 - 1):
                    os.write(fd, struct.pack('>BII', 13, number, len(words)) + words)
                    os.write(fd, struct.pack('>cI', b'A', len(words)) + words)
        except OSError:
            pass
    return 5
""",
        anything,
        {},
        FEW,
        grants=MODEL,
    ),
)
