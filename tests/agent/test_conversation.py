"""A conversation within its budget: the oldest observations are cut first, the last ones never."""

from __future__ import annotations

from alita_mcp.agent.react import KEPT_WHOLE, Conversation
from alita_mcp.models.interface import Message, ToolCall


def talk(observations: int, most: int) -> Conversation:
    made = Conversation([Message(role="system", content="rules"), Message(role="user", content="task")], most)
    for number in range(observations):
        made.turns.append(
            Message(role="assistant", content="", calls=(ToolCall(id=f"c{number}", name="look"),))
        )
        made.add_results([(f"c{number}", f"{number}: " + "x" * 1_000)])
    return made


def test_the_oldest_observations_are_cut_to_a_line_and_the_last_ones_stay() -> None:
    told = [turn.content for turn in talk(20, 12_000).turns if turn.role == "tool"]
    assert len(told) == 20
    assert told[0].endswith("read_value shows it again)")
    assert len(told[0]) < 400
    assert all(len(content) > 1_000 for content in told[-KEPT_WHOLE:])
    assert sum(map(len, told)) < 14_000


def test_a_conversation_that_fits_stays_whole() -> None:
    told = [turn.content for turn in talk(5, 160_000).turns if turn.role == "tool"]
    assert all(len(content) > 1_000 for content in told)
    assert [turn.role for turn in talk(1, 100).turns] == ["system", "user", "assistant", "tool"]
