from runtime.functional import *  # noqa: F403
