"""What somebody changed in the program, said in the words of an edit, with both values.

The texts that XLA was given are compared where both sides have one, else the compiled ones. All
that differs is claimed by one edit, in this order: sizes of arguments, and whatever follows from
them; arguments and results that are new or gone; loops and layers; what the backward pass computes
again; scopes; then instruction by instruction element types, shapes, constants, attributes,
operands, operations. What follows from something else is no edit of its own: of values of another
shape the first is told, of values in another type the types, and a constant that grew as a
dimension did is none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, islice, product
from typing import Final, TypeAlias

from msgspec.structs import replace

from hlotool.analysis.origin import find_scope
from hlotool.analysis.shardings.witness import is_constraint
from hlotool.compare.causes.cause import (
    Cause,
    CauseId,
    Claim,
    Evidence,
    find_main_scope,
    fold_scope,
    is_within,
)
from hlotool.compare.changes.reasons import Reason, list_other_sizes, pair_arrays
from hlotool.compare.match.structure import list_reached
from hlotool.hlo import Instruction, Shape
from hlotool.hlo.opcodes import COLLECTIVES, FREE, MATRIX_PRODUCTS, MOVES, TRANSCENDENTAL
from hlotool.program.program import Program
from hlotool.table.sums import group_by
from hlotool.table.words import fold_numbers, list_some

_Pair: TypeAlias = tuple[Instruction, Instruction]
_Reasons: TypeAlias = tuple[Reason, ...]
_Key: TypeAlias = tuple[str | None, str | None, str | None]  # what it is about, old and new value
_Keys: TypeAlias = Iterator[_Key]
_Find: TypeAlias = Callable[[Instruction, Instruction, _Reasons], _Keys]
_MOST_NAMED: Final = 3
_MOST_VALUES: Final = 3
_MOST_TOLD: Final = 6  # operations
_MOST_FACTORS: Final = 64  # by which dimensions grew
# Attributes that somebody writes, and what each is called.
_WRITTEN: Final[Mapping[str, str]] = {
    "direction": "comparison",
    "slice": "slice",
    "dimensions": "axes",
    "padding": "padding",
    "window": "window",
    "dynamic_slice_sizes": "sizes of the slice",
    "iota_dimension": "axis",
    "lhs_contracting_dims": "contracted axes",
    "rhs_contracting_dims": "contracted axes",
    "lhs_batch_dims": "batch axes",
    "dim_labels": "axes",
    "feature_group_count": "feature groups",
    "batch_group_count": "batch groups",
    "operand_precision": "precision",
    "precision_config": "precision",
    "is_stable": "stability",
    "largest": "order",
    "k": "k",
    "custom call target": "custom call",
    "fft_type": "transform",
    "fft_length": "length",
    "algorithm": "algorithm",
    "distribution": "distribution",
    "exponent_bits": "precision",
}
_AXES: Final = frozenset(
    (
        *("dimensions", "lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims"),
        *("iota_dimension", "dynamic_slice_sizes"),
    )
)
# What these change follows from a size or a type.
_SIZED: Final = frozenset(("slice", "padding", "window", "dynamic_slice_sizes", "fft_length", "k"))
_MADE_OF_SIZES: Final = frozenset(("broadcast", "iota", "constant", "parameter", "reduce"))
_COMMUTATIVE: Final = frozenset(("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
_PLUMBING: Final = FREE | MOVES | {"opt-barrier", "broadcast", "convert", "while", "call"}
_HEAVY: Final = COLLECTIVES | MATRIX_PRODUCTS
_FUNCTION: Final = re.compile(r"(?:^|/)(jit\(\w+\))(?=/)")
_CALLED: Final = re.compile(r"(?:.*\()?jit\((\w+)\)+")  # `transpose(jvp(jit(silu)))` too
_PARTS: Final = re.compile(r"^[^\[.]+|\[[^\]]*\]|\.\w+")  # of `state['nu'][0].mu`


class Edits:
    """What differs and nobody has claimed yet.

    `told` are the instructions that layers, loops and what is made again account for.
    """

    def __init__(self, evidence: Evidence, told: Collection[Instruction]) -> None:
        self._given = given = evidence.given
        self._scopes = evidence.scopes
        # What XLA was given has global shapes; a device's share is in what it made of it.
        self._sizes = [
            {one.metadata().op_name: one.shape.size_bytes or 0 for one in module.entry.parameters}
            for module in evidence.modules
        ]
        self._reasoner = given.reasoner
        pairs, back, copies = given.reasoner.pairs, given.reasoner.back, given.reasoner.copies
        self._factors: set[Fraction] = set()
        self._has_found = False
        self._gone, self._come = (
            {
                one: None
                for computation in list_reached(program)
                for one in computation.instructions
                if one not in paired and one not in copies
            }
            for program, paired in zip(given.programs, (pairs, back), strict=True)
        )
        for side in (self._gone, self._come):
            self._take(side, [one for one in side if one in told])
        self._changed: dict[_Pair, _Reasons] = dict(given.reasoner.changed)

    def find(self) -> Iterator[Claim]:
        """Yield what was changed in the program, with the instructions that each edit changed."""
        self._learn_sizes()
        for find in (
            self._find_arguments,
            self._find_results,
            self._find_scopes,
            partial(self._group, "operation-replaced", self._see_replaced),
            self._find_types,
            self._find_shapes,
            self._find_constants,
            partial(self._group, "attribute-changed", self._see_attributes),
            partial(self._group, "operands-swapped", self._see_swapped),
            self._find_moved,
            self._find_operations,
        ):
            for claim in find():
                self._has_found = True
                yield claim

    # -- what follows from sizes

    def _learn_sizes(self) -> None:
        """Learn by which factors dimensions of arguments, and rounds of loops, are larger."""
        for old, new in self._reasoner.pairs.items():
            if old.opcode == new.opcode == "parameter" and old.computation is old.module.entry:
                self._factors.update(_list_factors(old.shape, new.shape))
        for change in self._reasoner.loops.changes:
            if change.old or change.new:
                self._factors.add(Fraction(change.new or 1, change.old or 1))
                self._factors.add(Fraction(change.old or 1, change.new or 1))
        if len(self._factors) < _MOST_FACTORS:
            self._factors |= {one * other for one, other in product(self._factors, repeat=2)}

    def _follows(self, old: Shape, new: Shape) -> bool:
        """Say whether a shape differs in dimensions that grew as those of arguments did."""
        factors = _list_factors(old, new)
        return bool(factors) and factors <= self._factors

    # -- arguments and results

    def _find_arguments(self) -> Iterator[Claim]:
        """Yield arguments that are new or gone, by their tree, and those of another type."""
        names = [
            {one.metadata().op_name for one in program.expect_module().entry.parameters}
            for program in self._given.programs
        ]
        for kind, side, others, sign in (
            ("arguments-new", self._come, names[0], 1),
            ("arguments-gone", self._gone, names[1], -1),
        ):
            found = [
                one for one in side if _is_argument(one) and one.metadata().op_name not in others
            ]
            if found:
                size = sign * sum(self._measure(one, max(sign, 0)) for one in found)
                trees = _name_trees(found, others)
                cause = Cause(kind, len(found), trees, measure="parameters", delta_bytes=size)
                yield Claim(cause, self._take(side, found))
        for types, retyped in self._list_retyped().items():
            pairs = [pair for pair in retyped if _is_argument(pair[0])]
            delta = sum(self._measure(new, 1) - self._measure(old, 0) for old, new in pairs)
            if pairs:
                trees = _name_trees([new for _, new in pairs], names[0])
                cause = Cause("arguments-retyped", len(pairs), trees, None, *types)
                cause = replace(cause, measure="parameters", delta_bytes=delta)
                yield Claim(cause, self._settle(pairs))

    def _measure(self, parameter: Instruction, side: int) -> int:
        """Return the bytes of a parameter on a device, of the old side or the new."""
        sizes = self._sizes[side]
        return sizes.get(parameter.metadata().op_name, parameter.shape.size_bytes or 0)

    def _list_retyped(self) -> dict[tuple[str, str], list[_Pair]]:
        """List the pairs that still differ in the element type, by both types."""
        found: defaultdict[tuple[str, str], list[_Pair]] = defaultdict(list)
        for old, new in self._changed:
            types = _compare_types(old.shape, new.shape)
            if types:
                found[types].append((old, new))
        return found

    def _find_results(self) -> Iterator[Claim]:
        """Yield that the program returns more results, or fewer, than state that is new does."""
        modules = [program.expect_module() for program in self._given.programs]
        roots = [module.entry.root for module in modules]
        old, new = (sum(1 for _ in root.shape.leaves()) for root in roots)
        arguments = [len(module.entry.parameters) for module in modules]
        # State that is new is handed on as well.
        if new - old not in {0, arguments[1] - arguments[0]} and roots[0].opcode == "tuple":
            paired = self._reasoner.back if new > old else self._reasoner.pairs
            alone = [str(one.shape) for one in roots[new > old].operands if one not in paired]
            subject = list_some(alone, _MOST_NAMED) or None
            yield Claim(Cause("results", abs(new - old), subject, None, str(old), str(new)))

    # -- scopes

    def _find_scopes(self) -> Iterator[Claim]:
        """Yield scopes that one side alone has, outermost ones, with what they compute."""
        old, new = self._scopes
        for kind, side, own, others in (
            ("scope-new", self._come, new, old),
            ("scope-gone", self._gone, old, new),
        ):
            told: list[str] = []
            parts = {part for scope in others for part in scope.split("/")}
            for scope in sorted(own):
                last = scope.rpartition("/")[2]
                if last in parts or any(is_within(scope, outer) for outer in told):
                    continue
                told.append(scope)
                found = [one for one in side if is_within(fold_scope(one), scope)]
                if any(one.opcode not in _PLUMBING for one in found):
                    names = self._name_operations(found)
                    values = (names, None) if side is self._gone else (None, names)
                    cause = Cause(kind, len(found), scope, None, *values)
                    yield Claim(cause, self._take(side, found))

    # -- pairs

    def _find_types(self) -> Iterator[Claim]:
        """Yield each change of the type in which values are computed."""
        for types, pairs in self._list_retyped().items() if self._given.is_input else ():
            computing = [new for _, new in pairs if new.opcode not in _PLUMBING]
            touched = self._settle(pairs)
            names = self._name_operations(computing)
            if names:
                # A scope is told where it has all of them: most would read as all.
                first, *more = sorted(map(fold_scope, computing), key=len)
                scope = first if all(is_within(one, first) for one in more) else None
                what = len(computing), names, scope or None
                yield Claim(Cause("type-changed", *what, *types), touched)

    def _is_written(self, pair: _Pair) -> bool:
        return any(one.kind in _WRITTEN for one in self._changed[pair])

    def _find_shapes(self) -> Iterator[Claim]:
        """Yield the first values of another shape where no argument's size says why."""
        shaped = [
            pair
            for pair, reasons in self._changed.items()
            if any(one.kind == "shape" for one in reasons)
        ]
        self._settle(
            [pair for pair in shaped if self._follows(pair[0].shape, pair[1].shape)], sized=True
        )
        rest = [pair for pair in shaped if pair in self._changed and pair[0].opcode not in _PASSED]
        # What has more dimensions, or is made of sizes alone, mostly follows from something else.
        rest.sort(
            key=lambda pair: (
                not self._is_written(pair),
                not _list_factors(pair[0].shape, pair[1].shape),
                pair[0].opcode in _MADE_OF_SIZES,
            )
        )
        shaped_old = {old for old, _ in shaped}
        firsts = [pair for pair in rest if shaped_old.isdisjoint(_list_sources(pair[0]))]
        written = {pair for pair in firsts if self._is_written(pair)}
        is_told = False
        for pair in firsts:
            if pair not in self._changed:
                continue
            old, new = pair
            factors = _list_factors(old.shape, new.shape)
            factors |= {1 / one for one in factors}
            if len(self._factors) < _MOST_FACTORS:
                both = product(factors, factors | self._factors)
                self._factors |= factors | {a * b for a, b in both}
            alike = [
                one
                for one in rest
                if one in self._changed and one != pair and one not in written
                if self._follows(one[0].shape, one[1].shape)
            ]
            is_made_anew = not (
                self._come.keys().isdisjoint(_list_sources(new))
                and self._gone.keys().isdisjoint(_list_sources(old))
            )
            is_other = is_made_anew or not self._given.is_input or (is_told and not factors)
            if self._is_written(pair):  # the attribute tells it
                self._settle(alike, sized=True)
                continue
            touched = self._settle([pair, *alike], sized=True)
            if not is_other:
                is_told = True
                what = _tail(new), find_main_scope([new]), _dims(old.shape), _dims(new.shape)
                yield Claim(Cause("shape-changed", len(alike) + 1, *what), touched)
        rest = [pair for pair in rest if pair in self._changed]
        self._settle([pair for pair in rest if not self._is_written(pair)])

    def _find_constants(self) -> Iterator[Claim]:
        """Yield constants of another value, those of one scope and pair of values together."""
        found: defaultdict[tuple[str, str], list[_Pair]] = defaultdict(list)
        for (old, new), reasons in self._changed.items():
            values = next(((one.old, one.new) for one in reasons if one.kind == "constant"), None)
            if values and not self._is_scaled(*values) and self._are_used_alike(old, new):
                found[values].append((old, new))
        for values, pairs in found.items():
            users = [user for _, new in pairs for user in _list_users(new)]
            shape, scope = str(pairs[0][1].shape), find_main_scope(users[:1])
            cause = Cause("constant-changed", len(pairs), shape, scope, *values)
            yield Claim(cause, [*self._settle(pairs), *users])

    def _are_used_alike(self, old: Instruction, new: Instruction) -> bool:
        """Say whether some counterparts read two constants: else what reads them is another."""
        others = set(_list_users(new))
        pairs = self._reasoner.pairs
        found = (pairs.get(one) for one in _list_users(old))
        silent = _PLUMBING - {"call"}
        return any(one in others and one.opcode not in silent for one in found if one)

    def _is_scaled(self, old: str, new: str) -> bool:
        """Say whether a number grew as a dimension did, or stands beside one that did."""
        try:
            one, other = Fraction(old.strip("{}")), Fraction(new.strip("{}"))
        except (ValueError, ZeroDivisionError):
            return False
        numbers = ((one, other), (one + 1, other + 1), (one - 1, other - 1))
        ratios = {after / before for before, after in numbers if before and after}
        known = self._factors | {1 / each for each in self._factors}
        squared = {float(each) ** 0.5 for each in known}
        return bool(known & ratios) or any(
            abs(float(ratio) - each) < _ROUNDING * each
            for ratio in ratios
            for each in squared | set(map(float, known))
        )

    def _see_attributes(self, old: Instruction, new: Instruction, reasons: _Reasons) -> _Keys:
        """Yield what somebody wrote otherwise: a comparison, a slice, an axis."""
        for one in reasons:
            if one.kind in _WRITTEN and (one.kind not in _AXES or _have_same_ranks(old, new)):
                what = _WRITTEN[one.kind]
                subject = what if what == new.opcode else f"{what} of {_tail(new)}"
                yield subject, one.old, one.new

    def _see_swapped(self, old: Instruction, new: Instruction, reasons: _Reasons) -> _Keys:
        """Yield an operation whose operands stand in another order."""
        is_free = new.opcode in FREE or (new.opcode in _COMMUTATIVE and self._has_found)
        if not is_free and any(one.kind == "operands" for one in reasons):
            moved = [self._reasoner.pairs.get(one) for one in old.operands]
            is_other = moved != list(new.operands)
            if is_other and sorted(map(id, moved)) == sorted(map(id, new.operands)):
                yield _tail(new), None, None

    def _see_replaced(self, old: Instruction, new: Instruction, reasons: _Reasons) -> _Keys:
        """Yield an operation in whose place another stands: maximum, where tanh was."""
        is_moved = {old.opcode, new.opcode} & (_PLUMBING - {"call"})
        if not is_moved and any(one.kind == "opcode" for one in reasons):
            names = _tail(old), _tail(new)
            yield (None, *(names if names[0] != names[1] else (old.opcode, new.opcode)))

    def _group(self, kind: CauseId, find: _Find) -> Iterator[Claim]:
        """Yield one claim for all pairs of one scope that differ alike."""
        found: defaultdict[tuple[_Key, str | None], list[_Pair]] = defaultdict(list)
        for pair, reasons in self._changed.items():
            for key in find(*pair, reasons):
                found[key, find_main_scope([pair[1]])].append(pair)
        for ((subject, old, new), scope), alike in found.items():
            pairs = [pair for pair in alike if pair in self._changed]
            if pairs:
                cause = Cause(kind, len(pairs), subject, scope, old, new)
                yield Claim(cause, self._settle(pairs))

    def _find_moved(self) -> Iterator[Claim]:
        """Yield products and collectives that run in a loop now, or no longer."""
        if any(one.kind != "trips" for one in self._reasoner.loops.changes):
            return
        some = ((one for one in side if one.opcode in _HEAVY) for side in (self._gone, self._come))
        for opcode, *sides in _divide(*some, key=lambda one: one.opcode):
            before, after = (
                max((program.executions.lower_bound(one.computation) for one in some), default=0)
                for program, some in zip(self._given.programs, sides, strict=True)
            )
            if min(before, after) == 1 < max(before, after):
                both = [*sides[0], *sides[1]]
                rounds = str(before), str(after)
                yield Claim(Cause("moved", len(both), opcode, find_main_scope(both), *rounds), both)

    # -- what is left

    def _find_named(self) -> Iterator[Claim]:
        """Yield, of compiled programs, the names that one side alone has in a scope.

        XLA puts operations in and takes them out, but for those that JAX has named.
        """
        old, new = (_name_all(program) for program in self._given.programs)
        for scope, is_backward in sorted(old.keys() & new.keys()):
            key = scope, is_backward
            gone, come = old[key] - new[key], new[key] - old[key]
            if gone or come:
                names = [list_some(sorted(each), _MOST_TOLD) or None for each in (gone, come)]
                subject, count = "backward" if is_backward else None, len(gone) + len(come)
                yield Claim(
                    Cause("operations", count, subject, scope or None, names[0], names[1]),
                    [one for one in (*self._gone, *self._come) if fold_scope(one) == scope],
                )

    def _find_operations(self) -> Iterator[Claim]:
        """Yield, scope by scope, what is computed that was not, and what no longer is.

        What only moves or converts values is told where nothing else is.
        """
        if not self._given.is_input:
            yield from self._find_named()
            return
        found = list(self._list_operations(_PLUMBING))
        if not found and not self._has_found:
            found = list(self._list_operations(FREE | {"broadcast", "call", "while"}))
        yield from found

    def _list_operations(self, silent: Collection[str]) -> Iterator[Claim]:
        inside = self._list_inside()
        kept = (
            [one for one in side if one.opcode not in FREE and one not in inside]
            for side in (self._gone, self._come)
        )
        sides = ((one for one in side if not is_constraint(one)) for side in kept)
        for scope, *both in _divide(*sides, key=fold_scope):
            telling = [
                [one for one in side if one.opcode not in silent or _is_named_call(one)]
                for side in both
            ]
            counts = [Counter(map(_tail, side)) for side in telling]
            more = counts[0] - counts[1], counts[1] - counts[0]
            told = [
                [one for one in side if _tail(one) in names]
                for side, names in zip(telling, more, strict=True)
            ]
            names = [self._name_operations(side) for side in told]
            if any(names):
                count = sum(map(len, told))
                cause = Cause("operations", count, None, scope or None, names[0], names[1])
                yield Claim(cause, [*both[0], *both[1]])

    def _list_inside(self) -> set[Instruction]:
        """Return what stands in functions of new, or gone, calls alone: the calls name them."""
        found: set[Instruction] = set()
        for program, side in zip(self._given.programs, (self._gone, self._come), strict=True):
            for computation in reversed(program.graph.callees_first):
                calls = program.graph.callers.get(computation)
                if calls and all(
                    one in side and (one in found or one.opcode == "call") for one in calls
                ):
                    found.update(computation.instructions)
        return found

    def _name_operations(self, some: Sequence[Instruction]) -> str | None:
        """Name functions, primitives and the constants that they read: `jit(silu), mul, 0.01`."""
        names: Counter[str] = Counter()
        for one in some:
            name = _find_function(one.metadata().op_name) or _tail(one)
            if one.opcode == "slice":
                name = f"slice {one.attributes.get('slice', '')}"
            elif one.opcode == "convert":
                name = f"convert to {str(one.shape).partition('[')[0]}"
            names[name] += 1
        literals = dict.fromkeys(
            made.literal
            for one in some
            for operand in one.operands
            for made in (operand, *operand.operands[:1])
            if made.opcode == "constant" and (made in self._come or made in self._gone)
        )
        called = {_tail(one) for one in some if one.opcode == "call"}
        order = sorted(names, key=lambda name: (name not in called, -names[name]))
        told = [name for name in order if not name.startswith(_UNNAMED)]
        told += [f"constant {literal}" for literal in literals if len(literal) < _LONG]
        return list_some(told, _MOST_TOLD) or None

    def _settle(self, pairs: Iterable[_Pair], *, sized: bool = False) -> list[Instruction]:
        """Take pairs out of what is left; those of another size alone may differ in more."""
        touched: list[Instruction] = []
        for pair in pairs:
            reasons = self._changed.pop(pair, ())
            rest = tuple(
                one for one in reasons if sized and one.kind in _WRITTEN and one.kind not in _SIZED
            )
            if rest:
                self._changed[pair] = rest
            touched += pair
        return touched

    def _take(
        self, side: dict[Instruction, None], some: Iterable[Instruction]
    ) -> list[Instruction]:
        """Take instructions out of what is left, with all that is left in functions they call."""
        found = list(some)
        for one in found:  # grows while it is walked
            side.pop(one, None)
            for body in one.called_computations() if one.opcode == "call" else ():
                inside = [each for each in body.instructions if each in side]
                found += inside
                for each in inside:
                    side.pop(each)
        return found


def _divide(
    old: Iterable[Instruction], new: Iterable[Instruction], *, key: Callable[[Instruction], str]
) -> Iterator[tuple[str, list[Instruction], list[Instruction]]]:
    """Yield the instructions of both sides by a key that they share."""
    here, there = group_by(old, key), group_by(new, key)
    for name in {**here, **there}:
        yield name, here.get(name, []), there.get(name, [])


def _is_argument(one: Instruction) -> bool:
    return one.opcode == "parameter" and one.computation is one.module.entry


_UNNAMED: Final = ("call", "closed_", "dynamic_", "checkpoint", "remat")
_SILENT_PRIMITIVES: Final = frozenset(
    (
        *("convert_element_type", "broadcast_in_dim", "reshape", "transpose", "squeeze", "copy"),
        *("while", "body", "cond", "closed_call", "checkpoint", "select_n", "add_any", "pjit"),
    )
)
_PASSED: Final = frozenset(("parameter", "get-tuple-element", "tuple", "while", "call", "fusion"))
_ROUNDING: Final = 1e-4
_LONG: Final = 24


def _tail(one: Instruction) -> str:
    """Return the primitive that an instruction is a part of, else its opcode."""
    tail = one.metadata().op_name.rpartition("/")[2]
    named = _CALLED.fullmatch(tail)
    if named:
        return named[1]
    return one.opcode if not tail or tail.endswith(")") else tail


def _find_function(op_name: str) -> str | None:
    """Return the innermost function in an op_name, `jit(silu)`, the program itself aside."""
    functions = [name for name in _FUNCTION.findall(op_name) if name != "jit(main)"]
    inner = functions[1:] if op_name.startswith("jit(") else functions
    return inner[-1] if inner else None


def _name_all(program: Program) -> Mapping[tuple[str, bool], set[str]]:
    """Return the functions and primitives in each scope, those of the backward pass apart."""
    found: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    for op_name, is_transcendental in {
        (one.metadata().op_name, one.opcode in TRANSCENDENTAL)
        for one in program.expect_module().instructions()
        if one.opcode not in _PLUMBING
    }:
        tail = op_name.rpartition("/")[2]
        is_named = tail.isidentifier() or tail.startswith("jit(")
        if is_named and tail not in _SILENT_PRIMITIVES:
            function = _find_function(op_name)
            scope = fold_numbers(find_scope(op_name) or "")
            # Outside of scopes XLA's own choices, of libraries say, take names along.
            if scope or function or is_transcendental:
                name = (function or tail).removeprefix("jit(").rstrip(")")
                found[scope, "transpose(" in op_name].add(name)
    return found


def _have_same_ranks(old: Instruction, new: Instruction) -> bool:
    """Say whether the numbers of axes mean the same in two instructions."""
    values = zip((old, *old.operands), (new, *new.operands), strict=False)
    return all(
        len(one.dims) == len(other.dims)
        for here, there in values
        for one, other in zip(here.shape.leaves(), there.shape.leaves(), strict=False)
    )


def _is_named_call(one: Instruction) -> bool:
    """Say whether an instruction calls a function that the user, or a library, has named."""
    return one.opcode == "call" and not _tail(one).startswith(_UNNAMED)


def _dims(shape: Shape) -> str:
    return ", ".join(map(str, islice(shape.leaves(), _MOST_VALUES)))


def _list_factors(old: Shape, new: Shape) -> set[Fraction]:
    """Return by which factors dimensions differ; none where there are more or fewer of them."""
    return {
        Fraction(after, before)
        for one, other in pair_arrays(old, new)
        for _, before, after in list_other_sizes(one.dims, other.dims)
    }


def _compare_types(old: Shape, new: Shape) -> tuple[str, str] | None:
    """Return the types of the first array that differs in it."""
    for one, other in zip(old.leaves(), new.leaves(), strict=False):
        if one.dtype != other.dtype and _kind(one.dtype) == _kind(other.dtype):
            return one.dtype, other.dtype
    return None


def _kind(dtype: str) -> str:
    """Return what a type holds: numbers with a point, or whole ones."""
    return "float" if dtype.startswith(("f", "b")) else "whole" if dtype[0] in "su" else dtype


def _list_sources(one: Instruction) -> Iterator[Instruction]:
    """Yield the operands of an instruction, calls and tuples looked through one step."""
    for operand in one.operands:
        yield operand
        if operand.opcode == "get-tuple-element":
            yield from operand.operands


def _list_users(one: Instruction) -> list[Instruction]:
    """List what computes with a constant, broadcasts and conversions looked through."""
    found: list[Instruction] = []
    pending = [one]
    for each in pending:
        for user in each.users:
            if user.opcode in {"broadcast", "convert", "reshape"}:
                pending.append(user)
            else:
                found.append(user)
    return found


def _name_trees(parameters: Iterable[Instruction], others: Iterable[str] = ()) -> str:
    """Name arguments: by the outermost tree that the other side has none of, layers together."""
    known = {prefix for name in others for prefix in accumulate(_PARTS.findall(name))}
    told: defaultdict[str, list[str]] = defaultdict(list)
    for one in parameters:
        name = one.metadata().op_name or one.name
        prefixes = accumulate(_PARTS.findall(name))
        tree = next((each for each in prefixes if each not in known), name)
        told[fold_numbers(tree)].append(tree)
    shown = [f"{name} ×{len(all_)}" if all_[1:] else all_[0] for name, all_ in told.items()]
    return list_some(shown, _MOST_NAMED)
