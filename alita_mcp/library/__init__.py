"""All tools on disk, their catalogue, their journal and the index to find them."""
