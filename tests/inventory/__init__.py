"""Taking stock of real trees, with a real catalog."""
