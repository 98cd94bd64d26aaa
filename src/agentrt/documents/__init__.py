"""Documents as text: PDF, office files, books, tables, notebooks, e-mail, archives and images.

`running` reads one in a process of its own, `worker`, which has neither network nor files; the other modules are what
that process does. A heavy library is imported by the one module that uses it, when a document asks for it.
"""
