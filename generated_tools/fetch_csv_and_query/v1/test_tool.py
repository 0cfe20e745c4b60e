"""The examples that fetch_csv_and_query was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.fetch_csv_and_query(**arguments)


def same(expected, got, exact=False):
    """Equal as JSON values; floats within a relative tolerance of 1e-9 unless exact."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        if exact or (isinstance(expected, int) and isinstance(got, int)):
            return expected == got
        return expected == got or math.isclose(expected, got, rel_tol=1e-9)
    if isinstance(expected, list) and isinstance(got, (list, tuple)):
        return len(expected) == len(got) and all(same(*pair, exact) for pair in zip(expected, got))
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(expected[key], got[key], exact) for key in expected)
    return type(expected) is type(got) and expected == got


def names_of(error):
    """The error's class and those it derives from."""
    return [kind.__name__ for kind in type(error).__mro__]


def test_example_1():
    arguments = {'url': 'http://api.example.org/csv'}
    expected = {'url': 'http://api.example.org/csv',
     'columns': ['city', 'month', 'amount'],
     'rows': [{'city': 'Berlin', 'month': '2026-01', 'amount': '12.50'},
              {'city': 'Paris', 'month': '2026-01', 'amount': '7.25'},
              {'city': 'Berlin', 'month': '2026-02', 'amount': '3.10'},
              {'city': 'Paris', 'month': '2026-02', 'amount': ''}],
     'matched': 4,
     'total': 4}
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'url': 'http://api.example.org/csv',
     'group_by': ['city'],
     'aggregates': [{'function': 'sum', 'column': 'amount', 'name': 'total'}],
     'order_by': ['-total']}
    expected = {'url': 'http://api.example.org/csv',
     'columns': ['city', 'total'],
     'rows': [{'city': 'Berlin', 'total': '15.6'}, {'city': 'Paris', 'total': '7.25'}],
     'matched': 4,
     'total': 4}
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'url': 'http://api.example.org/csv',
     'where': [{'column': 'amount', 'test': '>', 'value': '5'}],
     'select': ['city'],
     'limit': 1}
    expected = {'url': 'http://api.example.org/csv',
     'columns': ['city'],
     'rows': [{'city': 'Berlin'}],
     'matched': 2,
     'total': 4}
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'url': 'http://api.example.org/redirect?to=/csv', 'select': ['month'], 'limit': 0}
    expected = {'url': 'http://api.example.org/csv', 'columns': ['month'], 'rows': [], 'matched': 4, 'total': 4}
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'url': 'http://api.example.org/text', 'delimiter': '|', 'limit': 1}
    expected = {'url': 'http://api.example.org/text',
     'columns': ['The quick brown fox'],
     'rows': [{'The quick brown fox': 'jumps over'}],
     'matched': 2,
     'total': 2}
    assert same(expected, call(**arguments))


def test_example_6_raises_ValueError():
    arguments = {'url': 'http://api.example.org/status/404'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_7_raises_ValueError():
    arguments = {'url': 'http://api.example.org/bytes'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_8_raises_ValueError():
    arguments = {'url': 'http://api.example.org/csv', 'select': ['town']}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_9_raises_ValueError():
    arguments = {'url': 'http://api.example.org/csv', 'limit': -1}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_10_raises_ValueError():
    arguments = {'url': 'file:///etc/passwd'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_11_raises_ValueError():
    arguments = {'url': ''}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)
