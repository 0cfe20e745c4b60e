"""The whole web agent against local servers: a search, pages that are good or hostile."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.values import ResearchLimits
from alita_mcp.research.web_agent import open_web_agent
from alita_mcp.settings import Settings
from tests.research.whole_web import PAGES, QUESTION, world

pytestmark = pytest.mark.extra("web")

WAIT_S = 120


@pytest.mark.slow
async def test_a_question_is_answered_from_pages_with_their_addresses_and_hostile_ones_stay_out(
    settings: Settings,
) -> None:
    with anyio.fail_after(WAIT_S), world(settings) as (configured, site, asked):
        async with open_web_agent(configured, has_model=True) as web:
            assert web.backends == ("searxng",)
            assert asked == []
            found = await web.research(QUESTION, ResearchLimits(pages=5))
    best = found.passages[0]
    assert "| humidity | grams per cubic metre |" in best.text
    assert (best.url, best.title) == (site.url("/api"), "Sensor API")
    assert best.retrieved_at.startswith("20")
    assert {request.query["q"] for request in asked} == {QUESTION}
    assert not any("secret" in hit.url for hit in found.hits)
    unread = "\n".join(found.unread)
    assert all(site.url(path) in unread for path in ("/moved", "/picture", "/huge"))
    assert "169.254.169.254" in unread
    assert set(site.paths()) <= set(PAGES)


async def test_settings_that_do_not_fit_are_said_at_the_first_question(settings: Settings) -> None:
    wrong = settings.model_copy(update={"search": "tavily"})
    async with open_web_agent(wrong, has_model=True) as web:
        with pytest.raises(UsageError, match="TAVILY_API_KEY"):
            await web.research(QUESTION)
        with pytest.raises(UsageError, match="TAVILY_API_KEY"):
            assert web.backends
