"""The official JSON Schema 2020-12 suite, every test of it put through the gate as a tool call.

The suite's remote documents stand at http://localhost:1234/ by its own convention. Nothing is fetched:
they are passed as the tool's resources.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rightcall as rc
from rightcall.core.outcome import Invalid

REQUIRED = 1299

# Tests passed, and tests there are. The optional ones are not required of anybody; a number that falls
# is a step back all the same.
OPTIONAL = {
    "anchor": (4, 4),
    "bignum": (9, 9),
    "cross-draft": (1, 1),
    "dependencies-compatibility": (36, 36),
    "dynamicRef": (2, 2),
    "ecmascript-regex": (74, 74),
    "float-overflow": (1, 1),
    "format-assertion": (4, 4),
    "format/date": (81, 81),
    "format/date-time": (33, 33),
    "format/duration": (52, 52),
    "format/ecmascript-regex": (12, 12),
    "format/email": (27, 27),
    "format/hostname": (64, 64),
    "format/idn-email": (18, 18),
    "format/idn-hostname": (90, 90),
    "format/ipv4": (41, 41),
    "format/ipv6": (42, 42),
    "format/iri": (24, 24),
    "format/iri-reference": (13, 13),
    "format/json-pointer": (40, 40),
    "format/regex": (8, 8),
    "format/relative-json-pointer": (25, 25),
    "format/time": (47, 47),
    "format/unknown": (7, 7),
    "format/uri": (46, 46),
    "format/uri-reference": (28, 28),
    "format/uri-template": (38, 38),
    "format/uuid": (28, 28),
    "id": (3, 3),
    "no-schema": (3, 3),
    "non-bmp-regex": (12, 12),
    "refOfUnknownKeyword": (10, 10),
    "unknownKeyword": (3, 3),
}


class Tally(NamedTuple):
    passed: int
    total: int


@cache
def remotes(root: Path) -> dict[str, Any]:
    """The documents that the tests refer to, except those of the dialect that is still being made."""
    folder = root / "remotes"
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.json"))}
    return {
        f"http://localhost:1234/{place}": json.loads(path.read_text())
        for place, path in found.items()
        if not place.startswith("v1/")
    }


def tool_for(schema: Any, root: Path, *, formats: bool) -> rc.Tool:
    """A tool whose one argument must fit the schema of a case."""
    if isinstance(schema, bool):
        value, resources = schema, {}
    else:
        # A resource is known by the name it gives itself; only one without a name needs ours.
        own = schema.get("$id", "")
        uri = own if ":" in own else "urn:rightcall:case"
        value, resources = {"$ref": uri}, {**remotes(root), uri: schema}
    parameters = {"type": "object", "properties": {"value": value}, "required": ["value"]}
    return rc.Tool("case", "One case.", parameters, resources=resources, formats=formats)


def failures_in(path: Path, root: Path, *, formats: bool = False) -> tuple[Tally, list[str]]:
    """How many of a file's tests pass, and which do not."""
    total, failures = 0, []
    for case in json.loads(path.read_text()):
        tool = tool_for(case["schema"], root, formats=formats)
        for test in case["tests"]:
            total += 1
            arguments = json.dumps({"value": test["data"]})
            verdict = rc.gate.check(rc.Call(id="1", name="case", arguments=arguments), tool)
            assert isinstance(verdict, rc.gate.CheckedCall | Invalid), verdict
            if isinstance(verdict, rc.gate.CheckedCall) != test["valid"]:
                failures.append(f"{path.name}: {case['description']}: {test['description']}")
    return Tally(total - len(failures), total), failures


@pytest.fixture
def suite(shared_data: Path) -> Path:
    return shared_data / "json-schema"


def test_every_required_test_passes(suite):
    files = sorted((suite / "draft2020-12").glob("*.json"))
    tallies, failures = zip(*(failures_in(path, suite) for path in files), strict=True)
    assert [failure for each in failures for failure in each] == []
    assert sum(tally.total for tally in tallies) == REQUIRED


def test_no_fewer_optional_tests_pass_than_are_recorded(suite):
    folder = suite / "draft2020-12" / "optional"
    names = {
        path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.json")
    }
    measured = {
        name: failures_in(path, suite, formats=name.startswith("format"))[0]
        for name, path in names.items()
    }
    passed, total = (sum(column) for column in zip(*measured.values(), strict=True))
    print(f"{passed} of {total} optional tests pass")  # noqa: T201 - pytest -s shows it
    assert {name: tally.total for name, tally in measured.items()} == {
        name: total for name, (_, total) in OPTIONAL.items()
    }
    assert {name: tally for name, tally in measured.items() if tally.passed < OPTIONAL[name][0]} == {}


def test_a_resource_may_be_registered_under_another_address_than_its_own_name():
    resource = {
        "$id": "http://localhost:1234/outer.json",
        "$ref": "inner.json",
        "$defs": {"inner": {"$id": "inner.json", "type": "integer"}},
    }
    parameters = {"type": "object", "properties": {"value": {"$ref": "urn:other"}}}
    tool = rc.Tool("case", "One case.", parameters, resources={"urn:other": resource})
    assert isinstance(
        rc.gate.check(rc.Call(id="1", name="case", arguments='{"value": 1}'), tool), rc.gate.CheckedCall
    )
