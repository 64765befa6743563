"""Files of pixels: their headers, and which of them make a tile."""
