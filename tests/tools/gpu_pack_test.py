#!/usr/bin/env python3
"""gpu_pack_test.py FOLDER: tests that tools/gpu_pack.sh packs what cmake/third_party.cmake takes, and that gpu_run.py
accepts the pack.

The libraries' sources are stand-ins here, one file for each packed one, so no network is needed. That the real ones
compile is shown by tests/gpu_rehearsal.sh.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
PACK = TREE / "tools/gpu_pack.sh"
sys.path.insert(0, str(TREE / "tools"))
import gpu_run  # noqa: E402  (the folder is an argument)

# The stand-in of each library: files that the globs of third_party.cmake match.
FILES = {
    "benchmark": ["include/benchmark/benchmark.h", "src/benchmark.cc", "src/benchmark_main.cc"],
    "boost": ["boost/math/distributions/normal.hpp", "boost/asio/ip/tcp.hpp", "boost/beast/http.hpp"],
    "cli11": ["include/CLI/CLI.hpp"],
    "eigen3": ["Eigen/Dense"],
    "fmtlib": ["include/fmt/core.h", "src/format.cc", "src/os.cc"],
    "googletest": ["googletest/include/gtest/gtest.h", "googletest/src/gtest-all.cc", "googletest/src/gtest_main.cc"],
    "highway": ["hwy/highway.h", "hwy/targets.cc", "hwy/targets_test.cc"],
    "cpp-httplib": ["httplib.h"],
    "nlohmann-json3": ["include/nlohmann/json.hpp"],
    "pcre2": ["src/config.h.generic", "src/pcre2.h.generic", "src/pcre2_chartables.c.dist", "src/pcre2_match.c"],
    "prometheus-cpp": ["core/include/prometheus/registry.h", "core/src/registry.cc", "core/src/detail/utils.cc"],
    "pugixml": ["src/pugixml.cpp"],
    "sentencepiece": ["src/util.cc", "src/builtin_pb/sentencepiece.pb.cc", "third_party/protobuf-lite/arena.cc",
                      "third_party/absl/flags/flag.cc"],
    "utf8proc": ["utf8proc.c", "utf8proc.h", "utf8proc_data.c"],
    "xxhash": ["xxhash.c", "xxhash.h"],
    "zlib": ["adler32.c", "crc32.c", "crc32.h", "deflate.c", "deflate.h", "gzguts.h", "inffast.c", "inffast.h", "inffixed.h",
             "inflate.c", "inflate.h", "inftrees.c", "inftrees.h", "trees.c", "trees.h", "zconf.h", "zlib.h", "zutil.c", "zutil.h"],
}


def has_git():
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=TREE, capture_output=True).returncode == 0


@unittest.skipUnless(has_git(), "the tree is no git checkout, and a pack holds its revision")
class GpuPack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.sources = self.folder / "sources"
        for package, files in FILES.items():
            for name in files + ["debian/copyright", "debian/changelog"]:
                path = self.sources / package / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{package} (1.2-3) suite; urgency=low\n" if name.endswith("changelog") else "")
        self.out = self.folder / "pack.tar.gz"

    def pack(self, *options):
        return subprocess.run([PACK, "--sources", self.sources, *options, self.out], capture_output=True, text=True)

    def packed(self):
        result = self.pack()
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.out

    def unpacked(self):
        folder = self.folder / "unpacked"
        with tarfile.open(self.packed()) as archive:
            archive.extractall(folder)
        return folder

    def configure(self, pack):
        """Configures with the pack alone; other packages are not looked for."""
        hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in
                  ("PkgConfig", "fmt", "nlohmann_json", "Eigen3", "GTest", "benchmark", "ZLIB", "Boost")]
        return subprocess.run(["cmake", "-S", TREE, "-B", self.folder / "build", f"-DREPRISE_THIRD_PARTY={pack}",
                               "-DREPRISE_TORCH=OFF", *hidden], capture_output=True, text=True)

    def test_every_part_is_packed_with_its_licence_and_version(self):
        with tarfile.open(self.packed()) as archive:
            names = set(archive.getnames())
            manifest = archive.extractfile("./MANIFEST").read().decode().splitlines()
        table = [line.split() for line in
                 subprocess.run([PACK, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()]
        self.assertEqual({package for _, package, *_ in table}, set(FILES))
        for folder, package, *parts in table:
            self.assertIn(f"{folder} {package} 1.2-3", manifest)
            self.assertIn(f"./{folder}/COPYRIGHT", names)
            for part in parts:
                if part != "xxh3.h":   # only older versions have it
                    self.assertIn(f"./{folder}/{part}", names)

    def test_the_tree_configures_with_the_pack_alone(self):
        result = self.configure(self.unpacked())
        self.assertEqual(result.returncode, 0, result.stderr[-4000:])

    def test_a_pack_that_lacks_a_part_is_refused_by_name(self):
        pack = self.unpacked()
        shutil.rmtree(pack / "prometheus/core/src")
        result = self.configure(pack)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("prometheus/core/src/*.cc", result.stderr)
        result = self.configure(self.folder / "nowhere")
        self.assertIn("is no unpacked pack", result.stderr)

    def test_each_library_that_the_tree_links_is_in_the_pack(self):
        linked = set()
        for path in [*TREE.glob("*/**/CMakeLists.txt"), TREE / "cmake/reprise_targets.cmake"]:
            if "build" not in path.relative_to(TREE).parts and "install" not in path.parts:
                linked |= set(re.findall(r"\b(?:PkgConfig|fmt|nlohmann_json|Eigen3|GTest|ZLIB|Boost|benchmark)::\w+", path.read_text()))
        third_party = (TREE / "cmake/third_party.cmake").read_text()
        for target in sorted(linked):
            self.assertIn(f"ALIAS {target} ", third_party.replace("\n", " "), f"{target} is linked and not packed")

    def test_a_source_without_a_part_is_named(self):
        (self.sources / "fmtlib/src/format.cc").unlink()
        shutil.rmtree(self.sources / "fmtlib/src")
        result = self.pack()
        self.assertEqual(result.returncode, 1)
        self.assertIn("fmtlib (1.2-3) has no src", result.stderr)

    def test_a_pack_that_is_too_large_is_refused(self):
        random = pathlib.Path("/dev/urandom").open("rb")
        self.addCleanup(random.close)
        (self.sources / "fmtlib/src/large.cc").write_bytes(random.read(2 << 20))
        result = self.pack("--limit-mib", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--limit-mib 1", result.stderr)
        self.assertIn("fmt", result.stderr)
        self.assertFalse(self.out.exists())

    def test_the_export_holds_the_pack_and_a_tree_of_its_revision_without_measurements(self):
        archive = self.folder / "export.tar.gz"
        result = self.pack("--export", archive)
        self.assertEqual(result.returncode, 0, result.stderr)
        with tarfile.open(archive) as export:
            export.extractall(self.folder)
        tree = self.folder / "reprise"
        self.assertEqual((tree / "out/gpu_pack.tar.gz").read_bytes(), self.out.read_bytes())
        self.assertFalse((tree / "results/measurements").exists())
        self.assertEqual(list(tree.glob("docs/*.png")), [])
        revision = ["-c", "import gpu_run; print(gpu_run.revision_of('../out/gpu_pack.tar.gz'))"]
        seen = subprocess.run([sys.executable, *revision], cwd=tree / "tools", capture_output=True, text=True)
        self.assertEqual(seen.stdout.strip(), gpu_run.revision_of(self.out), seen.stderr)
        self.assertEqual(seen.stderr, "")
        (tree / "CMakeLists.txt").write_text("")
        seen = subprocess.run([sys.executable, *revision], cwd=tree / "tools", capture_output=True, text=True)
        self.assertEqual(seen.stdout.strip()[-1:], "+")
        self.assertIn("CMakeLists.txt is not as it was", seen.stderr)

    def test_the_revision_is_marked_where_the_tree_differs(self):
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TREE, capture_output=True, text=True,
                              check=True).stdout.strip()
        revision = gpu_run.revision_of(self.packed())
        self.assertEqual(revision.rstrip("+"), head)
        with tarfile.open(self.out) as archive:
            archive.extractall(self.folder / "changed")
        sums = self.folder / "changed/tree.sha256"
        digest, rest = sums.read_text().split("  ", 1)
        sums.write_text("0" * len(digest) + "  " + rest)
        (self.folder / "changed/revision").write_text(head + "\n")
        with tarfile.open(self.out, "w:gz") as archive:
            archive.add(self.folder / "changed", ".")
        self.assertEqual(gpu_run.revision_of(self.out), head + "+")


unittest.main()
