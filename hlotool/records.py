"""Records and nodes that are cheap to define, because defining them is most of start-up.

`@record` does what hlotool wants of `@dataclass(frozen=True, slots=True)`, `@node_class` what it
wants of `@dataclass(slots=True, eq=False)`, in a twentieth of the time: only `__init__` is
made for each class, and that with its first instance; the other methods are shared. A summary
imports some hundred and thirty such classes (docs/performance.md has the numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from operator import attrgetter
from types import CodeType, FunctionType
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
    if tuple(defaults) != names[len(names) - len(defaults) :]:
        raise TypeError(f"{cls.__name__}: a field without a default follows one that has one")
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


def list_values(value: object) -> list[object]:
    """Return the values of a record's fields, in their order."""
    made: Any = value
    return list(made.record_values(made))


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
    """Return an `__init__` that makes the real one and gives way to it when first called."""

    def make_and_call(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _make_init(made, names, defaults, is_frozen=is_frozen)
        made.__init__(self, *args, **kwargs)

    return make_and_call


def _make_init(
    made: Any, names: tuple[str, ...], defaults: dict[str, Any], *, is_frozen: bool
) -> Callable[..., None]:
    """Make `__init__` from the code of all classes with so many fields, by putting in names."""
    scope: dict[str, Any] = {"missing": _MISSING}
    given = []
    factories = []
    for number, name in enumerate(names):
        if is_frozen:  # a slot is set by its own descriptor, past the frozen `__setattr__`
            scope[f"set_{number}"] = made.__dict__[name].__set__
        if name in defaults:
            value = defaults[name]
            if isinstance(value, _Factory):
                scope[f"make_{number}"] = value.make
                factories.append(number)
                value = _MISSING
            given.append(value)
    code = _write_init(len(names), tuple(factories), is_frozen)
    fields = {f"field_{number}": name for number, name in enumerate(names)}
    code = code.replace(
        co_varnames=("self", *names),
        co_names=tuple(fields.get(name, name) for name in code.co_names),
    )
    init = FunctionType(code, scope, "__init__", tuple(given))
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


@cache
def _write_init(count: int, factories: tuple[int, ...], is_frozen: bool) -> CodeType:
    """Compile an `__init__` of `count` fields, which takes ten times as long as using it again.

    Fields, their setters and factories go by number here.
    """
    lines = [f"def __init__({', '.join(['self', *(f'value_{n}' for n in range(count))])}):"]
    for number in range(count):
        value = f"value_{number}"
        if number in factories:
            value = f"make_{number}() if {value} is missing else {value}"
        setter = f"set_{number}(self, {value})" if is_frozen else f"self.field_{number} = {value}"
        lines.append(f" {setter}")
    scope: dict[str, Any] = {}
    exec("\n".join([*lines, " pass"]), scope)  # noqa: S102  nothing in it comes from outside
    code: CodeType = scope["__init__"].__code__
    return code


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
