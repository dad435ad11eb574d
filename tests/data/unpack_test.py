"""Archives are unpacked into their folder and nowhere else."""

import io
import tarfile
import zipfile

import pytest

from prwn_tf.data import archives, sources
from prwn_tf.errors import StorageError, UserError
from tests.data import made

FILES = {"a/one.png": b"first", "a/b/two.png": b"second" * 1000, "c": b""}


def packed(path, contents, kind):
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
            for name, content in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return path


def content_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_files_come_out_as_they_went_in(tmp_path, kind):
    archives.unpack(packed(tmp_path / "a", FILES, kind), tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_large_file_is_unpacked(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 100)
    archives.unpack(packed(tmp_path / "a", FILES, kind), tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil"])
def test_nothing_is_written_outside(tmp_path, kind, name):
    path = packed(tmp_path / "a", FILES | {name: b"evil"}, kind)
    with pytest.raises(UserError, match="points outside"):
        archives.unpack(path, tmp_path / "in" / "out")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "in/evil").exists()


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_damaged_archive(tmp_path, kind):
    path = packed(tmp_path / "a", FILES, kind)
    content = bytearray(path.read_bytes())
    # zip's first data lie at 39; all of gzip is one stream.
    content[41 if kind == "zip" else len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be unpacked .* download it again"):
        archives.unpack(path, tmp_path / "out")


def test_an_archive_is_unpacked_and_a_folder_taken_as_it_is(tmp_path):
    path = packed(tmp_path / "pictures.zip", {"cat/1.png": made.png(0, 0)}, "zip")
    with sources.opened(path, tmp_path / "scratch") as folder:
        assert folder == tmp_path / "scratch"
        assert (folder / "cat/1.png").exists()

    with sources.opened(tmp_path, tmp_path / "other") as folder:
        assert folder == tmp_path
    assert not (tmp_path / "other").exists()


def use(path, scratch, error):
    with sources.opened(path, scratch):
        raise error


def test_an_error_names_what_the_user_gave(tmp_path):
    path = packed(tmp_path / "pictures.zip", FILES, "zip")
    scratch = tmp_path / "scratch"
    with pytest.raises(UserError, match=r"^/.*pictures.zip/a is bad$"):
        use(path, scratch, UserError(f"{scratch}/a is bad"))


def test_a_full_disk_names_the_disk(tmp_path):
    path = packed(tmp_path / "pictures.zip", FILES, "zip")
    scratch = tmp_path / "scratch"
    with pytest.raises(StorageError, match=r"^cannot write /.*/scratch/a: full$"):
        use(path, scratch, StorageError(f"cannot write {scratch}/a: full"))
