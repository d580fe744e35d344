"""A package that setup.cfg forgets is silently absent from the wheel, so the list is compared with the tree."""

from tests.bench.sandbox import CHECKOUT
from tests.house.sources import modules
from tests.packaging.listed import lines, mapped_folders, setup_cfg


def test_the_listed_packages_are_the_folders_that_hold_code() -> None:
    folders = {
        name.removesuffix("/__init__.py").replace("/", ".")
        for name in modules("artifactctl", "extract", "train")
        if name.endswith("/__init__.py")
    }

    assert lines("options", "packages") == sorted(folders | set(mapped_folders()))


def test_no_folder_with_code_lacks_its_init_file() -> None:
    folders = {name.rsplit("/", 1)[0] for name in modules("artifactctl", "extract", "train")}

    assert [folder for folder in sorted(folders) if not (CHECKOUT / folder / "__init__.py").is_file()] == []


def test_the_mapped_folders_are_data_beside_the_package() -> None:
    assert mapped_folders() == {"artifactctl.migrations": "migrations", "artifactctl.policies": "policies"}


def test_the_version_stands_once_in_two_places() -> None:
    import artifactctl

    assert setup_cfg()["metadata"]["version"] == artifactctl.__version__


def test_every_extra_of_the_contract_exists() -> None:
    assert set(setup_cfg()["options.extras_require"]) >= {"train", "extract", "sglang", "report", "postgres", "test"}
