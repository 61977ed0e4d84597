"""Inputs for pw.x: `python examples/quantum-espresso/materials.py OUT_DIR` writes `OUT_DIR/NAME/pw.in` for each.

Two tables say everything: the materials, with where their lengths come from, and the calculations. The pseudopotentials
are those of Debian's package quantum-espresso-data. Cut-offs and k meshes are chosen to be quick and to differ in what
takes memory; none is converged for physics.

The split is by material, and was fixed before anything was measured: a material is in the training set when the first
byte of the SHA-256 of its name is below 0x80.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product

Vector = tuple[float, float, float]
Site = tuple[str, Vector]

PSEUDOPOTENTIALS = "/usr/share/espresso/pseudo"
SETS = ("training", "held-out")
TRAINING_BELOW = 0x80

_KITTEL = "C. Kittel, Introduction to Solid State Physics, 8th edition, chapter 1"
_CCCBDB = "NIST Computational Chemistry Comparison and Benchmark Database, release 22, experimental geometry"
_HUBER = "K. P. Huber and G. Herzberg, Constants of Diatomic Molecules, 1979: r_e"

_METAL = "occupations = 'smearing', smearing = 'marzari-vanderbilt', degauss = 0.02"
_MAGNET = f"{_METAL}, nspin = 2, starting_magnetization(1) = 0.5"
_SPINORS = f"{_METAL}, noncolin = .true., lspinorb = .true."

_FCC: tuple[Vector, ...] = ((0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
_BCC: tuple[Vector, ...] = ((-0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.5, 0.5, -0.5))
_CUBE: tuple[Vector, ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
_ORIGIN: Vector = (0, 0, 0)
_QUARTER: Vector = (0.25, 0.25, 0.25)
_HALF: Vector = (0.5, 0.5, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A unit cell: three vectors and the places of its atoms, in Å."""

    vectors: tuple[Vector, ...]
    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Cells by name, mass (u) and pseudopotential of each element, lines of &system, and where the lengths are from."""

    cells: Mapping[str, Cell]
    species: Mapping[str, tuple[float, str]]
    system: str
    source: str


@dataclass(frozen=True, slots=True)
class Calculation:
    """One row: cells repeated along the three vectors; cut-offs in Ry; a k mesh, or none for the Γ point alone."""

    material: str
    cell: str
    repeats: tuple[int, int, int]
    wave_ry: int
    density_ry: int
    mesh: tuple[int, int, int] | None

    @property
    def name(self) -> str:
        """What distinguishes it, as a file name: `silicon-64-30ry-k1`; a box is named by its side in Å."""
        size = self.cell if self.cell.startswith("box") else str(self.atoms)
        points = "gamma" if self.mesh is None else f"k{'x'.join(map(str, sorted(set(self.mesh), reverse=True)))}"
        return f"{self.material}-{size}-{self.wave_ry}ry-{points}"

    @property
    def atoms(self) -> int:
        """How many atoms it has."""
        first, second, third = self.repeats
        return first * second * third * len(MATERIALS[self.material].cells[self.cell].sites)

    @property
    def set_name(self) -> str:
        """The set that its material belongs to."""
        return set_of(self.material)


def set_of(material: str) -> str:
    """The set of a material, by its name alone."""
    return SETS[sha256(material.encode()).digest()[0] >= TRAINING_BELOW]


def _scaled(side: float, vector: Vector) -> Vector:
    return (side * vector[0], side * vector[1], side * vector[2])


def _moved(place: Vector, *steps: Vector) -> Vector:
    x, y, z = (sum(part) for part in zip(place, *steps, strict=True))
    return (x, y, z)


def _cubic(side: float, lattice: tuple[Vector, ...], *basis: Site) -> dict[str, Cell]:
    """The primitive cell and the cube of a centred cubic lattice with these atoms, given in units of its side."""
    centres = (_ORIGIN, *_FCC) if lattice is _FCC else (_ORIGIN, _HALF)
    points = [_scaled(side, centre) for centre in centres]
    placed = [(element, _scaled(side, place)) for element, place in basis]
    return {
        "primitive": Cell(vectors=tuple(_scaled(side, vector) for vector in lattice), sites=tuple(placed)),
        "cube": Cell(
            vectors=tuple(_scaled(side, vector) for vector in _CUBE),
            sites=tuple((element, _moved(place, point)) for point in points for element, place in placed),
        ),
    }


def _hexagonal(side: float, height: float, element: str) -> dict[str, Cell]:
    """The hexagonal close-packed cell of two atoms."""
    depth = side * 3**0.5 / 2
    vectors = ((side, 0.0, 0.0), (-side / 2, depth, 0.0), (0.0, 0.0, height))
    return {"primitive": Cell(vectors=vectors, sites=((element, _ORIGIN), (element, (0.0, depth * 2 / 3, height / 2))))}


def _boxes(sides: Sequence[int], *atoms: Site) -> dict[str, Cell]:
    """A molecule in cubic boxes of these sides."""
    return {
        f"box{side}": Cell(vectors=tuple(_scaled(side, vector) for vector in _CUBE), sites=tuple(atoms))
        for side in sides
    }


MATERIALS: Mapping[str, Material] = {
    "aluminium": Material(
        cells=_cubic(4.05, _FCC, ("Al", _ORIGIN)),
        species={"Al": (26.982, "Al.pz-vbc.UPF")},
        system=_METAL,
        source=_KITTEL,
    ),
    "ammonia": Material(
        cells=_boxes(
            (7, 10),
            *(("N", _ORIGIN), ("H", (0, -0.9377, -0.3816)), ("H", (0.8121, 0.4689, -0.3816))),
            ("H", (-0.8121, 0.4689, -0.3816)),
        ),
        species={"N": (14.007, "N.pbe-kjpaw.UPF"), "H": (1.008, "H.pbe-kjpaw.UPF")},
        system="",
        source=_CCCBDB,
    ),
    "carbon-monoxide": Material(
        cells=_boxes((6, 9, 12), ("C", _ORIGIN), ("O", (0, 0, 1.128))),
        species={"C": (12.011, "C.pbe-n-kjpaw_psl.0.1.UPF"), "O": (15.999, "O.pbe-kjpaw.UPF")},
        system="",
        source=_HUBER,
    ),
    "cobalt": Material(
        cells=_hexagonal(2.51, 4.07, "Co"),
        species={"Co": (58.933, "Co.pbesol-spn-rrkjus_psl.0.3.1.UPF")},
        system=_MAGNET,
        source=_KITTEL,
    ),
    "copper": Material(
        cells=_cubic(3.61, _FCC, ("Cu", _ORIGIN)),
        species={"Cu": (63.546, "Cu.pbe-kjpaw.UPF")},
        system=_METAL,
        source=_KITTEL,
    ),
    "diamond": Material(
        cells=_cubic(3.567, _FCC, ("C", _ORIGIN), ("C", _QUARTER)),
        species={"C": (12.011, "C.pbe-rrkjus.UPF")},
        system="",
        source=_KITTEL,
    ),
    "germanium": Material(
        cells=_cubic(5.658, _FCC, ("Ge", _ORIGIN), ("Ge", _QUARTER)),
        species={"Ge": (72.63, "Ge.pbe-kjpaw.UPF")},
        system=_METAL,
        source=_KITTEL,
    ),
    "gold": Material(
        cells=_cubic(4.08, _FCC, ("Au", _ORIGIN)),
        species={"Au": (196.967, "Au.pz-rrkjus_aewfc.UPF")},
        system=_SPINORS,
        source=_KITTEL,
    ),
    "iron": Material(
        cells=_cubic(2.87, _BCC, ("Fe", _ORIGIN)),
        species={"Fe": (55.845, "Fe.pbe-nd-rrkjus.UPF")},
        system=_MAGNET,
        source=_KITTEL,
    ),
    "lithium": Material(
        cells=_cubic(3.491, _BCC, ("Li", _ORIGIN)),
        species={"Li": (6.94, "Li.pbesol-s-kjpaw_psl.0.2.1.UPF")},
        system=_METAL,
        source=_KITTEL,
    ),
    "magnesium-oxide": Material(
        cells=_cubic(4.21, _FCC, ("Mg", _ORIGIN), ("O", _HALF)),
        species={"Mg": (24.305, "Mg.pz-n-vbc.UPF"), "O": (15.999, "O.pz-rrkjus.UPF")},
        system="",
        source=_KITTEL,
    ),
    "nickel": Material(
        cells=_cubic(3.52, _FCC, ("Ni", _ORIGIN)),
        species={"Ni": (58.693, "Ni.pbe-nd-rrkjus.UPF")},
        system=_MAGNET,
        source=_KITTEL,
    ),
    "platinum": Material(
        cells=_cubic(3.92, _FCC, ("Pt", _ORIGIN)),
        species={"Pt": (195.084, "Pt.rel-pbe-n-rrkjus.UPF")},
        system=_SPINORS,
        source=_KITTEL,
    ),
    "silicon": Material(
        cells=_cubic(5.43, _FCC, ("Si", _ORIGIN), ("Si", _QUARTER)),
        species={"Si": (28.086, "Si.pz-vbc.UPF")},
        system="",
        source=_KITTEL,
    ),
    "silicon-carbide": Material(
        cells=_cubic(4.35, _FCC, ("Si", _ORIGIN), ("C", _QUARTER)),
        species={"Si": (28.086, "Si.pbe-rrkj.UPF"), "C": (12.011, "C.pbe-rrkjus.UPF")},
        system="",
        source=_KITTEL,
    ),
    "water": Material(
        cells=_boxes((7, 10), ("O", (0, 0, 0.1173)), ("H", (0, 0.7572, -0.4692)), ("H", (0, -0.7572, -0.4692))),
        species={"O": (15.999, "O.pbe-kjpaw.UPF"), "H": (1.008, "H.pbe-kjpaw.UPF")},
        system="",
        source=_CCCBDB,
    ),
}
"""By name. The package has no fully relativistic gold: its spinors are those of a scalar-relativistic one."""

CALCULATIONS = (
    Calculation("aluminium", "primitive", (1, 1, 1), 20, 80, (8, 8, 8)),
    Calculation("aluminium", "cube", (1, 1, 1), 30, 120, (4, 4, 4)),
    Calculation("aluminium", "cube", (2, 2, 2), 15, 60, (1, 1, 1)),
    Calculation("iron", "primitive", (1, 1, 1), 30, 240, (6, 6, 6)),
    Calculation("iron", "primitive", (1, 1, 1), 45, 450, (4, 4, 4)),
    Calculation("iron", "cube", (1, 1, 1), 30, 240, (4, 4, 4)),
    Calculation("nickel", "primitive", (1, 1, 1), 30, 240, (6, 6, 6)),
    Calculation("nickel", "cube", (1, 1, 1), 30, 240, (2, 2, 2)),
    Calculation("lithium", "primitive", (1, 1, 1), 40, 320, (8, 8, 8)),
    Calculation("lithium", "cube", (2, 2, 2), 30, 240, (2, 2, 2)),
    Calculation("gold", "primitive", (1, 1, 1), 25, 200, (4, 4, 4)),
    Calculation("gold", "primitive", (1, 1, 1), 40, 320, (4, 4, 4)),
    Calculation("platinum", "primitive", (1, 1, 1), 30, 240, (4, 4, 4)),
    Calculation("platinum", "primitive", (1, 1, 1), 30, 360, (6, 6, 6)),
    Calculation("carbon-monoxide", "box6", (1, 1, 1), 30, 240, None),
    Calculation("carbon-monoxide", "box9", (1, 1, 1), 30, 240, None),
    Calculation("carbon-monoxide", "box12", (1, 1, 1), 40, 320, None),
    Calculation("water", "box7", (1, 1, 1), 40, 320, None),
    Calculation("water", "box10", (1, 1, 1), 30, 240, None),
    Calculation("silicon", "cube", (1, 1, 1), 20, 80, (1, 1, 1)),
    Calculation("silicon", "cube", (1, 1, 1), 30, 120, (2, 2, 2)),
    Calculation("silicon", "cube", (2, 1, 1), 20, 80, (2, 2, 2)),
    Calculation("silicon", "cube", (2, 2, 1), 20, 80, (1, 1, 1)),
    Calculation("silicon", "cube", (2, 2, 2), 20, 80, (1, 1, 1)),
    Calculation("silicon", "cube", (2, 2, 2), 30, 120, (1, 1, 1)),
    Calculation("germanium", "primitive", (1, 1, 1), 25, 200, (4, 4, 4)),
    Calculation("germanium", "cube", (1, 1, 1), 25, 100, (2, 2, 2)),
    Calculation("diamond", "primitive", (1, 1, 1), 40, 320, (6, 6, 6)),
    Calculation("diamond", "cube", (1, 1, 1), 40, 320, (2, 2, 2)),
    Calculation("cobalt", "primitive", (1, 1, 1), 35, 280, (4, 4, 2)),
    Calculation("copper", "primitive", (1, 1, 1), 40, 320, (6, 6, 6)),
    Calculation("copper", "cube", (1, 1, 1), 35, 280, (2, 2, 2)),
    Calculation("silicon-carbide", "primitive", (1, 1, 1), 40, 320, (4, 4, 4)),
    Calculation("silicon-carbide", "cube", (1, 1, 1), 30, 240, (2, 2, 2)),
    Calculation("magnesium-oxide", "primitive", (1, 1, 1), 40, 320, (4, 4, 4)),
    Calculation("magnesium-oxide", "cube", (2, 1, 1), 30, 240, (1, 1, 1)),
    Calculation("ammonia", "box7", (1, 1, 1), 40, 320, None),
    Calculation("ammonia", "box10", (1, 1, 1), 40, 320, None),
)


def text(calculation: Calculation) -> str:
    """The input of one calculation, the same bytes each time.

    The density is mixed more carefully for a molecule in a box, where charge sloshes to and fro.
    """
    material = MATERIALS[calculation.material]
    cell = material.cells[calculation.cell]
    system = f"{material.system},\n " if material.system else ""
    lines = [
        "&control",
        f" calculation = 'scf', prefix = 'pw', outdir = './out', pseudo_dir = '{PSEUDOPOTENTIALS}'",
        "/",
        "&system",
        f" ibrav = 0, nat = {calculation.atoms}, ntyp = {len(material.species)},",
        f" {system}ecutwfc = {calculation.wave_ry}, ecutrho = {calculation.density_ry}",
        "/",
        "&electrons",
        f" conv_thr = {calculation.atoms}.0d-6, mixing_beta = {0.3 if calculation.mesh is None else 0.7}",
        "/",
        "ATOMIC_SPECIES",
        *(f" {element} {mass} {file}" for element, (mass, file) in material.species.items()),
        "CELL_PARAMETERS angstrom",
        *(_row(_scaled(times, vector)) for times, vector in zip(calculation.repeats, cell.vectors, strict=True)),
        "ATOMIC_POSITIONS angstrom",
        *(f" {element}{_row(place)}" for element, place in _sites(cell, calculation.repeats)),
        "K_POINTS gamma" if calculation.mesh is None else "K_POINTS automatic",
        *(() if calculation.mesh is None else (f" {' '.join(map(str, calculation.mesh))} 0 0 0",)),
    ]
    return "\n".join(lines) + "\n"


def _row(vector: Vector) -> str:
    return "".join(f" {part:.6f}" for part in vector)


def _sites(cell: Cell, repeats: tuple[int, int, int]) -> list[Site]:
    """The atoms of all repeated cells."""
    steps = product(*(range(times) for times in repeats))
    moves = [[_scaled(times, vector) for times, vector in zip(step, cell.vectors, strict=True)] for step in steps]
    return [(element, _moved(place, *move)) for move in moves for element, place in cell.sites]


def write(out: str, calculations: Sequence[Calculation]) -> None:
    """Write each input to `OUT/NAME/pw.in`; raises `FileExistsError` where another one stands there."""
    for calculation in calculations:
        path = os.path.join(out, calculation.name, "pw.in")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(text(calculation))
        with open(path, encoding="ascii") as file:
            if file.read() != text(calculation):
                raise FileExistsError(f"{path} holds another input: remove {out}, or name another folder")


if __name__ == "__main__":
    _, *folders = sys.argv
    if len(folders) != 1 or folders[0].startswith("-"):
        sys.exit(__doc__)
    write(folders[0], CALCULATIONS)
