"""The examples that csv_query was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.csv_query(**arguments)


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
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'where': [{'column': 'city', 'test': '=', 'value': 'Berlin'}],
     'select': ['month', 'amount']}
    expected = {'columns': ['month', 'amount'],
     'rows': [{'month': '2026-01', 'amount': '12.50'}, {'month': '2026-02', 'amount': '3.10'}],
     'matched': 2,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'group_by': ['city'],
     'aggregates': [{'function': 'sum', 'column': 'amount', 'name': 'total'}, {'function': 'count'}],
     'order_by': ['-total']}
    expected = {'columns': ['city', 'total', 'count'],
     'rows': [{'city': 'Rome', 'total': '100', 'count': '1'},
              {'city': 'Berlin', 'total': '15.6', 'count': '2'},
              {'city': 'Paris', 'total': '7.25', 'count': '2'}],
     'matched': 5,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'aggregates': [{'function': 'mean', 'column': 'amount'},
                    {'function': 'median', 'column': 'amount'},
                    {'function': 'min', 'column': 'amount'},
                    {'function': 'max', 'column': 'amount'},
                    {'function': 'distinct', 'column': 'city'}]}
    expected = {'columns': ['mean_amount', 'median_amount', 'min_amount', 'max_amount', 'distinct_city'],
     'rows': [{'mean_amount': '30.7125',
               'median_amount': '9.875',
               'min_amount': '3.10',
               'max_amount': '100',
               'distinct_city': '3'}],
     'matched': 5,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'order_by': ['amount'],
     'select': ['amount']}
    expected = {'columns': ['amount'],
     'rows': [{'amount': '3.10'},
              {'amount': '7.25'},
              {'amount': '12.50'},
              {'amount': '100'},
              {'amount': ''}],
     'matched': 5,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'order_by': ['-month', 'city'],
     'offset': 1,
     'limit': 2,
     'select': ['city', 'month']}
    expected = {'columns': ['city', 'month'],
     'rows': [{'city': 'Paris', 'month': '2026-02'}, {'city': 'Rome', 'month': '2026-02'}],
     'matched': 5,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'where': [{'column': 'amount', 'test': '>=', 'value': '7.250'},
               {'column': 'month', 'test': '<', 'value': '2026-02'}],
     'select': ['city']}
    expected = {'columns': ['city'], 'rows': [{'city': 'Berlin'}, {'city': 'Paris'}], 'matched': 2, 'total': 5}
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'where': [{'column': 'amount', 'test': 'empty'}]}
    expected = {'columns': ['city', 'month', 'amount'],
     'rows': [{'city': 'Paris', 'month': '2026-02', 'amount': ''}],
     'matched': 1,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_8():
    arguments = {'text': 'name;note\n"Müller; Söhne";"said ""hi"""\nOther;x\n',
     'where': [{'column': 'name', 'test': 'contains', 'value': 'müller'}]}
    expected = {'columns': ['name', 'note'],
     'rows': [{'name': 'Müller; Söhne', 'note': 'said "hi"'}],
     'matched': 1,
     'total': 2}
    assert same(expected, call(**arguments))


def test_example_9():
    arguments = {'rows': [{'a': '1', 'b': 'x'}, {'a': '2'}], 'where': [{'column': 'b', 'test': 'not_empty'}]}
    expected = {'columns': ['a', 'b'], 'rows': [{'a': '1', 'b': 'x'}], 'matched': 1, 'total': 2}
    assert same(expected, call(**arguments))


def test_example_10():
    arguments = {'rows': [{'n': '0.1'}, {'n': '0.2'}, {'n': '99999999999999999999'}],
     'aggregates': [{'function': 'sum', 'column': 'n'}]}
    expected = {'columns': ['sum_n'], 'rows': [{'sum_n': '99999999999999999999.3'}], 'matched': 3, 'total': 3}
    assert same(expected, call(**arguments))


def test_example_11():
    arguments = {'rows': []}
    expected = {'columns': [], 'rows': [], 'matched': 0, 'total': 0}
    assert same(expected, call(**arguments))


def test_example_12():
    arguments = {'text': 'a,b\n',
     'aggregates': [{'function': 'count'},
                    {'function': 'sum', 'column': 'a'},
                    {'function': 'mean', 'column': 'a'}]}
    expected = {'columns': ['count', 'sum_a', 'mean_a'],
     'rows': [{'count': '0', 'sum_a': '0', 'mean_a': ''}],
     'matched': 0,
     'total': 0}
    assert same(expected, call(**arguments))


def test_example_13():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'where': [{'column': 'city', 'test': 'starts_with', 'value': 'b'},
               {'column': 'city', 'test': 'ends_with', 'value': 'IN'},
               {'column': 'month', 'test': '!=', 'value': '2026-01'}]}
    expected = {'columns': ['city', 'month', 'amount'],
     'rows': [{'city': 'Berlin', 'month': '2026-02', 'amount': '3.10'}],
     'matched': 1,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_14():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'group_by': ['city', 'month'],
     'where': [{'column': 'city', 'test': '=', 'value': 'Rome'}]}
    expected = {'columns': ['city', 'month'],
     'rows': [{'city': 'Rome', 'month': '2026-02'}],
     'matched': 1,
     'total': 5}
    assert same(expected, call(**arguments))


def test_example_15():
    arguments = {'rows': [{'n': '1'}, {'n': '2'}], 'aggregates': [{'function': 'mean', 'column': 'n'}], 'limit': 0}
    expected = {'columns': ['mean_n'], 'rows': [], 'matched': 2, 'total': 2}
    assert same(expected, call(**arguments))


def test_example_16():
    arguments = {'rows': [{'n': '-1'}, {'n': '-1'}, {'n': '0'}],
     'aggregates': [{'function': 'mean', 'column': 'n', 'name': 'm'}]}
    expected = {'columns': ['m'], 'rows': [{'m': '-0.666666666667'}], 'matched': 3, 'total': 3}
    assert same(expected, call(**arguments))


def test_example_17_raises_ValueError():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'select': ['town']}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_18_raises_ValueError():
    arguments = {'text': ''}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_19_raises_ValueError():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'rows': [{'a': '1'}]}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_20_raises_ValueError():
    arguments = {'text': 'a,b\n1\n'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_21_raises_ValueError():
    arguments = {'text': 'a,b\n"1,2\n'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_22_raises_ValueError():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'aggregates': [{'function': 'sum', 'column': 'city'}]}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_23_raises_ValueError():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'aggregates': [{'function': 'count'}, {'function': 'count'}]}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_24_raises_ValueError():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'where': [{'column': 'city', 'test': '='}]}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_25_raises_ValueError():
    arguments = {'text': 'city,month,amount\n'
             'Berlin,2026-01,12.50\n'
             'Paris,2026-01,7.25\n'
             'Berlin,2026-02,3.10\n'
             'Paris,2026-02,\n'
             'Rome,2026-02,100\n',
     'limit': -1}
    with pytest.raises(ValueError):
        call(**arguments)
