"""Finds text in an untrusted tool definition that speaks to the model instead of about the tool.

The model reads a description before anything is called, so its author can try to give the model orders:
to read other files, to keep quiet about it, to distrust other tools. A clear case is a danger, and the
tool is refused unless the operator allows it; a case that may be meant well is a doubt.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonValue
from rightcall.core.problem import json_path

Weight: TypeAlias = Literal["advice", "danger", "doubt"]
"""A definition that is hard to choose or call; untrusted text that clearly speaks to the model, or
may."""


class Finding(Struct, frozen=True):
    """One place in a tool's definition that a person should read."""

    tool: str
    where: str
    weight: Weight
    what: str
    excerpt: str = ""
    rule: str = "orders"
    """The rule's name, for suppressing it."""
    why: str = ""
    """Why it matters."""
    instead: str = ""
    """What to write instead."""

    def __str__(self) -> str:
        quoted = f": {self.excerpt!r}" if self.excerpt else ""
        return f"{self.tool}, {self.where}: {self.what}{quoted}"


_LONGEST = 20_000
_SHOWN = 80


class _Rule(Struct, frozen=True):
    weight: Weight
    what: str
    pattern: re.Pattern[str]


def _rule(weight: Weight, what: str, pattern: str) -> _Rule:
    return _Rule(weight, what, re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.DOTALL))


_RULES = (
    _rule(
        "danger",
        "characters that nobody sees",
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
        "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
        "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]",
    ),
    _rule(
        "danger",
        "tells the model to drop its instructions",
        r"\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(previous|prior|earlier|above|all|any|other|"
        r"existing|system|your)\b.{0,30}\b(instruction|prompt|rule|guideline|polic|direction)",
    ),
    _rule(
        "danger",
        "tells the model to keep something from the user",
        r"\b(do not|don't|never|must not)\b.{0,20}\b(tell|mention|inform|notify|reveal|"
        r"show|warn|alert)\w*\b.{0,20}\b(the |to )?user",
    ),
    _rule(
        "danger",
        "imitates the marks of a conversation",
        r"<\s{0,5}/?\s{0,5}(important|system|instructions?|assistant|critical|hidden)\s{0,5}>|"
        r"\[/?INST\]|<\|[a-z_]{2,20}\|>|<</?SYS>>",
    ),
    _rule(
        "danger",
        "names files that hold secrets",
        r"\.ssh/|id_(rsa|ed25519|ecdsa)\b|/etc/(passwd|shadow)|\.aws/credentials|\.(cursor|claude)/|"
        r"\bmcp\.json\b|\.netrc\b|\.gnupg\b",
    ),
    _rule(
        "danger",
        "asks for the conversation or the prompt",
        r"\b(pass|send|include|provide|copy|put|write|append|attach)\b.{0,60}\b(system prompt|"
        r"conversation history|chat history|(full|entire|whole) conversation|previous messages|"
        r"your instructions)\b",
    ),
    _rule("danger", "hides text behind a long gap", r"\s{80}"),
    _rule(
        "doubt",
        "tells the model when other tools may be used",
        r"\b(before|instead of|after)\b.{0,20}\b(using|calling|any|every|other|another)\b.{0,20}"
        r"\btools?\b",
    ),
    _rule("doubt", "begins as another's turn", r"^[ \t]{0,8}(system|assistant|user)[ \t]{0,8}:"),
    _rule(
        "doubt",
        "gives the model an order",
        # "Use it when you need to …" describes a condition, and is no order.
        r"(?<!when )(?<!if )\byou (must|should|have to|need to|are required)\b|"
        r"\b(always|never) (call|use|run|invoke)\b",
    ),
)


def suspicions(
    tool: str, words: Mapping[str, str], parameters: Mapping[str, JsonValue]
) -> tuple[Finding, ...]:
    """Everything in a definition that speaks to the model, worst first; ``words`` are texts by place."""
    texts: list[tuple[str, str]] = list(words.items())
    for steps, text in _strings(dict(parameters), ()):
        texts.append((f"parameters at {json_path(steps)}", text))
    findings = []
    for where, text in texts:
        for rule in _RULES:
            if match := rule.pattern.search(text[:_LONGEST]):
                excerpt = text[match.start() : match.start() + _SHOWN]
                findings.append(Finding(tool, where, rule.weight, rule.what, excerpt))
    return tuple(sorted(findings, key=lambda finding: finding.weight))


def _strings(
    node: JsonValue, steps: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in a schema, including property names."""
    if isinstance(node, str):
        # A regex pattern is not prose, and is full of special characters.
        if steps[-1:] != ("pattern",):
            yield steps, node
    elif isinstance(node, Mapping):
        for key, child in node.items():
            yield (*steps, key), key
            yield from _strings(child, (*steps, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _strings(child, (*steps, index))
