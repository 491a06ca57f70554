"""Where a value comes from, and what uses it.

Most values of an optimized program are made by instructions that say little of the user's program:
a copy, an element of a loop's state, a fusion of several results. So `ValueOrigins` goes from the
definition back to what makes the value, and takes the first scope and line that are met there and,
where there are none, those of what uses the value. `Users` finds that: through tuples, loops and
calls it looks for what really reads the value. Without a module, the instruction texts that the
used-values section of an assignment repeats are all there is.

For `%w{1}` of a loop that stacks in each round what a fusion computes:

    %w = while(%t)                            runs others: what is told here is looked at last
      %r = tuple(%i, %u)                      the last round of the body makes w{1}: its root's {1}
      %u = dynamic-update-slice(%s1, %f, …)   the update makes what is written in place
      %f = fusion(…), op_name ".../mlp/dot"   scope "mlp", told by a producer

`UseCounter` counts operands as XLA does, exactly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from heapq import merge
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.dataflow.schedule import flatten_schedule
from hlotool.analysis.dataflow.sharing import follow
from hlotool.analysis.dataflow.values import Dataflow, Position, trace_values
from hlotool.analysis.graph.calls import list_branches, list_callers
from hlotool.analysis.origin import find_scope, is_backward, is_forward, is_of_loop
from hlotool.hlo import Computation, Instruction, Module, ShapeIndex, SourceLocation, TupleShape
from hlotool.hlo.buffers import BufferAssignment, BufferValue
from hlotool.hlo.opcodes import ASYNC_DONES, CONTROL_FLOW, MOVES, USES_NOTHING

MOST_PRODUCERS: Final = 64  # of one value; whoever asks wants the near ones
_MOST_OPERANDS: Final = 8  # of one instruction that are followed
# Their elements are those of the first operand, all or some of them.
_MOVING: Final = MOVES | {
    "async-done", "async-update", "bitcast", "convert", "copy-done", "copy-start",
    "dynamic-slice", "opt-barrier", "pad", "slice",
}  # fmt: skip
_JOINING: Final = "ConcatBitcast"  # TPU: slices of one array, fetched one by one, are one again


Teller: TypeAlias = Literal["own", "producer", "user"]


class ValueOrigin(Struct, frozen=True):
    """What is known about where a value comes from; None for what is not.

    `opcode` and `op_name` are those of the defining instruction. Scope and source line are its
    own, or those of what makes the value. If neither has a line, that of what uses the value
    stands in, and so does the scope if there is no scope either. `stack_frame` is the line's row
    of StackFrames. `moved_parameter` names the entry parameter of which the value is a copy, a
    conversion or a part. `producer_op_name` is the op_name that a scope of its own or of its
    producer was read from; without a scope, the first that was met.
    """

    opcode: str | None = None
    op_name: str | None = None
    scope: str | None = None
    scope_from: Teller | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_from: Teller | None = None
    stack_frame: int | None = None
    moved_parameter: str | None = None
    producer_op_name: str | None = None


class ValueOrigins:
    """Finds where the values of a program come from; an estimate was made of `flow`."""

    def __init__(
        self, module: Module | None, assignment: BufferAssignment, flow: Dataflow | None = None
    ) -> None:
        self.assignment = assignment
        self.module = module
        self.search = _Search(module) if module else None
        self.definers = index_definers(module, assignment, flow) if module else {}
        self._given = flow
        self._counter = UseCounter()

    def of(self, value: BufferValue) -> ValueOrigin:
        """Return the origin of a value."""
        instruction = self.definers.get(value.instruction)
        if instruction is None or self.search is None:
            return self._read_text(value)
        index = value.index or ()
        found = self.search.among_producers(instruction, index)
        is_given = instruction.opcode == "parameter" and found.moved_parameter is not None
        used = _Sighting()
        if found.line is None and not is_given:
            used = self.search.among_users(instruction, index)
        scope = found.scope or (used.scope if found.line is None else None)
        line, teller = found.line or used.line, found.line_teller or used.line_teller

        def who(made_by: Instruction | None) -> Teller:
            return "user" if made_by is None else "own" if made_by is instruction else "producer"

        return ValueOrigin(
            instruction.opcode,
            instruction.metadata().op_name or None,
            scope,
            who(found.scope_teller) if scope else None,
            line.file if line else None,
            line.line if line else None,
            who(found.line_teller) if line else None,
            (teller.metadata().stack_frame_id or None) if teller else None,
            found.moved_parameter,
            (found.scope_teller or found.namer).metadata().op_name if found.namer else None,
        )

    def is_kept(self, name: str, index: ShapeIndex) -> bool:
        """Whether the forward pass makes a value, and the backward pass uses it.

        The op_names of JAX tell: what makes it is of jvp, and a user of its transpose.
        """
        if (instruction := self.definers.get(name)) is None or self.search is None:
            return False
        made = (one.metadata().op_name for one in self.search.list_producers(instruction, index))
        if not is_forward(next((op_name for op_name in made if "jvp(" in op_name), "")):
            return False
        users = self.search.users.of(instruction, index, itself=True)
        return any(is_backward(one.metadata().op_name) for one in users)

    def _read_text(self, value: BufferValue) -> ValueOrigin:
        if (definition := self.assignment.find_definition(value.number)) is None:
            return ValueOrigin()
        metadata = definition.metadata
        scope, file = find_scope(metadata.op_name), metadata.source_file or None
        return ValueOrigin(
            definition.opcode,
            metadata.op_name or None,
            scope,
            "own" if scope else None,
            file,
            metadata.source_line or None,
            "own" if file else None,
        )

    def count_uses(self, value: BufferValue) -> int | None:
        """Return how many operands a value is: as the used-values section says, else counted.

        None where neither tells.
        """
        if self.assignment.used is not None:
            used = self.assignment.used.get(value.number)
            return used.use_count if used else None
        instruction, index = self.definers.get(value.instruction), value.index or ()
        if instruction is None or self.flow is None:
            return None
        found = self.flow.value_at(instruction, index)
        if found is None or (found.instruction, found.index) != (instruction, index):
            return None
        return self._counter.of([(instruction, index), *found.positions])

    @cached_property
    def flow(self) -> Dataflow | None:
        """The values of the module, None without one."""
        if self._given is not None or self.module is None:
            return self._given
        return trace_values(flatten_schedule(self.module))


def index_definers(
    module: Module, assignment: BufferAssignment, flow: Dataflow | None = None
) -> dict[str, Instruction]:
    """Return the instructions of a module by the names that an assignment has for them.

    An estimate was made of `flow`, and has full names. XLA's names are unique in the module that
    it dumps; one that several computations of this text have could be any of these, and is left
    out.
    """
    if flow is not None:
        return {one.instruction.full_name: one.instruction for one in flow.values}
    values = (value for each in assignment.allocations for value in each.values)
    wanted = {value.instruction for value in values}
    wanted -= module.repeated_names
    return {one.name: one for one in module.instructions() if one.name in wanted}


class _Sighting(Struct):
    """The scope that was met first with its line, else the first line; who has them.

    `namer` is the first with an op_name; `is_vague`: no line but a loop's was met.
    """

    scope: str | None = None
    scope_teller: Instruction | None = None
    line: SourceLocation | None = None
    line_teller: Instruction | None = None
    moved_parameter: str | None = None
    namer: Instruction | None = None
    is_vague: bool = False

    def look_at(self, instruction: Instruction, *, with_line: bool = True) -> None:
        """Take what is not known yet."""
        metadata = instruction.metadata()
        if self.namer is None and metadata.op_name:
            self.namer = instruction
        place = instruction.source_location(metadata) if with_line else None
        is_first = self.scope is None and bool(scope := find_scope(metadata.op_name))
        if is_first:
            self.scope, self.scope_teller = scope, instruction
        if place and (is_first or self.line is None):  # the line of the scope goes with it
            self.line, self.line_teller = place, instruction


class _Search:
    """Looks for a scope and a line in one module: from a value back to what makes it, and onwards.

    `loops` are the while instructions by the computations that they name, `loop_lines` their source
    lines.
    """

    def __init__(self, module: Module) -> None:
        self.entry = module.entry
        callers = list_callers(module, CONTROL_FLOW | {"fusion"})  # loops among them
        self.users = Users(callers)
        self.loops = {
            computation: loop
            for computation, found in callers.items()
            if (loop := next((one for one in found if one.opcode == "while"), None))
        }
        self.loop_lines = {
            (place.file, place.line)
            for loop in dict.fromkeys(self.loops.values())
            for one in (loop, *(condition.root for condition in loop.callees("condition")))
            if (place := one.source_location())
        }
        self.is_in_loop_line = cache(self._is_in_loop_line)  # asked of one several times
        self.of_producers: dict[tuple[Instruction, tuple[Position, ...]], _Sighting] = {}

    def among_producers(self, instruction: Instruction, index: ShapeIndex) -> _Sighting:
        """Look at what makes a value, nearest first, up to the parameter it all is.

        What says little of the value is looked at last, and so are lines that call a loop. What
        makes several results of an instruction is looked at once.
        """
        steps = self._step_back(_Step(instruction, index))
        key = instruction, tuple((one.instruction, one.shape_index) for one in steps)
        if key in self.of_producers:
            return self.of_producers[key]
        found = self.of_producers[key] = _Sighting()
        vague: list[Instruction] = []
        for producer in self.list_producers(instruction, index):
            if producer.opcode == "parameter" and producer.computation is self.entry:
                found.moved_parameter = producer.metadata().op_name or None
                break
            is_vague = self._is_vague(producer)
            if is_vague or self.is_in_loop_line(producer):
                vague.append(producer)
            if not is_vague:
                found.look_at(producer, with_line=producer not in vague[-1:])
            if found.scope and found.line:
                return found  # vague instructions are looked at only where something is missing
        found.is_vague = found.line is None
        for producer in vague:
            found.look_at(producer)
        return found

    def among_users(self, instruction: Instruction, index: ShapeIndex) -> _Sighting:
        """Look at what uses a value, for the nearest line; a vague one comes last."""
        best = _Sighting()
        for user in self.users.of(instruction, index):
            found = self.among_producers(user, ())
            if found.line and not found.is_vague:
                return found
            is_first = best.scope is None and best.line is None
            if (found.scope or found.line) and (is_first or best.is_vague > found.is_vague):
                best = found
        return best

    def list_producers(self, instruction: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
        """Yield an instruction, then what makes its value: nearest first, at most MOST_PRODUCERS.

        The last round of a loop makes its state, or what enters it where no round changes it;
        the inside of a fusion, a call or an asynchronous start its result, the update what is
        written in place, the operand what is only moved: copied, converted, cut out, brought
        into another layout. Of what a loop does for itself, the operands are producers. An entry
        parameter is yielded where the value is only moved from it.
        """
        pending = deque([_Step(instruction, index)])
        seen = {(instruction, index)}
        for _ in range(MOST_PRODUCERS):
            if not pending:
                return
            step = pending.popleft()
            yield step.instruction
            for other in self._step_back(step):
                one = other.instruction
                place = one, other.shape_index
                is_given = one.opcode == "parameter" and one.computation is self.entry
                may_tell = one.opcode != "constant" and (other.is_moved or not is_given)
                if may_tell and place not in seen:
                    seen.add(place)
                    pending.append(other)

    def _is_vague(self, instruction: Instruction) -> bool:
        """Whether an instruction's scope and line are no value's own, if another's are known.

        So it is where it runs others, where it is a fusion of several results, and where it is a
        loop's own: there JAX cuts the state of a round out of arrays, stacks results and counts.
        """
        opcode, shape = instruction.opcode, instruction.shape
        has_several = opcode == "fusion" and isinstance(shape, TupleShape)
        return opcode in CONTROL_FLOW or has_several or self._is_of_loop(instruction)

    def _is_in_loop_line(self, instruction: Instruction) -> bool:
        """Whether an instruction's line is one that calls a loop, and so may be the loop's."""
        place = instruction.source_location()
        return place is not None and (place.file, place.line) in self.loop_lines

    def _is_of_loop(self, instruction: Instruction) -> bool:
        return self.is_in_loop_line(instruction) and is_of_loop(instruction.metadata().op_name)

    def _step_back(self, step: _Step) -> list[_Step]:
        """Return where the search for what makes a value goes next."""
        one, index = step.instruction, step.shape_index
        opcode = one.opcode
        if opcode == "parameter":
            return self._before_parameter(step)
        if opcode == "while":
            return [step.to(body.root, index) for body in one.callees("body")]
        if opcode == "conditional":
            return [step.into(branch, index) for branch in list_branches(one)[:MOST_PRODUCERS]]
        if opcode in {"async-start", "call", "fusion"}:
            callee = one.callee()
            inner = index[1:] if opcode == "async-start" else index
            return [step.into(callee, inner)] if callee else []
        return self._before_operation(step)

    def _before_operation(self, step: _Step) -> list[_Step]:
        """Go from an operation to the operands that make its result, if any do."""
        one = step.instruction
        operands = one.operands[:_MOST_OPERANDS]
        if one.opcode == "dynamic-update-slice":
            return [step.to(each) for each in operands[1:2]]
        is_joined = one.opcode == "custom-call" and one.custom_call_target == _JOINING
        if is_joined or one.opcode in _MOVING:
            index = step.shape_index if one.opcode == "opt-barrier" else ()
            return [step.to(each, index) for each in operands[:1]]
        if self._is_of_loop(one):
            return [step.to(each)._replace(is_moved=False) for each in operands]
        is_in_fusion = step.caller is not None and step.caller.instruction.opcode == "fusion"
        if is_in_fusion and one.opcode not in {"custom-call", "reduce", "sort"}:
            changed = step._replace(is_moved=False, is_handed_on=False)
            return [changed.to(each) for each in operands]
        return []

    def _before_parameter(self, step: _Step) -> list[_Step]:
        """Go from a parameter to what the loop, or the caller that only moves it, puts in."""
        parameter, index = step.instruction, step.shape_index
        if (loop := self.loops.get(parameter.computation)) is not None:
            last = [step.to(body.root, index) for body in loop.callees("body")]
            is_kept = all((one.instruction, one.shape_index) == (parameter, index) for one in last)
            return [step.to(each, index) for each in loop.operands[:1]] if is_kept else last
        caller = step.caller
        if caller is None or caller.instruction.opcode == "conditional" or not step.is_handed_on:
            return []
        number = parameter.parameter_number
        outer = caller._replace(is_moved=step.is_moved)
        return [outer.to(each, index) for each in caller.instruction.operands[number : number + 1]]


class _Step(NamedTuple):
    """Where the search is: in what `caller` calls, or where the value is defined.

    `is_moved`: it has only met operations that move data. `is_handed_on`: so it is inside the
    caller, but for what a loop does for itself.
    """

    instruction: Instruction
    shape_index: ShapeIndex
    caller: _Step | None = None
    is_moved: bool = True
    is_handed_on: bool = True

    def to(self, instruction: Instruction, index: ShapeIndex = ()) -> _Step:
        """Go to another instruction, or to what it only names."""
        found, at = follow(instruction, index)
        return self._replace(instruction=found, shape_index=at)

    def into(self, callee: Computation, index: ShapeIndex) -> _Step:
        """Go to the result of what the instruction calls."""
        found, at = follow(callee.root, index)
        return _Step(found, at, self, self.is_moved)


MOST_USERS: Final = 64  # of one value; whoever asks wants the near ones
_HANDING_ON: Final = CONTROL_FLOW | {"get-tuple-element", "parameter", "tuple"}
_SAME_BYTES: Final = ASYNC_DONES | {"bitcast", "opt-barrier"}
_SAME_SHAPE: Final = frozenset(("copy", "opt-barrier"))  # tuples go through them as they are

_Use: TypeAlias = tuple[int, tuple[Instruction, int]]  # its place, who uses it, as which operand


def _updates(one: Instruction, what: Instruction) -> bool:
    """Whether an instruction writes a part of an array, such as a stack, as large as one of it."""
    body = one.callee() if one.opcode == "fusion" else None
    made = body.root if body else one
    while made.opcode == "bitcast" and made.operands:
        made = made.operands[0]
    sizes = {leaf.element_count for leaf in what.shape.leaves()}
    is_whole = any(leaf.element_count in sizes for leaf in one.shape.leaves())
    return made.opcode == "dynamic-update-slice" and is_whole


class Users:
    """Finds the instructions that use a value, for one module.

    `callers` are the instructions of control flow, and the fusions, that name each computation.
    """

    def __init__(self, callers: Mapping[Computation, Sequence[Instruction]]) -> None:
        self.callers = {computation: found[0] for computation, found in callers.items()}
        self._uses: dict[Instruction, _Uses] = {}

    def of(
        self, instruction: Instruction, index: ShapeIndex, *, itself: bool = False
    ) -> Iterator[Instruction]:
        """Yield what uses a value, then what uses the results of that: at most MOST_USERS.

        Of a value `itself`, only what uses its own bytes.

        Nearest first; the inside of a loop before what comes behind it. Tuples, loops, calls and
        branches only hand a value on, to what takes it out again, to what they run, and to what
        uses their results: they are not yielded themselves.
        """
        pending = deque([(instruction, index)])
        seen = set(pending)
        for _ in range(MOST_USERS):
            if not pending:
                return
            one, at = pending.popleft()
            if one is not instruction and one.opcode not in _HANDING_ON:
                yield one
                if itself and one.opcode not in _SAME_BYTES and not _updates(one, instruction):
                    continue
            for other in islice(self._after(one, at), MOST_USERS):
                if other not in seen:
                    seen.add(other)
                    pending.append(other)

    def _after(self, one: Instruction, index: ShapeIndex) -> Iterator[Position]:
        """Yield where the value is seen next; a position stands for all that is below it too."""
        uses = self._uses_of(one)
        if uses.is_root and (caller := self.callers.get(one.computation)) is not None:
            yield from _leave(one, caller, index)
        for _, (user, number) in uses.of(index):
            yield from _enter(user, number, index)

    def _uses_of(self, one: Instruction) -> _Uses:
        """Return the uses of a result, found once."""
        if one not in self._uses:
            self._uses[one] = found = _Uses(one.is_root)
            for user in one.users:
                for number in user.places_of(one):
                    found.add(user, number)
        return self._uses[one]


class _Uses:
    """Who has a result as which operand, in dump order; who takes which element is apart."""

    def __init__(self, is_root: bool) -> None:
        self.is_root = is_root
        self._all: list[_Use] = []
        self._whole: list[_Use] = []
        self._elements: dict[int, list[_Use]] = {}

    def add(self, user: Instruction, number: int) -> None:
        """Add the next use."""
        use = len(self._all), (user, number)
        is_element = user.opcode == "get-tuple-element"
        part = self._elements.setdefault(user.tuple_index, []) if is_element else self._whole
        part.append(use)
        self._all.append(use)

    def of(self, index: ShapeIndex) -> Iterable[_Use]:
        """Return the uses of what stands at an index of the result, or somewhere below it."""
        return merge(self._whole, self._elements.get(index[0], ())) if index else self._all


def _enter(user: Instruction, number: int, index: ShapeIndex) -> Iterator[Position]:
    """Yield where a value is seen that an instruction takes as an operand."""
    opcode = user.opcode
    if opcode == "tuple":
        yield (user, (number, *index))
    elif opcode == "get-tuple-element":
        yield (user, index[1:])
    elif opcode == "while":
        for callee in (*user.callees("body"), *user.callees("condition")):
            yield from ((each, index) for each in callee.parameters)
        yield (user, index)
    elif opcode == "conditional":
        branches = list_branches(user)[number - 1 : number] if number else ()
        yield from ((each, index) for branch in branches for each in branch.parameters)
    elif opcode in {"call", "async-start"}:
        called = user.callee()
        given = called.parameters[number : number + 1] if called is not None else ()
        yield from ((each, index) for each in given)
    else:
        yield (user, index if opcode in _SAME_SHAPE else ())


def _leave(root: Instruction, caller: Instruction, index: ShapeIndex) -> Iterator[Position]:
    """Yield where the result of a computation is seen by what calls it."""
    if caller.opcode != "while":
        yield (caller, index if caller.opcode != "async-start" else ())
    elif root.computation in caller.callees("body"):
        yield (caller, index)
        yield from ((each, index) for each in root.computation.parameters)


class UseCounter:
    """Counts the operands through which instructions use each value.

    Follows HloValue::GetUses (xla/service/hlo_value.cc): tuple and domain only pass values
    on, unless they are what a computation returns; get-tuple-element and copy look at the
    top of a tuple alone, a returned one at what it returns too.
    """

    def __init__(self) -> None:
        self._known: dict[Instruction, _CountedUses] = {}

    def of(self, places: Iterable[Position]) -> int:
        """Return the uses of a value at all places where it is seen."""
        return sum(self._uses_of(one).at(index) for one, index in places)

    def _uses_of(self, instruction: Instruction) -> _CountedUses:
        if (found := self._known.get(instruction)) is not None:
            return found
        found = self._known[instruction] = _CountedUses()
        for user in instruction.users:
            if user.opcode in USES_NOTHING and not user.is_root:
                continue
            times = len(user.places_of(instruction))
            found.top += times
            if user.opcode == "get-tuple-element":
                if user.is_root:
                    found.returned[user.tuple_index] = 1
            elif user.opcode != "copy" or user.is_root:
                found.nested += times
        return found


class _CountedUses(Struct):
    """Operands that look at the top of a result, at all that it holds, at an element returned."""

    top: int = 0
    nested: int = 0
    returned: dict[int, int] = field(default_factory=dict)

    def at(self, index: ShapeIndex) -> int:
        """Return the uses of what stands at an index of the result."""
        return self.nested + self.returned.get(index[0], 0) if index else self.top
