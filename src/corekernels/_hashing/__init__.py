"""From rows to signatures."""
