"""Writes tests/fixtures/clef-tiny: requests and the answers of the published reference head on this release.

    python make_expected.py --reference joint_schema_model.py [--release DIR] [--out DIR]

The backbone is transformers' Qwen3_5ForConditionalGeneration, the head and the record encoder are
those of the given reference file, everything in fp32 on the stored BF16 weights. The plain model of
model.py runs beside it; the largest difference of the logits is printed and stored.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import io
import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file

import pictures
import records
import release
from model import Encoder, make_plan, option_table, pad_batch


def load_reference(path: str):
    specification = importlib.util.spec_from_file_location("clef_reference", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules["clef_reference"] = module
    specification.loader.exec_module(module)
    return module


def request_of(made: dict) -> dict:
    return {"model": "clef-tiny", "state": made["state"], "questions": made["questions"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    root = Path(__file__).parents[2]
    parser.add_argument("--reference", required=True)
    parser.add_argument("--release", default=str(root / "models" / "clef-tiny"))
    parser.add_argument("--out", default=str(root / "tests" / "fixtures" / "clef-tiny"))
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--images", type=int, default=6)
    parser.add_argument("--seed", type=int, default=8_000_000)
    arguments = parser.parse_args()
    from transformers import AutoTokenizer, Qwen3_5ForConditionalGeneration

    reference = load_reference(arguments.reference)
    directory, out = Path(arguments.release), Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    backbone = Qwen3_5ForConditionalGeneration.from_pretrained(directory, dtype=torch.float32)
    backbone.config.use_cache = False
    head = reference.JointSchemaHead(**json.loads((directory / "joint_head_config.json").read_text()))
    head.load_state_dict(load_file(directory / "joint_head.safetensors"), strict=True)
    model = reference.ClefModel(backbone, head.float()).eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    config, _, own_backbone, own_head, own_tokenizer = release.load(directory)
    encoder = Encoder(own_tokenizer)

    # One record of every kind in turn, so that the small set shows them all.
    wanted, seed = [records.DEMO], arguments.seed
    kinds = [kind.__name__ for kind in records.KINDS]
    while len(wanted) < arguments.count + 1:
        made = records.make_record(seed, "test")
        if made["kind"] == kinds[(len(wanted) - 1) % len(kinds)]:
            wanted.append(made)
        seed += 1
    wanted += [pictures.make_picture_record(arguments.seed + number, "test") for number in range(arguments.images)]

    worst, rows = 0.0, []
    for number, made in enumerate(wanted):
        body, image = request_of(made), made.get("image")
        name = "demo" if number == 0 else f"record-{number:02d}" if image is None else f"image-{number - arguments.count:02d}"
        row = {"name": name, "kind": made["kind"]}
        if image is None:
            encoded = reference.encode_record(tokenizer, body)
            item = encoder.encode(body)
        else:
            Image.fromarray(image).save(out / f"{name}.png")
            row["image"] = f"{name}.png"
            image = np.asarray(Image.open(out / f"{name}.png").convert("RGB"))
            patches, (height, width) = pictures.preprocess(image.copy())
            item = encoder.encode(body, pictures.placeholder(height, width))
            # The reference encodes the rest of the record; its media piece is the same text, expanded.
            plain = reference.encode_record(tokenizer, body)
            begin, end = item.media
            piece = tokenizer(pictures.placeholder(height, width), add_special_tokens=False).input_ids
            ids = list(plain.input_ids[:begin]) + piece + list(plain.input_ids[begin:])
            shift = end - begin
            questions = tuple(reference.EncodedQuestion(
                question_id=question.question_id, question_type=question.question_type,
                question_span=tuple(place + shift for place in question.question_span),
                option_spans=tuple(tuple(place + shift for place in span) for span in question.option_spans),
                option_ids=question.option_ids) for question in plain.questions)
            media = {"pixel_values": patches, "image_grid_thw": torch.tensor([[1, height, width]]), "token_offset": begin,
                     "mm_token_type_ids": [int(token == config["image_token_id"]) for token in piece]}
            encoded = reference.EncodedRecord(input_ids=tuple(ids), questions=questions, record_id="0", media=media)
            row["grid"] = [1, height, width]
            body = {**body, "images": [base64.b64encode((out / f"{name}.png").read_bytes()).decode()]}
        with torch.inference_mode():
            logits = model(reference.collate_records([encoded], tokenizer.pad_token_id, torch.device("cpu")))[0]
            ids, mask = pad_batch([item], pad=config["text_config"]["eos_token_id"])
            plan = make_plan([item], ids.shape[1])
            if image is None:
                hidden = own_backbone(ids, mask)
            else:
                places = pictures.positions(item.media[0] + 1, height, width, ids.shape[1]).unsqueeze(1)
                features = own_backbone.model.visual(patches.unsqueeze(0), height, width)[0]
                hidden = own_backbone(ids, mask, places, features, (ids == config["image_token_id"]) & mask)
            own = option_table(own_head(hidden, mask, plan, own_backbone.lm_head.weight), plan)
        assert list(encoded.input_ids) == item.ids
        assert [list(question.option_spans) for question in encoded.questions] == item.option_spans
        assert [question.question_span for question in encoded.questions] == item.question_spans
        answers = []
        for index, (question, values) in enumerate(zip(encoded.questions, logits)):
            values = values.float()
            worst = max(worst, float((own[index, :len(values)] - values).abs().max()))
            probabilities = values.softmax(-1)
            known = made["answers"][question.question_id]
            answers.append({"id": question.question_id, "question_span": list(question.question_span),
                            "option_spans": [list(span) for span in question.option_spans],
                            "option_ids": list(question.option_ids), "logits": values.tolist(),
                            "probabilities": probabilities.tolist(), "known_answer": known})
        response = {question.question_id: reference.systemone_answer(
            body["questions"][question.question_id], dict(zip(question.option_ids, values.float().softmax(-1).tolist())))
            for question, values in zip(encoded.questions, logits)}
        rows.append({**row, "token_ids": list(encoded.input_ids), "questions": answers, "answers": response})
        (out / f"{name}.json").write_text(json.dumps(body, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    with open(out / "expected.jsonl", "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{len(rows)} requests; largest difference of the logits between model.py and the reference: {worst:.2e}")
    print("demo", json.dumps(rows[0]["answers"]))


if __name__ == "__main__":
    main()
