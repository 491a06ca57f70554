"""Build profiles of devices that are not at hand: AMD, NVIDIA with CUDA graphs, TPU.

    PYTHONPATH=testdata:tests python -m make.planes

They are built, not recorded: field by field after XLA's xplane.proto, with the statistics that its
collectors write (xla/backends/profiler/gpu/cupti_collector.cc and rocm_collector.cc) and the names
of xplane_schema.cc. Programs are those of testdata/protos/assignments.
"""

import gzip
from pathlib import Path

from profile_builder import GPU, TPU, Event, Plane, Stat, metadata

BUILT = Path(__file__).parents[1] / "profiles" / "built"
GPU_LABEL, TPU_LABEL = "jit_loop(7)", "jit_loop(8)"
MARKS: dict[str, Stat] = {"hlo_module": "jit_loop", "program_id": 7}


def mark(op: str, launch: int = 0) -> dict[str, Stat]:
    """Return what a collector says of a kernel outside of graphs."""
    return {"hlo_op": op, "correlation_id": launch, **MARKS}


def graph(ordinal: int) -> bytes:
    """Return an H100 whose loop body runs in a CUDA graph, twice in each of two runs.

    No event of the graph names its instruction. The reduction's kernel is of cuBLAS, and told by
    its order; one more kernel is of no program.
    """
    compute, transfers = [], []
    for run in range(2):
        at = 1000.0 * run
        compute += [
            Event("MemcpyD2D", at, 2, mark("copy.17", 10 + run)),
            Event("loop_broadcast_fusion", at + 5, 5, mark("loop_broadcast_fusion", 20 + run)),
        ]
        for trip in range(2):
            in_graph: dict[str, Stat] = {
                "correlation_id": 100 + 10 * run + trip, "cuda_graph_id": 3, **MARKS
            }  # fmt: skip
            begin = at + 20 + 100 * trip
            kernels = (
                ("gemm_fusion_dot_3", 30), ("loop_reduce_fusion_1", 5), ("cublas_splitk", 4),
                ("loop_compare_fusion_1", 1), ("MemcpyD2D", 2), ("loop_add_fusion", 6),
                ("input_reduce_fusion", 3), ("loop_dynamic_update_slice_fusion", 2),
            )  # fmt: skip
            for name, lasts in kernels:
                compute.append(Event(name, begin, lasts, in_graph))
                begin += lasts
                if name == "cublas_splitk":
                    kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
                    transfers.append(Event(kernel, begin, 20, in_graph))
                    begin += 20
        transfers.append(Event("ncclDevKernel", at + 260, 7, mark("all-reduce-start.1", 30 + run)))
        compute += [
            Event("sort_kernel", at + 300, 30, mark("fusion.2", 40 + run)),
            Event("MemcpyD2H", at + 340, 9, {"correlation_id": 50 + run}),
            Event("void at::native::fill<float>", at + 350, 4, {"correlation_id": 60 + run}),
        ]
    stats: dict[str, Stat] = {
        "device_vendor": "Nvidia", "gpu_device_name": "NVIDIA H100 80GB HBM3",
        "clock_rate": 1_980_000, "core_count": 132, "memory_bandwidth": 3_352_320_000_000,
        "memory_size": 84_942_979_072, "compute_cap_major": 9, "compute_cap_minor": 0,
    }  # fmt: skip
    lines = {"Stream #13(Kernel,MemcpyD2D)": compute, "Stream #24(Kernel)": transfers}
    return Plane(f"/device:GPU:{ordinal}", lines, stats=stats).to_bytes()


def amd() -> bytes:
    """Return an MI325X, which says no name: its version and its memory tell it."""
    events = []
    for run in range(2):
        for place, op in enumerate(("loop_broadcast_fusion", "gemm_fusion_dot.3", "fusion.2")):
            events.append(Event(f"kernel_{place}", 100 * run + 20 * place, 15, mark(op, place + 1)))
        events.append(Event("__amd_rocclr_copyBuffer", 100 * run + 70, 3, {"correlation_id": 9}))
    stats: dict[str, Stat] = {
        "device_vendor": "AMD", "clock_rate": 2_100_000, "core_count": 304,
        "memory_bandwidth": 6_000_000_000_000, "memory_size": 274_877_906_944,
        "compute_cap_major": 9, "compute_cap_minor": 4,
    }  # fmt: skip
    return Plane("/device:GPU:0", {"Stream #1(Kernel)": events}, stats=stats).to_bytes()


def tpu() -> bytes:
    """Return a v5e that states of each kind of event its category, flops and bytes."""
    ops, runs = [], []
    for run in range(3):
        at = 500 * run
        runs.append(Event(TPU_LABEL, at, 300))
        ops.append(Event("while.11", at, 200))
        for trip in range(5):
            begin = at + 40 * trip
            ops += [Event("fusion.13", begin, 20), Event("all-reduce.4", begin + 20, 15)]
        ops += [Event("sort.10", at + 210, 60), Event("barrier-cores", at + 280, 10)]
    common: dict[str, dict[str, Stat]] = {
        "fusion.13": {"hlo_category": "convolution fusion", "flops": 8_388_608,
                      "model_flops": 8_388_608, "bytes_accessed": 163_840},
        "all-reduce.4": {"hlo_category": "all-reduce", "flops": 0, "bytes_accessed": 8},
        "sort.10": {"hlo_category": "sort", "flops": 0, "bytes_accessed": 4_096},
    }  # fmt: skip
    stats: dict[str, Stat] = {"device_type_string": "TPU v5 lite"}
    lines = {"Steps": [Event("1", 0, 1300)], "XLA Modules": runs, "XLA Ops": ops}
    return Plane("/device:TPU:0", lines, common, stats=stats).to_bytes()


def main() -> None:
    """Write each as the profiler would: one file of one host."""
    gpu, of_tpu = metadata((GPU_LABEL, GPU)), metadata((TPU_LABEL, TPU))
    files = {
        "cuda_graph": gpu + graph(0) + graph(1),
        "amd": gpu + amd(),
        "tpu": of_tpu + tpu(),
    }
    BUILT.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (BUILT / f"{name}.xplane.pb.gz").write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
