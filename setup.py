"""Installs prwn_tf: pure Python, lower bounds only (BUILD.md names what was tested)."""

import pathlib
import re
import runpy

import setuptools
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$', (HERE / "prwn_tf/__init__.py").read_text(), re.MULTILINE
)
RELEASED = runpy.run_path(str(HERE / "prwn_tf/released.py"))
LITERT = ["ai-edge-litert>=2.0"]
ONNX = ["onnx>=1.17", "onnxruntime>=1.20", "tf2onnx>=1.17"]
FIGURES = ["matplotlib>=3.8", "scipy>=1.11"]


class BuildWithReleased(build_py):
    """Builds the package with the flagfiles and models that are released with it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:  # in a checkout they are found where they are
            for path in RELEASED["files"](HERE):
                self.copy_file(str(path), str(self._place(path)))

    def _place(self, path: pathlib.Path) -> pathlib.Path:
        """Returns where a released file goes, in a folder that is made for it."""
        package = pathlib.Path(self.build_lib) / "prwn_tf" / RELEASED["INSTALLED"]
        place = package / path.relative_to(HERE)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def get_source_files(self) -> list[str]:
        """Returns what an archive of sources must have for all this."""
        released = [str(path.relative_to(HERE)) for path in RELEASED["files"](HERE)]
        return super().get_source_files() + released


setuptools.setup(
    name="prwn_tf",
    version=VERSION.group(1),
    license="Apache-2.0",
    description="Semi-supervised few-shot image classification in TensorFlow",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=setuptools.find_packages(include=["prwn_tf", "prwn_tf.*"]),
    package_data={
        "prwn_tf": ["backbones.csv"],
        "prwn_tf.data.sets": ["splits/*.csv"],
        "prwn_tf.serving.gallery": ["*.css", "*.js"],
    },
    cmdclass={"build_py": BuildWithReleased},
    entry_points={"console_scripts": ["prwn = prwn_tf.__main__:main"]},
    python_requires=">=3.11",
    install_requires=[
        "absl-py>=2.1",
        "importlib_resources>=6",
        "keras>=3.15",
        "numpy>=1.26",
        "scikit-learn>=1.4",
        "tensorboard>=2.20",
        "tensorflow>=2.20",
        "tensorflow-datasets>=4.9.7",
        "tqdm>=4.66",
    ],
    extras_require={
        "figures": FIGURES,
        "litert": LITERT,
        "onnx": ONNX,
        "test": [
            *("pytest>=8", "pytest-xdist>=3.7", "ruff>=0.9", *FIGURES),
            *(*LITERT, *ONNX),
            *("ipykernel>=6", "nbclient>=0.8"),
        ],
    },
)
