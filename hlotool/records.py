"""Records and nodes that are cheap to define, because defining them is most of start-up.

`@record` does what hlotool wants of `@dataclass(frozen=True, slots=True)`, `@node_class` what it
wants of `@dataclass(slots=True, eq=False)`, in a twentieth of the time: only `__init__` is
generated, and that when the first instance is made; the other methods are shared. A summary
imports some hundred and thirty such classes (docs/performance.md has the numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")

_MISSING: Final = object()
_LONGEST_REPR: Final = 200  # characters of one field; some fields hold a whole dump
_PLAIN: Final = (str, int, float, type(None))  # what a node shows of itself


class FrozenRecordError(AttributeError):
    """A field of a record was assigned or deleted."""


class _Factory:
    """A default that is made anew for each record."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def default(factory: Callable[[], T]) -> T:
    """Give a field a default that every instance makes for itself: `default(dict)`."""
    made: Any = _Factory(factory)  # the decorator turns it into the T that the caller sees
    return made  # type: ignore[no-any-return]


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a class of annotated fields a frozen one with slots, compared by its values.

    Fields with defaults come last. Records of one class are equal if all fields are; they
    hash if all fields do; they pickle.
    """
    return _make_class(cls, _RECORD_METHODS, is_frozen=True)


@dataclass_transform(eq_default=False)
def node_class(cls: type[T]) -> type[T]:
    """Make a class of annotated fields one with slots, whose instances are equal to themselves.

    Fields with defaults come last. Fields can be assigned; `repr` shows the plain ones only,
    as nodes lead to each other in circles.
    """
    return _make_class(cls, _NODE_METHODS, is_frozen=False)


def _make_class(cls: type[T], methods: dict[str, Any], *, is_frozen: bool) -> type[T]:
    """Make the class anew, with slots; a `__dict__` only where a `cached_property` wants one."""
    names = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063  inspect is slow to import
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    body = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in defaults and name not in {"__dict__", "__weakref__"}
    }
    is_cached = any(isinstance(value, cached_property) for value in body.values())
    body |= {name: method for name, method in methods.items() if name not in body}
    body |= {"__match_args__": names, "record_names": names, "record_defaults": defaults}
    body["__slots__"] = (*names, "__dict__") if is_cached else names
    kind: Any = type(cls)
    made: Any = kind(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    made.record_values = _values_getter(names)
    made.__init__ = _init_later(made, names, defaults, is_frozen=is_frozen)
    return made  # type: ignore[no-any-return]


def replace(value: T, /, **changes: object) -> T:
    """Return a record, a node or a dataclass like `value` with some fields changed."""
    kind: Any = type(value)
    if not hasattr(kind, "record_names"):
        import dataclasses  # noqa: PLC0415  start-up time

        changed: Any = dataclasses.replace(value, **changes)  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]
    wrong = changes.keys() - set(kind.record_names)
    if wrong:
        raise TypeError(f"{kind.__name__} has no field {min(wrong)!r}")
    kept = zip(kind.record_names, kind.record_values(value), strict=True)
    made: T = kind(**{**dict(kept), **changes})
    return made


def field_names(kind: type[object]) -> tuple[str, ...]:
    """Return the names of the fields of a record class or a dataclass, () for any other."""
    names: tuple[str, ...] | None = getattr(kind, "record_names", None)
    return tuple(getattr(kind, "__dataclass_fields__", ())) if names is None else names


def find_default(kind: type[object], name: str, otherwise: object = None) -> object:
    """Return the default of a record's field, `otherwise` where it has none."""
    found = getattr(kind, "record_defaults", {}).get(name, otherwise)
    return found.make() if isinstance(found, _Factory) else found


def _values_getter(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return a function from a record to its values; static, or it would be a method."""
    if len(names) > 1:
        return attrgetter(*names)
    if names:
        one = attrgetter(names[0])
        return staticmethod(lambda self: (one(self),))
    return staticmethod(lambda _: ())


def _init_later(
    made: Any, names: tuple[str, ...], defaults: dict[str, Any], *, is_frozen: bool
) -> Callable[..., None]:
    """Return an `__init__` that writes the real one and gives way to it when first called."""

    def write_and_call(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _make_init(made, names, defaults, is_frozen=is_frozen)
        made.__init__(self, *args, **kwargs)

    return write_and_call


def _make_init(
    made: Any, names: tuple[str, ...], defaults: dict[str, Any], *, is_frozen: bool
) -> Callable[..., None]:
    """Write `__init__`; a frozen slot is set by its own descriptor, past `__setattr__`."""
    scope: dict[str, Any] = {"_MISSING": _MISSING}
    parameters, lines = ["self"], []
    for name in names:
        value = name
        if name in defaults:
            given = defaults[name]
            if isinstance(given, _Factory):
                scope[f"_make_{name}"] = given.make
                value = f"_make_{name}() if {name} is _MISSING else {name}"
                given = _MISSING
            scope[f"_default_{name}"] = given
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        if is_frozen:
            scope[f"_set_{name}"] = made.__dict__[name].__set__
            lines.append(f" _set_{name}(self, {value})")
        else:
            lines.append(f" self.{name} = {value}")
    source = f"def __init__({', '.join(parameters)}):\n" + ("\n".join(lines) or " pass")
    exec(source, scope)  # noqa: S102  names are this package's own identifiers
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _eq(self: Any, other: Any) -> Any:
    if self is other:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self.record_values(self) == self.record_values(other)


def _hash(self: Any) -> int:
    return hash(self.record_values(self))


def _repr(self: Any) -> str:
    return _show(self, zip(self.record_names, self.record_values(self), strict=True))


def _node_repr(self: Any) -> str:
    values = ((name, getattr(self, name)) for name in self.record_names)
    return _show(self, ((name, value) for name, value in values if isinstance(value, _PLAIN)))


def _show(self: Any, fields: Iterable[tuple[str, Any]]) -> str:
    written = (f"{name}={repr(value)[:_LONGEST_REPR]}" for name, value in fields)
    return f"{type(self).__name__}({', '.join(written)})"


def _setattr(self: Any, name: str, _: object) -> None:
    raise FrozenRecordError(f"{type(self).__name__}.{name} cannot be changed: records are frozen")


def _delattr(self: Any, name: str) -> None:
    raise FrozenRecordError(f"{type(self).__name__}.{name} cannot be deleted: records are frozen")


def _reduce(self: Any) -> tuple[object, ...]:
    return type(self), self.record_values(self)


_RECORD_METHODS: Final = {
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__reduce__": _reduce,
}
_NODE_METHODS: Final = {"__repr__": _node_repr}
