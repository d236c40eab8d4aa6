"""What `fairhaul-host` does for this package: hosts, ports in the kernel, transfers, metrics."""
