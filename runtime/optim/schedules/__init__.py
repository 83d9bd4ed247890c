"""What schedules of the learning rate are made of; `runtime.optim.lr_scheduler` has them all."""
