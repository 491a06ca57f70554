"""Which programs are compiled for which machine, and what is kept of each dump."""

from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
JAX = "0.10.2"
LIBTPU = "0.0.51"
ORACLE = (("jaxlib", JAX),)  # the parser and the cost analysis every dump is compared with


@dataclass(frozen=True)
class Backend:
    """One machine to compile for, with the packages that hold its compiler."""

    name: str  # what --backend calls it
    folder: str  # below testdata/dumps
    platform: str
    topology: str = ""
    target: str = ""
    packages: tuple[tuple[str, str], ...] = (("jax", JAX), ("jaxlib", JAX))
    environment: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dump:
    """One compilation."""

    folder: str  # of its backend
    program: str  # a file of make/programs
    variant: str = ""
    flags: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()  # parts of names of files that are not kept
    alone_as: str = ""  # a link in testdata/hlo: the final text with no buffer assignment beside it
    whole: str = (
        ""  # keep the whole folder, without oracles, below testdata/folders under this name
    )
    packed: bool = False  # compress every file, oracles too, below testdata/packed
    printed: bool = False  # keep the final text only, in every style of XLA's printer

    @property
    def name(self) -> str:
        """Name of its folder: the program and, after a dot, the variant."""
        return f"{self.program}.{self.variant}" if self.variant else self.program


# What hands collectives over to the SparseCores, as users of these chips set it.
SPARSE_CORE = (
    "--xla_tpu_enable_sparse_core_collective_offload_all_gather=true",
    "--xla_tpu_enable_sparse_core_collective_offload_all_reduce=true",
    "--xla_tpu_enable_sparse_core_collective_offload_reduce_scatter=true",
    "--xla_tpu_enable_all_gather_offload_tracing=true",
    "--xla_tpu_enable_async_collective_fusion_fuse_all_gather=false",
    "--xla_tpu_use_tc_device_shape_on_sc=true",
    "--xla_sc_disable_megacore_partitioning=true",
)
_TPU_ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"}
_TPU_PACKAGES = (("jax", JAX), ("jaxlib", JAX), ("libtpu", LIBTPU))
_ANY_CPU = "--xla_cpu_max_isa=AVX2"  # not what this machine happens to have
_EIGHT_CPUS = ("--xla_force_host_platform_device_count=8",)

BACKENDS = (
    Backend("cpu", "cpu", "cpu", flags=(*_EIGHT_CPUS, _ANY_CPU)),
    Backend(
        "gpu",
        "gpu_h100",
        "gpu",
        topology="1x1x8",
        target=str(HERE / "gpu_h100.txtpb"),
        packages=(
            ("jax", JAX),
            ("jaxlib", JAX),
            ("jax-cuda12-plugin", JAX),
            ("jax-cuda12-pjrt", JAX),
        ),
        environment={"JAX_PLATFORMS": "cpu"},
        flags=("--xla_gpu_autotune_level=0",),
    ),
    Backend(
        "tpu",
        "tpu_v5e",
        "tpu",
        topology="v5e:2x4",
        packages=_TPU_PACKAGES,
        environment=_TPU_ENVIRONMENT,
    ),
    Backend(
        "tpu",
        "tpu_v6e",
        "tpu",
        topology="v6e:2x4",
        packages=_TPU_PACKAGES,
        environment={**_TPU_ENVIRONMENT, "LIBTPU_INIT_ARGS": " ".join(SPARSE_CORE)},
    ),
    Backend(
        "tpu",
        "tpu_v5p",
        "tpu",
        topology="v5p:2x2x2",
        packages=_TPU_PACKAGES,
        environment=_TPU_ENVIRONMENT,
    ),
    Backend(
        "tpu",
        "tpu7x",
        "tpu",
        topology="tpu7x:2x2x1",
        packages=_TPU_PACKAGES,
        environment=_TPU_ENVIRONMENT,
    ),
    # Releases that wrote the older formats: one buffer-assignment file, other print styles.
    Backend(
        "cpu-0.4.30",
        "cpu_jax_0.4.30",
        "cpu",
        packages=(("jax", "0.4.30"), ("jaxlib", "0.4.30")),
        flags=(*_EIGHT_CPUS, "--xla_cpu_use_mkl_dnn=false"),
    ),
    Backend(
        "cpu-0.7.2",
        "cpu_jax_0.7.2",
        "cpu",
        packages=(("jax", "0.7.2"), ("jaxlib", "0.7.2")),
        flags=(*_EIGHT_CPUS, _ANY_CPU),
    ),
    Backend(
        "tpu-0.7.2",
        "tpu_v5e_jax_0.7.2",
        "tpu",
        topology="v5e:2x4",
        packages=(("jax", "0.7.2"), ("jaxlib", "0.7.2"), ("libtpu", "0.0.23")),
        environment=_TPU_ENVIRONMENT,
    ),
)
# The same program looks alike on every machine before it is compiled: kept once or twice.
SHORT = ("before_optimizations", "after_spmd_partitioner", "thunk_sequence")
UNREAD = ("after_spmd_partitioner", "thunk_sequence", "debug_options")
NO_CODE = (".ll", ".o", ".ptx", "thunk")

DUMPS = (
    Dump("cpu", "mlp_train"),
    Dump("cpu", "scan_train", alone_as="cpu_train_step.txt", leave_out=SHORT),
    Dump("cpu", "transformer_train", packed=True, leave_out=UNREAD),
    Dump("cpu", "pipeline", leave_out=SHORT),
    Dump("cpu", "nested_loops"),
    Dump("cpu", "conv_quantized"),
    Dump("cpu", "operations"),
    Dump("cpu", "attention", packed=True, leave_out=SHORT),
    Dump(
        "cpu",
        "attention",
        "onednn",
        flags=(
            "--xla_cpu_use_onednn=true",
            "--xla_cpu_experimental_onednn_fusion_type=dot,eltwise,reduce",
            "--xla_cpu_experimental_ynn_fusion_type=",
        ),
        packed=True,
        leave_out=SHORT,
    ),
    Dump("cpu", "norms", packed=True, leave_out=SHORT),
    Dump(
        "cpu",
        "affine",
        whole="cpu.passes",
        flags=("--xla_dump_hlo_pass_re=.*",),
        leave_out=NO_CODE,
    ),
    Dump("cpu", "affine", whole="cpu.short", flags=("--xla_dump_hlo_as_long_text=false",)),
    Dump("cpu", "several", whole="cpu.several", leave_out=NO_CODE),
    Dump("gpu_h100", "mlp_train"),
    Dump("gpu_h100", "mlp_train", "batch2x", leave_out=SHORT),
    Dump("gpu_h100", "mlp_train", "bf16", leave_out=SHORT),
    Dump("gpu_h100", "mlp_train", "remat", leave_out=SHORT),
    Dump("gpu_h100", "transformer_train", alone_as="gpu_train_step.txt", leave_out=SHORT),
    Dump("gpu_h100", "transformer_train", "batch2x", packed=True, leave_out=UNREAD),
    Dump("gpu_h100", "pipeline"),
    Dump(
        "gpu_h100",
        "pipeline",
        "p2p",
        flags=(
            "--xla_gpu_collective_permute_decomposer_threshold=0",
            "--xla_gpu_enable_pipelined_p2p=true",
        ),
        packed=True,
        leave_out=UNREAD,
    ),
    Dump("gpu_h100", "ragged"),
    Dump("gpu_h100", "nested_loops", leave_out=SHORT),
    Dump("gpu_h100", "conv_quantized", leave_out=SHORT),
    Dump("gpu_h100", "operations", packed=True, leave_out=SHORT),
    Dump("gpu_h100", "library_calls", flags=("--xla_gpu_enable_triton_gemm=false",)),
    Dump("gpu_h100", "pallas_kernel"),
    Dump("gpu_h100", "offload"),
    Dump("gpu_h100", "styles", printed=True),
    Dump(
        "gpu_h100",
        "affine",
        whole="gpu_h100.timestamp",
        flags=("--xla_dump_include_timestamp=true",),
    ),
    Dump("tpu_v5e", "mlp_train"),
    Dump("tpu_v5e", "scan_train", alone_as="tpu_train_step.txt"),
    Dump("tpu_v5e", "transformer_train", packed=True, leave_out=UNREAD),
    Dump("tpu_v5e", "pipeline"),
    Dump("tpu_v5e", "ragged"),
    Dump("tpu_v5e", "nested_loops", leave_out=SHORT),
    Dump("tpu_v5e", "conv_quantized", leave_out=SHORT),
    Dump("tpu_v5e", "operations", packed=True),
    Dump("tpu_v5e", "pallas_kernel"),
    Dump("tpu_v5e", "offload"),
    Dump("tpu_v5e", "too_large"),
    Dump("tpu_v5e", "affine", whole="tpu_v5e.plain", leave_out=("flagfile", "comp_env")),
    Dump("tpu_v6e", "pipeline", "gather", leave_out=(".extracted.", *SHORT)),
    Dump("tpu_v5p", "fsdp_train", "auto", packed=True, leave_out=UNREAD),
    Dump("tpu7x", "fsdp_train", packed=True, leave_out=(".extracted.", *UNREAD)),
    Dump("cpu_jax_0.4.30", "mlp_train", leave_out=SHORT),
    Dump(
        "cpu_jax_0.4.30",
        "nested_loops",
        flags=("--xla_dump_hlo_as_long_text=true",),
        leave_out=SHORT,
    ),
    Dump("cpu_jax_0.7.2", "mlp_train", leave_out=SHORT),
    Dump("tpu_v5e_jax_0.7.2", "nested_loops", leave_out=SHORT),
)
