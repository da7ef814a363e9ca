"""The design page names only files that are there."""

import re

from docs.marked import DOCS, ROOT

PAGE = (DOCS / "design.md").read_text()
SOURCE = ROOT / "src" / "rightcall"
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)*\.py)`")
"""A file: by its path from the package or from the project, or by its name beside the one before."""


def is_there(name: str, folder: str) -> bool:
    return any((where / name).is_file() for where in (SOURCE, ROOT, SOURCE / folder))


def test_every_file_that_the_page_names_is_there():
    missing = []
    folder = ""
    for name in NAMED.findall(PAGE.replace("NAME.py", "")):
        if not is_there(name, folder) and not list(SOURCE.rglob(name)):
            missing.append(name)
        folder = name.rpartition("/")[0] or folder
    assert missing == []


def test_every_folder_of_the_package_is_on_the_page():
    there = {path.name for path in SOURCE.iterdir() if path.is_dir() and not path.name.startswith("_")}
    tree = PAGE.partition("```\nsrc/rightcall/\n")[2].partition("```")[0]
    assert {line.split()[0].rstrip("/") for line in tree.splitlines() if "/ " in line[:17]} == there


def test_the_check_sees_files():
    assert NAMED.findall("`loop/run.py` and `decide.py`, not `run`") == ["loop/run.py", "decide.py"]
    assert not is_there("loop/resumptions.py", "")
