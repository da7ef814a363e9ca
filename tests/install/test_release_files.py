"""The judge of a release's files finds what is wrong with them."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

import rightcall
from install import release_files

METADATA = f"""\
Metadata-Version: 2.4
Name: rightcall
Version: {rightcall.__version__}
Summary: {release_files.PROJECT["description"]}
License-Expression: Apache-2.0
Requires-Python: >=3.11
Description-Content-Type: text/markdown
""" + "".join(
    f"{line}\n"
    for line in (
        *(f"Classifier: Programming Language :: Python :: {each}" for each in release_files.PYTHONS),
        *(f"Provides-Extra: {each}" for each in release_files.PROJECT["optional-dependencies"]),
    )
)
INFO = f"rightcall-{rightcall.__version__}.dist-info/"


def wheel(folder: Path, metadata: str = METADATA, **more: str) -> Path:
    path = folder / f"rightcall-{rightcall.__version__}-py3-none-any.whl"
    files = {
        "rightcall/py.typed": "",
        f"{INFO}licenses/LICENSE": "",
        f"{INFO}METADATA": metadata,
        **more,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def sdist(folder: Path, *names: str) -> Path:
    path = folder / f"rightcall-{rightcall.__version__}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"rightcall-{rightcall.__version__}/{name}"), io.BytesIO())
    return path


def test_a_release_that_is_well(tmp_path):
    assert list(release_files.wrong_metadata(wheel(tmp_path))) == []
    assert (
        list(release_files.wrong_files(wheel(tmp_path), sdist(tmp_path, "README.md", "PKG-INFO"))) == []
    )


@pytest.mark.parametrize(
    ("was", "is_", "said"),
    [
        (f"Version: {rightcall.__version__}", "Version: 9", "Version is '9'"),
        ("Apache-2.0", "MIT", "License-Expression is 'MIT'"),
        ("Python :: 3.13", "Python :: 3.99", "the classifiers name Python"),
        ("Provides-Extra: mcp\n", "", "{'mcp'}"),
    ],
)
def test_metadata_that_is_wrong(tmp_path, was, is_, said):
    (wrong,) = release_files.wrong_metadata(wheel(tmp_path, METADATA.replace(was, is_)))
    assert said in wrong


@pytest.mark.parametrize("name", ["src/rightcall/x.pyc", "bench/model.gguf", ".venv-3.12/pyvenv.cfg"])
def test_what_does_not_belong_into_an_sdist(tmp_path, name):
    wrong = list(release_files.wrong_files(wheel(tmp_path), sdist(tmp_path, name)))
    assert f"{name} is in the sdist" in wrong


def test_what_does_not_belong_into_a_wheel_and_what_does(tmp_path, monkeypatch):
    made = wheel(tmp_path, **{"tests/test_x.py": ""})
    assert list(release_files.wrong_files(made, sdist(tmp_path))) == ["tests/test_x.py is in the wheel"]
    monkeypatch.setattr(release_files, "MOST_WHEEL", 10)
    assert "bytes; 10 are allowed" in next(release_files.wrong_files(made, sdist(tmp_path)))
