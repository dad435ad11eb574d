"""What flags are called elsewhere: in the paper, in other libraries."""

import difflib

from absl import flags

# Another name -> flag. Those of settings join them where their flags are defined.
SYNONYMS = {
    "backbone": "encoder",
    "arch": "encoder",
    "data": "dataset",
    "iterations": "episodes",
    "num_episodes": "episodes",
    "logdir": "workdir",
    "model_dir": "workdir",
    "config": "flagfile",
}
EXPLAINED = {
    "epochs": "training counts episodes, not passes over the data; give --episodes=N",
    "gpu": "TensorFlow takes the GPU that it finds; CUDA_VISIBLE_DEVICES chooses one",
}


def meant(name: str) -> str | None:
    """Returns which flag is meant by a name that is none, as a sentence; or None."""
    name = name.replace("-", "_")
    if name in EXPLAINED:
        return f"there is no --{name}: {EXPLAINED[name]}"
    flag = name if name in flags.FLAGS else SYNONYMS.get(name)
    if flag is None or flag not in flags.FLAGS:
        return None
    return f"there is no flag of this name: --{name} is called --{flag} here"


def unknown(name: str) -> str:
    """Returns what to say of a name that is no flag: what is meant, or what is near."""
    listed = flags.FLAGS.get_key_flags_for_module("__main__")  # as --help does
    near = difflib.get_close_matches(name, [flag.name for flag in listed], n=1)
    hint = f"; did you mean --{near[0]}?" if near else ""
    return meant(name) or f"unknown flag --{name}{hint}"
