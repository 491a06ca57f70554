"""Make the dumps of testdata with real compilers: CPU, GPU or TPU, on any machine, no hardware.

    python testdata/generate.py --backend cpu
    python testdata/generate.py --backend gpu --only 'transformer*' --out /some/folder

Each program is compiled in a process of its own, in an empty folder; what XLA wrote is kept
under the names XLA gave, with XLA's own reading of it beside it. docs/testdata.md tells more.
"""

import argparse
import sys
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

from make.catalogue import BACKENDS, DUMPS, Backend
from make.dump import make_dump

HERE = Path(__file__).resolve().parent


def find_wrong_packages(backend: Backend) -> list[str]:
    """List the packages of a backend that are missing here, or have another version."""
    wrong = []
    for name, version in backend.packages:
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = "nothing"
        if found != version:
            wrong.append(f"{name}=={version} (found {found})")
    return wrong


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", required=True, choices=sorted({b.name for b in BACKENDS}))
    parser.add_argument("--out", type=Path, default=HERE, help="folder (default: testdata itself)")
    parser.add_argument("--only", default="*", help="make the dumps whose name matches")
    return parser.parse_args()


def main() -> int:
    """Make every dump of one backend that was asked for."""
    arguments = parse_arguments()
    backends = {one.folder: one for one in BACKENDS if one.name == arguments.backend}
    wrong = [text for one in backends.values() for text in find_wrong_packages(one)]
    if wrong:
        first = next(iter(backends.values()))
        needed = " ".join(f"{name}=={version}" for name, version in first.packages)
        print(f"not installed: {', '.join(sorted(set(wrong)))}", file=sys.stderr)
        print(f"in a virtual environment of its own: pip install {needed}", file=sys.stderr)
        return 1
    chosen = [one for one in DUMPS if one.folder in backends and fnmatch(one.name, arguments.only)]
    for dump in chosen:
        print(f"{dump.folder}/{dump.name} …", flush=True)
        make_dump(dump, backends[dump.folder], arguments.out)
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main())
