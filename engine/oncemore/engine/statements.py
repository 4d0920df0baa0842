"""How does a query become SQL without costing more than its execution?

peewee builds each statement anew from its parts. Most of that time goes into columns, one by one, and into the few
queries that every step asks: a row by its key, the newest Turn, the time. They say the same thing every time, so they
are built once; the statements are the same to the letter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import peewee as pw

Named = TypeVar("Named", bound=pw.Model)

PLAIN = frozenset((pw.TextField, pw.BigIntegerField, pw.BooleanField, pw.BigAutoField))
"""Fields whose column is their name alone; an alias of a table has fields of another kind."""


class Rendering(pw.Context):
    """peewee's own, which writes a plain column in one go."""

    __slots__ = ()

    def sql(self, obj: Any) -> Any:
        """Add the SQL of a part of a query."""
        if type(obj) not in PLAIN:
            return super().sql(obj)  # type: ignore[no-untyped-call]
        column = f'"{obj.column_name}"'
        if self.scope != pw.SCOPE_VALUES:
            column = f'"{self.alias_manager[obj.model._meta.table]}".{column}'
        return self.literal(column)


class Slot:
    """Where a value stands that is given with each call."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Prepared:
    """A query that is built once and asked with other values each time.

    Args:
        database: on which it is asked; another one may stand behind it later.
        values: how many values it takes.
        build: makes it from so many placeholders, which stand where values would. They are handed to the database as
            they are, and none of them is a list.
    """

    def __init__(self, database: pw.DatabaseProxy, values: int, build: Callable[..., Any]) -> None:
        self._database, self._values, self._build = database, values, build
        self._made: dict[str, tuple[str, list[Any], bool]] = {}

    def __call__(self, *values: object) -> list[Any]:
        """The found rows, or those that a changing query returns."""
        found = self._made.get(self._database.param)
        if found is None:
            found = self._made[self._database.param] = self._render()
        statement, parameters, answers = found
        given = [values[each.number] if type(each) is Slot else each for each in parameters]
        cursor = self._database.execute_sql(statement, given)
        return list(cursor.fetchall()) if answers else []

    def _render(self) -> tuple[str, list[Any], bool]:
        """The statement, its parameters, and whether rows come back."""
        slots = [pw.Value(Slot(number), converter=False, unpack=False) for number in range(self._values)]
        query = self._build(*slots)
        statement, parameters = self._database.get_sql_context().sql(query).query()
        return statement, parameters, isinstance(query, pw.SelectBase) or bool(query._returning)


def row_of(model: type[Named], values: Sequence[Any]) -> Named:
    """A row from the values of all its columns, in their order."""
    read = {name: convert(value) for (name, convert), value in zip(_readers(model), values, strict=True)}
    row = model(__no_default__=1, **read)
    row._dirty.clear()  # type: ignore[attr-defined]
    return row


class Rows(pw.Model):
    """Rows that are read by their key without building the query again."""

    @classmethod
    def get_by_id(cls: type[Named], pk: Any) -> Named:
        """The row of this key.

        Raises:
            DoesNotExist: there is none.
        """
        found = _by_key(cls)(pk)
        if not found:
            raise cls.DoesNotExist(f"no {cls.__name__} has the key {pk}")  # type: ignore[attr-defined]
        return row_of(cls, found[0])


@cache
def _by_key(model: Any) -> Prepared:
    return Prepared(model._meta.database, 1, lambda key: model.select().where(model._meta.primary_key == key).limit(1))


@cache
def _readers(model: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """What each column is called, and what reads its value."""
    return tuple((field.name, field.python_value) for field in model._meta.sorted_fields)
