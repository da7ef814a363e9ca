"""Signatures as AWS publishes them, and what of a request they cover."""

import pytest

from rightcall.core.message import user_text
from rightcall.core.request import PreparedRequest, Request
from rightcall.errors import UsageError
from rightcall.wire import bedrock
from rightcall.wire.bedrock.sigv4 import (
    AwsCredentials,
    canonical_request,
    credentials_in,
    region_in,
    sign,
    signing_key,
)

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
EXAMPLE = AwsCredentials(access_key_id="AKIDEXAMPLE", secret_access_key=SECRET)
AUGUST = 1440938160.0
"""20150830T123600Z, when all of AWS's test suite is signed."""
HOST = "https://example.amazonaws.com"

# The test suite that AWS publishes with its documentation of Signature Version 4.
PUBLISHED = {
    "get-vanilla": ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "post-vanilla": ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "get-vanilla-query-order-key-case": (
        "GET",
        "/?Param2=value2&Param1=value1",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-relative": (
        "GET",
        "/example/..",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    "get-slash": ("GET", "//", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
}


def prepared(
    method: str = "GET", url: str = f"{HOST}/", body: bytes = b"", **headers: str
) -> PreparedRequest:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return PreparedRequest(method=method, url=url, headers=named, body=body, time=AUGUST)


def test_the_signing_key_is_the_published_one():
    key = signing_key(SECRET, "20150830", "us-east-1", "iam")
    assert key.hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"


@pytest.mark.parametrize(("method", "target", "signature"), PUBLISHED.values(), ids=PUBLISHED)
def test_the_published_requests_have_their_signatures(method, target, signature):
    added = sign(prepared(method, HOST + target), EXAMPLE, "us-east-1", "service")
    assert added == {
        "host": "example.amazonaws.com",
        "x-amz-date": "20150830T123600Z",
        "authorization": "AWS4-HMAC-SHA256 "
        "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}",
    }


def test_a_path_that_is_written_with_percent_signs_has_them_written_again():
    model = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1.b2:0"
    path = bedrock.encode(Request(messages=(user_text("Hi"),)), model=model, stream=True).path
    assert path == (
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3A"
        "application-inference-profile%2Fa1.b2%3A0/converse-stream"
    )
    _, line, *_ = canonical_request(prepared("POST", HOST + path), {}).split("\n")
    assert line == path.replace("%", "%25")


def signature_of(
    request: PreparedRequest, credentials: AwsCredentials = EXAMPLE, region: str = "eu-west-1"
) -> str:
    return sign(request, credentials, region)["authorization"].rpartition("=")[2]


GOOD = prepared("POST", f"{HOST}/a?x=1", b"{}", x_team="blue", content_type="application/json")
CHANGED = {
    "method": prepared("PUT", f"{HOST}/a?x=1", b"{}", x_team="blue", content_type="application/json"),
    "path": prepared("POST", f"{HOST}/b?x=1", b"{}", x_team="blue", content_type="application/json"),
    "query": prepared("POST", f"{HOST}/a?x=2", b"{}", x_team="blue", content_type="application/json"),
    "host": prepared("POST", "https://h/a?x=1", b"{}", x_team="blue", content_type="application/json"),
    "header": prepared("POST", f"{HOST}/a?x=1", b"{}", x_team="red", content_type="application/json"),
    "body": prepared("POST", f"{HOST}/a?x=1", b"{ }", x_team="blue", content_type="application/json"),
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
def test_nothing_that_is_signed_can_be_changed(changed):
    assert signature_of(changed) != signature_of(GOOD)


def test_region_secret_and_time_are_signed_too():
    later = PreparedRequest(
        method=GOOD.method, url=GOOD.url, headers=GOOD.headers, body=GOOD.body, time=AUGUST + 1
    )
    other = AwsCredentials(access_key_id="AKIDEXAMPLE", secret_access_key="other")
    assert (
        len({
            signature_of(GOOD),
            signature_of(later),
            signature_of(GOOD, other),
            signature_of(GOOD, region="eu-west-2"),
        })
        == 4
    )  # fmt: skip


def test_what_others_rewrite_is_not_signed():
    given = {"User-Agent": "x", "Connection": "close", "Authorization": "old", "X-Team": "blue"}
    request = PreparedRequest(method="POST", url=HOST, headers=given, body=b"", time=AUGUST)
    assert (
        "SignedHeaders=host;x-amz-date;x-team," in sign(request, EXAMPLE, "eu-west-1")["authorization"]
    )


def test_a_session_token_is_sent_and_signed():
    passing = AwsCredentials(access_key_id="ASIA", secret_access_key=SECRET, session_token="tok/en=")
    added = sign(GOOD, passing, "eu-west-1")
    assert added["x-amz-security-token"] == "tok/en="
    assert ";x-amz-security-token;" in added["authorization"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://A.example:443/x", "a.example"),
        ("http://a.example:80", "a.example"),
        ("http://user:pass@127.0.0.1:8080/", "127.0.0.1:8080"),
        ("https://[::1]:8443/", "[::1]:8443"),
    ],
)
def test_the_host_that_is_signed_is_the_one_that_is_sent(url, host):
    assert sign(prepared(url=url), EXAMPLE, "eu-west-1")["host"] == host


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/x", "us-gov-west-1"),
        ("https://vpce-1a.bedrock-runtime.eu-central-1.vpce.amazonaws.com", "eu-central-1"),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
    ],
)
def test_the_region_stands_in_the_address(url, region):
    assert region_in(url) == region


def test_an_address_without_a_region_says_what_to_set():
    with pytest.raises(UsageError, match="set AWS_REGION"):
        region_in("http://localhost:8080/bedrock-runtime.us-east-1.")


def test_the_dialect_carries_a_key_and_signs_with_credentials():
    assert bedrock.authorize("ABSKabc") == {"authorization": "Bearer ABSKabc"}
    assert bedrock.authorize("bedrock-api-key-a:b") == {"authorization": "Bearer bedrock-api-key-a:b"}
    key = "AKIAIOSFODNN7EXAMPLE:secret:token:with:colons"
    assert credentials_in(key) == AwsCredentials(
        access_key_id="AKIAIOSFODNN7EXAMPLE",
        secret_access_key="secret",
        session_token="token:with:colons",
    )
    signs = bedrock.authorize(key)
    assert callable(signs)
    added = signs(prepared("POST", "https://bedrock-runtime.us-west-2.amazonaws.com/model/m/converse"))
    assert "/us-west-2/bedrock/aws4_request" in added["authorization"]


def test_credentials_are_not_shown():
    assert SECRET not in repr(EXAMPLE)
    assert "AKID" not in f"{EXAMPLE} {[EXAMPLE]}"
