"""Archives of every kind, made by the tests that import it."""

import io
import tarfile
import zipfile

KINDS = ["tar", "tar.gz", "tar.xz", "zip"]


def packed(path, contents, kind):
    """Writes an archive of some files: name -> content."""
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    else:
        appended(path, contents, "w" + kind.removeprefix("tar").replace(".", ":"))
    return path


def appended(path, contents, mode="a"):
    """Adds files to a tar, as tar -r does it, or writes a new one."""
    with tarfile.open(path, mode) as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def content_of(folder):
    """Returns the files of a folder: name -> content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
