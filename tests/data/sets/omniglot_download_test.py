"""Omniglot from its publisher, for whom a server of our own stands in."""

import functools
import http.server
import os
import subprocess
import sys
import threading

import pytest

from prwn_tf import files
from prwn_tf.data.sets import omniglot, omniglot_sources
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError
from tests.data.sets.omniglot_made import (
    CHARACTERS,
    as_folder_of_zips,
    build,
    write_halves,
)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *unused):
        pass


@pytest.fixture
def published(tmp_path, monkeypatch):
    """The folder that the publisher's server shows, with both zips."""
    (tmp_path / "published").mkdir()
    halves = write_halves(tmp_path / "halves")
    folder = as_folder_of_zips(halves, tmp_path / "published")
    serve = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    hashes = {name: files.sha256(folder / name) for name in omniglot_sources.ZIPS}
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(omniglot_sources, "HOMEPAGE", url)
    monkeypatch.setattr(omniglot_sources, "ZIPS_URL", url)
    monkeypatch.setattr(omniglot_sources, "ZIPS", hashes)
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_download_is_read_as_the_zips_are_from_disk(published, tmp_path):
    omniglot_sources.check_connection()
    source = omniglot_sources.downloaded(tmp_path / "scratch")
    omniglot.write(tmp_path / "out", source, CHARACTERS)
    build(tmp_path / "reference", published)

    assert reader.read_manifest(tmp_path / "out") == reader.read_manifest(
        tmp_path / "reference"
    )


def test_another_file_than_was_published_is_refused(published, tmp_path):
    with (published / "images_evaluation.zip").open("ab") as file:
        file.write(b"more")
    with pytest.raises(
        UserError, match=r"/images_evaluation.zip is not what it was: expected sha256"
    ):
        omniglot_sources.downloaded(tmp_path / "scratch")


def test_a_zip_that_is_gone(published, tmp_path):
    (published / "images_evaluation.zip").unlink()
    with pytest.raises(
        UserError, match=r"cannot get Omniglot .*404.*; download images_background.zip "
    ) as caught:
        omniglot_sources.downloaded(tmp_path / "scratch")
    assert "\n" not in str(caught.value)


def test_without_a_network_one_line_asks_for_a_source(tmp_path):
    nowhere = "http://127.0.0.1:9"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "prwn_tf.prepare", "--dataset=omniglot"),
            f"--data_dir={tmp_path / 'data'}",
        ],
        env=os.environ
        | {"TFDS_DATA_DIR": str(tmp_path), "https_proxy": nowhere, "no_proxy": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert run.returncode == 2
    assert run.stderr.startswith("error: cannot get Omniglot through tensorflow_datas")
    assert run.stderr.count("\n") == 1
    assert "--source" in run.stderr
    assert run.stdout == ""
    assert not any(tmp_path.iterdir())
