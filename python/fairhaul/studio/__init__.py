"""The studio: the simulator in one HTML page, which needs no server and no network."""
