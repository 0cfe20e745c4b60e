import traceback

class _Refused(Exception):
    def __init__(self, step: int) -> None:
        super().__init__(f"step {step} is refused")
        self.step = step

def _step(number: int) -> float:
    try:
        return 12 / (number - 3)
    except ZeroDivisionError as problem:
        problem.add_note("the divisor is the step minus 3")
        raise _Refused(number) from problem

def explain_failure(steps: list[int]) -> list[str]:
    """Results of the steps, or the chain of errors.

    Args:
        steps: Numbers; 3 cannot be computed.
    """
    lines: list[str] = []
    try:
        for number in steps:
            lines.append(f"{_step(number):g}")
    except _Refused as refused:
        frames = traceback.extract_tb(refused.__traceback__)
        lines.append(f"{frames[-1].name} failed at {refused.step}")
        lines += traceback.format_exception_only(refused.__cause__)
    else:
        lines.append("all well")
    finally:
        lines.append("end")
    return [line.strip() for line in lines]


DESCRIPTION = "Explains where and why a calculation fails."
EXAMPLES = [{'arguments': {'steps': [1, 5]}, 'expected': ['-6', '6', 'all well', 'end']},
 {'arguments': {'steps': [4, 3, 9]},
  'expected': ['12',
               '_step failed at 3',
               'ZeroDivisionError: division by zero',
               'the divisor is the step minus 3',
               'end']},
 {'arguments': {'steps': []}, 'expected': ['all well', 'end']}]
