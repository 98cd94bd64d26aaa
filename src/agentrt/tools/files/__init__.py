"""Tools that read and change files: a file editor, and the smaller tools that Gemini models know."""

from .edit import edit
from .file_editor import file_editor
from .git_diff import git_diff
from .list_directory import list_directory
from .planning_file_editor import planning_file_editor
from .read_file import read_file
from .write_file import write_file

__all__ = ["edit", "file_editor", "git_diff", "list_directory", "planning_file_editor", "read_file", "write_file"]
