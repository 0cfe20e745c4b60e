"""A client's own model for tests: what it was asked, and what it says by the kind of question."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types

from tests.synthesis.authors import GOOD, PLAIN, SPEC, WISH, coded

KINDS = {"Specify a tool": "spec", "Test this tool": "tests", "It failed": "repair", "Turn this": "script"}
ASKED = {"description": WISH, "mode": "quick"}
Said = str | types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData
DECLINED = types.ErrorData(code=-1, message="User rejected\u202e sampling request")


def written(kind: str) -> str:
    """What a good model says."""
    return {"spec": json.dumps(SPEC), "tests": json.dumps(GOOD)}.get(kind) or coded(PLAIN)


def kind_of(params: types.CreateMessageRequestParams) -> str:
    said = "\n".join(text_of(message) for message in params.messages)
    order = ("It failed", *KINDS)
    return next((KINDS[words] for words in order if words in said), "code")


def text_of(message: types.SamplingMessage) -> str:
    return "".join(block.text for block in message.content_as_list if isinstance(block, types.TextContent))


def message(text: str, **changes: Any) -> types.CreateMessageResult:
    said: dict[str, Any] = {"role": "assistant", "model": "lent-1", "content": types.TextContent(text=text)}
    return types.CreateMessageResult(**{**said, **changes})


@dataclass
class Lender:
    """Answers by the kind of question, or as `says` does; remembers what it was asked."""

    says: Callable[[str, int], Awaitable[Said] | Said] = lambda kind, _number: written(kind)
    asked: list[types.CreateMessageRequestParams] = field(default_factory=list)

    async def __call__(
        self, _ctx: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        kind = kind_of(params)
        number = self.kinds.count(kind)
        self.asked.append(params)
        said = self.says(kind, number)
        answer = said if isinstance(said, str | types.Result | types.ErrorData) else await said
        return message(answer) if isinstance(answer, str) else answer

    @property
    def kinds(self) -> list[str]:
        return [kind_of(params) for params in self.asked]
