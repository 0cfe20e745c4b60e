"""Checks of imports: declared packages, and features that the sandbox lacks."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

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


def package_checks(packages: Sequence[str]) -> list[Check]:
    """Faults in the text of declared packages; the environment gate finds out whether they exist."""
    checks = []
    if len(packages) > MAX_PACKAGES:
        message = f"too many packages: {len(packages)}, the limit is {MAX_PACKAGES}"
        checks.append(fail_check("environment", message, "Declare only what the code imports."))
    for text in packages:
        problem = ""
        try:
            requirement = Requirement(text)
        except InvalidRequirement as invalid:
            problem = str(invalid).splitlines()[0][:200]
        else:
            if requirement.url:
                problem = "packages come from the package index, not from an address"
            elif requirement.marker:
                problem = "environment markers are not supported"
            elif not (text.isascii() and text.isprintable()):  # a version after === may be anything
                problem = "only visible ASCII characters are supported"
        if problem:
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
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (alias.name for alias in node.names)
            for module in [node.module or ""] if isinstance(node, ast.ImportFrom) else names:
                lines.setdefault(module.split(".")[0], node.lineno)
    return [
        fail_check(
            "static",
            f"the code imports {name}, which is neither in the standard library nor a declared package",
            f"Declare it in packages ({DISTRIBUTIONS.get(name, name)!r}) or use the standard library.",
            line=lines.get(name),
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


Uses = dict[str, int]
"""What the code uses, and the line where it first does."""
_CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MOST_NAMED = 8
_DEEPEST = 4
"""No module has a name that is lacked further down than this: `os.path.x.y`."""


def missing_checks(tree: ast.Module, abilities: Abilities) -> list[Check]:
    """At most one check: each feature that the code needs and the sandbox lacks, with its replacement."""
    uses = _modules_used(tree, names_of(tree))
    needed, instead = [], []
    for lack in abilities.lacks:
        lacked = frozenset(lack.names)
        # the used names that are lacked, or stand below one that is; of nested ones the outermost
        hits = {name for name in uses if not lacked.isdisjoint(_outwards(name))}
        names = sorted(name for name in hits if hits.isdisjoint(_outwards(name)[1:]))
        if not names:
            continue
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        subject = ", ".join(names[:_MOST_NAMED]) + more
        needed.append(f"{subject} (line {min(uses[name] for name in names)})")
        instead.append(f"{subject}: {lack.instead}")
    if not needed:
        return []
    fix = " ".join((f"Instead of {'; '.join(instead)}.", abilities.elsewhere, *abilities.offers))
    return [fail_check("environment", f"this sandbox lacks what the code needs: {'; '.join(needed)}", fix)]


def _outwards(name: str) -> list[str]:
    """A dotted name and all that it stands in: `a.b.c`, `a.b`, `a`."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _modules_used(tree: ast.Module, names: Names) -> Uses:
    """Modules, and names in them, without modules that the code can do without."""
    bodies = (statement for node in ast.walk(tree) for statement in _optional_body(node, names))
    in_optional = {id(node) for statement in bodies for node in ast.walk(statement)}
    optional: set[str] = set()
    found: list[tuple[str, int]] = []
    inner: set[int] = set()
    for node in ast.walk(tree):  # each after the one it stands in
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                modules = [str(node.module), *(f"{node.module}.{name}" for name in modules)]
            if id(node) in in_optional:
                optional.update(name.partition(".")[0] for name in modules)
            found += [(name, node.lineno) for name in modules]
        elif isinstance(node, ast.Attribute):
            inner.add(id(node.value))
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                root = root.value
            # what is looked up in an imported module, as in `os.fork`
            if id(node) not in inner and isinstance(root, ast.Name) and root.id in names.imported:
                found.append((names.full_name(node), node.lineno))
    uses: Uses = {}
    for name, line in found:
        if name.partition(".")[0] not in optional:
            short = ".".join(name.split(".", _DEEPEST)[:_DEEPEST])
            uses[short] = min(uses.get(short, line), line)
    return uses


def _optional_body(node: ast.AST, names: Names) -> Sequence[ast.stmt]:
    """Statements that are for type checkers alone, or whose failure to import is caught."""
    match node:
        case ast.Try(body=body, handlers=handlers):
            types = [handler.type for handler in handlers]
            kinds = [
                kind for each in types for kind in (each.elts if isinstance(each, ast.Tuple) else [each])
            ]
            is_caught = any(kind is None or names.full_name(kind) in _CAUGHT for kind in kinds)
            return body if is_caught else ()
        case ast.If(test=test, body=body) if names.full_name(test) == "typing.TYPE_CHECKING":
            return body
    return ()
