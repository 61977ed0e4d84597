"""Admission by measured peaks."""
