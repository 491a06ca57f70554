"""Whether an expression makes sense for the names that it may use, before any row is read.

One walk from the leaves up returns the tree with a `Type` on every part, so that what a message,
a unit or a word needs to know of a part is asked once. A part is checked before what stands to its
right and before what holds it, so that the error is about the first mistake in the text, mostly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.errors import QueryError
from hlotool.table.document import RowList
from hlotool.table.expression import nodes
from hlotool.table.expression.nodes import Expression, Kind, Literal, Name, Relation, Type
from hlotool.table.field import Field, Unit
from hlotool.table.renamed import find_new, find_new_word
from hlotool.table.units import PERCENT, SUFFIXES
from hlotool.table.words import suggest, suggest_field
from hlotool.text import PatternError, Source, parse_pattern

_KINDS: Final = {Unit.TEXT: Kind.TEXT, Unit.FLAG: Kind.FLAG, Unit.LIST: Kind.LIST}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_Right = TypeVar("_Right", bound=Expression)
_MEASURES: Final = {Unit.BYTES: "a size", Unit.SECONDS: "a time"}
# What a budget says that limits growth.
_EARLIER: Final = frozenset({"baseline", "base", "old", "before", "previous", "last"})
GROWTH: Final = 'limit growth in hlotool.toml: metric = "…" and max_increase = "5%"'


class Vocabulary(Struct, frozen=True):
    """The names that mean something: of fields or metrics, and of rows to aggregate."""

    fields: Mapping[str, Field]
    row_lists: Mapping[str, RowList] = field(default_factory=dict)
    reads_older: bool = False  # names and words of before 1.0 stand for those of today

    @classmethod
    def of_row(cls, fields: Iterable[Field], *, reads_older: bool = False) -> Vocabulary:
        """Return what `--where` may name: the row's fields, no aggregates."""
        return cls({each.name: each for each in fields}, reads_older=reads_older)


def parse_condition(text: str, vocabulary: Vocabulary, name: str) -> Expression:
    """Read what is true or false; `name` says where the text stands.

    Raises QueryError where it does not parse, is no condition, or names what does not exist.
    """
    return _Checker(Source(text, name), vocabulary).condition(_parse(text, name))


def parse_number(text: str, vocabulary: Vocabulary, name: str) -> Expression:
    """Read what yields a number; raises QueryError as `parse_condition` does."""
    tree = _Checker(Source(text, name), vocabulary).check(_parse(text, name))
    if tree.type.kind is not Kind.NUMBER:
        raise QueryError("expected a number", Source(text, name), tree.start, tree.end)
    return tree


def _parse(text: str, name: str) -> Expression:
    from hlotool.table.expression.grammar import parse_expression  # noqa: PLC0415  slow to import

    return parse_expression(text, name)


def expect_unit(
    figure: Expression, other: Expression, text: str, source: Source, hint: str = ""
) -> None:
    """Refuse a size, time or percentage that a figure, called `text`, is not measured in.

    `source` is that of `other`; `hint` says what a percentage may mean. Raises QueryError.
    """
    unit = figure.type.sure_unit
    if unit is None or unit is Unit.MEASURE:  # each row has a unit of its own
        return
    for literal in other.type.literals:
        written, hint = SUFFIXES.get(literal.suffix), hint if literal.suffix == PERCENT else ""
        if written is Unit.PERCENT and unit not in {Unit.RATIO, Unit.PERCENT}:
            message = f"this is a percentage, but {text} is not a ratio"
        elif written in _MEASURES and written is not unit:
            message = f"this is {_MEASURES[written]}, but {text} is {_MEASURES.get(unit, 'not')}"
        else:
            continue
        raise QueryError(message, source, literal.start, literal.end, hint)


def make_count(rows: str, row_list: RowList, where: Expression | None) -> nodes.Aggregate:
    """Return the checked figure that says how many rows fulfil a checked condition."""
    counted = Type(Kind.NUMBER, Unit.COUNT, Unit.COUNT)
    return nodes.Aggregate("count", rows, where=where, row_list=row_list, type=counted)


def face_limit(tree: Relation) -> Relation:
    """Return a checked comparison with what is constant on the right: `2ms >= x` is `x <= 2ms`."""
    if any(nodes.find_reads(tree.left)) or not any(nodes.find_reads(tree.right)):
        return tree
    operator = _MIRRORED.get(tree.operator, tree.operator)
    return _type_relation(replace(tree, operator=operator), tree.right, tree.left)


class _Checker(Struct, frozen=True):
    """Checks the parts of one text against one vocabulary."""

    source: Source
    vocabulary: Vocabulary

    def condition(self, tree: Expression) -> Expression:
        """Check what is asked whether it is true."""
        checked = self.check(tree)
        kind = checked.type.kind
        if kind is not Kind.FLAG:
            hint = f"compare it, as in {self.cut(tree)} > 0" if kind is Kind.NUMBER else ""
            raise self.fail(f"expected a condition, found {kind.value}", tree, hint)
        return checked

    def number(self, tree: Expression, where: str) -> Expression:
        """Check what is calculated with."""
        checked = self.check(tree)
        if checked.type.kind is not Kind.NUMBER:
            message = f"{where} needs numbers, found {checked.type.kind.value}"
            raise self.fail(message, tree)
        return checked

    def check(self, tree: Expression) -> Expression:
        """Return a part with its type, and those of all parts of it."""
        match tree:
            case Literal():
                return replace(tree, type=_type_literal(tree))
            case Name():
                found = self.find_field(tree)
                typed = Type(_KINDS.get(found.unit, Kind.NUMBER), found.unit, found.unit)
                path = tree.path if tree.path in self.vocabulary.fields else found.name
                return replace(tree, path=path, field=found, type=typed)
            case nodes.Negative():
                operand = self.number(tree.operand, "'-'")
                return replace(tree, operand=operand, type=operand.type)
            case nodes.Arithmetic():
                return self.arithmetic(tree)
            case nodes.Aggregate():
                return self.aggregate(tree)
            case nodes.Listing():
                raise self.fail("a list may only follow 'in'", tree)
            case _:
                return self.truth(tree)

    def truth(
        self, tree: Relation | nodes.Match | nodes.Membership | nodes.Not | nodes.And | nodes.Or
    ) -> Expression:
        """Check what is true or false by its form."""
        match tree:
            case Relation():
                return self.relation(tree)
            case nodes.Match():
                return self.match(tree)
            case nodes.Membership():
                return self.membership(tree)
            case nodes.Not():
                operand = self.condition(tree.operand)
                flag = Type(Kind.FLAG, compared=operand.type.compared)
                return replace(tree, operand=operand, type=flag)
            case nodes.And() | nodes.Or():
                operands = tuple(self.condition(each) for each in tree.operands)
                compared = tuple(pair for each in operands for pair in each.type.compared)
                return replace(tree, operands=operands, type=Type(Kind.FLAG, compared=compared))

    def find_field(self, name: Name) -> Field:
        """Return the field that a name means."""
        fields = self.vocabulary.fields
        if (found := fields.get(name.path)) is None and self.vocabulary.reads_older:
            found = fields.get(find_new(name.path, fields) or "")
        if found is None:
            is_budget = bool(self.vocabulary.row_lists)
            what = "metric" if is_budget else "field"
            is_growth = is_budget and name.path.partition(".")[0] in _EARLIER
            hint = GROWTH if is_growth else suggest_field(name.path, fields.values())
            raise self.fail(f"there is no {what} {name.path!r}", name, hint)
        return found

    def arithmetic(self, tree: nodes.Arithmetic) -> nodes.Arithmetic:
        """Check a sum or a product, and what literals are added to."""
        operators = (tree.operators[0], *tree.operators)  # the first operand has the first one's
        operands = tuple(
            self.number(operand, repr(operator))
            for operator, operand in zip(operators, tree.operands, strict=True)
        )
        checked = replace(tree, operands=operands, type=_type_arithmetic(tree.operators, operands))
        expect_unit(checked, checked, "what it is added to", self.source)
        return checked

    def relation(self, tree: Relation) -> Relation:
        """Check `==` and its kin: both sides of one kind, order for numbers only."""
        left = self.check(tree.left)
        if left.type.kind is Kind.TEXT:
            self.refuse_bare_words(tree.right)
        right = self.check(self.update_word(left, tree.right))
        kinds = {left.type.kind, right.type.kind}
        if tree.operator in {"<", "<=", ">", ">="}:
            for side in (left, right):
                if side.type.kind is not Kind.NUMBER:
                    message = f"{tree.operator!r} compares numbers, found {side.type.kind.value}"
                    raise self.fail(message, side)
        elif Kind.LIST in kinds and Kind.NULL not in kinds:
            side = left if left.type.kind is Kind.LIST else right
            hint = f'ask for one of its items: "…" in {self.cut(side)}'
            raise self.fail(f"{tree.operator!r} cannot compare lists", side, hint)
        elif len(kinds) > 1 and Kind.NULL not in kinds:
            raise self.fail_other_kind(right, left)
        self.refuse_misfit(left, right)
        self.refuse_misfit(right, left)
        return _type_relation(tree, left, right)

    def match(self, tree: nodes.Match) -> nodes.Match:
        """Check `~`: text or a list of texts against a literal that is a regular expression."""
        left = self.check(tree.left)
        if left.type.kind not in {Kind.TEXT, Kind.LIST}:
            raise self.fail(f"'~' searches in text, found {left.type.kind.value}", left)
        self.refuse_bare_words(tree.right)
        literal = tree.right
        if not isinstance(literal, Literal) or not isinstance(literal.written, str):
            raise self.fail("'~' needs a regular expression in quotes", literal)
        try:
            parse_pattern(literal.written)
        except PatternError as error:
            message = f"this is not a regular expression: {error}"
            raise QueryError(message, self.source, literal.start + 1, literal.end - 1) from None
        return replace(tree, left=left, right=self.check(literal), type=Type(Kind.FLAG))

    def membership(self, tree: nodes.Membership) -> nodes.Membership:
        """Check `in`: a value in a listing of its kind, or a literal in a list field."""
        left = self.check(tree.left)
        if isinstance(tree.right, nodes.Listing):
            listing = self.listing(tree.right, left)
            compared = tuple(_find_compared(left, listing.items))
            return replace(tree, left=left, right=listing, type=Type(Kind.FLAG, compared=compared))
        right = self.check(tree.right)
        if not isinstance(right, Name) or right.type.kind is not Kind.LIST:
            raise self.fail("'in' needs a list, as in [a, b], or a field that is one", right)
        wanted, items = Kind.NUMBER, "numbers"
        if self.find_field(right).items is Unit.TEXT:
            wanted, items = Kind.TEXT, "text"
        if left.type.kind is not wanted:
            message = f"{right.path} lists {items}, but this is {left.type.kind.value}"
            raise self.fail(message, left)
        self.refuse_misfit(right, left)
        return replace(tree, left=left, right=right, type=Type(Kind.FLAG))

    def listing(self, tree: nodes.Listing, left: Expression) -> nodes.Listing:
        """Check the list that a value may be in."""
        if left.type.kind is Kind.LIST:
            hint = f'ask for one item at a time: "…" in {self.cut(left)}'
            raise self.fail("a list cannot be in a list", left, hint)
        items = tuple(
            replace(self.update_word(left, item), type=_type_literal(item)) for item in tree.items
        )
        for item in items:
            if item.type.kind not in {left.type.kind, Kind.NULL}:
                raise self.fail_other_kind(item, left)
            self.refuse_misfit(left, item)
        return replace(tree, items=items, type=Type(Kind.LIST))

    def aggregate(self, tree: nodes.Aggregate) -> nodes.Aggregate:
        """Check an aggregate: its rows, and its arguments against their fields."""
        row_lists = self.vocabulary.row_lists
        if not row_lists:
            hint = "use it in budgets; here each row is tested alone"
            raise self.fail(f"{tree.function}() does not work on rows", tree, hint)
        if (row_list := row_lists.get(tree.rows)) is None:
            message = (
                f"there is no row list {tree.rows!r}"
                if tree.rows
                else f"{tree.function}() needs a row list"
            )
            raise self.fail(message, tree, suggest(tree.rows, filter(None, row_lists)))
        inner = _Checker(
            self.source, Vocabulary.of_row(row_list.fields, reads_older=self.vocabulary.reads_older)
        )
        value = None if tree.value is None else inner.number(tree.value, tree.function)
        where = None if tree.where is None else inner.condition(tree.where)
        if value is None:
            return replace(make_count(tree.rows, row_list, where), start=tree.start, end=tree.end)
        figure = Type(Kind.NUMBER, value.type.unit, value.type.sure_unit)
        return replace(tree, value=value, where=where, row_list=row_list, type=figure)

    def refuse_bare_words(self, right: Expression) -> None:
        """Say that text needs quotes where somebody wrote `kind == all-gather`."""
        words = right.operands if isinstance(right, nodes.Arithmetic) else (right,)
        names = [word.path for word in words if isinstance(word, Name)]
        is_known = all(name in self.vocabulary.fields for name in names)
        if len(names) == len(words) and not is_known:
            text = self.cut(right)
            raise self.fail(f"there is no field {text!r}", right, f'text needs quotes: "{text}"')

    def update_word(self, left: Expression, right: _Right) -> _Right:
        """Return a word that a field is compared with as it is called today."""
        if self.vocabulary.reads_older and isinstance(left, Name) and isinstance(right, Literal):
            new = find_new_word(left.path, str(right.written))
            return right if new is None else replace(right, written=new)
        return right

    def refuse_misfit(self, tree: Expression, other: Expression) -> None:
        """Refuse a literal that a field can never equal, or that a figure is not measured in."""
        if isinstance(tree, Name) and isinstance(other, Literal):
            values, word = self.find_field(tree).values, other.written
            if values and isinstance(word, str) and word not in values:
                hint = suggest(word, values)
                raise self.fail(f"{self.cut(tree)} is never {self.cut(other)}", other, hint)
        hint = GROWTH.replace("…", self.cut(tree)) if self.vocabulary.row_lists else ""
        expect_unit(tree, other, self.cut(tree), self.source, hint)

    def fail_other_kind(self, tree: Expression, left: Expression) -> QueryError:
        """Make the error for a value that what stands to its left can never be."""
        message = f"this is {tree.type.kind.value}, but {self.cut(left)} is {left.type.kind.value}"
        return self.fail(message, tree)

    def fail(self, message: str, tree: Expression, hint: str = "") -> QueryError:
        """Make the error that points at a part of the expression."""
        return QueryError(message, self.source, tree.start, tree.end, hint)

    def cut(self, tree: Expression) -> str:
        """Return how a part of the expression was written."""
        return self.source.text[tree.start : tree.end]


def _type_literal(literal: Literal) -> Type:
    """Return what a literal is; no sure unit, as figures refuse literals."""
    if (written := literal.written) is None:
        return Type(Kind.NULL)
    if isinstance(written, bool):
        return Type(Kind.FLAG)
    if isinstance(written, str):
        return Type(Kind.TEXT)
    return Type(Kind.NUMBER, SUFFIXES.get(literal.suffix, Unit.NUMBER), literals=(literal,))


def _type_arithmetic(operators: Sequence[str], operands: Sequence[Expression]) -> Type:
    """Return what a sum or a product is.

    A sum is measured in what its first operand of a sure unit is measured in. What is divided by
    its like is surely a ratio; of any other product nothing is sure.
    """
    types = [operand.type for operand in operands]
    sure = [one.sure_unit for one in types]
    unit = _combine([one.unit for one in types], operators)
    if operators[0] in "+-":
        literals = tuple(literal for one in types for literal in one.literals)
        first = next((one for one in sure if one is not None), None)
        return Type(Kind.NUMBER, unit, first, literals)
    is_ratio = list(operators) == ["/"] and sure[0] is not None and sure[0] is sure[1]
    return Type(Kind.NUMBER, unit, Unit.RATIO if is_ratio else None)


def _combine(units: Sequence[Unit], operators: Sequence[str]) -> Unit:
    """Return the unit that a sum or a product is written in; RATIO where units cancel or mix."""
    if not (known := [unit for unit in units if unit not in {Unit.NUMBER, Unit.PERCENT}]):
        return Unit.RATIO if "/" in operators else Unit.NUMBER
    if operators[0] in "+-":
        return known[0] if len(set(known)) == 1 else Unit.RATIO
    return known[0] if len(known) == 1 and known[0] is units[0] else Unit.RATIO


def _type_relation(tree: Relation, left: Expression, right: Expression) -> Relation:
    """Return a comparison of checked sides with its type; its unit is the first that is known."""
    unit = right.type.unit if left.type.unit is Unit.NUMBER else left.type.unit
    compared: tuple[tuple[Field, Literal], ...] = ()
    if tree.operator in {"==", "!="}:
        compared = (*_find_compared(left, (right,)), *_find_compared(right, (left,)))
    return replace(tree, left=left, right=right, type=Type(Kind.FLAG, unit, compared=compared))


def _find_compared(
    name: Expression, others: Sequence[Expression]
) -> Iterator[tuple[Field, Literal]]:
    """Yield a field that has words, with each text that it is compared with."""
    if isinstance(name, Name) and name.field is not None and name.field.words:
        for other in others:
            if isinstance(other, Literal) and isinstance(other.written, str):
                yield name.field, other
