"""Opening libraries: built on the farm, kept in one file, verified to the bit."""
