"""The examples that calculate was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.calculate(**arguments)


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
    arguments = {'expression': '(0.1 + 0.2) * 3'}
    expected = {'exact': '9/10', 'decimal': '0.9'}
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'expression': '123456789 * 987654321'}
    expected = {'exact': '121932631112635269', 'decimal': '121932631112635269'}
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'expression': '2**100'}
    expected = {'exact': '1267650600228229401496703205376', 'decimal': '1267650600228229401496703205376'}
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'expression': '22/7', 'decimals': 5}
    expected = {'exact': '22/7', 'decimal': '3.14286'}
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'expression': '-2^2 + 7 % 4 - -1'}
    expected = {'exact': '0', 'decimal': '0'}
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'expression': '2**3**2 // 5'}
    expected = {'exact': '102', 'decimal': '102'}
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'expression': '1.5e-3 / 1e2', 'decimals': 6}
    expected = {'exact': '3/200000', 'decimal': '0.000015'}
    assert same(expected, call(**arguments))


def test_example_8():
    arguments = {'expression': '-1/3', 'decimals': 3}
    expected = {'exact': '-1/3', 'decimal': '-0.333'}
    assert same(expected, call(**arguments))


def test_example_9_raises_ZeroDivisionError():
    arguments = {'expression': '1 / (2 - 2)'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ZeroDivisionError' in names_of(caught.value)


def test_example_10_raises_ValueError():
    arguments = {'expression': '2 * (3 + 4'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_11_raises_ValueError():
    arguments = {'expression': "__import__('os')"}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_12_raises_ValueError():
    arguments = {'expression': ''}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_13_raises_ValueError():
    arguments = {'expression': '9**9**9'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_14_raises_ValueError():
    arguments = {'expression': '((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_15_raises_ValueError():
    arguments = {'expression': '1', 'decimals': -1}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)
