"""Transport stacks as flows: whether their runs repeat, and whether known faults are found."""
