"""Vector operations."""
