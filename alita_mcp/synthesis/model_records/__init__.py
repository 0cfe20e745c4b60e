"""Records of models: results of calibration and use, by model."""
