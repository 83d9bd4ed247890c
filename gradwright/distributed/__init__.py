"""Processes that work together, in PyTorch's names: what they send each other is carried by a backend, such as "mpi".

There is no backend here. The package gradwright-mpi has one, and `is_available()` says whether it is installed.
"""

from __future__ import annotations

from gradwright.absent import refusing
from gradwright.distributed.backends import Backend as Backend
from gradwright.distributed.backends import Pending as Pending
from gradwright.distributed.backends import ProcessGroup as ProcessGroup
from gradwright.distributed.backends import ReduceOp as ReduceOp
from gradwright.distributed.backends import is_available as is_available
from gradwright.distributed.backends import is_mpi_available as is_mpi_available
from gradwright.distributed.collectives import Work as Work
from gradwright.distributed.collectives import all_gather as all_gather
from gradwright.distributed.collectives import all_gather_into_tensor as all_gather_into_tensor
from gradwright.distributed.collectives import all_reduce as all_reduce
from gradwright.distributed.collectives import all_to_all as all_to_all
from gradwright.distributed.collectives import all_to_all_single as all_to_all_single
from gradwright.distributed.collectives import barrier as barrier
from gradwright.distributed.collectives import broadcast as broadcast
from gradwright.distributed.collectives import gather as gather
from gradwright.distributed.collectives import irecv as irecv
from gradwright.distributed.collectives import isend as isend
from gradwright.distributed.collectives import monitored_barrier as monitored_barrier
from gradwright.distributed.collectives import recv as recv
from gradwright.distributed.collectives import reduce as reduce
from gradwright.distributed.collectives import reduce_scatter as reduce_scatter
from gradwright.distributed.collectives import reduce_scatter_tensor as reduce_scatter_tensor
from gradwright.distributed.collectives import scatter as scatter
from gradwright.distributed.collectives import send as send
from gradwright.distributed.groups import GroupMember as GroupMember
from gradwright.distributed.groups import destroy_process_group as destroy_process_group
from gradwright.distributed.groups import get_backend as get_backend
from gradwright.distributed.groups import get_global_rank as get_global_rank
from gradwright.distributed.groups import get_group_rank as get_group_rank
from gradwright.distributed.groups import get_pg_count as get_pg_count
from gradwright.distributed.groups import get_process_group_ranks as get_process_group_ranks
from gradwright.distributed.groups import get_rank as get_rank
from gradwright.distributed.groups import get_world_size as get_world_size
from gradwright.distributed.groups import group as group
from gradwright.distributed.groups import init_process_group as init_process_group
from gradwright.distributed.groups import is_initialized as is_initialized
from gradwright.distributed.groups import new_group as new_group


def is_nccl_available() -> bool:
    """Whether there is a backend "nccl": no."""
    return False


is_gloo_available = is_torchelastic_launched = is_ucc_available = is_nccl_available

# What sends objects would pickle them.
_ABOUT_OBJECTS = ("all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list")
globals().update(
    refusing(_ABOUT_OBJECTS, __name__, NotImplementedError, "Objects are not sent between processes: send Tensors")
)
