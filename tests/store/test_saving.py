"""Saving: the new file or the old one, whole, whatever happens."""

import errno
import os
import random
import re
import resource
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from bayeskit.errors import InputError
from bayeskit.replacement import replace_on_success
from bayeskit.storage import container

from .container import ARRAYS, ENV, HEADER, SAVER, expect
from .saver import expect as saver_expect
from .saver import model as saver_model


def leftovers(folder):
    return [file.name for file in folder.iterdir() if file.suffix == ".tmp"]


def test_replaces_and_keeps_the_mode(path):
    before = os.umask(0o027)
    try:
        container.write(path, HEADER, ARRAYS)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o600, 0o664, 0o755):
            path.chmod(mode)
            container.write(path, HEADER, ARRAYS)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)
    assert os.listdir(path.parent) == [path.name]


def test_symlinks(tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    link = tmp_path / "link.bayes"
    link.symlink_to("there/model.bayes")  # dangling at first
    for number in (1, 2):
        container.write(link, *saver_model(number))
        assert link.is_symlink()
        assert os.listdir(there) == ["model.bayes"]
        assert container.read(link, saver_expect)[0]["number"] == number
    loop = tmp_path / "loop.bayes"
    loop.symlink_to("loop.bayes")
    with pytest.raises(OSError, match=r"loop\.bayes") as caught:
        container.write(loop, HEADER, ARRAYS)
    assert caught.value.errno == errno.ELOOP
    assert loop.is_symlink()


def test_protected_file_and_directory():
    with tempfile.TemporaryDirectory() as name:  # tmp_path is closed to other users
        folder, path, user = Path(name), Path(name) / "model.bayes", os.geteuid()
        container.write(path, HEADER, ARRAYS)
        before = path.read_bytes()
        for folder_mode, mode in ((0o777, 0o444), (0o555, 0o666)):
            folder.chmod(folder_mode)
            path.chmod(mode)
            os.seteuid(user or 65534)  # root may write everywhere
            try:
                with pytest.raises(PermissionError, match=re.escape(str(path))) as caught:
                    container.write(path, {}, {})
            finally:
                os.seteuid(user)
            assert caught.value.errno == errno.EACCES
            assert path.read_bytes() == before
            assert os.listdir(folder) == [path.name]
        folder.chmod(0o777)


def test_long_name(tmp_path):
    path = tmp_path / ("x" * 249 + ".bayes")
    container.write(path, HEADER, ARRAYS)
    assert container.read(path, expect)[0] == HEADER


def test_what_a_killed_writer_left_goes_with_the_next_save_of_that_file(path):
    other = path.with_name("other.bayes")
    for target in (path, other):
        script = (
            "import os\nfrom bayeskit.replacement import replace_on_success\n"
            f"with replace_on_success({str(target)!r}): os._exit(9)"
        )
        assert subprocess.run([sys.executable, "-c", script], env=ENV).returncode == 9
    assert len(leftovers(path.parent)) == 2
    container.write(path, HEADER, ARRAYS)
    assert len(leftovers(path.parent)) == 1
    container.write(other, HEADER, ARRAYS)
    assert not leftovers(path.parent)
    assert container.read(path, expect)[0] == container.read(other, expect)[0] == HEADER


def test_the_file_of_a_living_writer_stays(path):
    with replace_on_success(str(path)) as slow:
        (name,) = leftovers(path.parent)
        container.write(path, HEADER, ARRAYS)
        assert leftovers(path.parent) == [name]
        slow.write(path.read_bytes())
    assert container.read(path, expect)[0] == HEADER
    assert not leftovers(path.parent)


def test_missing_directory(tmp_path):
    path = tmp_path / "none" / "model.bayes"
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))) as caught:
        container.write(path, HEADER, ARRAYS)
    assert caught.value.errno == errno.ENOENT
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_replaced(tmp_path):
    folder = tmp_path / "folder.bayes"
    folder.mkdir()
    pipe = tmp_path / "fifo"
    os.mkfifo(pipe)
    for odd in (folder, pipe, Path("/dev/null")):
        with pytest.raises(InputError, match="not a regular file; "):
            container.write(odd, HEADER, ARRAYS)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod", "fdopen"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file(path, raw, monkeypatch, call, error):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)) as caught:
        container.write(path, {}, {})
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert caught.value.errno == errno.EIO
        assert str(path) in str(caught.value)
    assert path.read_bytes() == raw
    assert os.listdir(path.parent) == [path.name]


def test_all_is_written_before_it_is_synced_and_synced_before_it_is_seen(path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def spy(descriptor):
        about = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(about.st_mode) else about.st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("replace"), replace(*names)))
    container.write(path, HEADER, ARRAYS)
    assert events == [path.stat().st_size, "replace", "folder"]


def test_directory_that_cannot_be_synced(path, monkeypatch):
    real, code = os.fsync, errno.EINVAL

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    container.write(path, HEADER, ARRAYS)
    code = errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        container.write(path, HEADER, ARRAYS)
    assert container.read(path, expect)[0] == HEADER


def test_full_and_read_only_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    save = f"{sys.executable} {SAVER}"
    script = f"""set -e
        mount -t tmpfs -o size=2000k tmpfs {disk}
        {save} several {disk}/model.bayes 1
        cp {disk}/model.bayes {tmp_path}/first
        head -c 600000 /dev/zero > {disk}/filler
        {save} refused {disk}/model.bayes 2
        cmp {disk}/model.bayes {tmp_path}/first
        ls -A {disk}
        mount -o remount,ro {disk}
        {save} refused {disk}/model.bayes 3
        cmp {disk}/model.bayes {tmp_path}/first
        ls -A {disk}"""
    private = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    try:
        subprocess.run([*private, "mount", "-t", "tmpfs", "tmpfs", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no private mounts here")
    done = subprocess.run([*private, "sh", "-c", script], env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    full, *kept, read_only, kept2, kept3 = done.stdout.splitlines()
    assert full.startswith(f"{errno.ENOSPC} ")
    assert f"{disk}/model.bayes" in full
    assert read_only.startswith(f"{errno.EROFS} ")
    assert f"{disk}/model.bayes" in read_only
    assert kept == [kept2, kept3] == ["filler", "model.bayes"]


def test_file_size_limit(path, raw):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        with pytest.raises(OSError, match=re.escape(str(path))) as caught:
            container.write(path, *saver_model(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == raw
    assert os.listdir(path.parent) == [path.name]


def whole(path):
    """The number of a model all of whose parts agree."""
    header, arrays = container.read(path, saver_expect)
    assert (arrays["counts"] == header["number"]).all()
    assert (arrays["sums"] == header["number"] / 7).all()
    return header["number"]


def test_kill(tmp_path):
    path = tmp_path / "model.bayes"
    container.write(path, *saver_model(0))
    rng = random.Random(5)
    for turn in range(12):
        with subprocess.Popen(
            [sys.executable, SAVER, "loop", path, str(turn * 1000)], env=ENV, stdout=subprocess.PIPE
        ) as child:
            child.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            child.kill()
        whole(path)
    names = set(os.listdir(tmp_path)) - {"model.bayes"}
    assert all(re.fullmatch(r"\.bayeskit-[0-9a-f]{16}-[0-9a-f]{16}\.tmp", name) for name in names)
    assert len(names) <= 1  # each save removes what the one before it has left


def test_concurrent_writers(path):
    container.write(path, *saver_model(0))
    run = [sys.executable, SAVER, "several", path]
    children = [subprocess.Popen([*run, str(number)], env=ENV) for number in (1, 2, 3)]
    while any(child.poll() is None for child in children):
        assert whole(path) in range(4)
    assert [child.wait() for child in children] == [0, 0, 0]
    assert os.listdir(path.parent) == [path.name]
