"""Models from the Hugging Face hub: found, fetched, checked, kept and removed.

`pull.pull` fetches, `library` finds, lists, checks and removes, `importing.import_model` takes
from the disk. A model in the cache is a folder that appears whole or not at all; what is not
finished stays in another folder until the next `pull`. Nothing but `pull` touches the network, and
nothing but it waits for the hub's client to be imported.
"""
