"""The orders that two publications found, in the simulator: docs/orders.md has the tables."""
