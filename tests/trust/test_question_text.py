"""What a person is shown of a call is whole where it is short; where it is cut, that is said."""

import pytest

from rightcall.core.decision import Evidence
from rightcall.core.proposal import (
    MARK,
    MOST_SHOWN,
    Proposal,
    question,
    question_lines,
    quotation,
    summary,
)


def proposed(name: str = "send", arguments: object = None, **more) -> Proposal:
    return Proposal(call_id="1", name=name, arguments={} if arguments is None else arguments, **more)


def shown(proposal: Proposal, columns: int = 80) -> str:
    """All that comes from outside, in one line."""
    lines = question_lines(proposal, columns)
    return "".join(line.text for line in lines if line.from_outside)


def own(proposal: Proposal) -> list[str]:
    return [line.text for line in question_lines(proposal) if not line.from_outside]


def test_every_argument_is_shown_with_its_place():
    arguments = {
        "to": ["ann", {"name": "bob", "a key": 1}],
        "none": None,
        "empty": [],
        "nothing": {},
        "deep": {"er": {"est": True}},
    }
    assert set(question(proposed(arguments=arguments)).splitlines()) == {
        "The model wants to run send with",
        '  | to[0]: "ann"',
        '  | to[1].name: "bob"',
        '  | to[1]."a key": 1',
        "  | none: null",
        "  | empty: []",
        "  | nothing: {}",
        "  | deep.er.est: true",
    }


def test_a_call_without_arguments_says_so_by_saying_nothing():
    assert question(proposed()) == "The model wants to run send"


@pytest.mark.parametrize(("extra", "is_cut"), [(0, False), (1, True), (5000, True)])
def test_arguments_are_shown_up_to_a_limit_and_their_size_is_said(extra, is_cut):
    # What is counted is the line as it would be shown: the name, the quotation marks and the text.
    text = "x" * (MOST_SHOWN - len('text: ""') + extra)
    proposal = proposed(arguments={"text": text})
    size = MOST_SHOWN + extra
    notice = f"({extra:,} of its {size:,} characters are left out here)"
    assert (notice in own(proposal)) is is_cut
    whole = f'text: "{text}"'
    tail = MOST_SHOWN // 4
    cut = f"{whole[: MOST_SHOWN - tail]}……{whole[-tail:]}"
    assert shown(proposal) == (cut if is_cut else whole)


def test_of_many_arguments_those_that_fit_are_shown_and_all_are_counted():
    arguments = {f"a{number:03}": "x" * 92 for number in range(100)}
    proposal = proposed(arguments=arguments)
    assert shown(proposal).count("a0") == MOST_SHOWN // 100
    assert own(proposal)[-1] == "(60 more values, 6,000 characters, are not shown)"


@pytest.mark.parametrize(("extra", "is_sorted"), [(0, False), (1, True)])
def test_what_fits_whole_stands_in_the_models_order(extra, is_sorted):
    rows = [f"{number:02}" + "x" * 91 for number in range(38)]
    last = MOST_SHOWN - sum(len(f'rows[{number}]: "{row}"') for number, row in enumerate(rows))
    to = "y" * (last - len('to: ""') + extra)
    lines = shown(proposed(arguments={"rows": rows, "to": to}))
    assert lines.startswith("to: ") is is_sorted


@pytest.mark.parametrize(("around", "is_first"), [(3, True), (4, False)])
def test_what_takes_little_room_stands_first_down_to_the_fourth_level(around, is_first):
    arguments = {"many": ["x" * 90] * 60, "to": "ann"}
    for number in range(around):
        arguments = {f"a{number}": arguments}
    lines = shown(proposed(arguments=arguments))
    assert ('to: "ann"' in lines) is is_first


def test_a_long_reason_and_a_long_value_are_cut_and_marked():
    long = "y" * (MOST_SHOWN + 10)
    whole = "y" * MOST_SHOWN
    assert shown(proposed(reason=long)) == f"{whole}…"
    assert shown(proposed(reason=whole)) == whole
    doubtful = Evidence("$.a", long, "untrusted", long)
    assert shown(proposed(evidence=(doubtful,))) == f'$.a: "{whole}…", in what came from "{whole}…"'
    elsewhere = Evidence(long, "v", "nowhere")
    assert shown(proposed(evidence=(elsewhere,))) == f'{whole}…: "v"'


def test_what_a_person_need_not_be_told_is_left_out():
    vouched = Evidence("$.to", "ann", "user")
    assert own(proposed(evidence=(vouched,))) == ["The model wants to run send"]
    assert own(proposed(reason="")) == ["The model wants to run send"]
    doubtful = proposed(evidence=(vouched, Evidence("$.cc", "eve", "untrusted")))
    assert shown(doubtful) == '$.cc: "eve"'


def test_what_outsiders_said_comes_before_what_nobody_said():
    doubts = (
        Evidence("$.a", "1", "nowhere"),
        Evidence("$.b", "2", "untrusted"),
        Evidence("$.c", "3", "nowhere"),
    )
    assert question(proposed(evidence=doubts)).splitlines()[1:] == [
        "This comes from outsiders:",
        '  | $.b: "2"',
        "This was named by nobody but the model:",
        '  | $.a: "1"',
        '  | $.c: "3"',
    ]


NAMES = {
    "a" * 40: True,
    "a" * 41: False,
    "one_two_three_four_five": True,
    "one_two_three_four_five_six": False,
    "mail/send-now": True,
    "_hidden": True,
    "class_": True,
    "two words": False,
    "": False,
    "1st": False,
    "ok\n": False,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_short_name_stands_as_it_is_and_any_other_is_quoted(name):
    is_plain = NAMES[name]
    asked = own(proposed(name))
    named = own(proposed(agent=name)) if name else ["The model wants to run send"]
    if is_plain:
        assert asked == [f"The model wants to run {name}"]
        assert named == [f"The agent {name} wants to run send"]
    else:
        assert asked == ["The model wants to run a tool that is named"]
        assert named != [f"The agent {name} wants to run send"]


def test_a_long_name_is_cut():
    assert shown(proposed("n " * 300)) == f'"{"n " * 100}"'
    (line,) = own(proposed(agent="n " * 300))
    assert line == f'The agent "{"n " * 20}" wants to run send'


def test_a_name_with_a_control_character_reaches_no_terminal():
    (line,) = own(proposed(agent="a\x1b[2J"))
    assert line.isprintable()


def test_of_each_that_waits_two_lines_are_shown_and_whose_it_is():
    long = proposed(arguments={"text": "x " * 400, "more": 1}, agent="writer")
    short = proposed("pay", {"to": "AA11", "sum": 3})
    lines = summary([long, short]).splitlines()
    assert lines[0] == "2 calls wait, those that matter most first:"
    assert lines[1] == "1. send of the agent writer"
    of_long = lines[2 : lines.index("2. pay")]
    assert len(of_long) == 2
    assert all(line.startswith(MARK) for line in of_long)
    of_short = lines[lines.index("2. pay") + 1 :]
    assert sorted("".join(of_short).removeprefix(MARK).split(", ")) == ["sum: 3", 'to: "AA11"']


def test_of_each_that_waits_two_hundred_characters_are_shown_on_a_wide_display():
    lines = summary([proposed(arguments={"text": "x" * 900})], columns=500).splitlines()
    assert len(lines[2]) == len(MARK) + 200
    assert len(lines) == 3


def test_a_third_partys_text_is_quoted_under_its_name():
    assert quotation("shop", "Buy\nnow") == 'shop:\n  | "Buy\\n\n  | now"'
    long = quotation("shop", "z" * (MOST_SHOWN + 1), columns=10_000)
    assert long.splitlines()[1] == f'  | "{"z" * MOST_SHOWN}…"'


@pytest.mark.parametrize("columns", [10, 24, 25, 80])
def test_a_line_is_as_long_as_the_display_is_wide_and_no_display_is_too_narrow(columns):
    lines = question_lines(proposed(arguments={"a": "b" * 300}), columns)
    lengths = [len(str(line)) for line in lines if line.from_outside]
    assert max(lengths) == max(columns, 24)
    assert lengths[:-1] == [max(columns, 24)] * (len(lengths) - 1)


def test_a_display_has_eighty_columns_unless_it_says_otherwise():
    proposal = proposed(arguments={"a": "b" * 300})
    assert question(proposal) == question(proposal, 80)
    assert question_lines(proposal) == question_lines(proposal, 80)
    assert quotation("shop", "b" * 300) == quotation("shop", "b" * 300, 80)


def test_a_line_is_folded_at_a_space_unless_half_of_it_would_be_empty():
    def folded(text: str) -> list[str]:
        lines = question_lines(proposed(reason=text), 44)[2:]
        assert "".join(line.text for line in lines) == text
        return [line.text for line in lines]

    assert folded("a" * 30 + " " + "b" * 30) == ["a" * 30 + " ", "b" * 30]
    assert folded("a" * 5 + " " + "b" * 60) == ["a" * 5 + " " + "b" * 34, "b" * 26]
    # The rest of a folded line counts as the beginning of the next.
    assert folded("a" * 30 + " " + "b" * 45) == ["a" * 30 + " ", "b" * 40, "b" * 5]


def test_a_line_ends_where_the_text_has_one_and_not_at_a_backslash():
    lines = question_lines(proposed(arguments={"a": "one\ntwo\\name"}))[1:]
    assert [line.text for line in lines] == ['a: "one\\n', 'two\\\\name"']
