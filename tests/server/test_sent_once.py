"""Large results go out once, in the form that the model behind the client reads."""

from __future__ import annotations

import mcp_types as types
import pytest

from tests.server.drafts import REPEAT
from tests.server.in_memory import Build, called, connected, succeeded, text_of

LARGE = {"text": "one of many rows", "times": 500}
SMALL = {"text": "row", "times": 2}
WHOLE = [LARGE["text"]] * 500


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("claude-code", {"structured"}),
        ("qwen-cli-mcp-client-alita", {"structured"}),
        ("gemini-cli-mcp-client-alita", {"text"}),
        ("nobody-measured-it", {"structured", "text"}),
    ],
)
@pytest.mark.both_eras
async def test_a_large_result_is_sent_as_the_model_reads_it(
    build: Build, era: str, name: str, reads: set[str]
) -> None:
    client_info = types.Implementation(name=name, version="1")
    async with connected(build(), era, client_info=client_info) as client:
        await succeeded(client, "synthesize_tool", **REPEAT)
        direct = await called(client, "repeat_rows", **LARGE)
        through = await called(client, "run_tool", name="repeat_rows", arguments=LARGE)
        assert not direct.is_error
        assert direct.structured_content == {"result": WHOLE}, (
            "clients refuse a result without what was declared"
        )
        assert ("structured" in reads) == (through.structured_content == {"result": WHOLE})
        assert ("structured" in reads) == (through.structured_content is not None)
        for result in (direct, through):
            is_whole = text_of(result).count(LARGE["text"]) == len(WHOLE)
            assert is_whole == ("text" in reads)
            assert is_whole or len(text_of(result)) < 200
        small = await called(client, "run_tool", name="repeat_rows", arguments=SMALL)
        assert (small.structured_content, text_of(small)) == ({"result": ["row", "row"]}, '["row", "row"]')
        failed = await called(client, "run_tool", name="repeat_rows", arguments={"text": "x" * 5_000})
        assert failed.is_error
        assert "'times' is missing" in text_of(failed), "of errors every model reads the text"
