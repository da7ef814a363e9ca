"""An install without extras: every part that needs one says in one line what to install."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """The distributions that an install of these would bring, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(each), "") for each in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name not in found:
            found[name] = distribution(name)
            needs = map(Requirement, found[name].requires or ())
            waiting += [(need, each) for need in needs for each in (*requirement.extras, "")]
    return found


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from that holds what a core install does, and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    for each in closure(PROJECT["dependencies"]).values():
        for top in {
            file.parts[0] for file in each.files or () if file.parts[0] not in {"..", "__pycache__"}
        }:
            place = Path(str(each.locate_file(top)))
            if place.exists() and not (folder / top).exists():
                (folder / top).symlink_to(place)
    (folder / "rightcall").symlink_to(ROOT / "src" / "rightcall")
    return folder


def run(core: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    start = f"import runpy, sys; sys.path.append({str(core)!r}); sys.argv[:] = sys.argv[1:]; "
    start += "runpy.run_path(sys.argv[0], run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_every_part_that_needs_an_extra_says_so_in_one_line(core):
    done = run(core, str(Path(__file__).with_name("core_only.py")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d\d\d parts, 0 wrong$", done.stdout, re.MULTILINE)


def test_everything_else_works_without(core):
    done = run(core, str(ROOT / "examples" / "tour.py"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_can_be_imported_from_a_zip_file(tmp_path):
    """As zipapp makes one: data files are read by the package's loader."""
    archive = Path(shutil.make_archive(str(tmp_path / "app"), "zip", ROOT / "src", "rightcall"))
    program = f"""if True:
        import sys
        sys.path.insert(0, {str(archive)!r})
        import rightcall as rc
        from rightcall.local.families.family_list import FAMILIES
        from rightcall.manifest import interpreters
        from rightcall.testing import ScriptedModel
        assert rc.__file__.startswith({str(archive)!r})
        assert rc.connect("openai:gpt-5", api_key="x")
        print(rc.Agent(ScriptedModel(["Hi"])).run_sync("Hello").text, len(FAMILIES) > 5)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.stdout, done.stderr) == ("Hi True\n", "")


def test_all_brings_every_extra_but_the_large_ones():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.findall(r"\[(.*)\]", everything)[0].split(","))
    assert named == extras.keys() - {
        "all",
        "computer",
        "dev",
        "durable",
        "langchain",
        "restate",
        "transformers",
    }
