"""Reads the settings of the active profile from AWS's profile files, as AWS's own tools do.

``~/.aws/credentials`` has a section for each profile, ``~/.aws/config`` one called ``profile NAME``, and
``default`` in both. Errors never show a file's content.
"""

import os
from collections.abc import Mapping
from configparser import Error as BadFile
from configparser import RawConfigParser
from pathlib import Path

from rightcall.errors import UsageError
from rightcall.wire.bedrock.sigv4 import Credentials

_ELSEWHERE = {
    "credential_process": "runs a program for its credentials",
    "role_arn": "takes on a role",
    "sso_session": "signs in at a browser",
    "sso_start_url": "signs in at a browser",
    "web_identity_token_file": "takes on a role by a token",
    "login_session": "signs in at a browser",
}
"""Settings of profiles that contain no credentials but say how to get some."""


def profile_name() -> str:
    """The name of the active profile."""
    return os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"


def settings() -> Mapping[str, str]:
    """The profile's settings; the credentials file overrides the configuration."""
    name = profile_name()
    secrets = _section(_place("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name)
    section = "default" if name == "default" else f"profile {name}"
    configured = _section(_place("AWS_CONFIG_FILE", "config"), section)
    if not secrets and not configured and name != "default":
        raise UsageError(f"bedrock: there is no AWS profile {name!r}; AWS_PROFILE names it")
    return {**configured, **secrets}


def credentials() -> Credentials | None:
    """The profile's credentials; None if it has none. Raises UsageError if they are elsewhere."""
    found = settings()
    key, secret = found.get("aws_access_key_id", ""), found.get("aws_secret_access_key", "")
    if key and secret:
        token = found.get("aws_session_token", "")
        return Credentials(access_key_id=key, secret_access_key=secret, session_token=token)
    name = profile_name()
    if key or secret:
        raise UsageError(
            f"bedrock: the AWS profile {name!r} has half of its credentials; it needs "
            "aws_access_key_id and aws_secret_access_key"
        )
    for setting, does in _ELSEWHERE.items():
        if setting in found:
            raise UsageError(
                f"bedrock: the AWS profile {name!r} {does} ({setting}), which is not supported; set the "
                "variables that `aws configure export-credentials --format env` prints"
            )
    return None


def region() -> str:
    """The region, from the environment or the profile; empty if neither has one."""
    told = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return told or settings().get("region", "")


def _place(variable: str, name: str) -> Path:
    given = os.environ.get(variable)
    return Path(given).expanduser() if given else Path.home() / ".aws" / name


def _section(file: Path, name: str) -> dict[str, str]:
    # No section holds defaults for all: AWS has none, and "default" is a profile like any other.
    parser = RawConfigParser(default_section="\0", strict=False)
    try:
        parser.read_string(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"bedrock: {file} cannot be read: {error.strerror}") from None
    except (BadFile, UnicodeDecodeError):
        # The parser's errors quote the line, which may contain a secret.
        raise UsageError(f"bedrock: {file} is not a file of AWS profiles; fix it") from None
    return {key: value.strip() for key, value in parser.items(name)} if name in parser else {}
