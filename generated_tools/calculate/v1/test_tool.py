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
    with pytest.raises(ZeroDivisionError):
        call(**arguments)


def test_example_10_raises_ValueError():
    arguments = {'expression': '2 * (3 + 4'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_11_raises_ValueError():
    arguments = {'expression': "__import__('os')"}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_12_raises_ValueError():
    arguments = {'expression': ''}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_13_raises_ValueError():
    arguments = {'expression': '9**9**9'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_14_raises_ValueError():
    arguments = {'expression': '((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_15_raises_ValueError():
    arguments = {'expression': '1', 'decimals': -1}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_16_raises_ValueError():
    arguments = {'expression': '9e3999 * 10'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_17_check():
    arguments = {'expression': '5e3999'}
    result = call(**arguments)
    assert len(result['exact']) == 4000 and result['exact'][0] == '5'


def test_example_18_raises_ValueError():
    arguments = {'expression': '1e3999 * 10'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_19_raises_ValueError():
    arguments = {'expression': '2**0.5'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_20_raises_ValueError():
    arguments = {'expression': '1**100001'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_21():
    arguments = {'expression': '1**100000'}
    expected = {'exact': '1', 'decimal': '1'}
    assert same(expected, call(**arguments))


def test_example_22_raises_ValueError():
    arguments = {'expression': '10**4001'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_23():
    arguments = {'expression': '2**-2'}
    expected = {'exact': '1/4', 'decimal': '0.25'}
    assert same(expected, call(**arguments))


def test_example_24():
    arguments = {'expression': '(2/3)**-2'}
    expected = {'exact': '9/4', 'decimal': '2.25'}
    assert same(expected, call(**arguments))


def test_example_25():
    arguments = {'expression': '7**0'}
    expected = {'exact': '1', 'decimal': '1'}
    assert same(expected, call(**arguments))


def test_example_26():
    arguments = {'expression': '(-7)**1'}
    expected = {'exact': '-7', 'decimal': '-7'}
    assert same(expected, call(**arguments))


def test_example_27():
    arguments = {'expression': '1 / (0 - 2)'}
    expected = {'exact': '-1/2', 'decimal': '-0.5'}
    assert same(expected, call(**arguments))


def test_example_28_raises_ZeroDivisionError():
    arguments = {'expression': '5 % 0'}
    with pytest.raises(ZeroDivisionError):
        call(**arguments)


def test_example_29():
    arguments = {'expression': '((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((7))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))'}
    expected = {'exact': '7', 'decimal': '7'}
    assert same(expected, call(**arguments))


def test_example_30_raises_ValueError():
    arguments = {'expression': '(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((7)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_31():
    arguments = {'expression': '5/2', 'decimals': 0}
    expected = {'exact': '5/2', 'decimal': '3'}
    assert same(expected, call(**arguments))


def test_example_32_raises_ValueError():
    arguments = {'expression': '1', 'decimals': 201}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_33_raises_ValueError():
    arguments = {'expression': ')'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_34_raises_ValueError():
    arguments = {'expression': '1 2'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_35_raises_ValueError():
    arguments = {'expression': '.'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_36_raises_ValueError():
    arguments = {'expression': '1e4001'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_37():
    arguments = {'expression': '+5 - +3'}
    expected = {'exact': '2', 'decimal': '2'}
    assert same(expected, call(**arguments))


def test_example_38():
    arguments = {'expression': '7.5 // 2'}
    expected = {'exact': '3', 'decimal': '3'}
    assert same(expected, call(**arguments))


def test_example_39():
    arguments = {'expression': '-7 % 3'}
    expected = {'exact': '2', 'decimal': '2'}
    assert same(expected, call(**arguments))


def test_example_40():
    arguments = {'expression': '.5 + 1.'}
    expected = {'exact': '3/2', 'decimal': '1.5'}
    assert same(expected, call(**arguments))


def test_example_41():
    arguments = {'expression': '4/6', 'decimals': 2}
    expected = {'exact': '2/3', 'decimal': '0.67'}
    assert same(expected, call(**arguments))


def test_example_42_raises_ValueError():
    arguments = {'expression': '2 +'}
    with pytest.raises(ValueError):
        call(**arguments)
