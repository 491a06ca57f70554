"""Do two programs do the same, and which computation and instruction is whose partner?"""

from __future__ import annotations

from hlotool.compare.match.content_numbers import ContentNumbers, number_contents
from hlotool.compare.match.flow import Flow
from hlotool.compare.match.pairing_steps import PairingSteps
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.structure import ComputationPair, Structure, list_reached
from hlotool.compare.match.terms import agree_terms
from hlotool.program.program import Program


def compare_structure(left: Program, right: Program, *, is_strict: bool = False) -> Structure:
    """Pair two programs that have modules. Raises ParseError when a computation calls itself.

    A program is paired with itself without a look: nothing is numbered then.
    """
    if left is right:
        return _pair_with_itself(left, is_strict=is_strict)
    structure = _begin(left, right, is_strict=is_strict)
    PairingSteps(structure).run()
    if structure.is_equal:
        return structure
    seen = {one for pair in structure.computations for one in (pair.left, pair.right)}
    structure.left_only = [one for one in list_reached(left) if one not in seen]
    structure.right_only = [one for one in list_reached(right) if one not in seen]
    return structure


def are_equal(left: Program, right: Program) -> bool:
    """Say whether `compare_structure` would find two entries equal: nothing is paired.

    Entries of more or fewer instructions are not, whatever they do.
    """
    entries = left.expect_module().entry, right.expect_module().entry
    if len(entries[0].instructions) != len(entries[1].instructions):
        return False
    structure = _begin(left, right, is_strict=False)
    number = structure.numbers.computation
    return number(structure.left.entry) == number(structure.right.entry)


def _begin(left: Program, right: Program, *, is_strict: bool) -> Structure:
    """Return two programs with their contents numbered; nothing is paired yet."""
    modules = left.expect_module(), right.expect_module()
    terms = agree_terms(*modules, is_strict=is_strict)
    signatures = Signatures(terms)
    numbers = number_contents((left.graph, right.graph), signatures)
    flow = Flow((left.graph, right.graph))
    return Structure((left, right), *modules, terms, signatures, numbers, flow)


def _pair_with_itself(program: Program, *, is_strict: bool) -> Structure:
    module, graphs = program.expect_module(), (program.graph,)
    signatures = Signatures(agree_terms(module, module, is_strict=is_strict))
    return Structure(
        (program, program),
        *(module, module, signatures.terms, signatures, ContentNumbers(), Flow(graphs)),
        computations=[
            ComputationPair(one, one, {each: each for each in one.instructions}, is_equal=True)
            for one in list_reached(program)
        ],
    )
