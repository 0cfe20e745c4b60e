"""Code that uses `alita_tool` beyond what its request asks for is told all that is missing, ready to be sent."""

from __future__ import annotations

import pytest

from alita_mcp.values import Check, Grants
from alita_mcp.verification.static.static import static_gate
from tests.verification.drafts import draft

CODE = """\
{imports}


def probe(name: str) -> str:
    \"\"\"Does what it says.

    Args:
        name: A name.
    \"\"\"
    {body}
"""


async def found(body: str, grants: Grants, imports: str) -> list[Check]:
    code = CODE.format(imports=imports, body=body)
    checks, _ = await static_gate(draft(name="probe", code=code, grants=grants))
    return [check for check in checks if check.hard and not check.passed]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "needs"),
    [
        ("return str(alita_tool.write_text(name, name))", '{"workspace": "write"}'),
        ("return alita_tool.read_text(name)", '{"workspace": "read"}'),
        ("return ''.join(alita_tool.list_files())", '{"workspace": "read"}'),
        ("return str(alita_tool.write_bytes(name, b'x'))", '{"workspace": "write"}'),
        ("return alita_tool.complete(name)", '{"model": true}'),
        ("return alita_tool.call_tool('csv_query', text=name)", '{"tools": ["csv_query"]}'),
        ("return alita_tool.call_tool(name)", '{"tools": ["NAME"]}'),
        ("return alita_tool.secret('API_KEY')", '{"secrets": ["API_KEY"]}'),
        (
            "return alita_tool.complete(alita_tool.secret('B') + alita_tool.secret('A') + alita_tool.read_text('x'))",
            '{"workspace": "read", "model": true, "secrets": ["A", "B"]}',
        ),
    ],
)
async def test_all_that_is_missing_is_named_at_once(body: str, needs: str) -> None:
    checks = await found(body, Grants(), "import alita_tool")
    assert [check.stage for check in checks] == ["policy"]
    assert f'Add "needs": {needs};' in checks[0].fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "body"),
    [
        ("import alita_tool as host", "return host.secret('KEY')"),
        ("from alita_tool import secret", "return secret('KEY')"),
        ("from alita_tool import secret as told", "return told('KEY')"),
        ("", "import alita_tool; return alita_tool.secret('KEY')"),
        ("", "from alita_tool import secret; return secret('KEY')"),
    ],
)
async def test_however_it_is_imported(imports: str, body: str) -> None:
    (check,) = await found(body, Grants(), imports)
    assert '"secrets": ["KEY"]' in check.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "grants"),
    [
        ("return alita_tool.read_text(name)", Grants(workspace="write")),
        ("return alita_tool.call_tool(name)", Grants(tools=("csv_query",))),
        ("return alita_tool.secret(name)", Grants(secrets=("A",))),
        ("return alita_tool.complete(name)", Grants(model=True)),
        ("return alita_tool.__name__", Grants()),
        ("secret = 'alita_tool.secret'; return secret.replace('s', name)", Grants()),
    ],
)
async def test_what_is_asked_for_or_not_used_is_nothing_to_tell(body: str, grants: Grants) -> None:
    assert await found(body, grants, "import alita_tool") == []


@pytest.mark.parametrize("strange", ["read_file(name)", "workspace / name"])
async def test_a_function_that_is_not_there_is_told_those_that_are(strange: str) -> None:
    (check,) = await found(f"return alita_tool.{strange}", Grants(workspace="read"), "import alita_tool")
    assert repr(strange.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]) in check.message
    assert "read_text(path)" in check.fix
