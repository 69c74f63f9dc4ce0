"""`manage.py migrate` changes indexes and constraints in a state of the models without rebuilding a model."""

from django.db import models
from django.db.migrations.state import ModelState, ProjectState

from memory_platform.management.commands import migrate  # noqa: F401 - replaces methods of `ProjectState`

KEY = ("id", models.AutoField(primary_key=True))


def test_index_and_constraint_are_in_the_state_and_every_model_is_kept() -> None:
    state = ProjectState()
    state.add_model(ModelState("shop", "Shelf", [KEY]))
    state.add_model(ModelState("shop", "Box", [KEY, ("shelf", models.ForeignKey("shop.shelf", models.CASCADE))]))
    rendered = [state.apps.get_model("shop", name) for name in ("shelf", "box")]
    meta = rendered[1]._meta

    state.add_index("shop", "box", models.Index(fields=["shelf"], name="box_shelf"))
    state.add_constraint("shop", "box", models.UniqueConstraint(fields=["shelf"], name="one_box"))
    assert [index.name for index in meta.indexes] == ["box_shelf"]
    assert [constraint.name for constraint in meta.constraints] == ["one_box"]
    assert [each.name for each in state.models["shop", "box"].options["constraints"]] == ["one_box"]

    state.remove_index("shop", "box", "box_shelf")
    state.remove_constraint("shop", "box", "one_box")
    assert (meta.indexes, meta.constraints) == ([], [])
    assert [state.apps.get_model("shop", name) for name in ("shelf", "box")] == rendered


def test_state_without_rendered_models_renders_the_new_index_later() -> None:
    state = ProjectState()
    state.add_model(ModelState("shop", "Shelf", [KEY]))
    state.add_index("shop", "shelf", models.Index(fields=["id"], name="shelf_id"))
    assert [index.name for index in state.apps.get_model("shop", "shelf")._meta.indexes] == ["shelf_id"]
