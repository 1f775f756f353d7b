"""The commands of the command line, one file each; a file is imported when its command is called."""

COMMANDS: dict[str, str] = {
    "train": 'train an agent, or continue a run ("udrl train TASK --help" shows every setting)',
    "evaluate": "command an agent and see what it obtains",
    "render": "command an agent and watch it: a video of an episode",
    "play": "command an agent on a page in the browser, and watch it obey",
    "demo": "the same with agents that come with udrl, before anything is trained",
    "sensitivity": "order a range of returns and see what each obtains",
    "report": "compare runs: curves, tables and command sensitivity on one page",
    "experiment": "carry out many runs, on this machine or a cluster",
    "search": "search for good hyper-parameters",
    "runs": "list runs and how far they are",
    "tasks": "list tasks",
}
"""What each does; the command NAME is the function `main` of `udrl.commands.NAME`."""
