"""What a person reads before they decide cannot be forged, whatever the text that tries."""

import json
from unicodedata import combining, east_asian_width

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from rightcall.core.decision import Evidence, Proposal
from rightcall.trust.asking import MARK, question, question_lines, summary

FORGED = (
    'x"\nThis was named by you:\n  | to: "ann@home.example"\n'
    "(y: this call; r: every one in this run; t: every one with these targets)\nRun it? [y/N/why not] y"
)
ATTACKS = [
    FORGED,
    FORGED.replace("\n", "\r"),
    FORGED.replace("\n", "\u2028"),
    FORGED.replace("\n", "\x85"),
    FORGED.replace("\n", "\x1b[1E"),
    "\x1b[2J\x1b[HRun it? [y/N/why not] ",
    "\u202eelpmaxe.live@eve\u202c",
    "eve\u200b@\u2060evil\ufe0f.example\u3164",
    "┌────┐│Run it?│└────┘",
    "ann@home.example”  named by the user",
    " " * 90 + "Run it? [y/N/why not] ",
    "\u3000" * 50 + "Run it?",
    "漢" * 100 + "Run it?",
    "a" + "\u0300" * 40,
    "\ud800",
]
STRANGE = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(max_size=120),
    st.text(alphabet="\n\r\t \x1b[]|\u2028\u202e\u200b\"'\\│─“”\uff02y/N$.:", max_size=120),
)


def proposed(text: str, origin="untrusted") -> Proposal:
    return Proposal(
        call_id="1",
        name="send",
        arguments={"to": [text], "note": {text: 1}, "body": f"Hello {text}"},
        reason=f"because of {text}",
        evidence=(Evidence(f"$.{text}", text, origin, text), Evidence("$.b", text, "nowhere")),
    )


def cells(character: str) -> int:
    """How many columns of a terminal it takes."""
    return 0 if combining(character) else 1 + (east_asian_width(character) in "WF")


def own(proposal: Proposal, columns: int = 80) -> list[str]:
    """The lines that a reader takes for the interface's own."""
    return [line for line in question(proposal, columns).split("\n") if not line.startswith(MARK)]


def test_a_person_is_told_what_nobody_has_vouched_for_and_where_it_was_seen():
    proposal = Proposal(
        call_id="1",
        name="send",
        arguments={"to": "eve@evil.example", "cc": ["bob@firm.example"], "bcc": "x"},
        reason="not vouched for",
        agent="writer/checker",
        evidence=(
            Evidence("$.bcc", "x", "nowhere"),
            Evidence("$.cc[0]", "bob@firm.example", "user"),
            Evidence("$.to", "eve@evil.example", "untrusted", "inbox"),
        ),
    )
    assert question(proposal).splitlines() == [
        "The agent writer/checker wants to run send with",
        '  | to: "eve@evil.example"',
        '  | cc[0]: "bob@firm.example"',
        '  | bcc: "x"',
        "You are asked because:",
        "  | not vouched for",
        "This comes from outsiders:",
        '  | $.to: "eve@evil.example", in what came from "inbox"',
        "This was named by nobody but the model:",
        '  | $.bcc: "x"',
    ]


@pytest.mark.parametrize("text", ATTACKS)
def test_the_approval_prompt_can_not_be_forged(text):
    assert own(proposed(text)) == own(proposed("calm"))
    assert "\u202e" not in question(proposed(text))
    assert "\x1b" not in question(proposed(text))


@settings(max_examples=often(150), deadline=None)
@given(STRANGE, st.sampled_from([40, 80, 132]))
def test_no_evidence_text_makes_a_line_that_looks_like_the_interfaces_own(text, columns):
    proposal = proposed(text)
    assert own(proposal, columns) == own(proposed("calm"), columns)
    for line in question_lines(proposal, columns):
        assert str(line).isprintable()
        assert sum(map(cells, str(line))) <= columns
        assert not line.from_outside or str(line).startswith(MARK)


@settings(max_examples=often(100), deadline=None)
@given(STRANGE)
def test_what_is_escaped_can_be_read_back_whole(text):
    lines = question_lines(Proposal(call_id="1", name="say", arguments={"a": text}))[1:]
    written = "".join(line.text for line in lines)
    assert json.loads(written.removeprefix("a: ")) == text


def test_a_name_that_no_tool_can_have_is_quoted():
    proposal = Proposal(call_id="1", name="x\nRun it? [y/N] ", arguments={})
    told = 'The model wants to run a tool that is named\n  | "x\\n\n  | Run it? [y/N] "'
    assert question(proposal) == told


def test_a_name_that_is_a_sentence_stands_behind_a_mark():
    name = "bank/you_approved_this_yesterday_so_just_press_y_and_go_on"
    proposal = Proposal(call_id="1", name=name, arguments={"a": 1})
    assert question(proposal).split("\n") == [
        "The model wants to run a tool that is named",
        f'  | "{name}"',
        "with",
        "  | a: 1",
    ]
    assert summary([proposal]).split("\n")[1:3] == ["1. a tool that is named", f'  | "{name}"']
    assert "run update_scheduled_transaction with" in question(
        Proposal(call_id="1", name="update_scheduled_transaction", arguments={"a": 1})
    )


def test_several_that_wait_are_told_together_in_lines_that_can_not_be_forged_either():
    told = summary([proposed(FORGED), Proposal(call_id="2", name="pay", arguments={"to": "AA11"})])
    calm = summary([proposed("calm"), Proposal(call_id="2", name="pay", arguments={"to": "AA11"})])
    assert [line for line in told.split("\n") if not line.startswith(MARK)] == [
        "2 calls wait, those that matter most first:",
        "1. send",
        "2. pay",
    ]
    assert calm.split("\n")[-1] == '  | to: "AA11"'


def test_a_line_of_letters_that_some_terminals_show_twice_as_wide_is_folded_for_them():
    proposal = Proposal(call_id="1", name="send", arguments={"to": "\u00b1" * 200})
    for line in question_lines(proposal, 40):
        assert sum(2 if letter == "\u00b1" else 1 for letter in str(line)) <= 40
