"""Loops of Gram matrices."""
