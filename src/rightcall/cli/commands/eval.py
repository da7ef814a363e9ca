"""Ask a model a file of questions, run none of its calls, and judge them."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from rightcall import manifest
from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.keys import key_for
from rightcall.cli.load import found_at, is_place, load_journal, load_model, load_tools, split
from rightcall.cli.settings import default_model
from rightcall.cli.wording import write
from rightcall.core.jsontext import JsonValue, parse
from rightcall.core.ports import Journal, Model
from rightcall.core.tool import Spec
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.evals.asking import evaluate
from rightcall.evals.case import Case
from rightcall.evals.cases_file import load_cases
from rightcall.evals.catalogue import load_catalogue
from rightcall.evals.comparing import Comparison, compare
from rightcall.evals.lines import comparison_lines, lines_of
from rightcall.evals.page import html_report
from rightcall.evals.recorded_runs import Check, check_lines, check_runs, trajectories
from rightcall.evals.scores import Scores
from rightcall.models.connect import connect
from rightcall.models.providers import PROVIDERS


class Way(Struct, frozen=True, kw_only=True):
    """One configuration with which the cases are asked."""

    title: str
    model: str
    tools: tuple[Spec, ...]
    size: int | None = None


def run(options: Namespace) -> int:
    """Ask, judge, and print."""
    if options.runs:
        return _judge_runs(options)
    _refuse(options)
    return asyncio.run(_evaluate(options, load_cases(options.file)))


def _refuse(options: Namespace) -> None:
    if options.replay and not options.journal:
        raise UsageError("--replay: say from which journal, with --journal FILE")
    if options.tools_n and options.compare:
        raise UsageError("--compare and --tools-n are two questions; ask one at a time")
    if options.tools_n and not options.catalogue:
        raise UsageError("--tools-n: say where the other tools come from, with --catalogue FILE.json")
    if options.catalogue and not options.tools_n:
        raise UsageError("--catalogue: say how many tools there shall be, with --tools-n 5,15,20,50")


async def _evaluate(options: Namespace, cases: Sequence[Case]) -> int:
    catalogue = load_catalogue(options.catalogue) if options.catalogue else ()
    journal = load_journal(options.journal) if options.journal else None
    scores = []
    async with AsyncExitStack() as opened:
        if journal is not None and hasattr(journal, "close"):
            opened.callback(journal.close)
        for way in _ways(options, await _tools(options, opened)):
            async with _opened(way.model, replay=options.replay) as model:
                found = await _asked(options, cases, way, model, journal, catalogue)
            scores.append(found)
            _say(lines_of(found, wrong=options.wrong))
    comparison = None
    if options.compare:
        comparison = compare(*scores, alpha=options.alpha)
        _say(comparison_lines(comparison))
    if options.html:
        _write_page(options, scores, comparison)
    return NO_ANSWER if comparison is not None and comparison.regression else OK


async def _asked(
    options: Namespace,
    cases: Sequence[Case],
    way: Way,
    model: Model | None,
    journal: Journal | None,
    catalogue: Sequence[Spec],
) -> Scores:
    sampling = {"temperature": options.temperature, "seed": options.seed}
    given: dict[str, JsonValue] = {name: n for name, n in sampling.items() if n is not None}
    return await evaluate(
        cases,
        model,
        way.tools,
        name=way.model,
        title=way.title,
        journal=journal,
        size=way.size,
        catalogue=catalogue,
        seed=options.draw,
        system=options.system,
        choice=options.choice,
        max_tokens=options.max_tokens,
        options=given,
        at_once=options.at_once,
    )


def _ways(options: Namespace, tools: tuple[Spec, ...]) -> list[Way]:
    name = options.model or default_model()
    if options.compare:
        return _compared(options, name, tools)
    sizes: Sequence[int | None] = options.tools_n or (None,)
    return [
        Way(
            title=name if size is None else f"{name}, {size} tools",
            model=name,
            tools=tools,
            size=size,
        )
        for size in sizes
    ]


def _compared(options: Namespace, name: str, tools: tuple[Spec, ...]) -> list[Way]:
    are_models = [_is_model(place) for place in options.compare]
    if are_models[0] != are_models[1]:
        raise UsageError("--compare: two places of tools, or two models, and not one of each")
    if are_models[0]:
        if options.model:
            raise UsageError("--compare of two models leaves nothing for --model")
        return [Way(title=each, model=each, tools=tools) for each in options.compare]
    if tools:
        raise UsageError("--compare of two sets of tools leaves nothing for --tools and --mcp")
    return [Way(title=each, model=name, tools=_specs_at(each)) for each in options.compare]


def _is_model(place: str) -> bool:
    """Whether a value of --compare names a model. A provider's name takes precedence over a module's."""
    path, name = split(place)
    if is_place(place):
        return bool(name) and callable(getattr(found_at("--compare", place), "stream", None))
    if place.endswith(".json"):
        return False
    return not name or path in PROVIDERS or "/" in place or not _is_module(path)


def _is_module(path: str) -> bool:
    if not all(part.isidentifier() for part in path.split(".")):
        return False
    # For an installed script, Python does not search the current directory.
    sys.path.insert(0, "")
    try:
        return find_spec(path.partition(".")[0]) is not None
    finally:
        sys.path.remove("")


async def _tools(options: Namespace, opened: AsyncExitStack) -> tuple[Spec, ...]:
    specs = [spec for place in options.tools for spec in _specs_at(place)]
    if options.servers:
        from rightcall.cli.servers import open_servers  # noqa: PLC0415 - MCP is an extra

        group = await open_servers(options.servers)
        opened.push_async_exit(group)
        specs += [tool.spec for tool in group]
    names = [spec.name for spec in specs]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two tools have the name {twins[0]!r}")
    return tuple(specs)


def _specs_at(place: str) -> tuple[Spec, ...]:
    """The specs of the tools in a file."""
    if place.endswith(".json"):
        if _is_manifest(Path(place)):
            return tuple(tool.spec for tool in manifest.load(place))
        return load_catalogue(place)
    box = load_tools(place) if is_place(place) else Toolbox(found_at("--tools", place))
    return tuple(tool.spec for tool in box)


def _is_manifest(file: Path) -> bool:
    """Whether a file is a manifest: that has a version; definitions have none. False if unreadable."""
    try:
        found = parse(file.read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, Mapping) and "version" in found


@asynccontextmanager
async def _opened(name: str, *, replay: bool) -> AsyncIterator[Model | None]:
    if replay:
        yield None
        return
    model = load_model(name) if is_place(name) else connect(name, api_key=key_for(name))
    try:
        yield model
    finally:
        close = getattr(model, "close", None)
        if close is not None:
            await close()


def _judge_runs(options: Namespace) -> int:
    if not Path(options.runs).exists():
        raise UsageError(f"there is no journal {options.runs}")
    found = asyncio.run(trajectories(load_journal(options.runs)))
    if not found:
        raise UsageError(f"{options.runs} holds no runs")
    checked = check_runs(found, _checks(options.file))
    _say(check_lines(checked))
    return NO_ANSWER if any(each.failing for each in checked) else OK


def _checks(place: str) -> Sequence[Check]:
    """The checks of a Python file: its list CHECKS, or another list of a name."""
    if not is_place(place):
        raise UsageError(f"{place}: with --runs, give a Python file with a list CHECKS")
    given = found_at("eval", place if split(place)[1] else f"{place}:CHECKS")
    checks = list(given) if isinstance(given, Iterable) else [given]
    if not checks or not all(callable(check) for check in checks):
        raise UsageError(f"{place}: checks are a list of functions of a trajectory")
    return checks


def _say(lines: Iterable[str]) -> None:
    write("\n".join(lines), sys.stdout)


def _write_page(options: Namespace, scores: Sequence[Scores], found: Comparison | None) -> None:
    page = html_report(scores, found, title=f"{Path(options.file).name}")
    try:
        Path(options.html).write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {options.html}: {error.strerror}") from error
