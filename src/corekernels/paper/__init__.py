"""The paper's experiments, rerun beside its own numbers: one module a table or figure."""
