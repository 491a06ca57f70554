"""Names of parameters: the same from the module and from the used values."""

from __future__ import annotations

import pytest
from buffer_dumps import Dump, find_dumps

from hlotool.analysis.memory.parameter_name import find_parameter_name

DUMPS = [dump for dump in find_dumps() if not dump.path.is_file()]


@pytest.mark.parametrize("dump", DUMPS[:3], ids=lambda dump: dump.name)
def test_parameters_have_the_same_name_without_the_module(dump: Dump) -> None:
    names = []
    for allocation in dump.assignment.allocations:
        name = find_parameter_name(allocation, dump.module, dump.assignment)
        assert find_parameter_name(allocation, None, dump.assignment) == name
        names.append(name)
    assert any(names)
