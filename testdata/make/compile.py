"""Compile one program ahead of time; run as a child process, in the folder that gets the dump.

    PYTHONPATH=testdata python -m make.compile PROGRAM.py VARIANT PLATFORM TOPOLOGY TARGET

The environment is the parent's business. XLA writes the dump as a side effect; what XLA says about
memory and cost is printed as one JSON document on the last line; of a failure the message too, to
stderr.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
from jax._src import source_info_util
from jax.experimental import topologies

# Metadata names these files as a user's program would, wherever this repository lies.
SOURCE_FOLDER = "/home/user"
COST_FIELDS = ("flops", "transcendentals", "bytes accessed", "optimal_seconds")
MEMORY_FIELDS = (
    "alias_size_in_bytes",
    "argument_size_in_bytes",
    "generated_code_size_in_bytes",
    "host_alias_size_in_bytes",
    "host_argument_size_in_bytes",
    "host_generated_code_size_in_bytes",
    "host_output_size_in_bytes",
    "host_temp_size_in_bytes",
    "output_size_in_bytes",
    "peak_memory_in_bytes",
    "temp_size_in_bytes",
)
Lower = Callable[[Sequence[jax.Device], str], jax.stages.Lowered | list[jax.stages.Lowered]]


def find_devices(platform: str, topology: str, target: str) -> list[jax.Device]:
    """List the devices to compile for; only the CPU's exist."""
    if platform == "cpu":
        devices: list[jax.Device] = jax.devices()
    elif platform == "tpu":
        devices = topologies.get_topology_desc(topology, platform="tpu").devices
    else:
        text = Path(target).read_text(encoding="utf-8")
        devices = topologies.get_topology_desc(
            "", platform="cuda", topology=topology, target_config=text
        ).devices
    return devices


def load_lower(path: Path) -> Lower:
    """Run a program file under a neutral name, so that no path of this machine is in the dump."""
    source_info_util.register_exclusion(__file__)
    names: dict[str, Any] = {"__name__": path.stem}
    code = compile(path.read_text(encoding="utf-8"), f"{SOURCE_FOLDER}/{path.name}", "exec")
    exec(code, names)  # noqa: S102 (our own file)
    lower: Lower = names["lower"]
    return lower


def main() -> None:
    """Lower, compile, and say what XLA says."""
    program, variant, platform, topology, target = sys.argv[1:]
    devices = find_devices(platform, topology, target)
    facts = {"device_kind": devices[0].device_kind, "devices_in_topology": len(devices)}
    try:
        lowered = load_lower(Path(program))(devices, variant)
        programs = lowered if isinstance(lowered, list) else [lowered]
        compiled = [one.compile() for one in programs][-1]
    except RuntimeError as error:  # JaxRuntimeError where there is one
        print(error, file=sys.stderr)
        nothing = {"devices_used": None, "memory_analysis": None, "cost_analysis": None}
        print(json.dumps({**facts, **nothing, "notes": [str(error).splitlines()[0]]}))
        return
    memory = compiled.memory_analysis()
    cost = compiled.cost_analysis()
    if isinstance(cost, list):  # older releases
        cost = cost[0]
    outputs = jax.tree.leaves(compiled.output_shardings)
    answer = {
        **facts,
        "devices_used": len(outputs[0].device_set),
        "memory_analysis": {name: getattr(memory, name, None) for name in MEMORY_FIELDS},
        "cost_analysis": cost and {name: cost[name] for name in COST_FIELDS if name in cost},
        "notes": [],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
