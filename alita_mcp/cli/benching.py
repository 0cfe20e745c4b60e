"""`alita bench NAME`: runs a measurement that the documentation quotes."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import pkgutil
from pathlib import Path
from types import ModuleType

import alita_mcp
from alita_mcp.cli.commands import Family, json_option
from alita_mcp.cli.output import Output
from alita_mcp.errors import UsageError

_IN_A_WHEEL = "alita_mcp.benchmarks"


def add_commands(family: Family) -> None:
    """Declares `bench`; what follows NAME belongs to the benchmark."""
    parser = family.add("bench", bench, "run a benchmark")
    parser.add_argument("benchmark", metavar="NAME", help="its name; unknown names list those there are")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="…", help="its own options; --help lists them"
    )


def bench(options: argparse.Namespace, output: Output) -> int:
    """Runs one benchmark and prints its table."""
    module = _benchmark(options.benchmark)
    parser = argparse.ArgumentParser(
        prog=f"alita bench {options.benchmark}", parents=[json_option()], allow_abbrev=False
    )
    module.add_arguments(parser)
    own = parser.parse_args(options.words)
    result = module.run(own)
    Output(as_json=output.as_json or own.as_json).result(result, module.table(result))
    return 0


def _benchmark(name: str) -> ModuleType:
    """The module of a benchmark: all of them in a checkout, beside the package; `calls` and `start` in a wheel."""
    packages = [found for found in (_IN_A_WHEEL, "benchmarks") if _is_ours(found)]
    if not packages:
        raise UsageError(
            "The benchmarks are not installed.", hint="Run from a checkout, or reinstall the package."
        )
    package = importlib.import_module(packages[0])
    names = sorted(
        module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")
    )
    if name not in names:
        more = "; the others come with a checkout" if packages[0] == _IN_A_WHEEL else ""
        raise UsageError(
            f"There is no benchmark {name!r} here.", hint=f"There are: {', '.join(names)}{more}."
        )
    return importlib.import_module(f"{packages[0]}.{name}")


def _is_ours(package: str) -> bool:
    """Whether that package stands in or beside ours; others on the machine may be called `benchmarks` too."""
    spec = importlib.util.find_spec(package)
    homes = (spec.submodule_search_locations or ()) if spec else ()
    ours = Path(alita_mcp.__file__).resolve().parent
    return any(Path(home).resolve().parent in (ours, ours.parent) for home in homes)
