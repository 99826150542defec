"""Data, not code: recipes, presets, profiles."""
