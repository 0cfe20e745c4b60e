"""Pictures of the pages in docs/pictures/ui_*.png: what three tools of a client leave, seen in a real browser.

`python -m docs.pictures.pages` in a checkout, with Chromium on this machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.to_thread import run_sync
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from playwright.async_api import async_playwright

from tests.browser.ui_server import UiServer

if TYPE_CHECKING:
    from playwright.async_api import Browser

FOLDER = Path(__file__).parent
DESKTOP, PHONE = {"width": 1000, "height": 620}, {"width": 400, "height": 760}
IBAN: dict[str, Any] = {
    "name": "iban_is_valid",
    "description": "Checks the check digits of an IBAN.",
    "code": '''def iban_is_valid(iban: str) -> bool:
    """Checks the check digits of an IBAN.

    Args:
        iban: With or without spaces.
    """
    text = iban.replace(" ", "").upper()
    if len(text) < 5 or not text.isalnum() or not text.isascii():
        return False
    digits = "".join(str(int(each, 36)) for each in text[4:] + text[:4])
    return int(digits) % 97 == 1
''',
    "tests": [
        {"arguments": {"iban": "DE89 3704 0044 0532 0130 00"}, "expected": True},
        {"arguments": {"iban": "DE88 3704 0044 0532 0130 00"}, "expected": False},
        {"arguments": {"iban": "GB29 NWBK 6016 1331 9268 19"}, "expected": True},
        {"arguments": {"iban": "FR76 3000 6000 0112 3456 7890 189"}, "expected": True},
        {"arguments": {"iban": "é"}, "expected": False},
        {"arguments": {"iban": ""}, "expected": False},
    ],
    "use_when": ["check the IBANs in this list", "is this bank account number valid"],
}
MEDIAN: dict[str, Any] = {
    "name": "median_price",
    "description": "Median of prices.",
    "code": '''def median_price(prices: list[float]) -> float:
    """Median of prices.

    Args:
        prices: At least one.
    """
    return sorted(prices)[len(prices) // 2]
''',
    "tests": [
        {"arguments": {"prices": [1, 2, 3]}, "expected": 2},
        {"arguments": {"prices": [1, 2, 3, 4]}, "expected": 2.5},
    ],
}


async def use_tools(client: Client) -> None:
    """A client's morning: a search in vain, a tool that passes, one that does not, calls."""
    await client.call_tool("search_capabilities", {"query": "check the IBANs in this list"})
    await client.call_tool("synthesize_tool", IBAN)
    await client.call_tool("synthesize_tool", MEDIAN)
    for iban in ("DE89 3704 0044 0532 0130 00", "DE12"):
        await client.call_tool("run_tool", {"name": "iban_is_valid", "arguments": {"iban": iban}})
    await client.call_tool("search_capabilities", {"query": "is this account number right?"})
    await client.call_tool("run_code", {"code": "sum(range(10))"})


async def draw(browser: Browser, person: UiServer) -> None:
    """Draws the pictures of the pages."""
    command = ["-P", "-m", "alita_mcp.server.transports.entry"]
    start = StdioServerParameters(
        command=sys.executable, args=command, env=person.environment(), cwd=str(person.folder)
    )
    name = types.Implementation(name="Cursor", version="2.0")
    async with Client(stdio_client(start), client_info=name) as client:
        desktop = await browser.new_context(viewport=DESKTOP)
        page = await desktop.new_page()
        await page.goto(await run_sync(person.link))
        await page.goto(await run_sync(person.url, "/activity"))
        await use_tools(client)
        await page.locator("text=code").first.wait_for()
        await page.screenshot(path=FOLDER / "ui_activity.png")
        session = await desktop.storage_state()
        for path, file, scheme in (
            ("/library", "ui_library_phone.png", "light"),
            ("/library/iban_is_valid", "ui_tool_dark.png", "dark"),
        ):
            phone = await browser.new_context(viewport=PHONE, color_scheme=scheme, storage_state=session)
            page = await phone.new_page()
            await page.goto(await run_sync(person.url, path))
            await page.screenshot(path=FOLDER / file)


async def main() -> None:
    """Starts the server and the browser."""
    folder = Path(tempfile.mkdtemp())
    person = UiServer(folder, {"prepare": "false"})
    try:
        async with async_playwright() as playwright:
            program = shutil.which("chromium") or shutil.which("google-chrome")
            await draw(
                await playwright.chromium.launch(executable_path=program, chromium_sandbox=False), person
            )
    finally:
        await run_sync(person.alita, "stop")
        shutil.rmtree(folder)


if __name__ == "__main__":
    anyio.run(main)
