from runtime.native import *  # noqa: F403
