#include "textflag.h"

// What kernel_avx512_amd64.s does, for eight keys at a time in two registers of four
// quadwords.

// Constants of MurmurHash3, whose halves PRODUCT takes apart: the lower half, and that
// above the upper one.
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

// PRODUCT is the lower half of x times a constant; t and u are lost. Y15 has the upper halves.
#define PRODUCT(c, x, t, u) \
	VPMULLD  c<>+32(SB), x, t \ // lower half by upper, upper by lower
	VPMULUDQ c<>(SB), x, x    \
	VPSLLQ   $32, t, u        \
	VPAND    Y15, t, t        \
	VPADDQ   u, x, x          \
	VPADDQ   t, x, x

#define SHIFT(x, t) \
	VPSRLQ $33, x, t \
	VPXOR  t, x, x

// FMIX is fmix of x and of y; t to w are lost.
#define FMIX(x, y, t, u, v, w) \
	SHIFT(x, t)           \
	SHIFT(y, v)           \
	PRODUCT(f1, x, t, u)  \
	PRODUCT(f1, y, v, w)  \
	SHIFT(x, t)           \
	SHIFT(y, v)           \
	PRODUCT(f2, x, t, u)  \
	PRODUCT(f2, y, v, w)  \
	SHIFT(x, t)           \
	SHIFT(y, v)

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
	FMIX(Y2, Y3, q, Y6, Y7, Y10)    \
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

// The order in which FOLDED leaves two times four.
DATA folded<>+0(SB)/8, $0x0000000100000000
DATA folded<>+8(SB)/8, $0x0000000500000004
DATA folded<>+16(SB)/8, $0x0000000300000002
DATA folded<>+24(SB)/8, $0x0000000700000006
GLOBL folded<>(SB), RODATA|NOPTR, $32

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

next:
	VMOVD CX, X10
	VPBROADCASTD X10, Y10
	VPCMPGTD numbers8<>(SB), Y10, Y10
	VPMASKMOVD (SI), Y10, Y10
	VPMOVZXDQ X10, Y4
	VEXTRACTI128 $1, Y10, X10
	VPMOVZXDQ X10, Y8
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
	JGT  next
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

// FOLD is a number that is x mod m or that less m, in the lower halves of z; t is lost.
// See reciprocal. Y13 is m, Y14 the scale, Y15 the offset.
#define FOLD(x, z, t) \
	VPSRLQ   $32, x, t                 \
	VPMULUDQ -32(R14), t, t         \
	VPBLENDD $0xaa, -64(R14), x, z \
	VPADDQ   t, z, z                   \
	VMULPD   Y14, z, t                 \
	VADDPD   Y15, t, t                 \
	VPMULUDQ Y13, t, t                 \
	VPSUBD   t, z, z

// PROBE ands the cells of the lane at x mod m into the accumulator Y12, so shifted that
// the bit of each shard is the lowest of its place. Y8 to Y11 are lost.
#define PROBE(even, odd) \
	FOLD(even, Y8, Y9)             \
	FOLD(odd, Y10, Y11)            \
	VSHUFPS    $0x88, Y10, Y8, Y8  \
	VPADDD     Y13, Y8, Y9         \
	VPMINUD    Y9, Y8, Y8          \ // below zero is a huge number
	VPSRLVD    -96(R14), Y8, Y9 \
	VPAND      -128(R14), Y8, Y8 \
	VMOVQ X9, R12 \
	VPEXTRQ $1, X9, R13 \
	VEXTRACTI128 $1, Y9, X9 \
	VMOVQ X9, R10 \
	VPEXTRQ $1, X9, R15 \
	MOVL R12, BX \
	SHRQ $32, R12 \
	VMOVD (AX)(BX*4), X11 \
	VPINSRD $1, (AX)(R12*4), X11, X11 \
	MOVL R13, BX \
	SHRQ $32, R13 \
	VPINSRD $2, (AX)(BX*4), X11, X11 \
	VPINSRD $3, (AX)(R13*4), X11, X11 \
	MOVL R10, BX \
	SHRQ $32, R10 \
	VMOVD (AX)(BX*4), X10 \
	VPINSRD $1, (AX)(R10*4), X10, X10 \
	MOVL R15, BX \
	SHRQ $32, R15 \
	VPINSRD $2, (AX)(BX*4), X10, X10 \
	VPINSRD $3, (AX)(R15*4), X10, X10 \
	VINSERTI128 $1, X10, Y11, Y11 \
	VPSRLVD    Y8, Y11, Y11        \
	VPAND      Y11, Y12, Y12

// CONSTANTS are those of the lane and the divisor at BX.
#define CONSTANTS(unitarg, bitsarg) \
	LEAQ top-0(SP), R14 \
	ANDQ $~31, R14 \
	VPBROADCASTD unitarg, Y0       \
	VMOVDQU      Y0, -96(R14)   \
	VPBROADCASTD bitsarg, Y0       \
	VMOVDQU      Y0, -128(R14)  \
	VPBROADCASTD (BX), Y13         \
	VPBROADCASTQ 8(BX), Y0         \
	VMOVDQU      Y0, -32(R14)   \
	VBROADCASTSD 16(BX), Y14       \
	VBROADCASTSD 24(BX), Y15       \
	MOVL         $0x43300000, R12  \
	VMOVD        R12, X0           \
	VPBROADCASTD X0, Y0            \
	VMOVDQU      Y0, -64(R14)

// func testFirstAVX2(hashes *hashes, n int, lane *uint32, unit, bits, mask uint64, d *divisor, left *[256]uint64, at, acc *uint32) (count int)
TEXT ·testFirstAVX2(SB), NOSPLIT, $160-88
	MOVQ hashes+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ lane+16(FP), AX
	MOVQ d+48(FP), BX
	CONSTANTS(unit+24(FP), bits+32(FP))
	VPBROADCASTD mask+40(FP), Y7
	MOVQ left+56(FP), R8
	MOVQ at+64(FP), DI
	MOVQ acc+72(FP), R9
	VMOVDQU folded<>(SB), Y6
	MOVL $8, BX
	VMOVD BX, X5
	VPBROADCASTD X5, Y5
	XORQ DX, DX

next:
	VMOVD CX, X12
	VPBROADCASTD X12, Y12
	VPCMPGTD folded<>(SB), Y12, Y12
	VPAND Y7, Y12, Y12
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	PROBE(Y0, Y1)
	VMOVDQU 192(SI), Y2
	VMOVDQU 224(SI), Y3
	VPADDQ 64(SI), Y2, Y0
	VPADDQ 96(SI), Y3, Y1
	PROBE(Y0, Y1)
	VPADDQ Y2, Y2, Y2
	VPADDQ Y3, Y3, Y3
	VPADDQ (SI), Y2, Y0
	VPADDQ 32(SI), Y3, Y1
	PROBE(Y0, Y1)
	VMOVDQU 128(SI), Y2
	VMOVDQU 160(SI), Y3
	VPADDQ Y2, Y2, Y0
	VPADDQ Y3, Y3, Y1
	VPADDQ Y2, Y0, Y0
	VPADDQ Y3, Y1, Y1
	VPADDQ 64(SI), Y0, Y0
	VPADDQ 96(SI), Y1, Y1
	PROBE(Y0, Y1)
	VPXOR Y8, Y8, Y8
	VPCMPEQD Y8, Y12, Y8
	VMOVMSKPS Y8, BX
	XORL $255, BX
	VPMOVZXBD (R8)(BX*8), Y8
	VPERMD Y12, Y8, Y12
	VPERMD Y6, Y8, Y8
	VMOVDQU Y12, (R9)(DX*4)
	VMOVDQU Y8, (DI)(DX*4)
	VPADDD Y5, Y6, Y6
	POPCNTL BX, BX
	ADDQ BX, DX
	ADDQ $256, SI
	SUBQ $8, CX
	JGT  next

	MOVQ DX, count+80(FP)
	VZEROUPPER
	RET

// PICK loads the four hashes of four keys.
#define FOUR(at, y, x) \
	VMOVQ   at(SI)(BX*1), x          \
	VMOVQ   at(SI)(R12*1), X12       \
	VPINSRQ $1, at(SI)(R10*1), x, x   \
	VPINSRQ $1, at(SI)(R13*1), X12, X12 \
	VINSERTI128 $1, X12, y, y
#define PICK(i, j, k, l, y0, x0, y1, x1, y2, x2, y3, x3) \
	MOVL i, BX \
	MOVL j, R10 \
	MOVL k, R12 \
	MOVL l, R13 \
	FOUR(0, y0, x0) \
	FOUR(64, y1, x1) \
	FOUR(128, y2, x2) \
	FOUR(192, y3, x3)

// func testRestAVX2(hashes *hashes, at *uint32, n int, lane *uint32, unit, bits, k uint64, d *divisor, acc *uint32, found *byte)
TEXT ·testRestAVX2(SB), NOSPLIT, $288-80
	MOVQ hashes+0(FP), SI
	MOVQ at+8(FP), R8
	MOVQ n+16(FP), CX
	MOVQ lane+24(FP), AX
	MOVQ d+56(FP), BX
	CONSTANTS(unit+32(FP), bits+40(FP))
	MOVQ k+48(FP), DX
	SUBQ $4, DX
	MOVQ acc+64(FP), R9
	MOVQ found+72(FP), DI

next:
	// Where the hashes of eight are: those of the numbers 0, 1, 4 and 5 come to stand in
	// one register and the others in another, so that PROBE leaves them in order.
	VMOVDQU (R8), Y0
	VPSRLD $3, Y0, Y1
	VPSLLD $29, Y0, Y0
	VPSLLD $8, Y1, Y1
	VPSRLD $26, Y0, Y0
	VPADDD Y1, Y0, Y0
	VMOVDQU Y0, -160(R14)
	PICK(-160(R14), -156(R14), -144(R14), -140(R14), Y0, X0, Y1, X1, Y8, X8, Y10, X10)
	PICK(-152(R14), -148(R14), -136(R14), -132(R14), Y4, X4, Y5, X5, Y9, X9, Y11, X11)
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
	VMOVDQU Y8, -160(R14)
	VMOVDQU Y9, -192(R14)
	VMOVDQU Y10, -224(R14)
	VMOVDQU Y11, -256(R14)
	VMOVDQU (R9), Y12
	MOVQ DX, R11

four:
	VPADDQ -160(R14), Y0, Y0
	VPADDQ -224(R14), Y1, Y1
	VPADDQ -224(R14), Y2, Y2
	VPADDQ -160(R14), Y3, Y3
	VPADDQ -192(R14), Y4, Y4
	VPADDQ -256(R14), Y5, Y5
	VPADDQ -256(R14), Y6, Y6
	VPADDQ -192(R14), Y7, Y7
	SUBQ $4, R11
	JLT  few
	PROBE(Y0, Y4)
	PROBE(Y1, Y5)
	PROBE(Y2, Y6)
	PROBE(Y3, Y7)
	JMP  four

few:
	ADDQ $4, R11
	JZ   done
	PROBE(Y0, Y4)
	DECQ R11
	JZ   done
	PROBE(Y1, Y5)
	DECQ R11
	JZ   done
	PROBE(Y2, Y6)

done:
	VPXOR Y8, Y8, Y8
	VPCMPEQD Y8, Y12, Y8      // -1 where nothing is left
	VPACKSSDW Y8, Y8, Y8
	VPACKSSWB Y8, Y8, Y8
	VEXTRACTI128 $1, Y8, X9
	VPUNPCKLDQ X9, X8, X8
	VMOVQ X8, BX
	NOTQ BX
	MOVQ $0x0101010101010101, R12
	ANDQ R12, BX
	MOVQ BX, (DI)
	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $8, DI
	SUBQ $8, CX
	JGT  next
	VZEROUPPER
	RET
