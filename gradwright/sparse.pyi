from runtime.operators.sparse import *  # noqa: F403
