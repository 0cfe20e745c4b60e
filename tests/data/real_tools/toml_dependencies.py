import re
import tomllib

def toml_dependencies(text: str) -> dict[str, str]:
    """Names of the dependencies with their version rules.

    Args:
        text: The file.

    Raises:
        TOMLDecodeError: It is not TOML.
    """
    project = tomllib.loads(text).get("project", {})
    found = {}
    for line in project.get("dependencies", []):
        match = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)", line)
        if match:
            found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2].strip()
    return dict(sorted(found.items()))


DESCRIPTION = "Lists the dependencies of a pyproject.toml text."
EXAMPLES = [{'arguments': {'text': '[project]\n'
                        "name = 'x'\n"
                        'dependencies = [\'Requests[socks] >=2,<3 ; python_version>"3"\', '
                        "'my_pkg.a', 'abc==1']\n"},
  'expected': {'abc': '==1', 'my-pkg-a': '', 'requests': '>=2,<3'}},
 {'arguments': {'text': ''}, 'expected': {}},
 {'arguments': {'text': 'a = '}, 'raises': 'TOMLDecodeError'},
 {'arguments': {'text': '[project]\ndependencies = []'}, 'expected': {}}]
