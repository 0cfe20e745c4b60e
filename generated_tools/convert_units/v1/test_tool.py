"""The examples that convert_units was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.convert_units(**arguments)


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
    arguments = {'value': 26.2, 'from_unit': 'miles', 'to_unit': 'km'}
    expected = 42.1648128
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'value': -40, 'from_unit': '°F', 'to_unit': '°C'}
    expected = -40.0
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'value': 98.6, 'from_unit': 'Fahrenheit', 'to_unit': 'celsius'}
    expected = 37.0
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'value': 1, 'from_unit': 'GiB', 'to_unit': 'MB'}
    expected = 1073.741824
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'value': 12, 'from_unit': 'stone', 'to_unit': 'lbs'}
    expected = 168.0
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'value': 3, 'from_unit': 'cups', 'to_unit': 'ml'}
    expected = 709.7647095
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'value': 1, 'from_unit': 'acre', 'to_unit': 'm²'}
    expected = 4046.8564224
    assert same(expected, call(**arguments))


def test_example_8():
    arguments = {'value': 100, 'from_unit': 'km/h', 'to_unit': 'mph'}
    expected = 62.1371192237
    assert same(expected, call(**arguments))


def test_example_9():
    arguments = {'value': 2.5, 'from_unit': 'hours', 'to_unit': 'min'}
    expected = 150.0
    assert same(expected, call(**arguments))


def test_example_10():
    arguments = {'value': 0, 'from_unit': 'K', 'to_unit': 'F'}
    expected = -459.67
    assert same(expected, call(**arguments))


def test_example_11():
    arguments = {'value': 32, 'from_unit': 'psi', 'to_unit': 'bar'}
    expected = 2.20632233381
    assert same(expected, call(**arguments))


def test_example_12_raises_ValueError():
    arguments = {'value': 1, 'from_unit': 'kg', 'to_unit': 'm'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_13_raises_ValueError():
    arguments = {'value': 1, 'from_unit': 'Mb', 'to_unit': 'MB'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_14_raises_ValueError():
    arguments = {'value': 1, 'from_unit': 'furlong', 'to_unit': 'm'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_15_raises_ValueError():
    arguments = {'value': -300, 'from_unit': 'C', 'to_unit': 'K'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_16_raises_ValueError():
    arguments = {'value': 1e+308, 'from_unit': 'km', 'to_unit': 'nm'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)
