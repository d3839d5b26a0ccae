//go:build !purego

#include "textflag.h"

// Eight keys at a time are in two registers of four quadwords: the keys 0, 1, 4 and 5 in
// one, 2, 3, 6 and 7 in the other, because VSHUFPS then joins the lower halves of both in
// order. A step is short and goes through the whole batch, so that the processor, which
// looks some 250 instructions ahead, works on several eights at once.

// Constants of MurmurHash3 as PRODUCT has them: the lower half, and then the upper half
// below the lower one.
#define CONSTANT(name, lo, hi) \
	DATA name<>+0(SB)/8, $(lo)                   \
	DATA name<>+8(SB)/8, $(lo)                   \
	DATA name<>+16(SB)/8, $(lo)                  \
	DATA name<>+24(SB)/8, $(lo)                  \
	DATA name<>+32(SB)/4, $(hi)                  \
	DATA name<>+36(SB)/4, $(lo)                  \
	DATA name<>+40(SB)/4, $(hi)                  \
	DATA name<>+44(SB)/4, $(lo)                  \
	DATA name<>+48(SB)/4, $(hi)                  \
	DATA name<>+52(SB)/4, $(lo)                  \
	DATA name<>+56(SB)/4, $(hi)                  \
	DATA name<>+60(SB)/4, $(lo)                  \
	GLOBL name<>(SB), RODATA|NOPTR, $64

CONSTANT(c1, 0x114253d5, 0x87c37b91)
CONSTANT(c2, 0x2745937f, 0x4cf5ad43)
CONSTANT(f1, 0xed558ccd, 0xff51afd7)
CONSTANT(f2, 0x1a85ec53, 0xc4ceb9fe)

DATA one<>+0(SB)/8, $0x114253d500000000 // what 1<<32 adds to the product of a key and c1
DATA one<>+8(SB)/8, $0x114253d500000000
DATA one<>+16(SB)/8, $0x114253d500000000
DATA one<>+24(SB)/8, $0x114253d500000000
GLOBL one<>(SB), RODATA|NOPTR, $32

// PRODUCT is the lower half of x times a constant; t and u are lost. Y15 has the bits of
// upper halves.
#define PRODUCT(c, x, t, u) \
	VPMULLD  c<>+32(SB), x, t \ // lower half by upper, upper by lower
	VPMULUDQ c<>(SB), x, x    \
	VPSLLQ   $32, t, u        \
	VPAND    Y15, t, t        \
	VPADDQ   u, x, x          \
	VPADDQ   t, x, x

#define SHIFT33(x, t) \
	VPSRLQ $33, x, t \
	VPXOR  t, x, x

// FMIX is fmix of x and of y; t to w are lost.
#define FMIX(x, y, t, u, v, w) \
	SHIFT33(x, t)         \
	SHIFT33(y, v)         \
	PRODUCT(f1, x, t, u)  \
	PRODUCT(f1, y, v, w)  \
	SHIFT33(x, t)         \
	SHIFT33(y, v)         \
	PRODUCT(f2, x, t, u)  \
	PRODUCT(f2, y, v, w)  \
	SHIFT33(x, t)           \
	SHIFT33(y, v)

#define ROTATE31(x, t) \
	VPSRLQ $33, x, t \
	VPSLLQ $31, x, x \
	VPOR   t, x, x

// HASH writes the baseHashes, 64 bytes apart, of four keys of which p and q are those of
// MurmurHash3's tail step.
#define HASH(p, q, to) \
	VPXOR    Y11, p, p             \
	VPXOR    Y12, q, q             \
	VPADDQ   Y11, p, Y0            \
	VPADDQ   Y13, p, Y1            \
	VPADDQ   Y12, q, Y2            \
	VPADDQ   Y14, q, Y3            \
	FMIX(Y0, Y1, p, Y6, Y7, Y10)   \
	FMIX(Y2, Y3, q, Y6, Y7, Y10)   \
	VPADDQ   Y1, Y0, Y0            \
	VPADDQ   Y1, Y0, Y1            \
	VPADDQ   Y3, Y2, Y2            \
	VPADDQ   Y3, Y2, Y3            \
	VMOVDQU  Y0, 0+to(DI)          \
	VMOVDQU  Y1, 64+to(DI)         \
	VMOVDQU  Y2, 128+to(DI)        \
	VMOVDQU  Y3, 192+to(DI)

DATA numbers8<>+0(SB)/8, $0x0000000100000000
DATA numbers8<>+8(SB)/8, $0x0000000300000002
DATA numbers8<>+16(SB)/8, $0x0000000500000004
DATA numbers8<>+24(SB)/8, $0x0000000700000006
GLOBL numbers8<>(SB), RODATA|NOPTR, $32

// func baseHashesAVX2(keys *uint32, n int, to *hashes)
TEXT ·baseHashesAVX2(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ to+16(FP), DI
	MOVQ $4, BX
	VMOVQ BX, X11
	VPBROADCASTQ X11, Y11
	MOVQ $5, BX
	VMOVQ BX, X12
	VPBROADCASTQ X12, Y12
	VPADDQ Y11, Y11, Y13
	VPADDQ Y12, Y12, Y14
	VPCMPEQD Y15, Y15, Y15
	VPSLLQ $32, Y15, Y15

eight:
	VMOVD CX, X10
	VPBROADCASTD X10, Y10
	VPCMPGTD numbers8<>(SB), Y10, Y10
	VPMASKMOVD (SI), Y10, Y10
	VPXOR Y9, Y9, Y9
	VPUNPCKLDQ Y9, Y10, Y4
	VPUNPCKHDQ Y9, Y10, Y8
	VPMULUDQ c1<>(SB), Y4, Y5
	VPMULUDQ c1<>(SB), Y8, Y9
	VPMULLD  c1<>+32(SB), Y4, Y4    // the upper half of a key is zero
	VPMULLD  c1<>+32(SB), Y8, Y8
	VPSLLQ   $32, Y4, Y4
	VPSLLQ   $32, Y8, Y8
	VPADDQ   Y5, Y4, Y4
	VPADDQ   Y9, Y8, Y8
	VPADDQ   one<>(SB), Y4, Y5      // that of the key and 1<<32
	VPADDQ   one<>(SB), Y8, Y9
	ROTATE31(Y4, Y0)
	ROTATE31(Y5, Y1)
	ROTATE31(Y8, Y2)
	ROTATE31(Y9, Y3)
	PRODUCT(c2, Y4, Y0, Y1)
	PRODUCT(c2, Y5, Y2, Y3)
	PRODUCT(c2, Y8, Y6, Y7)
	PRODUCT(c2, Y9, Y10, Y0)
	VMOVDQU Y4, (DI)
	VMOVDQU Y5, 128(DI)
	VMOVDQU Y8, 32(DI)
	VMOVDQU Y9, 160(DI)
	ADDQ $32, SI
	ADDQ $256, DI
	SUBQ $8, CX
	JGT  eight
	MOVQ n+8(FP), CX
	MOVQ to+16(FP), DI

mix:
	VMOVDQU (DI), Y4
	VMOVDQU 128(DI), Y5
	HASH(Y4, Y5, 0)
	VMOVDQU 32(DI), Y4
	VMOVDQU 160(DI), Y5
	HASH(Y4, Y5, 32)
	ADDQ $256, DI
	SUBQ $8, CX
	JGT  mix
	VZEROUPPER
	RET

#define Fold     -32(R14)
#define Exponent -64(R14)

// DIVISOR broadcasts the constants of reciprocal at BX: Y13 is m, Y14 the scale, Y15 the
// offset. Two more come to stand below R14, which 32 divides; R12 and Y0 are lost.
#define DIVISOR \
	LEAQ         top-0(SP), R14   \
	ANDQ         $~31, R14        \
	VPBROADCASTD (BX), Y13        \
	VPBROADCASTQ 8(BX), Y0        \
	VMOVDQU      Y0, Fold         \
	VBROADCASTSD 16(BX), Y14      \
	VBROADCASTSD 24(BX), Y15      \
	MOVL         $0x43300000, R12 \
	VMOVD        R12, X0          \
	VPBROADCASTD X0, Y0           \
	VMOVDQU      Y0, Exponent

// FOLD is a number that is x mod m or that less m, in the lower halves of z; t is lost.
#define FOLD(x, z, t) \
	VPSRLQ   $32, x, t             \
	VPMULUDQ Fold, t, t            \
	VPBLENDD $0xaa, Exponent, x, z \
	VPADDQ   t, z, z               \
	VMOVDQA  z, t                  \
	VFMADD213PD Y15, Y14, t        \
	VPMULUDQ Y13, t, t             \
	VPSUBD   t, z, z

// REDUCE writes x mod m of eight x. Y8 to Y11 are lost.
#define REDUCE(x0, x1, to) \
	FOLD(x0, Y8, Y9)           \
	FOLD(x1, Y10, Y11)         \
	VSHUFPS $0x88, Y10, Y8, Y8 \
	VPADDD  Y13, Y8, Y9        \
	VPMINUD Y9, Y8, Y8         \ // below zero is a huge number
	VMOVDQU Y8, to

// ONE loads one of the four hashes of four keys, and PICK all of them.
#define ONE(at, y, x) \
	VMOVQ   at(SI)(BX*1), x             \
	VMOVQ   at(SI)(R12*1), X12          \
	VPINSRQ $1, at(SI)(R10*1), x, x     \
	VPINSRQ $1, at(SI)(R13*1), X12, X12 \
	VINSERTI128 $1, X12, y, y
#define PICK(i, y0, x0, y1, x1, y2, x2, y3, x3) \
	MOVL i+0(R8), BX   \
	MOVL i+4(R8), R10  \
	MOVL i+16(R8), R12 \
	MOVL i+20(R8), R13 \
	ONE(0, y0, x0)     \
	ONE(64, y1, x1)    \
	ONE(128, y2, x2)   \
	ONE(192, y3, x3)

// What locations grow by, four times h2 and h3: of the one four keys, and of the other.
#define One2   -96(R14)
#define One3   -128(R14)
#define Other2 -160(R14)
#define Other3 -192(R14)

// func locationsAVX2(hashes *hashes, offsets *uint32, n int, from, k uint64, d *divisor, to *uint32)
TEXT ·locationsAVX2(SB), NOSPLIT, $224-56
	MOVQ hashes+0(FP), SI
	MOVQ offsets+8(FP), R8
	MOVQ n+16(FP), CX
	MOVQ from+24(FP), R9
	MOVQ k+32(FP), DX
	SUBQ R9, DX
	MOVQ d+40(FP), BX
	DIVISOR
	MOVQ to+48(FP), DI

eight:
	PICK(0, Y0, X0, Y1, X1, Y8, X8, Y10, X10)
	PICK(8, Y4, X4, Y5, X5, Y9, X9, Y11, X11)
	VPADDQ Y10, Y10, Y2
	VPADDQ Y11, Y11, Y6
	VPADDQ Y8, Y8, Y3
	VPADDQ Y9, Y9, Y7
	VPADDQ Y0, Y2, Y2
	VPADDQ Y4, Y6, Y6
	VPADDQ Y8, Y3, Y3
	VPADDQ Y9, Y7, Y7
	VPADDQ Y1, Y3, Y3
	VPADDQ Y5, Y7, Y7
	VPADDQ Y10, Y1, Y1
	VPADDQ Y11, Y5, Y5
	VPSLLQ $2, Y8, Y8
	VPSLLQ $2, Y9, Y9
	VPSLLQ $2, Y10, Y10
	VPSLLQ $2, Y11, Y11
	VMOVDQU Y8, One2
	VMOVDQU Y9, Other2
	VMOVDQU Y10, One3
	VMOVDQU Y11, Other3
	MOVQ DX, R11
	TESTQ R9, R9
	JZ   reduce

four:
	VPADDQ One2, Y0, Y0
	VPADDQ One3, Y1, Y1
	VPADDQ One3, Y2, Y2
	VPADDQ One2, Y3, Y3
	VPADDQ Other2, Y4, Y4
	VPADDQ Other3, Y5, Y5
	VPADDQ Other3, Y6, Y6
	VPADDQ Other2, Y7, Y7

reduce:
	SUBQ $4, R11
	JLT  few
	REDUCE(Y0, Y4, 0(DI))
	REDUCE(Y1, Y5, 32(DI))
	REDUCE(Y2, Y6, 64(DI))
	REDUCE(Y3, Y7, 96(DI))
	ADDQ $128, DI
	JMP  four

few:
	ADDQ $4, R11
	JZ   done
	REDUCE(Y0, Y4, 0(DI))
	ADDQ $32, DI
	DECQ R11
	JZ   done
	REDUCE(Y1, Y5, 0(DI))
	ADDQ $32, DI
	DECQ R11
	JZ   done
	REDUCE(Y2, Y6, 0(DI))
	ADDQ $32, DI

done:
	ADDQ $32, R8
	SUBQ $8, CX
	JGT  eight
	VZEROUPPER
	RET

// func probeAVX2(locations *uint32, n int, k uint64, lane *uint32, unit, bits uint64, acc *uint32, step uint64, to *uint32)
//
// Cells are loaded one by one: an instruction that does eight takes longer on some
// processors, and on none much less.
TEXT ·probeAVX2(SB), NOSPLIT, $0-72
	MOVQ locations+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ k+16(FP), DX
	MOVQ lane+24(FP), AX
	MOVQ unit+32(FP), R15
	VPBROADCASTD bits+40(FP), Y15
	MOVQ acc+48(FP), R9
	MOVQ step+56(FP), R8
	MOVQ to+64(FP), DI

#define CELLS(at, x) \
	SHRXL R15, at+0(SI), BX              \
	SHRXL R15, at+4(SI), R10             \
	SHRXL R15, at+8(SI), R12             \
	SHRXL R15, at+12(SI), R13            \
	VMOVD (AX)(BX*4), x                  \
	VPINSRD $1, (AX)(R10*4), x, x        \
	VPINSRD $2, (AX)(R12*4), x, x        \
	VPINSRD $3, (AX)(R13*4), x, x

eight:
	VMOVDQU (R9), Y0
	MOVQ DX, R11

location:
	CELLS(0, X1)
	CELLS(16, X2)
	VINSERTI128 $1, X2, Y1, Y1
	VPAND (SI), Y15, Y3
	VPSRLVD Y3, Y1, Y1
	VPAND Y1, Y0, Y0
	ADDQ $32, SI
	DECQ R11
	JNZ  location
	VMOVDQU Y0, (DI)
	ADDQ R8, R9
	ADDQ $32, DI
	SUBQ $8, CX
	JGT  eight
	VZEROUPPER
	RET
