"""Detects programs whose arguments are code, and tools that would run what the model writes.

A manifest names its programs so that a model cannot choose them. But shells, interpreters, editors and
many plain tools take code as an argument, and others start any program that they are given. The tables
below list them and the argument; for a wrapper, the program that it starts is examined.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from rightcall.core.jsontext import shorten

_INTERPRETERS = re.compile(
    r"r?bash|sh|dash|ash|r?zsh|m?ksh|r?ksh|pdksh|fish|t?csh|nu|xonsh|pwsh|powershell|python|pypy|ipython|perl"
    r"|ruby|irb|node|nodejs|deno|bun|ts-node|tsx|php|lua|luajit|tclsh|wish|expect|osascript|rscript|r|julia"
    r"|octave|guile|racket|sbcl|clisp|ocaml|ghci|runghc|escript|erl|elixir|iex|swipl|groovy|scala|jshell"
    r"|gnuplot|gjs"
)
_CODE_FLAG = re.compile(r"-[a-zA-Z]*[ceEpmrR]|--eval|--command|--print")
_VALUE_FLAGS = frozenset(
    {"-W", "-X", "-I", "-L", "-M", "-O", "+O", "-o", "+o", "-C", "-d", "-l", "-x"}
    | {"--rcfile", "--init-file", "--require", "--import", "--loader", "--check-hash-based-pycs"}
)
_ENDS = {("-",), ("--",)}
"""Arguments that are neither an option nor a program."""
_FIX = 'write it out, list its values in an enum, or write "allow_interpreter": true if it is meant'


class Word(Struct, frozen=True):
    """One argument: its possible texts; empty if the model may write anything."""

    texts: tuple[str, ...] = ()
    shifts: bool = False
    """Whether it can be omitted or repeated, so that the position of what follows changes."""
    guarded: bool = False
    """Whether ``--`` comes before it, so that it may begin with ``-``."""

    @property
    def is_free(self) -> bool:
        """Whether the model writes it."""
        return not self.texts


class _Wrapper(Struct, frozen=True):
    """A wrapper: starts the program after its own options and ``skip`` arguments."""

    flags: str = ""
    """Its options that take a value."""
    skip: int = 0


class _Scripted(Struct, frozen=True):
    """A program that takes code in some of its arguments."""

    flags: str = ""
    """The options whose value is code, or names a file of code."""
    first: bool = False
    """Whether the first non-option argument is code, unless an option was."""
    values: str = ""
    """Other options that take a value."""
    guarded: bool = False
    """Whether it parses options even after ``--``."""
    every: bool = False
    """Whether any argument can be, or contain, code."""
    unless: str = ""
    """The option that disables that."""


_WRAPPERS = {
    "busybox": _Wrapper(),
    "catchsegv": _Wrapper(),
    "chroot": _Wrapper("--userspec --groups", 1),
    "chrt": _Wrapper("-T -P -D", 1),
    "coreutils": _Wrapper(),
    "doas": _Wrapper("-u -C -a"),
    "env": _Wrapper("-u --unset -C --chdir -a --argv0"),
    "faketime": _Wrapper("-f", 1),
    "flock": _Wrapper("-w -E --timeout --conflict-exit-code", 1),
    "firejail": _Wrapper(),
    "ionice": _Wrapper("-c -n --class --classdata"),
    "ld-linux": _Wrapper("--library-path --preload --audit --argv0 --inhibit-rpath"),
    "ltrace": _Wrapper("-e -o -l -n -s -u -x"),
    "nice": _Wrapper("-n --adjustment"),
    "nohup": _Wrapper(),
    "nsenter": _Wrapper("-t --target -S -G"),
    "parallel": _Wrapper("-j --jobs"),
    "pkexec": _Wrapper("--user"),
    "prlimit": _Wrapper(),
    "proxychains": _Wrapper("-f"),
    "runuser": _Wrapper("-u -g -G"),
    "setarch": _Wrapper("", 1),
    "setpriv": _Wrapper("--reuid --regid --groups"),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper("-i -o -e --input --output --error"),
    "strace": _Wrapper("-e -o -s -u -E -P -a -b -I -O -S -X"),
    "sudo": _Wrapper("-u -g -h -p -C -D -R -T -U -r -t --user --group"),
    "systemd-run": _Wrapper("-p -E -u --property --unit --uid --gid --slice --setenv"),
    "taskset": _Wrapper("", 1),
    "time": _Wrapper("-f -o --format --output"),
    "timeout": _Wrapper("-s -k --signal --kill-after", 1),
    "toybox": _Wrapper(),
    "unbuffer": _Wrapper(),
    "unshare": _Wrapper("-S -G -R -w --root --wd --setuid --setgid"),
    "watch": _Wrapper("-n --interval"),
    "xargs": _Wrapper("-I -n -P -L -d -a -s -E --replace --max-args --max-procs"),
    "xvfb-run": _Wrapper("-n -s -e -f -p -w"),
}
_AWK = _Scripted(
    "-f -e -E -i -l --file --source --exec --include --load",
    first=True,
    values="-F -v --assign --field-separator",
)
_SED = _Scripted("-e -f --expression --file", first=True, values="-l --line-length")
_EVERY = _Scripted(every=True)
_SCRIPTED = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("vi", "vim", "view", "nvim", "ex", "ed", "red", "emacs", "nano", "less"), _EVERY),
    **dict.fromkeys(("more", "most", "make", "gmake", "gdb", "lldb", "at", "batch", "crontab"), _EVERY),
    **dict.fromkeys(
        ("npx", "bunx", "uvx", "pipx", "pip", "npm", "pnpm", "yarn", "su", "script"), _EVERY
    ),
    **dict.fromkeys(("ssh", "rsh", "mosh", "tmux", "screen", "socat", "java", "m4", "tclkit"), _EVERY),
    "bsdtar": _Scripted("--use-compress-program"),
    "curl": _Scripted("-K --config"),
    "dc": _Scripted("-e -f --expression --file", first=True),
    "fd": _Scripted("-x -X --exec --exec-batch"),
    "fdfind": _Scripted("-x -X --exec --exec-batch"),
    "find": _Scripted("-exec -execdir -ok -okdir -files0-from", guarded=True),
    "gcc": _Scripted("-wrapper -B -specs"),
    "git": _Scripted(
        "-c --config-env --exec-path --upload-pack --receive-pack --exec -x -O --open-files-in-pager"
        " --extcmd --template --config",
        first=True,
        values="-C --git-dir --work-tree --namespace",
    ),
    "man": _Scripted("-P --pager -H --html -C --config-file -p --preprocessor"),
    "mysql": _Scripted("-e --execute --pager --init-command"),
    "nc": _Scripted("-e -c --exec --sh-exec --lua-exec"),
    "ncat": _Scripted("-e -c --exec --sh-exec --lua-exec"),
    "openssl": _Scripted("-engine -provider -provider-path -config"),
    "psql": _Scripted("-c -f -v --command --file --set --variable"),
    "rg": _Scripted("--pre --hostname-bin"),
    "rsync": _Scripted("-e -M --rsh --rsync-path --remote-option"),
    "scp": _Scripted("-S -o -F -J -D"),
    "sftp": _Scripted("-S -o -F -J -D -b"),
    "sort": _Scripted("--compress-program"),
    "split": _Scripted("--filter"),
    "sqlite3": _Scripted(every=True, unless="-safe"),
    "tar": _Scripted(
        "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script"
        " --rsh-command --rmt-command"
    ),
    "tcpdump": _Scripted("-z"),
    "wget": _Scripted("-e --execute --config --use-askpass"),
    "zip": _Scripted("-TT --unzip-command"),
}


def is_wrapper(command: str) -> bool:
    """Whether a program starts another one."""
    return any(name in _WRAPPERS for name in _names(command))


def refusal(command: str, words: Sequence[Word]) -> tuple[str, str] | None:
    """Why a program with these arguments would run what the model writes, and how to fix it."""
    if not any(word.is_free for word in words):
        return None
    if found := _judge(command, words):
        return found
    if not is_wrapper(command):
        return None
    # An unknown option of a wrapper could hide where its program begins.
    for place, word in enumerate(words):
        for text in word.texts:
            if found := _judge(text, words[place + 1 :]):
                return found
    return None


def _names(command: str) -> Iterator[str]:
    """The names of a program in the tables: its own and that of its link's target, without versions."""
    path = Path(command)
    places = (path, path.resolve()) if path.is_absolute() else (path,)
    for name in dict.fromkeys(place.name.lower() for place in places):
        yield name
        yield re.split(r"\.|-?[0-9]", name, maxsplit=1)[0]
        if name.startswith(("ld-linux", "ld-musl", "ld.so")):
            yield "ld-linux"


def _judge(command: str, words: Sequence[Word]) -> tuple[str, str] | None:
    for name in _names(command):
        found = None
        if name in _WRAPPERS:
            found = _look_through(name, _WRAPPERS[name], words)
        elif name in _SCRIPTED:
            found = _judge_scripted(name, _SCRIPTED[name], words)
        elif _INTERPRETERS.fullmatch(name):
            found = _judge_interpreter(words)
        if found:
            return found
    return None


def _look_through(name: str, wrapper: _Wrapper, words: Sequence[Word]) -> tuple[str, str] | None:
    """Check the program that a wrapper starts; the model must not choose it."""
    flags, skip = wrapper.flags.split(), wrapper.skip
    is_value = False
    for place, word in enumerate(words):
        option = _option(word)
        if word.texts in _ENDS:
            continue
        if is_value and not word.shifts:
            is_value = False
        elif word.is_free and (skip == 0 or word.shifts):
            return f"the model would choose the program that {name} runs", _FIX
        elif name == "env" and option and re.match(r"-[a-zA-Z]*S|--s", option):
            if any(later.is_free for later in words[place:]):
                return f"the model would write to the program in {shorten(option)}", _FIX
        elif option:
            is_value = option in flags
        elif name == "env" and any("=" in text for text in word.texts):
            continue
        elif skip:
            skip -= 1
        else:
            return _first(_judge(text, words[place + 1 :]) for text in word.texts)
    return None


def _judge_interpreter(words: Sequence[Word]) -> tuple[str, str] | None:
    """Check what comes before an interpreter's script; everything after it is the script's arguments."""
    before = None
    for word in words:
        option = _option(word)
        if word.is_free and before is None:
            return (
                "the model would choose the program that this interpreter runs",
                "write the script's absolute path as the first element",
            )
        if word.is_free:
            return (
                f"what the model writes would be run as a program, after {shorten(before)}",
                "name the program that is meant, not an interpreter",
            )
        if option:
            is_code = any(map(_CODE_FLAG.fullmatch, word.texts))
            before = option if is_code or option in _VALUE_FLAGS else before
        elif before in _VALUE_FLAGS:
            before = None
        elif word.texts not in _ENDS:
            return None
    return None


def _judge_scripted(name: str, rule: _Scripted, words: Sequence[Word]) -> tuple[str, str] | None:
    if rule.every and not any(rule.unless and rule.unless in word.texts for word in words):
        return f"{name} can run programs that stand in its arguments, and the model writes some", _FIX
    if rule.guarded and any(word.is_free and word.guarded for word in words):
        return f'{name} takes what begins with "-" for an option even after "--"', _FIX
    flags, values = rule.flags.split(), rule.values.split()
    before, is_first = None, rule.first
    for word in words:
        option = _option(word)
        if word.texts in _ENDS and not _takes(flags, before or ""):
            before = None
        elif before is not None and _takes(flags, before):
            if word.is_free:
                return f"what the model writes would be run as a program, after {shorten(before)}", _FIX
            before, is_first = None, is_first and name == "git"
        elif before is not None and before in values and not word.shifts:
            before = None
        elif option:
            before = option
        elif is_first and word.is_free:
            return f"the model would write the program that {name} runs", _FIX
        else:
            before, is_first = None, is_first and word.shifts
    return None


def _option(word: Word) -> str | None:
    """The option that an argument is, or can be."""
    return next(
        (text for text in word.texts if text[:1] in {"-", "+"} and text not in {"-", "--"}), None
    )


def _takes(flags: Sequence[str], given: str) -> bool:
    """Whether an option is one of these: also abbreviated, or the last of several combined letters."""
    if given.startswith("--"):
        return any(flag.startswith(given) for flag in flags)
    return given in flags or (len(given) > 2 and f"-{given[-1]}" in flags)  # noqa: PLR2004


def _first(found: Iterable[tuple[str, str] | None]) -> tuple[str, str] | None:
    return next(filter(None, found), None)
