"""A question to a CSV file on the web: one tool fetches, another computes, each in a sandbox of its own."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

import alita_tool


class Condition(TypedDict):
    column: str
    test: Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "ends_with", "empty", "not_empty"]
    value: NotRequired[str]


class Aggregate(TypedDict):
    function: Literal["count", "sum", "mean", "median", "min", "max", "distinct"]
    column: NotRequired[str]
    name: NotRequired[str]


class Answer(TypedDict):
    url: str
    columns: list[str]
    rows: list[dict[str, str]]
    matched: int
    total: int


def fetch_csv_and_query(
    url: str,
    select: list[str] | None = None,
    where: list[Condition] | None = None,
    group_by: list[str] | None = None,
    aggregates: list[Aggregate] | None = None,
    order_by: list[str] | None = None,
    limit: int = 1000,
    delimiter: str = "",
) -> Answer:
    """Fetches a CSV file from a granted host and filters, groups, aggregates, sorts and selects its rows.

    The tool http_request fetches and the tool csv_query computes; neither gains the rights of the other.

    Args:
        url: Address of the CSV file; its first row names the columns.
        select: Columns of the answer in order. All when left out.
        where: Conditions that a row must meet, all of them: column, test, value.
        group_by: Columns whose equal values make a group; with aggregates each group becomes one row.
        aggregates: What to compute of each group, or of all rows: function, column, and the name of the result.
        order_by: Columns to sort by; a leading minus sorts downwards, as in "-amount".
        limit: How many rows to give at most, 0 to 10,000.
        delimiter: The character between cells; found from the first line when empty.

    Returns:
        Where the file was in the end, and what csv_query says of it.

    Raises:
        ValueError: The address is none, the server answers with an error or with no text, the file is too large, or
            the question does not fit the table.
        TimeoutError: The server did not answer in time.
        PermissionError: Calling the two tools was not granted.
        RuntimeError: The host is not granted to http_request, cannot be reached, or one of the two tools failed.
    """
    accepted = {"Accept": "text/csv, text/*;q=0.9"}
    fetched = alita_tool.call_tool("http_request", url=url, headers=accepted, max_bytes=600_000)
    if fetched["status"] != 200:
        raise ValueError(f"{url[:200]} answered with status {fetched['status']}")
    if fetched["truncated"]:
        raise ValueError("the file is larger than 600,000 bytes")
    if fetched["kind"] not in ("text", "json"):
        raise ValueError(f"{url[:200]} is no text")
    question = {
        "select": select, "where": where, "group_by": group_by, "aggregates": aggregates, "order_by": order_by,
        "limit": limit, "delimiter": delimiter,
    }
    asked = {name: value for name, value in question.items() if value is not None}
    answer = alita_tool.call_tool("csv_query", text=fetched["body"], **asked)
    return {"url": fetched["url"], **answer}
