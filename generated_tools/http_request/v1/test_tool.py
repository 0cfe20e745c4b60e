"""The examples that http_request was accepted with; run pytest in this folder, beside tool.py."""

import math

import pytest

import tool


def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
    return tool.http_request(**arguments)


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


def test_example_1_check():
    arguments = {'url': 'http://api.example.org/anything', 'query': {'page': '2', 'q': 'a b&c'}}
    result = call(**arguments)
    assert result['status'] == 200 and result['kind'] == 'json' and ('"query":{"page":"2","q":"a b&c"}' in result['body']) and result['url'].endswith('/anything?page=2&q=a+b%26c')


def test_example_2():
    arguments = {'url': 'http://api.example.org/text'}
    expected = {'status': 200,
     'url': 'http://api.example.org/text',
     'headers': {'content-type': 'text/plain; charset=utf-8',
                 'content-length': '45',
                 'connection': 'close'},
     'kind': 'text',
     'body': 'The quick brown fox\njumps over\nthe lazy dog.\n',
     'truncated': False}
    assert same(expected, call(**arguments))


def test_example_3_check():
    arguments = {'url': 'http://api.example.org/items',
     'method': 'POST',
     'json_body': '{"name": "Ada"}',
     'headers': {'X-Trace': '7'}}
    result = call(**arguments)
    assert '"method":"POST"' in result['body'] and '"content-type":"application/json"' in result['body'] and ('"x-trace":"7"' in result['body']) and ('Ada' in result['body'])


def test_example_4_check():
    arguments = {'url': 'http://api.example.org/notes', 'method': 'PUT', 'text_body': 'héllo'}
    result = call(**arguments)
    assert '"method":"PUT"' in result['body'] and '"body":"héllo"' in result['body'] and ('text/plain; charset=utf-8' in result['body'])


def test_example_5_check():
    arguments = {'url': 'http://api.example.org/status/404'}
    result = call(**arguments)
    assert result['status'] == 404 and result['kind'] == 'json'


def test_example_6_check():
    arguments = {'url': 'http://api.example.org/status/500', 'method': 'DELETE'}
    result = call(**arguments)
    assert result['status'] == 500 and (not result['truncated'])


def test_example_7_check():
    arguments = {'url': 'http://api.example.org/redirect'}
    result = call(**arguments)
    assert result['status'] == 200 and result['url'] == 'http://api.example.org/text' and result['body'].startswith('The quick')


def test_example_8_check():
    arguments = {'url': 'http://api.example.org/redirect', 'redirects': 0}
    result = call(**arguments)
    assert result['status'] == 302 and result['headers']['location'] == '/text' and (result['kind'] == 'empty')


def test_example_9_check():
    arguments = {'url': 'http://api.example.org/redirect',
     'query': {'to': 'http://other.example.org/echo'},
     'headers': {'Authorization': 'Bearer abc', 'X-Kept': '1'}}
    result = call(**arguments)
    assert result['url'] == 'http://other.example.org/echo' and 'authorization' not in result['body'] and ('"x-kept":"1"' in result['body'])


def test_example_10_check():
    arguments = {'url': 'http://api.example.org/large', 'max_bytes': 10}
    result = call(**arguments)
    assert result['body'] == 'xxxxxxxxxx' and result['truncated']


def test_example_11_check():
    arguments = {'url': 'http://api.example.org/bytes'}
    result = call(**arguments)
    assert result['kind'] == 'base64' and result['body'] == 'AAEC/w=='


def test_example_12_check():
    arguments = {'url': 'http://api.example.org/empty'}
    result = call(**arguments)
    assert (result['status'], result['kind'], result['body']) == (204, 'empty', '')


def test_example_13_check():
    arguments = {'url': 'http://api.example.org/gzip'}
    result = call(**arguments)
    assert result['body'].startswith('The quick brown fox') and result['kind'] == 'text'


def test_example_14_check():
    arguments = {'url': 'http://api.example.org/text', 'method': 'HEAD'}
    result = call(**arguments)
    assert (result['status'], result['kind'], result['headers']['content-length']) == (200, 'empty', '45')


def test_example_15_raises_ConnectionError():
    arguments = {'url': 'http://api.example.org/loop'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ConnectionError' in names_of(caught.value)


def test_example_16_raises_ValueError():
    arguments = {'url': 'ftp://api.example.org/x'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_17_raises_ValueError():
    arguments = {'url': 'http://user:secret@api.example.org/'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_18_raises_ValueError():
    arguments = {'url': 'http://api.example.org/', 'headers': {'X-Bad': 'a\r\nEvil: 1'}}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_19_raises_ValueError():
    arguments = {'url': 'http://api.example.org/', 'headers': {'Host': 'evil.example.org'}}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_20_raises_ValueError():
    arguments = {'url': 'http://api.example.org/', 'json_body': '{'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_21_raises_ValueError():
    arguments = {'url': 'http://api.example.org/', 'json_body': '{}', 'text_body': 'x'}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_22_raises_ValueError():
    arguments = {'url': 'http://api.example.org/', 'timeout': 0.0}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)


def test_example_23_raises_ValueError():
    arguments = {'url': ''}
    with pytest.raises(BaseException) as caught:
        call(**arguments)
    assert 'ValueError' in names_of(caught.value)
