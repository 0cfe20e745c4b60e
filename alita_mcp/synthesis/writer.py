"""The server's own model as author: a description in, drafts out, each mended at most twice after a rejection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TypeVar

from pydantic import Field, ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.json_answer import first_json_object
from alita_mcp.models.seam import LanguageModel, Message
from alita_mcp.synthesis import prompts
from alita_mcp.synthesis.outcomes import Rejected
from alita_mcp.synthesis.request import SynthesisRequest
from alita_mcp.values import Example, Value

MAX_REPAIRS = 2
"""Against one suite of examples; more repairs select for the suite's own errors."""


class Specification(Value):
    """What a tool is to do, written before and without its code."""

    name: str
    description: str
    signature: str
    tests: tuple[Example, ...] = Field(min_length=1)
    use_when: tuple[str, ...] = ()


class WrittenCode(Value):
    """A module and the packages it needs."""

    code: str = Field(min_length=1)
    packages: tuple[str, ...] = ()


Answer = TypeVar("Answer", Specification, WrittenCode)


class Writer:
    """Writes requests on a caller's behalf; the caller's own examples are kept from the model and must pass."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.rejected: Rejected | None = None
        """Why the last request failed; set by the toolsmith before it asks for the next."""

    async def requests(self, wish: SynthesisRequest) -> AsyncGenerator[SynthesisRequest]:
        """Whole requests for a wish, the next one written in the light of `rejected`.

        Raises:
            ModelError: the model did not answer, or twice not what was asked for.
        """
        specification, _ = await self._ask(prompts.specify(wish.description, wish.name), Specification)
        asked = prompts.write_code(wish.description, specification.signature)
        for _repair in range(MAX_REPAIRS + 1):
            written, text = await self._ask(asked, WrittenCode)
            yield SynthesisRequest(
                name=wish.name or specification.name,
                description=specification.description,
                code=written.code,
                tests=(*wish.tests, *specification.tests),
                use_when=wish.use_when or specification.use_when,
                packages=wish.packages or written.packages,
                network=wish.network,
                workspace=wish.workspace,
                model=wish.model,
                tools=wish.tools,
                secrets=wish.secrets,
                update=wish.update,
            )
            if self.rejected is None:
                return
            asked = prompts.repair(asked, text, self.rejected)

    async def _ask(self, messages: list[Message], shape: type[Answer]) -> tuple[Answer, str]:
        """The model's answer as a value; one corrective retry when it cannot be read."""
        first = (await self._model.complete(messages)).text
        try:
            return shape.model_validate(first_json_object(first)), first
        except (ValueError, ValidationError) as unreadable:
            again = prompts.answer_in_json(messages, first, str(unreadable)[:300])
        second = (await self._model.complete(again)).text
        try:
            return shape.model_validate(first_json_object(second)), second
        except (ValueError, ValidationError) as unreadable:
            raise ModelError(
                f"The model {self._model.name!r} twice gave no readable {shape.__name__}.",
                hint="Try another model, or hand in code and tests.",
            ) from unreadable
