"""Secrets do not reach the record, and everything else does."""

import json
from base64 import b64decode
from random import Random
from typing import get_args

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from record.entries import EVERY_ENTRY
from rightcall.core.decision import Allow, Deny, Rewrite
from rightcall.core.entry import CallChecked, CallDecided, Entry, ReplyReceived, RunResumed, StepDone
from rightcall.core.message import Reply
from rightcall.core.parts import Call, Media, Repair, Text
from rightcall.core.secret_formats import _PACKED_HINTS, _PACKED_NAMES, may_be_secret, secrecy_of
from rightcall.record.entry_text import decode, encode
from rightcall.record.redact import redact_secrets, redact_text

MARK = "[redacted]"

# Put together here, so that no scanner takes this file for a leak.
RANDOM = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7b"
PEM_BODY = "\n".join([RANDOM + RANDOM[:24]] * 3)
PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\nQUJD==\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "openai": "sk-" + RANDOM,
    "openai project": "sk-proj-" + RANDOM + "_-" + RANDOM,
    "anthropic": "sk-ant-api03-" + RANDOM + "-" + RANDOM + "AA",
    "openrouter": "sk-or-v1-" + "0123456789abcdef" * 4,
    "github": "ghp_" + RANDOM[:36],
    "github app": "ghs_" + RANDOM[:36],
    "github fine-grained": "github_pat_" + RANDOM[:22] + "_" + RANDOM,
    "gitlab": "glpat-" + RANDOM[:20],
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws session": "ASIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + RANDOM[:35],
    "slack": "xoxb-" + "123456789012-123456789012-" + RANDOM[:24],
    "hugging face": "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "stripe": "sk_live_" + RANDOM[:24],
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + "." + RANDOM,
    "unsigned jwt": "eyJhbGciOiJub25lIn0" + ".eyJzdWIiOiIxMjM0In0" + ".",
    "rightcall's gateway": "rc-" + "0a1b2c3d" + "-" + RANDOM + "_-7",
    "vault service": "hvs." + "CAESI" + RANDOM + RANDOM,
    "vault root": "hvs." + "6j4cuewowBGit65rheNoceI7",
    "vault batch": "hvb." + "AAAAAQ" + (RANDOM + "_-") * 4,
    "vault recovery": "hvr." + RANDOM,
    "old vault": "s." + "2aB3dE5fG7hI9jK1lM3nO5pQ",
    "old vault batch": "b.AAAAAQ" + RANDOM * 3,
    "databricks": "dapi" + "0123456789abcdef" * 2,
    "databricks refreshed": "dapi" + "fedcba9876543210" * 2 + "-2",
    "databricks oauth": "dose" + "0123456789abcdef" * 2,
    "linear": "lin_api_" + RANDOM,
    "linear oauth": "lin_oauth_" + "0123456789abcdef" * 4,
    "discord": "MTIzNDU2Nzg5MDEyMzQ1Njc4." + "GaBcDe." + RANDOM[:38],
    "old discord": "MjQ1NTU5MDg3NTI0MjE2ODMy" + ".DulyxA." + RANDOM[:27],
    "discord of 17 digits": "ODA0NTU5MDg3NTI0MjE2ODM" + ".YPqU6Q." + RANDOM[:27],
    "discord of 19 digits": "MTAwMjAwMzAwNDAwNTAwNjAwNw" + ".G5Nast." + RANDOM[:38],
    "discord of 20 digits": "MTAwMjAwMzAwNDAwNTAwNjAwNzg" + ".G5Nast." + RANDOM[:38],
    "discord user": "mfa." + RANDOM + RANDOM + "_-abcd"[: 84 - 2 * len(RANDOM)],
    "telegram": "123456789:" + "AA" + RANDOM[:33],
    "telegram of ten digits": "7123456789:" + "AAH" + RANDOM[:30] + "_-",
    "age": "AGE-SECRET-KEY-" + "1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "age, hybrid": "AGE-SECRET-KEY-PQ-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2,
    "twilio": "SK" + "0123456789abcdef" * 2,
    "private key": PRIVATE_KEY,
    "openssh key": PRIVATE_KEY.replace("RSA", "OPENSSH"),
    "plain private key": PRIVATE_KEY.replace("RSA ", ""),
}

PARTLY = [
    ("Authorization: Bearer abc.def-123_456~789+/==", f"Authorization: Bearer {MARK}"),
    ("curl -H 'authorization: bearer 0123456789abcdef' x", f"curl -H 'authorization: bearer {MARK}' x"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==, ok", f"Authorization: Basic {MARK}, ok"),
    ("postgres://app:hunter2@db:5432/main?x=1", f"postgres://app:{MARK}@db:5432/main?x=1"),
    ("see https://me:p%40ss:w0rd@host/a@b.", f"see https://me:{MARK}@host/a@b."),
    (
        f"GET https://api.telegram.org/bot{SECRETS['telegram']}/getMe",
        f"GET https://api.telegram.org/bot{MARK}/getMe",
    ),
    (f"bot:{SECRETS['telegram']}", f"bot:{MARK}"),
    (rf"a line\n{SECRETS['telegram']}\n", rf"a line\n{MARK}\n"),
    (
        f"POST https://discord.com/api/v10/webhooks/123456789012345678/{RANDOM}{RANDOM}?wait=true",
        f"POST https://discord.com/api/v10/webhooks/123456789012345678/{MARK}?wait=true",
    ),
    (
        f"curl -u AC{'0123456789abcdef' * 2}:{'fedcba9876543210' * 2} x",
        f"curl -u AC{'0123456789abcdef' * 2}:{MARK} x",
    ),
    (f"the token is {SECRETS['old vault']}.", f"the token is {MARK}."),
    (f"{SECRETS['old vault']}\n", f"{MARK}\n"),
    # Nothing shorter can hold a secret.
    ("://:x@", f"://:{MARK}@"),
    ('{"a":"://:x@"}', f'{{"a":"://:{MARK}@"}}'),
    ("redis://:hunter2@cache/0", f"redis://:{MARK}@cache/0"),
    (f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\nQUJ", MARK),
    (
        'log: {"password": "hunter2", "user": "ann"} done',
        'log: {"password": "[redacted]", "user": "ann"} done',
    ),
    ('say "token" : "abc" twice', f'say "token" : "{MARK}" twice'),
    (
        r'data: {"json": "{\"api_key\": \"a\\\"b\", \"n\": 1}"}',
        rf'data: {{"json": "{{\"api_key\": \"{MARK}\", \"n\": 1}}"}}',
    ),
    (r'it was "secret": "a\"b\\", "x": "y"', f'it was "secret": "{MARK}", "x": "y"'),
    ('cut: {"password": "hunt', f'cut: {{"password": "{MARK}'),
    ('one "secret": "abc\nnext line', f'one "secret": "{MARK}\nnext line'),
]

HARMLESS = [
    "550e8400-e29b-41d4-a716-446655440000",
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 fixes it",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "the word token, a secret, my password and an API key",
    "token: the smallest unit. Secret: unknown. password = forgotten",
    '{"max_tokens": 1024, "input_tokens": 12, "output_tokens": 7, "tokens": ["a", "b"]}',
    '{"token_count": "12", "secret_santa": "Ann", "password_hint": "dog", "keyboard": "qwerty"}',
    '{"next_page_token": "CAUQAA", "nextPageToken": "x", "eos_token": "</s>", "sync-token": "y"}',
    '{"token": 42, "token": null, "cookies": 3, "password": true, "secret": "", "api_key": null}',
    '{"key": "value", "primary_key": "id", "foreign_key": "x", "monkey": "see", "public_key": "y"}',
    '{"properties": {"password": {"type": "string"}, "token": {"type": "string", "default": "x"}}}',
    '{"$defs": {"secret": {"enum": ["a"]}}, "dependentRequired": {"password": ["user"]}}',
    "task-management-for-everyone-2024 and risk-0123456789abcdef0123",
    "sk-learn-contrib-estimators-v2 sk-SK sk-short1",
    "disk-0123456789abcdef0123456789, ask-aB3dE5fG7hI9jK1lM3nO5pQ7",
    "xox is no word; AKIA is a prefix; AIza too; eyJ starts one; ghp_ as well; hf_model",
    "the bearer of bad news, Bearer authentication, bearer token",
    "https://example.com:8080/a@b http://[::1]:80/x@y mailto:a@b.c ftp://user@host/",
    "ratio 3://4 at 12:30@noon",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "A key file begins with -----BEGIN PRIVATE KEY----- and base64 follows.",
    "https://discord.com/api/webhooks/123456789012345678 and /webhooks/orders/created; 12:AA; dose of 5",
    "rc-0a1b2c3d is an id; rc-2026 v1.0rc-1",
    "arc-01234567-0123456789abcdef0123456789abcdef0123456789a",
    "hvs.short hvs.a_long_attribute_of_some_object s.attribute s.thatHasManyManyLetters(x)",
    "values.aB3dE5fG7hI9jK1lM3nO5pQ7 is.aB3dE5fG7hI9jK1lM3nO5pQ7 obj.s.aB3dE5fG7hI9jK1lM3nO5pQ7",
    "s.join2Parts s.getABCDEFGHIJKLMNOPQRSTUV s.aB3dE5fG7hI9jK1lM3nO5pQ.method",
    "dapi is a word; dapid0123456789abcdef0123456789abcdef dapi0123",
    "xdapi0123456789abcdef0123456789abcdef",
    "lin_api_key lin_api_version_2_of_the_interface linear_api_0123456789",
    "age-secret-key-1abc AGE-SECRET-KEY-1 AGE-PUBLIC-KEY",
    "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
    "MTIzNDU2Nzg5MDEyMzQ1Njc4 alone, MTIzNDU2Nzg5MDEyMzQ1Njc4.short.sig",
    "IMPORTANT NOTES. MTA.NTA.ODT",
    "at 12:30:AA, 12345678:BB" + "x" * 33 + " 1234:AA" + "x" * 33 + " id:123456789:AA-short",
    "SK0123456789abcdef SK-0123 DISK0123456789abcdef0123456789abcdef SK" + "0123456789ABCDEF" * 2,
    "the account AC" + "0123456789abcdef" * 2 + " of d41d8cd98f00b204e9800998ecf8427e",
    "1234567890 3.14159 +1 (555) 010-9999 2026-11-15T04:00:00Z 192.168.0.1",
    'he said "hello": "world"',
    '["unclosed',
    '{"a": "\\ud83d"}',
    '[INFO] 5" disk',
    "",
    " ",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "around",
    ["{}", "key={} and more", "'{}'", "\t{}\n", "({}).", "a:\n{}", '["x", "{}"]'],
)
def test_a_secret_is_known_by_its_form_in_any_text(secret, around):
    if around.startswith("["):
        secret = json.dumps(secret)[1:-1]
    assert redact_text(around.replace("{}", secret)) == around.replace("{}", MARK)


@pytest.mark.parametrize(("text", "expected"), PARTLY)
def test_what_stands_around_a_secret_stays(text, expected):
    assert redact_text(text) == expected
    assert redact_text(expected) == expected


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text):
    assert redact_text(text) == text
    assert redact_secrets({"text": text, "list": [text]}) == {"text": text, "list": [text]}


@pytest.mark.parametrize(
    ("names", "secrecy"),
    [
        ("password Password PASSWORD db_password dbPassword new-password password2 passwd", "all"),
        ("secret client_secret clientSecret CLIENT-SECRET secrets passphrase passcode", "all"),
        ("api_key apiKey API_KEY apikey x-api-key X-Api-Key openai_api_key api_keys", "text"),
        ("token access_token accessToken refresh-token id_token csrfToken AUTH_TOKEN", "text"),
        ("authorization Authorization Proxy-Authorization cookie Set-Cookie cookies", "text"),
        ("aws_secret_access_key private_key privateKey credentials signing-key", "text"),
        ("tokens max_tokens maxTokens input_tokens token_count token_type tokenizer", "open"),
        ("page_token nextPageToken next_token continuationToken eos_token pad_token", "open"),
        ("key keys public_key primary_key author authority pass compass secretary cookiecutter", "open"),
    ],
)
def test_a_name_says_how_secret_its_value_is(names, secrecy):
    assert {name: secrecy_of(name) for name in names.split()} == dict.fromkeys(names.split(), secrecy)


def test_members_are_redacted_in_values():
    assert redact_secrets(
        {
            "user": "ann",
            "password": "hunter2",
            "pin": {"passcode": 1234, "token": 7, "secret": None, "client_secret": ""},
            "headers": {"Authorization": "Basic x", "Set-Cookie": ["a=1", "b=2"], "Accept": "*/*"},
            "credentials": {"user": "ann", "keys": ["a", {"b": "c", "expires": 12}]},
            "list": ({"api_key": "x"}, "y"),
            "data": b"\xff\x00",
        }
    ) == {
        "user": "ann",
        "password": MARK,
        "pin": {"passcode": MARK, "token": 7, "secret": None, "client_secret": ""},
        "headers": {"Authorization": MARK, "Set-Cookie": [MARK, MARK], "Accept": "*/*"},
        "credentials": {"user": MARK, "keys": [MARK, {"b": MARK, "expires": 12}]},
        "list": [{"api_key": MARK}, "y"],
        "data": b"\xff\x00",
    }


def test_the_value_that_was_given_is_not_changed():
    value = {"password": "x", "list": [{"token": "y"}]}
    redact_secrets(value)
    assert value == {"password": "x", "list": [{"token": "y"}]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"password":"hunter2","n":1.10}', '{"password":"[redacted]","n":1.10}'),
        (
            '{ "a" : [1e5, "é\\n"],\n "token" : "x" }',
            '{ "a" : [1e5, "é\\n"],\n "token" : "[redacted]" }',
        ),
        ('{"password": 123456, "token": 5}', '{"password": "[redacted]", "token": 5}'),
        ('{"password": -1.5e3\n}', '{"password": "[redacted]"\n}'),
        (
            '{"passwords": ["a", 1, true, null, {"b": "c"}], "d": "e"}',
            '{"passwords": ["[redacted]", "[redacted]", true, null, {"b": "[redacted]"}], "d": "e"}',
        ),
        ('{"pass\\u0077ord": "x"}', '{"pass\\u0077ord": "[redacted]"}'),
        (
            '{"body": "{\\"token\\": \\"x\\", \\"n\\": 1}"}',
            '{"body": "{\\"token\\": \\"[redacted]\\", \\"n\\": 1}"}',
        ),
        (
            '{"properties": {"password": "x", "token": {"a": "b"}}}',
            '{"properties": {"password": "[redacted]", "token": {"a": "b"}}}',
        ),
        ('{"password": "a", "password": "b"}', '{"password": "[redacted]", "password": "[redacted]"}'),
        ('{"password": "a\\"b", "x": "y"}', '{"password": "[redacted]", "x": "y"}'),
        ('{"a": 1, "password": "hun', '{"a": 1, "password": "[redacted]'),
        ('{"a": 1, "password": "hun\\', '{"a": 1, "password": "[redacted]'),
        ('{"body": "{\\"password\\": \\"hun', '{"body": "{\\"password\\": \\"[redacted]'),
        ('[INFO] 5" disk {"password": "x"}', '[INFO] 5" disk {"password": "[redacted]"}'),
    ],
)
def test_members_are_redacted_in_json_text_and_the_rest_of_it_is_kept(text, expected):
    assert redact_text(text) == expected
    assert redact_secrets(text) == expected


def test_keys_are_never_touched():
    key = SECRETS["openai"]
    value = {key: 1, "text": json.dumps({key: {"x": "y"}, "a": key}), "password": {key: "x"}}
    assert redact_secrets(value) == {
        key: 1,
        "text": json.dumps({key: {"x": "y"}, "a": MARK}),
        "password": {key: MARK},
    }


def test_a_secret_in_json_text_is_found_behind_an_escape():
    text = json.dumps({"output": f"line\n{SECRETS['openai']}\tend", "é": "ü", "key": PRIVATE_KEY})
    assert json.loads(redact_text(text)) == {"output": f"line\n{MARK}\tend", "é": "ü", "key": MARK}


def test_bytes_that_are_text_are_redacted_and_others_kept():
    picture = b"\x89PNG\r\n" + SECRETS["aws"].encode()
    assert redact_secrets([f"data: {SECRETS['aws']}\n".encode(), picture]) == [
        f"data: {MARK}\n".encode(),
        picture,
    ]


def test_nesting_has_no_bottom():
    value, expected = "sk-" + RANDOM, MARK
    for _ in range(5_000):
        value, expected = [value], [expected]
    found = redact_secrets(value)
    while isinstance(found, list):
        assert len(found) == 1
        found = found[0]
    assert found == MARK
    text = '{"a":' * 5_000 + '{"password":"x"}' + "}" * 5_000
    assert redact_text(text) == text.replace('"x"', f'"{MARK}"')


def test_a_strange_text_costs_no_more_than_its_length():
    # Each of these would take minutes if any pattern went back over what it has read.
    for text in [
        '"' + "\\" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 10_000,
        "://a:" * 50_000,
        "eyJaaaaaaaa." * 20_000,
        "sk-" * 50_000,
        'x "secret": ' + '\\"token\\": \\"' * 20_000,
        "[" * 100_000 + '"token":',
    ]:
        redact_text(text)


def test_a_call_in_an_entry_keeps_its_form():
    arguments = '{"url": "https://x", "headers": {"Authorization": "Bearer abc"}, "n": 1}'
    entry = ReplyReceived(
        key="t1.model",
        reply=Reply(
            (Text("Your key is " + SECRETS["github"]), Call(id="c1", name="get", arguments=arguments))
        ),
        seconds=0.5,
        raw=b'{"password": "x"}',
    )
    assert written(entry) == ReplyReceived(
        key="t1.model",
        reply=Reply(
            (
                Text(f"Your key is {MARK}"),
                Call(id="c1", name="get", arguments=arguments.replace("Bearer abc", MARK)),
            )
        ),
        seconds=0.5,
        raw=b'{"password": "[redacted]"}',
    )


def test_what_a_repair_changed_goes_by_its_path():
    secret = Repair(path="$.login.password", before=1234, after="1234")
    other = Repair(path="$.days", before="3", after=3)
    assert written(CallChecked(key="t1.0.x", call_id="c", repairs=(secret, other))) == CallChecked(
        key="t1.0.x",
        call_id="c",
        repairs=(Repair(path="$.login.password", before=MARK, after=MARK), other),
    )


def test_a_call_id_that_looks_like_a_name_of_a_secret_harms_no_decision():
    decisions = {"my_token": Allow(), "password": Deny("no"), "c3": Rewrite({"secret": "x", "n": 1})}
    assert written(RunResumed(decisions=decisions)) == RunResumed(
        decisions={**decisions, "c3": Rewrite({"secret": MARK, "n": 1})}
    )


def test_media_whose_base64_looks_like_a_key_is_kept():
    data = b64decode(SECRETS["aws"])
    entry = ReplyReceived(key="k", reply=Reply((Media(data),)), seconds=0.0, raw=data)
    assert written(entry) == entry


def test_no_field_of_an_entry_is_named_like_a_secret():
    # A field that were would be blotted out whatever it holds, and the entry could not be read.
    todo, seen = [msgspec.inspect.type_info(Entry)], set()
    while todo:
        kind = todo.pop()
        match kind:
            case msgspec.inspect.StructType(fields=fields):
                if kind.cls not in seen:
                    seen.add(kind.cls)
                    assert {field.name: secrecy_of(field.name) for field in fields} == {
                        field.name: "open" for field in fields
                    }
                    todo += [field.type for field in fields]
            case msgspec.inspect.UnionType(types=types):
                todo += types
            case msgspec.inspect.VarTupleType(item_type=item):
                todo.append(item)
            case msgspec.inspect.DictType(value_type=value):
                todo.append(value)
    assert set(get_args(Entry)) <= seen


fragments = st.sampled_from(
    [
        *SECRETS.values(),
        *(text for text, _ in PARTLY),
        *HARMLESS,
        "password",
        '"',
        "\\",
        "{",
        "}",
        "\ud800",
    ]
)
texts = st.lists(fragments | st.text(max_size=5), max_size=4).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["password", "token", "type", "properties", "a"]) | texts, inner, max_size=3
        )
    ),
    max_leaves=8,
)


def shape(value):
    """A value with every scalar taken out that redaction may change."""
    match value:
        case dict():
            return {name: shape(child) for name, child in value.items()}
        case list():
            return [shape(child) for child in value]
        case str() | int() | float() if not isinstance(value, bool):
            return "scalar"
        case _:
            return value


@given(values)
def test_only_scalars_change_in_any_value(value):
    assert shape(redact_secrets(value)) == shape(value)


@given(values, st.booleans(), st.sampled_from([None, 2]))
@example({'cut: {"password": "hunt\ud800\\': None, f"sk-{RANDOM}\ud800": None}, False, None)
def test_a_json_text_stays_one_of_the_same_shape(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert shape(json.loads(redact_text(text))) == shape(json.loads(text))


@given(texts, values)
def test_an_entry_can_always_be_read_back(text, value):
    for entry in (
        StepDone(key=text, value=text),
        CallDecided(key="k", call_id=text, decision=Rewrite({"arguments": value}), by="policy"),
        ReplyReceived(
            key="k",
            reply=Reply((Call(id=text, name=text, arguments=text, vendor={"x": value}),)),
            seconds=1.0,
            raw=text.encode(errors="replace"),
        ),
    ):
        assert type(written(entry)) is type(entry)


@pytest.mark.parametrize("entry", EVERY_ENTRY, ids=lambda entry: type(entry).__name__)
def test_an_entry_without_secrets_is_written_as_it_is(entry):
    assert written(entry) == entry


def written(entry):
    return decode(encode(entry, redact_secrets, "here"), "here")


PIECES = [
    *("pass_word", "PassWord", "api_key", "apikey", "key", "token", "tokens", "tok_en", "secret"),
    *(
        "sk-",
        "ghp_",
        "Authorization:",
        "://u:p@h",
        "\\u0061pi_key",
        "api\\nkey",
        "\u212aey",
        "auth\\tkey",
    ),
    *(
        "account",
        "cookie",
        "input_tokens",
        "hello",
        "x=1",
        "\\t",
        "\\token",
        "{",
        "}",
        '"',
        ":",
        ",",
        "7",
    ),
]


def _anything(random: Random, depth: int = 0) -> object:
    text = random.choice(("", "-", " ", "_", "\n")).join(random.choices(PIECES, k=random.randint(1, 3)))
    match random.randrange(6) if depth < 3 else 5:
        case 0:
            return {text: _anything(random, depth + 1), "id": 1}
        case 1:
            return [_anything(random, depth + 1), text]
        case 2:
            return json.dumps({text: text})
        case 3:
            return text.encode()
        case 4:
            return "long " * 60 + text
        case _:
            return text


def test_where_nothing_can_be_secret_nothing_is_redacted():
    random, clean = Random(11), 0
    for _ in range(4000):
        value = _anything(random)
        if not may_be_secret(msgspec.msgpack.encode(value)):
            clean += 1
            assert redact_secrets(value) == value
    assert clean > 400


@pytest.mark.parametrize("name", ["key", "input_tokens", "max_tokens", "monkey", "tokens"])
def test_our_own_names_are_no_reason_to_look_for_secrets(name):
    assert not may_be_secret(msgspec.msgpack.encode({name: "t1.model"}))


@pytest.mark.parametrize("hint", sorted(_PACKED_HINTS + _PACKED_NAMES))
@pytest.mark.parametrize("around", [0, 300], ids=["short", "long"])
def test_every_hint_of_a_secret_is_seen_wherever_it_stands(hint, around):
    for before, after in ((b"", b""), (b"so ", b""), (b"", b" on"), (b"ask-", b"_x")):
        assert may_be_secret(before + hint + after + b" " * around)
    # All but its last letter says nothing, unless another hint is in it.
    plain = hint[:-1].replace(b"-", b"")
    others = [each for each in _PACKED_HINTS + _PACKED_NAMES if each in hint[:-1] or each in plain]
    assert may_be_secret(hint[:-1] + b" " * around) == bool(others)
