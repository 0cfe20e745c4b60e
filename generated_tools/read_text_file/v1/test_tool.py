"""The examples that read_text_file was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.read_text_file(**arguments)


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
    arguments = {'path': 'sample.txt'}
    expected = {'path': 'sample.txt',
     'text': 'The quick brown fox\njumps over\nthe lazy dog.\n',
     'first_line': 1,
     'last_line': 3,
     'lines': 3,
     'truncated': False}
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'path': 'sample.txt', 'first_line': 2, 'max_lines': 1}
    expected = {'path': 'sample.txt',
     'text': 'jumps over\n',
     'first_line': 2,
     'last_line': 2,
     'lines': 3,
     'truncated': True}
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'path': 'sample.txt', 'first_line': -1}
    expected = {'path': 'sample.txt',
     'text': 'the lazy dog.\n',
     'first_line': 3,
     'last_line': 3,
     'lines': 3,
     'truncated': False}
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'path': 'notes/plans.md'}
    expected = {'path': 'notes/plans.md',
     'text': '# Plans\n\n- buy bread\n- call Ada\n',
     'first_line': 1,
     'last_line': 4,
     'lines': 4,
     'truncated': False}
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'path': 'notes\\plans.md', 'first_line': 3, 'max_lines': 1}
    expected = {'path': 'notes/plans.md',
     'text': '- buy bread\n',
     'first_line': 3,
     'last_line': 3,
     'lines': 4,
     'truncated': True}
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'path': 'sample.txt', 'first_line': 99}
    expected = {'path': 'sample.txt', 'text': '', 'first_line': 0, 'last_line': 0, 'lines': 3, 'truncated': False}
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'path': './sample.csv', 'encoding': 'latin-1', 'max_lines': 1}
    expected = {'path': 'sample.csv',
     'text': 'city,month,amount\n',
     'first_line': 1,
     'last_line': 1,
     'lines': 5,
     'truncated': True}
    assert same(expected, call(**arguments))


def test_example_8_raises_FileNotFoundError():
    arguments = {'path': 'missing.txt'}
    with pytest.raises(FileNotFoundError):
        call(**arguments)


def test_example_9_raises_IsADirectoryError():
    arguments = {'path': 'notes'}
    with pytest.raises(IsADirectoryError):
        call(**arguments)


def test_example_10_raises_ValueError():
    arguments = {'path': '../secret.txt'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_11_raises_ValueError():
    arguments = {'path': '/etc/passwd'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_12_raises_ValueError():
    arguments = {'path': 'notes/../../x'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_13_raises_ValueError():
    arguments = {'path': ''}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_14_raises_ValueError():
    arguments = {'path': 'sample.txt', 'first_line': 0}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_15_raises_ValueError():
    arguments = {'path': 'sample.txt', 'encoding': 'no-such'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_16_raises_ValueError():
    arguments = {'path': 'sample.txt', 'encoding': 'utf-16'}
    with pytest.raises(ValueError):
        call(**arguments)
