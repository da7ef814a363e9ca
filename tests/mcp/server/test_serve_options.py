import pytest

from rightcall.errors import UsageError
from rightcall.mcp.server.serve_options import Bounds, Listen, OAuth
from rightcall.transport.route import is_loopback

TOKEN = "a-token-that-is-long-enough"
OAUTH = OAuth(issuer="https://auth.example.org", resource="https://tools.example.org/mcp")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "can be reached from other machines, so a token or oauth is needed"),
        ({"host": "192.0.2.1"}, "can be reached from other machines"),
        ({"host": "tools.example.org"}, "can be reached from other machines"),
        ({"host": "0.0.0.0", "token": TOKEN}, "say in hosts under which names it is reached"),
        ({"token": TOKEN, "oauth": OAUTH}, "either a token or oauth, not both"),
        ({"token": "short"}, "at least 16 characters"),
        ({"token": "has a space in the middle"}, "without spaces"),
        ({"token": "päßwörtêr-sind-öffentlich"}, "printable ASCII"),
        ({"path": "mcp"}, "path must begin with /"),
    ],
)
def test_what_is_not_safe_is_refused(options, words):
    with pytest.raises(UsageError, match=words):
        Listen(port=0, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"host": "localhost"},
        {"host": "::1"},
        {"host": "192.0.2.1", "token": TOKEN},
        {"host": "0.0.0.0", "token": TOKEN, "hosts": ("tools.example.org",)},
        {"host": "0.0.0.0", "oauth": OAUTH, "hosts": ("tools.example.org",)},
    ],
)
def test_what_is_safe_is_taken(options):
    assert Listen(port=0, **options).port == 0


def test_its_own_names_and_those_it_is_told_are_allowed_and_no_others():
    security = Listen(
        port=0,
        host="192.0.2.1",
        token=TOKEN,
        hosts=("tools.example.org",),
        origins=("https://app.example.org",),
    ).security
    assert security.enable_dns_rebinding_protection
    names = ["127.0.0.1", "localhost", "[::1]", "192.0.2.1", "tools.example.org"]
    assert security.allowed_hosts == [each for name in names for each in (name, f"{name}:*")]
    assert security.allowed_origins[-1] == "https://app.example.org"
    assert "https://tools.example.org" in security.allowed_origins


def test_an_address_of_every_interface_is_no_name():
    listen = Listen(port=0, host="0.0.0.0", token=TOKEN, hosts=("tools.example.org",))
    assert not any("0.0.0.0" in each for each in listen.security.allowed_hosts)


def test_the_token_is_not_shown():
    assert TOKEN not in repr(Listen(port=8000, token=TOKEN))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[(host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")],
        *[(host, False) for host in ("0.0.0.0", "example.org", "localhost.example.org", "10.0.0.1")],
    ],
)
def test_only_this_machine_is_loopback(host, expected):
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"issuer": "auth.example.org"}, "issuer must be an http or https address"),
        ({"issuer": "http://auth.example.org"}, "issuer must be an https address"),
        ({"resource": "ftp://tools.example.org"}, "resource must be an http or https address"),
    ],
)
def test_an_authorization_server_is_reached_over_https(changes, words):
    with pytest.raises(UsageError, match=words):
        OAuth(**{"issuer": OAUTH.issuer, "resource": OAUTH.resource, **changes})


@pytest.mark.parametrize("name", Bounds.__struct_fields__)
def test_every_bound_is_more_than_nothing(name):
    with pytest.raises(UsageError, match=f"bounds: {name} must be more than 0, not 0"):
        Bounds(**{name: 0})
