"""Consistency check of declared packages and imported modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from alita_mcp.values import Check, Draft, ToolContract
from alita_mcp.verification.findings import failed

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
        checks.append(failed("environment", message, "Declare only what the code imports."))
    for text in draft.packages:
        if problem := _requirement_problem(text):
            message = f"package {text[:100]!r}: {problem}"
            checks.append(failed("environment", message, 'Write "name" or "name>=1.2".'))
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
        failed(
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
