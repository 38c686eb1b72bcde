"""The paper's experiments, rerun beside its own numbers: one module a table or figure."""

from .reproduction import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
