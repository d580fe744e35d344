"""Training on what `extract` made. Hidden states come as a Dataset of torch; the training itself is a later release."""
