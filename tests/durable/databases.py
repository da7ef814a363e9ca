"""Databases for the tests, by their address."""

from typing import Any

from sqlalchemy import create_engine


def engine_at(address: str) -> Any:
    """A SQLAlchemy engine for a database of either kind."""
    return create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
