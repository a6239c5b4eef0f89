#!/usr/bin/env python3
"""Says that there is nothing to encode: the weights are integers of the program, and are multiplied as they are."""

print("server_preprocess_model: nothing to encode, the weights are integers of the program")
