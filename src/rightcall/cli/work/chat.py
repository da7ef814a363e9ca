"""Talk to a model: a line is a turn or, after a slash, a command."""

import asyncio
import shlex
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from rightcall.cli import INTERRUPTED, NO_ANSWER, OK
from rightcall.cli.formatting import one_line, usage_words
from rightcall.cli.load import load_transcript, save_transcript
from rightcall.cli.session import Session
from rightcall.cli.summary import RunWatch, Summary
from rightcall.cli.terminal import is_typed, line_history, lines_typed, next_line
from rightcall.conversation.inbox import Inbox
from rightcall.core.message import Reply, Transcript, User
from rightcall.core.parts import Usage
from rightcall.core.sanitize import printable
from rightcall.errors import RightcallError, RunStopped, UsageError
from rightcall.loop.events import Event

PROMPT = "> "
_MORE = "... "
_QUOTES = '"""'
AT_ONCE = "!"
"""Before a line that is typed while a turn goes on: what may be cancelled is."""
STOP = "/stop"
"""Ends the turn that goes on, with what there is."""
_LEAVE = "(Ctrl-C once more, or Ctrl-D, to leave)"
_WIDTH = 100


def run(options: Namespace) -> int:
    """Take turns until the input ends."""
    session = Session(options)
    typed = is_typed()
    with asyncio.Runner() as runner, line_history() if typed else nullcontext():
        try:
            runner.run(session.open())
            conversation = ChatConversation(session, runner)
            if typed and not options.quiet:
                conversation.greet()
            stayed = conversation.converse()
        finally:
            runner.run(session.close())
    if not stayed:
        return INTERRUPTED
    # A person at the terminal has already seen the error.
    if conversation.failed and not typed:
        return NO_ANSWER
    return OK


class ChatConversation:
    """The messages, model and cost of a conversation. Every turn runs on ``runner``'s event loop."""

    def __init__(self, session: Session, runner: asyncio.Runner) -> None:
        self.session = session
        self.history: Transcript = session.history
        self.usage = Usage()
        self.failed = False
        """Whether a turn ended without an answer, or a command failed."""
        self.is_over = False
        self._runner = runner
        self._interrupted = False
        self._is_typed = is_typed()
        self._left: list[str] = []
        """Lines that were typed while a turn went on, and that it did not take."""
        self._view = session.view()
        self._begin()

    def converse(self) -> bool:
        """Read lines until they end; returns False after two interrupts in a row."""
        while not self.is_over:
            try:
                if self._left:
                    line: str | None = self._left.pop(0)
                else:
                    line = next_line(PROMPT, self._view.people)
                if line is None:
                    return True
                self._interrupted = False
                line = line.strip()
                if line.startswith(_QUOTES):
                    self._turn(self._read_quoted(line))
                elif line.startswith("/") and "\n" not in line:
                    self._run_command(line)
                elif line:
                    self._turn(line)
            except KeyboardInterrupt:
                self.say("")
                if self._interrupted:
                    return False
                self._interrupted = True
                self.say(_LEAVE)
        return True

    def greet(self) -> None:
        """Show the model, its tools, and any conversation that is continued."""
        before = ""
        if self.history:
            before = f"; going on after {len(self.history)} messages"
        count = len(self.session.tools)
        self.say(f"{self.session.model_name}, {count} tools{before}; /help lists commands")

    def say(self, words: str) -> None:
        """Show the person a message that is not from the model."""
        print(printable(words), file=self._view.people, flush=True)

    def switch(self, model: str) -> None:
        """Use another model from now on."""
        self._runner.run(self.session.switch(model))
        self._begin()

    def list_prompts(self) -> None:
        """Show the prompts of the MCP servers."""
        prompts = self._runner.run(self.session.prompts())
        for name, (_, prompt) in prompts.items():
            takes = " ".join(f"{each}=…" for each in prompt.arguments)
            self.say(one_line(f"/{name} {takes}: {prompt.description or prompt.title}", _WIDTH))
        if not prompts:
            self.say("no prompts; start with --mcp SERVER")

    def fold_reasoning(self) -> bool:
        """Toggle whether the model's reasoning is shown; returns the new setting."""
        self._view.reasoning = not self._view.reasoning
        return self._view.reasoning

    def _begin(self) -> None:
        shown = self._view.reasoning
        self._view = self.session.view()
        self._view.reasoning = shown
        self._agent = self.session.agent(self._view)

    def _read_quoted(self, line: str) -> str:
        """A message of several lines, between two lines of three quotes."""
        lines = [line.removeprefix(_QUOTES)]
        while not lines[-1].rstrip().endswith(_QUOTES):
            more = next_line(_MORE, self._view.people)
            if more is None:
                break
            lines.append(more)
        return "\n".join(lines).strip().removesuffix(_QUOTES).strip()

    def _run_command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        try:
            if name not in _COMMANDS and self._use_prompt(name.removeprefix("/"), rest):
                return
            if name not in _COMMANDS:
                near = get_close_matches(name, _COMMANDS, n=1)
                hint = "/help lists them"
                if near:
                    hint = f"did you mean {near[0]}?"
                raise UsageError(f"no command {name}; {hint}")
            _COMMANDS[name].run(self, rest.strip())
        except RightcallError as error:
            self.failed = True
            self.say(f"rightcall: {error}")

    def _use_prompt(self, name: str, rest: str) -> bool:
        """Take a turn with a server's prompt; False if there is none of that name."""
        prompts = self._runner.run(self.session.prompts())
        if name not in prompts:
            return False
        server, prompt = prompts[name]
        given = dict(each.partition("=")[::2] for each in shlex.split(rest))
        missing = [each for each in prompt.required if each not in given]
        if missing or given.keys() - set(prompt.arguments):
            takes = " ".join(f"{each}=…" for each in prompt.arguments)
            raise UsageError(f"/{name} takes {takes or 'nothing'}")
        *before, last = self._runner.run(server.prompt(prompt.name, **given))
        if not isinstance(last, User):
            raise UsageError(f"/{name} ends with the model's own words, which cannot be asked")
        self._turn(last, tuple(before))
        return True

    def _turn(self, prompt: str | User, before: Transcript = ()) -> None:
        if not prompt:
            return
        shown = prompt if isinstance(prompt, str) else prompt.text
        history = (*self.history, *before)
        watch = RunWatch(self._view, shown, history)
        inbox = Inbox()
        options = self.session.run_options(history)
        if self._is_typed:
            options["inbox"] = inbox
        events = self._agent.stream(prompt, **options)
        try:
            summary = self._runner.run(self._follow(watch, events, inbox))
        except KeyboardInterrupt:
            self._interrupted = True
            summary = watch.show_interruption()
            self.say(_LEAVE)
        # What was typed too late for this turn is the next one.
        self._left += [message.text for message in inbox.unread]
        self.usage += summary.usage
        self.failed |= not summary.is_answer
        # A question without any reply is not kept.
        if not isinstance(summary.transcript[-1], User):
            self.history = summary.transcript

    async def _follow(self, watch: RunWatch, events: AsyncIterator[Event], inbox: Inbox) -> Summary:
        """Show a turn until it ends; what is typed meanwhile is added to it."""
        if not self._is_typed:
            return await watch.watch(events)
        adding: set[asyncio.Task[None]] = set()

        def add(line: str) -> None:
            task = asyncio.create_task(self._add(inbox, line.strip()))
            adding.add(task)
            task.add_done_callback(adding.discard)

        with lines_typed(add):
            summary = await watch.watch(events)
        inbox.end()
        if adding:
            await asyncio.wait(adding)
        return summary

    async def _add(self, inbox: Inbox, line: str) -> None:
        """Add a line to the turn that goes on; one that comes too late is the next turn."""
        try:
            if line == STOP:
                await inbox.stop()
            elif line.startswith(AT_ONCE):
                await inbox.say(line.removeprefix(AT_ONCE).strip(), now=True)
            elif line:
                await inbox.say(line)
        except RunStopped:
            if line != STOP:
                self._left.append(line.removeprefix(AT_ONCE).strip())


def _help(conversation: ChatConversation, _: str) -> None:
    for name, command in _COMMANDS.items():
        conversation.say(f"{f'{name} {command.takes}':<15}{command.words}")
    if is_typed():
        conversation.say(
            f"while it works: a line is read at its next turn, {AT_ONCE}line at once; {STOP}"
        )


def _tools(conversation: ChatConversation, _: str) -> None:
    for tool in conversation.session.tools:
        conversation.say(one_line(f"{tool.name}: {tool.spec.description}", _WIDTH))
    if not conversation.session.tools:
        conversation.say("no tools; start with --tool FILE.py")


def _prompts(conversation: ChatConversation, _: str) -> None:
    conversation.list_prompts()


def _model(conversation: ChatConversation, name: str) -> None:
    if name:
        conversation.switch(name)
    conversation.say(f"model: {conversation.session.model_name}")


def _reset(conversation: ChatConversation, _: str) -> None:
    conversation.history = ()
    conversation.say("forgotten")


def _save(conversation: ChatConversation, path: str) -> None:
    save_transcript(conversation.history, _path(path))
    conversation.say(f"saved {len(conversation.history)} messages in {path}")


def _load(conversation: ChatConversation, path: str) -> None:
    conversation.history = load_transcript(_path(path))
    conversation.say(f"loaded {len(conversation.history)} messages from {path}")


def _reasoning(conversation: ChatConversation, _: str) -> None:
    if not conversation.fold_reasoning():
        conversation.say("thoughts are folded away")
        return
    thoughts: list[str] = []
    for message in conversation.history:
        if isinstance(message, User):
            # Only the last turn's are shown.
            thoughts = []
        elif isinstance(message, Reply) and message.reasoning:
            thoughts.append(message.reasoning)
    conversation.say("\n".join(thoughts) or "thoughts are shown from now on")


def _usage(conversation: ChatConversation, _: str) -> None:
    conversation.say(usage_words(conversation.usage))


def _quit(conversation: ChatConversation, _: str) -> None:
    conversation.is_over = True


def _path(given: str) -> Path:
    if not given:
        raise UsageError("which file?")
    return Path(given).expanduser()


class _Command(NamedTuple):
    takes: str
    words: str
    run: Callable[[ChatConversation, str], None]


_COMMANDS: Mapping[str, _Command] = {
    "/help": _Command("", "these words", _help),
    "/tools": _Command("", "what the model may call", _tools),
    "/prompts": _Command("", "the prompts of MCP servers; /NAME argument=value uses one", _prompts),
    "/model": _Command("[NAME]", "who answers; with a name, who answers from now on", _model),
    "/reset": _Command("", "forget what was said", _reset),
    "/save": _Command("FILE", "write the conversation down", _save),
    "/load": _Command("FILE", "go on with one that was written down", _load),
    "/reasoning": _Command(
        "", "what the model thought, and show it from now on; or fold it away", _reasoning
    ),
    "/usage": _Command("", "tokens, and dollars where prices are known", _usage),
    "/quit": _Command("", "leave; Ctrl-D does, too", _quit),
}
