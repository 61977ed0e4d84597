"""The configuration: flag > environment > file > default, resolved once into a frozen value that knows its origins.

A key that is not known, a value of the wrong unit and one that cannot be are errors that name the line of the file.
"""
