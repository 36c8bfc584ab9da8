"""What proposes the settings of the next trial."""
