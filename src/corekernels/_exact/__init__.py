"""Exact Gram matrices."""
