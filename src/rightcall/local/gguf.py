"""Reads the header of a GGUF file: chat templates, special tokens, context window.

Reads key-value pairs and no tensors. The file is not trusted: every count and length is checked against
the size of the file and against a limit before it is used. The layout:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

from msgspec import Struct, field

from rightcall.errors import UsageError
from rightcall.local.engine import Card

Scalar: TypeAlias = bool | int | float | str

MOST_PAIRS = 65_536
MOST_ITEMS = 8_000_000
"""The most members of all arrays together. Large vocabularies have 300,000 tokens, and twice as many
merges."""
LONGEST_TEXT = 16 * 1024 * 1024
LONGEST_KEY = 65_535
DEEPEST = 4
"""The deepest nesting of arrays; real files have none."""
MOST_INNER = 65_536
"""The most nested arrays in all. Each is read separately, which takes microseconds."""

_STRING = 8
_ARRAY = 9
_BOOL = 7
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_SIZES = {kind: struct.calcsize(f"<{form}") for kind, form in _NUMBERS.items()}
_LEAST = {**_SIZES, _STRING: 8, _ARRAY: 12}
"""The fewest bytes that a value of each type takes."""
_CHUNK = 1024 * 1024

_TEMPLATE = "tokenizer.chat_template"
_TOKENS = "tokenizer.ggml.tokens"
_TYPES = "tokenizer.ggml.token_type"
_CONTROL = 3
_MOST_SPECIAL = 4096


class Header(Struct, frozen=True, kw_only=True):
    """The metadata of a GGUF file."""

    name: str
    architecture: str = ""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Chat templates by name; the one without a name is ``default``."""
    bos: str = ""
    eos: str = ""
    add_bos: bool | None = None
    """Whether a prompt must begin with the beginning token; None if the file does not say."""
    context_window: int | None = None
    special: tuple[str, ...] = ()
    """The control tokens. Markers that are ordinary added tokens are not among them: some makers add
    all of HTML."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """All values that are not arrays."""

    @property
    def card(self) -> Card:
        """The same, as an engine's facts."""
        return Card(
            name=self.name,
            template=self.templates.get("default", ""),
            bos=self.bos,
            eos=self.eos,
            context_window=self.context_window,
        )


def read_header(path: str | os.PathLike[str]) -> Header:
    """The metadata of the file. Raises UsageError."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            reader = _GgufReader(file, os.fstat(file.fileno()).st_size, str(place))
            pairs: dict[str, Scalar | _Array] = {}
            for _ in range(reader.begin()):
                key = reader.text(LONGEST_KEY)
                pairs[key] = reader.value(int(reader.number("I")))
            bos, eos, special = _tokens(reader, pairs)
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror or error}") from None
    metadata = {key: value for key, value in pairs.items() if not isinstance(value, _Array)}
    architecture = _word(metadata.get("general.architecture"))
    window = metadata.get(f"{architecture}.context_length")
    add_bos = metadata.get("tokenizer.ggml.add_bos_token")
    templates = {"default": _word(metadata.get(_TEMPLATE))}
    for key, value in metadata.items():
        if key.startswith(f"{_TEMPLATE}."):
            templates[key.removeprefix(f"{_TEMPLATE}.")] = _word(value)
    return Header(
        name=_word(metadata.get("general.name")) or place.stem,
        architecture=architecture,
        templates={name: text for name, text in templates.items() if text},
        bos=bos,
        eos=eos,
        add_bos=add_bos if isinstance(add_bos, bool) else None,
        context_window=window if isinstance(window, int) and window > 0 else None,
        special=special,
        metadata=metadata,
    )


def read_card(path: str | os.PathLike[str]) -> Card:
    """An engine's facts about the model in the file, known before it is loaded."""
    return read_header(path).card


class _Array(Struct, frozen=True):
    """The location of an array in the file."""

    kind: int
    count: int
    start: int


class _GgufReader:
    """Reads a file from front to back, in pieces; nothing beyond its end, nothing too large."""

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self._file = file
        self._size = size
        self._name = name
        self._items = MOST_ITEMS
        self._inner = MOST_INNER
        self._order = "<"
        self._buffer = b""
        self._base = 0
        """The file offset at which the buffer begins."""
        self._at = 0

    @property
    def place(self) -> int:
        """The file offset of the next value."""
        return self._base + self._at

    def go(self, place: int) -> None:
        """Continue reading at another offset."""
        inside = place - self._base
        if 0 <= inside <= len(self._buffer):
            self._at = inside
        else:
            self._buffer = b""
            self._base = place
            self._at = 0

    def refuse(self, reason: str) -> UsageError:
        """The exception for a malformed file."""
        return UsageError(f"{self._name} is not a GGUF file that can be read: {reason}")

    def begin(self) -> int:
        """Read the file's header; returns how many pairs follow."""
        if self._size < len(b"GGUF") or self._take(4) != b"GGUF":
            raise self.refuse("it does not begin with GGUF")
        raw = self._take(4)
        if raw[:2] == b"\0\0":
            self._order = ">"
        version = int.from_bytes(raw, "little" if self._order == "<" else "big")
        if version not in {2, 3}:
            raise self.refuse(f"its version is {version}; 2 and 3 are known")
        self._take(8)
        pairs = self.number("Q")
        if pairs > MOST_PAIRS:
            raise self.refuse(f"it claims {pairs:,} pairs of metadata")
        return int(pairs)

    def number(self, form: str) -> int | float:
        """A number of the given format."""
        packed = struct.Struct(self._order + form)
        found: int | float = packed.unpack(self._take(packed.size))[0]
        return found

    def text(self, longest: int = LONGEST_TEXT) -> str:
        """A string; invalid UTF-8 is replaced."""
        length = int(self.number("Q"))
        self._expect(length)
        if length > longest:
            raise self.refuse(f"a text of {length:,} bytes at byte {self.place:,}")
        return self._take(length).decode(errors="replace")

    def value(self, kind: int) -> Scalar | _Array:
        """A value; of an array only its location."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array(DEEPEST)
        if kind not in _NUMBERS:
            raise self.refuse(f"a value of unknown type {kind} at byte {self.place:,}")
        number = self.number(_NUMBERS[kind])
        if kind == _BOOL:
            return bool(number)
        return number

    def numbers(self, array: _Array) -> tuple[int | float, ...]:
        if array.kind not in _NUMBERS:
            return ()
        self.go(array.start)
        form = f"{self._order}{array.count}{_NUMBERS[array.kind]}"
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def texts(self, array: _Array, wanted: list[int]) -> Iterator[tuple[int, str]]:
        """Members of an array of strings, by their sorted indexes."""
        self.go(array.start)
        at = 0
        for index in wanted:
            if array.kind != _STRING or not 0 <= index < array.count:
                continue
            self._skip_texts(index - at)
            at = index + 1
            yield index, self.text()

    def _array(self, deepest: int) -> _Array:
        kind = int(self.number("I"))
        count = int(self.number("Q"))
        start = self.place
        if kind not in _LEAST:
            raise self.refuse(f"an array of unknown type {kind} at byte {start:,}")
        self._expect(count * _LEAST[kind])
        self._items -= count
        if self._items < 0:
            raise self.refuse(f"its arrays have more than {MOST_ITEMS:,} members")
        if kind == _ARRAY:
            if not deepest:
                raise self.refuse(f"arrays are nested more than {DEEPEST} deep at byte {start:,}")
            self._inner -= count
            if self._inner < 0:
                raise self.refuse(f"it has more than {MOST_INNER:,} arrays in arrays")
            for _ in range(count):
                self._array(deepest - 1)
        elif kind == _STRING:
            self._skip_texts(count)
        else:
            self.go(start + count * _SIZES[kind])
        return _Array(kind, count, start)

    def _skip_texts(self, count: int) -> None:
        # The hot loop; it accesses the buffer directly.
        size = struct.Struct(self._order + "Q")
        unpack = size.unpack_from
        width = size.size
        buffer = self._buffer
        at = self._at
        end = len(self._buffer)
        for _ in range(count):
            if at + width > end:
                self._at = at
                self._need(width)
                buffer = self._buffer
                at = self._at
                end = len(self._buffer)
            at += width + unpack(buffer, at)[0]
            if at > end:
                self._expect(at - self._at)
                self.go(self._base + at)
                buffer = self._buffer
                at = self._at
                end = len(self._buffer)
        self._at = at

    def _take(self, count: int) -> bytes:
        self._need(count)
        self._at += count
        return self._buffer[self._at - count : self._at]

    def _need(self, count: int) -> None:
        """Ensure that many bytes in the buffer."""
        if self._at + count <= len(self._buffer):
            return
        self._expect(count)
        place = self.place
        self._file.seek(place)
        self._buffer = self._file.read(max(count, _CHUNK))
        self._base = place
        self._at = 0
        if len(self._buffer) < count:
            raise self._cut(place)

    def _expect(self, count: int) -> None:
        if self.place + count > self._size:
            raise self._cut(self.place)

    def _cut(self, place: int) -> UsageError:
        return self.refuse(f"it stops before the value at byte {place:,} is complete")


def _tokens(
    reader: _GgufReader, pairs: Mapping[str, Scalar | _Array]
) -> tuple[str, str, tuple[str, ...]]:
    """The texts of the beginning and the end token, and of all special tokens."""
    tokens = pairs.get(_TOKENS)
    types = pairs.get(_TYPES)
    if not isinstance(tokens, _Array):
        return "", "", ()
    kinds: tuple[float, ...] = ()
    if isinstance(types, _Array):
        kinds = reader.numbers(types)
    marked = [at for at, kind in enumerate(kinds) if kind == _CONTROL][:_MOST_SPECIAL]
    ends = [pairs.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")]
    wanted = sorted({*marked, *(end for end in ends if isinstance(end, int))})
    texts = dict(reader.texts(tokens, wanted))
    bos, eos = (texts.get(end, "") if isinstance(end, int) else "" for end in ends)
    return bos, eos, tuple([texts[at] for at in marked if at in texts])


def _word(value: object) -> str:
    if isinstance(value, str):
        return value
    return ""
