#include "textflag.h"

// What follows is testFirst and testRest of kernel.go for sixteen keys at a time, in two
// registers of eight each: the even ones and the odd ones. Hashes are computed first, for
// the whole batch: they take long and wait for nothing, where the loads that follow can
// only be many at a time if there is little in between.

// FMIX is fmix of x; t is lost.
#define FMIX(x, t) \
	VPSRLQ  $33, x, t \
	VPXORQ  t, x, x   \
	VPMULLQ Z18, x, x \
	VPSRLQ  $33, x, t \
	VPXORQ  t, x, x   \
	VPMULLQ Z19, x, x \
	VPSRLQ  $33, x, t \
	VPXORQ  t, x, x

// HASH writes the baseHashes of the keys in Z4, 128 bytes apart.
#define HASH(to) \
	VPMULLQ Z16, Z4, Z4  \
	VPADDQ  Z26, Z4, Z5  \ // that of the key and 1<<32
	VPROLQ  $31, Z4, Z4  \
	VPROLQ  $31, Z5, Z5  \
	VPMULLQ Z17, Z4, Z4  \
	VPMULLQ Z17, Z5, Z5  \
	VPXORQ  Z22, Z4, Z4  \
	VPXORQ  Z24, Z5, Z5  \
	VPADDQ  Z22, Z4, Z0  \
	VPADDQ  Z23, Z4, Z1  \
	VPADDQ  Z24, Z5, Z2  \
	VPADDQ  Z25, Z5, Z3  \
	FMIX(Z0, Z4)         \
	FMIX(Z1, Z5)         \
	FMIX(Z2, Z6)         \
	FMIX(Z3, Z7)         \
	VPADDQ  Z1, Z0, Z0   \
	VPADDQ  Z1, Z0, Z1   \
	VPADDQ  Z3, Z2, Z2   \
	VPADDQ  Z3, Z2, Z3   \
	VMOVDQU64 Z0, 0+to(DI)   \
	VMOVDQU64 Z1, 128+to(DI) \
	VMOVDQU64 Z2, 256+to(DI) \
	VMOVDQU64 Z3, 384+to(DI)

// REMAIN is the mask K4 of the CX keys that remain, where those are fewer than sixteen,
// and of sixteen otherwise. BX and R12 are lost.
#define REMAIN \
	MOVL    $16, BX      \
	CMPQ    CX, BX       \
	CMOVQLT CX, BX       \
	MOVL    $-1, R12     \
	BZHIL   BX, R12, BX  \
	KMOVW   BX, K4

// func baseHashesAVX512(keys *uint32, n int, to *hashes)
TEXT ·baseHashesAVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ to+16(FP), DI
	MOVQ $0x87c37b91114253d5, BX
	VPBROADCASTQ BX, Z16
	SHLQ $32, BX
	VPBROADCASTQ BX, Z26
	MOVQ $0x4cf5ad432745937f, BX
	VPBROADCASTQ BX, Z17
	MOVQ $0xff51afd7ed558ccd, BX
	VPBROADCASTQ BX, Z18
	MOVQ $0xc4ceb9fe1a85ec53, BX
	VPBROADCASTQ BX, Z19
	MOVQ $4, BX
	VPBROADCASTQ BX, Z22
	MOVQ $8, BX
	VPBROADCASTQ BX, Z23
	MOVQ $5, BX
	VPBROADCASTQ BX, Z24
	MOVQ $10, BX
	VPBROADCASTQ BX, Z25
	MOVL $0x5555, BX
	KMOVW BX, K3

sixteen:
	REMAIN
	VMOVDQU32.Z (SI), K4, Z15
	VMOVDQA32.Z Z15, K3, Z4
	HASH(0)
	VPSRLQ $32, Z15, Z4
	HASH(64)
	ADDQ $64, SI
	ADDQ $512, DI
	SUBQ $16, CX
	JGT  sixteen
	VZEROUPPER
	RET

// REDUCE is z = x mod m of sixteen x. The quotient is estimated in floating point, and is
// right or one too small (see newReciprocal), so that 32 bits of the remainder say it all:
// the smaller of it and it less m is the right one, because below zero is a huge number.
// t is lost.
#define REDUCE(even, odd, z, t) \
	VCVTUQQ2PD  even, z     \
	VCVTUQQ2PD  odd, t      \
	VMULPD      Z21, z, z   \
	VMULPD      Z21, t, t   \
	VCVTTPD2UQQ z, z        \
	VCVTTPD2UQQ t, t        \
	VPMULUDQ    Z20, z, z   \
	VPMULUDQ    Z20, t, t   \
	VPSUBD      z, even, z  \
	VPSUBD      t, odd, t   \
	VMOVSLDUP   t, K3, z    \
	VPSUBD      Z20, z, t   \
	VPMINUD     t, z, z

// PROBE ands the cells of the lane at x mod m into the accumulator Z15, so shifted that
// the bit of each shard is the lowest of its place. z, t and y are lost.
#define PROBE(even, odd, z, t, y) \
	REDUCE(even, odd, z, t)     \
	VPSRLVD    Z27, z, t        \
	VPANDD     Z28, z, z        \
	VPXORD     y, y, y          \
	KXNORW     K1, K1, K1       \
	VPGATHERDD (AX)(t*4), K1, y \
	VPSRLVD    z, y, y          \
	VPANDD     y, Z15, Z15

// LOCATIONS reads hashes and computes the first four locations of the even keys, Z0 to
// Z3, and of the odd ones, Z4 to Z7; Z8 and Z9 are h2 and h3 of the ones, Z10 and Z11 of
// the others.
#define LOCATIONS \
	VMOVDQU64 (SI), Z0     \
	VMOVDQU64 64(SI), Z4   \
	VMOVDQU64 128(SI), Z1  \
	VMOVDQU64 192(SI), Z5  \
	VMOVDQU64 256(SI), Z8  \
	VMOVDQU64 320(SI), Z10 \
	VMOVDQU64 384(SI), Z9  \
	VMOVDQU64 448(SI), Z11 \
	VPADDQ  Z9, Z9, Z2     \
	VPADDQ  Z11, Z11, Z6   \
	VPADDQ  Z8, Z8, Z3     \
	VPADDQ  Z10, Z10, Z7   \
	VPADDQ  Z0, Z2, Z2     \
	VPADDQ  Z4, Z6, Z6     \
	VPADDQ  Z8, Z3, Z3     \
	VPADDQ  Z10, Z7, Z7    \
	VPADDQ  Z1, Z3, Z3     \
	VPADDQ  Z5, Z7, Z7     \
	VPADDQ  Z9, Z1, Z1     \
	VPADDQ  Z11, Z5, Z5

// GROW makes of four locations the next four, of Z8 to Z11 four times what they were.
#define GROW \
	VPADDQ  Z8, Z0, Z0  \
	VPADDQ  Z9, Z1, Z1  \
	VPADDQ  Z9, Z2, Z2  \
	VPADDQ  Z8, Z3, Z3  \
	VPADDQ  Z10, Z4, Z4 \
	VPADDQ  Z11, Z5, Z5 \
	VPADDQ  Z11, Z6, Z6 \
	VPADDQ  Z10, Z7, Z7

DATA numbers<>+0(SB)/8, $0x0000000100000000
DATA numbers<>+8(SB)/8, $0x0000000300000002
DATA numbers<>+16(SB)/8, $0x0000000500000004
DATA numbers<>+24(SB)/8, $0x0000000700000006
DATA numbers<>+32(SB)/8, $0x0000000900000008
DATA numbers<>+40(SB)/8, $0x0000000b0000000a
DATA numbers<>+48(SB)/8, $0x0000000d0000000c
DATA numbers<>+56(SB)/8, $0x0000000f0000000e
GLOBL numbers<>(SB), RODATA|NOPTR, $64

// func testFirstAVX512(hashes *hashes, keys *uint32, n int, lane *uint32, unit, bits, mask, m uint64, inv float64, at, left, acc *uint32) (count int)
TEXT ·testFirstAVX512(SB), NOSPLIT, $0-104
	MOVQ hashes+0(FP), SI
	MOVQ keys+8(FP), R8
	MOVQ n+16(FP), CX
	MOVQ lane+24(FP), AX
	VPBROADCASTD unit+32(FP), Z27
	VPBROADCASTD bits+40(FP), Z28
	VPBROADCASTD mask+48(FP), Z29
	VPBROADCASTD m+56(FP), Z20
	VBROADCASTSD inv+64(FP), Z21
	MOVQ at+72(FP), DI
	MOVQ left+80(FP), R10
	MOVQ acc+88(FP), R9
	MOVL $0xaaaa, BX
	KMOVW BX, K3
	VMOVDQU32 numbers<>(SB), Z30
	MOVL $16, BX
	VPBROADCASTD BX, Z31
	XORQ DX, DX

sixteen:
	REMAIN
	LOCATIONS
	VMOVDQA64 Z29, Z15
	PROBE(Z0, Z4, Z12, Z13, Z14)
	PROBE(Z1, Z5, Z23, Z24, Z25)
	PROBE(Z2, Z6, Z12, Z13, Z14)
	PROBE(Z3, Z7, Z23, Z24, Z25)
	VPTESTMD Z15, Z15, K4, K2
	VMOVDQU32.Z (R8), K4, Z12
	VPCOMPRESSD.Z Z12, K2, Z12
	VPCOMPRESSD.Z Z15, K2, Z15
	VPCOMPRESSD.Z Z30, K2, Z13
	VPADDD Z31, Z30, Z30
	VMOVDQU32 Z12, (R10)(DX*4)
	VMOVDQU32 Z15, (R9)(DX*4)
	VMOVDQU32 Z13, (DI)(DX*4)
	KMOVW K2, BX
	POPCNTL BX, BX
	ADDQ BX, DX
	ADDQ $512, SI
	ADDQ $64, R8
	SUBQ $16, CX
	JGT  sixteen

	MOVQ DX, count+96(FP)
	VZEROUPPER
	RET

// func testRestAVX512(hashes *hashes, n int, lane *uint32, unit, bits, k, m uint64, inv float64, acc *uint32, found *byte)
TEXT ·testRestAVX512(SB), NOSPLIT, $0-80
	MOVQ hashes+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ lane+16(FP), AX
	VPBROADCASTD unit+24(FP), Z27
	VPBROADCASTD bits+32(FP), Z28
	MOVQ k+40(FP), DX
	SUBQ $4, DX
	VPBROADCASTD m+48(FP), Z20
	VBROADCASTSD inv+56(FP), Z21
	MOVQ acc+64(FP), R9
	MOVQ found+72(FP), DI
	MOVL $0xaaaa, BX
	KMOVW BX, K3
	MOVL $1, BX
	VPBROADCASTB BX, X31

sixteen:
	LOCATIONS
	VPSLLQ $2, Z8, Z8
	VPSLLQ $2, Z9, Z9
	VPSLLQ $2, Z10, Z10
	VPSLLQ $2, Z11, Z11
	VMOVDQU32 (R9), Z15
	MOVQ DX, R11

four:
	GROW
	SUBQ $4, R11
	JLT  few
	PROBE(Z0, Z4, Z12, Z13, Z14)
	PROBE(Z1, Z5, Z23, Z24, Z25)
	PROBE(Z2, Z6, Z12, Z13, Z14)
	PROBE(Z3, Z7, Z23, Z24, Z25)
	JMP  four

few:
	ADDQ $4, R11
	JZ   done
	PROBE(Z0, Z4, Z12, Z13, Z14)
	DECQ R11
	JZ   done
	PROBE(Z1, Z5, Z23, Z24, Z25)
	DECQ R11
	JZ   done
	PROBE(Z2, Z6, Z12, Z13, Z14)

done:
	VPTESTMD Z15, Z15, K2
	VMOVDQU8.Z X31, K2, X0
	VMOVDQU X0, (DI)
	ADDQ $512, SI
	ADDQ $64, R9
	ADDQ $16, DI
	SUBQ $16, CX
	JGT  sixteen
	VZEROUPPER
	RET

// SPREAD puts the bits of eight quadwords, so many in each as a cell takes twice, into
// both of its cells: Z5 says how far up the upper ones go, Z6 which of them count.
#define SPREAD \
	VPSLLVQ  Z5, Z0, Z1    \
	VPORQ    Z1, Z0, Z0    \
	VPANDQ   Z6, Z0, Z0    \
	VPSLLVQ  Z7, Z0, Z0    \
	VPORQ    (DI), Z0, Z0  \
	VMOVDQU64 Z0, (DI)     \
	ADDQ     $64, DI       \
	DECQ     CX

// func interleaveAVX512(cells *uint32, n int, words *uint64, unit, shift uint64)
TEXT ·interleaveAVX512(SB), NOSPLIT, $0-40
	MOVQ cells+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ words+16(FP), SI
	MOVQ unit+24(FP), R8
	VPBROADCASTQ shift+32(FP), Z7
	MOVQ $1, AX
	SHLXQ R8, AX, AX          // bits of a shard in a cell
	MOVQ $32, BX
	SUBQ AX, BX
	VPBROADCASTQ BX, Z5
	MOVL $-1, BX
	BZHIL AX, BX, BX
	VPBROADCASTD BX, Z6
	CMPQ R8, $3
	JEQ  eights
	JLT  fours

sixteens:
	VPMOVZXDQ (SI), Z0
	ADDQ $32, SI
	SPREAD
	JNZ  sixteens
	VZEROUPPER
	RET

eights:
	VPMOVZXWQ (SI), Z0
	ADDQ $16, SI
	SPREAD
	JNZ  eights
	VZEROUPPER
	RET

fours:
	VPMOVZXBQ (SI), Z0
	ADDQ $8, SI
	SPREAD
	JNZ  fours
	VZEROUPPER
	RET
