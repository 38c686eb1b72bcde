"""Loops of learning."""
