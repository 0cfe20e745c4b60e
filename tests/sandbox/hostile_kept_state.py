"""Programs that leave something behind for their next call; each is called again and must not find it."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import TRY, Hostile, all_refused, anything, ends, gives


def kept(name: str, head: str, look: str, leave: str, *, breaks_itself: bool = False) -> Hostile:
    """A program that returns what `look` finds, then leaves it with `leave`; that may spoil its own answer."""
    lines = "\n".join(f"    {line}" for line in leave.strip().splitlines())
    code = f"{head}\ndef f():\n    found = {look}\n{lines}\n    return found\n"
    # asked as often as a pool might hand out the same worker
    return Hostile(name, code, anything if breaks_itself else gives(lambda found: not found), times=3)


KEPT_STATE = (
    kept("globals_kept", "N = []", "list(N)", "N.append(1)"),
    kept(
        "modules_kept",
        "import sys, types",
        "'leak' in sys.modules",
        "sys.modules['leak'] = types.ModuleType('leak')",
    ),
    kept(
        "grants_module_kept",
        "import alita_tool",
        "'leak' in vars(alita_tool)",
        """
alita_tool.leak = 1
alita_tool.complete = lambda *words: 'mine'
""",
    ),
    kept("environment_kept", "import os", "os.environ.get('LEAK')", "os.environ['LEAK'] = 'x'"),
    kept(
        "builtins_kept", "import builtins", "len([1]) == 0", "builtins.len = lambda x: 0", breaks_itself=True
    ),
    kept(
        "json_kept",
        "import json",
        "json.dumps(1) != '1'",
        """
json.dumps = lambda *a, **k: '666'
json.loads = lambda *a, **k: {'a': 2, 'b': 666}
""",
        breaks_itself=True,
    ),
    kept(
        "hooks_kept",
        "import sys, threading",
        "sys.gettrace() is not None or sys.getprofile() is not None",
        """
sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
threading.settrace(lambda *a: None)
""",
    ),
    kept(
        "signal_handlers_kept",
        "import signal",
        "signal.getsignal(signal.SIGUSR1) not in (signal.SIG_DFL, signal.SIG_IGN)",
        """
for number in (1, 2, 10, 12, 14, 15, 17):
    signal.signal(number, lambda *a: 1 / 0)
""",
    ),
    kept(
        "timers_kept",
        "import signal",
        "signal.getitimer(signal.ITIMER_REAL)[0] > 0",
        """
signal.setitimer(signal.ITIMER_REAL, 3600)
signal.alarm(3600)
""",
    ),
    kept(
        "mask_kept",
        """
import os
def mask():
    old = os.umask(0o77)
    os.umask(old)
    return old
OLD = mask()
""",
        "mask() != OLD",
        "os.umask(0o777)",
    ),
    kept("directory_kept", "import os", "os.getcwd() == '/usr'", "os.chdir('/usr')"),
    kept(
        "lowered_limits_kept",
        "import resource as R",
        "R.getrlimit(R.RLIMIT_NOFILE)[0] == 5 or R.getrlimit(R.RLIMIT_STACK)[0] == 65536",
        """
R.setrlimit(R.RLIMIT_STACK, (65536, 65536))
R.setrlimit(R.RLIMIT_NPROC, (0, 0))
R.setrlimit(R.RLIMIT_NOFILE, (5, 5))
""",
    ),
    kept(
        "files_kept",
        """
import os
PLACES = ('/tmp/k', '/dev/shm/k', '/dev/mqueue/k', '/var/tmp/k', '/run/k', 'k', '.k', '../k', os.path.expanduser('~/k'))
""",
        "[place for place in PLACES if os.path.lexists(place)]",
        """
for place in PLACES:
    try:
        open(place, 'w').write('secret of the first call')
    except OSError:
        pass
""",
    ),
    kept(
        "listener_kept",
        """
import os, socket, time
def there(family, address):
    s = socket.socket(family)
    try:
        s.connect(address)
        return True
    except OSError:
        return False
""",
        "there(socket.AF_INET, ('127.0.0.1', 5555)) or there(socket.AF_UNIX, '\\0leak')",
        """
a, b = socket.socket(), socket.socket(socket.AF_UNIX)
a.bind(('127.0.0.1', 5555))
b.bind('\\0leak')
a.listen()
b.listen()
if os.fork() == 0:
    time.sleep(9999)
""",
    ),
    kept(
        "daemon_kept",
        "import os, time",
        "[n for n in os.listdir('/proc') if n.isdigit() and b'leak-me' in open(f'/proc/{n}/cmdline', 'rb').read()]",
        """
if os.fork() == 0:
    os.setsid()
    os.execv('/bin/sh', ['leak-me', '-c', 'sleep 9999; true'])
time.sleep(0.2)
""",
    ),
    Hostile(
        "random_is_the_same",
        "import random, secrets, uuid\ndef f():\n    return [random.random(), uuid.uuid4().hex, secrets.token_hex()]\n",
        ends("ok"),
        times=3,
        distinct=True,
    ),
    Hostile(
        "numpy_draws_the_same",
        """
import os, sys, types
STATE = [os.urandom(8).hex()]
def seed(value=None):
    STATE[0] = os.urandom(8).hex()
numpy = types.ModuleType('numpy')
numpy.random = types.ModuleType('numpy.random')
numpy.random.seed = seed
sys.modules['numpy'] = numpy
sys.modules['numpy.random'] = numpy.random
def f():
    return STATE[0]
""",
        ends("ok"),
        times=3,
        distinct=True,
    ),
    Hostile(
        "scratch_is_full_for_the_next",
        """
def f():
    n = 0
    try:
        with open('/tmp/full', 'wb') as file:
            while True:
                file.write(b'a' * (1 << 20))
                file.flush()
                n += 1
    except OSError:
        return n
""",
        gives(lambda n: 20 <= n <= 64),
        {},
        Limits(wall_seconds=20, scratch_bytes=32 << 20),
        times=2,
        embedded=gives(lambda n: n == 0),
    ),
    Hostile(
        "memory_is_full_for_the_next",
        """
import mmap
def f():
    held = mmap.mmap(-1, 100 << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
    return len(held)
""",
        gives(lambda n: n == 100 << 20),
        {},
        Limits(wall_seconds=20, memory_bytes=192 << 20),
        times=3,
    ),
    Hostile(
        "descriptors_are_full_for_the_next",
        """
import os
def f():
    n = 0
    try:
        while True:
            os.open("/dev/null", os.O_RDONLY)
            n += 1
    except OSError:
        return n
""",
        gives(lambda n: 100 < n < 300),
        times=3,
    ),
    Hostile(
        "expected_values_searched",
        TRY
        + """
import gc
def f(word):
    seen = []
    for thing in gc.get_objects():
        if type(thing) is dict and any(type(v) is str and v == 'EXPECTED-' + '9f3a' for v in list(thing.values())):
            seen.append(['OK', 'heap'])
    for top in ('/tmp', '/dev/shm', '/run', '/home', '/srv', '/mnt'):
        for folder, _, names in os.walk(top):
            for name in names:
                seen.append(t(lambda: ('EXPECTED-' + '9f3a') in open(os.path.join(folder, name)).read() or 1 / 0))
    return seen or [['none', '']]
""",
        gives(all_refused),
        {"word": "another"},
        times=2,
    ),
    Hostile(
        "files_that_other_programs_obey",
        """
import os
NAMES = ('conftest.py', 'sitecustomize.py', 'usercustomize.py', 'pytest.ini', 'evil.pth', 'json.py', 'tool.py',
         '/tmp/conftest.py', '/tmp/sitecustomize.py', '/tmp/socket.py', '/tmp/.pythonrc')
def f():
    found = [name for name in NAMES if os.path.exists(name)]
    for name in NAMES:
        open(name, 'w').write('raise SystemExit(0)')
    os.environ.update(PYTEST_ADDOPTS='-p no:all', PYTHONSTARTUP='/tmp/.pythonrc', PYTHONPATH='/tmp')
    return found
""",
        gives(lambda found: found == []),
        times=3,
    ),
    Hostile(
        "knows_that_it_is_tested",
        """
import os, socket, sys
def f():
    return [socket.gethostname(), sorted(os.environ), sys.argv, sys.flags.optimize]
""",
        gives(lambda v: v[0] == "tool" and v[2] == ["tool"] and "PYTEST" not in str(v[1])),
        times=2,
        embedded=gives(lambda v: v[:3] == ["(none)", [], ["tool"]]),
    ),
)
