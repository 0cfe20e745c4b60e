"""What comes back among programs that ran: which are alike, what differs, and the function they amount to."""
