"""What a program says it will need: receipts, verdicts and calibration. Values in, values out."""
