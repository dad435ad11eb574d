"""An export replaces nothing but an export, and an altered one is refused."""

import resource
import shutil

import pytest

from prwn_tf import files, locks
from prwn_tf.errors import StorageError, UserError
from prwn_tf.serving import export as export_lib
from prwn_tf.serving import manifest, models


@pytest.mark.parametrize("damage", ["flip", "add", "remove", "format", "list"])
def test_an_altered_model_is_refused(exported, tmp_path, damage):
    folder = shutil.copytree(exported, tmp_path / "model")
    data = next(folder.rglob("*.data-*"))
    about = files.read_json(folder / manifest.NAME)
    if damage == "flip":
        content = bytearray(data.read_bytes())
        content[100] ^= 1
        data.write_bytes(content)
        text = "altered after the export: sha256"
    elif damage == "add":
        (folder / "assets").mkdir(exist_ok=True)
        (folder / "assets" / "extra").write_text("")
        text = "not exported: assets/extra; remove it"
    elif damage == "remove":
        data.unlink()
        text = "lacks a file"
    elif damage == "format":
        files.write_json(folder / manifest.NAME, about | {"format": "other"})
        text = "does not describe an exported model"
    else:
        files.write_json(folder / manifest.NAME, about | {"files": None})
        text = "lists no files"
    with pytest.raises(UserError, match=text):
        models.open_model(folder)


def test_an_export_is_replaced_but_nothing_else(workdir, exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "model")
    next(folder.rglob("*.data-*")).write_bytes(b"damaged")
    export_lib.export(workdir, folder)
    manifest.read(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]

    (folder / "variables/thesis").write_text("")
    with pytest.raises(UserError, match="holds something else"):
        export_lib.export(workdir, folder)
    (folder / "variables/thesis").unlink()
    about = files.read_json(folder / manifest.NAME)
    files.write_json(folder / manifest.NAME, about | {"format": "of another program"})
    with pytest.raises(UserError, match="holds something else"):
        export_lib.export(workdir, folder)

    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("")
    with pytest.raises(UserError, match="holds something else"):
        export_lib.export(workdir, tmp_path / "thesis")


def test_a_full_disk_is_no_traceback(workdir, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(StorageError, match="cannot save the model in"):
            export_lib.export(workdir, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_tensorflow_cannot_read(workdir, exported, tmp_path):
    with pytest.raises(UserError, match="choose another name"):
        export_lib.export(workdir, tmp_path / "model [new]")
    folder = shutil.copytree(exported, tmp_path / "model?")
    for function in (models.open_model, models.open_export):
        with pytest.raises(UserError, match="choose another name"):
            function(folder)


def test_what_a_killed_export_left_is_removed_by_the_next(workdir, tmp_path):
    left = tmp_path / ".model.scratch/new/saved_model.pb"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    (tmp_path / "current").symlink_to("model")
    export_lib.export(workdir, tmp_path / "current")
    assert {path.name for path in tmp_path.iterdir()} == {"current", "model"}
    assert (tmp_path / "current").is_symlink()


def test_two_exports_to_one_folder(workdir, tmp_path):
    with (
        locks.scratch(tmp_path / ".model.scratch"),
        pytest.raises(UserError, match="another process is writing"),
    ):
        export_lib.export(workdir, tmp_path / "model")
