"""SQL over a store: DuckDB reads the parts in place, and sees their JSON as typed tables.

| view | a row for each |
|---|---|
| `runs` | result: what was swept, seed, build, and the figures of the whole run |
| `flows` | result and flow: what was swept, seed, and the figures of the flow |
| `groups` | result and group of several flows |
| `links` | result and direction of a link |
| `result`, `scenario`, `session` | row of the store, as it is stored |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeVar, Union, get_args, get_origin

from fairhaul.jobs.store.rows import NUMBERS, TABLES, WHOLE
from fairhaul.jobs.store.store import Store, StoreError
from fairhaul.measures.types import Fairness, FlowFigures, GroupFigures, LinkFigures
from fairhaul.scenario.memory import available_bytes

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
# Rows that are fetched at a time, and how often an interrupt is looked for.
PIECE, LOOK_EVERY_S = 1000, 0.1
# The memory of a query, bytes, unless the machine has less than twice as much.
LARGEST_MEMORY = 2_000_000_000
MISSING = "SQL requires DuckDB, which comes with the extra: pip install 'fairhaul[duckdb]'"
LISTS: Mapping[str, type] = {"flows": FlowFigures, "groups": GroupFigures, "links": LinkFigures}
OF_RUN = {
    "packets": "BIGINT",
    "cpu_s": "DOUBLE",
    "stationary": "BOOLEAN",
    "wanted_duration_s": "DOUBLE",
    "completed": "BOOLEAN",
}


def _make_views(database: duckdb.DuckDBPyConnection, store: Store) -> None:
    for table in TABLES:
        _make_table(database, store, table)
    swept = _swept(database)
    common = ", ".join(["key", "title", *map(_extracted, swept), "seed", "engine", "build"])
    fairness = [f"fairness.{_quoted(name)}" for name in _structure(Fairness)]
    # The tables have columns of these names, too; they are the same, and are given once.
    own = [name for name in OF_RUN if name not in TABLES["result"]]
    figures = json.dumps({**{name: OF_RUN[name] for name in own}, "fairness": _structure(Fairness)})
    database.execute(
        f"CREATE VIEW runs AS SELECT {common}, cpu_s, packets, "
        f"{', '.join([*(f'of_run.{name}' for name in own), *(f'of_run.{f}' for f in fairness)])} "
        f"FROM (SELECT *, from_json(value, '{figures}') AS of_run FROM result WHERE of = 'figures')"
    )
    for name, shape in LISTS.items():
        structure = json.dumps([_structure(shape)])
        database.execute(
            f"CREATE VIEW {name} AS SELECT {common}, unnest(each) FROM (SELECT *, "
            f"unnest(from_json(value -> '{name}', '{structure}')) AS each "
            "FROM result WHERE of = 'figures')"
        )


def _make_table(database: duckdb.DuckDBPyConnection, store: Store, table: str) -> None:
    """Make the view of a table of the store: its parts in place, and the rows of journals."""
    columns = ", ".join(f"{_quoted(name)} {_type(name)}" for name in TABLES[table])
    database.execute(f"CREATE TABLE {table}_written ({columns})")
    rows = [[row.get(name) for name in TABLES[table]] for row in store.journal_rows(table)]
    if rows:
        marks = ", ".join("?" * len(TABLES[table]))
        database.executemany(f"INSERT INTO {table}_written VALUES ({marks})", rows)
    parts = store.parts(table)
    files = "[" + ", ".join(_text(str(part)) for part in parts) + "]"
    both = f"SELECT * FROM {table}_written"
    if parts:
        both += f" UNION ALL BY NAME SELECT * FROM read_parquet({files}, union_by_name = true)"
    identity = _quoted(TABLES[table][0])
    database.execute(f"CREATE VIEW {table} AS SELECT DISTINCT ON ({identity}) * FROM ({both})")


def _swept(database: duckdb.DuckDBPyConnection) -> list[str]:
    """Give the keys that the sweeps of the store set."""
    query = "SELECT DISTINCT unnest(json_keys(variant)) AS name FROM result ORDER BY name"
    return [name for (name,) in database.execute(query).fetchall()]


def _extracted(key: str) -> str:
    """Give a swept key as a column: a number where all of its values are numbers, else a text."""
    path = _text('$."' + key.replace('"', '\\"') + '"')
    return f"json_extract_string(variant, {path}) AS {_quoted(key)}"


def _structure(shape: type) -> dict[str, Any]:
    """Give the structure of a TypedDict as DuckDB's `from_json` takes it."""
    return {name: _duckdb_type(hint) for name, hint in shape.__annotations__.items()}


def _duckdb_type(hint: Any) -> Any:
    if get_origin(hint) is NotRequired:
        return _duckdb_type(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return _duckdb_type(next(arg for arg in get_args(hint) if arg is not NoneType))
    if isinstance(hint, TypeVar) or hint is float:
        return "DOUBLE"
    if hint is bool:
        return "BOOLEAN"
    if hint is str or get_origin(hint) is Literal:
        return "VARCHAR"
    return "BIGINT" if hint is int else "JSON"


def _type(column: str) -> str:
    if column in WHOLE:
        return "BIGINT"
    return "DOUBLE" if column in NUMBERS else "VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def pieces_of(store: Store, query: str) -> tuple[list[str], Iterator[Sequence[Sequence[Any]]]]:
    """Give the columns of a query, and its rows in pieces, each computed when it is taken.

    The query reads the store and nothing else, and an interrupt ends it.

    Raises:
        StoreError: DuckDB is missing, a part is not what this program writes, or the query is
            wrong; also while the rows are read.
    """
    try:
        import duckdb
    except ImportError:
        raise StoreError(MISSING) from None
    database = duckdb.connect(":memory:")
    answer = _asked(database, lambda: _answer(database, store, query))
    return [column[0] for column in answer.description or ()], _pieces(database, answer)


def _answer(
    database: duckdb.DuckDBPyConnection, store: Store, query: str
) -> duckdb.DuckDBPyConnection:
    import duckdb

    try:
        _make_views(database, store)
    except duckdb.Error as error:
        raise StoreError(f"{store.directory} was changed by another program: {error}") from None
    _shut_in(database, store)
    statements = database.extract_statements(query)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise StoreError("the query reads the results, so it is one SELECT")
    return database.execute(query)


def _pieces(
    database: duckdb.DuckDBPyConnection, answer: duckdb.DuckDBPyConnection
) -> Iterator[Sequence[Sequence[Any]]]:
    while piece := _asked(database, lambda: answer.fetchmany(PIECE)):
        yield piece


def _shut_in(database: duckdb.DuckDBPyConnection, store: Store) -> None:
    """Let a database read the parts of a store, and nothing else, and take limited memory."""
    available = available_bytes() or LARGEST_MEMORY
    parts = ", ".join(_text(str(part)) for table in TABLES for part in store.parts(table))
    for setting, value in {
        "memory_limit": _text(f"{min(available // 2, LARGEST_MEMORY) // 1_000_000}MB"),
        "temp_directory": "''",
        "allowed_paths": f"[{parts}]",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }.items():
        database.execute(f"SET {setting} = {value}")


def _asked(database: duckdb.DuckDBPyConnection, act: Callable[[], T]) -> T:
    """Have the database compute something in another thread: this one takes interrupts.

    Raises:
        StoreError: the query is wrong, or takes too much memory.
    """
    import duckdb

    with ThreadPoolExecutor(max_workers=1) as thread:
        computed = thread.submit(act)
        try:
            while not wait([computed], timeout=LOOK_EVERY_S).done:
                pass
            return computed.result()
        except duckdb.Error as error:
            raise StoreError(str(error)) from None
        except BaseException:
            # An interrupt is lost on a query that the other thread has not begun yet.
            while not computed.done() and not computed.cancel():
                database.interrupt()
                wait([computed], timeout=LOOK_EVERY_S)
            raise
