#include "textflag.h"

// What steps_avx512_amd64.s does, for eight at a time.

// BROADCAST fills a register with a number of 32 bits.
#define BROADCAST(number, x, y) \
	MOVL number, BX     \
	VMOVD BX, x         \
	VPBROADCASTD x, y

// MAY makes of the eight keys in Y0 a bit each: whether bit key>>shift of a map is set.
#define MAY(to) \
	VPSRLVD Y13, Y0, Y1        \
	VPSRLD  $5, Y1, Y2         \
	VPXOR   Y3, Y3, Y3         \
	VPCMPEQD Y4, Y4, Y4        \
	VPGATHERDD Y4, (AX)(Y2*4), Y3 \
	VPAND   Y12, Y1, Y1        \
	VPSRLVD Y1, Y3, Y3         \
	VPSLLD  $31, Y3, Y3        \
	VMOVMSKPS Y3, to

// func sortOutAVX2(keys *uint32, n int, hits, marks *byte, bits *uint64, shift uint64, may *uint64) (shards int)
TEXT ·sortOutAVX2(SB), NOSPLIT, $0-64
	MOVQ keys+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ hits+16(FP), DI
	MOVQ marks+24(FP), R8
	MOVQ bits+32(FP), AX
	VPBROADCASTD shift+40(FP), Y13
	MOVQ may+48(FP), R9
	BROADCAST($0x02020202, X15, Y15)
	VPXOR Y14, Y14, Y14
	BROADCAST($31, X12, Y12)
	XORQ DX, DX

next:
	VPCMPEQB (DI), Y14, Y0
	VPANDN Y15, Y0, Y1
	VMOVDQU Y1, (R8)
	VPMOVMSKB Y0, BX
	NOTL BX
	POPCNTL BX, BX
	ADDQ BX, DX
	VMOVDQU (SI), Y0
	MAY(R10)
	VMOVDQU 32(SI), Y0
	MAY(R11)
	VMOVDQU 64(SI), Y0
	MAY(R12)
	VMOVDQU 96(SI), Y0
	MAY(R13)
	SHLL $8, R11
	ORL  R11, R10
	SHLL $16, R12
	SHLL $24, R13
	ORL  R13, R12
	ORL  R12, R10
	MOVL R10, (R9)
	ADDQ $32, DI
	ADDQ $32, R8
	ADDQ $128, SI
	ADDQ $4, R9
	SUBQ $32, CX
	JNZ  next
	MOVQ DX, shards+56(FP)
	VZEROUPPER
	RET

// LEFT writes the numbers of the ones among the lowest eight of DX, counted from Y14 on.
#define LEFT \
	MOVBLZX DL, BX               \
	VPMOVZXBD (R9)(BX*8), Y0     \
	VPADDD Y14, Y0, Y0           \
	VPADDD Y13, Y14, Y14         \
	VMOVDQU Y0, (DI)             \
	POPCNTL BX, BX               \
	LEAQ (DI)(BX*4), DI

// func listAVX2(marks *byte, n int, left *uint64, to *uint32) (count int)
TEXT ·listAVX2(SB), NOSPLIT, $0-40
	MOVQ marks+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ left+16(FP), R9
	MOVQ to+24(FP), DI
	MOVQ DI, R8
	BROADCAST($8, X13, Y13)
	VPXOR Y14, Y14, Y14
	VPXOR Y15, Y15, Y15

next:
	VPCMPEQB (SI), Y15, Y0
	VPMOVMSKB Y0, DX
	LEFT
	SHRL $8, DX
	LEFT
	SHRL $8, DX
	LEFT
	SHRL $8, DX
	LEFT
	ADDQ $32, SI
	SUBQ $32, CX
	JNZ  next
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, count+32(FP)
	VZEROUPPER
	RET

// func sharedAVX2(list *uint32, n int, keys *uint32, bits *uint64, left *uint64, to *uint32) (count int)
TEXT ·sharedAVX2(SB), NOSPLIT, $0-56
	MOVQ list+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ keys+16(FP), R10
	MOVQ bits+24(FP), AX
	MOVQ left+32(FP), R9
	MOVQ to+40(FP), DI
	MOVQ DI, R8
	BROADCAST($8, X13, Y13)
	VPXOR Y14, Y14, Y14
	BROADCAST($31, X12, Y12)
	BROADCAST($0xfff, X11, Y11) // of 32 bits each

next:
	VMOVDQU (SI), Y1
	VPXOR Y0, Y0, Y0
	VPCMPEQD Y4, Y4, Y4
	VPGATHERDD Y4, (R10)(Y1*4), Y0
	VPSRLD $5, Y0, Y2
	VPAND Y11, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPCMPEQD Y4, Y4, Y4
	VPGATHERDD Y4, (AX)(Y2*4), Y3
	VPAND Y12, Y0, Y0
	VPSRLVD Y0, Y3, Y3
	VPSLLD $31, Y3, Y3
	VMOVMSKPS Y3, DX
	LEFT
	ADDQ $32, SI
	SUBQ $8, CX
	JNZ  next
	SUBQ R8, DI
	SHRQ $2, DI
	MOVQ DI, count+48(FP)
	VZEROUPPER
	RET

// func flattenBMI(q *uint64, n int, base uint32, to *uint32) (count int)
TEXT ·flattenBMI(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL base+16(FP), R8
	MOVQ to+24(FP), DI
	MOVQ DI, R11

// POSITION writes that of the lowest one of BX, and clears it; of none, what does not count.
#define POSITION(at) \
	TZCNTQ BX, R10     \
	ADDL   R8, R10     \
	MOVL   R10, at(DI) \
	BLSRQ  BX, BX

word:
	MOVQ (SI), BX
	POPCNTQ BX, R9
	LEAQ (DI)(R9*4), R9

eight:
	POSITION(0)
	POSITION(4)
	POSITION(8)
	POSITION(12)
	POSITION(16)
	POSITION(20)
	POSITION(24)
	POSITION(28)
	ADDQ $32, DI
	TESTQ BX, BX
	JNZ  eight
	MOVQ R9, DI
	ADDL $64, R8
	ADDQ $8, SI
	DECQ CX
	JNZ  word
	SUBQ R11, DI
	SHRQ $2, DI
	MOVQ DI, count+32(FP)
	RET

// From where a span opens to its first byte.
DATA opens<>+0(SB)/8, $1
DATA opens<>+8(SB)/8, $1
DATA opens<>+16(SB)/8, $1
DATA opens<>+24(SB)/8, $1
GLOBL opens<>(SB), RODATA|NOPTR, $32

// func pairAVX2(spans *span, n int, body *byte) (done int)
TEXT ·pairAVX2(SB), NOSPLIT, $0-32
	MOVQ spans+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ body+16(FP), AX
	BROADCAST($2, X15, Y15)
	BROADCAST($255, X14, Y14)
	BROADCAST($0xffff, X13, Y13)
	BROADCAST($0x222c, X12, Y12)   // ,"
	BROADCAST($0xffffff, X11, Y11)
	BROADCAST($0x22202c, X10, Y10) // , "
	VMOVDQU opens<>(SB), Y9
	XORQ DX, DX

// BEHIND loads what follows the ends of four spans.
#define BEHIND(i, j, k, l, x) \
	MOVL i*8+4(SI)(DX*8), R8         \
	MOVL j*8+4(SI)(DX*8), R9         \
	MOVL k*8+4(SI)(DX*8), R10        \
	MOVL l*8+4(SI)(DX*8), R11        \
	VMOVD 1(AX)(R8*1), x             \
	VPINSRD $1, 1(AX)(R9*1), x, x    \
	VPINSRD $2, 1(AX)(R10*1), x, x   \
	VPINSRD $3, 1(AX)(R11*1), x, x

eight:
	CMPQ DX, CX
	JGE  done
	VMOVDQU (SI)(DX*8), Y0
	VMOVDQU 32(SI)(DX*8), Y1
	VSHUFPS $0x88, Y1, Y0, Y2 // where they open
	VSHUFPS $0xdd, Y1, Y0, Y3 // where they close
	VPSUBD Y2, Y3, Y3
	VPSUBD Y15, Y3, Y3
	VPMAXUD Y14, Y3, Y3
	VPCMPEQD Y14, Y3, Y3      // neither empty nor too long
	BEHIND(0, 1, 4, 5, X4)
	BEHIND(2, 3, 6, 7, X5)
	VINSERTI128 $1, X5, Y4, Y4
	VPAND Y13, Y4, Y6
	VPAND Y11, Y4, Y7
	VPCMPEQD Y12, Y6, Y6
	VPCMPEQD Y10, Y7, Y7
	VPOR Y6, Y7, Y7
	VPAND Y3, Y7, Y7
	VMOVMSKPS Y7, BX
	CMPL BX, $255
	JNE  done
	VPADDD Y9, Y0, Y0
	VPADDD Y9, Y1, Y1
	VMOVDQU Y0, (SI)(DX*8)
	VMOVDQU Y1, 32(SI)(DX*8)
	ADDQ $8, DX
	JMP  eight

done:
	MOVQ DX, done+24(FP)
	VZEROUPPER
	RET

// Bytes of a quadword in reverse.
DATA reversed<>+0(SB)/8, $0x0001020304050607
DATA reversed<>+8(SB)/8, $0x08090a0b0c0d0e0f
DATA reversed<>+16(SB)/8, $0x0001020304050607
DATA reversed<>+24(SB)/8, $0x08090a0b0c0d0e0f
GLOBL reversed<>(SB), RODATA|NOPTR, $32

// ENDS loads the first and the last eight bytes of four ids.
#define ENDS(i, x, y, a, b, c, d) \
	MOVL i+0(SI)(DX*8), R8               \
	MOVL i+8(SI)(DX*8), R9               \
	MOVL i+16(SI)(DX*8), R10             \
	MOVL i+24(SI)(DX*8), R11             \
	VMOVQ (AX)(R8*1), a                  \
	VPINSRQ $1, (AX)(R9*1), a, a         \
	VMOVQ (AX)(R10*1), b                 \
	VPINSRQ $1, (AX)(R11*1), b, b        \
	VINSERTI128 $1, b, x, x              \
	MOVL i+4(SI)(DX*8), R8               \
	MOVL i+12(SI)(DX*8), R9              \
	MOVL i+20(SI)(DX*8), R10             \
	MOVL i+28(SI)(DX*8), R11             \
	VMOVQ -8(AX)(R8*1), c                \
	VPINSRQ $1, -8(AX)(R9*1), c, c       \
	VMOVQ -8(AX)(R10*1), d               \
	VPINSRQ $1, -8(AX)(R11*1), d, d      \
	VINSERTI128 $1, d, y, y

#define Lo -32(R14)
#define Hi -64(R14)

// XXH3 is hash16 of four ids, whose ends are in x and y and lengths in n, but for its last
// step; s to v are lost.
#define XXH3(x, y, n, s, t, u, v) \
	VPXOR    Lo, x, x            \
	VPXOR    Hi, y, y            \
	VPSRLQ   $32, x, s             \
	VPSRLQ   $32, y, t             \
	VPMULUDQ x, y, u               \
	VPMULUDQ x, t, v               \
	VPMULUDQ s, y, Y12             \
	VPMULUDQ s, t, s               \
	VPSRLQ   $32, u, t             \
	VPADDQ   t, v, v               \ // no carry: (2³²-1)² + 2³²-1 < 2⁶⁴
	VPBLENDD $0xaa, Y15, v, t      \
	VPADDQ   t, Y12, Y12           \ // nor here
	VPSRLQ   $32, v, v             \
	VPADDQ   v, s, s               \
	VPSRLQ   $32, Y12, v           \
	VPADDQ   v, s, s               \ // upper half of the product
	VPSLLQ   $32, Y12, Y12         \
	VPBLENDD $0x55, u, Y12, Y12    \ // lower half
	VPXOR    Y12, s, s             \
	VPSHUFB  reversed<>(SB), x, x  \
	VPADDQ   n, x, x               \
	VPADDQ   y, s, s               \
	VPADDQ   x, s, s               \
	VPSRLQ   $37, s, x             \
	VPXOR    x, s, x               \
	VPSRLQ   $32, x, s             \
	VPMULUDQ Y13, x, t             \
	VPMULUDQ Y13, s, s             \
	VPMULUDQ Y14, x, u             \
	VPADDQ   u, s, s               \
	VPSLLQ   $32, s, s             \
	VPADDQ   t, s, x

// func hashAVX2(spans *span, n int, body *byte, keys *uint32, lo, hi uint64) (done int)
TEXT ·hashAVX2(SB), NOSPLIT, $96-56
	LEAQ top-0(SP), R14
	ANDQ $~31, R14
	MOVQ spans+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ body+16(FP), AX
	MOVQ keys+24(FP), DI
	VPBROADCASTQ lo+32(FP), Y0
	VMOVDQU Y0, Lo
	VPBROADCASTQ hi+40(FP), Y0
	VMOVDQU Y0, Hi
	BROADCAST($0x9e3779f9, X13, Y13)
	BROADCAST($0x16566791, X14, Y14)
	VPXOR Y15, Y15, Y15
	VPCMPEQD Y11, Y11, Y11
	VPSRLD $29, Y11, Y11
	BROADCAST($9, X10, Y10)
	XORQ DX, DX

eight:
	CMPQ DX, CX
	JGE  done
	VMOVDQU (SI)(DX*8), Y0
	VMOVDQU 32(SI)(DX*8), Y1
	VPSRLQ $32, Y0, Y2
	VPSRLQ $32, Y1, Y3
	VPSUBD Y0, Y2, Y2
	VPSUBD Y1, Y3, Y3
	VPBLENDD $0xaa, Y15, Y2, Y2 // lengths
	VPBLENDD $0xaa, Y15, Y3, Y3
	VSHUFPS $0x88, Y3, Y2, Y4
	VPSUBD Y10, Y4, Y4
	VPANDN Y4, Y11, Y4
	VPTEST Y4, Y4
	JNZ  done                 // not 9 to 16, which an odd span's never is
	ENDS(0, Y0, Y4, X0, X5, X4, X6)
	ENDS(32, Y1, Y5, X1, X6, X5, X7)
	XXH3(Y0, Y4, Y2, Y6, Y7, Y8, Y9)
	XXH3(Y1, Y5, Y3, Y6, Y7, Y8, Y9)
	VSHUFPS $0xdd, Y1, Y0, Y2
	VSHUFPS $0x88, Y1, Y0, Y0
	VPXOR Y2, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VPCMPEQD Y15, Y0, Y1
	VPSUBD Y1, Y0, Y0         // nonZero
	VMOVDQU Y0, (DI)(DX*4)
	ADDQ $8, DX
	JMP  eight

done:
	MOVQ DX, done+48(FP)
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
