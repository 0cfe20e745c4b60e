"""Which server a client gets, where it listens, and who may speak with it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from anyio.abc import SocketAttribute

from alita_mcp.server.transports.local import endpoint
from alita_mcp.server.transports.local.endpoint import (
    Refused,
    check_peer,
    connect,
    find_endpoint,
    private_folder,
    read_key,
)
from tests.server.local.conftest import User, in_home
from tests.server.local.scripted_server import listening
from tests.server.processes import environment, started
from tests.small_disk import fill, small_disk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX sockets and modes")

RUN_ENTRY = "from alita_mcp.server.transports.entry import main; main()"


def name_for(user: User, **variables: str) -> str:
    return find_endpoint({**user.environment(), **variables}, str(user.folder)).name


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALITA_MODEL", "openai/gpt"), ("ALITA_HOME", "/elsewhere"), ("ALITA_TOKEN", "t"), ("alita_promoted", "3"),
        ("OPENAI_API_KEY", "k"), ("TAVILY_API_KEY", "k"), ("AWS_SECRET_ACCESS_KEY", "k"), ("AWS_PROFILE", "p"),
        ("HTTPS_PROXY", "http://p"), ("https_proxy", "http://p"), ("NO_PROXY", "x"), ("OPENAI_BASE_URL", "http://h"),
        ("VERTEXAI_LOCATION", "eu"), ("GOOGLE_APPLICATION_CREDENTIALS", "/k"), ("DOCKER_HOST", "tcp://h"),
        ("SSL_CERT_FILE", "/c"), ("REQUESTS_CA_BUNDLE", "/c"), ("XDG_CACHE_HOME", "/c"), ("HOME", "/h"),
        ("SNOWFLAKE_JWT", "t"), ("CURSOR_API_KEY", "k"), ("OPENAI_ORGANIZATION", "o"), ("CLOUDFLARE_ACCOUNT_ID", "a"),
        ("PREDIBASE_TENANT_ID", "t"), ("WATSONX_SPACE_ID", "s"), ("XAI_OAUTH_AUTH_FILE", "/f"), ("SSL_VERIFY", "no"),
        ("UV_INDEX", "i"), ("PIP_CONFIG_FILE", "f"), ("PYTHONPATH", "/p"), ("HF_TOKEN", "t"), ("OLLAMA_HOST", "h"),
    ],
)  # fmt: skip
def test_a_variable_that_changes_what_a_server_does_means_another_server(
    user: User, variable: str, value: str
) -> None:
    assert name_for(user, **{variable: value}) != name_for(user)


@pytest.mark.parametrize(
    "variable",
    [
        "TERM", "TERM_SESSION_ID", "TERM_PROGRAM", "ITERM_SESSION_ID", "WINDOWID", "SSH_AUTH_SOCK", "SSH_TTY", "TMUX",
        "VSCODE_GIT_ASKPASS_NODE", "VSCODE_IPC_HOOK_CLI", "CLAUDE_CODE_SSE_PORT", "CLAUDECODE",
        "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_SESSION_TOKEN", "CURSOR_TRACE_ID", "GIT_ASKPASS", "GPG_AGENT_INFO",
        "STARSHIP_SESSION_KEY",
        "npm_config_https_proxy", "npm_package_resolved_url", "NPM_TOKEN", "PWD", "OLDPWD", "SHLVL", "_", "PATH",
        "DISPLAY", "LANG", "COLUMNS", "PYTHONUNBUFFERED", "ALITA_SHARED", "INVOCATION_ID", "PS1",
    ],
)  # fmt: skip
def test_a_variable_of_a_terminal_or_a_client_does_not(user: User, variable: str) -> None:
    assert name_for(user, **{variable: "another"}) == name_for(user)


def test_the_order_of_variables_and_empty_ones_mean_nothing(user: User) -> None:
    variables = {"ALITA_MODEL": "m", "OPENAI_API_KEY": "k", **user.environment()}
    turned = dict(reversed(variables.items()))
    empty = {**variables, "ALITA_WORKSPACE": "", "HTTPS_PROXY": ""}
    names = {find_endpoint(each, str(user.folder)).name for each in (variables, turned, empty)}
    assert len(names) == 1


def test_a_key_that_a_setting_names_means_another_server_whatever_its_name(user: User) -> None:
    choice = {"ALITA_MODEL": "openai/gpt key_from=GIT_mine base_url=http://h"}
    first = name_for(user, **choice, GIT_mine="a")
    assert name_for(user, **choice, GIT_mine="b") != first
    assert name_for(user, **choice, GIT_other="b", GIT_mine="a") == first


@pytest.mark.parametrize("setting", ["ALITA_HOME", "ALITA_SECRETS_FILE", "ALITA_WORKSPACE", "alita_home"])
def test_a_relative_path_is_one_from_the_folder_of_the_client(user: User, setting: str) -> None:
    environment = {**user.environment(), setting: "some/where"}
    here, there = (find_endpoint(environment, folder) for folder in (str(user.folder), "/tmp"))
    assert here.name != there.name
    assert there.environment[setting] == "/tmp/some/where"
    absolute = find_endpoint({**environment, setting: "/tmp/some/../some/where"}, str(user.folder))
    assert absolute.name == there.name
    of_home = find_endpoint({**environment, setting: "~/some"}, str(user.folder))
    assert of_home.environment[setting] == "~/some"


def test_relative_places_of_modules_and_certificates_hold_for_the_server(user: User) -> None:
    found = find_endpoint(
        {"HOME": str(user.folder), "PYTHONPATH": f"lib{os.pathsep}/x", "SSL_CERT_FILE": "ca.pem"}, "/tmp"
    ).environment
    assert (found["PYTHONPATH"], found["SSL_CERT_FILE"]) == (f"/tmp/lib{os.pathsep}/x", "/tmp/ca.pem")


def test_another_key_another_program_and_bytes_that_are_no_text_have_names_of_their_own(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = name_for(user)
    assert name_for(user, ALITA_WORKSPACE="/\udcff") != first
    monkeypatch.setattr(endpoint, "program_stamp", lambda: "another")
    assert name_for(user) != first


@in_home
@pytest.mark.parametrize("wrong", ["link", "file", "open to others", "of another user"])
def test_a_folder_that_is_not_private_is_refused(user: User, wrong: str) -> None:
    folder = private_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()
    if wrong == "link":
        (user.folder / "theirs").mkdir(0o700)
        folder.symlink_to(user.folder / "theirs")
    elif wrong == "file":
        folder.write_text("")
    else:
        folder.mkdir(0o755 if wrong == "open to others" else 0o700)
        if wrong == "of another user":
            if os.getuid():
                pytest.skip("only root can give a folder away")
            os.chown(folder, 65_534, -1)
    with pytest.raises((Refused, FileExistsError)):
        private_folder()


@in_home
def test_a_path_too_long_for_a_socket_is_refused(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(user.folder / ("x" * 80)))
    with pytest.raises(Refused, match="too long"):
        user.endpoint()


@pytest.mark.process
def test_all_processes_of_a_user_have_one_key_that_nobody_else_can_read(user: User) -> None:
    path = user.folder / "key"
    program = f"""if True:
        from pathlib import Path
        from alita_mcp.server.transports.local.endpoint import read_key
        input()
        print(read_key(Path({str(path)!r})).hex())
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )
        for _ in range(8)
    ]
    keys = {process.communicate(b"\n")[0] for process in processes}
    assert keys == {read_key(path).hex().encode() + b"\n"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in user.folder.iterdir()] == ["key"]


def test_a_damaged_key_is_refused(user: User) -> None:
    path = user.folder / "key"
    for damage in (b"", b"short"):
        path.write_bytes(damage)
        with pytest.raises(Refused, match="key"):
            read_key(path)


def test_a_full_disk_has_no_key_and_no_remains(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as _remount:
        fill(tmp_path / "disk")
        with pytest.raises(OSError, match="No space"):
            read_key(tmp_path / "disk" / "key")
        assert [each.name for each in (tmp_path / "disk").iterdir()] == ["filler"]


async def test_a_socket_of_another_user_is_refused_at_both_ends(user: User) -> None:
    if os.getuid():
        pytest.skip("only root can become another user")
    here = user.endpoint()
    listen = f"""if True:
        import os, socket, sys
        here = socket.socket(socket.AF_UNIX)
        here.bind({str(here.address)!r})
        os.chmod({str(here.address)!r}, 0o777)
        os.setuid(65534)
        here.listen()
        print("listening", file=sys.stderr, flush=True)
        there, _ = here.accept()
        there.recv(1)
    """
    async with started((sys.executable, "-c", listen), user.environment(), user.folder) as other:
        await other.says("listening")
        with pytest.raises(Refused, match="another user"):
            connect(here, "mcp")


async def test_a_process_of_another_user_is_refused(user: User) -> None:
    if os.getuid():
        pytest.skip("only root can become another user")
    here = user.endpoint()
    join = f"""if True:
        import os, socket
        there = socket.socket(socket.AF_UNIX)
        os.setuid(65534)
        there.connect({str(here.address)!r})
        there.recv(1)
    """
    user.folder.chmod(0o711)
    for opened in (user.folder / ".cache", here.folder):
        opened.chmod(0o711)
    async with listening(here) as server:
        here.address.chmod(0o777)
        async with started((sys.executable, "-c", join), user.environment(), user.folder):
            stream = await server.accept()
            with pytest.raises(Refused, match="another user"):
                check_peer(stream.extra(SocketAttribute.raw_socket))


@pytest.mark.process
@in_home
@pytest.mark.parametrize(
    "lack", ["folder is full", "folder cannot be written", "nobody's home", "no current folder"]
)
async def test_where_no_server_can_be_shared_the_client_has_its_own(
    user: User, lack: str, tmp_path: Path
) -> None:
    cache = user.folder / ".cache"
    (user.folder / "anyio.py").write_text("raise SystemExit('code of a folder in which a client works')")
    env, command = user.environment(), (sys.executable, "-P", "-m", "alita_mcp.server.transports.entry")
    if lack == "nobody's home":
        del env["HOME"]
        unknown = "import pwd; pwd.getpwuid = {}.__getitem__"
        command = (sys.executable, "-P", "-c", f"{unknown}; {RUN_ENTRY}")
    if lack == "no current folder":
        leave = "os.mkdir('x'); os.chdir('x'); os.rmdir('../x')"
        command = (sys.executable, "-c", f"import os; {leave}; {RUN_ENTRY}")
    with small_disk(cache) as remount:
        if lack == "folder is full":
            fill(cache)
        if lack == "folder cannot be written":
            remount("ro")
        async with started(command, env, user.folder) as client:
            answer = await client.initialize()
            assert answer["result"]["serverInfo"]["name"] == "alita"
            assert (await client.request("tools/list"))["result"]["tools"]
            assert "serving this client alone" in client.stderr
            await client.end_input()
            assert await client.ended() == 0
            assert "Traceback" not in client.stderr
