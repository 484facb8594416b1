"""What is known, written for others: agents' files, in lines that are data, and pictures; pure."""
