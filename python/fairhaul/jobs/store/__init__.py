"""The store of results: a directory that keeps what runs gave, and never loses a finished run.

A result is addressed by its content: by the scenario, the seed, the engine, the build of Fairhaul,
and what was computed from the record. A result that is in the store is not computed again, and one
of another build is never mistaken for one of this build.

| in the directory | contents |
|---|---|
| `store.json` | marks the directory as a store, with the number of its schema |
| `parts/*.parquet` | tables of results; the name of a part holds the SHA-256 of its content |
| `journals/*.jsonl` | the results of the processes that are writing, a line for each |

Several processes may write at the same time. Each appends to a journal of its own, which becomes
parts when the process closes the store, or when another one opens it after the process was killed.
"""

from fairhaul.jobs.store.identity import build_of as build_of
from fairhaul.jobs.store.identity import digest_of as digest_of
from fairhaul.jobs.store.identity import engine_build as engine_build
from fairhaul.jobs.store.identity import engine_of as engine_of
from fairhaul.jobs.store.identity import key_of as key_of
from fairhaul.jobs.store.job import Job as Job
from fairhaul.jobs.store.job import jobs_of as jobs_of
from fairhaul.jobs.store.rows import Result as Result
from fairhaul.jobs.store.store import Store as Store
from fairhaul.jobs.store.store import StoreError as StoreError
from fairhaul.jobs.store.store import Writer as Writer
from fairhaul.jobs.store.store import is_store as is_store
