"""Which programs are compiled for which machine, and what is kept of each dump."""

from dataclasses import dataclass, field
from pathlib import Path

JAX = "0.10.2"
LIBTPU = "0.0.51"
HERE = Path(__file__).resolve().parent


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


def _describe_tpu(folder: str, topology: str) -> Backend:
    return Backend(
        "tpu",
        folder,
        "tpu",
        topology=topology,
        packages=(("jax", JAX), ("jaxlib", JAX), ("libtpu", LIBTPU)),
        environment={"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"},
    )


@dataclass(frozen=True)
class Dump:
    """One compilation."""

    folder: str  # of its backend
    program: str  # a file of make/programs
    variant: str = ""
    flags: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()  # parts of names of files that are not kept
    copy_as: str = ""  # a second copy of the final text, alone, in testdata/hlo

    @property
    def name(self) -> str:
        """Name of its folder: the program and, after a dot, the variant."""
        return f"{self.program}.{self.variant}" if self.variant else self.program


BACKENDS = (
    Backend("cpu", "cpu", "cpu", flags=("--xla_force_host_platform_device_count=8",)),
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
    _describe_tpu("tpu_v5e", "v5e:2x4"),
)
DUMPS = (
    Dump("cpu", "mlp_train"),
    Dump("cpu", "scan_train", copy_as="cpu_train_step.txt"),
    Dump("cpu", "pipeline"),
    Dump("cpu", "nested_loops"),
    Dump("gpu_h100", "mlp_train"),
    Dump("gpu_h100", "transformer_train", copy_as="gpu_train_step.txt"),
    Dump("tpu_v5e", "mlp_train"),
    Dump("tpu_v5e", "scan_train", copy_as="tpu_train_step.txt"),
)
