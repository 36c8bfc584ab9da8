"""Training on machines that are rented for it: what is sent there, what keeps a run going, what comes back."""
