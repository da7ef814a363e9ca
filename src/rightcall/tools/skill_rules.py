"""Finds what makes a skill hard to choose or to follow, and what a stranger's would have a model do."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from rightcall.builtin.files.root import Root
from rightcall.conversation.skills import LONGEST_DESCRIPTION, Skill, Skills, list_files
from rightcall.core.message import text_tokens
from rightcall.core.options import check_keywords
from rightcall.declare.findings import Finding, suspicions
from rightcall.errors import UsageError

SKILL_RULES = {
    "skill-folder": "a name that is not its folder's, by which others look for it",
    "skill-long": "a description of more than 1,024 characters",
    "skill-no-when": 'no word on when to read it: "Use when …"',
    "skill-body": "a text of more than 5,000 tokens, all of which is read at once",
    "skill-file": "a file that the text names and the folder does not have",
    "skill-script": "a script, which nothing runs but a tool of an operator's manifest",
    "skill-orders": "words that tell a model to hide something, or to drop its instructions",
}
"""What each rule finds."""
_MOST_TOKENS = 5000
_WHEN = re.compile(r"\b(when|whenever|if|before|after|for|to)\b", re.IGNORECASE)
_LINK = re.compile(r"\]\(([^)\s#:]+)\)|`((?:[\w.-]+/)+[\w.-]+\.\w+)`")
_SCRIPTS = (".py", ".sh", ".js", ".ts", ".rb", ".pl", ".ps1", ".bat")


@check_keywords("rc.tools.lint_skills")
def lint_skills(skills: str | Path | Skills, *, ignore: Collection[str] = ()) -> tuple[Finding, ...]:
    """Find what is wrong with the skills of a folder, with why it matters and what to write.

    ``ignore`` lists rules to ignore: ``"skill-script"`` for all skills, ``"skill-script:pdf"`` for
    one.
    """
    ignored = frozenset([ignore] if isinstance(ignore, str) else ignore)
    for each in ignored:
        if each.partition(":")[0] not in SKILL_RULES:
            there = ", ".join(SKILL_RULES)
            raise UsageError(f"lint finds no {each!r} in skills to ignore; it finds {there}")
    group = skills if isinstance(skills, Skills) else Skills(skills)
    findings: list[Finding] = []
    for skill in group.skills.values():
        for finding in _findings(skill):
            if finding.rule not in ignored and f"{finding.rule}:{skill.name}" not in ignored:
                findings.append(finding)
    return tuple(findings)


def _findings(skill: Skill) -> Iterator[Finding]:
    name = skill.name
    folder = skill.folder.absolute().name
    if folder != name:
        yield Finding(
            *(name, "name", "advice", f"the skill is in a folder {folder!r}", "", "skill-folder"),
            "other programs find a skill by its folder, and refuse one of another name",
            "name the folder like the skill",
        )
    if len(skill.description) > LONGEST_DESCRIPTION:
        yield Finding(
            *(name, "description", "advice", f"{len(skill.description):,} characters", "", "skill-long"),
            "it is in every request, and other programs refuse it",
            f"say in {LONGEST_DESCRIPTION:,} characters what it is for, and the rest in the text",
        )
    if not _WHEN.search(skill.description):
        yield Finding(
            *(name, "description", "advice", "no word on when to read it", "", "skill-no-when"),
            "the description is all that a model knows when it chooses",
            'say when: "Use when the user asks for …"',
        )
    tokens = text_tokens(skill.body)
    if tokens > _MOST_TOKENS:
        yield Finding(
            *(name, "text", "advice", f"about {tokens:,} tokens", "", "skill-body"),
            "all of it is read, whatever is needed of it",
            "keep what is always needed, and put the rest into files that the text names",
        )
    yield from _file_findings(skill)
    words = {"description": skill.description, "text": skill.body}
    for each in suspicions(name, words, {}):
        if each.weight == "danger":
            yield Finding(
                *(name, each.where, each.weight, each.what, each.excerpt, "skill-orders"),
                "whoever writes a skill can try to lead the model; read it before you trust it",
                "load it as a stranger's: rc.conversation.Skills(folder, untrusted=True)",
            )


def _file_findings(skill: Skill) -> Iterator[Finding]:
    files = set(list_files(skill.folder, Root(skill.folder, read_only=True)))
    named = [Path(link or code).as_posix() for link, code in _LINK.findall(skill.body)]
    for file in dict.fromkeys(named):
        if file not in files and file != "SKILL.md":
            yield Finding(
                *(skill.name, "text", "advice", f"there is no file {file!r}", "", "skill-file"),
                "the model will look for it in vain",
                "add the file, or take its name out",
            )
    scripts = sorted(file for file in files if file.endswith(_SCRIPTS))
    if scripts:
        yield Finding(
            *(skill.name, "files", "advice", f"scripts: {', '.join(scripts)}", "", "skill-script"),
            "a model can read them, and run none",
            "make those that it may run tools of a manifest: rightcall.manifest.load(…)",
        )
