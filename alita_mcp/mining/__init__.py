"""Mining of programs that ran: finds like ones and the function that they amount to."""
