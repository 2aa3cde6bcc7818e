"""A real PostgreSQL server for tests, where its programs are installed."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

PROGRAMS = [str(p) for p in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]


@cache
def address() -> str:
    """Where the one server of this process answers; a test that asks for it is skipped where there is none."""
    path = os.pathsep.join([*PROGRAMS, os.environ["PATH"]])
    initdb, pg_ctl = shutil.which("initdb", path=path), shutil.which("pg_ctl", path=path)
    if not initdb or not pg_ctl:
        pytest.skip("needs a PostgreSQL server: initdb and pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="bayeskit-pg-"))
    user = None
    if os.geteuid() == 0:  # it refuses to run as root
        known = {entry.pw_name for entry in pwd.getpwall()}
        user = next((name for name in ("postgres", "nobody") if name in known), None)
        if user is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user")
        shutil.chown(folder, user)
    data = str(folder / "data")

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=120)

    run(initdb, "-D", data, "-U", "tester", "-A", "trust", "-N", "-E", "UTF8", "--locale", "C")
    run(pg_ctl, "-D", data, "-w", "-l", f"{data}/log", "-o", f"-c listen_addresses='' -k {folder} -F", "start")

    def stop() -> None:
        run(pg_ctl, "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return f"postgresql://tester@/postgres?host={folder}"


def holding(data: pa.Table, table: str = "kept") -> str:
    """The server's address, once its only table is this one."""
    from adbc_driver_postgresql import dbapi

    plain = pa.table(
        {
            n: c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c
            for n, c in zip(data.column_names, data.columns, strict=True)
        }
    )
    with dbapi.connect(address()) as connection, connection.cursor() as cursor:
        cursor.execute("drop schema public cascade")
        cursor.execute("create schema public")
        cursor.adbc_ingest(table, plain, mode="create")
        connection.commit()
    return address()
