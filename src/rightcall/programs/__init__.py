"""Programs in place of round trips: a model writes one that calls tools, and reads what it returns."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.programs.code_tool import code as code

lazily(__name__, {"code": "programs.code_tool"})
