"""The paper's experiments, rerun beside its own numbers: one module per table or figure."""
