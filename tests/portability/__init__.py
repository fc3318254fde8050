"""Other drivers and other environments, each in a process of its own."""
