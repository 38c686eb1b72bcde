"""Loops of search."""
