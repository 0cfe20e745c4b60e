"""The examples that write_text_file was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.write_text_file(**arguments)


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
    arguments = {'path': 'new.txt', 'text': 'one\ntwo\n'}
    expected = {'path': 'new.txt', 'created': True, 'bytes': 8, 'lines': 2}
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'path': 'deep/er/file.md', 'text': '# Title'}
    expected = {'path': 'deep/er/file.md', 'created': True, 'bytes': 7, 'lines': 1}
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'path': 'sample.txt', 'text': 'replaced', 'mode': 'overwrite'}
    expected = {'path': 'sample.txt', 'created': False, 'bytes': 8, 'lines': 1}
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'path': 'sample.txt', 'text': 'a fourth line\n', 'mode': 'append'}
    expected = {'path': 'sample.txt', 'created': False, 'bytes': 59, 'lines': 4}
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'path': 'fresh.log', 'text': 'start\n', 'mode': 'append'}
    expected = {'path': 'fresh.log', 'created': True, 'bytes': 6, 'lines': 1}
    assert same(expected, call(**arguments))


def test_example_6():
    arguments = {'path': 'empty.txt', 'text': ''}
    expected = {'path': 'empty.txt', 'created': True, 'bytes': 0, 'lines': 0}
    assert same(expected, call(**arguments))


def test_example_7():
    arguments = {'path': 'ümlaut.txt', 'text': 'äöü', 'encoding': 'latin-1'}
    expected = {'path': 'ümlaut.txt', 'created': True, 'bytes': 3, 'lines': 1}
    assert same(expected, call(**arguments))


def test_example_8():
    arguments = {'path': 'utf8.txt', 'text': 'äöü'}
    expected = {'path': 'utf8.txt', 'created': True, 'bytes': 6, 'lines': 1}
    assert same(expected, call(**arguments))


def test_example_9_raises_FileExistsError():
    arguments = {'path': 'sample.txt', 'text': 'x'}
    with pytest.raises(FileExistsError):
        call(**arguments)


def test_example_10_raises_IsADirectoryError():
    arguments = {'path': 'notes', 'text': 'x', 'mode': 'overwrite'}
    with pytest.raises(IsADirectoryError):
        call(**arguments)


def test_example_11_raises_NotADirectoryError():
    arguments = {'path': 'sample.txt/inner.txt', 'text': 'x'}
    with pytest.raises(NotADirectoryError):
        call(**arguments)


def test_example_12_raises_ValueError():
    arguments = {'path': '../outside.txt', 'text': 'x'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_13_raises_ValueError():
    arguments = {'path': '/tmp/outside.txt', 'text': 'x'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_14_raises_ValueError():
    arguments = {'path': '', 'text': 'x'}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_15_raises_ValueError():
    arguments = {'path': 'c.txt', 'text': '日本', 'encoding': 'ascii'}
    with pytest.raises(ValueError):
        call(**arguments)
