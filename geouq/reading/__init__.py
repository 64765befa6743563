"""From files to windows of pixels that count."""
