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
    Kind(
        "List all links on the page https://example.org/docs",
        {"url": "https://example.org/docs"},
        (
            "Which links does the page https://example.com/a.html have?",
            "Give me every hyperlink of the website https://example.net/",
            "Show the links that are on https://example.org/blog",
        ),
    ),
    Kind(
        "Remove duplicate lines from names.txt and write them sorted.",
        {"path": "names.txt"},
        (
            "Sort the lines of words.txt and drop the duplicates.",
            "Write towns.txt sorted, without duplicate lines.",
            "Delete repeated lines in mails.txt and sort what is left.",
        ),
    ),
    Kind(
        "How many days are between 2024-01-05 and 2024-03-17?",
        {"start": "2024-01-05", "end": "2024-03-17"},
        (
            "Count the days from 2023-05-01 to 2023-06-09.",
            "What is the number of days between 2020-02-02 and 2020-12-24?",
            "Days between 2019-01-01 and 2022-01-01?",
        ),
    ),
    Kind(
        'Translate the sentence "Good morning" into French.',
        {"text": "Good morning", "language": "French"},
        (
            'What is "See you tomorrow" in French?',
            'Give the French translation of "Where is the station?"',
            'Translate "I am hungry" to Spanish.',
        ),
    ),
    Kind(
        "What is the population of Lyon according to its Wikipedia page?",
        {"title": "Lyon"},
        (
            "How many inhabitants has Turin by Wikipedia?",
            "According to Wikipedia, how large is the population of Porto?",
            "Look up the population of Graz on its Wikipedia page.",
        ),
    ),
    Kind(
        "Make a bar chart of sales by month from sales.xlsx.",
        {"path": "sales.xlsx", "by": "month", "column": "sales"},
        (
            "Draw a bar chart of sales per month for orders.xlsx.",
            "Plot the sales of each month in shop.xlsx as bars.",
            "From kiosk.xlsx, graph sales by month as a bar chart.",
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
    "What weekday was 2024-01-05?",
    'How many letters has the sentence "Good morning"?',
    "Which river flows through Lyon?",
    "What is the correlation of sales and rain in sales.xlsx?",
    "Write a poem about the sea.",
    "Solve the equation x^2 - 5x + 6 = 0.",
    "Encrypt notes.txt with a password.",
    "What is the capital of Peru?",
    "Find the shortest route between two towns in roads.json.",
    "Generate ten random names.",
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
    Kind(
        "Check whether all e-mail addresses in contacts.csv are valid.",
        {"path": "contacts.csv"},
        (
            "Validate the e-mail addresses of members.csv.",
            "Are the e-mail addresses in list.csv valid?",
            "Verify every e-mail address of guests.csv.",
        ),
    ),
    Kind(
        "Merge a.csv and b.csv on the column id.",
        {"left": "a.csv", "right": "b.csv", "on": "id"},
        (
            "Join people.csv with towns.csv by the column town.",
            "Combine x.csv and y.csv using the column key.",
            "Put the rows of one.csv and two.csv together where the column code is the same.",
        ),
    ),
    Kind(
        "Summarize the article at https://example.org/news/17 in three sentences.",
        {"url": "https://example.org/news/17", "sentences": 3},
        (
            "Give a summary of the article https://example.com/a in 5 sentences.",
            "In two sentences, what does the article at https://example.net/x say?",
            "Condense the article https://example.org/z to four sentences.",
        ),
    ),
    Kind(
        "What is the current version of Python according to python.org?",
        {"product": "Python"},
        (
            "Which version of Rust is the current one?",
            "Find the newest version of Node by its site.",
            "What version is the current Go?",
        ),
    ),
    Kind(
        "Find all primes below 1000.",
        {"limit": 1000},
        ("List the primes up to 500.", "Which primes are smaller than 200?", "Give me every prime below 50."),
    ),
    Kind(
        "Count how often each word occurs in speech.txt.",
        {"path": "speech.txt"},
        (
            "Word frequencies of letter.txt, please.",
            "How many times does every word appear in essay.txt?",
            "Make a count of each word of book.txt.",
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
    "Split a.csv into files of 100 rows.",
    "Who wrote the article at https://example.org/news/17?",
    "Install Python with apt.",
    "Factorize 1001.",
    "Is 1009 a prime?",
    "Translate speech.txt into German.",
    "Plan a trip to Rome for three days.",
    "What is the boiling point of ethanol?",
    "Play a game of chess against me.",
    "Send a message to the team about the delay.",
)
