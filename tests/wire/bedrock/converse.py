"""The messages of Converse, as its reference has them and Amazon's SDK takes them: bytes are bytes.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html. Written down here, as
the SDK has no types of its own.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class _Union(_Strict):
    """One member of those that may be there."""

    @model_validator(mode="after")
    def _is_one(self) -> "_Union":
        assert len(self.model_fields_set) == 1, self.model_fields_set
        return self


class S3Location(_Strict):
    uri: Annotated[str, Field(pattern=r"^s3://")]
    bucket_owner: str | None = None


class Source(_Union):
    data: Annotated[bytes | None, Field(alias="bytes")] = None
    s3_location: S3Location | None = None


class Image(_Strict):
    format: Literal["png", "jpeg", "gif", "webp"]
    source: Source


class Document(_Strict):
    format: Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9\s()\[\]-]{1,200}$")]
    source: Source
    context: str | None = None
    citations: dict[str, bool] | None = None


class Video(_Strict):
    format: Literal["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"]
    source: Source


class Audio(_Strict):
    format: Literal["mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "m4a", "webm"]
    source: Source


class ToolUse(_Strict):
    tool_use_id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.:-]{1,64}$")]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    input: dict[str, Any]


class ResultBlock(_Union):
    json_: Annotated[Any, Field(alias="json")] = None
    text: str | None = None
    image: Image | None = None
    document: Document | None = None
    video: Video | None = None


class ToolResult(_Strict):
    tool_use_id: str
    content: list[ResultBlock]
    status: Literal["success", "error"] | None = None


class ReasoningText(_Strict):
    text: str
    signature: str | None = None


class Reasoning(_Union):
    reasoning_text: ReasoningText | None = None
    redacted_content: bytes | None = None


class CachePoint(_Strict):
    type: Literal["default"]


class Block(_Union):
    text: Annotated[str, Field(min_length=1)] | None = None
    image: Image | None = None
    document: Document | None = None
    video: Video | None = None
    audio: Audio | None = None
    tool_use: ToolUse | None = None
    tool_result: ToolResult | None = None
    reasoning_content: Reasoning | None = None
    cache_point: CachePoint | None = None


class Message(_Strict):
    role: Literal["user", "assistant"]
    content: list[Block]
