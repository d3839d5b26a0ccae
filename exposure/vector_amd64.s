#include "textflag.h"

// What follows is testBatch of kernel.go for eight keys at a time, a key to each 64
// bits of a register.

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

// REDUCE is z = x mod m. The quotient is estimated in floating point, and is right or
// one too small (see newReciprocal), so that 32 bits of the remainder say it all: the
// smaller of it and it less m is the right one, because below zero is a huge number. K3
// clears what the upper 32 bits hold. t is lost.
#define REDUCE(x, z, t) \
	VCVTUQQ2PD  x, z       \
	VMULPD      Z21, z, z  \
	VCVTTPD2UQQ z, z       \
	VPMULUDQ    Z20, z, z  \
	VPSUBD      z, x, z    \
	VPSUBD      Z20, z, t  \
	VPMINUD.Z   t, z, K3, z

// PROBE ands the bytes of the lane at x mod m into the accumulator Y15. y is the lower
// half of t.
#define PROBE(x, z, t, y) \
	REDUCE(x, z, t)             \
	VPXORD     y, y, y          \
	KXNORB     K1, K1, K1       \
	VPGATHERQD (AX)(z*1), K1, y \
	VPANDD     y, Y15, Y15

// PROBEBIT ands the bits of the shard at x mod m into the accumulator Y15, of which
// only the lowest bits count. q is the lower half of z, y is lost.
#define PROBEBIT(x, z, t, q, y) \
	REDUCE(x, z, t)             \
	VPSRLQ     $5, z, t         \
	VPMOVQD    z, q             \
	VPANDD     Y29, q, q        \
	VPXORD     y, y, y          \
	KXNORB     K1, K1, K1       \
	VPGATHERQD (AX)(t*4), K1, y \
	VPSRLVD    q, y, y          \
	VPANDD     y, Y15, Y15

#define CONSTANTS \
	MOVL $0x5555, BX             \
	KMOVW BX, K3                 \
	MOVQ $0x87c37b91114253d5, BX \
	VPBROADCASTQ BX, Z16         \
	MOVQ $0x4cf5ad432745937f, BX \
	VPBROADCASTQ BX, Z17         \
	MOVQ $0xff51afd7ed558ccd, BX \
	VPBROADCASTQ BX, Z18         \
	MOVQ $0xc4ceb9fe1a85ec53, BX \
	VPBROADCASTQ BX, Z19         \
	MOVQ $4, BX                  \
	VPBROADCASTQ BX, Z22         \
	MOVQ $8, BX                  \
	VPBROADCASTQ BX, Z23         \
	MOVQ $5, BX                  \
	VPBROADCASTQ BX, Z24         \
	MOVQ $10, BX                 \
	VPBROADCASTQ BX, Z25         \
	MOVQ $0x100000000, BX        \
	VPBROADCASTQ BX, Z26

// LOCATIONS reads eight keys and computes baseHashes, and from those the first four
// locations, Z0, Z1, Z4, Z5, and how they grow, by Z2 and Z3.
#define LOCATIONS \
	VPMOVZXDQ (SI), Z4   \
	VPORQ   Z26, Z4, Z5  \
	VPMULLQ Z16, Z4, Z4  \
	VPMULLQ Z16, Z5, Z5  \
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
	VPSLLQ  $1, Z3, Z6   \
	VPADDQ  Z6, Z0, Z4   \
	VPSLLQ  $1, Z2, Z7   \
	VPADDQ  Z2, Z7, Z7   \
	VPADDQ  Z7, Z1, Z5   \
	VPADDQ  Z3, Z1, Z1   \
	VPSLLQ  $2, Z2, Z2   \
	VPSLLQ  $2, Z3, Z3

#define GROW \
	VPADDQ  Z2, Z0, Z0 \
	VPADDQ  Z3, Z1, Z1 \
	VPADDQ  Z3, Z4, Z4 \
	VPADDQ  Z2, Z5, Z5

// func testLaneAVX512(keys *uint32, n int, hits *byte, lane *byte, k int, m uint64, inv float64)
TEXT ·testLaneAVX512(SB), NOSPLIT, $0-56
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ hits+16(FP), DI
	MOVQ lane+24(FP), AX
	MOVQ k+32(FP), DX
	VPBROADCASTQ m+40(FP), Z20
	VBROADCASTSD inv+48(FP), Z21
	CONSTANTS
	MOVL $255, BX
	VPBROADCASTD BX, Y27

eight:
	LOCATIONS
	VMOVDQA32 Y27, Y15
	MOVQ DX, BX

four:
	PROBE(Z0, Z8, Z9, Y9)
	PROBE(Z1, Z10, Z11, Y11)
	PROBE(Z4, Z12, Z13, Y13)
	PROBE(Z5, Z14, Z28, Y28)
	VPTESTMD Y15, Y15, K2
	KORTESTB K2, K2
	JZ   done
	GROW
	SUBQ $4, BX
	CMPQ BX, $4
	JGE  four

	TESTQ BX, BX
	JZ   done
	PROBE(Z0, Z8, Z9, Y9)
	DECQ BX
	JZ   done
	PROBE(Z1, Z10, Z11, Y11)
	DECQ BX
	JZ   done
	PROBE(Z4, Z12, Z13, Y13)

done:
	VPMOVDB Y15, X15
	VMOVQ X15, (DI)
	ADDQ $32, SI
	ADDQ $8, DI
	SUBQ $8, CX
	JNZ  eight
	VZEROUPPER
	RET

// func testShardAVX512(keys *uint32, n int, hits *byte, bit byte, words *uint64, k int, m uint64, inv float64)
TEXT ·testShardAVX512(SB), NOSPLIT, $0-64
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ hits+16(FP), DI
	MOVBLZX bit+24(FP), R8
	MOVQ words+32(FP), AX
	MOVQ k+40(FP), DX
	VPBROADCASTQ m+48(FP), Z20
	VBROADCASTSD inv+56(FP), Z21
	CONSTANTS
	MOVL $1, BX
	VPBROADCASTD BX, Y27
	MOVL $31, BX
	VPBROADCASTD BX, Y29
	VPBROADCASTD R8, Y30

eight:
	LOCATIONS
	VMOVDQA32 Y27, Y15
	MOVQ DX, BX

four:
	PROBEBIT(Z0, Z8, Z9, Y8, Y6)
	PROBEBIT(Z1, Z10, Z11, Y10, Y7)
	PROBEBIT(Z4, Z12, Z13, Y12, Y6)
	PROBEBIT(Z5, Z14, Z28, Y14, Y7)
	VPTESTMD Y15, Y15, K2
	KORTESTB K2, K2
	JZ   done
	GROW
	SUBQ $4, BX
	CMPQ BX, $4
	JGE  four

	TESTQ BX, BX
	JZ   done
	PROBEBIT(Z0, Z8, Z9, Y8, Y6)
	DECQ BX
	JZ   done
	PROBEBIT(Z1, Z10, Z11, Y10, Y7)
	DECQ BX
	JZ   done
	PROBEBIT(Z4, Z12, Z13, Y12, Y6)

done:
	VPMULLD Y30, Y15, Y15
	VPMOVDB Y15, X15
	VMOVQ X15, BX
	ORQ  BX, (DI)
	ADDQ $32, SI
	ADDQ $8, DI
	SUBQ $8, CX
	JNZ  eight
	VZEROUPPER
	RET
