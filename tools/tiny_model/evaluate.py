"""Accuracy and calibration of a release on held-out records.

    python evaluate.py [--release DIR] [--count 2400] [--seed 9000000] [--images 300] [--json FILE]

Runs in fp32 on the stored BF16 weights. A question counts as right when the most probable
option is the known answer. ECE: 15 equal bins over the largest probability.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import torch

import pictures
import records
import release
from model import TYPES, Encoder, answer_index, make_plan, option_table, pad_batch

MODEL = Path(__file__).parents[2] / "models" / "clef-tiny"


@torch.inference_mode()
def probabilities(backbone, head, config, batch):
    """Per item a list of probability vectors in prompt order. batch: encoded records without media."""
    ids, mask = pad_batch(batch, pad=config["text_config"]["eos_token_id"])
    plan = make_plan(batch, ids.shape[1])
    table = option_table(head(backbone(ids, mask), mask, plan, backbone.lm_head.weight), plan).softmax(-1)
    return split(table, batch)


@torch.inference_mode()
def image_probabilities(backbone, head, config, item, patches, rows, columns):
    ids, mask = pad_batch([item], pad=config["text_config"]["eos_token_id"])
    places = pictures.positions(item.media[0] + 1, rows, columns, ids.shape[1]).unsqueeze(1)
    slots = (ids == config["image_token_id"]) & mask
    features = backbone.model.visual(patches.unsqueeze(0), rows, columns)[0]
    plan = make_plan([item], ids.shape[1])
    hidden = backbone(ids, mask, places, features, slots)
    return split(option_table(head(hidden, mask, plan, backbone.lm_head.weight), plan).softmax(-1), [item])[0]


def split(table, batch):
    result, row = [], 0
    for item in batch:
        result.append([table[row + number, :len(spans)].tolist() for number, spans in enumerate(item.option_spans)])
        row += len(item.option_spans)
    return result


class Score:
    def __init__(self):
        self.right = self.total = 0
        self.bins = defaultdict(lambda: [0, 0.0, 0.0])

    def add(self, values, truth):
        best = max(range(len(values)), key=values.__getitem__)
        self.total += 1
        self.right += best == truth
        entry = self.bins[min(14, int(values[best] * 15))]
        entry[0] += 1
        entry[1] += values[best]
        entry[2] += best == truth

    def report(self):
        ece = sum(abs(confidence - right) for _, confidence, right in self.bins.values()) / max(1, self.total)
        return {"questions": self.total, "accuracy": round(self.right / max(1, self.total), 4), "ece": round(ece, 4)}


def evaluate(backbone, head, config, tokenizer, count: int, seed: int, images: int, split_name: str = "test"):
    encoder = Encoder(tokenizer)
    scores: dict[str, Score] = defaultdict(Score)

    def note(made, name, values):
        question = made["questions"][name]
        truth = answer_index(question, made["answers"][name])
        keys = ["all", f"type {question['type']}", f"kind {made['kind']}"]
        if made["kind"] != "picture":
            keys += ["text", "text, held-out wording" if made["unseen"] else "text, known wordings"]
        for key in keys:
            scores[key].add(values, truth)

    made = [records.make_record(seed + number, split_name) for number in range(count)]
    items = [(encoder.encode(record), record) for record in made]
    items.sort(key=lambda pair: len(pair[0].ids))
    for start in range(0, len(items), 16):
        batch = items[start:start + 16]
        for (_, record), answers in zip(batch, probabilities(backbone, head, config, [item for item, _ in batch])):
            for name, values in zip(record["questions"], answers):
                note(record, name, values)
    for number in range(images):
        record = pictures.make_picture_record(seed + number, split_name)
        patches, (rows, columns) = pictures.preprocess(record["image"])
        item = encoder.encode(record, pictures.placeholder(rows, columns))
        for name, values in zip(record["questions"], image_probabilities(backbone, head, config, item, patches, rows, columns)):
            note(record, name, values)
    return {key: scores[key].report() for key in sorted(scores)}


def demo(backbone, head, config, tokenizer):
    item = Encoder(tokenizer).encode(records.DEMO)
    answers = probabilities(backbone, head, config, [item])[0]
    return {name: dict(zip(options, (round(value, 4) for value in values)))
            for name, options, values in zip(records.DEMO["questions"], item.option_ids, answers)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--release", default=str(MODEL))
    parser.add_argument("--count", type=int, default=2400)
    parser.add_argument("--images", type=int, default=0)
    parser.add_argument("--seed", type=int, default=9_000_000)
    parser.add_argument("--split", default="test", choices=("test", "train"))
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    config, _, backbone, head, tokenizer = release.load(Path(arguments.release))
    result = evaluate(backbone, head, config, tokenizer, arguments.count, arguments.seed, arguments.images, arguments.split)
    for key, value in result.items():
        print(f"{key:32} {value['questions']:6}  accuracy {value['accuracy']:.4f}  ece {value['ece']:.4f}")
    result["demo"] = demo(backbone, head, config, tokenizer)
    print("demo", json.dumps(result["demo"]))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
