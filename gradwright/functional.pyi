from runtime.operators.functional import *  # noqa: F403
