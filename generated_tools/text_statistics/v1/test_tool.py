"""The examples that text_statistics was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.text_statistics(**arguments)


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
    arguments = {'text': 'strawberry', 'find': 'r'}
    expected = {'characters': 10,
     'characters_without_spaces': 10,
     'utf8_bytes': 10,
     'words': 1,
     'unique_words': 1,
     'sentences': 1,
     'lines': 1,
     'paragraphs': 1,
     'occurrences': 3}
    assert same(expected, call(**arguments))


def test_example_2():
    arguments = {'text': "It's 3.14 o'clock. Is it? Yes, it is!\n\nThe end."}
    expected = {'characters': 47,
     'characters_without_spaces': 37,
     'utf8_bytes': 47,
     'words': 10,
     'unique_words': 8,
     'sentences': 4,
     'lines': 3,
     'paragraphs': 2,
     'occurrences': 0}
    assert same(expected, call(**arguments))


def test_example_3():
    arguments = {'text': ''}
    expected = {'characters': 0,
     'characters_without_spaces': 0,
     'utf8_bytes': 0,
     'words': 0,
     'unique_words': 0,
     'sentences': 0,
     'lines': 0,
     'paragraphs': 0,
     'occurrences': 0}
    assert same(expected, call(**arguments))


def test_example_4():
    arguments = {'text': 'Über Äpfel, über Öl', 'find': 'ÜBER'}
    expected = {'characters': 19,
     'characters_without_spaces': 16,
     'utf8_bytes': 23,
     'words': 4,
     'unique_words': 3,
     'sentences': 1,
     'lines': 1,
     'paragraphs': 1,
     'occurrences': 2}
    assert same(expected, call(**arguments))


def test_example_5():
    arguments = {'text': 'Anna can', 'find': 'a', 'match_case': True}
    expected = {'characters': 8,
     'characters_without_spaces': 7,
     'utf8_bytes': 8,
     'words': 2,
     'unique_words': 2,
     'sentences': 1,
     'lines': 1,
     'paragraphs': 1,
     'occurrences': 2}
    assert same(expected, call(**arguments))


def test_example_6_check():
    arguments = {'text': 'one\r\ntwo\rthree\n'}
    result = call(**arguments)
    assert result['lines'] == 3 and result['words'] == 3 and (result['characters'] == 15)


def test_example_7_check():
    arguments = {'text': '你好。再见！'}
    result = call(**arguments)
    assert result['sentences'] == 2 and result['utf8_bytes'] == 18


def test_example_8_check():
    arguments = {'text': 'aaaa', 'find': 'aa'}
    result = call(**arguments)
    assert result['occurrences'] == 2


def test_example_9_raises_ValueError():
    arguments = {'text': 'short',
     'find': 'long long long long long long long long long long long long long long long long long '
             'long long long long long long long long long long long long long long long long long '
             'long long long long long long long '}
    with pytest.raises(ValueError):
        call(**arguments)


def test_example_10():
    arguments = {'text': ' \n\n '}
    expected = {'characters': 4,
     'characters_without_spaces': 0,
     'utf8_bytes': 4,
     'words': 0,
     'unique_words': 0,
     'sentences': 0,
     'lines': 3,
     'paragraphs': 0,
     'occurrences': 0}
    assert same(expected, call(**arguments))
