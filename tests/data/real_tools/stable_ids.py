import uuid

def stable_ids(names: list[str], namespace: str = "dns") -> dict[str, str]:
    """UUID version 5 of each name.

    Args:
        names: What is identified.
        namespace: dns, url or a UUID.

    Raises:
        ValueError: The namespace is none.
    """
    known = {"dns": uuid.NAMESPACE_DNS, "url": uuid.NAMESPACE_URL}
    space = known.get(namespace) or uuid.UUID(namespace)
    return {name: str(uuid.uuid5(space, name)) for name in names}


DESCRIPTION = "Makes identifiers that are always the same for a name."
EXAMPLES = [{'arguments': {'names': ['python.org', 'b']},
  'expected': {'python.org': '886313e1-3b8a-5372-9b90-0c9aee199e5d',
               'b': '3f10dbe8-4cbd-5e31-9b1f-af0cb9dda9cf'}},
 {'arguments': {'names': ['http://x'], 'namespace': 'url'},
  'expected': {'http://x': 'c059942f-567e-54eb-aeb5-5fd9830bce43'}},
 {'arguments': {'names': [], 'namespace': '6ba7b810-9dad-11d1-80b4-00c04fd430c8'}, 'expected': {}},
 {'arguments': {'names': ['a'], 'namespace': 'nope'}, 'raises': 'ValueError'}]
