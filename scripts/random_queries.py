#!/usr/bin/env python3
"""Asks encrypted tables random queries on small rings, and DuckDB the same.

    python3 scripts/random_queries.py FOLDER target/release/limbwise             100 queries, from seed 0
    python3 scripts/random_queries.py FOLDER LIMBWISE --queries 1000 --seed 5000
    python3 scripts/random_queries.py FOLDER LIMBWISE --seed 5017 --queries 1 --shown

Needs the package duckdb from PyPI. A seed is a table of 1 to 12 rows (CSV or Parquet), sometimes one or two that are joined,
and a query of the guide's SQL. Compared are the names and the order of the rows and every cell: what is exact in the report to
9 digits, what was decrypted to 1e-3 of the largest value. Counted apart are queries that either of the two refuses, with the
reasons of limbwise's. Ends with 1 if an answer differs, or a run fails otherwise than by an error.
"""

import argparse
import csv
import datetime
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import duckdb
from common import small_sets

TEXTS = {"s": ["red", "light red", "Blue", "O'Hara", "green"], "w": ["a", "b", "ab", "", "A"]}
TYPES = {"i": "INTEGER", "k": "INTEGER", "p": "DECIMAL(6,2)", "r": "DECIMAL(4,2)", "t": "DATE", "u": "DATE"}
COMPARED = ["=", "<>", "<", "<=", ">", ">="]


class Asked:
    """A table and a query."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.joined = self.r.random() < 0.25
        day = lambda: datetime.date(2024, 1, 1) + datetime.timedelta(self.r.choice([40, 900]) * self.r.random())
        self.rows = [
            {
                "i": self.r.randint(-20, 50),
                "k": self.r.randint(0, 4),
                "p": Decimal(self.r.randint(0, 9999)) / 100,
                "r": Decimal(self.r.randint(0, 30)) / 100,
                "t": day(),
                "u": day(),
                "s": self.r.choice(TEXTS["s"][: self.r.randint(2, 5)]),
                "w": self.r.choice(TEXTS["w"]),
            }
            for _ in range(self.r.randint(1, 12))
        ]
        some = self.r.sample(range(5), self.r.randint(2, 5))
        self.other = [{"key": k, "z": self.r.randint(1, 9), "name": self.r.choice(["x", "y", "xy"])} for k in some]
        self.third = ["rank", "score"] if self.r.random() < 0.4 else []
        self.more = [{"rank": z, "score": self.r.randint(0, 99)} for z in self.r.sample(range(1, 10), self.r.randint(1, 6))]
        self.parquet = self.r.random() < 0.3
        if self.r.random() < 0.5:
            self.punched()
        self.public: list[str] = []
        self.sql = self.query()

    def punched(self) -> None:
        """NULL in some columns. An empty cell of CSV is NULL among numbers and dates, and a text among texts."""
        for name in self.r.sample("ikprtu" + ("sw" if self.parquet else ""), self.r.randint(1, 4)):
            for row in self.rows:
                row[name] = None if self.r.random() < 0.3 else row[name]

    # Values of a row.

    def column(self) -> str:
        return self.r.choice(["i", "k", "p", "r"] + (["z", *self.third[1:]] if self.joined else []))

    def constant(self) -> str:
        return self.r.choice([str(self.r.randint(-5, 40)), f"{self.r.randint(0, 5000) / 100:.2f}", "0", "1", "0.5"])

    def number(self, depth: int = 2) -> str:
        if depth == 0 or self.r.random() < 0.35:
            return self.column() if self.r.random() < 0.8 else self.constant()
        left, right = self.number(depth - 1), self.number(depth - 1)
        kind = self.r.random()
        if kind < 0.75:
            return f"({left} {self.r.choice('+-*')} {right})"
        filled = [f"coalesce({self.column()}, {self.constant()})", f"nullif({self.column()}, {self.r.randint(0, 3)})"]
        return self.r.choice([f"abs({left})", f"-({left})", f"{self.part()}", f"({self.column()} * 2)", *filled])

    def part(self) -> str:
        return self.r.choice(
            ["year(t)", "month(u)", "day(t)", "(u - t)", "k % 3", "i % 4", "abs(i - k)", "extract(year FROM u)", "quarter(t)"]
            + ["week(u)", "isodow(t)", "dayofweek(u)", "dayofyear(t)", "length(s)", "floor(p)", "ceil(r * 10)", "round(p, 1)"]
            + [f"CASE WHEN {self.simple()} THEN k ELSE i END"]
        )

    def simple(self) -> str:
        r = self.r
        column = r.choice("ikp")
        return r.choice([f"{column} {r.choice(COMPARED)} {r.randint(0, 20)}", f"{column} IS NULL", "t < u", "s LIKE '%e%'", "s = 'red'"])

    def word(self) -> str:
        """A text that a row's texts and numbers make."""
        r = self.r
        made = ["upper(s)", "lower(w)", f"substring(s, {r.randint(1, 3)}, {r.randint(1, 3)})", "left(s, 1)", "right(w, 1)", "trim(w)"]
        bucket = f"CASE WHEN {self.simple()} THEN 'low' WHEN {self.simple()} THEN 'mid' {r.choice(['', chr(69) + 'LSE s', chr(69) + 'LSE ' + repr('high')])} END"
        return r.choice([*made, bucket, bucket, "coalesce(nullif(s, 'red'), w)"])

    def date(self) -> str:
        day = datetime.date(2024, 1, 1) + datetime.timedelta(self.r.randint(0, 900))
        plain = f"date '{day}'"
        moved = f"date '{day}' {self.r.choice('+-')} interval '{self.r.randint(1, 14)}' {self.r.choice(['day', 'month', 'year'])}"
        return self.r.choice([plain, plain, f"'{day}'", moved])

    def test(self) -> str:
        r = self.r
        kind = r.randrange(15)
        if kind < 3:
            return f"{self.number(1)} {r.choice(COMPARED)} {self.constant()}"
        if kind == 3:
            return f"{self.column()} {r.choice(COMPARED)} {self.number(1)}"
        if kind == 4:
            low, high = sorted([r.randint(-10, 50), r.randint(-10, 50)])
            return f"{self.column()} {r.choice(['', 'NOT '])}BETWEEN {low} AND {high}"
        if kind == 5:
            some = ", ".join(self.constant() for _ in range(r.randint(1, 4)))
            return f"{r.choice(['i', 'k', 'p'])} {r.choice(['', 'NOT '])}IN ({some})"
        if kind == 6:
            return f"{r.choice('tu')} {r.choice(COMPARED)} {self.date()}"
        if kind == 7:
            return r.choice(["t < u", "u >= t", f"u > t + {r.randint(0, 30)}", "year(t) = year(u)", f"{self.part()} = {r.randint(0, 3)}"])
        if kind == 8 and r.random() < 0.5:
            word = self.word()
            return r.choice([f"{word} {r.choice(COMPARED)} 'm'", f"{word} IN ('low', 'RED', 're')", f"{word} LIKE '%e%'", f"{word} IS NULL"])
        if kind == 8 and r.random() < 0.3:
            return f"date_trunc('{r.choice(['year', 'quarter', 'month', 'week'])}', {r.choice('tu')}) {r.choice(COMPARED)} {self.date()}"
        if kind == 8:
            return f"year({r.choice('tu')}) {r.choice(COMPARED)} {r.randint(2023, 2027)}"
        if kind == 9:
            pattern = r.choice(["%red", "l%", "%e%", "_lue", "%", "", "a_", "%'%", "RED", "%a"])
            column, escaped = r.choice("sw"), pattern.replace("'", "''")
            return f"{column} {r.choice(['', 'NOT '])}{r.choice(['LIKE', 'ILIKE'])} '{escaped}'"
        if kind == 10:
            column = r.choice("sw")
            some = ", ".join(self.text(column) for _ in range(r.randint(1, 3)))
            return f"{column} {r.choice(['', 'NOT '])}IN ({some})"
        if kind == 11:
            column = r.choice("sw")
            return f"{column} {r.choice(COMPARED)} {self.text(column)}"
        if kind == 12:
            return f"{r.choice('tu')} {r.choice(['', 'NOT '])}BETWEEN {self.date()} AND {self.date()}"
        if kind == 13:
            return f"{self.constant()} {r.choice([*COMPARED, '!='])} {self.number(1)}"
        if kind == 14 and r.random() < 0.3:
            asked = r.choice([f"i {{}} {r.randint(0, 3)}", "t {} u", f"k {{}} {self.column()}", "s {} 'red'", f"{self.constant()} {{}} p"])
            return asked.format(f"IS {r.choice(['', 'NOT '])}DISTINCT FROM")
        return f"{r.choice(['i', 'k', 'p', 't', 's', 'w', 'i + k', 'u - t'])} IS {r.choice(['', 'NOT '])}NULL"

    def text(self, column: str) -> str:
        return "'" + self.r.choice(TEXTS[column] + ["none"]).replace("'", "''") + "'"

    def condition(self, depth: int = 2) -> str:
        if depth == 0 or self.r.random() < 0.4:
            return self.test()
        kind = self.r.random()
        if kind < 0.2:
            return f"NOT ({self.condition(depth - 1)})"
        return f"({self.condition(depth - 1)} {self.r.choice(['AND', 'OR'])} {self.condition(depth - 1)})"

    # Results.

    def summed(self) -> str:
        kind = self.r.random()
        if kind < 0.2:
            other = self.r.choice(["0", self.column(), self.constant()])
            more = f" WHEN {self.test()} THEN {self.column()}" if self.r.random() < 0.3 else ""
            return f"CASE WHEN {self.test()} THEN {self.number(1)}{more} ELSE {other} END"
        if kind < 0.3:
            return f"{self.column()} / {self.r.choice(['2', '4', '0.5', '10'])}"
        if kind < 0.4:
            return self.r.choice([f"power({self.column()}, 2)", "i * i * k", "(p - r) * (p - r)", "p * (1 - r) * (1 + r)"])
        return self.number(2)

    def aggregate(self) -> str:
        kind = self.r.randrange(12)
        if kind < 2:
            found = "count(*)"
        elif kind < 6:
            found = f"sum({self.summed()})"
        elif kind == 6:
            found = f"avg({self.summed()})"
        elif kind < 9:
            asked = [self.column(), self.column(), "t", "s", "w", self.part(), f"{self.column()} - {self.column()}", self.word()]
            found = f"{self.r.choice(['min', 'max'])}({self.r.choice(asked)})"
        elif kind == 9:
            found = f"count(DISTINCT {self.r.choice('ikstw')})"
        elif kind == 10:
            found = f"{self.r.choice(['stddev', 'variance', 'stddev_pop', 'var_pop'])}({self.column()})"
        else:
            found = f"count({self.r.choice(['i', 'k', 'p', 's', 'u', 'i + k', 'nullif(k, 1)'])})"
        return found + (f" FILTER (WHERE {self.condition(1)})" if self.r.random() < 0.2 else "")

    def result(self) -> str:
        kind, found = self.r.random(), self.aggregate()
        if kind < 0.75 or re.match(r"(min|max)\(([tsw]\)|upper|lower|sub|left|right|trim|CASE|coalesce\(nullif)", found):
            return found
        return self.r.choice(
            [
                f"{found} / nullif(count(*), 0)",
                f"round({found}, {self.r.randint(0, 2)})",
                f"coalesce({found}, 0)",
                f"{found} + {self.constant()}",
                f"100.00 * {found} / nullif(sum(k + 1), 0)",
                f"abs({found})",
                f"-{found}",
                f"{found} - count(*)",
            ]
        )

    def having(self) -> str:
        one = f"{self.r.choice(['count(*)', self.aggregate()])} {self.r.choice(COMPARED)} {self.r.randint(0, 20)}"
        other = f"count(*) {self.r.choice(COMPARED)} {self.r.randint(0, 4)}"
        return self.r.choice([one, one, f"{one} {self.r.choice(['AND', 'OR'])} {other}", f"NOT {other}"])

    def query(self) -> str:
        r = self.r
        joined = ["name"] if self.joined else []
        made = [self.word(), "quarter(u)", "isodow(t)", "date_trunc('year', t)", "floor(r * 10)"]
        keys = r.sample(["k", "s", "w", "year(t)", "i % 3", "month(u)", *joined, *made], r.choice([0, 0, 1, 1, 2]))
        results = [self.result() for _ in range(r.randint(1, 3))]
        if keys and r.random() < 0.3:
            self.public = [key for key in keys if key in ("k", "s", "w", "name")][:1]
        # A name that a column of the table has, too, is one that queries of people have.
        names = [f"c{at}" for at in range(len(results))] if r.random() < 0.8 else r.sample(["i", "p", "t", "z", "k", "s", "n"], len(results))
        listed = list(keys)
        grouped = list(keys)
        if keys and r.random() < 0.3:
            at = r.randrange(len(keys))
            listed[at] += f" AS {r.choice(['g', 'g', 'r', 's', 't'])}"
            grouped[at] = r.choice([str(at + 1), keys[at], listed[at].split()[-1]])
        distinct = r.random() < 0.05
        sql = "SELECT " + ("DISTINCT " if distinct else "")
        sql += ", ".join([*listed, *(f"{found} AS {name}" for found, name in zip(results, names, strict=True))]) + " FROM data"
        if self.joined:
            kinds = ["JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL JOIN"]
            sql += f" {r.choice(kinds)} other ON {r.choice(['k = key', 'data.k = other.key', 'key = data.k'])}"
            sql += f" {r.choice(kinds)} third ON z = rank" if "rank" in self.third else ""
        sql += f" WHERE {self.condition()}" if r.random() < 0.75 else ""
        if not keys:
            return sql
        sql += " GROUP BY " + ", ".join(grouped)
        sql += f" HAVING {self.having()}" if r.random() < 0.3 else ""
        places = [str(at + 1) if r.random() < 0.3 else key for at, key in enumerate(keys)]
        order = [f"{key} {r.choice(['', 'DESC'])}".strip() for key in places]
        # DuckDB's means are floats: equal ones may differ in their last bit.
        if r.random() < 0.4 and not re.search(r"avg|stddev|var|/", results[0]):
            order = [f"{names[0]} {r.choice(['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'])}".strip(), *order]
        sql += " ORDER BY " + ", ".join(order)
        sql += f" LIMIT {r.randint(1, 3)}" if r.random() < 0.2 else ""
        return sql + (f" OFFSET {r.randint(0, 2)}" if r.random() < 0.1 else "")


def answer_of_duckdb(asked: Asked, folder: Path) -> list[tuple] | str:
    """Rows, or why there are none. Writes the files that limbwise reads."""
    with duckdb.connect() as database:
        columns = ", ".join(f"{name} {TYPES.get(name, 'VARCHAR')}" for name in asked.rows[0])
        database.execute(f"CREATE TABLE data ({columns})")
        database.executemany(f"INSERT INTO data VALUES ({', '.join('?' * 8)})", [list(row.values()) for row in asked.rows])
        database.execute("CREATE TABLE other (key INTEGER, z INTEGER, name VARCHAR)")
        database.executemany("INSERT INTO other VALUES (?, ?, ?)", [list(row.values()) for row in asked.other])
        if asked.parquet:
            database.execute(f"COPY data TO '{folder / 'data.parquet'}' (FORMAT PARQUET)")
        database.execute("CREATE TABLE third (rank INTEGER, score INTEGER)")
        database.executemany("INSERT INTO third VALUES (?, ?)", [list(row.values()) for row in asked.more])
        for name, rows in (("data", asked.rows), ("other", asked.other), ("third", asked.more)):
            with (folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
        try:
            return database.execute(asked.sql).fetchall()
        except duckdb.Error as error:
            return str(error).splitlines()[0]


def answer_of_limbwise(asked: Asked, folder: Path, program: Path, preset: str) -> dict | str:
    """The report of a run, or the text of its error."""
    table = folder / ("data.parquet" if asked.parquet else "data.csv")
    command = [program, "run", "query", "--sql", asked.sql, "--data", table, "--preset", preset, "--threads", "1", "--json"]
    for name in ["other", "third"][: (1 + bool(asked.third)) if asked.joined else 0]:
        command += ["--with", f"{name}={folder / name}.csv"]
    for column in asked.public:
        command += ["--public", column]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode not in (1, 2) or "error: " not in done.stderr or "bug in limbwise" in done.stderr:
        raise RuntimeError(f"status {done.returncode}: {done.stderr}")
    return done.stderr[done.stderr.index("error: ") + 7 :].strip()


def same(wanted: object, cell: object, reach: float) -> str | None:
    """What is wrong with a cell."""
    if wanted is None or (isinstance(wanted, float) and not math.isfinite(wanted)):
        missing = cell is None or (isinstance(cell, dict) and cell["decrypted"] is None)
        return None if missing else f"{cell} where NULL is right"
    if isinstance(wanted, datetime.datetime):
        wanted = wanted.date()  # what a date is cut to
    if isinstance(wanted, (str, datetime.date)):
        return None if cell == str(wanted) else f"{cell!r} where {str(wanted)!r} is right"
    if not isinstance(cell, dict):
        # A key of a group is no result; it is a text or a number as it is written.
        try:
            near = cell is not None and float(cell) == float(wanted)
        except (TypeError, ValueError):
            near = False
        return None if near else f"{cell!r} where {wanted!r} is right"
    value = float(wanted)
    if not math.isclose(float(cell["exact"]), value, rel_tol=1e-9, abs_tol=1e-9):
        return f"exact {cell['exact']} where {value!r} is right"
    if abs(cell["decrypted"] - value) > 1e-3 * max(reach, 1.0):
        return f"decrypted {cell['decrypted']} where {value!r} is right"
    return None


def compared(wanted: list[tuple], report: dict) -> str | None:
    rows = report["table"]["rows"] if report.get("table") else [[report["answer"]]]
    if len(rows) != len(wanted):
        return f"{len(rows)} rows where {len(wanted)} are right: {rows} {wanted}"
    if report["wrong"]:
        return f"{report['wrong']} decisions are wrong"
    numbers = [abs(float(x)) for row in wanted for x in row if isinstance(x, (int, float, Decimal))]
    reach = max([x for x in numbers if math.isfinite(x)], default=1.0)
    for right, row in zip(wanted, rows, strict=True):
        for expected, cell in zip(right, row, strict=True):
            if (wrong := same(expected, cell, reach)) is not None:
                return f"{wrong}; {rows} beside {wanted}"
    return None


def judged(seed: int, folder: Path, program: Path, preset: str) -> tuple[int, str, str, str]:
    asked = Asked(seed)
    place = folder / f"q{seed:06}"
    place.mkdir(parents=True, exist_ok=True)
    wanted = answer_of_duckdb(asked, place)
    try:
        found = answer_of_limbwise(asked, place, program, preset)
        if isinstance(wanted, str):
            kind, text = "not DuckDB's", wanted
        elif isinstance(found, str):
            kind, text = "refused", found.splitlines()[0]
        else:
            wrong = compared(wanted, found)
            kind, text = ("wrong", wrong) if wrong is not None else ("equal", "")
    except (RuntimeError, ValueError, KeyError) as error:
        kind, text = "wrong", repr(error)
    return seed, kind, text, asked.sql


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("program", type=Path, help="the command limbwise")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first query")
    parser.add_argument("--shown", action="store_true", help="print every query with what became of it")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    preset = ",".join(str(path) for path in small_sets(options.folder))
    kinds, reasons, known = Counter(), Counter(), {}
    one = lambda seed: judged(seed, options.folder, options.program.resolve(), preset)
    with ThreadPoolExecutor(2) as threads:
        for seed, kind, text, sql in threads.map(one, range(options.seed, options.seed + options.queries)):
            kinds[kind] += 1
            if kind == "refused":
                reason = re.sub(r"\d+", "#", text.split(";")[0])[:90]
                reasons[reason] += 1
                known.setdefault(reason, f"{seed}: {text[:300]}\n      {sql}")
            if kind == "wrong" or options.shown:
                print(f"{kind} {seed}: {text}\n    {sql}", flush=True)
    print(dict(kinds))
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}\n      {known[reason]}")
    return int(kinds["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
