"""Tasks with rewordings of our own, and unlike tasks: how often a like task finds its recipe, and an unlike one does.

The similarity was never adjusted with them, only measured.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Kind(NamedTuple):
    """One kind of task: what was solved, with which arguments, and other wordings with other values."""

    task: str
    arguments: dict[str, Any]
    rewordings: tuple[str, ...]


LIKE = (
    Kind(
        "What is the average of score in exams.csv?",
        {"path": "exams.csv", "column": "score"},
        (
            "Compute the mean of the column `height` in people.csv.",
            "In laps.csv, how much is seconds on average?",
            "Mean value of weight in cats.csv?",
        ),
    ),
    Kind(
        "Which customer in orders.csv spent the most in 2022?",
        {"path": "orders.csv", "column": "customer", "year": 2022},
        (
            "Find the customer with the highest spending in 2021 in shop.csv.",
            "In invoices.csv, who was the customer that spent most in 2020?",
            "Name the customer of sales.csv who spent the largest sum in 2019.",
        ),
    ),
    Kind(
        "Convert 100 dollars to euros at the rate of 2024-05-02.",
        {"amount": 100, "from": "dollars", "to": "euros", "date": "2024-05-02"},
        (
            "How many euros were 250 dollars on 2023-01-09?",
            "What are 80 dollars in euros at the exchange rate of 2022-12-01?",
            "Change 45 dollars into euros with the rate of 2021-07-07.",
        ),
    ),
    Kind(
        "Extract the tables of report.pdf as CSV.",
        {"file": "report.pdf"},
        (
            "Get all tables out of annual.pdf in CSV form.",
            "Save the tables in q2.pdf as CSV.",
            "I need every table of minutes.pdf as a CSV file.",
        ),
    ),
    Kind(
        "When was the first release of the package requests published?",
        {"package": "requests"},
        (
            "What is the date of the first release of the package flask?",
            "On which day was the package numpy released first?",
            "Find out when the package pandas had its first release.",
        ),
    ),
    Kind(
        "Resize photo.jpg to a width of 800 pixels.",
        {"path": "photo.jpg", "width": 800},
        (
            "Scale cat.png to 640 pixels in width.",
            "Make the picture beach.jpg 1024 pixels wide.",
            "Shrink the image logo.png to 200 pixels width.",
        ),
    ),
)
UNLIKE = (
    "What is the median of score in exams.csv?",
    "What is the highest score in exams.csv?",
    "Which customer in orders.csv spent the least in 2022?",
    "How many customers are in orders.csv?",
    "Convert 100 dollars to pounds of gold.",
    "How many pages has report.pdf?",
    "Extract the pictures of report.pdf.",
    "Who maintains the package requests?",
    "Rotate photo.jpg by 90 degrees.",
    "Sort contacts.csv by name.",
)
