
jit_fmain.4
main.4