"""Jobs: runs whose results a store keeps, here or on a cluster."""
