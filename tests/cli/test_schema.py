"""JSON Schemas: made from the readers' rows, stored, and in agreement with what the readers take."""

import copy
import json

import jsonschema
import pytest
from conftest import ROOT

KINDS = ["job", "cluster", "scenario", "overlay", "model"]


@pytest.fixture(scope="module")
def schemas():
    return {kind: json.loads((ROOT / f"data/schema/{kind}.schema.json").read_text()) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_stored_schema_is_the_programs(meshwright, kind, schemas):
    assert json.loads(meshwright("schema", kind).stdout) == schemas[kind], "run script/docs schemas"
    jsonschema.Draft202012Validator.check_schema(schemas[kind])


def documents():
    found = [("job" if "model" in json.loads(path.read_text()) else "cluster", path)
             for path in sorted((ROOT / "examples").glob("*.json"))]
    found += [("scenario", path) for path in sorted((ROOT / "examples/whatif").glob("*.json"))
              if "workloads" in json.loads(path.read_text())]
    found += [("overlay", path) for path in sorted((ROOT / "data/hardware").glob("*.json"))]
    found += [("overlay", path) for path in sorted((ROOT / "data/overlays").glob("*.json"))]
    return found


@pytest.mark.parametrize(("kind", "path"), documents(), ids=lambda x: getattr(x, "stem", x))
def test_what_ships_is_valid(kind, path, schemas):
    jsonschema.validate(json.loads(path.read_text()), schemas[kind])


@pytest.mark.parametrize("path", sorted((ROOT / "data/frameworks").glob("*.json")), ids=lambda p: p.stem)
def test_stacks_are_valid_overlays(path, schemas):
    jsonschema.validate({"frameworks": [json.loads(path.read_text())]}, schemas["overlay"])


JOB = {"$schema": "job.schema.json", "model": "llama-3.1-8b", "cluster": {"of": "dgx-h100", "nodes": 2}, "seq_len": "4k",
       "global_batch": 256, "layout": {"tp": 2, "zero_stage": 1, "recompute": "none"}}
CHANGES = [
    (["seq_len"], 0), (["seq_len"], "4q"), (["model"], 3), (["layout", "tp"], 0), (["layout", "tp"], "8"),
    (["layout", "recompute"], "some"), (["layout", "tq"], 1), (["cluster", "nodes"], 0), (["cluster", "node"], {"nics": -1}),
    (["cluster", "node"], {"nic_bandwidth": "400"}), (["cluster", "node"], {"nic_bandwidth": 400}),
    (["cluster", "network"], {"oversubscription": "4:2"}), (["cluster", "network"], {"topology": "ring"}),
    (["recipe"], {"states": {"optimizer": 3}}), (["collectives"], {"nvls": "no"}), (["gpus"], 1.5), (["nope"], 1),
]


@pytest.mark.parametrize(("place", "value"), CHANGES, ids=str)
def test_reader_and_schema_refuse_alike(meshwright, schemas, place, value):
    validator = jsonschema.Draft202012Validator(schemas["job"])
    assert validator.is_valid(JOB)
    assert meshwright("predict", "-", "--json", text=json.dumps(JOB)).returncode == 0
    wrong = copy.deepcopy(JOB)
    at = wrong
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    assert not validator.is_valid(wrong)
    assert meshwright("predict", "-", "--json", text=json.dumps(wrong)).returncode == 2


def test_quantities_are_texts_with_units(schemas):
    rate = schemas["cluster"]["properties"]["network"]["properties"]["dcn_bandwidth"]
    for text in ("400 Gb/s", "50GB/s", "1e2 Gb/s", ".5 TB/s"):
        jsonschema.validate(text, rate)
    for text in ("400", "400 Gb", "fast", "-1 GB/s"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(text, rate)
