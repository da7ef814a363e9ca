"""Which tools a model is told of: those from its first turn on, and those that it has to find."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, parse
from rightcall.core.message import Results, Transcript
from rightcall.core.ports import Model, Tools
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec, Tool
from rightcall.declare.toolbox import (
    LOOKUP,
    SEARCH,
    SKILL,
    VENDOR_SEARCH,
    Defer,
    Descriptions,
    Selection,
    Toolbox,
)
from rightcall.errors import ToolFailure, UsageError

Deferred: TypeAlias = bool | Selection | Defer
"""Which tools are deferred: all, some, or as a ``Defer`` says."""

ALL = Defer()


class ToolDisclosure(Struct, frozen=True, eq=False):
    """How an agent tells its model of its tools."""

    descriptions: Descriptions = "full"
    defer: Deferred = False

    @property
    def settings(self) -> Defer:
        """The settings for finding deferred tools."""
        if isinstance(self.defer, Defer):
            return self.defer
        if isinstance(self.defer, bool):
            return ALL
        return Defer(which=self.defer)

    def searched_by(self, model: Model | None) -> str:
        """Returns the search tool's name: another one if the model's vendor is to load what it finds."""
        if not self.settings.vendor or model is None:
            return SEARCH
        dialect = getattr(getattr(model, "dialect", None), "name", "")
        if dialect not in VENDOR_SEARCH:
            raise UsageError(
                "defer=rc.tools.Defer(vendor=True) is for models that are asked by "
                f"{' or '.join(VENDOR_SEARCH)}: their vendors load what was found. "
                f"This one is asked by {dialect or type(model).__name__}: leave vendor= out"
            )
        return VENDOR_SEARCH[dialect]

    def toolbox(self, box: Toolbox, model: Model | None = None, *, is_live: bool = False) -> Toolbox:
        """Returns the tools, the deferred ones marked, with the search and lookup tools for a model.

        If the tools are live, one that was to be deferred may be gone; that is not an error.
        """
        if self.defer is not False:
            which = self.settings.which
            if is_live and which is not None and not callable(which):
                there = box.names()
                names = [which] if isinstance(which, str) else which
                which = [name for name in names if name in there]
            box = box.deferred(which)
        if self.descriptions == "full" and not any(each.deferred for each in box):
            return box
        from rightcall.builtin.tool_search import lookup_tool, search_tool  # noqa: PLC0415 - light until used

        if self.descriptions == "lines":
            if len(box):
                return Toolbox(box, lookup_tool(box, listed=True))
            return box
        finds = any(each.deferred for each in box)
        whole = box
        if finds:
            name = self.searched_by(model)
            if self.settings.vendor and model is not None:
                loads = self._loads(model)
            else:
                loads = None
            whole = Toolbox(whole, search_tool(box, self.settings, name, loads))
        if self.descriptions == "short" and len(box):
            whole = Toolbox(whole, lookup_tool(box, listed=False))
        return whole

    def _loads(self, model: Any) -> Callable[[Sequence[Spec]], Mapping[str, JsonObject]]:
        """Returns what tells the vendor to load the tools found: by name, or by their definitions."""
        written = self._spec_writer()

        def loads(specs: Sequence[Spec]) -> Mapping[str, JsonObject]:
            references = [{"type": "tool_reference", "tool_name": spec.name} for spec in specs]
            if model.dialect.name == "anthropic":
                return {"anthropic": {"content": references}}
            told = model.tools_as_sent([written(spec) for spec in specs])
            return {model.dialect.name: {"tools": [parse(told[spec.name]) for spec in specs]}}

        return loads

    def _spec_writer(self) -> Callable[[Spec], Spec]:
        """Returns how a tool's spec is shortened, if it is."""
        if self.descriptions != "short":
            return lambda spec: spec
        from rightcall.declare.manual import short_spec  # noqa: PLC0415 - light until used

        return short_spec

    def offer(self, box: Toolbox, answer: str = "") -> "Offered":
        """Returns which tools the model is told of at first, and which once it has found them.

        ``answer`` names the tool that stands for the answer: no search or lookup lists it.
        """
        first = []
        later = {}
        written = self._spec_writer()
        for each in box:
            spec = written(each.spec)
            if each.name in (*VENDOR_SEARCH.values(), LOOKUP, SKILL, answer) and not each.deferred:
                spec = each.spec
            elif each.deferred or self.descriptions == "lines":
                if self.settings.vendor:
                    later[each.name] = replace(spec, found=True)
                else:
                    later[each.name] = spec
                continue
            first.append(spec)
        how = LOOKUP if self.descriptions == "lines" else SEARCH
        return Offered(box, tuple(first), later, "" if self.settings.by_name else how)


class Offered(Struct, frozen=True, eq=False):
    """Tools, and their specs that the model is sent."""

    tools: Tools
    specs: tuple[Spec, ...]
    later: Mapping[str, Spec] = {}
    """The specs of deferred tools, sent once the model has found them."""
    only_by: str = ""
    """The tool that must have found them before they can be called; empty if a call by name is
    enough."""

    def after(self, found: Mapping[str, Spec | None]) -> "Offered":
        """Returns the tools that can be called, and their specs, once the model has found some.

        Specs that were sent before keep their text and place, so that vendors' caches stay valid. A tool
        that a vendor was told to load is sent for as long as that message is in the conversation.
        """
        there = [name for name in found if name in self.later]
        gone = []
        for spec in found.values():
            if spec and spec.found and spec.name not in self.later:
                gone.append(spec)
        specs = (*self.specs, *[self.later[name] for name in there], *gone)
        if self.only_by:
            hidden = frozenset(self.later) - frozenset(there)
        else:
            hidden = frozenset()
        return Offered(_Hiding(self.tools, hidden, self.only_by) if hidden else self.tools, specs)


def offer_of(request: Request, specs: tuple[Spec, ...], tools: Tools) -> tuple[str, ...] | None:
    """Returns the only tools that the reply to a request may call; None for all that the run has.

    ``specs`` are what the request would hold if no hook had changed it. A deferred tool is in ``tools``
    and not in them: it may be called by its name, unless it needs to be found first.
    """
    choice = request.choice
    if choice == "none":
        return ()
    if isinstance(choice, Named):
        return (choice.name,)
    sent = [spec.name for spec in request.specs]
    removed = {spec.name for spec in specs}.difference(sent)
    if not removed:
        return None
    offered = dict.fromkeys((*sent, *tools.names()))
    for name in removed:
        offered.pop(name, None)
    return tuple(offered)


class ToolDiscovery:
    """The tools that the model of one run has found so far."""

    def __init__(self, offered: Offered | None) -> None:
        self._offered = offered
        self._found: dict[str, Spec | None] = {}
        """The specs of the tools found, as sent last; None for one that is not there."""
        self._seen = 0

    def look(self, messages: Transcript, changed: Offered | None) -> Offered | None:
        """Returns what is offered now; None if nothing changed.

        ``changed`` holds the tools after a change, if they changed. Found tools are read from the
        results, so that a run that is continued elsewhere has found the same.
        """
        if changed is not None:
            self._offered = changed
        if self._offered is None:
            return None
        before = len(self._found)
        for message in messages[self._seen :]:
            if isinstance(message, Results):
                for result in message.results:
                    self._found.update({name: self._found.get(name) for name in result.offers})
        self._seen = len(messages)
        is_new = changed is not None or len(self._found) > before
        for name in self._found if is_new else ():
            self._found[name] = self._offered.later.get(name, self._found[name])
        if is_new:
            return self._offered.after(self._found)
        return None


class _Hiding:
    """Tools of which some only answer how they can be found."""

    def __init__(self, tools: Tools, hidden: Collection[str], how: str) -> None:
        self._tools = tools
        self._hidden = hidden
        self._how = how

    def get(self, name: str, /) -> Tool | None:
        found = self._tools.get(name)
        if found is None or name not in self._hidden:
            return found

        def refuse(**_: Any) -> None:
            raise ToolFailure(f"{name} is not offered yet. Find it with {self._how} first.")

        # Keep text input: a text call must fail because the tool is hidden, not because it is no JSON.
        if found.input == "text":
            takes = {"parameters": found.parameters}
        else:
            takes = {}
        given: dict[str, Any] = {**takes, "input": found.input, "facts": found.facts}
        return Tool(name, found.description, handler=refuse, effect="pure", **given)

    def names(self) -> Sequence[str]:
        return [name for name in self._tools.names() if name not in self._hidden]
