"""What runs leave for later ones: episodes, facts and recipes, without secrets, bounded, in LanceDB tables."""
