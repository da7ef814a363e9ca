"""Replies in which a model made something besides words, whole, by dialect."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"
WAV = b"RIFF\0\0\0\0WAVEnot much of a sound"


def base64(data: bytes) -> str:
    return b64encode(data).decode()


MADE: Mapping[str, tuple[Any, ...]] = {
    "openai_responses": (
        {
            "status": "completed",
            "output": [
                {
                    "type": "image_generation_call",
                    "id": "ig_1",
                    "status": "completed",
                    "result": base64(PNG),
                }
            ],
        },
    ),
    "openai_chat": (
        {
            "choices": [
                {
                    "message": {
                        "images": [
                            {
                                "type": "image_url",
                                "image_url": {"url": f"data:image/png;base64,{base64(PNG)}"},
                            }
                        ],
                        "audio": {"id": "audio_1", "data": base64(WAV), "transcript": "Hi"},
                    }
                }
            ]
        },
    ),
    "anthropic": (
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "bash_code_execution_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": {
                        "type": "bash_code_execution_result",
                        "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
                    },
                }
            ],
        },
    ),
    "gemini_interactions": (
        {
            "status": "completed",
            "steps": [
                {
                    "type": "model_output",
                    "content": [
                        {"type": "image", "mime_type": "image/png", "data": base64(PNG)},
                        {"type": "audio", "mime_type": "audio/wav", "data": base64(WAV)},
                    ],
                }
            ],
        },
    ),
    "gemini": (
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"inlineData": {"mimeType": "image/png", "data": base64(PNG)}},
                            {"inlineData": {"mimeType": "audio/wav", "data": base64(WAV)}},
                        ]
                    }
                }
            ]
        },
    ),
    "bedrock": (
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [
                        {"image": {"format": "png", "source": {"bytes": base64(PNG)}}},
                        {"audio": {"format": "wav", "source": {"bytes": base64(WAV)}}},
                    ],
                }
            },
            "stopReason": "end_turn",
        },
    ),
}
