"""The examples that csv_to_records was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.csv_to_records(**arguments)


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
    arguments = {'text': 'name,qty\n"Smith, ""Jo""","2\n3"\n'}
    expected = [{'name': 'Smith, "Jo"', 'qty': '2\n3'}]
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'text': '\ufeffa;b\r\n1,5;2\r\n\r\n3;'}
    expected = [{'a': '1,5', 'b': '2'}, {'a': '3', 'b': ''}]
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'text': 'x\ty\n1\t2', 'delimiter': '\t'}
    expected = [{'x': '1', 'y': '2'}]
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'text': '1,2\n3,4', 'header': False}
    expected = [{'column_1': '1', 'column_2': '2'}, {'column_1': '3', 'column_2': '4'}]
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'text': 'id,id,\n1,2,3'}
    expected = [{'id': '1', 'id_2': '2', 'column_3': '3'}]
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'text': 'size,kind\n5" pipe,steel'}
    expected = [{'size': '5" pipe', 'kind': 'steel'}]
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'text': ''}
    expected = []
    assert same(expected, call(**arguments))


def test_example_8():
    arguments = {'text': 'only,header\n'}
    expected = []
    assert same(expected, call(**arguments))


def test_example_9_raises_ValueError():
    arguments = {'text': 'a,b\n"1,2'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_10_raises_ValueError():
    arguments = {'text': 'a,b\n"1"x,2'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_11_raises_ValueError():
    arguments = {'text': 'a,b\n1,2,3'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_12_raises_ValueError():
    arguments = {'text': 'a,b\n1,2', 'delimiter': '::'}
    with pytest.raises(ValueError):
        call(**arguments)
