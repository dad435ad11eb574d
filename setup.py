"""Installs prwn_tf: pure Python, lower bounds only (BUILD.md names what was tested)."""

import pathlib
import re

import setuptools

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$', (HERE / "prwn_tf/__init__.py").read_text(), re.MULTILINE
)
FIGURES = ["matplotlib>=3.8", "scipy>=1.11"]

setuptools.setup(
    name="prwn_tf",
    version=VERSION.group(1),
    license="Apache-2.0",
    description="Semi-supervised few-shot image classification in TensorFlow",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=setuptools.find_packages(include=["prwn_tf", "prwn_tf.*"]),
    package_data={"prwn_tf.serving.gallery": ["*.css", "*.js"]},
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
        "test": ["pytest>=8", "pytest-xdist>=3.7", "ruff>=0.9", *FIGURES],
    },
)
