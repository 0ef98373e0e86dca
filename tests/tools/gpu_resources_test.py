#!/usr/bin/env python3
"""gpu_resources_test.py FOLDER: tests the values that tools/gpu_resources.py reads from ptxas and computes."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "tools"))
import gpu_resources as resources  # noqa: E402  (the folder is an argument)

REPORT = """\
ptxas info    : 12 bytes gmem
ptxas info    : Compiling entry function '_Z4pairPKf' for 'sm_90a'
ptxas info    : Function properties for _Z4pairPKf
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for __internal_trig_reduction
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 223 registers, used 1 barriers, 144 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5emptyv' for 'sm_90a'
ptxas info    : Function properties for _Z5emptyv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, 352 bytes cmem[0]
""".splitlines()

PTX = """
.visible .entry _Z4pairPKf(
\t.param .u64 .ptr .align 1 _Z4pairPKf_param_0
)
.maxntid 128, 2, 1
.minnctapersm 2
{
\tret;
}
.entry _Z5emptyv()
{
\tret;
}
"""


class Resources(unittest.TestCase):
    def test_the_stack_of_a_called_function_is_not_the_kernels(self):
        pair, empty = resources.parse_ptxas(REPORT)
        self.assertEqual((pair["stack_bytes"], pair["spill_store_bytes"], pair["spill_load_bytes"]), (16, 8, 4))
        self.assertEqual((pair["registers"], pair["static_shared_bytes"], pair["arch"]), (223, 144, "sm_90a"))
        self.assertEqual((empty["kernel"], empty["stack_bytes"], empty["registers"], empty["static_shared_bytes"]),
                         ("_Z5emptyv", 0, 4, 0))

    def test_threads_are_those_of_the_largest_block(self):
        self.assertEqual(resources.parse_ptx(PTX), {"_Z4pairPKf": 256})

    def test_an_sm_holds_as_many_blocks_as_its_scarcest_part_allows(self):
        def blocks(*arguments):
            found = resources.occupancy(*arguments)
            return found["blocks_of_sm"], found["limited_by"]
        # 223 registers per thread are 7168 per warp: 2 warps per quarter, 8 in total.
        self.assertEqual(blocks("sm_80", 128, 223, 0), (2, "registers"))
        self.assertEqual(blocks("sm_90a", 256, 223, 0), (1, "registers"))
        self.assertEqual(blocks("sm_80", 32, 16, 0), (32, "blocks"))
        self.assertEqual(blocks("sm_80", 1024, 16, 0), (2, "warps"))
        # 69632 bytes plus the system's 1 KiB: 2 blocks of 164 KiB, 3 of 228.
        self.assertEqual(blocks("sm_80", 128, 64, 69632), (2, "shared memory"))
        self.assertEqual(blocks("sm_90", 128, 64, 69632), (3, "shared memory"))
        self.assertEqual(blocks("sm_100a", 128, 64, 69632), (3, "shared memory"))
        self.assertEqual(blocks("sm_120", 128, 64, 69632), (1, "shared memory"))

    def test_occupancy_is_the_share_of_warps(self):
        self.assertEqual(resources.occupancy("sm_80", 128, 223, 0)["occupancy"], 0.125)
        self.assertEqual(resources.occupancy("sm_86", 1024, 16, 0)["occupancy"], round(32 / 48, 3))

    def test_an_architecture_without_facts_is_refused(self):
        result = subprocess.run([sys.executable, resources.__file__, "/no/build", "--arch", "sm_75"], capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--arch sm_75: known are sm_80", result.stderr)

    def test_the_builds_command_is_kept_but_for_what_it_makes(self):
        entry = {"command": "/usr/local/cuda/bin/nvcc -forward-unknown-to-host-compiler -DA=1 -I/tree -O3 -std=c++20 "
                            "\"--generate-code=arch=compute_80,code=[sm_80]\" -Xcompiler=-Wall -MD -MT x.o -MF x.o.d "
                            "-x cu -c /tree/norm.cu -o norm.cu.o"}
        command = resources.command_for(entry, "sm_90a", "/tmp/kept")
        self.assertEqual(command[:11], ["/usr/local/cuda/bin/nvcc", "-forward-unknown-to-host-compiler", "-DA=1", "-I/tree",
                                        "-O3", "-std=c++20", "-Xcompiler=-Wall", "-x", "cu", "-c", "/tree/norm.cu"])
        self.assertEqual(command[11], "-gencode=arch=compute_90a,code=sm_90a")
        self.assertEqual(command[-2:], ["-o", "/tmp/kept/kernels.o"])

    def test_kernels_whose_wgmma_are_serialized_are_found(self):
        said = ("ptxas info    : (C7520) Potential Performance Loss: wgmma.mma_async instructions are serialized due to program "
                "dependence on compiler-inserted WG.AR in divergent path in the function '_Z6kernelv'\n"
                "ptxas info    : (C7519) warpgroup.arrive is injected in around line 5 by compiler in function '_Z5otherv'\n")
        self.assertEqual(resources.SERIALIZED.findall(said), ["_Z6kernelv"])


unittest.main()
