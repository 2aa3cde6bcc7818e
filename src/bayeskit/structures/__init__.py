"""How columns hang together given the class."""
