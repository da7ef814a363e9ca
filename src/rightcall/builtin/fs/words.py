"""What the system refuses into words for a model, with the path as the model knows it."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice

from rightcall.builtin.fs.beneath import Root
from rightcall.builtin.fs.limits import FileLimits, Watch
from rightcall.builtin.fs.paths import Place
from rightcall.builtin.fs.tree import Tree
from rightcall.errors import ToolFailure

_MOST_NAMES = 2000
_SEARCH_SECONDS = 0.5
_SHOWN_NAMES = 3

_WORDS: Mapping[int, str] = {
    errno.EACCES: "permission denied: whoever runs this tool may not do that here.",
    errno.EPERM: "permission denied: whoever runs this tool may not do that here.",
    errno.EROFS: "the file system is read-only.",
    errno.EXDEV: "this leads outside of the root, through a symbolic link or onto another file system.",
    errno.ELOOP: "its symbolic links are not followed: they go in a circle, or are the kernel's own.",
    errno.ENOTDIR: "a part of the path is a file and not a directory.",
    errno.EISDIR: "it is a directory, not a file.",
    errno.EEXIST: "it exists already.",
    errno.ENOTEMPTY: "the directory is not empty.",
    errno.ENAMETOOLONG: "the name is too long.",
    errno.ENOSPC: "the disk is full; nothing was changed.",
    errno.EDQUOT: "the disk quota is used up; nothing was changed.",
    errno.EFBIG: "the file would be too large for the file system; nothing was changed.",
    errno.EAGAIN: "something else keeps changing the directories on the way. Try again.",
    errno.EMFILE: "too many files are open. Try again later.",
    errno.ENFILE: "too many files are open. Try again later.",
    errno.EIO: "the disk reports an error.",
    errno.EINVAL: "the file system does not take that name.",
    errno.EILSEQ: "the file system does not take that name.",
    errno.ENXIO: "it is not a plain file.",
}


@contextmanager
def in_words(root: Root, place: Place) -> Iterator[None]:
    """Turn an OSError about ``place`` into a ToolFailure."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolFailure(_missing(root, place)) from error
    except OSError as error:
        words = _WORDS.get(error.errno or 0, "the system refused, and did not say why.")
        raise ToolFailure(f"{place.shown}: {words}") from error


def _missing(root: Root, place: Place) -> str:
    """That something is not there, with what may have been meant."""
    words = f"There is no {place.shown}."
    if not place.parts:
        return words
    try:
        near = _elsewhere(root, place) or _beside(root, place)
    except FileNotFoundError:
        return f"{words} {_missing(root, place.parent)}"
    except OSError:
        near = []
    return f"{words} Did you mean {' or '.join(near)}?" if near else words


def _beside(root: Root, place: Place) -> list[str]:
    """What is called almost so in the same directory."""
    with root.directory(place.parent) as directory, os.scandir(directory) as entries:
        names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    folded = {name.casefold(): name for name in sorted(names, reverse=True)}
    near = get_close_matches(place.name.casefold(), list(folded), n=_SHOWN_NAMES, cutoff=0.6)
    return [place.parent.child(name).shown for name in sorted(folded[each] for each in near)]


def _elsewhere(root: Root, place: Place) -> list[str]:
    """What is called just so in another directory."""
    tree = Tree(root, FileLimits(max_visited=_MOST_NAMES), Watch(_SEARCH_SECONDS))
    entries = tree.entries(Place(prefix=place.prefix))
    same = (entry.place.shown for entry in entries if entry.place.name == place.name)
    return list(islice(same, _SHOWN_NAMES))
