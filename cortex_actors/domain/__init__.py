"""The nouns: frozen values that travel between actors; pure, they read no file and no clock."""
