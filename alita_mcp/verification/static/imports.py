"""Checks of imports: declared packages, and features that the sandbox lacks."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.values import Check, Draft, ToolContract
from alita_mcp.verification.code.names import Names, names_of
from alita_mcp.verification.findings import fail_check

MAX_PACKAGES = 20
_OURS = {"alita_tool"}

DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "bson": "pymongo", "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex", "cv2": "opencv-python", "dateutil": "python-dateutil", "docx": "python-docx",
    "dotenv": "python-dotenv", "fitz": "pymupdf", "git": "gitpython", "github": "pygithub", "google": "protobuf",
    "jose": "python-jose", "jwt": "pyjwt", "Levenshtein": "levenshtein", "magic": "python-magic",
    "markdown_it": "markdown-it-py", "mpl_toolkits": "matplotlib", "MySQLdb": "mysqlclient", "nacl": "pynacl",
    "OpenSSL": "pyopenssl", "PIL": "pillow", "pkg_resources": "setuptools", "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary", "pylab": "matplotlib", "rest_framework": "djangorestframework",
    "ruamel": "ruamel-yaml", "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "slugify": "python-slugify", "socks": "pysocks", "telegram": "python-telegram-bot", "umap": "umap-learn",
    "usb": "pyusb", "wx": "wxpython", "Xlib": "python-xlib", "xmltodict": "xmltodict", "yaml": "pyyaml",
    "zmq": "pyzmq", "zoneinfo_data": "tzdata",
}  # fmt: skip
"""Modules whose distribution has another name."""


def package_checks(draft: Draft) -> list[Check]:
    """Faults in the text of declared packages; the environment gate finds out whether they exist."""
    checks = []
    if len(draft.packages) > MAX_PACKAGES:
        message = f"{len(draft.packages)} packages, the limit is {MAX_PACKAGES}"
        checks.append(fail_check("environment", message, "Declare only what the code imports."))
    for text in draft.packages:
        if problem := _requirement_problem(text):
            message = f"package {text[:100]!r}: {problem}"
            checks.append(fail_check("environment", message, 'Write "name" or "name>=1.2".'))
    return checks


def import_checks(draft: Draft, contract: ToolContract, tree: ast.Module) -> list[Check]:
    """Failures for imports that neither the standard library nor a declared package explains."""
    declared = {canonicalize_name(Requirement(text).name) for text in draft.packages}
    foreign = [name for name in contract.imports if name not in sys.stdlib_module_names and name not in _OURS]
    unexplained = [name for name in foreign if not distributions_of(name) & declared]
    explained = {each for name in foreign for each in distributions_of(name)}
    if declared - explained:
        return []  # a declared package may bring any module; the import in the sandbox decides
    return [
        fail_check(
            "static",
            f"the code imports {name}, which is neither in the standard library nor a declared package",
            f"Declare it in packages ({DISTRIBUTIONS.get(name, name)!r}) or use the standard library.",
            line=_line_of(name, tree),
        )
        for name in unexplained
    ]


def distributions_of(module: str) -> set[str]:
    """Canonical names under which a top-level module is usually distributed."""
    known = DISTRIBUTIONS.get(module, module)
    return {
        str(canonicalize_name(name))
        for name in (known, module, f"python-{module}", f"{known}-binary", f"{known}-headless")
    }


def _requirement_problem(text: str) -> str:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as invalid:
        return str(invalid).splitlines()[0][:200]
    if requirement.url:
        return "packages come from the package index, not from an address"
    if requirement.marker:
        return "environment markers have no meaning here"
    return ""


def _line_of(module: str, tree: ast.Module) -> int | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and module in _top_levels(node):
            return node.lineno
    return None


def _top_levels(node: ast.Import | ast.ImportFrom) -> Iterable[str]:
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").split(".")[0]]
    return [alias.name.split(".")[0] for alias in node.names]


Uses = dict[str, int]
"""What the code uses, and the line where it first does."""
_CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MOST_NAMED = 8
_DEEPEST = 4
"""No module has a name that is lacked further down than this: `os.path.x.y`."""


def missing_checks(tree: ast.Module, abilities: Abilities) -> list[Check]:
    """At most one check: each feature that the code needs and the sandbox lacks, with its replacement."""
    modules = _modules_used(tree, names_of(tree))
    needed = {}
    for lack in abilities.lacks:
        if uses := _names_lacked(lack.names, modules):
            subject = _list_names(uses)
            needed[f"{subject} (line {min(uses.values())})"] = f"{subject}: {lack.instead}"
    if not needed:
        return []
    fix = " ".join((f"Instead of {'; '.join(needed.values())}.", abilities.elsewhere, *abilities.offers))
    return [fail_check("environment", f"this sandbox lacks what the code needs: {'; '.join(needed)}", fix)]


def _list_names(uses: Uses) -> str:
    named = sorted(uses)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more


def _names_lacked(lacked: Iterable[str], used: Uses) -> Uses:
    """Those of the used names that are lacked, or stand below one that is; of nested ones the outermost."""
    known = frozenset(lacked)
    hits = {name for name in used if any(part in known for part in _outwards(name))}
    return {name: used[name] for name in hits if not hits.intersection(_outwards(name)[1:])}


def _outwards(name: str) -> list[str]:
    """A dotted name and all that it stands in: `a.b.c`, `a.b`, `a`."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _modules_used(tree: ast.Module, names: Names) -> Uses:
    """Modules, and names in them; not of modules that the code can do without."""
    optional: set[str] = set()
    found: list[tuple[str, int]] = []
    inner: set[int] = set()
    for node, is_optional in _walk(tree, names):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if is_optional:
                optional.update(name.partition(".")[0] for name in _modules_of(node))
            found += [(name, node.lineno) for name in _modules_of(node)]
        elif isinstance(node, ast.Attribute):
            inner.add(id(node.value))
            if id(node) not in inner and (name := _module_attribute(node, names)):
                found.append((name, node.lineno))
    used: Uses = {}
    for name, line in found:
        if name.partition(".")[0] not in optional:
            used[name] = min(used.get(name, line), line)
    return used


def _walk(tree: ast.Module, names: Names) -> Iterator[tuple[ast.AST, bool]]:
    """Each node after the one it stands in, and whether it is for type checkers alone or its failure is caught."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, is_optional = pending.pop()
        yield node, is_optional
        caught = (isinstance(node, ast.Try) and any(_catches(each, names) for each in node.handlers)) or (
            isinstance(node, ast.If) and names.full_name(node.test) == "typing.TYPE_CHECKING"
        )
        body = {id(statement) for statement in node.body} if caught else set()  # type: ignore[attr-defined]
        pending += [(child, is_optional or id(child) in body) for child in ast.iter_child_nodes(node)]


def _modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [_shorten(alias.name) for alias in node.names]
    module = node.module or ""
    if module in ("", "__future__"):  # what the compiler reads is no module that has to be there
        return []
    return [_shorten(module), *(_shorten(f"{module}.{alias.name}") for alias in node.names)]


def _module_attribute(node: ast.Attribute, names: Names) -> str:
    """What is looked up in an imported module, as in `os.fork`; empty for any other attribute."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    is_module = isinstance(root, ast.Name) and root.id in names.imported
    return _shorten(names.full_name(node)) if is_module else ""


def _shorten(name: str) -> str:
    return ".".join(name.split(".", _DEEPEST)[:_DEEPEST])


def _catches(handler: ast.ExceptHandler, names: Names) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or names.full_name(kind) in _CAUGHT for kind in kinds)
