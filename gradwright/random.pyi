from runtime.random import *  # noqa: F403
