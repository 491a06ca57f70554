"""What a typed name means: `hlotool show` takes names as users have them."""

from __future__ import annotations

import pytest

import hlotool
from hlotool.analysis.show.names import Names, expect_meant
from hlotool.errors import UsageError

TEXT = """HloModule names, is_scheduled=true

%body.clone (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %twice = f32[8]{0} add(%x, %x), metadata={source_file="/home/u/model.py" source_line=7}
}

%other (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %only.remat2 = f32[8]{0} negate(%x)
}

ENTRY %main (wq: f32[8]) -> (f32[8], f32[8]) {
  %wq = f32[8]{0} parameter(0), metadata={op_name="params['wq']"}
  %call.1 = f32[8]{0} call(%wq), to_apply=%body.clone
  %call.12 = f32[8]{0} call(%call.1), to_apply=%other
  ROOT %out = (f32[8]{0}, f32[8]{0}) tuple(%call.1, %call.12)
}
"""
FOUND = {
    "call.1": ["call.1"],
    "%call.1": ["call.1"],
    "out{1}": ["out"],
    "out{}": ["out"],
    "x": ["body.clone/x", "other/x"],
    "other/x": ["other/x"],
    "body.clone": ["computation body.clone"],
    "body": ["computation body.clone"],
    "params['wq']": ["wq"],
    "wq": ["wq"],
    "model.py:7": ["twice"],
    "u/model.py:7": ["twice"],
    "/home/u/model.py:7": ["twice"],
    "only": ["only.remat2"],
    "only.clone": ["only.remat2"],
    "twi": ["twice"],
    "call.*": ["call.1", "call.12"],
    "%call.*": ["call.1", "call.12"],
    "only.*": ["only.remat2"],
    "x.*": ["body.clone/x", "other/x"],
    "out.*{1}": ["out"],
    "out.*{}": ["out"],
}


def read() -> Names:
    return Names(hlotool.load(TEXT).module)


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    meant = expect_meant(name, read())
    found = [one.full_name for one in meant.instructions]
    found += [f"computation {meant.computation.name}"] if meant.computation else []
    assert found == FOUND[name]


def test_index() -> None:
    assert expect_meant("out{1}", read()).index == (1,)
    assert expect_meant("out{}", read()).index == ()
    assert expect_meant("out", read()).index is None
    assert expect_meant("out.*{1}", read()).index == (1,)
    assert expect_meant("out.*", read()).index is None


@pytest.mark.parametrize(
    ("name", "said"),
    {
        "call": "'call' is the beginning of call.1, call.12; give one of them.",
        "all.1": "no instruction, computation, parameter or source line 'all.1'; "
        "names that contain it: ",
        "odel.py:7": "there is no instruction",
        "model.py:8": "; model.py has other lines, such as 7.",
        "cal*": "; did you mean call.*? The only pattern is NAME.*, for names",
        "params['wk']": "; did you mean params['wq']?",
        "twcie": "; did you mean twice?",
        "": "is the beginning of",
        "{": "there is no instruction",
        "out.*{2}": "there is no instruction",
        "out.*{0,}": "there is no instruction",
        "out.*{,}": "there is no instruction",
        "ou.*": "there is no instruction",
        ".*": "there is no instruction",
        f"out{{{'1' * 5000}}}": "there is no instruction",
        "params": None,
    }.items(),
)
def test_not_found(name: str, said: str | None) -> None:
    if said is None:
        assert expect_meant(name, read()).name == "params['wq']"
        return
    with pytest.raises(UsageError) as raised:
        expect_meant(name, read())
    assert said in str(raised.value)
