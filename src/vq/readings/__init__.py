"""What the kernel says, as values: control groups, processes, memory and pressure. Standard library alone, Linux."""
