"""Windows to summaries: tiles, pieces, groups and zones, added up by many workers."""
