"""The integer arithmetic of the eBPF ports, compared with exact arithmetic."""
