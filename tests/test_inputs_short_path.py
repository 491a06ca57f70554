"""A file of a directory in few words."""

import pytest

from hlotool.dump.names import short_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("d/module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt", "#1"),
        ("d/a/b/module_0012.jit_f.cl_3.after_optimizations.txt", "a/b #12"),
        ("d/1795229619486247.module_0001.jit_f.cpu_after_optimizations.txt", "#1"),
        ("d/old.module_0000.jit_f.cpu_after_optimizations.txt", "old #0"),
        ("d/a/step.txt", "a/step.txt"),
        ("d/step.txt", "step.txt"),
        ("d/step.txt#2", "step.txt#2"),
        ("d#2", "#2"),
        ("d/plugins/profile/2026_11_22/host.xplane.pb#12", "2026_11_22 #12"),
        ("d/a/plugins/profile/2026_11_22/host.xplane.pb.gz#3", "a/2026_11_22 #3"),
        ("d/host.xplane.pb#12", "#12"),
        ("d/plugins/profile/2026_11_22/host.xplane.pb", "2026_11_22/host.xplane.pb"),
    ],
)
def test_short_path(path: str, expected: str) -> None:
    assert short_path(path, "d") == expected


def test_short_path_in_standard_input() -> None:
    assert short_path("<stdin>#3", "-") == "#3"
