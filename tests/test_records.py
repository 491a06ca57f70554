"""Records and nodes: what they compare, show and refuse."""

import pickle
from functools import cached_property

import pytest

from hlotool.records import (
    FrozenRecordError,
    default,
    field_names,
    find_default,
    node_class,
    record,
    replace,
)


@record
class Point:
    """A place."""

    x: int
    y: int = 0
    tags: tuple[str, ...] = default(tuple)

    @property
    def sum(self) -> int:
        return self.x + self.y


@record
class Single:
    value: object


@record
class Nothing:
    """No fields."""


def test_fields_defaults_and_methods() -> None:
    point = Point(1)
    assert (point.x, point.y, point.tags, point.sum) == (1, 0, (), 1)
    assert Point(y=2, x=1).y == 2
    assert field_names(Point) == ("x", "y", "tags")
    assert field_names(int) == ()
    assert repr(point) == "Point(x=1, y=0, tags=())"
    assert Point.__doc__ == "A place."


def test_a_factory_makes_a_default_for_each_record() -> None:
    @record
    class Holder:
        items: list[int] = default(list)

    first, second = Holder(), Holder()
    assert first.items is not second.items
    assert Holder([3]).items == [3]
    assert find_default(Holder, "items") == []
    assert (find_default(Point, "y"), find_default(Point, "x", "none")) == (0, "none")


def test_equality_is_that_of_class_and_values() -> None:
    assert Point(1) == Point(1, 0)
    assert Point(1) != Point(2)
    assert Nothing() == Nothing()
    assert len({Point(1), Point(1, 0), Single(1), Single(1), Nothing(), Nothing()}) == 3
    with pytest.raises(TypeError):
        hash(Single([]))


def test_records_are_frozen() -> None:
    point = Point(1)
    with pytest.raises(FrozenRecordError, match=r"Point\.x cannot be changed"):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenRecordError, match=r"Point\.z cannot be changed"):
        point.z = 3  # type: ignore[attr-defined]
    with pytest.raises(FrozenRecordError, match=r"Point\.x cannot be deleted"):
        del point.x
    assert not hasattr(point, "__dict__")


def test_replace_changes_some_fields() -> None:
    assert replace(Point(1, 2), y=5) == Point(1, 5)
    assert replace(Single(1), value=2) == Single(2)
    with pytest.raises(TypeError, match="Point has no field 'z'"):
        replace(Point(1), z=1)


def test_records_pickle() -> None:
    for value in (Point(1, 2, ("a",)), Single(Point(1)), Nothing()):
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 (our own bytes)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\)"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword"):
        Point(1, w=2)  # type: ignore[call-arg]


def test_fields_with_defaults_come_last() -> None:
    with pytest.raises(TypeError, match="Late: a field without a default follows"):

        @record
        class Late:
            x: int = 0
            y: int  # type: ignore[misc]


def test_match_statements_see_the_fields() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


@node_class
class Knot:
    """A node of a circle."""

    name: str
    size: int = 0
    next: "Knot | None" = None
    seen: list[int] = default(list)

    @cached_property
    def length(self) -> int:
        self.seen.append(1)
        return len(self.name)


def test_nodes_are_equal_to_themselves_and_can_change() -> None:
    one, other = Knot("a"), Knot("a")
    one.next, other.next = other, one
    assert one != other
    assert len({one, other, one}) == 2
    one.size = 3
    assert (one.size, replace(one, name="b").size) == (3, 3)
    assert one.seen is not other.seen


def test_nodes_show_what_does_not_lead_on() -> None:
    knot = Knot("a", 2)
    knot.next = knot
    assert repr(knot) == "Knot(name='a', size=2)"
    assert len(repr(Single("x" * 10_000))) < 300


def test_properties_are_cached_where_a_class_asks_for_it() -> None:
    knot = Knot("four")
    assert (knot.length, knot.length, knot.seen) == (4, 4, [1])

    @node_class
    class Plain:
        name: str

    with pytest.raises(AttributeError):
        Plain("a").weight = 1  # type: ignore[attr-defined]
