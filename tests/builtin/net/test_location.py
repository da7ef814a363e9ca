"""Addresses that a model gives, and whether they may be asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from rightcall.builtin.net.ssrf import WebGrant, follow, locate
from rightcall.errors import ToolFailure

ANY = WebGrant()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com", "https://example.com"),
        (" HTTPS://Example.COM/a#part ", "https://example.com/a"),
        ("example.com/page", "https://example.com/page"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("https://example.com./", "https://example.com./"),
        ("https://example.com/?q=a@b:c", "https://example.com/?q=a@b:c"),
    ],
)
def test_an_address_is_read(text, url):
    assert str(locate(text, ANY)) == str(URL(url))


ODD = "is an odd way to write an address; write it as a.b.c.d."
DISPUTED = "The URL holds a space, a backslash or a control character; encode it with %."
REFUSED = {
    "a file": ("file:///etc/passwd", "Only http:// and https:// can be fetched."),
    "a program": ("javascript:alert(1)", "Only http:// and https:// can be fetched."),
    "data": ("data:text/html,x", "Only http:// and https:// can be fetched."),
    "another protocol": ("gopher://example.com/", "Only http:// and https:// can be fetched."),
    "a path": ("/etc/passwd", "Only http:// and https:// can be fetched."),
    "no scheme but slashes": ("//example.com/", "Only http:// and https:// can be fetched."),
    "a password": (
        "https://user:secret@example.com/",
        "A URL with a user name or a password in it is not fetched; leave them out.",
    ),
    "a host for a name": (
        "https://example.com@127.0.0.1/",
        "A URL with a user name or a password in it is not fetched; leave them out.",
    ),
    "a whole number": ("http://2130706433/", f'"2130706433" {ODD}'),
    "octal": ("http://0177.0.0.1/", f'"0177.0.0.1" {ODD}'),
    "hexadecimal": ("http://0x7f.1/", f'"0x7f.1" {ODD}'),
    "too short": ("http://127.1/", f'"127.1" {ODD}'),
    "with a dot at the end": ("http://127.0.0.1./", f'"127.0.0.1." {ODD}'),
    "another port": ("http://example.com:22/", "Port 22 may not be reached; only 80, 443."),
    "a port that is none": ("http://example.com:99999/", '"http://example.com:99999/" is not a URL.'),
    "no host": ("http:///path", '"http:///path" is not a URL.'),
    "a bracket": ("http://[::1/", '"http://[::1/" is not a URL.'),
    "a space": (
        "http://exa mple.com/", DISPUTED
    ),
    "a backslash": (
        "http://example.com\\@127.0.0.1/",
        DISPUTED,
    ),
    "a line break": (
        "http://example.com/\r\nX: y",
        DISPUTED,
    ),
    "too long": ("https://a.org/" + "a" * 5000, "The URL has 5,014 characters; 4,096 is the most."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_address_of_the_web_is_refused_in_words(text, words):
    with pytest.raises(ToolFailure) as caught:
        locate(text, ANY)
    assert str(caught.value) == words


@given(st.text(max_size=60) | st.text(alphabet="htps:/.@[]%#?0123456789abx\\ \t-_", max_size=60))
def test_any_text_gives_a_url_of_the_web_or_words(text):
    try:
        url = locate(text, ANY)
    except ToolFailure as failure:
        url = failure
    assert isinstance(url, ToolFailure) or (
        url.scheme in {"http", "https"} and url.host and not url.user
    )


HOSTS = WebGrant(hosts=("example.com", "*.example.org", "bücher.example"))


@pytest.mark.parametrize(
    ("host", "granted"),
    [
        ("example.com", True),
        ("EXAMPLE.com.", True),
        ("www.example.com", False),
        ("www.example.org", True),
        ("a.b.example.org", True),
        ("example.org", False),
        ("notexample.org", False),
        ("example.com.evil.net", False),
        ("bücher.example", True),
        ("xn--bcher-kva.example", True),
    ],
)
def test_hosts_can_be_narrowed_down(host, granted):
    if granted:
        assert locate(f"https://{host}/", HOSTS).host
    else:
        with pytest.raises(ToolFailure, match="not among the hosts that may be reached: "):
            locate(f"https://{host}/", HOSTS)


def test_ports_can_be_opened():
    assert locate("http://example.com:8080/", WebGrant(ports=None)).port == 8080
    assert locate("http://example.com:8080/", WebGrant(ports=(8080,))).port == 8080


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("c?x=1", "https://example.com/a/c?x=1"),
        ("//other.example/", "https://other.example/"),
        ("https://other.example/#top", "https://other.example/"),
    ],
)
def test_a_redirect_is_followed_from_where_it_is(location, url):
    assert follow(URL("https://example.com/a/b"), location, ANY) == URL(url)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("http://example.com/", "redirects from https to http, which is not followed"),
        ("file:///etc/passwd", "Only http:// and https://"),
        ("https://a:b@example.com/", "user name or a password"),
        ("https://example.com:25/", "Port 25 may not be reached"),
        ("https://exam\udc80ple.com/", "redirects to something that is not a URL"),
        ("http://[oops/", "redirects to something that is not a URL"),
    ],
)
def test_a_redirect_is_checked_like_the_first(location, words):
    with pytest.raises(ToolFailure, match=words):
        follow(URL("https://example.com/a"), location, ANY)
