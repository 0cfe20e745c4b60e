"""`python -m benchmarks NAME …`: runs one benchmark and prints its table, or JSON with `--json`, and nothing else."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

from pydantic_core import to_jsonable_python

import benchmarks
from alita_mcp.errors import AlitaError


def main(words: Sequence[str] | None = None) -> int:
    """Runs the named benchmark; exit status 1 or that of its error where it could not be measured."""
    names = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", metavar="NAME", choices=names, help=f"of {', '.join(names)}")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="…", help="its own options; --help lists them"
    )
    chosen = parser.parse_args(words)
    try:
        run(importlib.import_module(f"benchmarks.{chosen.name}"), chosen.name, chosen.words)
    except AlitaError as failure:
        print(failure, file=sys.stderr)
        return failure.exit_status
    except KeyboardInterrupt:
        return 130
    return 0


def run(benchmark: ModuleType, name: str, words: Sequence[str]) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the result as JSON")
    benchmark.add_arguments(parser)
    options = parser.parse_args(words)
    result = benchmark.run(options)
    as_json = json.dumps(to_jsonable_python(result), indent=2, ensure_ascii=False)
    print(as_json if options.as_json else benchmark.table(result))


if __name__ == "__main__":
    sys.exit(main())
