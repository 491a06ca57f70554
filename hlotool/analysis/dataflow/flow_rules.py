"""Rules of dataflow: which values an instruction defines, and which it passes on.

A loop whose body hands `a` back and makes `b` anew, walked in the order of the schedule
(`t.1` is element 1; φ is where the values of several ways meet):

    %x = parameter(0)                   value 0
    %y = copy(%x)                       value 1
    %t = tuple(%x, %y)                  t itself, a table, is value 2; t.0 is 0, t.1 is 1
      %s = parameter(0), of the body    s = φ(t, r), s.0 = φ(0, r.0), s.1 = φ(1, r.1)
      %a = get-tuple-element(%s), 0     is s.0
      %b = negate(%a)                   value 3
      %r = tuple(%a, %b)                a table; r.0 is s.0, r.1 is 3
    %w = while(%t)                      w = φ(r, t), w.0 = φ(r.0, 0), w.1 = φ(3, 1)

At the end `phis` finds that s.0 and w.0 only ever are value 0, and takes them out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.analysis.dataflow.values import Flow, ValueTree
from hlotool.ir.async_chain import awaits_result, bound_operands, find_async_start
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape, Shape, TupleShape

_Rule = Callable[[Flow, Instruction], ValueTree | None]


def _forward(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Pass on the first operand: bitcast, domain, opt-barrier, add-dependency and dones."""
    return flow.nodes.get(instruction.operands[0]) if instruction.operands else None


def _element(flow: Flow, instruction: Instruction) -> ValueTree | None:
    return _child(_forward(flow, instruction), instruction.tuple_index)


def _child(node: ValueTree | None, number: int) -> ValueTree | None:
    return node.children[number] if node and 0 <= number < len(node.children) else None


def _tuple(flow: Flow, instruction: Instruction) -> ValueTree | None:
    children = [flow.nodes.get(operand) for operand in instruction.operands]
    own = flow.value(instruction, instruction.shape, ())
    return ValueTree(own, tuple(child for child in children if child is not None))


def _copy(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Define the top of a copy; what a copied tuple points to is the same memory."""
    old = _forward(flow, instruction)
    own = flow.value(instruction, instruction.shape, ())
    return ValueTree(own, old.children if old else ())


def _parameter(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Take a parameter's values from the call; those of the entry define their own."""
    caller = flow.schedule.callers.get(instruction.computation)
    if caller is None:
        return None
    number = instruction.parameter_number
    if caller.opcode == "while":
        init = flow.nodes.get(caller.operands[0])
        if init is None:
            return None
        node = flow.phi(instruction, [init])
        flow.loops.append((node, caller.callees("body")[0].root))
        return node
    if caller.opcode == "conditional":
        number = 1 + flow.schedule.numbers[instruction.computation]
    given = bound_operands(caller)
    return flow.nodes.get(given[number]) if number < len(given) else None


def _while(flow: Flow, instruction: Instruction) -> ValueTree | None:
    body = instruction.callees("body")
    init = _forward(flow, instruction)
    if init is None or not body or body[0].root not in flow.nodes:
        return None
    return flow.phi(instruction, [flow.nodes[body[0].root], init])


def _call(flow: Flow, instruction: Instruction) -> ValueTree | None:
    callee = instruction.callee()
    return flow.nodes.get(callee.root) if callee else None


def _conditional(flow: Flow, instruction: Instruction) -> ValueTree | None:
    roots = [
        flow.nodes.get(branch.root) for branch in dict.fromkeys(instruction.called_computations())
    ]
    known = [node for node in roots if node is not None]
    return flow.phi(instruction, known) if known else None


def _async_start(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Define the tables and the context; operands and the wrapped result pass through."""
    passed = {
        0: [flow.nodes.get(operand) for operand in bound_operands(instruction)],
        1: [_wrapped_result(flow, instruction)],
    }
    return _start(flow, instruction, passed)


def _wrapped_result(flow: Flow, step: Instruction) -> ValueTree | None:
    """Return what an asynchronous operation makes, None before all of it is bound."""
    start = find_async_start(step)
    callee = start.callee() if start else None
    return flow.nodes.get(callee.root) if callee else None


def _start(
    flow: Flow, instruction: Instruction, passed: dict[int, list[ValueTree | None]]
) -> ValueTree | None:
    """Define a tuple but for some elements, which hold one known node, or a tuple of them."""
    shape = instruction.shape
    if isinstance(shape, ArrayShape):
        return None
    own = flow.value(instruction, shape, ())
    children: list[ValueTree] = []
    for number, element in enumerate(shape.elements):
        known = [node for node in passed.get(number, ()) if node is not None]
        old: ValueTree | None = None
        if isinstance(element, TupleShape) and len(element.elements) == len(known):
            old = ValueTree(own, tuple(known))
        elif known and len(known[0].children) == _width(element):
            old = known[0]
        if old is None:
            children.append(flow.define(instruction, element, (number,)))
        else:
            children.append(flow.retable(instruction, element, (number,), old))
    return ValueTree(own, tuple(children))


def _width(shape: Shape) -> int:
    return 0 if isinstance(shape, ArrayShape) else len(shape.elements)


def _async_update(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Pass on the step before; or bind more, as SparseCore does in a step of its own."""
    before = instruction.operands[0].shape if instruction.operands else instruction.shape
    if len(instruction.operands) > 1 or before != instruction.shape:
        return _async_start(flow, instruction)
    old = _forward(flow, instruction)
    return flow.retable(instruction, instruction.shape, (), old) if old else None


def _async_done(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Pass on the result; the step before has it, where it is not bound here."""
    old = _child(_forward(flow, instruction), 1)
    if instruction.operands and awaits_result(instruction.operands[0]):
        old = _wrapped_result(flow, instruction)
    return flow.retable(instruction, instruction.shape, (), old) if old else None


def _forward_into(slot: int) -> _Rule:
    """Define everything but the slot of a start's tuple that holds its operands again."""

    def rule(flow: Flow, instruction: Instruction) -> ValueTree | None:
        operands = [flow.nodes.get(operand) for operand in instruction.operands]
        return _start(flow, instruction, {slot: operands})

    return rule


def _result_of_start(flow: Flow, instruction: Instruction) -> ValueTree | None:
    """Pass on the second element of a start's tuple; a done of several defines the table."""
    old = _child(_forward(flow, instruction), 1)
    return flow.retable(instruction, instruction.shape, (), old) if old else None


def _copy_done(flow: Flow, instruction: Instruction) -> ValueTree | None:
    return _child(_forward(flow, instruction), 0)


def _recv_done(flow: Flow, instruction: Instruction) -> ValueTree | None:
    old = _copy_done(flow, instruction)
    shape = instruction.shape
    if old is None or isinstance(shape, ArrayShape) or len(shape.elements) < 1:
        return None
    rest = [
        flow.define(instruction, element, (number,))
        for number, element in enumerate(shape.elements)
        if number
    ]
    return ValueTree(flow.value(instruction, shape, ()), (old, *rest))


RULES: Final[dict[str, _Rule]] = {
    "add-dependency": _forward,
    "all-gather-done": _result_of_start,
    "all-gather-start": _forward_into(0),
    "all-reduce-done": _forward,
    "async-done": _async_done,
    "async-start": _async_start,
    "async-update": _async_update,
    "bitcast": _forward,
    "call": _call,
    "collective-permute-done": _result_of_start,
    "collective-permute-start": _forward_into(0),
    "conditional": _conditional,
    "copy": _copy,
    "copy-done": _copy_done,
    "copy-start": _forward_into(1),
    "domain": _forward,
    "get-tuple-element": _element,
    "opt-barrier": _forward,
    "parameter": _parameter,
    "recv-done": _recv_done,
    "send": _forward_into(0),
    "tuple": _tuple,
    "while": _while,
}
