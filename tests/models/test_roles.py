"""Models of the roles: what they are asked from, and what is said where there is none."""

from __future__ import annotations

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.models.interface import Message
from alita_mcp.models.roles import ROLES, RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.settings import Settings

HELLO = [Message(role="user", content="hello")]


async def test_without_a_model_it_is_said_what_to_set() -> None:
    role_models = RoleModels(Settings())
    assert not role_models.is_configured
    for opening in (role_models.open_models, role_models.default_model):
        with pytest.raises(UsageError, match="ALITA_MODEL"):
            opening()


async def test_each_role_is_asked_from_its_own_source() -> None:
    scripts = {role: ScriptedModel([f"by the {role}"]) for role in ROLES}
    opened = RoleModels(Settings(), source=lambda role: scripts[role or "planner"]).open_models()
    for role in scripts:
        assert (await opened.role(role).complete(HELLO)).text == f"by the {role}"
    assert opened.role("coder").name == "scripted"
