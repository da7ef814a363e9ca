"""tau-bench's two domains, read from a folder of its repository, into tools over data, and tasks.

Its packages import the clients of every vendor when they are imported; only tools, tasks and data are
wanted.
"""

import copy
import functools
import importlib
import json
import sys
import types
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from returns import RETURNS
from shop_facts import Declared

import rightcall as rc

Domain: TypeAlias = Literal["retail", "airline"]
Data: TypeAlias = dict[str, dict[str, Any]]
"""By table, by identifier."""

_TABLES: dict[Domain, tuple[str, ...]] = {
    "retail": ("users", "orders", "products"),
    "airline": ("users", "reservations", "flights"),
}
RECORDS: dict[Domain, str] = {"retail": "orders", "airline": "reservations"}
_CURRENT: ContextVar[Data] = ContextVar("data")


class Call(Struct, frozen=True):
    """One call of a tool."""

    name: str
    arguments: dict[str, Any]


class Task(Struct, frozen=True, kw_only=True):
    """What a user asks for, and the calls that are right."""

    domain: Domain
    number: int
    user: str
    words: str
    calls: tuple[Call, ...]


class Shop:
    """One domain."""

    def __init__(self, folder: Path, domain: Domain, facts: Mapping[str, Declared]) -> None:
        _stub(folder)
        self.domain: Domain = domain
        self._home = folder / "envs" / domain
        self._facts = facts
        self._invoke: dict[str, Any] = {}
        self.tools: list[rc.Tool] = []
        for each in importlib.import_module(f"tau_bench.envs.{domain}.tools").ALL_TOOLS:
            told = each.get_info()["function"]
            self._invoke[told["name"]] = each.invoke
            self.tools.append(self._tool(told))

    @functools.cached_property
    def tasks(self) -> list[Task]:
        """The tasks that are kept for testing."""
        module = importlib.import_module(f"tau_bench.envs.{self.domain}.tasks_test")
        found = module.TASKS_TEST if hasattr(module, "TASKS_TEST") else module.TASKS
        return [
            Task(
                domain=self.domain,
                number=number,
                user=each.user_id,
                words=each.instruction,
                calls=tuple(Call(action.name, action.kwargs) for action in each.actions),
            )
            for number, each in enumerate(found)
        ]

    @functools.cached_property
    def _whole(self) -> Data:
        return {
            table: json.loads((self._home / "data" / f"{table}.json").read_text(encoding="utf-8"))
            for table in _TABLES[self.domain]
        }

    @functools.cached_property
    def terms(self) -> str:
        """The policy that tau-bench gives its agents."""
        return (self._home / "wiki.md").read_text(encoding="utf-8")

    def data_for(self, task: Task) -> Data:
        """The data as they are before the task: the user's own are copies, the rest nobody changes."""
        data = {table: dict(rows) for table, rows in self._whole.items()}
        records = RECORDS[self.domain]
        named = {value for call in task.calls for value in call.arguments.values() if _is_key(value)}
        users = {task.user, *[each for each in named if each in data["users"]]}
        for user in users:
            data["users"][user] = copy.deepcopy(data["users"][user])
            named.update(data["users"][user][records])
        for key in named & data[records].keys():
            data[records][key] = copy.deepcopy(data[records][key])
        return data

    def act_on(self, data: Data) -> None:
        """Let the tools act on these data from now on."""
        _CURRENT.set(data)

    def do(self, calls: Sequence[Call], data: Data) -> Data:
        """The data after these calls."""
        for call in calls:
            self._invoke[call.name](data, **call.arguments)
        return data

    def _tool(self, told: Mapping[str, Any]) -> rc.Tool:
        name = told["name"]

        async def handler(**arguments: Any) -> Any:
            said = self._invoke[name](_CURRENT.get(), **arguments)
            if said.startswith("Error"):
                raise rc.ToolFailure(said)
            # A value can be told apart field by field; a text that holds one cannot.
            return json.loads(said) if said[:1] in ("{", "[") else said

        if name in RETURNS[self.domain]:
            handler.__annotations__["return"] = RETURNS[self.domain][name]
        return rc.Tool(
            name=name,
            description=told["description"],
            parameters=told["parameters"],
            handler=handler,
            limits=rc.Limits(max_output_bytes=1024 * 1024),
            **self._facts[name],
        )


def _is_key(value: Any) -> bool:
    return isinstance(value, str)


def _stub(folder: Path) -> None:
    """Make its packages importable without what they import themselves."""
    for name, path in (
        ("tau_bench", folder),
        ("tau_bench.envs", folder / "envs"),
        ("tau_bench.envs.retail", folder / "envs" / "retail"),
        ("tau_bench.envs.airline", folder / "envs" / "airline"),
    ):
        package = types.ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
