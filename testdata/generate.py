"""Make the dumps of testdata with real compilers: CPU, GPU or TPU, on any machine, no hardware.

    python testdata/generate.py --backend cpu
    python testdata/generate.py --backend gpu --only 'transformer*' --out /some/folder

Each program is compiled in a process of its own, in an empty folder; what XLA wrote is kept
under the names XLA gave, with XLA's own reading of it beside it. testdata/README.md tells more.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from make.catalogue import BACKENDS, DUMPS, ORACLE
from make.dump import make_dump

HERE = Path(__file__).resolve().parent
ASK_VERSIONS = """
import importlib.metadata, json, sys
found = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}
print(json.dumps([found.get(name) for name in sys.argv[1:]]))
"""


def find_wrong_packages(python: str, packages: Sequence[tuple[str, str]]) -> list[str]:
    """List the packages that an interpreter lacks, or has in another version."""
    names = [name for name, _ in packages]
    child = subprocess.run(  # noqa: S603 (the interpreter asked for, and our own words)
        [python, "-c", ASK_VERSIONS, *names], capture_output=True, text=True, check=True
    )
    found: list[str | None] = json.loads(child.stdout)
    return [
        f"{name}=={version} (found {have or 'nothing'})"
        for (name, version), have in zip(packages, found, strict=True)
        if have != version
    ]


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", required=True, choices=sorted({b.name for b in BACKENDS}))
    parser.add_argument("--out", type=Path, default=HERE, help="folder (default: testdata itself)")
    parser.add_argument("--only", default="*", help="make the dumps whose name matches")
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="interpreter that has the compiler (default: this one, which reads the results)",
    )
    return parser.parse_args()


def main() -> int:
    """Make every dump of one backend that was asked for."""
    arguments = parse_arguments()
    backends = {one.folder: one for one in BACKENDS if one.name == arguments.backend}
    first = next(iter(backends.values()))
    for python, packages in ((arguments.python, first.packages), (sys.executable, ORACLE)):
        wrong = find_wrong_packages(python, packages)
        if wrong:
            needed = " ".join(f"{name}=={version}" for name, version in packages)
            print(f"{python} lacks {', '.join(wrong)}", file=sys.stderr)
            print(f"in a virtual environment of its own: pip install {needed}", file=sys.stderr)
            return 1
    chosen = [one for one in DUMPS if one.folder in backends and fnmatch(one.name, arguments.only)]
    if not chosen:
        print(f"no dump of {arguments.backend} is called {arguments.only!r}", file=sys.stderr)
    for dump in chosen:
        print(f"{dump.folder}/{dump.name} …", flush=True)
        make_dump(dump, backends[dump.folder], arguments.python, arguments.out)
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main())
