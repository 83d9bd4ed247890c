from runtime.sparse import *  # noqa: F403
