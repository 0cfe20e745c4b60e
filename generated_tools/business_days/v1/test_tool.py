"""The examples that business_days was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.business_days(**arguments)


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



def test_example_1():
    arguments = {'start': '2024-02-26', 'end': '2024-03-01'}
    expected = 5
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'start': '2024-12-23', 'end': '2025-01-03', 'holidays': ['2024-12-25', '2024-12-26', '2025-01-01']}
    expected = 7
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'start': '2024-03-01', 'end': '2024-02-26'}
    expected = -5
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'start': '2024-06-01', 'end': '2024-06-02'}
    expected = 0
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'start': '2024-06-06', 'end': '2024-06-09', 'weekend': ['friday', 'saturday']}
    expected = 2
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'start': '2024-06-01', 'end': '2024-06-30', 'weekend': []}
    expected = 30
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'start': '2024-05-01', 'end': '2024-05-01', 'holidays': ['2024-05-01', '2024-05-01', '2024-05-04']}
    expected = 0
    assert same(expected, call(**arguments))


def test_example_8():
    arguments = {'start': '2000-01-01', 'end': '2024-12-31'}
    expected = 6522
    assert same(expected, call(**arguments))


def test_example_9_raises_ValueError():
    arguments = {'start': '2023-02-29', 'end': '2023-03-01'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_10_raises_ValueError():
    arguments = {'start': '1 May 2024', 'end': '2024-05-02'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_11_raises_ValueError():
    arguments = {'start': '2024-05-01', 'end': '2024-05-02', 'holidays': ['05/01/2024']}
    with pytest.raises(ValueError):
        call(**arguments)
