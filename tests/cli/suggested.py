"""Runs of like programs, as a server would have recorded them."""

from __future__ import annotations

import secrets
from typing import Any

from alita_mcp.library.runs.recorded_run import RecordedRun

CODE = "rate = {rate}\nprices = {prices!r}\nresult = [round(price * rate, 2) for price in prices]\n"


def priced(rate: float, *prices: float, **facts: Any) -> RecordedRun:
    found = [round(price * rate, 2) for price in prices]
    told = {"code": CODE.format(rate=rate, prices=list(prices)), "result": found, "result_kind": "json"}
    return RecordedRun(
        **{
            "id": secrets.token_hex(16),
            "at": "2026-11-23T15:00:00+00:00",
            "client": "tester 1",
            **told,
            **facts,
        }
    )
