"""Tasks with rewordings of our own, and unlike tasks: how often a like task finds its recipe, and an unlike one does.

The likeness was adjusted with the first half; the second one was kept aside and only measured.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Kind(NamedTuple):
    """One kind of task: what was solved, with which arguments, and other wordings with other values."""

    task: str
    arguments: dict[str, Any]
    rewordings: tuple[str, ...]


SEEN = (
    Kind(
        "What is the sum of amount in sales.csv?",
        {"path": "sales.csv", "column": "amount"},
        (
            "Add up the price column of orders.csv.",
            "What does `revenue` total in q3.csv?",
            "How much is amount in march.csv altogether?",
        ),
    ),
    Kind(
        "How many rows of visits.csv have the country Germany?",
        {"path": "visits.csv", "column": "country", "value": "Germany"},
        (
            "Count the rows in trips.csv whose country is France.",
            "In guests.csv, how many lines have country Spain?",
            "Number of rows with country Italy in users.csv, please.",
        ),
    ),
    Kind(
        "Which town in weather.csv had the highest temperature in July 2023?",
        {"path": "weather.csv", "month": "July 2023", "column": "temperature"},
        (
            "In climate.csv, what was the hottest town in May 2021?",
            "Find the town with the maximum temperature in stations.csv for June 2020.",
            "What town of heat.csv had the largest temperature in August 2022?",
        ),
    ),
    Kind(
        "Convert 25 miles to kilometres.",
        {"value": 25, "unit": "miles", "to": "kilometres"},
        (
            "How many kilometres are 13 miles?",
            "What is 7.5 miles in kilometres?",
            "Turn 120 miles into kilometres.",
        ),
    ),
    Kind(
        "Read the invoice number from invoice.pdf.",
        {"file": "invoice.pdf"},
        (
            "What is the invoice number in bill-2.pdf?",
            "Extract the number of the invoice from scans/march.pdf.",
            "Give me the invoice number that stands in f17.pdf.",
        ),
    ),
    Kind(
        "Who wrote the book 'The Trial'?",
        {"title": "The Trial"},
        (
            "Who is the author of the novel 'Effi Briest'?",
            "Name the author of the book 'Ulysses'.",
            "By whom was the book 'Emma' written?",
        ),
    ),
)
UNLIKE_SEEN = (
    "What is the lowest amount in sales.csv?",
    "What is the average of amount in sales.csv?",
    "How many columns does visits.csv have?",
    "Rename the country column of visits.csv to land.",
    "Which town in weather.csv had the lowest temperature in July 2023?",
    "Convert 25 litres to gallons.",
    "Count the words in invoice.pdf.",
    "Who translated the book 'The Trial' into English?",
    "Is the page https://example.org/docs reachable?",
    "Count the lines of names.txt.",
)

KEPT = (
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
UNLIKE_KEPT = (
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
