"""A line that begins with a slash into what it asks for."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from rightcall.cli.conversation import Conversation
from rightcall.cli.safe import one_line
from rightcall.cli.transcript import load, save
from rightcall.cli.words import tokens
from rightcall.errors import UsageError

_WIDTH = 100
_QUIT = "/quit"


def obey(conversation: Conversation, line: str) -> bool:
    """Do what the line says; whether to go on with the conversation."""
    name, _, rest = line.partition(" ")
    if name == _QUIT:
        return False
    command = _COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, [*_COMMANDS, _QUIT], n=1)
        hint = f"did you mean {near[0]}?" if near else "/help lists them"
        raise UsageError(f"no command {name}; {hint}")
    command(conversation, rest.strip())
    return True


def _help(conversation: Conversation, _: str) -> None:
    for line in _HELP:
        conversation.say(line)


def _tools(conversation: Conversation, _: str) -> None:
    for tool in conversation.session.tools:
        conversation.say(one_line(f"{tool.name}: {tool.spec.description}", _WIDTH))
    if not conversation.session.tools:
        conversation.say("no tools; start with --tool FILE.py")


def _model(conversation: Conversation, name: str) -> None:
    if name:
        conversation.switch(name)
    conversation.say(f"model: {conversation.session.model_name}")


def _reset(conversation: Conversation, _: str) -> None:
    conversation.history = ()
    conversation.say("forgotten")


def _save(conversation: Conversation, path: str) -> None:
    save(conversation.history, _path(path))
    conversation.say(f"saved {len(conversation.history)} messages in {path}")


def _load(conversation: Conversation, path: str) -> None:
    conversation.history = load(_path(path))
    conversation.say(f"loaded {len(conversation.history)} messages from {path}")


def _usage(conversation: Conversation, _: str) -> None:
    conversation.say(tokens(conversation.usage))


def _path(given: str) -> Path:
    if not given:
        raise UsageError("which file?")
    return Path(given).expanduser()


_Command: TypeAlias = Callable[[Conversation, str], None]
_COMMANDS: Mapping[str, _Command] = {
    "/help": _help,
    "/tools": _tools,
    "/model": _model,
    "/reset": _reset,
    "/save": _save,
    "/load": _load,
    "/usage": _usage,
}
_HELP = (
    "/help          these words",
    "/tools         what the model may call",
    "/model [NAME]  who answers; with a name, who answers from now on",
    "/reset         forget what was said",
    "/save FILE     write the conversation down",
    "/load FILE     go on with one that was written down",
    "/usage         tokens, and dollars where prices are known",
    "/quit          leave; Ctrl-D does, too",
)
