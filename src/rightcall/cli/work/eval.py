"""Ask a model a file of questions, run none of its calls, and judge them."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from rightcall import cli, manifest
from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import write
from rightcall.cli.load import is_place, load_journal, load_model, load_tools, object_at, split
from rightcall.cli.user_config import default_model, key_for
from rightcall.core.jsontext import JsonValue, parse
from rightcall.core.ports import Journal, Model
from rightcall.core.tool import Spec, Tool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.evals.eval_files import load_cases, load_catalogue
from rightcall.evals.evaluation import evaluate
from rightcall.evals.judgement import Case
from rightcall.evals.recorded_runs import check_lines, check_runs, trajectories
from rightcall.evals.report import comparison_lines, html_report, lines_of
from rightcall.evals.scores import Scores, compare
from rightcall.models.connect import connect
from rightcall.models.providers import PROVIDERS


class EvalConfiguration(Struct, frozen=True, kw_only=True):
    """One configuration with which the cases are asked."""

    title: str
    model: str
    tools: tuple[Spec, ...]
    size: int | None = None


def run(options: Namespace) -> int:
    """Ask, judge, and print."""
    if options.runs:
        if not Path(options.runs).exists():
            raise UsageError(f"there is no journal {options.runs}")
        found = asyncio.run(trajectories(load_journal(options.runs)))
        if not found:
            raise UsageError(f"{options.runs} holds no runs")
        # The checks of a Python file: its list CHECKS, or another list of a name.
        place = options.file
        if not is_place(place):
            raise UsageError(f"{place}: with --runs, give a Python file with a list CHECKS")
        given = object_at("eval", place if split(place)[1] else f"{place}:CHECKS")
        if isinstance(given, Iterable):
            checks = list(given)
        else:
            checks = [given]
        if not checks or not all(callable(check) for check in checks):
            raise UsageError(f"{place}: checks are a list of functions of a trajectory")
        checked = check_runs(found, checks)
        _say(check_lines(checked))
        if any(each.failing for each in checked):
            return NO_ANSWER
        return OK
    if options.replay and not options.journal:
        raise UsageError("--replay: say from which journal, with --journal FILE")
    if options.tools_n and options.compare:
        raise UsageError("--compare and --tools-n are two questions; ask one at a time")
    if options.tools_n and not options.catalogue:
        raise UsageError("--tools-n: say where the other tools come from, with --catalogue FILE.json")
    if options.catalogue and not options.tools_n:
        raise UsageError("--catalogue: say how many tools there shall be, with --tools-n 5,15,20,50")
    return asyncio.run(_evaluate(options, load_cases(options.file)))


async def _evaluate(options: Namespace, cases: Sequence[Case]) -> int:
    catalogue: tuple[Spec, ...] = ()
    if options.catalogue:
        catalogue = load_catalogue(options.catalogue)
    journal = None
    if options.journal:
        journal = load_journal(options.journal)
    scores = []
    async with AsyncExitStack() as opened:
        if journal is not None and hasattr(journal, "close"):
            opened.callback(journal.close)
        specs: list[Spec] = []
        for place in options.tools:
            specs += _specs_at(place)
        if options.servers:
            group = await cli.servers.open_servers(options.servers)
            opened.push_async_exit(group)
            specs += [tool.spec for tool in group]
        names = sorted(spec.name for spec in specs)
        for name, after in pairwise(names):
            if name == after:
                raise UsageError(f"two tools have the name {name!r}")
        for way in _configurations(options, tuple(specs)):
            async with _open_model(way.model, replay=options.replay) as model:
                found = await _ask_cases(options, cases, way, model, journal, catalogue)
            scores.append(found)
            _say(lines_of(found, wrong=options.wrong))
    comparison = None
    if options.compare:
        comparison = compare(*scores, alpha=options.alpha)
        _say(comparison_lines(comparison))
    if options.html:
        _write_page(options.html, html_report(scores, comparison, title=Path(options.file).name))
    if comparison is not None and comparison.regression:
        return NO_ANSWER
    return OK


async def _ask_cases(
    options: Namespace,
    cases: Sequence[Case],
    way: EvalConfiguration,
    model: Model | None,
    journal: Journal | None,
    catalogue: Sequence[Spec],
) -> Scores:
    sampling: dict[str, JsonValue] = {}
    if options.temperature is not None:
        sampling["temperature"] = options.temperature
    if options.seed is not None:
        sampling["seed"] = options.seed
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
        system=options.instructions,
        choice=options.choice,
        max_tokens=options.max_tokens,
        options=sampling,
        at_once=options.at_once,
    )


def _configurations(options: Namespace, tools: tuple[Spec, ...]) -> list[EvalConfiguration]:
    name = options.model or default_model()
    if options.compare:
        are_models = [_is_model(place) for place in options.compare]
        if are_models[0] != are_models[1]:
            raise UsageError("--compare: two places of tools, or two models, and not one of each")
        if are_models[0]:
            if options.model:
                raise UsageError("--compare of two models leaves nothing for --model")
            return [EvalConfiguration(title=each, model=each, tools=tools) for each in options.compare]
        if tools:
            raise UsageError("--compare of two sets of tools leaves nothing for --tools and --mcp")
        return [
            EvalConfiguration(title=each, model=name, tools=_specs_at(each)) for each in options.compare
        ]
    if not options.tools_n:
        return [EvalConfiguration(title=name, model=name, tools=tools)]
    sizes = []
    for size in options.tools_n:
        title = f"{name}, {size} tools"
        sizes.append(EvalConfiguration(title=title, model=name, tools=tools, size=size))
    return sizes


def _is_model(place: str) -> bool:
    """Whether a value of --compare names a model. A provider's name takes precedence over a module's."""
    path, name = split(place)
    if is_place(place):
        return bool(name) and callable(getattr(object_at("--compare", place), "stream", None))
    if place.endswith(".json"):
        return False
    if not name or path in PROVIDERS or "/" in place:
        return True
    if not all(part.isidentifier() for part in path.split(".")):
        return True
    # For an installed script, Python does not search the current directory.
    sys.path.insert(0, "")
    try:
        return find_spec(path.partition(".")[0]) is None
    finally:
        sys.path.remove("")


def _specs_at(place: str) -> tuple[Spec, ...]:
    """The specs of the tools in a file."""
    box: Iterable[Tool]
    if place.endswith(".json"):
        document: JsonValue = None
        with suppress(OSError, ValueError):
            document = parse(Path(place).read_text())
        # A manifest has a version; definitions have none.
        if not isinstance(document, Mapping) or "version" not in document:
            return load_catalogue(place)
        box = manifest.load(place)
    elif is_place(place):
        box = load_tools(place)
    else:
        box = Toolbox(object_at("--tools", place))
    return tuple(tool.spec for tool in box)


@asynccontextmanager
async def _open_model(name: str, *, replay: bool) -> AsyncIterator[Model | None]:
    if replay:
        yield None
        return
    if is_place(name):
        model = load_model(name)
    else:
        model = connect(name, api_key=key_for(name))
    try:
        yield model
    finally:
        close = getattr(model, "close", None)
        if close is not None:
            await close()


def _say(lines: Iterable[str]) -> None:
    write("\n".join(lines), sys.stdout)


def _write_page(file: str, page: str) -> None:
    try:
        Path(file).write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {file}: {error.strerror}") from error
