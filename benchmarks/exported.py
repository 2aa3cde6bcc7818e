"""Scoring rows inside DuckDB by exported SQL: 12 mixed columns, naive Bayes of 3 classes.

``python benchmarks/exported.py [rows]`` prints rows per second of elapsed and of processor time, and how far P(class)
is from Python on some of the rows.
"""

from __future__ import annotations

import resource
import sys
import time

import duckdb
import numpy as np

import bayeskit as bk

NUMBERS = ", ".join(f"(random() + random() + random() + 0.1 * (i % 3)) AS n{j}" for j in range(7))
LEVELS = ", ".join(
    f"CASE WHEN random() < 0.05 THEN NULL ELSE 'town' || (random() * 49)::INT END AS c{j}" for j in range(3)
)
TABLE = f"""
CREATE TABLE people AS SELECT i, {NUMBERS}, (random() * 1000)::INT AS age, random() < 0.3 AS flag, {LEVELS},
    ['a', 'b', 'c'][i % 3 + 1] AS y FROM range(?) AS t(i)
"""
ANSWER = 'SELECT count(prediction), sum("P(a)"), sum("P(b)"), sum("P(c)") FROM ({})'


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    db = duckdb.connect()
    db.execute("SELECT setseed(0.5)")
    db.execute(TABLE, [rows])
    some = db.execute("SELECT * EXCLUDE (i) FROM people WHERE i < 50000").fetch_df()
    model = bk.NaiveBayes().fit(some, "y")
    query = bk.export(model, "sql", source="people", keep=["i"])
    start, used = time.perf_counter(), processor()
    db.execute(ANSWER.format(query)).fetchall()
    elapsed, spent = time.perf_counter() - start, processor() - used
    found = db.execute(f"SELECT * FROM ({query}) WHERE i < 2000 ORDER BY i").fetch_df()
    asked = db.execute("SELECT * EXCLUDE (i, y) FROM people WHERE i < 2000 ORDER BY i").fetch_df()
    apart = np.abs(found[["P(a)", "P(b)", "P(c)"]].to_numpy() - model.predict_proba(asked)).max()
    print(f"{rows:,} rows x 12 columns: {elapsed:.1f} s, {spent:.1f} s of processor time")
    speed, share = rows / elapsed / 1e6, rows / spent / 1e6
    print(f"{speed:.2f} million rows/s, {share:.2f} to a second of one processor; P within {apart:.0e}")


if __name__ == "__main__":
    main()
