"""Bytes over HTTP."""
