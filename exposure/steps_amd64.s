#include "textflag.h"

// Bytes of a quadword in reverse, twice.
DATA swapped<>+0(SB)/8, $0x0001020304050607
DATA swapped<>+8(SB)/8, $0x08090a0b0c0d0e0f
GLOBL swapped<>(SB), RODATA|NOPTR, $16

DATA bytes64<>+0(SB)/8, $0x0706050403020100
DATA bytes64<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA bytes64<>+16(SB)/8, $0x1716151413121110
DATA bytes64<>+24(SB)/8, $0x1f1e1d1c1b1a1918
DATA bytes64<>+32(SB)/8, $0x2726252423222120
DATA bytes64<>+40(SB)/8, $0x2f2e2d2c2b2a2928
DATA bytes64<>+48(SB)/8, $0x3736353433323130
DATA bytes64<>+56(SB)/8, $0x3f3e3d3c3b3a3938
GLOBL bytes64<>(SB), RODATA|NOPTR, $64

// func hashAVX512(spans *span, n int, body *byte, keys *uint32, lo, hi uint64) (done int)
//
// hash16 for eight ids at a time; the product of 64 bits by 64 is made of four of 32.
TEXT ·hashAVX512(SB), NOSPLIT, $0-56
	MOVQ spans+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ body+16(FP), AX
	MOVQ keys+24(FP), DI
	VPBROADCASTQ lo+32(FP), Z16
	VPBROADCASTQ hi+40(FP), Z17
	VBROADCASTI32X4 swapped<>(SB), Z18
	MOVQ $0x165667919e3779f9, BX
	VPBROADCASTQ BX, Z19
	MOVQ $9, BX
	VPBROADCASTQ BX, Z20
	MOVQ $7, BX
	VPBROADCASTQ BX, Z21
	MOVL $1, BX
	VPBROADCASTD BX, Y22
	MOVL $0x5555, BX
	KMOVW BX, K3
	XORQ DX, DX

eight:
	CMPQ DX, CX
	JGE  done
	VMOVDQU64 (SI)(DX*8), Z0
	VPSRLQ $32, Z0, Z1        // to
	VMOVDQA32.Z Z0, K3, Z2    // from
	VPSUBQ Z2, Z1, Z3         // length
	VPSUBQ Z20, Z3, Z4
	VPCMPUQ $6, Z21, Z4, K1   // not 9 to 16, which an odd span's never is
	KORTESTB K1, K1
	JNZ  done
	KXNORB K1, K1, K1
	KXNORB K2, K2, K2
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPGATHERQQ (AX)(Z2*1), K1, Z5
	VPGATHERQQ -8(AX)(Z1*1), K2, Z6
	VPXORQ Z16, Z5, Z5        // lo
	VPXORQ Z17, Z6, Z6        // hi
	VPSRLQ $32, Z5, Z7
	VPSRLQ $32, Z6, Z8
	VPMULUDQ Z5, Z6, Z9
	VPMULUDQ Z5, Z8, Z10
	VPMULUDQ Z7, Z6, Z11
	VPMULUDQ Z7, Z8, Z12
	VPSRLQ $32, Z9, Z13
	VPADDQ Z13, Z10, Z10      // no carry: (2³²-1)² + 2³²-1 < 2⁶⁴
	VMOVDQA32.Z Z10, K3, Z13
	VPADDQ Z13, Z11, Z11      // nor here
	VPSRLQ $32, Z10, Z10
	VPADDQ Z10, Z12, Z12
	VPSRLQ $32, Z11, Z13
	VPADDQ Z13, Z12, Z12      // upper half of the product
	VPSLLQ $32, Z11, Z11
	VMOVDQA32 Z9, K3, Z11     // lower half
	VPXORQ Z11, Z12, Z12
	VPSHUFB Z18, Z5, Z5
	VPADDQ Z3, Z5, Z5
	VPADDQ Z6, Z12, Z12
	VPADDQ Z5, Z12, Z12
	VPSRLQ $37, Z12, Z5
	VPXORQ Z5, Z12, Z12
	VPMULLQ Z19, Z12, Z12
	VPSRLQ $32, Z12, Z5
	VPXORQ Z5, Z12, Z12
	VPMOVQD Z12, Y12
	VPTESTNMD Y12, Y12, K1
	VMOVDQA32 Y22, K1, Y12    // nonZero
	VMOVDQU32 Y12, (DI)(DX*4)
	ADDQ $8, DX
	JMP  eight

done:
	MOVQ DX, done+48(FP)
	VZEROUPPER
	RET

// func sortOutAVX512(keys *uint32, n int, hits, marks *byte, bits *uint64, shift uint64, may *uint64) (shards int)
TEXT ·sortOutAVX512(SB), NOSPLIT, $0-64
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ hits+16(FP), DI
	MOVQ marks+24(FP), R8
	MOVQ bits+32(FP), AX
	MOVQ shift+40(FP), BX
	VPBROADCASTD BX, Z20
	MOVQ may+48(FP), R9
	MOVL $0x02020202, BX
	VPBROADCASTD BX, Z21
	MOVL $31, BX
	VPBROADCASTD BX, Z22
	MOVL $1, BX
	VPBROADCASTD BX, Z23
	XORQ DX, DX

sixtyfour:
	VMOVDQU8 (DI), Z0
	VPTESTMB Z0, Z0, K1
	VMOVDQU8.Z Z21, K1, Z1
	VMOVDQU8 Z1, (R8)
	KMOVQ K1, BX
	POPCNTQ BX, BX
	ADDQ BX, DX
	MOVQ $4, R10

sixteen:
	VMOVDQU32 (SI), Z4
	VPSRLVD Z20, Z4, Z5
	VPSRLD $5, Z5, Z6
	VPANDD Z22, Z5, Z5
	KXNORW K1, K1, K1
	VPXORD Z7, Z7, Z7
	VPGATHERDD (AX)(Z6*4), K1, Z7
	VPSRLVD Z5, Z7, Z7
	VPTESTMD Z23, Z7, K1
	KMOVW K1, BX
	MOVW BX, (R9)
	ADDQ $64, SI
	ADDQ $2, R9
	DECQ R10
	JNZ  sixteen

	ADDQ $64, DI
	ADDQ $64, R8
	SUBQ $64, CX
	JNZ  sixtyfour
	MOVQ DX, shards+56(FP)
	VZEROUPPER
	RET

// func flattenAVX512(q *uint64, n int, base uint32, to *uint32) (count int)
TEXT ·flattenAVX512(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL base+16(FP), BX
	VPBROADCASTD BX, Z17
	MOVQ to+24(FP), DI
	MOVQ DI, R8
	VMOVDQU8 bytes64<>(SB), Z16
	MOVL $64, BX
	VPBROADCASTD BX, Z18

word:
	MOVQ (SI), BX
	KMOVQ BX, K1
	VPCOMPRESSB.Z Z16, K1, Z0
	VPMOVZXBD X0, Z1
	VPADDD Z17, Z1, Z1
	VMOVDQU32 Z1, (DI)
	POPCNTQ BX, BX
	CMPQ BX, $16
	JLE  few
	VEXTRACTI32X4 $1, Z0, X1
	VPMOVZXBD X1, Z1
	VPADDD Z17, Z1, Z1
	VMOVDQU32 Z1, 64(DI)
	VEXTRACTI32X4 $2, Z0, X1
	VPMOVZXBD X1, Z1
	VPADDD Z17, Z1, Z1
	VMOVDQU32 Z1, 128(DI)
	VEXTRACTI32X4 $3, Z0, X1
	VPMOVZXBD X1, Z1
	VPADDD Z17, Z1, Z1
	VMOVDQU32 Z1, 192(DI)

few:
	LEAQ (DI)(BX*4), DI
	VPADDD Z18, Z17, Z17
	ADDQ $8, SI
	DECQ CX
	JNZ  word
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, count+32(FP)
	VZEROUPPER
	RET

// func pairAVX512(spans *span, n int, body *byte) (done int)
TEXT ·pairAVX512(SB), NOSPLIT, $0-32
	MOVQ spans+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ body+16(FP), AX
	MOVL $0x5555, BX
	KMOVW BX, K3
	MOVQ $2, BX
	VPBROADCASTQ BX, Z16
	MOVQ $255, BX
	VPBROADCASTQ BX, Z17
	MOVL $0xffff, BX
	VPBROADCASTD BX, Y18
	MOVL $0x222c, BX          // ,"
	VPBROADCASTD BX, Y19
	MOVL $0xffffff, BX
	VPBROADCASTD BX, Y20
	MOVL $0x22202c, BX        // , "
	VPBROADCASTD BX, Y21
	MOVQ $1, BX
	VPBROADCASTQ BX, Z22
	XORQ DX, DX

eight:
	CMPQ DX, CX
	JGE  done
	VMOVDQU64 (SI)(DX*8), Z0
	VPSRLQ $32, Z0, Z1        // where they close
	VMOVDQA32.Z Z0, K3, Z2    // where they open
	VPSUBQ Z2, Z1, Z3
	VPSUBQ Z16, Z3, Z3
	VPCMPUQ $6, Z17, Z3, K1   // empty, or too long
	KORTESTB K1, K1
	JNZ  done
	KXNORB K2, K2, K2
	VPXORD Y5, Y5, Y5
	VPGATHERQD 1(AX)(Z1*1), K2, Y5
	VPANDD Y18, Y5, Y6
	VPANDD Y20, Y5, Y7
	VPCMPEQD Y19, Y6, K4
	VPCMPEQD Y21, Y7, K5
	KORB K4, K5, K4
	KORTESTB K4, K4
	JCC  done                 // carry is set where all eight are
	VPADDD Z22, Z0, Z0
	VMOVDQU64 Z0, (SI)(DX*8)
	ADDQ $8, DX
	JMP  eight

done:
	MOVQ DX, done+24(FP)
	VZEROUPPER
	RET

// func listAVX512(marks *byte, n int, to *uint32) (count int)
TEXT ·listAVX512(SB), NOSPLIT, $0-32
	MOVQ marks+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ to+16(FP), DI
	MOVQ DI, R8
	VPMOVZXBD bytes64<>(SB), Z16
	MOVL $16, BX
	VPBROADCASTD BX, Z17
	SHRQ $4, CX

sixteen:
	VMOVDQU8 (SI), X0
	VPTESTNMB X0, X0, K1
	VPCOMPRESSD.Z Z16, K1, Z1
	VMOVDQU32 Z1, (DI)
	KMOVW K1, BX
	POPCNTL BX, BX
	LEAQ (DI)(BX*4), DI
	VPADDD Z17, Z16, Z16
	ADDQ $16, SI
	DECQ CX
	JNZ  sixteen
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, count+24(FP)
	VZEROUPPER
	RET

// func tokensAVX2(to *byte, ids *uint32, n int, spans *span, body *byte, last uint64) (done, written int)
TEXT ·tokensAVX2(SB), NOSPLIT, $0-64
	MOVQ to+0(FP), DI
	MOVQ ids+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ spans+24(FP), R8
	MOVQ body+32(FP), AX
	MOVQ last+40(FP), R9
	MOVQ DI, R10
	XORQ DX, DX

token:
	CMPQ DX, CX
	JGE  done
	MOVL (SI)(DX*4), BX
	MOVL (R8)(BX*8), R11      // from
	MOVL 4(R8)(BX*8), R12
	SUBQ R11, R12             // length; below zero for an odd span
	CMPQ R12, $29
	JHI  done
	CMPQ R11, R9
	JHI  done
	VMOVDQU -1(AX)(R11*1), Y0
	VMOVDQU Y0, (DI)
	MOVB $',', 2(DI)(R12*1)
	LEAQ 3(DI)(R12*1), DI
	INCQ DX
	JMP  token

done:
	SUBQ R10, DI
	MOVQ DX, done+48(FP)
	MOVQ DI, written+56(FP)
	VZEROUPPER
	RET
