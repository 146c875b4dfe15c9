"""Move module-level definitions: rules and transformer."""
