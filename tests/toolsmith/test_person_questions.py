"""Pending questions to the person at a client: sent, handed out in rounds, refused, late."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.errors import ModelError
from alita_mcp.toolsmith.jobs.person_questions import (
    Decision,
    FilledForm,
    FormField,
    PendingQuestions,
    PersonAnswer,
    Question,
    Refused,
)

SAID = Decision.APPROVED


async def asks(questions: PendingQuestions, words: str = "why?") -> str:
    try:
        return await questions.ask_person(words)
    except ModelError as failure:
        return f"{type(failure).__name__}: {failure.message}"


async def outcomes(questions: PendingQuestions, count: int, meanwhile: object = None) -> list[str]:
    """What becomes of so many questions that are asked at once."""
    found: list[str] = []

    async def one() -> None:
        found.append(await asks(questions))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(one)
            if callable(meanwhile):
                tasks.start_soon(meanwhile)
    return found


async def test_questions_wait_until_a_carrier_comes() -> None:
    questions = PendingQuestions(60)
    brought: list[str] = []
    all_brought = anyio.Event()

    async def carry(question: Question) -> PersonAnswer:
        brought.append(question.key)
        if len(brought) == 3:
            all_brought.set()
        return SAID

    async def come_later() -> None:
        await questions.ready()
        assert len(questions.open_questions) == 3
        with questions.attach_sender(carry):
            await all_brought.wait()
        assert not questions.open_questions

    assert await outcomes(questions, 3, come_later) == ["approved"] * 3


async def test_a_question_in_hand_stays_with_its_carrier_and_a_new_one_waits() -> None:
    questions = PendingQuestions(60)
    in_hand, go = anyio.Event(), anyio.Event()

    async def carry(_question: Question) -> PersonAnswer:
        in_hand.set()
        await go.wait()
        return SAID

    async def leave() -> None:
        with questions.attach_sender(carry):
            await in_hand.wait()
        assert not questions.open_questions
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asks, questions, "and why?")
            await questions.ready()
            asked = questions.next_round()
            assert [question.text for question in asked] == ["and why?"]
            go.set()
            await questions.take_answers({question.key: SAID for question in asked})

    assert await outcomes(questions, 1, leave) == ["approved"]


async def test_one_refusal_ends_all_questions_and_those_to_come() -> None:
    questions = PendingQuestions(60)
    asked = 0

    async def carry(_question: Question) -> PersonAnswer:
        nonlocal asked
        asked += 1
        if asked == 3:
            return Refused("The person said no.")
        await anyio.sleep_forever()
        raise AssertionError

    with questions.attach_sender(carry):
        assert await outcomes(questions, 3) == ["Refused: The person said no."] * 3
        assert await asks(questions) == "Refused: The person said no."
    assert asked == 3


async def test_an_answer_that_is_none_ends_only_its_own_question() -> None:
    questions = PendingQuestions(60)

    async def carry(question: Question) -> PersonAnswer:
        return ModelError("an image") if question.key.endswith("1") else SAID

    with questions.attach_sender(carry):
        assert sorted(await outcomes(questions, 3)) == ["ModelError: an image", "approved", "approved"]


async def test_a_question_that_nobody_comes_for_ends_in_time_and_ends_the_asking() -> None:
    questions = PendingQuestions(0.05)
    assert (
        await outcomes(questions, 2)
        == ["Refused: The person at the client did not answer within 0.05 s."] * 2
    )
    assert (await asks(questions)).startswith("Refused")


async def test_questions_that_come_side_by_side_are_handed_out_together_and_answered_once() -> None:
    questions = PendingQuestions(60)

    async def play() -> None:
        await questions.ready()
        asked = questions.next_round()
        assert len(asked) == len(questions.open_questions) == 4
        await questions.take_answers({"": Decision.DECLINED, "question-99": Decision.DECLINED})
        answers: dict[str, PersonAnswer] = {question.key: SAID for question in asked}
        await questions.take_answers(answers)
        await questions.take_answers(dict.fromkeys(answers, Decision.DECLINED))
        assert not questions.open_questions

    assert await outcomes(questions, 4, play) == ["approved"] * 4


async def test_what_is_left_out_twice_counts_as_refused() -> None:
    questions = PendingQuestions(60)

    async def play() -> None:
        for _ in range(2):
            await questions.ready()
            questions.next_round()
            await questions.take_answers({})

    assert (
        await outcomes(questions, 2, play)
        == ["Refused: The person at the client left a question unanswered."] * 2
    )


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (FilledForm({"a": "x"}), FilledForm({"a": "x"})),
        (Decision.DECLINED, Decision.DECLINED),
        (ModelError("strange"), "strange"),
        (Refused("gone"), "gone"),
    ],
)
async def test_a_form_is_filled_or_put_away(answer: PersonAnswer, heard: object) -> None:
    questions, fields = PendingQuestions(60), (FormField("a", "A", "a?"),)
    asked: list[Question] = []

    async def carry(question: Question) -> PersonAnswer:
        asked.append(question)
        return answer

    with anyio.fail_after(60), questions.attach_sender(carry):
        try:
            found: object = await questions.ask_form("What?", fields)
        except ModelError as failure:
            found = failure.message
    assert found == heard
    assert asked[0].fields == fields
