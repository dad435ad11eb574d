"""A trained network for phones and other runtimes: LiteRT and ONNX files.

They hold the network alone: images of its size, a fixed number of them, become
embeddings. Decoding and classes stay with the program around it. Every file is run and
compared with the model before it is kept.
"""

import importlib
import logging
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from prwn_tf import files
from prwn_tf.errors import UserError
from prwn_tf.serving import folders, inputs
from prwn_tf.serving.models import ServedModel
from prwn_tf.serving.quantized import Comparison

# [B, size, size, channels] of float32, 0 to 255 -> [B, D].
Network = Callable[[np.ndarray], np.ndarray]
TOLERANCE = 1e-4  # of the greatest number in an embedding
INT8_TOLERANCE = 0.1  # the same, of a network of eight bits
OPSET = 18  # of ONNX
MAX_IMAGES = 256  # that tell the range of numbers
MAX_COMPARED = 32  # of these, to see what eight bits cost


def litert(
    batch: int, representative: pathlib.Path | None, compare: Comparison
) -> Callable[[ServedModel, pathlib.Path], dict[str, Any]]:
    """Returns what writes model.tflite, and model_int8.tflite if there are images.

    Args:
        batch: the images that it takes at once.
        representative: a folder of images like those that it will see.
        compare: says what int8 costs.
    """
    interpreter = _needed("ai_edge_litert.interpreter", "ai-edge-litert", "litert")

    def network(content: bytes) -> Network:
        loaded = interpreter.Interpreter(model_content=content)
        run = loaded.get_signature_runner("serving_default")
        return in_batches(lambda images: run(images=images)["embeddings"], batch)

    def draft(model: ServedModel, folder: pathlib.Path) -> dict[str, Any]:
        saved = _save(model, folder, batch)
        converter = tf.lite.TFLiteConverter.from_saved_model(str(saved))
        content = converter.convert()
        whole = network(content)
        about = verified(model, "model.tflite", whole)
        files.write_bytes(folder / "model.tflite", content)
        if representative is not None:
            images = _images(model, representative)
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: (
                [np.resize(images[i : i + batch], (batch, *images.shape[1:]))]
                for i in range(0, len(images), batch)
            )
            content = converter.convert()
            eight = network(content)
            about["int8_error"] = rounded(whole, eight, _seen(model, images))
            about["int8"] = compare(model, eight)
            files.write_bytes(folder / "model_int8.tflite", content)
        return about | {"format_of_files": "litert", "batch": batch}

    return draft


def onnx(batch: int) -> Callable[[ServedModel, pathlib.Path], dict[str, Any]]:
    """Returns what writes model.onnx."""
    tf2onnx = _needed("tf2onnx", "tf2onnx", "onnx")
    runtime = _needed("onnxruntime", "onnxruntime", "onnx")
    # It reports, with tracebacks, what it could not make faster.
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)

    def draft(model: ServedModel, folder: pathlib.Path) -> dict[str, Any]:
        function, spec = _fixed(model, batch)
        proto, _ = tf2onnx.convert.from_function(function, [spec], opset=OPSET)
        content = proto.SerializeToString()
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])

        def run(images: np.ndarray) -> np.ndarray:
            return session.run(["embeddings"], {"images": images})[0]

        about = verified(model, "model.onnx", in_batches(run, batch))
        files.write_bytes(folder / "model.onnx", content)
        return about | {"format_of_files": "onnx", "batch": batch}

    return draft


def verified(model: ServedModel, name: str, network: Network) -> dict[str, Any]:
    """Returns how far a network is from the model, or raises if that is too far."""
    images = _noise(model)
    error = _apart(model.embed(images), network(images))
    if not error <= TOLERANCE:
        raise UserError(
            f"{name} does not compute what the model does: embeddings differ by "
            f"{error:.2g} of their greatest number, {TOLERANCE:g} is allowed; use the "
            "SavedModel, and tell us which network it was"
        )
    return {"error": error}


def rounded(whole: Network, eight: Network, images: np.ndarray) -> float:
    """Returns how far a network of eight bits is from that of 32, or raises."""
    error = _apart(whole(images), eight(images))
    if not error <= INT8_TOLERANCE:
        raise UserError(
            f"model_int8.tflite is too coarse: embeddings differ by {error:.2g} of "
            f"their greatest number, {INT8_TOLERANCE:g} is allowed; give as "
            "--representative images like those to come, of many kinds"
        )
    return error


def _apart(expected: np.ndarray, actual: np.ndarray) -> float:
    """Returns the greatest difference of embeddings, as a share of their greatest."""
    scale = max(float(np.abs(expected).max()), np.finfo(np.float32).tiny)
    return float(np.abs(actual - expected).max()) / scale


def _noise(model: ServedModel) -> np.ndarray:
    """Returns images that nobody has: [8, S, S, C] of uint8.

    They are dark, so that drawings stay as they are.
    """
    side, channels = model.preprocess.size, model.preprocess.channels
    noise = np.random.default_rng(0).random((8, side, side, channels))
    return (255 * noise**2).astype(np.uint8)


def _seen(model: ServedModel, images: np.ndarray) -> np.ndarray:
    """Returns some images that set the range of numbers, and noise, which did not."""
    return np.concatenate([images[:MAX_COMPARED], _noise(model).astype(np.float32)])


def in_batches(run: Network, batch: int) -> Network:
    """Returns a function of any number of images from one of a fixed number."""

    def network(images: np.ndarray) -> np.ndarray:
        parts = []
        for start in range(0, len(images), batch):
            part = images[start : start + batch]
            whole = np.resize(part, (batch, *part.shape[1:])).astype(np.float32)
            answer = np.array(run(whole))
            if len(answer) != batch:
                raise UserError(
                    f"the converted network makes {len(answer)} embeddings of {batch} "
                    f"images {whole.shape[1:]}; use the SavedModel, and tell us which "
                    "network it was"
                )
            parts.append(answer[: len(part)])
        return np.concatenate(parts)

    return network


def _needed(module: str, package: str, extra: str) -> Any:
    """Returns a module that not everybody has installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"--format={extra} needs the package {package}, which is not installed; "
            f"pip install 'prwn_tf[{extra}]'"
        ) from error


def _fixed(model: ServedModel, batch: int) -> tuple[Callable, tf.TensorSpec]:
    """Returns the network as a function of a fixed number of images, and of which."""
    side, channels = model.preprocess.size, model.preprocess.channels
    spec = tf.TensorSpec([batch, side, side, channels], tf.float32, "images")

    def embed(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return model.signatures.embed_prepared(images / 255)

    return tf.function(embed, input_signature=[spec], autograph=False), spec


def _save(model: ServedModel, folder: pathlib.Path, batch: int) -> pathlib.Path:
    """Writes the network as a SavedModel beside a folder: where converters find it."""
    function, _ = _fixed(model, batch)
    saved = folder.with_name(f"{folder.name}_network")
    model.signatures.save_functions(saved, {"serving_default": function})
    return saved


def _images(model: ServedModel, folder: pathlib.Path) -> np.ndarray:
    """Returns some images of a folder as the network takes them: [n, S, S, C]."""
    paths = folders.images(folder, "representative").paths
    step = -(-len(paths) // MAX_IMAGES)
    prepared = [
        model.preprocess(tf.constant(batch.pixels)).numpy()
        for batch in inputs.batches(paths[::step], model)
        if batch.places
    ]
    if not prepared:
        raise UserError(
            f"none of the {len(paths)} images in --representative={folder} can be "
            "read; give others"
        )
    return np.concatenate(prepared).astype(np.float32)
