import pytest

from rightcall.local.guided.talk import is_talk, worth_saying


@pytest.mark.parametrize(
    ("text", "talk"),
    [
        ("Hi, how are you?", True),
        ("Thanks, that was helpful!", True),
        ("My name is Ada.", True),
        ("You are great.", True),
        ("Hi, who wrote Emma?", False),
        ("Tell me about Peru.", False),
        ("Hello, please send Bob a mail", False),
        ("I want you to book it", False),
        ("Send Bob a mail.", False),
        ("Peru is large.", False),
    ],
)
def test_talk_is_told_from_what_somebody_wants(text, talk):
    assert is_talk(text) is talk


@pytest.mark.parametrize(
    ("text", "said", "kept"),
    [
        ("You are welcome.", "Thanks!", "You are welcome."),
        ("Awesome! Always keep a good attitude in a hard situation.", "Thanks!", "Awesome!"),
        ("I'm Emily, and I'll be your help.", "My name is Ada.", ""),
        ("Nice to meet you, Ada! How can I help you? Well.", "I am Ada.", None),
        ("I am glad. You are the 3rd today.", "Hi", "I am glad."),
        ("Lima is a vibrant city with beaches.", "Hi", ""),
        ("You told me of Rome once.", "Hi", ""),
        ("I am glad. I was cut", "Hi", "I am glad."),
        ("", "Hi", ""),
    ],
)
def test_only_what_keeps_to_the_two_who_talk_is_said(text, said, kept):
    expected = "Nice to meet you, Ada! How can I help you?" if kept is None else kept
    assert worth_saying(text, said) == expected
