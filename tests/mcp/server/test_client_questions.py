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

import rightcall as rc
from rightcall.core.proposal import Proposal
from rightcall.errors import UsageError
from rightcall.mcp.server.remote_client import (
    Filled,
    Form,
    RootList,
    Roots,
    Sample,
    Sampled,
    answer_from,
    can_answer,
    capability_for,
    decision_from,
    form_for,
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


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"fields": {"size": str}}, "the field 'size' must be a JSON Schema"),
        ({"fields": {"size": {"type": "objet"}}}, "the field 'size' is no JSON Schema"),
        ({"fields": {"size": {}}, "required": ("sze",)}, "did you mean 'size'"),
        ({"fields": {}}, "JSON Schemas by name"),
        ({}, "fields"),
        ({"feilds": {}}, "feilds"),
    ],
)
def test_a_form_that_cannot_be_asked_is_refused_where_it_is_made(wrong, words):
    with pytest.raises(UsageError, match=words):
        Form(message="Which?", **wrong)


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


def proposal(reason="", **arguments):
    return Proposal(call_id="c", name="buy", arguments=arguments, reason=reason)


def test_a_person_is_shown_the_whole_call():
    form = form_for(proposal("it is dear", item="tea"))
    assert form.message == (
        'The model wants to run buy with\n  | item: "tea"\nYou are asked because:\n  | it is dear'
    )
    assert (list(form.fields), form.required) == (["allow", "reason"], ("allow",))


def test_what_cannot_be_seen_is_written_as_its_number():
    assert "\\u202e" in form_for(proposal(item="\u202egnp.exe")).message


def test_what_is_left_out_is_said_to_be():
    message = form_for(proposal(item="x" * 10_000)).message
    assert len(message) < 5000
    assert "of its 10,008 characters are left out here)" in message


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (Filled(action="accept", content={"allow": True}), rc.Allow()),
        (Filled(action="accept", content={"allow": False}), rc.Deny()),
        (Filled(action="accept", content={"allow": False, "reason": "dear"}), rc.Deny("dear")),
        (Filled(action="accept", content={}), rc.Deny()),
        (Filled(action="accept", content={"allow": "yes"}), rc.Deny()),
        (Filled(action="decline", content={"allow": True}), rc.Deny()),
        (Filled(action="cancel"), rc.Deny()),
        (Sampled(text="yes"), rc.Deny()),
    ],
)
def test_only_a_clear_yes_is_one(answer, decision):
    assert decision_from(answer) == decision
