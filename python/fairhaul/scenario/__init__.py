"""Scenarios: how they are read, controllers of one's own, and the engines that run them."""
