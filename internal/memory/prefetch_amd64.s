//go:build !purego

#include "textflag.h"

// func lines(p unsafe.Pointer, n uintptr)
TEXT ·lines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX

next:
	PREFETCHT0 (SI)
	ADDQ $64, SI
	DECQ CX
	JNZ next
	RET
