"""What schedules of the learning rate are made of; `gradwright.optim.lr_scheduler` has them all."""
