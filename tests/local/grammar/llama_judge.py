"""llama.cpp's own verdict on texts under a GBNF grammar, character by character, without a model.

xllamacpp has no call for it, but its library has llama.cpp's functions under the names that C++ gives
them (``src/llama-grammar.h``), and those are called here. They were seen in xllamacpp 2026.10.11549.
"""

import ctypes
from functools import cache
from typing import Any

import xllamacpp

_INIT = "_Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim"
_FREE = "_Z23llama_grammar_free_implP13llama_grammar"
_STACKS = "_Z24llama_grammar_get_stacksP13llama_grammar"
_ACCEPT = "_Z20llama_grammar_acceptP13llama_grammarj"
_CLONE = "_Z24llama_grammar_clone_implRK13llama_grammar"


class _Vector(ctypes.Structure):
    """``std::vector``, as every standard library for Linux and macOS lays it out."""

    _fields_ = (("begin", ctypes.c_void_p), ("end", ctypes.c_void_p), ("room", ctypes.c_void_p))

    @property
    def is_empty(self) -> bool:
        return self.begin == self.end


class _Functions:
    """llama.cpp's functions, with what they take and give."""

    def __init__(self) -> None:
        library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
        pointer, text, count = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        self.init, self.free, self.clone = library[_INIT], library[_FREE], library[_CLONE]
        self.accept, self.stacks = library[_ACCEPT], library[_STACKS]
        self.init.argtypes = (pointer, text, text, ctypes.c_bool, pointer, count, pointer, count)
        self.init.restype = self.clone.restype = pointer
        self.free.argtypes = self.clone.argtypes = self.stacks.argtypes = (pointer,)
        self.stacks.restype = ctypes.POINTER(_Vector)
        self.accept.argtypes = (pointer, ctypes.c_uint32)


_functions = cache(_Functions)


class GbnfJudge:
    """llama.cpp's own verdict on texts under a GBNF grammar, which it must be able to read."""

    def __init__(self, text: str) -> None:
        self._llama = _functions()
        # It wants places for words and tokens to wait for, even where there are none.
        none = (ctypes.c_void_p * 1)()
        self._grammar = self._llama.init(None, text.encode(), b"root", False, none, 0, none, 0)
        assert self._grammar, f"llama.cpp cannot read this grammar:\n{text}"

    def __del__(self) -> None:
        if getattr(self, "_grammar", None):
            self._llama.free(self._grammar)

    def accepts(self, text: str) -> bool:
        """Whether this is a whole sentence."""
        copy = self._llama.clone(self._grammar)
        try:
            return self._is_sentence(copy, text)
        finally:
            self._llama.free(copy)

    def _is_sentence(self, grammar: Any, text: str) -> bool:
        for letter in text:
            self._llama.accept(grammar, ord(letter))
            if self._llama.stacks(grammar).contents.is_empty:
                return False
        found = self._llama.stacks(grammar).contents
        size = (found.end - found.begin) // ctypes.sizeof(_Vector)
        # A stack is what must still come; an empty one has come to the end.
        return any(each.is_empty for each in (_Vector * size).from_address(found.begin))
