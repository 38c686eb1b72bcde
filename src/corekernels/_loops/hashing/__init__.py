"""Loops of hashing."""
