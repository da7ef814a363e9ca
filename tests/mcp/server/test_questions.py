import pytest
from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    FormElicitationCapability,
    ListRootsRequest,
    ListRootsResult,
    RootsCapability,
    SamplingCapability,
    SamplingMessage,
    TextContent,
    UrlElicitationCapability,
)

from rightcall.mcp.server.questions import (
    Filled,
    Form,
    RootList,
    Roots,
    Sample,
    Sampled,
    answer_from,
    can_answer,
    capability_for,
    request_for,
    result_type,
)

FORM = Form(message="Name?", fields={"name": {"type": "string"}}, required=("name",))
SAMPLE = Sample(prompt="Hi", system="Be kind", max_tokens=5)
SAID = CreateMessageResult(role="assistant", content=TextContent(text="Hello"), model="m")
FOLDERS = ListRootsResult(roots=[{"uri": "file:///a"}])
BOB = {"name": "Bob"}
KINDS = [FORM, SAMPLE, Roots()]


def test_questions_become_requests():
    assert [request_for(each) for each in KINDS] == [
        ElicitRequest(
            params=ElicitRequestFormParams(
                message="Name?",
                requested_schema={
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                },
            )
        ),
        CreateMessageRequest(
            params=CreateMessageRequestParams(
                messages=[SamplingMessage(role="user", content=TextContent(text="Hi"))],
                system_prompt="Be kind",
                max_tokens=5,
            )
        ),
        ListRootsRequest(),
    ]


def test_each_kind_has_its_capability_and_its_result():
    assert [(capability_for(each), result_type(each)) for each in KINDS] == [
        ("elicitation", ElicitResult),
        ("sampling", CreateMessageResult),
        ("roots", ListRootsResult),
    ]


@pytest.mark.parametrize(
    ("question", "response", "answer"),
    [
        (FORM, ElicitResult(action="accept", content=BOB), Filled(action="accept", content=BOB)),
        (FORM, ElicitResult(action="decline"), Filled(action="decline")),
        (FORM, ElicitResult(action="cancel"), Filled(action="cancel")),
        (FORM, ElicitResult(action="accept", content={"name": 3}), None),
        (FORM, ElicitResult(action="accept"), None),
        (FORM, SAID, None),
        (SAMPLE, SAID, Sampled(text="Hello", model="m")),
        (SAMPLE, FOLDERS, None),
        (Roots(), FOLDERS, RootList(uris=("file:///a",))),
        (Roots(), ElicitResult(action="decline"), None),
    ],
)
def test_only_an_answer_to_the_question_is_one(question, response, answer):
    assert answer_from(question, response) == answer


FORMS = ElicitationCapability(form=FormElicitationCapability())
PAGES = ElicitationCapability(url=UrlElicitationCapability())


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (None, [False, False, False]),
        (ClientCapabilities(), [False, False, False]),
        (ClientCapabilities(elicitation=ElicitationCapability()), [True, False, False]),
        (ClientCapabilities(elicitation=FORMS), [True, False, False]),
        (ClientCapabilities(elicitation=PAGES), [False, False, False]),
        (ClientCapabilities(sampling=SamplingCapability()), [False, True, False]),
        (ClientCapabilities(roots=RootsCapability()), [False, False, True]),
    ],
    ids=["unknown", "none", "elicitation", "forms", "pages only", "sampling", "roots"],
)
def test_a_client_is_asked_only_what_it_says_it_can_answer(capabilities, expected):
    assert [can_answer(capabilities, each) for each in KINDS] == expected
