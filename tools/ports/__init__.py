"""Whether the eBPF ports do in Linux's kernel what they do in the interpreter, call by call."""
