"""Training on machines that are rented for it: what is sent, what keeps a run going, what comes back."""
