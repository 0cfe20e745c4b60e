"""Random configuration files: every byte of others survives install and uninstall."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from alita_mcp.clients.changes import Change, apply_change, format_of, plan_install, plan_uninstall
from alita_mcp.clients.table import CLIENTS, Launch, Remote

BOM = b"\xef\xbb\xbf"
LAUNCH = Launch("/opt/python", ("-m", "server"), {"ALITA_HOME": "/data"})
KEYS = st.one_of(st.sampled_from(["a", "url", "http://x", 'q"', "é,", "{"]), st.text(max_size=4))
GAPS = st.sampled_from(
    ["", "", " ", "\n", "\n\t", "\r\n  ", "\n  // it's, {\n  ", '/* "x": [ // */', " /* é\n */ ", "\n\n    "]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5).map(lambda each: f"//{each}")
)


@st.composite
def json_texts(draw: st.DrawFn, depth: int = 2) -> str:
    """A value as JSON with comments, odd blanks and trailing commas."""
    kind = draw(st.sampled_from(["scalar", "object", "array"] if depth else ["scalar"]))
    if kind == "scalar":
        return json.dumps(draw(SCALARS), ensure_ascii=draw(st.booleans()))
    return draw(collections(kind, depth))


@st.composite
def collections(draw: st.DrawFn, kind: str, depth: int, members: dict[str, str] | None = None) -> str:
    keys = draw(st.lists(KEYS.filter(lambda key: key != "alita"), max_size=3, unique=True))
    chosen = {key: draw(json_texts(depth - 1)) for key in keys} | (members or {})
    parts = []
    for key, value in chosen.items():
        name = json.dumps(key, ensure_ascii=False) + draw(GAPS) + ":" + draw(GAPS) if kind == "object" else ""
        parts.append(f"{draw(GAPS)}{name}{value}{draw(GAPS)}")
    text = ",".join(parts)
    if parts and draw(st.booleans()):
        text += "," + draw(GAPS)
    if not parts:
        text = draw(GAPS)
    return f"{{{text}}}" if kind == "object" else f"[{text}]"


@st.composite
def json_documents(draw: st.DrawFn) -> str:
    servers = draw(st.none() | collections("object", 2))
    members = {} if servers is None else {"mcpServers": servers}
    body = (
        draw(st.just("") | collections("object", 2, members))
        if servers is None
        else draw(collections("object", 2, members))
    )
    return draw(st.sampled_from(["", "\ufeff"])) + draw(GAPS) + body + draw(GAPS)


YAML_VALUES = st.sampled_from(
    [
        "1",
        "yes",
        "'it''s'",
        '"a: b"',
        "plain # note",
        "[a, {b: c}]",
        "|\n{pad}  text\n\n{pad}  # no comment",
        "~",
        "",
    ]
)


@st.composite
def yaml_documents(draw: st.DrawFn) -> str:
    """Mappings in lines, with comments and blank lines between, and perhaps extensions of either style."""

    def lines(pad: str, depth: int) -> str:
        text = ""
        for key in draw(
            st.lists(st.sampled_from(["a", "b", "'c d'", "e.f"]), min_size=1, max_size=3, unique=True)
        ):
            text += draw(st.sampled_from(["", "\n", f"{pad}# about\n", f"{pad}    # deeper\n"]))
            if depth and draw(st.booleans()):
                text += f"{pad}{key}:\n{lines(pad + draw(st.sampled_from(['  ', '    '])), depth - 1)}"
            else:
                text += f"{pad}{key}: {draw(YAML_VALUES)}\n".replace("{pad}", pad)
        return text

    extensions = draw(
        st.sampled_from(["", "extensions: {}\n", "extensions: {x: {cmd: y}} # one\n", "extensions:\n"])
        | st.builds(lambda pad: f"extensions:  # ours\n{lines(pad, 1)}", st.sampled_from(["  ", "    "]))
    )
    text = (
        draw(st.sampled_from(["", "# top\n\n", "---\n"])) + lines("", 2).replace("\na:", "\nz:") + extensions
    )
    text += draw(st.sampled_from(["", "# end", "\n\n", "last: 1"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@st.composite
def toml_documents(draw: st.DrawFn) -> str:
    """Keys and tables, with comments and blank lines between, and perhaps servers."""
    values = st.sampled_from(
        ["1", "'a'", '"""\n[mcp_servers.alita]\n# no\n"""', "[\n  1, # one\n]", "{ a = 1 }", "1979-05-27"]
    )
    between = st.sampled_from(["", "\n", "# about\n", "\n# about\n\n", "  "])
    text = draw(between)
    heads = draw(
        st.lists(st.sampled_from(["b", "mcp_servers.x", "c.d", "mcp_servers.y.env"]), max_size=4, unique=True)
    )
    for head in ["", *heads]:
        text += f"{draw(between)}[{head}] # head\n" if head else ""
        for key in draw(st.lists(st.sampled_from(["k", "'q r'", "l-m"]), max_size=3, unique=True)):
            text += f"{draw(between)}{key} = {draw(values)}{draw(st.sampled_from(['', ' # note']))}\n"
        text += draw(between)
    return text.removesuffix("\n" * draw(st.integers(0, 1))).replace(
        "\n", draw(st.sampled_from(["\n", "\r\n"]))
    )


def check_round_trip(name: str, text: str) -> None:
    """Installs for a start, then over HTTP, and uninstalls."""
    client, before = CLIENTS[name], text.encode()
    read = format_of(client).read
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config"
        file.write_bytes(before)

        def apply(change: Change) -> bytes:
            apply_change(change)
            assert apply_change(plan_install(client, LAUNCH, file)) is None if change.entry else True
            return file.read_bytes() if file.exists() else b""

        installed = plan_install(client, LAUNCH, file)
        after = apply(installed)
        assert after != before
        assert after.startswith(BOM) == before.startswith(BOM)
        apply_change(plan_uninstall(client, file))
        rest = file.read_bytes() if file.exists() else b""
        had_servers = read(before.removeprefix(BOM)).get(client.servers_key)
        if had_servers and not before.endswith(b"\n"):
            assert rest.rstrip() == before.rstrip()  # the end of the last line was not ours
        elif had_servers:
            assert rest == before, (rest, after)
        assert read(rest.removeprefix(BOM)).get("z") == read(before.removeprefix(BOM)).get("z")
        file.write_bytes(after)
        apply_change(plan_install(client, Remote("http://h/mcp", "t" * 16), file))
        assert "/opt/python" not in file.read_text(encoding="utf-8")
        back = plan_install(client, LAUNCH, file)
        apply_change(back)
        both = [read(side.removeprefix(BOM)) for side in (after, file.read_bytes())]
        assert both[0] == both[1]


@given(json_documents())
@example('{"mcpServers": {"a": {} /* , */ , // x\n }}')
@example("{}")
def test_json(text: str) -> None:
    check_round_trip("cursor", text)


@given(yaml_documents())
def test_yaml(text: str) -> None:
    check_round_trip("goose", text)


@given(toml_documents())
def test_toml(text: str) -> None:
    check_round_trip("codex", text)
