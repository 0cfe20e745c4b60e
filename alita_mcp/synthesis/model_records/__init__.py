"""Records of models: results of calibration and of use, kept by model."""
