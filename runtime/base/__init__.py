"""What everything rests on: arrays, dtypes, Tensors, modes. It knows no graph and no operator."""
