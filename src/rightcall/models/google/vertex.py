"""The URL of a model on Vertex AI: the endpoint by location, the path by project.

Google Cloud API keys work without a project ("express mode"), for Google's own models.
https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations
"""

import os
import re

from rightcall.errors import UsageError

_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GCLOUD_PROJECT")
_LOCATIONS = ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION", "GOOGLE_CLOUD_REGION")
_NAME = re.compile(r"[a-z0-9.:-]{1,100}")
_LOCATED = re.compile(r"projects/[^/]+/locations/([a-z0-9-]+)/")
_PUBLISHED = "publishers/google/models/"
_WHOLE = "projects/"
_WITHIN = ("publishers/", "endpoints/")


def location(model: str = "") -> str:
    """The location in a model's full path, or else the configured one; ``global`` by default."""
    told = _LOCATED.match(model)
    return told[1] if told else _set(_LOCATIONS) or "global"


def endpoint(where: str) -> str:
    """The host for a location: global, multi-region, or a region."""
    if where == "global":
        return "https://aiplatform.googleapis.com"
    if where in ("us", "eu"):
        return f"https://aiplatform.{where}.rep.googleapis.com"
    return f"https://{where}-aiplatform.googleapis.com"


def gemini_path(model: str, where: str, *, project: str | None) -> str:
    """The model's path in the URL; a project of None means express mode."""
    if model.startswith(_WHOLE):
        return model
    within = model if model.startswith(_WITHIN) else f"{_PUBLISHED}{model}"
    return within if project is None else f"projects/{project}/locations/{where}/{within}"


def claude_path(where: str, project: str) -> str:
    """The path after the endpoint, up to the model's name."""
    return f"/v1/projects/{project}/locations/{where}/publishers/anthropic/models"


def project_named(known: str, place: str, model: str = "") -> str:
    """The configured project, or else the credentials'; empty for a full path."""
    if model.startswith(_WHOLE):
        return ""
    found = _set(_PROJECTS) or known
    if not found:
        raise UsageError(f"{place}: no project; set GOOGLE_CLOUD_PROJECT")
    return found


def is_project_set() -> bool:
    """Whether the environment names a project, which takes precedence over its API key."""
    return bool(_set(_PROJECTS))


def _set(variables: tuple[str, ...]) -> str:
    for variable in variables:
        if found := os.environ.get(variable, "").strip():
            if not _NAME.fullmatch(found):
                raise UsageError(f"vertex: {variable} is {found!r}, which can be no part of an address")
            return found
    return ""
