"""Pictures of what the other pure packages found: values in, pieces of an SVG document out. No clock, no file."""
