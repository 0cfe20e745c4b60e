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
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_13_raises_ValueError():
    arguments = {'value': 1, 'from_unit': 'Mb', 'to_unit': 'MB'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_14_raises_ValueError():
    arguments = {'value': 1, 'from_unit': 'furlong', 'to_unit': 'm'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_15_raises_ValueError():
    arguments = {'value': -300, 'from_unit': 'C', 'to_unit': 'K'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_16_raises_ValueError():
    arguments = {'value': 1e+308, 'from_unit': 'km', 'to_unit': 'nm'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_17():
    arguments = {'value': 0, 'from_unit': 'm', 'to_unit': 'km'}
    expected = 0.0
    assert same(expected, call(**arguments))


def test_example_18():
    arguments = {'value': 25, 'from_unit': 'C', 'to_unit': 'F'}
    expected = 77.0
    assert same(expected, call(**arguments))


def test_example_19():
    arguments = {'value': 300, 'from_unit': 'K', 'to_unit': 'C'}
    expected = 26.85
    assert same(expected, call(**arguments))


def test_example_20():
    arguments = {'value': 212, 'from_unit': 'F', 'to_unit': 'K'}
    expected = 373.15
    assert same(expected, call(**arguments))


def test_example_21():
    arguments = {'value': -273.15, 'from_unit': 'C', 'to_unit': 'K'}
    expected = 0.0
    assert same(expected, call(**arguments))


def test_example_22_raises_ValueError():
    arguments = {'value': -273.16, 'from_unit': 'C', 'to_unit': 'K'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_23():
    arguments = {'value': 5, 'from_unit': 'ms', 'to_unit': 's'}
    expected = 0.005
    assert same(expected, call(**arguments))


def test_example_24():
    arguments = {'value': 2, 'from_unit': 'weeks', 'to_unit': 'days'}
    expected = 14.0
    assert same(expected, call(**arguments))


def test_example_25():
    arguments = {'value': 250, 'from_unit': 'µs', 'to_unit': 'ms'}
    expected = 0.25
    assert same(expected, call(**arguments))


def test_example_26():
    arguments = {'value': 1, 'from_unit': 'liter', 'to_unit': 'ml'}
    expected = 1000.0
    assert same(expected, call(**arguments))


def test_example_27():
    arguments = {'value': 2, 'from_unit': 'acres', 'to_unit': 'm2'}
    expected = 8093.7128448
    assert same(expected, call(**arguments))


def test_example_28():
    arguments = {'value': 36, 'from_unit': 'inches', 'to_unit': 'yards'}
    expected = 1.0
    assert same(expected, call(**arguments))


def test_example_29():
    arguments = {'value': 1, 'from_unit': ' KM ', 'to_unit': 'm'}
    expected = 1000.0
    assert same(expected, call(**arguments))


def test_example_30_raises_ValueError():
    arguments = {'value': 1, 'from_unit': 'Gb', 'to_unit': 'MB'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_31_raises_ValueError():
    arguments = {'value': 1, 'from_unit': ' Tb ', 'to_unit': 'MB'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_32():
    arguments = {'value': 5, 'from_unit': 'min', 'to_unit': 's'}
    expected = 300.0
    assert same(expected, call(**arguments))


def test_example_33():
    arguments = {'value': 1, 'from_unit': 'kn', 'to_unit': 'km/h'}
    expected = 1.852
    assert same(expected, call(**arguments))


def test_example_34():
    arguments = {'value': 1, 'from_unit': 'kWh', 'to_unit': 'kJ'}
    expected = 3600.0
    assert same(expected, call(**arguments))


def test_example_35():
    arguments = {'value': 2, 'from_unit': 'gallons', 'to_unit': 'litres'}
    expected = 7.570823568
    assert same(expected, call(**arguments))


def test_example_36():
    arguments = {'value': 1e-07, 'from_unit': 'km', 'to_unit': 'm'}
    expected = 0.0001
    assert same(expected, call(**arguments))


def test_example_37():
    arguments = {'value': 7, 'from_unit': 'ft', 'to_unit': 'm'}
    expected = 2.1336
    assert same(expected, call(**arguments))


def test_example_38():
    arguments = {'value': -5, 'from_unit': 'kg', 'to_unit': 'g'}
    expected = -5000.0
    assert same(expected, call(**arguments))


def test_example_39():
    arguments = {'value': 1, 'from_unit': 'byte', 'to_unit': 'bit'}
    expected = 8.0
    assert same(expected, call(**arguments))


def test_example_40():
    arguments = {'value': 1, 'from_unit': 'atm', 'to_unit': 'Pa'}
    expected = 101325.0
    assert same(expected, call(**arguments))
