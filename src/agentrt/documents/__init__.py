"""Documents as text: PDF, office files, books, tables, notebooks, e-mail, archives and images.

`running` reads a document in a process of its own, `worker`, which has no network and opens only files of Python and
its libraries. The other modules except `rendering` run in that process. A heavy library is imported by the one module
that uses it, when a document needs it.
"""
