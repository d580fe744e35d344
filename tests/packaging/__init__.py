"""What a person gets who installs artifactctl instead of running it from the checkout."""
