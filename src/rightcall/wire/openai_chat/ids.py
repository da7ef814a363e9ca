"""Call ids into ids that a host takes: the same for the same id, and for no other."""

import re
from collections.abc import Sequence
from hashlib import sha256

from rightcall.core.call import Call
from rightcall.core.result import Result
from rightcall.wire.openai_chat.hosts import Ids

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# OpenAI: "string too long. Expected a string with maximum length 40"; Mistral: "must be a-z, A-Z, 0-9,
# with a length of 9" (agno #5382, dify #28987; zed #53034, opencode #1680).
_LEGAL = {"forty": re.compile(r"[\x21-\x7e]{1,40}"), "nine": re.compile(r"[A-Za-z0-9]{9}")}


class LegalIds:
    """The ids of one transcript, in its order."""

    def __init__(self, kind: Ids) -> None:
        self._kind: Ids = kind
        self._legal: dict[str, str] = {}
        self._taken: set[str] = set()
        self._calls: list[tuple[str, str]] = []
        self._count = 0

    def of_calls(self, calls: Sequence[Call]) -> list[str]:
        """An id for each call; a call without one gets its own."""
        self._calls = []
        for call in calls:
            self._count += 1
            self._calls.append((call.id, self._find(call.id or f"call_{self._count}")))
        return [legal for _, legal in self._calls]

    def of_results(self, results: Sequence[Result]) -> list[str]:
        """The ids of the calls that these answer: by id, and by their order where ids are the same."""
        waiting = list(self._calls)
        found = []
        for result in results:
            at = next((at for at, (given, _) in enumerate(waiting) if given == result.call_id), None)
            found.append(self._find(result.call_id) if at is None else waiting.pop(at)[1])
        return found

    def _find(self, given: str) -> str:
        if given not in self._legal:
            candidate = given if _LEGAL[self._kind].fullmatch(given) else self._make(given, 0)
            tries = 0
            while candidate in self._taken:
                tries += 1
                candidate = self._make(given, tries)
            self._taken.add(candidate)
            self._legal[given] = candidate
        return self._legal[given]

    def _make(self, given: str, tries: int) -> str:
        digest = sha256(f"{given}\n{tries}".encode(errors="surrogatepass")).digest()
        if self._kind == "forty":
            return f"call_{digest.hex()[:24]}"
        number = int.from_bytes(digest)
        return "".join(_DIGITS[number // 62**place % 62] for place in range(9))
