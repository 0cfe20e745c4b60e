"""Advice beside a run of code: what to send for what was missing, in place of a library's noise."""

from __future__ import annotations

import json
import re
import sys

from alita_mcp.research.index.well_known_names import WELL_KNOWN
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.toolsmith.package_check import name_of
from alita_mcp.verification.static.imports import DISTRIBUTIONS, distributions_of

LOOKED_AT = 4_000
"""Characters of each end of what code printed in which an error is looked for: scripts often catch and print them."""
_NOISE = re.compile(r"^Fontconfig error: Cannot load default config file.*\n?", re.MULTILINE)
_GLYPH = re.compile(
    r"^.*UserWarning: Glyph (\d{1,7}) \(.*\) missing from (?:current font|font\(s\)).*\n?(?:^  .*\n?)?",
    re.MULTILINE,
)
_MODULE = re.compile(r"No module named '([A-Za-z_]\w*)")
_UNREACHED = re.compile(
    r"name resolution|Name or service not known|getaddrinfo failed|NameResolutionError|Network is unreachable|"
    r'needs the grant "network"|has no sockets'
)
_NAME = r"([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
_HOST = re.compile(rf"\bhttps?://(?:[^\s/@'\"]*@)?{_NAME}|onnect(?:ion)?\(\s*\(?\s*['\"]{_NAME}['\"]")
_CUT = re.compile(r"… \(([\d,]+) more bytes\)\Z")


def add_advice(run: CodeRun, request: CodeRequest) -> CodeRun:
    """The run with a note for each thing that it lacked, and without warnings that a note stands for."""
    stderr = _GLYPH.sub("", _NOISE.sub("", run.stderr)) if run.stderr else ""
    ends = (
        text[part] for text in (run.stdout, stderr) for part in (slice(LOOKED_AT), slice(-LOOKED_AT, None))
    )
    said = "\n".join((run.error, run.trace, *ends))
    cut = ((name, _CUT.search(text)) for name, text in (("stdout", run.stdout), ("stderr", stderr)))
    advice = [
        *(f"{name} is cut: {found[1]} more bytes were printed." for name, found in cut if found),
        *_missing_modules(said, request),
        *_unreached_hosts(said, request),
        *_lacking_glyphs(run.stderr),
    ]
    if not advice and stderr == run.stderr:
        return run
    return run.model_copy(update={"stderr": stderr, "notes": (*run.notes, *advice)})


def _missing_modules(said: str, request: CodeRequest) -> list[str]:
    """How to get the modules that no package of the run has."""
    declared = set(map(name_of, request.packages))
    named = [
        name
        for name in dict.fromkeys(_MODULE.findall(said))
        if name not in sys.stdlib_module_names and not distributions_of(name) & declared
    ]
    if not named:
        return []
    # Not any name will do: a package may be called like a module that somebody mistyped or made up.
    known = [DISTRIBUTIONS.get(name, name) for name in named if name in DISTRIBUTIONS or name in WELL_KNOWN]
    if len(known) < len(named):
        return [
            f"This run has no package with the module {named[-1]}: name the package that has it in `packages`."
        ]
    packages = json.dumps([*request.packages, *known])
    return [f"This run has no package with the module {', '.join(named)}: send packages: {packages}."]


def _unreached_hosts(said: str, request: CodeRequest) -> list[str]:
    """How to ask for the network, where a connection failed for want of it."""
    if request.grants.network or not _UNREACHED.search(said):
        return []
    named = _HOST.findall(f"{request.code}\n{json.dumps(request.arguments)}")
    hosts = list(dict.fromkeys(url or host for url, host in named)) or ["HOST"]
    needs = json.dumps({"network": hosts[:5]})
    return [f"Code reaches no host that it does not ask for: send needs: {needs}; a person approves it."]


def _lacking_glyphs(stderr: str) -> list[str]:
    lacking = "".join(
        dict.fromkeys(chr(int(each)) for each in _GLYPH.findall(stderr) if int(each) <= sys.maxunicode)
    )
    if not lacking:
        return []
    shown = lacking[:10].encode("utf-8", "replace").decode()
    number = f"{len(lacking)} character{'s' if len(lacking) > 1 else ''}"
    advice = (
        'For Chinese, Japanese or Korean send packages: ["matplotlib", "mpl-font"] and import mpl_font.noto.'
    )
    return [f"Figures show {shown} as boxes: their font lacks {number}. {advice}"]
