import pytest

from rightcall.local.guided.lessons import questions_in

MESSAGES = {
    "one question": ("What is 17 * 23?", ["What is 17 * 23?"]),
    "two sentences": (
        "What is 17 * 23? And what day is it today?",
        ["What is 17 * 23?", "What day is it today?"],
    ),
    "joined by and": (
        "What is 17 * 23, and what day is it today?",
        ["What is 17 * 23?", "What day is it today?"],
    ),
    "what leads up to a question stays with it": (
        "I have 3 apples. I buy 4 more. How many do I have?",
        ["I have 3 apples. I buy 4 more. How many do I have?"],
    ),
    "an and inside of a question": ("What is 3 and 4 together?", ["What is 3 and 4 together?"]),
    "a number with a point": ("What is 3.5 * 2?", ["What is 3.5 * 2?"]),
    "a statement after a question": (
        "What time is it? I am late.",
        ["What time is it?", "I am late."],
    ),
    "a value after a question": (
        "Can you tell me the weather? San Francisco",
        ["Can you tell me the weather? San Francisco"],
    ),
    "a statement with a value": (
        "How warm is it? I'd be in Lima from Monday on.",
        ["How warm is it? I'd be in Lima from Monday on."],
    ),
    "what is done with the answer": (
        "What are the odds? Format them as a ratio.",
        ["What are the odds? Format them as a ratio."],
    ),
    "a request after a question": (
        "What time is it? Send Ada the agenda.",
        ["What time is it?", "Send Ada the agenda."],
    ),
    "thanks after a question": ("What time is it? Thanks!", ["What time is it?", "Thanks!"]),
    "no question": ("Tell me a joke.", ["Tell me a joke."]),
    "space around it": ("  Hello!\n", ["Hello!"]),
    "nothing": ("", [""]),
    "more than anybody asks": ("Why? " * 9, [("Why? " * 9).strip()]),
}


@pytest.mark.parametrize(("text", "questions"), MESSAGES.values(), ids=MESSAGES)
def test_a_message_is_taken_apart_into_its_questions(text, questions):
    assert list(questions_in(text)) == questions
