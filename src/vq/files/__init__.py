"""Files: read whole and unchanged without following a link, written whole or not at all."""
