"""Words and addresses as they are shown, and as file names."""
