"""Reports of an analysis: pages, tables, flash cards."""
