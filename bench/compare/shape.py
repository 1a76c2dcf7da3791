"""The shapes that all engines run, in one place: the text part of Qwen3.5-0.8B and the vision tower of Clef-Flash.

Weights are random everywhere: for speed only. The same numbers stand in `clef bench --shape qwen3.5-0.8b`.
"""

from __future__ import annotations

CLEF_SHAPE = "qwen3.5-0.8b"
TOWER_SHAPE = "clef-flash"

# Text: every fourth layer attends, the others keep a delta-rule state.
LAYERS, HIDDEN, FEED_FORWARD = 24, 1024, 3584
VOCABULARY = 4096  # of 248,320: a row is looked up for each token, and nobody computes output
QUERY_HEADS, KEY_HEADS, HEAD = 8, 2, 256
DELTA_KEY_HEADS, DELTA_VALUE_HEADS, DELTA_HEAD, CONVOLUTION = 16, 16, 128, 4
ROPE_BASE, ROPE_SECTIONS = 10_000_000, (11, 11, 10)
DELTA_INNER = DELTA_VALUE_HEADS * DELTA_HEAD
DELTA_CHANNELS = 2 * DELTA_KEY_HEADS * DELTA_HEAD + DELTA_INNER

# Vision: the tower of the 9B and 27B models; a picture of 16 x 16 patches a unit of area.
TOWER = {"depth": 27, "hidden_size": 1152, "num_heads": 16, "intermediate_size": 4304, "out_hidden_size": 4096,
         "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, "in_channels": 3,
         "num_position_embeddings": 2304}


def attends(layer: int) -> bool:
    return layer % 4 == 3


def layer_matrices(layer: int) -> dict[str, tuple[int, int]]:
    """Name in GGUF to (rows, columns) of a layer's matrices; a row is an output."""
    feed_forward = {"ffn_gate": (FEED_FORWARD, HIDDEN), "ffn_up": (FEED_FORWARD, HIDDEN),
                    "ffn_down": (HIDDEN, FEED_FORWARD)}
    if attends(layer):
        # The query projection also makes the gate of the output.
        return {"attn_q": (2 * QUERY_HEADS * HEAD, HIDDEN), "attn_k": (KEY_HEADS * HEAD, HIDDEN),
                "attn_v": (KEY_HEADS * HEAD, HIDDEN), "attn_output": (HIDDEN, QUERY_HEADS * HEAD), **feed_forward}
    return {"attn_qkv": (DELTA_CHANNELS, HIDDEN), "attn_gate": (DELTA_INNER, HIDDEN),
            "ssm_beta": (DELTA_VALUE_HEADS, HIDDEN), "ssm_alpha": (DELTA_VALUE_HEADS, HIDDEN),
            "ssm_out": (HIDDEN, DELTA_INNER), **feed_forward}


def layer_weight_count() -> int:
    return sum(rows * columns for layer in range(LAYERS) for rows, columns in layer_matrices(layer).values())


def state_bytes(sequences: int) -> int:
    """What a step of that many sequences reads and writes of fp32 delta-rule states and convolution inputs."""
    layers = sum(not attends(layer) for layer in range(LAYERS))
    floats = DELTA_VALUE_HEADS * DELTA_HEAD * DELTA_HEAD + DELTA_CHANNELS * (CONVOLUTION - 1)
    return 2 * 4 * layers * floats * sequences


def transformers_text() -> dict[str, object]:
    """The same as a text configuration of transformers."""
    return {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "intermediate_size": FEED_FORWARD,
            "num_attention_heads": QUERY_HEADS, "num_key_value_heads": KEY_HEADS, "head_dim": HEAD,
            "linear_num_value_heads": DELTA_VALUE_HEADS, "linear_num_key_heads": DELTA_KEY_HEADS,
            "linear_key_head_dim": DELTA_HEAD, "linear_value_head_dim": DELTA_HEAD,
            "linear_conv_kernel_dim": CONVOLUTION, "vocab_size": VOCABULARY, "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": ROPE_BASE, "partial_rotary_factor": 0.25,
                                "mrope_section": list(ROPE_SECTIONS), "mrope_interleaved": True}}
