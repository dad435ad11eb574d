"""Where the first weights of a run come from, if another run trained them."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Origin:
    """The finished run whose encoder a run begins with; all empty if there is none.

    Attributes:
        workdir: where it lay then. A run that has begun does not need it any more.
        checkpoint: which of its checkpoints, as a path in the workdir.
        sha256: of the file with the weights.
        temperature: what its squared distances had to be divided by for honest
            probabilities, with as many shots as the run that begins with it; 0 if that
            is not known.
        cautions: what a reader of the results should know, in words.
    """

    workdir: str = dataclasses.field(default="", metadata={"may_change": True})
    checkpoint: str = ""
    sha256: str = ""
    method: str = ""
    dataset: str = ""
    label_ratio: float = 1.0
    temperature: float = dataclasses.field(default=0.0, metadata={"may_change": True})
    cautions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sha256)

    @property
    def is_there(self) -> bool:
        """Whether the checkpoint is still where it lay."""
        return Path(self.workdir, f"{self.checkpoint}.index").exists()

    def __str__(self) -> str:
        labels = f"{100 * self.label_ratio:.3g} % of the labels of {self.dataset}"
        return f"{self.checkpoint} of {self.workdir} ({self.method}, {labels})"
