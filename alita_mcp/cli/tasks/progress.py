"""How far a task has come: events in, one value out that a view can draw; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from alita_mcp.cli.tasks.words import plan_lines
from alita_mcp.texts import one_line
from alita_mcp.values import Value

if TYPE_CHECKING:
    from alita_mcp.agent.values import TaskEvent

StepState = Literal["running", "ok", "failed"]


class ShownStep(Value):
    """A step in a line."""

    key: str
    text: str
    state: StepState = "running"
    seconds: float = 0.0


class Progress(Value):
    """All that is shown of a run."""

    run: str = ""
    task: str = ""
    plan: tuple[str, ...] = ()
    plan_why: str = ""
    steps: tuple[ShownStep, ...] = ()
    status: str = ""
    """The last that happened which is no step."""
    cost_usd: float = 0.0
    """Of the steps so far, where prices are known."""

    def after(self, event: TaskEvent) -> Progress:
        """How far it has come with one more event."""
        match event.kind:
            case "started":
                return self._with(run=event.run, task=one_line(event.text))
            case "plan":
                why = one_line(event.text)
                return self._with(plan=tuple(plan_lines(event.data)), plan_why=why)
            case "step_started":
                step = ShownStep(key=_key(event), text=_said(event))
                return self._with(steps=(*self.steps, step), status="")
            case "step":
                return self._with_step(event)
            case _:
                return self._with(status=f"{event.kind}: {one_line(event.text)}")

    def _with_step(self, event: TaskEvent) -> Progress:
        ok, key = event.data.get("ok") is not False, _key(event)
        done = ShownStep(
            key=key, text=_said(event), state="ok" if ok else "failed", seconds=_number(event.data, "seconds")
        )
        known = any(step.key == key for step in self.steps)
        steps = tuple(done if step.key == key else step for step in self.steps)
        cost = self.cost_usd + _number(event.data, "cost_usd")
        return self._with(steps=steps if known else (*steps, done), cost_usd=cost)

    def _with(self, **changes: Any) -> Progress:
        return self.model_copy(update=changes)


def _said(event: TaskEvent) -> str:
    return f"{event.agent and f'[{event.agent}] '}{one_line(event.text)}"


def _key(event: TaskEvent) -> str:
    """What the start and the end of one step share."""
    return str(event.data.get("number") or event.number)


def _number(data: dict[str, Any], name: str) -> float:
    found = data.get(name)
    return float(found) if isinstance(found, int | float) and found >= 0 else 0.0
