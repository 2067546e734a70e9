"""Relocation slots of objects that are loaded after the start: bound before their constructors run, also again."""
import pytest

from laboratory import compile_c, lines

PLUGIN = """
#include "lab.h"
int seen_by_constructor;
__attribute__((constructor)) static void begin(void) { seen_by_constructor = a(1); }
int plugin_calls(void) { return a(2); }
int (*pointer)(int) = a;
"""
PROGRAM = """
#include <dlfcn.h>
int main(void) {
    for (int i = 0; i < 3; i++) {
        void *h = dlopen(PLUGIN, MODE); if (!h) { puts(dlerror()); return 1; }
        int (*calls)(void) = (int (*)(void))dlsym(h, "plugin_calls"), *built = dlsym(h, "seen_by_constructor");
        int (**pointer)(int) = dlsym(h, "pointer");
        printf("%d %d %d\\n", *built, calls(), (*pointer)(3)); dlclose(h);
    }
    return a(0);
}"""
PLAN = 'plan: later\npoints: {a: {hook: "call:libt.so!a", from: "plugin.so"}}\nfaults: [{at: a, do: fail, return: 9}]\n'


@pytest.mark.parametrize("mode", ["RTLD_LAZY", "RTLD_NOW", "RTLD_LAZY|RTLD_GLOBAL", "RTLD_NOW|RTLD_DEEPBIND"])
def test_calls_of_a_plugin_are_hooked_from_its_constructor_on(lab, tmp_path, mode):
    source = tmp_path / "plugin.c"
    source.write_text(PLUGIN)
    plugin = compile_c(tmp_path / "plugin.so", [source], "-shared", "-fPIC", f"-I{__file__.rsplit('/', 1)[0]}",
                       f"-L{lab.library.parent}", "-lt", f"-Wl,-rpath,{lab.library.parent}")
    r = lab.run(PLAN, PROGRAM, f'-DPLUGIN="{plugin}"', f"-DMODE={mode}")
    assert lines(r) == ["9 9 9"] * 3 and r.verdict == "clean", r  # the program's own call is not from plugin.so
    assert r.faults[0]["fired"] == 9, r.faults


def test_a_program_with_read_only_relocations_is_hooked(lab):
    r = lab.run('plan: relro\npoints: {a: {hook: "call:libt.so!a"}}\nfaults: [{at: a, do: fail, return: 9}]\n',
                'int main(void) { printf("%d\\n", a(1)); return 0; }', "-Wl,-z,now,-z,relro", "-pie", "-fPIE")
    assert lines(r) == ["9"] and r.verdict == "clean", r


def test_a_function_pointer_taken_by_the_program_is_hooked(lab):
    r = lab.run('plan: pointer\npoints: {a: {hook: "call:libt.so!a"}}\nfaults: [{at: a, do: fail, return: 9}]\n',
                'int (*volatile p)(int) = a; int main(void) { printf("%d\\n", p(1)); return 0; }', "-fPIE", "-pie")
    assert lines(r) == ["9"] and r.verdict == "clean", r
